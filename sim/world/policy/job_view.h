/* A job as schedulers, placers, renters and checkpointers see it. */
#ifndef ORRERY_WORLD_POLICY_JOB_VIEW_H
#define ORRERY_WORLD_POLICY_JOB_VIEW_H

#include "sim/core/units.h"

#include <stdint.h>

enum job_state { JOB_PENDING, JOB_RUNNING, JOB_FINISHED, JOB_REJECTED };

/* A job that must be placed: it asked for GPUs, or for CPU or memory where nodes count them. Schedulers see no others,
 * and no rejected ones. */
struct job_view {
    int64_t id;
    int64_t sequence;   /* order in which the scheduler gets to know jobs: that of submission, but for held jobs */
    sim_ns submit_ns;
    sim_ns estimate_ns; /* run time that the user stated, at the batch size that the job begins with */
    int32_t gpus;       /* asked for; 0: only CPU and memory of a node */
    int32_t nodes;      /* asked for; 0: free choice */
    enum job_state state;
    int32_t preemptions;
    const char *type;   /* name of its type in the trace; "": none */
    double held_gpus;   /* while it runs; a whole number where a placer places */
    double speed;       /* while it runs, once it works: 1 on the GPUs it asked for */
    int32_t node_type;  /* while it runs: 0: the cluster's own nodes, then as in node_types */
    int32_t request;    /* index into cluster_view.requests, if that is not NULL */
    sim_ns deadline_ns; /* SIM_NS_MAX: none */
    const char *group;  /* virtual cluster or partition in the trace; "": none */
};

#endif
