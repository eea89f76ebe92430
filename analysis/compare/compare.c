#include "analysis/compare/compare.h"

#include "analysis/compare/policy_params.h"
#include "analysis/compare/work.h"
#include "analysis/query.h"
#include "analysis/stats/tolerance.h"
#include "sim/core/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void compare_ends(const struct compare_row *row, double *low, double *high)
{
    const bool has_ratio = !isnan(row->ratio_low);
    *low = has_ratio ? (row->ratio_low - 1) * row->base : row->delta.low;
    *high = has_ratio ? (row->ratio_high - 1) * row->base : row->delta.high;
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
    static const char *const names[] = {
        [COMPARE_UNCLEAR] = "unclear", [COMPARE_SAME] = "same", [COMPARE_BETTER] = "better", [COMPARE_WORSE] = "worse",
        [COMPARE_DIFFERS] = "differs"};
    return names[verdict];
}

const char *compare_method_name(enum compare_method method)
{
    static const char *const names[] = {[COMPARE_SINGLE] = "none",
                                        [COMPARE_BOOTSTRAP] = "bootstrap",
                                        [COMPARE_T_REQUESTS] = "paired t",
                                        [COMPARE_BATCH_MEANS] = "batch means",
                                        [COMPARE_T_SEEDS] = "t over seeds",
                                        [COMPARE_WELCH] = "Welch",
                                        [COMPARE_REPLICATES] = "spread of replicates"};
    return names[method];
}

/* --- Two files, or one twice --- */

struct inputs {
    struct database files[2];
    size_t n_files;
    struct compare_group all[2]; /* runs of the base's file and of the changed file */
};

static int open_inputs(struct inputs *inputs, const char *base, const char *changed, struct arena *arena,
                       struct diag *diag)
{
    const char *const paths[] = {base, changed};
    *inputs = (struct inputs){0};
    for (size_t i = 0; i < 2; i++) {
        if (i == 1 && strcmp(base, changed) == 0) {
            inputs->all[1] = inputs->all[0];
            return 0;
        }
        int code = database_open_read(&inputs->files[i], paths[i], diag);
        if (code != 0) return code;
        inputs->n_files++;
        code = runs_read(&inputs->files[i], arena, &inputs->all[i], diag);
        if (code != 0) return code;
    }
    return 0;
}

static void close_inputs(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->n_files; i++) database_close(&inputs->files[i], false);
}

static struct compare_work begin(struct comparison *comparison, const struct compare_options *options,
                                 struct diag *diag)
{
    *comparison = (struct comparison){0};
    arena_init(&comparison->arena);
    return (struct compare_work){
        .options = options, .comparison = comparison, .arena = &comparison->arena, .diag = diag};
}

static int out_of_memory(int code, struct diag *diag)
{
    if (code == SIM_E_NOMEM && (diag == NULL || diag->n_errors == 0)) diag_nomem_at(diag, NULL);
    return code;
}

/* --- Verdicts --- */

/* Whether all replicates get worse, or none does. */
static bool is_one_way(const struct compare_row *row)
{
    return row->n > 1 && (row->worse_frac >= 1 || row->worse_frac <= 0);
}

/* Whether the replicates are too few for this row to be significant, whatever their values. */
static bool is_beyond_replicates(const struct compare_row *row, double level)
{
    return row->method == COMPARE_REPLICATES && !isnan(row->p) &&
           (double)row->n_tests * stats_replicate_least_p(row->n, level) >= 1 - level;
}

static const char *why_unclear(const struct compare_work *work, const struct compare_row *row)
{
    const double level = work->options->level;
    const bool is_spread = row->method == COMPARE_REPLICATES && stats_replicate_least_p(row->n, level) == 0;
    const bool moved = !(row->delta.low <= 0 && row->delta.high >= 0);
    if (is_beyond_replicates(row, level) && !(is_spread && is_one_way(row)))
        return arena_printf(work->arena, "no verdict possible at n=%zu with %zu tests", row->n, row->n_tests);
    if (moved) return "not significant after correction";
    if (is_spread && is_one_way(row))
        return arena_printf(work->arena,
                            "%s %zu replicates are worse, within their spread; %.0f seeds give percentiles",
                            row->worse_frac > 0 ? "all" : "none of", row->n, ceil(2 / (1 - level) - 1e-9));
    return arena_printf(work->arena, "no difference seen at n=%zu", row->n);
}

