/* Mélange's integer program: the example of its repository, limits, and small cases against all fleets. */
#include "policies/rental/fleet_params.h"
#include "tests/support/harness.h"

static const double none = (double)INFINITY;

/* example.json: kinds A10G and A100, four buckets, 30 requests per second, one slice: 3 A10G and 1 A100. */
TEST(example_of_the_repository)
{
    static const double usd_per_h[] = {1.01, 3.67}, rate_per_s[] = {6, 3, 15, 6};
    static const double max_per_s[] = {2, 1, 5, 2, 20, 20, 40, 20};
    const double most[] = {none, none};
    int64_t gpus[2];
    double shares[8];
    const struct melange_problem problem = {2, 4, 1, usd_per_h, most, rate_per_s, max_per_s};
    struct melange_fleet fleet = {.gpus = gpus, .shares = shares};
    CHECK_EQ_INT(melange_solve(&problem, &fleet), LP_OPTIMAL);
    CHECK_EQ_INT(gpus[0], 3);
    CHECK_EQ_INT(gpus[1], 1);
    CHECK_NEAR(fleet.usd_per_h, 6.70, 1e-9);
    for (int i = 0; i < 4; i++) CHECK_NEAR(shares[2 * i] + shares[2 * i + 1], 1.0, 1e-12);
    CHECK_EQ_INT(melange_single_kind(&problem, &fleet), LP_OPTIMAL); /* 12 A10G cost 12.12, 2 A100 7.34 */
    CHECK_EQ_INT(gpus[0], 0);
    CHECK_EQ_INT(gpus[1], 2);
    CHECK_NEAR(fleet.usd_per_h, 7.34, 1e-9);
    for (int i = 0; i < 4; i++) CHECK(shares[2 * i] == 0 && shares[2 * i + 1] == 1);
}

/* Of two kinds at one price the first. */
TEST(equal_kinds_are_taken_in_order)
{
    static const double usd_per_h[] = {2, 2}, rate_per_s[] = {3}, max_per_s[] = {1, 1};
    const double most[] = {none, none};
    int64_t gpus[2];
    const struct melange_problem problem = {2, 1, 1, usd_per_h, most, rate_per_s, max_per_s};
    struct melange_fleet fleet = {.gpus = gpus};
    CHECK_EQ_INT(melange_single_kind(&problem, &fleet), LP_OPTIMAL);
    CHECK(gpus[0] == 3 && gpus[1] == 0);
}

/* What one kind cannot serve goes to the other; what neither can, nowhere. */
TEST(buckets_that_a_kind_cannot_serve)
{
    static const double usd_per_h[] = {1, 10}, rate_per_s[] = {1, 1}, most[] = {5, 5};
    static const double some[] = {2, 0, 4, 4}, no_one[] = {2, 0, 4, 0};
    int64_t gpus[2];
    struct melange_problem problem = {2, 2, 4, usd_per_h, most, rate_per_s, some};
    struct melange_fleet fleet = {.gpus = gpus};
    CHECK_EQ_INT(melange_solve(&problem, &fleet), LP_OPTIMAL);
    CHECK(gpus[0] == 0 && gpus[1] == 1);
    CHECK_EQ_INT(melange_single_kind(&problem, &fleet), LP_OPTIMAL);
    CHECK(gpus[0] == 0 && gpus[1] == 1);
    problem.max_per_s = no_one;
    CHECK_EQ_INT(melange_solve(&problem, &fleet), LP_INFEASIBLE);
    CHECK_EQ_INT(melange_single_kind(&problem, &fleet), LP_INFEASIBLE);
}

/* No more is rented than there is. */
TEST(supply_is_limited)
{
    static const double usd_per_h[] = {1, 10}, rate_per_s[] = {9}, max_per_s[] = {2, 4}, most[] = {3, 1};
    int64_t gpus[2];
    const struct melange_problem problem = {2, 1, 9, usd_per_h, most, rate_per_s, max_per_s};
    struct melange_fleet fleet = {.gpus = gpus};
    CHECK_EQ_INT(melange_solve(&problem, &fleet), LP_OPTIMAL);
    CHECK(gpus[0] == 3 && gpus[1] == 1);
    CHECK_EQ_INT(melange_single_kind(&problem, &fleet), LP_INFEASIBLE);
}

enum { KINDS = 2, BUCKETS = 3, SLICES = 2 };

/* Of every way to send the slices, 0 .. SLICES of each bucket to the first kind, the cheapest. */
static double cheapest_of_all(const struct melange_problem *problem)
{
    double best = none;
    for (int code = 0; code < 27; code++) {
        double load[KINDS] = {0, 0};
        for (int i = 0, rest = code; i < BUCKETS; i++, rest /= 3) {
            load[0] += rest % 3 * problem->rate_per_s[i] / SLICES / problem->max_per_s[i];
            load[1] += (SLICES - rest % 3) * problem->rate_per_s[i] / SLICES / problem->max_per_s[BUCKETS + i];
        }
        best = fmin(best, ceil(load[0]) * problem->usd_per_h[0] + ceil(load[1]) * problem->usd_per_h[1]);
    }
    return best;
}

