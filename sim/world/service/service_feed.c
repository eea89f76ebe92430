/* Requests that a feeder releases, and replicas that get new weights.
 *
 * A service whose requests are fed reads its trace for their lengths alone: the requests arrive when the feeder
 * releases them, many at one moment. Several samples of a prompt are requests of their own. They have the prompt of the
 * first of them, and the output lengths that follow in the trace. Where prefixes are cached and the trace names no
 * prefix blocks, the samples of a prompt share blocks of their own. A prompt finds what prompts with the same weights
 * have computed: their version is part of the keys of its blocks and chunks.
 *
 * Leaves out: closed loops, autoscaling, offloaded weights, several sequences of a request. */
#include "sim/core/hash.h"
#include "sim/core/vec.h"
#include "sim/world/rows/priority.h"
#include "sim/world/service/scaling_state.h"
#include "sim/world/service/service_state.h"

#include <math.h>

enum { PROMPT_KEY_BITS = 32 }; /* of a block's number in its prompt */

/* --- Releasing --- */

/* A prompt that the trace gives no keys shares blocks among its samples alone. */
static int make_keys(struct service *service, struct request_record *record)
{
    struct feed *feed = &service->feed;
    const int32_t block_tokens = fleet_own_block_tokens(&service->fleet, service->trace_block_tokens);
    feed->n_prefix_blocks = block_tokens > 0 && feed->samples > 1 ? record->prompt_tokens / block_tokens : 0;
    feed->prefix_block_tokens = block_tokens;
    if (vec_reserve(&feed->prefix_blocks, &feed->capacity, (size_t)feed->n_prefix_blocks) != 0) return SIM_E_NOMEM;
    for (int32_t i = 0; i < feed->n_prefix_blocks; i++)
        feed->prefix_blocks[i] = ((uint64_t)feed->n_prompts << PROMPT_KEY_BITS) | (uint64_t)i;
    return 0;
}

/* Of a block or a chunk, under the weights of the latest release. */
static uint64_t key_of(const struct feed *feed, uint64_t key)
{
    return feed->weights == 0 ? key : hash_mix(key ^ hash_mix((uint64_t)feed->weights));
}

/* Remembers the prompt of a record for the samples behind it. */
static int begin_prompt(struct service *service, struct request_record *record)
{
    struct feed *feed = &service->feed;
    feed->n_prompts++;
    feed->prompt_tokens = record->prompt_tokens;
    feed->n_prefix_blocks = record->n_prefix_blocks;
    feed->prefix_block_tokens = record->prefix_block_tokens;
    if (vec_reserve(&feed->chunks, &feed->chunk_capacity, record->n_chunks) != 0) return SIM_E_NOMEM;
    feed->n_chunks = record->n_chunks;
    for (int32_t i = 0; i < feed->n_chunks; i++)
        feed->chunks[i] = (struct prompt_chunk){key_of(feed, record->chunks[i].id), record->chunks[i].tokens};
    if (record->prefix_blocks == NULL) return make_keys(service, record);
    if (vec_reserve(&feed->prefix_blocks, &feed->capacity, (size_t)feed->n_prefix_blocks) != 0) return SIM_E_NOMEM;
    for (int32_t i = 0; i < feed->n_prefix_blocks; i++) feed->prefix_blocks[i] = key_of(feed, record->prefix_blocks[i]);
    return 0;
}

/* Sample `number` of the latest prompt arrives. Returns 1, 0 at the end of the trace, or a negative code. */
static int admit_one(struct service *service, int64_t number, sim_ns now)
{
    struct feed *feed = &service->feed;
    struct awaited awaited = {0};
    struct request_record *record = &awaited.record;
    int got = service->source->next(service->source, record, service->env.site->diag);
    if (got <= 0) return got == SIM_E_INTERRUPTED ? 0 : got;
    int code = number == 0 ? begin_prompt(service, record) : 0;
    record->arrival_ns = now;
    record->prompt_tokens = feed->prompt_tokens;
    record->n_prefix_blocks = feed->n_prefix_blocks;
    record->prefix_block_tokens = feed->prefix_block_tokens;
    record->prefix_blocks = feed->prefix_blocks;
    record->n_chunks = feed->n_chunks;
    record->chunks = feed->chunks;
    record->prefix_covers_output = record->prefix_covers_output && feed->samples == 1;
    if (code == 0) code = service_keep_prefix(service, &awaited);
    if (code == 0) code = service_admit(service, &awaited);
    return code != 0 ? code : 1;
}

