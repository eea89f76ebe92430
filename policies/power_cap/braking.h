/* The power brake, for policies that have one: it goes on above the budget, and off when power has fallen far enough.
 * Each power that it goes by is a share of the budget. */
#ifndef ORRERY_POLICIES_POWER_CAP_BRAKING_H
#define ORRERY_POLICIES_POWER_CAP_BRAKING_H

#include "sim/world/policy/power_cap.h"

struct braking {
    double on_frac, off_frac;
};

/* Rows of a struct with a member `braking`. */
#define BRAKING_ROWS                                                                                                   \
    ROW_REAL("brake_on", braking.on_frac, DEFAULT("1"), WITHIN(0.01, 1e3),                                             \
             "power over budget above which the brake engages"),                                                       \
        ROW_REAL("brake_off", braking.off_frac, DEFAULT("0.84"), WITHIN(0, 1e3),                                       \
                 "power over budget below which the brake releases")

/* The reading over the budget. */
static inline double power_used_frac(const struct power_view *view)
{
    return view->reading.mean_w / view->budget_w;
}

/* Whether all of the reading is of the time since the group's latest command took effect. */
static inline bool power_group_is_settled(const struct power_view *view, const struct power_group_view *group)
{
    return !group->in_flight && view->reading.from_ns >= group->effect_ns;
}

/* Pulls the brake or lets it go, never again while that is on its way. Returns whether it is on, or going on or off:
 * then readings tell nothing of what GPUs would draw without it. */
bool braking_step(const struct braking *braking, const struct power_view *view, struct power_plan *plan);

#endif
