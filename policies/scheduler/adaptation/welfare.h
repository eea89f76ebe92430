/* Rounds of a window for jobs, by Shockwave's volatile Fisher market (Zheng et al., NSDI 2023, section 4 and the
 * artifact's objective). Job j with n[j] rounds of the window's T gets the utility
 *
 *     U_j(n) = log of the share of its epochs that are done by then, in straight lines between 0, 0.2, .. 1
 *
 * and the market maximises the Nash social welfare less a penalty for a late end of the last job:
 *
 *     sum over j of priority[j] U_j(n[j]) / (jobs x T) - k max over j of remaining[j] after n[j] rounds
 *
 * subject to least[j] <= n[j] <= T and sum over j of gpus[j] n[j] <= G T.
 *
 * The artifact solves a mixed-integer program with one variable per job and round. Rounds of a window are worth the
 * same, so here their number per job is enough. For a given bound on the longest remaining time each job has a least
 * number of rounds, and the rest go to the job that gains most per GPU. With jobs of one GPU that is optimal, since
 * utilities are concave. The bound is searched for. */
#ifndef ORRERY_POLICIES_SCHEDULER_ADAPTATION_WELFARE_H
#define ORRERY_POLICIES_SCHEDULER_ADAPTATION_WELFARE_H

#include <stddef.h>
#include <stdint.h>

struct welfare_job {
    int64_t gpus;          /* of a round; at least 1 */
    int32_t least;         /* rounds that it gets in any case */
    double priority;       /* of its utility */
    double done_frac;      /* of its epochs */
    double per_round_frac; /* epochs of a round, of all its epochs */
    double remaining_s;
    int32_t rounds;        /* the answer */
};

struct welfare_offer {
    double gain;
    size_t job;
};

struct welfare {
    struct welfare_job *jobs; /* [n] */
    size_t n;
    int64_t gpus;             /* G */
    int32_t rounds;           /* T */
    double round_s, penalty_per_s; /* k */
    struct welfare_offer *heap;    /* [n] workspace */
    int32_t *best;                 /* [n] workspace */
};

/* Sets the rounds of all jobs. Returns 1, or 0 if the least numbers do not fit. */
int welfare_solve(struct welfare *welfare);

/* The objective of the present rounds. */
double welfare_value(const struct welfare *welfare);

#endif
