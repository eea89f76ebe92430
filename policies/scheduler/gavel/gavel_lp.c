#include "policies/scheduler/gavel/gavel_lp.h"

#include "policies/scheduler/gavel/gavel_program.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Weight of the least rate against the mean of all relative rates. What this mean can gain while the least rate falls
 * is bounded by the speed ratio of the fastest and the slowest type, times the widest job. */
static const double LEVEL_PER_RATE = 1e4;

/* How much more the first kind counts than the last when nothing else tells them apart. The first type counts as much
 * more of that. */
static const double FIRST_FRAC = 1e-2;

/* Part of the GPUs, or of those wanted if fewer, that counts as no gain when cost is to be low. */
static const double SCALE_FRAC = 1e-6;

/* Excess of a rate over the fastest type's that is a rounding error. */
static const double BEYOND = 1e-9;

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

/* What all programs share. Kinds that can run nowhere need nothing. */
struct frame {
    struct gavel_program program;
    double *speed, *load, *need; /* in one block */
};

static void frame_fini(struct frame *frame)
{
    mem_free(frame->speed);
    mem_free(frame->program.gain);
}

/* `gain` [kinds][types] becomes the frame's; NULL, or false: out of memory. */
static bool frame_init(struct frame *frame, const struct gavel_jobs *jobs, double *gain)
{
    const size_t n = (size_t)jobs->kinds * (size_t)jobs->types;
    *frame = (struct frame){.speed = mem_zalloc(2 * n + (size_t)jobs->kinds + 1, sizeof *frame->speed)};
    frame->load = frame->speed + n;
    frame->need = frame->load + n;
    frame->program = (struct gavel_program){.kinds = jobs->kinds, .types = jobs->types, .speed = frame->speed,
                                            .load = frame->load, .gain = gain};
    if (frame->speed == NULL || gain == NULL) return false;
    for (int k = 0; k < jobs->kinds; k++) {
        const double most = fastest(jobs, k);
        for (int j = 0; j < jobs->types; j++) {
            const int column = k * jobs->types + j;
            frame->speed[column] = most > 0 ? fmax(jobs->speed[column], 0) / most : 0;
            frame->load[column] = jobs->count[k] * jobs->width[k] / fmax(jobs->gpus[j], 1);
        }
    }
    return true;
}

/* Sets the needs to rates times `scale`. False: a kind cannot reach its own at t = 1. */
static bool set_needs(struct frame *frame, const struct gavel_jobs *jobs, const double *rate, double scale)
{
    bool is_possible = true;
    frame->program.need = frame->need;
    for (int k = 0; k < jobs->kinds; k++) {
        const double most = fastest(jobs, k), need = most > 0 ? rate[k] * scale / most : 0;
        is_possible = is_possible && need <= 1 + BEYOND;
        frame->need[k] = fmin(need, 1);
    }
    return is_possible;
}

static enum lp_outcome solve_once(const struct gavel_program *program, double *x, double *level)
{
    struct gavel_solver *solver = gavel_solver_create(program);
    const enum lp_outcome outcome = solver == NULL ? LP_NO_MEMORY : gavel_solve(solver, x, level);
    gavel_solver_destroy(solver);
    return outcome;
}

/* How much more a rate counts for the first kinds, and among these on the first types. */
static double first_factor(const struct gavel_jobs *jobs, int kind, int type)
{
    const double by_kind = FIRST_FRAC * (jobs->kinds - kind) / jobs->kinds;
    return 1 + by_kind * (1 + FIRST_FRAC * (jobs->types - type) / jobs->types);
}

/* Sets the gains of the columns: the relative rate of each kind times `value` (NULL: 1, more for the first). */
static void set_gains(const struct gavel_jobs *jobs, const double *value, double *gain)
{
    for (int k = 0; k < jobs->kinds; k++) {
        const double most = fastest(jobs, k);
        for (int j = 0; j < jobs->types && most > 0; j++) {
            const double factor = value != NULL ? value[k] * jobs->width[k] : first_factor(jobs, k, j);
            gain[k * jobs->types + j] = jobs->count[k] * factor * speed_of(jobs, k, j) / most;
        }
    }
}

