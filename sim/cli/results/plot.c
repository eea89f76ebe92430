/* orrery plot: one figure of a study for a paper. */
#include "sim/cli/answer.h"
#include "sim/cli/paths.h"
#include "sim/cli/results/figure_file.h"
#include "sim/cli/results/stored.h"

#include <math.h>
#include <string.h>

struct plot_options {
    struct option_texts by, where;
    const char *x, *y, *output, *size, *font, *font_size, *title, *x_title, *y_title, *note, *relative;
    int log, errors, kind;
    int form; /* enum answer_form */
};

enum { LOG_NONE, LOG_X, LOG_Y, LOG_XY };
enum { ERRORS_BARS, ERRORS_BAND, ERRORS_NONE };
enum { KIND_AUTO, KIND_LINES, KIND_BARS, KIND_DOTS };
static const char *const logs[] = {"none", "x", "y", "xy", NULL};
static const char *const errors[] = {"bars", "band", "none", NULL};
static const char *const kinds[] = {"auto", "lines", "bars", "dots", NULL};

#define AT(name) offsetof(struct plot_options, name)
static const struct option plot_options[] = {
    {"What is drawn", "x", 'x', OPTION_TEXT, AT(x), "AXIS", NULL, "axis of the study along x: replicas"},
    {NULL, "y", 'y', OPTION_TEXT, AT(y), "METRIC", NULL, "metric along y: ttft_s.p99"},
    {NULL, "by", 0, OPTION_TEXTS, AT(by), "AXIS,...", NULL,
     "a line or bar for each value of these axes; default: of all others that x leaves open"},
    {NULL, "relative", 0, OPTION_TEXT, AT(relative), "AXIS=VALUE", NULL,
     "draw changes in percent against the runs with this value, paired by seed and all other axes"},
    {NULL, "where", 0, OPTION_TEXTS, AT(where), "AXIS=VALUE", NULL, "only runs with this value"},
    {NULL, "errors", 0, OPTION_CHOICE, AT(errors), "bars|band|none", errors, "intervals over the seeds"},
    {NULL, "kind", 0, OPTION_CHOICE, AT(kind), "auto|lines|bars|dots", kinds,
     "auto: lines along numbers, bars along words"},
    {"How it looks", "log", 0, OPTION_CHOICE, AT(log), "none|x|y|xy", logs, "logarithmic axes"},
    {NULL, "size", 0, OPTION_TEXT, AT(size), "WxH", NULL,
     "width and height in cm; default: 8.5x6, a column of a paper"},
    {NULL, "font", 0, OPTION_TEXT, AT(font), "NAME", NULL, "family of the type; in a PDF Helvetica, Times or Courier"},
    {NULL, "font-size", 0, OPTION_TEXT, AT(font_size), "POINTS", NULL, "size of the type; default: 9"},
    {NULL, "title", 0, OPTION_TEXT, AT(title), "TEXT", NULL, "title above the figure; default: none"},
    {NULL, "x-title", 0, OPTION_TEXT, AT(x_title), "TEXT", NULL, "title of the axis x"},
    {NULL, "y-title", 0, OPTION_TEXT, AT(y_title), "TEXT", NULL, "title of the axis y"},
    {NULL, "note", 0, OPTION_TEXT, AT(note), "TEXT", NULL,
     "line below the title; default: what bars or bands are; '' for none"},
    {"What comes out", "output", 'o', OPTION_TEXT, AT(output), "FILE", NULL,
     "fig.svg, .pdf, .tex (pgfplots), .gp (gnuplot) or .csv; without it the points as a table"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the points as JSON"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the points as CSV"},
    {NULL, "markdown", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the points as a table in Markdown"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the points as a table of LaTeX"},
    {0}};
#undef AT

/* --- The view --- */

/* Takes the axes of one --by, "replicas,rate". */
static int read_by(struct cli *cli, const struct stored *stored, const char *list, unsigned *by)
{
    char name[DIAG_TEXT_CHARS];
    for (const char *c = list; *c != 0;) {
        const size_t n = strcspn(c, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, c);
        const int axis = stored_axis(cli, stored, name);
        if (axis < 0) return SIM_E_USAGE;
        *by |= 1U << axis;
        c += n + (c[n] == ',');
    }
    return 0;
}

static int pick_level(struct cli *cli, struct stored *stored, size_t index, const char *value, size_t *level)
{
    const struct study_axis *axis = &stored->study.axes[index];
    const char **values = arena_alloc(&stored->arena, (axis->n + 1) * sizeof *values);
    if (values == NULL) return SIM_E_NOMEM;
    memcpy(values, axis->values, axis->n * sizeof *values);
    values[axis->n] = NULL;
    const int found = cli_pick(cli, "value", value, values);
    *level = found >= 0 ? (size_t)found : 0;
    return found >= 0 ? 0 : SIM_E_USAGE;
}

