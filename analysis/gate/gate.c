#include "analysis/gate/gate.h"

#include "analysis/stats/importance.h"
#include "analysis/stats/tolerance.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void last_match(const struct tolerance_list *list, const char *metric, struct tolerance *tolerance)
{
    for (size_t i = 0; i < list->n; i++)
        if (fnmatch(list->items[i].pattern, metric, 0) == 0) *tolerance = list->items[i];
}

struct tolerance gate_tolerance(const struct baseline *baseline, const struct baseline_entry *entry, const char *metric)
{
    struct tolerance tolerance = {0};
    last_match(&baseline->tolerances, metric, &tolerance);
    last_match(&entry->tolerances, metric, &tolerance);
    return tolerance;
}

static bool is_beyond(double before, double now, const struct tolerance *tolerance)
{
    const double moved = now - before, amount = tolerance->is_relative ? tolerance->amount / 100 : tolerance->amount;
    return !tolerance_holds(before, moved, moved, amount, tolerance->is_relative);
}

static const struct gate_metric *find(const struct gate_metric *metrics, size_t n, const char *name, size_t guess)
{
    if (guess < n && strcmp(metrics[guess].name, name) == 0) return &metrics[guess];
    for (size_t i = 0; i < n; i++)
        if (strcmp(metrics[i].name, name) == 0) return &metrics[i];
    return NULL;
}

/* Whether a metric is among the first METRICS_SHOWN by importance that the baseline or the run has. */
static bool is_usual(const struct gate_outcome *outcome, const struct baseline_entry *entry, const char *metric)
{
    int n_shown = 0;
    for (size_t k = 0; metrics_by_importance[k] != NULL && n_shown < METRICS_SHOWN; k++) {
        const char *name = metrics_by_importance[k];
        if (strcmp(name, metric) == 0) return true;
        n_shown += find(entry->metrics, entry->n_metrics, name, 0) != NULL ||
                   find(outcome->metrics, outcome->n_metrics, name, 0) != NULL;
    }
    return false;
}

static enum gate_weight weigh(const struct gate_outcome *outcome, const struct baseline_entry *entry,
                              const struct gate_move *move)
{
    const char *pattern = move->tolerance.pattern;
    if (pattern != NULL && strcmp(pattern, move->name) == 0) return GATE_NAMED;
    if (is_usual(outcome, entry, move->name)) return GATE_USUAL;
    return pattern != NULL && strcmp(pattern, "*") != 0 ? GATE_MATCHED : GATE_OTHER;
}

/* Adds the metric's move, unless its value is unchanged. */
static void add_move(struct gate_result *result, const struct baseline *baseline, const struct gate_metric *before,
                     const struct gate_metric *now)
{
    if (before != NULL && now != NULL && (before->value == now->value || (isnan(before->value) && isnan(now->value))))
        return;
    struct gate_move move = {
        .name = now != NULL ? now->name : before->name, .unit = now != NULL ? now->unit : "",
        .before = before != NULL ? before->value : (double)NAN, .now = now != NULL ? now->value : (double)NAN,
        .presence = before == NULL ? GATE_NEW : now == NULL ? GATE_GONE : GATE_IN_BOTH};
    move.tolerance = gate_tolerance(baseline, result->entry, move.name);
    move.is_beyond = is_beyond(move.before, move.now, &move.tolerance);
    if (move.presence == GATE_IN_BOTH && now->direction != 0 && !isnan(move.before) && !isnan(move.now))
        move.better = (move.now > move.before) == (now->direction > 0) ? 1 : -1;
    result->n_beyond += move.is_beyond;
    result->moves[result->n_moves++] = move;
}

/* The last sort key of moves: metrics that are new or gone come first. */
static double relative_size(const struct gate_move *move)
{
    if (isnan(move->before) || isnan(move->now)) return (double)INFINITY;
    double difference = fabs(move->now - move->before), base = fabs(move->before);
    return base > 0 ? difference / base : (double)INFINITY;
}

