/* A service whose replicas come and go: the view of its autoscaler, time series, metrics and invariants. */
#include "sim/core/check.h"
#include "sim/world/policy/autoscaling.h"
#include "sim/world/service/scaling_state.h"

#include <math.h>

/* --- For autoscalers --- */

static bool is_delayed(const struct fleet *fleet)
{
    return fleet->reports.period_ns > 0;
}

static int64_t used_blocks(const struct fleet *fleet, int32_t i, sim_ns now)
{
    return is_delayed(fleet) ? fleet->reports.usages[i].kv_blocks : replica_used_blocks(&fleet->replicas[i], now);
}

/* Of the pool's replicas that are up. */
static void add_usage(struct service_scaling *scaling, const struct fleet_pool *pool, struct autoscaling_view *view,
                      sim_ns now)
{
    const struct fleet *fleet = &scaling->service->fleet;
    int64_t used = 0, total = 0;
    sim_ns busy_ns = 0, up_ns = 0;
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) {
        struct tenure *tenure = &scaling->tenures[i];
        if (tenure->phase != REPLICA_UP) continue;
        const sim_ns computed_ns = replica_busy_ns(&fleet->replicas[i], now);
        used += used_blocks(fleet, i, now);
        total += fleet->replicas[i].kv.total_blocks;
        busy_ns += computed_ns - tenure->busy_ns;
        up_ns += now - tenure->seen_ns;
        tenure->busy_ns = computed_ns;
        tenure->seen_ns = now;
    }
    if (total > 0) view->kv_used_frac = (double)used / (double)total;
    if (up_ns > 0) view->busy_frac = (double)busy_ns / (double)up_ns;
}

/* Requests that wait at the service count in each pool that may take them. */
static void add_loads(const struct service_scaling *scaling, const struct fleet_pool *pool,
                      struct autoscaling_view *view)
{
    const struct fleet *fleet = &scaling->service->fleet;
    const int role = pool->config.role;
    if (role != POOL_DECODE) view->outstanding += scaling->waiting.n;
    if (role != POOL_PREFILL) view->outstanding += scaling->service->handing_over.undecided.n;
    view->waiting = view->outstanding;
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) {
        const struct replica_load *load = fleet_seen_load(fleet, i);
        view->outstanding += load->outstanding;
        view->waiting += load->waiting;
        view->queued_tokens += load->queued_tokens;
    }
}

struct autoscaling_view scaling_make_view(struct service_scaling *scaling, struct pool_scaling *pool, sim_ns now)
{
    struct fleet *fleet = &scaling->service->fleet;
    fleet_reports_before_routing(fleet, now);
    struct autoscaling_view view = {.now_ns = now,
                                    .seen_ns = is_delayed(fleet) ? fleet->reports.seen_ns : now,
                                    .interval_ns = pool->config->interval_ns,
                                    .min = pool->config->min,
                                    .max = pool->config->max,
                                    .up = pool->count[REPLICA_UP],
                                    .starting = pool->count[REPLICA_STARTING],
                                    .draining = pool->count[REPLICA_DRAINING],
                                    .arrived = scaling->n_arrived - pool->n_seen};
    pool->n_seen = scaling->n_arrived;
    add_loads(scaling, pool->pool, &view);
    add_usage(scaling, pool->pool, &view, now);
    return view;
}

/* --- Held requests --- */

int64_t scaling_waiting(const struct service_scaling *scaling)
{
    return scaling != NULL ? scaling->waiting.n + scaling->service->handing_over.undecided.n : 0;
}

void scaling_each_waiting(const struct service_scaling *scaling, void (*visit)(void *context, struct request *request),
                          void *context)
{
    if (scaling == NULL) return;
    request_list_each(&scaling->waiting, visit, context);
    request_list_each(&scaling->service->handing_over.undecided, visit, context);
}

/* --- GPUs --- */

bool scaling_is_placed(const struct service_scaling *scaling, int32_t replica)
{
    return scaling == NULL || scaling->tenures[replica].phase != REPLICA_DOWN;
}

sim_ns scaling_held_ns(const struct service_scaling *scaling, int32_t replica, sim_ns now)
{
    if (scaling == NULL) return now;
    const struct tenure *tenure = &scaling->tenures[replica];
    return tenure->held_ns + (tenure->phase != REPLICA_DOWN ? now - tenure->since_ns : 0);
}

double scaling_held_frac(const struct service_scaling *scaling, int32_t replica, sim_ns now)
{
    if (scaling == NULL) return 1.0;
    return now > 0 ? (double)scaling_held_ns(scaling, replica, now) / (double)now : 0.0;
}

