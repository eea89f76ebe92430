#include "analysis/calibrate/fit.h"

#include "sim/core/rng.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_qrng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

/* Residuals beyond this count linearly, not squared (3 %). */
static const double f_scale = 0.03;

/* Starting points lie within this factor of the initial values. */
static const double start_spread = 3.0;

enum { MAX_ROWS = 5000, STARTS = 5, IDLE_STEPS = 3 };

/* How far to walk down: a step that lowers the cost by less than this part is idle. */
struct effort {
    size_t max_rows;
    int max_steps;
    double idle_part;
};

static const struct effort screening = {400, 40, 3e-3}, finishing = {MAX_ROWS, 200, 1e-5};

struct fit {
    const struct fit_model *model;
    const struct profile_row **rows;
    size_t n_rows;
    size_t free_params[KERNEL_MAX_PARAMS]; /* the parameters that are fitted, not tried */
    size_t n_free;
    union kernel_params params; /* with what is tried at the moment */
    double cost;                /* of params */
};

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

/* --- parameters as unbounded numbers: log(p) runs over its bounds as the logistic function of u --- */

static double to_unbounded(const struct kernel_param *param, double value)
{
    const double margin = 1e-3;
    double place = (log(value) - log(param->low)) / (log(param->high) - log(param->low));
    if (place < margin) place = margin;
    if (place > 1.0 - margin) place = 1.0 - margin;
    return log(place / (1.0 - place));
}

static double from_unbounded(const struct kernel_param *param, double u)
{
    const double place = 1.0 / (1.0 + exp(-u));
    return exp(log(param->low) + (log(param->high) - log(param->low)) * place);
}

static void set_free_params(const struct fit *fit, const gsl_vector *u, union kernel_params *params)
{
    *params = fit->params;
    for (size_t i = 0; i < fit->n_free; i++) {
        const size_t at = fit->free_params[i];
        params->values[at] = from_unbounded(&fit->model->params[at], gsl_vector_get(u, i));
    }
}

/* --- residuals --- */

double fit_soft_l1_root(double residual)
{
    const double z = residual / f_scale;
    const double root = f_scale * sqrt(2.0 * z * z / (sqrt(1.0 + z * z) + 1.0));
    return residual < 0.0 ? -root : root;
}

static int residuals(const gsl_vector *u, void *context, gsl_vector *out)
{
    const struct fit *fit = context;
    union kernel_params params;
    set_free_params(fit, u, &params);
    for (size_t i = 0; i < fit->n_rows; i++) {
        const double log_ratio = log(fit->model->seconds(&params, fit->rows[i]) / fit->rows[i]->measured_s);
        if (!isfinite(log_ratio)) return GSL_EDOM;
        gsl_vector_set(out, i, fit_soft_l1_root(log_ratio));
    }
    return GSL_SUCCESS;
}

/* --- one descent --- */

static void set_start(const struct fit *fit, gsl_vector *start)
{
    for (size_t i = 0; i < fit->n_free; i++) {
        const size_t at = fit->free_params[i];
        gsl_vector_set(start, i, to_unbounded(&fit->model->params[at], fit->params.values[at]));
    }
}

static double cost_of(const gsl_multifit_nlinear_workspace *work)
{
    double cost = 0.0;
    const gsl_vector *left = gsl_multifit_nlinear_residual(work);
    gsl_blas_ddot(left, left, &cost);
    return cost;
}

/* Steps until the cost no longer falls by a noticeable part in some steps on end. Parameters at their bounds go on
 * drifting outwards without effect, so that the place is no criterion. */
static double iterate(gsl_multifit_nlinear_workspace *work, const struct effort *effort)
{
    double cost = cost_of(work);
    for (int i = 0, idle = 0; i < effort->max_steps && idle < IDLE_STEPS; i++) {
        if (gsl_multifit_nlinear_iterate(work) != GSL_SUCCESS) break;
        const double next = cost_of(work);
        idle = cost - next < effort->idle_part * cost ? idle + 1 : 0;
        cost = next;
    }
    return cost;
}

/* Walks down from fit->params over the first effort->max_rows rows; leaves the end in fit->params and fit->cost, which
 * is infinite where the model has no value. Returns 0 or SIM_E_NOMEM. */
