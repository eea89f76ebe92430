/* Replica counts by time of day. A step holds from its time until the next one; the last one holds until the first of
 * the next period. It takes effect at the first decision not before it. Without steps the number stays. */
#include "policies/declared.h"
#include "sim/world/policy/autoscaling.h"

struct step {
    sim_ns at_ns;
    int64_t replicas;
};

struct schedule {
    sim_ns period_ns;
    struct config_list steps; /* struct step; outlives the policy */
};

#define ROW_OF struct step
static const struct config_field step_fields[] = {
    ROW_TIME("at", at_ns, REQUIRED, WITHIN(0, 9e9), "time of the period from which the step holds"),
    ROW_INT("replicas", replicas, REQUIRED, WITHIN(0, 1e6), "number of replicas"),
    {0}};
#undef ROW_OF

#define ROW_OF struct schedule
static const struct config_field schedule_fields[] = {
    ROW_TIME("period", period_ns, DEFAULT("1d"), WITHIN(1e-3, 9e9), "period after which the steps repeat"),
    ROW_LIST("steps", steps, OPTIONAL, ANY, struct step, step_fields,
             "replicas over time; none: the number at the start"),
    {0}};
#undef ROW_OF

static int schedule_init(void *state, const void *params, struct diag *diag)
{
    struct schedule *schedule = state;
    *schedule = *(const struct schedule *)params;
    const struct step *steps = schedule->steps.items;
    for (size_t i = 0; i < schedule->steps.n; i++) {
        if (i > 0 && steps[i].at_ns <= steps[i - 1].at_ns)
            return diag_error(diag, SIM_E_CONFIG, NULL, "sort them by 'at', each time once",
                              "step %zu of a replica schedule is not later than the one before it", i + 1);
        if (steps[i].at_ns >= schedule->period_ns)
            return diag_error(diag, SIM_E_CONFIG, NULL, "raise 'period', or leave the step out",
                              "step %zu of a replica schedule is beyond its period", i + 1);
    }
    return 0;
}

static int schedule_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    const struct schedule *schedule = state;
    const struct step *steps = schedule->steps.items;
    const sim_ns at_ns = view->now_ns % schedule->period_ns;
    if (schedule->steps.n == 0) return 0;
    size_t i = schedule->steps.n - 1;
    while (i > 0 && steps[i].at_ns > at_ns) i--;
    if (steps[i].at_ns > at_ns) i = schedule->steps.n - 1;
    plan->replicas = steps[i].replicas;
    plan->reason = "as scheduled";
    return 0;
}

const struct autoscaler autoscaling_schedule = {
    .policy = {POLICY_HEAD(autoscaler, POLICY_AUTOSCALING),
               .name = "schedule",
               .summary = "replicas by time of day",
               .source = "folklore (cron; AWS Auto Scaling: scheduled actions)",
               .params = schedule_fields,
               .params_bytes = sizeof(struct schedule),
               .state_bytes = sizeof(struct schedule),
               .init = schedule_init},
    .decide = schedule_decide,
};
