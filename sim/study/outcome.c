#include "sim/study/outcome.h"

#include "sim/study/axes.h"
#include "sim/study/read.h"
#include "sim/world/rows/metric.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int64_t outcome_run_id(const struct study *study, size_t point, size_t step, size_t seed)
{
    size_t n_steps = study->search != NULL ? search_max_steps(study->search) : 1;
    return (int64_t)((point * n_steps + step) * study->n_seeds + seed) + 1;
}

void outcome_later(const struct study *study, int64_t run_id, int64_t *first, int64_t *last)
{
    int64_t n_seeds = (int64_t)study->n_seeds, step = (run_id - 1) / n_seeds;
    int64_t n_steps = study->search != NULL ? (int64_t)search_max_steps(study->search) : 1;
    *first = (step + 1) * n_seeds + 1;
    *last = (step / n_steps + 1) * n_steps * n_seeds;
}

/* The results of a step so far. */
struct step {
    double *values; /* [seed * n_conditions + condition] */
    bool is_whole, has_failed, is_unfit;
};

static int read_step(const struct merge *merge, const struct study *study, size_t point, size_t number,
                     struct step *step, struct diag *diag)
{
    const struct study_search *search = study->search;
    int code = 0;
    step->is_whole = true;
    step->has_failed = step->is_unfit = false;
    for (size_t seed = 0; code == 0 && step->is_whole && seed < study->n_seeds; seed++) {
        const struct merge_run *run = merge_find(merge, outcome_run_id(study, point, number, seed));
        step->is_whole = run != NULL;
        if (run != NULL && run->failed) step->has_failed = true;
        if (run != NULL && run->unfit) step->is_unfit = true;
        for (size_t i = 0; run != NULL && code == 0 && i < search->n_conditions; i++)
            code = merge_metric(merge, run, search->conditions[i].metric,
                                &step->values[seed * search->n_conditions + i], diag);
    }
    return code;
}

int outcome_replay(const struct merge *merge, const struct study *study, size_t point, struct bisection *state,
                   struct diag *diag)
{
    const struct study_search *search = study->search;
    struct step step = {.values = mem_zalloc(study->n_seeds * search->n_conditions + 1, sizeof *step.values),
                        .is_whole = true};
    int code = step.values != NULL ? 0 : diag_nomem(diag);
    search_start(search, state);
    while (code == 0 && !state->is_done && step.is_whole) {
        code = read_step(merge, study, point, state->step, &step, diag);
        if (code != 0 || !step.is_whole) break;
        bool holds = !step.has_failed && !step.is_unfit && search_holds(search, step.values, study->n_seeds);
        if (!holds) state->bad_failed = step.has_failed;
        if (!holds) state->bad_unfit = step.is_unfit;
        search_advance(search, state, holds);
    }
    mem_free(step.values);
    return code;
}

/* Whether a value misses a condition by more than another does. NAN, of a run without the metric, misses it most. */
static bool is_worse(const struct search_condition *condition, double value, double than)
{
    if (isnan(value) || isnan(than)) return isnan(value) && !isnan(than);
    return condition->is_at_most ? value > than : value < than;
}

/* What a condition sees of a step: the mean over the seeds, or the worst seed if each must meet it. */
struct seen {
    double value;
    size_t seed; /* SIZE_MAX: a mean */
};

static struct seen see(const struct study *study, const struct step *step, size_t i)
{
    const struct study_search *search = study->search;
    struct seen mean = {.seed = SIZE_MAX}, worst = {.value = step->values[i]};
    for (size_t seed = 0; seed < study->n_seeds; seed++) {
        const double value = step->values[seed * search->n_conditions + i];
        mean.value += value / (double)study->n_seeds;
        if (is_worse(&search->conditions[i], value, worst.value)) worst = (struct seen){value, seed};
    }
    return search->is_every_seed ? worst : mean;
}

