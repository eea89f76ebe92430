#include "sim/world/invariant.h"

#include "sim/core/check.h"

/* Both sides of a law that should be equal. */
static void check_equal(const char *law, int64_t left, int64_t right)
{
    if (left != right) SIM_BUG("%s is violated: %lld != %lld", law, (long long)left, (long long)right);
}

void invariant_check_requests(int64_t in_pool, int64_t in_replicas)
{
    check_equal("INV-1 (requests are conserved)", in_pool, in_replicas);
}

static int64_t count_list(const struct request_list *list)
{
    int64_t n = 0;
    for (const struct request *request = list->head; request != NULL; request = request_of(request->view.next)) n++;
    return n;
}

/* What the requests of a replica add up to. */
struct sums {
    const struct replica *replica;
    int64_t requests, unprocessed_tokens, held_blocks, elsewhere_blocks;
    int64_t shares; /* prefix blocks that they hold in the prefix cache */
};

/* Where a request is must agree with what it says of itself. */
static void check_state(const struct replica *replica, const struct request *request)
{
    bool decodes = request->view.state == REQUEST_DECODING;
    if ((request->cohort != NULL) != decodes || (request->grows && !decodes))
        SIM_BUG("INV-1: request %lld is not where it says", (long long)request->view.id);
    if (request->replica != replica->index)
        SIM_BUG("INV-1: request %lld is at the wrong replica", (long long)request->view.id);
}

/* In an iteration with decoding, the blocks of its step are taken but the step is not counted. In a run of decode iterations
 * they are taken when its boundaries are. */
static bool is_in_step(const struct replica *replica, const struct request *request)
{
    return request->cohort != replica->ready || (replica->state == REPLICA_PREFILL && replica->plan.decode);
}

static int64_t blocks_held(const struct replica *replica, const struct request *request)
{
    if (!request->grows) return request->held_blocks;
    return kvcache_blocks(&replica->kv, cohort_context(request->cohort, request) - !is_in_step(replica, request));
}

static void add_request(void *context, struct request *request)
{
    struct sums *sums = context;
    const struct kvcache *kv = &sums->replica->kv;
    check_state(sums->replica, request);
    sums->requests++;
    sums->held_blocks += blocks_held(sums->replica, request);
    if (request->prefix != NULL && request->prefix->cache == &sums->replica->prefixes.cache)
        sums->shares += request->prefix->n_shared;
    if (request->view.state == REQUEST_WAITING || request->view.state == REQUEST_PREFILLING)
        sums->unprocessed_tokens += request_unprocessed_tokens(request);
    else if (request->move != NULL || (request->view.state == REQUEST_AWAY && request->handed_blocks == 0))
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
        holders += cache->items[i].holders > 0 ? cache->items[i].holders : 0;
        held += cache->items[i].holders > 0;
    }
    check_equal("INV-2 (holders of cached blocks)", holders, prefixes->shares);
    check_equal("INV-2 (holders among requests)", sums->shares + prefixes->handed_shares, prefixes->shares);
    check_equal("INV-2 (cached blocks in use)", held, cache->view.held);
    if (cache_evictable(cache) * prefixes->item_blocks > replica->kv.free_blocks)
        SIM_BUG("INV-2: %lld unused cached blocks of %lld each are more than the %lld free ones",
                (long long)cache_evictable(cache), (long long)prefixes->item_blocks,
                (long long)replica->kv.free_blocks);
}

static void check_requests(const struct replica *replica)
{
    const struct replica_load *load = replica->load;
    struct sums sums = {.replica = replica};
    replica_each_request(replica, add_request, &sums);
    check_equal("INV-1 (requests at the replica)", sums.requests, load->outstanding);
    check_equal("INV-1 (running)", replica->waiting.n + replica->away.n + replica_running(replica), sums.requests);
    check_equal("INV-1 (queue)", count_list(&replica->waiting), replica->waiting.n);
    check_equal("INV-1 (queue as routers see it)", replica->waiting.n, load->waiting);
    check_equal("INV-1 (queued tokens as routers see them)", sums.unprocessed_tokens, load->queued_tokens);
    const struct replica_prefixes *prefixes = &replica->prefixes;
    int64_t shared_twice = (prefixes->shares - prefixes->cache.view.held) * prefixes->item_blocks;
    check_equal("INV-2 (KV blocks are conserved)",
                replica->kv.free_blocks + sums.held_blocks + replica->handed_blocks - shared_twice,
                replica->kv.total_blocks);
    check_prefixes(replica, &sums);
    check_equal("INV-2 (KV elsewhere is conserved)", replica->host_blocks + replica->moving_blocks,
                sums.elsewhere_blocks);
}

static int64_t sequences_by_phase(const struct kv_growth *growth)
{
    int64_t n = 0;
    for (int64_t i = 0; i < growth->block_tokens; i++) n += growth->phases[i];
    return n;
}

