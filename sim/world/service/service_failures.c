/* Failures of services. When a node of a replica fails, the replica is down: its computation and all of its KV are
 * lost. Its requests return to the service and, at the same moment, go to the replicas that are up, in order of
 * arrival; if none is up, they wait. Their generated tokens have been sent, and are processed again with their prompts.
 *
 * The service still wants as many replicas as before. It starts the missing one at once on GPUs that are free or that
 * jobs yield. Otherwise it starts one when a node comes back or (without an autoscaler) when jobs release GPUs. The
 * replica is up after its start delay, with an empty cache. A service with an autoscaler also tries again at each
 * decision.
 *
 * In a service with pools each replica starts anew with the GPUs of its pool. A request waits at the service while no
 * replica that processes prompts is up. One whose prompt is processed keeps its KV there while none that decodes is up.
 * What becomes of KV on its way is in service_handover.c.
 *
 * Leaves out: offloaded weights, or routers that choose pairs (fleet_may_restart), which failures do not affect: the
 * run warns. Clients that notice and try elsewhere, or give up. KV that other replicas or the host could still have. */
#include "sim/world/rows/metric.h"
#include "sim/world/rows/priority.h"
#include "sim/world/service/scaling_state.h"

#include <stdio.h>

/* --- Striking --- */

static bool comes_before(const struct request_view *a, const struct request_view *b)
{
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns < b->arrival_ns : a->id < b->id;
}

/* Inserts the request, by order of arrival, among those that wait at the service. */
static void hold(struct service_scaling *scaling, struct request *request)
{
    struct request *before = scaling->waiting.tail;
    while (before != NULL && comes_before(&request->view, &before->view)) before = request_of(before->view.prev);
    request_list_insert_before(&scaling->waiting, request,
                               before != NULL ? request_of(before->view.next) : scaling->waiting.head);
}

static int emit_of(const struct service *service, const struct request *request, const char *reason, sim_ns now)
{
    const struct sink *sink = service->env.site->sink;
    if (sink->detail == NULL) return 0;
    struct decision_row row = {.t_s = sim_s_from_ns(now), .service = service->config->name, .policy = "failures",
                               .action = "requeue", .subject = request->view.id, .reason = reason};
    return sink->detail(sink->context, &row);
}

static int send_back(struct service_scaling *scaling, struct request_list *lost, int32_t index, sim_ns now)
{
    struct service *service = scaling->service;
    char reason[96];
    int code = 0;
    snprintf(reason, sizeof reason, "replica %d has failed with the KV of its requests", index);
    scaling->n_lost_requests += lost->n;
    while (lost->n > 0) {
        struct request *request = lost->head;
        request_list_remove(lost, request);
        fleet_leave(&service->fleet, request);
        request->replica = request->decode_replica = -1;
        hold(scaling, request);
        if (code == 0) code = emit_of(service, request, reason, now);
    }
    return code;
}

/* Counts the failure of a replica that was up or starting. */
static void count_one(struct service_scaling *scaling, int32_t index, sim_ns now)
{
    struct tenure *tenure = &scaling->tenures[index];
    scaling->n_failed++;
    tenure->n_failed++;
    level_set(&scaling->failed, now, scaling->failed.value + !tenure->has_failed);
    tenure->has_failed = true;
    scaling_count_failed(scaling, now);
}

static int strike_one(struct service_scaling *scaling, int32_t index, const char *reason, sim_ns now)
{
    struct request_list lost = {0};
    const bool was_wanted = scaling->tenures[index].phase != REPLICA_DRAINING;
    service_lose_handovers(scaling->service, index, &lost, now);
    int code = replica_lose(&scaling->service->fleet.replicas[index], &lost, now);
    if (code == 0) code = scaling_leave_gpus(scaling, index, now);
    if (code == 0) code = scaling_emit_decision(scaling, "failures", index, "fail", reason, now);
    if (code == 0) code = send_back(scaling, &lost, index, now);
    if (was_wanted) fleet_claim_gpus(&scaling->service->fleet, &scaling->service->fleet.replicas[index], true);
    if (was_wanted) count_one(scaling, index, now);
    return code;
}

int service_strike(struct holder *holder, struct holder_strike *strike, sim_ns now)
{
    const struct service *service = OWNER_ENTITY(holder->tenant, struct service, tenant);
    struct service_scaling *scaling = service->scaling;
    char reason[128];
    if (scaling == NULL || !service->env.nodes_fail) return 0;
    snprintf(reason, sizeof reason, "%.80s on node %d", strike->cause, strike->node);
    int code = strike_one(scaling, (int32_t)holder->number, reason, now);
    if (code == 0) code = prefix_stores_lose_host(&scaling->service->fleet.stores, strike->node, now);
    if (code != 0) return code;
    scaling_try_again(scaling, false);
    engine_arm(service->env.site->engine, now, PRIORITY_ARRIVAL, scaling_route_waiting, &scaling->release);
    return 0;
}

