#include "analysis/calibrate/fit.h"

#include "sim/core/rng.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_qrng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum { MAX_ROWS = 5000 };

/* An engine's parameters enter a fit only where, together, they lower its loss by this share. */
static const double engine_gain_frac = 0.1;

/* --- models --- */

static double class_seconds(const union kernel_params *params, const struct profile_row *row)
{
    return kernel_call_time(params, row->gpu, &row->call).seconds;
}

struct fit_model fit_model_of(enum kernel_class class)
{
    const struct kernel_class_info *info = kernel_class_info(class);
    return (struct fit_model){.class = class, .name = info->name, .params = info->params, .n_params = info->n_params,
                              .seconds = class_seconds};
}

/* A model without the parameters of an engine, which stand last. */
static struct fit_model without_engine(const struct fit_model *model)
{
    struct fit_model plain = *model;
    while (plain.params[plain.n_params - 1].stage == PARAM_OF_ENGINE) plain.n_params--;
    return plain;
}

struct fit_model fit_model_in(enum kernel_class class, const char *set)
{
    const struct fit_model model = fit_model_of(class);
    const bool serves_all = set != NULL && (strcmp(set, "isolated") == 0 || strcmp(set, "in-model") == 0);
    return serves_all ? without_engine(&model) : model;
}

union kernel_params fit_model_initial(const struct fit_model *model)
{
    union kernel_params params = {{0.0}};
    for (size_t i = 0; i < model->n_params; i++) params.values[i] = model->params[i].initial;
    return params;
}

/* --- search: GSL's trust region from many starts, in rounds of growing effort --- */

struct search {
    const struct fit_model *model;
    const struct profile_row **rows; /* [n_rows] in random order: any first few are a sample */
    size_t n_rows;
    size_t free_params[KERNEL_MAX_PARAMS]; /* [n_free] indices of the fitted parameters */
    size_t n_free;
    union kernel_params fixed; /* values of all parameters that are neither fitted nor tried */
    bool tries;                /* try values of switches and powers; else they stay `fixed` */
};

/* Starting points lie within this factor of the initial values. */
static const double start_spread = 3.0;

enum { STARTS = 8, IDLE_STEPS = 4 };

/* Limits of a descent in one round. A step that lowers the cost by less than idle_part is idle. The n_kept best ends
 * continue in the next round. */
struct effort {
    size_t max_rows;
    int max_steps;
    double idle_part;
    size_t n_kept;
};

static const struct effort rounds[] = {{200, 20, 1e-2, 4}, {600, 40, 1e-3, 1}, {SIZE_MAX, 200, 1e-5, 1}};

enum { ROUNDS = sizeof rounds / sizeof *rounds };

struct candidate {
    union kernel_params params;
    double cost;
};

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

static void set_free_params(const struct search *search, const gsl_vector *u, union kernel_params *params)
{
    *params = search->fixed;
    for (size_t i = 0; i < search->n_free; i++) {
        const size_t at = search->free_params[i];
        params->values[at] = from_unbounded(&search->model->params[at], gsl_vector_get(u, i));
    }
}

/* --- residuals --- */

static int residuals(const gsl_vector *u, void *context, gsl_vector *out)
{
    const struct search *search = context;
    union kernel_params params;
    set_free_params(search, u, &params);
    for (size_t i = 0; i < search->n_rows; i++) {
        const double log_ratio = log(search->model->seconds(&params, search->rows[i]) / search->rows[i]->measured_s);
        if (!isfinite(log_ratio)) return GSL_EDOM;
        gsl_vector_set(out, i, fit_soft_l1_root(log_ratio));
    }
    return GSL_SUCCESS;
}

/* --- one descent --- */

/* Sets *start to search->fixed, unbounded. */
static void set_start(const struct search *search, gsl_vector *start)
{
    for (size_t i = 0; i < search->n_free; i++) {
        const size_t at = search->free_params[i];
        gsl_vector_set(start, i, to_unbounded(&search->model->params[at], search->fixed.values[at]));
    }
}

