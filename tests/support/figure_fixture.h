/* Figures made up for tests: a small one that is right, and changes that make it wrong. */
#ifndef ORRERY_TESTS_SUPPORT_FIGURE_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_FIGURE_FIXTURE_H

#include "analysis/figure/claims.h"

/* A figure of one study with the series "up" (y = x^2 at 1 .. 4, the paper 1, 4, 9, 20) and "down" (10 - x), and with
 * "noisy" (replications 9, 10, 11 at x = 1 and 19, 20, 22 at x = 2, the paper 10 and 30). `claims` and `fitted` are the
 * items of these lists. JSON has ' for " here and below. Static storage: until the next call. */
const char *figure_json(const char *claims, const char *fitted);

/* Writes it to the file fig.json of the running test, and returns the path. */
const char *figure_file(const char *json);

/* Reads it on an empty results database. Everything is in the arena but the open database: figure_data_fini ends
 * that. */
struct figure_case {
    struct arena arena;
    struct figure figure;
    struct figure_data data;
    struct claim_results results;
    struct diag diag;
};

/* Returns the code of the first step that failed. */
int figure_case_init(struct figure_case *test, const char *json);
void figure_case_fini(struct figure_case *test);

/* A results database with one run that did nothing. */
const char *figure_database(void);

#endif
