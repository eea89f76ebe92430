/* No checkpoints: a failure costs all that the job has done. */
#include "policies/declared.h"
#include "sim/world/policy/checkpointing.h"

const struct checkpointer checkpointing_none = {
    .policy = {.abi = POLICY_ABI,
               .size = sizeof(struct checkpointer),
               .family = POLICY_CHECKPOINTING,
               .name = "none",
               .summary = "no checkpoints: a failed job begins anew",
               .source = "baseline"},
};
