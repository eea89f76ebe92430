/* The longest time between two tokens of a sequence, without touching every sequence at every step.
 *
 * All sequences of a decoding batch get their tokens at the same boundaries, so the gaps are one series by step, and a
 * sequence wants the maximum over a suffix of it. A stack of (step, gap) with falling gaps holds all such maxima. */
#ifndef ORRERY_WORLD_REPLICA_TOKEN_GAPS_H
#define ORRERY_WORLD_REPLICA_TOKEN_GAPS_H

#include "sim/core/units.h"

#include <stddef.h>
#include <stdint.h>

struct token_gap {
    int64_t step;
    sim_ns gap_ns;
};

struct token_gaps {
    struct token_gap *gaps; /* steps rise, gaps fall */
    size_t n, capacity;
};

void token_gaps_init(struct token_gaps *gaps);
void token_gaps_fini(struct token_gaps *gaps);

/* Adds the gap before the token of `step`; steps come in rising order. Returns 0 or SIM_E_NOMEM. */
int token_gaps_add(struct token_gaps *gaps, int64_t step, sim_ns gap_ns);

/* The longest gap at this step or later; 0 when there is none. */
sim_ns token_gaps_max_from(const struct token_gaps *gaps, int64_t step);

/* Forgets the gaps before `step`. */
void token_gaps_forget_before(struct token_gaps *gaps, int64_t step);

#endif
