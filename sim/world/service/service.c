/* The life of requests in a service: they arrive, are routed, leave, and may be followed by their user's next
 * request. */
#include "sim/core/check.h"
#include "sim/world/replica/replica_stream.h"
#include "sim/world/replica/replica_traffic.h"
#include "sim/world/rows/priority.h"
#include "sim/world/service/scaling_state.h"
#include "sim/world/service/service_state.h"

#include <math.h>

/* --- Requests that leave --- */

/* Seconds from the request's arrival to a time that may be unset. */
static double since_arrival_s(const struct request *request, sim_ns time_ns)
{
    return time_ns == TIME_UNSET ? (double)NAN : sim_s_from_ns(time_ns - request->view.arrival_ns);
}

/* A request of a token or none has no time between tokens. */
static int emit_token_wait(const struct service *service, const struct request *request)
{
    const struct sink *sink = service->env.site->sink;
    if (sink->token_wait == NULL || request->generated_tokens <= 1) return 0;
    const struct token_wait_row row = {.service = service->config->name,
                                       .request = request->view.id,
                                       .wait_s = sim_s_from_ns(request->max_gap.ns),
                                       .from_s = sim_s_from_ns(request->max_gap.from_ns)};
    return sink->token_wait(sink->context, &row);
}

int service_emit_row(struct service *service, const struct request *request, const char *status, sim_ns now)
{
    const struct sink *sink = service->env.site->sink;
    const int code = emit_token_wait(service, request);
    if (code != 0 || sink->request == NULL) return code;
    bool finished = request->view.state == REQUEST_FINISHED;
    struct request_row row = {
        .id = request->view.id,
        .service = service->config->name,
        .arrival_s = sim_s_from_ns(request->view.arrival_ns),
        .prompt_tokens = request->prompt_tokens,
        .output_tokens = request->generated_tokens + request->other_tokens,
        .replica = request->replica,
        .queue_s = since_arrival_s(request, request->scheduled_ns),
        .ttft_s = since_arrival_s(request, request->first_token_ns),
        .tpot_s = finished && request->output_tokens > 1
                      ? sim_s_from_ns(now - request->first_token_ns) / (request->output_tokens - 1)
                      : (double)NAN,
        .e2e_s = since_arrival_s(request, finished ? now : TIME_UNSET),
        .max_gap_s = request->generated_tokens > 1 ? sim_s_from_ns(request->max_gap.ns) : (double)NAN,
        .preemptions = request->view.preemptions,
        .cached_tokens = request->cached_tokens,
        .status = status,
        .class = request->view.request_class->name,
    };
    return sink->request(sink->context, &row);
}

/* Gives a request without prefix keys a chain of its own before a preemption frees its KV. On its return it finds the
 * blocks that have not been overwritten, as vLLM v1's blocks keep their contents in the queue of free ones. */
static int own_prefix(struct replica *replica, struct request *request)
{
    struct service *service = replica->env->owner;
    const int32_t block_tokens = fleet_own_block_tokens(&service->fleet, service->trace_block_tokens);
    if (block_tokens == 0) return 0;
    const int code = fleet_share_prefixes(&service->fleet, block_tokens);
    if (code != 0) return code;
    const int64_t n = ((int64_t)request->prompt_tokens + request->output_tokens) / block_tokens;
    request->prefix = prefix_chain_make_own(&service->prefixes, ++service->n_own_prefixes, (int32_t)n);
    return request->prefix != NULL ? 0 : SIM_E_NOMEM;
}

static void follow_up_arrival(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)now;
    struct follow_up *follow_up = OWNER_ENTITY(owner, struct follow_up, owner);
    int code = service_admit(follow_up->service, &follow_up->awaited);
    pool_give(&follow_up->service->follow_ups, follow_up);
    if (code != 0) engine_fail(engine, code);
}

