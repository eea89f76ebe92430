/* The parameters with the least loss: GSL's trust region from many starts, in rounds of growing effort. */
#include "analysis/calibrate/search.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_qrng.h>
#include <math.h>

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

bool search_tries(const struct kernel_param *param)
{
    return param->unit == PARAM_SWITCH || param->unit == PARAM_POWER;
}

static double first_choice(const struct kernel_param *param)
{
    return param->unit == PARAM_SWITCH ? 0.0 : param->low;
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
    for (size_t i = 0; search->tries && i < search->model->n_params; i++)
        if (search_tries(&search->model->params[i])) choice.values[i] = first_choice(&search->model->params[i]);
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

int search_params(const struct search *search, const union kernel_params *first, union kernel_params *best,
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
