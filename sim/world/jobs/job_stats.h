/* What is counted about jobs, and the rows and metrics made of it. */
#ifndef ORRERY_WORLD_JOBS_JOB_STATS_H
#define ORRERY_WORLD_JOBS_JOB_STATS_H

#include "sim/core/tally.h"
#include "sim/world/jobs/job_classes.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/sink.h"
#include "sim/world/rows/source.h"

#include <stdint.h>

struct job;
struct jobs;

enum job_quantity { JOB_JCT, JOB_QUEUE, JOB_SLOWDOWN, JOB_BOUNDED_SLOWDOWN, JOB_FAIRNESS, JOB_ENERGY, JOB_QUANTITIES };

struct job_stats {
    const struct sink *sink;
    sim_ns warmup_ns;
    int64_t n_submitted, n_finished, n_rejected, n_preemptions;
    int64_t n_cancelled, n_failed; /* of those finished */
    sim_ns first_submit_ns, last_finish_ns, first_reject_ns;
    struct level ugpus_in_use; /* by jobs */
    double lost_gpu_s;         /* of work that jobs had to do again */
    double wait_gpu_s, stall_gpu_s; /* before they worked; while they saved their state */
    double move_gpu_s;              /* on the GPUs to which they moved, before they went on there */
    int64_t n_migrations;
    double fate_gpu_s[JOB_FAILS + 1]; /* GPU time of finished jobs, by what became of them */
    tally_int128 useful_gpu_ns; /* work done, in time on the GPUs asked for */
    struct distribution distributions[JOB_QUANTITIES];
    struct job_classes classes;
};

int job_stats_init(struct job_stats *stats, const struct sink *sink, sim_ns warmup_ns); /* 0 or SIM_E_NOMEM */
void job_stats_fini(struct job_stats *stats);

/* What happened to a job. job_stats_finish and job_stats_reject emit its row; they return 0 or a negative code. */
void job_stats_submit(struct job_stats *stats, const struct job *job);
void job_stats_hold(struct job_stats *stats, sim_ns now, int64_t ugpus); /* takes GPUs, or below 0 frees them */
void job_stats_idle(struct job_stats *stats, struct job *job); /* its progress has just been moved, what it holds not changed */
int job_stats_finish(struct job_stats *stats, const struct job *job, sim_ns now);
int job_stats_reject(struct job_stats *stats, const struct job *job, sim_ns now);

/* The row of a job that is still in the system. */
int job_stats_unfinished(struct job_stats *stats, const struct job *job, sim_ns now);

/* Emits warnings and metrics at the end of the run. */
int job_stats_emit(const struct job_stats *stats, const struct jobs *jobs, sim_ns now);

#endif
