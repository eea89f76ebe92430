/* What every listed scheduler must do with every listed placer, in small scenarios that have caught schedulers before:
 * all jobs finish after exactly their run time, GPUs are conserved (checked at every change by jobrun.c), and the
 * result is the same for both event queues and in a second run. */
#include "policies/registry.h"
#include "sim/core/rng.h"
#include "tests/harness.h"
#include "tests/jobrun.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scenario {
    const char *name;
    struct cluster_config cluster;
    size_t n;
    struct job_record (*record)(int64_t id);
    size_t n_rejected; /* by any placer */
    bool few_runs;     /* with one placer is enough */
};

static struct job_record one_gpu(int64_t id)
{
    return jobrun_record(id, 5, 3, 1);
}

static struct job_record no_gpus(int64_t id)
{
    return jobrun_record(id, (double)id, 4, id % 3 == 0 ? 1 : 0);
}

static struct job_record too_large(int64_t id)
{
    return jobrun_record(id, (double)id, 2, id == 1 ? 17 : 16);
}

static struct job_record all_at_once(int64_t id)
{
    return jobrun_record(id, 0, 1 + (double)(id % 7), 1 + (int32_t)(id % 5));
}

/* Every second a job comes and one ends. */
static struct job_record handover(int64_t id)
{
    return jobrun_record(id, (double)id, 2, 4);
}

static struct job_record equals(int64_t id)
{
    return jobrun_record(id, 1, 1, 2);
}

static struct job_record no_time(int64_t id)
{
    return jobrun_record(id, (double)(id / 3), id % 2 == 0 ? 0 : 1, 1 + (int32_t)(id % 8));
}

static struct job_record widest_after_narrow(int64_t id)
{
    return jobrun_record(id, 0.5 * (double)id, 3, id % 6 == 5 ? 16 : 1);
}

static struct job_record nodes_wanted(int64_t id)
{
    struct job_record record = jobrun_record(id, 0.25 * (double)id, 1.5, 2 + (int32_t)(id % 7));
    record.nodes = (int32_t)(id % 3);
    return record;
}

/* Some end long before, some long after the time stated. */
static struct job_record wrong_estimates(int64_t id)
{
    struct job_record record = jobrun_record(id, 0.5 * (double)id, 4, 1 + (int32_t)(id * 5 % 13));
    record.estimate_ns = (id % 3) * (id % 5) * SIM_NS_PER_S;
    return record;
}

/* Each is shorter than the one before, so that preemptive schedulers stack them. */
static struct job_record shorter_and_shorter(int64_t id)
{
    return jobrun_record(id, (double)id, 100 - 2 * (double)id, 16);
}

static struct job_record odd_nanoseconds(int64_t id)
{
    return jobrun_record(id, (double)id * 0.333333333, (double)(id * id % 11) * 0.777777777, 1 + (int32_t)(id % 3));
}

static struct job_record random_job(int64_t id)
{
    struct rng rng;
    rng_init(&rng, 7, 0, "conformance", (uint64_t)id);
    double submit_s = 0.9 * ((double)id + rng_uniform(&rng));
    int32_t gpus = 1 << rng_below(&rng, 5);
    return jobrun_record(id, submit_s, rng_exponential(&rng, 2.6), gpus > 12 ? 12 : gpus);
}