static double cost_of(const gsl_multifit_nlinear_workspace *work)
{
    double cost = 0.0;
    const gsl_vector *left = gsl_multifit_nlinear_residual(work);
    gsl_blas_ddot(left, left, &cost);
    return cost;
}

/* Steps until IDLE_STEPS steps in a row are idle. The position is no criterion: parameters at their bounds keep
 * drifting outwards without effect. */
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

/* Descends from the candidate over the first max_rows rows, and replaces it by the end. Its cost per row is infinite
 * when the model has no finite value. Returns 0 or SIM_E_NOMEM. */
static int descend(const struct search *search, const struct effort *effort, struct candidate *candidate)
{
    struct search part = *search;
    part.fixed = candidate->params;
    part.n_rows = search->n_rows < effort->max_rows ? search->n_rows : effort->max_rows;
    const gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf function = {.f = residuals, .n = part.n_rows, .p = part.n_free, .params = &part};
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, part.n_rows,
                                                                      part.n_free);
    gsl_vector *start = gsl_vector_alloc(part.n_free);
    const bool ok = work != NULL && start != NULL;
    candidate->cost = (double)INFINITY;
    if (ok) set_start(&part, start);
    if (ok && gsl_multifit_nlinear_init(start, &function, work) == GSL_SUCCESS) {
        candidate->cost = iterate(work, effort) / (double)part.n_rows;
        set_free_params(&part, gsl_multifit_nlinear_position(work), &candidate->params);
    }
    if (start != NULL) gsl_vector_free(start);
    if (work != NULL) gsl_multifit_nlinear_free(work);
    return ok ? 0 : SIM_E_NOMEM;
}

/* --- many starts --- */

/* Starting point 0 is `first`, 1 the initial values; the others lie around these in a quasi-random sequence. Tried
 * parameters stay as they are in *params. */
static void choose_start(const struct search *search, const union kernel_params *first, int start, gsl_qrng *sequence,
                         union kernel_params *params)
{
    double places[KERNEL_MAX_PARAMS];
    if (start > 1) gsl_qrng_get(sequence, places);
    for (size_t i = 0; i < search->n_free; i++) {
        const size_t at = search->free_params[i];
        if (start == 0) params->values[at] = first->values[at];
        if (start >= 1) params->values[at] = search->model->params[at].initial;
        if (start > 1) params->values[at] *= pow(start_spread, 2.0 * places[i] - 1.0);
    }
}

/* Whether all values of a parameter are tried, instead of fitting it: switches and powers. */
static bool search_tries(const struct kernel_param *param)
{
    return param->unit == PARAM_SWITCH || param->unit == PARAM_POWER;
}

static double first_choice(const struct kernel_param *param)
{
    return param->unit == PARAM_SWITCH ? 0.0 : param->low;
}

/* Sets the tried parameters to their first values. */
static void first_choices(const struct fit_model *model, union kernel_params *params)
{
    for (size_t i = 0; i < model->n_params; i++)
        if (search_tries(&model->params[i])) params->values[i] = first_choice(&model->params[i]);
}

/* Sets the tried parameters to the next combination of their values. After the last one it returns to the first and is
 * false. */
static bool next_choice(const struct fit_model *model, union kernel_params *params)
{
    for (size_t i = 0; i < model->n_params; i++) {
        const struct kernel_param *param = &model->params[i];
        if (!search_tries(param)) continue;
        const double next = param->unit == PARAM_SWITCH ? params->values[i] + 1.0 : params->values[i] * 2.0;
        if (next <= param->high) {
            params->values[i] = next;
            return true;
        }
        params->values[i] = first_choice(param);
    }
    return false;
}

