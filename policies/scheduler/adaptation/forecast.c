#include "policies/scheduler/adaptation/forecast.h"

#include <math.h>

struct forecast forecast_of(const struct job_epochs *epochs, double all_s)
{
    const double prior = 1.0 / epochs->n_modes;
    struct forecast forecast = {0, 0};
    double sum = 0;
    for (int32_t k = 0; k < epochs->n_modes; k++) {
        const double done = epochs->modes[k].done_frac, mode_s = all_s / epochs->modes[k].speed;
        const double left = fmax(0, (prior + done) / (1 + epochs->done_frac) - done);
        forecast.spent_s += done * mode_s;
        forecast.remaining_s += left * mode_s;
        sum += left;
    }
    const double left_frac = fmax(0, 1 - epochs->done_frac);
    forecast.remaining_s = sum > 0 ? left_frac * forecast.remaining_s / sum : 0;
    return forecast;
}
