/* The replicas that a router compares for one request: all of them, or a few drawn at random. Asking all replicas takes
 * time in proportion to their number for every request. Asking d drawn ones takes constant time, and for d of 2 already
 * gives most of the benefit (Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001). */
#ifndef ORRERY_POLICIES_ROUTING_CHOICES_H
#define ORRERY_POLICIES_ROUTING_CHOICES_H

#include "sim/world/policy/routing.h"

enum { MOST_CHOICES = 64 };

/* Parameter of such routers, at the member `choices` of ROW_OF, an int64_t. */
#define CHOICES_ROW                                                                                                    \
    ROW_INT("choices", choices, DEFAULT("0"), WITHIN(0, MOST_CHOICES),                                                 \
            "asks only this many replicas, drawn at random, which bounds the cost of a request; 0: all")

struct choices {
    int32_t n;
    bool are_all;
    int32_t drawn[MOST_CHOICES]; /* [n], ascending; unset if they are all */
};

/* Draws min(most, n_replicas) different replicas of the view; each set has equal chances. most of 0: all, and nothing
 * is drawn. */
void choices_draw(struct choices *choices, const struct fleet_view *view, int64_t most);

/* The k-th of them, 0 <= k < n. */
static inline int32_t choices_at(const struct choices *choices, int32_t k)
{
    return choices->are_all ? k : choices->drawn[k];
}

#endif
