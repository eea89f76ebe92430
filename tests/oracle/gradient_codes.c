/* Loads of gradient codes as published (Krishnan et al., ICLR 2023), what they tolerate, and times of rounds in closed
 * form. The published run times belong to recorded delays of 256 Lambda workers, which are not here. */
#include "models/gradient_code.h"
#include "tests/support/harness.h"

/* n = 256; and n = 20 with three codes (B, W, lambda). */
TEST(loads_are_those_of_the_paper)
{
    const struct gradient_code gc = {GRADIENT_GC, 256, 15, 0, 0, 0}, sr = {GRADIENT_SR_SGC, 256, 0, 2, 3, 23},
                               m = {GRADIENT_M_SGC, 256, 0, 1, 2, 27}, plain = {.workers = 256};
    CHECK_NEAR(gradient_code_load(&gc), 0.0625, 0.5e-4);
    CHECK_NEAR(gradient_code_load(&sr), 0.05078, 0.5e-5);
    CHECK_NEAR(gradient_code_load(&m), 0.007543, 0.5e-6);
    CHECK_NEAR(gradient_code_load(&plain), 0.003906, 0.5e-6);
    const struct gradient_code small[] = {
        {GRADIENT_M_SGC, 20, 0, 1, 2, 4}, {GRADIENT_M_SGC, 20, 0, 2, 5, 4}, {GRADIENT_M_SGC, 20, 0, 3, 4, 6}};
    const double loads[] = {0.08333, 0.06818, 0.0875};
    for (int i = 0; i < 3; i++) CHECK_NEAR(gradient_code_load(&small[i]), loads[i], 0.5e-5);
    CHECK_EQ_INT(gradient_code_delay(&gc), 0);
    CHECK_EQ_INT(gradient_code_delay(&sr), 2);
    CHECK_EQ_INT(gradient_code_delay(&m), 1);
}

/* Whether all windows of W rounds have at most lambda late workers, each with its late rounds within B neighbours. */
static bool fits(const bool *late, int rounds, int workers, int burst, int window, int different)
{
    for (int first = 0; first < rounds; first++) {
        int n = 0;
        for (int i = 0; i < workers; i++) {
            bool any = false;
            for (int a = first; a < first + window && a < rounds; a++)
                for (int b = a; b < first + window && b < rounds; b++)
                    if (late[a * workers + i] && late[b * workers + i]) {
                        any = true;
                        if (b - a >= burst) return false;
                    }
            n += any;
        }
        if (n > different) return false;
    }
    return true;
}

TEST(tolerated_patterns_are_those_of_the_definition)
{
    enum { WORKERS = 5, ROUNDS = 8 };
    int tolerated = 0;
    for (uint64_t index = 0; index < 3000; index++) {
        struct rng rng = test_rng(1, "codes", index);
        const struct gradient_code code = {index % 2 == 0 ? GRADIENT_M_SGC : GRADIENT_SR_SGC,
                                           WORKERS,
                                           0,
                                           1 + (int32_t)rng_below(&rng, 3),
                                           2 + (int32_t)rng_below(&rng, 4),
                                           1 + (int32_t)rng_below(&rng, 3)};
        bool late[WORKERS * ROUNDS], all = true;
        for (int i = 0; i < WORKERS * ROUNDS; i++) late[i] = rng_below(&rng, 8) == 0;
        for (int32_t round = 0; round < ROUNDS; round++) all = all && gradient_code_tolerates(&code, late, round);
        CHECK_EQ_INT(all, fits(late, ROUNDS, WORKERS, code.burst, code.window, code.different));
        tolerated += all;
    }
    CHECK(tolerated > 300 && tolerated < 2700);
}

/* Delays of 1 s, stragglers of 9 s, patience 1. Without coding a straggler costs its 9 s; GC hides one in each round;
 * M-SGC hides it in turns, at a smaller load but with further rounds. */
TEST(rounds_take_their_closed_form)
{
    enum { N = 4, STEPS = 10, ROUNDS = STEPS + 8 };
    double delay_s[ROUNDS * N];
    bool late[ROUNDS * N];
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < N; i++) delay_s[r * N + i] = r % 3 == 0 && i == r / 3 % N ? 9.0 : 1.0;
    const double slope_s = 2.0;
    const struct gradient_code plain = {.workers = N}, gc = {GRADIENT_GC, N, 1, 0, 0, 0},
                               m = {GRADIENT_M_SGC, N, 0, 1, 3, 1};
    CHECK_NEAR(gradient_code_run_s(&plain, delay_s, slope_s, 1.0, STEPS, late), 4 * 9.5 + 6 * 1.5, 1e-9);
    CHECK_NEAR(gradient_code_run_s(&gc, delay_s, slope_s, 1.0, STEPS, late), 4 * 2 * 2.0 + 6 * 2.0, 1e-9);
    const double own_s = 1.0 + slope_s * gradient_code_load(&m); /* load 2 * 3 / (4 * 5): 0.3; 2 rounds more */
    CHECK_NEAR(gradient_code_load(&m), 0.3, 1e-12);
    CHECK_NEAR(gradient_code_run_s(&m, delay_s, slope_s, 1.0, STEPS, late), 4 * 2 * own_s + 8 * own_s, 1e-9);
}

