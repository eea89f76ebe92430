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
             "power limit of each GPU without `cap`, as a share of its own TDP: 325 W of an A100"),
    ROW_CHOICE("on", on, DEFAULT("all"), static_cap_groups, "GPUs of all work, or of low priority only"),
    {0}};
#undef ROW_OF

static void cap(const struct static_cap *capper, enum power_group group, struct power_plan *plan)
{
    if (isnan(capper->cap_w))
        power_plan_cap_share(plan, group, capper->share_frac, "as configured");
    else
        power_plan_cap(plan, group, capper->cap_w, "as configured");
}

static int static_cap_setup(void *state, const struct power_view *view, struct power_plan *plan)
{
    const struct static_cap *capper = state;
    (void)view;
    cap(capper, POWER_LOW, plan);
    if (capper->on == 0) cap(capper, POWER_HIGH, plan);
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
