/* orrery report: one HTML page about a run or a study, or one chart of it. */
#include "analysis/report/page.h"
#include "analysis/report/report.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/dictionary.h"
#include "sim/cli/paths.h"
#include "sim/core/mem.h"
#include "sim/core/output.h"
#include "sim/store/readback.h"
#include "sim/world/rows/metric.h"

#include <string.h>

struct report_cli_options {
    const char *output, *base, *changed, *chart;
    struct option_texts metrics;
};

#define OFFSET(member) offsetof(struct report_cli_options, member)
static const struct option report_options_table[] = {
    {"Options", "output", 'o', OPTION_TEXT, OFFSET(output), "FILE", NULL,
     "write the page there instead of report.html; -: to standard output"},
    {NULL, "chart", 0, OPTION_TEXT, OFFSET(chart), "TITLE", NULL,
     "only this chart of the page, as an SVG document, to standard output without -o"},
    {NULL, "metric", 'm', OPTION_TEXTS, OFFSET(metrics), "NAME", NULL,
     "describe a study by this metric; the first two of several are plotted against each other"},
    {NULL, "base", 'b', OPTION_TEXT, OFFSET(base), "KEY=VALUE,...", NULL,
     "compare with these runs, chosen as by 'orrery compare'"},
    {NULL, "new", 'n', OPTION_TEXT, OFFSET(changed), "KEY=VALUE,...", NULL, "the runs compared with them"},
    {0}};
#undef OFFSET

static int check_metrics(struct cli *cli, const struct option_texts *metrics)
{
    int code = 0;
    for (size_t i = 0; i < metrics->n; i++)
        if (metric_find(metrics->items[i]) == NULL)
            code = diag_error(&cli->diag, SIM_E_USAGE, NULL, "'orrery list metrics' shows all", "unknown metric '%s'",
                              metrics->items[i]);
    return code;
}

static int write_page(struct cli *cli, const char *path, const struct text *html)
{
    struct output *output;
    if (path == NULL) {
        fwrite(html->chars, 1, html->length, cli->out);
        return 0;
    }
    int code = output_open(path, &output, &cli->diag);
    if (code != 0) return code;
    text_add_bytes(output_text(output), html->chars, html->length);
    code = output_close(output, false, &cli->diag);
    if (code == 0) answer_print(cli->err, "%s: %.0f KiB\n", path, (double)html->length / 1024.0);
    return code;
}

/* Reports a title that the page lacks, below a list of all titles: no finding has room for these. */
static int fail_no_chart(struct cli *cli, const struct text *html, const char *title)
{
    struct page_chart chart = {0};
    answer_print(cli->err, "the page's charts:\n");
    while (page_next_chart(html, &chart)) answer_print(cli->err, "  %.*s\n", (int)chart.title_bytes, chart.title);
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, "take a title of the list above", "the page has no chart '%s'",
                      title);
}

/* Leaves of the page the chart of this title. */
static int keep_chart(struct cli *cli, struct text *html, const char *title)
{
    struct page_chart chart = {0};
    struct text wanted, svg;
    text_init(&wanted);
    text_init(&svg);
    page_escape(&wanted, title);
    while (svg.length == 0 && page_next_chart(html, &chart))
        if (chart.title_bytes == wanted.length && memcmp(chart.title, wanted.chars, wanted.length) == 0)
            text_add_bytes(&svg, chart.svg, chart.svg_bytes);
    int code = wanted.failed || svg.failed ? SIM_E_NOMEM : 0;
    if (code == 0 && svg.length == 0) code = fail_no_chart(cli, html, title);
    text_add(&svg, "\n");
    text_fini(&wanted);
    text_fini(html);
    *html = svg;
    return code;
}

/* The page must not replace the results. */
static int check_output(struct cli *cli, const char *output, bool is_chart, const char *results)
{
    struct outputs outputs = {.diag = &cli->diag};
    int code = outputs_add_form(&outputs, "--output", output, is_chart ? "SVG" : "HTML", is_chart ? "svg" : "html htm");
    return code == 0 ? outputs_check(&outputs, results) : code;
}

/* Where the answer goes; NULL: to standard output. */
static const char *output_of(const struct report_cli_options *given)
{
    if (given->output == NULL) return given->chart == NULL ? "report.html" : NULL;
    return strcmp(given->output, "-") == 0 ? NULL : given->output;
}

static int report(struct cli *cli, const struct cli_call *call)
{
    const struct report_cli_options *given = call->options;
    struct report_options options = {.metrics = given->metrics.items, .n_metrics = given->metrics.n,
                                     .base = given->base, .changed = given->changed};
    struct arena arena;
    struct text html;
    const char *output = output_of(given);
    int code = check_metrics(cli, &given->metrics);
    if ((given->base == NULL) != (given->changed == NULL))
        code = diag_error(&cli->diag, SIM_E_USAGE, NULL, NULL, "--base and --new go together");
    if (code != 0) return code;
    arena_init(&arena);
    text_init(&html);
    options.dictionary = dictionary_make(&arena, &options.n_dictionary);
    code = options.dictionary != NULL ? results_split_name(call->arguments[0], &arena, &options.path, &options.run_id)
                                      : SIM_E_NOMEM;
    if (code == 0) code = check_output(cli, output, given->chart != NULL, options.path);
    if (code == 0) code = report_html(&options, &html, &cli->diag);
    if (code == 0 && given->chart != NULL) code = keep_chart(cli, &html, given->chart);
    if (code == 0) code = write_page(cli, output, &html);
    text_fini(&html);
    arena_fini(&arena);
    return code;
}

const struct verb verb_report = {
    .name = "report",
    .summary = "one HTML page about a run or a study",
    .usage = "RESULTS[:RUN] [-o report.html] [--metric NAME]... [--base K=V --new K=V]\n"
             "RESULTS[:RUN] --chart TITLE [-o chart.svg]",
    .notes = "The page needs no network and no other file: it opens from a disk, on a phone, and prints. Every figure has\n"
             "the SQL that made it below. Without ':RUN' the page is about the study in the file, or else about the\n"
             "last run.\n",
    .options = report_options_table,
    .options_bytes = sizeof(struct report_cli_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .results_arguments = 1,
    .run = report,
};
