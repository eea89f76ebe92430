#include "policies/scheduler/gavel/gavel_simplex.h"

#include "policies/scheduler/gavel/gavel_crash.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK = 64,          /* blocks whose columns are compared before the best one enters */
    REFRESH_STEPS = 100, /* steps after which all values are computed anew */
    STEPS_PER_KIND = 50  /* the most */
};

static const double LEAST_FALL = 1e-9; /* of a column that may leave the basis */
static const double SLACK = 1e-11;     /* how far values may go below 0 in a step */
static const double GAIN_FRAC = 1e-12; /* least reduced gain, relative to the terms of its sum */
static const double INFEASIBLE = 1e-6; /* how far below 1 the best level lies if rates are surely out of reach */

/* A step: which column enters, how the others fall, and which leaves. */
struct step {
    struct basis_column column;
    double sign; /* -1: the level falls from its upper bound */
    double gain;
    double fall[BASIS_ROWS];
    double level_rise; /* per unit of the column */
    double length;
    int out_working;       /* -1: a key leaves, or none */
    int out_block, out_at; /* the key */
    bool to_upper;         /* the level leaves the basis at its upper bound */
};

bool gavel_simplex_init(struct gavel_simplex *simplex, const struct gavel_program *program)
{
    *simplex = (struct gavel_simplex){.fall = mem_zalloc(2 * (size_t)program->kinds + 1, sizeof *simplex->fall)};
    return basis_init(&simplex->basis, program) && simplex->fall != NULL;
}

void gavel_simplex_fini(struct gavel_simplex *simplex)
{
    basis_fini(&simplex->basis);
    mem_free(simplex->fall);
}

/* --- The column that enters --- */

static void consider(struct step *step, int block, int id, double sign, double gain, double terms)
{
    if (gain <= GAIN_FRAC * terms || gain <= step->gain) return;
    step->column = (struct basis_column){block, id};
    step->sign = sign;
    step->gain = gain;
}

/* Gains count relative to what they are differences of. */
static void price_block(const struct gavel_basis *basis, int block, struct step *step)
{
    const struct gavel_program *program = basis->program;
    const int types = program->types, *key = &basis->key[2 * block];
    const double *speed = &program->speed[block * types];
    double dual[2], net[GAVEL_PROGRAM_TYPES], terms = 0;
    basis_duals(basis, block, dual);
    for (int id = 0; id < types; id++) {
        net[id] = basis_net_gain(basis, block, id);
        terms += fabs(net[id]) + fabs(basis->price[id]) * program->load[block * types + id];
    }
    for (int id = 0; id < types; id++)
        if (speed[id] > 0 && key[0] != id && key[1] != id)
            consider(step, block, id, 1, net[id] - dual[0] - dual[1] * speed[id], terms);
    if (key[0] != types && key[1] != types) consider(step, block, types, 1, -dual[0], terms);
    if (key[0] != types + 1 && key[1] != types + 1) consider(step, block, types + 1, 1, dual[1], terms);
}

static void price_common(const struct gavel_basis *basis, struct step *step)
{
    const int types = basis->program->types;
    double prices = 0, level = basis->level_cost, terms = fabs(level);
    for (int j = 0; j < types; j++) prices += fabs(basis->price[j]);
    for (int j = 0; j < types; j++) {
        consider(step, BASIS_COMMON, j, 1, -basis->price[j], prices);
        level -= basis->price[j] * basis->level_load[j];
        terms += fabs(basis->price[j] * basis->level_load[j]);
    }
    if (basis->held_block >= 0) consider(step, BASIS_COMMON, types + 1, 1, basis->price[types], prices + terms);
    if (basis->level_at >= 0 || basis->level_gain <= 0) return;
    const double sign = basis->level > 0 ? -1 : 1;
    consider(step, BASIS_COMMON, types, sign, sign * level, terms);
}

