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

static int64_t unprocessed_tokens(const struct request_list *list)
{
    int64_t n = 0;
    for (const struct request *r = list->head; r != NULL; r = request_of(r->view.next))
        n += request_unprocessed_tokens(r);
    return n;
}

static void check_queues(const struct replica *replica)
{
    const struct replica_load *load = replica->load;
    check_equal("INV-1 (queued tokens as routers see them)",
                unprocessed_tokens(&replica->waiting) + unprocessed_tokens(&replica->prefilling), load->queued_tokens);
    check_equal("INV-1 (queue)", count_list(&replica->waiting), replica->waiting.n);
    check_equal("INV-1 (queue as routers see it)", replica->waiting.n, load->waiting);
    check_equal("INV-1 (requests at the replica)", replica->waiting.n + replica->prefilling.n + replica->decoding.n,
                load->outstanding);
}

/* In the middle of an iteration with prefill and decoding, the blocks of that step are taken but the step is not counted. */
static bool is_growing(const struct replica *replica)
{
    return replica->state == REPLICA_PREFILL && replica->plan.decode;
}

static int64_t blocks_held(const struct replica *replica)
{
    const struct kvcache *kv = &replica->kv;
    int64_t blocks = 0;
    for (const struct request *r = replica->prefilling.head; r != NULL; r = request_of(r->view.next))
        blocks += r->held_blocks;
    for (const struct request *r = replica->decoding.head; r != NULL; r = request_of(r->view.next)) {
        if (!r->grows) blocks += r->held_blocks;
        if (!r->grows) continue;
        int64_t context = r->joined_context_tokens + replica->step - r->joined_step;
        blocks += kvcache_blocks(kv, is_growing(replica) ? context : context - 1);
    }
    return blocks;
}

static void check_members(const struct replica *replica)
{
    int64_t context = 0, n = 0, growing = 0;
    for (const struct request *r = replica->decoding.head; r != NULL; r = request_of(r->view.next), n++) {
        growing += r->grows;
        context += r->joined_context_tokens + replica->step - r->joined_step;
        if (r->finish_step <= replica->step) SIM_BUG("INV-3: request %lld is past its end", (long long)r->view.id);
        if (replica->finishing.entries[r->finish_rank].request != r)
            SIM_BUG("INV-3: request %lld is lost in the order of finishing", (long long)r->view.id);
    }
    check_equal("INV-3 (order of finishing)", replica->finishing.n, n);
    check_equal("INV-4 (processed tokens)", context, replica->context_tokens);
    check_equal("INV-5 (growing sequences)", replica->kv.sequences, growing);
}

static int64_t sequences_by_phase(const struct kvcache *kv)
{
    int64_t n = 0;
    for (int64_t i = 0; i < kv->block_tokens; i++) n += kv->phases[i];
    return n;
}

void invariant_check_replica(const struct replica *replica)
{
    const struct kvcache *kv = &replica->kv;
    check_queues(replica);
    check_equal("INV-2 (KV blocks are conserved)", kv->free_blocks + blocks_held(replica), kv->total_blocks);
    check_members(replica);
    check_equal("INV-5 (phases of growth)", sequences_by_phase(kv), kv->sequences);
}

void invariant_check_cluster(const struct cluster *cluster)
{
    if (cluster->total_gpus == INT64_MAX) return;
    check_equal("INV-6 (GPUs are conserved)", cluster->free_gpus + cluster->gpus_in_use.value, cluster->total_gpus);
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
