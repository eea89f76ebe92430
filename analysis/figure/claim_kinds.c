/* The kinds of claims. */
#include "analysis/figure/claim_kind.h"

#include "analysis/stats/stats.h"
#include "analysis/stats/tolerance.h"
#include "sim/core/real_list.h"

#include <math.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>

#define ROW_OF struct claim_value
static const struct config_field value_fields[] = {
    ROW_TEXT("name", name, OPTIONAL, WITHIN(1, 60), "of the number, where an order of several is shown"),
    ROW_TEXT("series", series, OPTIONAL, WITHIN(1, 200), "of the figure"),
    ROW_REAL("x", x, OPTIONAL, ANY, "of the series"),
    ROW_TEXT("sql", sql, OPTIONAL, WITHIN(1, 65536), "query that gives one number, in place of a series"),
    ROW_TEXT("study", study, OPTIONAL, WITHIN(1, 200), "that the query asks"),
    {0}};
#undef ROW_OF

#define VALUE(member, what) ROW_SECTION(#member, member, FILLED, value_fields, what)

/* --- Values --- */

static const char *value_problem(const struct claim_value *value)
{
    bool has_series = value->series != NULL && !isnan(value->x);
    if ((value->series != NULL) != !isnan(value->x)) return "a value of a series needs both 'series' and 'x'";
    if (has_series == (value->sql != NULL)) return "a value is either a 'series' at an 'x', or an 'sql' query";
    return NULL;
}

static void visit_value(const struct claim_value *value, const struct claim_places *places)
{
    if (value->series != NULL)
        places->visit(places->context, value->series, value->x, value->x);
    else if (value->sql != NULL)
        places->visit_query(places->context, value->sql, value->study);
}

static int get_value(const struct claim_value *value, const struct figure_data *data, double *out, struct diag *diag)
{
    if (value->sql != NULL) return figure_data_number(data, value->study, value->sql, out, diag);
    *out = data_curve_point(&data_series_named(data, value->series)->ours, value->x);
    if (!isnan(*out)) return 0;
    return diag_error(diag, SIM_E_DATA, data->figure->id, "claims are about points that were simulated",
                      "series '%s' has no point at x = %g", value->series, value->x);
}

/* `deviation` is a share of the paper's value. */
static bool is_within(double deviation, const struct figure_claim *claim)
{
    return tolerance_holds(1, deviation, deviation, claim->tolerance_frac, true);
}

/* Compares outcome->ours with the paper's number; NAN does not hold. */
static void claim_compare(const struct figure_claim *claim, struct claim_outcome *outcome)
{
    outcome->deviation = outcome->ours / claim->value - 1;
    outcome->holds = is_within(outcome->deviation, claim);
}

/* --- level --- */

#define ROW_OF struct level_params
static const struct config_field level_fields[] = {
    VALUE(of, "what the paper gives a number for"),
    {0}};
#undef ROW_OF

static const char *level_problem(const void *params, const struct figure *figure)
{
    (void)figure;
    return value_problem(&((const struct level_params *)params)->of);
}

static void level_places(const void *params, const struct claim_places *places)
{
    visit_value(&((const struct level_params *)params)->of, places);
}

static int level_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                          struct claim_outcome *outcome, struct diag *diag)
{
    const struct level_params *params = claim->test.params;
    int code = get_value(&params->of, data, &outcome->ours, diag);
    claim_compare(claim, outcome);
    return code;
}

static const struct claim_kind claim_level = {
    .name = "level", .summary = "one number is what the paper gives", .fields = level_fields,
    .params_bytes = sizeof(struct level_params), .has_value = true, .has_tolerance = true, .problem = level_problem,
    .places = level_places, .evaluate = level_evaluate};

/* --- at most --- */

static int at_most_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                            struct claim_outcome *outcome, struct diag *diag)
{
    const struct level_params *params = claim->test.params;
    const int code = get_value(&params->of, data, &outcome->ours, diag);
    outcome->holds = outcome->ours <= claim->value; /* NAN, of a query without rows, does not hold */
    if (isnan(outcome->ours)) snprintf(outcome->text, sizeof outcome->text, "no rows");
    snprintf(outcome->bound, sizeof outcome->bound, "at most");
    return code;
}

