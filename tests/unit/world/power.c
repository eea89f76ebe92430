/* The law of a GPU's power: what holds for any parameters, and what the catalog says of GPUs. */
#include "models/power.h"
#include "sim/catalog/power.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

static const struct power_model laws[] = {
    {80, 400, 33, 881, 283, 0.65, 0.8, 0, 0},
    {130, 700, 78, 784, 448, 1.0, 0.0, 200, 90},
    {38, 250, 197, 1, 1, 0.84, 0.73, 0, 40}};
enum { N_LAWS = sizeof laws / sizeof *laws, STEPS = 20, AXES = 5 };

static double step(int i)
{
    return (double)i / STEPS;
}

TEST(idle_gpus_draw_their_idle_power)
{
    const struct power_load none = {0};
    for (int i = 0; i < N_LAWS; i++) CHECK_NEAR(power_draw_w(&laws[i], &none), laws[i].context_w, 0.0);
}

TEST(power_grows_with_what_is_achieved_up_to_the_limit)
{
    for (int i = 0; i < N_LAWS; i++) {
        double before[AXES] = {0};
        for (int k = 0; k <= STEPS; k++) {
            const struct power_load loads[AXES] = {{1, step(k), 0.3, 0, 0}, {1, 0.1, step(k), 0, 0},
                                                   {step(k), 0.1, 0.3, 0, 0}, {1, 0.1, 0.6, 0.6 * step(k), 0},
                                                   {1, 0.1, 0.3, 0, step(k)}};
            for (int axis = 0; axis < AXES; axis++) {
                const double watts = power_draw_w(&laws[i], &loads[axis]);
                CHECK(watts >= before[axis] && watts <= laws[i].limit_w && watts >= laws[i].context_w);
                CHECK(watts == fmin(power_demand_w(&laws[i], &loads[axis]), laws[i].limit_w));
                before[axis] = watts;
            }
        }
    }
}

TEST(voltage_falls_with_the_clock_to_its_floor)
{
    for (int i = 0; i < N_LAWS; i++) {
        double before = 0.0;
        CHECK_NEAR(power_voltage_frac(&laws[i], 1.0), 1.0, 1e-15);
        CHECK_NEAR(power_voltage_frac(&laws[i], laws[i].voltage_knee), laws[i].voltage_floor, 1e-15);
        for (int k = 1; k <= STEPS; k++) {
            const double volts = power_voltage_frac(&laws[i], step(k));
            CHECK(volts >= before && volts >= laws[i].voltage_floor && volts <= 1.0);
            before = volts;
        }
    }
}

/* At the highest clock nothing is lost; below it work that waits for the core is slower, and all work draws less. */
TEST(clocks_slow_down_what_waits_for_the_core)
{
    const struct power_load load = {1, 0.2, 0.4, 0.1, 0.1};
    for (int i = 0; i < N_LAWS; i++) {
        const struct power_state full = power_at_clock(&laws[i], &load, 0.9, 1.0);
        CHECK_NEAR(full.speed_frac, 1.0, 1e-15);
        CHECK_NEAR(full.power_w, power_demand_w(&laws[i], &load), 1e-9);
        for (int k = 4; k < STEPS; k++) {
            const struct power_state prompts = power_at_clock(&laws[i], &load, 1.0, step(k));
            const struct power_state decode = power_at_clock(&laws[i], &load, 0.0, step(k));
            CHECK_NEAR(prompts.speed_frac, step(k), 1e-12);
            CHECK_NEAR(decode.speed_frac, 1.0, 1e-12);
            CHECK(prompts.power_w < full.power_w && decode.power_w < full.power_w);
        }
    }
}

TEST(caps_hold_where_a_clock_can_hold_them)
{
    const struct power_load load = {1, 0.2, 0.4, 0.1, 0.1};
    for (int i = 0; i < N_LAWS; i++) {
        const double least_w = power_at_clock(&laws[i], &load, 0.8, POWER_LEAST_CLOCK_FRAC).power_w;
        double before = 0.0;
        for (int k = 1; k <= 2 * STEPS; k++) {
            const double cap_w = 10.0 * k;
            const struct power_state state = power_under_cap(&laws[i], &load, 0.8, cap_w);
            CHECK(state.speed_frac >= before && state.speed_frac <= 1.0);
            if (cap_w >= least_w)
                CHECK(state.power_w <= cap_w + 1e-6 && state.power_w <= laws[i].limit_w + 1e-6);
            else
                CHECK_NEAR(state.power_w, least_w, 1e-6);
            before = state.speed_frac;
        }
    }
}

/* Without a cap a job draws its mean, whatever its share of idling; under one it never gains. */
TEST(jobs_draw_their_mean_without_a_cap)
{
    for (int i = 0; i < N_LAWS; i++) {
        for (int k = 0; k <= STEPS; k++) {
            const double mean_w = laws[i].context_w + 15.0 * k;
            struct power_model model = laws[i];
            model.limit_w = (double)INFINITY;
            const struct power_state free = power_job_under_cap(&model, 0.5, mean_w, 1e4);
            const struct power_state held = power_job_under_cap(&model, 0.5, mean_w,
                                                                0.5 * mean_w + 0.5 * model.context_w);
            CHECK_NEAR(free.power_w, mean_w, 1e-9 * mean_w);
            CHECK_NEAR(free.speed_frac, 1.0, 1e-12);
            CHECK(held.speed_frac <= 1.0 && held.power_w <= mean_w + 1e-9);
        }
    }
}

static int power_of(struct session *session, const char *name, struct gpu_spec *gpu, struct gpu_power *power)
{
    const int code = catalog_gpu(&catalog, name, NULL, &session->arena, gpu, &session->diag);
    return code == 0 ? catalog_gpu_power(&catalog, gpu, &session->arena, power, &session->diag) : code;
}

TEST(the_catalog_marks_measured_power)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu, other;
    struct gpu_power power, alike;
    CHECK_EQ_INT(power_of(&session, "a100-80-sxm", &gpu, &power), 0);
    CHECK(power.is_measured && power.from != NULL && power.model.limit_w == gpu.tdp_w && power.model.context_w == 80.0);
    CHECK_EQ_INT(power_of(&session, "a100-40-sxm", &other, &alike), 0);
    MUST(alike.from != NULL && !alike.is_measured);
    CHECK_EQ_STR(alike.from, "a100-80-sxm");
    CHECK_NEAR(alike.model.memory_w / other.memory_bytes_per_s, power.model.memory_w / gpu.memory_bytes_per_s, 1e-24);
    CHECK_NEAR(alike.model.compute_w, power.model.compute_w, 1e-9);
    CHECK_EQ_INT(power_of(&session, "a40", &gpu, &power), 0);
    CHECK(power.from == NULL && isnan(power.model.active_w) && power.model.voltage_floor < 1.0);
    CHECK(strstr(power.problem, "sweeps") != NULL || strstr(power.problem, "context_power") != NULL);
    CHECK_EQ_INT(power_of(&session, "l4", &gpu, &power), 0);
    CHECK(power.from == NULL && isnan(power.model.active_w) && isnan(power.model.voltage_floor));
}
