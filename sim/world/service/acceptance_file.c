#include "sim/world/service/acceptance_file.h"

#include "sim/core/csv.h"
#include "sim/core/number.h"
#include "sim/core/real_list.h"

#include <math.h>
#include <string.h>

static int open_csv(const char *path, struct csv **csv, struct diag *diag)
{
    struct input *input;
    const int code = input_open(path, &input, diag);
    return code != 0 ? code : csv_create(input, &(struct csv_options){0}, csv, diag);
}

static int refuse_value(const struct csv *csv, int field, const char *expected, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    const struct csv_field *got = &csv_fields(csv)[field];
    csv_where(csv, (size_t)field, 0, where);
    return diag_error(diag, SIM_E_DATA, where, NULL, "expected %s, got '%.*s'", expected,
                      (int)(got->n_chars < 40 ? got->n_chars : 40), got->chars);
}

/* A row is long enough for all columns that were found. */
static int check_width(const struct csv *csv, const int *positions, size_t n, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    for (size_t i = 0; i < n; i++) {
        if (positions[i] < (int)csv_n_fields(csv)) continue;
        csv_where(csv, (size_t)positions[i], 0, where);
        return diag_error(diag, SIM_E_DATA, where, NULL, "the row has %zu fields, fewer than the header",
                          csv_n_fields(csv));
    }
    return 0;
}

/* --- Rates of requests --- */

static int read_rates(struct csv *csv, struct real_list *rates, struct diag *diag)
{
    static const struct csv_column columns[] = {{"rate", false}};
    int at, code = csv_read_header(csv, columns, 1, &at, diag);
    while (code == 0) {
        const int got = csv_next(csv, diag);
        if (got <= 0) return got;
        double rate;
        code = check_width(csv, &at, 1, diag);
        if (code != 0) return code;
        const struct csv_field *field = &csv_fields(csv)[at];
        if (number_f64(field->chars, field->n_chars, &rate) != NUMBER_OK || !(rate >= 0.0 && rate <= 1.0))
            return refuse_value(csv, at, "a rate from 0 to 1", diag);
        code = real_list_add(rates, rate);
    }
    return code;
}

static int build_request_rates(const struct acceptance_config *config, const char *where, struct arena *arena,
                               struct acceptance *acceptance, struct diag *diag)
{
    struct real_list rates = {0};
    struct csv *csv = NULL;
    int code = open_csv(config->request_rates, &csv, diag);
    if (code == 0) code = read_rates(csv, &rates, diag);
    if (code == 0 && rates.n == 0)
        code = diag_error(diag, SIM_E_DATA, where, "write a row for each request", "'%s' has no rates",
                          config->request_rates);
    double *kept = code == 0 ? arena_alloc(arena, rates.n * sizeof *kept) : NULL;
    if (code == 0 && kept == NULL) code = diag_nomem(diag);
    if (code == 0) {
        memcpy(kept, rates.items, rates.n * sizeof *kept);
        acceptance->rates = kept;
        acceptance->n_rates = (int64_t)rates.n;
    }
    real_list_fini(&rates);
    csv_destroy(csv);
    return code;
}

/* --- Tokens per step, by number of drafts --- */

enum { COLUMN_I, COLUMN_VALUE, COLUMN_DATASET, COLUMN_METHOD, COLUMN_STATISTIC, COLUMNS };

/* tokens[i]: per step with i drafts; 0: not stated. */
struct tokens_table {
    double tokens[SPECULATION_MAX_DEPTH + 1];
    int64_t last; /* the most drafts stated */
};

static bool is_text(const struct csv_field *field, const char *text)
{
    return field->n_chars == strlen(text) && memcmp(field->chars, text, field->n_chars) == 0;
}

static bool is_chosen(const struct csv *csv, int at, const char *text)
{
    return at < 0 || text == NULL || is_text(&csv_fields(csv)[at], text);
}

