/* Chronus' promise of deadlines on random jobs, and its admission against all subsets of small lists. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <math.h>

enum { MOST_JOBS = 60, FEW_JOBS = 9, LEASE_S = 10 };

static const char params[] = "{\"lease\": \"10s\"}";

/* The deadlines that the run draws, in leases from time 0, rounded down. */
static void draw_deadlines(const struct jobrun_spec *spec, int64_t leases[FEW_JOBS])
{
    struct rng rng;
    rng_init(&rng, 0, 0, "jobs.deadlines", 0);
    for (size_t i = 0; i < spec->n; i++)
        leases[i] = deadline_of(&spec->deadlines, &spec->records[i], &rng) / (LEASE_S * SIM_NS_PER_S);
}

/* The most jobs that one GPU can end in time, if all are there at time 0. */
static int most_in_time(const int64_t *run, const int64_t *deadline, size_t n)
{
    int most = 0;
    for (unsigned set = 0; set < 1u << n; set++) {
        int count = 0;
        bool fits = true;
        for (size_t i = 0; i < n && fits; i++) {
            int64_t work = 0; /* of the set's jobs with deadlines no later */
            if ((set & 1u << i) == 0) continue;
            count++;
            for (size_t k = 0; k < n; k++)
                if ((set & 1u << k) != 0 && deadline[k] <= deadline[i]) work += run[k];
            fits = work <= deadline[i];
        }
        if (fits && count > most) most = count;
    }
    return most;
}

TEST(as_many_deadlines_as_possible_on_one_gpu)
{
    for (uint64_t round = 0; round < 150; round++) {
        struct rng rng = test_rng(16, "chronus", round);
        struct job_record records[FEW_JOBS];
        int64_t run_leases[FEW_JOBS], deadlines[FEW_JOBS];
        const size_t n = 2 + (size_t)rng_below(&rng, FEW_JOBS - 1);
        for (size_t i = 0; i < n; i++) {
            run_leases[i] = 1 + (int64_t)rng_below(&rng, 9);
            records[i] = jobrun_record((int64_t)i, 0, LEASE_S * (double)run_leases[i], 1);
        }
        const struct jobrun_spec spec = {.records = records, .n = n, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                         .scheduler = "chronus", .scheduler_params = params,
                                         .deadlines = {1, 1 + 5 * rng_uniform(&rng), 0}};
        SCOPED(jobrun) run;
        jobrun_init(&run, &spec, 0);
        draw_deadlines(&spec, deadlines);
        int in_time = 0;
        for (size_t i = 0; i < n; i++) in_time += run.jobs[i].end_s <= (double)(deadlines[i] * LEASE_S) + 1e-6;
        CHECK_EQ_INT(in_time, most_in_time(run_leases, deadlines, n));
    }
}

static size_t draw_jobs(struct rng *rng, struct job_record records[MOST_JOBS])
{
    const size_t n = 10 + (size_t)rng_below(rng, MOST_JOBS - 10);
    double submit_s = 0;
    for (size_t i = 0; i < n; i++) {
        submit_s += floor(rng_exponential(rng, 15));
        records[i] = jobrun_record((int64_t)i, submit_s, 1 + (double)rng_below(rng, 300), 1 << rng_below(rng, 4));
    }
    return n;
}

/* With exact estimates and no waits at starts, no admitted job falls behind. If none is refused, all deadlines are
 * kept. */
TEST(admitted_jobs_keep_their_deadlines)
{
    int64_t refused = 0;
    for (uint64_t round = 0; round < 150; round++) {
        struct rng rng = test_rng(17, "chronus", round);
        struct job_record records[MOST_JOBS];
        const struct jobrun_spec spec = {.records = records, .n = draw_jobs(&rng, records), .scheduler = "chronus",
                                         .cluster = {.nodes = 1 + (int64_t)rng_below(&rng, 9), .gpus_per_node = 8},
                                         .scheduler_params = params,
                                         .deadlines = {2, 2 + 3 * rng_uniform(&rng), round % 3 == 0 ? 0.3 : 0}};
        SCOPED(jobrun) ours;
        jobrun_init(&ours, &spec, 0);
        CHECK_EQ_INT(ours.n_late, 0);
        refused += ours.n_warnings > 0;
        if (ours.n_warnings == 0) CHECK_NEAR(jobrun_metric(&ours, "job.deadline_met_frac"), 1, 0);
    }
    CHECK(refused > 20 && refused < 130); /* there are lists of both kinds */
}

/* A job of 25 s that comes at 3 s starts at the lease of 10 s. Its deadline, 35 s, is kept to the second. */
TEST(a_lease_by_hand)
{
    const struct job_record records[] = {jobrun_record(0, 3, 25, 1)};
    const struct jobrun_spec spec = {.records = records, .n = 1, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                     .scheduler = "chronus", .scheduler_params = params,
                                     .deadlines = {1.28, 1.28, 0}};
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, 0);
    CHECK_NEAR(run.jobs[0].start_s, 10, 0);
    CHECK_NEAR(run.jobs[0].end_s, 35, 0);
    CHECK_EQ_INT((int)run.n_warnings, 0);
}
