/* A report of a run, or of a study of many runs, as one HTML page that needs no network, no other file and no script.
 *
 * It depends on the database alone: equal files give equal bytes. Every table and figure contains the SQL that it was
 * made with. */
#ifndef ORRERY_ANALYSIS_REPORT_REPORT_H
#define ORRERY_ANALYSIS_REPORT_REPORT_H

#include "sim/core/err.h"
#include "sim/core/text.h"

#include <stddef.h>
#include <stdint.h>

enum report_direction { REPORT_NEUTRAL, REPORT_LOWER, REPORT_HIGHER }; /* which is better */

/* A metric of the dictionary. */
struct report_metric {
    const char *name, *unit;
    enum report_direction direction;
    const char *definition;
    const char *vllm; /* its name in vLLM, or NULL */
};

struct report_options {
    const char *path;
    int64_t run_id; /* 0: the study in the file, else its last run */
    const struct report_metric *dictionary;
    size_t n_dictionary;
    const char *const *metrics; /* metrics that a study shows; none: chosen as in study.h */
    size_t n_metrics;
    const char *base, *changed; /* two groups of runs to compare, as for compare_groups; or NULL */
};

/* Adds the page. Returns 0, SIM_E_STORE (no results file, no such run), SIM_E_USAGE (no run has a metric that was
 * asked for) or SIM_E_NOMEM. */
int report_html(const struct report_options *options, struct text *html, struct diag *diag);

#endif
