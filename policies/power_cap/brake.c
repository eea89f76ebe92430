/* The power brake alone, as in a row without capping (POLCA's baseline "No-cap"). */
#include "policies/declared.h"
#include "policies/power_cap/braking.h"

struct brake {
    struct braking braking;
};

#define ROW_OF struct brake
static const struct config_field brake_fields[] = {BRAKING_ROWS, {0}};
#undef ROW_OF

static int brake_init(void *state, const void *params, struct diag *diag)
{
    struct brake *brake = state;
    *brake = *(const struct brake *)params;
    return braking_check(&brake->braking, "brake", diag);
}

static int brake_decide(void *state, const struct power_view *view, struct power_plan *plan)
{
    const struct brake *brake = state;
    braking_step(&brake->braking, view, plan);
    return 0;
}

const struct power_capper power_cap_brake = {
    .policy = {POLICY_HEAD(power_capper, POLICY_POWER_CAP),
               .name = "brake",
               .summary = "no capping; above the budget the power brake slows all GPUs",
               .source = "Patel et al., POLCA, ASPLOS 2024, baseline No-cap",
               .params = brake_fields,
               .params_bytes = sizeof(struct brake),
               .state_bytes = sizeof(struct brake),
               .init = brake_init},
    .decide = brake_decide,
};