static bool is_working(const struct gavel_basis *basis, struct basis_column column)
{
    for (int i = 0; i < basis->rows; i++)
        if (basis->working[i].block == column.block && basis->working[i].id == column.id) return true;
    return false;
}

/* The best column of the first chunk of blocks that has one. False: none would gain. */
static bool choose_column(struct gavel_simplex *simplex, struct step *step)
{
    const struct gavel_basis *basis = &simplex->basis;
    const int kinds = basis->program->kinds;
    *step = (struct step){.out_working = -1, .out_block = -1};
    price_common(basis, step);
    for (int n = 0; n < kinds;) {
        for (int chunk = 0; chunk < CHUNK && n < kinds; chunk++, n++) {
            price_block(basis, simplex->cursor, step);
            if (++simplex->cursor == kinds) simplex->cursor = 0;
        }
        if (step->gain > 0 && !is_working(basis, step->column)) return true;
    }
    return step->gain > 0 && !is_working(basis, step->column);
}

/* --- The column that leaves --- */

static bool is_held_column(const struct gavel_basis *basis, struct basis_column column)
{
    return column.block == BASIS_COMMON && column.id == basis->program->types + 1;
}

static bool is_level(const struct gavel_basis *basis, struct basis_column column)
{
    return column.block == BASIS_COMMON && column.id == basis->program->types;
}

static void add_fall(struct gavel_simplex *simplex, struct basis_column column, double by)
{
    double at[2];
    if (column.block == BASIS_COMMON) return;
    basis_coordinates(&simplex->basis, column.block, column.id, at);
    simplex->fall[2 * column.block] += by * at[0];
    simplex->fall[2 * column.block + 1] += by * at[1];
}

/* How the key columns fall. While the level stays, only blocks with working columns change. */
static void find_falls(struct gavel_simplex *simplex, struct step *step)
{
    const struct gavel_basis *basis = &simplex->basis;
    basis_direction(basis, step->column, step->fall);
    for (int i = 0; i < basis->rows; i++) step->fall[i] *= step->sign;
    step->level_rise = basis->level_at >= 0 ? -step->fall[basis->level_at] : 0;
    if (is_level(basis, step->column)) step->level_rise = step->sign;
    for (int i = 0; step->level_rise != 0 && i < 2 * basis->program->kinds; i++)
        simplex->fall[i] = step->level_rise * basis->per_level[i];
    for (int i = -1; step->level_rise == 0 && i < basis->rows; i++) {
        const int block = i < 0 ? step->column.block : basis->working[i].block;
        if (block != BASIS_COMMON) simplex->fall[2 * block] = simplex->fall[2 * block + 1] = 0;
    }
    add_fall(simplex, step->column, 1);
    for (int i = 0; i < basis->rows; i++) add_fall(simplex, basis->working[i], -step->fall[i]);
    if (basis->held_block >= 0 && !is_held_column(basis, step->column))
        simplex->fall[2 * basis->held_block + basis->held_at] = 0;
}

/* The key columns that may change are those of some blocks: [first, first + *n) for each i below n_ranges. */
static int n_ranges(const struct gavel_basis *basis, const struct step *step)
{
    return step->level_rise != 0 ? 1 : basis->rows + 1;
}

static int range(const struct gavel_basis *basis, const struct step *step, int i, int *n)
{
    *n = 2 * basis->program->kinds;
    if (step->level_rise != 0) return 0;
    const int block = i == 0 ? step->column.block : basis->working[i - 1].block;
    *n = block == BASIS_COMMON ? 0 : 2;
    return block == BASIS_COMMON ? 0 : 2 * block;
}

static double shorten(double most, double value, double fall)
{
    return fall > LEAST_FALL && value + SLACK < most * fall ? fmax(value + SLACK, 0) / fall : most;
}

