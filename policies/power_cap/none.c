/* No capping: GPUs draw what they draw. */
#include "policies/declared.h"
#include "sim/world/policy/power_cap.h"

const struct power_capper power_cap_none = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "none",
               .summary = "GPUs draw what they draw, the power brake included that no one pulls",
               .source = "-"},
};