static const struct claim_kind claim_at_most = {
    .name = "at-most", .summary = "one number is no larger than the value", .fields = level_fields,
    .params_bytes = sizeof(struct level_params), .has_value = true, .problem = level_problem,
    .places = level_places, .evaluate = at_most_evaluate};

/* --- ratio --- */

#define ROW_OF struct ratio_params
static const struct config_field ratio_fields[] = {
    VALUE(of, "the numerator"),
    VALUE(over, "the denominator"),
    {0}};
#undef ROW_OF

static const char *ratio_problem(const void *params, const struct figure *figure)
{
    (void)figure;
    const struct ratio_params *ratio = params;
    const char *problem = value_problem(&ratio->of);
    return problem != NULL ? problem : value_problem(&ratio->over);
}

static void ratio_places(const void *params, const struct claim_places *places)
{
    const struct ratio_params *ratio = params;
    visit_value(&ratio->of, places);
    visit_value(&ratio->over, places);
}

static int ratio_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                          struct claim_outcome *outcome, struct diag *diag)
{
    const struct ratio_params *params = claim->test.params;
    double of = (double)NAN, over = (double)NAN;
    int code = get_value(&params->of, data, &of, diag);
    if (code == 0) code = get_value(&params->over, data, &over, diag);
    outcome->ours = of / over;
    claim_compare(claim, outcome);
    return code;
}

static const struct claim_kind claim_ratio = {
    .name = "ratio", .summary = "the ratio of two numbers is what the paper gives", .fields = ratio_fields,
    .params_bytes = sizeof(struct ratio_params), .has_value = true, .has_tolerance = true, .problem = ratio_problem,
    .places = ratio_places, .evaluate = ratio_evaluate};

/* --- order --- */

#define ROW_OF struct order_params
static const struct config_field order_fields[] = {
    ROW_LIST("values", values, REQUIRED, WITHIN(2, 20), struct claim_value, value_fields,
             "from the lowest to the highest"),
    {0}};
#undef ROW_OF

static const char *order_problem(const void *params, const struct figure *figure)
{
    (void)figure;
    const struct order_params *order = params;
    const char *problem = NULL;
    for (size_t i = 0; problem == NULL && i < order->values.n; i++)
        problem = value_problem(FIGURE_ITEM(struct claim_value, order->values, i));
    return problem;
}

static void order_places(const void *params, const struct claim_places *places)
{
    const struct order_params *order = params;
    for (size_t i = 0; i < order->values.n; i++) visit_value(FIGURE_ITEM(struct claim_value, order->values, i), places);
}

/* Adds to a text of an outcome, as far as it has room. */
__attribute__((format(printf, 4, 5))) static void add_part(char *text, size_t size, size_t *length, const char *format,
                                                           ...)
{
    va_list arguments;
    if (*length >= size) return;
    va_start(arguments, format);
    *length += (size_t)vsnprintf(text + *length, size - *length, format, arguments);
    va_end(arguments);
}

/* The paper's is the order of the names: "loads < mail < chat", or "rising". */
static int order_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                          struct claim_outcome *outcome, struct diag *diag)
{
    const struct order_params *params = claim->test.params;
    double before = (double)-INFINITY;
    size_t length = 0, paper_length = 0;
    bool has_names = true;
    outcome->holds = true;
    for (size_t i = 0; i < params->values.n; i++) {
        const struct claim_value *of = FIGURE_ITEM(struct claim_value, params->values, i);
        double value;
        int code = get_value(of, data, &value, diag);
        if (code != 0) return code;
        const char *sign = i == 0 ? "" : value > before ? " < " : value == before ? " = " : " > ";
        outcome->holds = outcome->holds && value > before;
        has_names = has_names && of->name != NULL;
        add_part(outcome->text, sizeof outcome->text, &length, "%s%s%s%.4g", sign, of->name != NULL ? of->name : "",
                 of->name != NULL ? " " : "", value);
        if (has_names)
            add_part(outcome->paper, sizeof outcome->paper, &paper_length, "%s%s", i == 0 ? "" : " < ", of->name);
        before = value;
    }
    if (!has_names) snprintf(outcome->paper, sizeof outcome->paper, "rising");
    return 0;
}

