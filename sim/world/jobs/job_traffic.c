#include "sim/world/jobs/job_traffic.h"

#include "models/gradient_code.h"
#include "sim/catalog/catalog.h"
#include "sim/core/check.h"
#include "sim/world/jobs/job.h"
#include "sim/world/links/topology.h"
#include "sim/world/rows/priority.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { MOST_NICS = 64 }; /* of a node: bits of a set */

static const char *const kind_names[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send", NULL};
static const char *const group_names[] = {"all", "rail", "node", NULL};

#define ROW_OF struct collective_config
static const struct config_field collective_fields[] = {
    ROW_CHOICE("kind", kind, REQUIRED, kind_names, "what the GPUs of a group exchange; send: to the next nodes"),
    ROW_QUANTITY("bytes", bytes, UNIT_BYTES, REQUIRED, POSITIVE, "buffer of each GPU; of all-gather the whole result"),
    ROW_CHOICE("group", group, DEFAULT("all"), group_names,
               "GPUs that exchange: all of the job, GPU i of each node (rail), or those of each node"),
    ROW_INT("nodes", nodes, DEFAULT("0"), WITHIN(0, 1e6),
            "nodes of a group, neighbours; of send: how far it goes; 0: all nodes, and to the next one"),
    ROW_REAL("overlap", overlap_frac, DEFAULT("0"), WITHIN(0, 1), "share that runs beside the computing"),
    {0}};
#undef ROW_OF

#define ROW_OF struct step_config
const struct config_field step_config_fields[] = {
    ROW_QUANTITY("compute", compute_s, UNIT_TIME, REQUIRED, WITHIN(0, 1e6), "computing time of a step"),
    ROW_INT("stragglers", stragglers, DEFAULT("0"), WITHIN(0, 64),
            "slow nodes that a step does without, by gradient coding: each node computes so many shares more"),
    ROW_LIST("collectives", collectives, REQUIRED, WITHIN(1, 64), struct collective_config, collective_fields,
             "exchanges of a step, one after another"),
    {0}};
#undef ROW_OF

/* A type with steps, in the terms of the model. */
struct traffic_type {
    int32_t n;
    struct step_collective *collectives; /* [n] */
    enum step_collective_kind kind;      /* of those between nodes */
    int32_t block_nodes;                 /* of a group between nodes; 0: all nodes of the job */
    bool is_between;                     /* some collective leaves its node */
};

struct job_network {
    struct topology *topology;
    struct traffic_type *types;  /* [types of jobs]; n 0: without steps */
    struct step_rates *rates;    /* [node types] */
    uint64_t *nics_used;         /* [nodes of the site] NICs of jobs that run */
    struct owner settle;
    struct job_traffic *stale;   /* whose claims have changed at this moment */
    double gpu_s, speed_gpu_s;   /* GPU time of jobs with steps; times their speed */
};

struct job_flow {
    struct link_flow claim;
    struct job_traffic *traffic;
};

/* A node of the job and its adapters there. */
struct traffic_node {
    struct graph_nic first; /* node in the site */
    int32_t gpus;
    uint64_t nics;
};

struct job_traffic {
    struct job *job;
    const struct traffic_type *type;
    struct step_place place;
    double ideal_s, speed;  /* of a step in an idle network; present speed relative to that */
    double held_gpus;       /* since it began */
    sim_ns since_ns, began_at_ns; /* of the present speed; work done when it began */
    int32_t n_nodes, n_flows;
    struct traffic_node *nodes;
    struct job_flow *flows;
    bool is_stale;
    struct job_traffic *next_stale;
};

/* --- Types --- */

static const struct job_type *type_at(const struct jobs *jobs, size_t i)
{
    return (const struct job_type *)jobs->config->all_types.items + i;
}

static int refuse(const struct jobs *jobs, const struct job_type *type, const char *hint, const char *text)
{
    char where[DIAG_WHERE_CHARS];
    snprintf(where, sizeof where, "jobs.types.%s.step", type->name);
    return diag_error(jobs->site->diag, SIM_E_CONFIG, config_where(jobs->site->config, where), hint, "%s", text);
}

static bool leaves_node(const struct collective_config *collective)
{
    return collective->group != STEP_GROUP_NODE;
}

static bool is_ring(int kind)
{
    return kind != STEP_ALL_TO_ALL && kind != STEP_SEND;
}

static int read_type(const struct jobs *jobs, const struct job_type *type, struct traffic_type *out)
{
    const struct config_list *list = &type->step.collectives;
    const struct collective_config *first = NULL;
    if (list->n == 0) return 0;
    out->collectives = mem_zalloc(list->n, sizeof *out->collectives);
    if (out->collectives == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < list->n; i++) {
        const struct collective_config *collective = (const struct collective_config *)list->items + i;
        out->collectives[out->n++] = (struct step_collective){.kind = (enum step_collective_kind)collective->kind,
                                                              .group = (enum step_group)collective->group,
                                                              .bytes = collective->bytes,
                                                              .overlap_frac = collective->overlap_frac};
        if (!leaves_node(collective)) continue;
        if (first == NULL) first = collective;
        if (collective->group != first->group || collective->nodes != first->nodes ||
            (collective->kind != first->kind && !(is_ring(collective->kind) && is_ring(first->kind))))
            return refuse(jobs, type,
                          "give all that leave a node one \"group\", one \"nodes\", and rings, all-to-all or send",
                          "the collectives between nodes have different patterns");
    }
    out->is_between = first != NULL;
    if (first != NULL) {
        out->kind = (enum step_collective_kind)first->kind;
        out->block_nodes = (int32_t)first->nodes;
    }
    return 0;
}

static int check_site(const struct jobs *jobs, const struct job_type *type, struct topology *topology)
{
    const struct network_config *network = topology != NULL ? &topology_config(topology)->network : NULL;
    if (jobs->placer == NULL)
        return refuse(jobs, type, "choose a placement policy that gives nodes, and a cluster that has some",
                      "steps exchange data between nodes, and jobs are on no nodes in particular");
    if (network == NULL || !(network->bytes_per_s > 0))
        return refuse(jobs, type, "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
                      "steps exchange data between nodes, and there is no network");
    for (const struct cluster *cluster = jobs->cluster; cluster != NULL; cluster = cluster->next)
        if (network->per == NETWORK_PER_GPU && cluster->gpus_per_node > MOST_NICS)
            return refuse(jobs, type, "take \"per\": \"node\" in cluster.network",
                          "steps exchange data between nodes with at most 64 NICs each");
    return 0;
}

/* --- The site --- */

/* Rate between the GPUs of a node: NVLink, or PCIe without. */
static int read_rates(const struct jobs *jobs, struct job_network *network)
{
    const sim_ns latency_ns = topology_config(network->topology)->network.latency_ns;
    for (int32_t i = 0; i < jobs->n_node_types; i++) {
        const char *name = jobs_cluster_of((struct jobs *)jobs, i)->gpu;
        network->rates[i] = (struct step_rates){.node_bytes_per_s = (double)INFINITY,
                                                .latency_s = sim_s_from_ns(latency_ns)};
        if (name == NULL) continue;
        struct gpu_spec gpu;
        const int code = catalog_gpu(jobs->site->catalog, name, config_where(jobs->site->config, "cluster.gpu"),
                                     jobs->site->arena, &gpu, jobs->site->diag);
        if (code != 0) return code;
        const double rate = gpu.nvlink_gpus > 1 ? gpu.nvlink_bytes_per_s : gpu.pcie_bytes_per_s;
        if (rate > 0) network->rates[i].node_bytes_per_s = rate;
    }
    return 0;
}

static int64_t site_nodes(const struct jobs *jobs)
{
    int64_t n = 0;
    for (const struct cluster *cluster = jobs->cluster; cluster != NULL; cluster = cluster->next) n += cluster->n_nodes;
    return n;
}

int job_traffic_create(struct jobs *jobs, struct topology *topology)
{
    const size_t n_types = jobs->config->all_types.n;
    bool any = false;
    for (size_t i = 0; i < n_types; i++) any = any || type_at(jobs, i)->step.collectives.n > 0;
    if (!any) return 0;
    struct job_network *network = jobs->network = mem_zalloc(1, sizeof *network);
    if (network == NULL) return SIM_E_NOMEM;
    network->topology = topology;
    owner_init(&network->settle, site_env_owner_ids(jobs->site, 1));
    network->types = mem_zalloc(n_types, sizeof *network->types);
    network->rates = mem_zalloc((size_t)jobs->n_node_types, sizeof *network->rates);
    network->nics_used = mem_zalloc((size_t)site_nodes(jobs) + 1, sizeof *network->nics_used);
    if (network->types == NULL || network->rates == NULL || network->nics_used == NULL) return SIM_E_NOMEM;
    int code = 0;
    for (size_t i = 0; i < n_types && code == 0; i++) {
        if (type_at(jobs, i)->step.collectives.n == 0) continue;
        code = check_site(jobs, type_at(jobs, i), topology);
        if (code == 0) code = read_type(jobs, type_at(jobs, i), &network->types[i]);
    }
    return code == 0 ? read_rates(jobs, network) : code;
}

void job_traffic_destroy(struct jobs *jobs)
{
    struct job_network *network = jobs->network;
    if (network == NULL) return;
    for (size_t i = 0; network->types != NULL && i < jobs->config->all_types.n; i++)
        mem_free(network->types[i].collectives);
    mem_free(network->types);
    mem_free(network->rates);
    mem_free(network->nics_used);
    mem_free(network);
}

bool job_has_traffic(const struct job *job)
{
    return job->jobs->network != NULL && job->type != NULL && job->type->step.collectives.n > 0 && job->view.gpus > 0;
}

/* --- Steps --- */

static const struct step_rates *rates_of(const struct job *job)
{
    return &job->jobs->network->rates[job->view.node_type];
}

static double nic_bytes_per_s(const struct job_network *network)
{
    return topology_config(network->topology)->network.bytes_per_s;
}

/* Nodes and channels that exchange data, if the job is on `nodes` nodes with `least` to `most` GPUs each. */
static struct step_place place_on(const struct job_network *network, const struct traffic_type *type, int32_t nodes,
                                  int32_t least, int32_t most)
{
    const bool each = topology_config(network->topology)->network.per == NETWORK_PER_GPU;
    const bool is_block = type->block_nodes > 0 && type->kind != STEP_SEND && type->block_nodes < nodes;
    const int32_t block = is_block ? type->block_nodes : nodes;
    return (struct step_place){.nodes = block,
                               .gpus_per_node = most,
                               .channels = each ? least : 1,
                               .partners = block - 1 < STEP_PARTNERS ? block - 1 : STEP_PARTNERS};
}

/* Flows that leave an adapter at once. */
static int32_t flows_per_nic(const struct traffic_type *type, const struct step_place *place)
{
    return type->kind == STEP_ALL_TO_ALL && place->partners > 1 ? place->partners : 1;
}

/* Computing time over that without coding, on so many nodes. */
static double coded(const struct job_traffic *traffic, int32_t nodes)
{
    const int64_t most = nodes - 1, given = traffic->job->type->step.stragglers;
    const struct gradient_code code = {.scheme = GRADIENT_GC, .workers = nodes,
                                       .stragglers = (int32_t)(given < most ? given : most)};
    return nodes * gradient_code_load(&code);
}

static double step_s(const struct job_traffic *traffic, const struct step_place *place, double coding,
                     double edge_bytes_per_s)
{
    return step_time_s(coding * traffic->job->type->step.compute_s, traffic->type->collectives, traffic->type->n, place,
                       rates_of(traffic->job), edge_bytes_per_s);
}

static double ideal_step_s(const struct job_traffic *traffic)
{
    const struct job *job = traffic->job;
    const struct job_network *network = job->jobs->network;
    const int32_t each = jobs_cluster_of(job->jobs, job->view.node_type)->gpus_per_node;
    const int32_t gpus = job->view.gpus, nodes = (gpus + each - 1) / each;
    const struct step_place place = place_on(network, traffic->type, nodes, gpus / nodes, (gpus + nodes - 1) / nodes);
    return step_s(traffic, &place, 1.0, nic_bytes_per_s(network) / flows_per_nic(traffic->type, &place));
}

/* The speed at the present grants. */
static double speed_of(const struct job_traffic *traffic)
{
    double least = nic_bytes_per_s(traffic->job->jobs->network) / flows_per_nic(traffic->type, &traffic->place);
    for (int32_t i = 0; i < traffic->n_flows; i++) least = fmin(least, link_flow_bytes_per_s(&traffic->flows[i].claim));
    const double time_s = step_s(traffic, &traffic->place, coded(traffic, traffic->n_nodes), least);
    return time_s > 0.0 ? traffic->ideal_s / time_s : 1.0;
}

double job_traffic_speed(const struct job *job)
{
    return job->traffic != NULL ? job->traffic->speed : 1.0;
}

/* --- Flows --- */

/* Takes the lowest of `of` adapters of a node that neither jobs nor services use; if there are too few, those that jobs
 * do not use. */
static uint64_t take_nics(struct job_network *network, int32_t node, int32_t n, int32_t of)
{
    uint64_t set = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < of && n > 0; i++) {
            const uint64_t bit = UINT64_C(1) << i;
            const bool is_free = ((network->nics_used[node] | set) & bit) == 0;
            if (!is_free || (pass == 0 && topology_nic_is_taken(network->topology, (struct graph_nic){node, i})))
                continue;
            set |= bit;
            n--;
        }
    network->nics_used[node] |= set;
    return set;
}

