/* What the searches of a study found, and the points on its Pareto front, with the metrics that the study shows. */
#include "analysis/report/study.h"
#include "analysis/report/words.h"
#include "sim/core/json_doc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Reading --- */

enum { AT_OUTCOME, AT_KEY, AT_VALUE, AT_RUN, AT_NOTE, AT_AXIS, AT_AXIS_VALUE };

static const char outcome_sql[] =
    "SELECT outcome.rowid, outcome.key, outcome.value, outcome.run_id, outcome.note, axis.key,\n"
    "       CAST(axis.value AS TEXT)\n"
    "FROM outcome LEFT JOIN json_each(CASE WHEN json_valid(point) THEN point ELSE '{}' END) AS axis\n"
    "ORDER BY outcome.rowid, axis.id";

/* The metrics of the front, then those shown, each once: means over the seeds, whose runs follow one another. */
static const char value_sql[] =
    "WITH whole AS (SELECT CASE WHEN json_valid(definition) THEN definition ELSE '{}' END AS json FROM study),\n"
    "wanted AS (SELECT name, min(place) AS place FROM (\n"
    "  SELECT pareto.value AS name, pareto.key AS place FROM whole, json_each(whole.json, '$.pareto') AS pareto\n"
    "  UNION ALL SELECT shown.value, 1000 + shown.key FROM whole, json_each(whole.json, '$.show') AS shown)\n"
    "  GROUP BY name)\n"
    "SELECT outcome.rowid, wanted.name, min(metric.unit), avg(metric.value)\n"
    "FROM whole JOIN outcome JOIN wanted JOIN metric ON metric.name = wanted.name AND metric.run_id\n"
    "  BETWEEN outcome.run_id AND outcome.run_id + max(1, coalesce(json_array_length(whole.json, '$.seeds'), 1)) - 1\n"
    "GROUP BY outcome.rowid, wanted.name ORDER BY outcome.rowid, min(wanted.place), wanted.name";

static void take_axis(const struct study *study, const struct query_answer *answer, size_t row, struct arena *arena,
                      struct study_outcomes *outcomes, struct study_outcome *outcome)
{
    const char *key = query_text(answer, AT_AXIS, row);
    for (size_t a = 0; a < study->n_axes; a++) {
        if (strcmp(study->axes[a].key, key) != 0) continue;
        outcome->at[a] = json_brief(query_text(answer, AT_AXIS_VALUE, row), arena);
        outcomes->axes |= 1U << a;
    }
}

static int read_items(const struct report_source *source, const struct study *study, struct study_outcomes *outcomes,
                      double **rows)
{
    struct query_answer answer;
    outcomes->queries[0].sql = outcome_sql;
    const int code = source_query(source, &outcomes->queries[0], "read outcomes", &answer);
    if (code != 0) return code;
    outcomes->items = arena_alloc(source->arena, (answer.n_rows + 1) * sizeof *outcomes->items);
    *rows = arena_alloc(source->arena, (answer.n_rows + 1) * sizeof **rows);
    if (outcomes->items == NULL || *rows == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < answer.n_rows; i++) {
        const double row = answer.columns[AT_OUTCOME].numbers[i];
        if (i == 0 || row != (*rows)[outcomes->n - 1]) {
            struct study_outcome *outcome = &outcomes->items[outcomes->n];
            const double run = answer.columns[AT_RUN].numbers[i];
            *outcome = (struct study_outcome){.value = query_text(&answer, AT_VALUE, i),
                                              .note = query_text(&answer, AT_NOTE, i),
                                              .run = run >= 1 && run < 1e15 ? (int64_t)run : 0};
            for (size_t k = 0; k < STUDY_MAX_METRICS; k++) outcome->metrics[k] = (double)NAN;
            (*rows)[outcomes->n++] = row;
        }
        take_axis(study, &answer, i, source->arena, outcomes, &outcomes->items[outcomes->n - 1]);
    }
    outcomes->key = answer.n_rows > 0 ? query_text(&answer, AT_KEY, 0) : "";
    outcomes->is_front = strcmp(outcomes->key, "pareto") == 0;
    return 0;
}

