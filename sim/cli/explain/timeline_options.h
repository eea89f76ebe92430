/* What the command line says of a timeline: "10s:1min", "1/100". */
#ifndef ORRERY_CLI_EXPLAIN_TIMELINE_OPTIONS_H
#define ORRERY_CLI_EXPLAIN_TIMELINE_OPTIONS_H

#include "sim/core/err.h"
#include "sim/store/timeline.h"

/* Of --timeline-window and --timeline-sample, each NULL when absent. Returns 0 or SIM_E_USAGE. */
int timeline_options_parse(const char *window, const char *sample, struct timeline_options *options, struct diag *diag);

#endif
