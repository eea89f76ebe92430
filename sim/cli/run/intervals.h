/* The interval of a run's metrics by the error of its cost models: the run once more with times at the fast end of
 * what was measured, and once more at the slow end (sim/catalog/time_error.h).
 *
 * So queues, batches and autoscalers see the other times too. Both ends hold for all services at once: the error of an
 * engine on a GPU is common to its iterations, and that of several is taken as common too. The share of measured runs
 * inside is that of their TPOT; what follows from it, such as TTFT, was not compared. On energy and power the 90th
 * percentile of the power model's error comes on top; what commands do with another power does not. That error has
 * no part in the energy of jobs whose power the scenario states, nor in their share of the site's. Where jobs draw
 * what a power model says of their training, neither their energy nor the site's has an interval. */
#ifndef ORRERY_CLI_RUN_INTERVALS_H
#define ORRERY_CLI_RUN_INTERVALS_H

#include "sim/cli/run/setup.h"
#include "sim/core/intervals.h"
#include "sim/world/rows/sink.h"
#include "sim/world/world.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether a run gets intervals. AUTO: if it has at most INTERVAL_MOST_EVENTS. */
enum interval_choice { INTERVAL_AUTO, INTERVAL_ALWAYS, INTERVAL_NEVER };
enum { INTERVAL_MOST_EVENTS = 5000000 };

/* Finds the intervals of the metrics that differ between the three runs. `how` are the options of the run. `found` is
 * empty if no error is known, with the reason in `none`; and, with a warning, if one of the two runs did not end.
 *
 * A run that is cut by "until" leaves requests unfinished, others at each end, and latencies do not count them. A
 * percentile has an interval if at most half as many requests can differ between the runs as lie beyond it: p99 at
 * 0.5 %, as the mean and shares, p50 at 25 %, a maximum only if none does. So each end lies between neighbouring
 * percentiles of the same requests, such as p98.5 and p99.5. A warning says what is left out.
 *
 * Texts live in `arena`. Returns 0, SIM_E_INTERRUPTED (then it is empty) or SIM_E_NOMEM. */
int intervals_find(const struct setup *setup, const struct world_options *how, const struct metric_row *metrics,
                   size_t n_metrics, struct arena *arena, struct run_intervals *found, struct diag *diag);

#endif
