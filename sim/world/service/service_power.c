/* The replicas of a service as holders of GPUs: what failures and the power of the site do to them (holder.h). */
#include "sim/world/policy/power_cap.h"
#include "sim/world/service/service_state.h"

#include <math.h>

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
