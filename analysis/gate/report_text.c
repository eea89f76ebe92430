/* The report for people: for a terminal and, in Markdown, for a pull request. */
#include "analysis/gate/gate.h"
#include "analysis/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Text --- */

enum { MOVES_SHOWN = 10, VALUE_CHARS = 32 };

static void show_value(double value, const char *format, char shown[VALUE_CHARS])
{
    if (isnan(value))
        snprintf(shown, VALUE_CHARS, "-");
    else
        snprintf(shown, VALUE_CHARS, format, value);
}

const char *gate_value_format(double value)
{
    return fabs(value) >= 1e5 && fabs(value) < 1e15 ? "%.0f" : "%.6g";
}

const char *gate_unit(const struct gate_move *move)
{
    return strcmp(move->unit, "1") == 0 ? "" : move->unit;
}

static void show_numbers(const struct gate_move *move, char before[32], char now[32], char change[32])
{
    show_value(move->before, gate_value_format(move->before), before);
    show_value(move->now, gate_value_format(move->now), now);
    if (move->presence == GATE_IN_BOTH && strcmp(before, now) == 0) { /* they differ in later digits */
        show_value(move->before, "%.17g", before);
        show_value(move->now, "%.17g", now);
    }
    double difference = move->now - move->before;
    if (move->presence != GATE_IN_BOTH)
        snprintf(change, 32, "%s", move->presence == GATE_NEW ? "new" : "gone");
    else if (isnan(difference))
        snprintf(change, 32, "-");
    else if (move->before == 0)
        snprintf(change, 32, "%+.3g", difference);
    else if (stats_is_multiple(move->before, move->now))
        snprintf(change, 32, "%.3gx", move->now / move->before);
    else
        snprintf(change, 32, "%+.3g %%", 100 * difference / fabs(move->before));
}

static void show_tolerance(const struct tolerance *tolerance, char shown[48])
{
    if (tolerance->amount == 0)
        snprintf(shown, 48, "exact");
    else
        snprintf(shown, 48, "%.6g%s", tolerance->amount, tolerance->is_relative ? " %" : "");
}

/* The cells of one move, as texts. */
struct move_cells {
    char before[32], now[32], change[32], tolerance[48];
    const char *unit, *word;
};

static void fill_cells(const struct gate_move *move, struct move_cells *cells)
{
    show_numbers(move, cells->before, cells->now, cells->change);
    show_tolerance(&move->tolerance, cells->tolerance);
    cells->unit = gate_unit(move);
    cells->word = move->better > 0 ? "better" : move->better < 0 ? "worse" : "";
}

static int wider(int width, const char *text)
{
    int n = (int)strlen(text);
    return n > width ? n : width;
}

/* Says how many moves are not shown, and how many of these are beyond their tolerance. */
static void describe_rest(const struct gate_result *result, size_t n_shown, struct text *text)
{
    const size_t n = result->n_moves - n_shown;
    size_t n_beyond = 0;
    for (size_t i = n_shown; i < result->n_moves; i++) n_beyond += result->moves[i].is_beyond;
    if (n == 0) return;
    text_printf(text, "  and %zu more metric%s: ", n, n == 1 ? "" : "s");
    if (n_beyond == n || n_beyond == 0)
        text_printf(text, "%s %s\n", n == 1 ? "it is" : "all", n_beyond == n ? "beyond tolerance" : "within tolerance");
    else
        text_printf(text, "%zu beyond tolerance, %zu within\n", n_beyond, n - n_beyond);
}

static void describe_moves(const struct gate_result *result, struct text *text)
{
    size_t n = result->n_moves < MOVES_SHOWN ? result->n_moves : MOVES_SHOWN;
    struct move_cells cells[MOVES_SHOWN];
    int name = 6, unit = 4, before = 8, now = 3, change = 6, tolerance = 9;
    for (size_t i = 0; i < n; i++) {
        fill_cells(&result->moves[i], &cells[i]);
        name = wider(name, result->moves[i].name);
        unit = wider(unit, cells[i].unit);
        before = wider(before, cells[i].before);
        now = wider(now, cells[i].now);
        change = wider(change, cells[i].change);
        tolerance = wider(tolerance, cells[i].tolerance);
    }
    if (n > 0)
        text_printf(text, "  %-*s  %-*s  %*s  %*s  %*s  %*s\n", name, "metric", unit, "unit", before, "baseline", now,
                    "now", change, "change", tolerance, "tolerance");
    for (size_t i = 0; i < n; i++)
        text_printf(text, "  %-*s  %-*s  %*s  %*s  %*s  %*s%s%s%s\n", name, result->moves[i].name, unit, cells[i].unit,
                    before, cells[i].before, now, cells[i].now, change, cells[i].change, tolerance, cells[i].tolerance,
                    cells[i].word[0] != 0 ? "  " : "", cells[i].word,
                    result->moves[i].is_beyond ? "" : "  (tolerated)");
    describe_rest(result, n, text);
}

