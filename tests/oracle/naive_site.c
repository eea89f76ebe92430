/* The site of the naive simulator: which GPUs replicas take, and KV that crosses links shared by max-min fairness, one
 * flow for each GPU of the larger group. Every rate is computed anew, by filling all links together, whenever a flow
 * begins or ends. */
#include "tests/oracle/naive_state.h"
#include "tests/support/harness.h"

/* --- GPUs --- */

static int free_gpus(const struct naive *naive, int node)
{
    int n = 0;
    for (int i = 0; i < naive->s->site->node_gpus; i++)
        n += !naive->network.is_taken[node * naive->s->site->node_gpus + i];
    return naive->network.is_down[node] ? 0 : n;
}

/* The node with the fewest free GPUs that suffice, the first of equals; -1: none. */
static int find_node(const struct naive *naive, int gpus)
{
    int best = -1;
    for (int node = 0; node < naive->s->site->nodes; node++)
        if (free_gpus(naive, node) >= gpus && (best < 0 || free_gpus(naive, node) < free_gpus(naive, best)))
            best = node;
    return best;
}

static void take_part(struct naive *naive, struct replica *replica, int node, int gpus)
{
    for (int i = 0; i < naive->s->site->node_gpus && gpus > 0; i++) {
        const int gpu = node * naive->s->site->node_gpus + i;
        if (naive->network.is_taken[gpu]) continue;
        naive->network.is_taken[gpu] = true;
        replica->gpus[replica->n_gpus++] = gpu;
        gpus--;
    }
}

bool site_take_gpus(struct naive *naive, int index)
{
    const struct naive_site *site = naive->s->site;
    struct replica *replica = &naive->replicas[index];
    const int wide = only_decodes(naive, index) ? site->decode_gpus : site->gpus;
    const int part = wide < site->node_gpus ? wide : site->node_gpus;
    const int all = wide * stages_of(naive, replica);
    while (replica->n_gpus < all) {
        const int node = find_node(naive, part);
        if (node < 0) break;
        take_part(naive, replica, node, part);
    }
    if (replica->n_gpus == all) return true;
    site_release_gpus(naive, index);
    return false;
}

void site_release_gpus(struct naive *naive, int index)
{
    struct replica *replica = &naive->replicas[index];
    for (int i = 0; i < replica->n_gpus; i++) naive->network.is_taken[replica->gpus[i]] = false;
    replica->n_gpus = 0;
}

/* --- Links --- */

enum link_kind { PORT, ADAPTER, NVLINK, FABRIC, KINDS };
enum { LINKS = 2 * KINDS * NAIVE_GPUS };

static int link_of(enum link_kind kind, bool inwards, int place)
{
    return (2 * (int)kind + inwards) * NAIVE_GPUS + place;
}

static double capacity(const struct naive_site *site, int link)
{
    const double rates[] = {
        [PORT] = site->port, [ADAPTER] = site->adapter, [NVLINK] = site->nvlink, [FABRIC] = site->fabric};
    return rates[link / (2 * NAIVE_GPUS)];
}

static void add_link(struct flow *flow, int link)
{
    flow->links[flow->n_links++] = link;
}

static int adapter_of(const struct naive_site *site, int gpu)
{
    return site->adapter_per_node ? gpu / site->node_gpus : gpu;
}

static void find_way(const struct naive_site *site, struct flow *flow, int from, int to)
{
    const bool joined = from / site->node_gpus == to / site->node_gpus;
    flow->cap = joined ? site->nvlink : (double)INFINITY;
    if (joined) {
        add_link(flow, link_of(NVLINK, false, from));
        add_link(flow, link_of(NVLINK, true, to));
        return;
    }
    add_link(flow, link_of(PORT, false, from));
    add_link(flow, link_of(ADAPTER, false, adapter_of(site, from)));
    if (site->fabric > 0) add_link(flow, link_of(FABRIC, false, 0));
    add_link(flow, link_of(ADAPTER, true, adapter_of(site, to)));
    add_link(flow, link_of(PORT, true, to));
}

/* --- Shares --- */

static bool moves_now(const struct naive *naive, const struct flow *flow)
{
    return flow->starts_ns <= naive->now_ns;
}