int service_keep_prefix(struct service *service, struct awaited *awaited)
{
    struct request_record *record = &awaited->record;
    const uint64_t *keys = record->prefix_blocks;
    const bool caches = fleet_caches_prefixes(&service->fleet);
    int code = service_keep_chunks(service, record, &awaited->chunks);
    if (code == 0 && !caches) code = service_see_prompt(service, record);
    awaited->prefix = NULL;
    record->prefix_blocks = NULL;
    record->chunks = NULL;
    if (code != 0) return code;
    if (record->n_prefix_blocks == 0 || !caches) return 0;
    awaited->prefix = prefix_chain_make(&service->prefixes, keys, record->n_prefix_blocks);
    if (awaited->prefix == NULL) return SIM_E_NOMEM;
    awaited->prefix->covers_output = record->prefix_covers_output;
    return 0;
}

/* Schedules the next request after an end. Returns what the source's follow returned. */
static int schedule_follow_up(struct service *service, const struct request_end *end)
{
    struct follow_up *follow_up = pool_take(&service->follow_ups);
    if (follow_up == NULL) return SIM_E_NOMEM;
    *follow_up = (struct follow_up){.service = service};
    struct request_source *source = service->source;
    struct request_record *record = &follow_up->awaited.record;
    int got = source->follow(source, end, record, service->env.site->diag);
    if (got <= 0) {
        pool_give(&service->follow_ups, follow_up);
        return got;
    }
    /* Strictly later: an arrival at `now` would come after some of this moment's boundaries. */
    if (record->arrival_ns <= end->now_ns) record->arrival_ns = end->now_ns + 1;
    owner_init_passing(&follow_up->owner, OWNER_ID_SERVICES, service->env.site->next_serial++);
    engine_schedule(service->env.site->engine, record->arrival_ns, PRIORITY_ARRIVAL, follow_up_arrival,
                    &follow_up->owner);
    const int code = service_keep_prefix(service, &follow_up->awaited);
    return code != 0 ? code : got;
}

static int schedule_follow_ups(struct service *service, const struct request_end *end)
{
    int got = FOLLOW_MORE;
    while (got == FOLLOW_MORE) got = schedule_follow_up(service, end);
    return got < 0 ? got : 0;
}

static void leave_system(struct service *service, const struct request *request, sim_ns now)
{
    fleet_leave(&service->fleet, request);
    level_set(&service->in_system, now, service->in_system.value - 1);
    service->stay_ns += now - request->view.arrival_ns;
    if (service->in_system.value == 0) fleet_reports_when_empty(&service->fleet, now);
    if (service->scaling != NULL) scaling_on_leave(service->scaling, request, now);
}

/* Counts a request that has finished or was rejected; `by_class` as in request_stats_add_finished. */
static int count_end(const struct service *service, struct request_stats *stats, const struct request *request,
                     bool by_class, sim_ns now)
{
    const double *limits_s = service_class_of(request)->limits_s;
    bool finished = request->view.state == REQUEST_FINISHED;
    if (finished && now > service->env.site->warmup_ns) request_stats_add_output(stats, request, now);
    if (!service_counts(service, request)) return 0;
    if (finished) return request_stats_add_finished(stats, limits_s, request, by_class, now);
    request_stats_add_rejected(stats, limits_s);
    return 0;
}

/* Ends a request: counts it, writes its row, schedules what its user sends next. */
static int end_request(struct service *service, struct request *request, sim_ns now)
{
    bool finished = request->view.state == REQUEST_FINISHED;
    const struct request_end end = {request->view.id, request->view.session_id, now, finished};
    struct request_stats *of_class = service_class_stats(&service->classes, request);
    struct service_feeder *feeder = service->feed.feeder;
    const int64_t prompt_tokens = request->prompt_tokens, output_tokens = request->output_tokens;
    int code = count_end(service, &service->stats.requests, request, of_class != NULL, now);
    if (code == 0 && of_class != NULL) code = count_end(service, of_class, request, false, now);
    if (finished) {
        service->stats.run_finished++;
        service->stats.run_output_tokens += request->output_tokens + request->other_tokens;
        if (code == 0 && request->view.session_id > 0)
            code = session_stats_add_finished(&service->stats.sessions, request, service->env.site->warmup_ns, now);
    }
    if (code == 0) code = service_emit_row(service, request, finished ? "finished" : "rejected", now);
    prefix_chain_free(request->prefix);
    service_free_chunks(service, request->chunks);
    pool_give(&service->requests, request);
    if (code == 0 && feeder != NULL) code = feeder->left(feeder, prompt_tokens, output_tokens, finished, now);
    return code != 0 || service->source->follow == NULL ? code : schedule_follow_ups(service, &end);
}

