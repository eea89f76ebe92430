/* Points of a study along one axis, as a line of a chart. */
#include "analysis/report/study.h"

#include <math.h>

/* The arrays of one line. */
struct line {
    size_t n;
    const struct study_point **points;
    double *x, *y, *low, *high;
};

static int init_line(struct arena *arena, size_t n, struct line *line)
{
    line->n = 0;
    line->points = arena_alloc(arena, (n + 1) * sizeof *line->points);
    line->x = arena_alloc(arena, (n + 1) * sizeof *line->x);
    line->y = arena_alloc(arena, (n + 1) * sizeof *line->y);
    line->low = arena_alloc(arena, (n + 1) * sizeof *line->low);
    line->high = arena_alloc(arena, (n + 1) * sizeof *line->high);
    return line->points && line->x && line->y && line->low && line->high ? 0 : SIM_E_NOMEM;
}

/* Inserts by rising x: lines are short. */
static void insert_point(const struct study_axis *axis, size_t level, const struct study_point *point,
                         struct line *line)
{
    const double x = axis->numbers != NULL ? axis->numbers[level] : (double)level;
    size_t i = line->n++;
    for (; i > 0 && line->x[i - 1] > x; i--) {
        line->x[i] = line->x[i - 1];
        line->points[i] = line->points[i - 1];
    }
    line->x[i] = x;
    line->points[i] = point;
}

static void fill_values(size_t metric, struct line *line)
{
    for (size_t i = 0; i < line->n; i++) {
        const struct interval *value = &line->points[i]->metrics[metric];
        line->y[i] = value->mean;
        line->low[i] = value->low;
        line->high[i] = value->high;
    }
}

static bool has_intervals(const struct line *line)
{
    for (size_t i = 0; i < line->n; i++)
        if (!isnan(line->low[i])) return true;
    return false;
}

/* Gives each word along x a place, even if a line has no value there. */
static int spread_words(size_t n, const struct line *given, struct arena *arena, struct line *line)
{
    if (init_line(arena, n, line) != 0) return SIM_E_NOMEM;
    line->n = n;
    for (size_t i = 0; i < n; i++) line->y[i] = line->low[i] = line->high[i] = (double)NAN;
    for (size_t i = 0; i < given->n; i++) {
        const size_t k = (size_t)given->x[i];
        line->x[k] = given->x[i];
        line->y[k] = given->y[i];
        line->low[k] = given->low[i];
        line->high[k] = given->high[i];
    }
    return 0;
}

int study_draw_line(const struct study *study, const struct study_point *first, const struct study_line *of,
                    struct arena *arena, struct plot_series *series)
{
    const struct study_axis *axis = &study->axes[of->x];
    struct line found, spread, *line = &found;
    if (init_line(arena, study->n_points, &found) != 0) return SIM_E_NOMEM;
    for (size_t p = 0; p < study->n_points; p++)
        if (study_same(study, first, &study->points[p], of->fixed))
            insert_point(axis, study->points[p].levels[of->x], &study->points[p], &found);
    fill_values(of->metric, &found);
    if (axis->numbers == NULL) {
        if (spread_words(axis->n, &found, arena, &spread) != 0) return SIM_E_NOMEM;
        line = &spread;
    }
    const char *name = study_label(study, first, of->named, arena);
    if (name == NULL) return SIM_E_NOMEM;
    const bool has = has_intervals(line);
    *series = (struct plot_series){.name = name[0] != 0 ? name : NULL, .n = line->n, .x = line->x, .y = line->y,
                                   .low = has ? line->low : NULL, .high = has ? line->high : NULL};
    return 0;
}
