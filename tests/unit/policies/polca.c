/* POLCA's state machine on scripted series of power, through the interface of its family, with commands that take their
 * time: which command is given at which reading, and none twice. Then its baselines. */
#include "policies/declared.h"
#include "policies/registry.h"
#include "sim/world/policy/instance.h"
#include "sim/world/policy/power_cap.h"
#include "tests/support/harness.h"

enum { PERIOD_S = 2, LATENCY_S = 40, BRAKE_S = 5, MAX_LOG = 512 };

static const double budget_w = 1000.0;

/* A row whose power is what the script says, whatever it is told to do. */
struct rig {
    const struct power_capper *capper;
    void *state;
    struct power_view view;
    char log[MAX_LOG];
    size_t n_log;
    int64_t at_s;
};

static bool rig_open(struct rig *rig, const char *name, const char *param, double value)
{
    *rig = (struct rig){.capper = (const void *)policy_find(POLICY_POWER_CAP, name),
                        .view = {.name = "row0", .budget_w = budget_w, .highest_hz = 1410e6, .gpu_limit_w = 400,
                                 .brake_hz = 288e6, .reading = {.mean_w = (double)NAN}}};
    if (!CHECK(rig->capper != NULL)) return false;
    struct {
        double values[32];
    } params = {{0}};
    struct diag diag = {0};
    for (const struct config_field *field = rig->capper->policy.params; field->name != NULL; field++) {
        double number = 0;
        if (field->kind == CONFIG_REAL) number = strtod(field->value, NULL);
        if (field->kind == CONFIG_QUANTITY) number = strtod(field->value, NULL) * 1e6; /* all of MHz */
        if (param != NULL && strcmp(field->name, param) == 0) number = value;
        if (field->kind == CONFIG_CHOICE)
            *(int *)(void *)((char *)&params + field->offset) = (int)number;
        else
            *(double *)(void *)((char *)&params + field->offset) = number;
    }
    rig->state = mem_zalloc(1, rig->capper->policy.state_bytes);
    return CHECK(rig->state != NULL) &&
           CHECK_EQ_INT(policy_state_init(&rig->capper->policy, rig->state, &params, &diag), 0);
}

static struct power_group_view *target_of(struct rig *rig, int target)
{
    return target == POWER_TARGET_BRAKE ? &rig->view.brake : &rig->view.groups[target];
}

/* Logs a command as "4:low=1275", times in seconds, clocks in MHz. */
static void take(struct rig *rig, int target, const struct power_command *command)
{
    static const char *const names[] = {"low", "high", "brake"};
    struct power_group_view *group = target_of(rig, target);
    group->ordered = command->setting;
    group->in_flight = true;
    group->effect_ns = rig->view.now_ns + (target == POWER_TARGET_BRAKE ? BRAKE_S : LATENCY_S) * SIM_NS_PER_S;
    rig->n_log += (size_t)snprintf(rig->log + rig->n_log, MAX_LOG - rig->n_log, "%s%lld:%s=%.0f",
                                   rig->n_log > 0 ? " " : "", (long long)rig->at_s, names[target],
                                   command->setting.clock_hz * 1e-6);
}

/* A reading of `frac` of the budget every period, so often. */
static void feed(struct rig *rig, double frac, int times)
{
    for (int i = 0; i < times; i++) {
        struct power_plan plan = {0};
        rig->at_s += PERIOD_S;
        rig->view.now_ns = rig->at_s * SIM_NS_PER_S;
        for (int target = 0; target < POWER_TARGETS; target++) {
            struct power_group_view *group = target_of(rig, target);
            if (!group->in_flight || group->effect_ns > rig->view.now_ns) continue;
            group->in_flight = false;
            group->in_force = group->ordered;
        }
        rig->view.reading = (struct power_reading){frac * budget_w, rig->view.now_ns - PERIOD_S * SIM_NS_PER_S,
                                                   rig->view.now_ns};
        CHECK_EQ_INT(rig->capper->decide(rig->state, &rig->view, &plan), 0);
        for (int target = 0; target < POWER_TARGETS; target++)
            if (plan.commands[target].given) take(rig, target, &plan.commands[target]);
    }
}

static void rig_close(struct rig *rig, const char *log)
{
    CHECK_EQ_STR(rig->log, log);
    mem_free(rig->state);
}

