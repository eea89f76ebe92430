/* Smallest area first: of the jobs that fit, the one with the smallest GPUs x estimated run time starts first. A job
 * that has waited longer than `patience` goes before all others, and no other job starts before it.
 *
 * A policy keeps all its knowledge in its state and in its bytes of each job: here a list of the pending jobs by
 * area. */
#include "sim/world/policy/scheduler.h"

struct params {
    sim_ns patience_ns;
};

struct job {
    const struct job_view *view;
    struct job *next; /* pending, of the next larger area */
    double area;      /* GPU-nanoseconds by the user's estimate */
};

struct state {
    struct params params; /* first: without an init they are copied here */
    struct job *first;
};

#define ROW_OF struct params
static const struct config_field fields[] = {
    ROW_TIME("patience", patience_ns, DEFAULT("1d"), WITHIN(0, 1e9),
             "waiting time after which no other job overtakes a job"),
    {0}};
#undef ROW_OF

static void notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct job *job = job_view_slot(note->job), **link = &((struct state *)state)->first;
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) { /* inserted behind equals */
        *job = (struct job){.view = note->job, .area = (double)note->job->gpus * (double)note->job->estimate_ns};
        while (*link != NULL && (*link)->area <= job->area) link = &(*link)->next;
        job->next = *link;
        *link = job;
    } else if (note->event == JOB_EVENT_START) { /* removed */
        while (*link != job) link = &(*link)->next;
        *link = job->next;
    }
}

/* The first submitted job whose patience is over, or NULL. */
static const struct job_view *impatient(const struct state *state, sim_ns now_ns)
{
    const struct job_view *found = NULL;
    for (const struct job *job = state->first; job != NULL; job = job->next)
        if (now_ns - job->view->submit_ns > state->params.patience_ns &&
            (found == NULL || job->view->sequence < found->sequence))
            found = job->view;
    return found;
}

static int decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    for (const struct job_view *job; (job = impatient(state, view->now_ns)) != NULL;)
        if (!job_plan_start(plan, job, "patience is over")) return 0;
    for (struct job *job = ((struct state *)state)->first, *next; job != NULL && view->free_gpus > 0; job = next) {
        next = job->next; /* a job that starts leaves the list at once */
        if (job->view->gpus <= view->free_gpus) job_plan_start(plan, job->view, "smallest area that fits");
    }
    return 0;
}

static const struct scheduler smallest_area = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "smallest-area",
               .summary = "smallest GPUs x estimated time of the jobs that fit; one that waited too long goes first",
               .source = "an example", .params = fields, .params_bytes = sizeof(struct params),
               .state_bytes = sizeof(struct state)},
    .job_bytes = sizeof(struct job), .notify = notify, .decide = decide,
};

ORRERY_PLUGIN(&smallest_area.policy)
