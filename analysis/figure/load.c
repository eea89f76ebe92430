#include "analysis/figure/figure.h"

#include "sim/core/config/config.h"

#include "analysis/figure/claim_kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- The table of a figure's file --- */

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct config_field text_item[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 4096}, {0}};

#define TAG(type, member)                                                                                              \
    {.name = "tag", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(type, member), .min = 1, .max = 64,              \
     .help = "where it was read: src, src2, derived or memory, maybe with a key: src:KEY"}

static const struct config_field fact_fields[] = {
    {.name = "says", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fact, says), .min = 1, .max = 4096,
     .help = "what the paper states about its set-up"},
    TAG(figure_fact, tag),
    {0}};

static const struct config_field study_item[] = {{.kind = CONFIG_PATH, AT(figure_study, path)}, {0}};

static const struct config_field point_fields[] = {
    {.name = "x", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED, AT(figure_point, x), .help = "as on the axis"},
    {.name = "y", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED, AT(figure_point, y), .help = "as on the axis"},
    {.name = "low", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_point, low), .help = "end of its interval"},
    {.name = "high", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_point, high),
     .help = "end of its interval"},
    {0}};

static const struct config_field curve_fields[] = {
    {.name = "tag", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_curve, tag), .min = 1, .max = 64,
     .help = "where it was read"},
    {.name = "points", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, AT(figure_curve, points), .fields = point_fields,
     .elem_bytes = sizeof(struct figure_point), .help = "the paper's points"},
    {.name = "sql", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_curve, sql), .min = 1, .max = 65536,
     .help = "query that gives x and y by the paper's formula, in place of points"},
    {0}};

static const struct config_field series_fields[] = {
    {.name = "name", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_series, name), .min = 1, .max = 200,
     .help = "in the legend"},
    {.name = "study", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_series, study), .min = 1, .max = 200,
     .help = "whose results are asked; not needed when there is one"},
    {.name = "sql", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_series, sql), .min = 1, .max = 65536,
     .help = "query that gives columns x and y, maybe low and high"},
    {.name = "interval", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_series, interval), .min = 0.5,
     .max = 0.9999, .help = "rows of one x are replications: draw their mean and its t interval at this level"},
    {.name = "paper", .kind = CONFIG_SECTION, AT(figure_series, paper), .fields = curve_fields,
     .help = "what the paper has here"},
    {0}};

static const char *const scales[] = {"linear", "log", NULL};

static const struct config_field axis_fields[] = {
    {.name = "title", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_axis, title), .min = 1, .max = 200,
     .help = "with its unit"},
    {.name = "scale", .kind = CONFIG_CHOICE, AT(figure_axis, scale), .value = "linear", .choices = scales,
     .help = "of the axis"},
    {0}};

static const struct config_field chart_fields[] = {
    {.name = "title", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_chart, title), .min = 1, .max = 200,
     .help = "above the chart"},
    {.name = "subtitle", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_chart, subtitle), .max = 300,
     .help = "below the title"},
    {.name = "x", .kind = CONFIG_SECTION, AT(figure_chart, x), .fields = axis_fields, .help = "across"},
    {.name = "y", .kind = CONFIG_SECTION, AT(figure_chart, y), .fields = axis_fields, .help = "up"},
    {.name = "series", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, AT(figure_chart, series), .min = 1, .max = 100,
     .fields = series_fields, .elem_bytes = sizeof(struct figure_series), .help = "what is drawn"},
    {0}};

static const struct config_field span_fields[] = {
    {.name = "series", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_span, series), .min = 1, .max = 200,
     .help = "of the figure"},
    {.name = "from", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_span, from), .help = "smallest x"},
    {.name = "to", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_span, to), .help = "largest x"},
    {0}};

