/* Which prefill of a plan computes a block of a prefix: the first one that names its key. The index is filled while a
 * plan is made, and is emptied for the next one at no cost that depends on its size. Its memory stays. */
#ifndef ORRERY_WORLD_REPLICA_PLANNED_BLOCKS_H
#define ORRERY_WORLD_REPLICA_PLANNED_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* A place of an earlier plan is empty: its stamp is not above the index's `base`. */
struct planned_block {
    uint64_t key;
    int64_t stamp; /* base + 1 + number of the prefill */
};

/* Zeroed, it is the empty index. */
struct planned_blocks {
    struct planned_block *places;
    size_t n, n_places; /* n_places: 0 or a power of two, of which half are empty */
    int64_t base;
    int32_t n_prefills; /* leading prefills of the plan whose blocks it holds, or that have none */
};

void planned_blocks_fini(struct planned_blocks *blocks);
void planned_blocks_empty(struct planned_blocks *blocks);

/* The prefill that computes the block of this key, or -1. */
int32_t planned_blocks_find(const struct planned_blocks *blocks, uint64_t key);

/* Prefill number `n_prefills` computes the block, unless an earlier one does. Returns 0, or SIM_E_NOMEM with the index
 * as it was. */
int planned_blocks_add(struct planned_blocks *blocks, uint64_t key);

#endif