sim_ns scaling_late_ns(const struct service_scaling *scaling, sim_ns since_ns, sim_ns now)
{
    const sim_ns warmup_ns = scaling->service->env.site->warmup_ns;
    const sim_ns start_ns = since_ns > warmup_ns ? since_ns : warmup_ns;
    return now > start_ns ? now - start_ns : 0;
}

double scaling_late_held_frac(const struct service_scaling *scaling, int32_t replica, sim_ns now)
{
    if (scaling == NULL) return 1.0;
    const struct tenure *tenure = &scaling->tenures[replica];
    const sim_ns all_ns = scaling_late_ns(scaling, 0, now);
    sim_ns held_ns = tenure->late_ns;
    if (tenure->phase != REPLICA_DOWN) held_ns += scaling_late_ns(scaling, tenure->since_ns, now);
    return all_ns > 0 ? (double)held_ns / (double)all_ns : 0.0;
}

static int64_t replica_gpus(const struct service_scaling *scaling, int32_t index)
{
    const struct pool_config *config = &fleet_pool_of(&scaling->service->fleet, index)->config;
    return config->tensor_parallel * config->pipeline_parallel;
}

/* Pools that scale have series and metrics of their own. */
static bool is_told_apart(const struct pool_scaling *pool)
{
    return pool->autoscaler != NULL && pool->pool->config.name != NULL;
}

static const char *name_of(const struct service_scaling *scaling, const struct pool_scaling *pool)
{
    const struct service *service = scaling->service;
    return arena_printf(service->env.site->arena, "%s/%s", service->config->name, pool->pool->config.name);
}

int scaling_series(const struct service_scaling *scaling, struct sampler_series *series)
{
    const struct service *service = scaling->service;
    int n = 0;
    for (size_t i = 0; i <= service->fleet.n_pools; i++) {
        const struct pool_scaling *pool = i > 0 ? &scaling->pools[i - 1] : NULL;
        if (pool != NULL && !is_told_apart(pool)) continue;
        const char *entity = pool == NULL ? service->config->name : name_of(scaling, pool);
        if (entity == NULL) return SIM_E_NOMEM;
        if (series != NULL) {
            *series++ = (struct sampler_series){"service.replicas", entity};
            *series++ = (struct sampler_series){"service.replicas_wanted", entity};
        }
        n += 2;
    }
    return n;
}

static int64_t all_wanted(const struct service_scaling *scaling)
{
    int64_t wanted = 0;
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) wanted += scaling->pools[i].wanted;
    return wanted;
}

void scaling_sample(const struct service_scaling *scaling, double *values)
{
    *values++ = (double)scaling->up.value;
    *values++ = (double)all_wanted(scaling);
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) {
        const struct pool_scaling *pool = &scaling->pools[i];
        if (!is_told_apart(pool)) continue;
        *values++ = (double)pool->up.value;
        *values++ = (double)pool->wanted;
    }
}

bool service_scales(const struct service *service)
{
    return service->scaling != NULL && service->scaling->scales;
}

int64_t service_gpus(const struct service *service)
{
    int64_t gpus = 0;
    for (int32_t i = 0; service->scaling != NULL && i < service->fleet.n_replicas; i++)
        if (service->scaling->tenures[i].phase != REPLICA_DOWN) gpus += replica_gpus(service->scaling, i);
    for (size_t i = 0; service->scaling == NULL && i < service->fleet.n_pools; i++) {
        const struct pool_config *config = &service->fleet.pools[i].config;
        gpus += config->replicas * config->tensor_parallel * config->pipeline_parallel;
    }
    return gpus;
}

static void check_pool(const struct service_scaling *scaling, const struct pool_scaling *pool)
{
    const struct fleet *fleet = &scaling->service->fleet;
    int32_t count[REPLICA_PHASES] = {0};
    for (int32_t i = pool->pool->first; i < pool->pool->first + pool->pool->n; i++) {
        const struct replica *replica = &fleet->replicas[i];
        const enum replica_phase phase = scaling->tenures[i].phase;
        count[phase]++;
        if (phase == REPLICA_DOWN || phase == REPLICA_STARTING) {
            replica_check_absent(replica);
            SIM_REQUIRE(fleet->reserved_tokens[i] == 0);
        }
        if (fleet->env->cluster->n_nodes > 0)
            SIM_LAW("INV-10 (replicas hold the GPUs they need)", replica->placement.n_gpus,
                    phase == REPLICA_DOWN ? 0 : replica_gpus(scaling, i));
    }
    for (int phase = 0; phase < REPLICA_PHASES; phase++) SIM_REQUIRE(count[phase] == pool->count[phase]);
}

/* Routers see the replicas that are up, in the order of their numbers. */
static void check_candidates(const struct service_scaling *scaling)
{
    const struct fleet_candidates *candidates = &scaling->service->fleet.candidates;
    int32_t n = 0;
    for (int32_t i = 0; i < scaling->n; i++)
        n += scaling->tenures[i].phase == REPLICA_UP && n < candidates->n && candidates->numbers[n] == i;
    SIM_REQUIRE(n == candidates->n);
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) n -= scaling->pools[i].count[REPLICA_UP];
    SIM_REQUIRE(n == 0);
}

