/* The cluster as schedulers and placers see it, and what they may ask of its jobs. */
#ifndef ORRERY_WORLD_POLICY_CLUSTER_VIEW_H
#define ORRERY_WORLD_POLICY_CLUSTER_VIEW_H

#include "models/fragmentation.h"
#include "sim/core/change_log.h"
#include "sim/world/policy/job_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct rng;

/* A combination of resources that jobs of the run ask for. GPUs: `gpus` whole GPUs (gpu_milli 1000), or a share of one
 * (gpus 1, gpu_milli below 1000); gpus 0: CPU and memory only. CPU and memory are of the whole job. */
struct resource_request {
    int32_t gpus, nodes, gpu_milli;
    int64_t cpu_milli, memory_bytes;
    uint64_t gpu_models; /* bit set of acceptable node_view.gpu_model */
};

/* The part of a CPU or memory `amount` that goes with `gpus` of a job's `of` GPUs, rounded up. */
static inline int64_t resource_request_share(int64_t amount, int32_t gpus, int32_t of)
{
    return gpus >= of ? amount : amount / of * gpus + (amount % of * gpus + of - 1) / of;
}

/* What is left of one node, where a placer looks at nodes one by one. */
struct node_view {
    int32_t gpus, free_gpus;       /* all; wholly free */
    int32_t gpu_model;
    int32_t left_milli;            /* free, over all its GPUs, in 1/1000 of one */
    const int32_t *gpu_left_milli; /* [gpus]: free part of each; 1000: wholly free */
    int64_t cpu_milli, cpu_left_milli, memory_bytes, memory_left_bytes; /* INT64_MAX: not counted */
    const int32_t *jobs_by_gpus;   /* number of jobs with a share ([0]), with 1, 2 .. whole GPUs of this node */
    int32_t n_kinds;               /* non-zero entries of jobs_by_gpus */
    uint32_t changes;              /* number of allocations and releases so far */
};

/* The cluster as jobs may use it, without GPUs of services and those that jobs keep after their work. While a
 * scheduler decides, all members follow the plan being made. A site with further node types has a view of each, the
 * cluster's own nodes first. */
struct cluster_view {
    sim_ns now_ns;
    int64_t total_gpus, free_gpus; /* INT64_MAX: unlimited */
    int32_t n_nodes, gpus_per_node; /* n_nodes 0: GPUs are only counted */
    int32_t n_spare_nodes;          /* at least so many of the nodes are down, as spare ones, at any time */
    const int32_t *node_free_gpus;  /* [n_nodes]; NULL when GPUs are only counted */
    int64_t n_pending, n_running;   /* on all node types */
    const struct cluster *cluster;  /* for cluster_view_* below */
    double free_amount;             /* of GPUs: free_gpus plus the free part of a GPU held in part */
    const char *gpu;                /* type of the GPUs; NULL: the scenario does not say */
    uint64_t capacity_epoch;        /* changes when GPUs come or go other than by starts and ends of jobs */
    const struct cluster_view *next_type; /* of the site's next node type, or NULL */
    /* For placers that look at nodes one by one (struct placer, by_node), and on clusters whose nodes differ; else
     * NULL. */
    const struct node_view *nodes;               /* [n_nodes] */
    int32_t nodes_per_rack;                      /* neighbours under one switch; 0: all of them */
    int32_t nodes_per_pod;                       /* neighbours below the core of the network; 0: all of them */
    const struct resource_request *requests;     /* [n_requests]; more may come with every job */
    int32_t n_requests;
    /* [n_tasks]: the most frequent kinds of jobs, for a placer that wants_tasks; else NULL */
    const struct frag_task *tasks;
    int32_t n_tasks;
    struct rng *random;                   /* sim/core/rng.h: stream of the scheduler and the placer */
    /* [n_sizes], rising: GPU times of all jobs of the trace, for a scheduler that wants_sizes; else NULL */
    const double *sizes_gpu_s;
    size_t n_sizes;
    const struct change_log *changed_nodes; /* each time that `changes` of a node grows; NULL like `nodes` */
};