static int compare_moves(const void *a, const void *b)
{
    const struct gate_move *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
    if (x->is_beyond != y->is_beyond) return x->is_beyond ? -1 : 1;
    double size_x = relative_size(x), size_y = relative_size(y);
    if (size_x < size_y || size_x > size_y) return size_x > size_y ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int list_moves(const struct baseline *baseline, const struct gate_outcome *outcome, struct arena *arena,
                      struct gate_result *result)
{
    const struct baseline_entry *entry = result->entry;
    result->moves = arena_alloc(arena, (entry->n_metrics + outcome->n_metrics + 1) * sizeof *result->moves);
    if (result->moves == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < entry->n_metrics; i++)
        add_move(result, baseline, &entry->metrics[i],
                 find(outcome->metrics, outcome->n_metrics, entry->metrics[i].name, i));
    for (size_t i = 0; i < outcome->n_metrics; i++)
        if (find(entry->metrics, entry->n_metrics, outcome->metrics[i].name, i) == NULL)
            add_move(result, baseline, NULL, &outcome->metrics[i]);
    for (size_t i = 0; i < result->n_moves; i++) result->moves[i].weight = weigh(outcome, entry, &result->moves[i]);
    if (result->n_moves > 1) qsort(result->moves, result->n_moves, sizeof *result->moves, compare_moves);
    return 0;
}

static bool has_equal(const struct json_node *files, const struct json_node *file)
{
    const struct json_node *other = json_member(files, file->key);
    return other != NULL && strcmp(other->text, file->text) == 0;
}

/* Lists the files whose hashes differ, those of the run first, then those that it no longer reads. */
static int list_files(const struct json_node *before, const struct json_node *now, struct arena *arena,
                      struct gate_result *result)
{
    if (before == NULL || now == NULL) return 0;
    result->files = arena_alloc(arena, (before->n + now->n + 1) * sizeof *result->files);
    if (result->files == NULL) return SIM_E_NOMEM;
    for (const struct json_node *file = now->first; file != NULL; file = file->next)
        if (!has_equal(before, file)) result->files[result->n_files++] = file->key;
    for (const struct json_node *file = before->first; file != NULL; file = file->next)
        if (json_member(now, file->key) == NULL) result->files[result->n_files++] = file->key;
    return 0;
}

/* Whether any metric of the scenario has a tolerance above 0. */
static bool tolerates(const struct baseline *baseline, const struct baseline_entry *entry)
{
    for (size_t i = 0; i < entry->n_metrics; i++)
        if (gate_tolerance(baseline, entry, entry->metrics[i].name).amount > 0) return true;
    return false;
}

int gate_judge(const struct baseline *baseline, const struct baseline_entry *entry, const struct gate_outcome *outcome,
               struct arena *arena, struct gate_result *result, struct diag *diag)
{
    *result = (struct gate_result){.entry = entry, .verdict = GATE_SAME, .n_metrics = outcome->n_metrics,
                                   .code = outcome->code, .finding = outcome->finding, .resolved = outcome->resolved,
                                   .seen = outcome->seen != NULL ? outcome->seen : ""};
    if (outcome->code != 0) {
        result->verdict = GATE_FAILED;
        return 0;
    }
    if (entry->hash[0] == 0) {
        result->verdict = GATE_UNKNOWN;
        return 0;
    }
    result->scenario_moved = entry->scenario_hash[0] != 0 && strcmp(entry->scenario_hash, outcome->scenario_hash) != 0;
    result->inputs_moved = strcmp(entry->inputs, outcome->inputs) != 0;
    int code = list_files(entry->files, outcome->files, arena, result);
    if (code == 0 && result->scenario_moved && entry->resolved != NULL && outcome->resolved != NULL)
        code = scenario_changes(entry->resolved, outcome->resolved, arena, &result->changes, &result->n_changes);
    const bool is_same = strcmp(entry->hash, outcome->hash) == 0;
    if (code == 0 && !is_same) code = list_moves(baseline, outcome, arena, result);
    if (code != 0) return diag_nomem(diag);
    if (is_same) return 0;
    result->verdict = result->n_beyond == 0 && tolerates(baseline, entry) ? GATE_TOLERATED : GATE_MOVED;
    const bool is_log_read = entry->decisions.n == 0 || entry->decisions.n_chars > 0;
    if (!is_log_read) return 0; /* by an update of all entries, which writes it anew */
    return decision_log_compare(&entry->decisions, &outcome->decisions, arena, &result->divergence, diag);
}

void gate_count(struct gate_report *report)
{
    memset(report->counts, 0, sizeof report->counts);
    for (size_t i = 0; i < report->n_results; i++) report->counts[report->results[i].verdict]++;
}

int gate_code(const struct gate_report *report)
{
    int code = 0;
    for (size_t i = 0; i < report->n_results; i++) {
        const struct gate_result *result = &report->results[i];
        if (result->verdict == GATE_FAILED) return result->code;
        if (result->verdict == GATE_MOVED || result->verdict == GATE_UNKNOWN) code = SIM_E_GATE;
    }
    return code;
}

const char *gate_verdict_text(enum gate_verdict verdict)
{
    static const char *const texts[GATE_VERDICTS] = {"same", "within tolerance", "moved", "not in the baseline",
                                                     "failed"};
    return texts[verdict];
}

bool gate_platform_differs(const struct gate_report *report)
{
    for (size_t i = 0; i < report->n_results; i++) {
        const char *before = report->results[i].entry->maker.platform;
        if (before[0] != 0 && strcmp(before, report->maker.platform) != 0) return true;
    }
    return false;
}

/* --- Patterns that fit nothing --- */

static bool fits_any(const char *pattern, const struct gate_metric *metrics, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fnmatch(pattern, metrics[i].name, 0) == 0) return true;
    return false;
}

