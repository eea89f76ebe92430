#include "analysis/calibrate/predict.h"

#include <math.h>

int predict_profile(const struct calibration *calibration, const char *set, const struct profile *profile,
                    struct prediction *prediction, struct diag *diag)
{
    *prediction = (struct prediction){.set = set, .in_range_frac = (double)NAN, .table_frac = (double)NAN};
    if (profile->n == 0) return diag_error(diag, SIM_E_DATA, profile->path, NULL, "there are no rows to predict");
    double *predicted_s = mem_zalloc(profile->n, sizeof *predicted_s);
    if (predicted_s == NULL) return SIM_E_NOMEM;
    size_t n_inside = 0, n_measured = 0;
    bool is_finite = true;
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *row = &profile->rows[i];
        enum kernel_basis basis;
        predicted_s[i] = kernel_set_time(&calibration->kernels, row->gpu, &row->call, &basis).seconds;
        is_finite &= isfinite(predicted_s[i]) != 0;
        n_inside += basis != KERNEL_EXTRAPOLATED;
        n_measured += basis == KERNEL_MEASURED;
        prediction->origins[row->call.class] = calibration->origin[row->call.class];
        prediction->is_default |= !calibration->kernels.ranges[row->call.class].fitted;
    }
    prediction->in_range_frac = (double)n_inside / (double)profile->n;
    prediction->table_frac = (double)n_measured / (double)profile->n;
    const int code = is_finite
                         ? fit_cuts_of(profile->rows, predicted_s, profile->n, &prediction->errors)
                         : diag_error(diag, SIM_E_DATA, profile->path, NULL, "a row's predicted time is not finite");
    mem_free(predicted_s);
    return code;
}
