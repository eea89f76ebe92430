/* The engine gives times of an iteration, the batching policy what an iteration holds. A service that names only an
 * engine has its scheduler (sim/world/service/engine_batching.h); a policy that it names wins. */
#include "sim/cli/run/other_batcher.h"

#include "sim/catalog/cost.h"
#include "sim/catalog/engine.h"

#include <string.h>

/* Whether some engine schedules so. */
static bool is_scheduler(const char *policy)
{
    static const char *const schedulers[] = {"vllm-v0", "vllm-v1", "sglang", "trtllm"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++)
        if (strcmp(policy, schedulers[i]) == 0) return true;
    return false;
}

/* The path of the engine that a pool, or else its service, names; NULL: it has the default one. */
static const char *engine_path(const struct setup *setup, struct arena *arena, const char *service,
                               const struct pool_config *pool)
{
    const char *own = pool->name != NULL ? arena_printf(arena, "services.%s.pools.%s.cost", service, pool->name) : NULL;
    const bool is_own = own != NULL && config_is_given(setup->config, own);
    const char *path = is_own ? arena_printf(arena, "%s.engine", own)
                              : arena_printf(arena, "services.%s.cost.engine", service);
    return path != NULL && config_is_given(setup->config, path) ? path : NULL;
}

/* Whether the pool before this one has the same engine and the same policy. */
static bool is_told(const struct service_config *service, size_t index, const struct pool_config *pool)
{
    if (index == 0) return false;
    const struct pool_config before = service_pool(service, index - 1);
    return before.cost.params == pool->cost.params && before.batching.params == pool->batching.params;
}

/* An engine that schedules beside the GPU, in a service that keeps it from doing so by its batcher alone. */
static void warn_waiting_host(const struct setup *setup, const char *place, const struct service_config *service,
                              const struct pool_config *pool, const struct engine_preset *preset, struct diag *diag)
{
    struct service_config undrafted = *service;
    undrafted.speculation = (struct config_variant){.entry = NULL};
    if (!preset->overlapped_host || pool->pipeline_parallel > 1 || !pool_host_waits(&undrafted, pool)) return;
    diag_warning(diag, config_where(setup->config, place), "set batching.async, or leave 'batching' out",
                 "service '%s': engine '%s' hides its host behind the GPU only under '%s' with 'async'; its CPU "
                 "overhead is added",
                 service->name, preset->name, pool->batching.name);
}

static void warn(const struct setup *setup, struct arena *arena, const struct service_config *service,
                 const struct pool_config *pool, struct diag *diag)
{
    struct catalog catalog = setup->catalog; /* the preset is no input of the run by being looked at */
    struct engine_preset preset;
    struct diag unheard;
    const char *place = engine_path(setup, arena, service->name, pool), *engine = cost_engine(&pool->cost);
    catalog.files = NULL;
    diag_init(&unheard);
    if (place == NULL || engine == NULL || !is_scheduler(pool->batching.name)) return;
    if (catalog_engine(&catalog, engine, place, arena, &preset, &unheard) != 0 || preset.batching.name == NULL) return;
    if (strcmp(preset.batching.name, pool->batching.name) == 0) {
        warn_waiting_host(setup, place, service, pool, &preset, diag);
        return;
    }
    const char *hint = arena_printf(arena, "leave 'batching' out for its own, '%s'", preset.batching.name);
    diag_warning(diag, config_where(setup->config, place), hint,
                 "service '%s' has engine '%s' and the batching policy '%s' of another engine", service->name,
                 preset.name, pool->batching.name);
}

void warn_other_batcher(const struct setup *setup, struct diag *diag)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < setup->scenario.services.n; i++) {
        const struct service_config *service = scenario_service(&setup->scenario, i);
        for (size_t p = 0; p < service_n_pools(service); p++) {
            const struct pool_config pool = service_pool(service, p);
            if (!is_told(service, p, &pool)) warn(setup, &arena, service, &pool, diag);
        }
    }
    arena_fini(&arena);
}
