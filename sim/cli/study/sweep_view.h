/* The results of a study as its tables see them: names of the axes, values at a point, means of metrics. */
#ifndef ORRERY_CLI_STUDY_SWEEP_VIEW_H
#define ORRERY_CLI_STUDY_SWEEP_VIEW_H

#include "analysis/replicates.h"
#include "sim/cli/answer.h"
#include "sim/study/outcome.h"

enum { SWEEP_MAX_KEYS = 8, SWEEP_MAX_METRICS = 6, SWEEP_MAX_ROWS = 200 };

struct sweep_view {
    const struct study *study;
    struct merge merge;
    struct diag *diag;
    struct arena arena;
    size_t n_metrics, n_rows;   /* rows: points in a table for people */
    const char *const *metrics; /* shown */
    struct replicates replicates; /* how the seeds of a point replicate a trace; none in a search */
    bool *is_copy;              /* [merge.n_runs] an earlier seed of its point has the same result; NULL in a search */
    size_t n_copies;
};

/* The columns of a table under construction. */
struct sweep_columns {
    size_t n;
    const char *common[SWEEP_MAX_KEYS]; /* the members that all values of a key have, " nodes=1 gpus=8 "; NULL: none */
    const char *implied[SWEEP_MAX_KEYS]; /* the members that a shown one implies, " price=2 "; NULL: none */
    const char *implications[SWEEP_MAX_KEYS]; /* those, in lines: "with gpu=h100-sxm: price=2"; NULL: none */
    struct table_column columns[ANSWER_MAX_COLUMNS];
};

void sweep_add_column(struct sweep_columns *columns, const char *title, enum column_align align);

/* Adds a column for each key of the axes, as far as there is room, named by the shortest end of the key. Members that
 * the values of a key have in common are not shown, nor in long values those that come with a shown one. Both are
 * looked for at the first SWEEP_MAX_ROWS points. */
void sweep_add_keys(struct sweep_columns *columns, const struct study *study, struct arena *arena);

/* Adds the values at a point. An object is shown by json_brief, without what all have in common and what a shown
 * member implies; its text is made in the arena. */
void sweep_add_values(const struct sweep_columns *columns, struct answer_table *table, const struct study *study,
                      size_t point, struct arena *arena);

/* Says what the values of a key have in common, "at all points: cluster nodes=1", and what shown members imply. */
void sweep_say_common(const struct sweep_columns *columns, const struct study *study, struct answer *answer);

/* Notes the keys and metrics that a table omits. */
void sweep_say_left_out(const struct study *study, size_t n_metrics, struct answer *answer);

/* "nodes 40, scheduler tiresias"; "" without axes. In the arena; "" when out of memory. */
const char *sweep_name_point(const struct study *study, size_t point, struct arena *arena);

/* Adds the mean of a metric over the runs of a point, from the first of them on. Returns 0 or a negative code. */
int sweep_add_mean(const struct sweep_view *view, int64_t run_id, const char *metric, struct answer_table *table);

/* The number of shown metrics that have a column. */
size_t sweep_count_shown(const struct sweep_view *view);

/* Writes the means of the shown metrics of a point as a member "metrics". Returns 0 or a negative code. */
int sweep_write_means(const struct sweep_view *view, int64_t run_id, struct answer *answer);

/* Says why runs did not fit, a line for each reason. Returns 0 or a negative code. */
int sweep_say_unfit(const struct sweep_view *view, struct answer *answer);

/* Says in which parameters compared policies differ by their defaults: a line each, or a list "notes". Returns 0 or a
 * negative code. */
int sweep_say_policies(struct sweep_view *view, struct answer *answer);

/* The mean of a metric over the seeds of a point that are done; NAN if one of them lacks it, or there are none. With
 * several of them also its interval at 95 %, else NANs: that of the replicates of a trace (analysis/replicates.h),
 * else Student's t of the mean. Returns 0 or a negative code. */
int sweep_find_mean(const struct sweep_view *view, size_t point, const char *metric, struct interval *found);

/* --- sweep_implied.c: members of long values that always come together --- */

/* Finds the members of the values of a key that come with another one and nowhere else: texts[n] are the values, by
 * json_brief, without what all have in common. Sets `implied` and `implications` as in struct sweep_columns. Returns 0
 * or SIM_E_NOMEM. */
int sweep_find_implied(const char *const *texts, size_t n, struct arena *arena, const char **implied,
                       const char **implications);

/* --- sweep_recorded.c: the recorded trace beside its replicates --- */

/* The value of a metric of the recorded trace at a point; NAN if it has none, or the replicates do not compare with
 * it. Returns 0 or a negative code. */
int sweep_find_recorded(const struct sweep_view *view, size_t point, const char *metric, double *recorded);

/* Says below the table what brackets and recorded values are, and warns if recorded values lie outside of their
 * intervals, or if windows have too few arrivals. Returns 0 or a negative code. */
int sweep_say_replicates(struct sweep_view *view, struct answer *answer);

/* --- sweep_found.c: searches and Pareto fronts --- */

/* The table of what a search found. Returns 0 or a negative code. */
int sweep_show_search(const struct sweep_view *view, struct answer *answer);

/* The table of the points on the Pareto front. */
int sweep_show_front(const struct sweep_view *view, struct answer *answer);

/* The outcomes as a list of objects. */
int sweep_write_outcomes(const struct sweep_view *view, struct answer *answer);

#endif
