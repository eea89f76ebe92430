/* What of a figure was fitted, what is predicted, and how far both are off. */
#include "analysis/figure/claims.h"
#include "analysis/figure/figure.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdlib.h>

/* The sizes of deviations of the claims that are judged, or could be. */
struct deviations {
    size_t n_claims, n;
    double *fracs; /* [n] */
    double worst;  /* the largest, or that of a point of a curve */
};

static int compare_fracs(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void collect(const struct figure *figure, const struct claim_results *claims, bool is_fitted,
                    struct deviations *found)
{
    found->n_claims = found->n = 0;
    found->worst = 0;
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim_result *result = &claims->items[i];
        if (result->is_fitted != is_fitted || figure_claim_unjudged(figure, result->claim) != NULL) continue;
        found->n_claims++;
        if (isnan(result->outcome.deviation)) continue;
        const double worst = isnan(result->outcome.worst) ? result->outcome.deviation : result->outcome.worst;
        found->fracs[found->n++] = fabs(result->outcome.deviation);
        found->worst = fmax(found->worst, fabs(worst));
    }
    qsort(found->fracs, found->n, sizeof *found->fracs, compare_fracs);
}

/* "8 claims predicted, 5 of them off by 19.0 % in the median, 24.6 % at most": an order of numbers, or a bound, has no
 * deviation. */
static void add_deviations(const struct deviations *found, const char *what, bool has_errors, struct text *text)
{
    const size_t n = found->n;
    text_printf(text, "%zu claim%s %s", found->n_claims, found->n_claims == 1 ? "" : "s", what);
    if (n == 0 || has_errors) return;
    const double median = (found->fracs[(n - 1) / 2] + found->fracs[n / 2]) / 2;
    text_add(text, ", ");
    if (n < found->n_claims) text_printf(text, "%zu of them ", n);
    text_printf(text, "off by %.1f %%", 100 * median);
    if (n > 1) text_add(text, " in the median");
    if (n > 1 || found->worst > found->fracs[0]) text_printf(text, ", %.1f %% at most", 100 * found->worst);
}

/* "median error of the TPOT 7.5 %, " */
static void add_errors(const struct figure *figure, const struct claim_results *claims, struct text *text)
{
    for (size_t i = 0; i < figure->errors.n; i++) {
        const struct figure_error *error = FIGURE_ITEM(struct figure_error, figure->errors, i);
        text_printf(text, "%s ", error->says);
        if (isnan(claims->errors[i]))
            text_add(text, "unknown");
        else
            text_printf(text, "%.3g %s", claims->errors[i], error->unit);
        text_add(text, i + 1 < figure->errors.n ? ", " : "; ");
    }
}

static size_t count_unjudged(const struct figure *figure, const struct claim_results *claims)
{
    size_t n = 0;
    for (size_t i = 0; i < claims->n; i++) n += figure_claim_unjudged(figure, claims->items[i].claim) != NULL;
    return n;
}

int claim_basis_text(const struct figure *figure, const struct claim_results *claims, struct text *text)
{
    const size_t n = figure->fitted.n, n_unjudged = count_unjudged(figure, claims);
    const bool has_errors = figure->errors.n > 0;
    struct deviations found = {.fracs = mem_zalloc(claims->n + 1, sizeof(double))};
    if (found.fracs == NULL) return SIM_E_NOMEM;
    add_errors(figure, claims, text);
    collect(figure, claims, false, &found);
    add_deviations(&found, "predicted", has_errors, text);
    if (n > 0) {
        collect(figure, claims, true, &found);
        text_add(text, "; ");
        add_deviations(&found, "on fitted points", has_errors, text);
    }
    if (n_unjudged > 0) text_printf(text, "; %zu claim%s not judged", n_unjudged, n_unjudged == 1 ? "" : "s");
    text_add(text, n > 0 ? "; fitted: " : "; nothing fitted");
    for (size_t i = 0; i < n; i++)
        text_printf(text, "%s%s", i > 0 ? "; " : "", FIGURE_ITEM(struct figure_fit, figure->fitted, i)->parameter);
    mem_free(found.fracs);
    return text->failed ? SIM_E_NOMEM : 0;
}
