/* What the world makes of the plans of schedulers and placers, good and bad. */
#include "policies/registry.h"
#include "sim/world/jobs/jobs.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

/* --- A scheduler that does what the test says --- */

struct script {
    const struct job_view *jobs[8]; /* by sequence */
    int n_decisions;
};

static void script_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    ((struct script *)state)->jobs[note->job->sequence] = note->event == JOB_EVENT_FINISH ? NULL : note->job;
}

static int start_twice(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)view;
    const struct script *script = state;
    CHECK(job_plan_start(plan, script->jobs[0], "first"));
    CHECK(!job_plan_start(plan, script->jobs[0], "once more"));
    CHECK(!job_plan_start(plan, script->jobs[1], "nothing happens after a fault"));
    return 0;
}

static int preempt_pending(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)view;
    job_plan_preempt(plan, ((struct script *)state)->jobs[0], "no reason");
    return 0;
}

static int move_pending(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)view;
    job_plan_migrate(plan, ((struct script *)state)->jobs[0], 0, 0, "no reason");
    return 0;
}

static int move_to_nowhere(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *job = ((struct script *)state)->jobs[0];
    (void)view;
    CHECK(job_plan_start(plan, job, "it is there"));
    CHECK(!job_plan_migrate(plan, job, 0, 0, "counted GPUs are nowhere"));
    CHECK(!job_plan_migrate(plan, job, 1, 0, "no reason"));
    return 0;
}

static int wake_in_the_past(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)state;
    job_plan_wake_at(plan, view->now_ns);
    return 0;
}

static int ask_the_oracle(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)plan;
    job_view_remaining_ns(view, ((struct script *)state)->jobs[0]);
    return 0;
}

static int ask_for_speeds(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)plan;
    job_view_demand(view, ((struct script *)state)->jobs[0]);
    return 0;
}

/* Starts one job per ten seconds, whatever comes and goes. */
static int start_on_the_clock(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct script *script = state;
    script->n_decisions++;
    sim_ns period_ns = 10 * SIM_NS_PER_S;
    for (int i = 0; view->now_ns % period_ns == 0 && i < 3; i++) {
        if (script->jobs[i] == NULL || script->jobs[i]->state != JOB_PENDING) continue;
        CHECK(job_plan_start(plan, script->jobs[i], "the clock"));
        script->jobs[i] = NULL;
        break;
    }
    job_plan_wake_at(plan, (view->now_ns / period_ns + 3) * period_ns);
    job_plan_wake_at(plan, (view->now_ns / period_ns + 1) * period_ns);
    return view->n_pending == 0 && view->n_running == 0 ? SIM_E_POLICY : 0;
}

/* Takes the first job off its GPUs and puts it back at every decision. */
static int change_its_mind(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *first = ((struct script *)state)->jobs[0];
    (void)view;
    if (first == NULL || first->state == JOB_FINISHED) return 0;
    if (first->state == JOB_RUNNING) job_plan_preempt(plan, first, "a whim");
    CHECK(job_plan_start(plan, first, "another whim"));
    return 0;
}

static struct scheduler script_of(int (*decide)(void *, const struct cluster_view *, struct job_plan *))
{
    return (struct scheduler){.policy = {.abi = POLICY_ABI,
                                         .size = sizeof(struct scheduler),
                                         .family = POLICY_SCHEDULER,
                                         .name = "script",
                                         .summary = "",
                                         .source = "",
                                         .state_bytes = sizeof(struct script)},
                              .notify = script_notify,
                              .decide = decide,
                              .migrates = true};
}

static const struct cluster_config two_nodes = {.nodes = 2, .gpus_per_node = 4};

static void run_script(struct jobrun *run, int (*decide)(void *, const struct cluster_view *, struct job_plan *),
                       size_t n_jobs, int expected)
{
    const struct scheduler scheduler = script_of(decide);
    const struct job_record records[] = {jobrun_record(0, 1.5, 40, 1), jobrun_record(1, 1.5, 2, 4),
                                         jobrun_record(2, 20, 3, 2)};
    jobrun_init(run,
                &(struct jobrun_spec){
                    .records = records, .n = n_jobs, .cluster = two_nodes, .own_scheduler = &scheduler},
                expected);
}

static void expect_fault(int (*decide)(void *, const struct cluster_view *, struct job_plan *), const char *text)
{
    SCOPED(jobrun) run;
    run_script(&run, decide, 2, SIM_E_POLICY);
    CHECK_EQ_INT(run.diag.n_errors, 1);
    CHECK_EQ_STR(run.diag.items[0].where, "jobs.scheduler");
    CHECK_EQ_STR(run.diag.items[0].text, text);
}

