/* List schedulers against the best of all schedules on small random graphs of jobs. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { MOST_TASKS = 5, ELEMENTS = 2, GRAPHS = 200 };

struct graph {
    int n, time_s[MOST_TASKS][ELEMENTS];
    int delay_s[MOST_TASKS][MOST_TASKS]; /* from the earlier to the later task; -1: no edge */
};

static struct graph draw_graph(struct rng *rng)
{
    struct graph graph = {.n = 2 + (int)rng_below(rng, MOST_TASKS - 1)};
    for (int i = 0; i < graph.n; i++) {
        for (int e = 0; e < ELEMENTS; e++) graph.time_s[i][e] = 1 + (int)rng_below(rng, 20);
        for (int k = 0; k < i; k++) graph.delay_s[k][i] = rng_below(rng, 2) == 0 ? (int)rng_below(rng, 15) : -1;
    }
    return graph;
}

static const struct bed_rows *run_graph(const struct graph *graph, const char *scheduler)
{
    SCOPED(text) text;
    text_init(&text);
    text_add(&text, "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100', 'node_types': {'b': {'nodes': 1,"
                    " 'gpus_per_node': 1, 'gpu': 't4'}}}, 'jobs': {'types': {");
    for (int i = 0; i < graph->n; i++)
        text_printf(&text, "%s'task%d': {'speeds': {'p100': %.17g, 't4': %.17g}}", i > 0 ? ", " : "", i,
                    1.0 / graph->time_s[i][0], 1.0 / graph->time_s[i][1]);
    text_printf(&text, "}, 'scheduler': %s, 'trace': {'format': 'inline-jobs', 'jobs': [", scheduler);
    for (int i = 0; i < graph->n; i++) {
        text_printf(&text, "%s{'duration': '1s', 'type': 'task%d', 'after': [", i > 0 ? ", " : "", i);
        for (int k = 0, n = 0; k < i; k++)
            if (graph->delay_s[k][i] >= 0)
                text_printf(&text, "%s{'job': %d, 'delay': '%ds'}", n++ > 0 ? ", " : "", k, graph->delay_s[k][i]);
        text_add(&text, "]}");
    }
    text_add(&text, "]}}}");
    return bed_run(BED(.check = true), "%s", text.chars);
}

/* Tries each task next on each element, so that every order and every assignment is met. */
static int best_makespan(const struct graph *graph, const int *element, const int *end_s, const int *free_s)
{
    int best = INT32_MAX;
    bool is_whole = true;
    for (int i = 0; i < graph->n; i++) {
        bool is_ready = element[i] < 0;
        is_whole = is_whole && element[i] >= 0;
        for (int k = 0; k < i; k++) is_ready = is_ready && (graph->delay_s[k][i] < 0 || element[k] >= 0);
        for (int e = 0; e < ELEMENTS && is_ready; e++) {
            int elements[MOST_TASKS], ends_s[MOST_TASKS], frees_s[ELEMENTS], start_s = free_s[e];
            memcpy(elements, element, sizeof elements);
            memcpy(ends_s, end_s, sizeof ends_s);
            memcpy(frees_s, free_s, sizeof frees_s);
            for (int k = 0; k < i; k++) {
                if (graph->delay_s[k][i] < 0) continue;
                const int there_s = end_s[k] + (element[k] == e ? 0 : graph->delay_s[k][i]);
                start_s = there_s > start_s ? there_s : start_s;
            }
            elements[i] = e;
            ends_s[i] = frees_s[e] = start_s + graph->time_s[i][e];
            const int makespan = best_makespan(graph, elements, ends_s, frees_s);
            best = makespan < best ? makespan : best;
        }
    }
    return is_whole ? (free_s[0] > free_s[1] ? free_s[0] : free_s[1]) : best;
}

/* No task begins before its data is there, and no element runs two at once. */
static void check_schedule(const struct graph *graph, const struct bed_rows *rows)
{
    const struct placement_row *of[MOST_TASKS] = {0};
    for (size_t i = 0; i < rows->n_placements; i++) of[rows->placements[i].job] = &rows->placements[i];
    for (int i = 0; i < graph->n; i++) {
        CHECK(of[i] != NULL);
        const double start_s = of[i]->end_s - graph->time_s[i][of[i]->node];
        for (int k = 0; k < i; k++) {
            const bool is_same = of[k]->node == of[i]->node;
            if (is_same) CHECK(of[k]->end_s <= of[i]->start_s + 1e-6 || of[i]->end_s <= of[k]->start_s + 1e-6);
            if (graph->delay_s[k][i] >= 0) CHECK(start_s >= of[k]->end_s + (is_same ? 0 : graph->delay_s[k][i]) - 1e-6);
        }
    }
}

/* Each graph meets every `step`-th scheduler. */
static void check_list_schedulers(int step)
{
    static const char *const schedulers[] = {"'heft'",
                                             "{'policy': 'heft', 'order': 'critical-path'}",
                                             "{'policy': 'heft', 'order': 'least-start'}",
                                             "{'policy': 'heft', 'order': 'least-finish'}",
                                             "{'policy': 'heft', 'order': 'submission', 'choice': 'time'}",
                                             "{'policy': 'heft', 'order': 'submission', 'insertion': false}",
                                             "{'policy': 'dispatch', 'rule': 'mwkr'}"};
    enum { SCHEDULERS = sizeof schedulers / sizeof *schedulers };
    struct rng rng = test_rng(2002, "graphs", 0);
    int n_best = 0, n_runs = 0;
    for (int i = 0; i < GRAPHS; i++) {
        const struct graph graph = draw_graph(&rng);
        const int none[MOST_TASKS] = {-1, -1, -1, -1, -1}, zeros[MOST_TASKS] = {0};
        const int best_s = best_makespan(&graph, none, zeros, zeros);
        for (int k = i % step; k < SCHEDULERS; k += step, n_runs++) {
            struct bed_rows *rows = (struct bed_rows *)run_graph(&graph, schedulers[k]);
            const double makespan_s = bed_metric(rows, "job.makespan_s");
            CHECK_EQ_INT(rows->code, 0);
            check_schedule(&graph, rows);
            CHECK(makespan_s >= best_s - 1e-6);
            n_best += makespan_s < best_s + 1e-6;
            bed_free(rows);
        }
    }
    CHECK(n_best > n_runs / 4);
}

TEST(list_schedulers_are_sound_and_none_beats_the_best_schedule)
{
    check_list_schedulers(7);
}

TEST_OPTIMISED(every_list_scheduler_is_sound_on_every_graph)
{
    check_list_schedulers(1);
}