static const struct scenario scenarios[] = {
    {"no jobs", {.nodes = 2, .gpus_per_node = 8}, 0, one_gpu, 0, false},
    {"one job, one GPU", {.nodes = 1, .gpus_per_node = 1}, 1, one_gpu, 0, false},
    {"queue for one GPU", {.nodes = 1, .gpus_per_node = 1}, 20, one_gpu, 0, false},
    {"jobs without GPUs", {.nodes = 1, .gpus_per_node = 2}, 30, no_gpus, 0, false},
    {"larger than the cluster", {.nodes = 2, .gpus_per_node = 8}, 3, too_large, 1, false},
    {"all at once", {.nodes = 3, .gpus_per_node = 4}, 60, all_at_once, 0, false},
    {"handover", {.nodes = 2, .gpus_per_node = 4}, 40, handover, 0, false},
    {"equal jobs", {.nodes = 2, .gpus_per_node = 3}, 50, equals, 0, false},
    {"no run time", {.nodes = 1, .gpus_per_node = 8}, 60, no_time, 0, false},
    {"wide behind narrow", {.nodes = 2, .gpus_per_node = 8}, 60, widest_after_narrow, 0, false},
    {"nodes wanted", {.nodes = 3, .gpus_per_node = 4}, 60, nodes_wanted, 0, false},
    {"wrong estimates", {.nodes = 4, .gpus_per_node = 4}, 60, wrong_estimates, 0, false},
    {"shorter and shorter", {.nodes = 2, .gpus_per_node = 8}, 40, shorter_and_shorter, 0, false},
    {"odd nanoseconds", {.nodes = 1, .gpus_per_node = 4}, 80, odd_nanoseconds, 0, false},
    {"unlimited", {.unlimited = true}, 60, all_at_once, 0, false},
    {"ten thousand", {.nodes = 4, .gpus_per_node = 4}, 10000, random_job, 0, true},
};

