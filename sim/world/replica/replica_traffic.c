#include "sim/world/replica/replica_traffic.h"

#include "sim/core/check.h"
#include "sim/world/replica/inside.h"

#include <float.h>
#include <math.h>

static const double rounding = 1e-6;    /* relative differences below this are no lack of bandwidth */
static const double settled = 0x1p-10;  /* a share counts as changed at this relative difference */
static const double drifts = 64;        /* a demand counts as changed at a difference of 1/64 */

enum { MOST_PARTNERS = 16, LABEL_BITS = 24 };

/* From a GPU to one of another node. */
struct traffic_edge {
    struct replica_traffic *traffic;
    struct link_path path;
    bool is_ring;
    double bytes;        /* of the current iteration */
    double counted;      /* bytes since the claim began */
    int64_t whole_bytes; /* of them, on the links */
    struct link_flow standing, sensor;
};

struct replica_traffic {
    struct replica *replica;
    struct traffic_edge *edges; /* [n]; NULL: the replica has no GPUs, or has not computed on them yet */
    int32_t n, n_partners;
    bool claims;                      /* edges have claims */
    struct iteration_work work;       /* of the iteration that was priced last */
    struct iteration_traffic alone;   /* of it */
    double alone_s;                   /* time of it on a network of its own */
    double share_frac;                /* of the network, in force */
    struct iteration_cost added;      /* what that adds to the cost: first_s, slope_s; and until */
    double extra_s;                   /* to the time; it may be more, as the grants demand */
    double extra_before_s;            /* what the end of the current iteration includes */
    double left_frac;                 /* left of it when the share came into force */
    sim_ns since_ns;
};

/* --- Edges --- */

static const struct iteration_model *model_of(const struct replica_traffic *traffic)
{
    return &traffic->replica->env->model;
}

static void read_traffic(const struct replica_traffic *traffic, const struct iteration_work *work, double share_frac,
                         struct iteration_traffic *out)
{
    model_of(traffic)->traffic(model_of(traffic)->model, work, share_frac, out);
}

static int32_t count_nodes(const struct topology_placement *placement)
{
    int32_t n = 1;
    for (int32_t i = 1; i < placement->n_gpus; i++)
        n += topology_placement_nic(placement, i).node != topology_placement_nic(placement, i - 1).node;
    return n;
}

/* A NIC of the replica, and the one of the same place on the node that is `shift` further in a ring of the nodes. */
static struct graph_flow flow_of(const struct topology_placement *placement, int32_t gpu, int32_t shift,
                                 int32_t per_node)
{
    const int32_t to = (gpu + shift * per_node) % placement->n_gpus;
    return (struct graph_flow){topology_placement_nic(placement, gpu), topology_placement_nic(placement, to)};
}

/* All GPUs send to their partners: to the next node alone, unless some collective reaches them all. Writes the flows
 * [traffic->n], and which edges are those of a ring. */
static void list_flows(struct replica_traffic *traffic, int32_t nodes, struct graph_flow *flows)
{
    const struct topology_placement *placement = &traffic->replica->placement;
    for (int32_t i = 0; i < traffic->n; i++) {
        const int32_t q = i / placement->n_gpus, gpu = i % placement->n_gpus;
        const int32_t shift = 1 + (int32_t)((int64_t)q * (nodes - 1) / traffic->n_partners);
        flows[i] = flow_of(placement, gpu, shift, placement->n_gpus / nodes);
        traffic->edges[i] = (struct traffic_edge){.traffic = traffic, .is_ring = shift == 1};
    }
}

/* Finds the paths of all edges. Where paths are planned, they are planned together: until the claims begin, no edge is
 * load to the next one. */
static int find_paths(struct replica_traffic *traffic, const struct graph_flow *flows, struct graph_choice *choices)
{
    struct topology *topology = traffic->replica->placement.topology;
    const bool is_planned = topology_config(topology)->network.paths == NETWORK_PLANNED;
    int code = is_planned ? topology_plan(topology, flows, traffic->n, choices) : 0;
    for (int32_t i = 0; i < traffic->n && code == 0; i++) {
        const uint64_t label = (uint64_t)traffic->replica->owner.id << LABEL_BITS | (uint64_t)i;
        code = topology_nic_path(topology, flows[i].from, flows[i].to,
                                 (struct topology_route){label, is_planned ? &choices[i] : NULL},
                                 &traffic->edges[i].path);
    }
    return code;
}

