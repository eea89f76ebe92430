/* A comparison as people, programs and pull requests read it. */
#ifndef ORRERY_CLI_STUDY_COMPARE_PRINT_H
#define ORRERY_CLI_STUDY_COMPARE_PRINT_H

#include "analysis/compare/compare.h"

#include <stdio.h>

struct compare_print {
    const struct comparison *comparison;
    const struct compare_options *options;
    bool points; /* also what stands at single points of the study */
    bool worse_points; /* of these, what got worse */
};

/* All return 0 or SIM_E_NOMEM. */
int compare_print_tables(const struct compare_print *print, FILE *out);
int compare_print_markdown(const struct compare_print *print, FILE *out);
int compare_print_json(const struct compare_print *print, FILE *out);

#endif
