/* Kinds of jobs: what a scenario says of all jobs whose trace names that type, under "jobs.types". A type named "default" stands
 * for jobs of no type, or of one that the scenario does not name; without it they run on any GPU at speed 1, and twice as fast
 * on twice the GPUs. */
#ifndef ORRERY_WORLD_JOBS_JOB_TYPES_H
#define ORRERY_WORLD_JOBS_JOB_TYPES_H

#include "models/speedup.h"
#include "sim/core/config/config.h"
#include "sim/world/jobs/job_checkpoint.h"

/* An entry of "speeds". */
struct gpu_speed {
    const char *gpu; /* its key: type of the GPUs of a node type */
    double speed;
};

/* The law of a speedup as it is written down; speedup_config_get makes a model of it. */
struct speedup_config {
    int law; /* enum speedup_law */
    double parallel_frac, exponent;
    bool linear_below_one;
    struct config_list points; /* struct speedup_point */
};

/* What each GPU of a job draws, beside what it idles at with a process; and how the clock changes that (models/power.h). */
struct job_power_config {
    double mean_w;      /* in the mean, at the highest clock; NAN: not known */
    double clock_share; /* of its time, that waits for the SM clock */
    int priority;       /* 0: high, 1: low */
};

struct job_type {
    const char *name; /* its key */
    struct speedup_config speedup;
    struct config_list speeds; /* struct gpu_speed */
    bool preemptible;          /* where jobs are */
    int64_t priority;          /* those of lower priority yield first */
    struct checkpoint_config checkpoint;
    struct job_power_config power; /* all zero: nothing is said of it */
};

extern const struct config_field job_type_config_fields[];

/* The type of this name among `types` (struct job_type), else the default one; NULL when there is neither. */
const struct job_type *job_type_find(const struct config_list *types, const char *name);

/* Checks what no single field can say: a table has points, in order. Returns 0 or SIM_E_CONFIG with findings. */
int job_types_check(const struct config_list *types, const char *where, struct diag *diag);

struct speedup speedup_config_get(const struct speedup_config *config);

/* How fast such a job is that holds `gpus` GPUs of this type where it asked for `asked`: 1 on what it asked for; 0: it cannot run
 * there. `type` NULL: as said above; `gpu` NULL: any. */
double job_type_speed(const struct job_type *type, const char *gpu, double gpus, double asked);

#endif
