/* Types of jobs: "jobs.types" describes all jobs whose trace names that type. A type "default" describes jobs without a
 * type, or with one that the scenario does not name. Without it they run on any GPU at speed 1, and twice as fast on
 * twice the GPUs. */
#ifndef ORRERY_WORLD_JOBS_JOB_TYPES_H
#define ORRERY_WORLD_JOBS_JOB_TYPES_H

#include "models/speedup.h"
#include "sim/catalog/training.h"
#include "sim/core/config/config.h"
#include "sim/core/rng.h"
#include "sim/world/cluster/host_needs.h"
#include "sim/world/jobs/job_checkpoint.h"
#include "sim/world/jobs/job_goodput.h"
#include "sim/world/jobs/job_reader.h"
#include "sim/world/jobs/job_sharing.h"
#include "sim/world/jobs/job_traffic.h"
#include "sim/world/policy/cluster_view.h"
#include "sim/world/rows/site_env.h"
#include "sim/world/rows/source.h"

/* A speedup model as the scenario writes it; speedup_config_get makes the model. */
struct speedup_config {
    int law; /* enum speedup_law */
    double parallel_frac, exponent;
    bool linear_below_one;
    struct config_list points; /* struct speedup_point */
};

/* The power that each GPU of a job draws, and how the clock changes it (models/power.h). */
struct job_power_config {
    double mean_w;      /* mean at the highest clock; NAN: not known */
    double clock_share; /* share of its time that scales with the SM clock */
    int priority;       /* 0: high, 1: low */
};

struct job_type {
    const char *name; /* its key */
    struct speedup_config speedup;
    struct config_list speeds; /* struct gpu_speed, by type of the GPUs of a node type */
    bool preemptible;          /* if jobs.preemptible */
    int64_t priority;          /* jobs of lower priority yield first */
    struct checkpoint_config checkpoint;
    struct load_config load;   /* all zero: its jobs read nothing before they work */
    struct data_config data;   /* all zero: its jobs read no data while they work */
    struct job_power_config power; /* all zero: the scenario gives none */
    struct training_job_config training; /* plan.llm NULL: none */
    struct goodput_config goodput; /* all zero: the scenario gives none */
    struct sharing_config sharing;
    struct config_list regimes;    /* struct job_regime */
    struct step_config step;       /* all zero: the scenario describes no steps */
    struct host_needs host;        /* all zero: CPUs and memory do not change its speed */
};

extern const struct config_field job_type_config_fields[];

/* Sets *all to `types` (struct job_type), followed by the types of `profiles`. Of a type that both have, the lists of
 * `types` replace those of the profile: speeds, pairs, phases and regimes, each as a whole. Reads the file of the
 * profiles. Returns 0 or a negative code with a finding. */
int job_types_load(const struct config_list *types, const struct config_variant *profiles,
                   const struct config_families *families, struct arena *arena, struct config_list *all,
                   struct diag *diag);

/* The type of this name among `types` (struct job_type), else the default type; NULL if there is neither. */
const struct job_type *job_type_find(const struct config_list *types, const char *name);

/* Which types of "jobs.types" jobs have had, and a few names of jobs that are not among these: one more than are shown,
 * so that more are noticed. */
enum { JOB_TYPES_UNNAMED = 9 };

struct trace_format;
struct cluster;

enum { JOB_TYPES_GPUS = 64 }; /* node types whose GPUs are told apart */

struct job_types_seen {
    bool *has_occurred; /* [types] */
    uint64_t *unstated; /* [all types + 1], the last of jobs without one: node types where speed 1 was a default */
    size_t n_unnamed;
    const char *unnamed[JOB_TYPES_UNNAMED]; /* interned by the source */
};

/* Returns 0 or SIM_E_NOMEM. job_types_seen_fini may follow either. */
int job_types_seen_init(struct job_types_seen *seen, const struct config_list *types, const struct config_list *all);
void job_types_seen_fini(struct job_types_seen *seen);

/* Takes note of a job of this type (NULL or "": it has none). */
void job_types_see(struct job_types_seen *seen, const struct config_list *types, const char *name);

/* Takes note that a job of this type (NULL: without one) runs on GPUs of a node type. */
void job_types_see_gpu(struct job_types_seen *seen, const struct config_list *all, const struct job_type *type,
                       const struct cluster *cluster);

/* Emits a warning if jobs of a type ran on GPUs of several types without a stated speed: one of them may be that of
 * the trace's run times, the others are not. Returns 0 or the sink's code. */
int job_types_warn(const struct job_types_seen *seen, const struct config_list *all, const struct site_env *site,
                   const struct cluster *cluster);

