/* Synergy-OPT (Mohan et al., OSDI 2022, section 4.2): a linear program divides the CPUs and memory of nodes among the
 * jobs that run there. The sum of their speeds is the most.
 *
 *     maximise  sum over j, k of speed[j][k] y[j][k]
 *     where     sum over k of y[j][k] = 1                                         for each job j
 *               sum over j, k of (what j holds of node n at level k) y[j][k] <= n's
 *                                                                      for each node n, CPUs and memory
 *
 * Level 0 of a job is its own share, and the last one its best. Levels between them have evenly spaced speeds, with the
 * least CPUs and memory that reach these. A job gets the mean of its levels. Where speed is concave in the amounts, it
 * is then at least as fast as the program says. So no job is slower than with its own share.
 *
 * Jobs that share no node, not even through others, have programs of their own. Where the best of all jobs fits, there
 * is none. Jobs keep their target if its sum is no less. The paper first divides one large machine and then packs jobs;
 * here jobs stay where they are. */
#ifndef ORRERY_POLICIES_SCHEDULER_HOST_SYNERGY_OPT_H
#define ORRERY_POLICIES_SCHEDULER_HOST_SYNERGY_OPT_H

#include "sim/world/policy/scheduler.h"

#include <stdbool.h>
#include <stddef.h>

struct opt_job {
    const struct job_view *view;     /* it runs */
    struct job_host own, best, held; /* held: now */
    struct job_host target;          /* in: of another division, possible; out: of this one */
    struct job_host before;          /* scratch */
    int32_t group;                   /* scratch */
};

/* Scratch of decisions; zero-initialised. */
struct synergy_opt {
    int32_t *parents; /* [n_nodes]: a forest of nodes that share jobs */
    size_t parents_capacity;
    int32_t *row_of; /* [n_nodes]: number of a node in its program */
    size_t row_of_capacity;
    struct opt_job *jobs; /* [n], for the caller to fill */
    size_t n, capacity;
};

void synergy_opt_fini(struct synergy_opt *opt);

/* Betters the targets of all jobs. Returns 0, 1 if some keep theirs since their program was given up, or a negative
 * code. Reorders the jobs. */
int synergy_opt_solve(struct synergy_opt *opt, const struct cluster_view *view);

#endif
