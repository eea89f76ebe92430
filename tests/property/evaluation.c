/* Jobs that load a model before they work, and the evaluation of an LLM on data sets: closed forms of loading over a
 * shared NIC and of what is decoupled, and a naive list schedule of the trials. Nodes have NICs of 1 GB/s. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define CLUSTER                                                                                                        \
    "'cluster': {'nodes': %d, 'gpus_per_node': 8, 'network': {'bandwidth': '1GB/s', 'per': 'node', 'latency': '0s'}, " \
    "'storage': {'models': {'device': 'rdma-h800'}}}"
#define LOAD "{'load': {'bytes': '10GB', 'from': 'models'}}"
#define TYPES "'types': {'trial': " LOAD ", 'loader': " LOAD "}"

static const char *const coordinators[] = {"none", "load", "metric", "elastic"};

static double span_s(const struct job_row *row)
{
    return row->end_s - row->start_s;
}

/* n jobs on a node share its NIC; other nodes do not slow them. */
TEST(jobs_of_a_node_share_its_nic_as_they_load)
{
    for (int n = 1; n <= 16; n++) {
        const struct bed_rows *rows =
            bed_ok(BED(.check = true),
                   "{" CLUSTER ", 'jobs': {" TYPES ", 'trace': {'format': 'generate-evaluation', 'datasets': %d,"
                   " 'inference': '7s'}}}", 2, n);
        for (int i = 0; i < n; i++) {
            const int beside = i < 8 ? (n < 8 ? n : 8) : n - 8;
            CHECK_NEAR(span_s(bed_job(rows, i)), 10.0 * beside + 7.0, 1e-6);
        }
    }
}

/* The wait of a start comes first; a job that loses its GPUs loads again; one that continues reads the rest. */
TEST(each_start_loads_after_its_wait)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{" CLUSTER
        ", 'failures': {'causes': {'site': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '18s'},"
        " 'repair': {'law': 'constant', 'mean': '100s'}}}}, 'until': '10min', 'jobs': {'types': {'default': " LOAD "},"
        " 'restart': {'start': '3s', 'resume': '5s'}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '2s'},"
        " {'duration': '20s', 'submit': '200s'}]}}}",
        1);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 3 + 10 + 2, 1e-6);
    const struct bed_rows *again = bed_ok(
        BED(.check = true),
        "{" CLUSTER ", 'failures': {'causes': {'site': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '18s'}"
        "}}}, 'until': '70s', 'jobs': {'types': {'default': " LOAD "}, 'restart': {'start': '3s', 'resume': '5s'},"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '30s'}]}}}",
        1);
    CHECK_NEAR(bed_metric(again, "job.lost_gpu_s.sum"), 5 + 3 + 3, 1e-6); /* at 18, 36 and 54 s */
}

/* A node's loader takes a CPU job, too. */
TEST(a_job_without_gpus_loads_where_nodes_count_cpus)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'cpus_per_node': 8, 'network': {'bandwidth': '1GB/s', 'per': 'node', 'latency': "
        "'0s'}, 'storage': {'models': {'device': 'rdma-h800'}}}, 'jobs': {'types': {'default': " LOAD "}, 'placement':"
        " 'best-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '2s', 'gpus': 0, 'cpus': 4},"
        " {'duration': '2s', 'gpus': 0, 'cpus': 4}]}}}");
    for (int i = 0; i < 2; i++) CHECK_NEAR(bed_job(rows, i)->end_s, 2 * 10 + 2, 1e-6);
}

/* A scheduler that preempts its job every second and starts it again at once, which voids both. */
struct restless {
    const struct job_view *job;
};

static void restless_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    ((struct restless *)state)->job = note->event == JOB_EVENT_FINISH ? NULL : note->job;
}

static int restless_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *job = ((struct restless *)state)->job;
    if (job == NULL) return 0;
    if (job->state == JOB_RUNNING) job_plan_preempt(plan, job, "restless");
    CHECK(job_plan_start(plan, job, "restless"));
    job_plan_wake_at(plan, view->now_ns + SIM_NS_PER_S);
    return 0;
}

static const struct scheduler restless = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                     .family = POLICY_SCHEDULER, .name = "restless", .summary = "",
                                                     .source = "", .state_bytes = sizeof(struct restless)},
                                          .notify = restless_notify,
                                          .decide = restless_decide};

