/* The end of a service: unfinished requests, metrics, and its invariants. */
#include "sim/core/check.h"
#include "sim/world/service/scaling_state.h"
#include "sim/world/service/service_state.h"

#include <math.h>
#include <stdlib.h>

int64_t service_outstanding(const struct service *service)
{
    return fleet_outstanding(&service->fleet) + scaling_waiting(service->scaling);
}

int service_check_done(const struct service *service, struct diag *diag)
{
    const long long left = service_outstanding(service), unserved = scaling_waiting(service->scaling);
    const char *plural = left == 1 ? "" : "s", *verb = left == 1 ? "waits" : "wait", *name = service->config->name;
    if (left == 0) return 0;
    if (unserved > 0 && service->scaling->gone.value > 0)
        return diag_error(
            diag, SIM_E_STALLED, NULL,
            "give the outage an \"until\", the cause of failures a \"repair\", or the site more spare nodes",
            "%lld request%s of service '%s' %s forever: failures keep all of its replicas down, and no "
            "node comes back",
            left, plural, name, verb);
    return diag_error(diag, SIM_E_STALLED, NULL, "see the rows with status 'unfinished'",
                      "%lld request%s of service '%s' %s forever: the batching policy never takes %s", left, plural,
                      name, verb, left == 1 ? "it" : "them");
}

struct source_place service_place(const struct service *service)
{
    return service->source->place(service->source);
}

