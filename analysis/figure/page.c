#include "analysis/report/page.h"
#include "analysis/figure/page.h"

#include "analysis/plot/plot.h"

#include <math.h>
#include <string.h>

/* --- Charts --- */

/* The number of series before those of this chart. */
static size_t first_series(const struct figure *figure, size_t index)
{
    size_t first = 0;
    for (size_t i = 0; i < index; i++) first += FIGURE_ITEM(struct figure_chart, figure->charts, i)->series.n;
    return first;
}

static struct plot_series as_series(const char *name, size_t index, const struct data_curve *curve, bool is_reference)
{
    return (struct plot_series){.name = name, .is_reference = is_reference,
                                .colour = (unsigned)(index % PLOT_COLOURS) + 1, .n = curve->n, .x = curve->x,
                                .y = curve->y, .low = curve->low, .high = curve->high};
}

static struct plot_axis as_axis(const struct figure_axis *axis)
{
    return (struct plot_axis){.title = axis->title, .scale = (enum plot_scale)axis->scale};
}

/* Each series of ours is followed by the paper's, of the same colour. */
static int make_chart(const struct figure_data *data, size_t index, struct plot_chart *out)
{
    const struct figure_chart *chart = FIGURE_ITEM(struct figure_chart, data->figure->charts, index);
    const struct data_series *series = data->series + first_series(data->figure, index);
    struct plot_series *all = arena_alloc(data->arena, 2 * chart->series.n * sizeof *all);
    if (all == NULL) return SIM_E_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < chart->series.n; i++) {
        all[n++] = as_series(series[i].series->name, i, &series[i].ours, false);
        if (series[i].paper.n == 0) continue;
        const char *name = arena_printf(data->arena, "%s, paper", series[i].series->name);
        if (name == NULL) return SIM_E_NOMEM;
        all[n++] = as_series(name, i, &series[i].paper, true);
    }
    *out = (struct plot_chart){.kind = PLOT_LINE, .title = chart->title, .subtitle = chart->subtitle,
                               .x = as_axis(&chart->x), .y = as_axis(&chart->y), .n_series = n, .series = all};
    return 0;
}

/* Whether the chart has points of the paper. */
static bool has_points(const struct figure_data *data, size_t index)
{
    const struct figure_chart *chart = FIGURE_ITEM(struct figure_chart, data->figure->charts, index);
    const struct data_series *series = data->series + first_series(data->figure, index);
    for (size_t i = 0; i < chart->series.n; i++)
        if (series[i].paper.n > 0) return true;
    return false;
}

int figure_chart_svg(const struct figure_data *data, size_t index, struct text *svg)
{
    struct plot_chart chart;
    int code = make_chart(data, index, &chart);
    if (code == 0) plot_svg(&chart, svg);
    return code == 0 && svg->failed ? SIM_E_NOMEM : code;
}

int figure_chart_gnuplot(const struct figure_data *data, size_t index, const char *data_name, struct text *script,
                         struct text *numbers)
{
    struct plot_chart chart;
    int code = make_chart(data, index, &chart);
    if (code == 0) plot_gnuplot(&chart, data_name, script, numbers);
    return code == 0 && (script->failed || numbers->failed) ? SIM_E_NOMEM : code;
}

/* A sentence: when the tolerances were committed. */
static const char *tolerances_text(const struct figure *figure)
{
    static const char *const texts[] = {
        [TOLERANCES_WITH_RESULTS] = "Tolerances were committed together with the results.",
        [TOLERANCES_FIRST] = "Tolerances were committed before the first run.",
        [TOLERANCES_FIRST_IN_PART] =
            "Tolerances were committed before the first run, but those that the notes name: these came later.",
        [TOLERANCES_OF_ANOTHER] = "Settings have changed this figure. The tolerances are those of the unchanged one."};
    return texts[figure->tolerances];
}

/* --- Markdown --- */

/* Adds a cell; characters that end it or begin markup are escaped. */
static void add_cell(struct text *out, const char *chars)
{
    text_add(out, "| ");
    for (; *chars != 0; chars++) {
        if (strchr("|*_`<\\", *chars) != NULL) text_add(out, "\\");
        text_add_bytes(out, *chars == '\n' ? " " : chars, 1);
    }
    text_add(out, " ");
}

