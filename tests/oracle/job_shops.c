/* Dispatch rules on two published job shops, ft06 (Fisher and Thompson, 1963) and la01 (Lawrence, 1984): makespans,
 * mean completion times and mean tardiness are exact integers and fractions, worked out by an independent program of
 * non-delay schedules with ties to the lower job. The optimal makespans, 55 and 666 (Applegate and Cook, ORSA J.
 * Computing 3(2), 1991), are proved again here by branch and bound, and no rule comes below them. */
#include "tests/support/shops.h"
#include "tests/support/harness.h"

static const char *const rules[] = {"fifo",  "spt",      "lpt", "mwkr",  "lwkr", "mopnr",
                                    "lopnr", "fdd-mwkr", "edd", "slack", "cr",   "s-opn"};
enum { RULES = sizeof rules / sizeof *rules };

struct outcome {
    double makespan_s, mean_end_s, mean_tardiness_s;
};

static struct outcome outcome_of(const struct shop *shop, const struct bed_rows *rows)
{
    struct outcome outcome = {.makespan_s = bed_metric(rows, "job.makespan_s")};
    double end_s[MOST_JOBS] = {0};
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, shop->jobs * shop->machines);
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const int64_t job = rows->jobs[i].id / shop->machines;
        end_s[job] = fmax(end_s[job], rows->jobs[i].end_s);
    }
    for (int j = 0; j < shop->jobs; j++) {
        double work_s = 0;
        for (int k = 0; k < shop->machines; k++) work_s += shop->tasks[j][k].time_s;
        outcome.mean_end_s += end_s[j] / shop->jobs;
        outcome.mean_tardiness_s += fmax(end_s[j] - 1.5 * work_s, 0) / shop->jobs;
    }
    return outcome;
}

TEST(rules_give_their_integers_on_ft06)
{
    static const double makespan_s[RULES] = {65, 88, 77, 61, 83, 59, 68, 67, 83, 76, 60, 76};
    static const double end_s[RULES] = {54.83, 52.67, 62.50, 55.83, 49.17, 52.17, 54.00, 58.33, 49.17, 55.00, 55.00, 55.50};
    static const double tardiness_s[RULES] = {9.5, 6.667, 16.75, 9.167, 3.0, 6.5, 8.167, 11.583, 3.0, 7.5, 7.833, 8.0};
    for (int i = 0; i < RULES; i++) {
        const struct outcome outcome = outcome_of(&shop_ft06, shop_run(&shop_ft06, SHOP_CLASSIC, rules[i], false));
        CHECK_NEAR(outcome.makespan_s, makespan_s[i], 1e-9);
        CHECK_NEAR(outcome.mean_end_s, end_s[i], 0.005);
        CHECK_NEAR(outcome.mean_tardiness_s, tardiness_s[i], 0.0005);
    }
}

TEST(rules_give_their_integers_on_la01)
{
    static const double makespan_s[RULES] = {772, 751, 822, 735, 933, 763, 941, 747, 933, 784, 933, 933};
    static const double tardiness_s[RULES] = {187.25, 135.5,  192.7,  181.6,  118.05, 184.7,
                                              142.05, 230.55, 118.05, 109.35, 116.15, 120.75};
    for (int i = 0; i < RULES; i++) {
        const struct outcome outcome = outcome_of(&shop_la01, shop_run(&shop_la01, SHOP_CLASSIC, rules[i], false));
        CHECK_NEAR(outcome.makespan_s, makespan_s[i], 1e-9);
        CHECK_NEAR(outcome.mean_tardiness_s, tardiness_s[i], 0.005);
    }
}

/* --- By a naive simulation of random shops --- */

struct naive {
    const struct shop *shop;
    int rule, now_s, next[MOST_JOBS], ready_s[MOST_JOBS], busy_until_s[MOST_MACHINES], end_s[MOST_JOBS];
};

static int work_of(const struct shop *shop, int job, int from, int to)
{
    int work_s = 0;
    for (int k = from; k < to; k++) work_s += shop->tasks[job][k].time_s;
    return work_s;
}

