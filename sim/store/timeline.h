/* A run as a timeline to look at: trace events in JSON (the format of Chrome's tracing, which ui.perfetto.dev opens),
 * written while the run goes on, compressed when the name ends in ".gz".
 *
 *     process "service chat"   a thread per replica, its batches as slices; requests as nested async spans (queued, prefill,
 *                              decode); counters of what waits and runs, and of the KV cache
 *     process "node 3"         a thread per GPU with the jobs on it. Which of a node's GPUs a job has is not simulated: the
 *                              lowest that are free of jobs
 *     process "site"           counters of the whole site
 *
 * Every series of samples becomes a counter. Times are in microseconds, exact to the nanosecond. The same run gives the same
 * bytes. The file takes its name only when it is complete. Source of the format: "Trace Event Format", Google, 2016. */
#ifndef ORRERY_STORE_TIMELINE_H
#define ORRERY_STORE_TIMELINE_H

#include "sim/core/err.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stdint.h>

/* From here on a timeline is too large for most viewers; before compression. */
enum { TIMELINE_LARGE_BYTES = 1 << 30 };

struct timeline_options {
    double from_s, to_s; /* what lies outside is left out; what reaches in is whole */
    int64_t one_in;      /* of so many requests one is shown, chosen by a hash of its id; 1: all */
};

struct timeline;

/* Returns 0, SIM_E_IO or SIM_E_NOMEM. The options are copied; `diag` gets findings up to timeline_close. */
int timeline_open(const char *path, const struct timeline_options *options, struct timeline **timeline,
                  struct diag *diag);

struct sink timeline_sink(struct timeline *timeline);

/* Writes the rest and gives the file its name, with a warning when it is large; or, with `failed`, removes it. NULL is
 * allowed. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int timeline_close(struct timeline *timeline, bool failed);

#endif
