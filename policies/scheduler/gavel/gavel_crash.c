#include "policies/scheduler/gavel/gavel_crash.h"

#include <math.h>
#include <string.h>

/* Walks over all kinds, and how dear GPUs become by their use in the first of these. */
enum { WALKS = 6 };
static const double FIRST_RISE = 2, RISE_FRAC = 0.6;

/* Part of the level that a later walk may miss. */
static const double ABOVE_FRAC = 0.02;

/* Prices of whole GPU types, at which each kind takes one type. */
struct market {
    double price[GAVEL_PROGRAM_TYPES], use[GAVEL_PROGRAM_TYPES]; /* use: part of the type's GPUs at level 1 */
    double level, rise;
};

/* The GPUs on which a kind reaches its need, above 0, at the least price, of those fast enough for the level. */
static int cheapest(const struct gavel_program *program, const struct market *market, int kind)
{
    const double *speed = &program->speed[kind * program->types], *load = &program->load[kind * program->types];
    double least = (double)INFINITY;
    int best = -1;
    for (int j = 0; j < program->types; j++) {
        if (speed[j] < program->need[kind] * market->level) continue;
        const double cost = market->price[j] * load[j] / speed[j];
        if (cost < least) best = j;
        least = fmin(least, cost);
    }
    return best;
}

/* Each kind in turn takes the type that is cheapest, which makes this type dearer for the next. */
static void walk(struct gavel_basis *basis, struct market *market, bool is_last)
{
    const struct gavel_program *program = basis->program;
    memset(market->use, 0, sizeof market->use);
    for (int k = 0; k < program->kinds; k++) {
        const int type = program->need[k] > 0 ? cheapest(program, market, k) : -1;
        if (type < 0) continue;
        const int column = k * program->types + type;
        const double use = program->need[k] * program->load[column] / program->speed[column];
        market->use[type] += use;
        market->price[type] *= 1 + market->rise * market->level * use;
        if (!is_last) continue;
        basis_set_key(basis, k, 0, type);
        basis_set_key(basis, k, 1, program->types);
    }
}

/* The level at which the mean type is used up. */
static double mean_level(const struct market *market, int types)
{
    double use = 0;
    for (int j = 0; j < types; j++) use += market->use[j];
    return fmin(1, types * (1 + ABOVE_FRAC) / use);
}

/* The level rises until a type is used up. */
static bool enter_level(struct gavel_basis *basis)
{
    const int types = basis->program->types;
    double level = 1;
    int tight = -1;
    for (int j = 0; j < types; j++) {
        if (!(basis->level_load[j] * level > 1)) continue;
        tight = j;
        level = 1 / basis->level_load[j];
    }
    basis->level = 1;
    if (tight >= 0) {
        basis->working[tight] = (struct basis_column){BASIS_COMMON, types};
        basis->level_at = tight;
    }
    return basis_refresh(basis) && basis_is_feasible(basis);
}

bool gavel_crash(struct gavel_basis *basis)
{
    const struct gavel_program *program = basis->program;
    struct market market = {.level = 1};
    for (int j = 0; j < program->types; j++) market.price[j] = program->load[0] / program->load[j]; /* equal per GPU */
    basis_clear(basis);
    for (int i = 0; i < WALKS; i++) {
        walk(basis, &market, i == WALKS - 1);
        if (i < WALKS - 1) market.level = mean_level(&market, program->types);
        market.rise = i == 0 ? FIRST_RISE : RISE_FRAC * market.rise;
    }
    if (enter_level(basis)) return true;
    basis_clear(basis);
    market.level = 1; /* at which each kind takes a type that is fast enough for any level */
    walk(basis, &market, true);
    return enter_level(basis);
}
