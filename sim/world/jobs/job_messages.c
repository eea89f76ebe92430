/* The messages of a training plan on the network (models/training/exchange.h).
 *
 * Ranks fill the job's nodes in order, those with the most GPUs first, one rank on each GPU. Ranks that the plan
 * leaves out idle. Each group of ranks then exchanges its data over NICs, where it spans nodes; the rest stays inside
 * nodes:
 *
 *     ring         from each node of the group to its next one, over as many NICs as its smallest node has members
 *     all-to-all   each member sends to one member on each other node, on at most STEP_PARTNERS nodes, evenly spaced
 *     shift        each member sends to the next one
 *     stages       each rank sends to the same rank of the next stage, which sends as much back
 *
 * A GPU has the network bandwidth that the plan was priced with. An edge claims the part of it that its bytes have of
 * all that leaves the one GPU, or of all that reaches the other, whichever is smaller. Exchanges of one kind follow
 * those of another, and together they never ask for more than a GPU has. Edges of one kind between the same NICs are
 * one claim. Kinds take turns on a NIC: the weight of a claim is the share of its kind in all that leaves the NIC.
 * Flows of one kind to several partners are sent at once, and each counts as one where it meets those of others.
 *
 * The step is priced as `orrery plan` prices it (models/training/step.h), with two changes: a group spans as many
 * nodes as it does here, and each kind of exchange has a share of the bandwidth. That is the smallest share that a
 * sender of it gets: of all claims of the sender over links that are short of bandwidth, the sum of the grants over
 * the sum of the demands, at most what the links of its path can carry. So kinds that cross one oversubscribed switch
 * share its loss, as they would one after another. The speed of the job is the ratio of two such steps, that on
 * adjacent GPUs in an idle network over that at present. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/jobs/job_traffic_state.h"

#include <math.h>
#include <stdlib.h>

/* --- Times --- */

struct training_step job_messages_step(const struct job_messages *messages, const struct training_spread *spread,
                                       const struct training_link_shares *shares,
                                       struct power_stage phases[TRAINING_PHASES])
{
    struct training_setup *setup = messages->setup;
    setup->plan = messages->plan;
    setup->plan.spread = spread;
    setup->plan.link_shares = shares;
    const struct training_step step = training_step_of(&setup->parts, setup->config->reserve_frac);
    training_phases_of(&setup->parts, &step, phases);
    setup->plan.spread = NULL;
    setup->plan.link_shares = NULL;
    return step;
}

double job_messages_step_s(const struct job_messages *messages, const struct training_spread *spread,
                           struct power_stage phases[TRAINING_PHASES])
{
    return job_messages_step(messages, spread, NULL, phases).step_s;
}

/* --- Listing --- */

/* A message of a step between two ranks on different nodes. */
struct message {
    int32_t from, to, kind; /* kind: place in the spread */
    double bytes;
};

struct listing {
    const struct job_messages *messages;
    const int32_t *node;            /* [ranks] */
    struct training_spread *spread; /* nodes: so far */
    int64_t least_members[TRAINING_EXCHANGES]; /* on a node of a group that spans several */
    bool keeps;                     /* messages are wanted, not the spread alone */
    bool *far_stages;               /* [stages] that lie on other nodes than the next one; NULL: not wanted */
    struct message *messages_of;
    int32_t n, capacity;
    int code;
};

static void add_message(struct listing *listing, int64_t from, int64_t to, int32_t kind, double bytes)
{
    const struct message message = {(int32_t)from, (int32_t)to, kind, bytes};
    if (!listing->keeps || listing->code != 0 || !(bytes > 0.0)) return;
    if (vec_push(&listing->messages_of, &listing->n, &listing->capacity, message) != 0) listing->code = SIM_E_NOMEM;
}