/* --- GPUs that become free --- */

bool service_may_fail(const struct service *service)
{
    return service->scaling != NULL && service->env.nodes_fail && !service->scaling->is_over;
}

/* Some pool, or some pool without an autoscaler. */
static bool lacks_replicas(const struct service_scaling *scaling, bool only_constant)
{
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) {
        const struct pool_scaling *pool = &scaling->pools[i];
        if ((!only_constant || pool->autoscaler == NULL) && scaling_serving(pool) < pool->wanted) return true;
    }
    return false;
}

/* Missing replicas take GPUs that have become free: those of nodes at once; those of jobs and services only without an
 * autoscaler. */
static void on_changed(struct tenant *tenant, enum site_change change)
{
    const struct service *service = OWNER_ENTITY(tenant, struct service, tenant);
    const bool only_constant = change != SITE_NODE_RETURNED;
    if (change == SITE_NODE_FAILED || !service_may_fail(service)) return;
    if (lacks_replicas(service->scaling, only_constant)) scaling_try_again(service->scaling, only_constant);
}

const struct tenant_ops service_tenant_ops = {.changed = on_changed};

/* --- Counting --- */

void scaling_clear_failure(struct service_scaling *scaling, int32_t index, sim_ns now)
{
    struct tenure *tenure = &scaling->tenures[index];
    level_set(&scaling->failed, now, scaling->failed.value - tenure->has_failed);
    tenure->has_failed = false;
}

/* Clears the failed state of the pool's highest numbers when other replicas replace them or fewer are wanted. */
static void count_failed_of(struct service_scaling *scaling, const struct pool_scaling *pool, sim_ns now)
{
    const int32_t first = pool->pool->first, last = first + pool->pool->n - 1;
    const int64_t lack = pool->wanted - pool->count[REPLICA_UP];
    int64_t n_failed = 0;
    for (int32_t i = first; i <= last; i++) n_failed += scaling->tenures[i].has_failed;
    for (int32_t i = last; i >= first && n_failed > 0 && n_failed > lack; i--) {
        n_failed -= scaling->tenures[i].has_failed;
        scaling_clear_failure(scaling, i, now);
    }
}

void scaling_count_failed(struct service_scaling *scaling, sim_ns now)
{
    for (size_t i = 0; scaling->failed.value > 0 && i < scaling->service->fleet.n_pools; i++)
        count_failed_of(scaling, &scaling->pools[i], now);
    const bool is_serving = fleet_may_prompt(&scaling->service->fleet) && fleet_may_decode(&scaling->service->fleet);
    level_set(&scaling->gone, now, !is_serving && scaling->failed.value > 0);
}

struct failure_total {
    double replicas, requests, tokens, replica_s, service_s;
};

static void add(struct failure_total *total, const struct service *service, sim_ns now)
{
    const struct service_scaling *scaling = service->scaling;
    total->replicas += (double)scaling->n_failed;
    total->requests += (double)scaling->n_lost_requests;
    total->replica_s += level_integral_s(&scaling->failed, now);
    total->service_s += level_integral_s(&scaling->gone, now);
    for (int32_t i = 0; i < service->fleet.n_replicas; i++)
        total->tokens += (double)service->fleet.replicas[i].counts.lost_tokens;
}

static int emit(const struct failure_total *total, const char *entity, const struct sink *sink)
{
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"failure.replica_stops", total->replicas}, {"failure.restarted_requests", total->requests},
                   {"failure.lost_kv_tokens", total->tokens},    {"failure.replica_down_s", total->replica_s},
                   {"failure.service_down_s", total->service_s}};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof *metrics; i++)
        code = metric_emit_of(sink, metrics[i].name, entity, metrics[i].value);
    return code;
}

int services_emit_failures(struct service *const *services, size_t n, const struct sink *sink, sim_ns now)
{
    struct failure_total all = {0};
    size_t n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        if (!services[i]->env.nodes_fail || services[i]->scaling == NULL) continue;
        add(&all, services[i], now);
        n_failed++;
    }
    int code = n_failed > 0 ? emit(&all, NULL, sink) : 0;
    for (size_t i = 0; code == 0 && i < n && n_failed > 1; i++) {
        struct failure_total one = {0};
        if (services[i]->scaling == NULL) continue;
        add(&one, services[i], now);
        code = emit(&one, services[i]->config->name, sink);
    }
    return code;
}
