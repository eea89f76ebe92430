/* The highest of n values that change one at a time: a tournament between neighbours, whose winners meet in turn. A
 * change costs log n steps, the highest is at hand. */
#ifndef ORRERY_CORE_RANKING_H
#define ORRERY_CORE_RANKING_H

#include <stdint.h>

/* All zero: empty, so that ranking_fini is allowed. */
struct ranking {
    int32_t n;
    double *values;   /* [n] */
    int32_t *winners; /* [n]: winners[1] of all; winners[k] of matches 2k and 2k + 1, where n + i is value i alone */
};

/* n >= 1 values of 0. Returns 0 or SIM_E_NOMEM. */
int ranking_init(struct ranking *ranking, int32_t n);
void ranking_fini(struct ranking *ranking);

/* Not NaN. */
void ranking_set(struct ranking *ranking, int32_t index, double value);

/* The index of the highest value; the lowest index of equals. */
static inline int32_t ranking_first(const struct ranking *ranking)
{
    return ranking->n > 1 ? ranking->winners[1] : 0;
}

#endif