/* What each link has left for those whose rate is not known, and their number. */
static void count_links(const struct naive *naive, long double *left, int *users)
{
    for (int link = 0; link < LINKS; link++) users[link] = 0, left[link] = (long double)capacity(naive->s->site, link);
    for (int i = 0; i < naive->network.n; i++) {
        const struct flow *flow = &naive->network.flows[i];
        if (!moves_now(naive, flow)) continue;
        for (int k = 0; k < flow->n_links; k++) {
            if (flow->rate < 0)
                users[flow->links[k]]++;
            else
                left[flow->links[k]] -= flow->rate;
        }
    }
}

/* The lowest rate that a link or its own bound lets a flow without a rate have, and the link: -1, its bound. */
static long double find_lowest(const struct naive *naive, int *lowest_link)
{
    static long double left[LINKS];
    static int users[LINKS];
    long double lowest = (long double)INFINITY;
    count_links(naive, left, users);
    *lowest_link = -1;
    for (int link = 0; link < LINKS; link++)
        if (users[link] > 0 && left[link] / users[link] < lowest)
            lowest = left[link] / users[link], *lowest_link = link;
    for (int i = 0; i < naive->network.n; i++) {
        const struct flow *flow = &naive->network.flows[i];
        if (moves_now(naive, flow) && flow->rate < 0 && (long double)flow->cap < lowest)
            lowest = (long double)flow->cap, *lowest_link = -1;
    }
    return lowest;
}

static bool is_bound_by(const struct flow *flow, int link, long double rate)
{
    for (int k = 0; k < flow->n_links; k++)
        if (flow->links[k] == link) return true;
    return link < 0 && (long double)flow->cap <= rate;
}

static void fill(struct naive *naive)
{
    struct network *network = &naive->network;
    int unknown = 0, link;
    for (int i = 0; i < network->n; i++) {
        network->flows[i].rate = moves_now(naive, &network->flows[i]) ? -1 : 0;
        unknown += network->flows[i].rate < 0;
    }
    while (unknown > 0) {
        const long double rate = find_lowest(naive, &link);
        for (int i = 0; i < network->n; i++) {
            struct flow *flow = &network->flows[i];
            if (flow->rate >= 0 || !is_bound_by(flow, link, rate)) continue;
            flow->rate = rate;
            flow->end_ns = naive->now_ns + llrintl(flow->left / rate);
            unknown--;
        }
    }
    network->changed = false;
}

/* --- Moves --- */

/* The GPUs of an attention group, which has equally many of every stage. Returns their number. */
static int list_group(const struct naive *naive, const struct replica *replica, int group, int *gpus)
{
    const int stages = stages_of(naive, replica), wide = replica->n_gpus / stages;
    const int each = wide / groups_of(naive, replica);
    int n = 0;
    for (int stage = 0; stage < stages; stage++)
        for (int i = 0; i < each; i++) gpus[n++] = replica->gpus[stage * wide + group * each + i];
    return n;
}

static void begin_move(struct naive *naive, int id)
{
    const struct sequence *sequence = &naive->sequences[id];
    int from[NAIVE_GPUS], to[NAIVE_GPUS];
    const int n_from = list_group(naive, &naive->replicas[naive->outcomes[id].replica], sequence->from_group, from);
    const int n_to = list_group(naive, &naive->replicas[sequence->to], sequence->to_group, to);
    const int n = n_from > n_to ? n_from : n_to;
    const int64_t bytes = naive->sequences[id].todo * naive->s->site->token_bytes;
    for (int i = 0; i < n; i++) {
        struct flow *flow = &naive->network.flows[naive->network.n++];
        if (naive->network.n == NAIVE_FLOWS) abort();
        *flow = (struct flow){.id = id, .left = bytes / n + (i < bytes % n), .end_ns = INT64_MAX};
        find_way(naive->s->site, flow, from[i * n_from / n], to[i * n_to / n]);
        const bool crosses = flow->links[0] < link_of(NVLINK, false, 0);
        flow->starts_ns = naive->now_ns + (crosses ? naive->s->site->latency_ns : 0);
    }
    naive->sequences[id].flies = true;
    naive->network.changed = true;
}

