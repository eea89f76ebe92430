/* What a scheduler may give a job: other GPUs than it asked for, of other node types, and others while it runs; what it
 * waits before it works, and rounds. Times by hand. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

/* A scheduler for these tests: starts jobs in the order of submission with the grant that `script` names, and gives the
 * first one other GPUs when the second one starts, or moves it. */
struct script {
    struct job_grant grant;
    double resized_gpus; /* 0: never */
    bool moves;          /* to the second node type then */
};

struct scripted {
    struct script script;
    const struct job_view *jobs[8];
    int n, n_started;
};

static void scripted_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct scripted *scripted = state;
    (void)view;
    if (note->event == JOB_EVENT_SUBMIT) scripted->jobs[scripted->n++] = note->job;
}

static int scripted_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct scripted *scripted = state;
    (void)view;
    while (scripted->n_started < scripted->n) {
        if (scripted->n_started == 1 && scripted->script.resized_gpus > 0)
            CHECK(job_plan_resize(plan, scripted->jobs[0], scripted->script.resized_gpus, "another job comes"));
        if (scripted->n_started == 1 && scripted->script.moves)
            CHECK(job_plan_migrate(plan, scripted->jobs[0], 1, 0, "another job comes"));
        if (!job_plan_start_as(plan, scripted->jobs[scripted->n_started], &scripted->script.grant, "it is its turn"))
            break;
        scripted->n_started++;
    }
    return 0;
}

static const struct scheduler scripted = {
    .policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler), .family = POLICY_SCHEDULER, .name = "scripted",
               .state_bytes = sizeof(struct scripted)},
    .notify = scripted_notify,
    .decide = scripted_decide,
    .uses_node_types = true,
    .migrates = true,
};

static const struct script on_second_type = {.grant = {.gpus = 2, .node_type = 1}};
static const struct script shares = {.grant = {.gpus = 1.5}, .resized_gpus = 2.5};

static const struct script first_moves = {.grant = {.gpus = 2}, .moves = true};

static int take_script(void *state, const struct script *script)
{
    ((struct scripted *)state)->script = *script;
    return 0;
}

static int init_second_type(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    return take_script(state, &on_second_type);
}

static int init_shares(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    return take_script(state, &shares);
}

static int init_first_moves(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    return take_script(state, &first_moves);
}

TEST(jobs_run_on_further_node_types_at_their_speed)
{
    struct gpu_speed speeds[] = {{"slow", 0.25}};
    struct job_type type = {.name = "default", .speeds = {1, speeds}};
    struct node_type_config slow = {.name = "old", .nodes = 1, .gpus_per_node = 4, .gpu = "slow"};
    struct job_record records[] = {jobrun_record(0, 0, 100, 2), jobrun_record(1, 10, 10, 2), jobrun_record(2, 20, 10, 2)};
    struct scheduler scheduler = scripted;
    scheduler.policy.init = init_second_type;
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 3, .types = {1, &type}, .own_scheduler = &scheduler,
                                      .placement = "consolidated",
                                      .cluster = {.nodes = 1, .gpus_per_node = 2, .gpu = "fast", .node_types = {1, &slow}}},
                0);
    CHECK(run.jobs[0].start_s == 0 && run.jobs[0].end_s == 400);  /* four times as long */
    CHECK(run.jobs[1].start_s == 10 && run.jobs[1].end_s == 50);
    CHECK(run.jobs[2].start_s == 50 && run.jobs[2].end_s == 90);  /* four GPUs hold two of them */
    CHECK(run.jobs[0].gpu_s == 800);
}

