/* The acceptance of drafts from a scenario: rates, or a file of them. */
#ifndef ORRERY_WORLD_SERVICE_ACCEPTANCE_FILE_H
#define ORRERY_WORLD_SERVICE_ACCEPTANCE_FILE_H

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/world/replica/speculation.h"
#include "sim/world/service/service.h"

/* Fills in all but the key, from the one law that the section gives. `where` is the place of the section.
 *
 * A table is a CSV file with the columns i and value, and maybe dataset, method and statistic. Counted are the rows of
 * the chosen dataset and method, and of the statistic tokens_per_step_with_k_drafts if there is that column: value
 * tokens per step with i drafts. Between two such numbers of drafts, and beyond the last, the rate is constant.
 *
 * Rates of requests are a CSV file with the column rate, whose n-th row is for request n - 1, and again from the first
 * row when there are more requests than rows.
 *
 * Rates by rank are a CSV file with the columns depth, rank and rate, and maybe dataset and method. The rate is the
 * probability that the candidate of this rank is right if those before it are. Candidates beyond the last rank are
 * never right, and depths beyond the last are as the last. Such a file, or a rank power beside rates or a table, sets
 * the ranks.
 *
 * Returns 0, SIM_E_CONFIG, SIM_E_IO, SIM_E_DATA or SIM_E_NOMEM. */
int acceptance_build(const struct acceptance_config *config, const char *where, struct arena *arena,
                     struct acceptance *acceptance, struct diag *diag);

#endif
