#include "sim/study/size_limit.h"

#include <stdio.h>
#include <string.h>

const char *size_limit_hint(const char *keep)
{
    static const char *const hints[][2] = {
        {"decisions", "\"keep\": \"rows\" in the study leaves out the decisions on every request"},
        {"rows", "\"keep\": \"curves\" in the study leaves out the rows of requests, jobs and decisions"},
        {"curves", "\"keep\": \"metrics\" in the study leaves out histograms and samples"}};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(keep, hints[i][0]) == 0) return hints[i][1];
    return "fewer values on the axes, or fewer seeds, give fewer rows";
}

double size_limit_predict(const struct sweep_progress *progress, double limit_bytes)
{
    static const double telling_frac = 0.01;
    const size_t n_ended = progress->n_done + progress->n_failed;
    const bool is_part = n_ended > 0 && n_ended < progress->n_runs && progress->bytes >= telling_frac * limit_bytes;
    return is_part ? progress->bytes / (double)n_ended * (double)progress->n_runs : progress->bytes;
}

int size_limit_check(const struct sweep_options *options, const struct study *study, const struct shards *shards,
                     const struct sweep_progress *progress, struct diag *diag)
{
    char forecast[112] = "", hint[DIAG_TEXT_CHARS];
    const size_t n_ended = progress->n_done + progress->n_failed;
    const double bytes = options->limit_bytes > 0 ? shards_bytes(shards) : 0;
    if (bytes <= options->limit_bytes) return 0;
    const double predicted_bytes = size_limit_predict(progress, options->limit_bytes);
    if (n_ended > 0 && n_ended < progress->n_runs && predicted_bytes > bytes)
        snprintf(forecast, sizeof forecast, ", and %zu of %zu runs predict %.3g GB for all", n_ended, progress->n_runs,
                 1e-9 * predicted_bytes);
    snprintf(hint, sizeof hint, "allow more (--results-limit) and go on with --resume; %s",
             size_limit_hint(study->keep));
    return diag_error(diag, SIM_E_STORE, shards->directory, hint,
                      "the results so far are larger than --results-limit, %.3g GB%s", 1e-9 * options->limit_bytes,
                      forecast);
}
