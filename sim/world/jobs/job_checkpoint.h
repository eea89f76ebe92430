/* How jobs of a type save their state: "checkpoint" of an entry of "jobs.types". What a save costs follows from the GPUs that the
 * job holds (models/checkpoint.h); how often it is taken, a policy of the family checkpointing says, at every start and change
 * of the job's GPUs. */
#ifndef ORRERY_WORLD_JOBS_JOB_CHECKPOINT_H
#define ORRERY_WORLD_JOBS_JOB_CHECKPOINT_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/world/jobs/job_progress.h"

#include <stdbool.h>

struct job;
struct jobs;

struct checkpoint_config {
    struct config_variant policy; /* its entry is a struct policy of family POLICY_CHECKPOINTING; NULL: none */
    int design;                   /* enum checkpoint_design */
    double bytes, params, bytes_per_param;
    double write_bytes_per_s, node_write_bytes_per_s, gpu_copy_bytes_per_s, gpu_buffer_bytes;
    double overlap_s;
    int preempt_keeps; /* enum checkpoint_keeps */
};

/* Of the work of a job that its scheduler preempts. */
enum checkpoint_keeps { CHECKPOINT_KEEPS_ALL, CHECKPOINT_KEEPS_SAVED };

extern const struct config_field checkpoint_config_fields[];

/* Checks the types, and makes the states of their policies. Returns 0 or a negative code. */
int job_checkpoints_create(struct jobs *jobs);
void job_checkpoints_destroy(struct jobs *jobs);

/* How a job saves that runs on what it holds now. A policy's fault fails the engine. */
struct job_saves job_checkpoint_saves(const struct job *job);

/* Whether a policy has it save its state; and for how long a save takes, from its begin until it counts, on what the job holds. */
bool job_checkpoint_is_taken(const struct job *job);
sim_ns job_checkpoint_save_ns(const struct job *job);

/* Whether it falls back to what it has saved when it is preempted. */
bool job_checkpoint_falls_back(const struct job *job);

#endif
