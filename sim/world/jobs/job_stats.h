/* Counts of jobs, and the rows and metrics made of them. */
#ifndef ORRERY_WORLD_JOBS_JOB_STATS_H
#define ORRERY_WORLD_JOBS_JOB_STATS_H

#include "sim/core/err.h"
#include "sim/core/tally.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/sink.h"
#include "sim/world/rows/source.h"

#include <stddef.h>
#include <stdint.h>

struct job;
struct jobs;

/* Ended jobs by type and by number of GPUs. */
enum { JOB_SIZE_CLASSES = 4, JOB_TYPES_MAX = 32 };

/* Distributions without jobs have no memory allocated. */
struct job_type_stats {
    const char *name; /* text of the source */
    struct distribution jct_s, queue_s;
};

struct job_classes {
    struct distribution size_queue_s[JOB_SIZE_CLASSES];
    size_t n_types; /* the first JOB_TYPES_MAX of the trace */
    struct job_type_stats types[JOB_TYPES_MAX];
};

/* Jobs in the system, but for CPU jobs, and GPUs that are idle while one of them waits. O(1) per event. */
struct active_jobs {
    sim_ns last_ns;
    tally_int128 job_ns;                     /* integral of the jobs in the system, up to last_ns */
    tally_int128 used_ugpu_ns, idle_ugpu_ns; /* of the GPUs in use; of those free while a job waits */
};

/* Brings the integrals to `now`. Called before jobs come, start, stop or go. */
void active_jobs_move(struct jobs *jobs, sim_ns now);

/* GPU time of jobs, and that part of it which a metric is about. */
struct gpu_time_share {
    double gpu_s, share_gpu_s;
};

/* Counts `gpus` GPUs from *since_ns, which becomes `now`; share_frac: of this time, in the metric. */
void gpu_time_share_count(struct gpu_time_share *of, sim_ns *since_ns, sim_ns now, double gpus, double share_frac);

/* Emits the part as a metric, unless there was no GPU time. Returns 0 or the sink's code. */
int gpu_time_share_emit(const struct gpu_time_share *of, const struct sink *sink, const char *metric);

enum job_quantity { JOB_JCT, JOB_QUEUE, JOB_WAIT, JOB_SLOWDOWN, JOB_BOUNDED_SLOWDOWN, JOB_FAIRNESS, JOB_ENERGY, JOB_QUANTITIES };

/* What a job may ask for that its placement does not look at. */
enum unread_request { UNREAD_MODELS, UNREAD_SHARE, UNREAD_NODES, UNREAD_REQUESTS };

struct job_stats {
    const struct sink *sink;
    int row_code;        /* of the first live row that failed; 0: none did */
    sim_ns warmup_ns;
    int64_t n_estimated; /* submitted jobs whose estimate is not their run time */
    int64_t n_short_estimates; /* of these, jobs whose run time is over twice the estimate */
    int64_t n_submitted, n_ended, n_rejected, n_preemptions;
    int64_t n_cancelled, n_failed; /* of n_ended */
    int64_t n_widened;             /* jobs with more GPUs than asked for, and a speed in proportion that nobody chose */
    int64_t n_in_vain[UNREAD_REQUESTS], first_in_vain[UNREAD_REQUESTS]; /* jobs that ask in vain, and the first's id */
    int64_t n_stopped;             /* of n_ended: by the scheduler */
    double stopped_gpu_s;          /* GPU time of these */
    double least_loss;             /* of trials that reached their end; NAN: there are none */
    int64_t n_deadlines, n_met;    /* jobs with a deadline; those that ended by it */
    sim_ns first_submit_ns, last_finish_ns, first_reject_ns;
    int64_t first_rejected;        /* its id */
    char first_obstacle[DIAG_TEXT_CHARS - 60]; /* what it asks for, and why that can never be */
    struct level ugpus_in_use; /* by jobs */
    double lost_gpu_s;         /* of repeated work */
    int64_t n_intervals;            /* jobs whose policy chose an interval between saves last */
    double interval_s;              /* sum of these */
    double wait_gpu_s, stall_gpu_s; /* before jobs worked; while they saved their state */
    double move_gpu_s;              /* on the GPUs to which jobs moved, before they continued */
    int64_t n_migrations;
    double status_gpu_s[JOB_FAILS + 1]; /* GPU time of cancelled and failed jobs, by status in the trace */
    tally_int128 useful_gpu_ns; /* work done, in time on the GPUs asked for */
    struct distribution distributions[JOB_QUANTITIES];
    struct job_classes classes;
};

int job_stats_init(struct job_stats *stats, const struct sink *sink, sim_ns warmup_ns); /* 0 or SIM_E_NOMEM */
void job_stats_fini(struct job_stats *stats);

/* What happened to a job. job_stats_finish and job_stats_reject emit its row; they return 0 or a negative code. */
void job_stats_submit(struct job_stats *stats, const struct job *job);
void job_stats_hold(struct job_stats *stats, sim_ns now, int64_t ugpus); /* below 0: it releases them */
void job_stats_idle(struct job_stats *stats, struct job *job); /* after job_progress_move, before its GPUs change */
void job_stats_widen(struct job_stats *stats, struct job *job); /* has more GPUs than it asked for, the first time */
int job_stats_finish(struct job_stats *stats, const struct job *job, sim_ns now);
int job_stats_reject(struct job_stats *stats, const struct job *job, const char *obstacle, sim_ns now);

/* Writes what the job asks for, what the site has, and what to do: "asks for 16 GPUs, and the site has 8; ...". An
 * obstacle other than job_never_fits stands as it is. */
void job_obstacle_text(const struct job *job, const char *obstacle, char *text, size_t bytes);

/* Emits the row of a job that is still in the system. */
int job_stats_unfinished(struct job_stats *stats, const struct job *job, sim_ns now);

/* Emits warnings and metrics at the end of the run. */
int job_stats_emit(const struct job_stats *stats, const struct jobs *jobs, sim_ns now);

#endif
