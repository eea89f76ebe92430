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

/* --- All laws --- */

static int check_keys(const struct acceptance_config *config, const char *where, struct diag *diag)
{
    const int laws = (config->rates.n > 0) + (config->table != NULL) + (config->request_rates != NULL);
    if (laws != 1)
        return diag_error(diag, SIM_E_CONFIG, where, "give one of them, such as \"rates\": [0.7]",
                          laws == 0 ? "acceptance needs 'rates', a 'table' or 'request_rates'"
                                    : "'rates', 'table' and 'request_rates' exclude each other");
    if (config->table == NULL && (config->dataset != NULL || config->method != NULL))
        return diag_error(diag, SIM_E_CONFIG, where, "leave them out, or give a 'table'",
                          "'dataset' and 'method' choose rows of a 'table'");
    return 0;
}

int acceptance_build(const struct acceptance_config *config, const char *where, struct arena *arena,
                     struct acceptance *acceptance, struct diag *diag)
{
    *acceptance = (struct acceptance){.rates = NULL};
    const int code = check_keys(config, where, diag);
    if (code != 0) return code;
    if (config->table != NULL) return build_table(config, where, acceptance, diag);
    if (config->request_rates != NULL) return build_request_rates(config, where, arena, acceptance, diag);
    acceptance_from_rates(acceptance, config->rates.items, (int64_t)config->rates.n);
    return 0;
}
