#include "sim/cli/study/check_changes.h"

#include "analysis/gate/single_change.h"
#include "analysis/stats/stats.h"
#include "sim/cli/study/check_runs.h"

#include <math.h>
#include <string.h>

enum { CHANGES_RUN = 8, METRICS_OF_CHANGES = 8, CELL_CHARS = 32 };

/* The runs of one scenario: the first has no difference, each further one has one. */
struct runs {
    const struct gate_result *result;
    struct single_change *changes;
    size_t n_changes, n; /* n: runs */
    struct baseline_entry entries[CHANGES_RUN + 1];
    struct gate_outcome outcomes[CHANGES_RUN + 1];
};

/* Writes the scenarios of the runs. Returns 0 or SIM_E_NOMEM. */
static int make_scenarios(struct runs *runs, struct arena *arena)
{
    const struct json_node *before = runs->result->entry->resolved, *now = runs->result->resolved;
    int code = single_changes(before, now, arena, &runs->changes, &runs->n_changes);
    if (code != 0) return code;
    runs->n = 1 + (runs->n_changes < CHANGES_RUN ? runs->n_changes : CHANGES_RUN);
    for (size_t i = 0; i < runs->n; i++) {
        struct text json;
        text_init(&json);
        single_change_write(before, now, i > 0 ? &runs->changes[i - 1] : NULL, &json);
        const char *kept = json.failed || json.chars == NULL ? NULL : arena_strdup(arena, json.chars);
        text_fini(&json);
        if (kept == NULL) return SIM_E_NOMEM;
        runs->entries[i] = (struct baseline_entry){.name = runs->result->entry->name, .json = kept,
                                                   .scenario = i > 0 ? runs->changes[i - 1].key : "the baseline"};
    }
    return 0;
}

static int run_all(struct cli *cli, const struct baseline *baseline, struct runs *runs, int workers,
                   struct arena *arena)
{
    struct gate_result results[CHANGES_RUN + 1] = {0};
    for (size_t i = 0; i < runs->n; i++) results[i].entry = &runs->entries[i];
    return check_run_all(cli, baseline, results, runs->n, workers, arena, runs->outcomes);
}

/* --- What is said --- */

static void add_brief(const struct json_node *value, struct arena *arena, struct text *text)
{
    struct text json;
    struct json_writer writer;
    if (value == NULL) {
        text_add(text, "absent");
        return;
    }
    text_init(&json);
    json_writer_init(&writer, &json);
    char time[TIME_CHARS];
    if (scenario_shows_time(value, time))
        json_write_string(&writer, NULL, time);
    else
        scenario_write(&writer, NULL, value);
    const char *brief = json.failed || json.chars == NULL ? NULL : json_brief(json.chars, arena);
    if (brief == NULL) text->failed = true;
    text_add_shown(text, brief != NULL ? brief : "", "");
    text_fini(&json);
}

static void list_changes(const struct runs *runs, struct arena *arena, struct text *text)
{
    text_printf(text, "\n%s: the baseline's scenario with each difference alone\n", runs->result->entry->name);
    text_add(text, "  0  no difference: only the program and the input files are those of now\n");
    for (size_t i = 0; i + 1 < runs->n; i++) {
        text_printf(text, "  %zu  %s: ", i + 1, runs->changes[i].key);
        add_brief(runs->changes[i].before, arena, text);
        text_add(text, " in the baseline, ");
        add_brief(runs->changes[i].now, arena, text);
        text_add(text, " now\n");
    }
    if (runs->n_changes >= runs->n)
        text_printf(text, "  and %zu more differences, which are not run\n", runs->n_changes + 1 - runs->n);
    for (size_t i = 0; i < runs->n; i++)
        if (runs->outcomes[i].code != 0) text_printf(text, "  %zu fails: %s\n", i, runs->outcomes[i].finding);
}

