/* Synergy-OPT (Mohan et al., OSDI 2022, section 4.2): the CPUs and memory of nodes for the jobs that run there, so that
 * the sum of their speeds is the most, by a linear program.
 *
 *     maximise  sum over j, k of speed[j][k] y[j][k]
 *     where     sum over k of y[j][k] = 1                                         for each job j
 *               sum over j, k of (what j holds of node n at level k) y[j][k] <= n's  for each node n, CPUs and memory
 *
 * Level 0 of a job is its own share, the last one its best, and levels between them have evenly spaced speeds with the
 * least CPUs and memory that reach these. A job gets the mean of its levels. Where speed is concave in the amounts, it is
 * then at least as fast as the program says. So no job is slower than with its own share.
 *
 * Jobs that share no node, not even through others, have programs of their own. Where the best of all jobs fits, there
 * is none. Jobs keep what they hold if that is no less. The paper first divides one large machine and then packs jobs;
 * here jobs stay where they are. */
#ifndef ORRERY_POLICIES_SCHEDULER_HOST_SYNERGY_OPT_H
#define ORRERY_POLICIES_SCHEDULER_HOST_SYNERGY_OPT_H

#include "sim/world/policy/scheduler.h"

#include <stdbool.h>
#include <stddef.h>

struct opt_job {
    const struct job_view *view;     /* it runs */
    struct job_host own, best, held; /* held: now */
    struct job_host target;          /* out */
    int32_t group;                   /* scratch */
};

/* Scratch of decisions; zero-initialised. */
struct synergy_opt {
    int32_t *parents; /* [n_nodes]: a forest of nodes that share jobs */
    size_t parents_capacity;
    struct opt_job *jobs; /* [n], for the caller to fill */
    size_t n, capacity;
};

void synergy_opt_fini(struct synergy_opt *opt);

/* Sets the target of all jobs. Returns 0, 1 if the target of some is what they hold, since their program was given up,
 * or a negative code. Reorders the jobs. */
int synergy_opt_solve(struct synergy_opt *opt, const struct cluster_view *view);

#endif
