/* Jobs that keep their GPUs after their work, as a scheduler sees them: to it they have ended, and hold nothing. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define TRACE(jobs) "'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}"

enum { MOST_PENDING = 16 };

/* Starts jobs in the order of their submission, where there is room, and lets the others exchange GPUs. */
struct watcher {
    const struct job_view *pending[MOST_PENDING];
    int n_pending, n_running;
    bool has_changed; /* without a decision so far */
    sim_ns changed_ns;
};

static int n_ended;               /* in all runs of a test */
static int64_t total_gpus_at[64]; /* at whole seconds, at the latest decision of that moment */

static void remove_from(struct watcher *watcher, const struct job_view *job)
{
    int n = 0;
    for (int i = 0; i < watcher->n_pending; i++)
        if (watcher->pending[i] != job) watcher->pending[n++] = watcher->pending[i];
    watcher->n_pending = n;
}

static void check_ended(const struct watcher *watcher, const struct cluster_view *view, const struct job_view *job)
{
    CHECK_EQ_INT(job->state, JOB_FINISHED);
    CHECK(!(job->held_gpus > 0) && !(job->held_gpus < 0));
    CHECK(!(job->speed > 0) && !(job->speed < 0));
    CHECK_EQ_INT(view->n_running, watcher->n_running);
    n_ended++;
}

static void watch(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct watcher *watcher = state;
    CHECK(!watcher->has_changed || watcher->changed_ns == view->now_ns);
    watcher->has_changed = true;
    watcher->changed_ns = view->now_ns;
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT)
        watcher->pending[watcher->n_pending++] = note->job;
    if (note->event == JOB_EVENT_START) remove_from(watcher, note->job);
    watcher->n_running += note->event == JOB_EVENT_START;
    watcher->n_running -= note->event == JOB_EVENT_PREEMPT || note->event == JOB_EVENT_FINISH;
    if (note->event == JOB_EVENT_FINISH) check_ended(watcher, view, note->job);
}

static int start_what_fits(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct watcher *watcher = state;
    CHECK(!watcher->has_changed || watcher->changed_ns == view->now_ns);
    const double now_s = sim_s_from_ns(view->now_ns);
    if (now_s < 64) total_gpus_at[(int)now_s] = view->total_gpus;
    for (int i = 0; i < watcher->n_pending;)
        if (!job_plan_start(plan, watcher->pending[i], "there is room")) i++;
    while (watcher->n_pending > 0 && job_plan_exchange(plan, true)) continue;
    watcher->has_changed = false;
    return 0;
}

static const struct scheduler watcher = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                    .family = POLICY_SCHEDULER, .name = "watcher", .summary = "",
                                                    .source = "", .state_bytes = sizeof(struct watcher)},
                                         .uses_node_types = true,
                                         .notify = watch,
                                         .decide = start_what_fits};

/* Jobs find free GPUs after a while, or take those that are kept for them. A decision follows each end at once. */
TEST(to_a_scheduler_a_job_that_keeps_its_gpus_has_ended)
{
    static const char *const chains[] = {
        TRACE("{'duration': '5s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true}]}"),
        TRACE(
            "{'duration': '5s', 'gpus': 2}, {'duration': '9s', 'gpus': 2}, {'duration': '1s', 'gpus': 2, 'after':"
            " [{'job': 0, 'keeps_gpus': true}]}, {'duration': '1s', 'gpus': 2, 'after': [{'job': 0, 'keeps_gpus': true}]}"),
        TRACE(
            "{'duration': '5s', 'gpus': 4}, {'duration': '1s', 'gpus': 4, 'after': [{'job': 0, 'keeps_gpus': true}]},"
            " {'duration': '2s', 'gpus': 2, 'after': [{'job': 1}]}, {'duration': '2s', 'gpus': 2, 'after': [{'job': 2,"
            " 'keeps_gpus': true}]}"),
        TRACE("{'duration': '5s'}, {'duration': '9s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true},"
              " {'job': 1}]}")};
    static const int n_jobs[] = {2, 4, 4, 3};
    for (int i = 0; i < 4; i++) {
        n_ended = 0;
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .policy = &watcher.policy),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'scheduler': 'watcher', %s}}",
            chains[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(n_ended, n_jobs[i]);
        for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
    }
}

#define TWO_KINDS(p100s, t4s)                                                                                               \
    "{'cluster': {'nodes': 1, 'gpus_per_node': " #p100s ", 'gpu': 'p100', 'node_types': {'b': {'nodes': 1,"            \
    " 'gpus_per_node': " #t4s ", 'gpu': 't4'}}}, 'jobs': {'scheduler': {'policy': 'dispatch', 'swap': true}, 'types': {" \
    "'p': {'speeds': {'t4': 0}}, 't': {'speeds': {'p100': 0}}, 'any': {'speeds': {'p100': 1, 't4': 1}}}, "

/* Job 2 runs on the P100 alone, which is kept for job 3; for job 2 the T4 is kept. Job 3 could have either: it leaves
 * the older job the P100 that it would otherwise take itself. */
TEST(who_could_take_its_own_exchanges_with_an_older_job)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        TWO_KINDS(1, 1) TRACE(
            "{'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 't'}, {'duration': '4s', 'type': 'p', 'after':"
            " [{'job': 1, 'keeps_gpus': true}]}, {'duration': '3s', 'type': 'any', 'after': [{'job': 0, 'keeps_gpus':"
            " true}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 5, 1e-9);
    CHECK_NEAR(bed_job(rows, 3)->start_s, 5, 1e-9);
    CHECK_NEAR(bed_job(rows, 2)->end_s, 9, 1e-9);
    CHECK_NEAR(bed_job(rows, 3)->end_s, 8, 1e-9);
    CHECK(isnan(bed_metric(rows, "job.kept_gpu_s.sum")));
}

