/* Daly's interval: Young's with higher orders of C/M, which matter if a save takes more than a small part of the time
 * between failures. */
#include "models/checkpoint.h"
#include "policies/declared.h"
#include "sim/world/policy/checkpointing.h"

static double daly_interval_s(void *state, const struct checkpoint_view *view)
{
    (void)state;
    return checkpoint_daly_s(&(struct checkpoint_cost){.stall_s = view->stall_s, .mtbf_s = view->mtbf_s});
}

const struct checkpointer checkpointing_daly = {
    .policy = {POLICY_HEAD(checkpointer, POLICY_CHECKPOINTING),
               .name = "daly",
               .summary = "the optimal interval to higher order, from save time and failure rate",
               .source = "Daly, FGCS 22, 2006, eq. 37"},
    .interval_s = daly_interval_s,
};
