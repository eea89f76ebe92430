/* Results of `orrery trace`, as text and as JSON. */
#ifndef ORRERY_CLI_TRACE_TRACE_REPORT_H
#define ORRERY_CLI_TRACE_TRACE_REPORT_H

#include "sim/cli/trace/trace_cache.h"
#include "traces/stat.h"

#include <stdbool.h>
#include <stdio.h>

void trace_report_check(const struct trace_check *check, const char *path, bool requests, FILE *out);

/* Prints the statistics, and the prefix caches that were tried. Returns 0 or SIM_E_NOMEM. */
int trace_report_stat(const struct trace_stat *stat, bool requests, const struct trace_caches *caches, bool as_json,
                      FILE *out);

#endif
