#include "analysis/report/page.h"
#include "analysis/figure/board_page.h"

#include "analysis/query.h"

#include <stdio.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--paper:#fff;--card:#f6f8fa;"
    "--bad:#b23c00}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--line:#30363d;--paper:#0d1117;"
    "--card:#161b22;--bad:#ff9a57}}\n"
    "body{margin:0 auto;max-width:1500px;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:14px/1.4 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\n"
    "table{border-collapse:collapse;font-size:.86rem;width:100%}th{text-align:left;color:var(--soft);"
    "border-bottom:2px solid var(--line);padding:.25rem .4rem;background:var(--paper);position:sticky;top:0}\n"
    "td{border-bottom:1px solid var(--line);padding:.2rem .4rem;vertical-align:top}td.n,th.n{text-align:right;"
    "white-space:nowrap;font-variant-numeric:tabular-nums}tr.group td{background:var(--card);font-weight:600}\n"
    "tr.out td{color:var(--soft)}.suspect{color:var(--bad)}.wide{overflow-x:auto}p{max-width:52rem}\n";

/* A column of a table of the page: the heading, how numbers are shown (NULL: a text), and their factor. */
struct page_column {
    const char *title, *format;
    double factor;
};

static void add_head(struct text *html, const struct page_column *columns, size_t n)
{
    text_add(html, "<div class=wide><table><thead><tr>");
    for (size_t i = 0; i < n; i++)
        text_printf(html, "<th%s>%s", columns[i].format != NULL ? " class=n" : "", columns[i].title);
    text_add(html, "</tr></thead><tbody>\n");
}

static void add_cell(struct text *html, const struct page_column *column, sqlite3_stmt *row, int index)
{
    const char *text = (const char *)sqlite3_column_text(row, index);
    text_add(html, column->format != NULL ? "<td class=n>" : "<td>");
    if (text == NULL) return;
    if (column->format == NULL) {
        page_escape(html, text);
        return;
    }
    char number[64];
    snprintf(number, sizeof number, column->format, column->factor * sqlite3_column_double(row, index));
    text_add(html, number);
}

/* --- Tables --- */

struct page {
    struct text *html;
    const struct page_column *columns;
    int n;
    char group[256]; /* of the last row */
};

#define PERCENT "%.1f"
#define SIGNED "%+.1f"

static const struct page_column group_columns[] = {
    {"GPU, LLM, engine", NULL, 0.0}, {"in a fit", NULL, 0.0},     {"rows", "%.0f", 1.0},
    {"measurements", "%.0f", 1.0},   {"predicted", "%.0f", 1.0},       {"judged", "%.0f", 1.0},
    {"without group, median %", PERCENT, 100.0}, {"p90 %", PERCENT, 100.0}, {"shipped, median %", PERCENT, 100.0},
    {"p90 %", PERCENT, 100.0},       {"roofline, median %", PERCENT, 100.0}, {"p90 %", PERCENT, 100.0},
    {"not predicted because", NULL, 0.0}};

static const char group_query[] =
    "SELECT group_name, in_fit, rows, measurements, predicted, judged, left_out_median, left_out_p90, shipped_median, "
    "shipped_p90, roofline_median, roofline_p90, reasons FROM board_groups ORDER BY group_name";

static const struct page_column reason_columns[] = {{"rows", "%.0f", 1.0}, {"why", NULL, 0.0}};

static const char reason_query[] = "SELECT count(*), reason FROM board WHERE reason IS NOT NULL GROUP BY reason "
                                   "ORDER BY count(*) DESC, reason";
static const char suspect_query[] = "SELECT count(*), suspect FROM board WHERE suspect IS NOT NULL GROUP BY suspect "
                                    "ORDER BY count(*) DESC, suspect";

static int add_plain_row(void *context, sqlite3_stmt *row)
{
    struct page *page = context;
    text_add(page->html, "<tr>");
    for (int i = 0; i < page->n; i++) add_cell(page->html, &page->columns[i], row, i);
    text_add(page->html, "</tr>\n");
    return page->html->failed ? SIM_E_NOMEM : 0;
}

/* Behind the shown columns: the group, whether the row is judged, why it is not predicted, why it is not trusted, what
 * the prediction assumes. */
static const struct page_column row_columns[] = {
    {"row", "%.0f", 1.0},       {"in the source", NULL, 0.0},    {"version", NULL, 0.0},    {"preset", NULL, 0.0},
    {"format", NULL, 0.0},      {"mode", NULL, 0.0},             {"users", "%.0f", 1.0},    {"prompt", "%.0f", 1.0},
    {"output", "%.0f", 1.0},    {"GPUs", "%.0f", 1.0},           {"TP", "%.0f", 1.0},       {"DP", "%.0f", 1.0},
    {"EP", "%.0f", 1.0},        {"TPOT ms", "%.4g", 1.0},        {"predicted", "%.4g", 1.0}, {"error %", SIGNED, 100.0},
    {"without group %", SIGNED, 100.0}, {"roofline %", SIGNED, 100.0}, {"TTFT ms", "%.4g", 1.0},
    {"predicted", "%.4g", 1.0}, {"in a fit", NULL, 0.0},    {"first copy", NULL, 0.0}};

