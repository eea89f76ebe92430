/* The replicas of a service as members of the site's power (power.h). */
#include "sim/world/power/power.h"
#include "sim/world/service/service_state.h"

#include <math.h>

static int cannot(const struct service *service, const struct fleet_pool *pool, const char *hint, const char *why)
{
    const char *path = arena_printf(service->env.site->arena, "services.%s", service->config->name);
    if (path == NULL) return SIM_E_NOMEM;
    return diag_error(service->env.site->diag, SIM_E_CONFIG, config_where(service->env.site->config, path), hint,
                      "service '%s' cannot have its power held: %s (%s)", service->config->name, why, pool->gpu.name);
}

/* The law of the pool's GPU, with a voltage. */
static int find_law(const struct service *service, const struct fleet_pool *pool, const struct power_config *site,
                    struct power_law *law)
{
    const struct service_env *env = &service->env;
    char text[512];
    if (pool->env.energy == NULL)
        return cannot(service, pool, "leave out 'cluster.power', or take another GPU",
                      service_energy_problem(service, pool, text, sizeof text));
    *law = pool->power.law;
    if (!isnan(law->voltage_floor)) return 0;
    return catalog_power_voltage(env->site->catalog, site->clock_like,
                                 config_where(env->site->config, "cluster.power.clock_like"), env->site->arena, law,
                                 env->site->diag);
}

static int join_pool(struct service *service, struct fleet_pool *pool, const struct power_config *site,
                     struct power *power)
{
    const struct service_config *config = service->config;
    const bool has_own = config->clock_share.prefill > 0.0 || config->clock_share.decode > 0.0;
    const struct clock_share_config *share = has_own ? &config->clock_share : &site->clock_share;
    const int group = config->priority == SERVICE_LOW ? POWER_LOW : POWER_HIGH;
    struct power_law law;
    if (site->breaker.outage_ns > 0 && !service_may_be_struck(service))
        return cannot(service, pool, "leave out 'cluster.power.breaker.outage'",
                      "its replicas cannot start anew, as those of a domain that goes dark must");
    int code = find_law(service, pool, site, &law);
    if (code != 0) return code;
    pool->pace = (struct pace_model){.law = law,
                                     .gpus = pool->config.tensor_parallel * pool->config.pipeline_parallel,
                                     .clock_share = *share};
    pool->env.pace = &pool->pace;
    for (int32_t i = pool->first; i < pool->first + pool->n && code == 0; i++)
        code = power_add_replica(power, &service->fleet.replicas[i], group, pool->gpu.boost_hz, pool->gpu.tdp_w);
    return code;
}

int service_join_power(struct service *service, const struct power_config *site, struct power *power)
{
    int code = 0;
    for (size_t i = 0; i < service->fleet.n_pools && code == 0; i++)
        code = join_pool(service, &service->fleet.pools[i], site, power);
    return code;
}
