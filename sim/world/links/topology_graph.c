/* Links between switches (graph.h), created when a flow first takes them, and the choice among equal paths.
 *
 * A planned path is the one whose fullest link carries the fewest flows and claims when the flow begins, the lowest
 * ports first (C4P plans paths so that flows do not share ports; Dong et al., arXiv 2406.04594). A flow keeps its
 * path. Flows that wait for their latency count. */
#include "sim/core/check.h"
#include "sim/core/vec.h"
#include "sim/world/links/topology_state.h"

#include <string.h>

/* --- Creation --- */

static const char *where_of(void *context, const char *key)
{
    const struct topology *topology = context;
    const char *path = arena_printf(topology->env.site->arena, "cluster.network.%s", key);
    return path != NULL ? config_where(topology->env.site->config, path) : "";
}

int topology_graph_create(struct topology *topology)
{
    struct graph *graph = &topology->graph;
    int code = graph_init(graph, &topology->env.links->network, topology->env.cluster, where_of, topology,
                          topology->env.site->diag);
    if (code != 0 || graph_is_flat(graph)) return code;
    const size_t n_leaves = (size_t)graph->n_leaves;
    const size_t n_pods = (size_t)graph_pod_of(graph, graph->n_leaves - 1) + 1;
    topology->leaf_ports = arena_alloc(&topology->arena, n_leaves * sizeof *topology->leaf_ports);
    topology->pod_ports = arena_alloc(&topology->arena, n_pods * sizeof *topology->pod_ports);
    return topology->leaf_ports != NULL && topology->pod_ports != NULL ? 0 : SIM_E_NOMEM;
}

const struct graph *topology_graph(const struct topology *topology)
{
    return &topology->graph;
}

static struct link_pair *ports_of(struct topology *topology, struct link_pair **all, int32_t at, int64_t n)
{
    if (all[at] == NULL) all[at] = arena_alloc(&topology->arena, (size_t)n * sizeof **all);
    return all[at];
}

/* Port j of a leaf. */
static struct link_pair *leaf_port(struct topology *topology, int32_t leaf, int32_t j)
{
    struct link_pair *ports = ports_of(topology, topology->leaf_ports, leaf, topology->graph.uplinks);
    return ports != NULL ? &ports[j] : NULL;
}

/* Port c of switch j of a pod. */
static struct link_pair *pod_port(struct topology *topology, int32_t pod, int32_t j, int32_t c)
{
    const struct graph *graph = &topology->graph;
    struct link_pair *ports = ports_of(topology, topology->pod_ports, pod,
                                       (int64_t)graph->uplinks * graph->pod_uplinks);
    return ports != NULL ? &ports[(int64_t)j * graph->pod_uplinks + c] : NULL;
}

bool topology_nic_is_taken(const struct topology *topology, struct graph_nic nic)
{
    const struct topology_node *node = topology->nodes[nic.node];
    return node != NULL && nic.nic < node->n_gpus && node->gpus[nic.nic].taken;
}

/* --- Load --- */

void topology_note_path(struct topology *topology, const struct link_flow *flow, int32_t more)
{
    if (topology->load == NULL) return;
    for (int32_t k = 0; k < flow->n_hops; k++) topology->load[link_index(flow->links[k])] += more;
}

int topology_reserve_load(struct topology *topology, int32_t n_links)
{
    const int32_t before = topology->load_capacity;
    if (topology->env.links->network.paths != NETWORK_PLANNED) return 0;
    if (vec_reserve(&topology->load, &topology->load_capacity, n_links) != 0) return SIM_E_NOMEM;
    if (topology->load_capacity > before)
        memset(topology->load + before, 0, (size_t)(topology->load_capacity - before) * sizeof *topology->load);
    return 0;
}

static int32_t load_of(const struct topology *topology, const struct link *link)
{
    return link == NULL ? 0 : topology->load[link_index(link)];
}