static const struct config_field claim_fields[] = {
    {.name = "says", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_claim, says), .min = 1, .max = 1024,
     .help = "the claim, as a sentence"},
    {.name = "value", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_claim, value),
     .help = "what the paper says"},
    {.name = "unit", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_claim, unit), .max = 64,
     .help = "of the value"},
    TAG(figure_claim, tag),
    {.name = "up_to", .kind = CONFIG_BOOL, AT(figure_claim, up_to), .value = "false",
     .help = "the paper states it as a maximum ('up to'): it is only reported"},
    {.name = "tolerance", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_claim, tolerance_frac), .min = 0,
     .max = 1, .help = "share of the paper's value that ours may differ by; of a curve, what nine in ten points keep"},
    {.name = "test", .kind = CONFIG_VARIANT, .flags = CONFIG_OPTIONAL, AT(figure_claim, test), .family = "claim",
     .tag = "kind", .help = "how our number is taken; left out where the simulator does not cover it"},
    {.name = "rests_on", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, AT(figure_claim, rests_on),
     .fields = span_fields, .elem_bytes = sizeof(struct figure_span),
     .help = "which of the paper's points a claim by query stands for"},
    {.name = "reported_because", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_claim, reported_because),
     .min = 1, .max = 2048, .help = "why it is only reported, though its tag would let it pass or fail"},
    {.name = "known_to_fail", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_claim, known_to_fail),
     .min = 1, .max = 2048, .help = "why it fails: it is counted apart and does not set the exit status"},
    {0}};

static const struct config_field fit_fields[] = {
    {.name = "parameter", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fit, parameter), .min = 1,
     .max = 500, .help = "what was chosen, and where it stands"},
    {.name = "value", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fit, value), .min = 1, .max = 200,
     .help = "what it was set to"},
    {.name = "why", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fit, why), .min = 1, .max = 2048,
     .help = "why it had to be chosen"},
    {.name = "points", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, AT(figure_fit, points), .fields = span_fields,
     .elem_bytes = sizeof(struct figure_span), .help = "the points of this figure that it was chosen on"},
    {.name = "elsewhere", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_fit, elsewhere), .min = 1,
     .max = 1024, .help = "further points that it was chosen on, which the figure does not show"},
    {0}};

#define FIELD(member) AT(figure, member)
static const struct config_field figure_fields[] = {
    {.name = "title", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, FIELD(title), .min = 1, .max = 200,
     .help = "what the figure shows"},
    {.name = "paper", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, FIELD(citation), .min = 1, .max = 500,
     .help = "authors, title, venue"},
    {.name = "place", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, FIELD(place), .min = 1, .max = 300,
     .help = "section, figure or table of the paper"},
    {.name = "setup", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(setup), .fields = fact_fields,
     .elem_bytes = sizeof(struct figure_fact), .min = 1, .max = 100, .help = "what the paper states about its set-up"},
    {.name = "studies", .kind = CONFIG_MAP, .flags = CONFIG_REQUIRED, FIELD(studies), .fields = study_item,
     .elem_bytes = sizeof(struct figure_study), .min = 1, .max = 20, .help = "files of studies, by name"},
    {.name = "views", .kind = CONFIG_PATH, .flags = CONFIG_OPTIONAL, FIELD(views), .min = 1, .max = 4096,
     .help = "file of CREATE TEMP VIEW statements, whose views the queries may use"},
    {.name = "charts", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(charts), .fields = chart_fields,
     .elem_bytes = sizeof(struct figure_chart), .min = 1, .max = 20, .help = "what is drawn"},
    {.name = "claims", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(claims), .fields = claim_fields,
     .elem_bytes = sizeof(struct figure_claim), .min = 1, .max = 200, .help = "what the paper claims"},
    {.name = "fitted", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(fitted), .fields = fit_fields,
     .elem_bytes = sizeof(struct figure_fit), .help = "every parameter that was chosen to match; [] when none was"},
    {.name = "notes", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, FIELD(notes), .fields = text_item,
     .elem_bytes = sizeof(char *), .help = "what a reader should know"},
    {0}};

