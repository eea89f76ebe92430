/* What follows from the plan of a job: the share of the peak that its GPUs deliver, and the time that hides its saves.
 * Each is computed once more from the price of the plan's step. */
#include "sim/catalog/training.h"
#include "tests/support/bed.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct catalog catalog = {.root = "configs"};

enum { GPUS = 8, STEPS = 200 };

#define PLAN "'training': {'llm': 'phi-2', 'global_batch': 32, 'micro_batch': 2, 'recompute': 'full', 'sequence_tokens': 2048}"
#define SITE "'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 8}"

/* The step of PLAN on 8 GPUs of SITE. */
static void price(struct training_step *step)
{
    SCOPED(session) session = {0};
    *step = (struct training_step){0};
    struct training_setup setup;
    struct training_config config = {
        .llm = "phi-2", .trainer = "megatron-core", .tensor_parallel = 1, .pipeline_parallel = 1, .pipeline_chunks = 1,
        .context_parallel = 1, .expert_parallel = 1, .expert_parts = 1, .sequence_parallel = true,
        .scatter_gather = true, .schedule = SCHEDULE_1F1B, .global_batch = 32, .micro_batch = 2,
        .recompute = RECOMPUTE_FULL, .zero = 1, .sequence_tokens = 2048, .reserve_frac = 0.06,
        .offload = {.cpu_update_per_s = 6.64e9, .flush_bytes_per_s = 4.96e9, .link_bytes_per_s = (double)NAN}};
    const struct training_request request = {.gpu = "h100-sxm", .gpus = GPUS, .gpus_per_node = GPUS, .nvlink = true,
                                             .link_share = 1.0, .bridge_share = (double)NAN,
                                             .network_bytes_per_s = (double)NAN, .training = config};
    MUST(training_setup_make(&catalog, &request, "test", &session.arena, &setup, &session.diag) == 0);
    MUST(training_setup_price(&setup, GPUS, true, step) == NULL);
}

static const struct bed_rows *train(const char *site, const char *type, const char *jobs)
{
    return bed_ok(BED(.check = true), "{" SITE "%s, 'jobs': {'types': {'a': {" PLAN "%s}}, %s, 'trace': {'format': "
                                      "'inline-jobs', 'jobs': [{'type': 'a', 'gpus': 8, 'steps': %d}]}}}",
                  site, type, jobs, STEPS);
}

TEST(a_job_alone_has_the_utilisation_of_its_plan)
{
    struct training_step step;
    price(&step);
    const struct bed_rows *rows = train("", "", "'scheduler': 'fifo'");
    CHECK_NEAR(bed_job(rows, 0)->jct_s, STEPS * step.step_s, 1e-6 * STEPS * step.step_s);
    CHECK_NEAR(bed_metric(rows, "job.mfu"), step.mfu, 1e-6 * step.mfu);
    CHECK_NEAR(bed_metric(rows, "job.hfu"), step.hfu, 1e-6 * step.hfu);
    CHECK(step.hfu > step.mfu * 1.2); /* everything is computed again */
}

/* GPUs that are held and do not train lower it in proportion to the time. */
TEST(waiting_lowers_the_utilisation)
{
    struct training_step step;
    price(&step);
    const double run_s = STEPS * step.step_s, wait_s = 0.25 * run_s;
    char jobs[96];
    snprintf(jobs, sizeof jobs, "'restart': {'start': '%.9gs'}", wait_s);
    const struct bed_rows *rows = train("", "", jobs);
    CHECK_NEAR(bed_metric(rows, "job.mfu"), step.mfu * 0.8, 1e-6 * step.mfu);
}