/* A worker that is late in every round is one that only GC tolerates. */
TEST(lasting_stragglers_need_gradient_coding)
{
    enum { N = 6, STEPS = 20, ROUNDS = STEPS + 8 };
    double delay_s[ROUNDS * N];
    bool late[ROUNDS * N];
    for (int i = 0; i < ROUNDS * N; i++) delay_s[i] = i % N == 0 ? 9.0 : 1.0;
    const struct gradient_code gc = {GRADIENT_GC, N, 1, 0, 0, 0}, m = {GRADIENT_M_SGC, N, 0, 1, 2, 2};
    CHECK(gradient_code_run_s(&gc, delay_s, 0.1, 1.0, STEPS, late) < 2.2 * STEPS);
    CHECK(gradient_code_run_s(&m, delay_s, 0.1, 1.0, STEPS, late) > 5.0 * STEPS);
}

/* --- Random rounds against a naive master --- */

enum { MASTER_N = 5, MASTER_STEPS = 8, MASTER_ROUNDS = MASTER_STEPS + 8 };

static bool bears(const struct gradient_code *code, const bool *late, int rounds)
{
    if (code->scheme == GRADIENT_SR_SGC || code->scheme == GRADIENT_M_SGC)
        return fits(late, rounds, MASTER_N, code->burst, code->window, code->different);
    for (int round = 0; round < rounds; round++) {
        int n = 0;
        for (int i = 0; i < MASTER_N; i++) n += late[round * MASTER_N + i];
        if (n > (code->scheme == GRADIENT_GC ? code->stragglers : 0)) return false;
    }
    return true;
}

/* One round after the other: who is not there by the limit is late, unless that is more than the code bears. */
static double master_s(const struct gradient_code *code, const double *delay_s, double work_s, double patience,
                       int rounds, bool *late)
{
    double sum_s = 0.0;
    for (int round = 0; round < rounds; round++) {
        const double *of = &delay_s[round * MASTER_N];
        bool *own = &late[round * MASTER_N];
        double first_s = of[0] + work_s, last_s = of[0] + work_s;
        for (int i = 1; i < MASTER_N; i++) {
            if (of[i] + work_s < first_s) first_s = of[i] + work_s;
            if (of[i] + work_s > last_s) last_s = of[i] + work_s;
        }
        const double limit_s = (1.0 + patience) * first_s;
        for (int i = 0; i < MASTER_N; i++) own[i] = of[i] + work_s > limit_s;
        if (!bears(code, late, round + 1))
            for (int i = 0; i < MASTER_N; i++) own[i] = false;
        bool any = false;
        for (int i = 0; i < MASTER_N; i++) any = any || own[i];
        sum_s += any ? limit_s : last_s;
    }
    return sum_s;
}

/* Delays in halves of a second, so that some workers answer just at the limit. */
TEST(random_rounds_take_the_time_of_a_naive_master)
{
    int n_late = 0;
    for (uint64_t index = 0; index < 2000; index++) {
        struct rng rng = test_rng(2, "master", index);
        const struct gradient_code code = {(enum gradient_scheme)rng_below(&rng, 4),
                                           MASTER_N,
                                           (int32_t)rng_below(&rng, 3),
                                           1 + (int32_t)rng_below(&rng, 3),
                                           2 + (int32_t)rng_below(&rng, 4),
                                           1 + (int32_t)rng_below(&rng, MASTER_N)};
        double delay_s[MASTER_ROUNDS * MASTER_N];
        bool late[MASTER_ROUNDS * MASTER_N] = {0}, naive[MASTER_ROUNDS * MASTER_N] = {0};
        for (int i = 0; i < MASTER_ROUNDS * MASTER_N; i++)
            delay_s[i] = rng_below(&rng, 6) > 0 ? 1.0 : 0.5 * (double)(1 + rng_below(&rng, 10));
        const double patience = 0.5 * (double)rng_below(&rng, 4), slope_s = rng_below(&rng, 2) == 0 ? 0.0 : 0.7;
        const int rounds = MASTER_STEPS + gradient_code_delay(&code);
        MUST(rounds <= MASTER_ROUNDS);
        const double expected_s = master_s(&code, delay_s, slope_s * gradient_code_load(&code), patience, rounds,
                                           naive);
        CHECK_NEAR(gradient_code_run_s(&code, delay_s, slope_s, patience, MASTER_STEPS, late), expected_s, 1e-9);
        for (int i = 0; i < rounds * MASTER_N; i++) {
            CHECK_EQ_INT(late[i], naive[i]);
            n_late += naive[i];
        }
    }
    CHECK(n_late > 2000);
}
