#include "models/power.h"

#include <math.h>

enum { BISECTIONS = 40 };

double power_demand_w(const struct power_model *model, const struct power_load *load)
{
    return model->context_w + model->active_w * load->busy_frac + model->compute_w * load->compute_frac +
           model->memory_w * load->memory_frac + model->attention_w * load->attention_frac +
           model->widening_w * load->widening_frac;
}

double power_draw_w(const struct power_model *model, const struct power_load *load)
{
    return fmin(power_demand_w(model, load), model->limit_w);
}

double power_voltage_frac(const struct power_model *model, double clock_frac)
{
    const double above = fmax(0.0, (clock_frac - model->voltage_knee) / (1.0 - model->voltage_knee));
    return model->voltage_floor + (1.0 - model->voltage_floor) * above;
}

struct power_state power_at_clock(const struct power_model *model, const struct power_load *load, double clock_share,
                                  double clock_frac)
{
    const double v = power_voltage_frac(model, clock_frac);
    const double speed = 1.0 / (1.0 - clock_share + clock_share / clock_frac);
    const double work_w = model->compute_w * load->compute_frac + model->widening_w * load->widening_frac;
    const double core_w = model->active_w * load->busy_frac * clock_frac + work_w * speed;
    const double memory_w = model->memory_w * load->memory_frac + model->attention_w * load->attention_frac;
    return (struct power_state){clock_frac, speed, model->context_w + v * v * core_w + memory_w * speed};
}

struct power_state power_under_cap(const struct power_model *model, const struct power_load *load, double clock_share,
                                   double cap_w)
{
    double low = POWER_LEAST_CLOCK_FRAC, high = 1.0;
    cap_w = fmin(cap_w, model->limit_w);
    struct power_state state = power_at_clock(model, load, clock_share, high);
    if (state.power_w <= cap_w) return state;
    for (int i = 0; i < BISECTIONS; i++) {
        const double middle = 0.5 * (low + high);
        if (power_at_clock(model, load, clock_share, middle).power_w <= cap_w)
            low = middle;
        else
            high = middle;
    }
    return power_at_clock(model, load, clock_share, low);
}

/* The load as far as the power limit lets it be. */
static struct power_load within_limit(const struct power_model *model, const struct power_load *load)
{
    const double above_w = power_demand_w(model, load) - model->context_w, room_w = model->limit_w - model->context_w;
    const double kept = above_w > room_w ? room_w / above_w : 1.0;
    return (struct power_load){kept * load->busy_frac, kept * load->compute_frac, kept * load->memory_frac,
                               kept * load->attention_frac, kept * load->widening_frac};
}

struct power_state power_of_phases(const struct power_model *model, const struct power_stage *phases, int n,
                                   double clock_frac, double cap_w)
{
    double time_s = 0.0, slowed_s = 0.0, joules = 0.0, least = 1.0;
    for (int i = 0; i < n; i++) {
        const struct power_load load = within_limit(model, &phases[i].load);
        struct power_state state = power_at_clock(model, &load, phases[i].clock_share, clock_frac);
        if (state.power_w > cap_w) state = power_under_cap(model, &load, phases[i].clock_share, cap_w);
        time_s += phases[i].time_s;
        slowed_s += phases[i].time_s / state.speed_frac;
        joules += phases[i].time_s / state.speed_frac * state.power_w;
        least = fmin(least, state.clock_frac);
    }
    if (!(time_s > 0.0)) return (struct power_state){clock_frac, 1.0, model->context_w};
    return (struct power_state){least, time_s / slowed_s, joules / slowed_s};
}

struct power_state power_job_under_cap(const struct power_model *model, double clock_share, double mean_w, double cap_w)
{
    const double above_w = fmax(mean_w - model->context_w, 0.0), kernels_w = model->active_w + model->memory_w;
    const double more = fmax(1.0, above_w / kernels_w), busy_frac = above_w / (more * kernels_w);
    const struct power_load kernels = {.busy_frac = more, .memory_frac = more};
    const struct power_state state = power_under_cap(model, &kernels, clock_share, cap_w);
    const double busy_time = busy_frac / state.speed_frac, time = 1.0 - busy_frac + busy_time;
    const double energy = model->context_w * (1.0 - busy_frac) + state.power_w * busy_time;
    return (struct power_state){state.clock_frac, 1.0 / time, energy / time};
}