/* Work that is lost and done again is held time without FLOP that stay. */
TEST(repeated_work_lowers_the_utilisation)
{
    struct training_step step;
    price(&step);
    const struct bed_rows *failing = train(
        ", 'failures': {'causes': {'x': {'scope': 'job', 'lifetime': {'mean': '30s'}}}}", "", "'scheduler': 'fifo'");
    const struct job_row *job = bed_job(failing, 0);
    const double share = STEPS * step.step_s / (job->gpu_s / GPUS);
    CHECK(share < 1.0);
    CHECK_NEAR(bed_metric(failing, "job.mfu"), step.mfu * share, 1e-6 * step.mfu);
}

TEST(jobs_without_a_plan_have_no_utilisation)
{
    const struct bed_rows *rows = bed_ok(NULL, "{" SITE ", 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': ["
                                               "{'gpus': 8, 'duration': '10s'}]}}}");
    CHECK(isnan(bed_metric(rows, "job.mfu")));
    CHECK(isnan(bed_metric(rows, "job.hfu")));
}

/* FastPersist stalls for what its write takes beyond the passes of a step. What is stated goes first. */
TEST(a_plan_hides_writes_behind_its_passes)
{
    struct training_step step;
    price(&step);
    const double passes_s = step.passes_s + step.bubble_s, write_s = 2.0 * step.step_s;
    CHECK(passes_s > 0.5 * step.step_s && passes_s < step.step_s);
    for (int stated = 0; stated < 2; stated++) {
        char type[240];
        snprintf(type, sizeof type,
                 ", 'checkpoint': {'policy': {'policy': 'periodic', 'interval': '%.9gs'}, 'model': 'fastpersist', "
                 "'bytes': '%.9gGB', 'write': '1GB/s'%s}",
                 10.5 * step.step_s, write_s, stated ? ", 'overlap': '0s'" : "");
        const struct bed_rows *rows = train("", type, "'scheduler': 'fifo'");
        const double stalled_s = bed_metric(rows, "job.checkpoint_gpu_s.sum") / GPUS;
        const double each_s = write_s - (stated ? 0.0 : passes_s);
        CHECK_NEAR(stalled_s / each_s, floor(STEPS / 10.5), 1e-4);
    }
}

/* Jobs of one GPU each on one node, whose states lie in the memory of the host. */
static const struct bed_rows *offload(int jobs, const char *placement, const char *tiers)
{
    char list[512] = "";
    for (int i = 0; i < jobs; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s{'type': 'a', 'gpus': 1, 'steps': 2}",
                 i > 0 ? ", " : "");
    return bed_ok(BED(.check = true), "{" SITE ", 'jobs': {'placement': '%s', 'types': {'a': {'training': {'llm': "
                                      "'phi-2', 'trainer': 'deepspeed-zero3', 'global_batch': 4, 'sequence_tokens': "
                                      "2048, 'recompute': 'full'%s}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                  placement, tiers, list);
}

#define ON_HOST ", 'tiers': {'weights': 'host', 'gradients': 'host', 'optimizer': 'host', 'host_memory': '100GB'}"

/* 2.8 billion parameters keep 16 bytes each and more on the host: 100 GB hold those of two jobs and not of 8. */
TEST(jobs_that_share_a_host_are_counted)
{
    CHECK(bed_warning(offload(1, "consolidated", ON_HOST), "shared-host") == NULL);
    CHECK(bed_warning(offload(8, "consolidated", ""), "shared-host") == NULL);
    const char *text = bed_warning(offload(2, "consolidated", ON_HOST), "shared-host");
    MUST(text != NULL);
    CHECK(strstr(text, "up to 2 jobs") != NULL && strstr(text, "host_memory") == NULL);
    text = bed_warning(offload(8, "consolidated", ON_HOST), "shared-host");
    MUST(text != NULL);
    CHECK(strstr(text, "up to 8 jobs") != NULL && strstr(text, "and a node has 93.13 ('tiers.host_memory')") != NULL);
    text = bed_warning(offload(3, "consolidated", ", 'offload': {'optimizer': 1}"), "shared-host");
    CHECK(text != NULL && strstr(text, "up to 3 jobs") != NULL);
}
