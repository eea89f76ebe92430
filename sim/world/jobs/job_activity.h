/* What the type of a job describes beyond its speed: saves and reads that are flows (job_saver.h), data that it sends
 * between nodes (job_traffic.h) or reads from storage (job_reader.h), and the power of the phases of its training
 * plan. Saves, traffic, data and power begin when the job works, after it has moved, waited and read.
 *
 * Only jobs of such types have an activity. Most runs have none, and pay for none. */
#ifndef ORRERY_WORLD_JOBS_JOB_ACTIVITY_H
#define ORRERY_WORLD_JOBS_JOB_ACTIVITY_H

#include "sim/core/engine.h"
#include "sim/world/cluster/holder.h"
#include "sim/world/jobs/job_reader.h"
#include "sim/world/jobs/job_saver.h"
#include "sim/world/jobs/job_traffic.h"

#include <stdbool.h>

struct job;

/* The rounds of a job with nodes that are late (job_step.c): drawn once for each number of its nodes in a row. */
struct job_rounds {
    int32_t nodes, steps; /* nodes 0: not drawn yet */
    double sum_s;         /* computing of so many steps, with the rounds of the code's delay */
};

struct job_activity {
    struct job *job;
    struct owner save, works;    /* save: of the saver, over all runs; works: the end of a wait */
    struct owner read;           /* of the reader, over all runs */
    struct job_saver *saver;     /* its saves and reads while it runs, if they are flows; else NULL */
    int64_t unread_bytes;        /* when it last stopped, of what it was to read before it works */
    struct job_rounds rounds;    /* that it drew last */
    struct job_traffic *traffic; /* what it exchanges while it runs; NULL: nothing */
    struct job_swaps *swaps;     /* states beyond its GPUs, on links while it works; NULL: none */
    struct job_reader *reader;   /* the data that it reads while it works; NULL: none */
    double ahead_bytes;          /* when it last stopped, of data read ahead: a job that continues has them */
    bool draws_by_plan;          /* else its power is that of its type */
    struct holder_draw draw;
    struct power_stage stages[HOLDER_STAGES]; /* behind draw.stages */
};

/* The job, which enters the system, gets an activity if its type describes one. Returns 0 or SIM_E_NOMEM. */
int job_activity_create(struct job *job);

/* The job leaves the system. It has none afterwards. */
void job_activity_destroy(struct job *job);

/* --- While it runs: of jobs with an activity --- */

/* Its saver begins, unless it has. A job that `starts` first reads what it loads, or its state. One that continues
 * reads what it had not read when it stopped. */
void job_activity_begin_saver(struct job *job, sim_ns now, bool starts);

/* Its traffic and its data begin, or will when its wait is over. */
void job_activity_begin_traffic(struct job *job, sim_ns now);

/* The speed of the running job may have changed, and its progress has been moved to now. */
void job_activity_paced(struct job *job, sim_ns now);

/* The GPUs of the running job have changed, and it does not work for `idle_ns`. */
void job_activity_resized(struct job *job, sim_ns now, sim_ns idle_ns);

/* Its run ends. Its progress has been moved to now. forget: after the simulated time, frees only. */
void job_activity_end(struct job *job);
void job_activity_forget(struct job *job);

/* The job's plan has other phases than before, or runs on other GPUs, or its wait or stall has ended or changed.
 * is_running: watchers know of its GPUs already. Does nothing for jobs whose power does not follow from a plan. */
void job_activity_redraw(struct job *job, sim_ns now, bool is_running);

/* Whether a running job still moves, waits or reads its state. job_begins_work: its end is at this moment, or the next
 * stall of a save, or the end of one. */
bool job_waits(const struct job *job, sim_ns now);
void job_begins_work(struct job *job, sim_ns now);

#endif
