#include "policies/power_cap/braking.h"

#include <math.h>

int braking_check(const struct braking *braking, const char *policy, struct diag *diag)
{
    if (braking->off_frac <= 0.0)
        return diag_error(diag, SIM_E_CONFIG, NULL, "raise brake_off",
                          "power_cap policy '%s': no power is below brake_off (0), so the brake would never release",
                          policy);
    if (braking->off_frac <= braking->on_frac) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "lower brake_off, or raise brake_on",
                      "power_cap policy '%s': the brake releases below brake_off (%g), which is above brake_on (%g)",
                      policy, braking->off_frac, braking->on_frac);
}

int braking_check_threshold(const struct braking *braking, double threshold_frac, double hysteresis_frac,
                            const char *key, const char *policy, struct diag *diag)
{
    if (hysteresis_frac >= threshold_frac)
        return diag_error(
            diag, SIM_E_CONFIG, NULL, "lower hysteresis",
            "power_cap policy '%s': no power is the hysteresis (%g) below %s (%g), so no lock would be lifted", policy,
            hysteresis_frac, key, threshold_frac);
    if (threshold_frac <= braking->on_frac) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "lower it, or raise brake_on: the brake is the last resort",
                      "power_cap policy '%s': %s (%g) is above brake_on (%g), so the brake engages before the lock",
                      policy, key, threshold_frac, braking->on_frac);
}

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