TEST(impossible_actions_are_policy_faults)
{
    expect_fault(start_twice, "policy 'script' starts job 0, which is running (reason: once more), at 1.5 s");
    expect_fault(preempt_pending, "policy 'script' preempts job 0, which is pending (reason: no reason), at 1.5 s");
    expect_fault(move_pending,
                 "policy 'script' moves job 0, which is pending, to node type 0 (reason: no reason), at 1.5 s");
    expect_fault(move_to_nowhere, "policy 'script' moves job 0, which is running, to node type 1, which does not exist "
                                  "(reason: no reason), at 1.5 s");
    expect_fault(wake_in_the_past, "policy 'script' asks to be woken at 1.5 s, which is not later than now, at 1.5 s");
    expect_fault(ask_the_oracle, "policy 'script' reads, without declaring it, the true run time of job 0, at 1.5 s");
    expect_fault(ask_for_speeds, "policy 'script' reads, without declaring it, the exact speed of job 0, at 1.5 s");
}

TEST(moving_without_saying_so_is_a_fault)
{
    struct scheduler silent = script_of(move_pending);
    const struct job_record records[] = {jobrun_record(0, 1.5, 40, 1)};
    const struct jobrun_spec spec = {.records = records, .n = 1, .cluster = two_nodes, .own_scheduler = &silent};
    silent.migrates = false;
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, SIM_E_POLICY);
    CHECK_EQ_STR(run.diag.items[0].text,
                 "policy 'script' moves job 0, and does not set 'migrates' (reason: no reason), at 1.5 s");
}

static int place_too_many(void *state, const struct cluster_view *view, const struct job_view *job,
                          struct placement *placement)
{
    (void)state, (void)view;
    placement_add(placement, 1, job->gpus + 1);
    return 1;
}

static int place_on_a_node_without_gpus(void *state, const struct cluster_view *view, const struct job_view *job,
                                        struct placement *placement)
{
    (void)state, (void)view;
    placement_add(placement, 0, 0);
    placement_add(placement, 1, job->gpus);
    return 1;
}

static void expect_wrong_placement(int (*place)(void *, const struct cluster_view *, const struct job_view *,
                                                struct placement *),
                                   double cpus_per_node)
{
    const struct placer placer = {
        .policy = {.abi = POLICY_ABI, .size = sizeof(struct placer), .family = POLICY_PLACEMENT, .name = "greedy"},
        .place = place};
    const struct job_record record = jobrun_record(0, 1.5, 40, 1);
    struct cluster_config cluster = two_nodes;
    cluster.cpus_per_node = cpus_per_node;
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){
                    .records = &record, .n = 1, .cluster = cluster, .scheduler = "fifo", .own_placer = &placer},
                SIM_E_POLICY);
    CHECK_EQ_STR(run.diag.items[0].where, "jobs.placement");
    CHECK_EQ_STR(run.diag.items[0].text,
                 "policy 'greedy' puts job 0 on GPUs that are not free, or on another number than requested, at 1.5 s");
}

TEST(wrong_placements_are_policy_faults)
{
    for (int cpus = 0; cpus <= 8; cpus += 8) {
        expect_wrong_placement(place_too_many, cpus);
        expect_wrong_placement(place_on_a_node_without_gpus, cpus);
    }
}

TEST(schedulers_are_woken_when_they_wish)
{
    SCOPED(jobrun) run;
    run_script(&run, start_on_the_clock, 3, SIM_E_POLICY);
    CHECK_EQ_INT(run.n_decisions, 3);
    CHECK(run.decisions[0].t_s == 10 && run.decisions[0].job == 0);
    CHECK(run.decisions[1].t_s == 20 && run.decisions[1].job == 1);
    CHECK(run.decisions[2].t_s == 30 && run.decisions[2].job == 2);
}

TEST(a_job_put_back_in_the_same_plan_was_never_preempted)
{
    SCOPED(jobrun) run;
    run_script(&run, change_its_mind, 1, 0);
    CHECK_EQ_INT(run.n_decisions, 1);
    CHECK_EQ_STR(run.decisions[0].action, "start");
    CHECK_EQ_INT(run.jobs[0].preemptions, 0);
    CHECK(run.jobs[0].end_s == 41.5);
    CHECK(jobrun_metric(&run, "job.preemptions.sum") == 0);
}

/* --- Runs with the listed policies --- */

