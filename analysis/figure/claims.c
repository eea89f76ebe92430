/* Results of claims, and which claims the origin of their numbers allows to judge. */
#include "analysis/figure/claims.h"

#include "analysis/figure/claim_kind.h"
#include "analysis/figure/figure.h"

#include <math.h>
#include <string.h>

/* --- Tags --- */

static const char *const tag_words[] = {"src", "src2", "derived", "own", "memory"};
enum { N_TAG_WORDS = sizeof tag_words / sizeof *tag_words, OWN = 3, MEMORY = 4 };

/* The index of the word before the colon, or N_TAG_WORDS. */
static int tag_word(const char *tag)
{
    size_t length = strcspn(tag, ":");
    int i = 0;
    while (i < N_TAG_WORDS && (strlen(tag_words[i]) != length || strncmp(tag, tag_words[i], length) != 0)) i++;
    return i;
}

bool figure_tag_exists(const char *tag)
{
    return tag_word(tag) != N_TAG_WORDS;
}

bool figure_tag_gates(const char *tag)
{
    return tag_word(tag) != MEMORY;
}

bool figure_tag_is_own(const char *tag)
{
    return tag_word(tag) == OWN;
}

/* --- Points --- */

struct search {
    const struct figure *figure;
    bool found;
};

/* Whether the paper has points from memory in the range; of a formula every x counts. */
static void look_for_memory(void *context, const char *name, double from, double to)
{
    struct search *search = context;
    const struct figure_series *series = figure_series_at(search->figure, figure_series_index(search->figure, name));
    if (series == NULL || series->paper.tag == NULL || figure_tag_gates(series->paper.tag)) return;
    search->found = search->found || series->paper.sql != NULL;
    for (size_t i = 0; i < series->paper.points.n; i++) {
        double x = FIGURE_ITEM(struct figure_point, series->paper.points, i)->x;
        search->found = search->found || (!(x < from) && !(x > to));
    }
}

/* The points behind a query are in the claim's rests_on. */
static void pass_query(void *context, const char *sql, const char *study)
{
    (void)context;
    (void)sql;
    (void)study;
}

/* Visits the stretches of the paper's points that the claim uses. */
static void visit_points(const struct figure_claim *claim, void *context,
                         void (*visit)(void *context, const char *series, double from, double to))
{
    const struct claim_kind *kind = claim->test.entry;
    if (kind != NULL) kind->places(claim->test.params, &(struct claim_places){context, visit, pass_query});
    for (size_t i = 0; i < claim->rests_on.n; i++) {
        const struct figure_span *span = FIGURE_ITEM(struct figure_span, claim->rests_on, i);
        visit(context, span->series, span->from, span->to);
    }
}

/* Whether a point of the paper that the claim uses is from memory. */
static bool is_on_memory(const struct figure *figure, const struct figure_claim *claim)
{
    struct search search = {figure, false};
    visit_points(claim, &search, look_for_memory);
    return search.found;
}

/* --- Claims --- */

const char *figure_claim_unjudged(const struct figure *figure, const struct figure_claim *claim)
{
    if (claim->test.entry == NULL) return "not covered by the simulator";
    if (!figure_tag_gates(claim->tag)) return "from memory";
    if (is_on_memory(figure, claim)) return "about points that are from memory";
    return claim->up_to ? "stated as 'up to'" : NULL;
}

bool figure_claim_gates(const struct figure *figure, const struct figure_claim *claim)
{
    return figure_claim_unjudged(figure, claim) == NULL && claim->reported_because == NULL;
}

/* --- Fitted or predicted --- */

/* Whether a parameter was fitted on points of the range. */
static void look_for_fit(void *context, const char *series, double from, double to)
{
    struct search *search = context;
    const struct figure *figure = search->figure;
    for (size_t i = 0; i < figure->fitted.n; i++) {
        const struct figure_fit *fit = FIGURE_ITEM(struct figure_fit, figure->fitted, i);
        for (size_t k = 0; k < fit->points.n; k++) {
            const struct figure_span *span = FIGURE_ITEM(struct figure_span, fit->points, k);
            if (strcmp(span->series, series) == 0 && !(to < span->from) && !(from > span->to)) search->found = true;
        }
    }
}

static bool rests_on_fitted(const struct figure *figure, const struct figure_claim *claim)
{
    struct search search = {figure, false};
    visit_points(claim, &search, look_for_fit);
    return search.found;
}

/* --- How numbers are shown --- */

static const char *show_number(struct arena *arena, double value, const char *unit)
{
    if (isnan(value)) return "";
    bool has_unit = unit != NULL && *unit != 0;
    return arena_printf(arena, "%.4g%s%s", value, has_unit ? " " : "", has_unit ? unit : "");
}

