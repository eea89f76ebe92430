/* Jobs that share GPUs: their speeds beside each other, and what is left when one of them ends. Times by hand. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <string.h>

/* Starts all jobs as one group once the last has come, and preempts the first at `preempts_ns`. */
struct grouping {
    const struct job_view *jobs[4];
    int32_t n, expected;
    sim_ns preempts_ns;
    bool has_started, has_preempted;
};

static int32_t expected_jobs;
static sim_ns preempts_at_ns;

static int grouping_init(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    *(struct grouping *)state = (struct grouping){.expected = expected_jobs, .preempts_ns = preempts_at_ns};
    return 0;
}

static void grouping_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct grouping *grouping = state;
    if (note->event == JOB_EVENT_SUBMIT) grouping->jobs[grouping->n++] = note->job;
    if (note->event == JOB_EVENT_FINISH && note->job == grouping->jobs[0]) grouping->jobs[0] = NULL;
}

static int grouping_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct grouping *grouping = state;
    if (grouping->n < grouping->expected) return 0;
    if (!grouping->has_started)
        grouping->has_started = job_plan_start_group(plan, grouping->jobs, grouping->n,
                                                     &(struct job_grant){.gpus = grouping->jobs[0]->gpus}, "together");
    if (grouping->has_preempted && view->free_gpus > 0 && grouping->jobs[0] != NULL &&
        grouping->jobs[0]->state == JOB_PENDING)
        job_plan_start(plan, grouping->jobs[0], "alone");
    if (grouping->preempts_ns > 0 && !grouping->has_preempted && view->now_ns < grouping->preempts_ns)
        job_plan_wake_at(plan, grouping->preempts_ns);
    if (grouping->preempts_ns > 0 && !grouping->has_preempted && view->now_ns >= grouping->preempts_ns) {
        job_plan_preempt(plan, grouping->jobs[0], "leaves");
        grouping->has_preempted = true;
    }
    return 0;
}

static const struct scheduler grouping = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "grouping", .state_bytes = sizeof(struct grouping),
               .init = grouping_init},
    .notify = grouping_notify,
    .decide = grouping_decide,
    .shares_gpus = true,
};

static struct gpu_speed beside_b = {.gpu = "v100", .speed = 0.6}, beside_a = {.gpu = "v100", .speed = 0.8};
static struct pair_config of_a = {.type = "b", .speeds = {1, &beside_b}}, of_b = {.type = "a", .speeds = {1, &beside_a}};

static void run_group(struct jobrun *run, struct job_type *types, size_t n_types, const struct job_record *records,
                      int32_t n, double preempts_s)
{
    const struct jobrun_spec spec = {.records = records, .n = (size_t)n, .cluster = {.nodes = 1, .gpus_per_node = 2},
                                     .own_scheduler = &grouping, .types = {n_types, types}};
    expected_jobs = n;
    preempts_at_ns = sim_ns_from_s(preempts_s);
    jobrun_init(run, &spec, 0);
}

static struct job_record record_of(int64_t id, double duration_s, const char *type)
{
    struct job_record record = jobrun_record(id, 0, duration_s, 2);
    record.type = type;
    return record;
}

TEST(pairs_run_at_measured_speeds)
{
    struct job_type types[] = {{.name = "a", .sharing.pairs = {1, &of_a}}, {.name = "b", .sharing.pairs = {1, &of_b}}};
    const struct job_record records[] = {record_of(0, 60, "a"), record_of(1, 160, "b")};
    struct jobrun run;
    run_group(&run, types, 2, records, 2, 0);
    CHECK_NEAR(run.jobs[0].jct_s, 100, 1e-6); /* 60 s at 0.6 */
    CHECK_NEAR(run.jobs[1].jct_s, 180, 1e-6); /* 80 s of work in 100 s, and 80 s alone */
    CHECK_NEAR(run.jobs[0].gpu_s, 100, 1e-3);
    CHECK_NEAR(run.jobs[1].gpu_s, 100 + 160, 1e-3);
    jobrun_fini(&run);
}

/* a leaves at 50 s and resumes once b has ended, at 50 + 120 s. */
TEST(who_leaves_gives_back_its_part)
{
    struct job_type types[] = {{.name = "a", .sharing.pairs = {1, &of_a}}, {.name = "b", .sharing.pairs = {1, &of_b}}};
    const struct job_record records[] = {record_of(0, 60, "a"), record_of(1, 160, "b")};
    struct jobrun run;
    run_group(&run, types, 2, records, 2, 50);
    CHECK_NEAR(run.jobs[1].jct_s, 170, 1e-6);
    CHECK_NEAR(run.jobs[0].jct_s, 170 + 30, 1e-6);
    jobrun_fini(&run);
}

