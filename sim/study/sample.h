/* Points spread over ranges by chance, or evenly by the sequence of Sobol (1967; GSL's gsl_qrng_sobol). */
#ifndef ORRERY_STUDY_SAMPLE_H
#define ORRERY_STUDY_SAMPLE_H

#include "sim/study/read.h"

struct sampling {
    bool is_sobol;
    size_t n;
    int64_t seed; /* of random points */
    size_t axis;  /* the number of the axis: every one has its own stream */
};

/* Fills values[row * ranges->n + column] from an object of ranges or lists, one member per column. Findings go to the
 * reading. */
void sample_fill(struct config_reading *reading, const struct sampling *sampling, const struct json_node *ranges,
                 const char **values);

#endif
