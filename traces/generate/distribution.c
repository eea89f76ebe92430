#include "traces/generate/distribution.h"

#include <math.h>

/* --- Functions given by points --- */

#define TWO_PI 6.283185307179586
#define SQRT_2 1.4142135623730951

size_t cdf_find(const struct cdf_point *points, size_t n, double frac)
{
    size_t first = 0;
    for (size_t left = n - 1; left > 0;) {
        const size_t half = (left + 1) / 2;
        first = points[first + half - 1].cdf_frac < frac ? first + half : first; /* branch-free: unpredictable */
        left -= half;
    }
    return first;
}

double cdf_quantile(const struct cdf_point *points, size_t n, enum cdf_shape shape, double frac)
{
    size_t i = cdf_find(points, n, frac);
    const struct cdf_point *high = &points[i];
    if (i == 0 || shape == CDF_STEPS) return high->value;
    const struct cdf_point *low = high - 1;
    double share = (frac - low->cdf_frac) / (high->cdf_frac - low->cdf_frac);
    if (shape == CDF_LOG) return low->value * pow(high->value / low->value, share);
    return low->value + share * (high->value - low->value);
}

double normal_draw(struct rng *rng)
{
    double u = rng_uniform(rng), v = rng_uniform(rng);
    return sqrt(-2 * log(u)) * cos(TWO_PI * v);
}

double normal_cdf(double z)
{
    return erfc(-z / SQRT_2) / 2;
}

/* --- Lengths in tokens --- */

int32_t length_draw(const struct length_distribution *distribution, const void *params, struct rng *rng)
{
    double tokens = rint(distribution->draw(params, rng));
    return tokens < 1 ? 1 : tokens > INT32_MAX ? INT32_MAX : (int32_t)tokens;
}

/* --- fixed --- */

struct fixed_params {
    int64_t tokens;
};

static double fixed_draw(const void *params, struct rng *rng)
{
    (void)rng;
    return (double)((const struct fixed_params *)params)->tokens;
}

#define ROW_OF struct fixed_params
static const struct config_field fixed_params[] = {
    ROW_INT("tokens", tokens, REQUIRED, WITHIN(1, INT32_MAX), "tokens of every request"), {0}};
#undef ROW_OF

static const struct length_distribution length_fixed = {.name = "fixed",
                                                 .summary = "a constant",
                                                 .params = fixed_params,
                                                 .params_bytes = sizeof(struct fixed_params),
                                                 .draw = fixed_draw};

/* --- uniform --- */

struct uniform_params {
    int64_t min, max;
};

static double uniform_draw(const void *params, struct rng *rng)
{
    const struct uniform_params *uniform = params;
    return (double)(uniform->min + (int64_t)rng_below(rng, (uint64_t)(uniform->max - uniform->min + 1)));
}

static int uniform_check(const void *params, const char *where, struct diag *diag)
{
    const struct uniform_params *uniform = params;
    if (uniform->min <= uniform->max) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, NULL, "\"min\" must not be above \"max\", got %lld and %lld",
                      (long long)uniform->min, (long long)uniform->max);
}

#define ROW_OF struct uniform_params
static const struct config_field uniform_params[] = {
    ROW_INT("min", min, REQUIRED, WITHIN(1, INT32_MAX), "shortest length in tokens"),
    ROW_INT("max", max, REQUIRED, WITHIN(1, INT32_MAX), "longest length in tokens"),
    {0}};
#undef ROW_OF

static const struct length_distribution length_uniform = {.name = "uniform",
                                                   .summary = "every length from min to max equally likely",
                                                   .params = uniform_params,
                                                   .params_bytes = sizeof(struct uniform_params),
                                                   .check = uniform_check,
                                                   .draw = uniform_draw};

/* --- lognormal --- */

struct lognormal_params {
    double mean_tokens, cv;
    int64_t min, max;
};

/* For a mean m and a CV c: sigma^2 = log(1 + c^2), mu = log m - sigma^2 / 2. Lengths outside [min, max] move to the
 * nearer end. */
static double lognormal_draw(const void *params, struct rng *rng)
{
    const struct lognormal_params *lognormal = params;
    double variance = log1p(lognormal->cv * lognormal->cv);
    double tokens = exp(log(lognormal->mean_tokens) - variance / 2 + sqrt(variance) * normal_draw(rng));
    return fmin(fmax(tokens, (double)lognormal->min), (double)lognormal->max);
}

static int lognormal_check(const void *params, const char *where, struct diag *diag)
{
    const struct lognormal_params *lognormal = params;
    return uniform_check(&(struct uniform_params){lognormal->min, lognormal->max}, where, diag);
}

#define ROW_OF struct lognormal_params
static const struct config_field lognormal_params[] = {
    ROW_REAL("mean", mean_tokens, REQUIRED, WITHIN(1, 1e9), "mean in tokens, before clipping"),
    ROW_REAL("cv", cv, DEFAULT("1"), WITHIN(0, 100), "standard deviation over the mean, before clipping"),
    ROW_INT("min", min, DEFAULT("1"), WITHIN(1, INT32_MAX), "shorter lengths are raised to this"),
    ROW_INT("max", max, DEFAULT("2147483647"), WITHIN(1, INT32_MAX), "longer lengths are reduced to this"),
    {0}};