/* A larger share of rejected requests counts beyond this difference: half of what lies beyond a 99th percentile. */
static const double MORE_REJECTED_FRAC = 0.005;

static bool rejects_more(const double rejected_frac[2])
{
    return rejected_frac[1] - rejected_frac[0] > MORE_REJECTED_FRAC;
}

/* Whether a gain may come from serving fewer requests: of their times, or of energy and cost. The SLO counts rejected
 * requests as missed. */
static bool gains_by_rejecting(const struct compare_row *row)
{
    static const char *const prefixes[] = {"request.", "session.", "energy.", "power.", "cost."};
    bool is_affected = false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        is_affected |= strncmp(row->metric, prefixes[i], strlen(prefixes[i])) == 0;
    return is_affected && rejects_more(row->rejected_frac);
}

static void judge_row(const struct compare_work *work, struct compare_row *row)
{
    row->verdict = COMPARE_UNCLEAR;
    if (row->note != NULL) return;
    if ((row->delta.low == 0 && row->delta.high == 0) ||
        tolerance_holds(row->base, row->delta.low, row->delta.high, work->options->margin_frac, true)) {
        row->verdict = COMPARE_SAME;
        return;
    }
    if (isnan(row->delta.low) || isnan(row->delta.high)) return;
    const bool moved = row->delta.low > 0 || row->delta.high < 0;
    if (!moved || !(row->p < 1 - work->options->level)) {
        row->note = why_unclear(work, row);
        return;
    }
    const bool better = (row->delta.mean < 0) == (row->direction == COMPARE_LOWER);
    row->verdict = row->direction == COMPARE_NEUTRAL ? COMPARE_DIFFERS : better ? COMPARE_BETTER : COMPARE_WORSE;
    if (row->verdict != COMPARE_BETTER || !gains_by_rejecting(row)) return;
    row->verdict = COMPARE_DIFFERS;
    row->note = arena_printf(work->arena, "%.3g %% of the requests rejected, %.3g %% in the base",
                             100 * row->rejected_frac[1], 100 * row->rejected_frac[0]);
}

/* Marks the primary metrics by their names, never by their results. */
static void mark_primary(const struct compare_work *work)
{
    struct comparison *comparison = work->comparison;
    const char *const *ranked = work->options->ranked;
    int n_primary = 0;
    for (size_t k = 0; ranked != NULL && ranked[k] != NULL && n_primary < COMPARE_PRIMARY; k++) {
        bool found = false;
        for (size_t i = 0; i < comparison->n_rows; i++)
            if (strcmp(comparison->rows[i].metric, ranked[k]) == 0) found = comparison->rows[i].is_primary = true;
        n_primary += found;
    }
    for (size_t i = 0; n_primary == 0 && i < comparison->n_rows; i++) comparison->rows[i].is_primary = true;
}

/* Corrects a family of tests: rows over all points or those of single points, of the primary metrics or of all. Sets
 * corrected[i] of its rows, NAN for others, and returns 0 or SIM_E_NOMEM. */
static int correct(const struct comparison *comparison, bool points, bool primary, double *corrected, size_t *n_tests)
{
    *n_tests = 0;
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct compare_row *row = &comparison->rows[i];
        const bool is_member = (row->point != NULL) == points && (row->is_primary || !primary);
        corrected[i] = is_member ? row->p : (double)NAN;
        if (!isnan(corrected[i])) ++*n_tests;
    }
    return stats_holm(corrected, comparison->n_rows);
}

/* Primary metrics are corrected among themselves, the others together with these. */
static int correct_rows(struct comparison *comparison, bool points, double *among_primary, double *among_all)
{
    size_t n_primary, n_all;
    int code = correct(comparison, points, true, among_primary, &n_primary);
    if (code == 0) code = correct(comparison, points, false, among_all, &n_all);
    for (size_t i = 0; code == 0 && i < comparison->n_rows; i++) {
        struct compare_row *row = &comparison->rows[i];
        if ((row->point != NULL) != points) continue;
        row->p = row->is_primary ? among_primary[i] : among_all[i];
        row->n_tests = row->is_primary ? n_primary : n_all;
    }
    return code;
}

