/* orrery trace replay: a real engine's log through a scenario. */
#ifndef ORRERY_CLI_TRACE_TRACE_REPLAY_H
#define ORRERY_CLI_TRACE_TRACE_REPLAY_H

#include "sim/cli/answer.h"
#include "sim/cli/trace/replay.h"

#include <stdbool.h>

struct trace_replay_options {
    struct replay_request request;
    const char *output; /* results database; NULL: none */
    const char *train;  /* share of the log to fit on, as text; NULL: half */
    bool refit;
    enum answer_form form;
};

/* Replays the log, fits the overhead if requested, and prints. Returns 0 or a negative code with findings. */
int trace_replay(struct cli *cli, const struct trace_replay_options *options);

#endif