static void describe_line(const char *when, const struct decision_line *line, struct text *text)
{
    bool has_service = line->service[0] != 0;
    text_printf(text, "    %-8s  %s s: %s %s %s%s%s: %s\n", when, line->t_s, line->policy, line->action, line->subject,
                has_service ? " of " : "", line->service, line->reason);
}

static void describe_parting(const struct parting *parting, struct text *text)
{
    if (parting->has_before)
        describe_line("baseline", &parting->before, text);
    else
        text_add(text, "    baseline  no further decision\n");
    if (parting->has_now)
        describe_line("now", &parting->now, text);
    else
        text_add(text, "    now       no further decision\n");
}

static void describe_seen(const struct gate_result *result, struct text *text)
{
    if (result->seen[0] != 0) text_printf(text, "    seen now  %s\n", result->seen);
}

static void describe_divergence(const struct gate_result *result, struct text *text)
{
    const struct divergence *divergence = &result->divergence;
    const struct parting *first = &divergence->first, *choice = &divergence->choice;
    if (!first->found) {
        text_printf(text, "  all %zu decisions are the same: costs, inputs or rows have moved, policies have not\n",
                    divergence->n_now);
        return;
    }
    text_printf(text, "  first diverging decision: number %zu (of %zu in the baseline, %zu now)%s\n", first->number,
                divergence->n_before, divergence->n_now,
                !divergence->is_same_choice                      ? ""
                : strcmp(first->before.t_s, first->now.t_s) != 0 ? ", the same choice at another time"
                                                                 : ", the same choice by another policy");
    for (size_t i = 0; i < divergence->n_context; i++) describe_line("both", &divergence->context[i], text);
    describe_parting(first, text);
    if (!choice->found) describe_seen(result, text);
    if (!divergence->is_same_choice) return;
    if (!choice->found) {
        text_add(text, "  every choice is the same\n");
        return;
    }
    text_printf(text, "  first different choice: number %zu\n", choice->number);
    describe_parting(choice, text);
    describe_seen(result, text);
}

static void describe_head(const struct gate_result *result, struct text *text)
{
    text_printf(text, "%s: %s", result->entry->name, gate_verdict_text(result->verdict));
    if (result->verdict == GATE_MOVED && result->n_beyond == 0)
        text_add(text, ": its rows differ from the baseline");
    else if (result->verdict == GATE_MOVED)
        text_printf(text, " beyond tolerance: %zu of %zu metrics", result->n_beyond, result->n_metrics);
    if (result->verdict == GATE_TOLERATED)
        text_printf(text, ": %zu of %zu metrics have moved", result->n_moves, result->n_metrics);
    text_add(text, "\n");
}

static void describe_scenario(const struct gate_result *result, struct text *text)
{
    enum { MOST = 5 };
    const char *effect = result->verdict == GATE_SAME ? ", without an effect on its results" : "";
    text_printf(text, "  its scenario differs from the baseline%s:%s\n", effect,
                result->n_changes == 0 ? " its file, one that it extends, or a default has changed" : "");
    for (size_t i = 0; i < result->n_changes && i < MOST; i++) {
        const struct scenario_change *change = &result->changes[i];
        text_printf(text, "    %s: %s in the baseline, %s now\n", change->key,
                    change->before != NULL ? change->before : "absent", change->now != NULL ? change->now : "absent");
    }
    if (result->n_changes > MOST) text_printf(text, "    and %zu more values\n", result->n_changes - MOST);
}

/* Of a run that knew no plug-in, names those that the baseline had. */
static void describe_missing_plugins(const struct gate_result *result, struct text *text)
{
    static const char head[] = "plugin.";
    const struct json_node *files = result->entry->files;
    if (strstr(result->finding, "--plugin") == NULL) return;
    for (const struct json_node *file = files != NULL ? files->first : NULL; file != NULL; file = file->next)
        if (strncmp(file->key, head, sizeof head - 1) == 0)
            text_printf(text, "  the baseline had the plug-in '%s': load it with --plugin\n",
                        file->key + sizeof head - 1);
}

