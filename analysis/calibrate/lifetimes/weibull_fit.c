#include "analysis/calibrate/lifetimes/weibull_fit.h"

#include "sim/core/mem.h"

#include <math.h>

static const double least_shape = 0.02, most_shape = 100.0;

double weibull_mean(double shape, double scale)
{
    return scale * tgamma(1.0 + 1.0 / shape);
}

/* --- Likelihood --- */

/* Data as logarithms of ages over the largest one, so that powers neither overflow nor all vanish. */
struct lives {
    size_t n, n_failed;
    double *log_to, *log_from; /* [n]; log_from -INFINITY: observed since it was new */
    const struct observed_life *of;
    double longest, sum_log_failed;
};

static int prepare(struct lives *lives, const struct observed_life *of, size_t n)
{
    double first = (double)NAN;
    bool differ = false;
    *lives = (struct lives){.n = n, .of = of};
    lives->log_to = mem_alloc((n + 1) * sizeof *lives->log_to);
    lives->log_from = mem_alloc((n + 1) * sizeof *lives->log_from);
    if (lives->log_to == NULL || lives->log_from == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) lives->longest = fmax(lives->longest, of[i].to);
    for (size_t i = 0; i < n; i++) {
        lives->log_to[i] = log(of[i].to / lives->longest);
        lives->log_from[i] = log(of[i].from / lives->longest);
        if (!of[i].failed) continue;
        if (lives->n_failed++ == 0) first = of[i].to;
        differ = differ || of[i].to != first;
        lives->sum_log_failed += lives->log_to[i];
    }
    return differ ? 0 : SIM_E_DATA;
}

static void give_back(struct lives *lives)
{
    mem_free(lives->log_to);
    mem_free(lives->log_from);
}

/* Sum of to^k - from^k, in powers of the longest age. */
static double exposure(const struct lives *lives, double shape)
{
    double sum = 0.0;
    for (size_t i = 0; i < lives->n; i++) {
        sum += exp(shape * lives->log_to[i]);
        if (lives->of[i].from > 0.0) sum -= exp(shape * lives->log_from[i]);
    }
    return sum;
}

/* Log-likelihood up to a constant, at the best scale for the shape. */
static double profile_of(const struct lives *lives, double shape)
{
    const double d = (double)lives->n_failed;
    return d * log(shape) - d * log(exposure(lives, shape) / d) + (shape - 1.0) * lives->sum_log_failed;
}

/* The same of shape and scale, by their logarithms; the scale over the longest age. */
static double likelihood(const struct lives *lives, double log_shape, double log_scale)
{
    const double shape = exp(log_shape), d = (double)lives->n_failed;
    return d * (log_shape - shape * log_scale) + (shape - 1.0) * lives->sum_log_failed -
           exposure(lives, shape) * exp(-shape * log_scale);
}

/* --- Maximum --- */

/* The best of a grid over the logarithm of the shape, refined by golden section. */
static int best_shape(const struct lives *lives, double *shape)
{
    enum { STEPS = 24, GOLDEN = 48 };
    const double low = log(least_shape), step = (log(most_shape) - low) / STEPS, ratio = (sqrt(5.0) - 1.0) / 2.0;
    int best = 0;
    double most = -(double)INFINITY;
    for (int i = 0; i <= STEPS; i++) {
        const double value = profile_of(lives, exp(low + i * step));
        if (!(value > most)) continue;
        most = value;
        best = i;
    }
    if (best == 0 || best == STEPS) return SIM_E_DATA;
    double a = low + (best - 1) * step, b = low + (best + 1) * step;
    double x = b - ratio * (b - a), y = a + ratio * (b - a);
    double fx = profile_of(lives, exp(x)), fy = profile_of(lives, exp(y));
    for (int i = 0; i < GOLDEN; i++) {
        if (fx > fy) {
            b = y, y = x, fy = fx, x = b - ratio * (b - a), fx = profile_of(lives, exp(x));
        } else {
            a = x, x = y, fx = fy, y = a + ratio * (b - a), fy = profile_of(lives, exp(y));
        }
    }
    *shape = exp((a + b) / 2.0);
    return 0;
}