/* The place of an exchange in the spread, which gets it if it has none. */
static int32_t kind_of(struct listing *listing, const struct training_exchange *exchange)
{
    struct training_spread *spread = listing->spread;
    int32_t k = 0;
    while (k < spread->n &&
           !(spread->of[k].kind == exchange->kind && training_groups_are_equal(spread->of[k].group, exchange->group)))
        k++;
    if (k < spread->n) return k;
    SIM_REQUIRE(spread->n < TRAINING_EXCHANGES);
    spread->of[spread->n++] = (struct training_reach){exchange->kind, exchange->group, 1.0, 1.0};
    listing->least_members[k] = exchange->group.gpus;
    return k;
}

/* Members of a group, in runs on the same node. */
struct group_of_ranks {
    int64_t first, stride, n;
};

static int64_t member(const struct group_of_ranks *group, int64_t i)
{
    return group->first + i * group->stride;
}

/* The end of the run of members that begins with i. */
static int64_t run_end(const struct listing *listing, const struct group_of_ranks *group, int64_t i)
{
    int64_t end = i + 1;
    while (end < group->n && listing->node[member(group, end)] == listing->node[member(group, i)]) end++;
    return end;
}

/* Counts the nodes of a group. Returns the smallest number of its members on a node. */
static int64_t count_nodes(struct listing *listing, const struct group_of_ranks *group, int32_t kind, int64_t *nodes)
{
    struct training_reach *reach = &listing->spread->of[kind];
    int64_t least = group->n;
    *nodes = 0;
    for (int64_t i = 0, end; i < group->n; i = end, (*nodes)++) {
        end = run_end(listing, group, i);
        least = end - i < least ? end - i : least;
    }
    if (*nodes > 1 && least < listing->least_members[kind]) listing->least_members[kind] = least;
    reach->nodes = fmax(reach->nodes, (double)*nodes);
    return least;
}

static void list_ring(struct listing *listing, const struct group_of_ranks *group, int32_t kind, double bytes)
{
    int64_t nodes;
    const int64_t channels = count_nodes(listing, group, kind, &nodes);
    for (int64_t i = 0, end; listing->keeps && nodes > 1 && i < group->n; i = end) {
        end = run_end(listing, group, i);
        for (int64_t c = 0; c < channels; c++)
            add_message(listing, member(group, i + c), member(group, end < group->n ? end + c : c), kind,
                        bytes / (double)channels);
    }
}

static void list_shift(struct listing *listing, const struct group_of_ranks *group, int32_t kind, double bytes)
{
    int64_t nodes;
    count_nodes(listing, group, kind, &nodes);
    for (int64_t i = 0; listing->keeps && nodes > 1 && i < group->n; i++) {
        const int64_t from = member(group, i), to = member(group, (i + 1) % group->n);
        if (listing->node[from] != listing->node[to]) add_message(listing, from, to, kind, bytes);
    }
}

/* From the members of one run to a member of another each. */
static void list_pair(struct listing *listing, const struct group_of_ranks *group, int32_t kind, const int64_t from[2],
                      const int64_t to[2], double bytes)
{
    for (int64_t i = from[0]; i < from[1]; i++)
        add_message(listing, member(group, i), member(group, to[0] + (i - from[0]) % (to[1] - to[0])), kind, bytes);
}

static void list_all_to_all(struct listing *listing, const struct group_of_ranks *group, int32_t kind, double bytes)
{
    int64_t nodes, *starts;
    count_nodes(listing, group, kind, &nodes);
    if (nodes < 2 || !listing->keeps || listing->code != 0) return;
    starts = mem_zalloc((size_t)nodes + 1, sizeof *starts);
    if (starts == NULL) {
        listing->code = SIM_E_NOMEM;
        return;
    }
    const int64_t partners = nodes - 1 < STEP_PARTNERS ? nodes - 1 : STEP_PARTNERS;
    for (int64_t j = 0; j < nodes; j++) starts[j + 1] = run_end(listing, group, starts[j]);
    for (int64_t j = 0; j < nodes; j++)
        for (int64_t q = 0; q < partners; q++) {
            const int64_t to = (j + 1 + q * (nodes - 1) / partners) % nodes;
            const double outside = (double)(group->n - (starts[j + 1] - starts[j])) / (double)(group->n - 1);
            list_pair(listing, group, kind, &starts[j], &starts[to], bytes * outside / (double)partners);
        }
    mem_free(starts);
}

