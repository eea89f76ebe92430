/* Warnings at the end of a run about defaults of a service that decide its result, and that its user may not know of:
 * the time of a restart after a failure, the nodes of its replicas, KV reserved for outputs. Also outputs
 * that the batcher cuts, and kernels that do not fit the engine of a pool. */
#include "sim/world/cluster/cluster.h"
#include "sim/world/service/scaling_state.h"

#include <math.h>
#include <stdio.h>

/* --- Restarts --- */

/* How a replica of the pool starts after a failure, and the key that says so. */
static const struct start_config *start_of(const struct service *service, const struct pool_config *pool, char *key,
                                           size_t bytes)
{
    const bool scales = pool->scaling.policy.entry != NULL;
    if (scales && pool->name != NULL)
        snprintf(key, bytes, "pools.%s.scaling.start_delay", pool->name);
    else
        snprintf(key, bytes, "%s", scales ? "scaling.start_delay" : "restart.delay");
    return scales ? &pool->scaling.start : &service->config->restart;
}

static int64_t failures_in(const struct service *service, const struct fleet_pool *pool)
{
    int64_t n = 0;
    if (service->scaling == NULL) return 0;
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) n += service->scaling->tenures[i].n_failed;
    return n;
}

/* Replicas of the pool have failed, and their time to restart is an assumption. */
static int emit_restart_time(const struct service *service, const struct fleet_pool *pool)
{
    char text[512], key[128];
    const double bytes = pool_weight_bytes(&pool->config, &service->llm);
    const struct start_config *start = start_of(service, &pool->config, key, sizeof key);
    if (failures_in(service, pool) == 0 || start_config_is_stated(start)) return 0;
    snprintf(text, sizeof text,
             "service '%s': a replica that failed is up %.3g s after it gets GPUs, the time to load %.4g GB of weights "
             "at %.3g GB/s; starting an engine takes longer: set %s",
             service->config->name, bytes / START_LOAD_BYTES_PER_S, bytes / 1e9, START_LOAD_BYTES_PER_S / 1e9, key);
    return service_emit_warning(service, "restart-time", 1, text);
}

/* --- Nodes --- */

int32_t service_only_node(const struct service *service)
{
    const struct fleet *fleet = &service->fleet;
    int32_t only = -1, n_placed = 0;
    if (cluster_site_nodes(service->env.cluster) < 2) return -1;
    for (int32_t i = 0; i < fleet->n_replicas; i++) {
        const struct allocation *held = fleet->replicas[i].holder.held;
        n_placed += held != NULL;
        for (const struct allocation *part = held; part != NULL; part = part->next) {
            if (only >= 0 && part->node != only) return -1;
            only = part->node;
        }
    }
    return n_placed > 1 ? only : -1;
}

static int emit_only_node(const struct service *service)
{
    char text[512];
    if (service->scaling == NULL || service->scaling->only_node < 0 || service->scaling->n_failed == 0) return 0;
    int n = snprintf(text, sizeof text,
                     "service '%s': node %d held all its replicas at the start, so that one failure stops all of them",
                     service->config->name, service->scaling->only_node);
    if (n <= 0 || (size_t)n >= sizeof text) return 0;
    if (service->config->placement == SERVICE_PACKED)
        snprintf(text + n, sizeof text - (size_t)n, "; set services.%s.placement to spread", service->config->name);
    else
        snprintf(text + n, sizeof text - (size_t)n, "; no other node with its GPUs had room for one");
    return service_emit_warning(service, "one-node", 1, text);
}

/* --- Reservations --- */

enum { LARGE_RESERVATION = 10 }; /* times what a request comes to */

static int emit_reservation(const struct service *service, const struct fleet_pool *pool)
{
    char text[512];
    double reserved = 0.0, tokens = 0.0, n = 0.0;
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) {
        const struct replica_counts *counts = &service->fleet.replicas[i].counts;
        reserved += (double)counts->reserved_tokens;
        tokens += (double)counts->reserving_tokens;
        n += (double)counts->reserving;
    }
    if (!(reserved > LARGE_RESERVATION * tokens)) return 0;
    snprintf(
        text, sizeof text,
        "service '%s': batching policy '%s' reserves KV of %.0f tokens for a request, which comes to %.0f (means); "
        "set batching.max_tokens (longer requests are rejected), or take blocks as they are needed: "
        "vllm-v1, or trtllm with capacity=max-utilization",
        service->config->name, pool->env.batcher->policy.name, reserved / n, tokens / n);
    return service_emit_warning(service, "reservation", 1, text);
}

/* --- Limits of outputs --- */

/* Output tokens at which the pool's batcher ends a request; 0: at its own end. */
static int64_t most_output_tokens(const struct fleet_pool *pool)
{
    const struct batcher *batcher = pool->config.batching.entry;
    if (batcher == NULL || batcher->most_output_tokens == NULL) return 0;
    return batcher->most_output_tokens(pool->config.batching.params);
}

/* The first pool that may decode. All others have its limit (service_check_outputs). NULL: there is none. */
static const struct fleet_pool *first_decoder(const struct service *service)
{
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        if (service->fleet.pools[i].config.role != POOL_PREFILL) return &service->fleet.pools[i];
    return NULL;
}

