/* Gavel's hierarchy of two levels (Narayanan et al., OSDI 2020, section 4.3): entities share the GPUs by max-min
 * fairness, and the jobs of each share its part by fairness or in their order. Water filling: the rates of all jobs
 * that have a weight rise together, each in units of its weight, until one can rise no more. Its weight goes to other
 * jobs of its entity, and the rest rise on. Pure functions of jobs and GPUs. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_ENTITIES_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_ENTITIES_H

#include "policies/scheduler/gavel/gavel_lp.h"

#include <stdbool.h>

struct gavel_entity {
    double weight;    /* > 0: its share relative to others */
    bool is_in_order; /* its first kind that can still rise has the weight, and is one job; else all by weight */
};

struct gavel_entities {
    const struct gavel_entity *entities;
    const int *of;        /* [kinds] index in entities */
    const double *weight; /* [kinds] > 0: share of each job relative to others of its entity */
};

/* Writes X [kinds][types] if it returns LP_OPTIMAL. Rates are in units of the job's rate under equal shares over its
 * width, as in gavel_equal_share. No rate can rise under X unless another one falls. Levels are exact to a part in
 * 1e9. A rate that could rise by less than a millionth of the job's fastest counts as one that cannot. */
enum lp_outcome gavel_fill(const struct gavel_jobs *jobs, const struct gavel_entities *entities, double *x);

#endif