void scaling_check(const struct service_scaling *scaling)
{
    if (scaling == NULL) return;
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) check_pool(scaling, &scaling->pools[i]);
    check_candidates(scaling);
}

/* --- Metrics --- */

struct scaling_total {
    double up_mean, up_max, missing_s, gpu_s;
    int64_t starts, drains, held, yielded;
};

/* What pools do alone: held requests and yields are the service's. */
static void add_pool(struct scaling_total *total, const struct service_scaling *scaling,
                     const struct pool_scaling *pool, sim_ns now)
{
    total->gpu_s += level_integral_s(&pool->placed, now) * (double)replica_gpus(scaling, pool->pool->first);
    total->starts += pool->n_starts;
    total->drains += pool->n_drains;
}

static void add(struct scaling_total *total, const struct service_scaling *scaling, sim_ns now)
{
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) add_pool(total, scaling, &scaling->pools[i], now);
    total->up_mean += level_mean(&scaling->up, now);
    total->up_max += (double)scaling->up.max;
    total->missing_s += level_integral_s(&scaling->missing, now);
    total->held += scaling->n_held;
    total->yielded += scaling->n_yielded;
}

/* Which metrics are emitted: of services that do not scale only the GPUs that jobs yielded to restarting replicas, of
 * pools not what their service counts. */
enum scaling_entity { CONSTANT_SERVICE, SCALED_POOL, SCALED_SERVICE };

static int emit(const struct scaling_total *total, enum scaling_entity kind, const char *entity,
                const struct sink *sink)
{
    const struct {
        const char *name;
        double value;
        bool is_of[SCALED_SERVICE + 1];
    } metrics[] = {
        {"scaling.replicas.mean", total->up_mean, {false, true, true}},
        {"scaling.replicas.max", total->up_max, {false, true, true}},
        {"scaling.starts.sum", (double)total->starts, {false, true, true}},
        {"scaling.drains.sum", (double)total->drains, {false, true, true}},
        {"scaling.missing_replica_s.sum", total->missing_s, {false, true, true}},
        {"scaling.held_requests.sum", (double)total->held, {false, false, true}},
        {"scaling.yielded_jobs.sum", (double)total->yielded, {true, false, true}},
        {"scaling.gpu_s.sum", total->gpu_s, {false, true, true}},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof *metrics; i++)
        if (metrics[i].is_of[kind]) code = metric_emit_of(sink, metrics[i].name, entity, metrics[i].value);
    return code;
}

static int emit_pools(const struct service_scaling *scaling, const struct sink *sink, sim_ns now)
{
    int code = 0;
    for (size_t i = 0; i < scaling->service->fleet.n_pools && code == 0; i++) {
        const struct pool_scaling *pool = &scaling->pools[i];
        if (!is_told_apart(pool)) continue;
        const char *entity = name_of(scaling, pool);
        struct scaling_total one = {.up_mean = level_mean(&pool->up, now),
                                    .up_max = (double)pool->up.max,
                                    .missing_s = level_integral_s(&pool->missing, now)};
        add_pool(&one, scaling, pool, now);
        code = entity != NULL ? emit(&one, SCALED_POOL, entity, sink) : SIM_E_NOMEM;
    }
    return code;
}

int services_emit_scaling(struct service *const *services, size_t n, const struct sink *sink, sim_ns now)
{
    struct scaling_total all = {0};
    size_t n_scaling = 0, n_starting = 0;
    for (size_t i = 0; i < n; i++) {
        if (services[i]->scaling == NULL) continue;
        if (service_scales(services[i]))
            add(&all, services[i]->scaling, now);
        else
            all.yielded += services[i]->scaling->n_yielded;
        n_scaling += service_scales(services[i]);
        n_starting++;
    }
    int code = n_starting > 0 ? emit(&all, n_scaling > 0 ? SCALED_SERVICE : CONSTANT_SERVICE, NULL, sink) : 0;
    for (size_t i = 0; code == 0 && i < n && n_starting > 1; i++) {
        struct scaling_total one = {0};
        if (services[i]->scaling == NULL) continue;
        add(&one, services[i]->scaling, now);
        const bool is_told = service_scales(services[i]) && n_scaling > 1;
        code = emit(&one, is_told ? SCALED_SERVICE : CONSTANT_SERVICE, services[i]->config->name, sink);
    }
    for (size_t i = 0; code == 0 && i < n; i++)
        if (services[i]->scaling != NULL) code = emit_pools(services[i]->scaling, sink, now);
    return code;
}
