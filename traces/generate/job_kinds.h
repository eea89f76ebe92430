/* Jobs of several kinds (evaluation, pretraining, ...): the joint law of kind, run time and GPUs. */
#ifndef ORRERY_TRACES_GENERATE_JOB_KINDS_H
#define ORRERY_TRACES_GENERATE_JOB_KINDS_H

#include "traces/generate/cdf.h"

#include <stddef.h>

enum { JOB_KINDS_MAX = 8, JOB_KIND_STEPS = 22 };

struct job_kind {
    const char *name;
    double jobs_frac;                     /* of all jobs; those of all kinds need not quite add up to 1 */
    double durations_pct[JOB_KIND_STEPS]; /* percentage of its jobs that run for at most 1, 2, 4 ... 2^21 s */
    double gpus_tilt;                     /* above those of the others: its jobs are larger */
};

/* Within a kind, how much longer jobs with this number of GPUs run than others. */
struct gpus_tilt {
    double gpus, duration_tilt;
};

struct job_kinds {
    size_t n;
    const struct job_kind *kinds;
    double longest_s;     /* no job of any kind runs longer */
    double failure_gpu_s; /* mean GPU-seconds between failures, which few runs outlast */
    size_t n_gpus, n_tilts;
    const struct cdf_point *gpus;  /* of all jobs, CDF_STEPS */
    const struct gpus_tilt *tilts; /* by rising GPUs, linear in log2 of them in between */
};

struct job_draw {
    const char *kind;
    double run_s; /* above 0 */
    double gpus;
};

struct job_law;

/* The joint law in which every kind has its share of the jobs and its run times, and all jobs together have the GPUs
 * stated. Of the laws with these marginals it is the one nearest in relative entropy to
 *
 *     exp(gpus_tilt x + duration_tilt(x) y - GPUs run time / failure_gpu_s),  x = log2(GPUs), y = log2(run time),
 *
 * run times taken at the upper ends of their steps, by iterative proportional fitting (Deming and Stephan 1940). NULL
 * when memory ran out. */
struct job_law *job_law_create(const struct job_kinds *kinds);
void job_law_destroy(struct job_law *law); /* NULL is allowed */

/* The job at `size_frac` of all jobs in the order of GPUs and run time, of the kind at `kind_frac` of all such jobs;
 * both in (0, 1]. Between the ends of a step the logarithm of the run time is uniform. */
struct job_draw job_law_at(const struct job_law *law, double size_frac, double kind_frac);

#endif
