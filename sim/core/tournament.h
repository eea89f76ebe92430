/* The highest of n values that change one at a time: a tournament between neighbours, whose winners meet in turn. A
 * change costs log n steps, the highest is at hand. */
#ifndef ORRERY_CORE_TOURNAMENT_H
#define ORRERY_CORE_TOURNAMENT_H

#include <stdint.h>

/* All zero: empty, so that tournament_fini is allowed. */
struct tournament {
    int32_t n;
    double *values;   /* [n] */
    int32_t *winners; /* [n]: winners[1] of all; winners[k] of matches 2k and 2k + 1, where n + i is value i alone */
};

/* n >= 1 values of 0. Returns 0 or SIM_E_NOMEM. */
int tournament_init(struct tournament *tournament, int32_t n);
void tournament_fini(struct tournament *tournament);

/* Not NaN. */
void tournament_set(struct tournament *tournament, int32_t index, double value);

/* The index of the highest value; the lowest index of equals. */
static inline int32_t tournament_first(const struct tournament *tournament)
{
    return tournament->n > 1 ? tournament->winners[1] : 0;
}

#endif