static struct weibull_estimate estimate(double log_value, double variance)
{
    const double width = 1.959963984540054 * sqrt(variance);
    return (struct weibull_estimate){exp(log_value), exp(log_value - width), exp(log_value + width)};
}

/* Intervals by the second differences of the likelihood. */
static int find_intervals(const struct lives *lives, double shape, double scale, struct weibull_fit *fit)
{
    const double x = log(shape), y = log(scale), h = 1e-3, middle = likelihood(lives, x, y);
    const double xx = -(likelihood(lives, x + h, y) - 2.0 * middle + likelihood(lives, x - h, y)) / (h * h);
    const double yy = -(likelihood(lives, x, y + h) - 2.0 * middle + likelihood(lives, x, y - h)) / (h * h);
    const double xy = -(likelihood(lives, x + h, y + h) - likelihood(lives, x + h, y - h) -
                        likelihood(lives, x - h, y + h) + likelihood(lives, x - h, y - h)) /
                      (4.0 * h * h);
    const double determinant = xx * yy - xy * xy;
    if (!(determinant > 0.0) || !(xx > 0.0)) return SIM_E_DATA;
    fit->shape = estimate(x, yy / determinant);
    fit->scale = estimate(y + log(lives->longest), xx / determinant);
    /* log mean = y + log Gamma(1 + e^-x), by its slope in x; the information inverted gives the variances */
    const double slope = (lgamma(1.0 + exp(-x - h)) - lgamma(1.0 + exp(-x + h))) / (2.0 * h);
    fit->mean = estimate(y + log(lives->longest) + lgamma(1.0 + exp(-x)),
                         (xx + slope * slope * yy - 2.0 * slope * xy) / determinant);
    return 0;
}

int weibull_fit(const struct observed_life *of, size_t n, struct weibull_fit *fit)
{
    struct lives lives;
    double shape;
    int code = prepare(&lives, of, n);
    *fit = (struct weibull_fit){.units = n, .failures = lives.n_failed};
    if (code == 0) code = best_shape(&lives, &shape);
    if (code == 0) {
        const double scale = pow(exposure(&lives, shape) / (double)lives.n_failed, 1.0 / shape);
        code = find_intervals(&lives, shape, scale, fit);
    }
    give_back(&lives);
    return code;
}

/* --- Unknown dates of deployment --- */

/* A completed unit: what is known of it, or drawn. */
struct complete_unit {
    double lag, life, log_life;
};

static bool is_returned(const struct shipped_unit *unit)
{
    return !isnan(unit->life);
}

/* Lag and life of a unit that was not returned: drawn until they would not have led to a return. */
static void draw_unit(const struct shipped_unit *unit, const struct shipped_fit *law, struct rng *rng,
                      struct complete_unit *complete)
{
    enum { MOST_DRAWS = 100000 };
    for (int i = 0; i < MOST_DRAWS; i++) {
        complete->lag = -law->lag * log(rng_uniform(rng));
        complete->life = law->scale * pow(-log(rng_uniform(rng)), 1.0 / law->shape);
        if (complete->life > unit->window || unit->shipped + complete->lag + complete->life > unit->end) break;
    }
    complete->log_life = log(complete->life);
}

