/* KV offloading: where weights, KV cache and hidden states of a replica lie, and where the cache of a sequence goes that
 * leaves the batch. The view of a replica before it starts, the plan of its memory, the struct of an offloader. What a
 * placement costs is in models/offload.h. */
#ifndef ORRERY_WORLD_POLICY_KV_OFFLOAD_H
#define ORRERY_WORLD_POLICY_KV_OFFLOAD_H

#include "models/hardware.h"
#include "models/offload.h"
#include "models/transformer.h"
#include "sim/world/policy/policy.h"
#include "sim/world/policy/request_view.h"

#include <stdbool.h>
#include <stdint.h>

/* One replica before it starts. Of the GPU's memory, capacity is per GPU, without what the runtime keeps; of the other
 * tiers it is what the replica's GPUs have together. */
struct offload_view {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    const struct iteration_model *model;    /* with everything on the GPU */
    struct offload_layer layer;
    struct offload_rates rates;             /* of the tiers that there are; the GPU's are NAN */
    struct offload_csd csd;                 /* csd NULL without */
    double capacity_bytes[OFFLOAD_TIERS];   /* 0: there is no such tier; INFINITY: no limit is known */
    double activation_bytes, activation_tokens; /* per GPU, for the largest iteration of the engine; its tokens */
    struct offload_block workload;          /* what the scenario says is to be expected */
    double bus_bytes_per_s;                 /* that bus_gpus GPUs share, each of which gets an equal part; the rates are of
                                               an idle bus; INFINITY: nothing is shared */
    int64_t bus_gpus;
    double ttft_slo_s, tpot_slo_s;          /* NAN: none */
};

/* The world hands over a plan with everything on the GPU, its cache in what weights and activations leave, and the rates
 * and capacities of the view, which a policy may replace by those that it reckons with. */
struct offload_plan {
    struct offload_placement placement;
    struct offload_rates rates;
    double capacity_bytes[OFFLOAD_TIERS];
    double fixed_bytes[OFFLOAD_TIERS]; /* of these, taken by all that is no KV cache at home there */
    double cache_copies;               /* bytes in computational storage per byte of KV cache */
    bool in_use;                       /* false: the plan as handed over, and the base model as it is */
    enum offload_tier missing; /* a tier that the policy cannot do without and that there is not, which is an error;
                                          OFFLOAD_GPU_MEMORY: none */
    const char *problem;               /* static text: it cannot run, so no request is served; NULL: it can */
};

/* What of a service's "kv" a policy goes by, of that which not every one reads. */
enum offload_reads {
    OFFLOAD_READS_WORKLOAD = 1u << 0,
    OFFLOAD_READS_TTFT = 1u << 1,     /* slo_ttft */
    OFFLOAD_READS_TPOT = 1u << 2,     /* slo_tpot */
};

/* What an offloader is for: the world takes this as the plan of a policy without `place`. */
void offload_plan_default(const struct offload_view *view, struct offload_plan *plan);

/* Everything of the plan's offload but the base model's own parts: what policies try placements with. */
struct offload offload_of_plan(const struct offload_view *view, const struct offload_plan *plan);

/* Tokens of KV cache that fit, of all GPUs of the replica together: the least over the tiers that hold a share of it,
 * 0 when not even the rest fits; INFINITY without limit. */
double offload_plan_tokens(const struct offload_view *view, const struct offload_plan *plan);

/* Whether memory that holds no KV cache fits on every tier; if not, the first where it does not. */
bool offload_plan_fits(const struct offload_plan *plan, enum offload_tier *full);

/* --- The family --- */

/* place: asked once, before a replica starts. Fills the plan in and sets in_use, or leaves it as it is. Returns 0 or a
 * negative code.
 *
 * evicted: the tier that the KV cache of a decoding sequence goes to that a batcher evicts (struct batcher, takes_back):
 * OFFLOAD_HOST, or OFFLOAD_GPU_MEMORY, which means that it is recomputed, as without this function.
 *
 * reads: what `place` goes by under its parameters, bits of enum offload_reads. A scenario that sets anything else is warned
 * that it has no effect. NULL: none of them. */
#define KV_OFFLOADER_FUNCTIONS(X)                                                                                      \
    X(kv_offloader, OPTIONAL, int, place, (void *state, const struct offload_view *view, struct offload_plan *plan),     \
      (state, view, plan), view, POLICY_NONE)                                                                         \
    X(kv_offloader, OPTIONAL, enum offload_tier, evicted,                                                              \
      (void *state, const struct offload_view *view, const struct request_view *request), (state, view, request),       \
      view, request)                                                                                     \
    X(kv_offloader, OPTIONAL, uint32_t, reads, (const void *state), (state), POLICY_NONE, POLICY_NONE)

struct kv_offloader {
    struct policy policy;
    KV_OFFLOADER_FUNCTIONS(POLICY_MEMBER)
};

#endif
