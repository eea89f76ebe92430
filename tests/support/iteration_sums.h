/* The work of an iteration, summed up over its kernels. */
#ifndef ORRERY_TESTS_SUPPORT_ITERATION_SUMS_H
#define ORRERY_TESTS_SUPPORT_ITERATION_SUMS_H

#include "models/operators/layer.h"

struct iteration_sums {
    double flop, bytes, link_bytes, launches;
};

/* Of the operators from the first to the last, with the parameters that kernels have without calibration. */
struct iteration_sums iteration_sums(const struct llm_spec *llm, const struct llm_split *split,
                                     const struct gpu_spec *gpu, const struct iteration_work *work,
                                     enum llm_operator first, enum llm_operator last);

#endif