static void show_change(double before, double now, char cell[CELL_CHARS])
{
    if (now == before || (isnan(now) && isnan(before)))
        snprintf(cell, CELL_CHARS, "same");
    else if (isnan(now))
        snprintf(cell, CELL_CHARS, "missing");
    else if (isnan(before))
        snprintf(cell, CELL_CHARS, "= %.5g", now);
    else if (before == 0)
        snprintf(cell, CELL_CHARS, "%+.3g", now - before);
    else if (stats_is_multiple(before, now))
        snprintf(cell, CELL_CHARS, "%.3gx", now / before);
    else
        snprintf(cell, CELL_CHARS, "%+.3g %%", 100 * (now - before) / fabs(before));
}

static double value_of(const struct gate_outcome *outcome, const char *metric)
{
    for (size_t i = 0; i < outcome->n_metrics; i++)
        if (strcmp(outcome->metrics[i].name, metric) == 0) return outcome->metrics[i].value;
    return (double)NAN;
}

/* A row for each of the first moves of the report, a column for each run, and the last for all differences. */
static void list_metrics(const struct runs *runs, struct text *text)
{
    const struct gate_result *result = runs->result;
    const size_t n = result->n_moves < METRICS_OF_CHANGES ? result->n_moves : METRICS_OF_CHANGES;
    int width = 6, unit = 4;
    for (size_t i = 0; i < n; i++) {
        if ((int)strlen(result->moves[i].name) > width) width = (int)strlen(result->moves[i].name);
        if ((int)strlen(gate_unit(&result->moves[i])) > unit) unit = (int)strlen(gate_unit(&result->moves[i]));
    }
    text_printf(text, "  %-*s  %-*s  %12s", width, "metric", unit, "unit", "baseline");
    for (size_t k = 0; k < runs->n; k++) text_printf(text, "  %10zu", k);
    text_printf(text, "  %10s\n", "all");
    for (size_t i = 0; i < n; i++) {
        const struct gate_move *move = &result->moves[i];
        char cell[CELL_CHARS] = "missing";
        if (!isnan(move->before)) snprintf(cell, sizeof cell, gate_value_format(move->before), move->before);
        text_printf(text, "  %-*s  %-*s  %12s", width, move->name, unit, gate_unit(move), cell);
        for (size_t k = 0; k < runs->n; k++) {
            show_change(move->before, value_of(&runs->outcomes[k], move->name), cell);
            text_printf(text, "  %10s", runs->outcomes[k].code != 0 ? "failed" : cell);
        }
        show_change(move->before, move->now, cell);
        text_printf(text, "  %10s\n", cell);
    }
    text_printf(text, "  %-*s  %-*s  %12s", width, "all results", unit, "", "");
    for (size_t k = 0; k < runs->n; k++) {
        const struct gate_outcome *outcome = &runs->outcomes[k];
        const bool is_same = strcmp(outcome->hash, result->entry->hash) == 0;
        text_printf(text, "  %10s", outcome->code != 0 ? "failed" : is_same ? "same" : "moved");
    }
    text_printf(text, "  %10s\n", "moved");
}

int check_changes(struct cli *cli, const struct gate_report *report, int workers, struct arena *arena,
                  struct text *text)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < report->n_results; i++) {
        struct runs runs = {.result = &report->results[i]};
        const enum gate_verdict verdict = runs.result->verdict;
        if (verdict != GATE_MOVED && verdict != GATE_TOLERATED) continue;
        if (runs.result->entry->resolved == NULL || runs.result->resolved == NULL) {
            text_printf(text, "\n%s: the baseline does not have its scenario; --update writes it\n",
                        runs.result->entry->name);
            continue;
        }
        code = make_scenarios(&runs, arena);
        if (code != 0) return diag_nomem(&cli->diag);
        code = run_all(cli, report->baseline, &runs, workers, arena);
        if (code != 0) return code;
        list_changes(&runs, arena, text);
        list_metrics(&runs, text);
    }
    return code;
}
