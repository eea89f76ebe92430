/* Random programs of Gavel, many of them degenerate, and the simplex method alone on them. */
#ifndef ORRERY_TESTS_SUPPORT_GAVEL_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_GAVEL_FIXTURE_H

#include "policies/scheduler/gavel/gavel_simplex.h"
#include "sim/core/rng.h"

enum { GAVEL_MOST_KINDS = 200, GAVEL_MOST_X = GAVEL_MOST_KINDS * GAVEL_PROGRAM_TYPES };

/* What the level is for. */
enum gavel_level { GAVEL_FREE, GAVEL_WITHOUT_NEEDS, GAVEL_WITH_RATES, GAVEL_LEVELS };

struct gavel_fixture {
    struct gavel_program program;
    double speed[GAVEL_MOST_X], load[GAVEL_MOST_X], need[GAVEL_MOST_KINDS], gain[GAVEL_MOST_X];
};

void gavel_draw(struct gavel_fixture *f, enum gavel_level level, struct rng *rng);

/* Speeds, loads and needs over ten orders of magnitude. */
void gavel_draw_badly_scaled(struct gavel_fixture *f, bool has_needs, struct rng *rng);

double gavel_value_of(const struct gavel_fixture *f, const double *x, double level);

/* Checks that x and the level keep to all rows. */
void gavel_check_rows(const struct gavel_fixture *f, const double *x, double level);

/* The simplex method without GLPK. */
enum lp_outcome gavel_solve_alone(const struct gavel_program *program, double *x, double *level);

#endif
