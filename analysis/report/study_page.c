/* The page of a study. */
#include "analysis/compare/compare.h"
#include "analysis/compare/policy_params.h"
#include "analysis/query.h"
#include "analysis/report/page.h"
#include "analysis/report/study.h"
#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_POINT_ROWS = 400, MAX_RUN_ROWS = 2000, MOST_FIGURES = 8 }; /* figures before more are unfolded */

/* The two metrics of the trade-off: the first with a direction, and the next that has the other direction, is money
 * or is energy; else the next with any direction. With requested metrics, the first two. */
struct trade {
    bool exists;
    size_t a, b, n_front;
    bool *on_front; /* [n_points] */
};

static bool trades_off(const struct study_metric *a, const struct study_metric *b)
{
    return a->direction != b->direction || strncmp(b->name, "cost.", 5) == 0 || strncmp(b->name, "energy.", 7) == 0;
}

static size_t next_directed(const struct study *study, size_t from)
{
    while (from < study->n_metrics && study->metrics[from].direction == REPORT_NEUTRAL) from++;
    return from;
}

static int find_trade(const struct report_source *source, const struct study *study, struct trade *trade)
{
    *trade = (struct trade){.on_front = arena_alloc(source->arena, study->n_points + 1)};
    if (trade->on_front == NULL) return SIM_E_NOMEM;
    trade->a = next_directed(study, 0);
    trade->b = next_directed(study, trade->a + 1);
    if (trade->b >= study->n_metrics || study->n_points < 2) return 0;
    const size_t first = trade->b;
    while (source->options->n_metrics == 0 && trade->b < study->n_metrics &&
           !trades_off(&study->metrics[trade->a], &study->metrics[trade->b]))
        trade->b = next_directed(study, trade->b + 1);
    if (trade->b >= study->n_metrics) trade->b = first;
    trade->exists = true;
    trade->n_front = study_front(study, trade->a, trade->b, trade->on_front);
    return 0;
}

struct study_page {
    const struct report_source *source;
    struct study study;
    struct subject subject; /* of the first run that is done */
    struct trade trade;
    bool has_comparison;
    struct comparison comparison; /* of the two groups of runs, if the options name any */
    struct study_outcomes outcomes; /* of searches, or the points on the front that the study asks for */
};

/* --- Two groups of runs against each other --- */

enum { N_VERDICTS = COMPARE_DIFFERS + 1 };

/* The dictionary in the form of a comparison, in the arena. */
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

/* Compares the groups `base` and `changed` of the options. Returns as compare_groups. */
static int compare_read(const struct report_source *source, struct comparison *comparison)
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

/* Adds "routing=jsq against routing=rr: 3 better, 1 worse, 2 unclear.", as plain text. */
static void add_comparison_sentence(const struct report_source *source, const struct comparison *comparison,
                                    struct text *text)
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

/* A ratio if the whole change is one. */
static void add_change(double part, double base, bool is_ratio, struct text *html)
{
    char words[WORDS_CHARS];
    text_add(html, "<td class=\"n\">");
    if (!isnan(part) && is_ratio)
        page_printf(html, "%.3gx", 1.0 + part / base);
    else if (!isnan(part) && base != 0.0)
        page_printf(html, "%s%s", part > 0.0 ? "+" : "", words_percent(part / fabs(base), words));
    text_add(html, "</td>");
}

static void add_comparison_row(const struct compare_row *row, struct text *html)
{
    char base[WORDS_CHARS], changed[WORDS_CHARS];
    double low, high;
    compare_ends(row, &low, &high);
    text_add(html, "<tr><th scope=\"row\"><code>");
    page_escape(html, row->metric);
    text_add(html, "</code></th><td class=\"n\">");
    page_escape(html, words_value(row->base, row->unit, base));
    text_add(html, "</td><td class=\"n\">");
    page_escape(html, words_value(row->changed, row->unit, changed));
    text_add(html, "</td>");
    const bool is_ratio = stats_is_multiple(row->base, row->base + row->delta.mean);
    add_change(row->delta.mean, row->base, is_ratio, html);
    add_change(low, row->base, is_ratio, html);
    add_change(high, row->base, is_ratio, html);
    text_printf(html, "<td>%s, n=%zu</td><td><strong>%s</strong></td></tr>\n", compare_method_name(row->method), row->n,
                compare_verdict_name(row->verdict));
}

