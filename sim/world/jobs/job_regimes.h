/* Jobs that change their batch size as they train: the regimes of a job type, one behind the other. A regime is a part
 * of a job's epochs and its speed, relative to the batch size that the job begins with. The trace's run time is that of
 * all epochs with that batch size:
 *
 *     run time = run time in the trace x sum of (epochs / speed) / sum of epochs
 *
 * Whoever trains the model changes the batch size, such as Accordion or the gradient noise scale, not the scheduler. */
#ifndef ORRERY_WORLD_JOBS_JOB_REGIMES_H
#define ORRERY_WORLD_JOBS_JOB_REGIMES_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/units.h"
#include "sim/world/policy/cluster_view.h"
#include "sim/world/rows/source.h"

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
