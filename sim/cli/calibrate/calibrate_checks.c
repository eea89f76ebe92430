#include "sim/cli/calibrate/calibrate_checks.h"

#include <inttypes.h>
#include <string.h>

/* A share of rows that are faster than the peak which outliers alone do not explain. */
static const double max_too_fast_frac = 0.05;

static int64_t count_too_fast(const struct profile *profile)
{
    for (size_t i = 0; i < profile->n_dropped; i++)
        if (strcmp(profile->dropped[i].reason, profile_faster_than_peak) == 0) return profile->dropped[i].rows;
    return 0;
}

void calibrate_check_profile(const struct profile *profile, const struct profile_options *options, struct diag *diag)
{
    const int64_t too_fast = count_too_fast(profile), rows = too_fast + (int64_t)profile->n;
    if ((double)too_fast > max_too_fast_frac * (double)rows)
        diag_warning(diag, profile->path, "wrong GPU, LLM or unit of time?",
                     "%" PRId64 " of %" PRId64 " rows are faster than the peak of '%s', and are left out", too_fast,
                     rows, options->gpu->name);
    if (options->llm != NULL && !profile->uses_llm)
        diag_warning(diag, profile->path, NULL, "'--llm' is not used: the profile says itself what was measured");
    if (options->tensor_parallel > 0 && !profile->uses_tensor_parallel)
        diag_warning(diag, profile->path, NULL, "'--tp' is not used: the profile says itself what was measured");
}

int calibrate_check_llm(const struct catalog *catalog, const char *llm, struct arena *arena, struct diag *diag)
{
    struct llm_spec spec;
    return llm != NULL ? catalog_llm(catalog, llm, "--llm", arena, &spec, diag) : 0;
}
