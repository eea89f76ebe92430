#include "analysis/figure/figure.h"

#include "sim/core/config/config.h"

#include "analysis/figure/claim_kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- The table of a figure's file --- */

static const struct config_field text_item[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 4096}, {0}};

#define TAG(member)                                                                                                    \
    ROW_TEXT("tag", member, REQUIRED, WITHIN(1, 64),                                                                   \
             "where it was read: src, src2, derived, own (in no paper) or memory, maybe with a key: src:KEY")

#define ROW_OF struct figure_fact
static const struct config_field fact_fields[] = {
    ROW_TEXT("says", says, REQUIRED, WITHIN(1, 4096), "what the paper states about its set-up"),
    TAG(tag),
    {0}};
#undef ROW_OF

static const struct config_field study_item[] = {{.kind = CONFIG_PATH, .offset = offsetof(struct figure_study, path)},
                                                 {0}};

#define ROW_OF struct figure_point
static const struct config_field point_fields[] = {
    ROW_REAL("x", x, REQUIRED, ANY, "as on the axis"),
    ROW_REAL("y", y, REQUIRED, ANY, "as on the axis"),
    ROW_REAL("low", low, OPTIONAL, ANY, "end of its interval"),
    ROW_REAL("high", high, OPTIONAL, ANY, "end of its interval"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_curve
static const struct config_field curve_fields[] = {
    ROW_TEXT("tag", tag, OPTIONAL, WITHIN(1, 64), "where it was read"),
    ROW_LIST("points", points, OPTIONAL, ANY, struct figure_point, point_fields, "the paper's points"),
    ROW_TEXT("sql", sql, OPTIONAL, WITHIN(1, 65536),
             "query that gives x and y by the paper's formula, in place of points"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_series
static const struct config_field series_fields[] = {
    ROW_TEXT("name", name, REQUIRED, WITHIN(1, 200), "in the legend"),
    ROW_TEXT("study", study, OPTIONAL, WITHIN(1, 200), "whose results are asked; not needed when there is one"),
    ROW_TEXT("sql", sql, REQUIRED, WITHIN(1, 65536), "query that gives columns x and y, maybe low and high"),
    ROW_REAL("interval", interval, OPTIONAL, WITHIN(0.5, 0.9999),
             "rows of one x are replications: draw their mean and its t interval at this level"),
    ROW_SECTION("paper", paper, FILLED, curve_fields, "what the paper has here"),
    {0}};
#undef ROW_OF

static const char *const scales[] = {"linear", "log", NULL};

#define ROW_OF struct figure_axis
static const struct config_field axis_fields[] = {
    ROW_TEXT("title", title, REQUIRED, WITHIN(1, 200), "with its unit"),
    ROW_CHOICE("scale", scale, DEFAULT("linear"), scales, "of the axis"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_chart
static const struct config_field chart_fields[] = {
    ROW_TEXT("title", title, REQUIRED, WITHIN(1, 200), "above the chart"),
    ROW_TEXT("subtitle", subtitle, OPTIONAL, WITHIN(0, 300), "below the title"),
    ROW_SECTION("x", x, FILLED, axis_fields, "across"),
    ROW_SECTION("y", y, FILLED, axis_fields, "up"),
    ROW_LIST("series", series, REQUIRED, WITHIN(1, 100), struct figure_series, series_fields, "what is drawn"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_span
static const struct config_field span_fields[] = {
    ROW_TEXT("series", series, REQUIRED, WITHIN(1, 200), "of the figure"),
    ROW_REAL("from", from, OPTIONAL, ANY, "smallest x"),
    ROW_REAL("to", to, OPTIONAL, ANY, "largest x"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_claim
static const struct config_field claim_fields[] = {
    ROW_TEXT("says", says, REQUIRED, WITHIN(1, 1024), "the claim, as a sentence"),
    ROW_REAL("value", value, OPTIONAL, ANY, "what the paper says, or a limit of one's own (tag own)"),
    ROW_REAL("low", low, OPTIONAL, ANY, "lower end of the range that the paper gives, whose midpoint is the value"),
    ROW_REAL("high", high, OPTIONAL, ANY, "upper end of this range"),
    ROW_TEXT("unit", unit, OPTIONAL, WITHIN(0, 64), "of the value"),
    TAG(tag),
    ROW_BOOL("up_to", up_to, DEFAULT("false"), "the paper states it as a maximum ('up to'): it is only reported"),
    ROW_BOOL("arithmetic", is_arithmetic, DEFAULT("false"),
             "the value follows from the set-up: the first line counts it as an identity"),
    ROW_REAL("tolerance", tolerance_frac, OPTIONAL, WITHIN(0, 1),
             "share of the paper's value that ours may differ by; of a curve, what nine in ten points keep"),
    ROW_VARIANT("test", test, OPTIONAL, "claim", "kind",
                "how our number is taken; left out where the simulator does not cover it"),
    ROW_LIST("rests_on", rests_on, OPTIONAL, ANY, struct figure_span, span_fields,
             "which of the paper's points a claim by query stands for"),
    ROW_TEXT("reported_because", reported_because, OPTIONAL, WITHIN(1, 2048),
             "why it is only reported, though its tag would let it pass or fail"),
    ROW_TEXT("known_to_fail", known_to_fail, OPTIONAL, WITHIN(1, 2048),
             "why it fails: it is counted apart and does not set the exit status"),
    ROW_TEXT("chosen_by", chosen_by, OPTIONAL, WITHIN(1, 1024),
             "what of the model was chosen in view of its numbers, without a fit: it is then not unseen"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_fit
static const struct config_field fit_fields[] = {
    ROW_TEXT("parameter", parameter, REQUIRED, WITHIN(1, 500), "what was chosen, and where it stands"),
    ROW_TEXT("value", value, REQUIRED, WITHIN(1, 200), "what it was set to"),
    ROW_TEXT("why", why, REQUIRED, WITHIN(1, 2048), "why it had to be chosen"),
    ROW_INT("constants", constants, DEFAULT("1"), WITHIN(1, 1000), "how many constants these are"),
    ROW_LIST("points", points, REQUIRED, ANY, struct figure_span, span_fields,
             "the points of this figure that it was chosen on"),
    ROW_TEXT("elsewhere", elsewhere, OPTIONAL, WITHIN(1, 1024),
             "further points that it was chosen on, which the figure does not show"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_error
static const struct config_field error_fields[] = {
    ROW_TEXT("says", says, REQUIRED, WITHIN(1, 200), "which error, such as: median error of the TPOT"),
    ROW_TEXT("sql", sql, REQUIRED, WITHIN(1, 65536), "query that gives it, one number"),
    ROW_TEXT("study", study, OPTIONAL, WITHIN(1, 200), "that the query asks"),
    ROW_TEXT("unit", unit, DEFAULT("%"), WITHIN(1, 64), "of the number"),
    {0}};
#undef ROW_OF

#define ROW_OF struct figure_file_needed
static const struct config_field data_fields[] = {
    ROW_PATH("path", path, REQUIRED, "the file"),
    ROW_TEXT("obtain", obtain, REQUIRED, WITHIN(1, 1024), "where to get it, for those who lack it"),
    {0}};
#undef ROW_OF

static const char *const tolerance_words[] = {"with-results", "first", "first-in-part", NULL};

#define ROW_OF struct figure
static const struct config_field figure_fields[] = {
    ROW_TEXT("title", title, REQUIRED, WITHIN(1, 200), "what the figure shows"),
    ROW_TEXT("paper", citation, REQUIRED, WITHIN(1, 500), "authors, title, venue"),
    ROW_TEXT("place", place, REQUIRED, WITHIN(1, 300), "section, figure or table of the paper"),
    ROW_LIST("setup", setup, REQUIRED, WITHIN(1, 100), struct figure_fact, fact_fields,
             "what the paper states about its set-up"),
    ROW_LIST("data", data, OPTIONAL, WITHIN(1, 20), struct figure_file_needed, data_fields,
             "files that the studies read and that are no part of Orrery"),
    ROW_MAP("studies", studies, REQUIRED, WITHIN(1, 20), struct figure_study, study_item,
            "files of studies or boards, by name"),
    ROW_CHOICE(
        "tolerances", tolerances, DEFAULT("with-results"), tolerance_words,
        "when they were committed: 'with-results'; 'first', before the first run; 'first-in-part', but those that the notes name"),
    ROW_PATH("views", views, OPTIONAL, "file of CREATE TEMP VIEW statements, whose views the queries may use"),
    ROW_LIST("charts", charts, REQUIRED, WITHIN(1, 20), struct figure_chart, chart_fields, "what is drawn"),
    ROW_LIST("claims", claims, REQUIRED, WITHIN(1, 200), struct figure_claim, claim_fields, "what the paper claims"),
    ROW_LIST("fitted", fitted, REQUIRED, ANY, struct figure_fit, fit_fields,
             "every parameter that was chosen to match; [] when none was"),
    ROW_LIST("inputs", inputs, OPTIONAL, WITHIN(1, 20), char *, text_item,
             "values that were fitted to, or inferred from, measurements that the figure does not show"),
    ROW_LIST("errors", errors, OPTIONAL, WITHIN(1, 20), struct figure_error, error_fields,
             "errors of the model, for a figure whose claims are bounds of them: its first line has these"),
    ROW_LIST("notes", notes, OPTIONAL, ANY, char *, text_item, "what a reader should know"),
    {0}};
#undef ROW_OF

static bool claim_alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    if (strcmp(family, "claim") != 0 || claim_kinds[index] == NULL) return false;
    const struct claim_kind *kind = claim_kinds[index];
    *out = (struct config_alternative){kind->name, kind->summary, kind->fields, kind->params_bytes, kind};
    return true;
}

/* --- Loading --- */

enum { PATH_CHARS = 128 };

/* A figure being checked. */
struct check {
    const struct config *config;
    const struct figure *figure;
    struct diag *diag;
    int code;
    char path[PATH_CHARS]; /* of what is being checked */
    size_t n_queries;      /* queries of the claim being checked */
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

static bool ends_in(const struct figure_study *study, const char *ending)
{
    const size_t n = strlen(study->path), n_ending = strlen(ending);
    return n > n_ending && strcmp(study->path + n - n_ending, ending) == 0;
}

bool figure_study_is_board(const struct figure_study *study)
{
    return ends_in(study, ".board.json");
}

bool figure_study_is_plans(const struct figure_study *study)
{
    return ends_in(study, ".plans.json");
}

bool figure_study_is_exchanges(const struct figure_study *study)
{
    return ends_in(study, ".exchanges.json");
}

bool figure_study_is_made(const struct figure_study *study)
{
    return figure_study_is_board(study) || figure_study_is_plans(study) || figure_study_is_exchanges(study);
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
        report(check, key, "expected src, src2, derived, own or memory, maybe with a key behind a colon",
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

int64_t figure_count_fitted(const struct figure *figure)
{
    int64_t n = 0;
    for (size_t i = 0; i < figure->fitted.n; i++) n += FIGURE_ITEM(struct figure_fit, figure->fitted, i)->constants;
    return n;
}

static bool has_memory(const struct figure *figure)
{
    const struct figure_series *series;
    for (size_t i = 0; (series = figure_series_at(figure, i)) != NULL; i++)
        if (series->paper.tag != NULL && !figure_tag_gates(series->paper.tag)) return true;
    return false;
}

/* A query could hide fitted points or points from memory. */
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

/* A range has two ends, and its midpoint is the value that the claim is held against. */
static void check_range(struct check *check, const struct figure_claim *claim)
{
    char midpoint[32];
    if (isnan(claim->low) && isnan(claim->high)) return;
    snprintf(midpoint, sizeof midpoint, "%g", (claim->low + claim->high) / 2);
    if (!(claim->low < claim->high))
        report(check, "low", "give both, the lower one first", "a range has two ends, \"low\" and %s", "\"high\"");
    else if (!(fabs(claim->value - (claim->low + claim->high) / 2) <= 1e-9 * fabs(claim->value)))
        report(check, "value", "write the midpoint", "the midpoint of the range is %s", midpoint);
}

/* A claim from memory, or one that is a maximum, cannot pass or fail. A reported claim keeps its tolerance, to show
 * on which side of it our number is. */
static void check_reported(struct check *check, const struct figure_claim *claim)
{
    const char *why = figure_claim_unjudged(check->figure, claim);
    if (why != NULL && !isnan(claim->tolerance_frac))
        report(check, "tolerance", "leave out \"tolerance\"",
               "a claim that is %s is only reported, whatever its result", why);
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
    check_range(check, claim);
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

/* Checks the parameters of a claim by its kind. */
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

/* The numbers of "479.6 us, 230.4 us"; 0: another text. */
static int64_t count_values(const char *value)
{
    int64_t n = strspn(value, "0123456789.") > 0;
    for (const char *at = strstr(value, ", "); n > 0 && at != NULL; at = strstr(at + 2, ", ")) n++;
    return n;
}

static void check_rest(struct check *check)
{
    const struct figure *figure = check->figure;
    for (size_t i = 0; i < figure->setup.n; i++) {
        snprintf(check->path, sizeof check->path, "setup.%zu", i);
        check_tag(check, "tag", FIGURE_ITEM(struct figure_fact, figure->setup, i)->tag);
    }
    for (size_t i = 0; i < figure->errors.n; i++) {
        snprintf(check->path, sizeof check->path, "errors.%zu", i);
        check_study_name(check, FIGURE_ITEM(struct figure_error, figure->errors, i)->study);
    }
    for (size_t i = 0; i < figure->fitted.n; i++) {
        snprintf(check->path, sizeof check->path, "fitted.%zu", i);
        const struct figure_fit *fit = FIGURE_ITEM(struct figure_fit, figure->fitted, i);
        check_spans(check, "points", &fit->points);
        const int64_t n_values = count_values(fit->value);
        if (n_values > 1 && n_values != fit->constants)
            report(check, "constants", "the table of figures counts them", "'%s' has another number of values",
                   fit->value);
        if (fit->points.n == 0 && fit->elsewhere == NULL)
            report(check, NULL, "add \"points\", or \"elsewhere\"", "'%s' was fitted on no points", fit->parameter);
    }
}

static int bind(const char *id, const char *data, struct config *config, struct arena *arena, struct figure *figure,
                struct diag *diag)
{
    const struct config_families families = {.alternative = claim_alternative, .data = data};
    int code = config_bind(config, figure_fields, &families, arena, figure, sizeof *figure, diag);
    figure->id = arena_strdup(arena, id);
    if (code == 0 && figure->id == NULL) code = diag_nomem(diag);
    if (code != 0) return code;
    struct check check = {.config = config, .figure = figure, .diag = diag};
    check_charts(&check);
    check_claims(&check);
    check_rest(&check);
    return check.code;
}

int figure_load(const char *id, const char *path, const char *data, struct arena *arena, struct figure *figure,
                struct diag *diag)
{
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code == 0) code = bind(id, data, config, arena, figure, diag);
    config_destroy(config);
    return code;
}
