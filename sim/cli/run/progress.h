/* The progress of a run, on stderr: one line, overwritten, and on a terminal only. */
#ifndef ORRERY_CLI_RUN_PROGRESS_H
#define ORRERY_CLI_RUN_PROGRESS_H

#include "sim/world/world.h"

#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *err;
    bool is_shown;   /* stderr is a terminal, and --quiet is absent */
    bool has_line;   /* a line is to be wiped */
    sim_ns until_ns; /* 0: no limit */
    double start_s, shown_s;
};

void progress_init(struct progress *progress, FILE *err, bool quiet, sim_ns until_ns);

/* A progress callback of a world; `progress` is a struct progress. */
void progress_update(void *progress, const struct world_progress *state);

/* Wipes the line. */
void progress_end(struct progress *progress);

#endif
