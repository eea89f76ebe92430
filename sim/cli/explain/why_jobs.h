/* The other jobs in the story of a job. */
#ifndef ORRERY_CLI_EXPLAIN_WHY_JOBS_H
#define ORRERY_CLI_EXPLAIN_WHY_JOBS_H

#include "sim/cli/explain/story.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

/* Adds to the story of the job in `row` (rowid of the table job) what its run stored of others: jobs that held GPUs
 * when it was submitted, jobs that came later and started first, and jobs that got GPUs of its nodes when it lost them.
 * Returns 0 or a negative code. */
int why_tell_others(const char *path, int64_t run_id, int64_t row, struct arena *arena, struct story *story,
                    struct diag *diag);

#endif
