/* No capping: neither clocks, nor power limits, nor the power brake. */
#include "policies/declared.h"
#include "sim/world/policy/power_cap.h"

const struct power_capper power_cap_none = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "none",
               .summary = "no limits and no power brake",
               .source = "-"},
};
