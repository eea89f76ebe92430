#include "analysis/replay/refit.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_ROUNDS = 24, STEPS = 5, MAX_EVALUATIONS = 300 /* of a descent */ };

static const double inlier = 0.02;      /* larger residuals count by their size, not its square */
static const double grain = 1e-4;       /* of the unit */
static const double difference = 0.4;   /* relative step of the first derivatives; at least of the unit */
static const double idle_part = 1e-3;   /* share of the loss: after a round that gains less, differences are halved */
static const double least_difference = 0.02;
static const double last_step = 0.004; /* shortest step of the pattern, in units */

struct search {
    const struct refit *refit;
    struct refit_result *result;
    double *residuals;         /* [n_residuals], at the result */
    double *slopes[REFIT_MAX]; /* [n_residuals], derivatives of the residuals by each constant in its unit */
    double *trial;             /* [n_residuals] */
};

/* --- The loss --- */

static double soft_l1(double residual)
{
    const double z = residual / inlier;
    return 2.0 * (sqrt(1.0 + z * z) - 1.0);
}

static double weight(double residual)
{
    const double z = residual / inlier;
    return 1.0 / sqrt(1.0 + z * z);
}

static double mean_loss(const double *residuals, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += soft_l1(residuals[i]);
    return sum / (double)n;
}

static int evaluate(const struct search *search, const double *values, double *residuals, double *loss)
{
    const int code = search->refit->residuals(search->refit->context, values, residuals);
    search->result->evaluations++;
    if (code == 0) *loss = mean_loss(residuals, search->refit->n_residuals);
    return code;
}

/* --- A round --- */

static int differentiate(const struct search *search, double part)
{
    const struct refit *refit = search->refit;
    double values[REFIT_MAX], loss;
    for (size_t k = 0; k < refit->n; k++) {
        const double step = part * fmax(search->result->values[k], refit->units[k]);
        memcpy(values, search->result->values, sizeof values);
        values[k] += step;
        const int code = evaluate(search, values, search->slopes[k], &loss);
        if (code != 0) return code;
        for (size_t i = 0; i < refit->n_residuals; i++)
            search->slopes[k][i] = (search->slopes[k][i] - search->residuals[i]) * refit->units[k] / step;
    }
    return 0;
}

/* Sets the weighted normal equations for the constants in their units: a x = b. */
static void set_equations(const struct search *search, double a[REFIT_MAX][REFIT_MAX], double b[REFIT_MAX])
{
    const struct refit *refit = search->refit;
    memset(a, 0, REFIT_MAX * sizeof *a);
    memset(b, 0, REFIT_MAX * sizeof *b);
    for (size_t i = 0; i < refit->n_residuals; i++) {
        const double w = weight(search->residuals[i]);
        double aim = -search->residuals[i];
        for (size_t k = 0; k < refit->n; k++) aim += search->slopes[k][i] * search->result->values[k] / refit->units[k];
        for (size_t k = 0; k < refit->n; k++) {
            b[k] += w * search->slopes[k][i] * aim;
            for (size_t j = 0; j < refit->n; j++) a[k][j] += w * search->slopes[k][i] * search->slopes[j][i];
        }
    }
}

/* Solves the equations of the chosen constants by elimination; others are 0. Returns whether a solution exists. */
static bool solve(const double a[REFIT_MAX][REFIT_MAX], const double b[REFIT_MAX], size_t n, unsigned chosen,
                  double x[REFIT_MAX])
{
    double m[REFIT_MAX][REFIT_MAX + 1];
    size_t at[REFIT_MAX], size = 0;
    for (size_t k = 0; k < n; k++)
        if (chosen >> k & 1) at[size++] = k;
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < size; j++) m[i][j] = a[at[i]][at[j]];
        m[i][size] = b[at[i]];
    }
    for (size_t i = 0; i < size; i++) {
        if (!(m[i][i] > 1e-12 * a[at[i]][at[i]])) return false;
        for (size_t row = 0; row < size; row++) {
            const double factor = row == i ? 0.0 : m[row][i] / m[i][i];
            for (size_t j = i; j <= size; j++) m[row][j] -= factor * m[i][j];
        }
    }
    memset(x, 0, REFIT_MAX * sizeof *x);
    for (size_t i = 0; i < size; i++) x[at[i]] = m[i][size] / m[i][i];
    return true;
}

