/* FlexGen (Sheng et al., ICML 2023): weights, KV cache and hidden states each lie on GPU, host and disk in shares. A
 * block of several GPU batches goes through layer by layer, so the weights that a layer streams in serve all of it. The
 * CPU attends to KV cache that is not on the GPU.
 *
 * The placement is given, as in the paper's tables, or searched for. Attention on the CPU is slower for small batches.
 * FLOP rates may be given as FlexGen's own constants; otherwise they are those of the service's cost model. */
#include "policies/declared.h"
#include "policies/kv_offload/flexgen_search.h"
#include "sim/world/policy/kv_offload.h"

#include <float.h>
#include <math.h>

/* Constants of FlexGen's code (FMInference/FlexGen @ 19753bc0, experimental/cost_model.py): share of the disk's rate
 * for reading weights while decoding; shares of the capacities for a placement that is searched for, and for a given
 * one. */
static const double disk_weights_frac = 0.95, searched_slack_frac = 0.8, given_slack_frac = 1.2;

struct flexgen {
    int schedule;
    bool host_attends;
    int64_t gpu_batch, batches;
    double weights_gpu, weights_host, cache_gpu, cache_host, hidden_gpu, hidden_host;
    double slack_frac, host_flop_per_s;
    double prompt_product_flop_per_s, prompt_attention_flop_per_s, token_product_flop_per_s, token_attention_flop_per_s;
};

enum { AS_PUBLISHED, AS_RELEASED };
static const char *const schedules[] = {[AS_PUBLISHED] = "published", [AS_RELEASED] = "released", NULL};

#define ROW_OF struct flexgen
static const struct config_field flexgen_fields[] = {
    ROW_CHOICE("schedule", schedule, DEFAULT("released"), schedules,
               "published: the longest of five overlapping parts; released: cost_model.py adds some of them up"),
    ROW_BOOL("host_attention", host_attends, DEFAULT("true"),
             "the CPU computes attention over KV cache outside the GPU; otherwise this cache is copied to the GPU for each iteration"),
    ROW_INT("gpu_batch", gpu_batch, DEFAULT("0"), WITHIN(0, 65536),
            "sequences that the GPU processes at once; 0: the whole placement is searched for"),
    ROW_INT("batches", batches, DEFAULT("1"), WITHIN(1, 65536), "GPU batches of a block"),
    ROW_REAL("weights_gpu", weights_gpu, DEFAULT("1"), WITHIN(0, 1), "share of the weights on the GPU"),
    ROW_REAL("weights_host", weights_host, DEFAULT("0"), WITHIN(0, 1),
             "share in host memory; the rest is on disk"),
    ROW_REAL("cache_gpu", cache_gpu, DEFAULT("1"), WITHIN(0, 1), "share of the KV cache on the GPU"),
    ROW_REAL("cache_host", cache_host, DEFAULT("0"), WITHIN(0, 1), "share in host memory; the rest is on disk"),
    ROW_REAL("hidden_gpu", hidden_gpu, DEFAULT("1"), WITHIN(0, 1), "share of the hidden states on the GPU"),
    ROW_REAL("hidden_host", hidden_host, DEFAULT("0"), WITHIN(0, 1), "share in host memory; the rest is on disk"),
    ROW_REAL("memory_slack", slack_frac, OPTIONAL, WITHIN(0.01, 10),
             "usable share of each tier's capacity; default: 0.8 when searching, 1.2 for a given placement"),
    ROW_QUANTITY("host_rate", host_flop_per_s, UNIT_FLOP_PER_S, DEFAULT("12.3GFLOP/s"), POSITIVE,
                 "FLOP rate of attention on the CPU, for large batches"),
    ROW_QUANTITY("prompt_products", prompt_product_flop_per_s, UNIT_FLOP_PER_S, OPTIONAL, POSITIVE,
                 "measured FLOP rate of matrix products of prompts"),
    ROW_QUANTITY("prompt_attention", prompt_attention_flop_per_s, UNIT_FLOP_PER_S, OPTIONAL, POSITIVE,
                 "measured FLOP rate of attention of prompts"),
    ROW_QUANTITY("token_products", token_product_flop_per_s, UNIT_FLOP_PER_S, OPTIONAL, POSITIVE,
                 "measured FLOP rate of matrix products of single tokens; needs all four rates"),
    ROW_QUANTITY("token_attention", token_attention_flop_per_s, UNIT_FLOP_PER_S, OPTIONAL, POSITIVE,
                 "measured FLOP rate of attention of single tokens on the GPU"),
    {0}};
