/* Markdown as GitHub shows it in the summary of a job: a line of result, a table of what is not the same, and the details of
 * each folded away. */
#include "analysis/gate/gate.h"

#include <string.h>

/* A cell of a table: bars and angle brackets are no markup. */
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

/* The description as a block of code, with a fence that no text in it can close. */
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
    if (report->counts[GATE_SAME] == report->n_results) return;
    text_add(text, "\n");
    gate_makers(report, text);
    text_add(text, "\n| scenario | verdict | metrics moved | beyond tolerance | first diverging decision |\n"
                   "|---|---|---|---|---|\n");
    for (size_t i = 0; i < report->n_results; i++)
        if (report->results[i].verdict != GATE_SAME) add_row(text, &report->results[i]);
    for (size_t i = 0; i < report->n_results; i++)
        if (report->results[i].verdict != GATE_SAME) add_details(text, report, &report->results[i]);
}