/* The longest step with all values above -SLACK. */
static double longest(const struct gavel_simplex *simplex, const struct step *step)
{
    const struct gavel_basis *basis = &simplex->basis;
    double most = is_level(basis, step->column) ? 1 : (double)INFINITY;
    for (int i = 0; i < basis->rows; i++) {
        most = shorten(most, basis->working_value[i], step->fall[i]);
        if (i == basis->level_at) most = shorten(most, 1 - basis->working_value[i], -step->fall[i]);
    }
    for (int i = 0, n; i < n_ranges(basis, step); i++) {
        const int first = range(basis, step, i, &n);
        const double *value = basis->value + first, *fall = simplex->fall + first;
        for (int q = 0; q < n; q++) most = shorten(most, value[q], fall[q]);
    }
    return most;
}

/* Whether a column reaches 0 within the longest step, and falls faster than the earlier ones that do (Harris 1973). */
static bool leaves(double value, double fall, double most, double *fastest)
{
    if (!(fall > LEAST_FALL && value <= most * fall && fall > *fastest)) return false;
    *fastest = fall;
    return true;
}

static void choose_leaving(const struct gavel_simplex *simplex, double most, struct step *step)
{
    const struct gavel_basis *basis = &simplex->basis;
    double fastest = 0, value = 0;
    for (int i = 0, n; i < n_ranges(basis, step); i++) {
        const int first = range(basis, step, i, &n);
        for (int q = first; q < first + n; q++) {
            if (!leaves(basis->value[q], simplex->fall[q], most, &fastest)) continue;
            step->out_block = q / 2;
            step->out_at = q % 2;
            value = basis->value[q];
        }
    }
    for (int i = 0; i < basis->rows; i++) {
        if (!leaves(basis->working_value[i], step->fall[i], most, &fastest)) continue;
        step->out_working = i;
        value = basis->working_value[i];
    }
    if (fastest > 0) step->length = fmax(value, 0) / fastest;
    if (basis->level_at < 0) return;
    const double up = 1 - basis->working_value[basis->level_at];
    const double rise = -step->fall[basis->level_at];
    if (!(rise > LEAST_FALL && up <= most * rise)) return;
    step->out_working = basis->level_at;
    step->to_upper = true;
    step->length = fmax(up, 0) / rise;
}

/* --- The exchange --- */

static void advance(struct gavel_simplex *simplex, const struct step *step)
{
    struct gavel_basis *basis = &simplex->basis;
    for (int i = 0; i < basis->rows; i++) basis->working_value[i] -= step->length * step->fall[i];
    for (int i = 0, n; i < n_ranges(basis, step); i++) {
        const int first = range(basis, step, i, &n);
        double *value = basis->value + first, *fall = simplex->fall + first;
        for (int q = 0; q < n; q++) value[q] -= step->length * fall[q];
        memset(fall, 0, (size_t)n * sizeof *fall); /* a block may come again */
    }
}

static void remove_working(struct gavel_basis *basis, int at)
{
    basis->rows--;
    basis->working[at] = basis->working[basis->rows];
    basis->working_value[at] = basis->working_value[basis->rows];
}

static void put_working(struct gavel_basis *basis, int at, struct basis_column column, double value)
{
    basis->working[at] = column;
    basis->working_value[at] = value;
}

/* The working column of a block that can best replace one of its keys; -1: none can. `least` gets its coordinate. */
static int find_replacement(const struct gavel_basis *basis, int block, int at, double *least)
{
    int best = -1;
    for (int i = 0; i < basis->rows; i++) {
        double coordinates[2];
        if (basis->working[i].block != block) continue;
        basis_coordinates(basis, block, basis->working[i].id, coordinates);
        if (fabs(coordinates[at]) <= *least) continue;
        *least = fabs(coordinates[at]);
        best = i;
    }
    return best;
}

static void make_key(struct gavel_basis *basis, int block, int at, int working)
{
    basis_set_key(basis, block, at, basis->working[working].id);
    basis->value[2 * block + at] = basis->working_value[working];
}

