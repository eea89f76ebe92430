/* Services on a fleet that the renter plans before the run: the replicas of each pool. */
#include "sim/world/market/market_state.h"
#include "sim/world/policy/instance.h"

#include <string.h>

const struct service_config *market_service(const struct market *market, size_t index)
{
    const struct service_config *services = market->env.services->items;
    return market->fleet.services != NULL ? &market->fleet.services[index] : &services[index];
}

static struct service_config *find_service(const struct market *market, const char *name)
{
    for (size_t i = 0; i < market->env.services->n; i++)
        if (strcmp(market->fleet.services[i].name, name) == 0) return &market->fleet.services[i];
    return NULL;
}

static int unknown(const struct market *market, const char *service, const char *pool)
{
    return diag_error(market->env.site->diag, SIM_E_CONFIG, config_where(market->env.site->config, "market.renting"),
                      NULL, "the fleet is for pool '%s' of service '%s', which does not exist", pool, service);
}

static int refuse_scaling(const struct market *market, const char *service, const char *pool)
{
    const char *path = arena_printf(market->env.site->arena, "services.%s.pools.%s.scaling", service, pool);
    return diag_error(
        market->env.site->diag, SIM_E_CONFIG, path != NULL ? config_where(market->env.site->config, path) : NULL,
        "leave 'scaling' out, or take a 'renting' policy that follows use, such as 'as-asked'",
        "pool '%s' of service '%s' scales, but the renting policy plans its replicas before the run", pool, service);
}

/* Copies the pools with `replicas` in one of them; 0: without it. */
static int change_pool(const struct market *market, struct service_config *service, const char *pool, int64_t replicas)
{
    const struct pool_config *before = service->pools.items;
    struct pool_config *after = arena_alloc(market->env.site->arena, (service->pools.n + 1) * sizeof *after);
    size_t n = 0;
    bool found = false;
    if (after == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < service->pools.n; i++) {
        const bool is_it = strcmp(before[i].name, pool) == 0;
        found = found || is_it;
        if (is_it && before[i].scaling.policy.entry != NULL) return refuse_scaling(market, service->name, pool);
        if (is_it && replicas == 0) continue;
        after[n] = before[i];
        if (is_it) after[n].replicas = replicas;
        n++;
    }
    service->pools = (struct config_list){.n = n, .items = after};
    return found ? 0 : unknown(market, service->name, pool);
}

int fleet_plan_set(struct fleet_plan *plan, const char *service, const char *pool, int64_t replicas)
{
    struct service_config *found = find_service(plan->market, service);
    if (found == NULL) return unknown(plan->market, service, pool);
    return change_pool(plan->market, found, pool, replicas);
}

/* A service without pools would have replicas by its own settings, so a fleet must leave each service at least one
 * pool. */
static int check_fleet(const struct market *market)
{
    const struct service_config *given = market->env.services->items;
    for (size_t i = 0; i < market->env.services->n; i++)
        if (given[i].pools.n > 0 && market->fleet.services[i].pools.n == 0)
            return diag_error(market->env.site->diag, SIM_E_CONFIG,
                              config_where(market->env.site->config, "market.renting"), NULL,
                              "the fleet leaves service '%s' without replicas", given[i].name);
    return 0;
}

int market_make_fleet(struct market *market)
{
    const struct config_list *services = market->env.services;
    market->fleet.market = market;
    market->fleet.services = arena_alloc(market->env.site->arena, (services->n + 1) * sizeof *market->fleet.services);
    if (market->fleet.services == NULL) return SIM_E_NOMEM;
    if (services->n > 0) memcpy(market->fleet.services, services->items, services->n * sizeof *market->fleet.services);
    struct diag *diag = market->env.site->diag;
    const int n_errors = diag->n_errors;
    int code = market->renter->fleet(market->renter_state, &market->view, &market->fleet, diag);
    code = policy_answered(&market->renter->policy, "fleet", code, n_errors, diag);
    return code < 0 ? code : check_fleet(market);
}
