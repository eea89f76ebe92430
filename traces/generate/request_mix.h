/* Named mixes of requests: arrivals and lengths with the statistics of public traces. */
#ifndef ORRERY_TRACES_GENERATE_REQUEST_MIX_H
#define ORRERY_TRACES_GENERATE_REQUEST_MIX_H

#include "traces/generate/arrival.h"
#include "traces/generate/distribution.h"

struct request_mix {
    const char *name;
    struct modulated_params arrival; /* of the process "modulated" */
    struct empirical_params prompt, output;
};

/* In the order of request_mix_names. */
extern const struct request_mix request_mixes[];
extern const char *const request_mix_names[]; /* NULL at the end */

/* "common", then request_mix_names. */
extern const char *const request_class_mix_names[];

#endif
