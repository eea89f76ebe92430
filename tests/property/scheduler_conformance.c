/* What the table of policies holds, and what schedulers that skip must do besides what conformance.c asks of all. */
#include "policies/registry.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

static struct job_record random_job(int64_t id)
{
    struct rng rng = test_rng(7, "conformance", (uint64_t)id);
    double submit_s = 0.9 * ((double)id + rng_uniform(&rng));
    int32_t gpus = 1 << rng_below(&rng, 5);
    return jobrun_record(id, submit_s, rng_exponential(&rng, 2.6), gpus > 12 ? 12 : gpus);
}

/* On counted GPUs, whoever does not start is wider than what is free: schedulers that skip leave no room unused. */
TEST(skipping_schedulers_leave_nobody_who_fits)
{
    static const char *const schedulers[] = {"fifo-skip", "sjf", "fewest-gpus", "srtf", "srsf", "tiresias"};
    enum { N = 300 };
    struct job_record records[N];
    for (int i = 0; i < N; i++) records[i] = random_job(i);
    for (size_t s = 0; s < sizeof schedulers / sizeof schedulers[0]; s++) {
        SCOPED(jobrun) run = {0};
        struct jobrun_spec spec = {
            .records = records, .n = N, .cluster = {.nodes = 2, .gpus_per_node = 6}, .scheduler = schedulers[s]};
        spec.needs_no_waste = true;
        jobrun_init(&run, &spec, 0);
    }
}

/* Whatever takes the GPUs of running jobs from outside, or changes their speed, and however long they wait before they
 * work: every job ends. */
TEST(schedulers_bear_disturbances)
{
    enum { N = 200 };
    const struct restart_config restart = {.start_ns = SIM_NS_PER_S / 4, .resume_ns = SIM_NS_PER_S};
    struct policy_table table = policy_registry();
    struct job_record records[N];
    for (int i = 0; i < N; i++) records[i] = random_job(i);
    for (size_t i = 0; i < 2 * table.n; i++) {
        const struct policy *policy = table.policies[i / 2];
        if (policy->family != POLICY_SCHEDULER) continue;
        SCOPED(jobrun) run = {0};
        struct jobrun_spec spec = {.records = records, .n = N, .cluster = {.nodes = 2, .gpus_per_node = 6}};
        spec.scheduler = policy->name;
        spec.placement = i % 2 == 0 ? "counted" : "consolidated";
        spec.restart = &restart;
        spec.disturb_every_ns = SIM_NS_PER_S * 3 / 2;
        jobrun_init(&run, &spec, 0);
        size_t finished = 0;
        for (int k = 0; k < N; k++)
            finished += run.jobs[k].status != NULL && strcmp(run.jobs[k].status, "finished") == 0;
        if (!CHECK_EQ_INT(finished, N)) CHECK_EQ_STR(policy->name, "a scheduler that bears disturbances");
    }
}

TEST(policies_are_complete)
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

TEST(families_list_their_policies)
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
