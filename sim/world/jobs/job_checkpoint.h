/* How jobs of a type save their state, and what they read first: "checkpoint" and "load" of an entry of "jobs.types".
 * The cost of a save follows from the GPUs that the job holds (models/checkpoint.h). A checkpointing policy sets the
 * interval at every start and every change of the GPUs. */
#ifndef ORRERY_WORLD_JOBS_JOB_CHECKPOINT_H
#define ORRERY_WORLD_JOBS_JOB_CHECKPOINT_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/world/jobs/job_progress.h"

#include <stdbool.h>

struct job;
struct jobs;
struct topology;

struct checkpoint_config {
    struct config_variant policy; /* its entry is a struct policy of family POLICY_CHECKPOINTING; NULL: none */
    int design;                   /* enum checkpoint_design */
    double bytes, params, bytes_per_param;
    double write_bytes_per_s, node_write_bytes_per_s, gpu_copy_bytes_per_s, gpu_buffer_bytes;
    double overlap_s;
    int preempt_keeps; /* enum checkpoint_keeps */
    const char *to;    /* where saves are flows; NULL: they take their bandwidths alone */
};

/* Work that a job keeps when its scheduler preempts it. */
enum checkpoint_keeps { CHECKPOINT_KEEPS_ALL, CHECKPOINT_KEEPS_SAVED };

extern const struct config_field checkpoint_config_fields[];

/* What each job of a type reads before it works, such as the weights of an LLM (job_saver.h). */
struct load_config {
    double bytes;
    const char *from; /* storage behind the network; NULL: it reads nothing */
};

extern const struct config_field load_config_fields[];

/* Checks the types and creates the states of their policies. Returns 0 or a negative code. */
int job_checkpoints_create(struct jobs *jobs);
void job_checkpoints_destroy(struct jobs *jobs);

/* Checks `checkpoint.to`, `load.from` and `data.from` of all types. Returns 0 or SIM_E_CONFIG with findings. */
int job_savers_check(const struct jobs *jobs, struct topology *topology);

/* How the job saves its state on its present GPUs. A fault of the policy fails the engine. */
struct job_saves job_checkpoint_saves(struct job *job);

/* Bytes of the whole state; and, of a job whose saves are flows, the work between two of them, 0: none. */
double job_checkpoint_bytes(const struct job *job);
sim_ns job_checkpoint_interval_ns(struct job *job);

/* Time of a step that hides its writes: as stated, else that of its plan on the GPUs that it holds, or asks for. */
double job_checkpoint_overlap_s(const struct job *job);

/* Whether a policy makes the job save its state; and how long a save takes on its present GPUs, from its start until it
 * counts. */
bool job_checkpoint_is_taken(const struct job *job);
sim_ns job_checkpoint_save_ns(const struct job *job);

/* The job falls back to its saved work. Warns, after the run, of jobs that lost all because their policy asks for no
 * saves; returns 0 or the sink's code. */
void job_checkpoint_lost(struct job *job);
int job_checkpoints_warn(const struct jobs *jobs);

/* Whether the job's type says that a preemption keeps saved work only. Without saves that is none. */
bool job_checkpoint_keeps_saved(const struct job *job);

/* Whether a job that is preempted now falls back to its saved work. At speed 0 it cannot save. */
bool job_checkpoint_falls_back(const struct job *job);

#endif