#undef ROW_OF

static int flexgen_init(void *state, const void *params, struct diag *diag)
{
    const struct flexgen *given = params;
    *(struct flexgen *)state = *given;
    if (given->weights_gpu + given->weights_host > 1.0 || given->cache_gpu + given->cache_host > 1.0 ||
        given->hidden_gpu + given->hidden_host > 1.0)
        return diag_error(diag, SIM_E_CONFIG, NULL, NULL,
                          "kv_offload policy 'flexgen': shares on GPU and host exceed 1");
    const double rates = given->prompt_product_flop_per_s + given->prompt_attention_flop_per_s +
                         given->token_product_flop_per_s + given->token_attention_flop_per_s;
    if (isnan(given->token_product_flop_per_s) || !isnan(rates)) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, NULL,
                      "kv_offload policy 'flexgen' needs all four measured rates or none");
}

static void take_shares(const struct flexgen *params, struct offload_shares *shares)
{
    *shares = (struct offload_shares){
        .weights = {params->weights_gpu, params->weights_host, 1.0 - params->weights_gpu - params->weights_host, 0.0},
        .cache = {params->cache_gpu, params->cache_host, 1.0 - params->cache_gpu - params->cache_host, 0.0},
        .hidden = {params->hidden_gpu, params->hidden_host, 1.0 - params->hidden_gpu - params->hidden_host, 0.0}};
}

static void take_rates(const struct flexgen *params, struct offload_rates *rates)
{
    rates->disk_read_weights *= disk_weights_frac;
    rates->host_flop_per_s = params->host_flop_per_s;
    rates->prompt_product_flop_per_s = params->prompt_product_flop_per_s;
    rates->prompt_attention_flop_per_s = params->prompt_attention_flop_per_s;
    rates->token_product_flop_per_s = params->token_product_flop_per_s;
    rates->token_attention_flop_per_s = params->token_attention_flop_per_s;
}

static int flexgen_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    const struct flexgen *params = state;
    const bool given = params->gpu_batch > 0;
    const double slack = !isnan(params->slack_frac) ? params->slack_frac
                         : given                    ? given_slack_frac
                                                    : searched_slack_frac;
    struct offload_placement *placement = &plan->placement;
    plan->in_use = true;
    placement->schedule = params->schedule == AS_RELEASED ? OFFLOAD_RELEASED : OFFLOAD_OVERLAPPED;
    placement->attention = params->host_attends ? OFFLOAD_ATTEND_HOST : OFFLOAD_ATTEND_GPU;
    placement->gpu_batch = params->gpu_batch;
    placement->batches = params->batches;
    take_rates(params, &plan->rates);
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) plan->capacity_bytes[tier] *= slack;
    take_shares(params, &placement->shares);
    const struct flexgen_search search = {view, plan};
    struct offload_placement found = *placement;
    if (!given && !flexgen_best_placement(&search, view->workload.sequences, &found)) {
        plan->problem = "no placement of FlexGen fits";
        plan->placement = offload_placement_none();
        return 0;
    }
    *placement = found;
    plan->rates.host_flop_per_s *= offload_host_frac((double)placement->gpu_batch, view->layer.hidden);
    struct offload_block block = view->workload;
    block.gpu_batch = (double)placement->gpu_batch;
    block.sequences = (double)(placement->gpu_batch * placement->batches);
    offload_fixed_bytes(&view->layer, placement, &block, plan->fixed_bytes);
    return 0;
}

static uint32_t flexgen_reads(const void *state)
{
    (void)state;
    return OFFLOAD_READS_WORKLOAD;
}

const struct kv_offloader kv_offload_flexgen = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "flexgen",
               .summary = "blocks of batches, layer by layer; weights, cache, hidden states in shares on GPU, host and disk",
               .source = "Sheng et al., ICML 2023; FMInference/FlexGen @ 19753bc0",
               .params = flexgen_fields,
               .params_bytes = sizeof(struct flexgen),
               .state_bytes = sizeof(struct flexgen),
               .init = flexgen_init},
    .place = flexgen_place,
    .reads = flexgen_reads,
};
