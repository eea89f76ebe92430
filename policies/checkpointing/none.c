/* No checkpoints: a failure costs all work of the job so far. */
#include "policies/declared.h"
#include "sim/world/policy/checkpointing.h"

const struct checkpointer checkpointing_none = {
    .policy = {POLICY_HEAD(checkpointer, POLICY_CHECKPOINTING),
               .name = "none",
               .summary = "no checkpoints: a failed job restarts from the beginning",
               .source = "baseline"},
};
