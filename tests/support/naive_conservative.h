/* Conservative backfilling once more, on counted GPUs and in whole seconds, as plainly as it can be written: what is
 * in use in a second is counted over all jobs. For comparison with the real one. */
#ifndef ORRERY_TESTS_SUPPORT_NAIVE_CONSERVATIVE_H
#define ORRERY_TESTS_SUPPORT_NAIVE_CONSERVATIVE_H

#include "tests/support/naive_cluster.h"

/* Fills in everything from `left` on; `promise` is the first reservation. At most `depth` reservations lie ahead; 0:
 * any number. */
void naive_conservative_run(struct naive_job *jobs, int n, int total_gpus, int depth);

#endif
