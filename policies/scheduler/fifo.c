/* First in, first out, strictly: jobs start in the order of their submission, and while the first of the queue does not
 * fit, nobody behind it starts. */
#include "policies/registry.h"

struct fifo_job {
    const struct job_view *behind;
};

struct fifo {
    const struct job_view *head, *tail;
};

static struct fifo_job *slot_of(const struct job_view *job)
{
    return job_view_slot(job);
}

/* A job that lost its GPUs is older than all that have never had any: its place is near the head. */
static void put_back(struct fifo *fifo, const struct job_view *job)
{
    const struct job_view **place = &fifo->head;
    while (*place != NULL && (*place)->sequence < job->sequence) place = &slot_of(*place)->behind;
    slot_of(job)->behind = *place;
    if (*place == NULL) fifo->tail = job;
    *place = job;
}

static void fifo_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct fifo *fifo = state;
    if (note->event == JOB_EVENT_SUBMIT) {
        *(fifo->head == NULL ? &fifo->head : &slot_of(fifo->tail)->behind) = note->job;
        fifo->tail = note->job;
    } else if (note->event == JOB_EVENT_START) {
        fifo->head = slot_of(note->job)->behind;
    } else if (note->event == JOB_EVENT_PREEMPT) {
        put_back(fifo, note->job);
    }
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
    .policy = {.abi = POLICY_ABI,
               .size = sizeof(struct scheduler),
               .family = POLICY_SCHEDULER,
               .name = "fifo",
               .summary = "in the order of submission; the first that does not fit stops all behind it",
               .source = "folklore; Tiresias (NSDI 2019) simulator, fifo",
               .state_bytes = sizeof(struct fifo)},
    .job_bytes = sizeof(struct fifo_job),
    .notify = fifo_notify,
    .decide = fifo_decide,
};
