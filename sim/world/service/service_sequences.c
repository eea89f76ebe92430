/* Requests that decode as several sequences: what the service keeps of a request until its last sequence has ended.
 *
 * A request ends with the last of its sequences, and its row and metrics are of that moment. Its output tokens are
 * those of the returned sequences: samples of the lowest slots, or any beams, which have one length. Its time per
 * output token is that of the sequence that ends last. Its preemptions are those of all sequences. */
#include "sim/world/service/service_state.h"

#include <math.h>
#include <stdio.h>

/* Sequences whose tokens are output. */
static int32_t sampling_returned(const struct sampling_config *config)
{
    if (config->returned > 0) return (int32_t)config->returned;
    return config->search == SEARCH_BEAM ? 1 : (int32_t)config->sequences;
}

/* --- Groups --- */

int service_begin_group(struct replica *replica, struct request *request)
{
    struct service *service = replica->env->owner;
    struct sequence_group *group = sequence_group_make(replica->env->sampling->sequences);
    if (group == NULL) return SIM_E_NOMEM;
    group->live = 1;
    group->arrival_ns = request->view.arrival_ns;
    group->next = service->groups;
    if (group->next != NULL) group->next->prev = group;
    service->groups = request->group = group;
    return 0;
}

static void free_group(struct service *service, struct sequence_group *group)
{
    if (group->prev != NULL)
        group->prev->next = group->next;
    else
        service->groups = group->next;
    if (group->next != NULL) group->next->prev = group->prev;
    sequence_group_free(group);
}

void service_free_groups(struct service *service)
{
    while (service->groups != NULL) free_group(service, service->groups);
}

/* Reports that a sequence begins or ends, if the sink wants to know. */
static void report(const struct replica *replica, const struct request *sequence, bool begins, bool is_dropped)
{
    const struct service *service = replica->env->owner;
    const struct sink *sink = service->env.site->sink;
    struct engine *engine = service->env.site->engine;
    if (sink->sequence == NULL) return;
    const struct sequence_row row = {.t_s = sim_s_from_ns(engine_now(engine)), .service = service->config->name,
                                     .request = sequence->view.id, .sequence = sequence->slot, .begins = begins,
                                     .is_dropped = is_dropped, .sequences = sequence->group->width,
                                     .live = sequence->group->live, .tokens = sequence->generated_tokens};
    const int code = sink->sequence(sink->context, &row);
    if (code != 0) engine_fail(engine, code);
}

struct request *service_fork(struct replica *replica, const struct request *request, int32_t slot,
                             int32_t output_tokens)
{
    struct service *service = replica->env->owner;
    struct request *sibling = pool_take(&service->requests);
    if (sibling == NULL) return NULL;
    *sibling = *request;
    sibling->slot = slot;
    sibling->output_tokens = output_tokens;
    fleet_fork(&service->fleet, sibling);
    report(replica, sibling, true, false);
    return sibling;
}

/* Frees a sequence that is not the last of its request. */
static void free_sequence(struct service *service, struct request *sequence)
{
    fleet_leave(&service->fleet, sequence);
    prefix_chain_free(sequence->prefix);
    service_free_chunks(service, sequence->chunks);
    pool_give(&service->requests, sequence);
}

void service_drop(struct replica *replica, struct request *sequence)
{
    sequence->group->ended.preemptions += sequence->view.preemptions;
    report(replica, sequence, false, true);
    free_sequence(replica->env->owner, sequence);
}

int64_t service_extra_stays_ns(const struct service *service, sim_ns now)
{
    int64_t stay_ns = 0;
    for (const struct sequence_group *group = service->groups; group != NULL; group = group->next)
        stay_ns += (group->live - 1) * (now - group->arrival_ns);
    return stay_ns;
}

/* --- Ends --- */

static void add_end(struct service *service, const struct sampling_model *model, struct request *sequence)
{
    struct sequence_sums *ended = &sequence->group->ended;
    const bool finished = sequence->view.state == REQUEST_FINISHED;
    const bool is_returned = model->is_beam ? ended->n < model->returned : sequence->slot < model->returned;
    if (finished && is_returned) ended->returned_tokens += sequence->generated_tokens;
    ended->n++;
    ended->any_finished |= finished;
    ended->preemptions += sequence->view.preemptions;
    ended->max_gap = token_wait_longer(ended->max_gap, sequence->max_gap);
    if (!finished) return;
    service->stats.sequences++;
    service->stats.sequence_tokens += sequence->generated_tokens;
}

