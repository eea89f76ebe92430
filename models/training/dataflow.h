/* When the calls of a data flow run: generation, inference and training of several models on parts of a cluster, and
 * moves of weights between them (Mei et al. 2024, ReaLHF).
 *
 * A call needs all GPUs of its spans for its whole time. It is ready when the calls before it have ended. Of the calls
 * that may be placed next, the one that is ready first is placed, of several the one with the lowest index. It starts
 * when it is ready and all calls that were placed before on one of its GPUs have ended. So no GPU has two calls at
 * once, and no GPU takes a call out of this order.
 *
 * Leaves out: calls that share a GPU, gaps that are filled by calls placed later, several steps at once. */
#ifndef ORRERY_MODELS_TRAINING_DATAFLOW_H
#define ORRERY_MODELS_TRAINING_DATAFLOW_H

#include <stdbool.h>
#include <stdint.h>

enum { DATAFLOW_CALLS = 32, DATAFLOW_SPANS = 2 };

/* Adjacent GPUs. */
struct dataflow_span {
    int64_t first, gpus; /* gpus 0: none */
};

struct dataflow_call {
    double seconds;
    struct dataflow_span on[DATAFLOW_SPANS]; /* may overlap */
    uint32_t after;                          /* bit i: call i must have ended */
};

struct dataflow_times {
    double start_s, end_s;
};

static inline bool dataflow_spans_meet(struct dataflow_span a, struct dataflow_span b)
{
    return a.gpus > 0 && b.gpus > 0 && a.first < b.first + b.gpus && b.first < a.first + a.gpus;
}

/* Whether two calls have a GPU in common. */
bool dataflow_calls_meet(const struct dataflow_call *a, const struct dataflow_call *b);

/* Returns the time until the last of `n` calls ends, at most DATAFLOW_CALLS. `times` has room for n. The calls have no
 * cycle. */
double dataflow_schedule(const struct dataflow_call *calls, int n, struct dataflow_times *times);

#endif
