/* Run times as jobs that have ended foretell them: the mean of those with the same type and GPUs, else of those
 * with the same type, else of all, else the user's estimate. A run time is the time on GPUs, whatever slowed the
 * job down. */
#ifndef ORRERY_POLICIES_SCHEDULER_PREDICTOR_H
#define ORRERY_POLICIES_SCHEDULER_PREDICTOR_H

#include "sim/world/policy/scheduler.h"

#include <stddef.h>

struct past_jobs;

/* Zero-initialised. */
struct predictor {
    struct past_jobs *past;
    size_t n, capacity;
};

void predictor_fini(struct predictor *predictor);

/* Learns from a job that ends now. Returns 0 or SIM_E_NOMEM. */
int predictor_learn(struct predictor *predictor, const struct cluster_view *view, const struct job_view *job);

/* GPU time in GPU-seconds; of a job without GPUs its run time. */
double predictor_gpu_s(const struct predictor *predictor, const struct job_view *job);

#endif