static int emit_decision(const struct replica *replica, const struct request *request, const char *action,
                         const char *reason, sim_ns now)
{
    const struct service *service = replica->env->owner;
    const struct sink *sink = service->env.site->sink;
    if (sink->decision == NULL) return 0;
    struct decision_row row = {.t_s = sim_s_from_ns(now), .service = service->config->name,
                               .policy = replica->env->batcher->policy.name, .action = action,
                               .subject = request->view.id, .reason = reason};
    return sink->decision(sink->context, &row);
}

static int on_finish(struct replica *replica, struct request *request, sim_ns now)
{
    struct service *service = replica->env->owner;
    if (service_end_sequence(replica, request)) return 0;
    leave_system(service, request, now);
    const int code = service_has_detail(service) ? service_detail_finish(replica, request, now) : 0;
    return code != 0 ? code : end_request(service, request, now);
}

static int on_reject(struct replica *replica, struct request *request, sim_ns now, const char *reason)
{
    struct service *service = replica->env->owner;
    if (service->n_refused++ == 0) {
        service->first_refusal = reason;
        service->first_refuser = replica->env->batcher->policy.name;
    }
    int code = emit_decision(replica, request, "reject", reason, now);
    if (service_end_sequence(replica, request)) return code;
    leave_system(service, request, now);
    return code != 0 ? code : end_request(service, request, now);
}

static int on_preempt(struct replica *replica, struct request *request, sim_ns now, const char *reason)
{
    return emit_decision(replica, request, "preempt", reason, now);
}

static int take_host(struct replica *replica, int64_t bytes, sim_ns now)
{
    struct service *service = replica->env->owner;
    int got = kv_transport_take_room(replica, bytes, now);
    service->n_host_full += got == 0;
    return got;
}

int service_on_batch(const struct replica *replica, const struct replica_batch *batch)
{
    const struct service *service = replica->env->owner;
    const struct sink *sink = service->env.site->sink;
    if (replica->stream != NULL) replica_stream_count(replica->stream, batch);
    if (replica->traffic != NULL) replica_traffic_count(replica->traffic, batch);
    if (sink->batch == NULL) return 0;
    const struct clock_state *clock_state = batch->clock_state;
    const double lasted_s = sim_s_from_ns(batch->end_ns) - sim_s_from_ns(batch->start_ns);
    struct batch_row row = {.service = service->config->name,
                            .replica = replica->index,
                            .start_s = sim_s_from_ns(batch->start_ns),
                            .end_s = sim_s_from_ns(batch->end_ns),
                            .iterations = batch->iterations,
                            .prefill_sequences = batch->prefill_sequences,
                            .prefill_tokens = batch->prefill_tokens,
                            .decoding = batch->decoding,
                            .full_clock_s = lasted_s,
                            .clock_frac = 1.0};
    if (clock_state->is_slow) {
        row.full_clock_s = lasted_s * clock_state->speed_frac;
        row.clock_frac = clock_state->clock_frac;
        row.power_domain = clock_state->domain;
        row.power_target = clock_state->target;
        row.power_given_s = sim_s_from_ns(clock_state->given_ns);
        row.power_since_s = sim_s_from_ns(clock_state->since_ns);
    }
    return sink->batch(sink->context, &row);
}

/* --- Requests that arrive --- */

int service_route(struct service *service, struct request *request, sim_ns now)
{
    int code = fleet_route(&service->fleet, request, now);
    if (code == 0 && service_has_detail(service)) code = service_detail_route(service, request, now);
    if (code != 0) return code;
    replica_enqueue(&service->fleet.replicas[request->replica], request, now);
    return 0;
}

static int enter_system(struct service *service, struct request *request, sim_ns now)
{
    level_set(&service->in_system, now, service->in_system.value + 1);
    if (service->scaling != NULL && scaling_makes_wait(service->scaling, request)) return 0;
    return service_route(service, request, now);
}