enum { N_ROW_COLUMNS = sizeof row_columns / sizeof *row_columns };

static const char row_query[] =
    "SELECT id, model || ' (' || source || ':' || line || ')', version, preset, format, mode, users, prompt_tokens, "
    "output_tokens, gpus, tensor, data, expert, tpot_ms, predicted_tpot_ms, tpot_error, left_out_error, "
    "roofline_error, ttft_ms, predicted_ttft_ms, in_fit, CASE first_copy WHEN 1 THEN 'yes' ELSE 'no' END, "
    "group_name, judged, reason, suspect, note FROM board ORDER BY group_name, id";

static void add_remark(struct text *html, const char *before, const unsigned char *text, const char *after)
{
    if (text == NULL) return;
    text_add(html, before);
    page_escape(html, (const char *)text);
    text_add(html, after);
}

static int add_board_row(void *context, sqlite3_stmt *row)
{
    struct page *page = context;
    struct text *html = page->html;
    const char *group = (const char *)sqlite3_column_text(row, N_ROW_COLUMNS);
    if (strncmp(page->group, group, sizeof page->group - 1) != 0) {
        snprintf(page->group, sizeof page->group, "%s", group);
        text_printf(html, "<tr class=group><td colspan=%d>", N_ROW_COLUMNS + 1);
        page_escape(html, group);
        text_add(html, "</tr>\n");
    }
    text_add(html, sqlite3_column_int(row, N_ROW_COLUMNS + 1) != 0 ? "<tr>" : "<tr class=out>");
    for (int i = 0; i < N_ROW_COLUMNS; i++) add_cell(html, &row_columns[i], row, i);
    text_add(html, "<td>");
    add_remark(html, "not predicted: ", sqlite3_column_text(row, N_ROW_COLUMNS + 2), " ");
    add_remark(html, "<span class=suspect>suspect: ", sqlite3_column_text(row, N_ROW_COLUMNS + 3), "</span> ");
    add_remark(html, "", sqlite3_column_text(row, N_ROW_COLUMNS + 4), "");
    text_add(html, "</tr>\n");
    return html->failed ? SIM_E_NOMEM : 0;
}

/* --- Page --- */

static int add_table(const struct database *database, const char *query, const struct page_column *columns, size_t n,
                     struct text *html, struct diag *diag)
{
    struct page page = {.html = html, .columns = columns, .n = (int)n};
    add_head(html, columns, n);
    const int code = query_each(database, query, NULL, 0, "write the board's page", add_plain_row, &page, diag);
    text_add(html, "</tbody></table></div>\n");
    return code;
}

static int add_rows(const struct database *database, struct text *html, struct diag *diag)
{
    struct page page = {.html = html};
    struct page_column head[N_ROW_COLUMNS + 1];
    for (size_t i = 0; i < N_ROW_COLUMNS; i++) head[i] = row_columns[i];
    head[N_ROW_COLUMNS] = (struct page_column){"remarks", NULL, 0.0};
    add_head(html, head, N_ROW_COLUMNS + 1);
    const int code = query_each(database, row_query, NULL, 0, "write the board's page", add_board_row, &page, diag);
    text_add(html, "</tbody></table></div>\n");
    return code;
}

static void add_introduction(const struct figure *figure, struct text *html)
{
    text_add(html, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>");
    page_escape(html, figure->title);
    text_add(html, "</title>\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<style>\n");
    text_add(html, style);
    text_add(html, "</style></head><body>\n<h1>");
    page_escape(html, figure->title);
    text_add(html, "</h1>\n<p>");
    page_escape(html, figure->citation);
    text_add(html, "</p>\n");
    for (size_t i = 0; i < figure->notes.n; i++) {
        text_add(html, "<p>");
        page_escape(html, *FIGURE_ITEM(char *, figure->notes, i));
        text_add(html, "</p>\n");
    }
}

#define COLUMNS(list) list, sizeof list / sizeof *list

int figure_board_page(const struct figure_data *data, size_t index, struct text *html, struct diag *diag)
{
    const struct database *database = &data->databases[index];
    add_introduction(data->figure, html);
    text_add(html, "<h2>Groups</h2>\n");
    int code = add_table(database, group_query, COLUMNS(group_columns), html, diag);
    text_add(html, "<h2>Why rows are not predicted</h2>\n");
    if (code == 0) code = add_table(database, reason_query, COLUMNS(reason_columns), html, diag);
    text_add(html, "<h2>Rows that are not trusted</h2>\n");
    if (code == 0) code = add_table(database, suspect_query, COLUMNS(reason_columns), html, diag);
    text_add(html,
             "<h2>Rows</h2>\n<p>Grey rows are not judged: copies, suspects, and rows without a prediction.</p>\n");
    if (code == 0) code = add_rows(database, html, diag);
    text_add(html, "</body></html>\n");
    return code == 0 && html->failed ? diag_nomem(diag) : code;
}