/* Adds a remark if the replicates are too few for a primary metric. */
static int remark_too_few(struct compare_work *work)
{
    const double level = work->options->level;
    for (size_t i = 0; i < work->comparison->n_rows; i++) {
        const struct compare_row *row = &work->comparison->rows[i];
        if (!row->is_primary || row->point != NULL || !is_beyond_replicates(row, level)) continue;
        const size_t most = (size_t)((1 - level) / stats_replicate_least_p(row->n, level));
        return work_remark(work,
                           "with %zu replicates and %zu %s no verdict is possible: take %.0f replicates. %zu %s could "
                           "have a verdict if named by -m before any result was seen; chosen from this table, a metric "
                           "proves nothing",
                           row->n, row->n_tests, row->n_tests == 1 ? "test" : "tests",
                           ceil(2 * (double)row->n_tests / (1 - level) - 1e-9), most, most == 1 ? "metric" : "metrics");
    }
    return 0;
}

/* Adds a remark if the runs reject different shares of their requests. */
static int remark_rejected(struct compare_work *work)
{
    const double *frac = work->comparison->rejected_frac;
    const double swapped[2] = {frac[1], frac[0]};
    if (!rejects_more(frac) && !rejects_more(swapped)) return 0;
    return work_remark(
        work, "requests rejected: %.3g %% in the base, %.3g %% in the new run; times are of the others%s",
        100 * frac[0], 100 * frac[1], rejects_more(frac) ? ", so a gain of time, energy or cost is no better" : "");
}

/* Corrects the p-values of all rows and gives each row its verdict. Returns 0 or SIM_E_NOMEM. */
static int judge(struct compare_work *work)
{
    struct comparison *comparison = work->comparison;
    double *p = mem_alloc((2 * comparison->n_rows + 1) * sizeof *p);
    if (p == NULL) return SIM_E_NOMEM;
    mark_primary(work);
    int code = correct_rows(comparison, false, p, p + comparison->n_rows);
    if (code == 0) code = correct_rows(comparison, true, p, p + comparison->n_rows);
    for (size_t i = 0; code == 0 && i < comparison->n_rows; i++) judge_row(work, &comparison->rows[i]);
    mem_free(p);
    if (code == 0) code = remark_rejected(work);
    return code == 0 ? remark_too_few(work) : code;
}

/* --- Two runs --- */

static int find_run(const struct compare_group *all, int64_t id, const struct compare_run **run, struct diag *diag)
{
    *run = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (id == 0 || all->runs[i].id == id) *run = &all->runs[i];
    if (*run == NULL && id == 0) return diag_error(diag, SIM_E_STORE, all->label, NULL, "it contains no run");
    if (*run == NULL)
        return diag_error(diag, SIM_E_STORE, all->label, "'orrery runs' lists the runs of a file",
                          "it contains no run %" PRId64, id);
    static const char *const empty[] = {"open", "failed", "unfit"};
    bool is_empty = false;
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) is_empty |= strcmp((*run)->status, empty[i]) == 0;
    if (is_empty)
        return diag_error(diag, SIM_E_DATA, all->label, NULL, "run %" PRId64 " did not finish: its status is '%s'",
                          (*run)->id, (*run)->status);
    if (strcmp((*run)->status, "done") != 0)
        diag_warning(diag, all->label, "its later requests and jobs are missing", "run %" PRId64 " ended early (%s)",
                     (*run)->id, (*run)->status);
    return 0;
}

static const char *label_run(struct arena *arena, const struct compare_run *run)
{
    return arena_printf(arena, "%s:%" PRId64 " (%s, seed %" PRId64 ")", run->database->path, run->id, run->name,
                        run->seed);
}

