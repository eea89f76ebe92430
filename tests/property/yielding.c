/* Jobs beside a service whose replicas come and go, under every listed scheduler and placer: whoever yields starts
 * again, everything finishes, no GPU is held twice; and who yields. */
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define AFFINE                                                                                                         \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"                                     \
    " 'decode': {'fixed': '11ms', 'per_sequence': '20us', 'per_context_token': '30ns'}}"
#define CLUSTER "'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}"

/* Wants any number, at random, and another one the next time. */
static int erratic_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    (void)state;
    struct rng rng = test_rng(5, "erratic", (uint64_t)(view->now_ns / view->interval_ns));
    plan->replicas = (int64_t)rng_below(&rng, (uint64_t)view->max + 1);
    return 0;
}

static const struct autoscaler erratic = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct autoscaler),
                                                     .family = POLICY_AUTOSCALING, .name = "erratic", .summary = "",
                                                     .source = ""},
                                          .decide = erratic_decide};

enum { N_JOBS = 50, N_REQUESTS = 150 };

static void add_service(struct text *json, int parallel)
{
    text_printf(json,
                "{" CLUSTER ", 'keep': 'decisions', 'services': {'chat': {'llm': 'mistral-7b', 'tensor_parallel': %d,"
                " 'kv': {'blocks': 400}, 'scaling': {'policy': 'erratic', 'min': 0, 'max': %d, 'interval': '3s',"
                " 'start_delay': '1s'}, " AFFINE
                ", 'trace': {'format': 'generate', 'count': %d, 'arrival': {'process': 'poisson', 'rate':"
                " '1.5/s'}, 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 500}, 'output':"
                " {'distribution': 'uniform', 'min': 1, 'max': 90}}}}, ",
                parallel, 7 / parallel, N_REQUESTS);
}

/* Random jobs; every fourth is of a type that does not yield. */
static void add_jobs(struct text *json, const char *scheduler, const char *placer)
{
    struct rng rng = test_rng(3, "yielding jobs", 0);
    text_printf(json,
                "'jobs': {'scheduler': '%s', 'placement': '%s', 'preemptible': true, 'types': {'firm':"
                " {'preemptible': false}}, 'restart': {'resume': '2s'}, 'trace': {'format': 'inline-jobs',"
                " 'jobs': [",
                scheduler, placer);
    for (int i = 0; i < N_JOBS; i++)
        text_printf(json, "%s{'submit': '%d.5s', 'duration': '%dms', 'gpus': %d}", i > 0 ? ", " : "", 2 * i,
                    500 + (int)rng_below(&rng, 12000), 1 + (int)rng_below(&rng, 5));
    text_printf(json, "]}}}");
}

static struct bed_rows *run(const char *scheduler, const char *placer, int parallel, bool other_way)
{
    SCOPED(text) json = {0};
    add_service(&json, parallel);
    add_jobs(&json, scheduler, placer);
    struct bed_options options = {.check = true, .policy = &erratic.policy, .no_detail = true};
    if (other_way) options = (struct bed_options){.single_step = true, .queue = QUEUE_HEAP, .policy = &erratic.policy,
                                                  .no_detail = true};
    return bed_run(&options, "%s", json.chars);
}

/* Everything came to its end, and what held GPUs adds up to the GPUs that were held. */
static void check_end(const struct bed_rows *rows)
{
    const double held_gpu_s = bed_metric(rows, "cluster.gpus_in_use.mean") * rows->end_s;
    const double of_jobs = bed_metric(rows, "job.gpu_s.sum"), of_service = bed_metric(rows, "scaling.gpu_s.sum");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, N_JOBS);
    CHECK_EQ_INT(rows->n_requests, N_REQUESTS);
    for (size_t i = 0; i < rows->n_jobs; i++) CHECK_EQ_STR(rows->jobs[i].status, "finished");
    for (size_t i = 0; i < rows->n_requests; i++) CHECK_EQ_STR(rows->requests[i].status, "finished");
    CHECK_NEAR(of_jobs + of_service, held_gpu_s, 1e-9 * held_gpu_s);
    CHECK(bed_metric(rows, "cluster.gpus_in_use.max") <= 8);
}

/* Every `step`-th scheduler, from the one of number `first`. Returns how often jobs yielded; schedulers with rounds
 * longer than the run may have none when replicas start. */
