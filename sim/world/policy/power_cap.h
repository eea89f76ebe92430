/* Power capping: clocks and power limits in a power domain. The view of a domain, the plan, the struct of a capper.
 *
 * A capper holds one domain below its budget: a server, a rack, a row or the site. It learns of the domain's power by
 * telemetry, which is a mean over a window and comes late, and of its own commands at once. Commands take effect late
 * (out of band: 40 s), the brake sooner (5 s). GPUs are in two groups, those of work of low and of high priority. */
#ifndef ORRERY_WORLD_POLICY_POWER_CAP_H
#define ORRERY_WORLD_POLICY_POWER_CAP_H

#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

enum power_group { POWER_LOW, POWER_HIGH, POWER_GROUPS };

/* Clock and power limit of the GPUs of a group. All zero: none. */
struct power_setting {
    double clock_hz; /* lock of the SM clock; 0: none. A GPU whose highest clock is lower keeps that */
    double cap_w;    /* power limit of each GPU; 0: its own */
    double cap_frac; /* the same, as a share of each GPU's own limit; 0: all of it. With cap_w, the lower one holds */
};

static inline bool power_setting_is_held(const struct power_setting *setting)
{
    return setting->clock_hz > 0.0 || setting->cap_w > 0.0 || setting->cap_frac > 0.0;
}

struct power_group_view {
    int64_t gpus;
    struct power_setting in_force, ordered; /* ordered: by the latest command */
    bool in_flight;                         /* the latest command has not taken effect yet */
    sim_ns effect_ns;                       /* when it does, or did; 0: there was none */
};

struct power_reading {
    double mean_w;
    sim_ns from_ns, to_ns; /* over this time */
};

struct power_view {
    sim_ns now_ns;
    int32_t domain;   /* number among the domains of its level */
    const char *name; /* "row0" */
    double budget_w;
    struct power_reading reading;    /* the latest received; mean_w NAN: none yet */
    double highest_hz, gpu_limit_w;  /* of its GPUs, the most */
    double brake_hz;                 /* SM clock under the brake, at least least_hz */
    struct power_group_view groups[POWER_GROUPS];
    struct power_group_view brake;   /* clock_hz: brake_hz or 0 */
    double least_hz;                 /* lowest clock that a command may set: that of the GPU with the highest */
};

enum power_target { POWER_TARGET_LOW, POWER_TARGET_HIGH, POWER_TARGET_BRAKE, POWER_TARGETS };

struct power_command {
    bool given;
    struct power_setting setting; /* of the brake: any clock sets it, none releases it */
    const char *reason;           /* a static text */
};

/* At most one command for each group and one for the brake. A command replaces those for its target that are in
 * flight. */
struct power_plan {
    struct power_command commands[POWER_TARGETS];
};

static inline void power_plan_lock(struct power_plan *plan, enum power_group group, double clock_hz, const char *reason)
{
    plan->commands[group] = (struct power_command){true, {.clock_hz = clock_hz}, reason};
}

static inline void power_plan_cap(struct power_plan *plan, enum power_group group, double cap_w, const char *reason)
{
    plan->commands[group] = (struct power_command){true, {.cap_w = cap_w}, reason};
}

static inline void power_plan_cap_share(struct power_plan *plan, enum power_group group, double cap_frac,
                                        const char *reason)
{
    plan->commands[group] = (struct power_command){true, {.cap_frac = cap_frac}, reason};
}

static inline void power_plan_free(struct power_plan *plan, enum power_group group, const char *reason)
{
    plan->commands[group] = (struct power_command){.given = true, .reason = reason};
}

static inline void power_plan_brake(struct power_plan *plan, const struct power_view *view, bool on, const char *reason)
{
    plan->commands[POWER_TARGET_BRAKE] =
        (struct power_command){true, {.clock_hz = on ? view->brake_hz : 0.0}, reason};
}

/* Whether the latest command for a group is this one, in force or on its way. */
static inline bool power_group_is_ordered(const struct power_group_view *group, struct power_setting setting)
{
    return group->ordered.clock_hz == setting.clock_hz && group->ordered.cap_w == setting.cap_w &&
           group->ordered.cap_frac == setting.cap_frac;
}

/* --- The family --- */

/* Each domain has a state of its own. Both functions return 0 or a negative code.
 *
 * setup: plans the settings in force from the beginning, before the first reading. NULL: none.
 *
 * decide: called for each reading. The plan is empty when handed over; settings without a command stay in force. NULL:
 * never called. */
#define POWER_CAPPER_FUNCTIONS(X)                                                                                      \
    X(power_capper, OPTIONAL, int, setup, (void *state, const struct power_view *view, struct power_plan *plan),       \
      (state, view, plan), view, POLICY_NONE)                                                                          \
    X(power_capper, OPTIONAL, int, decide, (void *state, const struct power_view *view, struct power_plan *plan),      \
      (state, view, plan), view, POLICY_NONE)

struct power_capper {
    struct policy policy;
    POWER_CAPPER_FUNCTIONS(POLICY_MEMBER)
};

#endif
