/* Claims on single numbers: levels, ratios and orders; and the list of all kinds. */
#include "analysis/figure/claim_kind.h"

#include <math.h>
#include <stdio.h>

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct config_field value_fields[] = {
    {.name = "series", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(claim_value, series), .min = 1, .max = 200,
     .help = "of the figure"},
    {.name = "x", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(claim_value, x), .help = "of the series"},
    {.name = "sql", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(claim_value, sql), .min = 1, .max = 65536,
     .help = "query that gives one number, in place of a series"},
    {.name = "study", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(claim_value, study), .min = 1, .max = 200,
     .help = "that the query asks"},
    {0}};

#define VALUE(type, member, what)                                                                                      \
    {.name = #member, .kind = CONFIG_SECTION, AT(type, member), .fields = value_fields, .help = what}

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

void claim_compare(const struct figure_claim *claim, struct claim_outcome *outcome)
{
    outcome->deviation = outcome->ours / claim->value - 1;
    outcome->holds = fabs(outcome->deviation) <= claim->tolerance_frac;
}

/* --- level --- */

static const struct config_field level_fields[] = {VALUE(level_params, of, "what the paper gives a number for"), {0}};

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

const struct claim_kind claim_level = {.name = "level",
                                       .summary = "one number is what the paper gives",
                                       .fields = level_fields,
                                       .params_bytes = sizeof(struct level_params),
                                       .has_value = true,
                                       .has_tolerance = true,
                                       .problem = level_problem,
                                       .places = level_places,
                                       .evaluate = level_evaluate};

/* --- ratio --- */

static const struct config_field ratio_fields[] = {
    VALUE(ratio_params, of, "the numerator"), VALUE(ratio_params, over, "the denominator"), {0}};

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

const struct claim_kind claim_ratio = {.name = "ratio",
                                       .summary = "the ratio of two numbers is what the paper gives",
                                       .fields = ratio_fields,
                                       .params_bytes = sizeof(struct ratio_params),
                                       .has_value = true,
                                       .has_tolerance = true,
                                       .problem = ratio_problem,
                                       .places = ratio_places,
                                       .evaluate = ratio_evaluate};

/* --- order --- */

static const struct config_field order_fields[] = {
    {.name = "values", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, AT(order_params, values), .min = 2, .max = 20,
     .fields = value_fields, .elem_bytes = sizeof(struct claim_value), .help = "from the lowest to the highest"},
    {0}};

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

static int order_evaluate(const struct figure_claim *claim, const struct figure_data *data,
                          struct claim_outcome *outcome, struct diag *diag)
{
    const struct order_params *params = claim->test.params;
    double before = (double)-INFINITY;
    size_t length = 0;
    outcome->holds = true;
    for (size_t i = 0; i < params->values.n; i++) {
        double value;
        int code = get_value(FIGURE_ITEM(struct claim_value, params->values, i), data, &value, diag);
        if (code != 0) return code;
        const char *sign = i == 0 ? "" : value > before ? " < " : value == before ? " = " : " > ";
        outcome->holds = outcome->holds && value > before;
        if (length < sizeof outcome->text)
            length += (size_t)snprintf(outcome->text + length, sizeof outcome->text - length, "%s%.4g", sign, value);
        before = value;
    }
    return 0;
}

const struct claim_kind claim_order = {.name = "order",
                                       .summary = "numbers rise in this order",
                                       .fields = order_fields,
                                       .params_bytes = sizeof(struct order_params),
                                       .problem = order_problem,
                                       .places = order_places,
                                       .evaluate = order_evaluate};

const struct claim_kind *const claim_kinds[] = {&claim_level, &claim_ratio,    &claim_order, &claim_crossing,
                                                &claim_curve, &claim_interval, NULL};
