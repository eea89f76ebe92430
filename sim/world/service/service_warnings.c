/* Warnings of a service at the end of a run: what its trace, its models and its policies left out or took for granted.
 * Defaults that decide the result are in service_hints.c. */
#include "sim/world/service/service_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int service_emit_warning(const struct service *service, const char *code, int64_t count, const char *text)
{
    const struct sink *sink = service->env.site->sink;
    if (count == 0 || sink->warning == NULL) return 0;
    struct warning_row row = {.t_s = (double)NAN, .code = code, .text = text, .count = count};
    return sink->warning(sink->context, &row);
}

/* Reports what the trace dropped or changed, as far as it was read: `until` may end the run before it. */
static int emit_notes(const struct service *service)
{
    struct source_note note;
    int code = 0;
    for (size_t i = 0; code == 0 && service->source->note(service->source, i, &note); i++) {
        char text[512];
        snprintf(text, sizeof text, "service '%s': %s%s%s", service->config->name, note.text,
                 note.where != NULL ? ", first at " : "", source_note_place(&note));
        code = service_emit_warning(service, note.code, note.count, text);
    }
    return code;
}

/* The cache of an LLM with windows in some of its layers is larger here than in engines that free what lies behind. */
static int emit_kv_windows(const struct service *service)
{
    char text[512];
    const struct llm_spec *llm = &service->llm;
    snprintf(text, sizeof text,
             "service '%s': %lld of %lld layers of %s look back %lld tokens, but its KV cache keeps all tokens",
             service->config->name, (long long)(llm->layers - llm->full_layers), (long long)llm->layers, llm->name,
             (long long)llm->sliding_window);
    bool keeps = false;
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        keeps |= !pool_frees_windows(&service->fleet.pools[i].config, llm);
    return service_emit_warning(service, "kv-windows", llm->full_layers > 0 && keeps, text);
}

/* A prompt that goes on behind cached blocks needs the states of linear attention there. */
static int emit_kv_states(const struct service *service)
{
    char text[512];
    const struct llm_spec *llm = &service->llm;
    snprintf(text, sizeof text,
             "service '%s': its prefix cache keeps a state of linear attention of %s beside every block (%.3g MB), but "
             "their memory is not counted",
             service->config->name, llm->name, 1e-6 * llm_state_bytes(llm, 1));
    return service_emit_warning(service, "kv-states", llm->linear_layers > 0 && fleet_caches_prefixes(&service->fleet),
                                text);
}

/* Adds an entry to a list that "; " separates, if it is not there. */
static void add_entry(const char *entry, struct text *text)
{
    const size_t n = strlen(entry);
    for (const char *at = text->length > 0 ? text->chars : NULL; at != NULL;) {
        const char *end = strstr(at, "; ");
        const size_t bytes = end != NULL ? (size_t)(end - at) : strlen(at);
        if (bytes == n && memcmp(at, entry, n) == 0) return;
        at = end != NULL ? end + 2 : NULL;
    }
    text_printf(text, "%s%s", text->length > 0 ? "; " : "", entry);
}

void service_say_time_errors(const struct service *service, struct time_errors *errors)
{
    const struct fleet *fleet = &service->fleet;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        char system[512];
        snprintf(system, sizeof system, "%s on %s, %s", service->llm.name, pool->gpu.name,
                 pool->time_error.engine != NULL ? pool->time_error.engine : pool->env.model.kind);
        if (pool->time_error.basis == NULL) {
            add_entry(system, errors->unknown);
            if (pool->time_error.why != NULL) add_entry(pool->time_error.why, errors->why);
            continue;
        }
        add_entry(pool->time_error.basis, errors->basis);
        add_entry(system, errors->systems);
    }
}

/* Lists the classes that have requests. */
static void list_occurring(const struct service_classes *classes, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint16_t i = 0; i < classes->n && length < bytes; i++) {
        if (!classes->items[i]->occurs) continue;
        length += (size_t)snprintf(text + length, bytes - length, "%s'%s'", length > 0 ? ", " : "",
                                   classes->items[i]->view.name);
    }
}