/* A request that ends before it has become several sequences: each would have had its tokens. */
static void end_unforked(struct service *service, const struct sampling_model *model, struct request *request)
{
    if (request->view.state != REQUEST_FINISHED) return;
    service->stats.sequences += model->sequences;
    service->stats.sequence_tokens += (int64_t)model->sequences * request->generated_tokens;
    request->other_tokens = (model->returned - 1) * request->generated_tokens;
}

/* The last sequence stands for its request. */
static void end_group(struct service *service, struct request *last)
{
    const struct sequence_sums *ended = &last->group->ended;
    if (ended->any_finished) last->view.state = REQUEST_FINISHED;
    last->other_tokens = (int32_t)(ended->returned_tokens - last->output_tokens);
    last->view.preemptions = ended->preemptions;
    last->max_gap = ended->max_gap;
    free_group(service, last->group);
    last->group = NULL;
}

bool service_end_sequence(struct replica *replica, struct request *sequence)
{
    struct service *service = replica->env->owner;
    const struct sampling_model *model = replica->env->sampling;
    struct sequence_group *group = sequence->group;
    if (model == NULL) return false;
    if (sequence->view.further_sequences > 0) {
        end_unforked(service, model, sequence);
        if (group == NULL) return false;
        sequence->view.preemptions += group->ended.preemptions;
        free_group(service, group);
        sequence->group = NULL;
        return false;
    }
    add_end(service, model, sequence);
    if (--group->live == 0) {
        end_group(service, sequence);
        return false;
    }
    report(replica, sequence, false, false);
    free_sequence(service, sequence);
    return true;
}

/* --- The end of a run --- */

/* Of the sequences that this one stands for: those whose tokens are output. */
static int32_t returned_of(const struct sampling_config *config, const struct request *sequence)
{
    const int32_t returned = sampling_returned(config), stands_for = 1 + sequence->view.further_sequences;
    if (config->search != SEARCH_BEAM) return sequence->slot < returned;
    const int32_t left = returned > sequence->group->ended.n ? returned - sequence->group->ended.n : 0;
    return left < stands_for ? left : stands_for;
}

static void add_unfinished(const struct service *service, const struct request *sequence)
{
    struct sequence_sums *ended = &sequence->group->ended;
    const int32_t returned = returned_of(&service->config->sampling, sequence);
    ended->returned_tokens += (int64_t)returned * sequence->generated_tokens;
    ended->n += returned;
    ended->preemptions += sequence->view.preemptions;
    ended->max_gap = token_wait_longer(ended->max_gap, sequence->max_gap);
}

size_t service_join_unfinished(const struct service *service, struct request **left, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (left[i]->group != NULL) add_unfinished(service, left[i]);
    for (size_t i = 0; i < n; i++) {
        struct sequence_group *group = left[i]->group;
        if (group != NULL && group->is_written) continue;
        left[kept++] = left[i];
        if (group == NULL) continue;
        group->is_written = true;
        left[i]->other_tokens = (int32_t)(group->ended.returned_tokens - left[i]->generated_tokens);
        left[i]->view.preemptions = group->ended.preemptions;
        left[i]->max_gap = group->ended.max_gap;
    }
    return kept;
}

/* --- Settings --- */

static int refuse(const struct fleet *fleet, const char *where, const char *hint, const char *format, const char *what)
{
    char why[160];
    snprintf(why, sizeof why, format, what);
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, where, hint,
                      "service '%s' cannot decode requests into several sequences: %s", fleet->config->name, why);
}