/* Preempted and started at one moment, a job waits and loads on. */
TEST(a_job_that_continues_loads_the_rest)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true, .policy = &restless.policy),
        "{" CLUSTER ", 'jobs': {'scheduler': 'restless', 'types': {'default': " LOAD "}, 'restart': {'start': '3.5s'},"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '7.25s'}]}}}", 1);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 3.5 + 10 + 7.25, 1e-6);
}

static const struct bed_rows *evaluate(const char *coordinator, int nodes, int datasets, double spread)
{
    return bed_ok(BED(.check = true),
                  "{" CLUSTER ", 'jobs': {" TYPES ", 'trace': {'format': 'generate-evaluation', 'coordinator': '%s',"
                  " 'nodes': %d, 'datasets': %d, 'spread': %g, 'inference': '60s', 'prepare': '20s', 'metric': '15s',"
                  " 'metric_datasets': %d, 'copy': '1s'}}}",
                  nodes, coordinator, nodes, datasets, spread, datasets / 3);
}

/* With equal data sets, one for each GPU, of which the first third has a metric. */
TEST(equal_data_sets_take_their_closed_form)
{
    for (int nodes = 1; nodes <= 4; nodes++) {
        const int n = 8 * nodes;
        /* eight load at once; metrics of cut data sets end before the last piece */
        const double span[] = {80 + 80 + 15, 10 + 1 + 80 + 15, 10 + 1 + 80 + 15, 10 + 1 + 80};
        for (int i = 0; i < 4; i++)
            CHECK_NEAR(bed_metric(evaluate(coordinators[i], nodes, n, 0), "job.makespan_s"), span[i], 1e-6);
    }
}

static double gpu_s(const struct bed_rows *rows)
{
    double sum = 0;
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].gpus == 1) sum += span_s(&rows->jobs[i]);
    return sum;
}

/* Cut or not, data sets are prepared and inferred as long; a metric follows all pieces of its data set. */
TEST(the_work_on_gpus_is_kept)
{
    for (int nodes = 1; nodes <= 3; nodes++)
        for (int n = 1; n < 70; n += 17) {
            const struct bed_rows *whole = evaluate("metric", nodes, n, 0.8), *cut = evaluate("elastic", nodes, n, 0.8);
            size_t copies = 0, metrics = 0;
            for (size_t i = 0; i < cut->n_jobs; i++) {
                copies += cut->jobs[i].gpus == 1 && fabs(cut->jobs[i].start_s - 10) < 1e-6;
                metrics += cut->jobs[i].gpus == 0;
            }
            CHECK_NEAR(gpu_s(cut) - (double)copies, gpu_s(whole) - n, 1e-3);
            CHECK_EQ_INT((int)metrics, n / 3);
            const double share = (gpu_s(cut) - (double)copies) / (8 * nodes);
            CHECK(bed_metric(cut, "job.makespan_s") >= 10 + share - 1e-6);
            CHECK(bed_metric(cut, "job.makespan_s") <= 10 + 1 + 1.25 * share + 15 + 1e-6);
        }
}

/* Trials with decoupled loading run in a naive list schedule. */
TEST(warm_trials_end_as_in_a_list_schedule)
{
    const struct bed_rows *rows = evaluate("load", 1, 40, 0.7);
    double free_s[8];
    for (int i = 0; i < 8; i++) free_s[i] = 10;
    for (int64_t id = 1; id <= 40; id++) {
        int first = 0;
        for (int i = 1; i < 8; i++)
            if (free_s[i] < free_s[first]) first = i;
        CHECK_NEAR(bed_job(rows, id)->start_s, free_s[first], 1e-6);
        free_s[first] += span_s(bed_job(rows, id));
    }
}

TEST(what_loading_needs_is_checked)
{
    static const struct {
        const char *cluster, *jobs, *text;
    } wrong[] = {
        {"'nodes': 1", "", "and there is no network"},
        {"'nodes': 1, 'network': {'bandwidth': '1GB/s'}", "", "no storage behind the network"},
        {"'nodes': 1, 'network': {'bandwidth': '1GB/s'}, 'storage': {'models': {'device': 'rdma-h800'}}",
         "'placement': 'counted', ", "on no nodes in particular"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct bed_rows *rows =
            bed_run(BED(.quiet = true), "{'cluster': {%s}, 'jobs': {%s'types': {'default': " LOAD "}, 'trace': {'format':"
                    " 'inline-jobs', 'jobs': [{'duration': '2s'}]}}}", wrong[i].cluster, wrong[i].jobs);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, wrong[i].text) != NULL);
    }
}