/* Appends what a condition that does not hold at a step sees there, and its limit. */
static const char *add_missed(const struct study *study, const struct step *step, size_t i, const char *text,
                              struct arena *arena)
{
    const struct search_condition *condition = &study->search->conditions[i];
    const struct seen seen = see(study, step, i);
    const char *unit = metric_find(condition->metric)->unit;
    if (text == NULL || search_meets(condition, seen.value)) return text;
    text = arena_printf(arena, "%s%s%s is ", text, *text == 0 ? ": " : "; ", condition->metric);
    if (text != NULL)
        text = isnan(seen.value) ? arena_printf(arena, "%sabsent", text)
                                 : arena_printf(arena, "%s%.5g%s%s", text, seen.value,
                                                strcmp(unit, "1") == 0 ? "" : " ", strcmp(unit, "1") == 0 ? "" : unit);
    if (text != NULL)
        text = arena_printf(arena, "%s, %s %.10g", text, condition->is_at_most ? "at most" : "at least",
                            condition->limit);
    if (text == NULL || seen.seed == SIZE_MAX) return text;
    return arena_printf(arena, "%s (seed %" PRId64 ")", text, study->seeds[seen.seed]);
}

int outcome_note(const struct merge *merge, const struct study *study, size_t point, const struct bisection *state,
                 struct arena *arena, const char **note, struct diag *diag)
{
    const size_t n = study->search->n_conditions;
    *note = search_note(study->search, state);
    if (!state->is_done || !isnan(state->good) || state->bad_failed || state->bad_unfit) return 0;
    struct step step = {.values = mem_zalloc(study->n_seeds * n + 1, sizeof *step.values)};
    const char *missed = "";
    int code = step.values != NULL ? read_step(merge, study, point, 0, &step, diag) : diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < n; i++) missed = add_missed(study, &step, i, missed, arena);
    if (code == 0 && missed != NULL) *note = arena_printf(arena, "%s%s", *note, missed);
    if (code == 0 && (missed == NULL || *note == NULL)) code = diag_nomem(diag);
    mem_free(step.values);
    return code;
}

const char *outcome_point(const struct study *study, size_t point, struct arena *arena)
{
    struct text text;
    text_init(&text);
    text_add(&text, "{");
    for (size_t i = 0; i < axes_keys(study->axes); i++) {
        struct run_param param = axes_param(study->axes, point, i);
        if (i > 0) text_add(&text, ", ");
        text_json_string(&text, param.key);
        text_add(&text, ": ");
        if (read_is_json(arena, param.value))
            text_add(&text, param.value);
        else
            text_json_string(&text, param.value);
    }
    text_add(&text, "}");
    const char *json = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return json;
}

/* Writes a row of the table; a NULL value and run 0 become NULL. */
struct outcome_row {
    const char *point, *key, *value, *note;
    int64_t run_id;
};

static int write_row(const struct database *output, const struct outcome_row *row, struct diag *diag)
{
    static const char what[] = "write the outcomes";
    sqlite3_stmt *insert;
    int code = database_prepare(output, "INSERT INTO outcome VALUES (?, ?, ?, ?, ?)", &insert, what, diag);
    if (code != 0) return code;
    sqlite3_bind_text(insert, 1, row->point, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, row->key, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, row->value, -1, SQLITE_STATIC);
    if (row->run_id > 0) sqlite3_bind_int64(insert, 4, row->run_id);
    sqlite3_bind_text(insert, 5, row->note, -1, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) code = database_error(output, what, diag);
    sqlite3_finalize(insert);
    return code;
}

/* --- Searches --- */

static int write_search(const struct merge *merge, const struct study *study, size_t point,
                        const struct database *output, struct arena *arena, struct diag *diag)
{
    struct bisection state;
    int code = outcome_replay(merge, study, point, &state, diag);
    if (code != 0 || !state.is_done) return code;
    bool is_met = !isnan(state.good);
    struct outcome_row row = {.point = outcome_point(study, point, arena), .key = study->search->key};
    code = outcome_note(merge, study, point, &state, arena, &row.note, diag);
    if (code != 0) return code;
    if (is_met) row.value = range_show(&study->search->range, state.good, arena);
    if (is_met) row.run_id = outcome_run_id(study, point, state.good_step, 0);
    if (row.point == NULL || (is_met && row.value == NULL)) return diag_nomem(diag);
    return write_row(output, &row, diag);
}

/* --- The Pareto front --- */

int outcome_mean(const struct merge *merge, const struct study *study, int64_t run_id, const char *metric, double *mean,
                 struct diag *diag)
{
    double sum = 0;
    int code = 0;
    for (size_t seed = 0; code == 0 && seed < study->n_seeds; seed++) {
        double value = (double)NAN;
        const struct merge_run *run = merge_find(merge, run_id + (int64_t)seed);
        if (run != NULL) code = merge_metric(merge, run, metric, &value, diag);
        sum += value;
    }
    *mean = sum / (double)study->n_seeds;
    return code;
}