static int32_t nth_nic(uint64_t set, int32_t n)
{
    for (int32_t i = 0; i < MOST_NICS; i++)
        if ((set >> i & 1) != 0 && n-- == 0) return i;
    return 0;
}

static int list_nodes(struct job_traffic *traffic)
{
    const struct job *job = traffic->job;
    struct job_network *network = job->jobs->network;
    const struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    const bool each = topology_config(network->topology)->network.per == NETWORK_PER_GPU;
    int32_t n = 0, least = INT32_MAX, most = 1;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) n++;
    traffic->nodes = mem_zalloc((size_t)n + 1, sizeof *traffic->nodes);
    if (traffic->nodes == NULL) return SIM_E_NOMEM;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        struct traffic_node *node = &traffic->nodes[traffic->n_nodes++];
        *node = (struct traffic_node){.first = {cluster->first_node + part->node, 0},
                                      .gpus = part->gpus > 0 ? part->gpus : 1};
        if (each && n > 1)
            node->nics = take_nics(network, node->first.node, node->gpus, cluster_node_gpus(cluster, part->node));
        if (node->gpus < least) least = node->gpus;
        if (node->gpus > most) most = node->gpus;
    }
    traffic->place = place_on(network, traffic->type, n > 0 ? n : 1, n > 0 ? least : 1, most);
    return 0;
}