static bool claim_alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    if (strcmp(family, "claim") != 0 || claim_kinds[index] == NULL) return false;
    const struct claim_kind *kind = claim_kinds[index];
    *out = (struct config_alternative){kind->name, kind->summary, kind->fields, kind->params_bytes, kind};
    return true;
}

static const struct config_families figure_families = {claim_alternative, NULL};

/* --- Loading --- */

enum { PATH_CHARS = 128 };

/* A figure whose checks are under way. */
struct check {
    const struct config *config;
    const struct figure *figure;
    struct diag *diag;
    int code;
    char path[PATH_CHARS]; /* of what is being checked */
    size_t n_queries;      /* that the claim being checked rests on */
};

/* --- Names --- */

const struct figure_series *figure_series_at(const struct figure *figure, size_t index)
{
    for (size_t i = 0; i < figure->charts.n; i++) {
        const struct figure_chart *chart = FIGURE_ITEM(struct figure_chart, figure->charts, i);
        if (index < chart->series.n) return FIGURE_ITEM(struct figure_series, chart->series, index);
        index -= chart->series.n;
    }
    return NULL;
}

size_t figure_series_index(const struct figure *figure, const char *name)
{
    const struct figure_series *series;
    for (size_t i = 0; (series = figure_series_at(figure, i)) != NULL; i++)
        if (strcmp(series->name, name) == 0) return i;
    return SIZE_MAX;
}

size_t figure_study_index(const struct figure *figure, const char *name)
{
    if (name == NULL) return figure->studies.n == 1 ? 0 : SIZE_MAX;
    for (size_t i = 0; i < figure->studies.n; i++)
        if (strcmp(FIGURE_ITEM(struct figure_study, figure->studies, i)->name, name) == 0) return i;
    return SIZE_MAX;
}

/* --- Findings --- */

static void report(struct check *check, const char *key, const char *hint, const char *text, const char *subject)
{
    char path[PATH_CHARS + 32];
    snprintf(path, sizeof path, "%s%s%s", check->path, *check->path != 0 && key != NULL ? "." : "",
             key != NULL ? key : "");
    check->code = diag_error(check->diag, SIM_E_CONFIG, config_where(check->config, path), hint, text, subject);
}

static void check_tag(struct check *check, const char *key, const char *tag)
{
    if (!figure_tag_exists(tag))
        report(check, key, "expected src, src2, derived or memory, maybe with a key behind a colon",
               "the tag '%s' does not tell where it was read", tag);
}

static void check_series_name(struct check *check, const char *key, const char *name)
{
    const char *names[256];
    size_t n = 0;
    const struct figure_series *series;
    if (figure_series_index(check->figure, name) != SIZE_MAX) return;
    while (n < sizeof names / sizeof *names && (series = figure_series_at(check->figure, n)) != NULL)
        names[n++] = series->name;
    const char *nearest = text_nearest(name, names, n);
    char hint[256];
    snprintf(hint, sizeof hint, "did you mean '%s'?", nearest != NULL ? nearest : "");
    report(check, key, nearest != NULL ? hint : "name a series of one of the charts", "no series '%s'", name);
}

static void check_study_name(struct check *check, const char *name)
{
    if (figure_study_index(check->figure, name) != SIZE_MAX) return;
    if (name == NULL)
        report(check, NULL, "add \"study\"", "with several studies a query must say which one it asks%s", "");
    else
        report(check, "study", "name one of 'studies'", "no study '%s'", name);
}

static void check_spans(struct check *check, const char *key, const struct config_list *spans)
{
    char path[64];
    for (size_t i = 0; i < spans->n; i++) {
        snprintf(path, sizeof path, "%s.%zu.series", key, i);
        check_series_name(check, path, FIGURE_ITEM(struct figure_span, *spans, i)->series);
    }
}

/* --- Charts --- */

