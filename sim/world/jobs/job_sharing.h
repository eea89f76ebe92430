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
struct job_stats;
struct job_type;
struct jobs;

struct sharing_config {
    struct config_list pairs;  /* struct pair_config */
    struct config_list phases; /* double: seconds on each resource; 2 .. INTERLEAVING_MOST of them */
    double utilisation;        /* NAN or 0: not known */
    double memory_frac;        /* NAN: that of its plan, else 0 */
    bool opportunistic;
};

extern const struct config_field sharing_config_fields[];

/* Checks across fields. Returns 0 or SIM_E_CONFIG with findings; `where` is the path of the section. */
int sharing_config_check(const struct sharing_config *config, const char *where, struct diag *diag);

/* Warns of a scheduler that shares GPUs where jobs of some type could, but the placement gives each its own, and of
 * settings that have no effect where jobs are on no nodes. */
void job_sharing_check(const struct jobs *jobs);

/* Notes what the job of the present record asks for that its placement does not look at: models of GPUs, a share of
 * one, a number of nodes. After the run, warns of each. Returns 0 or the sink's code. */
void job_requests_note(struct job_stats *stats, const struct job *job);
int job_requests_warn(const struct job_stats *stats);

/* Speed of the first of n jobs that share the GPUs that each of them asked for, of this node type: 1 is the speed of
 * the trace's run times; 0: they cannot share. */
double job_group_speed(const struct job *const *jobs, int32_t n, int32_t node_type);

/* What a job alone uses of each GPU of this node type. */
struct job_demand job_sharing_demand(const struct job *job, int32_t node_type);

/* Speed of a job in its group. */
double job_shared_speed(const struct job *job);

/* Makes a group of these n jobs, which then start. */
void job_group_make(struct job *const *jobs, int32_t n, int64_t ugpus);

/* Gives a running job of a group another number of GPUs. There is room for them. */
void job_group_hold(struct job *job, sim_ns now, int64_t ugpus);

/* Takes a job that has stopped out of its group, and gives its GPUs to the others. */
void job_group_leave(struct job *job, sim_ns now);

#endif
