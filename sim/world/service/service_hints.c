/* Warnings at the end of a run about defaults of a service that decide its result, and that its user may not know of:
 * the time of a restart after a failure, the nodes of its replicas, KV reserved for outputs. */
#include "sim/world/cluster/cluster.h"
#include "sim/world/service/scaling_state.h"

#include <math.h>
#include <stdio.h>

static int emit(const struct service *service, const char *code, const char *text)
{
    const struct sink *sink = service->env.site->sink;
    const struct warning_row row = {.t_s = (double)NAN, .code = code, .text = text, .count = 1};
    return sink->warning != NULL ? sink->warning(sink->context, &row) : 0;
}

/* --- Restarts --- */

/* The key that sets the time until a started replica is up; NULL: the scenario has set it, or the bandwidth. */
static const char *unset_delay(const struct service *service, const struct pool_config *pool)
{
    const bool scales = pool->scaling.policy.entry != NULL;
    const struct start_config *start = scales ? &pool->scaling.start : &service->config->restart;
    const bool is_default = isnan(start->delay_s) && !(start->load_bytes_per_s < START_LOAD_BYTES_PER_S) &&
                            !(start->load_bytes_per_s > START_LOAD_BYTES_PER_S);
    if (!is_default) return NULL;
    return scales ? "scaling.start_delay" : "restart.delay";
}

/* Replicas have failed, and their time to restart is an assumption: that of the pool with the most weights. */
static int emit_restart_time(const struct service *service)
{
    char text[512];
    const char *key = NULL;
    double most_bytes = 0.0;
    for (size_t i = 0; i < service->fleet.n_pools; i++) {
        const struct pool_config *pool = &service->fleet.pools[i].config;
        const double bytes = pool_weight_bytes(pool, &service->llm);
        const char *unset = unset_delay(service, pool);
        if (unset == NULL || bytes <= most_bytes) continue;
        most_bytes = bytes;
        key = unset;
    }
    if (service->scaling == NULL || service->scaling->n_failed == 0 || key == NULL) return 0;
    snprintf(text, sizeof text,
             "service '%s': a replica that failed is up %.3g s after it gets GPUs, the time to load %.4g GB of weights "
             "at %.3g GB/s; starting an engine takes longer: set %s",
             service->config->name, most_bytes / START_LOAD_BYTES_PER_S, most_bytes / 1e9, START_LOAD_BYTES_PER_S / 1e9,
             key);
    return emit(service, "restart-time", text);
}

/* --- Nodes --- */

static int64_t count_nodes(const struct cluster *cluster)
{
    int64_t n = 0;
    for (; cluster != NULL; cluster = cluster->next) n += cluster->n_nodes;
    return n;
}

int32_t service_only_node(const struct service *service)
{
    const struct fleet *fleet = &service->fleet;
    int32_t only = -1, n_placed = 0;
    if (count_nodes(service->env.cluster) < 2) return -1;
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
    if (service->scaling == NULL || service->scaling->only_node < 0) return 0;
    snprintf(text, sizeof text,
             "service '%s': node %d holds all its replicas at the start, so one failure stops all of them; replicas "
             "fill a node before they take the next one",
             service->config->name, service->scaling->only_node);
    return emit(service, "one-node", text);
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
        "service '%s': batching policy '%s' reserves KV of %.0f tokens for a request, which comes to %.0f (means): "
        "few fit at a time; set batching.max_tokens (longer requests are rejected), or take blocks as they are needed: "
        "vllm-v1, or trtllm with capacity=max-utilization",
        service->config->name, pool->env.batcher->policy.name, reserved / n, tokens / n);
    return emit(service, "reservation", text);
}

int service_emit_hints(const struct service *service)
{
    int code = service->env.nodes_fail ? emit_only_node(service) : 0;
    if (code == 0) code = emit_restart_time(service);
    for (size_t i = 0; i < service->fleet.n_pools && code == 0; i++)
        code = emit_reservation(service, &service->fleet.pools[i]);
    return code;
}