/* The lowest node >= `from` that has `low` to `high` free GPUs (1 <= low <= high <= gpus_per_node), or -1. */
int32_t cluster_view_next_node(const struct cluster_view *view, int32_t low, int32_t high, int32_t from);

/* Number of nodes with exactly `free_gpus` free GPUs. */
int32_t cluster_view_nodes_with(const struct cluster_view *view, int32_t free_gpus);

/* Time for which the job has held GPUs, over all its runs, up to now. */
sim_ns job_view_executed_ns(const struct cluster_view *view, const struct job_view *job);

/* Remaining run time by the user's estimate; 0 for a job that runs over its estimate. A job with regimes keeps its
 * present batch size. What a job reads before it works, or moves in a save that stalls it, takes the time of an idle
 * network. Saves over the network that have not begun do not count. */
sim_ns job_view_estimated_remaining_ns(const struct cluster_view *view, const struct job_view *job);

/* Oracle (ORACLE_DURATION): true remaining run time: of a running job at its present speed, of another job on the GPUs
 * it asked for. Waiting before it works counts; reads and saves over the network count as above. A call without the
 * declared oracle is a policy fault. */
sim_ns job_view_remaining_ns(const struct cluster_view *view, const struct job_view *job);

/* Oracle (ORACLE_DURATION): true remaining work, as run time on the GPUs it asked for. Waiting before it works does not
 * count. */
sim_ns job_view_remaining_work_ns(const struct cluster_view *view, const struct job_view *job);

/* Waiting before it works: what is left for a running job; of another job the wait of its next start. Reads over the
 * network count as above. */
sim_ns job_view_wait_ns(const struct cluster_view *view, const struct job_view *job);

/* Speed of the job on `gpus` GPUs of the node type of `view`: 1 on the GPUs it asked for; 0: it cannot run there. */
double job_view_speed_on(const struct cluster_view *view, const struct job_view *job, double gpus);

/* GPUs of one data rank of a job that trains by a plan: its tensor, pipeline and context ranks. Such a job uses whole
 * multiples of them, and the rest of its GPUs idles. 1 for other jobs. */
int32_t job_view_rank_gpus(const struct job_view *job);

/* Oracle (ORACLE_SPEEDS): speed of jobs[i] when the n jobs share the GPUs that each of them requested, on the node
 * type of `view`: 1 is that of the trace's run times; 0: they cannot share. */
double job_view_shared_speed(const struct cluster_view *view, const struct job_view *const *jobs, int32_t n, int32_t i);

/* CPUs and memory of a whole job. */
struct job_host {
    int64_t cpu_milli, memory_bytes;
};

/* What a running job holds of one node. */
struct job_part {
    int32_t node, gpus; /* node: of the job's node type */
    int64_t cpu_milli, memory_bytes;
    const void *place; /* for job_view_next_part; NULL: before the first */
};

/* The next node of a running job, in no particular order: for (struct job_part part = {0}; job_view_next_part(job,
 * &part);). Returns whether there is one; where GPUs are only counted there is none. The job keeps its nodes
 * meanwhile. */
bool job_view_next_part(const struct job_view *job, struct job_part *part);

/* Oracle (ORACLE_SPEEDS): speed of the job with these CPUs and this memory on the GPUs it asked for, relative to that
 * with what it asked for. 1 for jobs whose type does not say ("jobs.types.NAME.host"). */
double job_view_host_speed(const struct cluster_view *view, const struct job_view *job, const struct job_host *host);

/* Oracle (ORACLE_SPEEDS): the least CPUs and memory with which no more of them make the job faster; what it asked for
 * where its type does not say. Equal amounts for each GPU. */
struct job_host job_view_host_best(const struct cluster_view *view, const struct job_view *job);

/* Oracle (ORACLE_SPEEDS): what a job alone uses of each of its GPUs, and whether it yields to others on them. */
struct job_demand {
    double utilisation; /* share of the time, 0 .. 1; 0: not known */
    double memory_frac; /* share of the memory, 0 .. 1; 0: not known */
    bool is_opportunistic;
};

struct job_demand job_view_demand(const struct cluster_view *view, const struct job_view *job);