/* With as many digits as show on which side of the tolerance it lies: 15.01 % for a tolerance of 15 %. */
static const char *show_deviation(struct arena *arena, const struct claim_result *result)
{
    const struct claim_outcome *outcome = &result->outcome;
    const double percent = 100 * outcome->deviation, most_percent = 100 * result->claim->tolerance_frac;
    int digits = 1;
    if (isnan(percent)) return "";
    for (bool is_within; !isnan(most_percent) && digits < 6; digits++) {
        const double power = pow(10, digits);
        is_within = fabs(round(percent * power) / power) <= most_percent;
        if (is_within == outcome->holds) break;
    }
    if (isnan(outcome->ours)) return arena_printf(arena, "%.*f %% at p90", digits, percent); /* of a curve */
    return arena_printf(arena, "%+.*f %%", digits, percent);
}

static const char *why(const struct figure *figure, const struct claim_result *result)
{
    const struct figure_claim *claim = result->claim;
    if (result->verdict != CLAIM_REPORTED) return claim->known_to_fail;
    if (claim->reported_because != NULL) return claim->reported_because;
    if (!figure_tag_gates(claim->tag)) return "the paper's number is from memory";
    if (is_on_memory(figure, claim)) return "the paper's points are from memory";
    return claim->up_to ? "the paper says 'up to'" : "the simulator does not cover it";
}

static const char *show_tolerance(struct arena *arena, const struct claim_result *result)
{
    double tolerance_frac = result->claim->tolerance_frac;
    if (result->outcome.bound[0] != 0) return arena_strdup(arena, result->outcome.bound);
    return isnan(tolerance_frac) ? "" : arena_printf(arena, "%g %%", 100 * tolerance_frac);
}

/* The verdict as text; for a reported claim with a tolerance, also on which side of it our number is. */
static const char *show_verdict(const struct figure_data *data, const struct claim_result *result)
{
    const struct figure_claim *claim = result->claim;
    const char *name = claim_verdict_name(result->verdict);
    if (result->verdict != CLAIM_REPORTED || figure_claim_unjudged(data->figure, claim) != NULL) return name;
    if (isnan(claim->tolerance_frac)) return result->outcome.holds ? "reported, holds" : "reported, does not hold";
    return arena_printf(data->arena, "%s, %s %g %%", name, result->is_outside ? "outside" : "within",
                        100 * claim->tolerance_frac);
}

static int show(const struct figure_data *data, struct claim_result *result, struct diag *diag)
{
    const struct figure_claim *claim = result->claim;
    const struct claim_outcome *outcome = &result->outcome;
    struct arena *arena = data->arena;
    const char *number = show_number(arena, claim->value, claim->unit);
    if (outcome->paper[0] != 0) number = arena_strdup(arena, outcome->paper);
    if (number != NULL && !isnan(claim->low))
        number = arena_printf(arena, "%s, midpoint of %.4g to %.4g", number, claim->low, claim->high);
    if (number != NULL && *number != 0 && result->is_own) number = arena_printf(arena, "%s *", number);
    result->paper = number != NULL && claim->up_to ? arena_printf(arena, "up to %s", number) : number;
    result->ours = outcome->text[0] != 0       ? arena_strdup(arena, outcome->text)
                   : claim->test.entry == NULL ? "not covered"
                                               : show_number(arena, outcome->ours, claim->unit);
    result->deviation = show_deviation(arena, result);
    result->because = why(data->figure, result);
    result->tolerance = show_tolerance(arena, result);
    result->word = show_verdict(data, result);
    if (result->paper != NULL && result->ours != NULL && result->deviation != NULL && result->tolerance != NULL &&
        result->word != NULL)
        return 0;
    return diag_nomem(diag);
}

/* --- Verdicts --- */

static enum claim_verdict judge(const struct figure *figure, const struct figure_claim *claim, bool holds)
{
    if (!figure_claim_gates(figure, claim)) return CLAIM_REPORTED;
    if (claim->known_to_fail != NULL) return holds ? CLAIM_NO_LONGER : CLAIM_KNOWN_TO_FAIL;
    return holds ? CLAIM_PASS : CLAIM_FAIL;
}

static int evaluate(const struct figure_data *data, const struct figure_claim *claim, struct claim_result *result,
                    struct diag *diag)
{
    const struct claim_kind *kind = claim->test.entry;
    *result = (struct claim_result){.claim = claim, .verdict = CLAIM_REPORTED};
    result->outcome.ours = result->outcome.deviation = result->outcome.worst = (double)NAN;
    int code = kind != NULL ? kind->evaluate(claim, data, &result->outcome, diag) : 0;
    if (code != 0) return code;
    result->verdict = judge(data->figure, claim, result->outcome.holds);
    result->is_own = figure_tag_is_own(claim->tag);
    result->has_limit = !isnan(claim->tolerance_frac) || result->outcome.bound[0] != 0;
    result->is_outside = result->verdict == CLAIM_REPORTED && result->has_limit && !result->outcome.holds &&
                         figure_claim_unjudged(data->figure, claim) == NULL;
    result->basis = rests_on_fitted(data->figure, claim) ? CLAIM_IS_FITTED
                    : claim->chosen_by != NULL           ? CLAIM_IS_CHOSEN_BY
                                                         : CLAIM_IS_PREDICTED;
    return show(data, result, diag);
}

