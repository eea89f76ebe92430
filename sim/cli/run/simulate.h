/* One run from a bound scenario to its results: builds the world, records its rows, prints the summary.
 *
 * Everything that can be checked is checked before a results file comes into being. When the run is interrupted or makes no
 * progress, its rows up to then are kept under that status; when it fails, nothing is. */
#ifndef ORRERY_CLI_RUN_SIMULATE_H
#define ORRERY_CLI_RUN_SIMULATE_H

#include "sim/cli/cli.h"
#include "sim/cli/run/recording.h"
#include "sim/cli/run/setup.h"
#include "sim/store/timeline.h"
#include "sim/world/rows/sink.h"
#include "sim/world/world.h"

#include <stdbool.h>

struct simulate_options {
    const char *output; /* results database; NULL: none */
    bool resume, json, quiet;
    bool heap_queue, single_step, check_events, strict_domain;
    const char *timeline; /* file; NULL: none */
    const struct timeline_options *timeline_part;
};

/* Writes the result hash to `result_hash`, an empty text when there is none. Returns 0 or a negative code, with findings
 * unless the run was interrupted. */
int simulate(struct cli *cli, const struct simulate_options *options, const struct setup *setup,
             char result_hash[HASH_HEX_CHARS]);

/* The same into a results database that is open: silent, under the id and with the parameters of the place. Only a run that
 * ended in order is kept. Returns 0 or a negative code, with findings unless the run was interrupted. */
int simulate_into(const struct setup *setup, const struct recording_place *place,
                  const volatile sig_atomic_t *interrupt, struct diag *diag);

/* The same without a summary, progress or results file: builds the world as `how` says (whose config and catalog are those
 * of the setup, whatever it has there) and sends its rows to the sink. Returns what world_create or world_run returns. */
int simulate_rows(const struct setup *setup, const struct world_options *how, const struct sink *sink,
                  struct world_result *result, struct diag *diag);

#endif
