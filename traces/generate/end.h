/* Where a generated trace ends. */
#ifndef ORRERY_TRACES_GENERATE_END_H
#define ORRERY_TRACES_GENERATE_END_H

#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stdint.h>

struct generate_end {
    int64_t count;      /* 0: no limit */
    sim_ns duration_ns; /* no arrivals from then on; 0: no limit */
};

#define GENERATE_END_PARAMS(params_struct)                                                                             \
    TRACE_PARAM(params_struct, end.count, "count", CONFIG_INT, "0", 0, 1e15, "records; 0: no limit"),                  \
        TRACE_PARAM(params_struct, end.duration_ns, "duration", CONFIG_TIME, "0s", 0, 9e9,                             \
                    "no arrivals from then on; 0s: no limit")

/* SIM_E_CONFIG when there is neither a count nor a duration. */
int generate_end_check(const struct generate_end *end, const char *where, struct diag *diag);

/* Whether the record after `n` others, arriving at `arrival_ns`, is past the end. */
bool generate_end_reached(const struct generate_end *end, int64_t n, sim_ns arrival_ns);

struct source_place generate_end_place(const struct generate_end *end, int64_t n, sim_ns now_ns);

#endif
