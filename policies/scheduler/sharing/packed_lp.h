/* The linear program of Gavel with space sharing (Narayanan et al., OSDI 2020, section 4.4), over kinds of jobs.
 * Jobs of one kind are alike. A combination is a job of one kind alone or two jobs of kinds that share GPUs.
 * y[c][j] is the mean number of times that combination c runs on GPU type j at once:
 *
 *     sum over c of gpus[c] y[c][j] <= gpus of type j
 *     sum over c and j of (jobs of kind k in c) y[c][j] <= count[k]
 *     rate[k] = 1 / count[k] sum over c and j of (speed of kind k in c on j) y[c][j]
 *
 * It maximises the least rate[k] / need[k], and with a small weight the sum of all rates. */
#ifndef ORRERY_POLICIES_SCHEDULER_SHARING_PACKED_LP_H
#define ORRERY_POLICIES_SCHEDULER_SHARING_PACKED_LP_H

#include "policies/lp.h"

enum { PACKED_TYPES = 8 };

/* One job of kind `first` alone (second -1), or with one of kind `second`, which may be the same. */
struct combination {
    int first, second;
    double gpus;
    double speed_first[PACKED_TYPES], speed_second[PACKED_TYPES]; /* 0: not on this type */
};

struct packed_problem {
    int kinds, combinations, types;
    const double *count, *need; /* [kinds], above 0 */
    const double *gpus;         /* [types] */
    const struct combination *of; /* [combinations] */
};

/* Basis states of the last call, to start from: [combinations * types + 1], [types + 2 kinds]; all LP_NEW at first. */
struct packed_basis {
    unsigned char *columns, *rows;
};

/* Writes y [combinations][types] and the least rate over need. */
enum lp_outcome packed_solve(const struct packed_problem *problem, struct packed_basis *basis, double *y,
                             double *level);

#endif
