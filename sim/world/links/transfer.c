/* Transfers between replicas and tiers: a flow for every shard, over its own GPU's links; or one flow for all shards
 * that are alike (bundle.c). */
#include "sim/core/check.h"
#include "sim/world/links/topology_state.h"

#include <math.h>

static void give_shards(struct transfer *transfer)
{
    for (struct transfer_shard *shard = transfer->more, *next; shard != NULL; shard = next) {
        next = shard->next;
        pool_give(&transfer->topology->shards, shard);
    }
    transfer->more = NULL;
}

static void enlist(struct transfer *transfer)
{
    struct topology *topology = transfer->topology;
    transfer->before = NULL;
    transfer->after = topology->moving;
    if (topology->moving != NULL) topology->moving->before = transfer;
    topology->moving = transfer;
}

static void delist(struct transfer *transfer)
{
    *(transfer->before != NULL ? &transfer->before->after : &transfer->topology->moving) = transfer->after;
    if (transfer->after != NULL) transfer->after->before = transfer->before;
}

void topology_count_moved(struct topology *topology, const struct link_flow *flow, int64_t bytes)
{
    for (int32_t k = 0; k < flow->n_hops; k++)
        topology->moved_bytes[topology->kinds[link_index(flow->links[k])]] += bytes;
}

/* Counts the bytes of a shard that ends on the links of its path, by kind; of a bundle also on their twins. */
static void count_moved(const struct transfer *transfer, const struct link_flow *flow, int64_t bytes)
{
    struct topology *topology = transfer->topology;
    topology_note_path(topology, flow, -1);
    for (int32_t k = 0; k < flow->n_hops; k++)
        topology->moved_bytes[topology->kinds[link_index(flow->links[k])]] += bytes * transfer_copies(transfer, k);
}

static void shard_done(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    struct transfer_shard *shard = LINK_FLOW_ENTITY(flow, struct transfer_shard, flow);
    struct transfer *transfer = shard->transfer;
    (void)net;
    count_moved(transfer, flow, flow->bytes);
    if (--transfer->n_left > 0) return;
    delist(transfer);
    give_shards(transfer);
    transfer->notify(transfer, now);
}

static int64_t whole_granules(int64_t bytes, const struct tier *tier)
{
    int64_t granule = tier != NULL ? tier->granularity_bytes : 1;
    return (bytes + granule - 1) / granule * granule;
}

/* The lowest grant of a shard, times their number. */
static double find_grant(struct transfer *transfer)
{
    double least = link_flow_bytes_per_s(&transfer->first.flow);
    for (struct transfer_shard *shard = transfer->more; shard != NULL; shard = shard->next)
        least = fmin(least, link_flow_bytes_per_s(&shard->flow));
    return least * transfer->n_left;
}

static void shard_changed(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    struct transfer *transfer = LINK_FLOW_ENTITY(flow, struct transfer_shard, flow)->transfer;
    double granted = find_grant(transfer);
    (void)net;
    if (granted == transfer->granted_bytes_per_s) return;
    transfer->granted_bytes_per_s = granted;
    transfer->notify(transfer, now);
}

/* The start of its flow sets the rest. */
static void init_shard(struct transfer_shard *shard, struct transfer *transfer)
{
    shard->flow.state = LINK_FLOW_IDLE;
    shard->transfer = transfer;
    shard->next = NULL;
}

static void init_transfer(struct transfer *transfer, struct topology *topology)
{
    transfer->topology = topology;
    transfer->bytes = 0;
    transfer->demand_bytes_per_s = transfer->granted_bytes_per_s = 0;
    transfer->n_left = transfer->n_out_hops = 0;
    transfer->gpus[0] = transfer->gpus[1] = 0;
    transfer->holder = NULL;
    transfer->before = transfer->after = NULL;
    init_shard(&transfer->first, transfer);
    transfer->more = NULL;
}

static int start_shard(struct transfer *transfer, struct transfer_shard *shard, struct topology_end from,
                       struct topology_end to, int32_t number)
{
    struct topology *topology = transfer->topology;
    int64_t n = topology_shards(from, to), bytes = transfer->bytes / n + (number < transfer->bytes % n);
    struct link_path path;
    double cap_bytes_per_s, granted;
    int code = topology_path(topology, from, to, number, &path, &cap_bytes_per_s);
    if (code != 0) return code;
    init_shard(shard, transfer);
    bytes = whole_granules(whole_granules(bytes, from.tier), to.tier);
    if (transfer->demand_bytes_per_s > 0)
        code = link_claim_start(topology->net, &shard->flow, &path,
                                fmin(transfer->demand_bytes_per_s / (double)n, cap_bytes_per_s), shard_changed,
                                &granted);
    else
        code = link_flow_start(topology->net, &shard->flow, &path, bytes, cap_bytes_per_s, shard_done);
    if (code == 0) topology_note_path(topology, &shard->flow, 1);
    return code;
}