static bool has_comparison(const void *context)
{
    return ((const struct study_page *)context)->has_comparison;
}

static int add_comparison(const void *context, struct text *html)
{
    const struct study_page *page = context;
    const struct report_options *options = page->source->options;
    const struct comparison *comparison = &page->comparison;
    text_add(html, "<p class=\"note\">Base: ");
    page_escape(html, comparison->base);
    text_add(html, ". New: ");
    page_escape(html, comparison->changed);
    page_printf(html, ". As by: orrery compare RESULTS --base %.100s --new %.100s.", options->base, options->changed);
    text_add(html, "</p>\n");
    for (size_t i = 0; i < comparison->n_remarks; i++) page_note(html, comparison->remarks[i]);
    text_add(
        html,
        "<div class=\"scroll\"><table class=\"sort\">\n<thead><tr><th scope=\"col\">metric</th><th scope=\"col\" class=\"n\">base"
        "</th><th scope=\"col\" class=\"n\">new</th><th scope=\"col\" class=\"n\">change</th>"
        "<th scope=\"col\" class=\"n\">at least</th><th scope=\"col\" class=\"n\">at most</th>"
        "<th scope=\"col\">method</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].point == NULL) add_comparison_row(&comparison->rows[i], html);
    text_add(html, "</tbody></table></div>\n");
    return 0;
}

/* --- Figures --- */

static int add_figures(const void *context, struct text *html)
{
    const struct study_page *page = context;
    const struct report_source *source = page->source;
    const struct study *study = &page->study;
    const struct trade *trade = &page->trade;
    int code = 0;
    if (study->n_metrics == 0) page_note(html, "No run has a metric to be plotted.");
    const size_t from = html->length;
    page_figures(html);
    for (size_t k = 0; k < study->n_metrics && code == 0; k++) code = study_draw_metric(source, study, k, html);
    if (code == 0 && trade->exists) code = study_draw_front(source, study, trade->a, trade->b, trade->on_front, html);
    page_fold_figures(html, from, MOST_FIGURES);
    page_figures_end(html);
    return code;
}

/* --- Tables --- */

static void add_axis_heads(const struct study *study, struct text *html)
{
    for (size_t a = 0; a < study->n_axes; a++) {
        text_add(html, "<th scope=\"col\" title=\"");
        page_escape(html, study->axes[a].key);
        text_add(html, "\">");
        page_escape(html, study->axes[a].name);
        text_add(html, "</th>");
    }
}

static void add_metric_heads(const struct report_source *source, const struct study *study, struct text *html)
{
    for (size_t k = 0; k < study->n_metrics; k++) {
        const struct report_metric *known = source_define(source->options, study->metrics[k].name);
        text_add(html, "<th scope=\"col\" class=\"n\" title=\"");
        page_printf(html, "%.100s: ", study->metrics[k].name);
        page_escape(html, known != NULL ? known->definition : "not in the dictionary");
        text_add(html, "\">");
        char words[WORDS_CHARS];
        page_escape(html, words_metric(study->metrics[k].name, words));
        text_add(html, "</th>");
    }
}

static void add_levels(const struct study *study, const struct study_point *point, struct text *html)
{
    for (size_t a = 0; a < study->n_axes; a++) {
        const char *value = study->axes[a].values[point->levels[a]];
        text_add(html, "<td>");
        page_escape(html, value[0] != 0 ? value : "as given");
        text_add(html, "</td>");
    }
}

static void add_interval(const struct interval *interval, double recorded, const char *unit, struct text *html)
{
    static const double lopsided = 0.05; /* of its width: how far its middle lies off the mean */
    char mean[WORDS_CHARS], half[WORDS_CHARS], value[WORDS_CHARS];
    const double width = interval->high - interval->low, middle = interval->low + width / 2.0;
    text_printf(html, "<td class=\"n\" title=\"%.10g\">", interval->mean);
    page_escape(html, words_value(interval->mean, unit, mean));
    if (width > 0.0 && fabs(middle - interval->mean) > lopsided * width)
        page_printf(html, ", %s to %s", words_value(interval->low, unit, half),
                    words_value(interval->high, unit, value));
    else if (width > 0.0)
        page_printf(html, " \xc2\xb1 %s", words_value(width / 2.0, unit, half));
    if (!isnan(recorded)) page_printf(html, ", recorded %s", words_value(recorded, unit, value));
    text_add(html, "</td>");
}

static int add_points(const void *context, struct text *html)
{
    const struct study_page *page = context;
    const struct study *study = &page->study;
    const struct trade *trade = &page->trade;
    const bool marks = trade->n_front > 0 && trade->n_front < study->n_points;
    if (marks)
        page_note(html, study->is_bootstrap
                            ? "In bold: the points of the Pareto front. \xc2\xb1: half of the 95 % interval of the "
                              "spread over bootstrap replicates of the trace; where it is lopsided, its ends."
                            : "In bold: the points of the Pareto front. \xc2\xb1: half of the 95 % "
                              "t-interval over seeds.");
    if (study->replicates.has_recorded)
        page_note(html, "Recorded: one run of the whole trace, which the seeds replicate in parts.");
    text_add(html, "<div class=\"scroll\"><table class=\"sort\">\n<thead><tr>");
    add_axis_heads(study, html);
    text_add(html, "<th scope=\"col\" class=\"n\">runs</th>");
    add_metric_heads(page->source, study, html);
    text_add(html, "</tr></thead>\n<tbody>\n");
    for (size_t p = 0; p < study->n_points && p < MAX_POINT_ROWS; p++) {
        const struct study_point *point = &study->points[p];
        text_printf(html, "<tr%s>", marks && trade->on_front[p] ? " class=\"front\"" : "");
        add_levels(study, point, html);
        text_printf(html, "<td class=\"n\">%zu</td>", point->n_runs);
        const bool is_unfit = point->n_runs == 0 && point->n_unfit > 0;
        for (size_t k = 0; k < study->n_metrics; k++) {
            if (is_unfit)
                text_add(html, "<td class=\"n\">does not fit</td>");
            else
                add_interval(&point->metrics[k], point->recorded[k], study->metrics[k].unit, html);
        }
        text_add(html, "</tr>\n");
    }
    text_add(html, "</tbody></table></div>\n");
    if (study->n_points > MAX_POINT_ROWS) page_note(html, "The first 400 points; the database has all.");
    page_sql(html, study->queries, 3);
    return 0;
}

static void add_run(const struct study *study, const struct study_run *run, struct text *html)
{
    text_printf(html, "<tr><th scope=\"row\" class=\"n\">%" PRId64 "</th>", run->id);
    add_levels(study, &study->points[run->point], html);
    text_printf(html, "<td class=\"n\">%.0f</td><td>", run->seed);
    page_escape(html, run->status);
    text_add(html, "</td>");
    for (size_t k = 0; k < study->n_metrics; k++) {
        char words[WORDS_CHARS];
        text_add(html, "<td class=\"n\">");
        page_escape(html, words_value(run->values[k], study->metrics[k].unit, words));
        text_add(html, "</td>");
    }
    text_add(html, "</tr>\n");
}

static int add_runs(const void *context, struct text *html)
{
    const struct study_page *page = context;
    const struct study *study = &page->study;
    page_note(html, "Each run has a report of its own: orrery report RESULTS:RUN.");
    text_printf(html, "<details><summary>All %zu runs</summary>\n", study->n_runs);
    text_add(html, "<div class=\"scroll\"><table class=\"sort\">\n<thead><tr><th scope=\"col\" class=\"n\">run</th>");
    add_axis_heads(study, html);
    text_add(html, "<th scope=\"col\" class=\"n\">seed</th><th scope=\"col\">status</th>");
    add_metric_heads(page->source, study, html);
    text_add(html, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < study->n_runs && i < MAX_RUN_ROWS; i++) add_run(study, &study->runs[i], html);
    text_add(html, "</tbody></table></div>\n");
    if (study->n_runs > MAX_RUN_ROWS) page_note(html, "The first 2,000 runs; the database has all.");
    text_add(html, "</details>\n");
    return 0;
}

/* --- What searches found, and the front --- */

static bool has_outcomes(const void *context)
{
    return ((const struct study_page *)context)->outcomes.n > 0;
}

static int add_outcomes(const void *context, struct text *html)
{
    const struct study_page *page = context;
    study_draw_outcomes(&page->study, &page->outcomes, html);
    return 0;
}

/* --- Provenance --- */

static int add_provenance(const void *context, struct text *html)
{
    const struct study_page *page = context;
    const struct study *study = &page->study;
    static const char *const terms[] = {"version", "commit", "platform", "policies", "oracle knowledge"};
    struct query_answer answer;
    struct page_query query = {
        .sql = "SELECT (SELECT group_concat(x, '; ') FROM (SELECT DISTINCT version AS x FROM run)),\n"
               "       (SELECT group_concat(x, '; ') FROM (SELECT DISTINCT git_commit AS x FROM run)),\n"
               "       (SELECT group_concat(x, '; ') FROM (SELECT DISTINCT platform AS x FROM run)),\n"
               "       (SELECT group_concat(x, '; ') FROM (SELECT DISTINCT policies AS x FROM run)),\n"
               "       (SELECT group_concat(x, '; ') FROM (SELECT DISTINCT nullif(oracle, '') AS x FROM run))"};
    int code = source_query(page->source, &query, "read runs", &answer);
    if (code != 0) return code;
    text_add(html, "<dl>\n");
    page_term(html, "study", study->name);
    page_term(html, "hash of the study", study->hash);
    for (size_t i = 0; i < answer.n_columns; i++)
        page_term(html, terms[i], answer.columns[i].texts != NULL ? answer.columns[i].texts[0] : NULL);
    text_add(html, "</dl>\n");
    page_sql(html, &query, 1);
    if (study->definition[0] != 0) {
        text_add(html, "<details class=\"scenario\"><summary>The study</summary>\n<pre><code>");
        page_escape(html, study->definition);
        text_add(html, "</code></pre></details>\n");
    }
    return 0;
}

static const struct page_section sections[] = {{"versus", "Compared", has_comparison, add_comparison, true},
                                               {"outcomes", "What was found", has_outcomes, add_outcomes, true},
                                               {"figures", "Along the axes", NULL, add_figures, true},
                                               {"points", "Points", NULL, add_points, false},
                                               {"runs", "Runs", NULL, add_runs, false},
                                               {"provenance", "Provenance", NULL, add_provenance, false},
                                               {0}};

/* --- Head --- */

static const char *title_of(const struct study *study)
{
    if (study->question[0] != 0) return study->question;
    return study->name[0] != 0 ? study->name : study->n_runs > 0 ? study->runs[0].name : "A study without runs";
}

/* Runs that finished too few requests or jobs for the 99th percentile of a metric of the study. */
static int count_small_runs(const struct report_source *source, const struct study *study, double *n)
{
    struct page_query query = {.sql = "SELECT count(DISTINCT run_id) FROM metric\n"
                                      "WHERE name IN ('request.finished', 'job.ended') AND value BETWEEN 1 AND 99"};
    struct query_answer answer;
    bool has_p99 = false;
    *n = 0.0;
    for (size_t i = 0; i < study->n_metrics; i++) has_p99 |= strstr(study->metrics[i].name, ".p99") != NULL;
    if (!has_p99) return 0;
    const int code = source_query(source, &query, "read runs", &answer);
    if (code == 0 && answer.n_rows > 0) *n = answer.columns[0].numbers[0];
    return code;
}

/* Adds the warnings of all runs, one entry per code. */
static int add_warnings(const struct report_source *source, const struct study *study, struct text *html)
{
    double n_small;
    struct page_query query = {.sql = "SELECT code, min(text) AS text, count(DISTINCT run_id) AS runs FROM warning\n"
                                      "GROUP BY code ORDER BY count(DISTINCT run_id) DESC, code"};
    struct query_answer answer;
    struct policy_notes policies;
    int code = source_query(source, &query, "read warnings", &answer);
    if (code == 0) code = policy_notes_of_study(source->database, source->arena, &policies, source->diag);
    if (code == 0) code = count_small_runs(source, study, &n_small);
    if (code != 0) return code;
    text_add(html, "<aside class=\"warnings\" aria-label=\"Warnings\">\n<ul>\n");
    const size_t empty = html->length;
    const size_t n_left = study->n_runs - study->n_done - study->n_unfit;
    if (n_left > 0)
        text_printf(html, "<li class=\"grave\"><strong>incomplete</strong> %zu of %zu runs did not finish</li>\n",
                    n_left, study->n_runs);
    if (n_small > 0.0)
        text_printf(
            html,
            "<li><strong>few</strong> %.0f of %zu runs finished fewer than 100 requests or jobs: a 99th percentile "
            "of so few is little else than their maximum</li>\n",
            n_small, study->n_runs);
    code = study_warn_recorded(source, study, html);
    if (code != 0) return code;
    for (size_t i = 0; i < policies.n; i++) {
        text_add(html, "<li><strong>defaults</strong> compared policies differ in a parameter: ");
        page_escape(html, policies.texts[i]);
        text_add(html, "</li>\n");
    }
    for (size_t i = 0; i < answer.n_rows; i++) {
        const char *name = words_code(answer.columns[0].texts[i]);
        const bool is_grave = strcmp(name, "uncalibrated") == 0 || strcmp(name, "failed") == 0;
        text_add(html, is_grave ? "<li class=\"grave\"><strong>" : "<li><strong>");
        page_escape(html, name);
        text_add(html, "</strong> ");
        page_escape(html, answer.columns[1].texts[i]);
        page_printf(html, " (%.0f of %zu runs)", answer.columns[2].numbers[i], study->n_runs);
        text_add(html, "</li>\n");
    }
    if (html->length == empty) text_add(html, "<li>No warnings.</li>\n");
    text_add(html, "</ul>\n");
    page_sql(html, &query, 1);
    text_add(html, "</aside>\n");
    return 0;
}

static int read_subject(struct study_page *page)
{
    const struct study *study = &page->study;
    const char *varied[STUDY_MAX_AXES];
    for (size_t i = 0; i < study->n_axes; i++) varied[i] = study->axes[i].key;
    if (study->n_runs == 0) return 0;
    size_t first = 0; /* a run that has a scenario */
    while (first + 1 < study->n_runs && strcmp(study->runs[first].status, "done") != 0) first++;
    return subject_read(page->source, study->runs[first].id, varied, study->n_axes, &page->subject);
}

static void add_title(const struct study_page *page, struct text *html)
{
    const struct study *study = &page->study;
    page_open(html, title_of(study));
    text_add(html, "<header>\n<p class=\"kind\">Orrery report of a study</p>\n<h1>");
    page_escape(html, title_of(study));
    text_add(html, "</h1>\n");
    subject_draw(&page->subject, html);
    text_add(html, "<p class=\"subject\">");
    if (study->question[0] != 0) page_printf(html, "%.200s: ", study->name);
    for (size_t a = 0; a < study->n_axes; a++)
        page_printf(html, "%s%.100s (%zu values)", a > 0 ? ", " : "", study->axes[a].key, study->axes[a].n);
    text_add(html, "</p>\n");
}

static void add_paragraph(const char *name, struct text *words, struct text *html)
{
    if (words->length > 0) {
        text_printf(html, "<p class=\"%s\">", name);
        page_escape(html, words->chars);
        text_add(html, "</p>\n");
    }
    html->failed |= words->failed;
    text_fini(words);
}

static int add_head(const struct study_page *page, struct text *html)
{
    const struct report_source *source = page->source;
    const struct study *study = &page->study;
    const struct trade *trade = &page->trade;
    struct text answer, verdict;
    text_init(&answer);
    text_init(&verdict);
    add_title(page, html);
    bool says_best;
    int code = study_answer(source, study, &page->outcomes, &says_best, &answer);
    if (page->has_comparison) add_comparison_sentence(source, &page->comparison, &verdict);
    if (code == 0) code = study_verdict(study, trade->n_front, trade->a, trade->b, says_best, source->arena, &verdict);
    add_paragraph("answer", &answer, html);
    add_paragraph("verdict", &verdict, html);
    if (code == 0) code = add_warnings(source, study, html);
    text_add(html, "</header>\n");
    page_contents(html, sections, page);
    return code;
}

int study_page(const struct report_source *source, struct text *html)
{
    struct study_page *page = mem_zalloc(1, sizeof *page);
    if (page == NULL) return SIM_E_NOMEM;
    page->source = source;
    page->has_comparison = source->options->base != NULL;
    int code = study_read(source, &page->study);
    if (code == 0 && page->has_comparison) code = compare_read(source, &page->comparison);
    if (code == 0) code = find_trade(source, &page->study, &page->trade);
    if (code == 0) code = study_outcomes(source, &page->study, &page->outcomes);
    if (code == 0) code = read_subject(page);
    if (code == 0) code = add_head(page, html);
    if (code == 0) code = page_sections(html, sections, page);
    if (page->has_comparison) comparison_fini(&page->comparison);
    mem_free(page);
    return code;
}