static const struct claim_kind claim_order = {
    .name = "order", .summary = "numbers rise in this order", .fields = order_fields,
    .params_bytes = sizeof(struct order_params), .problem = order_problem, .places = order_places,
    .evaluate = order_evaluate};


/* --- crossing --- */

#define ROW_OF struct crossing_params
static const struct config_field crossing_fields[] = {
    ROW_TEXT("of", of, REQUIRED, WITHIN(1, 200), "a series"),
    ROW_TEXT("with", with, OPTIONAL, WITHIN(1, 200), "the series that it crosses"),
    ROW_REAL("level", level, OPTIONAL, ANY, "the value that it crosses, in place of a series"),
    {0}};
#undef ROW_OF

static const char *crossing_problem(const void *params, const struct figure *figure)
{
    (void)figure;
    const struct crossing_params *crossing = params;
    return (crossing->with != NULL) != !isnan(crossing->level) ? NULL
                                                               : "a crossing is either 'with' a series or of a 'level'";
}

static void crossing_places(const void *params, const struct claim_places *places)
{
    const struct crossing_params *crossing = params;
    places->visit(places->context, crossing->of, (double)NAN, (double)NAN);
    if (crossing->with != NULL) places->visit(places->context, crossing->with, (double)NAN, (double)NAN);
}

/* Two piecewise linear curves, or one and a level, and their last gap. */
struct crossing {
    const struct data_curve *of, *with; /* with: NULL for the level */
    double level;
    double last_x, last_gap; /* last_gap NAN: none yet */
};

/* The place where the gap between the curves changes its sign before x; NAN if it does not. */
static double cross_until(struct crossing *crossing, double x)
{
    double other = crossing->with != NULL ? data_curve_at(crossing->with, x) : crossing->level;
    double gap = data_curve_at(crossing->of, x) - other, before = crossing->last_gap, before_x = crossing->last_x;
    if (isnan(gap) || x == before_x) return (double)NAN;
    crossing->last_x = x;
    crossing->last_gap = gap;
    if (isnan(before) || (before > 0) == (gap > 0)) return (double)NAN;
    return before_x + (x - before_x) * before / (before - gap);
}

/* The first crossing; NAN if there is none. Between two corners of either curve the gap is linear. */
static double find_crossing(struct crossing *crossing)
{
    size_t i = 0, k = 0;
    size_t n = crossing->of->n, m = crossing->with != NULL ? crossing->with->n : 0;
    double found = (double)NAN;
    while (isnan(found) && (i < n || k < m)) {
        bool first = k == m || (i < n && crossing->of->x[i] <= crossing->with->x[k]);
        found = cross_until(crossing, first ? crossing->of->x[i++] : crossing->with->x[k++]);
    }
    return found;
}

static int crossing_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                             struct claim_outcome *outcome, struct diag *diag)
{
    (void)diag;
    const struct crossing_params *params = claim->test.params;
    struct crossing crossing = {.of = &data_series_named(data, params->of)->ours,
                                .with = params->with != NULL ? &data_series_named(data, params->with)->ours : NULL,
                                .level = params->level, .last_x = (double)NAN, .last_gap = (double)NAN};
    outcome->ours = find_crossing(&crossing);
    if (isnan(outcome->ours)) snprintf(outcome->text, sizeof outcome->text, "they do not cross");
    claim_compare(claim, outcome);
    return 0;
}

static const struct claim_kind claim_crossing = {
    .name = "crossing", .summary = "a series crosses another one, or a level, at the paper's x",
    .fields = crossing_fields, .params_bytes = sizeof(struct crossing_params), .has_value = true, .has_tolerance = true,
    .problem = crossing_problem, .places = crossing_places, .evaluate = crossing_evaluate};

static const struct config_field name_item[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 200}, {0}};

