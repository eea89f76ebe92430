#include "analysis/report/study_chart.h"

#include <string.h>

bool study_view_has(const struct study *study, const struct study_view *view, const struct study_point *point)
{
    for (size_t a = 0; a < study->n_axes; a++)
        if ((view->fixed >> a & 1) != 0 && point->levels[a] != view->levels[a]) return false;
    return true;
}

unsigned study_view_varied(const struct study *study, const struct study_view *view)
{
    const struct study_point *first = NULL;
    unsigned varied = 0;
    for (size_t p = 0; p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        if (!study_view_has(study, view, point)) continue;
        if (first == NULL) first = point;
        for (size_t a = 0; a < study->n_axes; a++)
            if (point->levels[a] != first->levels[a]) varied |= 1U << a;
    }
    return varied;
}

unsigned study_view_determined(const struct study *study, const struct study_view *view, unsigned mask)
{
    unsigned free = 0;
    for (size_t p = 0; p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        for (size_t k = 0; k < p && study_view_has(study, view, point); k++) {
            const struct study_point *other = &study->points[k];
            if (!study_same(study, point, other, mask) || !study_view_has(study, view, other)) continue;
            for (size_t a = 0; a < study->n_axes; a++)
                if (point->levels[a] != other->levels[a]) free |= 1U << a;
        }
    }
    return ~free;
}

/* Whether an earlier point begins the line of this point. */
static bool has_line(const struct study *study, const struct study_view *view, size_t p)
{
    for (size_t k = 0; k < p; k++)
        if (study_view_has(study, view, &study->points[k]) &&
            study_same(study, &study->points[k], &study->points[p], view->by))
            return true;
    return false;
}

/* The only axis in the mask if its values are words; else n_axes. */
static size_t sole_words(const struct study *study, unsigned mask)
{
    for (size_t a = 0; a < study->n_axes; a++)
        if (mask == 1U << a) return study->axes[a].numbers == NULL ? a : study->n_axes;
    return study->n_axes;
}

static int add_lines(const struct study *study, const struct study_view *view, struct arena *arena,
                     struct plot_series *series, size_t *n)
{
    const struct study_line line = {
        .x = view->x, .metric = view->metric, .fixed = view->by | view->fixed, .named = view->by};
    const size_t words = sole_words(study, view->by);
    int code = 0;
    for (size_t p = 0; code == 0 && p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        if (!study_view_has(study, view, point) || has_line(study, view, p)) continue;
        code = study_draw_line(study, point, &line, arena, &series[*n]);
        const char *word = words < study->n_axes ? study->axes[words].values[point->levels[words]] : "";
        if (word[0] != 0) series[*n].name = word;
        (*n)++;
    }
    return code;
}

/* Cuts the drawn intervals of a quantity that is never negative at 0, where the t-interval of few seeds goes below.
 * Changes may be negative. */
static void cut_intervals(const struct study *study, const struct study_view *view, struct plot_series *series,
                          size_t n, struct arena *arena)
{
    if (study->relative_to != NULL) return;
    for (size_t p = 0; p < study->n_points; p++)
        if (study->points[p].metrics[view->metric].mean < 0.0) return;
    for (size_t i = 0; i < n; i++) {
        double *low = series[i].low != NULL ? arena_alloc(arena, (series[i].n + 1) * sizeof *low) : NULL;
        for (size_t k = 0; low != NULL && k < series[i].n; k++)
            low[k] = series[i].low[k] < 0.0 ? 0.0 : series[i].low[k];
        if (low != NULL) series[i].low = low;
    }
}

/* "replicas", "deadline (s)". NULL when out of memory. */
static const char *title_of_x(const struct study_axis *axis, struct arena *arena)
{
    const char *unit = axis->numbers != NULL ? unit_si_name(axis->dim) : "";
    return unit[0] != 0 ? arena_printf(arena, "%s (%s)", axis->name, unit) : axis->name;
}

/* "TTFT p99 (s)", "change of TTFT p99 from fifo (%)", "change of mean JCT from fifo (%)". NULL when out of memory. */
static const char *title_of_y(const struct study *study, const struct study_metric *metric, struct arena *arena)
{
    static const char mean[] = " mean";
    if (study->relative_to == NULL) return study_metric_title(metric, arena);
    const struct study_metric bare = {.name = metric->name, .unit = ""};
    const char *title = study_metric_title(&bare, arena);
    if (title == NULL) return NULL;
    const size_t n = strlen(title), n_mean = strlen(mean);
    const bool is_mean = n > n_mean && strcmp(title + n - n_mean, mean) == 0;
    return arena_printf(arena, "change of %s%.*s from %s (%%)", is_mean ? "mean " : "", (int)(is_mean ? n - n_mean : n),
                        title, study->relative_to);
}

enum { MOST_TICKS = 8 }; /* at studied values */

/* Ticks at the values of the view along x, if these are few. */
static int set_ticks(const struct study *study, const struct study_view *view, struct arena *arena, struct plot_axis *x)
{
    const struct study_axis *axis = &study->axes[view->x];
    double *ticks = arena_alloc(arena, (MOST_TICKS + 1) * sizeof *ticks);
    size_t n = 0;
    if (ticks == NULL) return SIM_E_NOMEM;
    for (size_t p = 0; p < study->n_points; p++) {
        if (!study_view_has(study, view, &study->points[p])) continue;
        const double value = axis->numbers[study->points[p].levels[view->x]];
        size_t at = 0;
        while (at < n && ticks[at] < value) at++;
        if (at < n && ticks[at] == value) continue;
        if (n == MOST_TICKS) return 0;
        memmove(&ticks[at + 1], &ticks[at], (n - at) * sizeof *ticks);
        ticks[at] = value;
        n++;
    }
    x->n_ticks = n;
    x->ticks = ticks;
    return 0;
}

int study_chart(const struct study *study, const struct study_view *view, struct arena *arena, struct plot_chart *chart,
                struct plot_series **series)
{
    const struct study_axis *axis = &study->axes[view->x];
    const bool is_words = axis->numbers == NULL;
    *series = arena_alloc(arena, (study->n_points + 1) * sizeof **series);
    *chart = (struct plot_chart){.kind = is_words ? PLOT_BAR : PLOT_LINE, .n_categories = is_words ? axis->n : 0,
                                 .categories = is_words ? axis->values : NULL, .series = *series};
    chart->x.title = title_of_x(axis, arena);
    chart->y.title = title_of_y(study, &study->metrics[view->metric], arena);
    if (*series == NULL || chart->x.title == NULL || chart->y.title == NULL) return SIM_E_NOMEM;
    int code = add_lines(study, view, arena, *series, &chart->n_series);
    if (code == 0 && !is_words) code = set_ticks(study, view, arena, &chart->x);
    if (code == 0) cut_intervals(study, view, *series, chart->n_series, arena);
    return code;
}
