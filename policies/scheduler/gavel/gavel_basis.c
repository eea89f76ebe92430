#include "policies/scheduler/gavel/gavel_basis.h"

#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

/* A smaller pivot, relative to the column, is taken as 0. */
static const double LEAST_PIVOT = 1e-12;

/* How far outside of its bounds a value may lie. */
static const double FEASIBLE = 1e-9;

bool basis_init(struct gavel_basis *basis, const struct gavel_program *program)
{
    const size_t n = (size_t)program->kinds;
    *basis = (struct gavel_basis){.program = program,
                                  .key = mem_zalloc(2 * n + 1, sizeof *basis->key),
                                  .inverse = mem_zalloc(8 * n + 1, sizeof *basis->inverse)};
    if (basis->key == NULL || basis->inverse == NULL) return false;
    basis->value = basis->inverse + 4 * n;
    basis->per_level = basis->value + 2 * n;
    basis_clear(basis);
    return true;
}

void basis_fini(struct gavel_basis *basis)
{
    mem_free(basis->key);
    mem_free(basis->inverse);
}

/* --- One block --- */

/* Coefficients of a column in the rows of its block. */
static void coefficients(const struct gavel_program *program, int block, int id, double in[2])
{
    in[0] = id <= program->types ? 1 : 0;
    in[1] = id < program->types ? program->speed[block * program->types + id] : id == program->types ? 0 : -1;
}

static void multiply(const double inverse[4], double first, double second, double at[2])
{
    at[0] = inverse[0] * first + inverse[1] * second;
    at[1] = inverse[2] * first + inverse[3] * second;
}

void basis_coordinates(const struct gavel_basis *basis, int block, int id, double at[2])
{
    double in[2];
    coefficients(basis->program, block, id, in);
    multiply(&basis->inverse[4 * block], in[0], in[1], at);
}

static double gain_of(const struct gavel_basis *basis, int block, int id)
{
    const int types = basis->program->types;
    return basis->gain != NULL && id < types ? basis->gain[block * types + id] : 0;
}

double basis_net_gain(const struct gavel_basis *basis, int block, int id)
{
    const struct gavel_program *program = basis->program;
    if (id >= program->types) return 0;
    return gain_of(basis, block, id) - basis->price[id] * program->load[block * program->types + id];
}

void basis_duals(const struct gavel_basis *basis, int block, double dual[2])
{
    const double *inverse = &basis->inverse[4 * block];
    double gain[2];
    for (int q = 0; q < 2; q++) gain[q] = basis_net_gain(basis, block, basis->key[2 * block + q]);
    if (basis->held_block == block) gain[basis->held_at] -= basis->price[basis->program->types];
    dual[0] = gain[0] * inverse[0] + gain[1] * inverse[2];
    dual[1] = gain[0] * inverse[1] + gain[1] * inverse[3];
}

/* Subtracts what `at` of the key columns of a block put into the common rows. */
static void take_keys(const struct gavel_basis *basis, int block, const double at[2], double *rows)
{
    const struct gavel_program *program = basis->program;
    for (int q = 0; q < 2; q++) {
        const int id = basis->key[2 * block + q];
        if (id < program->types) rows[id] -= at[q] * program->load[block * program->types + id];
        if (basis->held_block == block && basis->held_at == q) rows[program->types] -= at[q];
    }
}

static double key_gain(const struct gavel_basis *basis, int block, const double at[2])
{
    return at[0] * gain_of(basis, block, basis->key[2 * block]) +
           at[1] * gain_of(basis, block, basis->key[2 * block + 1]);
}

/* Adds (sign 1) or takes away a block's part of the level's column. */
static void count_level(struct gavel_basis *basis, int block, double sign)
{
    const double at[2] = {sign * basis->per_level[2 * block], sign * basis->per_level[2 * block + 1]};
    const int held_block = basis->held_block;
    basis->held_block = -1; /* basis_factor adds its row */
    take_keys(basis, block, at, basis->level_load);
    basis->held_block = held_block;
    basis->level_cost -= key_gain(basis, block, at);
}

