/* Reports for tests: databases with rows that are known, and laws that every page obeys. */
#ifndef ORRERY_TESTS_SUPPORT_REPORT_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_REPORT_FIXTURE_H

#include "analysis/report/report.h"
#include "sim/store/results.h"

#include <stdbool.h>

/* Rows of a run that has them. */
enum { REPORT_FIXTURE_REQUESTS = 400, REPORT_FIXTURE_JOBS = 60 };

struct fixture_run {
    const char *name, *status;
    const char *scenario; /* NULL: a small one */
    bool requests, jobs, no_rows;
    int64_t seed;
    double scale; /* of all latencies; 0: 1 */
    size_t n_params;
    const struct run_param *params;
};

/* Adds a run to the file, which is created when it does not exist. Requests i = 0, 1, ... arrive at i seconds and
 * have TTFT (i + 1) ms, TPOT 10 ms, e2e 1 s, waiting 1 ms; every tenth is of the service "b", the rest of "a". Job j
 * is submitted at j minutes, waits 10 s, holds 1 + j % 4 GPUs of node j % 3 for 100 s. Returns 0 or a code, with
 * findings. */
int fixture_write_run(const char *path, const struct fixture_run *run, struct diag *diag);

/* Writes to the file by SQL. Returns whether SQLite took it. */
bool fixture_sql(const char *path, const char *sql);

/* The page, to be freed by text_fini. Findings go to `diag`. */
int fixture_report(const char *path, int64_t run_id, struct text *html, struct diag *diag);

/* The page with two groups of runs against each other. */
int fixture_versus(const char *path, const char *base, const char *changed, struct text *html, struct diag *diag);

/* Checks the laws: tags nest, nothing leads out of the page, every statement under a figure is what it says. Returns
 * how many statements there were. */
int fixture_check_page(const char *path, const struct text *html);

/* Whether a text is in the page. */
bool fixture_has(const struct text *html, const char *what);

#endif
