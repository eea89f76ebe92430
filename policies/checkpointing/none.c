/* No checkpoints: a failure costs all that the job has done. */
#include "policies/declared.h"
#include "sim/world/policy/checkpointing.h"

const struct checkpointer checkpointing_none = {
    .policy = {POLICY_HEAD(checkpointer, POLICY_CHECKPOINTING),
               .name = "none",
               .summary = "no checkpoints: a failed job begins anew",
               .source = "baseline"},
};
