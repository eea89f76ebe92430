#include "analysis/calibrate/fit.h"

#include "analysis/calibrate/search.h"
#include "sim/core/rng.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

enum { MAX_ROWS = 5000 };

/* --- models --- */

static double class_seconds(const union kernel_params *params, const struct profile_row *row)
{
    return kernel_call_time(params, row->gpu, &row->call).seconds;
}

struct fit_model fit_model_of(enum kernel_class class)
{
    const struct kernel_class_info *info = kernel_class_info(class);
    return (struct fit_model){.class = class,
                              .name = info->name,
                              .params = info->params,
                              .n_params = info->n_params,
                              .seconds = class_seconds};
}

union kernel_params fit_model_initial(const struct fit_model *model)
{
    union kernel_params params = {{0.0}};
    for (size_t i = 0; i < model->n_params; i++) params.values[i] = model->params[i].initial;
    return params;
}

/* --- choice of rows and parameters --- */

/* The class's rows that are not held out, in random order, so that the first few are a sample. */
static void choose_rows(struct search *search, const struct profile_row *rows, size_t n, const bool *held_out)
{
    search->n_rows = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].call.class != search->model->class || (held_out != NULL && held_out[rows[i].group])) continue;
        search->rows[search->n_rows++] = &rows[i];
    }
    struct rng rng;
    rng_init(&rng, 0, 0, "calibrate", 0);
    for (size_t i = 0; i < search->n_rows; i++) {
        const size_t other = i + (size_t)rng_below(&rng, search->n_rows - i);
        const struct profile_row *swapped = search->rows[i];
        search->rows[i] = search->rows[other];
        search->rows[other] = swapped;
    }
}

/* Whether a row's time changes between the start of a parameter's fit and one of its bounds, the other parameters being
 * `params`. */
static bool depends_on(const struct fit_model *model, const union kernel_params *params, const struct profile_row *row,
                       size_t param)
{
    union kernel_params start = *params, low = *params, high = *params;
    start.values[param] = model->params[param].initial;
    low.values[param] = model->params[param].low;
    high.values[param] = model->params[param].high;
    const double seconds = model->seconds(&start, row);
    return seconds != model->seconds(&low, row) || seconds != model->seconds(&high, row);
}

static bool is_late_row(const struct fit_model *model, const union kernel_params *params, const struct profile_row *row)
{
    for (size_t i = 0; i < model->n_params; i++)
        if (model->params[i].stage == PARAM_LATE && depends_on(model, params, row, i)) return true;
    return false;
}

/* Keeps the rows that depend on late parameters, or the others: at most MAX_ROWS, for speed. */
static void keep_rows(struct search *search, bool late)
{
    const union kernel_params initial = fit_model_initial(search->model);
    size_t kept = 0;
    for (size_t i = 0; i < search->n_rows && kept < MAX_ROWS; i++)
        if (is_late_row(search->model, &initial, search->rows[i]) == late) search->rows[kept++] = search->rows[i];
    search->n_rows = kept;
}

static bool has_influence(const struct search *search, size_t param)
{
    const union kernel_params initial = fit_model_initial(search->model);
    for (size_t i = 0; i < search->n_rows; i++)
        if (depends_on(search->model, &initial, search->rows[i], param)) return true;
    return false;
}

/* The sum over rows of |d log(time)| for 1 % more of a parameter, at the initial values. */
static double influence_of(const struct search *search, size_t param)
{
    const struct fit_model *model = search->model;
    const union kernel_params initial = fit_model_initial(model);
    union kernel_params moved = initial;
    moved.values[param] *= 1.01;
    double influence = 0.0;
    for (size_t i = 0; i < search->n_rows; i++)
        influence += fabs(log(model->seconds(&moved, search->rows[i]) / model->seconds(&initial, search->rows[i])));
    return influence;
}

/* Fixes the parameter with the least influence at its default. */
static void give_up_one(struct search *search)
{
    size_t least = 0;
    for (size_t i = 1; i < search->n_free; i++)
        if (influence_of(search, search->free_params[i]) < influence_of(search, search->free_params[least])) least = i;
    const size_t given_up = search->free_params[least];
    search->fixed.values[given_up] = kernel_param_default(&search->model->params[given_up]);
    search->n_free--;
    for (size_t i = least; i < search->n_free; i++) search->free_params[i] = search->free_params[i + 1];
}