/* Gives the request the keys of its prompt's blocks for its life. */
static int take_prefix(struct service *service, const struct awaited *awaited, struct request *request)
{
    service->trace_block_tokens = awaited->record.prefix_block_tokens;
    request->prefix = awaited->prefix;
    request->chunks = awaited->chunks;
    return awaited->prefix != NULL ? fleet_share_prefixes(&service->fleet, service->trace_block_tokens) : 0;
}

static int32_t further_sequences(const struct service_config *config)
{
    return config->sampling.sequences > 1 ? (int32_t)config->sampling.sequences - 1 : 0;
}

/* Creates an arriving request; NULL when out of memory. */
static struct request *make_request(struct service *service, const struct request_record *record,
                                    const struct service_class *class)
{
    struct request *request = pool_take(&service->requests);
    if (request == NULL) return NULL;
    *request = (struct request){
        .view = {.id = record->id,
                 .session_id = record->session_id,
                 .arrival_ns = record->arrival_ns,
                 .prompt_tokens = record->prompt_tokens,
                 .further_sequences = further_sequences(service->config),
                 .request_class = &class->view},
        .prompt_tokens = record->prompt_tokens,
        .output_tokens = service_output_of(service, record->output_tokens),
        .replica = -1,
        .decode_replica = -1,
        .scheduled_ns = TIME_UNSET,
        .first_token_ns = TIME_UNSET,
        .session = {.start_ns = record->session_start_ns,
                    .repeated_tokens = record->repeated_tokens,
                    .starts = record->starts_session,
                    .ends = record->ends_session,
                    .is_logged = record->session_is_logged},
    };
    return request;
}

static void count_arrival(struct service *service, const struct request *request)
{
    struct request_stats *of_class = service_class_stats(&service->classes, request);
    if (service->scaling != NULL) scaling_on_arrival(service->scaling);
    if (!service_counts(service, request)) return;
    service->stats.requests.arrived++;
    service->has_sessions |= request->view.session_id > 0;
    if (request->view.session_id > 0) session_stats_add_arrival(&service->stats.sessions, request);
    if (of_class != NULL) of_class->arrived++;
}

int service_admit(struct service *service, const struct awaited *awaited)
{
    const struct request_record *record = &awaited->record;
    struct service_class *class;
    int code = service_classes_get(&service->classes, record->class_name, &class);
    struct request *request = code == 0 ? make_request(service, record, class) : NULL;
    if (request == NULL) return code != 0 ? code : SIM_E_NOMEM;
    code = take_prefix(service, awaited, request);
    if (code != 0) {
        pool_give(&service->requests, request);
        return code;
    }
    count_arrival(service, request);
    if (fleet_can_serve(&service->fleet, request)) return enter_system(service, request, record->arrival_ns);
    service->n_too_long++;
    request->view.state = REQUEST_REJECTED;
    if (service_has_detail(service)) code = service_detail_too_long(service, request, record->arrival_ns);
    return code != 0 ? code : end_request(service, request, record->arrival_ns);
}

static void service_arrival(struct engine *engine, struct owner *owner, sim_ns now);

/* Reads the next record. Returns 0 or a negative code. An interrupt is the end of the trace: the engine reports it. */
static int service_pull(struct service *service)
{
    int got = service->source->next(service->source, &service->next.record, service->env.site->diag);
    if (got == SIM_E_INTERRUPTED) got = 0;
    service->dry = got == 0;
    if (service->dry && service->scaling != NULL) scaling_on_dry(service->scaling);
    if (got <= 0) return got;
    engine_schedule(service->env.site->engine, service->next.record.arrival_ns, PRIORITY_ARRIVAL, service_arrival,
                    &service->owner);
    return service_keep_prefix(service, &service->next);
}

static void service_arrival(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)now;
    struct service *service = OWNER_ENTITY(owner, struct service, owner);
    int code = service_admit(service, &service->next);
    if (code == 0) code = service_pull(service);
    if (code != 0) engine_fail(engine, code);
}

static int start(void *self)
{
    struct service *service = self;
    service_detail_start(service);
    if (service->scaling != NULL) scaling_start(service->scaling);
    return service->feed.feeder != NULL ? 0 : service_pull(service);
}

