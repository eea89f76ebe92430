/* Jobs that keep their GPUs after their work, as a scheduler sees them: to it they have ended, and hold nothing. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define TRACE(jobs) "'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}"

enum { MOST_PENDING = 16 };

/* Starts jobs in the order of their submission, where there is room, and lets the others exchange GPUs. */
struct watcher {
    const struct job_view *pending[MOST_PENDING];
    int n_pending, n_running, n_ended;
};

static int n_ended; /* in all runs of a test */

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
    (void)view;
    for (int i = 0; i < watcher->n_pending;)
        if (!job_plan_start(plan, watcher->pending[i], "there is room")) i++;
    while (watcher->n_pending > 0 && job_plan_exchange(plan, true)) continue;
    return 0;
}

static const struct scheduler watcher = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                    .family = POLICY_SCHEDULER, .name = "watcher", .summary = "",
                                                    .source = "", .state_bytes = sizeof(struct watcher)},
                                         .uses_node_types = true,
                                         .notify = watch,
                                         .decide = start_what_fits};

/* Jobs find free GPUs after a while, or take those that are kept for them. */
TEST(to_a_scheduler_a_job_that_keeps_its_gpus_has_ended)
{
    static const char *const chains[] = {
        TRACE("{'duration': '5s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true}]}"),
        TRACE("{'duration': '5s', 'gpus': 2}, {'duration': '9s', 'gpus': 2}, {'duration': '1s', 'gpus': 2, 'after':"
              " [{'job': 0, 'keeps_gpus': true}]}, {'duration': '1s', 'gpus': 2, 'after': [{'job': 0, 'keeps_gpus': true}]}"),
        TRACE("{'duration': '5s', 'gpus': 4}, {'duration': '1s', 'gpus': 4, 'after': [{'job': 0, 'keeps_gpus': true}]},"
              " {'duration': '2s', 'gpus': 2, 'after': [{'job': 1}]}, {'duration': '2s', 'gpus': 2, 'after': [{'job': 2,"
              " 'keeps_gpus': true}]}")};
    static const int n_jobs[] = {2, 4, 4};
    for (int i = 0; i < 3; i++) {
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
