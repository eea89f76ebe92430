/* The data that jobs send between nodes: "step" of an entry of "jobs.types". It states what each step computes and
 * exchanges (models/step_traffic.h). This is all that the network needs to know of a job, whatever computes it.
 *
 * While a job runs on several nodes, it holds a claim on the links for each edge of its exchange, from adapter to
 * adapter, up to the adapter's bandwidth. Its step takes as long as the claim with the smallest grant lets it, and is
 * timed anew whenever a grant changes. The run time in the trace is that on the fewest nodes, evenly spread, in an idle
 * network without oversubscription. The speed of the job is the ratio of both step times.
 *
 * A job claims its bandwidth all the time that it works: all jobs are taken to exchange data at the same moment. This
 * is the worst case for jobs that share links and exchange data for a part of the step only. With "sends" in-part of
 * the network they meet by chance instead (job_duty.c). Links count the bytes that the steps have moved, when the job
 * stops.
 *
 * All collectives of a step that leave a node have one pattern: rings, all-to-all or sends, among groups of one kind.
 * An all-to-all among more than STEP_PARTNERS + 1 nodes is represented by so many partners of each node, evenly spaced.
 *
 * With `stragglers` s, the job computes by gradient coding (models/gradient_code.h): each node computes s + 1 shares of
 * the data, and a step does without the s slowest nodes. On s nodes or fewer, s counts as one less than the nodes.
 * `code` is one of the two sequential codes, whose load is less. With them a step waits for each node that is slow for
 * long, as a failure makes it: their model of stragglers excludes it. For SR-SGC this is stricter than decoding, for
 * which n - s results suffice. With `delays`, nodes are late in single rounds: a chain of two states for each node,
 * late and not, as in the model of Gilbert and Elliott. A job of K steps has K rounds, and those of the code's delay.
 * They are drawn from the stream "jobs.delays" of the job, at most STEP_ROUNDS over all nodes, and all take the mean
 * of their computing. A job that starts again on as many nodes has the rounds that it had.
 *
 * Leaves out: PCIe links of the job's GPUs, other traffic of the job, and steps of different length. With codes also:
 * the rounds under way that a restart loses, and that nodes late and nodes slow for long share `stragglers`. */
#ifndef ORRERY_WORLD_JOBS_JOB_TRAFFIC_H
#define ORRERY_WORLD_JOBS_JOB_TRAFFIC_H

#include "models/step_traffic.h"
#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/units.h"

#include <stdbool.h>

enum { STEP_PARTNERS = 16, STEP_ROUNDS = 1000000 };

struct job;
struct jobs;
struct power_stage;
struct topology;

struct collective_config {
    int kind, group; /* enum step_collective_kind, enum step_group */
    double bytes, overlap_frac;
    int64_t nodes; /* of a group; 0: all nodes of the job */
};

/* Sequential gradient coding; absent: scheme 0. */
struct code_config {
    int scheme; /* enum gradient_scheme, less GRADIENT_GC */
    int64_t burst, window, different;
};

/* Nodes that answer late in some rounds; absent: late_frac 0. */
struct delays_config {
    double late_frac, late_rounds; /* of all rounds; mean length of a run of late rounds */
    double delay_s, base_s, patience;
};

struct step_config {
    double compute_s;
    int64_t stragglers; /* slow nodes that it does without, by gradient coding */
    struct code_config code;
    struct delays_config delays;
    struct config_list collectives; /* struct collective_config; n 0: the scenario describes no steps */
};

extern const struct config_field step_config_fields[];

/* Checks the types with steps against each other and the site. `topology` NULL: there are no links. Returns 0 or a
 * negative code with findings. */
int job_traffic_create(struct jobs *jobs, struct topology *topology);
void job_traffic_destroy(struct jobs *jobs);

/* Whether steps of the job are described, so that its speed on distant GPUs follows from the links. */
bool job_has_traffic(const struct job *job);

/* The following functions are for jobs with an activity (job_activity.h). */

/* Slow nodes that the job does without on its present GPUs: `stragglers` of its step, but not all its nodes. For jobs
 * with or without an activity. */
int32_t job_step_stragglers(const struct job *job);

/* The job begins to work, or ceases to exchange data, on its present GPUs. begin returns 0 or SIM_E_NOMEM. Before
 * end, its progress has been moved to now. */
int job_traffic_begin(struct job *job);
void job_traffic_end(struct job *job);

/* Speed of the job relative to an idle network; 1 without steps. */
double job_traffic_speed(const struct job *job);

/* Seconds of its step on the GPUs that it asks for, in an idle network; 0: it exchanges no data. */
double job_traffic_ideal_s(const struct job *job);

/* The phases of its step at present [TRAINING_PHASES]; NULL: none, or those on adjacent GPUs in an idle network. */
const struct power_stage *job_traffic_phases(const struct job *job);

/* Frees what a job has that is still in the system after the run. */
void job_traffic_forget(struct job *job);

/* Emits job.network_speed, if jobs have exchanged data. Returns 0 or the sink's code. */
int job_traffic_emit(const struct jobs *jobs);

#endif