static void check_curve(struct check *check, const struct figure_curve *curve)
{
    bool has_points = curve->points.n > 0, has_query = curve->sql != NULL;
    if (curve->tag != NULL) check_tag(check, "paper.tag", curve->tag);
    if (has_points && has_query)
        report(check, "paper", NULL, "the paper's curve is given as 'points' and as 'sql'%s", "");
    if (curve->tag == NULL && (has_points || has_query))
        report(check, "paper", "add \"tag\"", "the paper's points do not tell where they were read%s", "");
    if (curve->tag != NULL && !has_points && !has_query)
        report(check, "paper", "add \"points\" or \"sql\"", "the paper's curve has no points%s", "");
}

static void check_charts(struct check *check)
{
    size_t index = 0;
    for (size_t i = 0; i < check->figure->charts.n; i++) {
        const struct figure_chart *chart = FIGURE_ITEM(struct figure_chart, check->figure->charts, i);
        for (size_t k = 0; k < chart->series.n; k++, index++) {
            const struct figure_series *series = FIGURE_ITEM(struct figure_series, chart->series, k);
            snprintf(check->path, sizeof check->path, "charts.%zu.series.%zu", i, k);
            if (figure_series_index(check->figure, series->name) != index)
                report(check, "name", "claims tell series apart by their names", "there are two series '%s'",
                       series->name);
            check_study_name(check, series->study);
            check_curve(check, &series->paper);
        }
    }
}

/* --- Claims --- */

static void check_place(void *context, const char *series, double from, double to)
{
    (void)from;
    (void)to;
    check_series_name(context, "test", series);
}

static void check_query(void *context, const char *sql, const char *study)
{
    struct check *check = context;
    (void)sql;
    check->n_queries++;
    check_study_name(check, study);
}

static bool has_memory(const struct figure *figure)
{
    const struct figure_series *series;
    for (size_t i = 0; (series = figure_series_at(figure, i)) != NULL; i++)
        if (series->paper.tag != NULL && !figure_tag_gates(series->paper.tag)) return true;
    return false;
}

/* Points that something was fitted on, or that are from memory, could hide behind a query. */
static void check_queries(struct check *check, const struct figure_claim *claim)
{
    const char *what = check->figure->fitted.n > 0 ? "parameters of this figure were fitted"
                       : has_memory(check->figure) ? "points of this figure are from memory"
                                                   : NULL;
    if (what != NULL && check->n_queries > 0 && claim->rests_on.n == 0)
        report(check, NULL, "add \"rests_on\": the series and range of x that the query stands for",
               "%s, and a query does not tell on which of the points it rests", what);
}

static void check_value(struct check *check, const struct figure_claim *claim, const struct claim_kind *kind)
{
    bool judged = figure_claim_unjudged(check->figure, claim) == NULL, tolerates = !isnan(claim->tolerance_frac);
    if (kind->has_value && isnan(claim->value))
        report(check, NULL, "add \"value\"", "a claim of kind '%s' needs the paper's number", kind->name);
    if (!kind->has_value && !isnan(claim->value))
        report(check, "value", NULL, "a claim of kind '%s' has no number", kind->name);
    if (!kind->has_tolerance && tolerates)
        report(check, "tolerance", NULL, "a claim of kind '%s' has no tolerance", kind->name);
    if (judged && kind->has_tolerance && !tolerates)
        report(check, NULL, "add \"tolerance\", the share by which ours may differ",
               "a claim of kind '%s' needs a tolerance to be held against", kind->name);
    if (judged && kind->has_value && claim->value == 0)
        report(check, "value", "claim a difference or an order instead",
               "no tolerance is a share of zero, so this claim of kind '%s' could not be judged", kind->name);
}

/* What is from memory or a maximum cannot be given the means to pass or fail; what is said to be reported keeps its tolerance,
 * so that all can see on which side of it ours lies. */
