/* One iteration of a service, operator by operator: time, what bounds it, how near it comes to the data sheet, and whether
 * its kernels lie in the range that their parameters were fitted on. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_OPERATORS_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_OPERATORS_H

#include "models/iteration.h"
#include "sim/catalog/cost_operators.h"
#include "sim/cli/cli.h"
#include "sim/cli/table.h"

/* The iteration to look at, as the command line has it; NULL where it says nothing. */
struct explain_batch {
    const char *batch, *context, *prompt;
};

bool explain_batch_is_given(const struct explain_batch *given);

/* The work of this iteration: `batch` sequences that decode at `context` tokens each, beside a prompt of `prompt` tokens.
 * By default 32 at 1024 and no prompt, or none beside a prompt that is given. Returns 0 or SIM_E_USAGE. */
int explain_batch_work(const struct explain_batch *given, struct iteration_work *work, struct diag *diag);

extern const struct table_column explain_operator_columns[];
extern const size_t explain_n_operator_columns;

/* One line about the whole iteration; a row for each operator, and one for the host. */
void explain_iteration(const char *service, const struct cost_operators *cost, const struct iteration_work *work,
                       struct text *lines);
void explain_add_operators(struct table *table, const char *service, const struct cost_operators *cost,
                           const struct iteration_work *work);

#endif
