#include "policies/scheduler/gavel_lp.h"

#include "sim/core/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Weight of the least rate against the mean of all relative rates. What this mean can gain while the least rate falls
 * is bounded by the speed ratio of the fastest and the slowest type, times the widest job. */
static const double LEVEL_PER_RATE = 1e4;

/* How much more the first kind counts than the last when nothing else tells them apart. */
static const double FIRST_FRAC = 1e-2;

/* Weight of the size of X, in GPUs, against the ratio itself, when cost is to be low. */
static const double SCALE_FRAC = 1e-6;

/* One objective: maximise gain x + level_gain t with rate >= need t + at_least. With prices, x stands for X u and u
 * for 1 / cost (Charnes and Cooper). */
struct objective {
    const double *gain; /* [kinds][types] */
    double level_gain, level_most;
    const double *need, *at_least; /* [kinds]; NULL: 0 */
    const double *price;           /* [types], scaled so that the whole fleet costs 1; NULL: u is 1 */
};

/* A program being built. Rows: per kind its time and its rate, then the GPUs of each type, then the cost. Columns: per
 * kind its types, then the level t and the scale u. */
struct build {
    const struct gavel_jobs *jobs;
    const struct objective *objective;
    struct lp lp;
    double *cost, *lower, *upper, *values, *row_lower, *row_upper, *x;
    int *starts, *row_of;
    unsigned char *column_states, *row_states;
    int entries;
};

static void build_fini(struct build *build)
{
    mem_free(build->cost);
    mem_free(build->starts);
    mem_free(build->column_states);
}

/* One block of each type of number. */
static bool build_init(struct build *build, const struct gavel_jobs *jobs, const struct objective *objective)
{
    const int rows = 2 * jobs->kinds + jobs->types + 1, columns = jobs->kinds * jobs->types + 2;
    const int entries = columns * 4 + 3 * jobs->kinds + jobs->types;
    *build = (struct build){.jobs = jobs, .objective = objective};
    build->cost = mem_zalloc((size_t)(4 * columns + entries + 2 * rows), sizeof *build->cost);
    build->starts = mem_zalloc((size_t)(columns + 1 + entries), sizeof *build->starts);
    build->column_states = mem_zalloc((size_t)(columns + rows), 1);
    if (build->cost == NULL || build->starts == NULL || build->column_states == NULL) return false;
    build->lower = build->cost + columns;
    build->upper = build->lower + columns;
    build->x = build->upper + columns;
    build->row_lower = build->x + columns;
    build->row_upper = build->row_lower + rows;
    build->values = build->row_upper + rows;
    build->row_of = build->starts + columns + 1;
    build->row_states = build->column_states + columns;
    build->lp = (struct lp){.columns = columns, .rows = rows, .cost = build->cost, .lower = build->lower,
                                   .upper = build->upper, .starts = build->starts, .row_of = build->row_of,
                                   .values = build->values, .row_lower = build->row_lower, .row_upper = build->row_upper};
    return true;
}

static double speed_of(const struct gavel_jobs *jobs, int kind, int type)
{
    return jobs->speed[kind * jobs->types + type];
}

static double fastest(const struct gavel_jobs *jobs, int kind)
{
    double most = 0;
    for (int j = 0; j < jobs->types; j++) most = fmax(most, speed_of(jobs, kind, j));
    return most;
}

static double jobs_in_all(const struct gavel_jobs *jobs)
{
    double n = 0;
    for (int k = 0; k < jobs->kinds; k++) n += jobs->count[k];
    return n;
}

static double gpus_in_all(const struct gavel_jobs *jobs)
{
    double n = 0;
    for (int j = 0; j < jobs->types; j++) n += jobs->gpus[j];
    return n;
}

double gavel_rate(const struct gavel_jobs *jobs, const double *x, int kind)
{
    double rate = 0;
    for (int j = 0; j < jobs->types; j++) rate += speed_of(jobs, kind, j) * x[kind * jobs->types + j];
    return rate;
}

static void add_entry(struct build *build, int row, double value)
{
    if (value == 0) return;
    build->row_of[build->entries] = row;
    build->values[build->entries++] = value;
}

static void end_column(struct build *build, int column, double gain, double lower, double upper)
{
    build->cost[column] = -gain;
    build->lower[column] = lower;
    build->upper[column] = upper;
    build->starts[column + 1] = build->entries;
}