/* Warns of a class without requests. `key`: of the scenario, which names the class. */
static int emit_if_absent(const struct service *service, const char *class, const char *key)
{
    const struct service_classes *classes = &service->classes;
    char text[512], occurring[256];
    for (uint16_t i = 0; i < classes->n; i++)
        if (classes->items[i]->occurs && strcmp(classes->items[i]->view.name, class) == 0) return 0;
    list_occurring(classes, occurring, sizeof occurring);
    snprintf(text, sizeof text, "service '%s': no request was of class '%s', which %s names%s%s", service->config->name,
             class, key, occurring[0] != '\0' ? "; there were " : "", occurring);
    return service_emit_warning(service, "class-absent", 1, text);
}

/* Warns of classes in the batcher's parameters that are CONFIG_CLASSES. */
static int emit_absent_in(const struct service *service, const struct config_variant *batching)
{
    const struct batcher *batcher = batching->entry;
    int code = 0;
    for (const struct config_field *f = batcher->policy.params; f != NULL && f->name != NULL && code == 0; f++) {
        char key[64];
        if ((f->flags & CONFIG_CLASSES) == 0) continue;
        const struct config_list *named = (const void *)((const char *)batching->params + f->offset);
        snprintf(key, sizeof key, "batching.%s", f->name);
        for (size_t i = 0; i < named->n && code == 0; i++) {
            const char *const *class = (const void *)((const char *)named->items + i * f->elem_bytes);
            code = emit_if_absent(service, *class, key);
        }
    }
    return code;
}

static int emit_absent_classes(const struct service *service)
{
    const struct config_list *limited = &service->config->slo.classes;
    const struct slo_class *named = limited->items;
    int code = 0;
    for (size_t i = 0; i < limited->n && code == 0; i++) code = emit_if_absent(service, named[i].name, "slo.classes");
    for (size_t i = 0; i < service->fleet.n_pools && code == 0; i++) {
        const struct config_variant *batching = &service->fleet.pools[i].config.batching;
        if (i == 0 || batching->params != service->fleet.pools[i - 1].config.batching.params)
            code = emit_absent_in(service, batching);
    }
    return code;
}

/* Lists kernels that were never measured on a calibrated GPU, of each pool that has others than those before. */
static void list_unmeasured(const struct fleet *fleet, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < fleet->n_pools && length < bytes; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        bool is_told = pool->env.model.unmeasured == NULL;
        for (const struct fleet_pool *told = fleet->pools; told < pool && !is_told; told++)
            is_told = told->env.model.unmeasured != NULL && strcmp(told->gpu.name, pool->gpu.name) == 0 &&
                      strcmp(told->env.model.unmeasured, pool->env.model.unmeasured) == 0;
        if (is_told) continue;
        length += (size_t)snprintf(text + length, bytes - length, "; never measured on %s: %s", pool->gpu.name,
                                   pool->env.model.unmeasured);
    }
}

static int emit_extrapolation(const struct service *service)
{
    char text[512], never[352];
    const struct replica_counts *work = &service->stats.work;
    if (work->extrapolated_ns == 0) return 0;
    list_unmeasured(&service->fleet, never, sizeof never);
    snprintf(text, sizeof text,
             "service '%s': %.3g %% of the kernels' time is outside the range that its cost was fitted on%s",
             service->config->name, 100 * (double)work->extrapolated_ns / (double)work->busy_ns, never);
    return service_emit_warning(service, "extrapolated", 1, text);
}

/* No replica can serve any request, so their lengths are not the cause. */
static bool is_out_of_memory(const struct service *service)
{
    const struct fleet *fleet = &service->fleet;
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (fleet->pools[i].offload.problem[0] == '\0') return false;
    return fleet->n_pools > 0;
}

