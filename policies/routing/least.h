/* The replica with the least of something that routers see in its load (struct replica_load, but for `decodes`): a
 * tournament of all candidates, which costs log n for each change of a load. Where the log of changes is missing, it is
 * a pass over all candidates.
 *
 * Routers whose amounts change with every iteration ask all replicas, which takes time in proportion to their number
 * for every request. Asking d drawn ones takes constant time, and for d of 2 already gives most of the benefit
 * (Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001). */
#ifndef ORRERY_POLICIES_ROUTING_LEAST_H
#define ORRERY_POLICIES_ROUTING_LEAST_H

#include "sim/world/policy/routing.h"

/* --- The replicas that are asked --- */

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

/* --- The least among them --- */

struct tournament;

/* All zero at first. */
struct least {
    struct tournament *tournament; /* of the candidates, by their amounts times -1 */
    uint64_t n_seen;         /* changes of loads that are in it */
};

/* What the least is wanted of, 0 or more. `state` is the router's. */
typedef double (*least_fn)(const void *state, const struct fleet_view *view, int32_t replica);

/* The candidate with the least amount among `most` drawn ones; 0: among all. The lowest
 * number among equals. */
int32_t least_by_pass(const struct fleet_view *view, int64_t most, least_fn amount, const void *state);

/* The candidate with the least amount among all, or SIM_E_NOMEM. The amount depends on the loads in the log alone. */
int least_find(struct least *least, const struct fleet_view *view, least_fn amount, const void *state);
void least_fini(struct least *least);

#endif
