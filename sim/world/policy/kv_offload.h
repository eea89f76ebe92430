/* KV offloading: the tiers of a replica's weights, KV cache and hidden states, and of the cache of evicted sequences.
 * The view of a replica before it starts, the plan of its memory, the struct of an offloader. models/offload.h has the
 * cost of a placement. */
#ifndef ORRERY_WORLD_POLICY_KV_OFFLOAD_H
#define ORRERY_WORLD_POLICY_KV_OFFLOAD_H

#include "models/hardware.h"
#include "models/offload.h"
#include "models/transformer.h"
#include "sim/world/policy/policy.h"
#include "sim/world/policy/request_view.h"

#include <stdbool.h>
#include <stdint.h>

/* One replica before it starts. The capacity of GPU memory is per GPU, without the runtime's own part. The capacity of
 * the other tiers is the total of the replica's GPUs. */
struct offload_view {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    const struct iteration_model *model;    /* with everything on the GPU */
    struct offload_layer layer;
    struct offload_rates rates;             /* of the tiers present; the GPU's are NAN */
    struct offload_csd csd;                 /* csd NULL: none */
    double capacity_bytes[OFFLOAD_TIERS];   /* 0: the tier does not exist; INFINITY: no known limit */
    double activation_bytes, activation_tokens; /* per GPU, for the largest iteration of the engine; its tokens */
    struct offload_block workload;          /* expected, as the scenario states it */
    /* Of the bus that bus_gpus GPUs share in equal parts; `rates` are of an idle bus. INFINITY: nothing is shared. */
    double bus_bytes_per_s;
    int64_t bus_gpus;
    double ttft_slo_s, tpot_slo_s;          /* NAN: none */
    double kv_block_tokens;                 /* a sequence holds whole KV blocks of that many tokens */
};

/* As handed over: everything on the GPU, the cache in the memory that weights and activations leave, rates and
 * capacities of the view. A policy may replace these by its own assumptions. */
struct offload_plan {
    struct offload_placement placement;
    struct offload_rates rates;
    double capacity_bytes[OFFLOAD_TIERS];
    double fixed_bytes[OFFLOAD_TIERS]; /* taken by everything but the KV cache */
    double cache_copies;               /* bytes in computational storage per byte of KV cache */
    bool in_use;                       /* false: the plan as handed over, and the base model as it is */
    enum offload_tier missing;         /* required but absent, which is an error; OFFLOAD_GPU_MEMORY: none */
    const char *problem;               /* static text: why it cannot run, so that no request is served; NULL: it can */
};

/* Keys of a service's "kv" that only some policies read. */
enum offload_reads {
    OFFLOAD_READS_WORKLOAD = 1u << 0,
    OFFLOAD_READS_TTFT = 1u << 1,     /* slo_ttft */
    OFFLOAD_READS_TPOT = 1u << 2,     /* slo_tpot */
};

/* The plan as handed over, which is also the plan of a policy without `place`. */
void offload_plan_default(const struct offload_view *view, struct offload_plan *plan);

/* The plan's offload without the parts of the base model: for policies that try placements. */
struct offload offload_of_plan(const struct offload_view *view, const struct offload_plan *plan);

/* Tokens of KV cache that fit, over all GPUs of the replica: the minimum over the tiers that hold a share of it. 0 if
 * not even the rest fits; INFINITY: no limit. */
double offload_plan_tokens(const struct offload_view *view, const struct offload_plan *plan);

/* Whether everything but the KV cache fits on every tier; if not, *full is the first tier where it does not. */
bool offload_plan_fits(const struct offload_plan *plan, enum offload_tier *full);

/* --- The family --- */

/* place: called once, before a replica starts. Fills the plan in and sets in_use, or leaves it as it is. Returns 0 or
 * a negative code.
 *
 * evicted: returns the tier for the KV cache of a decoding sequence that a batcher evicts (struct batcher,
 * resumes_swapped): OFFLOAD_HOST, or OFFLOAD_GPU_MEMORY, which means recomputation. NULL: always recomputation.
 *
 * reads: the keys that `place` reads under its parameters, bits of enum offload_reads. A scenario that sets another
 * key is warned that it has no effect. NULL: no key. */
#define KV_OFFLOADER_FUNCTIONS(X)                                                                                      \
    X(kv_offloader, OPTIONAL, int, place, (void *state, const struct offload_view *view, struct offload_plan *plan),   \
      (state, view, plan), view, POLICY_NONE)                                                                          \
    X(kv_offloader, OPTIONAL, enum offload_tier, evicted,                                                              \
      (void *state, const struct offload_view *view, const struct request_view *request), (state, view, request),      \
      view, request)                                                                                                   \
    X(kv_offloader, OPTIONAL, uint32_t, reads, (const void *state), (state), POLICY_NONE, POLICY_NONE)

struct kv_offloader {
    struct policy policy;
    KV_OFFLOADER_FUNCTIONS(POLICY_MEMBER)
};

#endif
