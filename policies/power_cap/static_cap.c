/* A fixed power limit of each GPU. */
#include "policies/declared.h"
#include "sim/world/policy/power_cap.h"

#include <math.h>

struct static_cap {
    double cap_w; /* NAN: by share_frac */
    double share_frac;
    int on;
};

static const char *const static_cap_groups[] = {"all", "low", NULL};

#define ROW_OF struct static_cap
static const struct config_field static_cap_fields[] = {
    ROW_QUANTITY("cap", cap_w, UNIT_POWER, OPTIONAL, AT_LEAST(1), "power limit of each GPU; default: by `share`"),
    ROW_REAL("share", share_frac, DEFAULT("0.8125"), WITHIN(0.01, 1),
             "power limit of each GPU without `cap`, as a share of the domain's highest TDP: 325 W of an A100; a "
             "domain of several types of GPUs needs a `cap`"),
    ROW_CHOICE("on", on, DEFAULT("all"), static_cap_groups, "GPUs of all work, or of low priority only"),
    {0}};
#undef ROW_OF

static int static_cap_setup(void *state, const struct power_view *view, struct power_plan *plan)
{
    const struct static_cap *capper = state;
    const double cap_w = isnan(capper->cap_w) ? capper->share_frac * view->gpu_limit_w : capper->cap_w;
    power_plan_cap(plan, POWER_LOW, cap_w, "as configured");
    if (capper->on == 0) power_plan_cap(plan, POWER_HIGH, cap_w, "as configured");
    return 0;
}

const struct power_capper power_cap_static_cap = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "static-cap",
               .summary = "fixed power limit of each GPU",
               .source = "nvidia-smi -pl; as HHcap in Patel et al., Splitwise, ISCA 2024",
               .params = static_cap_fields,
               .params_bytes = sizeof(struct static_cap),
               .state_bytes = sizeof(struct static_cap)},
    .setup = static_cap_setup,
};