/* --- Making a service from its section of the scenario --- */

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
                                                      .where = place_of(service, "trace"),
                                                      .interrupt = service->env.site->interrupt};
    struct diag *diag = service->env.site->diag;
    int first = diag != NULL ? diag->n_items : 0;
    int code = format->open_requests(service->config->trace.params, &service->source_options, &service->source, diag);
    if (code == SIM_E_IO) diag_add_hint(diag, first, "its path is given at %s", place_of(service, "trace.path"));
    const bool is_header = code == SIM_E_DATA && diag != NULL && first < diag->n_items &&
                           strstr(diag->items[first].where, ":1:") != NULL;
    if (is_header)
        diag_error(diag, code, place_of(service, "trace.format"),
                   arena_printf(service->env.site->arena,
                                "if the file has another one: --set services.%s.trace.format=NAME",
                                service->config->name),
                   "here the format of the trace is %s", format->name);
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
        .on_finish = on_finish,
        .on_reject = on_reject,
        .on_preempt = on_preempt,
        .own_prefix = own_prefix,
        .begin_group = service_begin_group,
        .fork = service_fork,
        .drop = service_drop,
        .on_prefilled = service_on_prefilled,
        .on_handover = service_on_handover,
        .on_halted = service_on_halted,
        .kv_moves = &service->kv_moves,
        .move_kv = service_on_move_kv,
        .take_host = take_host,
        .give_host = kv_transport_give_room,
    };
    int code = service_stats_init(&service->stats);
    if (code == 0)
        code = service_classes_init(&service->classes, &config->slo, config->name, place_of(service, "trace"),
                                    env->site->arena, env->site->diag);
    if (code == 0)
        code = service_llm(config, env->site->catalog, place_of(service, "llm"), env->site->arena, &service->llm,
                           env->site->diag);
    if (code == 0) code = fleet_init(&service->fleet, config, &service->env, &service->llm, &common);
    if (code == 0) code = service_check_outputs(service);
    if (code == 0) code = scaling_create(service, &service->scaling);
    if (code != 0) return code;
    service->tenant = (struct tenant){.ops = &service_tenant_ops, .awaits_nodes = service_may_fail(service)};
    holders_enter(&env->cluster->holders, &service->tenant);
    return open_trace(service);
}

static void destroy(void *self)
{
    struct service *service = self;
    if (service->source != NULL) service->source->close(service->source);
    scaling_destroy(service->scaling);
    fleet_fini(&service->fleet);
    service_stats_fini(&service->stats);
    service_classes_fini(&service->classes);
    service_free_groups(service);
    pool_fini(&service->requests);
    pool_fini(&service->follow_ups);
    pool_fini(&service->kv_moves);
    pool_fini(&service->handovers);
    prefix_pool_fini(&service->prefixes);
    key_map_fini(&service->repeats.blocks);
    while (service->chunk_prompts != NULL) service_free_chunks(service, service->chunk_prompts);
    mem_free(service->feed.prefix_blocks);
    mem_free(service->feed.chunks);
    mem_free(service);
}

/* Whether the format has a parameter that is a path: generators have none. */
static bool reads_file(const struct trace_format *format)
{
    const struct config_field *field = format->params;
    while (field->name != NULL && field->kind != CONFIG_PATH) field++;
    return field->name != NULL;
}

static int read_through(void *self, sim_ns until_ns)
{
    struct service *service = self;
    struct request_record record;
    struct diag *diag = service->env.site->diag;
    int first = 0;
    for (bool more = reads_file(service->config->trace.entry); more;) {
        const int code = service->source->next(service->source, &record, diag);
        if (code < 0 && first == 0) first = code;
        more = (code == 1 && record.arrival_ns <= until_ns) ||
               (code == SIM_E_DATA && (diag == NULL || diag->n_errors < DIAG_MAX_ITEMS));
    }
    return first;
}

const struct component service_component = {.name = "service", .read_through = read_through, .start = start,
                                            .check = service_check, .series = service_series,
                                            .sample = service_sample, .finish = service_finish, .destroy = destroy};