#undef ROW_OF

static const struct length_distribution length_lognormal = {.name = "lognormal",
                                                     .summary = "log-normal of a given mean and CV",
                                                     .params = lognormal_params,
                                                     .params_bytes = sizeof(struct lognormal_params),
                                                     .check = lognormal_check,
                                                     .draw = lognormal_draw};

/* --- mixture --- */

struct component {
    double weight;
    struct config_variant length;
};

struct mixture_params {
    struct config_list components;
};

static double total_weight(const struct mixture_params *mixture)
{
    const struct component *components = mixture->components.items;
    double total = 0;
    for (size_t i = 0; i < mixture->components.n; i++) total += components[i].weight;
    return total;
}

static double mixture_draw(const void *params, struct rng *rng)
{
    const struct mixture_params *mixture = params;
    const struct component *component = mixture->components.items;
    const struct component *last = component + mixture->components.n - 1;
    double left = rng_uniform(rng) * total_weight(mixture);
    while (component < last && left > component->weight) left -= component++->weight;
    const struct length_distribution *distribution = component->length.entry;
    return distribution->draw(component->length.params, rng);
}

static int mixture_check(const void *params, const char *where, struct diag *diag)
{
    const struct mixture_params *mixture = params;
    const struct component *components = mixture->components.items;
    if (mixture->components.n == 0 || total_weight(mixture) <= 0) {
        return diag_error(diag, SIM_E_CONFIG, where, NULL,
                          "\"components\" must have one or more with a weight above 0");
    }
    for (size_t i = 0; i < mixture->components.n; i++) {
        const struct length_distribution *distribution = components[i].length.entry;
        int code = distribution->check != NULL ? distribution->check(components[i].length.params, where, diag) : 0;
        if (code != 0) return code;
    }
    return 0;
}

#define ROW_OF struct component
static const struct config_field component_fields[] = {
    ROW_REAL("weight", weight, DEFAULT("1"), WITHIN(0, 1e9), "weight of this component, relative to the others"),
    ROW_VARIANT("length", length, REQUIRED, "length", "distribution", "distribution of this component"),
    {0}};
#undef ROW_OF

#define ROW_OF struct mixture_params
static const struct config_field mixture_params[] = {
    ROW_LIST("components", components, REQUIRED, ANY, struct component, component_fields,
             "components, one drawn for each length"),
    {0}};
#undef ROW_OF

static const struct length_distribution length_mixture = {.name = "mixture",
                                                   .summary = "one of several distributions, by weight",
                                                   .params = mixture_params,
                                                   .params_bytes = sizeof(struct mixture_params),
                                                   .check = mixture_check,
                                                   .draw = mixture_draw};

/* --- empirical --- */

/* Rounded up, so that the share of lengths at most that of a point is its cdf. */
static double empirical_draw(const void *params, struct rng *rng)
{
    const struct empirical_params *empirical = params;
    return ceil(cdf_quantile(empirical->points.items, empirical->points.n, CDF_LINEAR, rng_uniform(rng)));
}

static int empirical_check(const void *params, const char *where, struct diag *diag)
{
    const struct config_list *list = &((const struct empirical_params *)params)->points;
    const struct cdf_point *points = list->items;
    bool ok = list->n > 0 && points[list->n - 1].cdf_frac == 1;
    for (size_t i = 1; i < list->n; i++) {
        ok = ok && points[i].value >= points[i - 1].value && points[i].cdf_frac >= points[i - 1].cdf_frac;
    }
    if (ok) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "write \"points\": [{\"tokens\": 1, \"cdf\": 0}, ...]",
                      "\"points\" must rise in tokens and cdf, up to a cdf of 1");
}

#define ROW_OF struct cdf_point
static const struct config_field point_fields[] = {
    ROW_REAL("tokens", value, REQUIRED, WITHIN(1, INT32_MAX), "length in tokens"),
    ROW_REAL("cdf", cdf_frac, REQUIRED, WITHIN(0, 1), "share of the lengths that are at most this long"),
    {0}};
#undef ROW_OF

#define ROW_OF struct empirical_params
static const struct config_field empirical_params[] = {
    ROW_LIST("points", points, REQUIRED, ANY, struct cdf_point, point_fields,
             "points of the distribution function; linear in between"),
    {0}};
#undef ROW_OF

const struct length_distribution length_empirical = {.name = "empirical",
                                                     .summary = "from points of the distribution function",
                                                     .params = empirical_params,
                                                     .params_bytes = sizeof(struct empirical_params),
                                                     .check = empirical_check,
                                                     .draw = empirical_draw};

const struct length_distribution *const length_distributions[] = {&length_fixed,   &length_uniform,   &length_lognormal,
                                                                  &length_mixture, &length_empirical, NULL};