/* Starts the one flow of a transfer whose shards are alike. */
static int start_bundle(struct transfer *transfer, struct topology_end from, struct topology_end to)
{
    struct topology *topology = transfer->topology;
    struct link_path path;
    double cap_bytes_per_s;
    const int64_t n = topology_shards(from, to);
    int code = topology_bundle_path(topology, from, to, &path, &cap_bytes_per_s);
    SIM_REQUIRE(transfer->bytes % n == 0);
    if (code != 0) return code;
    init_shard(&transfer->first, transfer);
    transfer->n_out_hops = topology_bundle_out_links(from, to);
    transfer->gpus[0] = from.placement->n_gpus;
    transfer->gpus[1] = to.placement->n_gpus;
    code = link_flow_start(topology->net, &transfer->first.flow, &path, transfer->bytes / n, cap_bytes_per_s,
                           shard_done);
    if (code != 0) return code;
    topology_note_path(topology, &transfer->first.flow, 1);
    transfer->n_left = 1;
    enlist(transfer);
    return 0;
}

/* Starts the shards of an initialised transfer; none if one of them fails. */
static int start_shards(struct transfer *transfer, struct topology_end from, struct topology_end to)
{
    struct topology *topology = transfer->topology;
    int32_t n = topology_shards(from, to);
    struct transfer_shard **last = &transfer->more;
    int code = start_shard(transfer, &transfer->first, from, to, 0);
    if (code != 0) return code;
    enlist(transfer);
    for (transfer->n_left = 1; transfer->n_left < n && code == 0; transfer->n_left += code == 0) {
        struct transfer_shard *shard = pool_take(&topology->shards);
        if (shard == NULL) {
            code = SIM_E_NOMEM;
        } else {
            code = start_shard(transfer, shard, from, to, transfer->n_left);
            if (code != 0) pool_give(&topology->shards, shard);
        }
        if (code == 0) last = &(*last = shard)->next;
    }
    if (code != 0) transfer_cancel(transfer);
    return code;
}

int topology_move(struct topology *topology, struct topology_end from, struct topology_end to, int64_t bytes,
                  struct transfer *transfer, transfer_fn done)
{
    SIM_REQUIRE(transfer->n_left == 0 && bytes >= 0);
    init_transfer(transfer, topology);
    transfer->bytes = bytes;
    transfer->notify = done;
    if (topology_is_bundle(from, to)) return start_bundle(transfer, from, to);
    SIM_REQUIRE(!from.placement->bundled && !to.placement->bundled);
    return start_shards(transfer, from, to);
}

int topology_claim(struct topology *topology, struct topology_end from, struct topology_end to,
                   double demand_bytes_per_s, struct transfer *transfer, transfer_fn changed)
{
    SIM_REQUIRE(transfer->n_left == 0 && demand_bytes_per_s > 0);
    init_transfer(transfer, topology);
    transfer->demand_bytes_per_s = demand_bytes_per_s;
    transfer->notify = changed;
    int code = start_shards(transfer, from, to);
    if (code == 0) transfer->granted_bytes_per_s = find_grant(transfer);
    return code;
}

double transfer_demand(struct transfer *transfer, double demand_bytes_per_s)
{
    SIM_REQUIRE(transfer->n_left > 0 && transfer->demand_bytes_per_s > 0 && demand_bytes_per_s > 0);
    transfer->demand_bytes_per_s = demand_bytes_per_s;
    double each = demand_bytes_per_s / transfer->n_left;
    link_claim_demand(&transfer->first.flow, each);
    for (struct transfer_shard *shard = transfer->more; shard != NULL; shard = shard->next)
        link_claim_demand(&shard->flow, each);
    return transfer->granted_bytes_per_s = find_grant(transfer);
}

double transfer_grant(struct transfer *transfer)
{
    double least = link_claim_grant(&transfer->first.flow);
    for (struct transfer_shard *shard = transfer->more; shard != NULL; shard = shard->next)
        least = fmin(least, link_claim_grant(&shard->flow));
    return transfer->granted_bytes_per_s = least * transfer->n_left;
}