/* Two P100s are kept for job 4, which goes on to the T4 that is kept for job 3. Job 3 takes one of them. */
TEST(gpus_of_two_keepers_are_for_one_job)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        TWO_KINDS(2, 1) TRACE(
            "{'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 't'},"
            " {'duration': '4s', 'type': 'p', 'after': [{'job': 2, 'keeps_gpus': true}]}, {'duration': '3s', 'type': 't',"
            " 'after': [{'job': 0, 'keeps_gpus': true}, {'job': 1, 'keeps_gpus': true}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 3)->end_s, 9, 1e-9);
    CHECK_NEAR(bed_job(rows, 4)->end_s, 8, 1e-9);
    for (int i = 0; i < 3; i++) CHECK_NEAR(bed_job(rows, i)->end_s, 5, 1e-9);
}

/* Jobs 5 and 6 wait for one another, but job 6 asks for two T4s. At 9 s a P100 is free for job 5, and then both T4s. */
TEST(who_finds_no_cycle_waits)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        TWO_KINDS(3, 2) TRACE(
            "{'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 't'},"
            " {'duration': '9s', 'type': 'p'}, {'duration': '8s', 'type': 't'},"
            " {'duration': '4s', 'type': 'p', 'after': [{'job': 2, 'keeps_gpus': true}]}, {'duration': '3s', 'type': 't',"
            " 'gpus': 2, 'after': [{'job': 0, 'keeps_gpus': true}, {'job': 1, 'keeps_gpus': true}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 5)->start_s, 9, 1e-9);
    CHECK_NEAR(bed_job(rows, 6)->start_s, 9, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 3 * 4, 1e-9);
}

/* --- Decisions without a job that runs --- */

/* Asks to be woken every second, and starts a job only after a time. */
struct sleeper {
    const struct job_view *pending;
    sim_ns known_ns;
};

static int patience_s; /* of all runs of a test */

static void sleeper_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct sleeper *sleeper = state;
    if (note->event == JOB_EVENT_SUBMIT) *sleeper = (struct sleeper){note->job, view->now_ns};
    if (note->event == JOB_EVENT_START) sleeper->pending = NULL;
}

static int start_late(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct sleeper *sleeper = state;
    if (sleeper->pending == NULL) return 0;
    if (view->now_ns - sleeper->known_ns < patience_s * SIM_NS_PER_S)
        job_plan_wake_at(plan, view->now_ns + SIM_NS_PER_S);
    else
        job_plan_start(plan, sleeper->pending, "it has waited");
    return 0;
}

static const struct scheduler sleeper = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                    .family = POLICY_SCHEDULER, .name = "sleeper", .summary = "",
                                                    .source = "", .state_bytes = sizeof(struct sleeper)},
                                         .notify = sleeper_notify,
                                         .decide = start_late};

/* Three jobs in a chain, of which each keeps its GPU until the next one starts. */
static struct bed_rows *run_sleeper(int patience)
{
    patience_s = patience;
    return bed_run(BED(.check = true, .quiet = true, .policy = &sleeper.policy),
                   "{'cluster': {'nodes': 1, 'gpus_per_node': 2}, 'jobs': {'scheduler': 'sleeper', %s}}",
                   TRACE("{'duration': '5s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true}]},"
                         " {'duration': '3s', 'after': [{'job': 1, 'keeps_gpus': true}]}"));
}

/* A deadlock is 1,000 decisions in a row that let GPUs be kept and start nothing. A job that runs ends the row: two
 * rows of 600 are no deadlock, and one of 1,100 is. */
TEST(a_job_that_runs_begins_the_count_of_idle_decisions_anew)
{
    const struct bed_rows *rows = run_sleeper(600);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, 3);
    CHECK_NEAR(rows->end_s, 3 * 600 + 5 + 4 + 3, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 2 * 600, 1e-9);
    const struct bed_rows *stuck = run_sleeper(1100);
    CHECK_EQ_INT(stuck->code, SIM_E_STALLED);
}

/* Job 0 keeps a GPU from 5 s until job 2 has one of the two, which job 1 leaves at 9 s. A scheduler sees one GPU
 * meanwhile, and then both again. */
TEST(kept_gpus_are_gone_to_a_scheduler_until_they_are_let_go)
{
    static const int64_t expected[][2] = {{0, 2}, {5, 1}, {7, 1}, {9, 2}, {20, 2}};
    memset(total_gpus_at, 0, sizeof total_gpus_at);
    const struct bed_rows *rows = bed_ok(
        BED(.check = true, .policy = &watcher.policy),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 2}, 'jobs': {'scheduler': 'watcher', " TRACE(
            "{'duration': '5s', 'gpus': 1}, {'duration': '9s', 'gpus': 1}, {'duration': '1s', 'gpus': 1, 'after':"
            " [{'job': 0, 'keeps_gpus': true}, {'job': 1}]}, {'submit': '7s', 'duration': '1s', 'gpus': 2},"
            " {'submit': '20s', 'duration': '1s', 'gpus': 2}") "}}");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        CHECK_EQ_INT(total_gpus_at[expected[i][0]], expected[i][1]);
    CHECK_NEAR(bed_job(rows, 4)->start_s, 20, 0);
}