/* Takes the axis before the '=' of an option. Returns its index, or -1 with a finding. */
static int read_axis(struct cli *cli, const struct stored *stored, const char *option, const char *text,
                     char name[DIAG_TEXT_CHARS])
{
    const size_t n = strcspn(text, "=");
    snprintf(name, DIAG_TEXT_CHARS, "%.*s", (int)n, text);
    if (text[n] == '=') return stored_axis(cli, stored, name);
    diag_error(&cli->diag, SIM_E_USAGE, option, "write AXIS=VALUE", "'%s' has no '='", text);
    return -1;
}

static int read_where(struct cli *cli, struct stored *stored, const char *where, struct study_view *view)
{
    char name[DIAG_TEXT_CHARS];
    const size_t n = strcspn(where, "=");
    const int axis = read_axis(cli, stored, "--where", where, name);
    if (axis < 0) return SIM_E_USAGE;
    if ((view->fixed >> axis & 1) != 0)
        return diag_error(&cli->diag, SIM_E_USAGE, "--where", "choose one value, or leave it out to see all",
                          "'%s' is given twice", name);
    view->fixed |= 1U << axis;
    return pick_level(cli, stored, (size_t)axis, where + n + 1, &view->levels[axis]);
}

/* Turns the metric into its changes against the base of --relative. */
static int relate(struct cli *cli, struct stored *stored, const struct plot_options *options)
{
    char name[DIAG_TEXT_CHARS];
    size_t level;
    if (options->relative == NULL) return 0;
    if (options->log == LOG_Y || options->log == LOG_XY)
        return diag_error(&cli->diag, SIM_E_USAGE, "--log", "leave out y", "a change may be negative");
    const int axis = read_axis(cli, stored, "--relative", options->relative, name);
    if (axis < 0) return SIM_E_USAGE;
    int code = pick_level(cli, stored, (size_t)axis, options->relative + strcspn(options->relative, "=") + 1, &level);
    if (code == 0 && stored->study.axes[axis].n < 2)
        code = diag_error(&cli->diag, SIM_E_USAGE, "--relative", "name an axis with several values",
                          "all runs have '%s'", options->relative);
    return code == 0 ? study_relate(&stored->study, (size_t)axis, level, &stored->arena) : code;
}

/* Axes that differ between the shown runs must be along x, apart by lines, or determined by these, as zipped axes. */
static int check_rest(struct cli *cli, const struct study *study, unsigned rest)
{
    for (size_t a = 0; a < study->n_axes; a++)
        if ((rest >> a & 1) != 0)
            return diag_error(&cli->diag, SIM_E_USAGE, NULL, "add it to --by, or choose a value by --where",
                              "the runs also differ in '%s'", study->axes[a].name);
    return 0;
}

static int read_view(struct cli *cli, struct stored *stored, const struct plot_options *options,
                     struct study_view *view)
{
    const int x = stored_axis(cli, stored, options->x);
    int code = x < 0 ? SIM_E_USAGE : 0;
    *view = (struct study_view){.x = x < 0 ? 0 : (size_t)x};
    for (size_t i = 0; i < options->where.n && code == 0; i++)
        code = read_where(cli, stored, options->where.items[i], view);
    for (size_t i = 0; i < options->by.n && code == 0; i++)
        code = read_by(cli, stored, options->by.items[i], &view->by);
    if (code != 0) return code;
    const unsigned shown = view->by | 1U << view->x;
    const unsigned rest = study_view_varied(&stored->study, view) &
                          ~(shown | study_view_determined(&stored->study, view, shown));
    if (options->by.n > 0) code = check_rest(cli, &stored->study, rest);
    if (options->by.n == 0) view->by = rest;
    if (code == 0 && (view->by >> view->x & 1) != 0)
        code = diag_error(&cli->diag, SIM_E_USAGE, "--by", "name another axis", "'%s' is already along x", options->x);
    return code;
}

/* --- The chart --- */

static void set_kind(const struct plot_options *options, struct plot_chart *chart)
{
    const bool is_words = chart->n_categories > 0;
    if (options->kind == KIND_LINES) chart->kind = PLOT_LINE;
    if (is_words && options->kind == KIND_BARS) chart->kind = PLOT_BAR;
    if (options->kind == KIND_DOTS) chart->kind = is_words ? PLOT_DOTS : PLOT_SCATTER;
    const bool is_log = options->log == LOG_Y || options->log == LOG_XY;
    if (chart->kind == PLOT_BAR && is_log) chart->kind = PLOT_DOTS; /* a bar begins at zero */
}

