/* Prints a comparison as text, Markdown or JSON. People see the primary metrics, programs all. */
#ifndef ORRERY_CLI_STUDY_COMPARE_PRINT_H
#define ORRERY_CLI_STUDY_COMPARE_PRINT_H

#include "analysis/compare/compare.h"
#include "sim/cli/answer.h"

#include <stdio.h>

struct compare_print {
    const struct comparison *comparison;
    const struct compare_options *options;
    bool points; /* also show changes at single points of the study */
    bool worse_points; /* of these only the ones that got worse */
    bool parts; /* also parts of a metric, such as job.jct_s.mean[1 GPU], that have no interval */
};

/* Returns 0 or SIM_E_NOMEM. */
int compare_print(const struct compare_print *print, enum answer_form form, FILE *out, struct diag *diag);

#endif
