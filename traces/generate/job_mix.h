/* Named mixes of jobs: arrivals, run times and GPUs with the statistics of five public clusters. */
#ifndef ORRERY_TRACES_GENERATE_JOB_MIX_H
#define ORRERY_TRACES_GENERATE_JOB_MIX_H

#include "traces/generate/arrival.h"
#include "traces/generate/cdf.h"
#include "traces/generate/job_kinds.h"

#include <stddef.h>

/* Of a fate against completing: at_1 times (GPU-seconds that the job takes)^power. */
struct fate_odds {
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
    struct fate_odds cancelled, failed;
};

/* In the order of job_mix_names. */
extern const struct job_mix job_mixes[];
extern const char *const job_mix_names[]; /* NULL at the end */

#endif