static void add_claim_table(const struct claim_results *claims, struct text *out)
{
    text_add(out, "| claim | paper | ours | deviation | tolerance | verdict | basis | source |\n"
                  "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim_result *result = &claims->items[i];
        const char *const cells[] = {result->claim->says,      result->paper,     result->ours,
                                     result->deviation,        result->tolerance, result->word,
                                     claim_basis_name(result), result->claim->tag};
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) add_cell(out, cells[k]);
        text_add(out, "|\n");
    }
    text_add(out, "\n");
    claim_counts_text(&claims->counts, out);
    text_add(out, ".\n");
    if (claims->counts.n_own > 0) text_printf(out, "\n\\* %s\n", claim_own_note);
    text_printf(out, "\n%s\n\n%s\n", claim_basis_note, claim_tags_note);
}

static void add_reasons(const struct claim_results *claims, bool reported, const char *heading, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim_result *result = &claims->items[i];
        if (result->because == NULL || (result->verdict == CLAIM_REPORTED) != reported) continue;
        text_printf(out, "%s- *%s*: %s\n", any ? "" : heading, result->claim->says, result->because);
        any = true;
    }
}

static bool has_chosen(const struct figure *figure)
{
    for (size_t i = 0; i < figure->claims.n; i++)
        if (FIGURE_ITEM(struct figure_claim, figure->claims, i)->chosen_by != NULL) return true;
    return false;
}

/* Whether an earlier claim was chosen by the same thing. */
static bool chosen_before(const struct figure *figure, size_t index)
{
    const char *chosen = FIGURE_ITEM(struct figure_claim, figure->claims, index)->chosen_by;
    for (size_t i = 0; i < index; i++) {
        const char *other = FIGURE_ITEM(struct figure_claim, figure->claims, i)->chosen_by;
        if (other != NULL && strcmp(other, chosen) == 0) return true;
    }
    return false;
}

/* Each thing that was chosen, with the claims that it concerns. */
static void add_chosen(const struct figure *figure, struct text *out)
{
    if (has_chosen(figure)) text_add(out, "\nChosen in view of results:\n");
    for (size_t i = 0; i < figure->claims.n; i++) {
        const struct figure_claim *claim = FIGURE_ITEM(struct figure_claim, figure->claims, i);
        if (claim->chosen_by == NULL || chosen_before(figure, i)) continue;
        text_printf(out, "\n- %s: *%s*", claim->chosen_by, claim->says);
        for (size_t k = i + 1; k < figure->claims.n; k++) {
            const struct figure_claim *other = FIGURE_ITEM(struct figure_claim, figure->claims, k);
            if (other->chosen_by != NULL && strcmp(other->chosen_by, claim->chosen_by) == 0)
                text_printf(out, "; *%s*", other->says);
        }
    }
    if (has_chosen(figure)) text_add(out, "\n");
}

/* What stands in place of the fitted parameters, where there are none. */
static const char *without_fit(const struct figure *figure)
{
    return has_chosen(figure) ? "No parameter was fitted." : "Nothing was chosen to match.";
}

static void add_spans(const struct figure_fit *fit, struct text *out)
{
    for (size_t i = 0; i < fit->points.n; i++) {
        const struct figure_span *span = FIGURE_ITEM(struct figure_span, fit->points, i);
        text_printf(out, "%s%s", i > 0 ? "; " : "", span->series);
        if (!isnan(span->from)) text_printf(out, " from %g", span->from);
        if (!isnan(span->to)) text_printf(out, " up to %g", span->to);
    }
    if (fit->elsewhere != NULL) text_printf(out, "%s%s", fit->points.n > 0 ? "; " : "", fit->elsewhere);
}

static void add_fitted(const struct figure *figure, struct text *out)
{
    text_add(out, "\n## Fitted\n\n");
    if (figure->fitted.n == 0) text_printf(out, "%s\n", without_fit(figure));
    for (size_t i = 0; i < figure->fitted.n; i++) {
        const struct figure_fit *fit = FIGURE_ITEM(struct figure_fit, figure->fitted, i);
        text_printf(out, "- %s = %s, on: ", fit->parameter, fit->value);
        add_spans(fit, out);
        text_printf(out, ". %s\n", fit->why);
    }
}

static void add_setup(const struct figure *figure, struct text *out)
{
    text_add(out, "\n## Set-up in the paper\n\n");
    for (size_t i = 0; i < figure->setup.n; i++) {
        const struct figure_fact *fact = FIGURE_ITEM(struct figure_fact, figure->setup, i);
        text_printf(out, "- %s [%s]\n", fact->says, fact->tag);
    }
    for (size_t i = 0; i < figure->notes.n; i++)
        text_printf(out, "%s- %s\n", i == 0 ? "\n## Notes\n\n" : "", *FIGURE_ITEM(char *, figure->notes, i));
}