static double schedulers_get_by_under(const char *placer, int first, int step)
{
    double yielded = 0;
    int number = 0;
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        if (policy->family != POLICY_SCHEDULER || (number++ + first) % step != 0) continue;
        const int parallel = 1 + (int)(i % 2);
        struct bed_rows *rows = run(policy->name, placer, parallel, false);
        struct bed_rows *again = run(policy->name, placer, parallel, true);
        const unsigned before = CU_get_number_of_failures();
        check_end(rows);
        CHECK(bed_equal(rows, again));
        yielded += bed_metric(rows, "scaling.yielded_jobs.sum");
        if (CU_get_number_of_failures() > before) printf("\n  %s, %s", policy->name, placer);
    }
    return yielded;
}

static void placers_get_by(int step, double least_yielded)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++)
        if (table.policies[i]->family == POLICY_PLACEMENT)
            CHECK(schedulers_get_by_under(table.policies[i]->name, (int)i, step) > least_yielded);
}

TEST_OPTIMISED(every_scheduler_gets_by_with_every_placer)
{
    placers_get_by(1, 50);
}

/* Under the sanitizers every scheduler with a quarter of the placers, every placer with a quarter of the schedulers. */
TEST(every_scheduler_and_placer_gets_by)
{
    placers_get_by(4, 5);
}

/* --- Who yields --- */

/* Four jobs of two GPUs, one after the other, fill the cluster; then a replica wants two. %s: placer, and more of the
 * section "jobs". */
static struct bed_rows *run_four(const char *placement, const char *more)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{" CLUSTER ", 'keep': 'decisions', 'services': {'chat': {'llm': 'mistral-7b', 'tensor_parallel': 2,"
        " 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 0}, {'at': '100s',"
        " 'replicas': 1}, {'at': '200s', 'replicas': 0}]}, 'min': 0, 'max': 1, 'interval': '100s'}, " AFFINE
        ", 'trace': {'format': 'generate', 'duration': '400s', 'arrival': {'process': 'fixed', 'rate': '0.0301/s'},"
        " 'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output': {'distribution': 'fixed', 'tokens': 2}}}},"
        " 'jobs': {'scheduler': 'fifo-skip', 'placement': '%s', 'restart': {'resume': '30s'},"
        " %s 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '1s', 'duration': '300s', 'gpus': 2},"
        " {'submit': '2s', 'duration': '300s', 'gpus': 3}, {'submit': '3s', 'duration': '300s', 'gpus': 1},"
        " {'submit': '4s', 'duration': '300s', 'gpus': 2}]}}}",
        placement, more);
    CHECK_EQ_INT(rows->n_jobs, 4);
    return rows;
}

/* Jobs 0 and 3 are on one node, 1 and 2 on the other: the last one that started has what is wanted. It starts again
 * when the service gives its GPUs back, and waits until it works, and no other job is touched. */
TEST(the_latest_job_yields_and_resumes)
{
    struct bed_rows *rows = run_four("consolidated", "'preemptible': true,");
    for (int64_t id = 0; id < 4; id++) {
        const struct job_row *job = bed_job(rows, id);
        CHECK_EQ_INT(job->preemptions, id == 3);
        CHECK_NEAR(job->end_s, id == 3 ? 200 + 30 + (300 - 96) : job->submit_s + 300, 1e-6);
    }
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 1);
}

/* Of counted GPUs, too, the last job gives just what is wanted. */
TEST(of_counted_gpus_no_more_yield_than_must)
{
    struct bed_rows *rows = run_four("counted", "'preemptible': true,");
    for (int64_t id = 0; id < 4; id++) CHECK_EQ_INT(bed_job(rows, id)->preemptions, id == 3);
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 1);
}

/* Of what they have spent on their GPUs, the single one has the least, but its node has then only one free. */
TEST(the_job_with_least_work_yields_where_it_helps)
{
    struct bed_rows *rows = run_four("consolidated", "'preemptible': true, 'yield': 'least-work',");
    CHECK_EQ_INT(bed_job(rows, 3)->preemptions, 1);
    CHECK_EQ_INT(bed_job(rows, 2)->preemptions, 0);
}

/* Then a replica waits until one of them ends. */
TEST(firm_jobs_do_not_yield)
{
    struct bed_rows *rows = run_four("consolidated", "");
    for (int64_t id = 0; id < 4; id++) CHECK_EQ_INT(bed_job(rows, id)->preemptions, 0);
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum"), 100, 1e-9);
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 0);
}

/* --- Groups --- */

/* Eight jobs of two GPUs share the cluster in four groups of one job of each type; then a replica wants two GPUs. %s:
 * whether jobs of type b yield. */
