/* Finished jobs told apart by their type and by their number of GPUs. */
#ifndef ORRERY_WORLD_JOBS_JOB_CLASSES_H
#define ORRERY_WORLD_JOBS_JOB_CLASSES_H

#include "sim/world/rows/metric.h"
#include "sim/world/rows/sink.h"

#include <stddef.h>
#include <stdint.h>

enum { JOB_SIZE_CLASSES = 4, JOB_TYPES_MAX = 32 };

/* Distributions without jobs have no memory yet. */
struct job_type_stats {
    const char *name; /* of the source's */
    struct distribution jct_s, queue_s;
};

struct job_classes {
    struct distribution size_queue_s[JOB_SIZE_CLASSES];
    size_t n_types; /* the first JOB_TYPES_MAX of the trace */
    struct job_type_stats types[JOB_TYPES_MAX];
};

void job_classes_fini(struct job_classes *classes);

/* A finished job of `gpus` GPUs and a type ("": of none). Returns 0 or SIM_E_NOMEM. */
int job_classes_add(struct job_classes *classes, int32_t gpus, const char *type, double jct_s, double queue_s);

/* Emits what there is of every class, where there is more than one of the kind. Returns the sink's code. */
int job_classes_emit(const struct job_classes *classes, const struct sink *sink);

#endif
