/* The cheapest mix of GPUs that serves a mix of requests: the integer program of Mélange (arXiv 2404.14527). Requests
 * are sorted into buckets by their lengths, each bucket is cut into slices of equal rate, every slice goes to one
 * kind of GPUs, and a GPU can take as much as it is not overloaded by: of bucket b it takes max_per_s of requests per
 * second when it serves nothing else, and loads add up.
 *
 * Slices of a bucket are alike, so the program counts them; that has the optima of one with a binary for each. Leaves
 * out how requests of different lengths slow each other down on one GPU. */
#ifndef ORRERY_POLICIES_RENTAL_MELANGE_FLEET_H
#define ORRERY_POLICIES_RENTAL_MELANGE_FLEET_H

#include "policies/lp.h"

#include <stdint.h>

struct melange_problem {
    int kinds, buckets;
    int64_t slices;           /* of each bucket, 1 .. 1000 */
    const double *usd_per_h;  /* [kinds] of one GPU */
    const double *most_gpus;  /* [kinds] that can be rented; INFINITY: no limit */
    const double *rate_per_s; /* [buckets] of requests */
    const double *max_per_s;  /* [kinds][buckets]; 0: this kind cannot serve them */
};

struct melange_fleet {
    double usd_per_h;
    int64_t *gpus;  /* [kinds] */
    double *shares; /* [buckets][kinds] of a bucket's requests; NULL: not wanted */
};

/* The cheapest fleet of all kinds, and of the one kind that serves everything at the least cost: the first of equals.
 * LP_FEASIBLE: the cheapest that was found within the limit of nodes. LP_FAILED: out of memory. */
enum lp_outcome melange_solve(const struct melange_problem *problem, struct melange_fleet *fleet);
enum lp_outcome melange_single_kind(const struct melange_problem *problem, struct melange_fleet *fleet);

#endif
