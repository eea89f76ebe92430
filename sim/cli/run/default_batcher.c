/* The engine gives times of an iteration, the batching policy what an iteration holds. Nothing else ties them. */
#include "sim/cli/run/default_batcher.h"

#include "sim/catalog/cost.h"

#include <string.h>

/* The batching policy with the scheduler of an engine, by what the engine's name begins with: the table of
 * configs/engines/README.md. NULL: the default one, or none. */
static const char *batcher_of(const char *engine)
{
    static const char *const own[][2] = {{"sglang-", "sglang"},
                                         {"trtllm-", "trtllm"},
                                         {"vllm-0.2", "vllm-v0"},
                                         {"vllm-2024", "vllm-v0"},
                                         {"swifttransformer", "distserve"}};
    for (size_t i = 0; engine != NULL && i < sizeof own / sizeof *own; i++)
        if (strncmp(engine, own[i][0], strlen(own[i][0])) == 0) return own[i][1];
    return NULL;
}

static bool is_given(const struct setup *setup, struct arena *arena, const struct service_config *service,
                     const struct pool_config *pool)
{
    const char *of_service = arena_printf(arena, "services.%s.batching", service->name);
    const char *of_pool = pool->name != NULL
                              ? arena_printf(arena, "services.%s.pools.%s.batching", service->name, pool->name)
                              : NULL;
    return (of_service != NULL && config_is_given(setup->config, of_service)) ||
           (of_pool != NULL && config_is_given(setup->config, of_pool));
}

static void warn(const struct setup *setup, struct arena *arena, const struct service_config *service,
                 const struct pool_config *pool, struct diag *diag)
{
    const char *engine = cost_engine(&pool->cost);
    const char *own = batcher_of(engine);
    if (own == NULL || strcmp(own, pool->batching.name) == 0 || is_given(setup, arena, service, pool)) return;
    const char *place = arena_printf(arena, "services.%s.cost.engine", service->name);
    const char *hint = arena_printf(arena, "--set services.%s.batching=%s", service->name, own);
    diag_warning(diag, config_where(setup->config, place != NULL ? place : ""), hint,
                 "service '%s' has engine '%s' and the default batching policy '%s'", service->name, engine,
                 pool->batching.name);
}

void warn_default_batcher(const struct setup *setup, struct diag *diag)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < setup->scenario.services.n; i++) {
        const struct service_config *service = scenario_service(&setup->scenario, i);
        for (size_t p = 0; p < service_n_pools(service); p++) {
            const struct pool_config pool = service_pool(service, p);
            warn(setup, &arena, service, &pool, diag);
        }
    }
    arena_fini(&arena);
}