static int32_t greater(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* --- Paths --- */

/* A path between two leaves; leaf < 0: the top switches, to which memory of the site is attached. */
struct climb {
    struct topology *topology;
    int32_t from, to;
    bool leaves_pod;
};

static int32_t pod_of(const struct climb *climb, int32_t leaf)
{
    return graph_pod_of(&climb->topology->graph, leaf);
}

/* Ports that the path takes; NULL where it has none, or memory ran out. */
struct ports {
    struct link_pair *from_leaf, *from_pod, *to_pod, *to_leaf;
};

static struct ports ports_for(const struct climb *climb, struct graph_choice choice)
{
    struct topology *topology = climb->topology;
    struct ports ports = {0};
    if (climb->from >= 0) ports.from_leaf = leaf_port(topology, climb->from, choice.uplink);
    if (climb->to >= 0) ports.to_leaf = leaf_port(topology, climb->to, choice.uplink);
    if (!climb->leaves_pod) return ports;
    if (climb->from >= 0)
        ports.from_pod = pod_port(topology, pod_of(climb, climb->from), choice.uplink, choice.pod_uplink);
    if (climb->to >= 0) ports.to_pod = pod_port(topology, pod_of(climb, climb->to), choice.uplink, choice.pod_uplink);
    return ports;
}

static int32_t leaf_load(const struct topology *topology, const struct ports *ports)
{
    return greater(ports->from_leaf != NULL ? load_of(topology, ports->from_leaf->out) : 0,
                   ports->to_leaf != NULL ? load_of(topology, ports->to_leaf->in) : 0);
}

static int32_t pod_load(const struct topology *topology, const struct ports *ports)
{
    return greater(ports->from_pod != NULL ? load_of(topology, ports->from_pod->out) : 0,
                   ports->to_pod != NULL ? load_of(topology, ports->to_pod->in) : 0);
}

static struct graph_choice plan(const struct climb *climb)
{
    const struct topology *topology = climb->topology;
    const struct graph *graph = &topology->graph;
    struct graph_choice best = {0};
    int32_t least = INT32_MAX;
    for (int32_t j = 0; j < graph->uplinks; j++) {
        const int32_t n = climb->leaves_pod ? graph->pod_uplinks : 1;
        for (int32_t c = 0; c < n; c++) {
            const struct graph_choice choice = {j, c};
            const struct ports ports = ports_for(climb, choice);
            const int32_t below = leaf_load(topology, &ports);
            if (below >= least) break;
            const int32_t load = greater(below, pod_load(topology, &ports));
            if (load >= least) continue;
            least = load;
            best = choice;
        }
        if (least == 0) break;
    }
    return best;
}

/* Adds one direction of a port, which is created if missing. */
static int add_port(struct topology *topology, struct link_pair *port, bool is_up, double bytes_per_s, const char *name,
                    int32_t at, int32_t number, struct link_path *path)
{
    if (port == NULL) return SIM_E_NOMEM;
    struct link **link = is_up ? &port->out : &port->in;
    const int code = topology_link(topology, link, LINK_UPLINK, bytes_per_s, "%s%d/port%d-%s", name, at, number,
                                   is_up ? "up" : "down");
    if (code == 0) link_path_add(path, *link);
    return code;
}

static int add_leaf_port(const struct climb *climb, bool is_up, struct graph_choice choice, struct link_path *path)
{
    const int32_t leaf = is_up ? climb->from : climb->to;
    if (leaf < 0) return 0;
    return add_port(climb->topology, leaf_port(climb->topology, leaf, choice.uplink), is_up,
                    climb->topology->graph.uplink_bytes_per_s, "leaf", leaf, choice.uplink, path);
}

static int add_pod_port(const struct climb *climb, bool is_up, struct graph_choice choice, struct link_path *path)
{
    const struct graph *graph = &climb->topology->graph;
    const int32_t leaf = is_up ? climb->from : climb->to;
    if (leaf < 0 || !climb->leaves_pod) return 0;
    const int32_t pod = pod_of(climb, leaf);
    char name[32];
    snprintf(name, sizeof name, "pod%d/switch", pod);
    return add_port(climb->topology, pod_port(climb->topology, pod, choice.uplink, choice.pod_uplink), is_up,
                    graph->pod_uplink_bytes_per_s, name, choice.uplink, choice.pod_uplink, path);
}

int topology_climb(struct topology *topology, const struct graph_nic *from, const struct graph_nic *to,
                   struct topology_route route, struct link_path *path)
{
    static const struct graph_nic top = {-1, -1};
    const struct graph *graph = &topology->graph;
    struct climb climb = {.topology = topology, .from = -1, .to = -1};
    if (from != NULL) climb.from = graph_leaf_of(graph, *from);
    if (to != NULL) climb.to = graph_leaf_of(graph, *to);
    if (climb.from == climb.to || graph->uplinks == 0) return 0;
    climb.leaves_pod = graph->pod_uplinks > 0 &&
                       (from == NULL || to == NULL || pod_of(&climb, climb.from) != pod_of(&climb, climb.to));
    const bool is_planned = topology->env.links->network.paths == NETWORK_PLANNED;
    struct graph_choice choice;
    if (route.choice != NULL)
        choice = *route.choice;
    else if (is_planned)
        choice = plan(&climb);
    else
        choice = graph_ecmp(graph, from != NULL ? *from : top, to != NULL ? *to : top, route.label);
    int code = add_leaf_port(&climb, true, choice, path);
    if (code == 0) code = add_pod_port(&climb, true, choice, path);
    if (code == 0) code = add_pod_port(&climb, false, choice, path);
    return code != 0 ? code : add_leaf_port(&climb, false, choice, path);
}

/* --- Paths of a group of flows --- */

/* The greatest load on the ports of the flows, if all choices are shifted; stops when it reaches `most`. */
static int32_t load_of_shift(struct topology *topology, const struct graph_flow *flows, int32_t n,
                             const struct graph_choice *choices, struct graph_choice shift, int32_t most)
{
    const struct graph *graph = &topology->graph;
    int32_t load = 0;
    for (int32_t i = 0; i < n && load < most; i++) {
        struct climb climb = {.topology = topology, .from = graph_leaf_of(graph, flows[i].from),
                              .to = graph_leaf_of(graph, flows[i].to)};
        if (climb.from == climb.to) continue;
        climb.leaves_pod = graph->pod_uplinks > 0 && pod_of(&climb, climb.from) != pod_of(&climb, climb.to);
        const struct graph_choice choice = {
            (choices[i].uplink + shift.uplink) % graph->uplinks,
            climb.leaves_pod ? (choices[i].pod_uplink + shift.pod_uplink) % graph->pod_uplinks : 0};
        const struct ports ports = ports_for(&climb, choice);
        load = greater(load, greater(leaf_load(topology, &ports), pod_load(topology, &ports)));
    }
    return load;
}

int topology_plan(struct topology *topology, const struct graph_flow *flows, int32_t n, struct graph_choice *choices)
{
    const struct graph *graph = &topology->graph;
    struct graph_choice best = {0};
    int32_t least = INT32_MAX;
    int code = graph_plan(graph, flows, n, choices);
    if (code != 0 || graph->uplinks == 0) return code;
    for (struct graph_choice shift = {0}; shift.uplink < graph->uplinks && least > 0; shift.uplink++) {
        shift.pod_uplink = graph->pod_uplinks > 0 ? shift.uplink % graph->pod_uplinks : 0;
        const int32_t load = load_of_shift(topology, flows, n, choices, shift, least);
        if (load >= least) continue;
        least = load;
        best = shift;
    }
    for (int32_t i = 0; i < n; i++) {
        choices[i].uplink = (choices[i].uplink + best.uplink) % graph->uplinks;
        if (graph->pod_uplinks > 0)
            choices[i].pod_uplink = (choices[i].pod_uplink + best.pod_uplink) % graph->pod_uplinks;
    }
    return 0;
}