int outcome_meets(const struct merge *merge, const struct study *study, size_t point, bool *meets, const char **absent,
                  struct diag *diag)
{
    int code = 0;
    bool misses = false;
    const char *unknown = NULL;
    for (size_t i = 0; code == 0 && !misses && i < study->n_conditions; i++) {
        double mean;
        const struct search_condition *condition = &study->conditions[i];
        code = outcome_mean(merge, study, outcome_run_id(study, point, 0, 0), condition->metric, &mean, diag);
        misses = code == 0 && !isnan(mean) && !search_meets(condition, mean);
        if (code == 0 && isnan(mean) && unknown == NULL) unknown = condition->metric;
    }
    *meets = code == 0 && !misses && unknown == NULL;
    if (absent != NULL) *absent = misses ? NULL : unknown;
    return code;
}

/* The means of a point; all NAN where it does not meet the conditions, so that it is neither on the front nor
 * dominates. */
static int find_means(const struct merge *merge, const struct study *study, size_t point, double *means,
                      struct diag *diag)
{
    bool meets;
    int code = outcome_meets(merge, study, point, &meets, NULL, diag);
    for (size_t i = 0; code == 0 && i < study->n_pareto; i++) {
        means[i] = (double)NAN;
        if (meets)
            code = outcome_mean(merge, study, outcome_run_id(study, point, 0, 0), study->pareto[i], &means[i], diag);
    }
    return code;
}

/* Whether a is at least as good as b in all metrics and better in one. */
static bool dominates(const struct study *study, const double *a, const double *b)
{
    bool is_better = false;
    for (size_t i = 0; i < study->n_pareto; i++) {
        double gain = (metric_find(study->pareto[i])->direction == METRIC_HIGHER) ? a[i] - b[i] : b[i] - a[i];
        if (isnan(gain) || gain < 0) return false;
        if (gain > 0) is_better = true;
    }
    return is_better;
}

static bool is_on_front(const struct study *study, const double *means, size_t point)
{
    size_t n = study->n_pareto;
    for (size_t i = 0; i < n; i++)
        if (isnan(means[point * n + i])) return false;
    for (size_t other = 0; other < study->n_points; other++)
        if (dominates(study, &means[other * n], &means[point * n])) return false;
    return true;
}

/* One row per point of the front: "pareto", and the means of the metrics as JSON. */
static int write_front_point(const struct study *study, const double *means, size_t point,
                             const struct database *output, struct arena *arena, struct diag *diag)
{
    struct text text;
    text_init(&text);
    text_add(&text, "{");
    for (size_t i = 0; i < study->n_pareto; i++) {
        text_printf(&text, "%s\"%s\": ", i > 0 ? ", " : "", study->pareto[i]);
        text_json_number(&text, means[point * study->n_pareto + i]);
    }
    text_add(&text, "}");
    struct outcome_row row = {.point = outcome_point(study, point, arena), .key = "pareto", .value = text.chars,
                              .run_id = outcome_run_id(study, point, 0, 0), .note = ""};
    int code = text.failed || row.point == NULL ? diag_nomem(diag) : write_row(output, &row, diag);
    text_fini(&text);
    return code;
}

static int write_front(const struct merge *merge, const struct study *study, const struct database *output,
                       struct arena *arena, struct diag *diag)
{
    size_t n = study->n_pareto;
    double *means = mem_zalloc(study->n_points * n + 1, sizeof *means);
    int code = means != NULL ? 0 : diag_nomem(diag);
    for (size_t point = 0; code == 0 && point < study->n_points; point++)
        code = find_means(merge, study, point, &means[point * n], diag);
    for (size_t point = 0; code == 0 && point < study->n_points; point++)
        if (is_on_front(study, means, point)) code = write_front_point(study, means, point, output, arena, diag);
    mem_free(means);
    return code;
}

int outcome_write(const struct merge *merge, const struct study *study, const struct database *output,
                  struct diag *diag)
{
    struct arena arena;
    int code = 0;
    arena_init(&arena);
    for (size_t point = 0; study->search != NULL && code == 0 && point < study->n_points; point++)
        code = write_search(merge, study, point, output, &arena, diag);
    if (code == 0 && study->n_pareto > 0 && study->search == NULL && merge->n_runs == study->n_runs)
        code = write_front(merge, study, output, &arena, diag);
    arena_fini(&arena);
    return code;
}
