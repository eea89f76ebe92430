/* The recorded trace of a study whose seeds replicate it, on the study's page. */
#include "analysis/report/study.h"
#include "analysis/report/study_chart.h"
#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The run of that id, or NULL; runs are in order of their ids. */
static const struct study_run *find_run(const struct study *study, int64_t id)
{
    size_t low = 0, high = study->n_runs;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (study->runs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < study->n_runs && study->runs[low].id == id ? &study->runs[low] : NULL;
}

int study_read_recorded(const struct report_source *source, struct study *study)
{
    struct page_query query = {.sql = "SELECT run_id, name, value FROM metric_recorded ORDER BY run_id, name"};
    struct query_answer answer;
    for (size_t p = 0; p < study->n_points; p++)
        for (size_t k = 0; k < STUDY_MAX_METRICS; k++) study->points[p].recorded[k] = (double)NAN;
    if (!study->replicates.has_recorded) return 0;
    const int code = source_query(source, &query, "read the study", &answer);
    const struct study_run *run = NULL;
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        const int64_t id = (int64_t)answer.columns[0].numbers[i];
        if (run == NULL || run->id != id) run = find_run(study, id);
        for (size_t k = 0; run != NULL && k < study->n_metrics; k++)
            if (strcmp(study->metrics[k].name, answer.columns[1].texts[i]) == 0 &&
                replicates_compares(&study->replicates, study->metrics[k].name))
                study->points[run->point].recorded[k] = answer.columns[2].numbers[i];
    }
    return code;
}

/* The recorded value that lies farthest outside of its interval. */
struct outside {
    size_t n, n_values, point, metric;
    double beyond;
};

/* Of the points that the view shows, and of metrics from `first` up to `end`. */
static struct outside find_outside(const struct study *study, const struct study_view *view, size_t first, size_t end)
{
    struct outside outside = {0};
    for (size_t p = 0; p < study->n_points; p++)
        for (size_t k = first; k < end && study_view_has(study, view, &study->points[p]); k++) {
            const double recorded = study->points[p].recorded[k];
            const double beyond = replicates_beyond(&study->points[p].metrics[k], recorded);
            if (!isnan(recorded)) outside.n_values++;
            if (beyond > 0) outside.n++;
            if (!(beyond > outside.beyond)) continue;
            outside.beyond = beyond;
            outside.point = p;
            outside.metric = k;
        }
    return outside;
}

static int warn_outside(const struct report_source *source, const struct study *study, struct text *html)
{
    const struct study_view all = {0};
    const struct outside outside = find_outside(study, &all, 0, study->n_metrics);
    if (outside.n == 0) return 0;
    const struct study_point *point = &study->points[outside.point];
    const struct study_metric *metric = &study->metrics[outside.metric];
    const char *label = study_label(study, point, ~0U, source->arena);
    char name[WORDS_CHARS], value[WORDS_CHARS], low[WORDS_CHARS], high[WORDS_CHARS], parts[REPLICATES_CHARS];
    if (label == NULL) return SIM_E_NOMEM;
    text_printf(html,
                "<li><strong>recorded</strong> %zu of %zu values of the recorded trace lie outside of the 95 %% "
                "intervals: ",
                outside.n, outside.n_values);
    page_escape(html, words_metric(metric->name, name));
    page_printf(html, " %s, outside of %s to %s", words_value(point->recorded[outside.metric], metric->unit, value),
                words_value(point->metrics[outside.metric].low, metric->unit, low),
                words_value(point->metrics[outside.metric].high, metric->unit, high));
    if (label[0] != 0) text_add(html, ", at ");
    page_escape(html, label);
    page_printf(html, ". The %s %s.", replicates_parts(&study->replicates, parts),
                study->replicates.method == REPLICATES_WINDOWS
                    ? "begin on an empty site and weigh alike: take longer ones"
                    : "break up what lasts longer, such as an overload of weeks: take longer ones, or windows");
    text_add(html, "</li>\n");
    return 0;
}

int study_warn_recorded(const struct report_source *source, const struct study *study, struct text *html)
{
    struct replicates_sparse_window sparse;
    char parts[REPLICATES_CHARS];
    int code = warn_outside(source, study, html);
    if (code == 0)
        code = replicates_find_sparse(source->database, &study->replicates, source->arena, &sparse, source->diag);
    if (code != 0 || !sparse.is_found) return code;
    text_add(html, "<li><strong>sparse</strong> ");
    page_printf(html,
                "%s weigh alike, and that of seed %" PRId64 " has %.0f arrivals, less than a tenth of their mean of "
                "%.0f",
                replicates_parts(&study->replicates, parts), sparse.seed, sparse.arrivals, sparse.mean);
    text_add(html, "</li>\n");
    return 0;
}

int study_warn_drawn(const struct study *study, const struct study_view *view, const char *path, struct arena *arena,
                     struct diag *diag)
{
    const struct outside outside = find_outside(study, view, view->metric, view->metric + 1);
    if (outside.n == 0) return 0;
    const struct study_point *point = &study->points[outside.point];
    const struct interval *interval = &point->metrics[view->metric];
    const bool is_change = study->relative_to != NULL, is_window = study->replicates.method == REPLICATES_WINDOWS;
    char recorded[32], low[32], high[32], parts[REPLICATES_CHARS];
    const char *label = study_label(study, point, ~0U, arena);
    if (label == NULL) return SIM_E_NOMEM;
    text_show_number(point->recorded[view->metric], recorded, sizeof recorded);
    text_show_number(interval->low, low, sizeof low);
    text_show_number(interval->high, high, sizeof high);
    diag_warning(diag, path, is_window ? "take longer windows" : "take longer blocks, or windows",
                 "the recorded trace is not like its replicates: %zu of its %zu %s lie outside of the 95 %% intervals, "
                 "such as %s %s%s%s%s, outside of %s .. %s; %s %s",
                 outside.n, outside.n_values, is_change ? "changes" : "values", study->metrics[view->metric].name,
                 recorded, is_change ? " %" : "", label[0] != 0 ? " at " : "", label, low, high,
                 replicates_parts(&study->replicates, parts),
                 is_window ? "begin on an empty site, and cut off what lasts longer"
                           : "break up what lasts longer, such as an overload of weeks");
    return 0;
}