#define SERIES_LIST                                                                                                    \
    ROW_LIST("series", series, REQUIRED, WITHIN(1, 100), char *, name_item, "names of series of the figure")

static const char *series_name(const struct config_list *names, size_t index)
{
    return *FIGURE_ITEM(char *, *names, index);
}

/* --- curve --- */

#define ROW_OF struct curve_params
static const struct config_field curve_fields[] = {
    SERIES_LIST,
    ROW_REAL("from", from, OPTIONAL, ANY, "smallest x"),
    ROW_REAL("to", to, OPTIONAL, ANY, "largest x"),
    {0}};
#undef ROW_OF

static const char *curve_problem(const void *params, const struct figure *figure)
{
    const struct curve_params *curve = params;
    for (size_t i = 0; i < curve->series.n; i++)
        if (figure_series_at(figure, figure_series_index(figure, series_name(&curve->series, i)))->paper.tag == NULL)
            return "the paper has no points for one of the series";
    return NULL;
}

static void curve_places(const void *params, const struct claim_places *places)
{
    const struct curve_params *curve = params;
    for (size_t i = 0; i < curve->series.n; i++)
        places->visit(places->context, series_name(&curve->series, i), curve->from, curve->to);
}

/* Adds the absolute deviation at every point of the paper in the range, and counts them, and those where ours is above.
 * A paper's point without one of ours is an error. */
static int collect_deviations(const struct data_series *series, const struct curve_params *params, double *deviations,
                              size_t *n, size_t *n_above, const char *id, struct diag *diag)
{
    for (size_t i = 0; i < series->paper.n; i++) {
        double x = series->paper.x[i];
        if (x < params->from || x > params->to) continue;
        double ours = data_curve_point(&series->ours, x);
        if (isnan(ours))
            return diag_error(diag, SIM_E_DATA, id, "simulate it, or claim a smaller range",
                              "series '%s' has no point at the paper's x = %g", series->series->name, x);
        deviations[(*n)++] = fabs(ours / series->paper.y[i] - 1);
        *n_above += ours > series->paper.y[i];
    }
    return 0;
}

static int curve_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                          struct claim_outcome *outcome, struct diag *diag)
{
    const struct curve_params *params = claim->test.params;
    size_t most = 0, n = 0, n_above = 0;
    for (size_t i = 0; i < params->series.n; i++)
        most += data_series_named(data, series_name(&params->series, i))->paper.n;
    double *deviations = arena_alloc(data->arena, (most + 1) * sizeof *deviations);
    if (deviations == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < params->series.n; i++) {
        int code = collect_deviations(data_series_named(data, series_name(&params->series, i)), params, deviations, &n,
                                      &n_above, data->figure->id, diag);
        if (code != 0) return code;
    }
    if (n == 0)
        return diag_error(diag, SIM_E_DATA, data->figure->id, NULL, "the paper has no points in the range of a claim");
    qsort(deviations, n, sizeof *deviations, real_compare);
    outcome->deviation = stats_quantile(deviations, n, 0.9);
    outcome->holds = is_within(outcome->deviation, claim);
    outcome->worst = deviations[n - 1];
    snprintf(outcome->text, sizeof outcome->text, "median %.1f %%, worst %.1f %% of %zu points, %zu of them above",
             100 * stats_quantile(deviations, n, 0.5), 100 * outcome->worst, n, n_above);
    if (!isnan(claim->tolerance_frac))
        snprintf(outcome->bound, sizeof outcome->bound, "%g %% at p90", 100 * claim->tolerance_frac);
    return 0;
}

static const struct claim_kind claim_curve = {
    .name = "curve", .summary = "nine in ten points of series lie at the paper's", .fields = curve_fields,
    .params_bytes = sizeof(struct curve_params), .has_tolerance = true, .problem = curve_problem,
    .places = curve_places, .evaluate = curve_evaluate};

/* --- interval --- */

#define ROW_OF struct interval_params
static const struct config_field interval_fields[] = {
    SERIES_LIST,
    ROW_REAL("level", level, DEFAULT("0.99"), WITHIN(0.5, 0.9999), "of each interval, and of the joint test"),
    {0}};