static int make_edges(struct replica_traffic *traffic)
{
    static const struct iteration_work one = {.decode_sequences = 1, .decode_context_tokens = 1};
    const struct topology_placement *placement = &traffic->replica->placement;
    const int32_t nodes = count_nodes(placement);
    struct iteration_traffic sent;
    read_traffic(traffic, &one, 1.0, &sent);
    traffic->n_partners = !(sent.spread_bytes > 0.0) ? 1 : nodes - 1 < MOST_PARTNERS ? nodes - 1 : MOST_PARTNERS;
    traffic->n = nodes > 1 ? placement->n_gpus * traffic->n_partners : 0;
    const size_t n = (size_t)traffic->n + 1;
    struct graph_flow *flows = mem_zalloc(n, sizeof *flows);
    struct graph_choice *choices = mem_zalloc(n, sizeof *choices);
    traffic->edges = mem_zalloc(n, sizeof *traffic->edges);
    const bool has_memory = flows != NULL && choices != NULL && traffic->edges != NULL;
    if (has_memory) list_flows(traffic, nodes, flows);
    const int code = has_memory ? find_paths(traffic, flows, choices) : SIM_E_NOMEM;
    mem_free(choices);
    mem_free(flows);
    return code;
}

int replica_traffic_open(struct replica *replica)
{
    struct replica_traffic *traffic = mem_zalloc(1, sizeof *traffic);
    replica->traffic = traffic;
    if (traffic == NULL) return SIM_E_NOMEM;
    traffic->replica = replica;
    traffic->share_frac = 1.0;
    traffic->added.until = INT64_MAX;
    return 0;
}

/* The claims of a network that is destroyed need no end. */
void replica_traffic_close(struct replica *replica)
{
    if (replica->traffic == NULL) return;
    mem_free(replica->traffic->edges);
    mem_free(replica->traffic);
    replica->traffic = NULL;
}

/* --- Claims --- */

static struct topology *topology_of(const struct replica_traffic *traffic)
{
    return traffic->replica->placement.topology;
}

/* A rate above 0, as claims have: on links of next to no bandwidth a time is infinite. */
static double rate_of(double bytes, double time_s)
{
    return fmax(bytes / time_s, DBL_MIN);
}

/* The rate that an edge wants while it sends. */
static double peak_of(const struct traffic_edge *edge)
{
    return rate_of(edge->bytes, edge->traffic->alone.sending_s);
}

void replica_traffic_end_claims(struct replica_traffic *traffic)
{
    if (!traffic->claims) return;
    traffic->claims = false;
    for (int32_t i = 0; i < traffic->n; i++) {
        struct traffic_edge *edge = &traffic->edges[i];
        topology_note_path(topology_of(traffic), &edge->standing, -1);
        link_flow_cancel(&edge->standing);
        link_flow_cancel(&edge->sensor);
    }
}

void replica_traffic_leave(struct replica_traffic *traffic)
{
    SIM_ASSERT(!traffic->claims); /* an idle replica has none */
    mem_free(traffic->edges);
    traffic->edges = NULL;
    traffic->n = 0;
}

/* --- Shares --- */

/* The share of its wish that the edge with the least gets if all edges send now. Standing claims only try that demand
 * where the network is settled, as it is while an iteration is under way. Else they are left at it. */