void figure_markdown(const struct figure_entry *entry, struct text *markdown)
{
    const struct figure *figure = entry->data->figure;
    text_printf(markdown, "# %s\n\n%s, %s.\n\n", figure->title, figure->citation, figure->place);
    for (size_t i = 0; i < entry->n_links; i++)
        if (strstr(entry->links[i].target, ".svg") != NULL)
            text_printf(markdown, "![%s](%s)\n\n", entry->links[i].label, entry->links[i].target);
    if (claim_basis_text(figure, entry->claims, markdown) != 0) markdown->failed = true;
    text_add(markdown, ".\n\n");
    add_claim_table(entry->claims, markdown);
    text_printf(markdown, "\n%s\n", tolerances_text(figure));
    add_reasons(entry->claims, false, "\nKnown to fail:\n\n", markdown);
    add_reasons(entry->claims, true, "\nOnly reported:\n\n", markdown);
    add_fitted(figure, markdown);
    add_chosen(figure, markdown);
    add_setup(figure, markdown);
}

/* --- Page --- */

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--paper:#fff;--card:#f6f8fa;"
    "--good:#00674f;--bad:#b23c00;--plain:#57606a}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--line:#30363d;--paper:#0d1117;"
    "--card:#161b22;--good:#3fc59d;--bad:#ff9a57;--plain:#9aa4af}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\n"
    "main{max-width:1120px;margin:0 auto;padding:1.5rem 1rem 4rem}h1{font-size:1.7rem;margin:.2rem 0}"
    "h2{font-size:1.3rem;margin:0 0 .2rem}h3{font-size:1rem;margin:1.4rem 0 .4rem}p{margin:.3rem 0}\n"
    ".soft{color:var(--soft)}a{color:inherit}section{border-top:1px solid var(--line);padding:1.6rem 0 1rem;"
    "margin-top:1.4rem}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:1rem;margin:1rem 0}"
    ".charts figure{margin:0;max-width:760px;background:#fff;border:1px solid var(--line);border-radius:8px;padding:.4rem}"
    ".charts figcaption{color:#57606a;font-size:.85rem;padding:0 .6rem}.charts svg{width:100%;height:auto;display:block}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}"
    "th{text-align:left;font-weight:600;color:var(--soft);border-bottom:2px solid var(--line);padding:.35rem .6rem}"
    "td{border-bottom:1px solid var(--line);padding:.45rem .6rem;vertical-align:top}"
    "td:first-child{min-width:15rem}.claims td:nth-child(3){min-width:8rem}.p{min-width:6.5rem;max-width:13rem}td code{white-space:nowrap}td.n{white-space:nowrap;font-variant-numeric:tabular-nums}td small{display:block;color:var(--soft)}\n"
    ".v{display:inline-block;white-space:nowrap;font-weight:600;border:1px solid currentColor;border-radius:999px;"
    "padding:0 .55rem;font-size:.85rem}.pass{color:var(--good)}.fail{color:var(--bad)}.known{color:var(--bad);"
    "border-style:dashed}.reported{color:var(--plain);"
    "border-style:dashed}\n"
    "ul{margin:.3rem 0;padding-left:1.2rem}li{margin:.2rem 0}code{font-size:.85em;color:var(--soft)}"
    "details{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.6rem .9rem;margin:.6rem 0}"
    "summary{cursor:pointer;font-weight:600}nav table{margin-top:1rem}\n"
    ".files{display:flex;flex-wrap:wrap;gap:.1rem .9rem}.files a{font-size:.9rem;min-width:0;overflow-wrap:anywhere}\n"
    "@media(max-width:700px){.claims thead{display:none}.claims tr{display:block;border-bottom:1px solid var(--line);"
    "padding:.4rem 0}.claims td{display:block;border:0;padding:.1rem 0;white-space:normal}.claims td[data-is]:before{"
    "content:attr(data-is) ' ';color:var(--soft)}.claims td:empty{display:none}.claims td:first-child{font-weight:600}}\n"
    "@media print{body{font-size:11px}section{break-before:page}}\n";

/* Adds an element with text. */
static void add_element(struct text *html, const char *open, const char *chars, const char *close)
{
    text_add(html, open);
    page_escape(html, chars);
    text_add(html, close);
}

