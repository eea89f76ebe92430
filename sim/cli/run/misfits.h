/* Warnings of `orrery run` about node types of the cluster and types of jobs that nothing uses, and about traces that
 * do not suit the cluster. */
#ifndef ORRERY_CLI_RUN_IDLE_TYPES_H
#define ORRERY_CLI_RUN_IDLE_TYPES_H

#include "sim/cli/run/setup.h"
#include "sim/world/world.h"

/* Warns that the scheduler ignores further node types, with the names of those that no service uses. The warning is
 * about the input: no result contains it. */
void warn_idle_types(const struct setup *setup, struct diag *diag);

/* Warns that the cluster does not suit the jobs' trace: what the trace counts itself, or needs of types of jobs. */
void warn_trace_misfit(const struct setup *setup, struct diag *diag);

/* Warns of types in "jobs.types" that no job of the run had, with a few names that jobs had instead. Results do not
 * contain it, either. */
void warn_absent_job_types(const struct setup *setup, const struct world *world, struct diag *diag);

#endif
