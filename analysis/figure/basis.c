/* What of a figure was fitted, what is predicted, and how far both are off. */
#include "analysis/figure/claims.h"
#include "analysis/figure/figure.h"
#include "sim/core/mem.h"
#include "sim/core/real_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the papers' claims of one basis, or of all own limits, those that are judged or could be. Claims that are only
 * reported neither hold nor fail. Numbers and curves are kept apart: a number has a deviation, a curve that of nine in
 * ten points. Deviations are from numbers of a paper: own limits have none here. */
struct found {
    size_t n, n_hold, n_fail, n_known;
    size_t n_reported, n_within, n_outside; /* the latter two: of a limit that they have */
    size_t n_numbers, n_curves;
    double *numbers, *curves; /* [n_numbers], [n_curves]: sizes of deviations, rising */
};

/* Beside the bases: claims that follow from the set-up, and the limits and expectations of Orrery's authors, whatever
 * their points. */
enum { IDENTITIES = CLAIM_IS_FITTED + 1, OWN_LIMITS };

static void count(const struct claim_result *result, struct found *found)
{
    const double size = fabs(result->outcome.deviation);
    found->n++;
    const bool is_reported = result->verdict == CLAIM_REPORTED;
    found->n_hold += !is_reported && result->outcome.holds;
    found->n_reported += is_reported;
    found->n_within += is_reported && result->has_limit && result->outcome.holds;
    found->n_known += result->verdict == CLAIM_KNOWN_TO_FAIL;
    found->n_fail += result->verdict == CLAIM_FAIL;
    found->n_outside += result->is_outside;
    if (isnan(size) || result->claim->is_arithmetic || result->is_own) return;
    if (isnan(result->outcome.ours))
        found->curves[found->n_curves++] = size;
    else
        found->numbers[found->n_numbers++] = size;
}

/* Collects the claims of a basis that are about a paper, or those of IDENTITIES or OWN_LIMITS. */
static void collect(const struct figure *figure, const struct claim_results *claims, int basis, struct found *found)
{
    *found = (struct found){.numbers = found->numbers, .curves = found->curves};
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim_result *result = &claims->items[i];
        const int of = result->is_own ? OWN_LIMITS : result->claim->is_arithmetic ? IDENTITIES : (int)result->basis;
        if (of == basis && figure_claim_unjudged(figure, result->claim) == NULL) count(result, found);
    }
    qsort(found->numbers, found->n_numbers, sizeof *found->numbers, real_compare);
    qsort(found->curves, found->n_curves, sizeof *found->curves, real_compare);
}

/* "; of 3 numbers the median is off by 7.7 %, the largest by 18.0 %" */
static void add_sizes(const double *sizes, size_t n, const char *what, const char *whose, struct text *text)
{
    if (n == 0) return;
    const double median = (sizes[(n - 1) / 2] + sizes[n / 2]) / 2;
    if (n == 1)
        text_printf(text, "; the one %s is off by %.1f %%%s", what, 100 * median, whose);
    else
        text_printf(text, "; of %zu %ss the median is off by %.1f %%, the largest by %.1f %%%s", n, what, 100 * median,
                    100 * sizes[n - 1], whose);
}

/* ", 3 reported (1 within, 1 outside)": the third has no limit. */
static void add_reported(const struct found *found, const char *before, struct text *text)
{
    if (found->n_reported == 0) return;
    text_printf(text, "%s%zu reported", before, found->n_reported);
    if (found->n_within > 0) text_printf(text, " (%zu within", found->n_within);
    if (found->n_outside > 0) text_printf(text, "%s%zu outside", found->n_within > 0 ? ", " : " (", found->n_outside);
    if (found->n_within + found->n_outside > 0) text_add(text, ")");
}

/* "8 claims predicted: 5 hold, 2 fail (known), 1 reported (1 outside); of 5 numbers ...": an order of numbers, or a
 * bound, has no deviation. */
