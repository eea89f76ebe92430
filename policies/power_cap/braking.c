#include "policies/power_cap/braking.h"

#include <math.h>

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

void power_plan_lock_once(const struct power_view *view, struct power_plan *plan, enum power_group group,
                          double clock_hz, const char *reason)
{
    const struct power_setting setting = {.clock_hz = clock_hz > 0.0 ? fmax(clock_hz, view->least_hz) : 0.0};
    if (!power_group_is_ordered(&view->groups[group], setting)) power_plan_lock(plan, group, setting.clock_hz, reason);
}