static double naive_key(const struct naive *naive, int job)
{
    const struct shop *shop = naive->shop;
    const int k = naive->next[job];
    const double p = shop->tasks[job][k].time_s, left = work_of(shop, job, k, shop->machines), n = shop->machines - k;
    const double due = 1.5 * work_of(shop, job, 0, shop->machines);
    const double keys[RULES] = {naive->ready_s[job], p, -p, -left, left, -n, n,
                                work_of(shop, job, 0, k + 1) / left, due, due - naive->now_s - left,
                                (due - naive->now_s) / left, (due - naive->now_s - left) / n};
    return keys[naive->rule];
}

/* Idle machines in order take their best waiting task; then time goes on to the next end of one. */
static void naive_run(struct naive *naive)
{
    const struct shop *shop = naive->shop;
    for (int left = shop->jobs * shop->machines; left > 0;) {
        for (int m = 0; m < shop->machines; m++) {
            int best = -1;
            for (int j = 0; j < shop->jobs && naive->busy_until_s[m] <= naive->now_s; j++) {
                const bool waits = naive->next[j] < shop->machines && naive->ready_s[j] <= naive->now_s &&
                                   shop->tasks[j][naive->next[j]].machine == m;
                if (waits && (best < 0 || naive_key(naive, j) < naive_key(naive, best))) best = j;
            }
            if (best < 0) continue;
            naive->busy_until_s[m] = naive->now_s + shop->tasks[best][naive->next[best]++].time_s;
            naive->ready_s[best] = naive->end_s[best] = naive->busy_until_s[m];
            left--;
        }
        int next_s = INT32_MAX;
        for (int m = 0; m < shop->machines; m++)
            if (naive->busy_until_s[m] > naive->now_s && naive->busy_until_s[m] < next_s)
                next_s = naive->busy_until_s[m];
        naive->now_s = next_s;
    }
}

TEST(random_shops_end_as_in_a_naive_simulation)
{
    enum { SHOPS = 60 };
    struct rng rng = test_rng(1982, "shops", 0);
    for (int i = 0; i < SHOPS; i++) {
        struct shop shop = {.jobs = 2 + (int)rng_below(&rng, 6), .machines = 2 + (int)rng_below(&rng, 4)};
        for (int j = 0; j < shop.jobs; j++) {
            const int first = (int)rng_below(&rng, (uint64_t)shop.machines);
            for (int k = 0; k < shop.machines; k++) {
                shop.tasks[j][k].machine = (first + (j % 2 == 0 ? k : shop.machines - k)) % shop.machines;
                shop.tasks[j][k].time_s = 1 + (int)rng_below(&rng, 30);
            }
        }
        struct naive naive = {.shop = &shop, .rule = i % RULES};
        naive_run(&naive);
        struct bed_rows *rows = shop_run(&shop, SHOP_CLASSIC, rules[i % RULES], false);
        CHECK_EQ_INT(rows->code, 0);
        double end_s[MOST_JOBS] = {0};
        for (size_t k = 0; k < rows->n_jobs; k++)
            end_s[rows->jobs[k].id / shop.machines] = fmax(end_s[rows->jobs[k].id / shop.machines],
                                                           rows->jobs[k].end_s);
        for (int j = 0; j < shop.jobs; j++) CHECK_NEAR(end_s[j], naive.end_s[j], 1e-9);
        bed_free(rows);
    }
}

/* --- Optima, by branch and bound over active schedules (Giffler and Thompson, Operations Research 8(4), 1960) --- */

struct partial {
    int next[MOST_JOBS], ready[MOST_JOBS], free[MOST_MACHINES]; /* of a job its next task and when it can start */
};

struct search {
    const struct shop *shop;
    int best;
};

static int tail_of(const struct shop *shop, int job, int from)
{
    int tail = 0;
    for (int k = from; k < shop->machines; k++) tail += shop->tasks[job][k].time_s;
    return tail;
}

struct task {
    int head, left, tail;
};

/* The makespan of one machine's tasks if they could be interrupted: at any time the released task with the longest tail
 * works (Jackson). No schedule of the machine is shorter. */