static int read_row(const struct csv *csv, const int *at, struct tokens_table *table, struct diag *diag)
{
    const struct csv_field *fields = csv_fields(csv), *i = &fields[at[COLUMN_I]], *value = &fields[at[COLUMN_VALUE]];
    int64_t drafts;
    double tokens;
    if (number_i64(i->chars, i->n_chars, &drafts) != NUMBER_OK || drafts < 1 || drafts > SPECULATION_MAX_DEPTH)
        return refuse_value(csv, at[COLUMN_I], "a number of drafts from 1 to 32", diag);
    if (number_f64(value->chars, value->n_chars, &tokens) != NUMBER_OK ||
        !(tokens >= 1.0 && tokens <= 1.0 + (double)drafts))
        return refuse_value(csv, at[COLUMN_VALUE], "tokens per step, from 1 to one more than the drafts", diag);
    if (table->tokens[drafts] > 0.0)
        return refuse_value(csv, at[COLUMN_I], "each number of drafts once (choose one with 'dataset' and 'method')",
                            diag);
    table->tokens[drafts] = tokens;
    if (drafts > table->last) table->last = drafts;
    return 0;
}

static int read_table(struct csv *csv, const struct acceptance_config *config, struct tokens_table *table,
                      struct diag *diag)
{
    static const struct csv_column columns[COLUMNS] = {
        {"i", false}, {"value", false}, {"dataset", true}, {"method", true}, {"statistic", true}};
    int at[COLUMNS], code = csv_read_header(csv, columns, COLUMNS, at, diag);
    while (code == 0) {
        const int got = csv_next(csv, diag);
        if (got <= 0) return got;
        code = check_width(csv, at, COLUMNS, diag);
        if (code != 0 || !is_chosen(csv, at[COLUMN_DATASET], config->dataset) ||
            !is_chosen(csv, at[COLUMN_METHOD], config->method) ||
            !is_chosen(csv, at[COLUMN_STATISTIC], "tokens_per_step_with_k_drafts"))
            continue;
        code = read_row(csv, at, table, diag);
    }
    return code;
}

/* The rate r with right_frac (r + r^2 + ... + r^n) = gain. The gain is at most n right_frac. */
static double constant_rate(double right_frac, int64_t n, double gain)
{
    double low = 0.0, high = 1.0;
    for (int step = 0; step < 60; step++) {
        const double rate = 0.5 * (low + high);
        double sum = 0.0, term = right_frac;
        for (int64_t i = 0; i < n; i++) sum += term *= rate;
        if (sum < gain)
            low = rate;
        else
            high = rate;
    }
    return 0.5 * (low + high);
}

static int refuse_table(const char *where, const char *path, int64_t drafts, struct diag *diag)
{
    return diag_error(diag, SIM_E_DATA, where, "each further draft must bring tokens, and no more than the one before",
                      "'%s': tokens per step with %lld drafts do not follow from those with fewer", path,
                      (long long)drafts);
}

/* The mean tokens of a step with k drafts are the sum of right_frac[0] .. right_frac[k]. */
static int fill(struct acceptance *acceptance, const struct tokens_table *table, const char *where, const char *path,
                struct diag *diag)
{
    const double nearly = 1e-9;
    const double *right = acceptance->right_frac;
    double tokens = 1.0, rate = 0.0;
    int64_t before = 0;
    acceptance_set_right(acceptance, 0, 1.0);
    for (int64_t i = 1; i <= table->last; i++) {
        if (table->tokens[i] <= 0.0) continue;
        const double gain = table->tokens[i] - tokens;
        const double most = (double)(i - before) * right[before];
        if (gain < 0.0 || gain > most + nearly) return refuse_table(where, path, i, diag);
        rate = right[before] > 0.0 ? constant_rate(right[before], i - before, fmin(gain, most)) : 0.0;
        for (int64_t j = before + 1; j <= i; j++) acceptance_set_right(acceptance, j, right[j - 1] * rate);
        before = i;
        tokens = table->tokens[i];
    }
    for (int64_t j = before + 1; j <= SPECULATION_MAX_DEPTH; j++)
        acceptance_set_right(acceptance, j, right[j - 1] * rate);
    return 0;
}

