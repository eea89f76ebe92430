#include "tests/support/iteration_sums.h"

#include "tests/support/harness.h"

struct iteration_sums iteration_sums(const struct llm_spec *llm, const struct llm_split *split,
                                     const struct gpu_spec *gpu, const struct iteration_work *work,
                                     enum llm_operator first, enum llm_operator last)
{
    struct kernel_set set;
    struct kernel_use uses[LLM_MAX_USES];
    struct iteration_sums sums = {0.0, 0.0, 0.0, 0.0};
    kernel_set_init(&set);
    const size_t n = llm_iteration_kernels(llm, split, gpu, work, uses);
    CHECK(n > 0 && n <= LLM_MAX_USES);
    for (size_t i = 0; i < n; i++) {
        const struct kernel_call *call = &uses[i].call;
        const struct kernel_time time = kernel_call_time(&set.params[call->class], gpu, call);
        if (uses[i].op < first || uses[i].op > last) continue;
        sums.flop += uses[i].count * time.flop;
        sums.bytes += uses[i].count * time.bytes;
        sums.link_bytes += uses[i].count * time.link_bytes;
        sums.launches += uses[i].count;
    }
    return sums;
}