static void check_reported(struct check *check, const struct figure_claim *claim)
{
    const char *why = figure_claim_unjudged(check->figure, claim);
    if (why != NULL && !isnan(claim->tolerance_frac))
        report(check, "tolerance", "leave out \"tolerance\"",
               "a claim that is %s is only reported, whatever it comes to", why);
    if (why == NULL && claim->reported_because != NULL) why = "said to be reported";
    if (why != NULL && claim->known_to_fail != NULL)
        report(check, "known_to_fail", "leave it out", "a claim that is %s does not fail", why);
}

static void check_claim(struct check *check, const struct figure_claim *claim, size_t index)
{
    const struct claim_kind *kind = claim->test.entry;
    snprintf(check->path, sizeof check->path, "claims.%zu", index);
    check_tag(check, "tag", claim->tag);
    if (check->code != 0) return;
    check_spans(check, "rests_on", &claim->rests_on);
    check_reported(check, claim);
    if (kind == NULL && claim->reported_because == NULL)
        report(check, NULL, "add \"test\", or say in \"reported_because\" why there is none", "a claim has no test%s",
               "");
    if (kind == NULL) return;
    check->n_queries = 0;
    kind->places(claim->test.params, &(struct claim_places){check, check_place, check_query});
    check_queries(check, claim);
    check_value(check, claim, kind);
}

/* What a kind of claim asks of its parameters. Returns what is wrong with them, or NULL. */
static void check_params(struct check *check, const struct figure_claim *claim)
{
    const struct claim_kind *kind = claim->test.entry;
    if (kind == NULL || check->code != 0) return;
    const char *problem = kind->problem != NULL ? kind->problem(claim->test.params, check->figure) : NULL;
    if (problem != NULL) report(check, "test", NULL, "%s", problem);
}

static void check_claims(struct check *check)
{
    for (size_t i = 0; i < check->figure->claims.n; i++) {
        const struct figure_claim *claim = FIGURE_ITEM(struct figure_claim, check->figure->claims, i);
        int before = check->code;
        check->code = 0;
        check_claim(check, claim, i);
        check_params(check, claim);
        if (check->code == 0) check->code = before;
    }
}

static void check_rest(struct check *check)
{
    const struct figure *figure = check->figure;
    for (size_t i = 0; i < figure->setup.n; i++) {
        snprintf(check->path, sizeof check->path, "setup.%zu", i);
        check_tag(check, "tag", FIGURE_ITEM(struct figure_fact, figure->setup, i)->tag);
    }
    for (size_t i = 0; i < figure->fitted.n; i++) {
        snprintf(check->path, sizeof check->path, "fitted.%zu", i);
        const struct figure_fit *fit = FIGURE_ITEM(struct figure_fit, figure->fitted, i);
        check_spans(check, "points", &fit->points);
        if (fit->points.n == 0 && fit->elsewhere == NULL)
            report(check, NULL, "add \"points\", or \"elsewhere\"", "'%s' was fitted on no points", fit->parameter);
    }
}

static int bind(const char *id, struct config *config, struct arena *arena, struct figure *figure, struct diag *diag)
{
    int code = config_bind(config, figure_fields, &figure_families, arena, figure, sizeof *figure, diag);
    figure->id = arena_strdup(arena, id);
    if (code == 0 && figure->id == NULL) code = diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    if (code != 0) return code;
    struct check check = {.config = config, .figure = figure, .diag = diag};
    check_charts(&check);
    check_claims(&check);
    check_rest(&check);
    return check.code;
}

int figure_load(const char *id, const char *path, struct arena *arena, struct figure *figure, struct diag *diag)
{
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code == 0) code = bind(id, config, arena, figure, diag);
    config_destroy(config);
    return code;
}

int figure_parse(const char *id, const char *directory, const char *json, struct arena *arena, struct figure *figure,
                 struct diag *diag)
{
    struct config *config;
    int code = config_parse(id, directory, json, strlen(json), &config, diag);
    if (code == 0) code = bind(id, config, arena, figure, diag);
    config_destroy(config);
    return code;
}
