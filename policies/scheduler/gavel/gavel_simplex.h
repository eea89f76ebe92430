/* The simplex method for Gavel's programs, on the basis of gavel_basis.h. A step takes time in proportion to the kinds
 * while the level changes, and else almost none. Of equally good columns the first enters. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_SIMPLEX_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_SIMPLEX_H

#include "policies/scheduler/gavel/gavel_basis.h"

struct gavel_simplex {
    struct gavel_basis basis;
    double *fall; /* [kinds][2] how the key columns fall per unit of the entering column */
    int cursor;   /* block where the search for the next column starts */
    bool is_started; /* the basis is that of an earlier optimum */
    long steps;      /* of all calls so far */
};

/* False: out of memory. gavel_simplex_fini follows in any case. */
bool gavel_simplex_init(struct gavel_simplex *simplex, const struct gavel_program *program);
void gavel_simplex_fini(struct gavel_simplex *simplex);

/* Goes to a feasible basis: the present one, if there is one and it is feasible with the needs of now. LP_OPTIMAL,
 * LP_INFEASIBLE, or LP_GAVE_UP: rounding errors are too large. */
enum lp_outcome gavel_simplex_start(struct gavel_simplex *simplex);

/* Maximises from a feasible basis. LP_OPTIMAL or LP_GAVE_UP. */
enum lp_outcome gavel_simplex_maximise(struct gavel_simplex *simplex);

/* Writes x [kinds][types]. */
void gavel_simplex_shares(const struct gavel_simplex *simplex, double *x);

#endif
