/* Processes on several machines that do the runs of a study together: rank 0 hands them out, the others write shards into a
 * directory that all of them see. */
#ifndef ORRERY_STUDY_RANKS_H
#define ORRERY_STUDY_RANKS_H

#include "sim/study/workers.h"

struct ranks {
    int rank, n;

    /* On rank 0: has the work done, as workers_run does. */
    int (*run)(const struct work *work, struct diag *diag);

    /* On rank 0, when all work is done or there will be none: lets the others go. */
    void (*release)(void);

    /* On the other ranks: does what rank 0 hands out until it lets them go. `work` has no tasks. Returns 0 or the code of
     * what stopped this rank, with findings. */
    int (*serve)(const struct work *work, struct diag *diag);
};

#endif
