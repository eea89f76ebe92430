/* Replicas as holders of GPUs: what failures and the power of the site do to them (holder.h). Then the energy of
 * services and of their pools (work.h) at the end of a run: metrics, and warnings about their validity. */
#include "sim/world/policy/power_cap.h"
#include "sim/world/service/scaling_state.h"
#include "sim/world/service/service_state.h"

#include <math.h>
#include <stdio.h>

/* --- Replicas as holders of GPUs --- */

static int cannot(const struct service *service, const struct fleet_pool *pool, const char *hint, const char *why)
{
    const char *path = arena_printf(service->env.site->arena, "services.%s", service->config->name);
    if (path == NULL) return SIM_E_NOMEM;
    return diag_error(service->env.site->diag, SIM_E_CONFIG, config_where(service->env.site->config, path), hint,
                      "service '%s' cannot have its power held: %s (%s)", service->config->name, why, pool->gpu.name);
}

/* The power model of the pool's GPU, with a voltage. */
static int find_power_model(const struct service *service, const struct fleet_pool *pool,
                            const struct service_power *site, struct power_model *model)
{
    const struct service_env *env = &service->env;
    char text[512];
    if (pool->env.energy == NULL)
        return cannot(service, pool, "leave out 'cluster.power', or take another GPU",
                      service_energy_problem(pool, text, sizeof text));
    *model = pool->power.model;
    if (!isnan(model->voltage_floor)) return 0;
    return catalog_power_voltage(env->site->catalog, site->clock_like,
                                 config_where(env->site->config, "cluster.power.clock_like"), env->site->arena, model,
                                 env->site->diag);
}

static int set_clock_model(const struct service *service, struct fleet_pool *pool, const struct service_power *site)
{
    const struct service_config *config = service->config;
    const bool has_own = config->clock_share.prefill > 0.0 || config->clock_share.decode > 0.0;
    struct power_model model;
    if (site->has_outages && !service_may_fail(service))
        return cannot(service, pool, "leave out 'cluster.power.breaker.outage'",
                      "its replicas cannot restart after a breaker trips");
    int code = find_power_model(service, pool, site, &model);
    if (code != 0) return code;
    pool->clock_model = (struct clock_model){.power = model,
                                             .gpus = pool->config.tensor_parallel * pool->config.pipeline_parallel,
                                             .clock_share = has_own ? config->clock_share : site->clock_share};
    pool->env.clock_model = &pool->clock_model;
    return 0;
}

static void set_clock(struct holder *holder, const struct clock_order *order, sim_ns now)
{
    replica_set_clock(OWNER_ENTITY(holder, struct replica, holder), *order, now);
}

static double drawn_j(const struct holder *holder, sim_ns at)
{
    return replica_drawn_j(OWNER_ENTITY(holder, const struct replica, holder), at);
}

static double draws_w(const struct holder *holder, sim_ns at)
{
    return replica_draws_w(OWNER_ENTITY(holder, const struct replica, holder), at);
}

static const struct holder_ops holder_ops = {
    .strike = service_strike, .set_clock = set_clock, .drawn_j = drawn_j, .draws_w = draws_w};

static int join_replica(struct service *service, const struct fleet_pool *pool, struct replica *replica)
{
    struct holder *holder = &replica->holder;
    holder->ops = &holder_ops;
    holder->tenant = &service->tenant;
    holder->number = (uint64_t)replica->index;
    holder->cluster = service->env.cluster;
    holder->draw = &pool->draw;
    return holders_join(&service->env.cluster->holders, holder);
}

int service_join(struct service *service, const struct service_power *power)
{
    int code = 0;
    for (size_t i = 0; i < service->fleet.n_pools && code == 0; i++) {
        struct fleet_pool *pool = &service->fleet.pools[i];
        if (power != NULL) code = set_clock_model(service, pool, power);
        pool->draw = (struct holder_draw){.group = service->config->priority == SERVICE_LOW ? POWER_LOW : POWER_HIGH,
                                          .gpus = pool->config.tensor_parallel * pool->config.pipeline_parallel,
                                          .idle_w = pool->gpu.idle_w,
                                          .highest_hz = pool->gpu.boost_hz,
                                          .limit_w = pool->gpu.tdp_w,
                                          .varies_between_events = pool->config.pipeline_parallel > 1};
        for (int32_t k = pool->first; k < pool->first + pool->n && code == 0; k++)
            code = join_replica(service, pool, &service->fleet.replicas[k]);
    }
    return code;
}

/* --- Energy --- */

/* Sums over replicas; NAN if the power of some GPU is unknown. */
struct energy_total {
    double joules, replica_peak_w;
    int64_t finished, output_tokens; /* of requests, over the whole run */
};

static void add_pool(struct energy_total *total, const struct service *service, const struct fleet_pool *pool,
                     sim_ns now)
{
    if (pool->env.energy == NULL) total->joules = (double)NAN;
    for (int32_t i = pool->first; i < pool->first + pool->n && !isnan(total->joules); i++) {
        const struct replica *replica = &service->fleet.replicas[i];
        const sim_ns busy_ns = replica->counts.busy_ns;
        total->joules += work_energy_j(&replica->work, pool->env.energy, sim_s_from_ns(busy_ns),
                                       sim_s_from_ns(scaling_held_ns(service->scaling, i, now) - busy_ns));
        total->replica_peak_w = fmax(total->replica_peak_w, replica->work.energy.peak_w);
    }
}