int compare_runs(const struct compare_source *base, const struct compare_source *changed,
                 const struct compare_options *options, struct comparison *comparison, struct diag *diag)
{
    struct inputs inputs;
    const struct compare_run *runs[2];
    struct compare_work work = begin(comparison, options, diag);
    int code = open_inputs(&inputs, base->path, changed->path, work.arena, diag);
    if (code == 0) code = find_run(&inputs.all[0], base->run_id, &runs[0], diag);
    if (code == 0) code = find_run(&inputs.all[1], changed->run_id, &runs[1], diag);
    if (code == 0) {
        comparison->base = label_run(work.arena, runs[0]);
        comparison->changed = label_run(work.arena, runs[1]);
        code = comparison->base != NULL && comparison->changed != NULL ? 0 : SIM_E_NOMEM;
    }
    if (code == 0) code = compare_pair(&work, runs[0], runs[1]);
    if (code == 0) code = judge(&work);
    if (code == 0) code = work_remark_warned(&work);
    if (code == 0) code = work_remark_model_error(&work);
    close_inputs(&inputs);
    return out_of_memory(code, diag);
}

/* --- Two groups --- */

static int copy_all(const struct compare_group *all, struct arena *arena, struct compare_group *group,
                    struct diag *diag)
{
    *group = *all;
    if (all->n == 0) return diag_error(diag, SIM_E_STORE, all->label, NULL, "it contains no run");
    group->runs = arena_alloc(arena, all->n * sizeof *group->runs);
    if (group->runs == NULL) return SIM_E_NOMEM;
    memcpy(group->runs, all->runs, all->n * sizeof *group->runs);
    return 0;
}

static int choose(const struct compare_group *all, const char *selection, struct arena *arena,
                  struct selection_keys *keys, struct compare_group *group, struct diag *diag)
{
    if (selection == NULL) return copy_all(all, arena, group, diag);
    return runs_select(all, selection, arena, keys, group, diag);
}

int compare_groups(const char *base_path, const char *base, const char *changed_path, const char *changed,
                   const struct compare_options *options, struct comparison *comparison, struct diag *diag)
{
    struct inputs inputs;
    struct selection_keys keys = {0};
    struct compare_group groups[2];
    struct compare_work work = begin(comparison, options, diag);
    int code = open_inputs(&inputs, base_path, changed_path, work.arena, diag);
    if (code == 0) code = choose(&inputs.all[0], base, work.arena, &keys, &groups[0], diag);
    if (code == 0) code = choose(&inputs.all[1], changed, work.arena, &keys, &groups[1], diag);
    for (size_t i = 0; code == 0 && i < 2; i++) code = runs_set_points(&groups[i], &keys, work.arena);
    if (code == 0) {
        comparison->base = arena_strdup(work.arena, groups[0].label);
        comparison->changed = arena_strdup(work.arena, groups[1].label);
        code = comparison->base != NULL && comparison->changed != NULL ? 0 : SIM_E_NOMEM;
    }
    if (code == 0) code = compare_selected(&work, &groups[0], &groups[1], &keys);
    if (code == 0) code = judge(&work);
    if (code == 0) code = work_remark_recorded(&work);
    if (code == 0) code = work_remark_warned(&work);
    if (code == 0) code = work_remark_model_error(&work);
    close_inputs(&inputs);
    return out_of_memory(code, diag);
}

void comparison_fini(struct comparison *comparison)
{
    arena_fini(&comparison->arena);
    *comparison = (struct comparison){0};
}

/* --- Lists that grow in an arena by doubling --- */

static void *grown(struct arena *arena, const void *old, size_t n, size_t *capacity, size_t each)
{
    if (n < *capacity) return (void *)(uintptr_t)old;
    *capacity = *capacity > 0 ? 2 * *capacity : 64;
    void *wider = arena_alloc(arena, *capacity * each);
    if (wider != NULL && n > 0) memcpy(wider, old, n * each);
    return wider;
}

struct compare_row *work_add_row(struct compare_work *work, size_t metric)
{
    struct comparison *comparison = work->comparison;
    struct compare_row *rows = grown(work->arena, comparison->rows, comparison->n_rows, &work->row_capacity,
                                     sizeof *rows);
    if (rows == NULL) return NULL;
    comparison->rows = rows;
    const double unknown = (double)NAN;
    rows[comparison->n_rows] = (struct compare_row){.metric = work->metrics.names[metric],
                                                    .unit = work->metrics.units[metric],
                                                    .direction = work->metrics.directions[metric], .base = unknown,
                                                    .changed = unknown, .base_run = unknown, .changed_run = unknown,
                                                    .delta = {unknown, unknown, unknown},
                                                    .ratio_low = unknown, .ratio_high = unknown, .p = unknown,
                                                    .recorded_base = unknown, .recorded_changed = unknown,
                                                    .worse_frac = unknown};
    return &rows[comparison->n_rows++];
}

