/* Jobs on their GPUs. Their rows come when they leave, so the lanes are given out at the end, in the order in which the jobs
 * came. Only the timeline*.c files include this. */
#ifndef ORRERY_STORE_TIMELINE_JOBS_H
#define ORRERY_STORE_TIMELINE_JOBS_H

#include "sim/core/output.h"
#include "sim/store/timeline_event.h"
#include "sim/world/rows/sink.h"

struct timeline_job {
    struct span span;
    int64_t job, node, gpus;
};

struct timeline_jobs {
    size_t n, capacity;
    struct timeline_job *jobs;
};

int timeline_jobs_add(struct timeline_jobs *jobs, const struct placement_row *row); /* 0 or SIM_E_NOMEM */
void timeline_jobs_fini(struct timeline_jobs *jobs);

/* Writes a slice for each job and GPU; on no node in particular, one for each job. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int timeline_jobs_write(struct timeline_jobs *jobs, struct output *output, struct diag *diag);

#endif
