/* The invariants of a replica (world.h lists them): INV-1 to INV-5, and of one that is not up INV-10. */
#include "sim/core/check.h"
#include "sim/world/policy/routing.h"
#include "sim/world/replica/replica.h"

static int64_t count_list(const struct request_list *list)
{
    int64_t n = 0;
    for (const struct request *request = list->head; request != NULL; request = request_of(request->view.next)) n++;
    return n;
}

/* What the requests of a replica add up to. */
struct sums {
    const struct replica *replica;
    int64_t requests, unprocessed_tokens, held_blocks, window_blocks, elsewhere_blocks;
    int64_t shares; /* prefix blocks that they hold in the prefix cache */
    int64_t overlap_blocks; /* of their groups */
    int64_t parked, parked_tokens;
};

/* Overlap of the group whose first member at the replica this is. */
static int64_t overlap_of(const struct request *request)
{
    const struct sequence_group *group = request->group;
    if (group == NULL || group->members[request->slot] != request) return 0;
    for (int32_t slot = 0; slot < request->slot; slot++)
        if (group->members[slot] != NULL) return 0;
    return sequence_group_overlap(group);
}

/* Where a request is must agree with what it says of itself. */
static void check_state(const struct replica *replica, const struct request *request)
{
    bool decodes = request->view.state == REQUEST_DECODING;
    if ((request->running != NULL) != decodes || (request->grows && !decodes))
        SIM_BUG("INV-1: request %lld is not where it says", (long long)request->view.id);
    if (request->view.state == REQUEST_LOADING && (request->loads == NULL || !request->is_parked))
        SIM_BUG("INV-1: request %lld waits for no load", (long long)request->view.id);
    if (request->replica != replica->index)
        SIM_BUG("INV-1: request %lld is at the wrong replica", (long long)request->view.id);
}

/* In an iteration with decoding, the blocks of its step are taken but the step is not counted. In a run of decode
 * iterations they are taken when its boundaries are. */
static bool is_in_step(const struct replica *replica, const struct request *request)
{
    return request->running != replica->ready || (replica->state == REPLICA_PREFILL && replica->plan.decode);
}

static int64_t blocks_held(const struct replica *replica, const struct request *request)
{
    if (!request->grows) return request->held_blocks;
    if (is_in_step(replica, request)) return running_step_blocks(request->running, request);
    return kvcache_blocks(&replica->kv, running_context(request->running, request) - 1);
}

static void add_request(void *context, struct request *request)
{
    struct sums *sums = context;
    const struct kvcache *kv = &sums->replica->kv;
    check_state(sums->replica, request);
    sums->requests++;
    sums->held_blocks += blocks_held(sums->replica, request);
    sums->window_blocks += request->window_blocks;
    sums->overlap_blocks += overlap_of(request);
    sums->parked += request->is_parked;
    sums->parked_tokens += request->is_parked ? request->view.prefilled_tokens : 0;
    if (request->prefix != NULL && request->prefix->cache == &sums->replica->prefixes.cache)
        sums->shares += request->prefix->n_shared;
    if (request->view.state == REQUEST_WAITING || request->view.state == REQUEST_PREFILLING ||
        request->view.state == REQUEST_LOADING)
        sums->unprocessed_tokens += request_unprocessed_tokens(request);
    else if (request->move != NULL || (request->view.state == REQUEST_NONRESIDENT && !request->is_remote))
        sums->elsewhere_blocks += request->move != NULL ? request->move->blocks
                                                        : kvcache_blocks(kv, request->context_tokens - 1);
}

/* What requests hold of the prefix cache, it knows to be held; unused blocks are among the free ones. */
static void check_prefixes(const struct replica *replica, const struct sums *sums)
{
    const struct replica_prefixes *prefixes = &replica->prefixes;
    const struct cache *cache = &prefixes->cache;
    int64_t holders = 0, held = 0;
    for (int32_t i = 0; i < cache->n_items; i++) {
        holders += cache_item_at(cache, i)->holders > 0 ? cache_item_at(cache, i)->holders : 0;
        held += cache_item_at(cache, i)->holders > 0;
    }
    SIM_LAW("INV-2 (holders of cached blocks)", holders, prefixes->shares);
    SIM_LAW("INV-2 (holders among requests)", sums->shares + prefixes->handed_shares, prefixes->shares);
    SIM_LAW("INV-2 (cached blocks in use)", held, cache->view.held);
    if (cache_evictable(cache) * prefixes->item_blocks > replica->kv.free_blocks)
        SIM_BUG("INV-2: %lld unused cached blocks of %lld each are more than the %lld free ones",
                (long long)cache_evictable(cache), (long long)prefixes->item_blocks,
                (long long)replica->kv.free_blocks);
}