TEST(thresholds)
{
    struct rig rig;
    if (!rig_open(&rig, "polca", NULL, 0)) return;
    feed(&rig, 0.80, 5);                    /* 10: not above the first threshold */
    feed(&rig, 0.801, 1);                   /* 12: above it */
    feed(&rig, 0.88, 30);                   /* 72: once only, in flight or in force */
    feed(&rig, 0.89, 1);                    /* 74 */
    feed(&rig, 0.891, 1);                   /* 76: above the second one */
    feed(&rig, 0.95, 20);                   /* 116: in force, but the reading is of before */
    feed(&rig, 0.95, 1);                    /* 118: still above: high priority */
    feed(&rig, 0.95, 40);                   /* 198 */
    feed(&rig, 0.84, 3);                    /* 204: within the hysteresis */
    feed(&rig, 0.839, 1);                   /* 206: back to the first level */
    feed(&rig, 0.75, 4);                    /* 214: within the other */
    feed(&rig, 0.749, 1);                   /* 216 */
    feed(&rig, 0.3, 30);
    rig_close(&rig, "12:low=1275 76:low=1110 118:high=1305 206:low=1275 206:high=0 216:low=0");
}

TEST(a_rise_while_a_command_is_in_flight)
{
    struct rig rig;
    if (!rig_open(&rig, "polca", NULL, 0)) return;
    feed(&rig, 0.85, 1);  /* 2: first level */
    feed(&rig, 0.95, 1);  /* 4: the second replaces it on its way */
    feed(&rig, 0.95, 19); /* 42: 1275 would be in force by now, 1110 comes at 44 */
    feed(&rig, 0.85, 20); /* 82: that was enough: high priority is left alone */
    feed(&rig, 0.95, 1);  /* 84: 1110 is in force and it is above again */
    rig_close(&rig, "2:low=1275 4:low=1110 84:high=1305");
}

TEST(a_fall_while_a_command_is_in_flight)
{
    struct rig rig;
    if (!rig_open(&rig, "polca", NULL, 0)) return;
    feed(&rig, 0.85, 1);
    feed(&rig, 0.70, 1);
    feed(&rig, 0.85, 1);
    rig_close(&rig, "2:low=1275 4:low=0 6:low=1275");
}

TEST(the_brake)
{
    struct rig rig;
    if (!rig_open(&rig, "polca", NULL, 0)) return;
    feed(&rig, 1.0, 1);   /* 2: at the budget is not above it */
    feed(&rig, 1.01, 3);  /* 8: once, on its way */
    feed(&rig, 0.5, 1);   /* 10: it is on since 9, but this reading began at 8 */
    feed(&rig, 0.5, 1);   /* 12: let go; no lock is lifted for that */
    feed(&rig, 0.5, 2);   /* 16: off from 17 on */
    feed(&rig, 0.95, 14); /* 44: low priority is at 1110 since 42 */
    feed(&rig, 1.2, 1);   /* 46: both the brake and high priority */
    feed(&rig, 0.9, 4);   /* 54: on, and power is still high */
    rig_close(&rig, "2:low=1110 4:brake=288 12:brake=0 44:high=1305 46:brake=288");
}

TEST(the_brake_keeps_locks)
{
    struct rig rig;
    if (!rig_open(&rig, "polca", NULL, 0)) return;
    feed(&rig, 1.1, 1); /* 2 */
    feed(&rig, 0.4, 3); /* 8: on at 7 */
    feed(&rig, 0.4, 1); /* 10: let go, off at 15 */
    feed(&rig, 0.4, 3); /* 16: a reading from 14 on */
    feed(&rig, 0.4, 1); /* 18: of a time without brake */
    rig_close(&rig, "2:low=1110 2:brake=288 10:brake=0 18:low=0");
}

TEST(one_threshold)
{
    struct rig rig;
    for (int on = 0; on < 2; on++) {
        if (!rig_open(&rig, "single-threshold", "on", on)) return;
        feed(&rig, 0.89, 2);
        feed(&rig, 0.9, 30);
        feed(&rig, 0.84, 2);
        feed(&rig, 0.83, 2);
        rig_close(&rig, on == 0 ? "6:low=1110 70:low=0" : "6:low=1110 6:high=1110 70:low=0 70:high=0");
    }
}

TEST(brake_alone)
{
    struct rig rig;
    if (!rig_open(&rig, "brake", NULL, 0)) return;
    feed(&rig, 0.99, 3);
    feed(&rig, 1.1, 5);
    feed(&rig, 0.84, 2);
    feed(&rig, 0.83, 5);
    rig_close(&rig, "8:brake=288 22:brake=0");
}
