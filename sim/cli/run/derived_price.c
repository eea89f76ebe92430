#include "sim/cli/run/derived_price.h"

#include "sim/world/service/service.h"

#include <string.h>

static const char derived[] = "derived: ";

/* Whether the scenario gives the price of this GPU. */
static bool is_given(const struct cluster_config *cluster, const char *gpu)
{
    if (cluster->gpu != NULL && strcmp(cluster->gpu, gpu) == 0 && cluster->gpu_usd_per_h > 0) return true;
    for (size_t i = 0; i < cluster->node_types.n; i++) {
        const struct node_type_config *type = (const struct node_type_config *)cluster->node_types.items + i;
        if (type->gpu != NULL && strcmp(type->gpu, gpu) == 0 && type->gpu_usd_per_h > 0) return true;
    }
    return false;
}

/* Whether an earlier pool of the services has this GPU. */
static bool is_repeated(const struct scenario *scenario, size_t service, size_t pool, const char *gpu)
{
    for (size_t s = 0; s <= service; s++) {
        const struct service_config *config = scenario_service(scenario, s);
        for (size_t p = 0; p < (s < service ? service_n_pools(config) : pool); p++) {
            const char *other = service_pool(config, p).gpu;
            if (strcmp(other != NULL ? other : scenario->cluster.nodes.gpu, gpu) == 0) return true;
        }
    }
    return false;
}

int warn_derived_prices(const struct setup *setup, struct arena *arena, struct diag *diag)
{
    const struct scenario *scenario = &setup->scenario;
    for (size_t s = 0; s < scenario->services.n; s++) {
        const struct service_config *service = scenario_service(scenario, s);
        for (size_t p = 0; p < service_n_pools(service); p++) {
            const struct pool_config pool = service_pool(service, p);
            const char *gpu = pool.gpu != NULL ? pool.gpu : scenario->cluster.nodes.gpu, *origin;
            if (gpu == NULL || is_given(&scenario->cluster.nodes, gpu) || is_repeated(scenario, s, p, gpu)) continue;
            const int code = catalog_gpu_price_origin(&setup->catalog, gpu, arena, &origin, diag);
            if (code != 0) return code;
            if (origin != NULL && strncmp(origin, derived, sizeof derived - 1) == 0)
                diag_warning(diag, NULL, "cluster.gpu_price, or a 'market', gives another price",
                             "the list price of %s is derived, nobody's offer: %s", gpu, origin + sizeof derived - 1);
        }
    }
    return 0;
}
