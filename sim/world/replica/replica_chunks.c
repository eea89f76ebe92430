/* Reuse of chunks: what admissions take from the chunk store, and the transfers from and into its tiers.
 *
 * A request takes what it reuses when it is admitted. It has the KV blocks of its whole prompt; what it reuses counts
 * as processed from then on. Tokens in lower tiers are transferred before the iteration that admits the request; all of
 * its batch waits. The tokens that are left cost the time of that many tokens at the end of the prompt. Recomputed ones
 * lie anywhere and have less before them, so their attention takes at most that time. The set of variants changes only
 * when prompts have been processed, so a batch plan finds what it counted on.
 *
 * A write belongs to its variant and ends with the variant's stay in the tier. A variant that falls before it has been
 * written is read from where that write read it.
 *
 * Leaves out: the copies within GPU memory and their new positions, also between groups of data_parallel, one of which
 * holds a variant; that an evicted variant may still be read, and that its place may be taken before it has been read;
 * to stop recomputing after the layers in which the question shows no interest in a chunk. */
#include "sim/world/replica/replica_chunks.h"

#include "sim/core/mem.h"
#include "sim/world/replica/inside.h"

#include <math.h>

static void fail(const struct replica *replica, int code)
{
    if (code < 0) engine_fail(replica->env->engine, code);
}

/* --- Writes into tiers --- */

struct chunk_write {
    struct transfer transfer;
    struct replica *replica;
    struct chunk_variant *variant;
    int32_t from;
    struct chunk_write *before, *next, *made; /* next: under way, or to be used again */
};

static struct chunk_write *take_write(struct replica_chunks *chunks)
{
    struct chunk_write *write = chunks->spares;
    if (write != NULL) {
        chunks->spares = write->next;
        return write;
    }
    write = mem_zalloc(1, sizeof *write);
    if (write == NULL) return NULL;
    write->made = chunks->made;
    chunks->made = write;
    return write;
}

static void begin_write(struct replica *replica, struct chunk_write *write, struct chunk_variant *variant, int32_t from)
{
    struct replica_chunks *chunks = replica->chunks;
    struct chunk_store_tier *tier = &chunks->store.tiers[variant->tier];
    write->replica = replica;
    write->variant = variant;
    write->from = from;
    write->before = NULL;
    write->next = chunks->writes;
    if (write->next != NULL) write->next->before = write;
    chunks->writes = write;
    variant->write = write;
    tier->writing_bytes += variant->bytes;
    if (tier->writing_bytes > tier->most_writing_bytes) tier->most_writing_bytes = tier->writing_bytes;
}

static void end_write(struct replica_chunks *chunks, struct chunk_write *write)
{
    chunks->store.tiers[write->variant->tier].writing_bytes -= write->variant->bytes;
    write->variant->write = NULL;
    if (write->before != NULL)
        write->before->next = write->next;
    else
        chunks->writes = write->next;
    if (write->next != NULL) write->next->before = write->before;
    write->next = chunks->spares;
    chunks->spares = write;
}

static void on_written(struct transfer *transfer, sim_ns now)
{
    struct chunk_write *write = TRANSFER_ENTITY(transfer, struct chunk_write, transfer);
    (void)now;
    end_write(write->replica->chunks, write);
}

/* chunk_store_options.leaves */
static int32_t on_leave(void *context, struct chunk_variant *variant)
{
    struct replica *replica = context;
    struct chunk_write *write = variant->write;
    if (write == NULL) return variant->tier;
    transfer_cancel(&write->transfer);
    end_write(replica->chunks, write);
    return write->from;
}

/* chunk_store_options.moves */
static int on_move(void *context, struct chunk_variant *variant, int32_t from)
{
    struct replica *replica = context;
    struct replica_chunks *chunks = replica->chunks;
    const struct topology_placement *gpus = &replica->placement;
    struct tier *to = chunks->devices[variant->tier];
    if (to == NULL) return 0; /* it is in GPU memory already */
    struct chunk_write *write = take_write(chunks);
    if (write == NULL) return SIM_E_NOMEM;
    begin_write(replica, write, variant, from);
    return topology_move(gpus->topology, (struct topology_end){gpus, from < 0 ? NULL : chunks->devices[from]},
                         (struct topology_end){gpus, to}, variant->bytes, &write->transfer, on_written);
}

/* --- Opening --- */

static int reach_tier(const struct replica *replica, const struct chunk_tier_config *config, struct tier **device,
                      sim_ns now)
{
    const struct replica_env *env = replica->env;
    const int64_t bytes = (int64_t)config->capacity_bytes;
    *device = NULL;
    if (chunk_tier_is_gpu(config)) return 0;
    const int code = topology_tier_named(&replica->placement, config->device != NULL ? config->device : "host", device);
    if (code != 0 || tier_take(*device, now, bytes)) return code;
    return diag_error(
        env->diag, SIM_E_CONFIG, replica->chunks->where, "lower its capacity, or raise that of the device in 'cluster'",
        "tier '%s' takes %lld bytes of '%s', of which %lld of %lld are free", config->name, (long long)bytes,
        (*device)->name, (long long)tier_free_bytes(*device), (long long)(*device)->capacity_bytes);
}

