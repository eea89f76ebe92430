#include "models/operators/knots.h"

#include <math.h>

void knots_add(struct knots *knots, int64_t at)
{
    size_t place = knots->n;
    while (place > 0 && knots->at[place - 1] > at) place--;
    const int is_known = place > 0 && knots->at[place - 1] == at;
    if (at < 1 || is_known || knots->n == KNOTS_MAX) return;
    for (size_t i = knots->n++; i > place; i--) knots->at[i] = knots->at[i - 1];
    knots->at[place] = at;
}

/* The least number of a step. */
static double step_begin(size_t step)
{
    if (step < KNOTS_WHOLE) return (double)step;
    const size_t beyond = step - KNOTS_WHOLE;
    const double within = 1.0 + (double)(beyond % KNOTS_OCTAVE) / KNOTS_OCTAVE;
    return ldexp(within, KNOTS_WHOLE_OCTAVES + (int)(beyond / KNOTS_OCTAVE));
}

void knots_index(struct knots *knots)
{
    size_t left = 0;
    for (size_t step = 0; step < KNOTS_STEPS; step++) {
        while (left + 2 < knots->n && (double)knots->at[left + 1] < step_begin(step)) left++;
        knots->first[step] = (uint16_t)left;
    }
}
