#include "sim/world/jobs/job_types.h"

#define ROW_OF struct job_regime
const struct config_field job_regime_fields[] = {
    ROW_REAL("epochs", epochs, REQUIRED, WITHIN(1e-6, 1e6), "its epochs, relative to those of the other regimes"),
    ROW_REAL("speed", speed, REQUIRED, WITHIN(1e-3, 1e3), "epochs per time, relative to the first batch size"),
    ROW_REAL("steps_per_s", steps_per_s, DEFAULT("0"), WITHIN(0, 1e9),
             "steps per second on the requested GPUs, for schedulers that compare jobs by it; 0: not stated"),
    {0}};
#undef ROW_OF

static const struct job_regime *regime_at(const struct config_list *regimes, size_t i)
{
    return (const struct job_regime *)regimes->items + i;
}

/* The number of the mode with this speed among the first n, or n. */
static int32_t mode_of(const struct job_epochs *epochs, double speed)
{
    int32_t mode = 0;
    while (mode < epochs->n_modes && epochs->modes[mode].speed != speed) mode++;
    return mode;
}

/* All modes, with no epoch done. */
static struct job_epochs list_modes(const struct config_list *regimes)
{
    struct job_epochs epochs = {.n_modes = 0};
    for (size_t i = 0; i < regimes->n; i++) {
        const double speed = regime_at(regimes, i)->speed;
        const int32_t mode = mode_of(&epochs, speed);
        if (mode == epochs.n_modes && mode < JOB_MODES) epochs.modes[epochs.n_modes++].speed = speed;
    }
    if (regimes->n == 0) epochs.modes[epochs.n_modes++].speed = 1;
    return epochs;
}

int job_regimes_check(const struct config_list *regimes, const char *where, struct diag *diag)
{
    const struct job_epochs epochs = list_modes(regimes);
    for (size_t i = 0; i < regimes->n; i++)
        if (mode_of(&epochs, regime_at(regimes, i)->speed) == JOB_MODES)
            return diag_error(diag, SIM_E_CONFIG, where, "give regimes with nearly equal speeds one speed",
                              "more than %d different speeds", JOB_MODES);
    return 0;
}

/* The sum of epochs, and of epochs over speed. */
static void sum_up(const struct config_list *regimes, double *epochs, double *time)
{
    *epochs = *time = 0;
    for (size_t i = 0; i < regimes->n; i++) {
        *epochs += regime_at(regimes, i)->epochs;
        *time += regime_at(regimes, i)->epochs / regime_at(regimes, i)->speed;
    }
}

sim_ns job_regimes_run_ns(const struct config_list *regimes, sim_ns first_ns)
{
    double epochs, time;
    if (regimes->n == 0) return first_ns;
    sum_up(regimes, &epochs, &time);
    return sim_ns_from_s(sim_s_from_ns(first_ns) * time / epochs);
}

struct job_epochs job_regimes_epochs(const struct config_list *regimes, double work_frac)
{
    struct job_epochs of = list_modes(regimes);
    double epochs, time;
    if (regimes->n == 0) {
        of.done_frac = of.modes[0].done_frac = work_frac;
        return of;
    }
    sum_up(regimes, &epochs, &time);
    double left = work_frac * time;
    for (size_t i = 0; i < regimes->n; i++) {
        const struct job_regime *regime = regime_at(regimes, i);
        const double own = regime->epochs / regime->speed;
        const double done = (left < own ? left : own) * regime->speed / epochs;
        of.mode = mode_of(&of, regime->speed);
        of.modes[of.mode].done_frac += done;
        of.done_frac += done;
        left -= own;
        if (!(left >= 0)) break;
    }
    return of;
}

double job_regimes_steps_per_s(const struct config_list *regimes, double work_frac)
{
    double epochs, time;
    if (regimes->n == 0) return 0;
    sum_up(regimes, &epochs, &time);
    double left = work_frac * time;
    size_t i = 0;
    for (; i + 1 < regimes->n; i++) {
        left -= regime_at(regimes, i)->epochs / regime_at(regimes, i)->speed;
        if (!(left >= 0)) break;
    }
    return regime_at(regimes, i)->steps_per_s;
}
