/* The replica with the least of something that routers see in its load (struct replica_load, but for `decodes`): a
 * tournament of all candidates, which costs log n for each change of a load. Where the log of changes is missing, it is
 * a pass over all candidates. */
#ifndef ORRERY_POLICIES_ROUTING_LEAST_H
#define ORRERY_POLICIES_ROUTING_LEAST_H

#include "sim/world/policy/routing.h"

struct ranking;

/* All zero at first. */
struct least {
    struct ranking *ranking; /* of the candidates, by their amounts times -1 */
    uint64_t n_seen;         /* changes of loads that are in it */
};

/* What the least is wanted of, 0 or more. `state` is the router's. */
typedef double (*least_fn)(const void *state, const struct fleet_view *view, int32_t replica);

/* The candidate with the least amount among `most` drawn ones (policies/routing/choices.h); 0: among all. The lowest
 * number among equals. */
int32_t least_by_pass(const struct fleet_view *view, int64_t most, least_fn amount, const void *state);

/* The candidate with the least amount among all, or SIM_E_NOMEM. The amount depends on the loads in the log alone. */
int least_find(struct least *least, const struct fleet_view *view, least_fn amount, const void *state);
void least_fini(struct least *least);

#endif