/* Between stage and the next one, or of the last stage to the first. */
static void list_stages(struct listing *listing, const struct training_exchange *exchange, int64_t stage, int32_t kind)
{
    const struct training_plan *plan = &listing->messages->plan;
    const int64_t ranks = exchange->group.stride;
    const bool is_last = stage == plan->pipeline - 1;
    const double bytes = is_last ? exchange->wrap_bytes : exchange->bytes;
    const int64_t next = is_last ? 0 : stage + 1;
    for (int64_t i = 0; i < ranks && bytes > 0.0; i++) {
        const int64_t from = stage * ranks + i, to = next * ranks + i;
        if (listing->node[from] == listing->node[to]) continue;
        listing->spread->of[kind].nodes = 2.0;
        if (listing->far_stages != NULL) listing->far_stages[stage] = true;
        add_message(listing, from, to, kind, bytes);
        add_message(listing, to, from, kind, bytes);
    }
}

static void list_exchange(struct listing *listing, const struct training_exchange *exchange, int64_t stage)
{
    const struct training_plan *plan = &listing->messages->plan;
    const int64_t ranks = training_plan_gpus(plan) / plan->pipeline, stride = exchange->group.stride;
    const int64_t block = exchange->group.gpus * stride;
    const int32_t kind = kind_of(listing, exchange);
    if (exchange->kind == EXCHANGE_STAGES) {
        list_stages(listing, exchange, stage, kind);
        return;
    }
    for (int64_t first = stage * ranks; first + block <= (stage + 1) * ranks; first += block)
        for (int64_t i = 0; i < stride; i++) {
            const struct group_of_ranks group = {first + i, stride, exchange->group.gpus};
            if (exchange->kind == EXCHANGE_RING) list_ring(listing, &group, kind, exchange->bytes);
            if (exchange->kind == EXCHANGE_SHIFT) list_shift(listing, &group, kind, exchange->bytes);
            if (exchange->kind == EXCHANGE_ALL_TO_ALL) list_all_to_all(listing, &group, kind, exchange->bytes);
        }
}

/* What the smallest part of a group leaves of the bandwidth that equal parts would have. */
static double share_of(const struct training_reach *reach, int64_t least_members)
{
    const double gpus = (double)reach->group.gpus, least = (double)least_members;
    if (!(reach->nodes > 1.0)) return 1.0;
    if (reach->kind == EXCHANGE_RING) return least * reach->nodes / gpus;
    if (reach->kind == EXCHANGE_ALL_TO_ALL) return (reach->nodes - 1.0) * gpus / (reach->nodes * (gpus - least));
    return 1.0;
}

/* Lists all messages. The caller frees messages_of. */
static void list_all(struct listing *listing)
{
    const struct job_messages *messages = listing->messages;
    listing->spread->n = 0;
    listing->spread->far_stages = listing->far_stages;
    for (int64_t stage = 0; stage < messages->plan.pipeline; stage++)
        for (int32_t i = 0; i < messages->stages[stage].n; i++)
            list_exchange(listing, &messages->stages[stage].of[i], stage);
    for (int32_t k = 0; k < listing->spread->n; k++)
        listing->spread->of[k].network_frac = share_of(&listing->spread->of[k], listing->least_members[k]);
}

double job_messages_ideal_s(struct job_messages *messages)
{
    const int64_t n = training_plan_gpus(&messages->plan), each = messages->plan.gpus_per_node;
    struct training_spread spread;
    struct power_stage phases[TRAINING_PHASES];
    if (messages->ideal_s > 0.0) return messages->ideal_s;
    int32_t *node = mem_zalloc((size_t)n, sizeof *node);
    if (node == NULL) return 0.0;
    for (int64_t i = 0; i < n; i++) node[i] = (int32_t)(i / each);
    struct listing listing = {.messages = messages, .node = node, .spread = &spread};
    list_all(&listing);
    mem_free(node);
    messages->ideal_s = job_messages_step_s(messages, &spread, phases);
    return messages->ideal_s;
}

/* --- Edges --- */

