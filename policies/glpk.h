/* What every use of GLPK needs: silence, a way back where the library would abort, and bounds in its terms. */
#ifndef ORRERY_POLICIES_GLPK_H
#define ORRERY_POLICIES_GLPK_H

#include <stdbool.h>

/* Calls work(context) in an environment of GLPK that ends with it, with every problem made there. Returns whether it
 * came to its end: not where GLPK gave up by itself, for want of memory or of a sound problem. `work` owns nothing
 * that must be freed. */
bool glpk_run(void (*work)(void *context), void *context);

/* GLP_FX, GLP_LO, GLP_UP, GLP_DB or GLP_FR: a bound may be infinite. */
int glpk_bound_kind(double lower, double upper);

#endif