/* At 10 s the first job leaves the fast GPUs to the second one: 8 s later it goes on, four times as slow. */
TEST(jobs_move_to_further_node_types)
{
    const struct restart_config restart = {.resume_multi_node_s = (double)NAN, .migrate_s = 8};
    struct gpu_speed speeds[] = {{"slow", 0.25}};
    struct job_type type = {.name = "default", .speeds = {1, speeds}};
    struct node_type_config slow = {.name = "old", .nodes = 1, .gpus_per_node = 4, .gpu = "slow"};
    struct job_record records[] = {jobrun_record(0, 0, 100, 2), jobrun_record(1, 10, 10, 2)};
    struct scheduler scheduler = scripted;
    scheduler.policy.init = init_first_moves;
    for (int i = 0; i < 2; i++) {
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = records, .n = 2, .types = {1, &type}, .own_scheduler = &scheduler,
                                          .placement = i == 0 ? "consolidated" : "counted", .restart = &restart,
                                          .cluster = {.nodes = 1, .gpus_per_node = 2, .gpu = "fast", .node_types = {1, &slow}}},
                    0);
        CHECK(run.jobs[0].start_s == 0 && run.jobs[0].end_s == 10 + 8 + 4 * 90);
        CHECK(run.jobs[1].start_s == 10 && run.jobs[1].end_s == 20);
        CHECK(run.jobs[0].gpu_s == 2 * 378 && run.jobs[0].preemptions == 0);
        CHECK(jobrun_metric(&run, "job.migrations.sum") == 1 && jobrun_metric(&run, "job.migration_gpu_s.sum") == 16);
    }
}

/* s(k) = sqrt(k): on 1.5 of 1 GPUs asked for. From t = 10 on job 0 has 2.5 of the 4. */
TEST(shares_of_counted_gpus_change_while_a_job_runs)
{
    struct job_type type = {.name = "default", .speedup = {.law = SPEEDUP_POWER, .exponent = 0.5}};
    struct job_record records[] = {jobrun_record(0, 0, 100, 1), jobrun_record(1, 10, 10, 1)};
    struct scheduler scheduler = scripted;
    scheduler.policy.init = init_shares;
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 2, .types = {1, &type}, .own_scheduler = &scheduler,
                                      .cluster = {.nodes = 1, .gpus_per_node = 4}},
                0);
    const double done = 10 * sqrt(1.5), end_s = 10 + (100 - done) / sqrt(2.5);
    CHECK_NEAR(run.jobs[0].end_s, end_s, 1e-8);
    CHECK_NEAR(run.jobs[1].end_s, 10 + 10 / sqrt(1.5), 1e-8);
    CHECK_NEAR(run.jobs[0].gpu_s, 15 + 2.5 * (end_s - 10), 1e-7);
    CHECK_NEAR(jobrun_metric(&run, "job.gpus_in_use.max"), 4, 1e-12);
}

/* Two jobs of all GPUs, the shorter one preempts: SRTF. It waits 3 s before it works, the longer one 7 s when it comes
 * back. */
TEST(a_preempted_job_waits_before_it_works_again)
{
    const struct restart_config restart = {.start_ns = 3 * SIM_NS_PER_S, .resume_ns = 5 * SIM_NS_PER_S,
                                           .resume_multi_node_s = 7};
    struct job_record records[] = {jobrun_record(0, 0, 100, 4), jobrun_record(1, 20, 10, 4)};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 2, .restart = &restart, .scheduler = "srtf",
                                      .cluster = {.nodes = 2, .gpus_per_node = 2}},
                0);
    CHECK(run.jobs[1].start_s == 20 && run.jobs[1].end_s == 33);
    CHECK(run.jobs[0].start_s == 0 && run.jobs[0].end_s == 33 + 7 + 83); /* 17 s of its work were done */
    CHECK(run.jobs[0].gpu_s == 4 * (20 + 90));
}

/* Preempts the first job when the second one comes, finds it no room on the other node type, and has it go on. */
static int fickle_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct scripted *own = state;
    const struct job_view *first = own->jobs[0];
    const struct job_grant there = {.gpus = 2, .node_type = 1};
    (void)view;
    if (own->n == 2 && own->n_started == 1) {
        job_plan_preempt(plan, first, "a better place");
        CHECK(!job_plan_start_as(plan, first, &there, "which has no room"));
        CHECK(job_plan_start(plan, first, "back again"));
        own->n_started++;
        CHECK(job_plan_start(plan, own->jobs[1], "it has room beside"));
    }
    if (own->n == 1 && own->n_started == 0) own->n_started += job_plan_start(plan, first, "it is first");
    return 0;
}