static int build_table(const struct acceptance_config *config, const char *where, struct acceptance *acceptance,
                       struct diag *diag)
{
    struct tokens_table table = {.last = 0};
    struct csv *csv = NULL;
    int code = open_csv(config->table, &csv, diag);
    if (code == 0) code = read_table(csv, config, &table, diag);
    csv_destroy(csv);
    if (code != 0) return code;
    if (table.last == 0)
        return diag_error(diag, SIM_E_DATA, where, "look at 'dataset' and 'method', and at the file's column statistic",
                          "'%s' has no tokens per step for this choice", config->table);
    return fill(acceptance, &table, where, config->table, diag);
}

/* --- Rates by rank --- */

enum { RANK_DEPTH, RANK_RANK, RANK_RATE, RANK_DATASET, RANK_METHOD, RANK_COLUMNS };

static int read_rank(const struct csv *csv, const int *at, double *rates, struct diag *diag)
{
    const struct csv_field *fields = csv_fields(csv);
    const struct csv_field *d = &fields[at[RANK_DEPTH]], *r = &fields[at[RANK_RANK]], *p = &fields[at[RANK_RATE]];
    int64_t depth, rank;
    double rate;
    if (number_i64(d->chars, d->n_chars, &depth) != NUMBER_OK || depth < 1 || depth > DRAFT_MAX_DEPTH)
        return refuse_value(csv, at[RANK_DEPTH], "a depth from 1 to 32", diag);
    if (number_i64(r->chars, r->n_chars, &rank) != NUMBER_OK || rank < 1 || rank > DRAFT_MAX_RANK)
        return refuse_value(csv, at[RANK_RANK], "a rank from 1 to 64", diag);
    if (number_f64(p->chars, p->n_chars, &rate) != NUMBER_OK || !(rate >= 0.0 && rate <= 1.0))
        return refuse_value(csv, at[RANK_RATE], "a rate from 0 to 1", diag);
    double *of = &rates[(depth - 1) * DRAFT_MAX_RANK + rank - 1];
    if (*of >= 0.0)
        return refuse_value(csv, at[RANK_RANK], "each depth and rank once (choose with 'dataset' and 'method')", diag);
    *of = rate;
    return 0;
}

static int read_ranks(struct csv *csv, const struct acceptance_config *config, double *rates, struct diag *diag)
{
    static const struct csv_column columns[RANK_COLUMNS] = {
        {"depth", false}, {"rank", false}, {"rate", false}, {"dataset", true}, {"method", true}};
    int at[RANK_COLUMNS], code = csv_read_header(csv, columns, RANK_COLUMNS, at, diag);
    while (code == 0) {
        const int got = csv_next(csv, diag);
        if (got <= 0) return got;
        code = check_width(csv, at, RANK_COLUMNS, diag);
        if (code == 0 && is_chosen(csv, at[RANK_DATASET], config->dataset) &&
            is_chosen(csv, at[RANK_METHOD], config->method))
            code = read_rank(csv, at, rates, diag);
    }
    return code;
}

/* Candidates are ranked by how likely they are, and one of them at most is right. */
static int check_ranks(const struct draft_rates *ranks, int32_t depth, const char *where, const char *what,
                       const char *hint, struct diag *diag)
{
    const double nearly = 1e-9;
    const double *of = ranks->of[depth - 1];
    double sum = of[0];
    for (int32_t rank = 2; rank <= DRAFT_MAX_RANK; rank++) {
        if (of[rank - 1] > of[rank - 2] + nearly)
            return diag_error(
                diag, SIM_E_DATA, where, hint,
                "%s: at depth %d a candidate of rank %d is right more often (%g) than one of rank %d (%g)", what, depth,
                rank, of[rank - 1], rank - 1, of[rank - 2]);
        sum += of[rank - 1];
    }
    if (sum <= 1.0 + nearly) return 0;
    return diag_error(diag, SIM_E_DATA, where, "one candidate at most is right",
                      "%s: the rates at depth %d sum to %g, more than 1", what, depth, sum);
}

