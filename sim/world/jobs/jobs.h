/* The jobs of a run. They are read from a trace one at a time, wait, run on all their GPUs at once (gang), may be
 * preempted, and finish. A scheduler decides which jobs run, a placer decides where.
 *
 * Memory grows with the jobs in the system, not with the trace. A job that needs no GPU runs at once; one that could
 * never run is rejected. A preempted job keeps the work it has done. "restart" gives the time to start and to resume,
 * "types" the speed on each type of GPU.
 *
 * Not modelled: interference between jobs that share a GPU. */
#ifndef ORRERY_WORLD_JOBS_JOBS_H
#define ORRERY_WORLD_JOBS_JOBS_H

#include "sim/core/config/config.h"
#include "sim/core/engine.h"
#include "sim/core/err.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/jobs/job_types.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/site_env.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stdint.h>

/* Time for which a job holds its GPUs before it works. */
struct restart_config {
    sim_ns start_ns, resume_ns;
    double resume_multi_node_s; /* NAN: as resume_ns */
    double migrate_s;           /* NAN: as one that resumes */
};

enum yield_order { YIELD_LATEST_START, YIELD_LEAST_WORK };

/* What the network costs a job on several nodes, as a share of its speed. */
struct network_penalty {
    double nodes_frac, racks_frac; /* on several nodes of one rack, and on several racks */
};

/* The measure of fragmentation. */
struct fragmentation_config {
    bool measure;
    double cover_frac; /* it is measured by the most frequent kinds of jobs, up to this share of all jobs */
};

struct jobs_config {
    struct config_variant scheduler; /* its entry is a struct policy of family POLICY_SCHEDULER */
    struct config_variant placement; /* ... of family POLICY_PLACEMENT */
    struct config_variant trace;     /* its entry is a struct trace_format with open_jobs */
    struct config_variant profiles;  /* its entry is a struct job_profile_format; no entry: there are none */
    struct config_list types;        /* struct job_type */
    struct config_list all_types;    /* struct job_type: `types` with the profiles (job_types_load) */
    struct restart_config restart;
    struct estimates_config estimates;
    struct deadlines_config deadlines;
    double loss_noise;               /* standard deviation of losses measured at the beginning of a job */
    sim_ns round_ns;                 /* between decisions; 0: whenever something changes */
    bool preemptible;                /* jobs yield to services that want their GPUs */
    int yield;                       /* enum yield_order, among jobs of one priority */
    struct network_penalty network_penalty;
    struct fragmentation_config fragmentation;
};

extern const struct config_field jobs_config_fields[];

struct scheduler;

struct jobs_options {
    const struct scheduler *renting; /* replaces the scheduler; NULL: none does */
    const void *renting_params;
    double nic_bytes_per_s; /* each way; 0: no network between nodes */
    bool nic_per_node;      /* the GPUs of a node share one NIC; else each has its own */
    struct topology *topology; /* NULL: no links */
};

struct jobs; /* job.h */

/* Opens the trace and sets up scheduler and placer. Site, cluster and config must outlive the jobs. The site's diag
 * also gets the findings of the run. Jobs themselves have the owner ids from OWNER_ID_JOBS on. Returns 0 or a negative
 * code. */
int jobs_create(struct site_env *site, struct cluster *cluster, const struct jobs_config *config,
                const struct jobs_options *options, struct jobs **jobs);

/* Not before the engine's last run: its queue may still refer to jobs. */
void jobs_destroy(struct jobs *jobs);

/* Reads the first job and schedules its submission. Returns 0 or a negative code. */
int jobs_start(struct jobs *jobs);

/* Emits the rows of the jobs still in the system, warnings and metrics. Returns 0 or the sink's code. */
int jobs_finish(struct jobs *jobs);

/* Whether the site's power can count what jobs draw. Returns 0, or SIM_E_CONFIG with a finding: jobs are placed on no
 * nodes. */
int jobs_check_power(const struct jobs *jobs);

/* Its series are the jobs that wait for GPUs, and those that have them. */
extern const struct component jobs_component;

/* Whether the trace has ended and no job waits or runs. */
bool jobs_done(const struct jobs *jobs);

/* Jobs that wait for GPUs, and jobs that run on them. */
int64_t jobs_waiting(const struct jobs *jobs);
int64_t jobs_running(const struct jobs *jobs);

/* Jobs that wait for others to end. */
int64_t jobs_held(const struct jobs *jobs);

/* Jobs that keep their GPUs after their work; `text` names some, and for whom. */
int64_t jobs_kept(const struct jobs *jobs, char *text, size_t n_chars);

/* What to do about a deadlock of jobs that keep their GPUs. */
const char *jobs_kept_hint(const struct jobs *jobs);

/* Jobs that have run to their end. */
int64_t jobs_finished(const struct jobs *jobs);

/* Whether the scheduler may read estimates of run times; and whether all of them were exact, too. */
bool jobs_reads_estimates(const struct jobs *jobs);
bool jobs_has_exact_estimates(const struct jobs *jobs);

/* Whether the scheduler may move running jobs to other nodes, and a placer places jobs on nodes. */
bool jobs_may_migrate(const struct jobs *jobs);

/* The first type of "jobs.types" from number *at on that no job had; *at moves behind it. NULL: there is none, no job
 * was submitted, or the trace has not ended. The type "default" needs no job. */
const char *jobs_absent_type(const struct jobs *jobs, size_t *at);

/* Names of types that jobs had and "jobs.types" has not: a few of them. Returns their number. */
size_t jobs_unnamed_types(const struct jobs *jobs, const char *const **names);

/* Whether a power model prices some of the jobs so far: they train by a plan without a stated power. */
bool jobs_are_priced(const struct jobs *jobs);

/* After a run without progress: warns of the job that lost most work, if any did. */
void jobs_explain_stall(const struct jobs *jobs);

/* Position in the trace, for progress reports. */
struct source_place jobs_place(const struct jobs *jobs);

#endif
