/* Marking algorithms (Karlin, Manasse, Rudolph and Sleator 1988; Fiat et al. 1991) work in phases. An item is marked
 * when it is used, and the victim is drawn among the unmarked items. When all are marked, the phase ends and no item is
 * marked any more. An item in use is in no set, and is marked at its release. Each item carries a bit: unmarked items
 * with bit 1 are evicted first. */
#ifndef ORRERY_POLICIES_EVICTION_MARKS_H
#define ORRERY_POLICIES_EVICTION_MARKS_H

#include "policies/eviction/items.h"

#include <stdbool.h>
#include <stdint.h>

/* What an item's slot begins with. */
struct marked_item {
    struct set_place place;
    bool is_listed;
    unsigned char age, bit; /* of the set it is in */
};

/* Zeroed, nothing is marked. */
struct marks {
    struct item_set sets[2][2]; /* by age and bit */
    int marked;                 /* the age whose items are marked */
    bool started;
    struct rng rng;
};

void marks_fini(struct marks *marks);

/* Marks the item, in a set before or not. Returns 0 or SIM_E_NOMEM. */
int marks_use(struct marks *marks, const struct cache_view *view, int32_t item, bool bit);

/* Removes the item from its set, if it is in one. */
void marks_remove(struct marks *marks, const struct cache_view *view, int32_t item);

/* Draws a victim; begins a new phase if all items are marked. CACHE_NO_ITEM if there are no items. */
int32_t marks_victim(struct marks *marks, const struct cache_view *view);

#endif
