#include "analysis/calibrate/predict.h"

#include <math.h>

int predict_profile(const struct calibration *calibration, const char *set, const struct profile *profile,
                    struct prediction *prediction, struct diag *diag)
{
    *prediction = (struct prediction){.set = set, .in_range_frac = (double)NAN};
    if (profile->n == 0) return diag_error(diag, SIM_E_DATA, profile->path, NULL, "there are no rows to predict");
    double *predicted_s = mem_zalloc(profile->n, sizeof *predicted_s);
    if (predicted_s == NULL) return SIM_E_NOMEM;
    size_t n_inside = 0;
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *row = &profile->rows[i];
        const union kernel_params *params = &calibration->kernels.params[row->call.class];
        predicted_s[i] = kernel_call_time(params, row->gpu, &row->call).seconds;
        n_inside += kernel_in_range(&calibration->kernels, &row->call);
        prediction->is_default |= !calibration->kernels.ranges[row->call.class].fitted;
    }
    prediction->in_range_frac = (double)n_inside / (double)profile->n;
    const int code = fit_cuts_of(profile->rows, predicted_s, profile->n, &prediction->errors);
    mem_free(predicted_s);
    return code;
}
