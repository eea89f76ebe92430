#include "tests/support/class_fit.h"

int fit_class(enum kernel_class class, const struct profile_row *rows, size_t n, const bool *held_out,
              union kernel_params *params, struct diag *diag)
{
    const struct fit_model model = fit_model_of(class);
    return fit_model_to(&model, rows, n, held_out, params, diag);
}

double fit_row_error(const struct profile_row *row, const union kernel_params *params)
{
    return kernel_call_time(params, row->gpu, &row->call).seconds / row->measured_s - 1.0;
}

int fit_measure(enum kernel_class class, const struct profile_row *rows, size_t n, const union kernel_params *params,
                double low, double high, struct fit_error *error)
{
    double *errors = mem_alloc((n + 1) * sizeof *errors);
    if (errors == NULL) return SIM_E_NOMEM;
    size_t n_errors = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].call.class != class || rows[i].tokens < low || rows[i].tokens > high) continue;
        errors[n_errors++] = fit_row_error(&rows[i], params);
    }
    *error = fit_error_of(errors, n_errors);
    mem_free(errors);
    return 0;
}
