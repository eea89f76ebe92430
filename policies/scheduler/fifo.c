/* First in, first out, strictly: jobs start in order of submission. While the first job of the queue does not fit, no
 * other job starts. */
#include "policies/declared.h"
#include "sim/world/policy/scheduler.h"

struct fifo_job {
    const struct job_view *behind;
};

struct fifo {
    const struct job_view *head, *tail;
};

static struct fifo_job *fifo_job_of(const struct job_view *job)
{
    return job_view_slot(job);
}

/* A preempted job goes before all jobs submitted after it. */
static void requeue(struct fifo *fifo, const struct job_view *job)
{
    const struct job_view *before = NULL, *behind = fifo->head;
    while (behind != NULL && behind->sequence < job->sequence) {
        before = behind;
        behind = fifo_job_of(behind)->behind;
    }
    fifo_job_of(job)->behind = behind;
    *(before != NULL ? &fifo_job_of(before)->behind : &fifo->head) = job;
    if (behind == NULL) fifo->tail = job;
}

static void append(struct fifo *fifo, const struct job_view *job)
{
    *(fifo->head != NULL ? &fifo_job_of(fifo->tail)->behind : &fifo->head) = job;
    fifo->tail = job;
}

static void fifo_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct fifo *fifo = state;
    if (note->event == JOB_EVENT_SUBMIT)
        append(fifo, note->job);
    else if (note->event == JOB_EVENT_PREEMPT)
        requeue(fifo, note->job);
    else if (note->event == JOB_EVENT_START)
        fifo->head = fifo_job_of(note->job)->behind;
}

static int fifo_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)view;
    const struct fifo *fifo = state;
    while (fifo->head != NULL && job_plan_start(plan, fifo->head, "head of the queue")) {
    }
    return 0;
}

const struct scheduler scheduler_fifo = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "fifo",
               .summary = "order of submission; the first job that does not fit stops all behind it",
               .source = "folklore; Tiresias (NSDI 2019) simulator, fifo",
               .state_bytes = sizeof(struct fifo)},
    .job_bytes = sizeof(struct fifo_job),
    .notify = fifo_notify,
    .decide = fifo_decide,
    .ignores_estimates = true,
};
