/* Ready jobs in line for the node types, by a key of the scheduler: each node type in turn starts the first ones that
 * it can run and that find room; those that do not are passed over. No preemption. Jobs without GPUs start when they
 * fit. A decision looks at all jobs in line, for each node type with free GPUs. */
#ifndef ORRERY_POLICIES_SCHEDULER_GRAPHS_LINE_H
#define ORRERY_POLICIES_SCHEDULER_GRAPHS_LINE_H

#include "policies/scheduler/cpu_jobs.h"
#include "sim/world/policy/scheduler.h"

/* The scheduler's state of a job, at the beginning of its slot. */
struct line_job {
    struct ranked ranked; /* of cpu_jobs */
    sim_ns ready_ns;      /* when it became ready */
    size_t at;            /* in `waiting` */
    bool is_keyed;
    double key;
};

struct line_place {
    const struct job_view *job;
    double key;
};

/* Zero-initialised. */
struct line {
    struct cpu_jobs cpu_jobs;
    struct line_place *waiting, *heap; /* [n]; [n_heap]: the least key first, then submission, id */
    size_t n, capacity, n_heap, heap_capacity;
    int code; /* SIM_E_NOMEM once a job could not be kept */
};

void line_fini(struct line *line);
void line_notify(struct line *line, const struct cluster_view *view, const struct job_note *note);

/* The least goes first. */
typedef double line_key(const void *scheduler, const struct cluster_view *view, const struct job_view *job);

/* `is_fixed`: a key is asked for once, at the first decision that looks at the job. Returns 0 or a negative code. */
int line_start(struct line *line, const struct cluster_view *view, struct job_plan *plan, line_key *key,
               const void *scheduler, bool is_fixed, const char *reason);

#endif
