/* Jobs that share the same GPUs: "sharing" of an entry of "jobs.types", and the groups of running jobs.
 *
 * A group of n jobs that requested equally many GPUs runs on as many; each job counts as holding an nth of them. Three
 * sources give the speed of a job in a group. "pairs" has measured speeds beside jobs of another type. "phases" has the
 * parts of an iteration that use different resources (models/interleaving.h). "utilisation" is the share of a GPU's
 * time that a job uses alone: jobs lose speed only where these add up to more than 1. Opportunistic jobs get what
 * others leave. When a job leaves, the others share what
 * it held. GPUs of a group are only counted: no placer puts them on nodes. */
#ifndef ORRERY_WORLD_JOBS_JOB_SHARING_H
#define ORRERY_WORLD_JOBS_JOB_SHARING_H

#include "models/interleaving.h"
#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/units.h"
#include "sim/world/policy/cluster_view.h"

#include <stdint.h>

struct job;
struct job_type;

struct sharing_config {
    struct config_list pairs;  /* struct pair_config */
    struct config_list phases; /* double: seconds on each resource; 2 .. INTERLEAVING_MOST of them */
    double utilisation;        /* NAN or 0: not known */
    double memory_frac;
    bool opportunistic;
};

extern const struct config_field sharing_config_fields[];

/* Checks across fields. Returns 0 or SIM_E_CONFIG with findings; `where` is the path of the section. */
int sharing_config_check(const struct sharing_config *config, const char *where, struct diag *diag);

/* Speed of the first of n jobs of these types that share GPUs of type `gpu` (NULL: any): 1 is the speed of the trace's
 * run times; 0: they cannot share. */
double job_type_shared_speed(const struct job_type *const *types, int32_t n, const char *gpu);

struct job_demand sharing_demand(const struct sharing_config *config);

/* Speed of a job in its group. */
double job_shared_speed(const struct job *job);

/* Makes a group of these n jobs, which then start. */
void job_group_make(struct job *const *jobs, int32_t n, int64_t ugpus);

/* Gives a running job of a group another number of GPUs. There is room for them. */
void job_group_hold(struct job *job, sim_ns now, int64_t ugpus);

/* Takes a job that has stopped out of its group, and gives its GPUs to the others. */
void job_group_leave(struct job *job, sim_ns now);

#endif
