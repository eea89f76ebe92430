/* The list schedulers that take the job with the least start or finish next (ETF, EFT) against a twin that keeps
 * nothing: it tries every open job on every element, at every time at which a gap can begin. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { MOST_TASKS = 24, ELEMENTS = 3, LISTS = 100 };

/* Tasks come in batches, each of which has a first task without needs, so that all are planned when they come. Needs
 * are of earlier tasks. */
struct list {
    int n, submit_s[MOST_TASKS];
    int time_s[MOST_TASKS][ELEMENTS];    /* 0: cannot run there */
    int delay_s[MOST_TASKS][MOST_TASKS]; /* from the earlier to the later task; -1: no edge */
};

struct planned {
    bool is_planned;
    int element, start_s, finish_s;
    int turn; /* so many were planned before it */
};

struct kind {
    const char *order;
    bool by_start, insertion;
};

static struct list draw_list(struct rng *rng)
{
    struct list list = {.n = 2 + (int)rng_below(rng, MOST_TASKS - 1)};
    const uint64_t sparse = 2 + rng_below(rng, 10);
    for (int i = 0; i < list.n; i++) {
        const bool begins = i > 0 && rng_below(rng, 6) == 0, is_first = i == 0 || begins;
        list.submit_s[i] = i == 0 ? 0 : list.submit_s[i - 1] + (begins ? 1 + (int)rng_below(rng, 40) : 0);
        for (int e = 0; e < ELEMENTS; e++) list.time_s[i][e] = rng_below(rng, 6) == 0 ? 0 : 1 + (int)rng_below(rng, 20);
        list.time_s[i][rng_below(rng, ELEMENTS)] = 1 + (int)rng_below(rng, 20);
        for (int k = 0; k < i; k++)
            list.delay_s[k][i] = !is_first && rng_below(rng, sparse) == 0 ? (int)rng_below(rng, 40) : -1;
    }
    return list;
}

/* --- The twin --- */

static bool is_free(const struct list *list, const struct planned *plan, int element, int from_s, int to_s)
{
    for (int i = 0; i < list->n; i++)
        if (plan[i].is_planned && plan[i].element == element && plan[i].start_s < to_s && from_s < plan[i].finish_s)
            return false;
    return true;
}

static int naive_start_s(const struct list *list, const struct planned *plan, bool insertion, int task, int element)
{
    int there_s = list->submit_s[task], end_s = 0;
    for (int k = 0; k < task; k++) {
        const bool had_ended = plan[k].finish_s <= list->submit_s[task]; /* then it holds nothing up */
        if (list->delay_s[k][task] < 0 || had_ended) continue;
        const int data_s = plan[k].finish_s + (plan[k].element == element ? 0 : list->delay_s[k][task]);
        there_s = data_s > there_s ? data_s : there_s;
    }
    for (int k = 0; k < list->n; k++)
        if (plan[k].is_planned && plan[k].element == element && plan[k].finish_s > end_s) end_s = plan[k].finish_s;
    if (!insertion) return there_s > end_s ? there_s : end_s;
    while (!is_free(list, plan, element, there_s, there_s + list->time_s[task][element])) there_s++;
    return there_s;
}

static bool is_open(const struct list *list, const struct planned *plan, int task)
{
    for (int k = 0; k < task; k++)
        if (list->delay_s[k][task] >= 0 && !plan[k].is_planned) return false;
    return !plan[task].is_planned;
}

/* Tasks from `first` to before `end` have come. */
static void plan_batch(const struct list *list, struct kind kind, int first, int end, struct planned *plan)
{
    for (int round = first; round < end; round++) {
        int next = -1, least = INT32_MAX;
        struct planned slot = {0};
        for (int i = first; i < end; i++) {
            for (int e = 0; e < ELEMENTS && is_open(list, plan, i); e++) {
                if (list->time_s[i][e] == 0) continue;
                const int start_s = naive_start_s(list, plan, kind.insertion, i, e);
                const int finish_s = start_s + list->time_s[i][e], value = kind.by_start ? start_s : finish_s;
                if (value >= least) continue;
                least = value;
                next = i;
                slot = (struct planned){true, e, start_s, finish_s, round};
            }
        }
        CHECK(next >= 0);
        if (next >= 0) plan[next] = slot;
    }
}

