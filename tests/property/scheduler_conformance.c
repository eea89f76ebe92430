/* What the table of policies holds, and what schedulers that skip must do besides what conformance.c asks of all. */
#include "policies/registry.h"
#include "tests/support/bed.h"
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
TEST(skipping_schedulers_start_every_job_that_fits)
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

/* Nodes return from repair before the first job is submitted, and a scheduler without jobs decides. */
TEST(schedulers_decide_without_jobs)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        if (table.policies[i]->family != POLICY_SCHEDULER) continue;
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'failures': {'causes': {'feed': {'scope': 'site',"
            " 'lifetime': {'law': 'constant', 'mean': '10000s'}, 'repair': {'law': 'constant', 'mean': '10s'}}}},"
            " 'jobs': {'scheduler': '%s', 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '10020s',"
            " 'duration': '50s', 'gpus': 4}]}}}",
            table.policies[i]->name);
        CHECK(bed_metric(rows, "job.finished") == 1);
    }
}

/* --- Every scheduler with every placer on every kind of site --- */

/* Jobs of whole GPUs, of shares of a GPU and of CPUs alone; some take one GPU model only. */
static void add_drawn_job(struct text *list, struct rng *rng, double *submit_s)
{
    static const int32_t widths[] = {0, 1, 1, 1, 1, 2, 3, 4, 8, 10};
    const int32_t gpus = widths[rng_below(rng, 10)];
    *submit_s += rng_exponential(rng, 2);
    text_printf(list, "%s{'submit': '%.9fs', 'duration': '%.9fs', 'gpus': %d", list->length > 0 ? ", " : "", *submit_s,
                rng_exponential(rng, 20), gpus);
    if (gpus == 1 && rng_below(rng, 2) == 0)
        text_printf(list, ", 'gpu_share': %.3f", 0.001 * (double)(1 + rng_below(rng, 1000)));
    if (gpus == 0 || rng_below(rng, 3) == 0) text_printf(list, ", 'cpus': %d", (int)(1 + rng_below(rng, 8)));
    if (gpus > 0 && gpus < 8 && rng_below(rng, 5) == 0) text_add(list, ", 'gpu_models': 'v100-16-sxm'");
    text_add(list, "}");
}

/* One node type; types that differ in size; types of equal size; types where CPUs count. All have room for all jobs. */
static const char *const sites[] = {
    "'nodes': 3, 'gpus_per_node': 4, 'gpu': 'v100-16-sxm'",
    "'nodes': 3, 'gpus_per_node': 4, 'gpu': 'v100-16-sxm', 'nodes_per_rack': 2, 'node_types': {"
    " 'more': {'nodes': 5, 'gpus_per_node': 2, 'gpu': 'p100'}, 'larger': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'k80'}}",
    "'nodes': 3, 'gpus_per_node': 4, 'gpu': 'v100-16-sxm', 'node_types': {"
    " 'other': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'p100'}}",
    "'nodes': 3, 'gpus_per_node': 4, 'gpu': 'v100-16-sxm', 'cpus_per_node': 16, 'node_types': {"
    " 'other': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'p100', 'cpus_per_node': 8}}",
};
enum { SITES = sizeof sites / sizeof *sites, DRAWN_JOBS = 30 };

/* Runs one draw of jobs with all checks. Every job finishes. */
static void run_together(const char *scheduler, const char *placer, int site)
{
    struct rng rng = test_rng(11, "conformance", (uint64_t)site);
    struct text list;
    double submit_s = 0;
    text_init(&list);
    for (int i = 0; i < DRAWN_JOBS; i++) add_drawn_job(&list, &rng, &submit_s);
    struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {%s}, 'jobs': {'scheduler': '%s', 'placement': '%s', 'restart': {'start': '1s', 'resume': '2s'},"
        " 'types': {'default': {'speeds': {'p100': 0.6, 'k80': 0.3}}},"
        " 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        sites[site], scheduler, placer, list.chars);
    const bool is_sound = CHECK_EQ_INT(rows->code, 0) && CHECK(bed_metric(rows, "job.finished") == DRAWN_JOBS);
    if (!is_sound) printf("\n  %s with %s on site %d: %s", scheduler, placer, site, rows->diag.items[0].text);
    bed_free(rows);
    text_fini(&list);
}

/* Each pair on all sites, or on one after the other. */
static void meet_placers(bool on_all_sites)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        if (table.policies[i]->family != POLICY_SCHEDULER) continue;
        for (size_t k = 0; k < table.n; k++) {
            if (table.policies[k]->family != POLICY_PLACEMENT) continue;
            for (int site = 0; site < SITES; site++)
                if (on_all_sites || (i + k) % SITES == (size_t)site)
                    run_together(table.policies[i]->name, table.policies[k]->name, site);
        }
    }
}

TEST_OPTIMISED(schedulers_meet_placers_on_all_sites)
{
    meet_placers(true);
}

/* Under the sanitizers each pair on one of the sites. */
TEST(schedulers_meet_placers_on_node_types)
{
    meet_placers(false);
}

/* Jobs of all widths under a scheduler with one parameter; they finish, or the parameter is refused. */
static void run_with(const char *scheduler, const char *key, const char *value)
{
    struct bed_rows *rows = bed_run(
        BED(.quiet = true, .check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'scheduler': {'policy': '%s', '%s': %s},"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '3s', 'gpus': 3}, {'duration': '2s', 'gpus': 8},"
        " {'submit': '1s', 'duration': '1s'}, {'submit': '2s', 'duration': '1s', 'gpus': 5}]}}}",
        scheduler, key, value);
    const bool is_sound = rows->code == SIM_E_CONFIG || bed_metric(rows, "job.finished") == 4;
    if (!CHECK(is_sound)) printf("\n  %s with %s %s: %s", scheduler, key, value, rows->diag.items[0].text);
    bed_free(rows);
}

/* Numbers from which times of 0 may follow, at which a policy would decide again and again. */
TEST(schedulers_bear_the_least_parameters)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        const struct config_field *field = table.policies[i]->params;
        if (table.policies[i]->family != POLICY_SCHEDULER) continue;
        for (; field != NULL && field->name != NULL; field++) {
            char value[64];
            if (field->kind != CONFIG_REAL && field->kind != CONFIG_INT) continue;
            snprintf(value, sizeof value, "%.17g", field->min);
            run_with(table.policies[i]->name, field->name, value);
        }
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