void site_begin_moves(struct naive *naive)
{
    for (int id = 0; id < naive->arrived; id++)
        if (naive->sequences[id].moves && !naive->sequences[id].flies) begin_move(naive, id);
    for (int i = 0; i < naive->network.n; i++)
        if (naive->network.flows[i].starts_ns == naive->now_ns) naive->network.changed = true;
    if (naive->network.changed) fill(naive);
}

/* A rate is rounded to grains of 2^-46 bytes per ns: how far off the end of a flow may be that took so long. */
static bool ends_halfway(const struct naive *naive, const struct flow *flow)
{
    const long double grain = 0x1p-46L, lasted_ns = (long double)(naive->now_ns - flow->starts_ns);
    return fabsl(flow->left / flow->rate) >= 0.5L - lasted_ns * grain / flow->rate;
}

void site_follow_moves(struct naive *naive, bool *ended)
{
    struct network *network = &naive->network;
    for (int id = 0; id < naive->arrived; id++) ended[id] = naive->sequences[id].flies && naive->sequences[id].moves;
    for (int i = 0; i < network->n; i++) {
        struct flow *flow = &network->flows[i];
        flow->left -= flow->rate * (long double)(naive->now_ns - naive->moved_ns);
        if (flow->end_ns > naive->now_ns) continue;
        if (naive->s->site->counts != NULL) naive->s->site->counts->halfway += ends_halfway(naive, flow);
        *flow = network->flows[--network->n], i--, network->changed = true;
    }
    for (int i = 0; i < network->n; i++) ended[network->flows[i].id] = false;
}

void site_drop_moves(struct naive *naive, int id)
{
    struct network *network = &naive->network;
    for (int i = 0; i < network->n; i++)
        if (network->flows[i].id == id) network->flows[i] = network->flows[--network->n], i--, network->changed = true;
}

int64_t site_next_ns(const struct naive *naive)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < naive->network.n; i++) {
        const struct flow *flow = &naive->network.flows[i];
        const int64_t at = moves_now(naive, flow) ? flow->end_ns : flow->starts_ns;
        if (at < next) next = at;
    }
    return next;
}

/* --- By hand --- */

/* One GPU sends to two others of 3 and 9 bytes per ns; its own adapter has 8. The first gets 3, so the second 5. */
TEST(links_are_filled_by_hand)
{
    static struct naive_site site = {.nodes = 3, .node_gpus = 1, .gpus = 1, .port = 100, .adapter = 8, .nvlink = 1};
    static struct naive_scenario s = {.replicas = 3, .stages = 1, .site = &site};
    static struct naive naive = {.s = &s};
    naive.network.n = 2;
    for (int i = 0; i < 2; i++) {
        naive.network.flows[i] = (struct flow){.left = 60};
        find_way(&site, &naive.network.flows[i], 0, 1 + i);
    }
    naive.network.flows[0].cap = 3;
    fill(&naive);
    CHECK_NEAR((double)naive.network.flows[0].rate, 3, 0);
    CHECK_NEAR((double)naive.network.flows[1].rate, 5, 0);
    CHECK_EQ_INT(naive.network.flows[0].end_ns, 20);
    CHECK_EQ_INT(naive.network.flows[1].end_ns, 12);
}

/* Three nodes of 4: a replica of 2 and one of 8. A second one of 8 has no room, one of 2 stands beside the first. */
TEST(groups_take_nodes_by_hand)
{
    static struct naive_site site = {.nodes = 3, .node_gpus = 4, .gpus = 2, .decode_gpus = 8};
    static struct naive_scenario s = {.replicas = 4, .prefill_replicas = 2, .stages = 1, .site = &site};
    static struct naive naive = {.s = &s};
    CHECK(site_take_gpus(&naive, 0));
    CHECK(site_take_gpus(&naive, 2));
    CHECK_EQ_INT(naive.replicas[2].gpus[0], 4);
    CHECK(!site_take_gpus(&naive, 3));
    CHECK(site_take_gpus(&naive, 1));
    CHECK_EQ_INT(naive.replicas[1].gpus[0], 2);
}