static struct graph_nic nic_of(const struct job_traffic *traffic, int32_t node, int32_t channel)
{
    struct graph_nic nic = traffic->nodes[node].first;
    if (traffic->nodes[node].nics != 0) nic.nic = nth_nic(traffic->nodes[node].nics, channel);
    return nic;
}

/* The node that node i of the job sends to as its partner q; -1: none. */
static int32_t partner_of(const struct job_traffic *traffic, int32_t i, int32_t q)
{
    const struct traffic_type *type = traffic->type;
    const int32_t n = traffic->n_nodes;
    if (type->kind == STEP_SEND) {
        const int32_t stride = type->block_nodes > 0 ? type->block_nodes : 1;
        return i + stride < n ? i + stride : -1;
    }
    const int32_t block = traffic->place.nodes, first = i / block * block;
    const int32_t size = n - first < block ? n - first : block;
    const int32_t shift = type->kind == STEP_ALL_TO_ALL
                              ? 1 + (int32_t)((int64_t)q * (block - 1) / traffic->place.partners)
                              : 1;
    const int32_t to = first + (i - first + shift) % size;
    return to != i ? to : -1;
}

static void on_changed(struct link_net *net, struct link_flow *claim, sim_ns now);

/* Lists the edges of the exchange: [n_nodes * partners * channels] at most. */
static int32_t list_flows(const struct job_traffic *traffic, struct graph_flow *flows)
{
    const int32_t partners = traffic->type->kind == STEP_ALL_TO_ALL ? traffic->place.partners : 1;
    int32_t n = 0;
    if (!traffic->type->is_between || traffic->place.nodes < 2) return 0;
    for (int32_t i = 0; i < traffic->n_nodes; i++)
        for (int32_t q = 0; q < partners; q++) {
            const int32_t to = partner_of(traffic, i, q);
            for (int32_t c = 0; c < traffic->place.channels && to >= 0; c++)
                flows[n++] = (struct graph_flow){nic_of(traffic, i, c), nic_of(traffic, to, c)};
        }
    return n;
}

