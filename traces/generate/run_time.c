#include "traces/generate/run_time.h"

#include <math.h>

enum run_law { RUN_EXPONENTIAL, RUN_FIXED, RUN_TWO_MODE, RUN_HYPEREXPONENTIAL, RUN_GAVEL };

/* Run times of Gavel's evaluation (OSDI 2020, section 7.1), with mean 1. */
static double draw_gavel(struct rng *rng)
{
    static const double short_frac = 0.8, low = 1.5, middle = 3, high = 4;
    const double ln_10 = log(10);
    const double short_mean = (pow(10, middle) - pow(10, low)) / (middle - low) / ln_10;
    const double long_mean = (pow(10, high) - pow(10, middle)) / (high - middle) / ln_10;
    const bool is_short = rng_uniform(rng) < short_frac;
    const double x = is_short ? low + (middle - low) * rng_uniform(rng) : middle + (high - middle) * rng_uniform(rng);
    return pow(10, x) / (short_frac * short_mean + (1 - short_frac) * long_mean);
}

double run_draw_s(struct rng *rng, const struct run_params *run)
{
    if (run->law == RUN_FIXED) return run->mean_s;
    if (run->law == RUN_GAVEL) return draw_gavel(rng) * run->mean_s;
    if (run->law == RUN_EXPONENTIAL) return rng_exponential(rng, run->mean_s);
    const double long_of_mean = (1.0 - run->short_frac * run->short_of_mean) / (1.0 - run->short_frac);
    const double mode_s = run->mean_s * (rng_uniform(rng) < run->short_frac ? run->short_of_mean : long_of_mean);
    return run->law == RUN_TWO_MODE ? mode_s : rng_exponential(rng, mode_s);
}

int run_check(const struct run_params *run, const char *what, const char *where, struct diag *diag)
{
    if (run->law == RUN_EXPONENTIAL || run->law == RUN_FIXED || run->short_frac * run->short_of_mean < 1.0) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, NULL, "the short %s alone take its mean run time or more", what);
}

static const char *const law_names[] = {"exponential", "fixed", "two-mode", "hyperexponential", "gavel", NULL};

#define ROW_OF struct run_params
const struct config_field run_fields[] = {
    ROW_CHOICE("law", law, DEFAULT("exponential"), law_names, "distribution of run times on the requested GPUs; gavel: 10^x with x even on 1.5 to 3 for 80 % and on 3 to 4"),
    ROW_QUANTITY("mean", mean_s, UNIT_TIME, REQUIRED, WITHIN(0, 1e9), "mean run time"),
    ROW_REAL("short_frac", short_frac, DEFAULT("0.9"), WITHIN(0, 0.999999),
             "two-mode, hyperexponential: share of short jobs"),
    ROW_REAL("short", short_of_mean, DEFAULT("0.1"), WITHIN(0, 1e6),
             "run time of short jobs / mean of all jobs; hyperexponential: mean of short jobs / mean of all jobs"),
    {0}};
#undef ROW_OF
