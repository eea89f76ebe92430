/* Job shops with outages: a machine is down for a while, its running operation pauses, and none starts on it. Makespans
 * on ft06 are integers of an independent program of non-delay schedules, with ties to the lower job. On random shops
 * every job ends as in a naive simulation that goes second by second. */
#include "tests/support/shops.h"
#include "tests/support/harness.h"

enum { RULES = 5 };
static const char *const rules[RULES] = {"fifo", "spt", "mwkr", "mopnr", "fdd-mwkr"};

static double makespan_s(const char *rule, const struct shop_outage *outages, int n)
{
    struct bed_rows *rows = shop_run_with(&shop_ft06, rule, outages, n);
    CHECK_EQ_INT(rows->code, 0);
    const double makespan = bed_metric(rows, "job.makespan_s");
    bed_free(rows);
    return makespan;
}

TEST(rules_give_their_integers_on_ft06_with_an_outage)
{
    static const struct {
        struct shop_outage outage;
        double makespan_s[RULES];
    } cases[] = {{{0, 10, 20}, {61, 89, 61, 61, 62}},
                 {{2, 20, 30}, {65, 88, 61, 59, 70}},
                 {{5, 30, 50}, {77, 88, 79, 76, 76}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int rule = 0; rule < RULES; rule++)
            CHECK_NEAR(makespan_s(rules[rule], &cases[i].outage, 1), cases[i].makespan_s[rule], 1e-9);
}

/* An anomaly of list schedules: with less machine time the same rule ends sooner. */
TEST(an_outage_shortens_fifo_on_ft06)
{
    CHECK_NEAR(makespan_s("fifo", &(struct shop_outage){0, 10, 20}, 1), 61, 1e-9);
    CHECK_NEAR(makespan_s("fifo", &(struct shop_outage){0, 1000, 1001}, 1), 65, 1e-9);
}

/* --- By a naive simulation, second by second --- */

enum { MOST_OUTAGES = 3 };

struct naive {
    const struct shop *shop;
    struct shop_outage outages[MOST_OUTAGES];
    int n_outages, rule, next[MOST_JOBS], ready_s[MOST_JOBS], end_s[MOST_JOBS];
    int job_on[MOST_MACHINES], left_s[MOST_MACHINES]; /* -1: idle; of its operation */
};

static bool is_down(const struct naive *naive, int machine, int now_s)
{
    for (int i = 0; i < naive->n_outages; i++) {
        const struct shop_outage *outage = &naive->outages[i];
        if (outage->machine == machine && outage->from_s <= now_s && now_s < outage->until_s) return true;
    }
    return false;
}

static double key_of(const struct naive *naive, int job)
{
    const struct shop *shop = naive->shop;
    double left = 0, up_to = 0;
    const int k = naive->next[job];
    for (int i = 0; i < shop->machines; i++) {
        left += i >= k ? shop->tasks[job][i].time_s : 0;
        up_to += i <= k ? shop->tasks[job][i].time_s : 0;
    }
    const double keys[RULES] = {naive->ready_s[job], shop->tasks[job][k].time_s, -left, k - shop->machines,
                                up_to / left};
    return keys[naive->rule];
}

static void end_operations(struct naive *naive, int now_s, int *left)
{
    for (int m = 0; m < naive->shop->machines; m++) {
        const int job = naive->job_on[m];
        if (job < 0 || naive->left_s[m] > 0) continue;
        naive->job_on[m] = -1;
        naive->next[job]++;
        naive->ready_s[job] = naive->end_s[job] = now_s;
        --*left;
    }
}

static bool is_running(const struct naive *naive, int job)
{
    for (int m = 0; m < naive->shop->machines; m++)
        if (naive->job_on[m] == job) return true;
    return false;
}

static void start_on(struct naive *naive, int machine)
{
    const struct shop *shop = naive->shop;
    int best = -1;
    for (int j = 0; j < shop->jobs; j++) {
        if (naive->next[j] == shop->machines || is_running(naive, j)) continue;
        if (shop->tasks[j][naive->next[j]].machine != machine) continue;
        if (best < 0 || key_of(naive, j) < key_of(naive, best)) best = j;
    }
    naive->job_on[machine] = best;
    if (best >= 0) naive->left_s[machine] = shop->tasks[best][naive->next[best]].time_s;
}

static void naive_run(struct naive *naive)
{
    const struct shop *shop = naive->shop;
    int left = shop->jobs * shop->machines;
    for (int m = 0; m < shop->machines; m++) naive->job_on[m] = -1;
    for (int now_s = 0; left > 0; now_s++) {
        end_operations(naive, now_s, &left);
        for (int m = 0; m < shop->machines; m++)
            if (naive->job_on[m] < 0 && !is_down(naive, m, now_s)) start_on(naive, m);
        for (int m = 0; m < shop->machines; m++)
            if (naive->job_on[m] >= 0 && !is_down(naive, m, now_s)) naive->left_s[m]--;
    }
}

static void draw_shop(struct rng *rng, struct shop *shop)
{
    *shop = (struct shop){.jobs = 2 + (int)rng_below(rng, 6), .machines = 2 + (int)rng_below(rng, 4)};
    for (int j = 0; j < shop->jobs; j++)
        for (int k = 0; k < shop->machines; k++) {
            const int other = (int)rng_below(rng, (uint64_t)k + 1);
            shop->tasks[j][k].machine = shop->tasks[j][other].machine;
            shop->tasks[j][other].machine = k;
            shop->tasks[j][k].time_s = 1 + (int)rng_below(rng, 30);
        }
}

/* Outages overlap, meet and stay apart; ends and begins fall together with those of operations. */
TEST(random_shops_with_outages_end_as_in_a_naive_simulation)
{
    enum { SHOPS = 150 };
    struct rng rng = test_rng(2023, "shop outages", 0);
    int n_delayed = 0;
    for (int i = 0; i < SHOPS; i++) {
        struct shop shop;
        draw_shop(&rng, &shop);
        struct naive naive = {.shop = &shop, .rule = i % RULES}, undisturbed = naive;
        naive.n_outages = 1 + (int)rng_below(&rng, MOST_OUTAGES);
        for (int k = 0; k < naive.n_outages; k++) {
            const int from_s = (int)rng_below(&rng, 80), length_s = 1 + (int)rng_below(&rng, 40);
            naive.outages[k] = (struct shop_outage){(int)rng_below(&rng, (uint64_t)shop.machines), from_s,
                                                    from_s + length_s};
        }
        naive_run(&naive);
        naive_run(&undisturbed);
        struct bed_rows *rows = shop_run_with(&shop, rules[naive.rule], naive.outages, naive.n_outages);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_jobs, shop.jobs * shop.machines);
        double end_s[MOST_JOBS] = {0};
        for (size_t k = 0; k < rows->n_jobs; k++)
            end_s[rows->jobs[k].id / shop.machines] = fmax(end_s[rows->jobs[k].id / shop.machines],
                                                           rows->jobs[k].end_s);
        for (int j = 0; j < shop.jobs; j++) {
            CHECK_NEAR(end_s[j], naive.end_s[j], 1e-9);
            n_delayed += naive.end_s[j] > undisturbed.end_s[j];
        }
        bed_free(rows);
    }
    CHECK(n_delayed > SHOPS);
}