static double probe(struct replica_traffic *traffic)
{
    double least = 1.0;
    for (int32_t i = 0; i < traffic->n; i++) link_claim_ask(&traffic->edges[i].sensor, peak_of(&traffic->edges[i]));
    const bool tries = link_net_is_settled(topology_net(topology_of(traffic)));
    for (int32_t i = 0; i < traffic->n; i++)
        (tries ? link_claim_try : link_claim_ask)(&traffic->edges[i].standing, peak_of(&traffic->edges[i]));
    for (int32_t i = 0; i < traffic->n; i++) {
        struct link_flow *standing = &traffic->edges[i].standing;
        const double peak = peak_of(&traffic->edges[i]);
        least = fmin(least, (tries ? link_claim_tried(standing, peak) : link_flow_bytes_per_s(standing)) / peak);
    }
    for (int32_t i = 0; i < traffic->n && tries; i++) link_claim_end_try(&traffic->edges[i].standing);
    return least < 1.0 - rounding ? least : 1.0;
}

/* Lowers the claims to what an iteration of this time needs, with no filling where they stand there. Returns the least
 * time that their grants allow. */
static double stand(struct replica_traffic *traffic, double iteration_s)
{
    double least_s = 0.0;
    for (int32_t i = 0; i < traffic->n; i++)
        link_claim_ask(&traffic->edges[i].standing, rate_of(traffic->edges[i].bytes, iteration_s));
    for (int32_t i = 0; i < traffic->n; i++) {
        least_s = fmax(least_s, traffic->edges[i].bytes / link_claim_grant(&traffic->edges[i].standing));
        link_claim_grant(&traffic->edges[i].sensor);
    }
    return least_s;
}

/* What the share in force adds, priced by the model: computing may hide it. */
static struct iteration_cost added_by(const struct replica_traffic *traffic)
{
    const struct iteration_model *model = model_of(traffic);
    struct iteration_cost full, slow;
    if (!(traffic->share_frac < 1.0)) return (struct iteration_cost){.until = INT64_MAX};
    model->cost_at_share(model->model, &traffic->work, 1.0, &full);
    model->cost_at_share(model->model, &traffic->work, traffic->share_frac, &slow);
    return (struct iteration_cost){.first_s = slow.first_s - full.first_s,
                                   .slope_s = slow.slope_s - full.slope_s,
                                   .until = slow.until};
}

/* Finds the present share and what it adds to the iteration. Of an iteration under way, a share that is nearly that in
 * force stays. Returns whether the time has changed. */
static bool find_share(struct replica_traffic *traffic, bool is_new)
{
    const double share_frac = probe(traffic), before_s = traffic->extra_s;
    if (is_new || fabs(share_frac - traffic->share_frac) > settled * traffic->share_frac) {
        traffic->share_frac = share_frac;
        traffic->added = added_by(traffic);
    }
    const double iteration_s = traffic->alone_s + traffic->added.first_s, least_s = stand(traffic, iteration_s);
    traffic->extra_s = least_s > iteration_s * (1.0 + rounding) ? least_s - traffic->alone_s : traffic->added.first_s;
    return traffic->extra_s != before_s;
}

static void share_changed(const struct traffic_edge *edge, sim_ns now)
{
    struct replica *replica = edge->traffic->replica;
    if (!find_share(edge->traffic, false)) return;
    const int code = replica_reprice(replica, now);
    if (code != 0) engine_fail(replica->env->engine, code);
}

static void sensor_changed(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    share_changed(LINK_FLOW_ENTITY(claim, struct traffic_edge, sensor), now);
}

static void standing_changed(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    share_changed(LINK_FLOW_ENTITY(claim, struct traffic_edge, standing), now);
}

/* --- Claims that begin --- */

static int start_claim(struct traffic_edge *edge)
{
    struct topology *topology = topology_of(edge->traffic);
    struct link_net *net = topology_net(topology);
    int code = link_claim_start(net, &edge->standing, &edge->path, peak_of(edge), standing_changed, NULL);
    if (code != 0) return code;
    link_claim_hold(&edge->standing);
    link_claim_leave_idle(&edge->standing);
    topology_note_path(topology, &edge->standing, 1);
    edge->counted = 0.0;
    edge->whole_bytes = 0;
    code = link_claim_start(net, &edge->sensor, &edge->path, peak_of(edge), sensor_changed, NULL);
    if (code != 0) return code;
    link_claim_sense(&edge->sensor);
    link_claim_leave_idle(&edge->sensor);
    return 0;
}

