/* How far a run is, on stderr: a line that is written over while it runs, and on a terminal only. */
#ifndef ORRERY_CLI_RUN_PROGRESS_H
#define ORRERY_CLI_RUN_PROGRESS_H

#include "sim/world/world.h"

#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *err;
    bool is_shown;   /* a terminal, and nobody asked for quiet */
    bool has_line;   /* there is a line to be wiped */
    sim_ns until_ns; /* 0: no limit */
    double start_s, shown_s;
};

void progress_init(struct progress *progress, FILE *err, bool quiet, sim_ns until_ns);

/* A world's look function; `progress` is a struct progress. */
void progress_look(void *progress, const struct world_progress *state);

/* Wipes the line. */
void progress_end(struct progress *progress);

#endif