static int start_claim(struct job_traffic *traffic, const struct graph_flow *flow, const struct graph_choice *choice,
                       int32_t number)
{
    struct job_network *network = traffic->job->jobs->network;
    struct job_flow *claimant = &traffic->flows[number];
    const uint64_t label = (uint64_t)traffic->job->number << 24 | (uint64_t)number;
    struct link_path path;
    int code = topology_nic_path(network->topology, flow->from, flow->to, (struct topology_route){label, choice},
                                 &path);
    claimant->traffic = traffic;
    if (code == 0)
        code = link_claim_start(topology_net(network->topology), &claimant->claim, &path, nic_bytes_per_s(network),
                                on_changed, NULL);
    if (code != 0) return code;
    link_claim_hold(&claimant->claim);
    topology_note_path(network->topology, &claimant->claim, 1);
    traffic->n_flows++;
    return 0;
}

static int start_flows(struct job_traffic *traffic)
{
    struct job_network *network = traffic->job->jobs->network;
    const size_t most = (size_t)traffic->n_nodes * (size_t)traffic->place.channels *
                            (traffic->place.partners > 0 ? (size_t)traffic->place.partners : 1) +
                        1;
    struct graph_flow *flows = mem_zalloc(most, sizeof *flows);
    if (flows == NULL) return SIM_E_NOMEM;
    const int32_t n = list_flows(traffic, flows);
    const bool is_planned = topology_config(network->topology)->network.paths == NETWORK_PLANNED;
    struct graph_choice *choices = is_planned ? mem_zalloc((size_t)n + 1, sizeof *choices) : NULL;
    traffic->flows = mem_zalloc((size_t)n + 1, sizeof *traffic->flows);
    int code = traffic->flows == NULL || (is_planned && choices == NULL) ? SIM_E_NOMEM : 0;
    if (code == 0 && is_planned) code = topology_plan(network->topology, flows, n, choices);
    for (int32_t i = 0; i < n && code == 0; i++)
        code = start_claim(traffic, &flows[i], is_planned ? &choices[i] : NULL, i);
    mem_free(flows);
    mem_free(choices);
    return code;
}

