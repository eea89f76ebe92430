/* Ranges of numbers and quantities: { "from": "1/s", "to": "9/s" }, and points drawn from them. Values in between have
 * the unit of the ends. Ends that are integers ("from": 1, not 1.0) give integers. For sim/study alone. */
#ifndef ORRERY_STUDY_RANGE_H
#define ORRERY_STUDY_RANGE_H

#include "sim/core/config/config_report.h"
#include "sim/core/units.h"

struct range {
    double from, to; /* SI */
    enum unit_dim dim;
    const char *like; /* values are shown in the unit of this text; NULL: in the one that is shortest */
    bool is_whole, is_log;
};

/* Reads both ends from JSON values. Returns false if they are wrong, which it reports at their places. */
bool range_read(struct config_reading *reading, const struct json_node *from, const struct json_node *to, bool is_log,
                struct range *range);

/* The value at a share (0 .. 1) of the way, rounded to 12 significant digits or to an integer; the ends are exact. */
double range_at(const struct range *range, double share);

/* The value as text for --set. NULL when out of memory. */
const char *range_show(const struct range *range, double value, struct arena *arena);

/* Points drawn from ranges at random, or evenly by the sequence of Sobol (1967; GSL's gsl_qrng_sobol). */
struct sampling {
    bool is_sobol;
    size_t n;
    int64_t seed; /* of random points */
    size_t axis;  /* number of the axis, which selects the random stream */
};

/* Fills values[row * ranges->n + column] from an object of ranges or lists, one member per column. Reports findings
 * to the reading. */
void sample_fill(struct config_reading *reading, const struct sampling *sampling, const struct json_node *ranges,
                 const char **values);

#endif
