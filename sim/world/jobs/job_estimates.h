/* What users state of the run times of their jobs, where the trace is not to be believed: the true run time times a factor.
 *
 *     traced      what the trace says
 *     exact       1
 *     lognormal   of median 1, half below and half above the truth; sigma: standard deviation of its logarithm
 *     uniform     from 1 to `most`: users ask for more than they need, so that they are not cut off
 *
 * Factors are drawn from the stream "jobs.estimates", one per job whatever its policy. */
#ifndef ORRERY_WORLD_JOBS_JOB_ESTIMATES_H
#define ORRERY_WORLD_JOBS_JOB_ESTIMATES_H

#include "sim/core/config/config.h"
#include "sim/core/rng.h"
#include "sim/world/rows/source.h"

enum estimate_law { ESTIMATE_TRACED, ESTIMATE_EXACT, ESTIMATE_LOGNORMAL, ESTIMATE_UNIFORM };

struct estimates_config {
    int law;
    double sigma, most;
};

extern const struct config_field estimates_config_fields[];

/* The factor at this quantile, 0 < u < 1, of a law that has one; 1 of the others. */
double estimate_factor(const struct estimates_config *config, double u);

/* What is stated of this job. */
sim_ns estimate_of(const struct estimates_config *config, const struct job_record *record, struct rng *rng);

#endif