static int set_look(struct cli *cli, const struct plot_options *options, struct plot_chart *chart,
                    struct plot_series *series)
{
    const bool is_words = chart->n_categories > 0;
    if (options->kind == KIND_BARS && !is_words)
        return diag_error(&cli->diag, SIM_E_USAGE, "--kind", "numbers along x take lines or dots",
                          "'%s' has numbers, which bars do not show to scale", options->x);
    if (is_words && (options->log == LOG_X || options->log == LOG_XY))
        return diag_error(&cli->diag, SIM_E_USAGE, "--log", "leave out x", "'%s' has words, not numbers", options->x);
    set_kind(options, chart);
    if (options->log == LOG_X || options->log == LOG_XY) chart->x.scale = PLOT_LOG;
    if (options->log == LOG_Y || options->log == LOG_XY) chart->y.scale = PLOT_LOG;
    chart->has_whiskers = options->errors == ERRORS_BARS;
    for (size_t i = 0; options->errors == ERRORS_NONE && i < chart->n_series; i++)
        series[i].low = series[i].high = NULL;
    if (options->title != NULL) chart->title = options->title;
    if (options->x_title != NULL) chart->x.title = options->x_title;
    if (options->y_title != NULL) chart->y.title = options->y_title;
    return 0;
}

static bool has_intervals(const struct plot_chart *chart)
{
    for (size_t i = 0; i < chart->n_series; i++)
        for (size_t k = 0; chart->series[i].low != NULL && k < chart->series[i].n; k++)
            if (chart->series[i].high[k] > chart->series[i].low[k]) return true;
    return false;
}

/* "bars: 95 % t-intervals over 3 seeds". NULL: nothing is drawn of intervals, or nothing is wanted. */
static const char *describe_intervals(const struct plot_options *options, struct stored *stored,
                                      const struct study_view *view, const struct plot_chart *chart)
{
    const struct study *study = &stored->study;
    const bool is_band = chart->kind == PLOT_LINE && !chart->has_whiskers;
    size_t least = SIZE_MAX, most = 0;
    if (options->note != NULL) return options->note[0] != 0 ? options->note : NULL;
    if (!has_intervals(chart)) return NULL;
    for (size_t p = 0; p < study->n_points; p++) {
        const size_t n = study->points[p].n_runs;
        if (!study_view_has(study, view, &study->points[p]) || n < 2) continue;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    static const char *const kinds_of[] = {[REPLICATES_NONE] = "t-intervals over %s seeds",
                                           [REPLICATES_BLOCKS] = "spread of %s replicates",
                                           [REPLICATES_WINDOWS] = "t-intervals over %s windows"};
    char n[48];
    snprintf(n, sizeof n, least < most ? "%zu to %zu" : "%zu", least, most);
    const char *kind = kinds_of[study->replicates.method], *mark = strstr(kind, "%s");
    return arena_printf(&stored->arena, "%s: 95 %% %.*s%s%s%s", is_band ? "bands" : "bars", (int)(mark - kind), kind, n,
                        mark + strlen("%s"), study->relative_to != NULL ? ", paired" : "");
}

static bool has_value(const struct plot_chart *chart)
{
    for (size_t i = 0; i < chart->n_series; i++)
        for (size_t k = 0; k < chart->series[i].n; k++)
            if (!isnan(chart->series[i].y[k])) return true;
    return false;
}

static int write_figure(struct cli *cli, const struct stored *stored, const struct plot_options *options,
                        const struct study_view *view, struct plot_chart *chart)
{
    struct figure_style style;
    enum figure_form form;
    int code = figure_form_of(options->output, &form, &cli->diag);
    if (code == 0) code = figure_read_size(options->size, &style, &cli->diag);
    if (code == 0) code = figure_read_font(options->font, options->font_size, &style, &cli->diag);
    style.may_drop_note = options->note == NULL;
    if (code == 0) code = figure_write(&stored->study, view, chart, &style, options->output, form, &cli->diag);
    return code;
}

static int print_points(struct cli *cli, const struct stored *stored, const struct plot_options *options,
                        const struct study_view *view)
{
    struct answer answer;
    answer_init(&answer, (enum answer_form)options->form, NULL);
    figure_points(&stored->study, view, &answer);
    return answer_end(&answer, 0, cli->out, &cli->diag);
}

static int refuse_no_value(struct cli *cli, const struct stored *stored, const struct study_view *view)
{
    const struct study_metric *metric = &stored->study.metrics[view->metric];
    if (metric->is_zero_base)
        return diag_error(&cli->diag, SIM_E_USAGE, "--relative", "leave --relative out, or choose another base",
                          "the mean of '%s' is 0 at '%s', so there is no change in percent", metric->name,
                          stored->study.relative_to);
    return diag_error(&cli->diag, SIM_E_USAGE, stored->options.path, "'orrery runs' shows what its runs have",
                      "no chosen run has a value of '%s'", metric->name);
}

static int draw(struct cli *cli, struct stored *stored, const struct plot_options *options)
{
    struct study_view view;
    struct plot_chart chart;
    struct plot_series *series = NULL;
    int code = read_view(cli, stored, options, &view);
    if (code == 0) code = study_chart(&stored->study, &view, &stored->arena, &chart, &series);
    if (code == 0) code = set_look(cli, options, &chart, series);
    if (code == 0 && !has_value(&chart)) code = refuse_no_value(cli, stored, &view);
    if (code != 0) return code;
    if (stored->study.n_copies > 0)
        diag_warning(
            &cli->diag, stored->options.path, NULL,
            "seeds without effect: %zu of %zu runs have the result of another seed at their point, and count once "
            "with it",
            stored->study.n_copies, stored->study.n_runs);
    code = study_warn_drawn(&stored->study, &view, stored->options.path, &stored->arena, &cli->diag);
    if (code != 0) return code;
    chart.subtitle = describe_intervals(options, stored, &view, &chart);
    return options->output != NULL ? write_figure(cli, stored, options, &view, &chart)
                                   : print_points(cli, stored, options, &view);
}

/* --- The verb --- */

static int check_usage(struct cli *cli, const struct plot_options *options, const char *results)
{
    struct outputs outputs = {.diag = &cli->diag};
    if (options->output != NULL && options->form != ANSWER_TEXT)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "leave out -o, or name a file that ends in .csv",
                          "'--%s' prints the points and draws nothing", answer_forms[options->form]);
    const int code = outputs_add(&outputs, "--output", options->output);
    return code == 0 ? outputs_check(&outputs, results) : code;
}