/* Returns the ranks of a depth, none of which is left out, or a negative code. */
static int count_ranks(const double *of, int32_t depth, const char *where, const char *path, struct diag *diag)
{
    int n = 0;
    while (n < DRAFT_MAX_RANK && of[n] >= 0.0) n++;
    for (int rank = n + 2; rank <= DRAFT_MAX_RANK; rank++)
        if (of[rank - 1] >= 0.0)
            return diag_error(diag, SIM_E_DATA, where, "give all ranks from 1 on",
                              "'%s': depth %d has rank %d, but no rank %d", path, depth, rank, rank - 1);
    return n;
}

static int keep_ranks(const double *rates, const char *where, const char *path, struct draft_rates *ranks,
                      struct diag *diag)
{
    ranks->depths = 0;
    for (int32_t depth = 1; depth <= DRAFT_MAX_DEPTH; depth++) {
        const double *of = &rates[(depth - 1) * DRAFT_MAX_RANK];
        const int n = count_ranks(of, depth, where, path, diag);
        if (n < 0) return n;
        if (n == 0) continue;
        if (depth > ranks->depths + 1)
            return diag_error(diag, SIM_E_DATA, where, "give all depths from 1 on",
                              "'%s' has a depth %d, but no depth %d", path, depth, ranks->depths + 1);
        ranks->depths = depth;
        for (int32_t rank = 0; rank < DRAFT_MAX_RANK; rank++) ranks->of[depth - 1][rank] = fmax(of[rank], 0.0);
        const int code = check_ranks(ranks, depth, where, path, "rates must not rise with the rank", diag);
        if (code != 0) return code;
    }
    if (ranks->depths > 0) return 0;
    return diag_error(diag, SIM_E_DATA, where, "look at 'dataset' and 'method'",
                      "'%s' has no rates of a first candidate for this choice", path);
}

static struct draft_rates *new_ranks(struct arena *arena, struct acceptance *acceptance)
{
    struct draft_rates *ranks = arena_alloc(arena, sizeof *ranks);
    if (ranks != NULL) memset(ranks, 0, sizeof *ranks);
    acceptance->ranks = ranks;
    return ranks;
}

static int build_ranks(const struct acceptance_config *config, const char *where, struct arena *arena,
                       struct acceptance *acceptance, struct diag *diag)
{
    static const double not_stated = -1.0;
    double rates[DRAFT_MAX_DEPTH * DRAFT_MAX_RANK], best[DRAFT_MAX_DEPTH];
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) rates[i] = not_stated;
    struct draft_rates *ranks = new_ranks(arena, acceptance);
    if (ranks == NULL) return diag_nomem(diag);
    struct csv *csv = NULL;
    int code = open_csv(config->ranks, &csv, diag);
    if (code == 0) code = read_ranks(csv, config, rates, diag);
    csv_destroy(csv);
    if (code == 0) code = keep_ranks(rates, where, config->ranks, ranks, diag);
    if (code != 0) return code;
    for (int32_t depth = 1; depth <= ranks->depths; depth++) best[depth - 1] = draft_rate(ranks, depth, 1);
    acceptance_from_rates(acceptance, best, ranks->depths);
    return 0;
}

/* The largest power, in thousandths, with which a second candidate is right no more often than the first:
 * (1 - first) (1 - 2^-power) <= first. Only for first below 1/2. */
static double most_power(double first)
{
    return floor(1000.0 * log2((1.0 - first) / (1.0 - 2.0 * first))) / 1000.0;
}