/* Reads the numbers of the list "errors". */
static int read_errors(const struct figure_data *data, struct claim_results *results, struct diag *diag)
{
    const struct config_list *errors = &data->figure->errors;
    results->errors = arena_alloc(data->arena, (errors->n + 1) * sizeof *results->errors);
    int code = results->errors != NULL ? 0 : diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < errors->n; i++) {
        const struct figure_error *error = FIGURE_ITEM(struct figure_error, *errors, i);
        code = figure_data_number(data, error->study, error->sql, &results->errors[i], diag);
    }
    return code;
}

int figure_claims(const struct figure_data *data, struct claim_results *results, struct diag *diag)
{
    const struct config_list *claims = &data->figure->claims;
    *results = (struct claim_results){.items = arena_alloc(data->arena, claims->n * sizeof *results->items)};
    int code = results->items != NULL ? 0 : diag_nomem(diag);
    for (; code == 0 && results->n < claims->n; results->n++) {
        struct claim_result *result = &results->items[results->n];
        code = evaluate(data, FIGURE_ITEM(struct figure_claim, *claims, results->n), result, diag);
        results->counts.n++;
        results->counts.of[result->verdict]++;
        const bool is_judged = figure_claim_unjudged(data->figure, result->claim) == NULL;
        results->counts.n_outside += result->is_outside;
        results->counts.n_within += is_judged && result->verdict == CLAIM_REPORTED && result->has_limit &&
                                    result->outcome.holds;
        results->counts.n_unjudged += !is_judged;
        results->counts.n_own += result->is_own && result->paper[0] != 0;
    }
    return code == 0 ? read_errors(data, results, diag) : code;
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {
        [CLAIM_PASS] = "pass", [CLAIM_FAIL] = "fail", [CLAIM_KNOWN_TO_FAIL] = "known to fail",
        [CLAIM_NO_LONGER] = "passes, known to fail", [CLAIM_REPORTED] = "reported"};
    return names[verdict];
}

const char *claim_basis_name(const struct claim_result *result)
{
    if (result->claim->test.entry == NULL) return "";
    if (result->claim->is_arithmetic) return "identity";
    static const char *const names[] = {
        [CLAIM_IS_PREDICTED] = "predicted", [CLAIM_IS_CHOSEN_BY] = "chosen by", [CLAIM_IS_FITTED] = "fitted"};
    return names[result->basis];
}

const char claim_own_note[] = "A limit or an expectation of Orrery's authors, in no paper.";

const char claim_tags_note[] =
    "Sources: 'src' is the paper's text or artifact, 'src2' somebody's account of the paper, 'derived' arithmetic on "
    "such numbers, 'own' a limit or an expectation of Orrery's authors, 'memory' unverified. Behind a colon stands a key "
    "for the paper or file.";

const char claim_basis_note[] =
    "A claim is 'fitted': it is about points on which a parameter was fitted; 'chosen by': equations or inputs were "
    "chosen in view of its number; 'identity': its number follows from the set-up; else 'predicted'. A deviation is ours "
    "/ paper - 1. The first line counts own limits apart, and medians are over the papers' numbers only.";

/* --- Counts --- */

void claim_counts_add(struct claim_counts *sum, const struct claim_counts *counts)
{
    sum->n += counts->n;
    sum->n_outside += counts->n_outside;
    sum->n_within += counts->n_within;
    sum->n_unjudged += counts->n_unjudged;
    sum->n_own += counts->n_own;
    for (size_t i = 0; i < N_CLAIM_VERDICTS; i++) sum->of[i] += counts->of[i];
}

void claim_counts_text(const struct claim_counts *counts, struct text *text)
{
    const char *before = ": ";
    text_printf(text, "%zu claim%s", counts->n, counts->n == 1 ? "" : "s");
    for (enum claim_verdict verdict = CLAIM_PASS; verdict < N_CLAIM_VERDICTS; verdict++) {
        if (counts->of[verdict] == 0) continue;
        text_printf(text, "%s%zu %s", before, counts->of[verdict], claim_verdict_name(verdict));
        before = ", ";
    }
    const char *opening = " (";
    const struct {
        size_t n;
        const char *what;
    } parts[] = {{counts->n_within, "within"}, {counts->n_outside, "outside"}, {counts->n_unjudged, "not comparable"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].n == 0) continue;
        text_printf(text, "%s%zu %s", opening, parts[i].n, parts[i].what);
        opening = ", ";
    }
    if (opening[0] == ',') text_add(text, ")");
}