/* Columns of the time shares of a kind. */
static void add_shares(struct build *build, int kind)
{
    const struct gavel_jobs *jobs = build->jobs;
    const double width = jobs->count[kind] * jobs->width[kind], *price = build->objective->price;
    for (int j = 0; j < jobs->types; j++) {
        const int column = kind * jobs->types + j;
        const double speed = jobs->speed[column];
        add_entry(build, 2 * kind, 1);
        add_entry(build, 2 * kind + 1, speed);
        add_entry(build, 2 * jobs->kinds + j, width / jobs->gpus[j]);
        if (price != NULL) add_entry(build, 2 * jobs->kinds + jobs->types, width * price[j]);
        end_column(build, column, build->objective->gain[column], 0,
                   speed <= 0      ? 0
                   : price != NULL ? (double)INFINITY
                                   : 1);
    }
}

static void add_level(struct build *build)
{
    const struct objective *objective = build->objective;
    for (int k = 0; k < build->jobs->kinds && objective->need != NULL; k++)
        add_entry(build, 2 * k + 1, fastest(build->jobs, k) > 0 ? -objective->need[k] : 0);
    end_column(build, build->lp.columns - 2, objective->level_gain, 0, objective->level_most);
}

static void add_scale(struct build *build)
{
    const struct gavel_jobs *jobs = build->jobs;
    const struct objective *objective = build->objective;
    for (int k = 0; k < jobs->kinds; k++) {
        add_entry(build, 2 * k, -1);
        if (objective->at_least != NULL) add_entry(build, 2 * k + 1, -objective->at_least[k]);
    }
    for (int j = 0; j < jobs->types; j++) add_entry(build, 2 * jobs->kinds + j, -1);
    const int column = build->lp.columns - 1;
    if (objective->price != NULL)
        end_column(build, column, -SCALE_FRAC * gpus_in_all(jobs), 0, (double)INFINITY);
    else
        end_column(build, column, 0, 1, 1);
}

static void add_rows(struct build *build)
{
    const int n = build->lp.rows, kinds = build->jobs->kinds;
    for (int i = 0; i < n; i++) {
        const bool is_rate = i < 2 * kinds && i % 2 == 1;
        build->row_lower[i] = is_rate ? 0 : -(double)INFINITY;
        build->row_upper[i] = is_rate ? (double)INFINITY : 0;
    }
    build->row_upper[n - 1] = build->objective->price != NULL ? 1 : (double)INFINITY;
    if (build->objective->price != NULL) build->row_lower[n - 1] = 1;
}

/* Copies the basis states between the caller's memory, by kind, and the program. */
static void move_states(struct build *build, bool in)
{
    const struct gavel_jobs *jobs = build->jobs;
    const size_t types = (size_t)jobs->types, each = gavel_kind_states(jobs->types);
    for (int k = 0; k <= jobs->kinds; k++) {
        const bool common = k == jobs->kinds;
        unsigned char *kept = common ? jobs->common_states : jobs->kind_states + (size_t)k * each;
        unsigned char *columns = build->column_states + (size_t)k * types, *rows = build->row_states + 2 * k;
        const size_t n = common ? 2 : types, m = common ? types + 1 : 2;
        memcpy(in ? columns : kept, in ? kept : columns, n);
        memcpy(in ? rows : kept + n, in ? kept + n : rows, m);
    }
}

/* Solves one objective. x has room for the columns of all kinds; `level` and `scale` get t and u. */
static enum lp_outcome optimise(const struct gavel_jobs *jobs, const struct objective *objective, double *x,
                                double *level, double *scale)
{
    struct build build;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (build_init(&build, jobs, objective)) {
        for (int k = 0; k < jobs->kinds; k++) add_shares(&build, k);
        add_level(&build);
        add_scale(&build);
        add_rows(&build);
        move_states(&build, true);
        outcome = lp_solve_from(&build.lp, build.column_states, build.row_states, build.x);
    }
    if (outcome == LP_OPTIMAL) {
        move_states(&build, false);
        memcpy(x, build.x, (size_t)(jobs->kinds * jobs->types) * sizeof *x);
        *level = build.x[build.lp.columns - 2];
        *scale = build.x[build.lp.columns - 1];
    }
    build_fini(&build);
    return outcome;
}

/* Gains of the columns: the relative rate of each kind times `value` (NULL: 1, the first kinds a little more). NULL:
 * out of memory. */
static double *gains(const struct gavel_jobs *jobs, const double *value)
{
    double *gain = mem_zalloc((size_t)(jobs->kinds * jobs->types + 1), sizeof *gain);
    for (int k = 0; gain != NULL && k < jobs->kinds; k++) {
        const double first = 1 + FIRST_FRAC * (jobs->kinds - k) / jobs->kinds, most = fastest(jobs, k);
        const double each = jobs->count[k] * (value != NULL ? value[k] * jobs->width[k] : first);
        for (int j = 0; j < jobs->types && most > 0; j++)
            gain[k * jobs->types + j] = each * speed_of(jobs, k, j) / most;
    }
    return gain;
}

