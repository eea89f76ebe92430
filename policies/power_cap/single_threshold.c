/* One threshold: above it a group of GPUs is locked at a lower clock, until power has fallen some way below (POLCA's
 * baselines on low priority only, and on all work). The brake is the last resort. */
#include "policies/declared.h"
#include "policies/power_cap/braking.h"

struct single_threshold {
    double threshold_frac, hysteresis_frac, clock_hz;
    int on;
    struct braking braking;
};

static const char *const single_threshold_groups[] = {"low", "all", NULL};

#define ROW_OF struct single_threshold
static const struct config_field single_threshold_fields[] = {
    ROW_REAL("threshold", threshold_frac, DEFAULT("0.89"), WITHIN(0.01, 10),
             "power / budget above which the clock is locked"),
    ROW_REAL("hysteresis", hysteresis_frac, DEFAULT("0.05"), WITHIN(0, 10),
             "the lock is lifted when power / budget is this far below the threshold"),
    ROW_QUANTITY("clock", clock_hz, UNIT_FREQUENCY, DEFAULT("1110MHz"), AT_LEAST(1e6), "locked SM clock"),
    ROW_CHOICE("on", on, DEFAULT("low"), single_threshold_groups, "GPUs of low priority, or of all work"),
    BRAKING_ROWS,
    {0}};
#undef ROW_OF

static int single_threshold_init(void *state, const void *params, struct diag *diag)
{
    struct single_threshold *capper = state;
    *capper = *(const struct single_threshold *)params;
    const int code = braking_check(&capper->braking, "single-threshold", diag);
    if (code != 0) return code;
    return braking_check_threshold(&capper->braking, capper->threshold_frac, capper->hysteresis_frac, "threshold",
                                   "single-threshold", diag);
}

static int single_threshold_decide(void *state, const struct power_view *view, struct power_plan *plan)
{
    const struct single_threshold *capper = state;
    const double used = power_used_frac(view);
    const bool is_braking = braking_step(&capper->braking, view, plan);
    const bool above = used > capper->threshold_frac;
    const bool below = used < capper->threshold_frac - capper->hysteresis_frac && !is_braking;
    for (int group = POWER_LOW; group <= (capper->on == 0 ? POWER_LOW : POWER_HIGH) && (above || below); group++)
        power_plan_lock_once(view, plan, (enum power_group)group, above ? capper->clock_hz : 0.0,
                             above ? "power is above the threshold" : "power has fallen below the threshold");
    return 0;
}

const struct power_capper power_cap_single_threshold = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "single-threshold",
               .summary = "above a threshold, a lower clock for low priority or for all work",
               .source = "Patel et al., POLCA, ASPLOS 2024, baselines 1-Thresh-Low-Pri and 1-Thresh-All",
               .params = single_threshold_fields,
               .params_bytes = sizeof(struct single_threshold),
               .state_bytes = sizeof(struct single_threshold),
               .init = single_threshold_init},
    .decide = single_threshold_decide,
};