static int open_store(struct replica *replica, sim_ns now)
{
    struct replica_chunks *chunks = replica->chunks;
    const struct chunk_tier_config *tiers = chunks->config->tiers.items;
    int code = 0;
    chunks->options.moves = on_move;
    chunks->options.leaves = on_leave;
    chunks->options.context = replica;
    for (size_t i = 0; i < chunks->config->tiers.n && code == 0; i++)
        code = reach_tier(replica, &tiers[i], &chunks->devices[i], now);
    return code == 0 ? chunk_store_open(&chunks->store, &chunks->options) : code;
}

void replica_open_chunks(struct replica *replica, sim_ns now)
{
    if (replica->chunks->is_open) return;
    replica->chunks->is_open = true;
    fail(replica, open_store(replica, now));
}

void replica_close_chunks(struct replica *replica, sim_ns now)
{
    struct replica_chunks *chunks = replica->chunks;
    const struct chunk_tier_config *tiers = chunks->config->tiers.items;
    if (!chunks->is_open) return;
    while (chunks->writes != NULL) {
        transfer_cancel(&chunks->writes->transfer);
        end_write(chunks, chunks->writes);
    }
    for (size_t i = 0; i < chunks->config->tiers.n; i++)
        if (chunks->devices[i] != NULL) tier_give(chunks->devices[i], now, (int64_t)tiers[i].capacity_bytes);
    chunk_store_fini(&chunks->store);
    chunks->is_open = false;
}

void replica_chunks_fini(struct replica *replica)
{
    struct replica_chunks *chunks = replica->chunks;
    if (chunks == NULL) return;
    for (struct chunk_write *write = chunks->made, *made; write != NULL; write = made) {
        made = write->made;
        mem_free(write);
    }
    chunk_store_fini(&chunks->store);
}

/* --- Reusing --- */

static bool has_chunks(const struct replica *replica, const struct request *request)
{
    return request->chunks != NULL && replica->chunks->is_open;
}

static void match(const struct replica *replica, const struct request *request)
{
    chunk_prompt_match(request->chunks, &replica->chunks->store, request->view.prompt_tokens);
}

int64_t replica_reusable_tokens(const struct replica *replica, const struct request *request)
{
    if (!has_chunks(replica, request)) return 0;
    match(replica, request);
    return request->chunks->tokens.hit + request->chunks->tokens.transferred;
}

static void count(struct chunk_counts *counts, const struct chunk_prompt *prompt)
{
    counts->tokens.hit += prompt->tokens.hit;
    counts->tokens.transferred += prompt->tokens.transferred;
    counts->tokens.recomputed += prompt->tokens.recomputed;
    counts->tokens.fresh += prompt->tokens.fresh;
    counts->chunks += prompt->n;
    for (int32_t i = 0; i < prompt->n; i++) {
        counts->found_chunks += prompt->uses[i].variant != NULL;
        counts->cfo_sum += prompt->uses[i].variant != NULL ? prompt->uses[i].cfo : 0.0;
    }
}

static int transfer_tokens(struct replica *replica, struct request *request)
{
    struct replica_chunks *chunks = replica->chunks;
    int code = 0;
    for (int32_t i = 0; i < chunks->store.n_tiers && code == 0; i++) {
        const int64_t tokens = chunk_prompt_taken(request->chunks, i);
        const int64_t bytes = llround((double)tokens * chunks->options.token_bytes);
        if (chunks->devices[i] == NULL || bytes == 0) continue;
        chunks->store.tiers[i].loaded_bytes += bytes;
        code = replica_start_load(replica, request, chunks->devices[i], bytes, NULL);
    }
    return code;
}

int replica_reuse_chunks(struct replica *replica, struct request *request)
{
    struct replica_chunks *chunks = replica->chunks;
    if (!has_chunks(replica, request)) {
        chunks->counts.tokens.fresh += request->view.prompt_tokens;
        return 0;
    }
    match(replica, request);
    struct chunk_prompt *prompt = request->chunks;
    const int32_t transferred = (int32_t)prompt->tokens.transferred, hit = (int32_t)prompt->tokens.hit;
    count(&chunks->counts, prompt);
    request->view.prefilled_tokens = hit + transferred;
    request->loading_tokens = transferred;
    if (request->scheduled_ns == TIME_UNSET) {
        request->cached_tokens = hit;
        request->loaded_tokens = transferred;
    }
    replica_add_load(replica, 0, 0, -((int64_t)hit + transferred));
    const int code = chunk_prompt_take(prompt, &chunks->store);
    return code == 0 ? transfer_tokens(replica, request) : code;
}

int replica_keep_chunks(struct replica *replica, const struct request *request)
{
    return has_chunks(replica, request) ? chunk_prompt_keep(request->chunks, &replica->chunks->store) : 0;
}