TEST(the_end_finds_jobs_unfinished)
{
    const struct job_record records[] = {jobrun_record(0, 0, 100, 2), jobrun_record(1, 1, 5, 8),
                                         jobrun_record(2, 70, 5, 1)};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records,
                                      .n = 3,
                                      .cluster = two_nodes,
                                      .scheduler = "fifo",
                                      .until = 60 * SIM_NS_PER_S},
                0);
    CHECK_EQ_INT(run.n_rows, 2);
    CHECK_EQ_STR(run.jobs[0].status, "unfinished");
    CHECK(run.jobs[0].start_s == 0 && isnan(run.jobs[0].end_s) && run.jobs[0].gpu_s == 120);
    CHECK_EQ_STR(run.jobs[1].status, "unfinished");
    CHECK(isnan(run.jobs[1].start_s) && run.jobs[1].gpu_s == 0);
    CHECK(run.jobs[2].status == NULL);
    CHECK(jobrun_metric(&run, "job.unfinished") == 2);
    CHECK(jobrun_metric(&run, "job.gpu_s.sum") == 120);
    CHECK(jobrun_metric(&run, "job.gpus_in_use.mean") == 2);
    CHECK(jobrun_metric(&run, "cluster.gpu_util") == 0.25);
}

TEST(warm_up_counts_in_no_distribution)
{
    const struct job_record records[] = {jobrun_record(0, 0, 100, 1), jobrun_record(1, 9.5, 50, 1),
                                         jobrun_record(2, 10, 20, 1)};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records,
                                      .n = 3,
                                      .cluster = two_nodes,
                                      .scheduler = "fifo",
                                      .warmup_ns = 10 * SIM_NS_PER_S},
                0);
    CHECK(jobrun_metric(&run, "job.jct_s.mean") == 20);
    CHECK(jobrun_metric(&run, "job.finished") == 3);
    CHECK(jobrun_metric(&run, "job.makespan_s") == 100);
}

TEST(jobs_get_what_services_leave)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 6), jobrun_record(1, 0, 10, 5),
                                         jobrun_record(2, 0, 10, 1)};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records,
                                      .n = 3,
                                      .cluster = two_nodes,
                                      .scheduler = "srtf",
                                      .placement = "first-fit",
                                      .group_gpus = 3},
                0);
    CHECK_EQ_STR(run.jobs[0].status, "rejected");
    CHECK(run.jobs[1].end_s == 10 && run.jobs[2].end_s == 20);
    CHECK(jobrun_metric(&run, "cluster.gpus_in_use.max") == 8);
    CHECK(jobrun_metric(&run, "job.gpus_in_use.max") == 5);
}

/* A job that comes when another one goes finds its GPUs, and one decision sees both. */
TEST(one_decision_per_moment)
{
    const struct job_record records[] = {jobrun_record(0, 0, 5, 8), jobrun_record(1, 5, 1, 3),
                                         jobrun_record(2, 5, 1, 6)};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 3, .cluster = two_nodes, .scheduler = "srsf"}, 0);
    CHECK(run.jobs[1].start_s == 5 && run.jobs[2].start_s == 6);
}

TEST(a_broken_trace_ends_the_run)
{
    const struct job_record records[] = {jobrun_record(0, 0, 5, 8), jobrun_record(1, 5, 1, 3)};
    for (size_t row = 1; row <= 2; row++) {
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){
                        .records = records, .n = 2, .cluster = two_nodes, .scheduler = "fifo", .bad_row = row},
                    SIM_E_DATA);
        CHECK_EQ_STR(run.diag.items[0].where, "jobs.csv:7:3");
    }
}

/* Every allocation fails once: the run ends with SIM_E_NOMEM, and nothing is lost or touched after it was freed. */
TEST(memory_may_run_out_anywhere)
{
    static const char *const schedulers[] = {"fifo",           "easy",  "conservative", "sjf",    "srsf",  "tiresias",
                                             "lucid-tiresias", "hived", "shockwave",    "antman", "horus", "chronus"};
    enum { N = 80 };
    struct job_record records[N];
    for (int i = 0; i < N; i++) records[i] = jobrun_record(i, i / 4, 1 + i % 9, 1 + i * 7 % 24);
    for (size_t s = 0; s < sizeof schedulers / sizeof schedulers[0]; s++) {
        int code = SIM_E_NOMEM;
        for (long n = 1; code != 0; n++) {
            SCOPED(jobrun) run;
            jobrun_init(&run,
                        &(struct jobrun_spec){.records = records,
                                              .n = N,
                                              .cluster = {.nodes = 12, .gpus_per_node = 2},
                                              .scheduler = schedulers[s],
                                              .placement = "consolidated",
                                              .fail_after = n},
                        0);
            code = run.code;
            if (!CHECK(code == 0 || code == SIM_E_NOMEM) || !CHECK(n < 2000)) return;
        }
    }
}