static void check_cohort(const struct cohort *cohort)
{
    int64_t context = 0, n = 0, growing = 0;
    for (const struct request *r = cohort->members.head; r != NULL; r = request_of(r->view.next), n++) {
        growing += r->grows;
        context += cohort_context(cohort, r);
        if (r->finish_step <= cohort->step) SIM_BUG("INV-3: request %lld is past its end", (long long)r->view.id);
        if (cohort->finishing.entries[r->ranks[RANK_FINISH]].request != r)
            SIM_BUG("INV-3: request %lld is lost in the order of finishing", (long long)r->view.id);
    }
    check_equal("INV-3 (order of finishing)", cohort->finishing.n, n);
    check_equal("INV-4 (processed tokens)", context, cohort->context_tokens);
    check_equal("INV-5 (growing sequences)", cohort->growth.sequences, growing);
    check_equal("INV-5 (phases of growth)", sequences_by_phase(&cohort->growth), cohort->growth.sequences);
}

static void check_cohort_of(void *context, struct request *request)
{
    const struct replica *replica = context;
    bool first = request->view.prev == NULL;
    if (first && request->cohort != NULL && request->cohort != replica->ready) check_cohort(request->cohort);
}

void invariant_check_replica(const struct replica *replica)
{
    check_requests(replica);
    check_cohort(replica->ready);
    replica_each_in_flight(replica, check_cohort_of, (void *)(uintptr_t)replica);
}

/* No GPU, CPU or memory is held twice, and the counts follow the stock. */
static void check_stock(const struct cluster *cluster)
{
    const char *fault = stock_fault(cluster->stock);
    if (fault != NULL) SIM_BUG("INV-6: %s", fault);
    int64_t left_milli = 0;
    for (int32_t i = 0; i < cluster->n_nodes; i++) {
        const struct node_view *node = &cluster->stock->nodes[i];
        left_milli += node->left_milli;
        check_equal("INV-6 (free GPUs of a node)", cluster->node_free_gpus[i], node->free_gpus);
    }
    check_equal("INV-6 (what is left of GPUs)", left_milli * (GPU_MICRO / 1000) + cluster->ugpus_in_use.value,
                cluster->unplaced_ugpus + (cluster->total_gpus - cluster->away_gpus) * GPU_MICRO);
}

void invariant_check_cluster(const struct cluster *cluster)
{
    if (cluster->total_gpus == INT64_MAX) return;
    const int64_t ugpus = cluster->ugpus_in_use.value + (cluster->stock == NULL ? GPU_MICRO - 1 : 0);
    check_equal("INV-6 (GPUs are conserved)", cluster->free_gpus + cluster->away_gpus + ugpus / GPU_MICRO,
                cluster->total_gpus);
    if (cluster->is_placed) check_equal("INV-6 (what is placed is on nodes)", cluster->unplaced_ugpus, 0);
    if (cluster->stock != NULL) check_stock(cluster);
    for (int32_t i = 0; cluster->node_free_gpus != NULL && i < cluster->n_nodes; i++) {
        int32_t free_gpus = cluster->node_free_gpus[i];
        if (free_gpus < 0 || free_gpus > cluster->gpus_per_node)
            SIM_BUG("INV-6: node %d has %d free GPUs of %d", i, free_gpus, cluster->gpus_per_node);
    }
}

void invariant_check_little(const struct level *in_system, tally_int128 stay_ns, sim_ns now)
{
    tally_int128 integral = in_system->integral + (tally_int128)in_system->value * (now - in_system->since_ns);
    if (integral != stay_ns)
        SIM_BUG("INV-7 (Little's law) is violated: %.17g != %.17g request-seconds", (double)integral / 1e9,
                (double)stay_ns / 1e9);
}

void invariant_check_links(int64_t carried_bytes, int64_t moved_bytes)
{
    check_equal("INV-8 (links carry what transfers move)", carried_bytes, moved_bytes);
}

void invariant_check_tier(const struct tier *tier)
{
    if (tier->used.value < 0 || tier->used.value > tier->capacity_bytes)
        SIM_BUG("INV-9 (tiers hold what they can) is violated: '%s' holds %lld of %lld bytes", tier->name,
                (long long)tier->used.value, (long long)tier->capacity_bytes);
}

void invariant_check_absent(const struct replica *replica)
{
    if (replica->load->outstanding == 0 && replica->kv.free_blocks == replica->kv.total_blocks) return;
    SIM_BUG("INV-10: replica %d is not up and has %lld requests, and %lld of %lld KV blocks free", replica->index,
            (long long)replica->load->outstanding, (long long)replica->kv.free_blocks,
            (long long)replica->kv.total_blocks);
}

void invariant_check_seat(const struct replica *replica, int64_t gpus)
{
    check_equal("INV-10 (replicas hold the GPUs they need)", replica->seat.n_gpus, gpus);
}

void invariant_check_leases(int64_t leased, int64_t by_lease, int64_t by_offer)
{
    check_equal("INV-12 (leased GPUs, by lease)", leased, by_lease);
    check_equal("INV-12 (leased GPUs, by offer)", leased, by_offer);
}

void invariant_check_bill(int64_t uusd, int64_t by_offer_uusd)
{
    check_equal("INV-12 (the bill, by offer)", uusd, by_offer_uusd);
}
