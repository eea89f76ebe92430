#include "analysis/report/study.h"

#include "analysis/report/words.h"

#include <math.h>

static void say_size(const struct study *study, struct text *text)
{
    char runs[WORDS_CHARS], points[WORDS_CHARS];
    text_printf(text, "%s runs of %s %s", words_number((double)study->n_runs, runs),
                words_number((double)study->n_points, points), study->n_points == 1 ? "point" : "points");
    if (study->n_points > 0 && study->n_runs % study->n_points == 0 && study->n_runs > study->n_points)
        text_printf(text, ", %zu seeds each", study->n_runs / study->n_points);
    if (study->n_copies > 0)
        text_printf(text,
                    study->n_copies == 1 ? " (%zu run repeats the result of another seed and counts once)"
                                         : " (%zu runs repeat the result of another seed and count once)",
                    study->n_copies);
    const size_t n_unfit = study->n_unfit, n_left = study->n_runs - study->n_done - n_unfit;
    if (n_unfit > 0)
        text_printf(text, "; %s %s not fit", words_number((double)n_unfit, runs), n_unfit == 1 ? "does" : "do");
    if (n_left > 0)
        text_printf(text, "; %s did not finish. ", words_number((double)n_left, runs));
    else
        text_add(text, n_unfit > 0 ? ". " : ", all done. ");
}

/* --- Best and worst --- */

static const struct study_point *find_extreme(const struct study *study, size_t metric, bool best)
{
    const struct study_point *found = NULL;
    for (size_t p = 0; p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        if (isnan(point->metrics[metric].mean)) continue;
        const struct study_metric *of = &study->metrics[metric];
        const bool replaces = found == NULL ||
                              (best ? study_is_better(of, point->metrics[metric].mean, found->metrics[metric].mean)
                                    : study_is_better(of, found->metrics[metric].mean, point->metrics[metric].mean));
        if (replaces) found = point;
    }
    return found;
}

int study_say_best(const struct study *study, size_t metric, struct arena *arena, struct text *text)
{
    char at_best[WORDS_CHARS], at_worst[WORDS_CHARS], name[WORDS_CHARS];
    const struct study_metric *of = &study->metrics[metric];
    const struct study_point *best = find_extreme(study, metric, true), *worst = find_extreme(study, metric, false);
    if (best == NULL || best->metrics[metric].mean == worst->metrics[metric].mean) return 0;
    const char *best_label = study_label(study, best, ~0U, arena), *worst_label = study_label(study, worst, ~0U, arena);
    if (best_label == NULL || worst_label == NULL) return SIM_E_NOMEM;
    text_printf(text, "The best %s is %s with %s, the worst %s with %s. ", words_metric(of->name, name),
                words_value(best->metrics[metric].mean, of->unit, at_best), best_label,
                words_value(worst->metrics[metric].mean, of->unit, at_worst), worst_label);
    return 0;
}

/* --- Winners --- */

/* How often a value is the only best, and how often by more than seeds explain. */
struct wins {
    size_t n, n_clear;
};

/* Comparisons that have a number for every value of the axis. */
struct contest {
    size_t n;
    struct wins *wins; /* per value of the axis */
};

/* A point's run under a seed; NULL if there is none. */
static const struct study_run *run_under(const struct study *study, size_t point, double seed)
{
    for (size_t i = 0; i < study->n_runs; i++)
        if (study->runs[i].point == point && study->runs[i].seed == seed) return &study->runs[i];
    return NULL;
}

/* Whether two points differ by more than seeds explain: the interval of the differences under equal seeds leaves
 * out zero. */
static bool are_apart(const struct study *study, size_t metric, const struct study_point *p,
                      const struct study_point *q, double level)
{
    enum { MAX_PAIRS = 64 };
    double differences[MAX_PAIRS];
    size_t n = 0;
    for (size_t i = 0; i < study->n_runs && n < MAX_PAIRS; i++) {
        const struct study_run *run = &study->runs[i];
        if (run->point != (size_t)(p - study->points)) continue;
        const struct study_run *other = run_under(study, (size_t)(q - study->points), run->seed);
        if (other == NULL || (run->is_copy && other->is_copy)) continue; /* the pair is there already */
        const double difference = run->values[metric] - other->values[metric];
        if (!isnan(difference)) differences[n++] = difference;
    }
    const struct interval interval = study_interval(study, differences, n, level);
    return interval.low > 0.0 || interval.high < 0.0; /* false with NAN, for a single seed */
}

/* Whether a point takes part in the contest that `first` starts. */
static bool takes_part(const struct study *study, size_t axis, size_t metric, const struct study_point *first,
                       const struct study_point *point)
{
    return study_same(study, first, point, ~(1U << axis)) && !isnan(point->metrics[metric].mean);
}

/* The level of one interval at which those of all pairs of all contests hold together with 95 %: it covers the pair
 * picked as best from the same runs (Bonferroni). */
static double pair_level(const struct study *study, size_t axis)
{
    const double n = (double)study->axes[axis].n;
    return 1.0 - 0.05 / (0.5 * n * (n - 1.0) * fmax(1.0, (double)study->n_points / n));
}

static bool is_clear(const struct study *study, size_t axis, size_t metric, const struct study_point *best)
{
    const double level = pair_level(study, axis);
    for (size_t p = 0; p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        if (point != best && takes_part(study, axis, metric, best, point) &&
            !are_apart(study, metric, best, point, level))
            return false;
    }
    return true;
}

