/* The recorded trace beside its replicates, and what they do not say. */
#include "sim/cli/study/sweep_view.h"

#include <inttypes.h>
#include <math.h>

int sweep_find_recorded(const struct sweep_view *view, size_t point, const char *metric, double *recorded)
{
    const struct merge_run *run = merge_find(&view->merge, outcome_run_id(view->study, point, 0, 0));
    *recorded = (double)NAN;
    if (run == NULL || !view->replicates.has_recorded || !replicates_compares(&view->replicates, metric)) return 0;
    return merge_recorded(&view->merge, run, metric, recorded, view->diag);
}

/* --- Recorded values outside of their intervals --- */

/* The recorded values of the shown metrics, and that which lies farthest from its interval. */
struct outside {
    size_t n, n_values, point, metric;
    struct interval interval;
    double beyond, recorded;
};

static int find_outside(const struct sweep_view *view, struct outside *outside)
{
    int code = 0;
    *outside = (struct outside){0};
    for (size_t point = 0; code == 0 && point < view->study->n_points; point++)
        for (size_t i = 0; code == 0 && i < view->n_metrics; i++) {
            struct interval found;
            double recorded;
            code = sweep_find_recorded(view, point, view->metrics[i], &recorded);
            if (code != 0 || isnan(recorded)) continue;
            code = sweep_find_mean(view, point, view->metrics[i], &found);
            const double beyond = replicates_beyond(&found, recorded);
            outside->n_values++;
            if (beyond > 0) outside->n++;
            if (!(beyond > outside->beyond)) continue;
            outside->beyond = beyond;
            outside->point = point;
            outside->metric = i;
            outside->interval = found;
            outside->recorded = recorded;
        }
    return code;
}

static void warn_outside(struct sweep_view *view, const struct outside *outside)
{
    char recorded[32], low[32], high[32], parts[REPLICATES_CHARS];
    const bool is_window = view->replicates.method == REPLICATES_WINDOWS;
    const char *point = sweep_name_point(view->study, outside->point, &view->arena);
    text_show_number(outside->recorded, recorded, sizeof recorded);
    text_show_number(outside->interval.low, low, sizeof low);
    text_show_number(outside->interval.high, high, sizeof high);
    replicates_parts(&view->replicates, parts);
    diag_warning(view->diag, NULL, is_window ? "take longer windows" : "take longer blocks, or windows",
                 "the recorded trace is not like its replicates: %zu of its %zu values lie outside of the 95 %% "
                 "intervals, such as %s %s at %s, outside of %s .. %s; %s %s",
                 outside->n, outside->n_values, view->metrics[outside->metric], recorded,
                 point[0] != 0 ? point : "the only point", low, high, parts,
                 is_window ? "begin on an empty site, and weigh alike, however many arrivals they have"
                           : "break up what lasts longer, such as an overload of weeks");
}

/* --- Windows of few arrivals --- */

static int warn_sparse(struct sweep_view *view)
{
    struct replicates_sparse_window sparse;
    char parts[REPLICATES_CHARS];
    const int code = replicates_find_sparse(&view->merge.inputs[0], &view->replicates, &view->arena, &sparse,
                                            view->diag);
    if (code == 0 && sparse.is_found)
        diag_warning(view->diag, NULL,
                     "leave sparse parts out with \"window\" of the trace; 'orrery trace stat' shows them",
                     "%s weigh alike, and that of seed %" PRId64 " has %.0f arrivals, less than a tenth of their "
                     "mean of %.0f",
                     replicates_parts(&view->replicates, parts), sparse.seed, sparse.arrivals, sparse.mean);
    return code;
}

int sweep_say_replicates(struct sweep_view *view, struct answer *answer)
{
    struct outside outside;
    if (view->replicates.method == REPLICATES_NONE) return 0;
    answer_say(answer, "in brackets: 95 %% interval %s\n",
               view->replicates.method == REPLICATES_BLOCKS
                   ? "of the spread of replicates, which more seeds do not narrow; below 40 seeds by Student's t, "
                     "symmetric even past zero"
                   : "of the mean over the windows, by Student's t");
    if (view->replicates.has_recorded)
        answer_say(answer, "recorded: one run of the whole trace, without \"replicate\"\n");
    int code = find_outside(view, &outside);
    if (code == 0 && outside.n > 0) warn_outside(view, &outside);
    return code == 0 ? warn_sparse(view) : code;
}