/* Says which powers all depths allow. The key's range begins at RANK_POWER_LEAST. */
static void hint_power(const struct draft_rates *ranks, int first_item, struct diag *diag)
{
    double least = (double)INFINITY;
    int32_t at = 1;
    for (int32_t depth = 1; depth <= ranks->depths; depth++) {
        const double first = draft_rate(ranks, depth, 1);
        if (!(first > 0.0 && first < 0.5) || most_power(first) >= least) continue;
        least = most_power(first);
        at = depth;
    }
    if (least >= RANK_POWER_LEAST)
        diag_add_hint(diag, first_item, "lower rank_power: at depth %d at most %g", at, least);
    else
        diag_add_hint(
            diag, first_item,
            "leave rank_power out, or give 'ranks': at depth %d the best candidate is right too rarely (%g) for "
            "any power",
            at, draft_rate(ranks, at, 1));
}

/* The acceptance of chains gives the rates of the best candidates. */
static int add_power(const struct acceptance_config *config, const char *where, struct arena *arena,
                     struct acceptance *acceptance, struct diag *diag)
{
    struct draft_rates *ranks = new_ranks(arena, acceptance);
    if (ranks == NULL) return diag_nomem(diag);
    const double *right = acceptance->right_frac, *given = config->rates.items;
    const int first_item = diag != NULL ? diag->n_items : 0;
    int code = 0;
    ranks->depths = config->table != NULL ? DRAFT_MAX_DEPTH : (int32_t)config->rates.n;
    for (int32_t depth = 1; depth <= ranks->depths; depth++) {
        const double from_table = right[depth - 1] > 0.0 ? right[depth] / right[depth - 1] : 0.0;
        draft_rates_by_power(ranks, depth, config->table != NULL ? from_table : given[depth - 1], config->rank_power);
    }
    for (int32_t depth = 1; depth <= ranks->depths && code == 0; depth++)
        code = check_ranks(ranks, depth, where, "'rank_power' and the rates", NULL, diag);
    if (code != 0) hint_power(ranks, first_item, diag);
    return code;
}

/* --- All laws --- */

static bool has_power(const struct acceptance_config *config)
{
    return config->rank_power > 0.0; /* NAN, and 0: not given */
}

static int check_keys(const struct acceptance_config *config, const char *where, struct diag *diag)
{
    const bool is_file = config->table != NULL || config->ranks != NULL;
    const int laws = (config->rates.n > 0) + (config->table != NULL) + (config->request_rates != NULL) +
                     (config->ranks != NULL);
    if (laws != 1)
        return diag_error(diag, SIM_E_CONFIG, where, "give one of them, such as \"rates\": [0.7]",
                          laws == 0 ? "acceptance needs 'rates', a 'table' or 'request_rates'"
                                    : "'rates', 'table', 'request_rates' and 'ranks' exclude each other");
    if (!is_file && (config->dataset != NULL || config->method != NULL))
        return diag_error(diag, SIM_E_CONFIG, where, "leave them out, or give a 'table' or 'ranks'",
                          "'dataset' and 'method' choose rows of a 'table' or of 'ranks'");
    if (has_power(config) && (config->ranks != NULL || config->request_rates != NULL))
        return diag_error(diag, SIM_E_CONFIG, where, "leave it out, or give 'rates' or a 'table'",
                          "'rank_power' adds candidates to 'rates' or a 'table', not to '%s'",
                          config->ranks != NULL ? "ranks" : "request_rates");
    return 0;
}

int acceptance_build(const struct acceptance_config *config, const char *where, struct arena *arena,
                     struct acceptance *acceptance, struct diag *diag)
{
    *acceptance = (struct acceptance){.rates = NULL};
    int code = check_keys(config, where, diag);
    if (code != 0) return code;
    if (config->request_rates != NULL) return build_request_rates(config, where, arena, acceptance, diag);
    if (config->ranks != NULL) return build_ranks(config, where, arena, acceptance, diag);
    if (config->table != NULL)
        code = build_table(config, where, acceptance, diag);
    else
        acceptance_from_rates(acceptance, config->rates.items, (int64_t)config->rates.n);
    return code == 0 && has_power(config) ? add_power(config, where, arena, acceptance, diag) : code;
}