static double bytes_of(const struct traffic_edge *edge, const struct iteration_traffic *sent)
{
    return (edge->is_ring ? sent->ring_bytes : 0.0) + sent->spread_bytes / edge->traffic->n_partners;
}

/* Edges and claims for the iteration in traffic->alone. */
static int claim_edges(struct replica_traffic *traffic)
{
    int code = traffic->edges == NULL ? make_edges(traffic) : 0;
    for (int32_t i = 0; i < traffic->n; i++)
        traffic->edges[i].bytes = bytes_of(&traffic->edges[i], &traffic->alone);
    for (int32_t i = 0; i < traffic->n && code == 0 && !traffic->claims; i++) code = start_claim(&traffic->edges[i]);
    traffic->claims = true;
    return code;
}

/* --- Iterations --- */

/* The iteration from which on the demand has changed, in a run whose iterations become longer. */
static int64_t steady_until(const struct iteration_cost *cost)
{
    const double change = drifts * fabs(cost->slope_s) / cost->first_s;
    return change > 0x1p-62 ? (int64_t)(1.0 / change) + 1 : INT64_MAX;
}

int replica_traffic_cost(struct replica_traffic *traffic, const struct iteration_work *work,
                         struct iteration_cost *cost)
{
    traffic->work = *work;
    traffic->alone_s = cost->first_s;
    traffic->extra_s = 0.0;
    traffic->added = (struct iteration_cost){.until = INT64_MAX};
    read_traffic(traffic, work, 1.0, &traffic->alone);
    const bool sends = traffic->alone.sending_s > 0.0 && cost->first_s > 0.0;
    if (!sends) replica_traffic_end_claims(traffic);
    const int code = sends ? claim_edges(traffic) : 0;
    if (code != 0) return code;
    if (sends) find_share(traffic, true);
    const int64_t until = steady_until(cost);
    if (cost->until > until) cost->until = until;
    if (cost->until > traffic->added.until) cost->until = traffic->added.until;
    cost->first_s += traffic->extra_s;
    cost->slope_s = fmax(cost->slope_s + traffic->added.slope_s, 0.0);
    traffic->extra_before_s = traffic->extra_s;
    replica_traffic_begin(traffic, engine_now(traffic->replica->env->engine));
    return 0;
}

void replica_traffic_begin(struct replica_traffic *traffic, sim_ns start_ns)
{
    traffic->left_frac = 1.0;
    traffic->since_ns = start_ns;
}

sim_ns replica_traffic_end_ns(struct replica_traffic *traffic, sim_ns now, sim_ns end_ns)
{
    SIM_REQUIRE(end_ns > now && now >= traffic->since_ns);
    const double whole_s = sim_s_from_ns(end_ns - traffic->since_ns) / traffic->left_frac;
    traffic->left_frac *= (double)(end_ns - now) / (double)(end_ns - traffic->since_ns);
    traffic->since_ns = now;
    const double left_ns = traffic->left_frac * (whole_s - traffic->extra_before_s + traffic->extra_s) * 1e9;
    traffic->extra_before_s = traffic->extra_s;
    if (!(left_ns < 0x1p62)) return SIM_NS_MAX;
    return sim_ns_add(now, left_ns < 1 ? 1 : llrint(left_ns));
}

void replica_traffic_count(struct replica_traffic *traffic, const struct replica_batch *batch)
{
    struct iteration_traffic sent;
    if (!traffic->claims || batch->iterations == 0) return;
    read_traffic(traffic, &batch->work, 1.0, &sent);
    for (int32_t i = 0; i < traffic->n; i++) {
        struct traffic_edge *edge = &traffic->edges[i];
        edge->counted += (double)batch->iterations * bytes_of(edge, &sent);
        const int64_t more = (int64_t)edge->counted - edge->whole_bytes;
        link_claim_count(&edge->standing, more);
        topology_count_moved(topology_of(traffic), &edge->standing, more);
        edge->whole_bytes += more;
    }
}