static void add_found(const struct found *found, const char *what, const char *of_many, bool has_errors,
                      struct text *text)
{
    const struct {
        size_t n;
        const char *one, *many;
    } parts[] = {{found->n_hold, "holds", "hold"}, {found->n_known, "fails (known)", "fail (known)"},
                 {found->n_fail, "fails", "fail"}};
    const char *before = ": ";
    text_printf(text, "%zu %s", found->n, found->n == 1 ? what : of_many);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].n == 0) continue;
        text_printf(text, "%s%zu %s", before, parts[i].n, parts[i].n == 1 ? parts[i].one : parts[i].many);
        before = ", ";
    }
    add_reported(found, before, text);
    if (has_errors) return;
    add_sizes(found->numbers, found->n_numbers, "number", "", text);
    add_sizes(found->curves, found->n_curves, "curve", " in nine of ten points", text);
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

/* Adds what was chosen in view of results, each thing once. */
static void add_chosen(const struct figure *figure, const char *before, struct text *text)
{
    for (size_t i = 0; i < figure->claims.n; i++) {
        const char *chosen = FIGURE_ITEM(struct figure_claim, figure->claims, i)->chosen_by;
        bool is_new = chosen != NULL;
        for (size_t k = 0; is_new && k < i; k++) {
            const char *other = FIGURE_ITEM(struct figure_claim, figure->claims, k)->chosen_by;
            is_new = other == NULL || strcmp(other, chosen) != 0;
        }
        if (is_new) text_printf(text, "%s%s", before, chosen);
        if (is_new) before = "; ";
    }
}

int claim_basis_text(const struct figure *figure, const struct claim_results *claims, struct text *text)
{
    const size_t n = figure->fitted.n, n_unjudged = count_unjudged(figure, claims);
    const bool has_errors = figure->errors.n > 0;
    static const char *const words[][2] = {
        [CLAIM_IS_PREDICTED] = {"claim predicted", "claims predicted"},
        [CLAIM_IS_CHOSEN_BY] = {"claim chosen by", "claims chosen by"},
        [CLAIM_IS_FITTED] = {"claim on fitted points", "claims on fitted points"},
        [IDENTITIES] = {"identity", "identities"}, [OWN_LIMITS] = {"own limit", "own limits"}};
    struct found found = {.numbers = mem_zalloc(claims->n + 1, sizeof(double)),
                          .curves = mem_zalloc(claims->n + 1, sizeof(double))};
    const bool has_memory = found.numbers != NULL && found.curves != NULL;
    if (has_memory) add_errors(figure, claims, text);
    const char *before = "";
    for (int basis = CLAIM_IS_PREDICTED; has_memory && basis <= OWN_LIMITS; basis++) {
        collect(figure, claims, basis, &found);
        if (found.n == 0 && (basis != CLAIM_IS_PREDICTED || n_unjudged < claims->n)) continue;
        text_add(text, before);
        add_found(&found, words[basis][0], words[basis][1], has_errors, text);
        before = "; ";
    }
    mem_free(found.numbers);
    mem_free(found.curves);
    if (!has_memory) return SIM_E_NOMEM;
    if (n_unjudged > 0) text_printf(text, "; %zu reported and not comparable, in no median", n_unjudged);
    text_add(text, n > 0 ? "; fitted: " : figure->inputs.n > 0 ? "; nothing fitted here" : "; nothing fitted");
    for (size_t i = 0; i < n; i++)
        text_printf(text, "%s%s", i > 0 ? "; " : "", FIGURE_ITEM(struct figure_fit, figure->fitted, i)->parameter);
    for (size_t i = 0; i < figure->inputs.n; i++)
        text_printf(text, "%s%s",
                    i > 0 ? "; " : "; inputs fitted elsewhere: ", *FIGURE_ITEM(char *, figure->inputs, i));
    const bool has_fits = n + figure->inputs.n > 0;
    add_chosen(figure, has_fits ? "; chosen in view of results: " : ", but chosen in view of results: ", text);
    return text->failed ? SIM_E_NOMEM : 0;
}
