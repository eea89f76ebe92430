#include "analysis/calibrate/power/power_baseline.h"

#include <math.h>
#include <string.h>

const char *power_baseline_name(enum power_baseline baseline)
{
    static const char *const names[BASELINES] = {"constant", "log-batch"};
    return names[baseline];
}

bool power_baseline_applies(enum power_baseline baseline, const struct power_row *rows, size_t n)
{
    bool has_batch = n > 0;
    for (size_t i = 0; i < n; i++) has_batch &= rows[i].batch > 0.0;
    return baseline == BASELINE_CONSTANT || has_batch;
}

static double place_of(enum power_baseline baseline, const struct power_row *row)
{
    return baseline == BASELINE_LOG_BATCH ? log(row->batch) : 0.0;
}

static bool is_alone(const struct power_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(rows[i].group, rows[0].group) != 0) return false;
    return true;
}

/* Watts at a place on the line of least squares through the rows of other groups than `held_out` (NULL: all rows). */
static double predicted_w(enum power_baseline baseline, const struct power_row *rows, size_t n, const char *held_out,
                          double at)
{
    double kept = 0.0, x_sum = 0.0, y_sum = 0.0, xx_sum = 0.0, xy_sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (held_out != NULL && strcmp(rows[i].group, held_out) == 0) continue;
        const double x = place_of(baseline, &rows[i]), y = rows[i].measured_w;
        kept++;
        x_sum += x;
        y_sum += y;
        xx_sum += x * x;
        xy_sum += x * y;
    }
    const double x_mean = x_sum / kept, y_mean = y_sum / kept, spread = xx_sum / kept - x_mean * x_mean;
    const double slope = spread > 1e-12 ? (xy_sum / kept - x_mean * y_mean) / spread : 0.0;
    return y_mean + slope * (at - x_mean);
}

void power_baseline_errors(enum power_baseline baseline, const struct power_row *rows, size_t n, double *errors)
{
    const bool alone = is_alone(rows, n);
    for (size_t i = 0; i < n; i++) {
        const double watts = predicted_w(baseline, rows, n, alone ? NULL : rows[i].group, place_of(baseline, &rows[i]));
        errors[i] = watts / rows[i].measured_w - 1.0;
    }
}