int work_remark(struct compare_work *work, const char *format, ...)
{
    struct comparison *comparison = work->comparison;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char **remarks = grown(work->arena, comparison->remarks, comparison->n_remarks, &work->remark_capacity,
                                 sizeof *remarks);
    if (remarks == NULL) return SIM_E_NOMEM;
    comparison->remarks = remarks;
    remarks[comparison->n_remarks] = arena_strdup(work->arena, text);
    return remarks[comparison->n_remarks++] != NULL ? 0 : SIM_E_NOMEM;
}

int work_remark_policies(struct compare_work *work, const struct compare_run *base, const struct compare_run *changed)
{
    const struct policy_run runs[] = {{base->database, base->id}, {changed->database, changed->id}};
    struct policy_notes notes;
    int code = policy_notes(runs, 2, work->arena, &notes, work->diag);
    for (size_t i = 0; code == 0 && i < notes.n; i++) code = work_remark(work, "%s", notes.texts[i]);
    return code;
}

/* --- Metrics --- */

static int add_metric(struct compare_work *work, const char *name, enum compare_direction direction)
{
    struct metric_set *set = &work->metrics;
    size_t capacities[3] = {set->capacity, set->capacity, set->capacity};
    set->names = grown(work->arena, set->names, set->n, &capacities[0], sizeof *set->names);
    set->units = grown(work->arena, set->units, set->n, &capacities[1], sizeof *set->units);
    set->directions = grown(work->arena, set->directions, set->n, &capacities[2], sizeof *set->directions);
    if (set->names == NULL || set->units == NULL || set->directions == NULL) return SIM_E_NOMEM;
    set->capacity = capacities[0];
    set->names[set->n] = name;
    set->units[set->n] = NULL;
    set->directions[set->n++] = direction;
    return 0;
}

size_t metrics_find(const struct metric_set *set, const char *name)
{
    size_t i = 0;
    while (i < set->n && strcmp(set->names[i], name) != 0) i++;
    return i;
}

/* Whether `part` is one or more complete dotted parts of the name. */
static bool has_part(const char *name, const char *part)
{
    const size_t n = strlen(part);
    for (const char *at = strstr(name, part); at != NULL && n > 0; at = strstr(at + 1, part))
        if ((at == name || at[-1] == '.') && (at[n] == 0 || at[n] == '.')) return true;
    return false;
}

static bool is_wanted(const struct compare_options *options, const char *name)
{
    if (options->only == NULL) return true;
    for (size_t i = 0; options->only[i] != NULL; i++)
        if (has_part(name, options->only[i])) return true;
    return false;
}

/* Checks that each name in options->only matches a metric. */
static int check_wanted(const struct compare_work *work)
{
    const struct metric_set *set = &work->metrics;
    for (size_t i = 0; work->options->only != NULL && work->options->only[i] != NULL; i++) {
        const char *part = work->options->only[i];
        size_t m = 0;
        while (m < set->n && !(set->units[m] != NULL && has_part(set->names[m], part))) m++;
        if (m < set->n) continue;
        const char *nearest = text_nearest_end(part, (const char *const *)set->names, set->n, NULL);
        char hint[160];
        snprintf(hint, sizeof hint, nearest != NULL ? "did you mean '%s'?" : "'orrery list metrics' names them%s",
                 nearest != NULL ? nearest : "");
        return diag_error(work->diag, SIM_E_USAGE, NULL, hint, "the runs have no metric '%s'", part);
    }
    return 0;
}

/* The direction of a metric; a service's or class's ("slo.attained_frac[chat]") is that of the plain name. */
static enum compare_direction direction_of(const struct compare_work *work, const char *name)
{
    const size_t n = strcspn(name, "[");
    for (const struct compare_metric *known = work->options->dictionary; known->name != NULL; known++)
        if (strncmp(known->name, name, n) == 0 && known->name[n] == '\0') return known->direction;
    return COMPARE_NEUTRAL;
}