/* Where the ranks of a job are. */
struct seats {
    int64_t n;
    int32_t *node, *gpu;    /* [n] number among the job's nodes; of its GPUs there */
    int32_t *port;          /* [n] the rank itself, or the first one of its node where they share a NIC */
    double *leaves, *comes; /* [n] bytes of a step */
    double *port_leaves;    /* [n] bytes of a step that leave a port, under its rank */
    double *port_kinds;     /* [n][TRAINING_EXCHANGES] of them, those of each kind */
    double *kinds;          /* [n][TRAINING_EXCHANGES] bytes of each kind that leave */
};

static void seats_free(struct seats *seats)
{
    mem_free(seats->node);
    mem_free(seats->gpu);
    mem_free(seats->port);
    mem_free(seats->leaves);
    mem_free(seats->comes);
    mem_free(seats->port_leaves);
    mem_free(seats->port_kinds);
    mem_free(seats->kinds);
}

static int seats_init(struct seats *seats, const struct job_traffic *traffic)
{
    const int64_t n = training_plan_gpus(&traffic->messages->plan);
    int32_t most = 0;
    *seats = (struct seats){.node = mem_zalloc((size_t)n, sizeof *seats->node),
                            .gpu = mem_zalloc((size_t)n, sizeof *seats->gpu),
                            .port = mem_zalloc((size_t)n, sizeof *seats->port),
                            .leaves = mem_zalloc((size_t)n, sizeof *seats->leaves),
                            .comes = mem_zalloc((size_t)n, sizeof *seats->comes),
                            .port_leaves = mem_zalloc((size_t)n, sizeof *seats->port_leaves),
                            .port_kinds = mem_zalloc((size_t)n * TRAINING_EXCHANGES, sizeof *seats->port_kinds),
                            .kinds = mem_zalloc((size_t)n * TRAINING_EXCHANGES, sizeof *seats->kinds)};
    if (seats->node == NULL || seats->gpu == NULL || seats->port == NULL || seats->leaves == NULL ||
        seats->comes == NULL || seats->port_leaves == NULL || seats->port_kinds == NULL || seats->kinds == NULL)
        return SIM_E_NOMEM;
    for (int32_t i = 0; i < traffic->n_nodes; i++) most = traffic->nodes[i].gpus > most ? traffic->nodes[i].gpus : most;
    for (int32_t gpus = most; gpus > 0; gpus--)
        for (int32_t i = 0; i < traffic->n_nodes; i++)
            for (int32_t g = 0; g < gpus && traffic->nodes[i].gpus == gpus && seats->n < n; g++) {
                seats->node[seats->n] = i;
                seats->port[seats->n] = (int32_t)seats->n - (traffic->nodes[i].nics != 0 ? 0 : g);
                seats->gpu[seats->n++] = g;
            }
    return 0;
}

static int compare_nics(struct graph_nic a, struct graph_nic b)
{
    if (a.node != b.node) return a.node < b.node ? -1 : 1;
    return a.nic != b.nic ? (a.nic < b.nic ? -1 : 1) : 0;
}

/* By kind first: kinds are given paths one after another, so that each is spread evenly over equal paths. */
static int compare_edges(const void *one, const void *other)
{
    const struct traffic_edge *a = one, *b = other;
    const int from = compare_nics(a->flow.from, b->flow.from), to = compare_nics(a->flow.to, b->flow.to);
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (from != 0) return from;
    if (to != 0) return to;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return (a->demand_bytes_per_s > b->demand_bytes_per_s) - (a->demand_bytes_per_s < b->demand_bytes_per_s);
}

static bool is_one_edge(const struct traffic_edge *a, const struct traffic_edge *b)
{
    return a->kind == b->kind && compare_nics(a->flow.from, b->flow.from) == 0 &&
           compare_nics(a->flow.to, b->flow.to) == 0;
}

