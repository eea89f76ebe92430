/* The families of policies, a row each. A new family is a row here, a header beside this one (an existing family is the
 * model), its line in all.h, a key of the scenario, which sim/study/conform_cases.c has too, and its policies in
 * policies/list.h. */
#ifndef ORRERY_WORLD_POLICY_FAMILIES_H
#define ORRERY_WORLD_POLICY_FAMILIES_H

/* X(enum, name in configs and listings, struct, its functions (X-macro in the family's header),
 *   key of the conformance scenarios under which a policy under test stands,
 *   family of the policies that it meets there, and their names) */
#define POLICY_FAMILIES(X)                                                                                             \
    X(POLICY_BATCHING, "batching", batcher, BATCHER_FUNCTIONS,                                                         \
      "services.chat.batching", POLICY_ROUTING, "round-robin", "least-outstanding")                                    \
    X(POLICY_ROUTING, "routing", router, ROUTER_FUNCTIONS,                                                             \
      "services.chat.routing", POLICY_BATCHING, "vllm-v0")                                                             \
    X(POLICY_KV_OFFLOAD, "kv_offload", kv_offloader, KV_OFFLOADER_FUNCTIONS,                                           \
      "services.chat.kv.offload", POLICY_BATCHING, "vllm-v0")                                                          \
    X(POLICY_SCHEDULER, "scheduler", scheduler, SCHEDULER_FUNCTIONS,                                                   \
      "jobs.scheduler", POLICY_PLACEMENT, "consolidated", "first-fit", "counted", "best-fit")                          \
    X(POLICY_PLACEMENT, "placement", placer, PLACER_FUNCTIONS,                                                         \
      "jobs.placement", POLICY_SCHEDULER, "fifo-skip", "srtf", "easy", "gavel-fifo-perf")                              \
    X(POLICY_EVICTION, "eviction", evictor, EVICTOR_FUNCTIONS,                                                         \
      "eviction", POLICY_EVICTION, "lru", "fifo")                                                                      \
    X(POLICY_AUTOSCALING, "autoscaling", autoscaler, AUTOSCALER_FUNCTIONS,                                             \
      "services.chat.scaling.policy", POLICY_ROUTING, "round-robin", "least-outstanding", "power-of-two")              \
    X(POLICY_POWER_CAP, "power_cap", power_capper, POWER_CAPPER_FUNCTIONS,                                             \
      "cluster.power.capping", POLICY_BATCHING, "vllm-v0", "sarathi")                                                  \
    X(POLICY_CHECKPOINTING, "checkpointing", checkpointer, CHECKPOINTER_FUNCTIONS,                                     \
      "jobs.types.default.checkpoint.policy", POLICY_SCHEDULER, "fifo-skip", "srtf")                                   \
    X(POLICY_RENTAL, "rental", renter, RENTER_FUNCTIONS,                                                               \
      "market.renting", POLICY_PLACEMENT, "counted", "first-fit")                                                      \
    X(POLICY_SPECULATION, "speculation", speculator, SPECULATOR_FUNCTIONS,                                             \
      "services.chat.speculation", POLICY_BATCHING, "vllm-v1", "sglang")

enum policy_family {
#define POLICY_FAMILY_ENUM(id, ...) id,
    POLICY_FAMILIES(POLICY_FAMILY_ENUM)
#undef POLICY_FAMILY_ENUM
    POLICY_FAMILY_COUNT
};

#endif
