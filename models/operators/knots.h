/* Whole numbers in rising order at which a function is known; linear in between.
 *
 * A search begins at an index. Its steps are whole numbers up to 2^11 and 1/32 of an octave beyond, as the leading
 * bits of a double are. Knots lie about as dense there, so that one or two comparisons end the search. Among whole
 * numbers one comparison ends it, and never moves on where a whole number is sought: so its branch is foreseen. */
#ifndef ORRERY_MODELS_OPERATORS_KNOTS_H
#define ORRERY_MODELS_OPERATORS_KNOTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    KNOTS_MAX = 768,
    KNOTS_WHOLE_OCTAVES = 11,
    KNOTS_WHOLE = 1 << KNOTS_WHOLE_OCTAVES, /* steps that are whole numbers: 0, 1 .. */
    KNOTS_OCTAVE = 32,                      /* steps of an octave beyond */
    KNOTS_STEPS = KNOTS_WHOLE + (24 - KNOTS_WHOLE_OCTAVES) * KNOTS_OCTAVE
};

struct knots {
    size_t n;
    int64_t at[KNOTS_MAX];
    uint16_t first[KNOTS_STEPS]; /* what knots_find returns for the least number of each step */
};

/* Adds the knot `at`, unless it is known, below 1, or there is no room. */
void knots_add(struct knots *knots, int64_t at);

/* Fills the index, after the last of at least two knots was added. */
void knots_index(struct knots *knots);

/* The step that contains x >= 0: the last one from 2^24 on. */
static inline size_t knots_step(double x)
{
    enum { MANTISSA_BITS = 52, STEP_BITS = 5, EXPONENT_OF_1 = 1023 };
    uint64_t bits;
    if (x < KNOTS_WHOLE) return (size_t)(int64_t)x;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t octaves = (bits >> (MANTISSA_BITS - STEP_BITS)) -
                             (EXPONENT_OF_1 + KNOTS_WHOLE_OCTAVES) * KNOTS_OCTAVE;
    const uint64_t step = KNOTS_WHOLE + octaves;
    return step < KNOTS_STEPS ? (size_t)step : KNOTS_STEPS - 1;
}

/* Index of the left one of the two neighbours between which x / scale lies, the right one included; or of the outer
 * pair next to it. x >= 0, scale > 0. */
static inline size_t knots_find(const struct knots *knots, int64_t scale, int64_t x)
{
    const size_t last = knots->n - 2;
    size_t left = knots->first[knots_step((double)x / (double)scale)];
    while (left < last && scale * knots->at[left + 1] < x) left++;
    return left;
}

/* Position of x between the i-th knot and the next, 0 to 1. */
static inline double knots_weight(const struct knots *knots, size_t i, double x)
{
    const double begin = (double)knots->at[i];
    return (x - begin) / ((double)knots->at[i + 1] - begin);
}

#endif