/* Inverts the key columns of a block. */
static void invert(struct gavel_basis *basis, int block)
{
    double first[2], second[2], *inverse = &basis->inverse[4 * block];
    coefficients(basis->program, block, basis->key[2 * block], first);
    coefficients(basis->program, block, basis->key[2 * block + 1], second);
    const double determinant = first[0] * second[1] - second[0] * first[1];
    inverse[0] = second[1] / determinant;
    inverse[1] = -second[0] / determinant;
    inverse[2] = -first[1] / determinant;
    inverse[3] = first[0] / determinant;
    multiply(inverse, 0, -gavel_need(basis->program, block), &basis->per_level[2 * block]);
}

static void sum_level(struct gavel_basis *basis)
{
    memset(basis->level_load, 0, sizeof basis->level_load);
    basis->level_cost = basis->level_gain;
    for (int k = 0; k < basis->program->kinds; k++) count_level(basis, k, 1);
}

void basis_read_needs(struct gavel_basis *basis)
{
    for (int k = 0; k < basis->program->kinds; k++) invert(basis, k);
}

void basis_set_key(struct gavel_basis *basis, int block, int at, int id)
{
    count_level(basis, block, -1);
    basis->key[2 * block + at] = id;
    invert(basis, block);
    count_level(basis, block, 1);
}

void basis_clear(struct gavel_basis *basis)
{
    const int types = basis->program->types;
    basis->rows = types;
    basis->level_at = basis->held_block = -1;
    basis->level = 0;
    for (int j = 0; j < types; j++) basis->working[j] = (struct basis_column){BASIS_COMMON, j};
    for (int k = 0; k < basis->program->kinds; k++) {
        basis->key[2 * k] = types;
        basis->key[2 * k + 1] = types + 1;
        invert(basis, k);
    }
    sum_level(basis);
}

/* --- The working system --- */

/* A column in the common rows, with the blocks eliminated. Returns its gain less that of the key columns. */
static double reduce(const struct gavel_basis *basis, struct basis_column column, double rows[BASIS_ROWS])
{
    const int types = basis->program->types;
    double at[2];
    memset(rows, 0, BASIS_ROWS * sizeof *rows);
    if (column.block != BASIS_COMMON) {
        basis_coordinates(basis, column.block, column.id, at);
        if (column.id < types) rows[column.id] = basis->program->load[column.block * types + column.id];
        take_keys(basis, column.block, at, rows);
        return gain_of(basis, column.block, column.id) - key_gain(basis, column.block, at);
    }
    if (column.id < types) rows[column.id] = 1;
    if (column.id == types) memcpy(rows, basis->level_load, (size_t)types * sizeof *rows);
    if (column.id == types && basis->held_block >= 0)
        rows[types] = -basis->per_level[2 * basis->held_block + basis->held_at];
    if (column.id > types) rows[types] = -1;
    return column.id == types ? basis->level_cost : 0;
}

/* Eliminates below row i of the factors, with the largest pivot. False: there is none. */
static bool eliminate(struct gavel_basis *basis, int i, double largest)
{
    const int n = basis->rows;
    int best = i;
    for (int r = i + 1; r < n; r++)
        if (fabs(basis->factor[r][i]) > fabs(basis->factor[best][i])) best = r;
    if (!(fabs(basis->factor[best][i]) > LEAST_PIVOT * largest)) return false;
    basis->pivot[i] = best;
    for (int c = 0; best != i && c < n; c++) {
        const double swapped = basis->factor[i][c];
        basis->factor[i][c] = basis->factor[best][c];
        basis->factor[best][c] = swapped;
    }
    for (int r = i + 1; r < n; r++) {
        const double times = basis->factor[r][i] /= basis->factor[i][i];
        for (int c = i + 1; c < n && times != 0; c++) basis->factor[r][c] -= times * basis->factor[i][c];
    }
    return true;
}

