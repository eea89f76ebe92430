/* What ran, from the scenario that the run stored: the first lines of a page, and the limits that its charts show. */
#ifndef ORRERY_ANALYSIS_REPORT_SUBJECT_H
#define ORRERY_ANALYSIS_REPORT_SUBJECT_H

#include "analysis/plot/plot.h"
#include "analysis/report/page.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stddef.h>

struct report_source;

enum subject_limit { LIMIT_TTFT, LIMIT_TPOT, LIMIT_E2E, LIMIT_COUNT };

/* The SLO of a service, or of one of its classes. */
struct subject_slo {
    const char *name;          /* "chat", "chat/batch" */
    double limit_s[LIMIT_COUNT]; /* NAN: none */
};

enum { SUBJECT_MAX_SLOS = 16, SUBJECT_MAX_LINES = 4 };

struct subject {
    size_t n_lines; /* what ran: one for each of the first services, one for all jobs, one for the site */
    const char *names[SUBJECT_MAX_LINES + 3], *lines[SUBJECT_MAX_LINES + 3];
    size_t job_line, site_line; /* their indices; SIZE_MAX: none */
    size_t n_services, n_slos;
    struct subject_slo slos[SUBJECT_MAX_SLOS];
    double budget_w;           /* of each power domain; NAN: none */
    const char *budget;        /* as the scenario says it */
    const char *power_level;   /* "site", "row", ... */
    double budget_gpus;        /* of renting; NAN: none */
    const char *price;         /* where prices of GPUs are from, such as "list price"; NULL after subject_read */
    struct page_query queries[3];
};

/* Reads the subject of a run. `varied`: the keys that a study varies, whose values are not named. Returns 0,
 * SIM_E_STORE or SIM_E_NOMEM. */
int subject_read(const struct report_source *source, int64_t run_id, const char *const *varied, size_t n_varied,
                 struct subject *subject);

/* Reads the subject of a resolved scenario, JSON, that no database holds. Texts go to the arena; `queries` is of no
 * use. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int subject_of(const char *scenario, const char *const *varied, size_t n_varied, struct arena *arena,
               struct subject *subject, struct diag *diag);

/* Adds what ran in short, a line for each service and one for all jobs and their nodes: "chat: llama-3.1-8b on ...". */
void subject_say(const struct subject *subject, struct text *text);

/* Adds the lines to the head of a page. */
void subject_draw(const struct subject *subject, struct text *html);

/* The SLOs of one quantity, of all services or of one (`service`, with its classes), as lines across (PLOT_AT_Y) or
 * upright (PLOT_AT_X), at most `most`. Returns their number. Names are in the arena of the source; one that finds no
 * memory is NULL. */
size_t subject_slo_lines(const struct subject *subject, const struct report_source *source, enum subject_limit limit,
                         const char *service, bool is_upright, struct plot_line *lines, size_t most);

#endif