/* The other node type has GPUs enough, and too few CPUs. Where a job was is forgotten when it is offered another place:
 * it starts anew. */
TEST(a_preempted_job_that_found_no_other_place_starts_anew)
{
    const struct restart_config restart = {.resume_ns = 5 * SIM_NS_PER_S};
    struct node_type_config other = {.name = "old", .nodes = 1, .gpus_per_node = 4, .gpu = "slow", .cpus_per_node = 1};
    struct job_record records[] = {jobrun_record(0, 0, 100, 2), jobrun_record(1, 10, 10, 2)};
    struct scheduler scheduler = scripted;
    SCOPED(jobrun) run = {0};
    records[0].cpu_milli = 8000;
    scheduler.decide = fickle_decide;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 2, .restart = &restart, .own_scheduler = &scheduler,
                                      .placement = "first-fit",
                                      .cluster = {.nodes = 1, .gpus_per_node = 4, .gpu = "fast", .cpus_per_node = 16,
                                                  .node_types = {1, &other}}},
                0);
    CHECK(run.jobs[0].preemptions == 1 && run.jobs[0].end_s == 105);
    CHECK(run.jobs[1].start_s == 10 && run.jobs[1].end_s == 20);
    CHECK_NEAR(jobrun_metric(&run, "job.gpus_in_use.max"), 4, 1e-12);
}

/* Starts the first job on the other node type, preempts it when the second one comes, and starts it again with the
 * third. */
static int pausing_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct scripted *own = state;
    const struct job_grant there = {.gpus = 4, .node_type = 1};
    (void)view;
    if (own->n == own->n_started) return 0;
    own->n_started = own->n;
    if (own->n == 2)
        job_plan_preempt(plan, own->jobs[0], "a break");
    else
        CHECK(job_plan_start_as(plan, own->jobs[0], &there, "on with it"));
    if (own->n > 1) CHECK(job_plan_start(plan, own->jobs[own->n - 1], "beside"));
    return 0;
}

/* Four GPUs are two nodes of the first type, and one of the other: it waits as a job of one node does. */
TEST(a_job_waits_by_the_nodes_of_its_own_type)
{
    const struct restart_config restart = {.resume_ns = 5 * SIM_NS_PER_S, .resume_multi_node_s = 50};
    struct node_type_config other = {.name = "large", .nodes = 1, .gpus_per_node = 4, .gpu = "b"};
    struct job_record records[] = {jobrun_record(0, 0, 100, 4), jobrun_record(1, 10, 5, 1), jobrun_record(2, 20, 5, 1)};
    struct scheduler scheduler = scripted;
    SCOPED(jobrun) run = {0};
    scheduler.decide = pausing_decide;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 3, .restart = &restart, .own_scheduler = &scheduler,
                                      .placement = "first-fit",
                                      .cluster = {.nodes = 3, .gpus_per_node = 2, .gpu = "a", .node_types = {1, &other}}},
                0);
    CHECK(run.jobs[0].preemptions == 1 && run.jobs[0].end_s == 20 + 5 + 90);
}

TEST(decisions_wait_for_the_end_of_a_round)
{
    struct job_record records[] = {jobrun_record(0, 0, 25, 1), jobrun_record(1, 1, 10, 1), jobrun_record(2, 60, 5, 1)};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 3, .round_ns = 60 * SIM_NS_PER_S, .scheduler = "fifo",
                                      .cluster = {.nodes = 1, .gpus_per_node = 1}},
                0);
    CHECK(run.jobs[0].start_s == 0 && run.jobs[0].end_s == 25);
    CHECK(run.jobs[1].start_s == 60);
    CHECK(run.jobs[2].start_s == 120);
}