static int check_pool(const struct fleet *fleet, const struct fleet_pool *pool, const char *where)
{
    const bool is_beam = fleet->config->sampling.search == SEARCH_BEAM;
    if (!pool->env.batcher->forks)
        return refuse(fleet, fleet_place_of(fleet, pool, "batching"),
                      "take one that preempts, such as vllm-v0, vllm-v1 or sarathi",
                      "batching policy '%s' plans the KV blocks of one sequence per request",
                      pool->env.batcher->policy.name);
    if (offload_in_use(&pool->offload))
        return refuse(fleet, where, "take another kv.offload, or leave sampling out",
                      "kv.offload '%s' places the KV cache of one sequence per request",
                      pool->offload.policy->policy.name);
    if (is_beam && pool->config.pipeline_parallel > 1)
        return refuse(fleet, where, "take tensor_parallel, or \"search\": \"parallel\"",
                      "beams decode together, and %s have several batches under way", "pipeline stages");
    if (is_beam && pool->env.speculation != NULL)
        return refuse(fleet, where, "leave speculation out, or take \"search\": \"parallel\"",
                      "no rule says which drafts of a beam are right; speculation is '%s'",
                      pool->env.speculation->policy->policy.name);
    return 0;
}

/* A sequence may come to any pool: it is at most as long as the smallest KV cache of those built so far. */
static void limit_sequences(const struct fleet *fleet, const struct fleet_pool *latest)
{
    int64_t blocks = INT64_MAX;
    for (const struct fleet_pool *pool = fleet->pools; pool <= latest; pool++)
        if (fleet_sequence_blocks(pool) < blocks) blocks = fleet_sequence_blocks(pool);
    for (struct fleet_pool *pool = fleet->pools; pool <= latest; pool++) pool->env.sequence_blocks = blocks;
}

int fleet_build_sampling(const struct fleet *fleet, struct fleet_pool *pool)
{
    const struct site_env *site = fleet->env->site;
    const struct sampling_config *config = &fleet->config->sampling;
    const char *path = arena_printf(site->arena, "services.%s.sampling", fleet->config->name);
    if (config->sequences < 2) return 0;
    if (path == NULL) return SIM_E_NOMEM;
    const char *where = config_where(site->config, path);
    if (config->returned > config->sequences)
        return diag_error(site->diag, SIM_E_CONFIG, where, "lower 'returned', or raise 'sequences'",
                          "service '%s' returns %lld of %lld sequences", fleet->config->name,
                          (long long)config->returned, (long long)config->sequences);
    const int code = pool->config.role != POOL_PREFILL ? check_pool(fleet, pool, where) : 0;
    struct sampling_model *model = code == 0 ? arena_alloc(site->arena, sizeof *model) : NULL;
    if (model == NULL) return code != 0 ? code : SIM_E_NOMEM;
    *model = (struct sampling_model){.sequences = (int32_t)config->sequences, .returned = sampling_returned(config),
                                     .is_beam = config->search == SEARCH_BEAM, .length_sigma = config->length_sigma,
                                     .resampled_frac = config->resampled_frac, .seed = site->seed, .run = site->run,
                                     .stream = path};
    pool->env.sampling = model;
    limit_sequences(fleet, pool);
    return 0;
}

/* --- Metrics --- */

static bool samples(const struct service *service)
{
    return service->config->sampling.sequences > 1;
}

static int emit(const struct service_stats *stats, const char *entity, const struct sink *sink)
{
    const double shared = stats->used.shared_slot_s, all = shared + stats->used.reserved_slot_s;
    const struct {
        const char *name;
        double value;
    } values[] = {{"sampling.sequences.sum", (double)stats->sequences},
                  {"sampling.sequence_tokens.sum", (double)stats->sequence_tokens},
                  {"sampling.copied_blocks.sum", (double)stats->work.copied_blocks},
                  {"sampling.saved_frac", all > 0.0 ? shared / all : (double)NAN}};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof values / sizeof *values; i++)
        code = metric_emit_of(sink, values[i].name, entity, values[i].value);
    return code;
}

int services_emit_sampling(struct service *const *services, size_t n, const struct service_stats *all,
                           const struct sink *sink)
{
    size_t n_samples = 0;
    for (size_t i = 0; i < n; i++) n_samples += samples(services[i]);
    int code = n_samples > 0 ? emit(all, NULL, sink) : 0;
    for (size_t i = 0; i < n && code == 0 && n_samples > 1; i++)
        if (samples(services[i])) code = emit(&services[i]->stats, services[i]->config->name, sink);
    return code;
}