static void add_service(struct energy_total *total, const struct service *service, sim_ns now)
{
    for (size_t i = 0; i < service->fleet.n_pools; i++) add_pool(total, service, &service->fleet.pools[i], now);
    total->finished += service->stats.run_finished;
    total->output_tokens += service->stats.run_output_tokens;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

/* NAN is not emitted: neither unknown values nor rates without requests. */
static int emit(const struct energy_total *total, const char *entity, const struct sink *sink, sim_ns now)
{
    const double joules = total->joules, tokens = (double)total->output_tokens;
    const bool has_peak = !isnan(joules) && total->replica_peak_w > 0.0;
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"energy.j", joules},
        {"energy.j_per_output_token", ratio(joules, tokens)},
        {"energy.j_per_request", ratio(joules, (double)total->finished)},
        {"energy.output_tokens_per_j", tokens > 0 ? ratio(tokens, joules) : (double)NAN},
        {"power.gpus_w.mean", ratio(joules, sim_s_from_ns(now))},
        {"power.replica_w.max", has_peak ? total->replica_peak_w : (double)NAN},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof *metrics; i++)
        code = metric_emit_of(sink, metrics[i].name, entity, metrics[i].value);
    return code;
}

static int emit_pools(const struct service *service, const struct sink *sink, sim_ns now)
{
    char entity[256];
    int code = 0;
    if (service->fleet.n_pools == 1) return 0; /* equal to the service */
    for (size_t i = 0; code == 0 && i < service->fleet.n_pools; i++) {
        const struct fleet_pool *pool = &service->fleet.pools[i];
        struct energy_total total = {0};
        snprintf(entity, sizeof entity, "%s/%s", service->config->name, pool->config.name);
        add_pool(&total, service, pool, now);
        code = emit(&total, entity, sink, now);
    }
    return code;
}

int services_emit_energy(struct service *const *services, size_t n, const struct sink *sink, sim_ns now)
{
    struct energy_total all = {0};
    int code = 0;
    for (size_t i = 0; i < n; i++) add_service(&all, services[i], now);
    code = emit(&all, NULL, sink, now);
    for (size_t i = 0; code == 0 && i < n; i++) {
        struct energy_total one = {0};
        add_service(&one, services[i], now);
        if (n > 1) code = emit(&one, services[i]->config->name, sink, now);
        if (code == 0) code = emit_pools(services[i], sink, now);
    }
    return code;
}

/* --- Warnings --- */

double service_power_error(const struct service *service)
{
    double most = 0.0;
    for (size_t i = 0; i < service->fleet.n_pools; i++) {
        const double error = service->fleet.pools[i].power.p90_error;
        if (isnan(error)) return error;
        most = fmax(most, error);
    }
    return most;
}

/* Whether the mean load of the replicas while busy is outside the range that the power model was fitted on. */
static bool is_out_of_range(const struct service *service, const struct fleet_pool *pool, double shares[2])
{
    const struct gpu_power *power = &pool->power;
    struct work_sums work = {0};
    double busy_s = 0.0;
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) {
        work_merge(&work, &service->fleet.replicas[i].work);
        busy_s += sim_s_from_ns(service->fleet.replicas[i].counts.busy_ns);
    }
    const double gpu_s = busy_s * (double)(pool->config.tensor_parallel * pool->config.pipeline_parallel);
    if (gpu_s == 0.0) return false;
    shares[0] = work_flop(&work, &service->llm) / (gpu_s * gpu_peak_flop_per_s(&pool->gpu, service->llm.compute));
    shares[1] = work_bytes(&work, &service->llm) / (gpu_s * pool->gpu.memory_bytes_per_s);
    return shares[0] < power->compute_range[0] || shares[0] > power->compute_range[1] ||
           shares[1] < power->memory_range[0] || shares[1] > power->memory_range[1];
}

const char *service_energy_problem(const struct fleet_pool *pool, char *text, size_t text_bytes)
{
    const struct gpu_power *power = &pool->power;
    const bool is_offloaded = power->from != NULL && pool->env.energy == NULL;
    if (!is_offloaded && power->from != NULL) return NULL;
    if (is_offloaded)
        snprintf(text, text_bytes, "no energy: under kv_offload policy '%s' not all of the work is the GPU's",
                 pool->offload.policy->policy.name);
    else
        snprintf(text, text_bytes, "no energy: the power of %s is not calibrated, %s%s%s", pool->gpu.name,
                 power->problem, power->nearest != NULL ? "; nearest calibrated GPU: " : "",
                 power->nearest != NULL ? power->nearest : "");
    return text;
}

const char *service_energy_caveat(const struct service *service, const struct fleet_pool *pool, char *text,
                                  size_t text_bytes)
{
    const struct gpu_power *power = &pool->power;
    double shares[2] = {0.0, 0.0};
    if (pool->env.energy == NULL) return NULL;
    const bool is_out = is_out_of_range(service, pool, shares);
    if (power->is_measured && !is_out) return NULL;
    const int n = snprintf(text, text_bytes, "the power of %s is that of %s", pool->gpu.name,
                           power->is_measured ? "loads" : power->from);
    if (is_out && n > 0 && (size_t)n < text_bytes)
        snprintf(text + n, text_bytes - (size_t)n,
                 "%s at %.3g to %.3g of the peak FLOP/s and %.3g to %.3g of the memory bandwidth; here %.3g and %.3g "
                 "while busy, on average",
                 power->is_measured ? "" : ", measured", power->compute_range[0], power->compute_range[1],
                 power->memory_range[0], power->memory_range[1], shares[0], shares[1]);
    return text;
}
