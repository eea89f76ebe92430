/* Young's interval: sqrt(2 C M), C the stall of a save and M the mean time between the job's failures. */
#include "models/checkpoint.h"
#include "policies/declared.h"
#include "sim/world/policy/checkpointing.h"

static double young_interval_s(void *state, const struct checkpoint_view *view)
{
    (void)state;
    return checkpoint_young_s(&(struct checkpoint_cost){.stall_s = view->stall_s, .mtbf_s = view->mtbf_s});
}

const struct checkpointer checkpointing_young = {
    .policy = {POLICY_HEAD(checkpointer, POLICY_CHECKPOINTING),
               .name = "young",
               .summary = "the optimal interval to first order, from save time and failure rate",
               .source = "Young, CACM 17(9), 1974"},
    .interval_s = young_interval_s,
};