/* Three jobs of three phases: 6 s of iterations each alone, 9 s together, 6 + 1 for the first two. */
TEST(phases_interleave)
{
    static double long_first[] = {3, 1, 2}, even[] = {2, 2, 2};
    struct job_type types[] = {{.name = "x", .sharing.phases = {3, long_first}}, {.name = "y", .sharing.phases = {3, even}}};
    const struct job_record records[] = {record_of(0, 600, "x"), record_of(1, 600, "y"), record_of(2, 600, "y")};
    struct jobrun run;
    const struct interleaving_job jobs[] = {{{3, 1, 2}}, {{2, 2, 2}}, {{2, 2, 2}}};
    const double period_s = interleaving_period_s(jobs, 3, 3);
    CHECK_NEAR(period_s, 7, 1e-12);
    run_group(&run, types, 2, records, 3, 0);
    for (int i = 0; i < 3; i++) CHECK_NEAR(run.jobs[i].jct_s, 700, 1e-6);
    jobrun_fini(&run);
}

/* A share of memory alone lets no jobs share a GPU, and would be silent. */
TEST(a_share_of_memory_needs_a_utilisation)
{
    for (int stated = 0; stated < 2; stated++) {
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'types': {'a': {'sharing': {%s"
                                " 'memory_frac': 0.5}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1s',"
                                " 'type': 'a'}]}}}",
            stated ? "'utilisation': 0.5," : "");
        CHECK_EQ_INT(rows->code, stated ? 0 : SIM_E_CONFIG);
        if (!stated) CHECK(strstr(rows->diag.items[0].where, "jobs.types.a.sharing") != NULL);
    }
}

/* --- Where jobs can share --- */

#define TWO_JOBS                                                                                                       \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, 'jobs': {%s, 'types': {'a': {%s}, 'b': {%s}},"                      \
    " 'trace': {'format': 'inline-jobs', 'jobs': [{'type': 'a', 'gpus': 8, 'duration': '1000s'},"                      \
    " {'type': 'b', 'gpus': 8, 'duration': '1000s'}]}}}"

static const char of_first[] = "'sharing': {'phases': [1, 0.1]}", of_second[] = "'sharing': {'phases': [0.1, 1]}";

static struct bed_rows *run_two(const char *policies, const char *first, const char *second)
{
    return bed_ok(BED(.quiet = true), TWO_JOBS, policies, first, second);
}

/* Phases that fit into each other cost nothing: both jobs end after 1000 s on the same GPUs. The default placement
 * gives each job its own, and the run says so. */
TEST(jobs_share_where_no_placer_puts_them_on_nodes)
{
    const struct bed_rows *rows = run_two("'scheduler': 'muri', 'placement': 'counted'", of_first, of_second);
    CHECK_EQ_INT(rows->diag.n_warnings, 0);
    for (int64_t id = 0; id < 2; id++) CHECK_NEAR(bed_job(rows, id)->jct_s, 1000.0, 1e-9);
    rows = run_two("'scheduler': 'muri'", of_first, of_second);
    CHECK_EQ_INT(rows->diag.n_warnings, 1);
    CHECK(bed_job(rows, 1)->jct_s >= 2000.0); /* after job 0 */
}

static const char *const sharers[] = {"muri",    "lucid", "gavel-packed", "gavel-fifo-packed",
                                      "gandiva", "horus", "antman"};

TEST(a_scheduler_that_cannot_share_warns)
{
    for (size_t i = 0; i < sizeof sharers / sizeof *sharers; i++) {
        char policies[96];
        snprintf(policies, sizeof policies, "'scheduler': '%s', 'placement': 'consolidated'", sharers[i]);
        const struct bed_rows *rows = run_two(policies, of_first, of_second);
        CHECK_EQ_INT(rows->diag.n_warnings, 1);
        CHECK(strstr(rows->diag.items[0].text, "no jobs share GPUs under") != NULL);
        CHECK(strstr(rows->diag.items[0].text, "'consolidated'") != NULL);
        rows = run_two(policies, "", "");
        CHECK_EQ_INT(rows->diag.n_warnings, 1);
        CHECK(strstr(rows->diag.items[0].text, "no job type says how fast it is beside others") != NULL);
        snprintf(policies, sizeof policies, "'scheduler': '%s', 'placement': 'counted'", sharers[i]);
        CHECK_EQ_INT(run_two(policies, of_first, of_second)->diag.n_warnings, 0);
    }
}

/* Where jobs are on no nodes, neither distance nor what nodes have beside GPUs counts: the results are the same. */
TEST(settings_of_nodes_warn_where_jobs_are_on_none)
{
    static const char *const sets[][2] = {
        {"jobs.network_penalty.nodes=0.5"}, {"cluster.cpus_per_node=8"}, {"cluster.memory_per_node=64GB"}};
    const char *const counted = "'scheduler': 'muri', 'placement': 'counted'";
    for (int i = 0; i < 3; i++) {
        const struct bed_rows *rows = bed_ok(BED(.quiet = true, .sets = sets[i]), TWO_JOBS, counted, of_first,
                                             of_second);
        CHECK_EQ_INT(rows->diag.n_warnings, 1);
        CHECK(strstr(rows->diag.items[0].text, i == 0 ? "has no effect: jobs are on no nodes" : "jobs take no CPUs") !=
              NULL);
        for (int64_t id = 0; id < 2; id++) CHECK_NEAR(bed_job(rows, id)->jct_s, 1000.0, 1e-9);
        rows = bed_ok(BED(.quiet = true, .sets = sets[i]), TWO_JOBS, "'scheduler': 'fifo'", "", "");
        CHECK_EQ_INT(rows->diag.n_warnings, 0);
    }
}

TEST(a_scheduler_that_is_told_not_to_share_does_not_warn)
{
    const char *const policies[] = {"'scheduler': {'policy': 'muri', 'most': 1}, 'placement': 'consolidated'",
                                    "'scheduler': {'policy': 'gavel-packed', 'shares': false}, 'placement': 'best-fit'",
                                    "'scheduler': 'fifo', 'placement': 'consolidated'"};
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(run_two(policies[i], of_first, of_second)->diag.n_warnings, 0);
}

TEST(sharing_without_saying_so_is_a_fault)
{
    struct scheduler silent = grouping;
    struct job_type types[] = {{.name = "a", .sharing = {.utilisation = 0.2}}};
    const struct job_record records[] = {record_of(0, 10, "a"), record_of(1, 10, "a")};
    const struct jobrun_spec spec = {.records = records, .n = 2, .cluster = {.nodes = 1, .gpus_per_node = 2},
                                     .own_scheduler = &silent, .types = {1, types}};
    silent.shares_gpus = false;
    expected_jobs = 2;
    preempts_at_ns = 0;
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, SIM_E_POLICY);
    CHECK(strstr(run.diag.items[0].text, "'shares_gpus'") != NULL);
}

/* --- The memory of jobs that train by a plan --- */

#define PLANNED                                                                                                        \
    "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 8}, 'jobs': {'scheduler': 'horus',"                  \
    " 'placement': 'counted',"                                                                                         \
    " 'types': {'a': {'sharing': {'utilisation': 0.4%s}, 'training': {'llm': '%s', 'global_batch': 64,"                \
    " 'recompute': 'full', 'sequence_tokens': 2048}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["                   \
    "{'type': 'a', 'gpus': 8, 'steps': 100}, {'type': 'a', 'gpus': 8, 'steps': 100}]}}}"

static bool run_at_once(const char *more, const char *llm)
{
    const struct bed_rows *rows = bed_ok(BED(.quiet = true), PLANNED, more, llm);
    return bed_job(rows, 1)->start_s < bed_job(rows, 0)->end_s;
}

/* Weights and 32-bit gradients of 8 billion parameters take 48 GB of 80 already, and those of 2.7 billion 16 GB. */
TEST(plans_share_a_gpu_only_if_it_holds_both)
{
    CHECK(!run_at_once("", "llama-3.1-8b"));
    CHECK(run_at_once("", "phi-2"));
    CHECK(run_at_once(", 'memory_frac': 0.5", "llama-3.1-8b")); /* what is stated goes first */
    CHECK(!run_at_once(", 'memory_frac': 0.51", "phi-2"));
}

/* Shares of time that are all 0 are of no iteration; one that is above 0 is enough. */
TEST(phases_without_time_are_refused)
{
    const struct bed_rows *rows = bed_run(BED(.quiet = true), TWO_JOBS, "'scheduler': 'muri', 'placement': 'counted'",
                                          "'sharing': {'phases': [0, 0]}", of_second);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    CHECK_EQ_STR(rows->diag.items[0].text, "an iteration takes time on some resource");
    rows = run_two("'scheduler': 'muri', 'placement': 'counted'", "'sharing': {'phases': [0, 0, 0.1]}", of_second);
    CHECK_EQ_INT(rows->diag.n_warnings, 0);
}
