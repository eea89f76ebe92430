#include "policies/power_cap/braking.h"

bool braking_step(const struct braking *braking, const struct power_view *view, struct power_plan *plan)
{
    const struct power_group_view *brake = &view->brake;
    const double used = power_used_frac(view);
    const bool is_on = brake->ordered.clock_hz > 0.0;
    if (!is_on && !brake->in_flight && used > braking->on_frac) {
        power_plan_brake(plan, view, true, "power is above the budget");
        return true;
    }
    if (is_on && power_group_is_settled(view, brake) && used < braking->off_frac)
        power_plan_brake(plan, view, false, "power has fallen under the brake");
    return is_on || !power_group_is_settled(view, brake);
}
