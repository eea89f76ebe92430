/* Making a service from its section of the scenario. */
#include "sim/world/service/kv_transport.h"
#include "sim/world/service/service_scaling.h"
#include "sim/world/service/service_state.h"

static const char *place_of(const struct service *service, const char *key)
{
    char *path = arena_printf(service->env.site->arena, "services.%s.%s", service->config->name, key);
    return path != NULL ? config_where(service->env.site->config, path) : "";
}

static int open_trace(struct service *service)
{
    const struct trace_format *format = service->config->trace.entry;
    service->source_options = (struct source_options){.seed = service->env.site->seed, .run = service->env.site->run,
                                                      .stream = service->config->name,
                                                      .where = place_of(service, "trace")};
    struct diag *diag = service->env.site->diag;
    int first = diag != NULL ? diag->n_items : 0;
    int code = format->open_requests(service->config->trace.params, &service->source_options, &service->source, diag);
    if (code == SIM_E_IO) diag_add_hint(diag, first, "its path is given at %s", place_of(service, "trace.path"));
    return code;
}

int service_create(const struct service_config *config, const struct service_env *env, struct service **out)
{
    struct service *service = mem_zalloc(1, sizeof *service);
    *out = service;
    if (service == NULL) return SIM_E_NOMEM;
    service->config = config;
    service->env = *env;
    owner_init(&service->owner, site_env_owner_ids(env->site, 1));
    service->first_refusal = service->first_refuser = "";
    pool_init(&service->requests, sizeof(struct request));
    pool_init(&service->follow_ups, sizeof(struct follow_up));
    pool_init(&service->kv_moves, sizeof(struct kv_move));
    prefix_pool_init(&service->prefixes);
    pool_init(&service->handovers, service_handover_bytes());
    const struct replica_env common = {
        .engine = env->site->engine,
        .diag = env->site->diag,
        .service = config->name,
        .llm = &service->llm,
        .token_gap_s = &service->stats.token_gap_s,
        .single_step = env->site->single_step,
        .owner = service,
        .on_finish = service_on_finish,
        .on_reject = service_on_reject,
        .on_preempt = service_on_preempt,
        .own_prefix = service_own_prefix,
        .on_prefilled = service_on_prefilled,
        .on_handover = service_on_handover,
        .kv_moves = &service->kv_moves,
        .move_kv = service_on_move_kv,
        .take_host = service_take_host,
        .give_host = kv_transport_give_room,
    };
    int code = service_stats_init(&service->stats);
    if (code == 0)
        code = service_classes_init(&service->classes, &config->slo, config->name, place_of(service, "trace"),
                                    env->site->arena, env->site->diag);
    if (code == 0)
        code = catalog_llm(env->site->catalog, config->llm, place_of(service, "llm"), env->site->arena, &service->llm,
                           env->site->diag);
    if (code == 0) code = fleet_init(&service->fleet, config, &service->env, &service->llm, &common);
    if (code == 0) code = scaling_create(service, &service->scaling);
    return code != 0 ? code : open_trace(service);
}

void service_destroy(struct service *service)
{
    if (service == NULL) return;
    if (service->source != NULL) service->source->close(service->source);
    scaling_destroy(service->scaling);
    fleet_fini(&service->fleet);
    service_stats_fini(&service->stats);
    service_classes_fini(&service->classes);
    pool_fini(&service->requests);
    pool_fini(&service->follow_ups);
    pool_fini(&service->kv_moves);
    pool_fini(&service->handovers);
    prefix_pool_fini(&service->prefixes);
    mem_free(service);
}
