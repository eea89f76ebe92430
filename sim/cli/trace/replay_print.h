/* The result of a replay, as tables and as JSON. */
#ifndef ORRERY_CLI_TRACE_REPLAY_PRINT_H
#define ORRERY_CLI_TRACE_REPLAY_PRINT_H

#include "analysis/replay/errors.h"
#include "sim/cli/trace/replay.h"

#include <stdio.h>

/* Errors on one part of the log, with the scenario's own overhead and with the refitted one. */
struct replay_part {
    const char *name; /* "train", "test" */
    size_t n;         /* requests */
    struct replay_errors before[REPLAY_TIMES], after[REPLAY_TIMES];
};

struct replay_refit {
    struct replay_overhead overhead;
    int evaluations;
    bool converged, improved; /* the search converged; it found better than the start */
    struct replay_part parts[2];
};

struct replay_report {
    const struct replay *replay;
    const char *scenario; /* name of the scenario */
    const struct replay_outcome *outcome;
    struct replay_errors errors[REPLAY_TIMES];
    const struct replay_refit *refit; /* NULL: none */
};

/* Returns 0 or SIM_E_NOMEM. */
int replay_print(const struct replay_report *report, bool as_json, FILE *out);

#endif
