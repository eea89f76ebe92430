#include "analysis/report/versus.h"

#include "analysis/report/page.h"
#include "analysis/report/words.h"

#include <math.h>

enum { N_VERDICTS = COMPARE_DIFFERS + 1 };

/* The dictionary as a comparison takes it, in the arena. */
static const struct compare_metric *make_dictionary(const struct report_source *source)
{
    static const enum compare_direction directions[] = {
        [REPORT_NEUTRAL] = COMPARE_NEUTRAL, [REPORT_LOWER] = COMPARE_LOWER, [REPORT_HIGHER] = COMPARE_HIGHER};
    const struct report_options *options = source->options;
    struct compare_metric *metrics = arena_alloc(source->arena, (options->n_dictionary + 1) * sizeof *metrics);
    for (size_t i = 0; metrics != NULL && i < options->n_dictionary; i++)
        metrics[i] =
            (struct compare_metric){options->dictionary[i].name, directions[options->dictionary[i].direction]};
    return metrics;
}

int versus_read(const struct report_source *source, struct comparison *comparison)
{
    const struct report_options *options = source->options;
    const char **only = arena_alloc(source->arena, (options->n_metrics + 1) * sizeof *only);
    struct compare_options how = {.dictionary = make_dictionary(source), .level = 0.95, .margin_frac = 0.01,
                                  .resamples = 2000, .seed = 1};
    if (only == NULL || how.dictionary == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < options->n_metrics; i++) only[i] = options->metrics[i];
    how.only = options->n_metrics > 0 ? only : NULL;
    return compare_groups(options->path, options->base, options->path, options->changed, &how, comparison,
                          source->diag);
}

void versus_sentence(const struct report_source *source, const struct comparison *comparison, struct text *text)
{
    size_t counts[N_VERDICTS] = {0}, n = 0;
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].point == NULL) counts[comparison->rows[i].verdict]++;
    text_printf(text, "%.100s against %.100s: ", source->options->changed, source->options->base);
    static const enum compare_verdict order[] = {COMPARE_BETTER, COMPARE_WORSE, COMPARE_DIFFERS, COMPARE_SAME,
                                                 COMPARE_UNCLEAR};
    for (size_t i = 0; i < N_VERDICTS; i++)
        if (counts[order[i]] > 0)
            text_printf(text, "%s%zu %s", n++ > 0 ? ", " : "", counts[order[i]], compare_verdict_name(order[i]));
    text_add(text, n > 0 ? ". " : "no metric of both. ");
}

static void add_change(double part, double base, struct text *html)
{
    char words[WORDS_CHARS];
    text_add(html, "<td class=\"n\">");
    if (!isnan(part) && base != 0.0)
        page_printf(html, "%s%s", part > 0.0 ? "+" : "", words_percent(part / fabs(base), words));
    text_add(html, "</td>");
}

static void add_row(const struct compare_row *row, struct text *html)
{
    char base[WORDS_CHARS], changed[WORDS_CHARS];
    text_add(html, "<tr><th scope=\"row\"><code>");
    page_escape(html, row->metric);
    text_add(html, "</code></th><td class=\"n\">");
    page_escape(html, words_value(row->base, row->unit, base));
    text_add(html, "</td><td class=\"n\">");
    page_escape(html, words_value(row->changed, row->unit, changed));
    text_add(html, "</td>");
    add_change(row->delta.mean, row->base, html);
    add_change(row->delta.low, row->base, html);
    add_change(row->delta.high, row->base, html);
    text_printf(html, "<td>%s, n=%zu</td><td><strong>%s</strong></td></tr>\n", compare_method_name(row->method), row->n,
                compare_verdict_name(row->verdict));
}

void versus_section(const struct report_source *source, const struct comparison *comparison, struct text *html)
{
    page_section(html, "versus", "Compared");
    text_add(html, "<p class=\"note\">Base: ");
    page_escape(html, comparison->base);
    text_add(html, ". New: ");
    page_escape(html, comparison->changed);
    page_printf(html, ". As by: orrery compare RESULTS --base %.100s --new %.100s.", source->options->base,
                source->options->changed);
    text_add(html, "</p>\n");
    for (size_t i = 0; i < comparison->n_remarks; i++) page_note(html, comparison->remarks[i]);
    text_add(html,
             "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">metric</th><th scope=\"col\" class=\"n\">base"
             "</th><th scope=\"col\" class=\"n\">new</th><th scope=\"col\" class=\"n\">change</th>"
             "<th scope=\"col\" class=\"n\">at least</th><th scope=\"col\" class=\"n\">at most</th>"
             "<th scope=\"col\">method</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].point == NULL) add_row(&comparison->rows[i], html);
    text_add(html, "</tbody></table></div>\n");
    page_section_end(html);
}
