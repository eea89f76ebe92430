/* A fixed lock of the SM clock. */
#include "policies/declared.h"
#include "sim/world/policy/power_cap.h"

#include <math.h>

struct static_lock {
    double clock_hz;
    int on;
};

static const char *const static_lock_groups[] = {"all", "low", NULL};

#define ROW_OF struct static_lock
static const struct config_field static_lock_fields[] = {
    ROW_QUANTITY("clock", clock_hz, UNIT_FREQUENCY, DEFAULT("1275MHz"), AT_LEAST(1e6), "SM clock of each GPU"),
    ROW_CHOICE("on", on, DEFAULT("all"), static_lock_groups, "GPUs of all work, or of low priority only"),
    {0}};
#undef ROW_OF

static int static_lock_setup(void *state, const struct power_view *view, struct power_plan *plan)
{
    const struct static_lock *locker = state;
    const double clock_hz = fmax(locker->clock_hz, view->least_hz);
    power_plan_lock(plan, POWER_LOW, clock_hz, "as configured");
    if (locker->on == 0) power_plan_lock(plan, POWER_HIGH, clock_hz, "as configured");
    return 0;
}

const struct power_capper power_cap_static_lock = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "static-lock",
               .summary = "fixed lock of the SM clock",
               .source = "nvidia-smi -lgc; Patel et al., POLCA, ASPLOS 2024, frequency locking",
               .params = static_lock_fields,
               .params_bytes = sizeof(struct static_lock),
               .state_bytes = sizeof(struct static_lock)},
    .setup = static_lock_setup,
};
