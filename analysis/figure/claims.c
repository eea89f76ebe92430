#include "analysis/figure/claims.h"

#include <math.h>
#include <string.h>

/* --- Fitted or predicted --- */

/* Whether two ranges of x share a point of the series; NAN is no limit. */
static bool shares_point(const struct data_series *series, double from, double to, const struct figure_span *span)
{
    const struct data_curve *points = series->paper.n > 0 ? &series->paper : &series->ours;
    for (size_t i = 0; i < points->n; i++) {
        double x = points->x[i];
        bool in_claim = !(x < from) && !(x > to), in_fit = !(x < span->from) && !(x > span->to);
        if (in_claim && in_fit) return true;
    }
    return false;
}

struct place {
    const struct figure_data *data;
    bool is_fitted;
};

static void visit_place(void *context, const char *series, double from, double to)
{
    struct place *place = context;
    const struct figure *figure = place->data->figure;
    const struct data_series *data = data_series_named(place->data, series);
    for (size_t i = 0; i < figure->fitted.n; i++) {
        const struct figure_fit *fit = FIGURE_ITEM(struct figure_fit, figure->fitted, i);
        for (size_t k = 0; k < fit->points.n; k++) {
            const struct figure_span *span = FIGURE_ITEM(struct figure_span, fit->points, k);
            if (strcmp(span->series, series) == 0 && shares_point(data, from, to, span)) place->is_fitted = true;
        }
    }
}

/* What a query rests on stands in the claim. */
static void visit_query(void *context, const char *sql, const char *study)
{
    (void)context;
    (void)sql;
    (void)study;
}

static bool rests_on_fitted(const struct figure_data *data, const struct figure_claim *claim)
{
    struct place place = {.data = data};
    const struct claim_kind *kind = claim->test.entry;
    if (kind != NULL) kind->places(claim->test.params, &(struct claim_places){&place, visit_place, visit_query});
    for (size_t i = 0; i < claim->rests_on.n; i++) {
        const struct figure_span *span = FIGURE_ITEM(struct figure_span, claim->rests_on, i);
        visit_place(&place, span->series, span->from, span->to);
    }
    return place.is_fitted;
}

/* --- How numbers are shown --- */

static const char *show_number(struct arena *arena, double value, const char *unit)
{
    if (isnan(value)) return "";
    bool has_unit = unit != NULL && *unit != 0;
    return arena_printf(arena, "%.4g%s%s", value, has_unit ? " " : "", has_unit ? unit : "");
}

static const char *why_reported(const struct figure_claim *claim)
{
    if (figure_claim_gates(claim)) return NULL;
    if (claim->reported_because != NULL) return claim->reported_because;
    if (!figure_tag_gates(claim->tag)) return "the paper's number is from memory";
    return claim->up_to ? "the paper says 'up to'" : "the simulator does not cover it";
}

static int show(const struct figure_data *data, struct claim_result *result, struct diag *diag)
{
    const struct figure_claim *claim = result->claim;
    const struct claim_outcome *outcome = &result->outcome;
    struct arena *arena = data->arena;
    const char *number = show_number(arena, claim->value, claim->unit);
    result->paper = number != NULL && claim->up_to ? arena_printf(arena, "up to %s", number) : number;
    result->ours = outcome->text[0] != 0       ? arena_strdup(arena, outcome->text)
                   : claim->test.entry == NULL ? "not covered"
                                               : show_number(arena, outcome->ours, claim->unit);
    bool is_signed = !isnan(outcome->ours);
    result->deviation = isnan(outcome->deviation)
                            ? ""
                            : arena_printf(arena, is_signed ? "%+.1f %%" : "%.1f %%", 100 * outcome->deviation);
    result->because = why_reported(claim);
    if (result->paper != NULL && result->ours != NULL && result->deviation != NULL) return 0;
    return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
}

/* --- Verdicts --- */

static int evaluate(const struct figure_data *data, const struct figure_claim *claim, struct claim_result *result,
                    struct diag *diag)
{
    const struct claim_kind *kind = claim->test.entry;
    *result = (struct claim_result){.claim = claim, .verdict = CLAIM_REPORTED};
    result->outcome.ours = result->outcome.deviation = (double)NAN;
    int code = kind != NULL ? kind->evaluate(claim, data, &result->outcome, diag) : 0;
    if (code != 0) return code;
    if (figure_claim_gates(claim)) result->verdict = result->outcome.holds ? CLAIM_PASS : CLAIM_FAIL;
    result->is_fitted = rests_on_fitted(data, claim);
    return show(data, result, diag);
}

int figure_claims(const struct figure_data *data, struct claim_results *results, struct diag *diag)
{
    const struct config_list *claims = &data->figure->claims;
    *results = (struct claim_results){.items = arena_alloc(data->arena, claims->n * sizeof *results->items)};
    int code = results->items != NULL ? 0 : diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    for (; code == 0 && results->n < claims->n; results->n++) {
        struct claim_result *result = &results->items[results->n];
        code = evaluate(data, FIGURE_ITEM(struct figure_claim, *claims, results->n), result, diag);
        results->n_failed += result->verdict == CLAIM_FAIL;
        results->n_passed += result->verdict == CLAIM_PASS;
    }
    return code;
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {[CLAIM_PASS] = "pass", [CLAIM_FAIL] = "fail", [CLAIM_REPORTED] = "reported"};
    return names[verdict];
}

const char *claim_basis_name(const struct claim_result *result)
{
    if (result->claim->test.entry == NULL) return "";
    return result->is_fitted ? "fitted" : "predicted";
}
