#include "sim/cli/run/results_limit.h"

#include "sim/core/units.h"

#include <stdio.h>
#include <sys/stat.h>

static const double TELLING_FRAC = 0.01; /* of the limit: below that, what was written tells too little */

static double file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (double)status.st_size : 0;
}

int results_limit_parse(const char *text, double *bytes, struct diag *diag)
{
    const char *why = NULL;
    if (text == NULL) text = RESULTS_LIMIT_DEFAULT;
    if (unit_parse(text, UNIT_BYTES, bytes, &why) == 0 && *bytes > 0) return 0;
    return diag_error(diag, SIM_E_USAGE, "--results-limit", "write a size such as \"20GB\"", "'%s' %s", text,
                      why != NULL ? why : "is not above 0");
}

void results_limit_start(struct results_limit *limit, const char *path, double limit_bytes)
{
    *limit = (struct results_limit){.path = path, .limit_bytes = limit_bytes};
    if (path != NULL) limit->start_bytes = file_bytes(path);
}

double results_predicted_bytes(double bytes, double done_frac, double limit_bytes)
{
    return done_frac > 0 && done_frac < 1 && bytes >= TELLING_FRAC * limit_bytes ? bytes / done_frac : bytes;
}

bool results_limit_warns(struct results_limit *limit, double done_frac, char *warning, size_t warning_bytes)
{
    if (limit->path == NULL || limit->has_warned) return false;
    const double bytes = file_bytes(limit->path) - limit->start_bytes;
    const double predicted_bytes = results_predicted_bytes(bytes, done_frac, limit->limit_bytes);
    if (predicted_bytes <= limit->limit_bytes) return false;
    limit->has_warned = true;
    snprintf(warning, warning_bytes,
             "%.3g GB are written after %.3g %% of the run. If the rest writes as much, these are %.3g GB, and the run"
             " fails at %.3g GB: keep less (--keep metrics), or allow more (--results-limit)",
             1e-9 * bytes, 100 * done_frac, 1e-9 * predicted_bytes, 1e-9 * limit->limit_bytes);
    return true;
}
