#include "analysis/calibrate/roofline.h"

enum { START, COMPUTE, BANDWIDTH, PARAMS };

static const struct kernel_param params_table[PARAMS] = {
    [START] = {"start", "launch, ramp and drain of a kernel", PARAM_SECONDS, PARAM_FITTED, 4e-6, 1e-8, 1e-3},
    [COMPUTE] = {"compute_efficiency", "share of the peak of fp16", PARAM_PLAIN, PARAM_FITTED, 0.6, 0.01, 4.0},
    [BANDWIDTH] = {"bandwidth_efficiency", "share of the memory bandwidth", PARAM_PLAIN, PARAM_FITTED, 0.7, 0.01, 10.0},
};

/* What a call does, whatever the parameters. */
static struct kernel_time work_of(const struct profile_row *row)
{
    const struct fit_model model = fit_model_of(row->call.class);
    const union kernel_params params = fit_model_initial(&model);
    return kernel_call_time(&params, row->gpu, &row->call);
}

static double seconds(const union kernel_params *params, const struct profile_row *row)
{
    const struct kernel_time work = work_of(row);
    const double peak_flop_per_s = gpu_peak_flop_per_s(row->gpu, FORMAT_FP16);
    const double compute_s = work.flop / (params->values[COMPUTE] * peak_flop_per_s);
    const double memory_s = work.bytes / (params->values[BANDWIDTH] * row->gpu->memory_bytes_per_s);
    return params->values[START] + (compute_s > memory_s ? compute_s : memory_s);
}

struct fit_model fit_roofline(enum kernel_class class)
{
    return (struct fit_model){
        .class = class, .name = "roofline", .params = params_table, .n_params = PARAMS, .seconds = seconds};
}

bool fit_has_roofline(const struct profile_row *rows, size_t n)
{
    if (n == 0) return false;
    const struct kernel_time work = work_of(&rows[0]);
    return work.flop > 0.0 && work.bytes > 0.0;
}