/* Fills candidates[] with every start of every combination of tried values. Returns their number. */
static size_t choose_starts(const struct search *search, const union kernel_params *first, gsl_qrng *sequence,
                            struct candidate *candidates)
{
    union kernel_params choice = search->fixed;
    size_t n = 0;
    if (search->tries) first_choices(search->model, &choice);
    do {
        gsl_qrng_init(sequence);
        for (int i = 0; i < STARTS; i++) {
            candidates[n].params = choice;
            choose_start(search, first, i, sequence, &candidates[n++].params);
        }
    } while (search->tries && next_choice(search->model, &choice));
    return n;
}

static size_t count_choices(const struct fit_model *model)
{
    size_t n = 1;
    for (size_t i = 0; i < model->n_params; i++) {
        const struct kernel_param *param = &model->params[i];
        if (param->unit == PARAM_SWITCH) n *= 2;
        if (param->unit == PARAM_POWER) n *= 1 + (size_t)lround(log2(param->high / param->low));
    }
    return n;
}

/* Sorts by cost; the order of equals stays. */
static void rank(struct candidate *candidates, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct candidate moved = candidates[i];
        size_t at = i;
        for (; at > 0 && candidates[at - 1].cost > moved.cost; at--) candidates[at] = candidates[at - 1];
        candidates[at] = moved;
    }
}

/* Sets *best and *cost; *cost is infinite when the model has no finite time for its rows. `first` is one of the
 * starting points. Returns 0 or SIM_E_NOMEM. */
static int search_params(const struct search *search, const union kernel_params *first, union kernel_params *best,
                         double *cost)
{
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)search->n_free);
    struct candidate *candidates = mem_alloc(count_choices(search->model) * STARTS * sizeof *candidates);
    int status = sequence != NULL && candidates != NULL ? 0 : SIM_E_NOMEM;
    size_t n = status == 0 ? choose_starts(search, first, sequence, candidates) : 0;
    for (int round = 0; status == 0 && round < ROUNDS; round++) {
        for (size_t i = 0; status == 0 && i < n; i++) status = descend(search, &rounds[round], &candidates[i]);
        rank(candidates, n);
        if (n > rounds[round].n_kept) n = rounds[round].n_kept;
    }
    if (status == 0) {
        *best = candidates[0].params;
        *cost = candidates[0].cost;
    }
    mem_free(candidates);
    if (sequence != NULL) gsl_qrng_free(sequence);
    return status;
}

/* --- choice of rows and parameters --- */

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

/* Copies the class's rows that are not held out to own[n], ready to be timed with many parameters. Returns their
 * number. */
static size_t copy_rows(const struct fit_model *model, const struct profile_row *rows, size_t n, const bool *held_out,
                        struct profile_row *own)
{
    size_t n_own = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].call.class != model->class || (held_out != NULL && held_out[rows[i].group])) continue;
        own[n_own] = rows[i];
        kernel_call_prepare(&own[n_own++].call);
    }
    return n_own;
}

/* The rows that depend on late parameters, or the others: at most MAX_ROWS, for speed. They are in random order, so
 * that the first few are a sample. Rows of one kind do not change the sample of the other. */
static void choose_rows(struct search *search, const struct profile_row *rows, size_t n, bool late)
{
    const union kernel_params initial = fit_model_initial(search->model);
    search->n_rows = 0;
    for (size_t i = 0; i < n; i++)
        if (is_late_row(search->model, &initial, &rows[i]) == late) search->rows[search->n_rows++] = &rows[i];
    struct rng rng;
    rng_init(&rng, 0, 0, "calibrate", 0);
    for (size_t i = 0; i < search->n_rows; i++) {
        const size_t other = i + (size_t)rng_below(&rng, search->n_rows - i);
        const struct profile_row *swapped = search->rows[i];
        search->rows[i] = search->rows[other];
        search->rows[other] = swapped;
    }
    if (search->n_rows > MAX_ROWS) search->n_rows = MAX_ROWS;
}

static bool has_influence_beside(const struct search *search, const union kernel_params *params, size_t param)
{
    for (size_t i = 0; i < search->n_rows; i++)
        if (depends_on(search->model, params, search->rows[i], param)) return true;
    return false;
}

