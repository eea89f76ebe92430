#include "sim/world/service/engine_batching.h"

#include "sim/catalog/engine.h"
#include "sim/core/path.h"

#include <string.h>

struct applying {
    struct config *config;
    const struct catalog *catalog;
    struct arena arena;
    bool failed; /* out of memory */
};

/* "services.chat.cost"; NULL when out of memory, or `of` is NULL. */
static const char *key_of(struct applying *applying, const char *of, const char *key)
{
    const char *path = of != NULL ? arena_printf(&applying->arena, "%s.%s", of, key) : NULL;
    if (of != NULL && path == NULL) applying->failed = true;
    return path;
}

static const char *text_at(struct applying *applying, const char *of, const char *key)
{
    const char *path = key_of(applying, of, key);
    return path != NULL ? config_text(applying->config, path) : NULL;
}

/* Whether a policy is named, and not only a parameter of one. */
static bool names_policy(struct applying *applying, const char *of)
{
    const char *batching = key_of(applying, of, "batching");
    return batching != NULL &&
           (config_text(applying->config, batching) != NULL || text_at(applying, batching, "policy") != NULL);
}

static bool has(struct applying *applying, const char *of, const char *key)
{
    const char *path = key_of(applying, of, key);
    return path != NULL && config_is_given(applying->config, path);
}

/* The engine that a service or a pool names: a name, or the path of a preset. NULL: none. */
static const char *engine_of(struct applying *applying, const char *of)
{
    const char *cost = key_of(applying, of, "cost"), *path = key_of(applying, cost, "engine");
    const char *short_kind = cost != NULL ? config_text(applying->config, cost) : NULL;
    const char *kind = text_at(applying, cost, "kind");
    const char *name = path != NULL ? config_text(applying->config, path) : NULL;
    if (kind == NULL) kind = short_kind;
    if (name == NULL || (kind != NULL && strcmp(kind, "operators") != 0)) return NULL;
    if (!path_is_json(name)) return name;
    name = path_join(&applying->arena, config_directory(applying->config, path), name);
    if (name == NULL) applying->failed = true;
    return name;
}

/* The preset of an engine, which the caller destroys; NULL: it cannot be read. `of` names it. */
static struct config *preset_of(struct applying *applying, const char *of, const char *engine)
{
    struct diag unheard;
    struct config *preset;
    diag_init(&unheard);
    const int code = catalog_engine_document(applying->catalog, engine, of, &applying->arena, &preset, &unheard);
    if (code == SIM_E_NOMEM) applying->failed = true;
    if (code == 0) return preset;
    config_destroy(preset);
    return NULL;
}

static void lay_under(struct applying *applying, const char *of, const char *engine)
{
    const char *batching = key_of(applying, of, "batching");
    struct config *preset = batching != NULL ? preset_of(applying, of, engine) : NULL;
    if (preset != NULL && config_lay_under(applying->config, batching, preset, "batching") != 0)
        applying->failed = true;
    config_destroy(preset);
}

/* The policy of the scheduler in an engine's preset, the default one where it gives parameters alone. Without an
 * engine or a scheduler, `without`. NULL also where the preset cannot be read, or out of memory. */
static const char *policy_of(struct applying *applying, const char *of, const char *engine, const char *without)
{
    struct config *preset = engine != NULL ? preset_of(applying, of, engine) : NULL;
    const char *name = preset != NULL || engine == NULL ? without : NULL;
    if (preset != NULL && config_is_given(preset, "batching")) {
        name = config_text(preset, "batching.policy");
        if (name == NULL) name = config_text(preset, "batching");
        if (name == NULL) name = SERVICE_DEFAULT_BATCHING;
    }
    const char *kept = name != NULL ? arena_strdup(&applying->arena, name) : NULL;
    if (name != NULL && kept == NULL) applying->failed = true;
    config_destroy(preset);
    return kept;
}

/* Gives a pool the parameters that the scenario gives its service, if its engine's policy is the service's. */
static void take_parameters(struct applying *applying, const char *service, const char *engine, const char *pool,
                            const char *own_policy)
{
    const char *to = key_of(applying, pool, "batching"), *from = key_of(applying, service, "batching");
    const char *policy = policy_of(applying, service, engine, SERVICE_DEFAULT_BATCHING);
    if (to == NULL || from == NULL || policy == NULL || strcmp(policy, own_policy) != 0) return;
    if (config_lay_under(applying->config, to, applying->config, from) != 0) applying->failed = true;
}

/* Names the default policy where a pool, with the preset under it, has parameters alone: it has no default of its
 * own. */
static void name_policy(struct applying *applying, const char *pool)
{
    static const char text[] = "{\"policy\": \"" SERVICE_DEFAULT_BATCHING "\"}";
    const char *batching = key_of(applying, pool, "batching");
    struct config *named = NULL;
    struct diag unheard;
    if (batching == NULL || names_policy(applying, pool)) return;
    diag_init(&unheard);
    int code = config_parse("engine", ".", text, sizeof text - 1, &named, &unheard);
    if (code == 0) code = config_lay_under(applying->config, batching, named, "");
    if (code != 0) applying->failed = true;
    config_destroy(named);
}

/* Lays the scheduler of a pool's engine under the pool; nothing if the preset has none, or cannot be read. */
static void apply_to_pool(struct applying *applying, const char *service, const char *engine, const char *pool,
                          const char *own)
{
    const bool has_cost = has(applying, pool, "cost"), has_batching = has(applying, pool, "batching");
    if (!has_cost && !has_batching) return;
    const char *own_policy = policy_of(applying, pool, own, NULL);
    if (own_policy == NULL) return;
    if (!has_batching) take_parameters(applying, service, engine, pool, own_policy);
    lay_under(applying, pool, own);
}

/* A pool without a cost model of its own takes what the service has, unless it gives parameters without a policy. */
static void apply_to_pools(struct applying *applying, const char *service, const char *engine)
{
    const char *pools = key_of(applying, service, "pools"), *name;
    for (size_t i = 0; pools != NULL && (name = config_member(applying->config, pools, i)) != NULL; i++) {
        const char *pool = key_of(applying, pools, name);
        const char *own = has(applying, pool, "cost") ? engine_of(applying, pool) : engine;
        if (names_policy(applying, pool)) continue;
        if (own != NULL) apply_to_pool(applying, service, engine, pool, own);
        if (has(applying, pool, "batching")) name_policy(applying, pool);
    }
}

static void apply_to_service(struct applying *applying, const char *service)
{
    if (names_policy(applying, service)) return;
    const char *engine = engine_of(applying, service);
    apply_to_pools(applying, service, engine);
    if (engine != NULL) lay_under(applying, service, engine);
}

int engine_batching_apply(struct config *config, const struct catalog *catalog, struct diag *diag)
{
    struct applying applying = {.config = config, .catalog = catalog};
    const char *name;
    arena_init(&applying.arena);
    for (size_t i = 0; !applying.failed && (name = config_member(config, "services", i)) != NULL; i++) {
        const char *service = key_of(&applying, "services", name);
        if (service != NULL) apply_to_service(&applying, service);
    }
    arena_fini(&applying.arena);
    return applying.failed ? diag_nomem(diag) : 0;
}