/* --- Rejected requests --- */

/* Takes the requests of a run from all its metrics. */
static struct requests_seen read_requests(const struct query_answer *answer)
{
    struct requests_seen seen = {0, 0};
    for (size_t row = 0; row < answer->n_rows; row++) {
        const char *name = query_column(answer, "name")->texts[row];
        const double value = query_column(answer, "value")->numbers[row];
        if (strcmp(name, "request.arrived") == 0) seen.arrived = value;
        if (strcmp(name, "request.rejected") == 0) seen.rejected = value;
    }
    return seen;
}

void work_add_rejections(const struct compare_work *work, size_t base, size_t changed, struct rejections *sum)
{
    const size_t runs[] = {base, changed};
    for (int side = 0; side < 2; side++) {
        if (runs[side] == SIZE_MAX) continue;
        sum->sides[side].arrived += work->metrics.requests[runs[side]].arrived;
        sum->sides[side].rejected += work->metrics.requests[runs[side]].rejected;
    }
}

void work_set_rejected(const struct rejections *sum, double rejected_frac[2])
{
    for (int side = 0; side < 2; side++)
        rejected_frac[side] = sum->sides[side].arrived > 0 ? sum->sides[side].rejected / sum->sides[side].arrived : 0.0;
}

/* --- Names --- */

static int collect_names(struct compare_work *work, const struct query_answer *answer)
{
    for (size_t row = 0; row < answer->n_rows; row++) {
        const char *name = query_column(answer, "name")->texts[row];
        size_t found = metrics_find(&work->metrics, name);
        if (found == work->metrics.n && add_metric(work, name, direction_of(work, name)) != 0) return SIM_E_NOMEM;
        work->metrics.units[found] = query_column(answer, "unit")->texts[row];
    }
    return 0;
}

/* Drops metrics that no run has or that options->only does not select. */
static void drop_unwanted(struct compare_work *work)
{
    struct metric_set *set = &work->metrics;
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (set->units[i] == NULL || !is_wanted(work->options, set->names[i])) continue;
        set->names[n] = set->names[i];
        set->units[n] = set->units[i];
        set->directions[n++] = set->directions[i];
    }
    set->n = n;
}

static int fill_values(struct compare_work *work, const struct query_answer *answers)
{
    struct metric_set *set = &work->metrics;
    set->values = arena_alloc(work->arena, (set->n_runs * set->n + 1) * sizeof *set->values);
    if (set->values == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < set->n_runs * set->n; i++) set->values[i] = (double)NAN;
    for (size_t run = 0; run < set->n_runs; run++)
        for (size_t row = 0; row < answers[run].n_rows; row++) {
            const size_t found = metrics_find(set, query_column(&answers[run], "name")->texts[row]);
            if (found < set->n) set->values[run * set->n + found] = query_column(&answers[run], "value")->numbers[row];
        }
    return 0;
}

int metrics_read(struct compare_work *work, const struct compare_run *const *runs, size_t n_runs)
{
    static const char sql[] = "SELECT name, value, unit FROM metric WHERE run_id = ?1 ORDER BY name";
    work->metrics = (struct metric_set){.n_runs = n_runs};
    struct query_answer *answers = arena_alloc(work->arena, (n_runs + 1) * sizeof *answers);
    work->metrics.requests = arena_alloc(work->arena, (n_runs + 1) * sizeof *work->metrics.requests);
    int code = answers != NULL && work->metrics.requests != NULL ? 0 : SIM_E_NOMEM;
    for (const struct compare_metric *known = work->options->dictionary; code == 0 && known->name != NULL; known++)
        code = add_metric(work, known->name, known->direction);
    for (size_t i = 0; code == 0 && i < n_runs; i++) {
        code = query_run(runs[i]->database, sql, &runs[i]->id, 1, "read metrics", work->arena, &answers[i], work->diag);
        if (code == 0 && answers[i].n_rows > 0) code = collect_names(work, &answers[i]);
        if (code == 0) work->metrics.requests[i] = read_requests(&answers[i]);
    }
    if (code == 0) code = check_wanted(work);
    if (code != 0) return code;
    drop_unwanted(work);
    return fill_values(work, answers);
}
