/* Everything stays in GPU memory; the KV cache of a preempted sequence is recomputed. */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

const struct kv_offloader kv_offload_none = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "none",
               .summary = "weights, KV cache and hidden states stay on the GPU",
               .source = "every engine's default"},
};
