/* Jobs whose speed follows from a goodput profile: "goodput" of an entry of "jobs.types" (models/goodput.h). The speed
 * is the goodput relative to that of the run that the trace's run time describes: on the GPUs that the job requested,
 * with its own batch size. A job keeps this batch size, unless its scheduler adapts it (scheduler.adapts_batch).
 *
 * GPUs over which the batch cannot be split stay idle. Less than a GPU gives that part of the speed on one, and between
 * two numbers of GPUs the speed is interpolated. */
#ifndef ORRERY_WORLD_JOBS_JOB_GOODPUT_H
#define ORRERY_WORLD_JOBS_JOB_GOODPUT_H

#include "models/goodput.h"
#include "sim/core/config/config.h"
#include "sim/core/err.h"

#include <stdbool.h>
#include <stdint.h>

struct job;
struct jobs;

/* An entry of "profiles". */
struct gpu_profile {
    const char *gpu; /* its key: type of the GPUs of a node type */
    struct step_profile step;
};

struct goodput_config {
    struct goodput_batches batches; /* first 0: the scenario gives no profile */
    double batch;                   /* that its jobs ask for; NAN: the best for the GPUs that they request */
    const char *run_times_on;       /* GPU type of the trace's run times; NULL: the first profile */
    int64_t node_gpus;              /* GPUs of a node there; 0: as the cluster's own nodes */
    struct config_list profiles;    /* struct gpu_profile */
};

extern const struct config_field goodput_config_fields[];

static inline bool goodput_is_given(const struct goodput_config *config)
{
    return config->batches.first > 0;
}

/* Checks across fields. Returns 0 or SIM_E_CONFIG with findings; `where` is the path of the section. */
int goodput_config_check(const struct goodput_config *config, const char *where, struct diag *diag);

/* Where a job runs, or would run. */
struct goodput_place {
    const char *gpu;    /* type of the GPUs; NULL: the first profile */
    double gpus;
    int32_t nodes;      /* that they lie on */
    bool adapts;        /* the batch size is the best for these GPUs */
};

/* Goodput in samples per second; 0: the GPU type has no profile. */
double job_goodput(const struct goodput_config *config, const struct goodput_place *place);

/* Speed relative to the run that the trace's run time describes, for a job that requested `asked` GPUs on a cluster
 * with `node_gpus` GPUs per node (0: GPUs are only counted). */
double job_goodput_speed(const struct goodput_config *config, const struct goodput_place *place, int32_t asked,
                         int32_t node_gpus);

/* Speeds that schedulers ask for again and again: on the fewest nodes, by type, node type and GPUs.
 * Zero-initialised. */
struct goodput_cache {
    double *values;    /* 0: not computed yet; below 0: cannot run */
    double *asked;
    int32_t n_node_types;
};

enum { GOODPUT_CACHED_GPUS = 512 };

int goodput_cache_init(struct goodput_cache *cache, const struct jobs *jobs); /* 0 or SIM_E_NOMEM */
void goodput_cache_fini(struct goodput_cache *cache);

/* Speed of the job on `gpus` GPUs of a node type, on the fewest nodes; its type has a profile. */
double job_goodput_on(const struct job *job, int32_t node_type, double gpus);

/* Speed of a running job on the GPUs that it holds; its type has a profile. */
double job_goodput_held(const struct job *job);

#endif
