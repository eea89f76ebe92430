/* A basis near the best level of a program of Gavel, from which few steps of the simplex method remain. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_CRASH_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_CRASH_H

#include "policies/scheduler/gavel/gavel_basis.h"

/* Goes to a feasible basis and computes its values. Some kind has a need. False: rounding errors are too large. */
bool gavel_crash(struct gavel_basis *basis);

#endif
