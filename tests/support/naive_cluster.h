/* The schedulers once more, on counted GPUs and in whole seconds, as plainly as they can be written: at every event
 * the list of all jobs is sorted (stable, the order of the last event kept) and walked. For comparison with the real
 * ones. */
#ifndef ORRERY_TESTS_SUPPORT_NAIVE_CLUSTER_H
#define ORRERY_TESTS_SUPPORT_NAIVE_CLUSTER_H

#include <stdbool.h>

enum { NAIVE_MAX_JOBS = 64 };

struct naive_job {
    int submit, run, estimate, gpus; /* seconds; sorted by submission */
    int left, start, end, preemptions, starts;
    int promise; /* EASY: the latest start, from when it first headed the queue; -1: never did before it started */
    bool runs;
    int began; /* of the present stretch */
};

/* `scheduler`: a name of the registry. Fills in everything from `left` on. */
void naive_cluster_run(const char *scheduler, struct naive_job *jobs, int n, int total_gpus);

#endif
