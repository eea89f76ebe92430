/* The cluster as schedulers and placers see it, and what they may ask of its jobs. */
#ifndef ORRERY_WORLD_POLICY_CLUSTER_VIEW_H
#define ORRERY_WORLD_POLICY_CLUSTER_VIEW_H

#include "models/fragmentation.h"
#include "sim/world/policy/job_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct rng;

/* What jobs ask for, one entry per combination that a run has seen. GPUs are `gpus` whole ones (gpu_milli 1000), or one share of
 * one (gpus 1); with gpus 0 the job needs CPU and memory only. CPU and memory are of the whole job. */
struct job_demand {
    int32_t gpus, nodes, gpu_milli;
    int64_t cpu_milli, memory_bytes;
    uint64_t gpu_models; /* bits of node_view.gpu_model that will do */
};

/* The part of CPU or memory that goes with so many GPUs of a job, rounded up. */
static inline int64_t job_demand_share(int64_t amount, int32_t gpus, int32_t of)
{
    return gpus >= of ? amount : amount / of * gpus + (amount % of * gpus + of - 1) / of;
}

/* What is left of one node, where a placer looks at nodes one by one. */
struct node_view {
    int32_t gpus, free_gpus;       /* that it has; of these, that nobody holds a part of */
    int32_t gpu_model;
    int32_t left_milli;            /* of all its GPUs, in 1/1000 of one */
    const int32_t *gpu_left_milli; /* [gpus], of each: 1000 when it is free */
    int64_t cpu_milli, cpu_left_milli, memory_bytes, memory_left_bytes; /* INT64_MAX: not counted */
    const int32_t *jobs_by_gpus;   /* jobs here with a share ([0]), with 1, 2 .. whole GPUs of this node */
    int32_t n_kinds;               /* how many of these are not zero */
    uint32_t changes;              /* counts what was taken or given back here */
};

/* The cluster as jobs may use it, without what services hold. While a scheduler decides, everything here follows the
 * actions of the plan being made. A site with further node types has a view of each, the cluster's own nodes first. */
struct cluster_view {
    sim_ns now_ns;
    int64_t total_gpus, free_gpus; /* INT64_MAX: unlimited */
    int32_t n_nodes, gpus_per_node; /* n_nodes 0: GPUs are only counted */
    const int32_t *node_free_gpus;  /* [n_nodes]; NULL when GPUs are only counted */
    int64_t n_pending, n_running;   /* on all node types */
    const struct cluster *cluster;  /* for cluster_view_* below */
    double free_amount;             /* of GPUs: free_gpus and what is left of one that is held in part */
    const char *gpu;                /* type of the GPUs; NULL: the scenario does not say */
    uint64_t capacity_epoch;        /* changes when GPUs came or went by something else than jobs' starts and ends */
    const struct cluster_view *next_type; /* of the site's next node type, or NULL */
    /* For placers that look at nodes one by one (struct placer, by_node), and on clusters whose nodes differ; else NULL. */
    const struct node_view *nodes;        /* [n_nodes] */
    int32_t nodes_per_rack;               /* neighbours under one switch; 0: all of them */
    const struct job_demand *demands;     /* [n_demands]; more may come with every job */
    int32_t n_demands;
    const struct frag_task *tasks;        /* [n_tasks] the most popular kinds of jobs, for those who want them; else NULL */
    int32_t n_tasks;
    struct rng *random;                   /* sim/core/rng.h: stream of the scheduler and the placer */
    const double *sizes_gpu_s;            /* [n_sizes] of all jobs of the trace, rising, for schedulers that want them; else NULL */
    size_t n_sizes;
};

/* The lowest node >= `from` that has `low` to `high` free GPUs (1 <= low <= high <= gpus_per_node), or -1. */
int32_t cluster_view_next_node(const struct cluster_view *view, int32_t low, int32_t high, int32_t from);

/* The number of nodes with exactly so many free GPUs. */
int32_t cluster_view_nodes_with(const struct cluster_view *view, int32_t free_gpus);

/* Time that the job has held GPUs so far, preempted stretches included, up to now. */
sim_ns job_view_executed_ns(const struct cluster_view *view, const struct job_view *job);

/* Run time left by the user's estimate, never negative: a job that runs over its estimate is taken to end now. */
sim_ns job_view_estimated_remaining_ns(const struct cluster_view *view, const struct job_view *job);

/* Oracle (ORACLE_DURATION): true run time left: of a running job as it runs now, of another one on what it asked for; what it
 * waits before it works counts. Asking without having declared it is a policy fault. */
sim_ns job_view_remaining_ns(const struct cluster_view *view, const struct job_view *job);

/* How fast the job would be with so many GPUs of the node type that `view` shows: 1 on what it asked for; 0: it cannot run there. */
double job_view_speed_on(const struct cluster_view *view, const struct job_view *job, double gpus);

/* The scheduler's own bytes for this job (struct scheduler, job_bytes), zeroed when the job is submitted. */
void *job_view_slot(const struct job_view *job);

#endif
