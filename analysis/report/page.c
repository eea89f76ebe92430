#include "analysis/report/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The style sheet and the script, line by line. */
static const char *const style[] = {
#include "analysis/report/style.css.inc"
    NULL};

static const char *const script[] = {
#include "analysis/report/script.js.inc"
    NULL};

static const char *entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

static void add_character(struct text *html, const char *chars, size_t n)
{
    const char *name = n == 1 ? entity(*chars) : NULL;
    if (n == 0)
        text_add(html, "\xef\xbf\xbd");
    else if (name != NULL)
        text_add(html, name);
    else if (n > 1 || (unsigned char)*chars >= ' ' || *chars == '\n' || *chars == '\t')
        text_add_bytes(html, chars, n);
}

void page_escape(struct text *html, const char *chars)
{
    size_t left = chars != NULL ? strlen(chars) : 0;
    while (left > 0) {
        const size_t n = text_utf8_length(chars, left);
        const size_t step = n > 0 ? n : 1;
        add_character(html, chars, *chars == 0x7f ? 0 : n);
        chars += step;
        left -= step;
    }
}

void page_printf(struct text *html, const char *format, ...)
{
    char buffer[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    page_escape(html, buffer);
}

static void add_lines(struct text *html, const char *const *lines)
{
    for (; *lines != NULL; lines++) text_add(html, *lines);
}

void page_open(struct text *html, const char *title)
{
    text_add(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    page_escape(html, title);
    text_add(html,
             "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
             "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
             "<meta name=\"referrer\" content=\"no-referrer\">\n<style>\n");
    add_lines(html, style);
    text_add(html, "</style>\n</head>\n<body>\n<main>\n");
}

void page_close(struct text *html)
{
    text_add(html, "</main>\n<script>\n");
    add_lines(html, script);
    text_add(html, "</script>\n</body>\n</html>\n");
}

/* --- Sections --- */

static bool applies(const struct page_section *section, const void *page)
{
    return section->applies == NULL || section->applies(page);
}

void page_contents(struct text *html, const struct page_section *sections, const void *page)
{
    text_add(html, "<nav aria-label=\"Contents\"><ul>\n");
    for (; sections->id != NULL; sections++) {
        if (!applies(sections, page)) continue;
        text_printf(html, "<li><a href=\"#%s\">", sections->id);
        page_escape(html, sections->title);
        text_add(html, "</a></li>\n");
    }
    text_add(html, "</ul></nav>\n");
}

int page_sections(struct text *html, const struct page_section *sections, const void *page)
{
    int code = 0;
    for (; code == 0 && sections->id != NULL; sections++) {
        if (!applies(sections, page)) continue;
        const char *id = sections->id;
        text_printf(html,
                    "<section aria-labelledby=\"%s-title\">\n<details class=\"fold\"%s>\n<summary><h2 id=\"%s-title\">",
                    id, sections->is_open ? " open" : "", id);
        page_escape(html, sections->title);
        text_printf(html, "</h2></summary>\n<div class=\"body\" id=\"%s\">\n", id);
        code = sections->add(page, html);
        text_add(html, "</div>\n</details>\n</section>\n");
    }
    return code;
}

void page_term(struct text *html, const char *term, const char *value)
{
    if (value == NULL || value[0] == 0) return;
    text_printf(html, "<dt>%s</dt><dd>", term);
    page_escape(html, value);
    text_add(html, "</dd>\n");
}

void page_note(struct text *html, const char *text)
{
    text_add(html, "<p class=\"note\">");
    page_escape(html, text);
    text_add(html, "</p>\n");
}

/* --- Figures --- */

static const char multiples_open[] = "<figure class=\"wide multiples\">\n";

void page_figures(struct text *html)
{
    text_add(html, "<div class=\"figures\">\n");
}

void page_figures_end(struct text *html)
{
    text_add(html, "</div>\n");
}

void page_sql(struct text *html, const struct page_query *queries, size_t n)
{
    text_add(html, "<details class=\"sql\"><summary>SQL</summary>\n");
    for (size_t i = 0; i < n; i++) {
        text_printf(html, "<pre data-rows=\"%zu\"><code>", queries[i].n_rows);
        page_escape(html, queries[i].sql);
        text_add(html, "</code></pre>\n");
    }
    text_add(html, "</details>\n");
}

/* Adds a JSON string in a script element, where "<" could end the element. */
static void add_json_string(struct text *html, const char *chars)
{
    struct text json;
    text_init(&json);
    text_json_string(&json, chars);
    for (size_t i = 0; i < json.length; i++) {
        if (json.chars[i] == '<')
            text_add(html, "\\u003c");
        else
            text_add_bytes(html, &json.chars[i], 1);
    }
    html->failed |= json.failed;
    text_fini(&json);
}

static void add_numbers(struct text *html, const char *key, const double *values, size_t n)
{
    if (values == NULL) return;
    text_printf(html, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        const char *comma = i > 0 ? "," : "";
        if (isnan(values[i]))
            text_printf(html, "%snull", comma);
        else
            text_printf(html, "%s%.6g", comma, values[i]);
    }
    text_add(html, "]");
}

static void add_axis(struct text *html, const char *key, const struct plot_axis *axis)
{
    static const char *const scales[] = {[PLOT_LINEAR] = "linear", [PLOT_LOG] = "log", [PLOT_TIME] = "time"};
    text_printf(html, "\"%s\":{\"scale\":\"%s\",\"title\":", key, scales[axis->scale]);
    add_json_string(html, axis->title != NULL ? axis->title : "");
    if (axis->low < axis->high) text_printf(html, ",\"range\":[%.6g,%.6g]", axis->low, axis->high);
    text_add(html, "},");
}

/* Adds the straight lines, but those that are neither level nor upright. */
static void add_limits(struct text *html, const struct plot_chart *chart)
{
    bool is_first = true;
    text_add(html, "\"lines\":[");
    for (size_t i = 0; i < chart->n_lines; i++) {
        const struct plot_line *line = &chart->lines[i];
        if (line->kind == PLOT_RATIO) continue;
        text_printf(html, "%s{\"%s\":%.6g,\"name\":", is_first ? "" : ",", line->kind == PLOT_AT_X ? "x" : "y",
                    line->value);
        add_json_string(html, line->name != NULL ? line->name : "");
        text_add(html, "}");
        is_first = false;
    }
    text_add(html, "],");
}

/* Adds the data of the chart for the script. */
static void add_data(struct text *html, const struct plot_chart *chart, const char *group, bool is_small)
{
    text_add(html, "<script type=\"application/json\">{\"group\":");
    add_json_string(html, group);
    text_add(html, ",\"title\":");
    add_json_string(html, chart->title);
    text_printf(html, ",\"step\":%s,\"small\":%s,\"events\":%s,", chart->kind == PLOT_STEP ? "true" : "false",
                is_small ? "true" : "false", chart->n_events > 0 ? "true" : "false");
    add_limits(html, chart);
    add_axis(html, "x", &chart->x);
    add_axis(html, "y", &chart->y);
    text_add(html, "\"series\":[");
    for (size_t i = 0; i < chart->n_series; i++) {
        const struct plot_series *series = &chart->series[i];
        text_add(html, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
        add_json_string(html, series->name);
        add_numbers(html, "x", series->x, series->n);
        add_numbers(html, "y", series->y, series->n);
        add_numbers(html, "low", series->low, series->n);
        add_numbers(html, "high", series->high, series->n);
        text_add(html, "}");
    }
    text_add(html, "]}</script>\n");
}

/* The chart with the size of its place in the page: two figures stand side by side. */
static struct plot_chart sized(const struct plot_chart *of, bool is_wide)
{
    struct plot_chart chart = *of;
    if (chart.width > 0.0) return chart;
    chart.width = is_wide ? 1176.0 : 560.0;
    if (chart.kind != PLOT_GANTT && chart.kind != PLOT_HEATMAP) chart.height = 330.0;
    return chart;
}

/* Adds the picture, and its data for the script if it zooms. On a dark page the
 * style sheet inverts heat maps and replaces the colours of other charts. */
static void add_chart(struct text *html, const struct plot_chart *chart, const char *group, bool is_small)
{
    text_printf(html, "<div class=\"still %s\">\n", chart->kind == PLOT_HEATMAP ? "heat" : "draw");
    plot_svg(chart, html);
    text_add(html, "</div>\n");
    if (group != NULL) add_data(html, chart, group, is_small);
}

static void add_caption(struct text *html, const struct page_figure *figure)
{
    text_add(html, "<figcaption>");
    if (figure->note != NULL) {
        text_add(html, "<p>");
        page_escape(html, figure->note);
        text_add(html, "</p>\n");
    }
    if (figure->n_queries > 0) page_sql(html, figure->queries, figure->n_queries);
    text_add(html, "</figcaption>\n</figure>\n");
}

void page_figure(struct text *html, const struct page_figure *figure)
{
    const struct plot_chart chart = sized(figure->chart, figure->wide);
    text_printf(html, "<figure%s%s>\n", figure->wide ? " class=\"wide\"" : "",
                figure->group != NULL ? " data-zoom" : "");
    add_chart(html, &chart, figure->group, false);
    add_caption(html, figure);
}

void page_multiples(struct text *html, const char *title, const struct plot_chart *charts, size_t n,
                    const struct page_figure *figure)
{
    text_add(html, multiples_open);
    text_add(html, "<p class=\"title\">");
    page_escape(html, title);
    text_add(html, "</p>\n<div class=\"cells\">\n");
    for (size_t i = 0; i < n; i++) {
        struct plot_chart chart = charts[i];
        chart.width = 373.0;
        chart.height = 210.0;
        text_printf(html, "<div class=\"cell\"%s>\n", figure->group != NULL ? " data-zoom" : "");
        add_chart(html, &chart, figure->group, true);
        text_add(html, "</div>\n");
    }
    text_add(html, "</div>\n");
    add_caption(html, figure);
}

/* The first figure from `at` on, or NULL. The texts of a page have no "<". */
static const char *next_figure(const char *at)
{
    return at != NULL ? strstr(at, "<figure") : NULL;
}

static size_t weigh_figure(const char *figure)
{
    return strncmp(figure, multiples_open, sizeof multiples_open - 1) == 0 ? 3 : 1;
}

void page_fold_figures(struct text *html, size_t from, size_t most)
{
    size_t weight = 0, n_rest = 0;
    if (html->failed || html->chars == NULL) return;
    const char *at = next_figure(html->chars + from), *cut = NULL;
    for (; at != NULL; at = next_figure(at + 1)) {
        weight += weigh_figure(at);
        if (cut == NULL && weight > most) cut = at;
        n_rest += cut != NULL;
    }
    if (cut == NULL) return;
    struct text rest;
    text_init(&rest);
    text_add(&rest, cut);
    html->length = (size_t)(cut - html->chars);
    text_printf(html, "</div>\n<details class=\"more\"><summary>%zu more chart%s</summary>\n<div class=\"figures\">\n",
                n_rest, n_rest > 1 ? "s" : "");
    text_add(html, rest.chars != NULL ? rest.chars : "");
    text_add(html, "</div>\n</details>\n<div>\n");
    html->failed |= rest.failed;
    text_fini(&rest);
}

void page_events(struct text *html, const struct plot_events *events, size_t n)
{
    if (n == 0) return;
    text_add(html, "<script type=\"application/json\" id=\"events\">[");
    for (size_t i = 0; i < n; i++) {
        text_add(html, i > 0 ? ",\n{\"name\":" : "{\"name\":");
        add_json_string(html, events[i].name);
        text_printf(html, ",\"colour\":%u", events[i].colour);
        add_numbers(html, "x", events[i].x, events[i].n);
        text_add(html, "}");
    }
    text_add(html, "]</script>\n");
}

bool page_next_chart(const struct text *html, struct page_chart *chart)
{
    static const char open[] = "<svg ", close[] = "</svg>", title[] = "<title>";
    const char *from = chart->svg != NULL ? chart->svg + chart->svg_bytes : html->chars;
    const char *svg = from != NULL ? strstr(from, open) : NULL;
    const char *end = svg != NULL ? strstr(svg, close) : NULL;
    if (end == NULL) return false;
    chart->svg = svg;
    chart->svg_bytes = (size_t)(end - svg) + sizeof close - 1;
    chart->title = strstr(svg, title) + sizeof title - 1;
    chart->title_bytes = strcspn(chart->title, "<");
    return true;
}
