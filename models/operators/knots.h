/* Whole numbers in rising order, at which a function is known: between two of them it lies on their chord. */
#ifndef ORRERY_MODELS_OPERATORS_KNOTS_H
#define ORRERY_MODELS_OPERATORS_KNOTS_H

#include <stddef.h>
#include <stdint.h>

enum { KNOTS_MAX = 768 };

struct knots {
    size_t n;
    int64_t at[KNOTS_MAX];
};

/* Takes `at` as one more knot, unless it is there, below 1, or there is no room: then it is left out. */
void knots_add(struct knots *knots, int64_t at);

/* Index of the left one of the two neighbours between which x / scale lies, the right one included; or of the outer
 * pair next to it. There are at least two knots; scale > 0. */
static inline size_t knots_find(const struct knots *knots, int64_t scale, int64_t x)
{
    size_t first = 0;
    for (size_t left = knots->n - 1; left > 1;) {
        const size_t half = left / 2;
        first = scale * knots->at[first + half] < x ? first + half : first; /* branch-free: unpredictable */
        left -= half;
    }
    return first;
}

/* The same for a whole number x >= 1, at once where the knots up to it are 1, 2, 3 ... */
static inline size_t knots_find_whole(const struct knots *knots, int64_t x)
{
    const size_t place = (size_t)x - 1;
    if (place >= knots->n || knots->at[place] != x) return knots_find(knots, 1, x);
    return place > 0 ? place - 1 : 0;
}

#endif