/* The index of a metric; a new one is added as long as there is room. */
static size_t find_metric(struct study_outcomes *outcomes, const char *name, const char *unit)
{
    size_t k = 0;
    while (k < outcomes->n_metrics && strcmp(outcomes->metrics[k].name, name) != 0) k++;
    if (k == outcomes->n_metrics && k < STUDY_MAX_METRICS)
        outcomes->metrics[outcomes->n_metrics++] = (struct study_metric){.name = name, .unit = unit};
    return k;
}

int study_outcomes(const struct report_source *source, const struct study *study, struct study_outcomes *outcomes)
{
    struct query_answer answer;
    double *rows;
    *outcomes = (struct study_outcomes){0};
    int code = read_items(source, study, outcomes, &rows);
    if (code != 0 || outcomes->n == 0) return code;
    outcomes->queries[1].sql = value_sql;
    code = source_query(source, &outcomes->queries[1], "read outcomes", &answer);
    for (size_t i = 0, at = 0; code == 0 && i < answer.n_rows; i++) {
        while (at < outcomes->n && rows[at] != answer.columns[0].numbers[i]) at++;
        const size_t k = find_metric(outcomes, query_text(&answer, 1, i), query_text(&answer, 2, i));
        if (at < outcomes->n && k < outcomes->n_metrics) outcomes->items[at].metrics[k] = answer.columns[3].numbers[i];
    }
    return code;
}

/* --- The table --- */

static void add_heads(const struct study *study, const struct study_outcomes *outcomes, struct text *html)
{
    text_add(html, "<div class=\"scroll\"><table class=\"sort\">\n<thead><tr>");
    for (size_t a = 0; a < study->n_axes; a++) {
        if ((outcomes->axes >> a & 1) == 0) continue;
        text_add(html, "<th scope=\"col\" title=\"");
        page_escape(html, study->axes[a].key);
        text_add(html, "\">");
        page_escape(html, study->axes[a].name);
        text_add(html, "</th>");
    }
    if (!outcomes->is_front) {
        text_add(html, "<th scope=\"col\" class=\"n\" title=\"");
        page_escape(html, outcomes->key);
        text_add(html, "\">");
        page_escape(html, study_axis_name(study, outcomes->key));
        text_add(html, "</th>");
    }
    for (size_t k = 0; k < outcomes->n_metrics; k++) {
        char words[WORDS_CHARS];
        text_add(html, "<th scope=\"col\" class=\"n\" title=\"");
        page_escape(html, outcomes->metrics[k].name);
        text_add(html, "\">");
        page_escape(html, words_metric(outcomes->metrics[k].name, words));
        text_add(html, "</th>");
    }
    text_add(html, "<th scope=\"col\" class=\"n\">run</th><th scope=\"col\">note</th></tr></thead>\n<tbody>\n");
}

static void add_cell(const char *head, const char *text, struct text *html)
{
    text_add(html, head);
    page_escape(html, text);
    text_add(html, "</td>");
}

static void add_outcome(const struct study *study, const struct study_outcomes *outcomes,
                        const struct study_outcome *outcome, struct text *html)
{
    text_add(html, "<tr>");
    for (size_t a = 0; a < study->n_axes; a++)
        if ((outcomes->axes >> a & 1) != 0) add_cell("<td>", outcome->at[a] != NULL ? outcome->at[a] : "", html);
    if (!outcomes->is_front) add_cell("<td class=\"n\">", outcome->value[0] != 0 ? outcome->value : "-", html);
    for (size_t k = 0; k < outcomes->n_metrics; k++) {
        char words[WORDS_CHARS];
        add_cell("<td class=\"n\">", words_value(outcome->metrics[k], outcomes->metrics[k].unit, words), html);
    }
    text_add(html, "<td class=\"n\">");
    if (outcome->run > 0) text_printf(html, "%" PRId64, outcome->run);
    text_add(html, "</td>");
    add_cell("<td>", outcome->note, html);
    text_add(html, "</tr>\n");
}

void study_draw_outcomes(const struct study *study, const struct study_outcomes *outcomes, struct text *html)
{
    add_heads(study, outcomes, html);
    for (size_t i = 0; i < outcomes->n; i++) add_outcome(study, outcomes, &outcomes->items[i], html);
    text_add(html, "</tbody></table></div>\n");
    page_sql(html, outcomes->queries, 2);
}