/* The speed on this GPU; of a MIG slice that is not named, that of its GPU. NULL: neither is named. */
const struct gpu_speed *gpu_speed_find(const struct config_list *speeds, const char *gpu);

/* Checks that "speeds" name GPUs: of the site or else of the catalog, as scenarios share types of jobs. Returns 0, or
 * a negative code with findings. */
int job_types_check_gpus(const struct config_list *types, const struct site_env *site, const struct cluster *cluster);

/* Checks across fields: a table has points, in order. Returns 0 or SIM_E_CONFIG with findings. */
int job_types_check(const struct config_list *types, const char *where, struct diag *diag);

struct speedup speedup_config_get(const struct speedup_config *config);

/* Whether its jobs are k times as fast on k times the GPUs; `type` NULL: a job without a type. */
bool job_type_is_linear(const struct job_type *type);

/* Run time of a job on the GPUs it requested, if it is `first_ns` at the batch size that it begins with. */
sim_ns job_type_run_ns(const struct job_type *type, sim_ns first_ns);

/* The same for a record of a trace, in seconds. */
double job_record_run_s(const struct config_list *types, const struct job_record *record);

/* Speed of a job on `gpus` GPUs of type `gpu` if it requested `asked`: 1 on what it requested; 0: it cannot run there.
 * `type` NULL: a job without a type, as above; `gpu` NULL: any. */
double job_type_speed(const struct job_type *type, const char *gpu, double gpus, double asked);

/* Run times that users state for their jobs, instead of the trace's estimates: the true run time times a factor.
 *
 *     traced      the trace's estimate
 *     exact       1
 *     lognormal   median 1; sigma: standard deviation of its logarithm
 *     uniform     from 1 to `most`: users request more than they need so that their jobs are not cut off
 *
 * Factors are drawn from the stream "jobs.estimates", one per job under every policy. */
enum estimate_law { ESTIMATE_TRACED, ESTIMATE_EXACT, ESTIMATE_LOGNORMAL, ESTIMATE_UNIFORM };

struct estimates_config {
    int law;
    double sigma, most;
};

extern const struct config_field estimates_config_fields[];

/* The factor at quantile u, 0 < u < 1; 1 for "traced" and "exact". */
double estimate_factor(const struct estimates_config *config, double u);

/* The run time stated for this job. */
sim_ns estimate_of(const struct estimates_config *config, const struct job_record *record, struct rng *rng);

/* Deadlines of jobs: "jobs.deadlines". A deadline is the time of submission plus the run time on the requested GPUs
 * times a factor, drawn evenly (ElasticFlow, Gu et al., ASPLOS 2023, draws it from 0.5 to 1.5). A part of the jobs has
 * none. Draws come from the stream "jobs.deadlines", two per job under every policy. */
struct deadlines_config {
    double least, most;      /* of the run time; both 0: jobs have no deadlines */
    double best_effort_frac; /* of the jobs, which have none */
};

extern const struct config_field deadlines_config_fields[];

/* Checks across fields. Returns 0 or SIM_E_CONFIG with a finding. */
int deadlines_check(const struct deadlines_config *config, struct diag *diag);

/* The deadline of this job; SIM_NS_MAX: none. */
sim_ns deadline_of(const struct deadlines_config *config, const struct job_record *record, struct rng *rng);

/* Whether a trace of the format may have jobs of the type, by its parameters: its name is then no slip. */
bool job_type_may_occur(const struct trace_format *format, const char *name);

/* Jobs that change their batch size as they train: the regimes of a job type, one behind the other. A regime is a part
 * of a job's epochs and its speed, relative to the batch size that the job begins with. The trace's run time is that
 * of all epochs with that batch size:
 *
 *     run time = run time in the trace x sum of (epochs / speed) / sum of epochs
 *
 * Whoever trains the model changes the batch size, such as Accordion or the gradient noise scale, not the
 * scheduler. */
extern const struct config_field job_regime_fields[];

/* Checks that the regimes (struct job_regime) have at most JOB_MODES different speeds. Returns 0 or SIM_E_CONFIG. */
int job_regimes_check(const struct config_list *regimes, const char *where, struct diag *diag);

/* The run time of a job whose run time at the first batch size is `first_ns`; without regimes the same. */
sim_ns job_regimes_run_ns(const struct config_list *regimes, sim_ns first_ns);

/* The epochs of a job that has done the share `work_frac` of its run time. */
struct job_epochs job_regimes_epochs(const struct config_list *regimes, double work_frac);

/* Steps per second of such a job with its present batch size, at speed 1; 0: the regimes do not state it. */
double job_regimes_steps_per_s(const struct config_list *regimes, double work_frac);

#endif