/* A rebuilt plug-in has other bytes, which is no news as long as the results are the same. */
static void describe_files(const struct gate_result *result, const char *end, struct text *text)
{
    size_t n_shown = 0;
    for (size_t i = 0; i < result->n_files; i++) {
        const bool is_plugin = strncmp(result->files[i], "plugin.", strlen("plugin.")) == 0;
        if (is_plugin && result->verdict == GATE_SAME) continue;
        if (n_shown++ == 0) text_printf(text, "  its input files differ%s: ", end);
        text_printf(text, "%s%s", n_shown > 1 ? ", " : "", result->files[i]);
    }
    text_add(text, n_shown > 0 ? "\n" : "");
    if (n_shown == 0 && result->inputs_moved) text_printf(text, "  its input files (traces, catalog) differ%s\n", end);
}

void gate_describe(const struct gate_report *report, const struct gate_result *result, struct text *text)
{
    (void)report;
    describe_head(result, text);
    switch (result->verdict) {
    case GATE_FAILED:
        text_printf(text, "  %s\n", result->finding);
        describe_missing_plugins(result, text);
        return;
    case GATE_UNKNOWN: text_add(text, "  --update writes its results into the baseline\n"); return;
    default: break;
    }
    if (result->scenario_moved) describe_scenario(result, text);
    if (result->verdict == GATE_SAME) {
        if (result->inputs_moved) describe_files(result, ", without an effect", text);
        return;
    }
    if (result->n_moves == 0) text_add(text, "  no metric has moved\n");
    describe_moves(result, text);
    if (result->inputs_moved || result->n_files > 0) describe_files(result, " from the baseline", text);
    describe_divergence(result, text);
}

/* Whether there is more to say than that it is the same. */
static bool is_told(const struct gate_result *result)
{
    return result->verdict != GATE_SAME || gate_has_no_effect(result);
}

void gate_summary(const struct gate_report *report, struct text *text)
{
    text_printf(text, "%zu scenario%s: %zu the same", report->n_results, report->n_results == 1 ? "" : "s",
                report->counts[GATE_SAME]);
    for (size_t verdict = GATE_TOLERATED; verdict < GATE_VERDICTS; verdict++)
        if (report->counts[verdict] > 0)
            text_printf(text, ", %zu %s", report->counts[verdict], gate_verdict_text((enum gate_verdict)verdict));
}

static bool has_moved(const struct gate_result *result)
{
    return result->verdict == GATE_MOVED || result->verdict == GATE_TOLERATED;
}

static void describe_maker(const struct gate_report *report, const struct baseline_entry *entry, struct text *text)
{
    const struct maker *before = &entry->maker, *now = &report->maker;
    struct text whose;
    text_init(&whose);
    text_add(&whose, "the baseline");
    if (!baseline_same_maker(before, &report->baseline->maker)) text_printf(&whose, " of '%s'", entry->name);
    if (whose.failed) text->failed = true;
    const char *what = whose.chars != NULL ? whose.chars : "";
    if (before->platform[0] != 0 && strcmp(before->platform, now->platform) != 0)
        text_printf(text, "the platform differs, so the last digits may: %s was made on %s, this is %s\n", what,
                    before->platform, now->platform);
    if (before->version[0] != 0 &&
        (strcmp(before->version, now->version) != 0 || strcmp(before->commit, now->commit) != 0))
        text_printf(text, "%s was made by orrery %s (%s), this is %s (%s)\n", what, before->version, before->commit,
                    now->version, now->commit);
    text_fini(&whose);
}

void gate_makers(const struct gate_report *report, struct text *text)
{
    for (size_t i = 0; i < report->n_results; i++) {
        const struct gate_result *result = &report->results[i];
        bool is_described = false;
        for (size_t k = 0; k < i && !is_described; k++)
            is_described = has_moved(&report->results[k]) &&
                           baseline_same_maker(&report->results[k].entry->maker, &result->entry->maker);
        if (has_moved(result) && !is_described) describe_maker(report, result->entry, text);
    }
}

