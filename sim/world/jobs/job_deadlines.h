/* Deadlines of jobs: "jobs.deadlines". A deadline is the time of submission plus the run time on the requested GPUs
 * times a factor, drawn evenly (ElasticFlow, Gu et al., ASPLOS 2023, draws it from 0.5 to 1.5). A part of the jobs has
 * none. Draws come from the stream "jobs.deadlines", two per job under every policy. */
#ifndef ORRERY_WORLD_JOBS_JOB_DEADLINES_H
#define ORRERY_WORLD_JOBS_JOB_DEADLINES_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/rng.h"
#include "sim/world/rows/source.h"

struct deadlines_config {
    double least, most;      /* of the run time; both 0: jobs have no deadlines */
    double best_effort_frac; /* of the jobs, which have none */
};

extern const struct config_field deadlines_config_fields[];

/* Checks across fields. Returns 0 or SIM_E_CONFIG with a finding. */
int deadlines_check(const struct deadlines_config *config, struct diag *diag);

/* The deadline of this job; SIM_NS_MAX: none. */
sim_ns deadline_of(const struct deadlines_config *config, const struct job_record *record, struct rng *rng);

#endif
