/* What is left of a job that changes its batch size, from the batch sizes seen so far (Shockwave, Zheng et al., NSDI
 * 2023, section 5). The shares of a job's epochs in its M modes have a Dirichlet distribution with an even prior that
 * weighs as much as all epochs. Of the shares d[k] that are done in mode k, and d in all:
 *
 *     r[k] = max(0, (1/M + d[k]) / (1 + d) - d[k])
 *     remaining = (1 - d) x sum of r[k] x (run time of all epochs in mode k) / sum of r[k]
 */
#ifndef ORRERY_POLICIES_SCHEDULER_ADAPTATION_FORECAST_H
#define ORRERY_POLICIES_SCHEDULER_ADAPTATION_FORECAST_H

#include "sim/world/policy/scheduler.h"

struct forecast {
    double spent_s;     /* run time of the epochs that are done */
    double remaining_s; /* at least 0 */
};

/* all_s: run time of all epochs at the batch size that the job begins with. */
struct forecast forecast_of(const struct job_epochs *epochs, double all_s);

#endif
