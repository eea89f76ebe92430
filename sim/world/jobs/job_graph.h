/* Jobs that come after others: a job is held until all that it needs, or enough of them, have ended, however they
 * ended. Only then do the scheduler and the cluster learn of it. A job with a rejected need is rejected.
 *
 * A need is a job of an earlier record, so there are no cycles. A need that is not in the system when a job is
 * submitted has ended before. Data comes from the first node of the need: on another node the job waits, with its GPUs,
 * until the need's end plus the delay.
 *
 * A need may keep its GPUs after its work, until the jobs that ask for that have started (blocking, without buffers:
 * Mascis and Pacciarelli, European J. Operational Research 143(3), 2002). To schedulers and watchers it runs on, with
 * no work left. Jobs that wait for one another's GPUs exchange them (job_plan_exchange), or wait forever (deadlock).
 *
 * Not modelled: the bytes of the data on links. */
#ifndef ORRERY_WORLD_JOBS_JOB_GRAPH_H
#define ORRERY_WORLD_JOBS_JOB_GRAPH_H

#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job;
struct jobs;
struct job_record;

/* One need of one job. */
struct job_link {
    struct job *from, *to;          /* from NULL: it has ended */
    struct job_link *next_need, *next_user; /* in lists of `to` and of `from` */
    sim_ns delay_ns;
    sim_ns ended_ns;                /* of one that has ended */
    int64_t node;                   /* of one that has ended: its first node, over all node types; -1: none */
    int32_t node_type;
    struct job *keeper;             /* the need, if it keeps its GPUs until `to` starts; else NULL */
    sim_ns head_ns;                 /* of one that has ended: longest path up to its end and the delay */
};

/* How jobs may take kept GPUs: what the scheduler asks for. */
enum jobs_exchange { JOBS_NEVER_EXCHANGE, JOBS_TAKE_OWN, JOBS_EXCHANGE };

/* A job's place among the others. */
struct job_place {
    struct job_link *needs, *users; /* users: of those that need it */
    int32_t n_keeps_for;            /* jobs until whose start it keeps its GPUs */
    bool is_kept;                   /* its work has ended, and it keeps its GPUs */
    sim_ns kept_ns;                 /* from here on, uncounted so far */
    struct job *heir, *reached_by;  /* in a search for a cycle: job_blocking.c */
    uint64_t searched_in;           /* number of the search that reached it last */
    int32_t n_awaited;              /* of its needs so many must still end; above 0: it is held */
    struct job *next_due;           /* in a list of jobs to be rejected, or whose paths are to be made longer */
    bool is_due;                    /* in the latter list */
    sim_ns head_ns, tail_ns;        /* as in struct job_path, once `is_fresh` */
    int32_t tail_jobs;
};

struct job_graph {
    bool is_used; /* some job of the run has needs; all jobs have places */
    bool is_asked; /* the scheduler asks for paths */
    bool is_fresh; /* the paths of all jobs are up to date */
    int64_t *rejected; /* [n_rejected] ids, until is_used */
    size_t n_rejected, rejected_capacity;
    struct key_map ids; /* jobs in the system and rejected ones, by id; kept while is_used */
    struct pool links, places;
    int64_t n_held;
    double held_s; /* time for which jobs were held, summed over those that were released */
    int64_t n_released;
    int64_t n_kept;    /* jobs that keep their GPUs */
    int64_t n_leaving; /* of these, they end at this moment */
    uint64_t n_searches;
    enum jobs_exchange exchanges;
    double kept_gpu_s; /* GPU time for which jobs kept their GPUs */
};

void job_graph_init(struct job_graph *graph);
void job_graph_fini(struct job_graph *graph);

/* The job of a record that has needs, or of any record once the graph `is_used`, enters the system and gets a place.
 * Returns 0 or SIM_E_NOMEM. */
int job_graph_enter(struct job *job, const struct job_record *record);

/* Whether a need of the job was rejected. Only while it enters. */
bool job_graph_is_void(const struct jobs *jobs, const struct job_record *record);

/* A job with a place has ended: those that waited for it alone are admitted (jobs_admit). Returns 0 or a negative
 * code. */
int job_graph_end(struct job *job, sim_ns now);

/* The job is rejected and leaves: those that need it, and those that need these, are rejected (jobs_reject_held).
 * Returns 0 or a negative code. */
int job_graph_reject(struct job *job, sim_ns now);

/* A job with a place leaves the system. */
void job_graph_leave(struct job *job);

/* A job with a place starts: jobs that kept their GPUs for it alone end at this moment. */
void job_graph_start(struct job *job);

/* --- Jobs that keep their GPUs, of jobs with a place: job_blocking.c --- */

/* The work of the job has ended. Whether it keeps its GPUs now: it does not end yet. To the scheduler it has. */
bool job_keeps(struct job *job, sim_ns now);

/* Counts the time for which it has kept them. Once, when it keeps them no more or the simulation ends. */
void job_count_kept(struct job *job, sim_ns now);

/* The run of the job ends: it counts, and keeps its GPUs no more. */
void job_keeps_no_more(struct job *job, sim_ns now);

/* After each decision: whether only kept GPUs could let other jobs start, or nothing but the scheduler's own looks is
 * to come, and it has looked often enough. `wakes`: it asks to be woken. */
bool jobs_are_stuck(struct jobs *jobs, bool wakes);

/* `to` of the link has started or left. */
void job_let_go(struct job_link *link);

/* The wait of a job with a place that starts on its GPUs: until its data has come. */
sim_ns job_graph_wait_ns(const struct job *job, sim_ns now);

#endif
