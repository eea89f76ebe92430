/* The power brake, shared by policies that use it: it engages above the budget and releases once power has fallen
 * below a threshold. Both thresholds are shares of the budget. */
#ifndef ORRERY_POLICIES_POWER_CAP_BRAKING_H
#define ORRERY_POLICIES_POWER_CAP_BRAKING_H

#include "sim/world/policy/power_cap.h"

struct braking {
    double on_frac, off_frac;
};

/* Rows of a struct with a member `braking`. */
#define BRAKING_ROWS                                                                                                   \
    ROW_REAL("brake_on", braking.on_frac, DEFAULT("1"), WITHIN(0.01, 1e3),                                             \
             "power / budget above which the brake engages"),                                                       \
        ROW_REAL("brake_off", braking.off_frac, DEFAULT("0.84"), WITHIN(0, 1e3),                                       \
                 "power / budget below which the brake releases")

/* The power reading as a share of the budget. */
static inline double power_used_frac(const struct power_view *view)
{
    return view->reading.mean_w / view->budget_w;
}

/* Whether the whole window of the reading lies after the effect of the group's latest command. */
static inline bool power_group_is_settled(const struct power_view *view, const struct power_group_view *group)
{
    return !group->in_flight && view->reading.from_ns >= group->effect_ns;
}

/* Orders this clock (0: none) of a group, or the lowest one that its GPUs have, unless it is ordered already. */
void power_plan_lock_once(const struct power_view *view, struct power_plan *plan, enum power_group group,
                          double clock_hz, const char *reason);

/* Refuses a brake that engages while it releases, or that no power releases. `policy` names the capper. Returns 0 or
 * SIM_E_CONFIG. */
int braking_check(const struct braking *braking, const char *policy, struct diag *diag);

/* Refuses a threshold above which no lock can be lifted, or that is above the brake, which is the last resort. `key`
 * and `policy` are names for the finding. Returns 0 or SIM_E_CONFIG. */
int braking_check_threshold(const struct braking *braking, double threshold_frac, double hysteresis_frac,
                            const char *key, const char *policy, struct diag *diag);

/* Engages or releases the brake, with one command in flight at a time. Returns whether the brake is engaged or
 * changing: then readings do not show the power without it. */
bool braking_step(const struct braking *braking, const struct power_view *view, struct power_plan *plan);

#endif
