#include "analysis/replay/errors.h"

#include "analysis/stats/stats.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdbool.h>

static bool is_pair(const double *measured, const double *simulated, size_t i)
{
    return !isnan(measured[i]) && !isnan(simulated[i]);
}

/* The statistics of one side; reorders the values. */
static void describe(double *values, size_t n, double described[REPLAY_STATISTICS])
{
    described[0] = stats_mean(values, n);
    described[1] = stats_select_quantile(values, n, 0.50);
    described[2] = stats_select_quantile(values, n, 0.90);
    described[3] = stats_select_quantile(values, n, 0.99);
}

static int compare_distributions(const double *measured, const double *simulated, size_t n,
                                 struct replay_errors *errors)
{
    static const char *const names[REPLAY_STATISTICS] = {"mean", "p50", "p90", "p99"};
    double sides[2][REPLAY_STATISTICS] = {{0.0}};
    double *values = mem_alloc((n + 1) * sizeof *values);
    if (values == NULL) return SIM_E_NOMEM;
    for (int side = 0; side < 2; side++) {
        size_t kept = 0;
        for (size_t i = 0; i < n; i++)
            if (is_pair(measured, simulated, i)) values[kept++] = side == 0 ? measured[i] : simulated[i];
        describe(values, kept, sides[side]);
        errors->n = kept;
    }
    mem_free(values);
    for (int i = 0; i < REPLAY_STATISTICS; i++)
        errors->statistics[i] = (struct replay_statistic){
            .name = names[i],
            .measured = sides[0][i],
            .simulated = sides[1][i],
            .error_frac = sides[0][i] > 0.0 ? sides[1][i] / sides[0][i] - 1.0 : (double)NAN};
    return 0;
}

/* Inserts the request if it is among the worst; equal errors keep their order. */
static void rank(struct replay_errors *errors, double abs_s[REPLAY_WORST], size_t request, double error_s)
{
    size_t at = errors->n_worst;
    while (at > 0 && abs_s[at - 1] < error_s) at--;
    if (at == REPLAY_WORST) return;
    if (errors->n_worst < REPLAY_WORST) errors->n_worst++;
    for (size_t i = errors->n_worst - 1; i > at; i--) {
        abs_s[i] = abs_s[i - 1];
        errors->worst[i] = errors->worst[i - 1];
    }
    abs_s[at] = error_s;
    errors->worst[at] = request;
}

static void compare_requests(const double *measured, const double *simulated, size_t n, struct replay_errors *errors)
{
    double bias_s = 0.0, sum_s = 0.0, sum_frac = 0.0, abs_s[REPLAY_WORST] = {0.0};
    size_t n_frac = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_pair(measured, simulated, i)) continue;
        const double error_s = simulated[i] - measured[i];
        bias_s += error_s;
        sum_s += fabs(error_s);
        rank(errors, abs_s, i, fabs(error_s));
        if (!(measured[i] > 0.0)) continue;
        sum_frac += fabs(error_s) / measured[i];
        n_frac++;
    }
    errors->bias_s = errors->n > 0 ? bias_s / (double)errors->n : (double)NAN;
    errors->mean_abs_s = errors->n > 0 ? sum_s / (double)errors->n : (double)NAN;
    errors->mean_abs_frac = n_frac > 0 ? sum_frac / (double)n_frac : (double)NAN;
}

int replay_errors(const double *measured, const double *simulated, size_t n, struct replay_errors *errors)
{
    *errors = (struct replay_errors){0};
    const int code = compare_distributions(measured, simulated, n, errors);
    if (code == 0) compare_requests(measured, simulated, n, errors);
    return code;
}