/* Collects the points that differ from `first` on one axis only, and counts the contest between them if it is
 * complete. */
static void hold_contest(const struct study *study, size_t axis, size_t metric, const struct study_point *first,
                         struct contest *contest)
{
    size_t n = 0, n_best = 0;
    const struct study_metric *of = &study->metrics[metric];
    const struct study_point *best = NULL;
    for (size_t p = 0; p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        if (!takes_part(study, axis, metric, first, point)) continue;
        n++;
        if (best == NULL || study_is_better(of, point->metrics[metric].mean, best->metrics[metric].mean)) {
            best = point;
            n_best = 0;
        }
        n_best += point->metrics[metric].mean == best->metrics[metric].mean;
    }
    if (n < study->axes[axis].n || n < 2) return;
    contest->n++;
    if (n_best > 1) return;
    contest->wins[best->levels[axis]].n++;
    contest->wins[best->levels[axis]].n_clear += is_clear(study, axis, metric, best);
}

/* The first point of each combination of the other axes starts its contest. */
static void hold_contests(const struct study *study, size_t axis, size_t metric, struct contest *contest)
{
    for (size_t p = 0; p < study->n_points; p++) {
        size_t k = 0;
        while (k < p && !study_same(study, &study->points[k], &study->points[p], ~(1U << axis))) k++;
        if (k == p) hold_contest(study, axis, metric, &study->points[p], contest);
    }
}

static bool has_seeds(const struct study *study)
{
    return study->n_runs - study->n_copies > study->n_points;
}

int study_winner(const struct study *study, size_t axis, size_t metric, struct arena *arena,
                 struct study_winner *winner)
{
    struct contest contest = {.wins = arena_alloc(arena, (study->axes[axis].n + 1) * sizeof *contest.wins)};
    size_t best = 0;
    if (contest.wins == NULL) return SIM_E_NOMEM;
    hold_contests(study, axis, metric, &contest);
    for (size_t i = 1; i < study->axes[axis].n; i++)
        if (contest.wins[i].n > contest.wins[best].n) best = i;
    *winner = (struct study_winner){.level = best, .n = contest.n, .n_best = contest.wins[best].n,
                                    .n_clear = contest.wins[best].n_clear, .has_seeds = has_seeds(study)};
    return 0;
}

/* "routing=jsq the best TTFT p99 (5, clearly in 3)" */
static void say_winner(const struct study *study, const struct study_axis *axis, size_t metric,
                       const struct study_winner *winner, bool is_first, struct text *text)
{
    char name[WORDS_CHARS];
    if (is_first)
        text_printf(text, "In %zu comparisons with all else equal, ", winner->n);
    else
        text_add(text, "; ");
    if (winner->n_best == 0) {
        text_printf(text, "%s is never best with one value of '%s' alone",
                    words_metric(study->metrics[metric].name, name), axis->name);
        return;
    }
    text_printf(text, "%s is best with %s=%s in %zu", words_metric(study->metrics[metric].name, name), axis->name,
                axis->values[winner->level], winner->n_best);
    if (winner->has_seeds) text_printf(text, ", clearly in %zu", winner->n_clear);
}

static int say_winners(const struct study *study, size_t a, struct arena *arena, struct text *text)
{
    const struct study_axis *axis = &study->axes[a];
    bool is_first = true;
    if (axis->numbers != NULL || axis->n < 2) return 0;
    for (size_t k = 0; k < study->n_metrics; k++) {
        struct study_winner winner;
        if (study->metrics[k].direction == REPORT_NEUTRAL) continue;
        if (study_winner(study, a, k, arena, &winner) != 0) return SIM_E_NOMEM;
        if (winner.n < 2) continue;
        say_winner(study, axis, k, &winner, is_first, text);
        is_first = false;
    }
    if (!is_first && !has_seeds(study))
        text_printf(text, ". %s, this may be chance",
                    study->n_copies > 0 ? "As seeds have no effect" : "With one seed each");
    if (!is_first && has_seeds(study))
        text_printf(
            text,
            " (clearly: the %s of its differences to all others under equal seeds exclude zero, at 95 %% for all "
            "comparisons together, by Bonferroni)",
            study->is_bootstrap ? "intervals of the spread over replicates" : "t-intervals");
    if (!is_first) text_add(text, ". ");
    return 0;
}

int study_verdict(const struct study *study, size_t n_front, size_t metric_a, size_t metric_b, bool skips_best,
                  struct arena *arena, struct text *text)
{
    int code = 0;
    say_size(study, text);
    size_t n_named = 0;
    for (size_t k = 0; k < study->n_metrics && code == 0 && n_named < 2; k++) {
        if (study->metrics[k].direction == REPORT_NEUTRAL) continue;
        if (n_named > 0 || !skips_best) code = study_say_best(study, k, arena, text);
        n_named++;
    }
    for (size_t a = 0; a < study->n_axes && code == 0; a++) code = say_winners(study, a, arena, text);
    if (code == 0 && n_front > 0) {
        char name_a[WORDS_CHARS], name_b[WORDS_CHARS];
        text_printf(text, "%zu of %zu points are on the Pareto front of %s and %s. ", n_front, study->n_points,
                    words_metric(study->metrics[metric_a].name, name_a),
                    words_metric(study->metrics[metric_b].name, name_b));
    }
    while (text->length > 0 && text->chars[text->length - 1] == ' ') text->chars[--text->length] = 0;
    return code;
}
