/* The longest wait of a sequence for a token, once it has had its first one. */
#ifndef ORRERY_WORLD_REPLICA_TOKEN_WAIT_H
#define ORRERY_WORLD_REPLICA_TOKEN_WAIT_H

#include "sim/core/units.h"

/* The longest time between two tokens of a sequence, and the time of the first of the two; 0 ns: it has had no two. Of
 * equally long ones, the latest. */
struct token_wait {
    sim_ns ns, from_ns;
};

static inline struct token_wait token_wait_longer(struct token_wait earlier, struct token_wait later)
{
    return later.ns >= earlier.ns ? later : earlier;
}

#endif
