/* Measures the CPU time per round of Gavel's max-min program with 1,000 active jobs on three types of GPUs.
 * In each round one job leaves and another arrives. One JSON line per cell:
 *
 *     alike     jobs of 26 types and four widths, as in the paper, in as many kinds
 *     unlike    each job with its own speeds, so that none share a kind */
#include "policies/scheduler/gavel/gavel_lp.h"
#include "sim/core/rng.h"
#include "tests/bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TYPES = 3, JOBS = 1000 };

struct cell {
    const char *name;
    int kinds;
    double count;
    int rounds;
};

struct state {
    double width[JOBS], count[JOBS], weight[JOBS], need[JOBS], speed[JOBS * TYPES], x[JOBS * TYPES];
};

/* The first type is the fastest; the slowest runs at 3 to 50 % of its speed, as K80 beside V100. */
static void draw(struct state *state, struct rng *rng, int kind, double count)
{
    static const double widths[] = {1, 1, 1, 1, 1, 1, 1, 2, 4, 8};
    double *speed = &state->speed[kind * TYPES];
    state->width[kind] = widths[rng_below(rng, 10)];
    state->count[kind] = count;
    state->weight[kind] = 1;
    speed[0] = 1;
    speed[1] = 0.2 + 0.7 * rng_uniform(rng);
    speed[2] = 0.03 + 0.47 * rng_uniform(rng);
}

/* One leaves, and those behind it move up; one comes. */
static void replace(struct state *state, struct rng *rng, const struct cell *cell)
{
    const size_t gone = rng_below(rng, (uint64_t)cell->kinds), n = (size_t)cell->kinds - gone - 1;
    memmove(&state->width[gone], &state->width[gone + 1], n * sizeof(double));
    memmove(&state->speed[gone * TYPES], &state->speed[(gone + 1) * TYPES], n * TYPES * sizeof(double));
    draw(state, rng, cell->kinds - 1, cell->count);
}

static int measure(const struct cell *cell)
{
    static const double gpus[TYPES] = {36, 36, 36};
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL) return 1;
    struct rng rng;
    double level, worst_s = 0, all_s = 0;
    bool ok = true;
    rng_init(&rng, 1, 0, "bench", 0);
    for (int k = 0; k < cell->kinds; k++) draw(state, &rng, k, cell->count);
    const struct gavel_jobs jobs = {.types = TYPES, .kinds = cell->kinds, .gpus = gpus, .count = state->count,
                                    .width = state->width, .speed = state->speed};
    for (int i = -1; i < cell->rounds && ok; i++) {
        const double start_s = bench_cpu_s();
        gavel_equal_share(&jobs, state->weight, state->need);
        ok = gavel_max_min(&jobs, state->need, state->x, &level) == LP_OPTIMAL;
        const double spent_s = bench_cpu_s() - start_s;
        if (i >= 0) all_s += spent_s;
        if (i >= 0 && spent_s > worst_s) worst_s = spent_s;
        replace(state, &rng, cell);
    }
    free(state);
    if (!ok) fprintf(stderr, "gavel: %s: no optimum\n", cell->name);
    printf("{\"bench\": \"gavel\", \"cell\": \"%s\", \"kinds\": %d, \"rounds\": %d, \"ms_per_round\": %.2f, "
           "\"worst_ms\": %.2f}\n",
           cell->name, cell->kinds, cell->rounds, all_s * 1e3 / cell->rounds, worst_s * 1e3);
    return !ok;
}

int main(int argc, char **argv)
{
    static const struct cell cells[] = {{"alike", 104, (double)JOBS / 104, 200}, {"unlike", JOBS, 1, 100}};
    (void)argc, (void)argv;
    int failed = 0;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct cell cell = cells[i];
        if (bench_load(cell.rounds) < cell.rounds) cell.kinds /= 10;
        cell.rounds = bench_load(cell.rounds);
        failed |= measure(&cell);
    }
    return failed;
}