/* The level that the kind with the largest need would reach alone: an upper bound. */
static double most_level(const struct gavel_jobs *jobs, const double *need)
{
    double most = (double)INFINITY;
    for (int k = 0; k < jobs->kinds; k++) {
        const double speed = fastest(jobs, k);
        if (speed > 0) most = fmin(most, speed / need[k]);
    }
    return most;
}

/* Needs are scaled so that the largest one is the kind's fastest type all the time. So the numbers are about 1. */
enum lp_outcome gavel_max_min(const struct gavel_jobs *jobs, const double *need, double *x, double *level)
{
    const double most = most_level(jobs, need);
    double *gain = gains(jobs, NULL), *scaled = mem_zalloc((size_t)jobs->kinds + 1, sizeof *scaled), one;
    enum lp_outcome outcome = gain == NULL || scaled == NULL ? LP_NO_MEMORY : LP_FAILED;
    if (gain != NULL && scaled != NULL && isfinite(most)) {
        for (int k = 0; k < jobs->kinds; k++) scaled[k] = need[k] * most;
        const struct objective objective = {.gain = gain, .level_gain = LEVEL_PER_RATE * jobs_in_all(jobs), .level_most = 1,
                                            .need = scaled};
        outcome = optimise(jobs, &objective, x, level, &one);
        if (outcome == LP_OPTIMAL) *level *= most;
    }
    mem_free(gain);
    mem_free(scaled);
    return outcome;
}

void gavel_equal_share(const struct gavel_jobs *jobs, const double *weight, double *need)
{
    const double gpus = gpus_in_all(jobs), share = fmin(1, gpus / jobs_in_all(jobs));
    for (int k = 0; k < jobs->kinds; k++) {
        double rate = 0;
        for (int j = 0; j < jobs->types; j++) rate += speed_of(jobs, k, j) * jobs->gpus[j] / gpus * share;
        need[k] = weight[k] * rate / jobs->width[k];
    }
}

enum lp_outcome gavel_max_sum(const struct gavel_jobs *jobs, const double *value, const double *at_least, double *x)
{
    double *gain = gains(jobs, value), level, one;
    const struct objective objective = {.gain = gain, .at_least = at_least};
    const enum lp_outcome outcome = gain == NULL ? LP_NO_MEMORY : optimise(jobs, &objective, x, &level, &one);
    mem_free(gain);
    return outcome;
}

/* Prices scaled so that all GPUs cost 1. NULL: out of memory. */
static double *relative_prices(const struct gavel_jobs *jobs, const double *price, double *all)
{
    double *relative = mem_zalloc((size_t)jobs->types, sizeof *relative);
    *all = 0;
    for (int j = 0; j < jobs->types; j++) *all += price[j] * jobs->gpus[j];
    for (int j = 0; relative != NULL && j < jobs->types; j++) relative[j] = price[j] / *all;
    return relative;
}

/* The largest X among those of equal ratio, from x = X u. */
static void unscale(const struct gavel_jobs *jobs, double scale, double *x)
{
    for (int i = 0; i < jobs->kinds * jobs->types; i++) x[i] = fmin(x[i] / scale, 1);
}

static double value_of(const struct gavel_jobs *jobs, const double *gain, const double *x)
{
    double value = 0;
    for (int i = 0; i < jobs->kinds * jobs->types; i++) value += gain[i] * x[i];
    return value;
}

enum lp_outcome gavel_max_per_cost(const struct gavel_jobs *jobs, const double *price, const double *at_least,
                                   double *x, double *ratio)
{
    double all, level, scale, *relative = relative_prices(jobs, price, &all);
    double *ones = mem_zalloc((size_t)jobs->kinds + 1, sizeof *ones);
    for (int k = 0; ones != NULL && k < jobs->kinds; k++) ones[k] = 1;
    double *gain = ones == NULL ? NULL : gains(jobs, ones);
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (relative != NULL && gain != NULL) {
        const struct objective objective = {.gain = gain, .at_least = at_least, .price = relative};
        outcome = optimise(jobs, &objective, x, &level, &scale);
    }
    if (outcome == LP_OPTIMAL) {
        *ratio = value_of(jobs, gain, x) / all;
        unscale(jobs, scale, x);
    }
    mem_free(relative);
    mem_free(gain);
    mem_free(ones);
    return outcome;
}