static void plan_list(const struct list *list, struct kind kind, struct planned *plan)
{
    int first = 0;
    for (int end = 1; end <= list->n; end++) {
        if (end < list->n && list->submit_s[end] == list->submit_s[first]) continue;
        plan_batch(list, kind, first, end, plan);
        first = end;
    }
}

/* --- The scheduler --- */

static struct bed_rows *run_list(const struct list *list, struct kind kind)
{
    static const char *const gpus[ELEMENTS] = {"p100", "t4", "k80"};
    SCOPED(text) text;
    text_init(&text);
    text_add(&text, "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100', 'node_types': {"
                    "'b': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 't4'}, 'c': {'nodes': 1, 'gpus_per_node': 1, 'gpu':"
                    " 'k80'}}}, 'jobs': {'types': {");
    for (int i = 0; i < list->n; i++) {
        text_printf(&text, "%s'task%d': {'speeds': {", i > 0 ? ", " : "", i);
        for (int e = 0; e < ELEMENTS; e++)
            text_printf(&text, "%s'%s': %.17g", e > 0 ? ", " : "", gpus[e],
                        list->time_s[i][e] > 0 ? 1.0 / list->time_s[i][e] : 0.0);
        text_add(&text, "}}");
    }
    text_printf(&text,
                "}, 'scheduler': {'policy': 'heft', 'order': '%s', 'insertion': %s}, 'trace': {"
                "'format': 'inline-jobs', 'jobs': [",
                kind.order, kind.insertion ? "true" : "false");
    for (int i = 0; i < list->n; i++) {
        text_printf(&text, "%s{'submit': '%ds', 'duration': '1s', 'type': 'task%d', 'after': [", i > 0 ? ", " : "",
                    list->submit_s[i], i);
        for (int k = 0, n = 0; k < i; k++)
            if (list->delay_s[k][i] >= 0)
                text_printf(&text, "%s{'job': %d, 'delay': '%ds'}", n++ > 0 ? ", " : "", k, list->delay_s[k][i]);
        text_add(&text, "]}");
    }
    text_add(&text, "]}}}");
    return bed_run(BED(.check = true), "%s", text.chars);
}

TEST(least_start_and_least_finish_give_the_schedules_of_a_naive_twin)
{
    static const struct kind kinds[] = {{"least-start", true, true},
                                        {"least-start", true, false},
                                        {"least-finish", false, true},
                                        {"least-finish", false, false}};
    struct rng rng = test_rng(1989, "lists", 0);
    int n_gaps = 0;
    for (int i = 0; i < LISTS; i++) {
        const struct list list = draw_list(&rng);
        const struct kind kind = kinds[i % 4];
        struct planned plan[MOST_TASKS] = {0};
        plan_list(&list, kind, plan);
        struct bed_rows *rows = run_list(&list, kind);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_placements, list.n);
        for (size_t k = 0; k < rows->n_placements; k++) {
            const struct placement_row *row = &rows->placements[k];
            const struct planned *task = &plan[row->job];
            CHECK_EQ_INT(row->node, task->element);
            CHECK_NEAR(row->start_s, task->start_s, 1e-6);
            CHECK_NEAR(row->end_s, task->finish_s, 1e-6);
            for (int other = 0; other < list.n; other++) /* it is in a gap before one planned earlier */
                n_gaps += plan[other].element == task->element && plan[other].turn < task->turn &&
                          task->finish_s <= plan[other].start_s;
        }
        bed_free(rows);
    }
    CHECK(n_gaps > LISTS / 10);
}