/* Newton's steps for the shape of complete data: d/k + sum log t - d sum t^k log t / sum t^k falls in k. */
static double shape_of_complete(const struct complete_unit *units, size_t n, double shape)
{
    enum { STEPS = 30 };
    double sum_log = 0.0;
    for (size_t i = 0; i < n; i++) sum_log += units[i].log_life;
    const double mean_log = sum_log / (double)n;
    for (int i = 0; i < STEPS; i++) {
        double s0 = 0.0, s1 = 0.0, s2 = 0.0;
        for (size_t u = 0; u < n; u++) {
            const double of_mean = units[u].log_life - mean_log, power = exp(shape * of_mean);
            s0 += power, s1 += power * of_mean, s2 += power * of_mean * of_mean;
        }
        const double value = 1.0 / shape - s1 / s0;
        const double slope = -1.0 / (shape * shape) - (s2 / s0 - s1 / s0 * (s1 / s0));
        const double next = fmin(fmax(shape - value / slope, shape / 3.0), 3.0 * shape);
        const bool is_still = fabs(next - shape) < 1e-9 * shape;
        shape = next;
        if (is_still) break;
    }
    return fmin(fmax(shape, least_shape), most_shape);
}

static void fit_complete(const struct complete_unit *units, size_t n, struct shipped_fit *law)
{
    double sum = 0.0, lag = 0.0;
    law->shape = shape_of_complete(units, n, law->shape);
    for (size_t i = 0; i < n; i++) {
        sum += exp(law->shape * units[i].log_life);
        lag += units[i].lag;
    }
    law->scale = pow(sum / (double)n, 1.0 / law->shape);
    law->lag = lag / (double)n;
}

/* A running mean and sum of squares (Welford, 1962). */
static void add_value(double value, double n, double *mean, double *squares)
{
    const double before = value - *mean;
    *mean += before / n;
    *squares += before * (value - *mean);
}

int shipped_fit(const struct shipped_unit *units, size_t n, int rounds, int burn, struct rng *rng,
                struct shipped_fit *fit)
{
    struct complete_unit *complete = mem_zalloc(n + 1, sizeof *complete);
    struct shipped_fit law = {.units = n, .shape = 1.0};
    if (complete == NULL) return SIM_E_NOMEM;
    double life = 0.0, exposed = 0.0, chain_mean = 0.0;
    for (size_t i = 0; i < n; i++) {
        exposed += is_returned(&units[i]) ? units[i].life
                                          : fmin(units[i].window, fmax(units[i].end - units[i].shipped, 0.0));
        if (!is_returned(&units[i])) continue;
        law.returned++;
        law.lag += units[i].lag;
        life += units[i].life;
        complete[i] = (struct complete_unit){units[i].lag, units[i].life, log(units[i].life)};
    }
    *fit = law;
    const int code = law.returned < 2 || !(life > 0.0) ? SIM_E_DATA : 0;
    law.lag = law.returned > 0 ? fmax(law.lag / (double)law.returned, 1e-9) : 1.0;
    law.scale = law.returned > 0 ? exposed / (double)law.returned : 1.0;
    for (int round = 0; round < rounds && code == 0; round++) {
        for (size_t i = 0; i < n; i++)
            if (!is_returned(&units[i])) draw_unit(&units[i], &law, rng, &complete[i]);
        fit_complete(complete, n, &law);
        if (round < burn) continue;
        const double k = round - burn + 1;
        if (k == 1.0) *fit = (struct shipped_fit){.units = law.units, .returned = law.returned};
        add_value(law.shape, k, &fit->shape, &fit->shape_sd);
        add_value(law.scale, k, &fit->scale, &fit->scale_sd);
        add_value(weibull_mean(law.shape, law.scale), k, &chain_mean, &fit->mean_sd);
        add_value(law.lag, k, &fit->lag, &fit->lag_sd);
    }
    const double n_kept = fmax(rounds - burn - 1, 1);
    fit->mean = weibull_mean(fit->shape, fit->scale);
    fit->shape_sd = sqrt(fit->shape_sd / n_kept);
    fit->scale_sd = sqrt(fit->scale_sd / n_kept);
    fit->mean_sd = sqrt(fit->mean_sd / n_kept);
    fit->lag_sd = sqrt(fit->lag_sd / n_kept);
    mem_free(complete);
    return code;
}