/* x' a x / 2 - b' x: the loss that the equations predict, up to a constant. */
static double predicted_loss(const double a[REFIT_MAX][REFIT_MAX], const double b[REFIT_MAX], const double x[REFIT_MAX],
                             size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum -= b[i] * x[i];
        for (size_t j = 0; j < n; j++) sum += 0.5 * x[i] * a[i][j] * x[j];
    }
    return sum;
}

/* The best non-negative solution, over all choices of the constants that are not 0. */
static void find_aim(const struct search *search, double aim[REFIT_MAX])
{
    const size_t n = search->refit->n;
    double a[REFIT_MAX][REFIT_MAX], b[REFIT_MAX], x[REFIT_MAX], best = 0.0;
    set_equations(search, a, b);
    memset(aim, 0, REFIT_MAX * sizeof *aim);
    for (unsigned chosen = 1; chosen < 1u << n; chosen++) {
        if (!solve((const double(*)[REFIT_MAX])a, b, n, chosen, x)) continue;
        bool is_allowed = true;
        for (size_t k = 0; k < n; k++) is_allowed &= x[k] >= 0.0;
        const double value = predicted_loss((const double(*)[REFIT_MAX])a, b, x, n);
        if (!is_allowed || !(value < best)) continue;
        best = value;
        memcpy(aim, x, sizeof x);
    }
}

/* Accepts the trial as the best so far. */
static void take_trial(struct search *search, const double *values, double loss)
{
    double *residuals = search->residuals;
    search->residuals = search->trial;
    search->trial = residuals;
    search->result->loss = loss;
    for (size_t k = 0; k < search->refit->n; k++) search->result->values[k] = values[k];
}

/* Moves towards the aim while that lowers the loss. */
static int step_towards(struct search *search, const double aim[REFIT_MAX])
{
    const struct refit *refit = search->refit;
    struct refit_result *result = search->result;
    double values[REFIT_MAX] = {0}, part = 1.0, loss;
    for (int i = 0; i < STEPS; i++, part /= 2.0) {
        for (size_t k = 0; k < refit->n; k++) {
            const double from = result->values[k] / refit->units[k];
            values[k] = nearbyint((from + part * (aim[k] - from)) / grain) * grain * refit->units[k];
        }
        const int code = evaluate(search, values, search->trial, &loss);
        if (code != 0) return code;
        if (!(loss < result->loss)) continue;
        take_trial(search, values, loss);
        return 0;
    }
    return 0;
}

/* --- The search --- */

/* Accepts the constants, in units, if their loss is the lowest so far. */
static int try_at(struct search *search, const double places[REFIT_MAX])
{
    const struct refit *refit = search->refit;
    double values[REFIT_MAX] = {0}, loss;
    for (size_t k = 0; k < refit->n; k++) values[k] = nearbyint(places[k] / grain) * grain * refit->units[k];
    const int code = evaluate(search, values, search->trial, &loss);
    if (code == 0 && loss < search->result->loss) take_trial(search, values, loss);
    return code;
}

/* Starts from the best of all combinations of a few values of each constant. */
static int search_grid(struct search *search)
{
    static const double places[] = {0.0, 1.0, 3.0}; /* in units */
    enum { N_PLACES = sizeof places / sizeof *places };
    const struct refit *refit = search->refit;
    int n_points = 1, code = 0;
    for (size_t k = 0; k < refit->n; k++) n_points *= N_PLACES;
    for (int point = 0; code == 0 && point < n_points; point++) {
        double at[REFIT_MAX] = {0};
        for (int k = 0, rest = point; k < (int)refit->n; k++, rest /= N_PLACES) at[k] = places[rest % N_PLACES];
        code = try_at(search, at);
    }
    return code;
}

