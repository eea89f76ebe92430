/* Numbers between 0 and 1 that are spread evenly: of every DECK_CARDS in a row, one lies in each of as many equal parts, in
 * random order and at a random place there (stratified sampling). Sums over them vary far less than over independent ones. */
#ifndef ORRERY_TRACES_GENERATE_DECK_H
#define ORRERY_TRACES_GENERATE_DECK_H

#include "sim/core/rng.h"

#include <stdint.h>

enum { DECK_CARDS = 1 << 16 };

struct deck {
    uint32_t n_left;
    uint16_t cards[DECK_CARDS]; /* those left come first */
};

void deck_init(struct deck *deck);

/* The next number, in (0, 1). */
double deck_draw(struct deck *deck, struct rng *rng);

#endif
