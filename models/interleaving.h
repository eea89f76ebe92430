/* Jobs that share GPUs by turns (Muri, Zhao et al., SIGCOMM 2022, section 3): an iteration of each job uses k
 * resources one after another, such as storage, CPU, GPU and network. Up to k jobs run shifted, so that no two use
 * one resource at a time. In slot j job i uses resource (j + shift_i) mod k, and the slot takes as long as its
 * slowest job:
 *
 *     T = sum over slots j of max over jobs i of phase_i[(j + shift_i) mod k]
 *
 * Shifts are those with the least T. Leaves out what jobs lose by sharing memory or caches. */
#ifndef ORRERY_MODELS_INTERLEAVING_H
#define ORRERY_MODELS_INTERLEAVING_H

#include <stdint.h>

enum { INTERLEAVING_MOST = 4 }; /* resources, and jobs */

/* Phases of one job's iteration, in seconds, by resource. */
struct interleaving_job {
    double phase_s[INTERLEAVING_MOST];
};

/* The time of an iteration of all jobs, in seconds, over all shifts; 1 <= n <= resources <= INTERLEAVING_MOST. */
double interleaving_period_s(const struct interleaving_job *jobs, int32_t n, int32_t resources);

/* The time of the job's iteration alone. */
double interleaving_alone_s(const struct interleaving_job *job, int32_t resources);

#endif