/* Adds the figure's anchor: its id without slashes. */
static void add_anchor(struct text *html, const char *id)
{
    for (; *id != 0; id++) text_add_bytes(html, *id == '/' ? "-" : id, 1);
}

static void add_verdict(struct text *html, const struct claim_result *result)
{
    static const char *const signs[] = {
        [CLAIM_PASS] = "\xe2\x9c\x93", [CLAIM_FAIL] = "\xe2\x9c\x97", [CLAIM_KNOWN_TO_FAIL] = "\xe2\x9c\x97",
        [CLAIM_NO_LONGER] = "\xe2\x9c\x93", [CLAIM_REPORTED] = "\xe2\x80\xa2"};
    static const char *const classes[] = {[CLAIM_PASS] = "pass", [CLAIM_FAIL] = "fail", [CLAIM_KNOWN_TO_FAIL] = "known",
                                          [CLAIM_NO_LONGER] = "fail", [CLAIM_REPORTED] = "reported"};
    text_printf(html, "<span class=\"v %s\">%s ", classes[result->verdict], signs[result->verdict]);
    add_element(html, "", result->word, "</span>");
}

static void add_claim(struct text *html, const struct claim_result *result)
{
    add_element(html, "<tr><td>", result->claim->says, "");
    if (result->because != NULL)
        add_element(html, result->verdict == CLAIM_REPORTED ? "<small>only reported: " : "<small>known to fail: ",
                    result->because, "</small>");
    if (result->claim->chosen_by != NULL)
        add_element(html, "<small>chosen in view of results: ", result->claim->chosen_by, "</small>");
    add_element(html, "</td><td class=p data-is=paper>", result->paper, "");
    add_element(html, "</td><td data-is=ours>", result->ours, "");
    add_element(html, "</td><td class=n data-is=deviation>", result->deviation, "");
    add_element(html, "</td><td class=n data-is=tolerance>", result->tolerance, "</td><td>");
    add_verdict(html, result);
    add_element(html, "</td><td>", claim_basis_name(result), "");
    add_element(html, "</td><td><code>", result->claim->tag, "</code></td></tr>\n");
}

static void add_claims(struct text *html, const struct claim_results *claims)
{
    text_add(html,
             "<h3>Claims</h3><div class=wide><table class=claims><thead><tr><th>claim<th>paper<th>ours<th>deviation"
             "<th>tolerance<th>verdict<th>basis<th>source</tr></thead><tbody>\n");
    for (size_t i = 0; i < claims->n; i++) add_claim(html, &claims->items[i]);
    text_add(html, "</tbody></table></div>\n<p class=soft>");
    claim_counts_text(&claims->counts, html);
    text_add(html, ".</p>\n");
    if (claims->counts.n_own > 0) add_element(html, "<p class=soft>* ", claim_own_note, "</p>\n");
    add_element(html, "<p class=soft>", claim_tags_note, "</p>\n");
}

static void add_fit(struct text *html, const struct figure_fit *fit)
{
    add_element(html, "<li>", fit->parameter, " = ");
    add_element(html, "<b>", fit->value, "</b>, on ");
    for (size_t i = 0; i < fit->points.n; i++) {
        const struct figure_span *span = FIGURE_ITEM(struct figure_span, fit->points, i);
        add_element(html, i > 0 ? "; " : "", span->series, "");
        if (!isnan(span->from)) text_printf(html, " from %g", span->from);
        if (!isnan(span->to)) text_printf(html, " up to %g", span->to);
    }
    if (fit->elsewhere != NULL) add_element(html, fit->points.n > 0 ? "; " : "", fit->elsewhere, "");
    add_element(html, "<br><span class=soft>", fit->why, "</span></li>\n");
}

static void add_background(struct text *html, const struct figure *figure)
{
    text_add(html, "<h3>Fitted</h3>\n");
    if (figure->fitted.n > 0) text_add(html, "<ul>\n");
    if (figure->fitted.n == 0) add_element(html, "<p>", without_fit(figure), "</p>\n");
    for (size_t i = 0; i < figure->fitted.n; i++) add_fit(html, FIGURE_ITEM(struct figure_fit, figure->fitted, i));
    text_add(html, figure->fitted.n > 0 ? "</ul>\n" : "");
    text_add(html, "<details><summary>Set-up in the paper</summary><ul>\n");
    for (size_t i = 0; i < figure->setup.n; i++) {
        const struct figure_fact *fact = FIGURE_ITEM(struct figure_fact, figure->setup, i);
        add_element(html, "<li>", fact->says, " ");
        add_element(html, "<code>[", fact->tag, "]</code></li>\n");
    }
    text_add(html, "</ul></details>\n");
    text_add(html, figure->notes.n > 0 ? "<details open><summary>Notes</summary><ul>\n" : "");
    for (size_t i = 0; i < figure->notes.n; i++)
        add_element(html, "<li>", *FIGURE_ITEM(char *, figure->notes, i), "</li>\n");
    text_add(html, figure->notes.n > 0 ? "</ul></details>\n" : "");
}

