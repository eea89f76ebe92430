/* A report: what a run, or a study of many runs, says, as one HTML page that needs no network, no other file and no script.
 *
 * It depends on the database alone: the same file gives the same bytes. Every table and figure carries the SQL that it was
 * made with, as it was run. */
#ifndef ORRERY_ANALYSIS_REPORT_REPORT_H
#define ORRERY_ANALYSIS_REPORT_REPORT_H

#include "sim/core/err.h"
#include "sim/core/text.h"

#include <stddef.h>
#include <stdint.h>

enum report_direction { REPORT_NEUTRAL, REPORT_LOWER, REPORT_HIGHER }; /* which is better */

/* What a metric means. */
struct report_metric {
    const char *name, *unit;
    enum report_direction direction;
    const char *definition;
    const char *vllm; /* name of the same metric in vLLM, or NULL */
};

struct report_options {
    const char *path;
    int64_t run_id; /* 0: the study in the file, else its last run */
    const struct report_metric *dictionary;
    size_t n_dictionary;
    const char *const *metrics; /* that a study is told by; none: as study.h says */
    size_t n_metrics;
    const char *base, *changed; /* two groups of runs, as compare_groups takes them, to be judged against each other; or NULL */
};

/* Adds the page. Returns 0, SIM_E_STORE (no results file, no such run), SIM_E_USAGE (no run has a metric that was asked for)
 * or SIM_E_NOMEM. */
int report_html(const struct report_options *options, struct text *html, struct diag *diag);

#endif
