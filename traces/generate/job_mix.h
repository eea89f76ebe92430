/* Named mixes of jobs: arrivals, run times and GPUs with the statistics of five public clusters. */
#ifndef ORRERY_TRACES_GENERATE_JOB_MIX_H
#define ORRERY_TRACES_GENERATE_JOB_MIX_H

#include "traces/generate/arrival.h"
#include "traces/generate/distribution.h"

#include <stddef.h>

/* --- Jobs of several kinds: evaluation, pretraining ... --- */

enum { JOB_KINDS_MAX = 8, JOB_KIND_STEPS = 22 };

struct job_kind {
    const char *name;
    double jobs_frac;                     /* share of all jobs; all kinds sum to about 1 */
    double durations_pct[JOB_KIND_STEPS]; /* percentage of its jobs that run for at most 1, 2, 4 ... 2^21 s */
    double gpus_tilt;                     /* larger than that of other kinds: its jobs are larger */
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

/* --- Mixes --- */

/* Of a fate against completing: at_1 times (GPU-seconds that the job takes)^power. */
struct status_odds {
    double at_1, power;
};

/* Run times and GPUs: a law of kinds of jobs, or two curves and their correlation. */
struct job_mix {
    const char *name;
    struct diurnal_params arrival; /* of the process "diurnal" */
    const struct job_kinds *kinds; /* NULL: of no kinds */
    size_t n_durations, n_gpus, n_shares;
    const struct cdf_point *durations; /* seconds, CDF_LOG */
    const struct cdf_point *gpus;      /* CDF_STEPS */
    const struct cdf_point *shares; /* of jobs of one GPU, in 1/1000 of it, CDF_STEPS; none: all take the whole GPU */
    double correlation;             /* of the normal scores of run time and GPUs */
    struct status_odds cancelled, failed;
};

/* In the order of job_mix_names. */
extern const struct job_mix job_mixes[];
extern const char *const job_mix_names[]; /* NULL at the end */

#endif
