/* Decision rows about single requests, if the sink wants them (sink.h, detail): the route and what the router saw, the
 * free KV cache at the admission of the prompt, and the blocks returned at the end. Also the time series of a service.
 *
 * If the sink does not want the rows (service_has_detail), nothing is called and no callback is set. */
#include "sim/world/service/scaling_state.h"
#include "sim/world/service/service_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REASON_CHARS = 256, FOUND_CHARS = 96 };

__attribute__((format(printf, 6, 7))) static int emit(const struct service *service, const char *policy,
                                                      const char *action, int64_t subject, sim_ns now,
                                                      const char *format, ...)
{
    char reason[REASON_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    const struct sink *sink = service->env.site->sink;
    struct decision_row row = {.t_s = sim_s_from_ns(now), .service = service->config->name, .policy = policy,
                               .action = action, .subject = subject, .reason = reason};
    return sink->detail(sink->context, &row);
}

/* The policy name of rows that no policy decides: the service's own name in the scenario. */
static const char *world_name(const struct service *service, char name[REASON_CHARS])
{
    snprintf(name, REASON_CHARS, "services.%s", service->config->name);
    return name;
}

int service_detail_route(const struct service *service, const struct request *request, sim_ns now)
{
    int32_t replica = request->replica, decode_replica = request->decode_replica;
    const struct replica_load *load = fleet_seen_load(&service->fleet, replica);
    char then[48] = "";
    if (decode_replica >= 0 && decode_replica != replica)
        snprintf(then, sizeof then, "; to decode at replica %d", decode_replica);
    return emit(service, service->fleet.routing.router->policy.name, "route", request->view.id, now,
                "to replica %d of %s: %lld unfinished there, %lld of them waiting%s", replica, service->config->name,
                (long long)load->outstanding, (long long)load->waiting, then);
}

int service_detail_too_long(const struct service *service, const struct request *request, sim_ns now)
{
    const struct fleet_pool *pool = fleet_smallest_kv(&service->fleet);
    char name[REASON_CHARS];
    return emit(service, world_name(service, name), "reject", request->view.id, now,
                "prompt of %d and output of %d tokens: the context is %lld tokens, the KV cache %lld blocks of %lld",
                request->prompt_tokens, request->output_tokens, (long long)service->llm.max_context,
                (long long)(fleet_sequence_tokens(&service->fleet, pool) / pool->config.kv.block_tokens),
                (long long)pool->config.kv.block_tokens);
}

int service_detail_finish(const struct replica *replica, const struct request *request, sim_ns now)
{
    const struct service *service = replica->env->owner;
    char name[REASON_CHARS], sequences[80] = "";
    if (replica->env->sampling != NULL)
        snprintf(sequences, sizeof sequences, " by its last sequence, %d of all sequences are output",
                 request->generated_tokens + request->other_tokens);
    return emit(service, world_name(service, name), "finish", request->view.id, now,
                "replica %d: %d tokens generated%s; %lld of %lld KV blocks free now", replica->index,
                request->generated_tokens, sequences, (long long)replica->kv.free_blocks,
                (long long)replica->kv.total_blocks);
}

/* How much of the prompt was cached, if there is a prefix cache or a chunk store, and the trace names the prompt's
 * blocks or chunks. */
static const char *found_text(const struct replica *replica, const struct request *request, char text[FOUND_CHARS])
{
    text[0] = 0;
    if (replica->chunks != NULL && request->chunks != NULL) {
        snprintf(text, FOUND_CHARS, ", %d reused from chunks, %d of them loaded", request->view.prefilled_tokens,
                 request->loading_tokens);
        return text;
    }
    if (replica->prefixes.block_tokens == 0 || request->prefix == NULL) return text;
    const int n = snprintf(text, FOUND_CHARS, ", %d found%s in the prefix cache",
                           request->view.prefilled_tokens - request->loading_tokens,
                           replica->env->batcher->caches_scheduled ? " or scheduled" : "");
    if (request->loading_tokens > 0)
        snprintf(text + n, (size_t)(FOUND_CHARS - n), ", %d loaded", request->loading_tokens);
    return text;
}

/* The first piece of a prompt admits the request, or resumes it after a preemption; later pieces continue it. */
int service_detail_prefill(const struct replica *replica, const struct batch_prefill *prefill, int64_t free_blocks,
                           sim_ns now)
{
    const struct service *service = replica->env->owner;
    const struct request_view *request = prefill->request;
    const char *policy = replica->env->batcher->policy.name;
    if (request->state != REQUEST_WAITING)
        return emit(service, policy, "chunk", request->id, now, "replica %d of %s: tokens %d to %d of %d of its prompt",
                    replica->index, service->config->name, request->prefilled_tokens + 1,
                    request->prefilled_tokens + prefill->tokens, request->prompt_tokens);
    char found[FOUND_CHARS];
    return emit(service, policy, request->preemptions > 0 ? "resume" : "admit", request->id, now,
                "replica %d of %s: prefills %d of %d tokens%s, takes %lld of %lld free KV blocks, %lld decoding",
                replica->index, service->config->name, prefill->tokens, request->prompt_tokens,
                found_text(replica, request_of(request), found),
                (long long)replica_view_needed_blocks(&replica->view, request, prefill->hold_tokens),
                (long long)free_blocks, (long long)replica->ready->members.n);
}

/* KV is swapped out or in; a pause begins or ends. KV of a prompt that was processed elsewhere has its own rows. */
static int emit_move(const struct replica *replica, const struct request *request, sim_ns now, const char *action)
{
    const struct service *service = replica->env->owner;
    const char *policy = replica->env->batcher->policy.name;
    const bool out = strcmp(action, "swap") == 0, back = request->view.state == REQUEST_NONRESIDENT && !out;
    const int64_t blocks = kvcache_blocks(&replica->kv, request->context_tokens - 1);
    if (request->is_remote) return 0;
    if (request->view.state == REQUEST_LOADING)
        return emit(service, policy, action, request->view.id, now,
                    "replica %d of %s: %d tokens of its prompt come from the prefix store, %d are cached; others go on",
                    replica->index, service->config->name, request->loading_tokens,
                    request->view.prefilled_tokens - request->loading_tokens);
    if (!out && !back)
        return emit(service, policy, action, request->view.id, now, "replica %d of %s: its KV stays there",
                    replica->index, service->config->name);
    return emit(service, policy, out ? "swap-out" : "swap-in", request->view.id, now,
                "replica %d of %s: %lld bytes of KV %s the host, %lld of %lld KV blocks free", replica->index,
                service->config->name, (long long)(blocks * replica->env->kv_block_bytes), out ? "to" : "back from",
                (long long)replica->kv.free_blocks, (long long)replica->kv.total_blocks);
}

int service_detail_handover(const struct service *service, const struct request *request, int32_t from, int64_t bytes,
                            sim_ns now)
{
    const struct fleet *fleet = &service->fleet;
    const struct replica_load *load = fleet_seen_load(fleet, request->decode_replica);
    const struct router *router = fleet->decode_routing.router != NULL ? fleet->decode_routing.router
                                                                       : fleet->routing.router;
    return emit(service, router->policy.name, "handover", request->view.id, now,
                "from replica %d to %d of %s: %lld bytes of KV; %lld unfinished there", from, request->decode_replica,
                service->config->name, (long long)bytes, (long long)load->outstanding);
}

int service_detail_arrived(const struct service *service, const struct request *request, sim_ns processed_ns,
                           sim_ns now)
{
    char name[REASON_CHARS];
    return emit(service, world_name(service, name), "arrived", request->view.id, now,
                "its KV is at replica %d of %s, %.6f s after its prompt was processed", request->replica,
                service->config->name, sim_s_from_ns(now - processed_ns));
}

/* Sets the callbacks: for prompt pieces if rows are wanted or KV moves layer by layer; for batches if rows are wanted
 * or an offloading policy counts its bytes; for what the batcher sees if somebody asks. */
void service_detail_start(struct service *service)
{
    const struct sink *sink = service->env.site->sink;
    bool by_layer = service->config->kv_transfer.mode == KV_TRANSFER_LAYER_WISE;
    for (size_t i = 0; i < service->fleet.n_pools; i++) {
        struct replica_env *env = &service->fleet.pools[i].env;
        if (sink->detail != NULL || by_layer) env->on_prefill = service_on_prefill;
        if (sink->detail != NULL) env->on_move = emit_move;
        if (sink->seen != NULL) env->on_compose = service_on_compose;
        if (sink->admission != NULL) env->on_queue = service_on_queue;
        const bool counts = offload_in_use(env->offload) ||
                            fleet_shares_links(&service->fleet, &service->fleet.pools[i]);
        if (sink->batch != NULL || counts) env->on_batch = service_on_batch;
    }
}

/* --- The time series of a service (sampler.h) --- */

static const char *const of_service[] = {"service.waiting", "service.running", "service.kv_used_frac"};
static const char *const of_replica[] = {"replica.waiting", "replica.running", "replica.kv_used_frac"};
enum { N_SERIES = sizeof of_service / sizeof *of_service };

static int64_t n_sampled(const struct service *service)
{
    const bool each = service->env.site->each_replica || service->fleet.n_replicas <= SERVICE_SAMPLED_REPLICAS;
    return each ? service->fleet.n_replicas : 0;
}

int service_series(void *self, struct sampler_series *series)
{
    const struct service *service = self;
    int64_t n_replicas = n_sampled(service);
    for (int i = 0; series != NULL && i < N_SERIES; i++)
        *series++ = (struct sampler_series){of_service[i], service->config->name};
    for (int64_t r = 0; series != NULL && r < n_replicas; r++) {
        const char *entity = arena_printf(service->env.site->arena, "%s/%lld", service->config->name, (long long)r);
        if (entity == NULL) return SIM_E_NOMEM;
        for (int i = 0; i < N_SERIES; i++) *series++ = (struct sampler_series){of_replica[i], entity};
    }
    const int n_scaling = service->scaling != NULL ? scaling_series(service->scaling, series) : 0;
    return n_scaling < 0 ? n_scaling : N_SERIES * (int)(1 + n_replicas) + n_scaling;
}

/* State at a moment: waiting requests, requests in the batch, KV blocks. */
struct standing {
    int64_t waiting, running, used_blocks, total_blocks;
};

static double *write_standing(const struct standing *standing, double *values)
{
    *values++ = (double)standing->waiting;
    *values++ = (double)standing->running;
    *values++ = standing->total_blocks > 0 ? (double)standing->used_blocks / (double)standing->total_blocks : 0.0;
    return values;
}

/* Of an idle replica only the KV cache is read: a large fleet is in no cache. */
static struct standing standing_of(const struct replica *replica, const struct replica_load *load, sim_ns at)
{
    const struct kvcache *kv = &replica->kv;
    if (load->outstanding == 0) return (struct standing){0, 0, kv->total_blocks - kv->free_blocks, kv->total_blocks};
    return (struct standing){replica->waiting.n, replica_running(replica), replica_used_blocks(replica, at),
                             kv->total_blocks};
}

void service_sample(void *self, sim_ns at, double *values)
{
    const struct service *service = self;
    struct standing all = {0};
    double *own = values + N_SERIES;
    bool each = n_sampled(service) > 0;
    for (int32_t r = 0; r < service->fleet.n_replicas; r++) {
        const struct standing one = standing_of(&service->fleet.replicas[r], &service->fleet.loads[r], at);
        if (each) own = write_standing(&one, own);
        all.waiting += one.waiting;
        all.running += one.running;
        all.used_blocks += one.used_blocks;
        if (scaling_is_placed(service->scaling, r)) all.total_blocks += one.total_blocks;
    }
    all.waiting += scaling_waiting(service->scaling);
    write_standing(&all, values);
    if (service->scaling != NULL) scaling_sample(service->scaling, own);
}