static int add_basis(struct text *html, const struct figure_entry *entry)
{
    struct text line;
    text_init(&line);
    const int code = claim_basis_text(entry->data->figure, entry->claims, &line);
    if (code == 0) add_element(html, "<p><strong>", line.chars, "</strong></p>\n");
    text_fini(&line);
    return code;
}

static const char no_points[] = "<figcaption>No points of the paper are drawn here.</figcaption>";

static int add_figure(struct text *html, const struct figure_entry *entry)
{
    const struct figure *figure = entry->data->figure;
    text_add(html, "<section id=\"");
    add_anchor(html, figure->id);
    add_element(html, "\"><h2>", figure->title, "</h2>\n<p class=soft>");
    add_element(html, "", figure->citation, "; ");
    add_element(html, "", figure->place, "</p>\n");
    int code = add_basis(html, entry);
    text_add(html, "<p class=files>");
    for (size_t i = 0; i < entry->n_links; i++) {
        add_element(html, "<a href=\"", entry->links[i].target, "\">");
        add_element(html, "", entry->links[i].label, "</a>");
    }
    text_add(html, "</p>\n<div class=charts>\n");
    for (size_t i = 0; code == 0 && i < figure->charts.n; i++) {
        text_add(html, "<figure>");
        code = figure_chart_svg(entry->data, i, html);
        text_add(html, has_points(entry->data, i) ? "" : no_points);
        text_add(html, "</figure>\n");
    }
    text_add(html, "</div>\n");
    add_claims(html, entry->claims);
    text_printf(html, "<p class=soft>%s</p>\n", tolerances_text(figure));
    add_background(html, figure);
    text_add(html, "</section>\n");
    return code;
}

static void add_overview(struct text *html, const struct figure_entry *entries, size_t n)
{
    text_add(html, "<nav><div class=wide><table><thead><tr><th>figure<th>pass<th>fail<th>known to fail<th>reported"
                   "<th>of these outside"
                   "</tr></thead><tbody>\n");
    for (size_t i = 0; i < n; i++) {
        const struct claim_counts *counts = &entries[i].claims->counts;
        const struct figure *figure = entries[i].data->figure;
        text_add(html, "<tr><td><a href=\"#");
        add_anchor(html, figure->id);
        add_element(html, "\">", figure->title, "</a>");
        text_printf(html, "<td class=n>%zu<td class=n>%zu<td class=n>%zu<td class=n>%zu<td class=n>%zu</tr>\n",
                    counts->of[CLAIM_PASS], counts->of[CLAIM_FAIL] + counts->of[CLAIM_NO_LONGER],
                    counts->of[CLAIM_KNOWN_TO_FAIL], counts->of[CLAIM_REPORTED], counts->n_outside);
    }
    text_add(html, "</tbody></table></div></nav>\n");
}

int figure_gallery(const struct figure_entry *entries, size_t n, struct text *html)
{
    int code = 0;
    text_add(html,
             "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>Figures of papers, simulated</title>\n"
             "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<style>\n");
    text_add(html, style);
    text_add(html,
             "</style></head><body><main>\n<h1>Figures of papers, simulated</h1>\n"
             "<p class=soft>Hollow markers are the paper's points. A claim passes when our number is within its "
             "tolerance; of a curve, nine in ten points are. One that is known to fail says why. What a paper "
             "states as \xe2\x80\x9cup to\xe2\x80\x9d, what was noted from memory and what is not covered is only "
             "reported, as not comparable and in no median; so is what cannot be judged for a reason that is "
             "given, with the side of its tolerance that it lies on. ");
    add_element(html, "", claim_basis_note, "</p>\n");
    add_overview(html, entries, n);
    for (size_t i = 0; code == 0 && i < n; i++) code = add_figure(html, &entries[i]);
    text_add(html, "</main></body></html>\n");
    return code == 0 && html->failed ? SIM_E_NOMEM : code;
}