static int preemptive_makespan(struct task *tasks, int n, int now)
{
    int makespan = 0, n_left = n;
    while (n_left > 0) {
        int at = -1, next = INT32_MAX;
        for (int i = 0; i < n; i++) {
            if (tasks[i].left == 0) continue;
            if (tasks[i].head > now)
                next = tasks[i].head < next ? tasks[i].head : next;
            else if (at < 0 || tasks[i].tail > tasks[at].tail)
                at = i;
        }
        if (at < 0) {
            now = next;
            continue;
        }
        const int works = next - now < tasks[at].left ? next - now : tasks[at].left;
        now += works;
        tasks[at].left -= works;
        if (tasks[at].left > 0) continue;
        n_left--;
        if (now + tasks[at].tail > makespan) makespan = now + tasks[at].tail;
    }
    return makespan;
}

static int least_makespan(const struct shop *shop, const struct partial *partial)
{
    int least = 0;
    for (int m = 0; m < shop->machines; m++) {
        struct task tasks[MOST_JOBS];
        int n = 0;
        for (int j = 0; j < shop->jobs; j++) {
            int head = partial->ready[j];
            for (int k = partial->next[j]; k < shop->machines; head += shop->tasks[j][k++].time_s)
                if (shop->tasks[j][k].machine == m)
                    tasks[n++] = (struct task){head, shop->tasks[j][k].time_s, tail_of(shop, j, k + 1)};
        }
        const int bound = preemptive_makespan(tasks, n, partial->free[m]);
        least = bound > least ? bound : least;
    }
    for (int j = 0; j < shop->jobs; j++) {
        const int end = partial->ready[j] + tail_of(shop, j, partial->next[j]);
        least = end > least ? end : least;
    }
    return least;
}

static int start_of(const struct shop *shop, const struct partial *partial, int job)
{
    const int free = partial->free[shop->tasks[job][partial->next[job]].machine];
    return partial->ready[job] > free ? partial->ready[job] : free;
}

/* The waiting job whose next task can end first: in some best schedule its machine does next one of the tasks that can
 * start before this end. -1: all tasks are planned. */
static int earliest(const struct shop *shop, const struct partial *partial, int *end)
{
    int job = -1;
    for (int j = 0; j < shop->jobs; j++) {
        if (partial->next[j] == shop->machines) continue;
        const int ends = start_of(shop, partial, j) + shop->tasks[j][partial->next[j]].time_s;
        if (job >= 0 && ends >= *end) continue;
        job = j;
        *end = ends;
    }
    return job;
}

static void branch(struct search *search, const struct partial *partial)
{
    const struct shop *shop = search->shop;
    struct partial nodes[MOST_JOBS];
    int bounds[MOST_JOBS], n = 0, end = 0;
    const int first = earliest(shop, partial, &end);
    if (first < 0) {
        search->best = least_makespan(shop, partial);
        return;
    }
    const int machine = shop->tasks[first][partial->next[first]].machine;
    for (int j = 0; j < shop->jobs; j++) {
        if (partial->next[j] == shop->machines || shop->tasks[j][partial->next[j]].machine != machine) continue;
        const int start = start_of(shop, partial, j);
        if (start >= end) continue;
        nodes[n] = *partial;
        nodes[n].ready[j] = nodes[n].free[machine] = start + shop->tasks[j][partial->next[j]].time_s;
        nodes[n].next[j]++;
        bounds[n] = least_makespan(shop, &nodes[n]);
        n++;
    }
    for (int left = n; left > 0; left--) {
        int least = 0;
        for (int i = 1; i < n; i++)
            if (bounds[i] < bounds[least]) least = i;
        if (bounds[least] >= search->best) return;
        bounds[least] = INT32_MAX;
        branch(search, &nodes[least]);
    }
}

static int optimum(const struct shop *shop)
{
    struct search search = {.shop = shop, .best = INT32_MAX};
    branch(&search, &(struct partial){.free = {0}});
    return search.best;
}

TEST(optima_are_the_published_ones)
{
    CHECK_EQ_INT(optimum(&shop_ft06), 55);
    CHECK_EQ_INT(optimum(&shop_la01), 666);
}