static int descend(struct fit *fit, const struct effort *effort)
{
    const size_t n_rows = fit->n_rows < effort->max_rows ? fit->n_rows : effort->max_rows;
    struct fit part = *fit;
    part.n_rows = n_rows;
    const gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf function = {.f = residuals, .n = n_rows, .p = part.n_free, .params = &part};
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, n_rows,
                                                                      part.n_free);
    gsl_vector *start = gsl_vector_alloc(part.n_free);
    const bool ok = work != NULL && start != NULL;
    fit->cost = (double)INFINITY;
    if (ok) set_start(&part, start);
    if (ok && gsl_multifit_nlinear_init(start, &function, work) == GSL_SUCCESS) {
        fit->cost = iterate(work, effort);
        set_free_params(&part, gsl_multifit_nlinear_position(work), &fit->params);
    }
    if (start != NULL) gsl_vector_free(start);
    if (work != NULL) gsl_multifit_nlinear_free(work);
    return ok ? 0 : SIM_E_NOMEM;
}

/* --- many starts --- */

/* Starting point 0 is `first`, 1 the initial values, the others lie around these in a quasi-random sequence. What
 * is tried stays as it is in *params. */
static void choose_start(const struct fit *fit, const union kernel_params *first, int start, gsl_qrng *sequence,
                         union kernel_params *params)
{
    double places[KERNEL_MAX_PARAMS];
    if (start > 1) gsl_qrng_get(sequence, places);
    for (size_t i = 0; i < fit->n_free; i++) {
        const size_t at = fit->free_params[i];
        if (start == 0) params->values[at] = first->values[at];
        if (start >= 1) params->values[at] = fit->model->params[at].initial;
        if (start > 1) params->values[at] *= pow(start_spread, 2.0 * places[i] - 1.0);
    }
}

static bool is_tried(const struct kernel_param *param)
{
    return param->unit == PARAM_SWITCH || param->unit == PARAM_POWER;
}

static double first_choice(const struct kernel_param *param)
{
    return param->unit == PARAM_SWITCH ? 0.0 : param->low;
}

/* Sets the tried parameters to the next combination of their values; false, and to the first, after the last. */
static bool next_choice(const struct fit_model *model, union kernel_params *params)
{
    for (size_t i = 0; i < model->n_params; i++) {
        const struct kernel_param *param = &model->params[i];
        if (!is_tried(param)) continue;
        const double next = param->unit == PARAM_SWITCH ? params->values[i] + 1.0 : params->values[i] * 2.0;
        if (next <= param->high) {
            params->values[i] = next;
            return true;
        }
        params->values[i] = first_choice(param);
    }
    return false;
}

/* Descends over a few rows from every starting point, with fit->params as they are where they are tried; *best gets the
 * best end if it is better. */
static int screen(const struct fit *fit, const union kernel_params *first, struct fit *best)
{
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)fit->n_free);
    if (sequence == NULL) return SIM_E_NOMEM;
    int status = 0;
    for (int i = 0; status == 0 && i < STARTS; i++) {
        struct fit attempt = *fit;
        choose_start(fit, first, i, sequence, &attempt.params);
        status = descend(&attempt, &screening);
        if (attempt.cost < best->cost) *best = attempt;
    }
    gsl_qrng_free(sequence);
    return status;
}

/* Screens every combination of what is tried, and descends over all rows from the best end. */
static int search(struct fit *fit, const union kernel_params *first)
{
    struct fit choice = *fit, best = *fit;
    best.cost = (double)INFINITY;
    for (size_t i = 0; i < fit->model->n_params; i++)
        if (is_tried(&fit->model->params[i])) choice.params.values[i] = first_choice(&fit->model->params[i]);
    do {
        const int status = screen(&choice, first, &best);
        if (status < 0) return status;
    } while (next_choice(fit->model, &choice.params));
    *fit = best;
    return isfinite(best.cost) ? descend(fit, &finishing) : 0;
}

/* --- which rows --- */

/* The class's rows that are not held out; when there are more than MAX_ROWS, so many of them at random. Their order is
 * random, so that the first few are a sample. */
static void choose_rows(struct fit *fit, const struct profile_row *rows, size_t n, const bool *held_out)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].call.class != fit->model->class || (held_out != NULL && held_out[rows[i].group])) continue;
        fit->rows[fit->n_rows++] = &rows[i];
    }
    struct rng rng;
    rng_init(&rng, 0, 0, "calibrate", 0);
    for (size_t i = 0; i < fit->n_rows && i < MAX_ROWS; i++) {
        const size_t other = i + (size_t)rng_below(&rng, fit->n_rows - i);
        const struct profile_row *swapped = fit->rows[i];
        fit->rows[i] = fit->rows[other];
        fit->rows[other] = swapped;
    }
    if (fit->n_rows > MAX_ROWS) fit->n_rows = MAX_ROWS;
}

/* Whether some row takes another time at a bound of a parameter than at its initial value. */
static bool has_influence(const struct fit *fit, size_t param)
{
    const struct fit_model *model = fit->model;
    const union kernel_params initial = fit_model_initial(model);
    union kernel_params low = initial, high = initial;
    low.values[param] = model->params[param].low;
    high.values[param] = model->params[param].high;
    for (size_t i = 0; i < fit->n_rows; i++) {
        const double seconds = model->seconds(&initial, fit->rows[i]);
        if (seconds != model->seconds(&low, fit->rows[i]) || seconds != model->seconds(&high, fit->rows[i]))
            return true;
    }
    return false;
}

