/* POLCA (Patel et al., "Characterizing Power Management Opportunities for LLMs in the Cloud", ASPLOS 2024): two
 * thresholds with hysteresis, two priorities, and the power brake. With p the power over the budget:
 *
 *     p > 1             the brake
 *     p > t2            low priority at its second clock; when that has taken effect and p is still above,
 *                       high priority, too
 *     p > t1            low priority at its first clock
 *     p < t2 - h        back to what t1 asks for
 *     p < t1 - h        nothing is locked
 *
 * A command that is on its way is not given again; another one for the same GPUs may replace it. That p is "still"
 * above is said by a reading whose window began after the effect. While the brake is on or on its way, power says
 * nothing of what it would be without, and no lock is lifted. (The paper does not say when the brake is let go: here
 * below t2 - h.) */
#include "policies/declared.h"
#include "policies/power_cap/braking.h"

struct polca_params {
    double t1_frac, t2_frac, hysteresis_frac;
    double low_t1_hz, low_t2_hz, high_t2_hz;
    struct braking braking;
};

enum polca_level { POLCA_FREE, POLCA_T1, POLCA_T2, POLCA_T2_HIGH };

struct polca {
    struct polca_params params;
    enum polca_level level;
};

#define ROW_OF struct polca_params
#define CLOCK(key, member, hertz, help_)                                                                               \
    ROW_QUANTITY(key, member, UNIT_FREQUENCY, DEFAULT(hertz), AT_LEAST(1e6), help_)
static const struct config_field polca_fields[] = {
    ROW_REAL("t1", t1_frac, DEFAULT("0.8"), WITHIN(0.01, 10), "first threshold of power / budget"),
    ROW_REAL("t2", t2_frac, DEFAULT("0.89"), WITHIN(0.01, 10), "second threshold of power / budget"),
    ROW_REAL("hysteresis", hysteresis_frac, DEFAULT("0.05"), WITHIN(0, 10),
             "a lock is lifted when power / budget is this far below its threshold"),
    CLOCK("low_t1", low_t1_hz, "1275MHz", "clock of low priority above the first threshold"),
    CLOCK("low_t2", low_t2_hz, "1110MHz", "clock of low priority above the second threshold"),
    CLOCK("high_t2", high_t2_hz, "1305MHz", "clock of high priority if power stays above the second threshold"),
    BRAKING_ROWS,
    {0}};
#undef CLOCK
#undef ROW_OF

static int polca_init(void *state, const void *given, struct diag *diag)
{
    struct polca *polca = state;
    polca->params = *(const struct polca_params *)given;
    const struct polca_params *params = &polca->params;
    if (params->t1_frac >= params->t2_frac)
        return diag_error(diag, SIM_E_CONFIG, NULL, "lower t1, or raise t2",
                          "power_cap policy 'polca': t1 (%g) is not below t2 (%g)", params->t1_frac, params->t2_frac);
    if (params->low_t1_hz < params->low_t2_hz)
        return diag_error(diag, SIM_E_CONFIG, NULL, "lower low_t2, or raise low_t1",
                          "power_cap policy 'polca': low_t2 (%g MHz), for more power, is faster than low_t1 (%g MHz)",
                          params->low_t2_hz * 1e-6, params->low_t1_hz * 1e-6);
    int code = braking_check(&params->braking, "polca", diag);
    if (code == 0)
        code = braking_check_threshold(&params->braking, params->t1_frac, params->hysteresis_frac, "t1", "polca", diag);
    return code != 0 ? code
                     : braking_check_threshold(&params->braking, params->t2_frac, params->hysteresis_frac, "t2",
                                               "polca", diag);
}

/* The clock at which a group is locked; 0: not locked. */
static double clock_at(const struct polca *polca, enum power_group group, enum polca_level level)
{
    const struct polca_params *params = &polca->params;
    if (group == POWER_HIGH) return level == POLCA_T2_HIGH ? params->high_t2_hz : 0.0;
    return level >= POLCA_T2 ? params->low_t2_hz : level == POLCA_T1 ? params->low_t1_hz : 0.0;
}

static enum polca_level level_after(const struct polca *polca, const struct power_view *view, bool is_braking)
{
    const struct polca_params *params = &polca->params;
    const double used = power_used_frac(view);
    const enum polca_level level = polca->level;
    if (used > params->t2_frac) {
        const bool still = level >= POLCA_T2 && power_group_is_settled(view, &view->groups[POWER_LOW]);
        return level == POLCA_T2_HIGH || still ? POLCA_T2_HIGH : POLCA_T2;
    }
    if (used > params->t1_frac && level == POLCA_FREE) return POLCA_T1;
    if (is_braking) return level;
    if (used < params->t1_frac - params->hysteresis_frac) return POLCA_FREE;
    if (used < params->t2_frac - params->hysteresis_frac && level > POLCA_T1) return POLCA_T1;
    return level;
}

static int polca_decide(void *state, const struct power_view *view, struct power_plan *plan)
{
    static const char *const reasons[] = {[POLCA_FREE] = "power has fallen below the first threshold",
                                          [POLCA_T1] = "power is between the thresholds",
                                          [POLCA_T2] = "power is above the second threshold",
                                          [POLCA_T2_HIGH] = "power is still above the second threshold"};
    struct polca *polca = state;
    polca->level = level_after(polca, view, braking_step(&polca->params.braking, view, plan));
    for (int i = 0; i < POWER_GROUPS; i++) {
        const enum power_group group = (enum power_group)i;
        power_plan_lock_once(view, plan, group, clock_at(polca, group, polca->level), reasons[polca->level]);
    }
    return 0;
}

const struct power_capper power_cap_polca = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "polca",
               .summary = "two thresholds: lower clocks for low priority, then for high priority, then the brake",
               .source = "Patel et al., POLCA, ASPLOS 2024",
               .params = polca_fields,
               .params_bytes = sizeof(struct polca_params),
               .state_bytes = sizeof(struct polca),
               .init = polca_init},
    .decide = polca_decide,
};