static int64_t count_remote(const struct request_list *nonresident)
{
    int64_t n = 0;
    const struct request_view *view = nonresident->head != NULL ? &nonresident->head->view : NULL;
    for (; view != NULL; view = view->next) n += request_of(view)->is_remote;
    return n;
}

static void check_requests(const struct replica *replica)
{
    const struct replica_load *load = replica->load;
    struct sums sums = {.replica = replica};
    replica_each_request(replica, add_request, &sums);
    SIM_LAW("INV-1 (requests at the replica)", sums.requests, load->outstanding);
    SIM_LAW("INV-1 (running)",
            replica->fetching.n + replica->waiting.n + replica->nonresident.n + replica_running(replica),
            sums.requests);
    SIM_LAW("INV-1 (remote requests)", count_remote(&replica->nonresident), replica->n_remote);
    SIM_LAW("INV-1 (queue)", count_list(&replica->waiting), replica->waiting.n);
    SIM_LAW("INV-1 (queue as routers see it)", replica->waiting.n + replica->fetching.n, load->waiting);
    SIM_LAW("INV-1 (queued tokens as routers see them)", sums.unprocessed_tokens, load->queued_tokens);
    const struct replica_prefixes *prefixes = &replica->prefixes;
    int64_t shared_twice = (prefixes->shares - prefixes->cache.view.held) * prefixes->item_blocks;
    SIM_LAW("INV-2 (KV blocks are conserved)",
            replica->kv.free_blocks + sums.held_blocks + sums.window_blocks + replica->handed_blocks - shared_twice -
                replica->overlap_blocks,
            replica->kv.total_blocks);
    SIM_LAW("INV-2 (KV blocks of windows)", sums.window_blocks, replica->window_blocks);
    SIM_LAW("INV-1 (requests that load or have loaded)", sums.parked, replica->n_parked);
    SIM_LAW("INV-2 (tokens of prompts that load)", sums.parked_tokens, replica->parked_tokens);
    SIM_LAW("INV-2 (blocks of several sequences)", sums.overlap_blocks, replica->overlap_blocks);
    check_prefixes(replica, &sums);
    SIM_LAW("INV-2 (KV elsewhere is conserved)", replica->host_blocks + replica->moving_blocks, sums.elsewhere_blocks);
}

static int64_t sequences_by_phase(const struct kv_growth *growth)
{
    int64_t n = 0;
    for (int64_t i = 0; i < growth->block_tokens; i++) n += growth->phases[i];
    return n;
}

static void check_running(const struct running_batch *running)
{
    int64_t context = 0, n = 0, growing = 0;
    for (const struct request *r = running->members.head; r != NULL; r = request_of(r->view.next), n++) {
        growing += r->grows;
        context += running_context(running, r);
        if (r->finish_step <= running->step) SIM_BUG("INV-3: request %lld is past its end", (long long)r->view.id);
        if (running->finishing.entries[r->ranks[RANK_FINISH]].request != r)
            SIM_BUG("INV-3: request %lld is lost in the order of finishing", (long long)r->view.id);
    }
    SIM_LAW("INV-3 (order of finishing)", running->finishing.n, n);
    SIM_LAW("INV-4 (processed tokens)", context, running->context_tokens);
    SIM_LAW("INV-5 (growing sequences)", running->growth.sequences, growing);
    SIM_LAW("INV-5 (phases of growth)", sequences_by_phase(&running->growth), running->growth.sequences);
}

static void check_running_of(void *context, struct request *request)
{
    const struct replica *replica = context;
    bool first = request->view.prev == NULL;
    if (first && request->running != NULL && request->running != replica->ready) check_running(request->running);
}

void replica_check(const struct replica *replica)
{
    check_requests(replica);
    check_running(replica->ready);
    replica_each_in_flight(replica, check_running_of, (void *)(uintptr_t)replica);
}

void replica_check_absent(const struct replica *replica)
{
    if (replica->load->outstanding == 0 && replica->kv.free_blocks == replica->kv.total_blocks) return;
    SIM_BUG("INV-10: replica %d is not up and has %lld requests, and %lld of %lld KV blocks free", replica->index,
            (long long)replica->load->outstanding, (long long)replica->kv.free_blocks,
            (long long)replica->kv.total_blocks);
}