static struct bed_rows *run_groups(const char *yields)
{
    SCOPED(text) json = {0};
    text_printf(
        &json,
        "{" CLUSTER ", 'keep': 'decisions', 'services': {'chat': {'llm': 'mistral-7b', 'tensor_parallel': 2,"
        " 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 0}, {'at': '100s',"
        " 'replicas': 1}, {'at': '200s', 'replicas': 0}]}, 'min': 0, 'max': 1, 'interval': '100s'}, " AFFINE
        ", 'trace': {'format': 'generate', 'duration': '400s', 'arrival': {'process': 'fixed',"
        " 'rate': '0.0301/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output':"
        " {'distribution': 'fixed', 'tokens': 2}}}}, 'jobs': {'scheduler': {'policy': 'muri', 'round':"
        " '40s'}, 'placement': 'counted', 'preemptible': true, 'types': {'a': {'sharing': {'phases': [0.1, 0, 0, 0]}},"
        " 'b': {'preemptible': %s, 'sharing': {'phases': [0, 0.1, 0, 0]}}}, 'trace': {'format': 'inline-jobs',"
        " 'jobs': [",
        yields);
    for (int i = 0; i < 8; i++)
        text_printf(&json, "%s{'submit': '1s', 'duration': '300s', 'gpus': 2, 'type': '%s'}", i > 0 ? ", " : "",
                    i < 4 ? "a" : "b");
    text_printf(&json, "]}}}");
    return bed_ok(BED(.check = true), "%s", json.chars);
}

/* The members of one group yield, since the GPUs of a member pass to the others. */
TEST(a_group_yields_as_a_whole)
{
    struct bed_rows *rows = run_groups("true");
    CHECK_EQ_INT(rows->n_jobs, 8);
    CHECK(bed_metric(rows, "scaling.missing_replica_s.sum") == 0);
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 2);
    CHECK(bed_job(rows, 7)->preemptions >= 1);
}

TEST(a_group_with_a_firm_job_does_not_yield)
{
    struct bed_rows *rows = run_groups("false");
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 0);
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum"), 100, 1e-9);
}

/* --- All that a replica needs --- */

/* Jobs of one GPU fill nodes of four, when a replica with two stages comes. */
static void check_room_for_stages(const char *cluster, int n_jobs, const char *scheduler, int tensor_parallel,
                                  int yielded)
{
    SCOPED(text) json = {0};
    text_printf(&json,
                "{%s, 'keep': 'decisions', 'services': {'chat': {'llm': 'mistral-7b', 'tensor_parallel': %d,"
                " 'pipeline_parallel': 2, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s',"
                " 'replicas': 0}, {'at': '100s', 'replicas': 1}]}, 'min': 0, 'max': 1, 'interval': '100s'}, " AFFINE
                ", 'trace': {'format': 'generate', 'duration': '400s', 'arrival': {'process': 'fixed',"
                " 'rate': '0.0301/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output':"
                " {'distribution': 'fixed', 'tokens': 2}}}}, 'jobs': {'scheduler': '%s', 'placement':"
                " 'consolidated', 'preemptible': true, 'trace': {'format': 'inline-jobs', 'jobs': [",
                cluster, tensor_parallel, scheduler);
    for (int i = 0; i < n_jobs; i++) text_printf(&json, "%s{'submit': '1s', 'duration': '350s'}", i > 0 ? ", " : "");
    text_printf(&json, "]}}}");
    struct bed_rows *rows = bed_ok(BED(.check = true), "%s", json.chars);
    CHECK_NEAR(bed_metric(rows, "scaling.yielded_jobs.sum"), yielded, 0);
    CHECK(bed_metric(rows, "scaling.missing_replica_s.sum") == 0);
}

TEST(jobs_make_room_for_all_stages)
{
    check_room_for_stages(CLUSTER, 8, "fifo-skip", 2, 4);
}

/* No type of node has room for both stages, together they have: all jobs of both yield, which Gavel's scheduler put
 * there. */
TEST(node_types_make_room_together)
{
    check_room_for_stages("'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'node_types':"
                          " {'more': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}}}",
                          8, "gavel-fifo", 4, 8);
}

/* Two of three types suffice, so the jobs of the third stay. */
TEST(node_types_make_no_more_room_than_is_wanted)
{
    check_room_for_stages("'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'node_types':"
                          " {'more': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'},"
                          " 'most': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}}}",
                          12, "gavel-fifo", 4, 8);
}

/* One node is free, and counts: only the jobs of the other one yield. */
TEST(jobs_make_room_for_what_free_nodes_lack)
{
    check_room_for_stages(CLUSTER, 4, "fifo-skip", 4, 4);
}

/* Two types of nodes of four GPUs, the second one with `gpu`, and a replica that wants four A100. There are eight jobs
 * of one GPU, of which the first n_firm are of the type `firm`. */