/* NULL: out of memory. */
static double *gains(const struct gavel_jobs *jobs, const double *value)
{
    double *gain = mem_zalloc((size_t)(jobs->kinds * jobs->types + 1), sizeof *gain);
    if (gain != NULL) set_gains(jobs, value, gain);
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

/* A program of gavel_max_min, to be solved for one set of needs after another. */
struct max_min {
    struct frame frame;
    struct gavel_solver *solver;
};

static void max_min_fini(struct max_min *max_min)
{
    gavel_solver_destroy(max_min->solver);
    frame_fini(&max_min->frame);
}

static bool max_min_init(struct max_min *max_min, const struct gavel_jobs *jobs)
{
    max_min->solver = NULL;
    if (!frame_init(&max_min->frame, jobs, gains(jobs, NULL))) return false;
    max_min->frame.program.level_gain = LEVEL_PER_RATE * jobs_in_all(jobs);
    max_min->solver = gavel_solver_create(&max_min->frame.program);
    return max_min->solver != NULL;
}

/* Needs are scaled so that the largest one is the kind's fastest type all the time. So the numbers are about 1. */
static enum lp_outcome max_min_solve(struct max_min *max_min, const struct gavel_jobs *jobs, const double *need,
                                     double *x, double *level)
{
    const double most = most_level(jobs, need);
    if (!isfinite(most) || !set_needs(&max_min->frame, jobs, need, most)) return LP_FAILED;
    const enum lp_outcome outcome = gavel_solve(max_min->solver, x, level);
    if (outcome == LP_OPTIMAL) *level *= most;
    return outcome;
}

enum lp_outcome gavel_max_min(const struct gavel_jobs *jobs, const double *need, double *x, double *level)
{
    struct max_min max_min;
    const bool has_room = max_min_init(&max_min, jobs);
    const enum lp_outcome outcome = has_room ? max_min_solve(&max_min, jobs, need, x, level) : LP_NO_MEMORY;
    max_min_fini(&max_min);
    return outcome;
}

struct gavel_levels {
    const struct gavel_jobs *jobs;
    struct max_min max_min;
    struct frame sum;
    struct gavel_solver *sum_solver;
};

struct gavel_levels *gavel_levels_create(const struct gavel_jobs *jobs)
{
    struct gavel_levels *levels = mem_zalloc(1, sizeof *levels);
    if (levels == NULL) return NULL;
    levels->jobs = jobs;
    if (max_min_init(&levels->max_min, jobs) && frame_init(&levels->sum, jobs, gains(jobs, NULL)))
        levels->sum_solver = gavel_solver_create(&levels->sum.program);
    if (levels->sum_solver != NULL) return levels;
    gavel_levels_destroy(levels);
    return NULL;
}

void gavel_levels_destroy(struct gavel_levels *levels)
{
    if (levels == NULL) return;
    max_min_fini(&levels->max_min);
    gavel_solver_destroy(levels->sum_solver);
    frame_fini(&levels->sum);
    mem_free(levels);
}

enum lp_outcome gavel_levels_max_min(struct gavel_levels *levels, const double *need, double *x, double *level)
{
    return max_min_solve(&levels->max_min, levels->jobs, need, x, level);
}

enum lp_outcome gavel_levels_max_sum(struct gavel_levels *levels, const double *value, const double *at_least,
                                     double *x)
{
    double level;
    set_gains(levels->jobs, value, levels->sum.program.gain);
    if (!set_needs(&levels->sum, levels->jobs, at_least, 1)) return LP_INFEASIBLE;
    return gavel_solve(levels->sum_solver, x, &level);
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

/* Maximises gains, which become its own, with rates of at least `at_least`. */
static enum lp_outcome maximise(const struct gavel_jobs *jobs, double *gain, const double *at_least, double *x)
{
    struct frame frame;
    double level;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (frame_init(&frame, jobs, gain)) {
        const bool is_possible = at_least == NULL || set_needs(&frame, jobs, at_least, 1);
        outcome = is_possible ? solve_once(&frame.program, x, &level) : LP_INFEASIBLE;
    }
    frame_fini(&frame);
    return outcome;
}

enum lp_outcome gavel_max_sum(const struct gavel_jobs *jobs, const double *value, const double *at_least, double *x)
{
    return maximise(jobs, gains(jobs, value), at_least, x);
}

/* Gain and cost of X. */
struct deal {
    const double *gain, *cost; /* [kinds][types] */
    double least_gain;         /* taken from the gain */
};

static double deal_ratio(const struct deal *deal, const double *x, int n)
{
    double gain = -deal->least_gain, cost = 0;
    for (int i = 0; i < n; i++) {
        gain += deal->gain[i] * x[i];
        cost += deal->cost[i] * x[i];
    }
    return gain / cost;
}

enum { RATIO_STEPS = 50 };
static const double RATIO_FRAC = 1e-13;

/* Maximises gain - ratio cost, where `ratio` is that of the last X, until it no longer rises (Dinkelbach 1967). */
static enum lp_outcome climb_ratio(struct frame *frame, const struct deal *deal, double *x)
{
    struct gavel_program *program = &frame->program;
    const int n = program->kinds * program->types;
    struct gavel_solver *solver = gavel_solver_create(program);
    enum lp_outcome outcome = solver == NULL ? LP_NO_MEMORY : LP_OPTIMAL;
    double ratio = 0, level;
    for (int step = 0; outcome == LP_OPTIMAL && step < RATIO_STEPS; step++) {
        for (int i = 0; i < n; i++) program->gain[i] = deal->gain[i] - ratio * deal->cost[i];
        outcome = gavel_solve(solver, x, &level);
        const double reached = outcome == LP_OPTIMAL ? deal_ratio(deal, x, n) : (double)NAN;
        if (!(reached > ratio * (1 + RATIO_FRAC))) break;
        ratio = reached;
    }
    gavel_solver_destroy(solver);
    return outcome;
}

/* Costs are scaled so that all GPUs cost 1. Taking a little from the gain favours large X. */
enum lp_outcome gavel_max_per_cost(const struct gavel_jobs *jobs, const double *price, const double *at_least,
                                   double *x, double *ratio)
{
    const int n = jobs->kinds * jobs->types;
    double all = 0, wanted = 0, *ones = mem_zalloc((size_t)(jobs->kinds + 2 * n) + 1, sizeof *ones),
           *cost = ones + jobs->kinds;
    struct frame frame = {0};
    enum lp_outcome outcome = LP_NO_MEMORY;
    for (int j = 0; j < jobs->types; j++) all += price[j] * jobs->gpus[j];
    for (int k = 0; k < jobs->kinds; k++) wanted += jobs->count[k] * jobs->width[k];
    for (int k = 0; ones != NULL && k < jobs->kinds; k++) ones[k] = 1;
    for (int i = 0; ones != NULL && i < n; i++)
        cost[i] = jobs->count[i / jobs->types] * jobs->width[i / jobs->types] * price[i % jobs->types] / all;
    if (ones != NULL && frame_init(&frame, jobs, gains(jobs, ones))) {
        const struct deal deal = {.gain = memcpy(cost + n, frame.program.gain, (size_t)n * sizeof *cost), .cost = cost,
                                  .least_gain = SCALE_FRAC * fmin(gpus_in_all(jobs), wanted)};
        const bool is_possible = at_least == NULL || set_needs(&frame, jobs, at_least, 1);
        outcome = is_possible ? climb_ratio(&frame, &deal, x) : LP_INFEASIBLE;
        if (outcome == LP_OPTIMAL) *ratio = deal_ratio(&(struct deal){deal.gain, cost, 0}, x, n) / all;
    }
    frame_fini(&frame);
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
    return maximise(jobs, raw_gains(jobs, rate, price), at_least, x);
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

/* The rates at which all jobs finish within `worst` times their finish time alone. Those of kinds that can run nowhere
 * are ignored. */
static void needs_within(const struct gavel_jobs *jobs, const struct gavel_finish *finish, const double *alone_rate,
                         double worst, double *need)
{
    for (int k = 0; k < jobs->kinds; k++)
        need[k] = finish->left[k] / (worst * (finish->alone[k] + finish->left[k] / alone_rate[k]) - finish->age[k]);
}

enum { FINISH_STEPS = 400 };
static const double FINISH_FRAC = 1e-9;

/* Descends from the ratio of the nth parts to the ratio of the X with the most room under it, until there is no room.
 * Some X has room while the ratio can still fall. After FINISH_STEPS the ratio may lie above the optimum, by 1.4e-8
 * at most in 8,000 random programs of five kinds. */
static enum lp_outcome descend(const struct gavel_jobs *jobs, const struct gavel_finish *finish,
                               const double *alone_rate, struct max_min *max_min, double *need, double *x,
                               double *worst)
{
    *worst = worst_finish(jobs, finish, alone_rate, x);
    for (int step = 0; step < FINISH_STEPS; step++) {
        double level;
        needs_within(jobs, finish, alone_rate, *worst, need);
        const enum lp_outcome outcome = max_min_solve(max_min, jobs, need, x, &level);
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
    struct max_min max_min;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (max_min_init(&max_min, jobs) && alone_rate != NULL) {
        gavel_isolated(jobs, x);
        for (int k = 0; k < jobs->kinds; k++) alone_rate[k] = gavel_rate(jobs, x, k);
        outcome = descend(jobs, finish, alone_rate, &max_min, alone_rate + jobs->kinds, x, worst);
    }
    max_min_fini(&max_min);
    mem_free(alone_rate);
    return outcome;
}
