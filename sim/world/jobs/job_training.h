/* Jobs that train an LLM: the section "training" of a job type says which, and how. The time of a step follows from the
 * model (models/training) for each type of GPU and each number of GPUs, and with it the speed of the job under every
 * scheduler. A job with a number of steps lasts as long as these take on the GPUs that it requested; other jobs keep
 * the run time of the trace.
 *
 * Tensor, pipeline and context parallelism stay as the plan says. Data parallelism follows the number of GPUs: of GPUs
 * that are no multiple of the others together, the rest idles. The batch stays, rounded up to whole micro-batches.
 * GPUs count as adjacent, on as few nodes as they fill. On a network, with a placer that gives nodes, the job's place
 * and the links decide in their stead (job_messages.c); elsewhere "network_penalty" acts on top. A job that does not
 * fit into the memory of a GPU cannot run there.
 *
 * Each step is priced once and remembered. */
#ifndef ORRERY_WORLD_JOBS_JOB_TRAINING_H
#define ORRERY_WORLD_JOBS_JOB_TRAINING_H

#include "models/training/phases.h"
#include "sim/catalog/training.h"
#include "sim/world/rows/source.h"

struct job;
struct job_messages;
struct job_type;
struct cluster;
struct jobs;
struct jobs_options;

/* Prices of all types that train. */
struct job_trainings;

/* *out is NULL if no type trains. Returns 0, SIM_E_CONFIG with findings, SIM_E_IO or SIM_E_NOMEM. */
int job_trainings_create(struct jobs *jobs, const struct jobs_options *options, struct job_trainings **out);
void job_trainings_destroy(struct job_trainings *trainings); /* NULL is allowed */

/* Speed of a job of a type that trains, on `gpus` GPUs of a node type: 1 on the `asked` GPUs of the first node type
 * that can run it so; 0: it cannot run there. */
double job_training_speed(const struct jobs *jobs, const struct job_type *type, int32_t node_type, double gpus,
                          double asked);

/* GPUs of one data rank; 1 for a type that trains no LLM, or NULL. */
int32_t job_training_rank_gpus(const struct job_type *type);

/* Parameters of the LLM that a type trains. */
double job_training_params(const struct jobs *jobs, const struct job_type *type);

/* Seconds of a step on the GPUs that a job asks for, of the first node type that can run it so; 0: none can. */
double job_training_asked_s(const struct jobs *jobs, const struct job_type *type, double asked);

/* Whether the sequences of its steps have unlike lengths, so that each step sends something else. */
bool job_training_is_uneven(const struct jobs *jobs, const struct job_type *type);

/* What the ranks of such a job send on `gpus` GPUs. *messages lasts as long as the jobs. Returns 1, 0 if it cannot run
 * so or its sequences have unlike lengths, or SIM_E_NOMEM. */
int job_training_messages(struct jobs *jobs, const struct job_type *type, int32_t node_type, double gpus,
                          struct job_messages **messages);

/* The phases of such a job's step on `gpus` GPUs of a node type, adjacent and in an idle network [TRAINING_PHASES],
 * and how many of the GPUs it uses. NULL: it cannot run so. */
const struct power_stage *job_training_phases(const struct jobs *jobs, const struct job_type *type, int32_t node_type,
                                              double gpus, int64_t *used);

/* Of a step on GPUs that are adjacent, in an idle network. */
struct job_training_facts {
    double memory_frac; /* of the usable memory of a GPU */
    double passes_s;    /* forward and backward passes of all micro-batches, until the optimizer may begin */
    double host_bytes, disk_bytes; /* that 'tiers' keep on each node, beyond its GPUs */
    double sequences;                 /* of a step, over all data ranks */
    double model_flop, hardware_flop; /* of all GPUs; hardware_flop with recomputation */
    double peak_flop_per_s;           /* of a GPU, in the format of computing */
};

/* NULL: the type trains no LLM, or cannot run so. */
const struct job_training_facts *job_training_facts(const struct jobs *jobs, const struct job_type *type,
                                                    int32_t node_type, double gpus);

/* Gives a record with steps, or of a type with steps, its run time on the GPUs that it requests; where none can run it
 * so, any. Returns 0, or SIM_E_CONFIG: it has steps, and its type does not train. */
int job_training_price(struct jobs *jobs, struct job_record *record);

/* Writes where and why the job cannot train on the GPUs that it asks for: "on 4 h100-sxm: ...", of the first node type
 * that it accepts and that has so many. False: it can, or its plan is not why. */
bool job_training_problem(const struct job *job, char *text, size_t bytes);

/* Counts the GPU time of a running job since it last got GPUs or their number changed; the steps that a job has done,
 * as it leaves or the run ends. */
void job_training_held(const struct job *job, sim_ns now);
void job_training_done(const struct job *job, sim_ns now);

/* The job is on its GPUs, or leaves them: counts those that keep states on the same nodes. */
void job_training_enters(const struct job *job);
void job_training_leaves(const struct job *job);

/* --- States beyond the GPU on the links of hosts: job_swaps.c --- */

/* Whether jobs of the type keep states beyond their GPUs. */
bool job_type_swaps(const struct job_type *type);

/* Whether those of the job are on links that the scenario describes. create returns 0 or SIM_E_NOMEM. */
int job_swaps_create(struct jobs *jobs);
void job_swaps_destroy(struct jobs *jobs);
bool job_has_swaps(const struct job *job);
bool job_swaps_follows(const struct cluster *cluster); /* of up to 64 GPUs; on others links are alone */
void job_swaps_warn(const struct jobs *jobs);          /* of links that jobs have alone, though stated */
bool job_swaps_optimizer(const struct job *job); /* its optimizer's states are among them */

/* What jobs of a node use without being slower for it: what the scenario does not describe, and CPUs. */
const char *job_swaps_alone_on(const struct jobs *jobs);

/* The job is on its GPUs, or leaves them: notes which these are. */
void job_swaps_enters(struct job *job);
void job_swaps_leaves(struct job *job);

/* The following functions are for jobs with an activity (job_activity.h). The job begins to work on its present GPUs,
 * or ceases to: begin does nothing for jobs that have begun, and returns 0 or SIM_E_NOMEM. Before end, its progress
 * has been moved to now. forget: after the run. */
int job_swaps_begin(struct job *job);
void job_swaps_end(struct job *job);
void job_swaps_forget(struct job *job);

/* Its messages have another share of the network. */
void job_swaps_respread(struct job *job, sim_ns now);

/* Its speed, relative to links of its own; the phases of its step (NULL: those on links of its own). */
double job_swaps_speed(const struct job *job);
const struct power_stage *job_swaps_phases(const struct job *job);

/* Emits job.offload_speed, if such jobs have run. Returns 0 or the sink's code. */
int job_swaps_emit(const struct jobs *jobs);

/* Emits job.mfu and job.hfu, if jobs have trained. Returns 0 or the sink's code. */
int job_trainings_emit(const struct jobs *jobs);

/* Warns of jobs that could not run as their plans say. Returns 0 or the sink's code. */
int job_trainings_warn(const struct jobs *jobs);

#endif