enum { N_SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static bool job_is_consistent(const struct jobrun_job *job, const struct job_record *record)
{
    double run_s = sim_s_from_ns(record->duration_ns);
    bool ok = CHECK(job->status != NULL) && CHECK(job->submit_s == sim_s_from_ns(record->submit_ns));
    if (!ok || strcmp(job->status, "rejected") == 0) return ok && CHECK(isnan(job->end_s) && job->gpu_s == 0);
    ok = CHECK_EQ_STR(job->status, "finished") && CHECK(job->start_s >= job->submit_s);
    ok = ok && CHECK_NEAR(job->jct_s, job->end_s - job->submit_s, 1e-9 * job->end_s);
    ok = ok && CHECK_NEAR(job->gpu_s, run_s * record->gpus, 1e-12 * job->gpu_s);
    ok = ok && CHECK(job->end_s >= job->start_s + run_s - 1e-9);
    if (job->preemptions == 0) ok = ok && CHECK_NEAR(job->end_s, job->start_s + run_s, 1e-9);
    return ok && CHECK_EQ_INT(job->starts, record->gpus > 0 ? job->preemptions + 1 : 0);
}

static void check_totals(const struct jobrun *run, const struct job_record *records, const struct scenario *scenario)
{
    double gpu_s = 0, preemptions = 0;
    size_t n_rejected = 0;
    for (size_t i = 0; i < scenario->n; i++) {
        if (!job_is_consistent(&run->jobs[i], &records[i])) return;
        gpu_s += run->jobs[i].gpu_s;
        preemptions += (double)run->jobs[i].preemptions;
        n_rejected += strcmp(run->jobs[i].status, "rejected") == 0;
    }
    CHECK_EQ_INT(run->n_rows, scenario->n);
    CHECK_EQ_INT(n_rejected, scenario->n_rejected);
    CHECK_EQ_INT(run->n_warnings, n_rejected > 0);
    CHECK_NEAR(jobrun_metric(run, "job.gpu_s.sum"), gpu_s, 1e-9 * gpu_s);
    CHECK(jobrun_metric(run, "job.preemptions.sum") == preemptions);
    CHECK(jobrun_metric(run, "job.unfinished") == 0);
    if (scenario->n > 0 && gpu_s > 0)
        CHECK_NEAR(jobrun_metric(run, "job.gpus_in_use.mean") * run->makespan_s, gpu_s, 1e-9 * gpu_s);
}

static void run_scenario(const struct scenario *scenario, const char *scheduler, const char *placement)
{
    struct job_record *records = calloc(scenario->n + 1, sizeof *records);
    for (size_t i = 0; i < scenario->n; i++) records[i] = scenario->record((int64_t)i);
    struct jobrun_spec spec = {.records = records,
                               .n = scenario->n,
                               .cluster = scenario->cluster,
                               .scheduler = scheduler,
                               .placement = placement};
    struct jobrun run, again, heap;
    jobrun_init(&run, &spec, 0);
    check_totals(&run, records, scenario);
    jobrun_init(&again, &spec, 0);
    CHECK(jobrun_equal(&run, &again, scenario->n));
    spec.queue = QUEUE_HEAP;
    jobrun_init(&heap, &spec, 0);
    CHECK(jobrun_equal(&run, &heap, scenario->n));
    jobrun_fini(&run);
    jobrun_fini(&again);
    jobrun_fini(&heap);
    free(records);
}

/* Runs one scenario with all pairs of policies. */
static void run_pairs(const struct scenario *scenario)
{
    struct policy_table table = policy_registry();
    for (size_t s = 0; s < table.n; s++) {
        if (table.policies[s]->family != POLICY_SCHEDULER) continue;
        for (size_t p = 0; p < table.n; p++) {
            if (table.policies[p]->family != POLICY_PLACEMENT) continue;
            if (scenario->few_runs && strcmp(table.policies[p]->name, "consolidated") != 0) continue;
            unsigned failures = CU_get_number_of_failures();
            run_scenario(scenario, table.policies[s]->name, table.policies[p]->name);
            if (CU_get_number_of_failures() == failures) continue;
            test_check(false, scenario->name, table.policies[s]->name, __LINE__);
            test_check(false, scenario->name, table.policies[p]->name, __LINE__);
            return;
        }
    }
}

static void small_scenarios(void)
{
    for (int i = 0; i < N_SCENARIOS; i++) {
        if (scenarios[i].n < 1000) run_pairs(&scenarios[i]);
    }
}

static void ten_thousand_jobs(void)
{
    for (int i = 0; i < N_SCENARIOS; i++) {
        if (scenarios[i].n >= 1000) run_pairs(&scenarios[i]);
    }
}

/* On counted GPUs, whoever does not start is wider than what is free: schedulers that skip leave no room unused. */
static void skipping_schedulers_leave_nobody_who_fits(void)
{
    static const char *const schedulers[] = {"fifo-skip", "sjf", "fewest-gpus", "srtf", "srsf"};
    enum { N = 300 };
    struct job_record records[N];
    for (int i = 0; i < N; i++) records[i] = random_job(i);
    for (size_t s = 0; s < sizeof schedulers / sizeof schedulers[0]; s++) {
        struct jobrun run;
        struct jobrun_spec spec = {
            .records = records, .n = N, .cluster = {.nodes = 2, .gpus_per_node = 6}, .scheduler = schedulers[s]};
        spec.needs_no_waste = true;
        jobrun_init(&run, &spec, 0);
        jobrun_fini(&run);
    }
}

static void policies_are_complete(void)
{
    struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        CHECK_EQ_INT(policy->abi, POLICY_ABI);
        CHECK(policy->name != NULL && policy->summary != NULL && policy->source != NULL);
        CHECK(policy_find(policy->family, policy->name) == policy);
    }
    CHECK(policy_find(POLICY_SCHEDULER, "counted") == NULL);
}

static void families_list_their_policies(void)
{
    struct config_alternative alternative;
    size_t n = 0;
    for (; policy_alternative(NULL, "scheduler", n, &alternative); n++) {
        const struct policy *policy = policy_find(POLICY_SCHEDULER, alternative.name);
        CHECK(policy != NULL && alternative.entry == policy);
    }
    CHECK(n >= 7);
    CHECK(!policy_alternative(NULL, "weather", 0, &alternative));
}

TEST_SUITE(scheduler_conformance)
{
    TEST(policies_are_complete);
    TEST(families_list_their_policies);
    TEST(small_scenarios);
    TEST(ten_thousand_jobs);
    TEST(skipping_schedulers_leave_nobody_who_fits);
}