/* How much the rows' times change with a parameter, around the initial values. */
static double influence_of(const struct fit *fit, size_t param)
{
    const struct fit_model *model = fit->model;
    const union kernel_params initial = fit_model_initial(model);
    union kernel_params moved = initial;
    moved.values[param] *= 1.01;
    double influence = 0.0;
    for (size_t i = 0; i < fit->n_rows; i++)
        influence += fabs(log(model->seconds(&moved, fit->rows[i]) / model->seconds(&initial, fit->rows[i])));
    return influence;
}

/* Keeps the parameter with the least influence at its initial value. */
static void give_up_one(struct fit *fit)
{
    size_t least = 0;
    for (size_t i = 1; i < fit->n_free; i++)
        if (influence_of(fit, fit->free_params[i]) < influence_of(fit, fit->free_params[least])) least = i;
    const size_t given_up = fit->free_params[least];
    fit->params.values[given_up] = fit->model->params[given_up].initial;
    fit->n_free--;
    for (size_t i = least; i < fit->n_free; i++) fit->free_params[i] = fit->free_params[i + 1];
}

/* A parameter that the rows say nothing about is not fitted and keeps its initial value. When there are not more rows
 * than parameters, half as many parameters are fitted, those with the most influence. */
static void choose_params(struct fit *fit)
{
    for (size_t i = 0; i < fit->model->n_params; i++) {
        const struct kernel_param *param = &fit->model->params[i];
        if (is_tried(param)) continue;
        if (has_influence(fit, i))
            fit->free_params[fit->n_free++] = i;
        else
            fit->params.values[i] = param->initial;
    }
    if (fit->n_rows > fit->n_free) return;
    while (fit->n_free > 1 && fit->n_free > fit->n_rows / 2) give_up_one(fit);
}

int fit_model_to(const struct fit_model *model, const struct profile_row *rows, size_t n, const bool *held_out,
                 union kernel_params *params, struct diag *diag)
{
    struct fit fit = {.model = model, .cost = (double)INFINITY, .params = *params};
    fit.rows = mem_alloc((n + 1) * sizeof *fit.rows);
    if (fit.rows == NULL) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    choose_rows(&fit, rows, n, held_out);
    choose_params(&fit);
    int status = 0;
    if (fit.n_rows == 0) {
        status = diag_error(diag, SIM_E_DATA, NULL, NULL, "there are no rows to fit '%s' to", model->name);
    } else if (search(&fit, params) < 0) {
        status = diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    } else if (!isfinite(fit.cost)) {
        status = diag_error(diag, SIM_E_DATA, NULL, NULL, "no parameters of '%s' give its rows a finite time",
                            model->name);
    }
    mem_free(fit.rows);
    if (status == 0) *params = fit.params;
    return status;
}

int fit_class(enum kernel_class class, const struct profile_row *rows, size_t n, const bool *held_out,
              union kernel_params *params, struct diag *diag)
{
    const struct fit_model model = fit_model_of(class);
    return fit_model_to(&model, rows, n, held_out, params, diag);
}

struct kernel_range fit_range(enum kernel_class class, const struct profile_row *rows, size_t n)
{
    struct kernel_range range = {.fitted = false};
    const size_t n_axes = kernel_class_info(class)->n_axes;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].call.class != class) continue;
        double axes[KERNEL_MAX_AXES] = {0.0};
        kernel_call_axes(&rows[i].call, axes);
        for (size_t j = 0; j < n_axes; j++) {
            if (!range.fitted || axes[j] < range.low[j]) range.low[j] = axes[j];
            if (!range.fitted || axes[j] > range.high[j]) range.high[j] = axes[j];
        }
        range.fitted = true;
    }
    return range;
}

/* --- errors --- */

double fit_row_error(const struct profile_row *row, const union kernel_params *params)
{
    return class_seconds(params, row) / row->measured_s - 1.0;
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

int fit_measure(enum kernel_class class, const struct profile_row *rows, size_t n, const union kernel_params *params,
                double low, double high, struct fit_error *error)
{
    double *errors = mem_alloc((n + 1) * sizeof *errors);
    if (errors == NULL) return SIM_E_NOMEM;
    size_t n_errors = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].call.class != class || rows[i].tokens < low || rows[i].tokens > high) continue;
        errors[n_errors++] = fit_row_error(&rows[i], params);
    }
    *error = fit_error_of(errors, n_errors);
    mem_free(errors);
    return 0;
}