/* --- While it runs --- */

/* Counts the GPU time at the present speed. */
static void count_time(struct job_traffic *traffic, sim_ns now)
{
    struct job_network *network = traffic->job->jobs->network;
    const double gpu_s = sim_s_from_ns(now - traffic->since_ns) * traffic->held_gpus;
    network->gpu_s += gpu_s;
    network->speed_gpu_s += gpu_s * traffic->speed;
    traffic->since_ns = now;
}

/* All claims of the moment have their grants. */
static void on_settle(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job_network *network = OWNER_ENTITY(owner, struct job_network, settle);
    (void)engine;
    while (network->stale != NULL) {
        struct job_traffic *traffic = network->stale;
        network->stale = traffic->next_stale;
        traffic->is_stale = false;
        const double speed = speed_of(traffic);
        if (speed == traffic->speed) continue;
        count_time(traffic, now);
        traffic->speed = speed;
        job_speed_changed(traffic->job, now);
    }
}

/* Its speed is computed anew at the end of this moment. */
static void note_stale(struct job_traffic *traffic, sim_ns now)
{
    struct jobs *jobs = traffic->job->jobs;
    struct job_network *network = jobs->network;
    if (traffic->is_stale) return;
    traffic->is_stale = true;
    if (network->stale == NULL) engine_arm(jobs->site->engine, now, PRIORITY_LINK_SETTLE, on_settle, &network->settle);
    struct job_traffic **last = &network->stale;
    while (*last != NULL) last = &(*last)->next_stale;
    traffic->next_stale = NULL;
    *last = traffic;
}