/* The shares of a bucket are all of it, and no kind is given more than its GPUs serve. */
static void check_served(const struct melange_problem *problem, const struct melange_fleet *fleet)
{
    double load[KINDS] = {0, 0};
    for (int i = 0; i < BUCKETS; i++) {
        CHECK_NEAR(fleet->shares[i * KINDS] + fleet->shares[i * KINDS + 1], 1.0, 1e-9);
        for (int j = 0; j < KINDS; j++)
            load[j] += fleet->shares[i * KINDS + j] * problem->rate_per_s[i] / problem->max_per_s[j * BUCKETS + i];
    }
    for (int j = 0; j < KINDS; j++) CHECK(load[j] <= (double)fleet->gpus[j] + 1e-6);
}

TEST(as_all_fleets)
{
    struct rng rng = test_rng(1, "melange", 0);
    for (int round = 0; round < 200; round++) {
        double usd_per_h[KINDS], rate_per_s[BUCKETS], max_per_s[KINDS * BUCKETS];
        const double most[] = {none, none};
        for (int j = 0; j < KINDS; j++) usd_per_h[j] = 0.5 + 4 * rng_uniform(&rng);
        for (int i = 0; i < BUCKETS; i++) rate_per_s[i] = 6 * rng_uniform(&rng);
        for (int i = 0; i < KINDS * BUCKETS; i++) max_per_s[i] = 0.5 + 4 * rng_uniform(&rng);
        int64_t gpus[KINDS];
        double shares[BUCKETS * KINDS];
        const struct melange_problem problem = {KINDS, BUCKETS, SLICES, usd_per_h, most, rate_per_s, max_per_s};
        struct melange_fleet fleet = {.gpus = gpus, .shares = shares};
        MUST(melange_solve(&problem, &fleet) == LP_OPTIMAL);
        CHECK_NEAR(fleet.usd_per_h, cheapest_of_all(&problem), 1e-9);
        check_served(&problem, &fleet);
        const double mix_usd_per_h = fleet.usd_per_h;
        MUST(melange_single_kind(&problem, &fleet) == LP_OPTIMAL);
        CHECK(mix_usd_per_h <= fleet.usd_per_h + 1e-9);
    }
}

/* The size of the paper: 60 buckets, 4 kinds, 8 slices. Within the limit of nodes the fleet is at most one GPU's price
 * dearer than a fleet of which parts could be rented. */
TEST(size_of_the_paper)
{
    enum { N_KINDS = 4, N_BUCKETS = 60 };
    static const double usd_per_h[] = {0.70, 1.01, 3.67, 7.516};
    double rate_per_s[N_BUCKETS], max_per_s[N_KINDS * N_BUCKETS], least = 0;
    const double most[] = {none, none, none, none};
    for (int i = 0; i < N_BUCKETS; i++) {
        rate_per_s[i] = 32.0 / N_BUCKETS;
        double best = none;
        for (int j = 0; j < N_KINDS; j++) {
            max_per_s[j * N_BUCKETS + i] = usd_per_h[j] * (1.0 + 0.1 * j * (i - 20) / 40.0) * 8.0 / (1.0 + 0.2 * i);
            best = fmin(best, usd_per_h[j] / max_per_s[j * N_BUCKETS + i]);
        }
        least += rate_per_s[i] * best;
    }
    int64_t gpus[N_KINDS];
    const struct melange_problem problem = {N_KINDS, N_BUCKETS, 8, usd_per_h, most, rate_per_s, max_per_s};
    struct melange_fleet fleet = {.gpus = gpus};
    const enum lp_outcome outcome = melange_solve(&problem, &fleet);
    CHECK(outcome == LP_OPTIMAL || outcome == LP_FEASIBLE);
    CHECK(fleet.usd_per_h >= least - 1e-9);
    CHECK(fleet.usd_per_h <= least + 7.516);
}

static enum lp_outcome gives_up(const struct melange_problem *problem, struct melange_fleet *fleet)
{
    (void)problem, (void)fleet;
    return LP_GAVE_UP;
}

static enum lp_outcome finds_none(const struct melange_problem *problem, struct melange_fleet *fleet)
{
    (void)problem, (void)fleet;
    return LP_INFEASIBLE;
}

static void check_reported(fleet_solver *solve, const char *says)
{
    double share = 1.0, max_per_s = 2.0;
    struct fleet_kind kind = {.name = "small", .gpus = 1, .max_per_s = {.n = 1, .items = &max_per_s}};
    const struct fleet_params params = {.service = "chat", .rate_per_s = 1.0, .slices = 1,
                                        .buckets = {.n = 1, .items = &share}, .kinds = {.n = 1, .items = &kind}};
    const struct market_offer offer = {.name = "small", .usd_per_h = 1.0, .limit_gpus = none};
    const struct market_view view = {.n_offers = 1, .offers = &offer};
    struct diag diag = {0};
    CHECK_EQ_INT(fleet_params_plan(&params, &view, NULL, solve, &diag), SIM_E_CONFIG);
    CHECK(strstr(diag.items[0].text, says) != NULL);
}

/* A search that ends without a fleet has not shown that there is none. */
TEST(an_unfinished_search_is_reported_as_such)
{
    check_reported(gives_up, "there may be one");
    check_reported(finds_none, "no fleet can serve");
}