/* Parameters without influence on the rows keep their default. Without more rows than parameters, half as many
 * parameters as rows are fitted, those with the most influence. */
static void choose_params(struct search *search, bool late)
{
    search->n_free = 0;
    for (size_t i = 0; i < search->model->n_params; i++) {
        const struct kernel_param *param = &search->model->params[i];
        if (search_tries(param) || (param->stage == PARAM_LATE) != late) continue;
        if (has_influence(search, i))
            search->free_params[search->n_free++] = i;
        else
            search->fixed.values[i] = kernel_param_default(param);
    }
    if (search->n_rows > search->n_free) return;
    while (search->n_free > 1 && search->n_free > search->n_rows / 2) give_up_one(search);
}

/* Fits the free parameters, with *params as one starting point. */
static int run_search(struct search *search, union kernel_params *params, struct diag *diag)
{
    const char *name = search->model->name;
    union kernel_params best;
    double cost = (double)INFINITY;
    if (search->n_rows == 0) return diag_error(diag, SIM_E_DATA, NULL, NULL, "there are no rows to fit '%s' to", name);
    if (search->n_free == 0)
        return diag_error(diag, SIM_E_DATA, NULL, NULL, "no parameter of '%s' has an influence on its rows", name);
    if (search_params(search, params, &best, &cost) < 0) return diag_nomem(diag);
    if (!isfinite(cost))
        return diag_error(diag, SIM_E_DATA, NULL, NULL, "no parameters of '%s' give its rows a finite time", name);
    *params = best;
    return 0;
}

static void reset_late(const struct fit_model *model, bool to_initial, union kernel_params *params)
{
    for (size_t i = 0; i < model->n_params; i++)
        if (model->params[i].stage == PARAM_LATE) params->values[i] = to_initial ? model->params[i].initial : 0.0;
}

/* Fits the late parameters to the rows that depend on them, all others being fixed. Without such rows they are 0. */
static int fit_late(struct search *search, union kernel_params *params, struct diag *diag)
{
    keep_rows(search, true);
    reset_late(search->model, search->n_rows > 0, params);
    if (search->n_rows == 0) return 0;
    search->fixed = *params;
    search->tries = false;
    choose_params(search, true);
    return run_search(search, params, diag);
}

int fit_model_to(const struct fit_model *model, const struct profile_row *rows, size_t n, const bool *held_out,
                 union kernel_params *params, struct diag *diag)
{
    struct search search = {.model = model, .fixed = *params, .tries = true};
    search.rows = mem_alloc((n + 1) * sizeof *search.rows);
    if (search.rows == NULL) return diag_nomem(diag);
    choose_rows(&search, rows, n, held_out);
    keep_rows(&search, false);
    choose_params(&search, false);
    int status = run_search(&search, params, diag);
    if (status == 0) {
        choose_rows(&search, rows, n, held_out);
        status = fit_late(&search, params, diag);
    }
    mem_free(search.rows);
    return status;
}

bool fit_is_at_bound(const struct kernel_param *param, double value)
{
    const double margin = 2e-3; /* of the logarithmic distance between the bounds */
    if (search_tries(param)) return false;
    const double place = log(value / param->low) / log(param->high / param->low);
    return place <= margin || place >= 1.0 - margin;
}

struct kernel_range fit_range(enum kernel_class class, const struct profile_row *rows, size_t n)
{
    struct kernel_range range = {.fitted = false};
    for (size_t i = 0; i < n; i++)
        if (rows[i].call.class == class) kernel_range_add(&range, &rows[i].call);
    return range;
}

/* --- errors --- */

double fit_soft_l1_root(double residual)
{
    const double scale = 0.03, z = residual / scale;
    const double root = scale * sqrt(2.0 * z * z / (sqrt(1.0 + z * z) + 1.0));
    return residual < 0.0 ? -root : root;
}

struct fit_error fit_error_of(double *errors, size_t n)
{
    struct fit_error error = {.rows = (int64_t)n};
    if (n == 0) return error;
    gsl_sort(errors, 1, n);
    error.bias = gsl_stats_median_from_sorted_data(errors, 1, n);
    for (size_t i = 0; i < n; i++) errors[i] = fabs(errors[i]);
    gsl_sort(errors, 1, n);
    error.median = gsl_stats_median_from_sorted_data(errors, 1, n);
    error.p90 = gsl_stats_quantile_from_sorted_data(errors, 1, n, 0.9);
    error.worst = errors[n - 1];
    return error;
}