static void solve(const struct gavel_basis *basis, double *x)
{
    const int n = basis->rows;
    for (int i = 0; i < n; i++) {
        const double moved = x[basis->pivot[i]];
        x[basis->pivot[i]] = x[i];
        x[i] = moved;
    }
    for (int i = 0; i < n; i++)
        for (int c = 0; c < i; c++) x[i] -= basis->factor[i][c] * x[c];
    for (int i = n; i-- > 0;) {
        for (int c = i + 1; c < n; c++) x[i] -= basis->factor[i][c] * x[c];
        x[i] /= basis->factor[i][i];
    }
}

static void solve_transposed(const struct gavel_basis *basis, double *x)
{
    const int n = basis->rows;
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < i; c++) x[i] -= basis->factor[c][i] * x[c];
        x[i] /= basis->factor[i][i];
    }
    for (int i = n; i-- > 0;)
        for (int c = i + 1; c < n; c++) x[i] -= basis->factor[c][i] * x[c];
    for (int i = n; i-- > 0;) {
        const double moved = x[basis->pivot[i]];
        x[basis->pivot[i]] = x[i];
        x[i] = moved;
    }
}

bool basis_factor(struct gavel_basis *basis)
{
    double gain[BASIS_ROWS], rows[BASIS_ROWS];
    for (int i = 0; i < basis->rows; i++) {
        gain[i] = reduce(basis, basis->working[i], rows);
        for (int r = 0; r < basis->rows; r++) basis->factor[r][i] = rows[r];
    }
    for (int i = 0; i < basis->rows; i++) {
        double largest = 0;
        for (int r = 0; r < basis->rows; r++) largest = fmax(largest, fabs(basis->factor[r][i]));
        if (!eliminate(basis, i, largest)) return false;
    }
    solve_transposed(basis, gain);
    memset(basis->price, 0, sizeof basis->price);
    memcpy(basis->price, gain, (size_t)basis->rows * sizeof *gain);
    return true;
}

void basis_direction(const struct gavel_basis *basis, struct basis_column column, double fall[BASIS_ROWS])
{
    (void)reduce(basis, column, fall);
    solve(basis, fall);
}

double basis_level(const struct gavel_basis *basis)
{
    return basis->level_at >= 0 ? basis->working_value[basis->level_at] : basis->level;
}

/* Values of the working columns, then of all keys. */
static void compute_values(struct gavel_basis *basis)
{
    const struct gavel_program *program = basis->program;
    const double fixed = basis->level_at < 0 ? basis->level : 0;
    double *x = basis->working_value;
    for (int i = 0; i < basis->rows; i++) x[i] = i < program->types ? 1 : 0;
    for (int k = 0; k < program->kinds; k++) {
        multiply(&basis->inverse[4 * k], 1, fixed * gavel_need(program, k), &basis->value[2 * k]);
        take_keys(basis, k, &basis->value[2 * k], x);
    }
    solve(basis, x);
    const double level = basis->level_at < 0 ? 0 : x[basis->level_at];
    for (int i = 0; i < 2 * program->kinds; i++) basis->value[i] -= basis->per_level[i] * level;
    for (int i = 0; i < basis->rows; i++) {
        const struct basis_column column = basis->working[i];
        double at[2];
        if (column.block == BASIS_COMMON) continue;
        basis_coordinates(basis, column.block, column.id, at);
        for (int q = 0; q < 2; q++) basis->value[2 * column.block + q] -= at[q] * x[i];
    }
}

bool basis_refresh(struct gavel_basis *basis)
{
    sum_level(basis);
    if (!basis_factor(basis)) return false;
    compute_values(basis);
    return true;
}

bool basis_is_feasible(const struct gavel_basis *basis)
{
    for (int i = 0; i < basis->rows; i++)
        if (!(basis->working_value[i] >= -FEASIBLE)) return false;
    for (int i = 0; i < 2 * basis->program->kinds; i++)
        if (!(basis->value[i] >= -FEASIBLE)) return false;
    return basis_level(basis) <= 1 + FEASIBLE;
}