/* A setting asks for something that no request has had. Without requests there is nothing to tell. */
static int emit_idle(const struct service *service, const char *code, bool idle, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "service '%s': %s", service->config->name, what);
    return service_emit_warning(service, code, idle && service->stats.requests.arrived > 0, text);
}

/* Prefixes are to be cached, but the trace has no prefix blocks. */
static int emit_idle_caches(const struct service *service)
{
    const struct fleet *fleet = &service->fleet;
    return emit_idle(service, "no-prefixes", fleet_caches_prefixes(fleet) && fleet->prefix_block_tokens == 0,
                     "kv.prefix_cache has no effect: no request has prefix blocks (as a trace of format 'mooncake' "
                     "has), and none was preempted");
}

/* The router goes by sessions, but no request is of one. */
static int emit_missing_sessions(const struct service *service)
{
    char what[256];
    const struct router *router = service->fleet.routing.router;
    snprintf(what, sizeof what, "no request is of a session, so '%s' goes by loads alone", router->policy.name);
    return emit_idle(service, "no-sessions", router->follows_sessions && !service->has_sessions, what);
}

/* Chunks are to be reused, but the trace names none. */
static int emit_idle_stores(const struct service *service)
{
    return emit_idle(service, "no-chunks", fleet_reuses_chunks(&service->fleet) && service->n_with_chunks == 0,
                     "kv.chunk_store has no effect: no request has chunks (as a trace of format 'generate-rag' has)");
}

static int emit_too_long(const struct service *service)
{
    char text[512];
    const struct fleet_pool *pool = fleet_smallest_kv(&service->fleet);
    snprintf(text, sizeof text,
             "service '%s': requests longer than the context of %s (%lld tokens) or the KV cache of %s (%lld)",
             service->config->name, service->llm.name, (long long)service->llm.max_context,
             pool->config.data_parallel > 1 ? "an attention group" : "a replica",
             (long long)fleet_sequence_tokens(&service->fleet, pool));
    return service_emit_warning(service, "request-too-long", is_out_of_memory(service) ? 0 : service->n_too_long, text);
}

static int emit_not_simulated(const struct service *service)
{
    char text[512];
    snprintf(text, sizeof text,
             "service '%s' has offloaded weights or a routing that chooses pairs: failures of nodes do not stop its "
             "replicas",
             service->config->name);
    return service_emit_warning(service, "failures-ignored", service->env.nodes_fail && service->scaling == NULL, text);
}

int service_emit_warnings(const struct service *service)
{
    char text[512];
    const char *name = service->config->name;
    int code = emit_too_long(service);
    if (code != 0) return code;
    snprintf(text, sizeof text, "service '%s': requests rejected by batching policy '%s', the first one because: %s",
             name, service->first_refuser, service->first_refusal);
    code = service_emit_warning(service, "request-rejected", service->n_refused, text);
    snprintf(text, sizeof text,
             "service '%s': preempted sequences were recomputed instead of swapped: the host's memory "
             "(cluster.host.memory) had no room for their KV",
             name);
    if (code == 0) code = service_emit_warning(service, "host-full", service->n_host_full, text);
    if (code == 0) code = emit_idle_caches(service);
    if (code == 0) code = service_emit_repeats(service);
    if (code == 0) code = emit_missing_sessions(service);
    if (code == 0) code = emit_idle_stores(service);
    if (code == 0) code = emit_not_simulated(service);
    if (code == 0) code = service_emit_hints(service);
    if (code == 0) code = service_emit_models(service);
    if (code == 0) code = service_emit_memory(service);
    if (code == 0) code = service_emit_assumed_drafts(service);
    if (code == 0) code = emit_extrapolation(service);
    if (code == 0) code = emit_kv_windows(service);
    if (code == 0) code = emit_kv_states(service);
    if (code == 0) code = emit_absent_classes(service);
    if (code == 0) code = service_emit_power(service);
    return code != 0 ? code : emit_notes(service);
}
