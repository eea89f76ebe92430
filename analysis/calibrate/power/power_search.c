#include "analysis/calibrate/power/power_search.h"

#include "sim/core/err.h"

#include <gsl/gsl_multimin.h>
#include <math.h>

enum { STEPS = 4000, STARTS = 5, RESTARTS = 3 };

static const double step = 0.7, tolerance = 1e-6;

/* The value at z: its logarithm runs between those of the bounds as the logistic function of z. */
static double value_at(const struct kernel_param *param, double z)
{
    return param->low * pow(param->high / param->low, 1.0 / (1.0 + exp(-z)));
}

static double place_of(const struct kernel_param *param, double value)
{
    const double place = log(value / param->low) / log(param->high / param->low);
    return log(place / (1.0 - place));
}

static void take_values(const struct power_search *search, const gsl_vector *at, double *values)
{
    for (size_t i = 0; i < search->n; i++) values[i] = value_at(&search->params[i], gsl_vector_get(at, i));
}

static double loss_at(const gsl_vector *at, void *context)
{
    const struct power_search *search = context;
    double values[POWER_SEARCH_PARAMS];
    take_values(search, at, values);
    return search->loss(search->context, values);
}

/* Start 0 is the initial values; in the others, parameters are shifted to alternate sides of them. */
static void set_start(const struct power_search *search, int start, gsl_vector *at)
{
    for (size_t i = 0; i < search->n; i++) {
        const double side = (i + (size_t)start) % 2 == 0 ? 1.0 : -1.0, far = start > 2 ? 2.0 : 1.0;
        gsl_vector_set(at, i, place_of(&search->params[i], search->params[i].initial) + (start > 0 ? side * far : 0.0));
    }
}

/* Descends from `at`, RESTARTS times with a fresh simplex. Returns the least loss. */
static double descend(gsl_multimin_fminimizer *simplex, gsl_multimin_function *function, gsl_vector *at,
                      gsl_vector *size)
{
    for (int i = 0; i < RESTARTS; i++) {
        gsl_vector_set_all(size, step);
        gsl_multimin_fminimizer_set(simplex, function, at, size);
        for (int k = 0; k < STEPS; k++) {
            if (gsl_multimin_fminimizer_iterate(simplex) != GSL_SUCCESS) break;
            if (gsl_multimin_fminimizer_size(simplex) < tolerance) break;
        }
        gsl_vector_memcpy(at, simplex->x);
    }
    return simplex->fval;
}

int power_search_run(const struct power_search *search, double *values)
{
    gsl_multimin_fminimizer *simplex = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, search->n);
    gsl_vector *at = gsl_vector_alloc(search->n), *size = gsl_vector_alloc(search->n);
    struct power_search copy = *search;
    gsl_multimin_function function = {loss_at, search->n, &copy};
    double least = (double)INFINITY;
    const int code = simplex != NULL && at != NULL && size != NULL ? 0 : SIM_E_NOMEM;
    for (int start = 0; code == 0 && start < STARTS; start++) {
        set_start(search, start, at);
        const double loss = descend(simplex, &function, at, size);
        if (!(loss < least)) continue;
        least = loss;
        take_values(search, at, values);
    }
    if (simplex != NULL) gsl_multimin_fminimizer_free(simplex);
    if (at != NULL) gsl_vector_free(at);
    if (size != NULL) gsl_vector_free(size);
    return code;
}
