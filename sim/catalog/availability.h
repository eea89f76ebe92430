/* Available spot instances of a kind over time: public measurement files, read into steps.
 *
 *     skypilot         {"metadata": {"gap_seconds": 300}, "data": [4, 4, 3, ...]} instances at each tick (spot-traces)
 *     instance-counts  600000,12                                                   milliseconds, instances (Parcae)
 *     instance-events  480000,add,node1                                            milliseconds, add or remove (Bamboo)
 *     dated-counts     2021-12-10, 13:07:45, 80                                    date, time, instances (Bamboo)
 *
 * Time starts at 0 with the first line; the last of several lines with one time holds. A line up to a minute earlier
 * than one before it, as in some of Bamboo's files, counts from the time of that one, with a warning. A larger step
 * back is an error. */
#ifndef ORRERY_CATALOG_AVAILABILITY_H
#define ORRERY_CATALOG_AVAILABILITY_H

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

#include <stddef.h>
#include <stdint.h>

enum availability_format {
    AVAILABILITY_SKYPILOT,
    AVAILABILITY_COUNTS,
    AVAILABILITY_EVENTS,
    AVAILABILITY_DATED,
    AVAILABILITY_FORMATS
};

/* The number of instances from time_ns on. */
struct availability_step {
    sim_ns time_ns;
    int64_t instances;
};

struct availability {
    size_t n; /* >= 1; the first is at time 0; each differs from the one before */
    struct availability_step *steps;
    sim_ns end_ns; /* the end of the measurements */
};

extern const char *const availability_format_names[]; /* NULL at the end */

/* Reads a file. Call availability_fini also after failure. Returns 0, SIM_E_IO, SIM_E_DATA, SIM_E_CONFIG (no
 * JSON) or SIM_E_NOMEM. */
int availability_read(const char *path, enum availability_format format, struct availability *availability,
                      struct diag *diag);
void availability_fini(struct availability *availability);

#endif
