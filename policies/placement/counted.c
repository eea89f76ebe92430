/* Counted: a job runs whenever enough GPUs are free, wherever they are. */
#include "policies/declared.h"
#include "sim/world/policy/placement.h"

const struct placer placement_counted = {
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "counted",
               .summary = "any free GPUs, on no node in particular",
               .source = "Tiresias (NSDI 2019) simulator, scheme count"},
};
