/* A checkpoint after every fixed time of work, whatever its cost and the failure rate. */
#include "policies/declared.h"
#include "sim/world/policy/checkpointing.h"

struct periodic {
    sim_ns interval_ns;
};

static double periodic_interval_s(void *state, const struct checkpoint_view *view)
{
    (void)view;
    return sim_s_from_ns(((const struct periodic *)state)->interval_ns);
}

#define ROW_OF struct periodic
static const struct config_field params[] = {
    ROW_TIME("interval", interval_ns, DEFAULT("30min"), AT_LEAST(1e-9), "time of work between two checkpoints"),
    {0}};
#undef ROW_OF

const struct checkpointer checkpointing_periodic = {
    .policy = {POLICY_HEAD(checkpointer, POLICY_CHECKPOINTING),
               .name = "periodic",
               .summary = "a checkpoint after every fixed time of work",
               .source = "common practice: 30 minutes in Acme (NSDI 2024)",
               .params = params,
               .params_bytes = sizeof(struct periodic),
               .state_bytes = sizeof(struct periodic)},
    .interval_s = periodic_interval_s,
};