void transfer_hold(struct transfer *transfer)
{
    link_claim_hold(&transfer->first.flow);
    for (struct transfer_shard *shard = transfer->more; shard != NULL; shard = shard->next)
        link_claim_hold(&shard->flow);
}

void transfer_count(struct transfer *transfer, int64_t bytes)
{
    int64_t n = transfer->n_left, number = 0;
    SIM_REQUIRE(n > 0 && bytes >= 0);
    link_claim_count(&transfer->first.flow, bytes / n + (number++ < bytes % n));
    for (struct transfer_shard *shard = transfer->more; shard != NULL; shard = shard->next)
        link_claim_count(&shard->flow, bytes / n + (number++ < bytes % n));
}

void transfer_cancel(struct transfer *transfer)
{
    if (transfer->n_left == 0) return;
    for (struct transfer_shard *shard = &transfer->first; shard != NULL;
         shard = shard == &transfer->first ? transfer->more : shard->next) {
        if (shard->flow.state == LINK_FLOW_IDLE) continue; /* already counted, or never started */
        count_moved(transfer, &shard->flow, link_flow_cancel(&shard->flow));
    }
    transfer->n_left = 0;
    delist(transfer);
    give_shards(transfer);
}

/* --- A transfer by itself --- */

/* Seconds for which the transfer's own bytes fill a link of one of its shards. A bundle's one flow fills its links as
 * each of its shards would. */
static double fill_s(const struct transfer *transfer, const struct link *link)
{
    double bytes = 0;
    for (const struct transfer_shard *shard = &transfer->first; shard != NULL;
         shard = shard == &transfer->first ? transfer->more : shard->next)
        for (int32_t k = 0; k < shard->flow.n_hops; k++)
            if (shard->flow.links[k] == link) bytes += (double)shard->flow.bytes;
    return bytes / link_bytes_per_s(link);
}

static struct transfer_alone alone_of(const struct transfer *transfer, const struct link_flow *flow)
{
    struct transfer_alone alone = {.seconds = (double)flow->bytes / flow->cap_bytes_per_s,
                                   .link_bytes_per_s = flow->cap_bytes_per_s};
    for (int32_t k = 0; k < flow->n_hops; k++) {
        const struct link *link = flow->links[k];
        const double filled_s = fill_s(transfer, link);
        if (filled_s > alone.seconds || (filled_s == alone.seconds && alone.link == NULL))
            alone = (struct transfer_alone){filled_s, link_name(link), link_name(link), link_bytes_per_s(link)};
        if (filled_s == alone.seconds) alone.last = link_name(link);
    }
    return alone;
}

struct transfer_alone transfer_alone(const struct transfer *transfer)
{
    struct transfer_alone alone = {0};
    sim_ns begin_ns = 0;
    for (const struct transfer_shard *shard = &transfer->first; shard != NULL;
         shard = shard == &transfer->first ? transfer->more : shard->next) {
        const sim_ns shard_ns = link_flow_begin_ns(&shard->flow);
        if (shard_ns > begin_ns) begin_ns = shard_ns;
        const struct transfer_alone of_shard = alone_of(transfer, &shard->flow);
        if (of_shard.seconds > alone.seconds) alone = of_shard;
    }
    alone.seconds += sim_s_from_ns(begin_ns - engine_now(transfer->topology->env.site->engine));
    return alone;
}

/* --- Flows of their own --- */

int topology_flow_start(struct topology *topology, struct topology_flow *flow, const struct link_path *path,
                        int64_t bytes, link_fn done)
{
    *flow = (struct topology_flow){.after = topology->flows};
    const int code = link_flow_start(topology->net, &flow->flow, path, bytes, HUGE_VAL, done);
    if (code != 0) return code;
    if (flow->after != NULL) flow->after->before = flow;
    topology->flows = flow;
    topology_note_path(topology, &flow->flow, 1);
    return 0;
}

static void end_flow(struct topology *topology, struct topology_flow *flow, int64_t bytes)
{
    *(flow->before != NULL ? &flow->before->after : &topology->flows) = flow->after;
    if (flow->after != NULL) flow->after->before = flow->before;
    topology_count_moved(topology, &flow->flow, bytes);
    topology_note_path(topology, &flow->flow, -1);
}

void topology_flow_ended(struct topology *topology, struct topology_flow *flow)
{
    end_flow(topology, flow, flow->flow.bytes);
}

void topology_flow_cancel(struct topology *topology, struct topology_flow *flow)
{
    if (flow->flow.state != LINK_FLOW_IDLE) end_flow(topology, flow, link_flow_cancel(&flow->flow));
}
