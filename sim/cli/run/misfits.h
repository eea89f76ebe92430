/* Warnings about types of jobs that no job has, node types that nothing uses, and traces that do not suit the cluster.
 * They are about the input: no result contains them. */
#ifndef ORRERY_CLI_RUN_MISFITS_H
#define ORRERY_CLI_RUN_MISFITS_H

#include "sim/cli/run/setup.h"
#include "sim/world/world.h"

/* Warns of node types on which nothing can run (sim/world/idle_types.h), for a scenario that is not run. */
void warn_idle_types(const struct setup *setup, struct diag *diag);

/* Warns that the cluster does not suit the jobs' trace: what the trace counts itself, or needs of types of jobs. */
void warn_trace_misfit(const struct setup *setup, struct diag *diag);

/* Warns of types in "jobs.types" that no job of the run had, with a few names that jobs had instead. */
void warn_absent_job_types(const struct setup *setup, const struct world *world, struct diag *diag);

#endif