/* Whether a parameter changes a time, beside the initial values of the others and some of the tried ones. */
static bool has_influence(const struct search *search, size_t param)
{
    union kernel_params initial = fit_model_initial(search->model);
    if (has_influence_beside(search, &initial, param)) return true;
    first_choices(search->model, &initial);
    do {
        if (has_influence_beside(search, &initial, param)) return true;
    } while (next_choice(search->model, &initial));
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

/* Free parameters that change no time beside the tried values that were chosen get their default. */
static void give_up_idle(const struct search *search, union kernel_params *params)
{
    union kernel_params initial = fit_model_initial(search->model);
    if (!search->tries) return;
    for (size_t i = 0; i < search->model->n_params; i++)
        if (search_tries(&search->model->params[i])) initial.values[i] = params->values[i];
    for (size_t i = 0; i < search->n_free; i++) {
        const size_t at = search->free_params[i];
        if (has_influence_beside(search, &initial, at)) continue;
        params->values[at] = kernel_param_default(&search->model->params[at]);
    }
}

/* Fits the free parameters, with *params as one starting point. Sets *loss, that of a row on average. */
static int run_search(struct search *search, union kernel_params *params, double *loss, struct diag *diag)
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
    *loss = cost;
    give_up_idle(search, params);
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
    reset_late(search->model, search->n_rows > 0, params);
    if (search->n_rows == 0) return 0;
    search->fixed = *params;
    search->tries = false;
    choose_params(search, true);
    double loss;
    return run_search(search, params, &loss, diag);
}

/* Fits all but the late parameters, then these. *loss is that of the former. */
static int fit_in_turn(const struct fit_model *model, const struct profile_row **chosen, const struct profile_row *rows,
                       size_t n, union kernel_params *params, double *loss, struct diag *diag)
{
    struct search search = {.model = model, .rows = chosen, .fixed = *params, .tries = true};
    choose_rows(&search, rows, n, false);
    choose_params(&search, false);
    const int status = run_search(&search, params, loss, diag);
    if (status != 0) return status;
    choose_rows(&search, rows, n, true);
    return fit_late(&search, params, diag);
}

/* Fits a model without the parameters of an engine, and with them where it has any. Keeps the former, unless the
 * latter lower the loss enough. */
static int fit_both(const struct fit_model *model, const struct profile_row **chosen, const struct profile_row *rows,
                    size_t n, union kernel_params *params, struct diag *diag)
{
    const struct fit_model plain = without_engine(model);
    union kernel_params with = *params;
    for (size_t i = plain.n_params; i < model->n_params; i++)
        params->values[i] = kernel_param_default(&model->params[i]);
    double plain_loss, loss;
    int status = fit_in_turn(&plain, chosen, rows, n, params, &plain_loss, diag);
    if (status != 0 || plain.n_params == model->n_params) return status;
    status = fit_in_turn(model, chosen, rows, n, &with, &loss, diag);
    if (status == 0 && loss <= (1.0 - engine_gain_frac) * plain_loss) *params = with;
    return status;
}

int fit_model_to(const struct fit_model *model, const struct profile_row *rows, size_t n, const bool *held_out,
                 union kernel_params *params, struct diag *diag)
{
    struct profile_row *own = mem_alloc((n + 1) * sizeof *own);
    const struct profile_row **chosen = mem_alloc((n + 1) * sizeof *chosen);
    int status = 0;
    if (own == NULL || chosen == NULL)
        status = diag_nomem(diag);
    else
        status = fit_both(model, chosen, own, copy_rows(model, rows, n, held_out, own), params, diag);
    mem_free(chosen);
    mem_free(own);
    return status;
}

bool fit_is_at_bound(const struct kernel_param *param, double value)
{
    const double margin = 2e-3; /* of the logarithmic distance between the bounds */
    if (search_tries(param) || !(param->low < param->high)) return false;
    if (param->stage == PARAM_OF_ENGINE && value == 0.0) return false;
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