/* The entering column replaces the held key, if it is of the same block. */
static bool replace_held(struct gavel_basis *basis, struct basis_column column, double value)
{
    const int block = basis->held_block, at = basis->held_at;
    double coordinates[2];
    if (block < 0 || column.block != block) return false;
    basis_coordinates(basis, block, column.id, coordinates);
    if (fabs(coordinates[at]) <= LEAST_FALL) return false;
    basis->held_block = -1;
    basis_set_key(basis, block, at, column.id);
    basis->value[2 * block + at] = value;
    return true;
}

/* The leaving key stays at 0. False: the basis is singular. */
static bool hold_key(struct gavel_basis *basis, const struct step *step, double value)
{
    const bool is_placed = is_held_column(basis, step->column) || replace_held(basis, step->column, value);
    if (basis->held_block >= 0) return false;
    basis->held_block = step->out_block;
    basis->held_at = step->out_at;
    basis->value[2 * step->out_block + step->out_at] = 0;
    if (!is_placed) put_working(basis, basis->rows++, step->column, value);
    return true;
}

/* The key leaves: for the entering column if that is of its block, or for a working column, which makes place for the
 * entering one. Without either it is held at 0. */
static bool replace_key(struct gavel_basis *basis, const struct step *step, double value)
{
    const int block = step->out_block, at = step->out_at;
    const bool frees = is_held_column(basis, step->column);
    double own[2] = {0}, least;
    if (step->column.block == block) basis_coordinates(basis, block, step->column.id, own);
    least = fmax(LEAST_FALL, fabs(own[at]));
    const int working = find_replacement(basis, block, at, &least);
    if (frees) basis->held_block = -1;
    if (working < 0 && fabs(own[at]) < least) return hold_key(basis, step, value);
    if (working < 0) {
        basis_set_key(basis, block, at, step->column.id);
        basis->value[2 * block + at] = value;
        return true;
    }
    make_key(basis, block, at, working);
    if (frees)
        remove_working(basis, working);
    else
        put_working(basis, working, step->column, value);
    return true;
}

/* A block whose key is held gets another one as soon as it has one. */
static void free_held(struct gavel_basis *basis)
{
    double least = LEAST_FALL;
    if (basis->held_block < 0) return;
    const int working = find_replacement(basis, basis->held_block, basis->held_at, &least);
    if (working < 0) return;
    make_key(basis, basis->held_block, basis->held_at, working);
    remove_working(basis, working);
    basis->held_block = -1;
}

static void find_level(struct gavel_basis *basis)
{
    basis->level_at = -1;
    for (int i = 0; i < basis->rows; i++)
        if (is_level(basis, basis->working[i])) basis->level_at = i;
}

/* False: the basis has become singular. */
static bool exchange(struct gavel_simplex *simplex, const struct step *step)
{
    struct gavel_basis *basis = &simplex->basis;
    const double value = is_level(basis, step->column) ? basis->level + step->sign * step->length : step->length;
    if (step->out_working < 0 && step->out_block < 0) { /* the level goes from one bound to the other */
        basis->level = step->sign > 0 ? 1 : 0;
        return true;
    }
    if (step->out_working >= 0) {
        if (step->out_working == basis->level_at) basis->level = step->to_upper ? 1 : 0;
        if (is_held_column(basis, step->column)) {
            remove_working(basis, step->out_working);
            basis->held_block = -1;
        } else
            put_working(basis, step->out_working, step->column, value);
    } else if (!replace_key(basis, step, value))
        return false;
    free_held(basis);
    find_level(basis);
    return basis->held_block < 0 || basis->level_at >= 0;
}

/* --- The method --- */

/* 1: went on; 0: no column gains; -1: the basis is singular, or the program unbounded. */
static int go_on(struct gavel_simplex *simplex)
{
    struct step step;
    if (!choose_column(simplex, &step)) return 0;
    find_falls(simplex, &step);
    const double most = longest(simplex, &step);
    if (!isfinite(most)) return -1;
    step.length = most;
    choose_leaving(simplex, most, &step);
    if (step.out_working >= 0) step.out_block = -1;
    advance(simplex, &step);
    return exchange(simplex, &step) && basis_factor(&simplex->basis) ? 1 : -1;
}

