/* A lock of the SM clock that stands from the beginning. */
#include "policies/declared.h"
#include "sim/world/policy/power_cap.h"

struct static_lock {
    double clock_hz;
    int on;
};

static const char *const static_lock_groups[] = {"all", "low", NULL};

static const struct config_field static_lock_fields[] = {
    {.name = "clock", .kind = CONFIG_QUANTITY, .dim = UNIT_FREQUENCY, .offset = offsetof(struct static_lock, clock_hz),
     .value = "1275MHz", .min = 1e6, .max = 0, .help = "SM clock of each GPU"},
    {.name = "on", .kind = CONFIG_CHOICE, .offset = offsetof(struct static_lock, on), .value = "all",
     .choices = static_lock_groups, .help = "GPUs of all work, or of low priority only"},
    {0}};

static int static_lock_setup(void *state, const struct power_view *view, struct power_plan *plan)
{
    const struct static_lock *locker = state;
    (void)view;
    power_plan_lock(plan, POWER_LOW, locker->clock_hz, "as configured");
    if (locker->on == 0) power_plan_lock(plan, POWER_HIGH, locker->clock_hz, "as configured");
    return 0;
}

const struct power_capper power_cap_static_lock = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "static-lock",
               .summary = "a lock of the SM clock, all the time",
               .source = "nvidia-smi -lgc; Patel et al., POLCA, ASPLOS 2024, frequency locking",
               .params = static_lock_fields,
               .params_bytes = sizeof(struct static_lock),
               .state_bytes = sizeof(struct static_lock)},
    .setup = static_lock_setup,
};