#undef ROW_OF

static const char *interval_problem(const void *params, const struct figure *figure)
{
    const struct interval_params *interval = params;
    for (size_t i = 0; i < interval->series.n; i++) {
        const struct figure_series *series = figure_series_at(
            figure, figure_series_index(figure, series_name(&interval->series, i)));
        if (series->paper.tag == NULL) return "the paper has no points for one of the series";
        if (isnan(series->interval)) return "one of the series has no \"interval\" over replications";
    }
    return NULL;
}

static void interval_places(const void *params, const struct claim_places *places)
{
    const struct interval_params *interval = params;
    for (size_t i = 0; i < interval->series.n; i++)
        places->visit(places->context, series_name(&interval->series, i), (double)NAN, (double)NAN);
}

/* The two-sided p-value that the values are around zero: of replicates by their spread. Reorders the values. */
static double p_of(const struct data_series *series, double *values, size_t n, double level)
{
    double p;
    if (!series->is_bootstrap) return stats_paired_t_p(values, n);
    stats_replicate_interval(values, n, level, &p);
    return p;
}

/* Adds the two-sided p-value of each point that the mean of its replications is the paper's value. */
static int collect_p(const struct data_series *series, double level, double *p, size_t *n, const char *id,
                     struct diag *diag)
{
    const double *values = series->replications;
    for (size_t i = 0; i < series->ours.n; values += series->n_replications[i++]) {
        double paper = data_curve_point(&series->paper, series->ours.x[i]);
        if (isnan(paper) || series->n_replications[i] < 2)
            return diag_error(diag, SIM_E_DATA, id, "give the paper's curve there, and two or more seeds",
                              "series '%s' cannot be compared at x = %g", series->series->name, series->ours.x[i]);
        double *shifted = mem_alloc(series->n_replications[i] * sizeof *shifted);
        if (shifted == NULL) return diag_nomem(diag);
        for (size_t k = 0; k < series->n_replications[i]; k++) shifted[k] = values[k] - paper;
        p[(*n)++] = p_of(series, shifted, series->n_replications[i], level);
        mem_free(shifted);
    }
    return 0;
}

/* Some of many intervals miss by chance, so the claim holds if no point differs after Holm's correction. */
static int interval_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                             struct claim_outcome *outcome, struct diag *diag)
{
    const struct interval_params *params = claim->test.params;
    size_t most = 0, n = 0, n_within = 0;
    for (size_t i = 0; i < params->series.n; i++)
        most += data_series_named(data, series_name(&params->series, i))->ours.n;
    double *p = arena_alloc(data->arena, (most + 1) * sizeof *p), smallest = 1;
    int code = p != NULL ? 0 : diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < params->series.n; i++)
        code = collect_p(data_series_named(data, series_name(&params->series, i)), params->level, p, &n,
                         data->figure->id, diag);
    if (code != 0) return code;
    for (size_t i = 0; i < n; i++) n_within += p[i] >= 1 - params->level;
    if (stats_holm(p, n) != 0) return diag_nomem(diag);
    for (size_t i = 0; i < n; i++) smallest = fmin(smallest, p[i]);
    outcome->holds = smallest >= 1 - params->level;
    snprintf(outcome->text, sizeof outcome->text, "%zu of %zu within %g %%, least adjusted p %.2g", n_within, n,
             100 * params->level, smallest);
    snprintf(outcome->bound, sizeof outcome->bound, "p of %.3g", 1 - params->level);
    return 0;
}

static const struct claim_kind claim_interval = {
    .name = "interval",
    .summary = "means over replications do not differ from the paper's curve (t tests, corrected by Holm)",
    .fields = interval_fields, .params_bytes = sizeof(struct interval_params), .problem = interval_problem,
    .places = interval_places, .evaluate = interval_evaluate};

const struct claim_kind *const claim_kinds[] = {&claim_level,    &claim_at_most, &claim_ratio,    &claim_order,
                                                &claim_crossing, &claim_curve,   &claim_interval, NULL};
