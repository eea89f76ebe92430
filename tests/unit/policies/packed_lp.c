/* Gavel's program with pairs: solved examples, and against singles where pairs gain nothing. */
#include "policies/scheduler/sharing/packed_lp.h"
#include "tests/support/harness.h"

#include <string.h>

enum { MOST = 32 };

static double solve(struct packed_problem *problem, double *y)
{
    unsigned char columns[MOST * PACKED_TYPES + 1] = {0}, rows[3 * MOST] = {0};
    struct packed_basis basis = {columns, rows};
    double level = 0;
    memset(columns, LP_NEW, sizeof columns);
    memset(rows, LP_NEW, sizeof rows);
    CHECK_EQ_INT(packed_solve(problem, &basis, y, &level), LP_OPTIMAL);
    return level;
}

/* Three jobs with speeds (4, 1), (3, 1), (2, 1) on one GPU of each type: 12 / 11 of equal shares. */
TEST(without_pairs_as_gavel)
{
    const struct combination of[] = {{0, -1, 1, {4, 1}, {0}}, {1, -1, 1, {3, 1}, {0}}, {2, -1, 1, {2, 1}, {0}}};
    const double count[] = {1, 1, 1}, gpus[] = {1, 1}, need[] = {5 / 3.0, 4 / 3.0, 1};
    double y[3 * 2];
    struct packed_problem problem = {3, 3, 2, count, need, gpus, of};
    CHECK_NEAR(solve(&problem, y), 12 / 11.0, 1e-6);
    const double expected[] = {1.8182, 1.4545, 1.0909};
    for (int k = 0; k < 3; k++) CHECK_NEAR(of[k].speed_first[0] * y[2 * k] + y[2 * k + 1], expected[k], 1e-4);
}

/* Two jobs that run at 0.8 and 0.7 beside each other, where half of the time alone would give 0.5. The pair gives the
 * second less, so the first gives up some of its time for it. */
TEST(pairs_do_more)
{
    const struct combination of[] = {{0, -1, 1, {1}, {0}}, {1, -1, 1, {1}, {0}}, {0, 1, 1, {0.8}, {0.7}}};
    const double count[] = {1, 1}, gpus[] = {1}, need[] = {1, 1};
    double y[3];
    struct packed_problem problem = {2, 3, 1, count, need, gpus, of};
    /* x of the pair and 1 - x of the second alone: 0.8 x = 0.7 x + 1 - x */
    CHECK_NEAR(solve(&problem, y), 0.8 / 1.1, 1e-6);
    CHECK_NEAR(y[2], 1 / 1.1, 1e-6);
    CHECK_NEAR(y[1], 0.1 / 1.1, 1e-6);
}

/* Two jobs of one kind count twice in a combination. */
TEST(pairs_of_one_kind)
{
    const struct combination of[] = {{0, -1, 1, {1}, {0}}, {0, 0, 1, {0.75}, {0.75}}};
    const double count[] = {4}, gpus[] = {1}, need[] = {1};
    double y[2];
    struct packed_problem problem = {1, 2, 1, count, need, gpus, of};
    CHECK_NEAR(solve(&problem, y), 2 * 0.75 / 4, 1e-6);
    CHECK_NEAR(y[1], 1, 1e-6);
}

/* Random speeds: pairs never lower the least rate, all constraints hold, and the level is the least rate over need. */
TEST(constraints_hold)
{
    for (uint64_t round = 0; round < 60; round++) {
        struct rng rng = test_rng(1, "packed", round);
        struct combination of[MOST] = {{0}};
        double count[4], need[4], gpus[3], y[MOST * 3], used[3] = {0}, time[4] = {0}, rate[4] = {0};
        const int kinds = 2 + (int)rng_below(&rng, 3), types = 1 + (int)rng_below(&rng, 3);
        int n = kinds;
        for (int j = 0; j < types; j++) gpus[j] = 1 + (double)rng_below(&rng, 4);
        for (int k = 0; k < kinds; k++) {
            count[k] = 1 + (double)rng_below(&rng, 5);
            need[k] = 0.5 + rng_uniform(&rng);
            of[k] = (struct combination){.first = k, .second = -1, .gpus = 1};
            for (int j = 0; j < types; j++) of[k].speed_first[j] = 0.2 + rng_uniform(&rng);
        }
        for (int k = 0; k < kinds; k++)
            for (int l = k; l < kinds; l++, n++) {
                of[n] = (struct combination){.first = k, .second = l, .gpus = 1};
                for (int j = 0; j < types; j++) {
                    of[n].speed_first[j] = of[k].speed_first[j] * (0.4 + 0.6 * rng_uniform(&rng));
                    of[n].speed_second[j] = of[l].speed_first[j] * (0.4 + 0.6 * rng_uniform(&rng));
                }
            }
        struct packed_problem problem = {kinds, kinds, types, count, need, gpus, of};
        const double alone = solve(&problem, y);
        problem.combinations = n;
        const double level = solve(&problem, y);
        CHECK(level >= alone - 1e-7);
        for (int c = 0; c < n; c++)
            for (int j = 0; j < types; j++) {
                const double runs = y[c * types + j];
                CHECK(runs >= -1e-9);
                used[j] += runs;
                time[of[c].first] += runs;
                rate[of[c].first] += runs * of[c].speed_first[j] / count[of[c].first];
                if (of[c].second < 0) continue;
                time[of[c].second] += runs;
                rate[of[c].second] += runs * of[c].speed_second[j] / count[of[c].second];
            }
        for (int j = 0; j < types; j++) CHECK(used[j] <= gpus[j] + 1e-6);
        for (int k = 0; k < kinds; k++) CHECK(time[k] <= count[k] + 1e-6 && rate[k] >= level * need[k] - 1e-5);
    }
}
