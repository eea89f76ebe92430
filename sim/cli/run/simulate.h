/* One run of a bound scenario: builds the world, records its rows, prints the summary.
 *
 * All checks come before a results file is created. A run that is interrupted or stalls keeps its rows under that
 * status; a run that fails keeps nothing. */
#ifndef ORRERY_CLI_RUN_SIMULATE_H
#define ORRERY_CLI_RUN_SIMULATE_H

#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/run/intervals.h"
#include "sim/cli/run/recording.h"
#include "sim/cli/run/setup.h"
#include "sim/store/timeline.h"
#include "sim/world/rows/sink.h"
#include "sim/world/world.h"

#include <stdbool.h>

struct simulate_options {
    const char *output; /* results database; NULL: none */
    enum answer_form form;
    double results_limit_bytes;
    enum interval_choice interval;
    bool resume, quiet, verbose;
    bool heap_queue, single_step, check_events, strict_domain;
    const char *timeline; /* file; NULL: none */
    const struct timeline_options *timeline_part;
};

/* Writes the result hash to `result_hash`, empty if there is none. Returns 0 or a negative code, with findings
 * unless the run was interrupted. */
int simulate(struct cli *cli, const struct simulate_options *options, const struct setup *setup,
             char result_hash[HASH_HEX_CHARS]);

/* Runs silently into an open results database, with the id and parameters of `place`. Keeps only a run that ended in
 * order. `also`, unless NULL, gets the rows, too. Returns 0 or a negative code, with findings unless the run was
 * interrupted. */
int simulate_into(const struct setup *setup, const struct recording_place *place,
                  const volatile sig_atomic_t *interrupt, const struct sink *also, struct diag *diag);

/* Builds the world with the options `how` (config and catalog come from the setup) and sends its rows to the sink,
 * without summary, progress or results file. Returns the code of world_create or world_run. */
int simulate_rows(const struct setup *setup, const struct world_options *how, const struct sink *sink,
                  struct world_result *result, struct diag *diag);

#endif