static void say_end(const struct fleet_pool *pool, char *text, size_t bytes)
{
    const long long most = most_output_tokens(pool);
    if (most > 0)
        snprintf(text, bytes, "after %lld tokens in pool '%.64s'", most, pool->config.name);
    else
        snprintf(text, bytes, "where the trace ends them in pool '%.64s'", pool->config.name);
}

int service_check_outputs(const struct service *service)
{
    const struct fleet *fleet = &service->fleet;
    const struct fleet_pool *first = first_decoder(service);
    char ends[2][128];
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        if (pool->config.role == POOL_PREFILL || most_output_tokens(pool) == most_output_tokens(first)) continue;
        say_end(first, ends[0], sizeof ends[0]);
        say_end(pool, ends[1], sizeof ends[1]);
        return diag_error(service->env.site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "batching"),
                          "give their batching policies the same limit of outputs, or none",
                          "pools that may decode disagree: requests end %s, and %s", ends[0], ends[1]);
    }
    return 0;
}

int32_t service_output_of(struct service *service, int32_t output_tokens)
{
    const struct fleet_pool *pool = first_decoder(service);
    const int64_t most = pool != NULL ? most_output_tokens(pool) : 0;
    if (most == 0 || output_tokens <= most) return output_tokens;
    service->n_cut++;
    return (int32_t)most;
}

/* The key that holds the pool's batching policy: its own one, or that of the service. NULL when out of memory. */
static const char *batching_key(const struct service *service, const struct fleet_pool *pool)
{
    const char *key = fleet_path_of(&service->fleet, pool, "batching");
    if (key == NULL || config_is_given(service->env.site->config, key)) return key;
    return arena_printf(service->env.site->arena, "services.%s.batching", service->config->name);
}

/* Only SGLang's parameter has a known name; another policy's limit may stand in any. */
static int emit_cut_outputs(const struct service *service)
{
    char text[512];
    const struct fleet_pool *pool = first_decoder(service);
    if (pool == NULL || service->n_cut == 0) return 0;
    const char *key = batching_key(service, pool);
    if (key == NULL) return SIM_E_NOMEM;
    snprintf(
        text, sizeof text,
        "service '%s': requests with longer outputs end after %lld tokens, the limit that batching policy '%s' has "
        "them state (%s)",
        service->config->name, (long long)most_output_tokens(pool), pool->env.batcher->policy.name, key);
    return service_emit_warning(service, "clipped", service->n_cut, text);
}

int service_emit_hints(const struct service *service)
{
    int code = emit_only_node(service);
    if (code == 0) code = emit_cut_outputs(service);
    for (size_t i = 0; i < service->fleet.n_pools && code == 0; i++) {
        code = emit_restart_time(service, &service->fleet.pools[i]);
        if (code == 0) code = emit_reservation(service, &service->fleet.pools[i]);
    }
    return code;
}

/* --- Kernels --- */

/* "service 'chat', pool 'decode'". */
static void say_pool(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    text_printf(text, "service '%s'", service->config->name);
    if (pool->config.name != NULL) text_printf(text, ", pool '%s'", pool->config.name);
}

/* Weights in nvfp4 on a GPU without units for it, such as those before Blackwell: they are widened before each product
 * (weight_kernels). vLLM does so: vllm/model_executor/layers/quantization/utils/marlin_utils_fp4.py. */
static int emit_emulation(const struct service *service, const struct fleet_pool *pool)
{
    struct text text;
    if (service->llm.weights != FORMAT_NVFP4 || pool->gpu.peak_flop_per_s[FORMAT_NVFP4] > 0.0) return 0;
    text_init(&text);
    say_pool(service, pool, &text);
    text_printf(&text,
                ": %s has no units for products in nvfp4: weights are widened first, which not every engine can do",
                pool->gpu.name);
    const int code = text.failed ? SIM_E_NOMEM : service_emit_warning(service, "emulated", 1, text.chars);
    text_fini(&text);
    return code;
}

int service_emit_kernels(const struct service *service, const struct fleet_pool *pool)
{
    const struct iteration_model *model = &pool->env.model;
    struct text text;
    const int emulated = emit_emulation(service, pool);
    if (emulated != 0 || model->other_kernels == NULL) return emulated;
    text_init(&text);
    say_pool(service, pool, &text);
    text_printf(&text, ": %s", model->other_kernels);
    if (model->fitting_kernels != NULL) text_printf(&text, "; %s", model->fitting_kernels);
    const int code = text.failed ? SIM_E_NOMEM : service_emit_warning(service, "kernels", 1, text.chars);
    text_fini(&text);
    return code;
}

int service_warn_kernels(const struct service *service, const char *where, struct diag *diag)
{
    static const char listed[] = "'orrery list kernels' shows what was measured";
    int code = 0;
    for (size_t i = 0; code == 0 && i < service->fleet.n_pools; i++) {
        const struct fleet_pool *pool = &service->fleet.pools[i];
        const struct iteration_model *model = &pool->env.model;
        struct text name, hint;
        if (model->other_kernels == NULL) continue;
        text_init(&name);
        text_init(&hint);
        say_pool(service, pool, &name);
        if (model->fitting_kernels != NULL) text_printf(&hint, "%s; ", model->fitting_kernels);
        text_add(&hint, listed);
        code = name.failed || hint.failed ? diag_nomem(diag) : 0;
        if (code == 0) diag_warning(diag, where, hint.chars, "%s: %s", name.chars, model->other_kernels);
        text_fini(&hint);
        text_fini(&name);
    }
    return code;
}
