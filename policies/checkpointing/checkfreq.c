/* As often as a bound on the overhead allows, as CheckFreq chooses its frequency: the stall C of a save is at most the
 * share p of the work between two saves, so these are C/p apart. Where saves stall nothing, each begins when the one
 * before is complete and a step has ended. What failures cost plays no part. CheckFreq measures the overhead again
 * while it trains; here C is that of an idle network, at the start or at the last change of GPUs. */
#include "policies/declared.h"
#include "sim/world/policy/checkpointing.h"

struct checkfreq {
    double overhead;
};

static double checkfreq_interval_s(void *state, const struct checkpoint_view *view)
{
    return view->stall_s / ((const struct checkfreq *)state)->overhead;
}

#define ROW_OF struct checkfreq
static const struct config_field params[] = {
    ROW_REAL("overhead", overhead, DEFAULT("0.035"), WITHIN(1e-6, 1),
             "most time that saves stall a job, as a share of its work"),
    {0}};
#undef ROW_OF

const struct checkpointer checkpointing_checkfreq = {
    .policy = {POLICY_HEAD(checkpointer, POLICY_CHECKPOINTING),
               .name = "checkfreq",
               .summary = "as often as a bound on the overhead allows, whatever the failure rate",
               .source = "CheckFreq (Mohan et al., FAST 2021)",
               .params = params,
               .params_bytes = sizeof(struct checkfreq),
               .state_bytes = sizeof(struct checkfreq)},
    .interval_s = checkfreq_interval_s,
};
