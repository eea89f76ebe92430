/* Tiresias' queues once more, on counted GPUs and in whole seconds, as plainly as they can be written: one list per
 * queue, walked from end to end at every event. For comparison with the real one. */
#ifndef ORRERY_TESTS_SUPPORT_NAIVE_TIRESIAS_H
#define ORRERY_TESTS_SUPPORT_NAIVE_TIRESIAS_H

#include "tests/support/naive_cluster.h"

enum { NAIVE_MAX_LIMITS = 4 };

struct naive_tiresias {
    int limits[NAIVE_MAX_LIMITS], n_limits;
    bool by_time, released; /* service in seconds; looks as the released simulator plans them, else in time */
    int promote_knob;
};

/* Fills in everything from `left` on. For looks in time the limits must be multiples of all numbers of GPUs. */
void naive_tiresias_run(const struct naive_tiresias *params, struct naive_job *jobs, int n, int total_gpus);

#endif