/* Starts from the given values. */
static int search_start(struct search *search)
{
    double at[REFIT_MAX] = {0};
    for (size_t k = 0; k < search->refit->n; k++) at[k] = search->refit->start[k] / search->refit->units[k];
    const int code = try_at(search, at);
    search->result->start_loss = search->result->loss;
    return code;
}

/* One step from the best so far: up or down by one constant, or up by one and down by another that may compensate
 * it. A constant that would be negative is 0. */
static int step(struct search *search, size_t up, size_t down, double length)
{
    const struct refit *refit = search->refit;
    double at[REFIT_MAX] = {0};
    for (size_t k = 0; k < refit->n; k++) at[k] = search->result->values[k] / refit->units[k];
    if (up < refit->n) at[up] += length;
    if (down < refit->n && !(at[down] > 0.0)) return 0;
    if (down < refit->n) at[down] = fmax(0.0, at[down] - length);
    return try_at(search, at);
}

/* All steps of one length, each from the best so far. */
static int poll(struct search *search, double length)
{
    const size_t n = search->refit->n;
    int code = 0;
    for (size_t up = 0; up <= n; up++)
        for (size_t down = 0; down <= n; down++)
            if (up != down && code == 0 && search->result->evaluations < MAX_EVALUATIONS)
                code = step(search, up, down, length);
    return code;
}

/* Gauss-Newton rounds while they gain. */
static int take_rounds(struct search *search)
{
    struct refit_result *result = search->result;
    double aim[REFIT_MAX], part = difference;
    int code = 0;
    for (int i = 0; i < MAX_ROUNDS && code == 0 && result->loss > 0.0; i++) {
        const double last = result->loss;
        code = differentiate(search, part);
        if (code != 0) break;
        find_aim(search, aim);
        code = step_towards(search, aim);
        if (!(result->loss < (1.0 - idle_part) * last)) part /= 2.0;
        if (part < least_difference) break;
    }
    return code;
}

/* Pattern steps of decreasing length. */
static int take_steps(struct search *search)
{
    struct refit_result *result = search->result;
    double length = 1.0;
    int code = 0;
    while (code == 0 && result->loss > 0.0 && length >= last_step && result->evaluations < MAX_EVALUATIONS) {
        const double last = result->loss;
        code = poll(search, length);
        if (!(result->loss < last)) length /= 2.0;
    }
    result->converged = !(result->loss > 0.0) || length < last_step;
    return code;
}

/* The pattern search finds the valley despite jumps; Gauss-Newton its lowest point where it is smooth. */
static int descend(struct search *search)
{
    int code = take_steps(search);
    if (code == 0) code = evaluate(search, search->result->values, search->residuals, &search->result->loss);
    return code == 0 ? take_rounds(search) : code;
}

/* Both descents: that from the grid is taken if it ends lower. */
static int descend_twice(struct search *search)
{
    struct refit_result *result = search->result, other = {.loss = HUGE_VAL};
    int code = search->refit->has_start ? search_start(search) : 0;
    if (code == 0 && search->refit->has_start) code = descend(search);
    if (code != 0 || !(result->loss > 0.0)) return code;
    struct search second = *search;
    second.result = &other;
    code = search_grid(&second);
    if (code == 0) code = descend(&second);
    result->evaluations += other.evaluations;
    if (!(other.loss < result->loss)) return code;
    other.evaluations = result->evaluations;
    other.start_loss = result->start_loss;
    *result = other;
    return code;
}

int refit_search(const struct refit *refit, struct refit_result *result)
{
    struct search search = {.refit = refit, .result = result};
    const size_t n = refit->n_residuals;
    double *block = mem_zalloc((refit->n + 2) * n + 1, sizeof *block);
    *result = (struct refit_result){.loss = HUGE_VAL, .start_loss = HUGE_VAL};
    if (block == NULL) return SIM_E_NOMEM;
    search.residuals = block;
    search.trial = block + n;
    for (size_t k = 0; k < refit->n; k++) search.slopes[k] = block + (k + 2) * n;
    const int code = descend_twice(&search);
    mem_free(block);
    return code;
}
