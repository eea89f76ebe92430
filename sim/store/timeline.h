/* The timeline of a run: trace events in JSON (the format of Chrome's tracing, which ui.perfetto.dev opens), written
 * during the run, compressed if the name ends in ".gz".
 *
 *     process "service chat"   a thread per replica with its batches as slices; requests as nested async spans
 *                              (queued, prefill, decode); counters of requests and of the KV cache
 *     process "node 3"         a thread per GPU with its jobs. Which of a node's GPUs a job has is not simulated:
 *                              a job is shown on the lowest ones free of jobs
 *     process "site"           counters of the whole site
 *
 * Every series of samples becomes a counter. Times are in microseconds, exact to the nanosecond. Equal runs give equal
 * bytes. The file gets its name only when it is complete. Source of the format: "Trace Event Format", Google, 2016. */
#ifndef ORRERY_STORE_TIMELINE_H
#define ORRERY_STORE_TIMELINE_H

#include "sim/core/err.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stdint.h>

/* Uncompressed size above which most viewers fail. */
enum { TIMELINE_LARGE_BYTES = 1 << 30 };

struct timeline_options {
    double from_s, to_s; /* events outside are left out; events that overlap are whole */
    int64_t one_in;      /* shows one in `one_in` requests, chosen by a hash of the id; 1: all */
};

struct timeline;

/* Opens a timeline. The options are copied; `diag` gets findings until timeline_close. Returns 0, SIM_E_IO or
 * SIM_E_NOMEM. */
int timeline_open(const char *path, const struct timeline_options *options, struct timeline **timeline,
                  struct diag *diag);

struct sink timeline_sink(struct timeline *timeline);

/* Writes the rest and gives the file its name, with a warning if it is large. With `failed`, removes the file. NULL
 * is allowed. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int timeline_close(struct timeline *timeline, bool failed);

#endif
