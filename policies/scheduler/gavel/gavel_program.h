/* A linear program of Gavel in relative numbers, and its solution. With t = 1 or t free:
 *
 *     maximise  sum gain_kj x_kj + level_gain t
 *     sum_j x_kj <= 1                       the time of kind k
 *     sum_j speed_kj x_kj >= need_k t       its rate
 *     sum_k load_kj x_kj <= 1               the GPUs of type j
 *     x >= 0;  0 <= t <= 1 */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_PROGRAM_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_PROGRAM_H

#include "policies/lp.h"

#include <stdbool.h>
#include <stddef.h>

enum { GAVEL_PROGRAM_TYPES = 8 };

/* x is 0 where the speed is 0. */
struct gavel_program {
    int kinds, types;
    const double *speed; /* [kinds][types] relative to the kind's fastest type: 0 to 1; all 0: it runs nowhere */
    const double *load;  /* [kinds][types] part of the type's GPUs that the jobs of the kind take, > 0 */
    const double *need;  /* [kinds] relative to the fastest type: 0 to 1; NULL: 0 */
    double *gain;        /* [kinds][types] */
    double level_gain;   /* of t; 0: t is 1 */
};

static inline double gavel_need(const struct gavel_program *program, int kind)
{
    return program->need == NULL ? 0 : program->need[kind];
}

/* The program and the basis where the last call ended. */
struct gavel_solver;

/* NULL: out of memory. The program outlives the solver. */
struct gavel_solver *gavel_solver_create(const struct gavel_program *program);
void gavel_solver_destroy(struct gavel_solver *solver);

/* Writes x [kinds][types] and t if there is an optimum. Numbers of `need` and `gain` may have changed since the last
 * call. The optimum is proven by the prices of its basis (weak duality), to a part in 1e10; failing that, GLPK solves
 * the program. That there is no solution is not proven: the best t found lies more than 1e-6 below 1. */
enum lp_outcome gavel_solve(struct gavel_solver *solver, double *x, double *level);

/* The optimum of GLPK. */
enum lp_outcome gavel_solve_by_glpk(const struct gavel_program *program, double *x, double *level);

#endif
