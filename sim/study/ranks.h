/* Processes on several machines that do the runs of a study together: rank 0 hands out runs, the others write shards
 * into a shared directory. */
#ifndef ORRERY_STUDY_RANKS_H
#define ORRERY_STUDY_RANKS_H

#include "sim/study/workers.h"

struct ranks {
    int rank, n;

    /* On rank 0: hands out the work, like workers_run. */
    int (*run)(const struct work *work, struct diag *diag);

    /* On rank 0: releases the other ranks, after the last work or if there will be none. */
    void (*release)(void);

    /* On the other ranks: does the runs that rank 0 hands out, until it releases them. `work` has no tasks. Returns
     * 0 or the code of what stopped this rank, with findings. */
    int (*serve)(const struct work *work, struct diag *diag);
};

#endif