static int compare_ids(const void *a, const void *b)
{
    const struct request *x = *(struct request *const *)a, *y = *(struct request *const *)b;
    if (x->view.id != y->view.id) return x->view.id < y->view.id ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

struct leftovers {
    struct request **requests;
    size_t n;
};

static void collect(void *context, struct request *request)
{
    struct leftovers *left = context;
    left->requests[left->n++] = request;
}

static void count_unfinished(struct service *service, const struct request *request, sim_ns now)
{
    const double *limits_s = service_class_of(request)->limits_s;
    struct request_stats *of_class = service_class_stats(&service->classes, request);
    request_stats_add_unfinished(&service->stats.requests, limits_s, request, now);
    if (of_class != NULL) request_stats_add_unfinished(of_class, limits_s, request, now);
}

/* Rows of unfinished requests, with their state at `now`. */
static int emit_unfinished(struct service *service, sim_ns now)
{
    size_t capacity = (size_t)service_outstanding(service);
    if (capacity == 0) return 0;
    struct leftovers all = {.requests = mem_alloc(capacity * sizeof(struct request *))};
    struct request **left = all.requests;
    if (left == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < service->fleet.n_replicas; i++)
        replica_each_request(&service->fleet.replicas[i], collect, &all);
    scaling_each_waiting(service->scaling, collect, &all);
    size_t n = all.n;
    SIM_REQUIRE(n == capacity);
    qsort(left, n, sizeof *left, compare_ids);
    int code = 0;
    for (size_t i = 0; i < n; i++) {
        left[i]->max_gap = replica_max_gap(left[i]);
        left[i]->generated_tokens = replica_generated_tokens(left[i]);
    }
    if (service->groups != NULL) n = service_join_unfinished(service, left, n);
    for (size_t i = 0; i < n && code == 0; i++) {
        if (service_counts(service, left[i])) count_unfinished(service, left[i], now);
        code = service_emit_row(service, left[i], "unfinished", now);
    }
    mem_free(left);
    return code;
}

int service_finish(void *self, sim_ns now)
{
    struct service *service = self;
    int code = 0;
    for (int32_t i = 0; i < service->fleet.n_replicas && code == 0; i++) {
        code = replica_settle(&service->fleet.replicas[i], now);
        const struct fleet_pool *pool = fleet_pool_of(&service->fleet, i);
        const int64_t stages = pool->env.stages > 0 ? pool->env.stages : 1;
        service_stats_add_replica(&service->stats, &service->fleet.replicas[i], &pool->gpu,
                                  stages * pool->config.tensor_parallel, scaling_held_frac(service->scaling, i, now),
                                  scaling_late_held_frac(service->scaling, i, now));
    }
    service->stats.in_system_mean = level_mean(&service->in_system, now);
    if (code == 0) code = emit_unfinished(service, now);
    return code != 0 ? code : service_emit_warnings(service);
}

struct stays {
    tally_int128 stay_ns;
    sim_ns now;
};

static void add_stay(void *context, struct request *request)
{
    struct stays *stays = context;
    stays->stay_ns += stays->now - request->view.arrival_ns;
}

static void check_little(const struct level *in_system, tally_int128 stay_ns, sim_ns now)
{
    tally_int128 integral = in_system->integral + (tally_int128)in_system->value * (now - in_system->since_ns);
    if (integral != stay_ns)
        SIM_BUG("INV-7 (Little's law) is violated: %.17g != %.17g request-seconds", (double)integral / 1e9,
                (double)stay_ns / 1e9);
}

void service_check(void *self, sim_ns now)
{
    const struct service *service = self;
    int64_t in_replicas = 0;
    struct stays stays = {service->stay_ns, now};
    for (int32_t i = 0; i < service->fleet.n_replicas; i++) {
        const struct replica *replica = &service->fleet.replicas[i];
        replica_check(replica);
        in_replicas += service->fleet.loads[i].outstanding;
        replica_each_request(replica, add_stay, &stays);
    }
    scaling_each_waiting(service->scaling, add_stay, &stays);
    stays.stay_ns -= service_extra_stays_ns(service, now);
    scaling_check(service->scaling);
    prefix_stores_check(&service->fleet.stores);
    fleet_chunks_check(&service->fleet);
    SIM_LAW("INV-1 (requests are conserved)", (int64_t)service->requests.n_live,
            in_replicas + scaling_waiting(service->scaling));
    check_little(&service->in_system, stays.stay_ns, now);
}

static double span_s(const struct service *service)
{
    return service_stats_span_s(&service->stats, service->env.site->warmup_ns);
}

/* Attained SLOs of each service, if several have limits. */
static int emit_slo_of_each(struct service *const *services, size_t n, const struct sink *sink)
{
    size_t n_set = 0;
    int code = 0;
    for (size_t i = 0; i < n; i++) n_set += slo_is_set(&services[i]->config->slo);
    for (size_t i = 0; i < n && code == 0 && n_set > 1; i++)
        code = slo_emit(&services[i]->stats.requests.slo, services[i]->config->name, span_s(services[i]), sink);
    return code;
}

static int emit_classes(struct service *const *services, size_t n, const struct sink *sink)
{
    int code = 0;
    for (size_t i = 0; i < n && code == 0; i++)
        code = service_classes_emit(&services[i]->classes, span_s(services[i]), sink);
    return code;
}

static bool speculates(const struct service *service)
{
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        if (service->fleet.pools[i].env.speculation != NULL) return true;
    return false;
}

/* Speculation of all services together, and of each if several speculate. */
static int emit_speculation(struct service *const *services, size_t n, const struct service_stats *all,
                            const struct sink *sink)
{
    size_t n_speculate = 0;
    for (size_t i = 0; i < n; i++) n_speculate += speculates(services[i]);
    int code = n_speculate > 0 ? service_stats_emit_speculation(all, NULL, sink) : 0;
    for (size_t i = 0; i < n && code == 0 && n_speculate > 1; i++)
        if (speculates(services[i]))
            code = service_stats_emit_speculation(&services[i]->stats, services[i]->config->name, sink);
    return code;
}

int services_emit_metrics(struct service *const *services, size_t n, const struct sink *sink, sim_ns now)
{
    struct service_stats all;
    struct offload_totals offloaded = {{0}, {0}, 0, 0};
    if (n == 0) return 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < services[i]->fleet.n_pools; k++)
            offload_totals_add(&offloaded, &services[i]->fleet.pools[k].offload.totals);
    int code = service_stats_init(&all);
    for (size_t i = 0; i < n && code == 0; i++) {
        code = service_classes_add_up(&services[i]->classes, &services[i]->stats.requests);
        if (code == 0) code = service_stats_merge(&all, &services[i]->stats);
    }
    if (code == 0) code = service_stats_emit(&all, sink, services[0]->env.site->warmup_ns, now);
    if (code == 0) code = emit_speculation(services, n, &all, sink);
    if (code == 0) code = services_emit_sampling(services, n, &all, sink);
    if (code == 0) code = emit_slo_of_each(services, n, sink);
    if (code == 0) code = emit_classes(services, n, sink);
    if (code == 0) code = offload_totals_emit(&offloaded, sink);
    if (code == 0) code = services_emit_energy(services, n, sink, now);
    if (code == 0) code = services_emit_scaling(services, n, sink, now);
    if (code == 0) code = services_emit_failures(services, n, sink, now);
    if (code == 0) code = services_emit_stores(services, n, sink, now);
    if (code == 0) code = services_emit_chunks(services, n, sink);
    service_stats_fini(&all);
    return code;
}

double services_extrapolated_frac(struct service *const *services, size_t n)
{
    double busy = 0, extrapolated = 0;
    for (size_t i = 0; i < n; i++) {
        if (services[i]->stats.uncalibrated) return (double)NAN;
        busy += (double)services[i]->stats.work.busy_ns;
        extrapolated += (double)services[i]->stats.work.extrapolated_ns;
    }
    return busy > 0 ? extrapolated / busy : 0;
}

int64_t service_output_tokens(const struct service *service)
{
    return service->stats.run_output_tokens;
}

int64_t service_met_requests(const struct service *service)
{
    return service->stats.requests.slo.attained;
}
