/* As asked: each job rents on arrival the GPUs that it requests, on the offer where its work costs least, and returns
 * them when it finishes. */
#include "policies/declared.h"
#include "sim/world/policy/rental.h"

#include <math.h>
#include <string.h>

/* Speed of one GPU of an offer for jobs of this type, or of type "default"; 1 if the scenario names neither. */
static double speed_on(const struct market_view *view, const char *type, int32_t offer)
{
    double speed = 1.0;
    for (int32_t i = 0; i < view->n_job_types; i++) {
        const struct market_job_type *of = &view->job_types[i];
        if (strcmp(of->name, type) == 0) return of->speeds[offer];
        if (strcmp(of->name, "default") == 0) speed = of->speeds[offer];
    }
    return speed;
}

static int rent(void *state, const struct market_view *view, const struct job_view *job, struct rental *rental)
{
    (void)state;
    double least = (double)INFINITY;
    *rental = (struct rental){.offer = 0, .gpus = job->gpus};
    for (int32_t i = 0; i < view->n_offers; i++) {
        const struct market_offer *offer = &view->offers[i];
        const double cost = offer->usd_per_h / speed_on(view, job->type, i);
        if (!(cost < least) || offer->limit_gpus < job->gpus) continue;
        least = cost;
        rental->offer = i;
    }
    return 0;
}

const struct renter rental_as_asked = {
    .policy = {POLICY_HEAD(renter, POLICY_RENTAL),
               .name = "as-asked",
               .summary = "each job rents the GPUs it requests where its work costs least, and returns them when done",
               .source = "pay as you go",
               .state_bytes = 1},
    .rent = rent,
};
