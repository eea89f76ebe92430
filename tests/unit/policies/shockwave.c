/* Shockwave's forecast by hand, its market against all plans of small windows, and short schedules by hand. */
#include "policies/scheduler/adaptation/forecast.h"
#include "policies/scheduler/adaptation/welfare.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <math.h>

TEST(forecast_without_epochs_is_the_mean_of_the_modes)
{
    const struct job_epochs epochs = {.n_modes = 2, .modes = {{1, 0}, {2, 0}}};
    const struct forecast forecast = forecast_of(&epochs, 100);
    CHECK_NEAR(forecast.remaining_s, 75, 1e-9);
    CHECK_NEAR(forecast.spent_s, 0, 0);
}

/* Half of the epochs in the first of two modes: 1/6 and 1/3 of them are expected to be left in each. */
TEST(forecast_follows_the_modes_seen)
{
    const struct job_epochs epochs = {.done_frac = 0.5, .n_modes = 2, .modes = {{1, 0.5}, {2, 0}}};
    const struct forecast forecast = forecast_of(&epochs, 100);
    CHECK_NEAR(forecast.remaining_s, 100.0 / 3, 1e-9);
    CHECK_NEAR(forecast.spent_s, 50, 1e-9);
}

TEST(forecast_of_one_mode_is_exact)
{
    for (int percent = 0; percent <= 100; percent += 10) {
        const struct job_epochs epochs = {.done_frac = percent / 100.0, .n_modes = 1, .modes = {{4, percent / 100.0}}};
        CHECK_NEAR(forecast_of(&epochs, 100).remaining_s, 25 - percent / 4.0, 1e-9);
    }
}

enum { JOBS = 3, ROUNDS = 4 };

/* The best value of all numbers of rounds that fit. */
static double best_of_all(struct welfare welfare)
{
    double best = -(double)INFINITY;
    for (int code = 0; code < (ROUNDS + 1) * (ROUNDS + 1) * (ROUNDS + 1); code++) {
        int64_t gpus = 0;
        bool fits = true;
        for (int j = 0, left = code; j < JOBS; j++, left /= ROUNDS + 1) {
            welfare.jobs[j].rounds = left % (ROUNDS + 1);
            fits = fits && welfare.jobs[j].rounds >= welfare.jobs[j].least;
            gpus += welfare.jobs[j].gpus * welfare.jobs[j].rounds;
        }
        if (!fits || gpus > welfare.gpus * ROUNDS) continue;
        best = fmax(best, welfare_value(&welfare));
    }
    return best;
}

/* The artifact's solver stops within 0.1 % of the optimum. */
TEST(no_plan_of_one_gpu_jobs_is_better_by_more_than_the_artifacts_gap)
{
    for (uint64_t round = 0; round < 400; round++) {
        struct rng rng = test_rng(11, "welfare", round);
        struct welfare_job jobs[JOBS];
        struct welfare_offer heap[JOBS];
        int32_t best[JOBS];
        struct welfare welfare = {.jobs = jobs, .n = JOBS, .gpus = 1 + (int64_t)rng_below(&rng, 2), .rounds = ROUNDS,
                                  .round_s = 100, .penalty_per_s = round % 3 == 0 ? 0 : 0.001 * rng_uniform(&rng),
                                  .heap = heap, .best = best};
        int64_t least = 0;
        for (int j = 0; j < JOBS; j++) {
            const double all_s = 100 + 2000 * rng_uniform(&rng), done = rng_uniform(&rng);
            jobs[j] = (struct welfare_job){.gpus = 1, .priority = 1 + 9 * rng_uniform(&rng), .done_frac = done,
                                           .per_round_frac = 100 / all_s, .remaining_s = (1 - done) * all_s,
                                           .least = round % 4 == 0 ? (int32_t)rng_below(&rng, 2) : 0};
            least += jobs[j].least;
        }
        CHECK_EQ_INT(welfare_solve(&welfare), least <= welfare.gpus * ROUNDS);
        if (least > welfare.gpus * ROUNDS) continue;
        const double ours = welfare_value(&welfare), all = best_of_all(welfare);
        CHECK(ours <= all + 1e-9);
        CHECK(ours >= all - 1e-3 * fabs(all));
    }
}

static void run_on(struct jobrun *run, const struct job_record *records, size_t n, struct config_list types)
{
    const struct jobrun_spec spec = {.records = records, .n = n, .cluster = {.nodes = 1, .gpus_per_node = 2},
                                     .scheduler = "shockwave", .scheduler_params = "{\"round\": \"10s\"}",
                                     .types = types};
    jobrun_init(run, &spec, 0);
}

/* Of 100 s at the first batch size, half of the epochs take 50 s and the others, twice as fast, 25 s. */
TEST(regimes_change_the_run_time)
{
    struct job_regime regimes[] = {{1, 1, 0}, {1, 2, 0}};
    struct job_type type = {.name = "a", .regimes = {2, regimes}};
    struct job_record record = jobrun_record(0, 0, 100, 1);
    SCOPED(jobrun) run;
    record.type = "a";
    run_on(&run, &record, 1, (struct config_list){1, &type});
    CHECK_NEAR(run.jobs[0].end_s, 75, 1e-6);
}

/* On two GPUs the two jobs of 60 s and the one of 120 s end together: the long one always runs, the others in turns. */
TEST(the_longest_job_runs_all_the_time)
{
    const struct job_record records[] = {jobrun_record(0, 0, 60, 1), jobrun_record(1, 0, 60, 1),
                                         jobrun_record(2, 0, 120, 1)};
    SCOPED(jobrun) run;
    run_on(&run, records, 3, (struct config_list){0});
    CHECK_NEAR(run.jobs[2].end_s, 120, 1e-6);
    CHECK_NEAR(run.makespan_s, 120, 1e-6);
    CHECK_EQ_INT(run.jobs[2].preemptions, 0);
}

/* Every round leaves no GPU idle beside a job that fits. */
TEST(rounds_waste_nothing)
{
    struct rng rng = test_rng(12, "shockwave", 0);
    struct job_record records[40];
    double submit_s = 0;
    for (int i = 0; i < 40; i++) {
        submit_s += 10 * (double)rng_below(&rng, 4);
        records[i] = jobrun_record(i, submit_s, 10 * (1 + (double)rng_below(&rng, 30)), 1);
    }
    const struct jobrun_spec spec = {.records = records, .n = 40, .cluster = {.nodes = 1, .gpus_per_node = 4},
                                     .scheduler = "shockwave", .scheduler_params = "{\"round\": \"10s\"}",
                                     .needs_no_waste = true};
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, 0);
    CHECK(run.makespan_s > 0);
}

/* Of two jobs of one length, the older counts what it has done towards its fair time, and lets the other begin before
 * it has ended. */
TEST(a_newcomer_does_not_wait_for_the_end_of_an_older_job)
{
    for (double submit_s = 100; submit_s <= 300; submit_s += 40) {
        const struct job_record records[] = {jobrun_record(0, 0, 400, 1), jobrun_record(1, submit_s, 400, 1)};
        const struct jobrun_spec spec = {.records = records, .n = 2, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                         .scheduler = "shockwave", .scheduler_params = "{\"round\": \"10s\"}"};
        SCOPED(jobrun) run;
        jobrun_init(&run, &spec, 0);
        CHECK(run.jobs[1].start_s < run.jobs[0].end_s);
        CHECK_NEAR(run.makespan_s, 800, 1e-6);
    }
}
