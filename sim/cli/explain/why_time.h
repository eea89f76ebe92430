/* orrery why RESULTS time FROM:TO: the stretch is read, and told. */
#ifndef ORRERY_CLI_EXPLAIN_WHY_TIME_H
#define ORRERY_CLI_EXPLAIN_WHY_TIME_H

#include "sim/cli/answer.h"
#include "sim/cli/explain/stretch.h"
#include "sim/core/err.h"

/* Reads "10min:12min", "10min:" (up to the end) or ":12min" of a run that ends at `end_s`. An end at or behind
 * that of the run is read as INFINITY. Returns 0 or SIM_E_USAGE. */
int why_read_stretch(const char *text, double end_s, double *from_s, double *to_s, struct diag *diag);

/* Fills the answer, whose rows are the events, for people or for programs. */
void why_tell_stretch(const struct stretch *stretch, struct answer *answer);

#endif
