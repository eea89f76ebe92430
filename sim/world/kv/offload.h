/* Offloading of a service: its tiers, the placement that its policy chose, the resulting cost model, and how its
 * iterations used each resource. */
#ifndef ORRERY_WORLD_KV_OFFLOAD_H
#define ORRERY_WORLD_KV_OFFLOAD_H

#include "sim/catalog/storage.h"
#include "sim/core/config/config.h"
#include "sim/world/policy/kv_offload.h"
#include "sim/world/rows/sink.h"

/* One tier beyond the GPU's memory, of its device's kind. NAN: as in the device's entry. */
struct offload_tier_config {
    const char *name;
    const char *device;                   /* of the catalog's storage */
    const char *software, *hidden_software; /* stacks of its entry, for weights and cache, and for hidden states and
                                               single tokens; NULL: the bare device, the other stack */
    double count;                         /* devices; of host memory always 1 */
    double capacity_bytes, read_bytes_per_s, write_bytes_per_s, link_bytes_per_s;
    double channels, channel_bytes_per_s, read_frac;
};

/* Default workload that a placement is planned for; equals the defaults of offload_workload_fields. */
enum { OFFLOAD_SEQUENCES = 64, OFFLOAD_PROMPT_TOKENS = 512, OFFLOAD_OUTPUT_TOKENS = 128 };

/* The members of "kv" about offloading. */
struct offload_config {
    struct config_variant policy;         /* of family POLICY_KV_OFFLOAD */
    struct config_list tiers;             /* struct offload_tier_config */
    struct offload_workload_config {
        int64_t sequences, prompt_tokens, output_tokens;
    } workload;
    double bus_bytes_per_s;               /* NAN: GPUs share no bus */
    int64_t bus_gpus;
    double ttft_slo_s, tpot_slo_s;        /* NAN: none */
};

extern const struct config_field offload_tier_fields[], offload_workload_fields[];

/* What a service's iterations used of each resource. */
struct offload_totals {
    double critical_s[OFFLOAD_RESOURCES], bytes[OFFLOAD_RESOURCES];
    double seconds;
    double interval; /* of a grouped placement; the longest of several; 0: none */
};

struct offload_service {
    const struct kv_offloader *policy;
    void *state;
    struct storage_spec stores[OFFLOAD_TIERS]; /* with the scenario's changes; name NULL: no such tier */
    struct iteration_model base;
    struct offload_view view;
    struct offload_plan plan;
    struct offload model;
    const char *tier_names[OFFLOAD_TIERS]; /* as in the scenario; NULL: no such tier */
    char problem[256];            /* why the replica cannot run; empty: it can */
    struct offload_totals totals;
};

/* Inputs of offload_service_init. */
struct offload_request {
    const struct offload_config *config;
    const struct catalog *catalog;
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    const struct iteration_model *model;
    int64_t tensor_parallel;
    int64_t node_replicas;              /* replicas that share the memory of their host equally */
    double port_bytes_per_s;            /* rate of each GPU's path to the host when the path is idle */
    bool bus_on_links;                  /* the bus of the config is a link of the site, where its users compete */
    double gpu_bytes, activation_bytes; /* per GPU */
    int64_t activation_tokens, kv_block_tokens;
    const char *where;                  /* of the policy, for findings */
    struct arena *arena;
    struct diag *diag;
};

/* Reads the tiers, asks the policy, checks its plan. Returns 0 or a negative code with findings; offload_service_fini
 * also after failure. */
int offload_service_init(struct offload_service *offload, const struct offload_request *request);
void offload_service_fini(struct offload_service *offload);

/* Whether any data are beyond the GPU. Then offload->model gives the cost of iterations and the plan what fits. */
bool offload_in_use(const struct offload_service *offload);

/* KV blocks of a replica under the plan; 0 if it cannot run. */
int64_t offload_kv_blocks(const struct offload_service *offload, int64_t block_tokens);

/* Where the KV cache of a preempted sequence goes; OFFLOAD_GPU_MEMORY: nowhere, it is recomputed. */
enum offload_tier offload_evicted(const struct offload_service *offload, const struct request_view *request);

/* Bytes that n iterations move over a lane; step: the first of them. */
int64_t offload_lane_bytes(const struct offload_step *step, enum offload_lane lane, int64_t iterations);

/* Adds `iterations` iterations within one piece of the cost model; step: the first of them. */
void offload_count(struct offload_service *offload, const struct offload_step *step, int64_t iterations);
void offload_totals_add(struct offload_totals *into, const struct offload_totals *from);

/* Emits bottleneck.* and offload.* metrics; none if no time was counted. */
int offload_totals_emit(const struct offload_totals *totals, const struct sink *sink);

#endif
