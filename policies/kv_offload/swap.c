/* The KV cache of a preempted sequence moves to host memory and returns with it (Kwon et al., SOSP 2023, section 4.5),
 * if the batcher resumes swapped-out sequences. */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

static enum offload_tier swap_evicted(void *state, const struct offload_view *view, const struct request_view *request)
{
    (void)state;
    (void)view;
    (void)request;
    return OFFLOAD_HOST;
}

const struct kv_offloader kv_offload_swap = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "swap",
               .summary = "the KV cache of preempted sequences is swapped to host memory",
               .source = "Kwon et al., SOSP 2023, section 4.5"},
    .evicted = swap_evicted,
};
