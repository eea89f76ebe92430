/* What a summary says of its metrics: a line for each group, with the values in words. */
#ifndef ORRERY_CLI_RUN_SUMMARY_GROUPS_H
#define ORRERY_CLI_RUN_SUMMARY_GROUPS_H

#include "sim/core/intervals.h"
#include "sim/core/text.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the summary shows the distribution without --verbose: its name without part, "request.ttft_s", "job.wait_s";
 * services and classes are left out. */
bool summary_shows(const char *base, int base_bytes, const char *entity);

/* Adds a line for each group that has a value: requests, SLO, jobs, failures, power, cost, cluster. Zeros are left out
 * but for shares of the SLO. With a warm-up the preemptions among the requests say that they are of the whole run.
 * `unended` follows the number of unfinished jobs. `price` says where the prices of GPUs are from: "list price". */
void summary_groups(const struct metric_row *metrics, size_t n, bool has_warmup, const char *unended, const char *price,
                    struct text *text);

/* Adds a line of the most important intervals, and what they rest on; nothing if there are none. */
void summary_intervals(const struct run_intervals *intervals, struct text *text);

#endif
