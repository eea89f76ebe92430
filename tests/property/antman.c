/* AntMan and Horus on random jobs that share GPUs by their utilisation. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <math.h>

enum { MOST_JOBS = 80 };

static struct job_type types[] = {
    {.name = "busy", .sharing = {.utilisation = 1}},
    {.name = "half", .sharing = {.utilisation = 0.5, .memory_frac = 0.5}},
    {.name = "light", .sharing = {.utilisation = 0.3, .memory_frac = 0.6}},
    {.name = "spare", .sharing = {.utilisation = 0.4, .memory_frac = 0.4, .opportunistic = true}},
    {.name = "greedy", .sharing = {.utilisation = 1, .opportunistic = true}}};

static size_t draw_jobs(struct rng *rng, uint64_t n_types, struct job_record records[MOST_JOBS])
{
    const size_t n = 10 + (size_t)rng_below(rng, MOST_JOBS - 10);
    double submit_s = 0;
    for (size_t i = 0; i < n; i++) {
        submit_s += (double)rng_below(rng, 12);
        records[i] = jobrun_record((int64_t)i, submit_s, 1 + (double)rng_below(rng, 60), 1 << rng_below(rng, 4));
        records[i].type = types[rng_below(rng, n_types)].name;
    }
    return n;
}

static bool yields(const struct job_record *record)
{
    return strcmp(record->type, "spare") == 0 || strcmp(record->type, "greedy") == 0;
}

/* Resource-guarantee jobs start and end as if the others did not exist: as under fifo-skip. */
TEST(opportunistic_jobs_change_nothing_for_guaranteed_ones)
{
    int64_t shared = 0;
    for (uint64_t round = 0; round < 200; round++) {
        struct rng rng = test_rng(14, "antman", round);
        struct job_record records[MOST_JOBS], guaranteed[MOST_JOBS];
        size_t of[MOST_JOBS], n_guaranteed = 0;
        struct jobrun_spec spec = {.records = records, .n = draw_jobs(&rng, 5, records), .types = {5, types},
                                   .cluster = {.nodes = 1, .gpus_per_node = 8}, .scheduler = "antman"};
        for (size_t i = 0; i < spec.n; i++) {
            if (yields(&records[i])) continue;
            of[n_guaranteed] = i;
            guaranteed[n_guaranteed] = records[i];
            guaranteed[n_guaranteed].id = (int64_t)n_guaranteed;
            n_guaranteed++;
        }
        SCOPED(jobrun) ours;
        SCOPED(jobrun) alone;
        jobrun_init(&ours, &spec, 0);
        spec.records = guaranteed;
        spec.n = n_guaranteed;
        spec.scheduler = "fifo-skip";
        jobrun_init(&alone, &spec, 0);
        for (size_t i = 0; i < n_guaranteed; i++) {
            CHECK_NEAR(ours.jobs[of[i]].start_s, alone.jobs[i].start_s, 0);
            CHECK_NEAR(ours.jobs[of[i]].end_s, alone.jobs[i].end_s, 0);
            CHECK_EQ_INT(ours.jobs[of[i]].preemptions, 0);
            shared += ours.jobs[of[i]].gpu_s < alone.jobs[i].gpu_s;
        }
    }
    CHECK(shared > 0); /* some held a half of their GPUs for a while */
}

/* Up to a utilisation of 1 nobody slows down, and nobody is preempted. */
TEST(jobs_of_horus_run_at_full_speed)
{
    int64_t shared = 0;
    for (uint64_t round = 0; round < 200; round++) {
        struct rng rng = test_rng(15, "horus", round);
        struct job_record records[MOST_JOBS];
        const struct jobrun_spec spec = {.records = records, .n = draw_jobs(&rng, 3, records), .types = {3, types},
                                         .cluster = {.nodes = 1, .gpus_per_node = 8}, .scheduler = "horus"};
        SCOPED(jobrun) run;
        jobrun_init(&run, &spec, 0);
        for (size_t i = 0; i < spec.n; i++) {
            const double run_s = sim_s_from_ns(records[i].duration_ns);
            CHECK_NEAR(run.jobs[i].end_s - run.jobs[i].start_s, run_s, 1e-9);
            shared += run.jobs[i].gpu_s < run_s * records[i].gpus;
        }
    }
    CHECK(shared > 0);
}

static void run_two(struct jobrun *run, const char *first, const char *second, const char *scheduler,
                    const char *params)
{
    struct job_record records[] = {jobrun_record(0, 0, 60, 1), jobrun_record(1, 10, 60, 1)};
    records[0].type = first;
    records[1].type = second;
    const struct jobrun_spec spec = {.records = records, .n = 2, .types = {5, types}, .scheduler = scheduler,
                                     .cluster = {.nodes = 1, .gpus_per_node = 1}, .scheduler_params = params};
    jobrun_init(run, &spec, 0);
}

/* Half of the GPU is left for the greedy job: 25 s of its 60 by 60 s, and the other 35 s alone. */
TEST(opportunistic_jobs_get_what_is_left)
{
    SCOPED(jobrun) run;
    SCOPED(jobrun) turned;
    SCOPED(jobrun) full;
    run_two(&run, "half", "greedy", "antman", NULL);
    CHECK_NEAR(run.jobs[0].end_s, 60, 1e-6);
    CHECK_NEAR(run.jobs[1].start_s, 10, 1e-6);
    CHECK_NEAR(run.jobs[1].end_s, 95, 1e-6);
    run_two(&turned, "greedy", "half", "antman", NULL); /* 10 s alone, 30 of the 60 s beside it, 20 alone */
    CHECK_NEAR(turned.jobs[1].end_s, 70, 1e-6);
    CHECK_NEAR(turned.jobs[0].end_s, 90, 1e-6);
    CHECK_EQ_INT(turned.jobs[0].preemptions, 0);
    run_two(&full, "greedy", "busy", "antman", NULL); /* nothing is left beside a busy job */
    CHECK_NEAR(full.jobs[1].start_s, 10, 1e-6);
    CHECK_EQ_INT(full.jobs[0].preemptions, 1);
    CHECK_NEAR(full.jobs[0].end_s, 120, 1e-6);
}

/* Together 0.8 of the GPU, but 1.1 of its memory; 1.3 of the GPU slows both down, if that is allowed. */
TEST(horus_minds_memory_and_utilisation)
{
    SCOPED(jobrun) memory;
    SCOPED(jobrun) busy;
    SCOPED(jobrun) over;
    run_two(&memory, "half", "light", "horus", NULL);
    CHECK_NEAR(memory.jobs[1].start_s, 60, 1e-6);
    run_two(&busy, "busy", "light", "horus", NULL);
    CHECK_NEAR(busy.jobs[1].start_s, 60, 1e-6);
    run_two(&over, "busy", "light", "horus", "{\"most_utilisation\": 1.5}");
    CHECK_NEAR(over.jobs[1].start_s, 10, 1e-6);
    CHECK_NEAR(over.jobs[0].end_s, 10 + 50 * 1.3, 1e-6);
}
