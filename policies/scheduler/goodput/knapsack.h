/* A choice of at most one of several allocations for each job, within the GPUs of each type, that maximises the sum of
 * their values: a multiple-choice knapsack with a capacity per type.
 *
 * The solution is exact, by dynamic programming over the GPUs left (Kellerer, Pferschy and Pisinger, Knapsack Problems,
 * 2004, section 11.5), if that takes at most KNAPSACK_WORK steps. Else it is approximate: each job takes what is best
 * at a price per GPU of each type (Lagrangian relaxation). Prices follow demand. Jobs then choose in order
 * of what is left, and GPUs that remain are offered at lower prices. */
#ifndef ORRERY_POLICIES_SCHEDULER_GOODPUT_KNAPSACK_H
#define ORRERY_POLICIES_SCHEDULER_GOODPUT_KNAPSACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KNAPSACK_TYPES = 8, KNAPSACK_WORK = 200000000 };

/* An allocation for one job. */
struct knapsack_choice {
    double value; /* above that of none, which is 0 */
    int32_t gpus, type;
};

struct knapsack {
    size_t n;                              /* jobs */
    const size_t *starts;                  /* [n + 1]: those of job i are choices[starts[i]] .. [starts[i + 1] - 1] */
    const struct knapsack_choice *choices; /* preferred ones first: of equal values the earlier is taken */
    int types;
    const int64_t *gpus;                   /* [types] */
};

/* Writes for each job its choice, or -1 for none. Returns 1 if the solution is exact, 0 if it is approximate, or
 * SIM_E_NOMEM. */
int knapsack_solve(const struct knapsack *knapsack, int32_t *picked);

/* As knapsack_solve by prices alone, which tests compare with it. */
int knapsack_solve_by_prices(const struct knapsack *knapsack, int32_t *picked);

#endif