void gate_text(const struct gate_report *report, struct text *text)
{
    int name = 8;
    for (size_t i = 0; i < report->n_results; i++) name = wider(name, report->results[i].entry->name);
    text_printf(text, "%-*s  %-19s  %5s  %6s\n", name, "scenario", "verdict", "moved", "beyond");
    for (size_t i = 0; i < report->n_results; i++) {
        const struct gate_result *result = &report->results[i];
        text_printf(text, "%-*s  %-19s  %5zu  %6zu\n", name, result->entry->name, gate_verdict_text(result->verdict),
                    result->n_moves, result->n_beyond);
    }
    for (size_t i = 0; i < report->n_results; i++) {
        if (!is_told(&report->results[i])) continue;
        text_add(text, "\n");
        gate_describe(report, &report->results[i], text);
    }
    text_add(text, "\n");
    gate_makers(report, text);
    gate_summary(report, text);
    text_add(text, "\n");
}

void gate_moves(const struct gate_report *report, struct text *text)
{
    for (size_t i = 0; i < report->n_results; i++) {
        const struct gate_result *result = &report->results[i];
        if (result->verdict == GATE_UNKNOWN)
            text_printf(text, "%s: new in the baseline\n", result->entry->name);
        else if (has_moved(result))
            gate_describe(report, result, text);
    }
    if (text->length > 0) text_add(text, "\n");
    gate_makers(report, text);
}

/* --- Markdown --- */

/* Adds a table cell; bars and angle brackets are escaped. */
static void add_cell(struct text *text, const char *chars)
{
    for (; *chars != 0; chars++) {
        if (*chars == '|')
            text_add(text, "\\|");
        else if (*chars == '<')
            text_add(text, "&lt;");
        else if (*chars == '&')
            text_add(text, "&amp;");
        else
            text_add_bytes(text, *chars == '\n' ? " " : chars, 1);
    }
}

static void add_row(struct text *text, const struct gate_result *result)
{
    const struct parting *parting = result->divergence.choice.found ? &result->divergence.choice
                                                                    : &result->divergence.first;
    text_add(text, "| ");
    add_cell(text, result->entry->name);
    text_printf(text, " | %s | %zu of %zu | %zu | ", gate_verdict_text(result->verdict), result->n_moves,
                result->n_metrics, result->n_beyond);
    if (result->verdict == GATE_FAILED) {
        add_cell(text, result->finding);
    } else if (parting->found) {
        const struct decision_line *line = parting->has_now ? &parting->now : &parting->before;
        text_printf(text, "%s s: ", line->t_s);
        add_cell(text, line->policy);
        text_printf(text, " %s %s", line->action, line->subject);
        if (line->service[0] != 0) text_add(text, " of ");
        add_cell(text, line->service);
        if (!parting->has_now) text_add(text, " is missing");
    }
    text_add(text, " |\n");
}

/* Adds the description as a code block with a fence longer than any in the text. */
static void add_details(struct text *text, const struct gate_report *report, const struct gate_result *result)
{
    struct text description;
    text_init(&description);
    gate_describe(report, result, &description);
    text_add(text, "\n<details><summary>");
    add_cell(text, result->entry->name);
    text_add(text, "</summary>\n\n``````text\n");
    text_add(text, description.chars != NULL ? description.chars : "");
    text_add(text, "``````\n\n</details>\n");
    if (description.failed) text->failed = true;
    text_fini(&description);
}

void gate_markdown(const struct gate_report *report, struct text *text)
{
    bool passes = gate_code(report) == 0;
    text_printf(text, "### Regression gate: %s\n\n", passes ? "passed" : "not met");
    gate_summary(report, text);
    text_add(text, ".\n");
    struct text advice;
    text_init(&advice);
    gate_advise(report, &advice);
    if (advice.length > 0) text_printf(text, "What to do: %s.\n", advice.chars);
    if (advice.failed) text->failed = true;
    text_fini(&advice);
    bool is_plain = true;
    for (size_t i = 0; i < report->n_results; i++) is_plain = is_plain && !is_told(&report->results[i]);
    if (is_plain) return;
    text_add(text, "\n");
    gate_makers(report, text);
    text_add(text, "\n| scenario | verdict | metrics moved | beyond tolerance | first diverging decision |\n"
                   "|---|---|---|---|---|\n");
    for (size_t i = 0; i < report->n_results; i++)
        if (is_told(&report->results[i])) add_row(text, &report->results[i]);
    for (size_t i = 0; i < report->n_results; i++)
        if (is_told(&report->results[i])) add_details(text, report, &report->results[i]);
}