/* Maximises the gains of the basis. */
static enum lp_outcome climb(struct gavel_simplex *simplex)
{
    const long most = 1000 + STEPS_PER_KIND * (long)simplex->basis.program->kinds;
    if (!basis_refresh(&simplex->basis)) return LP_GAVE_UP;
    for (long n = 0, since = 0; n < most; n++, since++) {
        if (since == REFRESH_STEPS) {
            if (!basis_refresh(&simplex->basis)) return LP_GAVE_UP;
            since = 0;
        }
        const int code = go_on(simplex);
        if (code < 0) return LP_GAVE_UP;
        simplex->steps += code;
        if (code > 0) continue;
        if (since == 0) return basis_is_feasible(&simplex->basis) ? LP_OPTIMAL : LP_GAVE_UP;
        since = REFRESH_STEPS - 1; /* once more with exact values */
    }
    return LP_GAVE_UP;
}

static bool has_needs(const struct gavel_program *program)
{
    for (int k = 0; program->need != NULL && k < program->kinds; k++)
        if (program->need[k] > 0) return true;
    return false;
}

static bool starts_where_it_ended(struct gavel_simplex *simplex)
{
    struct gavel_basis *basis = &simplex->basis;
    if (!simplex->is_started) return false;
    basis_read_needs(basis);
    return basis_refresh(basis) && basis_is_feasible(basis);
}

/* Rates that t = 1 requires are reached by maximising t alone. */
static enum lp_outcome start_anew(struct gavel_simplex *simplex)
{
    struct gavel_basis *basis = &simplex->basis;
    basis->gain = NULL;
    basis->level_gain = 1;
    if (!has_needs(basis->program)) {
        basis_clear(basis);
        basis->level = basis->program->level_gain > 0 ? 0 : 1;
        return LP_OPTIMAL;
    }
    if (!gavel_crash(basis)) return LP_GAVE_UP;
    if (basis->program->level_gain > 0) return LP_OPTIMAL;
    const enum lp_outcome outcome = climb(simplex);
    if (outcome != LP_OPTIMAL || (basis->level_at < 0 && basis->level > 0)) return outcome;
    return basis_level(basis) < 1 - INFEASIBLE ? LP_INFEASIBLE : LP_GAVE_UP;
}

enum lp_outcome gavel_simplex_start(struct gavel_simplex *simplex)
{
    if (starts_where_it_ended(simplex)) return LP_OPTIMAL;
    const enum lp_outcome outcome = start_anew(simplex);
    simplex->is_started = outcome == LP_OPTIMAL;
    return outcome;
}

enum lp_outcome gavel_simplex_maximise(struct gavel_simplex *simplex)
{
    simplex->basis.gain = simplex->basis.program->gain;
    simplex->basis.level_gain = simplex->basis.program->level_gain;
    const enum lp_outcome outcome = climb(simplex);
    simplex->is_started = outcome == LP_OPTIMAL;
    return outcome;
}

void gavel_simplex_shares(const struct gavel_simplex *simplex, double *x)
{
    const struct gavel_basis *basis = &simplex->basis;
    const int types = basis->program->types;
    memset(x, 0, (size_t)(basis->program->kinds * types) * sizeof *x);
    for (int i = 0; i < 2 * basis->program->kinds; i++)
        if (basis->key[i] < types) x[i / 2 * types + basis->key[i]] = fmax(basis->value[i], 0);
    for (int i = 0; i < basis->rows; i++) {
        const struct basis_column column = basis->working[i];
        if (column.block != BASIS_COMMON && column.id < types)
            x[column.block * types + column.id] = fmax(basis->working_value[i], 0);
    }
}
