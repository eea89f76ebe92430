#include "policies/scheduler/gavel/gavel_entities.h"

#include "sim/core/mem.h"

#include <math.h>

/* A rise below this part of the fastest rate is a rounding error of the programs. */
static const double RISE_FRAC = 1e-6;

/* Error of a level, as a part of the GPUs that it takes. */
static const double LEVEL_FRAC = 1e-10;

/* Room below the rates reached, without which programs with rounding errors have no solution. */
static const double SLACK_FRAC = 1e-9;

enum { LEVEL_STEPS = 200 };

struct filling {
    const struct gavel_jobs *jobs;
    const struct gavel_entities *entities;
    double *unit;    /* [kinds] rate of weight 1 */
    double *fastest; /* [kinds] */
    double *floor;   /* [kinds] rate reached so far */
    double *rise;    /* [kinds] rate per level; 0: it does not rise now */
    double *need, *value; /* [kinds] scratch */
    bool *is_final;  /* [kinds] its rate can rise no more */
    bool *can_rise;  /* [kinds] scratch */
    struct gavel_levels *levels;
    double *x;
};

static bool filling_init(struct filling *filling, const struct gavel_jobs *jobs, const struct gavel_entities *entities,
                         double *x)
{
    const size_t n = (size_t)jobs->kinds;
    *filling = (struct filling){.jobs = jobs, .entities = entities, .unit = mem_zalloc(6 * n + 1, sizeof(double)),
                                .is_final = mem_zalloc(2 * n + 1, sizeof(bool)),
                                .levels = gavel_levels_create(jobs), .x = x};
    if (filling->unit == NULL || filling->is_final == NULL || filling->levels == NULL) return false;
    filling->fastest = filling->unit + n;
    filling->floor = filling->fastest + n;
    filling->rise = filling->floor + n;
    filling->need = filling->rise + n;
    filling->value = filling->need + n;
    filling->can_rise = filling->is_final + n;
    for (size_t k = 0; k < n; k++) {
        filling->value[k] = 1;
        for (int j = 0; j < jobs->types; j++)
            filling->fastest[k] = fmax(filling->fastest[k], jobs->speed[k * (size_t)jobs->types + (size_t)j]);
        filling->is_final[k] = filling->fastest[k] <= 0;
    }
    gavel_equal_share(jobs, filling->value, filling->unit);
    return true;
}

static void filling_fini(struct filling *filling)
{
    mem_free(filling->unit);
    mem_free(filling->is_final);
    gavel_levels_destroy(filling->levels);
}

/* The weight of each job of a kind: its part of that of its entity. */
static double weight_of(const struct filling *filling, int kind)
{
    const struct gavel_entities *entities = filling->entities;
    const int entity = entities->of[kind];
    const bool is_in_order = entities->entities[entity].is_in_order;
    double sum = 0;
    if (filling->is_final[kind]) return 0;
    for (int k = 0; k < filling->jobs->kinds; k++) {
        if (entities->of[k] != entity || filling->is_final[k]) continue;
        if (is_in_order) return k == kind ? entities->entities[entity].weight : 0;
        sum += filling->jobs->count[k] * entities->weight[k];
    }
    return entities->entities[entity].weight * entities->weight[kind] / sum;
}

/* Sets what rises. Returns the level at which the first of it would be as fast as it can be; 0: nothing rises. */
static double set_rises(struct filling *filling)
{
    double most = (double)INFINITY;
    for (int k = 0; k < filling->jobs->kinds; k++) {
        filling->rise[k] = weight_of(filling, k) * filling->unit[k];
        if (filling->rise[k] > 0) most = fmin(most, (filling->fastest[k] - filling->floor[k]) / filling->rise[k]);
    }
    return isfinite(most) ? fmax(most, 0) : 0;
}

struct level_point {
    double level, part;
};

/* The part of their time and of the GPUs that jobs take at this level: convex and piecewise linear. A job that is as
 * fast as it can be takes all of its time, so the part is 1 where there is room for all. */
static enum lp_outcome part_at(struct filling *filling, struct level_point *at)
{
    double scale;
    for (int k = 0; k < filling->jobs->kinds; k++) filling->need[k] = filling->floor[k] + at->level * filling->rise[k];
    const enum lp_outcome outcome = gavel_levels_max_min(filling->levels, filling->need, filling->x, &scale);
    at->part = 1 / scale;
    return outcome;
}

