/* The cheapest mix of GPUs that serves a mix of requests: the integer program of Mélange (arXiv 2404.14527). Requests
 * are sorted into buckets by their lengths, and each bucket is cut into slices of equal rate. Every slice goes to one
 * kind of GPU. A GPU serves max_per_s of bucket b if it serves nothing else. Its loads, as fractions of these limits,
 * add up to at most 1.
 *
 * Slices of a bucket are alike, so the program counts them. Its optima are those of a program with one binary per
 * slice. The program ignores how requests of different lengths slow each other down on one GPU. */
#ifndef ORRERY_POLICIES_RENTAL_MELANGE_FLEET_H
#define ORRERY_POLICIES_RENTAL_MELANGE_FLEET_H

#include "policies/lp.h"

#include <stdint.h>

struct melange_problem {
    int kinds, buckets;
    int64_t slices;           /* of each bucket, 1 .. 1000 */
    const double *usd_per_h;  /* [kinds] price of one GPU */
    const double *most_gpus;  /* [kinds] GPUs that can be rented; INFINITY: no limit */
    const double *rate_per_s; /* [buckets] rate of requests */
    const double *max_per_s;  /* [kinds][buckets]; 0: the kind cannot serve them */
};

struct melange_fleet {
    double usd_per_h;
    int64_t *gpus;  /* [kinds] */
    double *shares; /* [buckets][kinds] share of a bucket's requests; NULL: not wanted */
};

/* The cheapest fleet of all kinds, and of the cheapest single kind that serves everything, the first of equals.
 * LP_FEASIBLE: the cheapest found within the limit of nodes. LP_NO_MEMORY: out of memory. */
enum lp_outcome melange_solve(const struct melange_problem *problem, struct melange_fleet *fleet);
enum lp_outcome melange_single_kind(const struct melange_problem *problem, struct melange_fleet *fleet);

#endif