static struct bed_rows *run_two_types(const char *gpu, const char *placement, const char *types, int n_firm)
{
    SCOPED(text) json = {0};
    text_printf(
        &json,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'node_types': {'other': {'nodes': 1,"
        " 'gpus_per_node': 4, 'gpu': '%s'}}}, 'keep': 'decisions', 'services': {'chat': {'llm': 'mistral-7b',"
        " 'tensor_parallel': 4, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s',"
        " 'replicas': 0}, {'at': '100s', 'replicas': 1}]}, 'min': 0, 'max': 1, 'interval': '100s'}, " AFFINE
        ", 'trace': {'format': 'generate', 'duration': '400s', 'arrival': {'process': 'fixed',"
        " 'rate': '0.0301/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output':"
        " {'distribution': 'fixed', 'tokens': 2}}}}, 'jobs': {'scheduler': 'gavel-fifo', 'placement': '%s',"
        " 'preemptible': true, 'types': {%s}, 'trace': {'format': 'inline-jobs', 'jobs': [",
        gpu, placement, types);
    for (int i = 0; i < 8; i++)
        text_printf(&json, "%s{'submit': '1s', 'duration': '350s', 'type': '%s'}", i > 0 ? ", " : "",
                    i < n_firm ? "firm" : "soft");
    text_printf(&json, "]}}}");
    return bed_ok(BED(.check = true), "%s", json.chars);
}

/* Firm jobs hold the nodes that the replica needs. The others run on another GPU: if they yielded, it were in vain. */
TEST(jobs_on_another_gpu_do_not_yield)
{
    struct bed_rows *rows = run_two_types("h100-sxm", "consolidated",
                                          "'firm': {'preemptible': false, 'speeds': {'a100-80-sxm': 1, 'h100-sxm': 0}},"
                                          " 'soft': {'speeds': {'a100-80-sxm': 0, 'h100-sxm': 1}}",
                                          4);
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 0);
    CHECK(bed_metric(rows, "scaling.missing_replica_s.sum") > 0);
    for (int64_t id = 0; id < 8; id++) CHECK_NEAR(bed_job(rows, id)->end_s, 351, 1e-6);
}

/* One type of nodes has a firm job, so that three GPUs there would be free in vain. The jobs of the other one yield,
 * whether GPUs are on nodes or only counted. */
TEST(the_type_of_nodes_that_can_make_room_does)
{
    static const char *const placements[] = {"consolidated", "counted"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = run_two_types("a100-80-sxm", placements[i],
                                              "'firm': {'preemptible': false}, 'soft': {}", 1);
        CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 4);
        CHECK(bed_metric(rows, "scaling.missing_replica_s.sum") == 0);
        CHECK_EQ_INT(bed_job(rows, 0)->preemptions, 0);
    }
}

/* Two jobs hold half of the GPU each. %s: whether the first one may be preempted. */
static struct bed_rows *run_sharers(const char *first_type)
{
    return bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'cpus_per_node': 16, 'gpu': 'a100-80-sxm'}, 'keep': 'decisions',"
        " 'services': {'chat': {'llm': 'mistral-7b', 'scaling': {'policy': {'policy': 'schedule',"
        " 'steps': [{'at': '0s', 'replicas': 0}, {'at': '100s', 'replicas': 1}]}, 'min': 0, 'max': 1,"
        " 'interval': '50s'}, " AFFINE ", 'trace': {'format': 'generate', 'duration': '400s',"
        " 'arrival': {'process': 'fixed', 'rate': '0.0301/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 10},"
        " 'output': {'distribution': 'fixed', 'tokens': 2}}}}, 'jobs': {'placement': 'fgd', 'preemptible': true,"
        " 'types': {'firm': {'preemptible': false}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '299s',"
        " 'gpu_share': 0.5, 'type': '%s'}, {'submit': '1s', 'duration': '330s', 'gpu_share': 0.5}]}}}",
        first_type);
}

/* A GPU is free when all who share it have left: nobody yields in vain. */
TEST(sharers_of_a_gpu_yield_together_or_not_at_all)
{
    struct bed_rows *both = run_sharers(""), *one = run_sharers("firm");
    CHECK(bed_metric(both, "scaling.yielded_jobs.sum") == 2);
    CHECK(bed_metric(both, "scaling.missing_replica_s.sum") == 0);
    /* the firm one ends before the decision at 300 s, which has the other one yield */
    CHECK(bed_metric(one, "scaling.yielded_jobs.sum") == 1);
    CHECK_NEAR(bed_metric(one, "scaling.missing_replica_s.sum"), 200, 1e-9);
    CHECK_EQ_INT(bed_job(one, 0)->preemptions, 0);
}