static bool has_room(struct level_point at)
{
    return at.part <= 1 + LEVEL_FRAC;
}

/* The highest level with room for all, below `high`. The line through two levels without room reaches 1 at the highest
 * level with room, or above it, since the part is convex. */
static enum lp_outcome find_level(struct filling *filling, struct level_point high, double *level)
{
    struct level_point low = {0}, beyond = high;
    for (int step = 0; step < LEVEL_STEPS; step++) {
        const double slope = (beyond.part - high.part) / (beyond.level - high.level);
        const bool is_on_line = beyond.level > high.level && slope > 0;
        struct level_point next = {is_on_line ? high.level - (high.part - 1) / slope : (low.level + high.level) / 2, 0};
        if (!(next.level > low.level && next.level < high.level)) break;
        const enum lp_outcome outcome = part_at(filling, &next);
        if (outcome != LP_OPTIMAL) return outcome;
        if (has_room(next)) {
            low = next;
            if (is_on_line) break;
        } else {
            beyond = high;
            high = next;
        }
    }
    *level = low.level;
    return LP_OPTIMAL;
}

/* Raises the rates as far as all of them can rise together. */
static enum lp_outcome rise_together(struct filling *filling, double most)
{
    struct level_point high = {.level = most};
    double level = most;
    enum lp_outcome outcome = part_at(filling, &high);
    if (outcome == LP_OPTIMAL && !has_room(high)) outcome = find_level(filling, high, &level);
    if (outcome != LP_OPTIMAL) return outcome;
    for (int k = 0; k < filling->jobs->kinds; k++)
        filling->floor[k] = fmin(filling->floor[k] + level * filling->rise[k], filling->fastest[k]);
    return LP_OPTIMAL;
}

/* Kinds that can rise alone can rise together, by the mean of their allocations. So each program names some, until one
 * names none of those that are left: they are final. */
static enum lp_outcome find_final(struct filling *filling)
{
    const int n = filling->jobs->kinds;
    for (int k = 0; k < n; k++) {
        filling->can_rise[k] = false;
        filling->need[k] = filling->floor[k] * (1 - SLACK_FRAC);
    }
    for (bool finds = true; finds;) {
        finds = false;
        for (int k = 0; k < n; k++) filling->value[k] = !filling->is_final[k] && !filling->can_rise[k];
        const enum lp_outcome outcome = gavel_levels_max_sum(filling->levels, filling->value, filling->need,
                                                             filling->x);
        if (outcome != LP_OPTIMAL) return outcome;
        for (int k = 0; k < n; k++) {
            if (!(filling->value[k] > 0)) continue;
            const double rises = gavel_rate(filling->jobs, filling->x, k) - filling->floor[k];
            filling->can_rise[k] = rises > RISE_FRAC * filling->fastest[k];
            finds = finds || filling->can_rise[k];
        }
    }
    for (int k = 0; k < n; k++) filling->is_final[k] = filling->is_final[k] || !filling->can_rise[k];
    return LP_OPTIMAL;
}

/* One that rose can rise no more. Where rounding hides which, the one that rose by the least part of its rate. */
static void end_one(struct filling *filling)
{
    int last = -1;
    for (int k = 0; k < filling->jobs->kinds; k++) {
        if (!(filling->rise[k] > 0)) continue;
        if (filling->is_final[k]) return;
        const double room = (filling->fastest[k] - filling->floor[k]) / filling->rise[k];
        if (last < 0 || room < (filling->fastest[last] - filling->floor[last]) / filling->rise[last]) last = k;
    }
    if (last >= 0) filling->is_final[last] = true;
}

enum lp_outcome gavel_fill(const struct gavel_jobs *jobs, const struct gavel_entities *entities, double *x)
{
    struct filling filling;
    enum lp_outcome outcome = filling_init(&filling, jobs, entities, x) ? LP_OPTIMAL : LP_NO_MEMORY;
    double most;
    while (outcome == LP_OPTIMAL && (most = set_rises(&filling)) > 0) {
        outcome = rise_together(&filling, most);
        if (outcome == LP_OPTIMAL) outcome = find_final(&filling);
        if (outcome == LP_OPTIMAL) end_one(&filling);
    }
    for (int k = 0; k < jobs->kinds; k++) filling.value[k] = 1; /* and the needs are those of the last floors */
    if (outcome == LP_OPTIMAL) outcome = gavel_levels_max_sum(filling.levels, filling.value, filling.need, x);
    filling_fini(&filling);
    return outcome;
}