/* Gains are scaled so that the largest one is 1. NULL: out of memory. */
static double *raw_gains(const struct gavel_jobs *jobs, const double *rate, const double *price)
{
    const int n = jobs->kinds * jobs->types;
    double *gain = mem_zalloc((size_t)n + 1, sizeof *gain), most = 0;
    for (int i = 0; gain != NULL && i < n; i++) {
        const int kind = i / jobs->types, type = i % jobs->types;
        gain[i] = jobs->count[kind] * rate[kind] * speed_of(jobs, kind, type) / (price != NULL ? price[type] : 1);
        most = fmax(most, gain[i]);
    }
    for (int i = 0; gain != NULL && i < n && most > 0; i++) gain[i] /= most;
    return gain;
}

enum lp_outcome gavel_max_raw(const struct gavel_jobs *jobs, const double *rate, const double *price,
                              const double *at_least, double *x)
{
    double *gain = raw_gains(jobs, rate, price), level, one;
    const struct objective objective = {.gain = gain, .at_least = at_least};
    const enum lp_outcome outcome = gain == NULL ? LP_NO_MEMORY : optimise(jobs, &objective, x, &level, &one);
    mem_free(gain);
    return outcome;
}

void gavel_isolated(const struct gavel_jobs *jobs, double *x)
{
    const double n = jobs_in_all(jobs);
    for (int k = 0; k < jobs->kinds; k++) {
        const double sum = gpus_in_all(jobs) / n / jobs->width[k];
        for (int j = 0; j < jobs->types; j++)
            x[k * jobs->types + j] = jobs->gpus[j] / n / jobs->width[k] / fmax(sum, 1);
    }
}

/* Finish time of the kind under X relative to that on its nth part at `alone_rate`. */
static double finish_ratio(const struct gavel_finish *finish, int kind, double rate, double alone_rate)
{
    return (finish->age[kind] + finish->left[kind] / rate) / (finish->alone[kind] + finish->left[kind] / alone_rate);
}

static double worst_finish(const struct gavel_jobs *jobs, const struct gavel_finish *finish, const double *alone_rate,
                           const double *x)
{
    double worst = 0;
    for (int k = 0; k < jobs->kinds; k++)
        if (alone_rate[k] > 0) worst = fmax(worst, finish_ratio(finish, k, gavel_rate(jobs, x, k), alone_rate[k]));
    return worst;
}

/* The rates at which all jobs finish within `worst` times their finish time alone. */
static void needs_within(const struct gavel_jobs *jobs, const struct gavel_finish *finish, const double *alone_rate,
                         double worst, double *need)
{
    for (int k = 0; k < jobs->kinds; k++) {
        if (alone_rate[k] <= 0)
            need[k] = 1;
        else
            need[k] = finish->left[k] / (worst * (finish->alone[k] + finish->left[k] / alone_rate[k]) - finish->age[k]);
    }
}

enum { FINISH_STEPS = 40 };
static const double FINISH_FRAC = 1e-9;

/* Descends from the ratio of the nth parts to the ratio of the X with the most room under it, until there
 * is no room. It ends at the optimum, since some X has room while the ratio can still fall. */
static enum lp_outcome descend(const struct gavel_jobs *jobs, const struct gavel_finish *finish,
                               const double *alone_rate, double *need, double *x, double *worst)
{
    *worst = worst_finish(jobs, finish, alone_rate, x);
    for (int step = 0; step < FINISH_STEPS; step++) {
        double level;
        needs_within(jobs, finish, alone_rate, *worst, need);
        const enum lp_outcome outcome = gavel_max_min(jobs, need, x, &level);
        if (outcome != LP_OPTIMAL) return outcome;
        const double reached = worst_finish(jobs, finish, alone_rate, x);
        const bool ends = reached > *worst * (1 - FINISH_FRAC);
        *worst = fmin(*worst, reached);
        if (ends) break;
    }
    return LP_OPTIMAL;
}

enum lp_outcome gavel_min_finish(const struct gavel_jobs *jobs, const struct gavel_finish *finish, double *x,
                                 double *worst)
{
    double *alone_rate = mem_zalloc((size_t)(2 * jobs->kinds) + 1, sizeof *alone_rate);
    if (alone_rate == NULL) return LP_NO_MEMORY;
    gavel_isolated(jobs, x);
    for (int k = 0; k < jobs->kinds; k++) alone_rate[k] = gavel_rate(jobs, x, k);
    const enum lp_outcome outcome = descend(jobs, finish, alone_rate, alone_rate + jobs->kinds, x, worst);
    mem_free(alone_rate);
    return outcome;
}