/* Says what the file has, for a call that lacks an axis or a metric, or a file without axes. */
static int check_axes(struct cli *cli, struct stored *stored, const struct plot_options *options)
{
    const struct study *study = &stored->study;
    struct text hint;
    if (options->x != NULL && options->y != NULL) return 0;
    const int code = stored_read(stored, NULL, 0);
    if (code != 0) return code;
    text_init(&hint);
    if (study->n_axes == 0)
        text_printf(&hint, "this file has no study, which has axes; 'orrery report %s' draws a run",
                    stored->options.path);
    else
        text_printf(&hint, "such as: orrery plot %s -x %s -y %s", stored->options.path,
                    options->x != NULL ? options->x : study->axes[0].name,
                    options->y != NULL     ? options->y
                    : study->n_metrics > 0 ? study->metrics[0].name
                                           : "METRIC");
    diag_error(&cli->diag, SIM_E_USAGE, NULL, hint.chars,
               "'orrery plot' needs an axis along x (-x) and a metric along y (-y)");
    text_fini(&hint);
    return SIM_E_USAGE;
}

static int plot(struct cli *cli, const struct cli_call *call)
{
    const struct plot_options *options = call->options;
    struct stored stored;
    int code = check_usage(cli, options, call->arguments[0]);
    if (code == 0) code = stored_open(cli, call->arguments[0], &stored);
    if (code != 0) return code;
    code = check_axes(cli, &stored, options);
    const char *metric = code == 0 ? stored_metric(cli, &stored, options->y) : NULL;
    if (code == 0) code = metric != NULL ? stored_read(&stored, &metric, 1) : SIM_E_USAGE;
    if (code == 0) code = relate(cli, &stored, options);
    if (code == 0) code = draw(cli, &stored, options);
    stored_close(&stored);
    return code;
}

const struct verb verb_plot = {
    .name = "plot",
    .summary = "draw a metric of a study as a figure for a paper",
    .usage = "RESULTS -x AXIS -y METRIC [--by AXIS] [-o fig.svg|pdf|tex|gp|csv]",
    .notes = "A point is the mean over the seeds, its bar or band the 95 % interval. AXIS and METRIC may be given by\n"
             "their last words: replicas, ttft_s.p99. Without -o the points are printed as a table.\n",
    .options = plot_options,
    .options_bytes = sizeof(struct plot_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .results_arguments = 1,
    .run = plot,
};