/* Whether the node type of `view`, if it were empty, has room for the job with the GPUs, CPUs and memory it asked for,
 * in the eyes of the placer. It does not change. The cost may grow with the number of nodes. */
bool job_view_possible_on(const struct cluster_view *view, const struct job_view *job);

enum { JOB_MODES = 16 };

/* Epochs of a job that may change its batch size as it trains. A mode is a batch size. */
struct job_epochs {
    double done_frac; /* done, of all epochs */
    int32_t mode;     /* of the present epoch */
    int32_t n_modes;  /* that the job ever has */
    struct {
        double speed;     /* epochs per time, relative to the batch size it begins with */
        double done_frac; /* done in this mode, of all epochs */
    } modes[JOB_MODES];
};

/* Of a trial: whether it has done a share of its work, and if it runs, when it will have at its present speed
 * (SIM_NS_MAX: it does not run). Trials report their epochs, so a share is known. */
bool job_view_has_done(const struct cluster_view *view, const struct job_view *job, double done_frac);
sim_ns job_view_reaches_ns(const struct cluster_view *view, const struct job_view *job, double done_frac);

/* The loss measured at a share of its work, lower is better. A share that it has not done is a policy fault. */
double job_view_loss(const struct cluster_view *view, const struct job_view *job, double done_frac);

/* Of a job whose type has no regimes, one mode. Its later regimes are not known. */
struct job_epochs job_view_epochs(const struct cluster_view *view, const struct job_view *job);

/* Steps per second with the present batch size, on the GPUs it asked for at speed 1. A job reports its steps, so they
 * are no oracle. 0: its type does not state them ("jobs.types.NAME.regimes"). */
double job_view_steps_per_s(const struct cluster_view *view, const struct job_view *job);

/* Where a job stands among those that come after one another, by estimated run times: means over the node types on
 * which a job can run. A path counts the delays between its jobs; needs that had ended before a job's submission are
 * not on it. */
struct job_path {
    sim_ns head_ns;    /* longest path up to the job, without it */
    sim_ns own_ns;     /* its own run time */
    sim_ns tail_ns;    /* longest path from the job on, with it */
    int32_t tail_jobs; /* most jobs on a path from the job on, with it */
};

struct job_path job_view_path(const struct cluster_view *view, const struct job_view *job);

/* The oldest job in the system, of which the given one is any; and the next one in order of submission, or NULL. Jobs
 * that wait for others are among them, which schedulers get to know otherwise only when they may start. */
const struct job_view *job_view_oldest(const struct cluster_view *view, const struct job_view *job);
const struct job_view *job_view_next(const struct cluster_view *view, const struct job_view *job);

/* A job that another one needs. */
struct job_edge {
    const struct job_view *from; /* NULL: it has ended */
    sim_ns delay_ns;             /* of its data, to other nodes than its first one */
    sim_ns ended_ns;             /* if it has ended */
    const struct cluster_view *on; /* if it has ended: the node type of its first node; NULL: it was on none */
};

/* The index-th need of a job, the latest named first. Returns whether there is one. */
bool job_view_need(const struct cluster_view *view, const struct job_view *job, int32_t index, struct job_edge *edge);

/* The plan of one placement. There is room for as many nodes as the job has GPUs or the cluster has nodes. Whole GPUs
 * are the lowest-numbered free GPUs of the node. */
struct placement {
    int32_t *nodes, *gpus; /* [capacity]: gpus[i] GPUs on node nodes[i] */
    int32_t n, capacity;
    int32_t gpu;           /* for a job that asks for a share of a GPU: the GPU on its node */
};

static inline void placement_add(struct placement *placement, int32_t node, int32_t gpus)
{
    int32_t i = placement->n++;
    if (i >= placement->capacity) return;
    placement->nodes[i] = node;
    placement->gpus[i] = gpus;
}

/* The scheduler's own state of the job (scheduler.job_bytes), zeroed at submission. */
void *job_view_slot(const struct job_view *job);

/* Fetches a job from memory that the scheduler will soon start: one that waited for long is in no cache. */
void job_view_prefetch(const struct job_view *job);

#endif
