/* Jobs by what more GPUs gain for them, per GPU: a heap, the largest gain at its top, of equal gains the oldest job. */
#ifndef ORRERY_POLICIES_SCHEDULER_GOODPUT_GAINS_H
#define ORRERY_POLICIES_SCHEDULER_GOODPUT_GAINS_H

#include "policies/scheduler/goodput/elastic.h"

struct gain {
    struct elastic_job *job;
    double value, left_s;
    int32_t unit; /* GPUs that the job gets at once */
};

/* Zero-initialised. */
struct gains {
    struct gain *heap;
    size_t n, capacity;
};

void gains_fini(struct gains *gains);

/* Empties the heap and makes room for n jobs. Returns 0 or SIM_E_NOMEM. */
int gains_begin(struct gains *gains, size_t n);

void gains_add(struct gains *gains, const struct gain *gain);

/* Restores the order after the gain at the top has changed. */
void gains_sift(struct gains *gains);

#endif
