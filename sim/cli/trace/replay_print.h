/* What a replay found, for people and as JSON. */
#ifndef ORRERY_CLI_TRACE_REPLAY_PRINT_H
#define ORRERY_CLI_TRACE_REPLAY_PRINT_H

#include "analysis/replay/errors.h"
#include "sim/cli/trace/replay.h"

#include <stdio.h>

/* One part of the log under a scenario's own host time and under the one that was found. */
struct replay_part {
    const char *name; /* "train", "test" */
    size_t n;         /* requests */
    struct replay_errors before[REPLAY_TIMES], after[REPLAY_TIMES];
};

struct replay_refit {
    struct replay_overhead overhead;
    int evaluations;
    bool converged, improved; /* the search ended by itself; it found better than the start */
    struct replay_part parts[2];
};

struct replay_report {
    const struct replay *replay;
    const char *scenario; /* its title */
    const struct replay_outcome *outcome;
    struct replay_errors errors[REPLAY_TIMES];
    const struct replay_refit *refit; /* NULL: none */
};

/* Returns 0 or SIM_E_NOMEM. */
int replay_print(const struct replay_report *report, bool as_json, FILE *out);

#endif