static void on_changed(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    note_stale(LINK_FLOW_ENTITY(claim, struct job_flow, claim)->traffic, now);
}

int job_traffic_begin(struct job *job)
{
    struct jobs *jobs = job->jobs;
    if (!job_has_traffic(job) || job->holder.held == NULL) return 0;
    struct job_traffic *traffic = job->traffic = mem_zalloc(1, sizeof *traffic);
    if (traffic == NULL) return SIM_E_NOMEM;
    traffic->job = job;
    traffic->type = &jobs->network->types[job->type - type_at(jobs, 0)];
    traffic->since_ns = engine_now(jobs->site->engine);
    traffic->held_gpus = job->view.held_gpus;
    traffic->began_at_ns = job->progress.done_ns;
    int code = list_nodes(traffic);
    if (code == 0) code = start_flows(traffic);
    if (code != 0) return code;
    traffic->ideal_s = ideal_step_s(traffic);
    const double time_s = step_s(traffic, &traffic->place, coded(traffic, traffic->n_nodes),
                                 nic_bytes_per_s(jobs->network) / flows_per_nic(traffic->type, &traffic->place));
    traffic->speed = time_s > 0.0 ? traffic->ideal_s / time_s : 1.0;
    /* the bound of a claim counts as reported, and may be below the rate of an adapter */
    if (traffic->n_flows > 0) note_stale(traffic, traffic->since_ns);
    return 0;
}

/* Bytes over each edge in the steps that the job has done since it began. */
static int64_t edge_bytes_done(const struct job_traffic *traffic)
{
    double bytes = 0.0;
    for (int32_t i = 0; i < traffic->type->n; i++)
        bytes += step_edge_bytes(&traffic->type->collectives[i], &traffic->place);
    const double work_s = sim_s_from_ns(traffic->job->progress.done_ns - traffic->began_at_ns);
    return traffic->ideal_s > 0.0 ? (int64_t)fmin(bytes * (work_s / traffic->ideal_s), 9e18) : 0;
}

void job_traffic_end(struct job *job)
{
    struct job_traffic *traffic = job->traffic;
    if (traffic == NULL) return;
    struct job_network *network = job->jobs->network;
    const int64_t bytes = edge_bytes_done(traffic);
    count_time(traffic, engine_now(job->jobs->site->engine));
    for (int32_t i = 0; i < traffic->n_flows; i++) {
        struct link_flow *claim = &traffic->flows[i].claim;
        link_claim_count(claim, bytes);
        topology_count_moved(network->topology, claim, bytes);
        topology_note_path(network->topology, claim, -1);
        link_flow_cancel(claim);
    }
    for (int32_t i = 0; i < traffic->n_nodes; i++)
        network->nics_used[traffic->nodes[i].first.node] &= ~traffic->nodes[i].nics;
    for (struct job_traffic **at = &network->stale; traffic->is_stale && *at != NULL; at = &(*at)->next_stale)
        if (*at == traffic) {
            *at = traffic->next_stale;
            break;
        }
    job_traffic_forget(job);
}

void job_traffic_forget(struct job *job)
{
    if (job->traffic == NULL) return;
    mem_free(job->traffic->nodes);
    mem_free(job->traffic->flows);
    mem_free(job->traffic);
    job->traffic = NULL;
}

int job_traffic_emit(const struct jobs *jobs)
{
    const struct job_network *network = jobs->network;
    if (network == NULL || !(network->gpu_s > 0.0)) return 0;
    return metric_emit(jobs->site->sink, "job.network_speed", network->speed_gpu_s / network->gpu_s);
}