static void arrive(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct service *service = OWNER_ENTITY(owner, struct service, owner);
    struct feed *feed = &service->feed;
    const int64_t n = feed->n_due;
    int got = 1;
    int64_t i = 0;
    feed->n_due = 0;
    for (; i < n && got == 1; i += got == 1) got = admit_one(service, i % feed->samples, now);
    if (got == 0) got = feed->feeder->ran_dry(feed->feeder, n - i, now);
    if (got < 0) engine_fail(engine, got);
}

void service_release(struct service *service, int64_t prompts, int64_t samples, int64_t weights, sim_ns at)
{
    struct feed *feed = &service->feed;
    SIM_REQUIRE(feed->feeder != NULL && feed->n_due == 0);
    feed->weights = weights;
    feed->n_due = prompts * samples;
    feed->samples = samples;
    engine_schedule(service->env.site->engine, at, PRIORITY_ARRIVAL, arrive, &service->owner);
}

/* --- New weights --- */

const struct llm_spec *service_llm_spec(const struct service *service)
{
    return &service->llm;
}

int32_t service_n_replicas(const struct service *service)
{
    return service->fleet.n_replicas;
}

const struct topology_placement *service_replica_gpus(const struct service *service, int32_t replica)
{
    return &service->fleet.replicas[replica].placement;
}

double service_replica_usd_per_h(const struct service *service, int32_t replica)
{
    const struct fleet_pool *pool = fleet_pool_of(&service->fleet, replica);
    return (double)service_replica_gpus(service, replica)->n_gpus * pool->gpu.usd_per_h;
}

int64_t service_weight_bytes(const struct service *service, int32_t replica)
{
    return llround(pool_weight_bytes(&fleet_pool_of(&service->fleet, replica)->config, &service->llm));
}

bool service_halt(struct service *service, int32_t replica, sim_ns now)
{
    return replica_hold(&service->fleet.replicas[replica], now);
}

void service_go_on(struct service *service, int32_t replica, sim_ns now)
{
    replica_resume(&service->fleet.replicas[replica], now);
}

int service_on_halted(struct replica *replica, sim_ns now)
{
    struct service *service = replica->env->owner;
    return service->feed.feeder->halted(service->feed.feeder, replica->index, now);
}

/* --- What cannot be fed --- */

static int refuse(const struct service *service, const char *key, const char *hint, const char *problem)
{
    const struct site_env *site = service->env.site;
    const char *path = arena_printf(site->arena, "services.%s.%s", service->config->name, key);
    return diag_error(site->diag, SIM_E_CONFIG, path != NULL ? config_where(site->config, path) : "", hint,
                      "service '%s' generates for 'rl', and %s", service->config->name, problem);
}

static bool offloads(const struct service *service)
{
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        if (offload_in_use(&service->fleet.pools[i].offload)) return true;
    return false;
}

static bool has_stages(const struct service *service)
{
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        if (service->fleet.pools[i].config.pipeline_parallel > 1) return true;
    return false;
}

int service_feed(struct service *service, struct service_feeder *feeder, bool halts)
{
    service->feed.feeder = feeder;
    if (service->source->follow != NULL)
        return refuse(service, "trace", "take a trace without sessions or users",
                      "its trace decides by itself when requests come");
    if (service_config_scales(service->config))
        return refuse(service, "scaling", "leave it out", "the number of its replicas varies");
    if (offloads(service))
        return refuse(service, "kv.offload", "take one that leaves weights and cache on the GPU",
                      "its 'kv.offload' places weights or cache elsewhere");
    if (service->config->sampling.sequences > 1)
        return refuse(service, "sampling", "leave it out, and take 'samples' in 'rl'",
                      "its 'sampling' makes several sequences of a request");
    if (halts && (service->config->pools.n > 0 || has_stages(service)))
        return refuse(service, service->config->pools.n > 0 ? "pools" : "pipeline_parallel",
                      "take \"update\": \"drain\" in 'rl', or leave it out",
                      "replicas with stages or in pools cannot halt between two iterations");
    return 0;
}