/* Makes one edge of those of a kind between the same NICs, which several GPUs share. */
static void merge(struct traffic_edges *edges)
{
    int32_t n = 0;
    qsort(edges->of, (size_t)edges->n, sizeof *edges->of, compare_edges);
    for (int32_t i = 0; i < edges->n; i++) {
        struct traffic_edge *last = &edges->of[n > 0 ? n - 1 : 0];
        if (n == 0 || !is_one_edge(last, &edges->of[i])) {
            edges->of[n++] = edges->of[i];
            continue;
        }
        last->bytes += edges->of[i].bytes;
        last->demand_bytes_per_s += edges->of[i].demand_bytes_per_s;
        last->alone_bytes_per_s += edges->of[i].alone_bytes_per_s;
    }
    edges->n = n;
}

/* The demand of a part of what a GPU sends or gets. Parts together stay below the whole, whatever the rounding. */
static double part_of(double rate, double frac)
{
    const double slack = 1e-12;
    return frac < 1.0 ? rate * frac * (1.0 - slack) : rate;
}

/* Bytes of the message's kind that leave its sender. */
static double *kind_bytes(const struct seats *seats, const struct message *message)
{
    return &seats->kinds[(int64_t)message->from * TRAINING_EXCHANGES + message->kind];
}

/* The share of what leaves a message's NIC that is of its kind: the part of the time in which the NIC sends it. */
static double kind_frac(const struct seats *seats, const struct message *message)
{
    const int64_t port = seats->port[message->from];
    return seats->port_kinds[port * TRAINING_EXCHANGES + message->kind] / seats->port_leaves[port];
}

static int make_edges(const struct job_traffic *traffic, const struct listing *listing, struct seats *seats,
                      struct traffic_edges *edges)
{
    const double rate = traffic->messages->plan.network_bytes_per_s;
    for (int32_t i = 0; i < listing->n; i++) {
        seats->leaves[listing->messages_of[i].from] += listing->messages_of[i].bytes;
        seats->comes[listing->messages_of[i].to] += listing->messages_of[i].bytes;
        const int64_t port = seats->port[listing->messages_of[i].from];
        seats->port_leaves[port] += listing->messages_of[i].bytes;
        seats->port_kinds[port * TRAINING_EXCHANGES + listing->messages_of[i].kind] += listing->messages_of[i].bytes;
        *kind_bytes(seats, &listing->messages_of[i]) += listing->messages_of[i].bytes;
    }
    if (vec_reserve(&edges->of, &edges->capacity, listing->n) != 0) return SIM_E_NOMEM;
    for (int32_t i = 0; i < listing->n; i++) {
        const struct message *message = &listing->messages_of[i];
        const double whole = fmax(seats->leaves[message->from], seats->comes[message->to]);
        edges->of[edges->n++] = (struct traffic_edge){
            {job_traffic_nic(traffic, seats->node[message->from], seats->gpu[message->from]),
             job_traffic_nic(traffic, seats->node[message->to], seats->gpu[message->to])},
            message->bytes,
            part_of(rate, message->bytes / whole),
            message->kind,
            seats->port[message->from],
            rate * message->bytes / *kind_bytes(seats, message),
            kind_frac(seats, message)};
    }
    if (edges->n > 0) merge(edges);
    return 0;
}

int job_messages_edges(struct job_traffic *traffic, struct traffic_edges *edges)
{
    struct seats seats;
    int code = seats_init(&seats, traffic);
    traffic->far_stages = mem_zalloc((size_t)traffic->messages->plan.pipeline, sizeof *traffic->far_stages);
    struct listing listing = {.messages = traffic->messages, .node = seats.node, .spread = &traffic->spread,
                              .keeps = true, .far_stages = traffic->far_stages};
    if (traffic->far_stages == NULL) code = SIM_E_NOMEM;
    if (code == 0) {
        list_all(&listing);
        code = listing.code;
    }
    if (code == 0) code = make_edges(traffic, &listing, &seats, edges);
    traffic->n_ports = (int32_t)seats.n;
    traffic->ports = mem_zalloc((size_t)seats.n + 1, sizeof *traffic->ports);
    if (traffic->ports == NULL) code = SIM_E_NOMEM;
    mem_free(listing.messages_of);
    seats_free(&seats);
    return code;
}