static const struct gate_outcome *outcome_of(const struct gate_report *report, const struct gate_outcome *outcomes,
                                             const struct baseline_entry *entry)
{
    for (size_t i = 0; i < report->n_results; i++)
        if (report->results[i].entry == entry) return &outcomes[i];
    return NULL;
}

/* Whether the pattern matches a metric of the entry, or may match one of a scenario that never ran. */
static bool may_fit(const struct gate_report *report, const struct gate_outcome *outcomes,
                    const struct baseline_entry *entry, const char *pattern)
{
    const struct gate_outcome *outcome = outcome_of(report, outcomes, entry);
    bool has_run = outcome != NULL && outcome->code == 0;
    if (entry->hash[0] == 0 && !has_run) return true;
    return fits_any(pattern, entry->metrics, entry->n_metrics) ||
           (has_run && fits_any(pattern, outcome->metrics, outcome->n_metrics));
}

static void warn_of_pattern(const struct tolerance *tolerance, struct diag *diag)
{
    diag_warning(diag, tolerance->where, "'orrery list metrics' names them",
                 "no metric matches '%s': this tolerance has no effect", tolerance->pattern);
}

void gate_check_patterns(const struct gate_report *report, const struct gate_outcome *outcomes, struct diag *diag)
{
    const struct baseline *baseline = report->baseline;
    for (size_t k = 0; k < baseline->tolerances.n; k++) {
        bool fits = false;
        for (size_t i = 0; i < baseline->n_entries; i++)
            fits = fits || may_fit(report, outcomes, &baseline->entries[i], baseline->tolerances.items[k].pattern);
        if (!fits) warn_of_pattern(&baseline->tolerances.items[k], diag);
    }
    for (size_t i = 0; i < baseline->n_entries; i++) {
        const struct baseline_entry *entry = &baseline->entries[i];
        for (size_t k = 0; k < entry->tolerances.n; k++)
            if (!may_fit(report, outcomes, entry, entry->tolerances.items[k].pattern))
                warn_of_pattern(&entry->tolerances.items[k], diag);
    }
}
