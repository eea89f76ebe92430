/* Epochs and run times of jobs with several batch sizes. */
#include "sim/world/jobs/job_types.h"
#include "tests/support/harness.h"

TEST(epochs_by_hand)
{
    /* 2 epochs at speed 1, 4 at 2, 2 at 1: 2 + 2 + 2 parts of the time */
    struct job_regime items[] = {{2, 1, 8}, {4, 2, 4}, {2, 1, 6}};
    const struct config_list regimes = {3, items};
    CHECK_EQ_INT(job_regimes_run_ns(&regimes, 80 * SIM_NS_PER_S), 60 * SIM_NS_PER_S);
    const struct job_epochs half = job_regimes_epochs(&regimes, 0.5);
    CHECK_EQ_INT(half.n_modes, 2);
    CHECK_EQ_INT(half.mode, 1);
    CHECK_NEAR(half.done_frac, 0.5, 1e-12);
    CHECK_NEAR(half.modes[0].done_frac, 0.25, 1e-12);
    CHECK_NEAR(half.modes[1].done_frac, 0.25, 1e-12);
    const struct job_epochs end = job_regimes_epochs(&regimes, 1);
    CHECK_EQ_INT(end.mode, 0);
    CHECK_NEAR(end.done_frac, 1, 1e-12);
    CHECK_NEAR(end.modes[0].done_frac, 0.5, 1e-12);
    const double steps_per_s[] = {8, 8, 4, 4, 6, 6};
    for (int i = 0; i < 6; i++) CHECK_NEAR(job_regimes_steps_per_s(&regimes, (i + 0.5) / 6), steps_per_s[i], 0);
    CHECK_NEAR(job_regimes_steps_per_s(&regimes, 1), 6, 0);
    CHECK_NEAR(job_regimes_steps_per_s(&(struct config_list){0}, 0.5), 0, 0);
}

TEST(without_regimes_epochs_are_time)
{
    const struct config_list none = {0, NULL};
    CHECK_EQ_INT(job_regimes_run_ns(&none, 12345), 12345);
    const struct job_epochs epochs = job_regimes_epochs(&none, 0.3);
    CHECK_EQ_INT(epochs.n_modes, 1);
    CHECK_NEAR(epochs.modes[0].done_frac, 0.3, 0);
}

/* Epochs never fall with time, and the modes' add up. */
TEST(epochs_rise_with_time)
{
    for (uint64_t round = 0; round < 100; round++) {
        struct rng rng = test_rng(13, "regimes", round);
        struct job_regime items[8];
        const size_t n = 1 + (size_t)rng_below(&rng, 8);
        for (size_t i = 0; i < n; i++)
            items[i] = (struct job_regime){0.1 + rng_uniform(&rng), 1 + (double)rng_below(&rng, 4), 0};
        const struct config_list regimes = {n, items};
        double before = 0;
        for (int step = 0; step <= 20; step++) {
            const struct job_epochs epochs = job_regimes_epochs(&regimes, step / 20.0);
            double sum = 0;
            for (int32_t k = 0; k < epochs.n_modes; k++) sum += epochs.modes[k].done_frac;
            CHECK_NEAR(sum, epochs.done_frac, 1e-9);
            CHECK(epochs.done_frac >= before);
            before = epochs.done_frac;
        }
        CHECK_NEAR(before, 1, 1e-9);
    }
}

TEST(too_many_batch_sizes_are_an_error)
{
    struct job_regime items[JOB_MODES + 1];
    struct diag diag;
    diag_init(&diag);
    for (int i = 0; i <= JOB_MODES; i++) items[i] = (struct job_regime){1, 1 + i, 0};
    CHECK_EQ_INT(job_regimes_check(&(struct config_list){JOB_MODES, items}, "jobs.types.a.regimes", &diag), 0);
    CHECK_EQ_INT(job_regimes_check(&(struct config_list){JOB_MODES + 1, items}, "jobs.types.a.regimes", &diag),
                 SIM_E_CONFIG);
}
