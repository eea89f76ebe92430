#include "sim/world/jobs/job_traffic.h"

#include "sim/core/check.h"
#include "sim/core/vec.h"
#include "sim/world/jobs/job_traffic_state.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* --- Types --- */

int job_traffic_refuse(const struct jobs *jobs, const struct job_type *type, const char *section, const char *hint,
                       const char *text)
{
    char where[DIAG_WHERE_CHARS];
    snprintf(where, sizeof where, "jobs.types.%s.%s", type->name, section);
    return diag_error(jobs->site->diag, SIM_E_CONFIG, config_where(jobs->site->config, where), hint, "%s", text);
}

static int check_site(const struct jobs *jobs, const struct job_type *type, const struct network_config *network)
{
    if (jobs->placer == NULL)
        return job_traffic_refuse(jobs, type, "step",
                                  "choose a placement policy that gives nodes, and a cluster that has some",
                                  "steps exchange data between nodes, and jobs are on no nodes in particular");
    if (network == NULL)
        return job_traffic_refuse(jobs, type, "step", "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
                                  "steps exchange data between nodes, and there is no network");
    return 0;
}

static int check_nics(const struct jobs *jobs, const struct job_type *type, const struct network_config *network)
{
    const char *section = type->training.plan.llm != NULL ? "training" : "step";
    for (const struct cluster *cluster = jobs->cluster; cluster != NULL; cluster = cluster->next)
        if (network->per == NETWORK_PER_GPU && cluster->gpus_per_node > MOST_NICS)
            return job_traffic_refuse(jobs, type, section, "take \"per\": \"node\" in cluster.network",
                                      "steps exchange data between nodes with at most 64 NICs each");
    return 0;
}

/* --- The site --- */

static bool states_steps(const struct job_type *type)
{
    return type->step.collectives.n > 0;
}

/* Warns of a type that trains by a plan on a network, and whose jobs claim none of it. */
static void warn_of_silence(const struct jobs *jobs, const struct job_type *type)
{
    const bool is_counted = jobs->placer == NULL;
    char where[DIAG_WHERE_CHARS];
    if (!is_counted && !job_training_is_uneven(jobs, type)) return;
    snprintf(where, sizeof where, "jobs.types.%s.training", type->name);
    diag_warning(
        jobs->site->diag, config_where(jobs->site->config, where),
        is_counted && jobs->scheduler->shares_gpus ? "jobs that share GPUs are on no nodes"
        : is_counted                               ? "choose a placement that gives nodes, such as \"consolidated\""
                                                   : "leave out 'lengths' to have their messages on the links",
        "jobs of type '%s' send nothing over the network: %s; their steps take the time of an idle network, on "
        "as few nodes as possible",
        type->name, is_counted ? "they are on no nodes in particular" : "their sequences have unlike lengths");
}

static void warn_of_silent_types(const struct jobs *jobs, const struct network_config *network)
{
    if (network == NULL || cluster_site_nodes(jobs->cluster) < 2) return;
    for (size_t i = 0; i < jobs->config->all_types.n; i++)
        if (jobs_type(jobs, i)->training.plan.llm != NULL) warn_of_silence(jobs, jobs_type(jobs, i));
}

static int read_type(struct jobs *jobs, size_t i, const struct network_config *network)
{
    const struct job_type *type = jobs_type(jobs, i);
    int code = states_steps(type) ? check_site(jobs, type, network) : 0;
    if (code == 0) code = check_nics(jobs, type, network);
    return code == 0 && states_steps(type) ? job_step_read_type(jobs, type, &jobs->network->types[i]) : code;
}

int job_traffic_create(struct jobs *jobs, struct topology *topology)
{
    const size_t n_types = jobs->config->all_types.n;
    const struct network_config *network = topology != NULL ? &topology_config(topology)->network : NULL;
    if (network != NULL && !(network->bytes_per_s > 0)) network = NULL;
    const bool is_placed = network != NULL && jobs->placer != NULL;
    bool any = false;
    warn_of_silent_types(jobs, network);
    for (size_t i = 0; i < n_types; i++)
        any = any || states_steps(jobs_type(jobs, i)) || (is_placed && jobs_type(jobs, i)->training.plan.llm != NULL);
    if (!any) return 0;
    struct job_network *of = jobs->network = mem_zalloc(1, sizeof *of);
    if (of == NULL) return SIM_E_NOMEM;
    of->topology = topology;
    owner_init(&of->settle, site_env_owner_ids(jobs->site, 1));
    of->types = mem_zalloc(n_types, sizeof *of->types);
    of->rates = mem_zalloc((size_t)jobs->n_node_types, sizeof *of->rates);
    of->nics_used = mem_zalloc((size_t)cluster_site_nodes(jobs->cluster) + 1, sizeof *of->nics_used);
    if (of->types == NULL || of->rates == NULL || of->nics_used == NULL) return SIM_E_NOMEM;
    int code = 0;
    for (size_t i = 0; i < n_types && code == 0; i++)
        if (states_steps(jobs_type(jobs, i)) || jobs_type(jobs, i)->training.plan.llm != NULL)
            code = read_type(jobs, i, network);
    return code == 0 ? job_step_read_rates(jobs, of) : code;
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
    const struct job_type *type = job->type;
    if (job->jobs->network == NULL || type == NULL || job->view.gpus == 0) return false;
    return states_steps(type) || type->training.plan.llm != NULL;
}

/* --- Speed --- */

/* The smallest rate of the claims of a job with stated steps, while it sends. */
static double least_rate(const struct job_traffic *traffic)
{
    double least = job_step_flow_bytes_per_s(traffic);
    for (int32_t i = 0; i < traffic->n_flows; i++) {
        struct job_flow *flow = &traffic->flows[i];
        const double grant_bytes_per_s = link_flow_bytes_per_s(&flow->claim), demand = flow->demand_bytes_per_s;
        if (!(traffic->sends_frac < 1.0))
            least = fmin(least, grant_bytes_per_s);
        else
            least = fmin(least, demand * job_duty_share(traffic, grant_bytes_per_s / demand, flow->lone_frac));
    }
    return least;
}

/* Adds up what the squeezed claims of each sender want and get. */
static void sum_ports(struct job_traffic *traffic)
{
    for (int32_t i = 0; i < traffic->n_ports; i++)
        traffic->ports[i].demand_bytes_per_s = traffic->ports[i].grant_bytes_per_s = 0.0;
    for (int32_t i = 0; i < traffic->n_flows; i++) {
        struct job_flow *flow = &traffic->flows[i];
        struct traffic_port *port = &traffic->ports[flow->port];
        const double grant_bytes_per_s = link_flow_bytes_per_s(&flow->claim);
        flow->is_squeezed = link_flow_is_squeezed(&flow->claim);
        if (!flow->is_squeezed) continue;
        port->demand_bytes_per_s += flow->demand_bytes_per_s;
        port->grant_bytes_per_s += grant_bytes_per_s;
    }
}

/* A message gets the share that all squeezed claims of its sender get together: kinds of messages follow one another,
 * and each has what the others leave, as far as the links of its own path can carry it. */
static double share_of(const struct job_traffic *traffic, const struct job_flow *flow)
{
    const struct traffic_port *port = &traffic->ports[flow->port];
    const double path_frac = link_flow_path_bytes_per_s(&flow->claim) / flow->alone_bytes_per_s;
    if (!flow->is_squeezed || !(port->grant_bytes_per_s < port->demand_bytes_per_s)) return 1.0;
    const double net_frac = fmin(port->grant_bytes_per_s / port->demand_bytes_per_s, path_frac);
    if (!(traffic->sends_frac < 1.0)) return net_frac;
    const bool is_short_alone = flow->is_lone_squeezed && port->lone_frac < 1.0;
    return job_duty_share(traffic, net_frac, is_short_alone ? fmin(port->lone_frac, path_frac) : 1.0);
}

/* Messages of a kind wait for the smallest of their shares. */
static struct training_spread spread_now(struct job_traffic *traffic)
{
    struct training_spread spread = traffic->spread;
    double shares[TRAINING_EXCHANGES];
    sum_ports(traffic);
    for (int32_t k = 0; k < TRAINING_EXCHANGES; k++) shares[k] = 1.0;
    for (int32_t i = 0; i < traffic->n_flows; i++) {
        const struct job_flow *flow = &traffic->flows[i];
        shares[flow->kind] = fmin(shares[flow->kind], share_of(traffic, flow));
    }
    for (int32_t k = 0; k < spread.n; k++) spread.of[k].network_frac *= shares[k];
    return spread;
}

static bool spreads_are_equal(const struct training_spread *a, const struct training_spread *b)
{
    for (int32_t k = 0; k < a->n; k++)
        if (a->of[k].nodes != b->of[k].nodes || a->of[k].network_frac != b->of[k].network_frac) return false;
    return true;
}

/* Sets the time of the plan's step at this spread. */
static void time_plan(struct job_traffic *traffic, const struct training_spread *spread)
{
    if (traffic->step_now_s > 0.0 && spreads_are_equal(spread, &traffic->spread_now)) return;
    traffic->spread_now = *spread;
    traffic->step_now_s = job_messages_step_s(traffic->messages, spread, traffic->phases);
}

/* A plan is no faster than in an idle network, as its run time has it, also on nodes that suit it better. */
static double speed_in(const struct job_traffic *traffic, double time_s)
{
    const double speed = time_s > 0.0 ? traffic->ideal_s / time_s : 1.0;
    return traffic->messages != NULL ? fmin(speed, 1.0) : speed;
}

/* The speed at the present grants. */
static double speed_of(struct job_traffic *traffic)
{
    double time_s;
    if (traffic->messages != NULL) {
        const struct training_spread spread = spread_now(traffic);
        time_plan(traffic, &spread);
        time_s = traffic->step_now_s;
    } else {
        time_s = job_step_now_s(traffic, least_rate(traffic));
    }
    return speed_in(traffic, time_s);
}

/* The speed before others share its links. */
static double first_speed(struct job_traffic *traffic)
{
    if (traffic->messages != NULL) time_plan(traffic, &traffic->spread);
    const double time_s = traffic->messages != NULL ? traffic->step_now_s
                                                    : job_step_now_s(traffic, job_step_flow_bytes_per_s(traffic));
    return speed_in(traffic, time_s);
}

double job_traffic_speed(const struct job *job)
{
    const struct job_traffic *traffic = job->activity->traffic;
    return traffic != NULL ? traffic->speed : 1.0;
}

double job_traffic_ideal_s(const struct job *job)
{
    return job->activity->traffic != NULL ? job->activity->traffic->ideal_s : 0.0;
}

const struct power_stage *job_traffic_phases(const struct job *job)
{
    const struct job_traffic *traffic = job->activity->traffic;
    return traffic != NULL && traffic->messages != NULL ? traffic->phases : NULL;
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

struct graph_nic job_traffic_nic(const struct job_traffic *traffic, int32_t node, int32_t number)
{
    struct graph_nic nic = traffic->nodes[node].first;
    if (traffic->nodes[node].nics != 0) nic.nic = nth_nic(traffic->nodes[node].nics, number);
    return nic;
}

static int list_nodes(struct job_traffic *traffic)
{
    const struct job *job = traffic->job;
    struct job_network *network = job->jobs->network;
    const struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    const bool each = topology_config(network->topology)->network.per == NETWORK_PER_GPU;
    int32_t n = 0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) n++;
    traffic->nodes = mem_zalloc((size_t)n + 1, sizeof *traffic->nodes);
    if (traffic->nodes == NULL) return SIM_E_NOMEM;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        struct traffic_node *node = &traffic->nodes[traffic->n_nodes++];
        *node = (struct traffic_node){.first = {cluster->first_node + part->node, 0},
                                      .gpus = part->gpus > 0 ? part->gpus : 1};
        if (each && n > 1)
            node->nics = take_nics(network, node->first.node, node->gpus, cluster_node_gpus(cluster, part->node));
    }
    return 0;
}

static void on_changed(struct link_net *net, struct link_flow *claim, sim_ns now);

static int start_claim(struct job_traffic *traffic, const struct traffic_edge *edge, const struct graph_choice *choice,
                       int32_t number)
{
    struct job_network *network = traffic->job->jobs->network;
    struct job_flow *claimant = &traffic->flows[number];
    const uint64_t label = job_number(traffic->job) << 24 | (uint64_t)number;
    struct link_path path;
    int code = topology_nic_path(network->topology, edge->flow.from, edge->flow.to,
                                 (struct topology_route){label, choice}, &path);
    claimant->traffic = traffic;
    claimant->bytes = edge->bytes;
    claimant->demand_bytes_per_s = edge->demand_bytes_per_s;
    claimant->kind = edge->kind;
    claimant->port = edge->port;
    claimant->alone_bytes_per_s = edge->alone_bytes_per_s;
    claimant->lone_frac = 1.0;
    claimant->weight = edge->weight * traffic->sends_frac;
    if (code == 0) code = job_duty_note(traffic, number, &path);
    if (code == 0)
        code = link_claim_start(topology_net(network->topology), &claimant->claim, &path, edge->demand_bytes_per_s,
                                on_changed, NULL);
    if (code != 0) return code;
    if (claimant->weight < 1.0) link_claim_weigh(&claimant->claim, claimant->weight);
    link_claim_hold(&claimant->claim);
    topology_note_path(network->topology, &claimant->claim, 1);
    traffic->n_flows++;
    return 0;
}

/* Chooses the paths of n edges together. Returns 0 or SIM_E_NOMEM. */
static int plan_paths(struct topology *topology, const struct traffic_edge *edges, int32_t n,
                      struct graph_choice *choices)
{
    struct graph_flow *flows = mem_zalloc((size_t)n, sizeof *flows);
    if (flows == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < n; i++) flows[i] = edges[i].flow;
    const int code = topology_plan(topology, flows, n, choices);
    mem_free(flows);
    return code;
}

/* Starts the claims of edges `from` to `to`, which are of one kind. `choices` has room for them; NULL: the
 * network chooses. */
static int start_range(struct job_traffic *traffic, const struct traffic_edges *edges, int32_t from, int32_t to,
                       struct graph_choice *choices)
{
    struct topology *topology = traffic->job->jobs->network->topology;
    int code = choices != NULL ? plan_paths(topology, &edges->of[from], to - from, choices) : 0;
    for (int32_t i = from; i < to && code == 0; i++)
        code = start_claim(traffic, &edges->of[i], choices != NULL ? &choices[i - from] : NULL, i);
    return code;
}

static int start_claims(struct job_traffic *traffic, const struct traffic_edges *edges)
{
    struct topology *topology = traffic->job->jobs->network->topology;
    const bool is_planned = topology_config(topology)->network.paths == NETWORK_PLANNED;
    struct graph_choice *choices = is_planned ? mem_zalloc((size_t)edges->n + 1, sizeof *choices) : NULL;
    traffic->flows = mem_zalloc((size_t)edges->n + 1, sizeof *traffic->flows);
    int code = traffic->flows == NULL || (is_planned && choices == NULL) ? SIM_E_NOMEM : 0;
    for (int32_t i = 0, end; i < edges->n && code == 0; i = end) {
        for (end = i + 1; end < edges->n && edges->of[end].kind == edges->of[i].kind;) end++;
        code = start_range(traffic, edges, i, end, choices);
    }
    mem_free(choices);
    return code;
}

/* Lists what the job exchanges, and how long its steps take in an idle network. */
static int describe(struct job_traffic *traffic, struct traffic_edges *edges)
{
    if (traffic->messages != NULL) {
        traffic->ideal_s = job_messages_ideal_s(traffic->messages);
        return job_messages_edges(traffic, edges);
    }
    job_step_place(traffic);
    traffic->ideal_s = job_step_ideal_s(traffic);
    const int code = job_step_compute(traffic);
    return code == 0 ? job_step_edges(traffic, edges) : code;
}

static int start_flows(struct job_traffic *traffic)
{
    struct traffic_edges edges = {.n = 0};
    int code = describe(traffic, &edges);
    if (code == 0) {
        job_duty_begin(traffic, &edges);
        code = start_claims(traffic, &edges);
    }
    if (code == 0) job_duty_settle(traffic);
    mem_free(traffic->loads.of);
    traffic->loads = (struct traffic_loads){.n = 0};
    mem_free(edges.of);
    return code;
}

/* --- While it runs --- */

/* Counts the GPU time at the present speed. */
static void count_time(struct job_traffic *traffic, sim_ns now)
{
    gpu_time_share_count(&traffic->job->jobs->network->speed, &traffic->since_ns, now, traffic->held_gpus,
                         traffic->speed);
}

/* Takes it out of those whose claims have changed. */
static void drop_stale(struct job_network *network, struct job_traffic *traffic)
{
    if (!traffic->is_stale) return;
    DL_DELETE2(network->stale, traffic, before_stale, next_stale);
    traffic->is_stale = false;
}

/* All claims of the moment have their grants. */
static void on_settle(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job_network *network = OWNER_ENTITY(owner, struct job_network, settle);
    (void)engine;
    while (network->stale != NULL) {
        struct job_traffic *traffic = network->stale;
        drop_stale(network, traffic);
        const double speed = speed_of(traffic);
        if (speed == traffic->speed) continue;
        count_time(traffic, now);
        traffic->speed = speed;
        job_swaps_respread(traffic->job, now);
        job_activity_redraw(traffic->job, now, true);
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
    DL_APPEND2(network->stale, traffic, before_stale, next_stale);
}

static void on_changed(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    note_stale(LINK_FLOW_ENTITY(claim, struct job_flow, claim)->traffic, now);
}

/* Finds the messages of the job's plan, if it has one. Returns 1, 0 if nothing leaves its node, or SIM_E_NOMEM. */
static int find_messages(struct job *job, struct job_messages **messages)
{
    *messages = NULL;
    if (states_steps(job->type)) return 1;
    if (job->holder.held->next == NULL) return 0;
    return job_training_messages(job->jobs, job->type, job->view.node_type, job->view.held_gpus, messages);
}

int job_traffic_begin(struct job *job)
{
    struct jobs *jobs = job->jobs;
    struct job_messages *messages;
    if (!job_has_traffic(job) || job->holder.held == NULL) return 0;
    const int found = find_messages(job, &messages);
    if (found <= 0) return found;
    struct job_traffic *traffic = job->activity->traffic = mem_zalloc(1, sizeof *traffic);
    if (traffic == NULL) return SIM_E_NOMEM;
    traffic->job = job;
    traffic->messages = messages;
    traffic->type = &jobs->network->types[job->type - jobs_type(jobs, 0)];
    traffic->since_ns = engine_now(jobs->site->engine);
    traffic->held_gpus = job->view.held_gpus;
    traffic->began_at_ns = job->progress.done_ns;
    int code = list_nodes(traffic);
    if (code == 0) code = start_flows(traffic);
    if (code != 0) return code;
    traffic->speed = first_speed(traffic);
    /* the bound of a claim counts as reported, and may be below the rate of an adapter */
    if (traffic->n_flows > 0) note_stale(traffic, traffic->since_ns);
    return 0;
}

/* Steps that the job has done since it began. */
static double steps_done(const struct job_traffic *traffic)
{
    const struct job *job = traffic->job;
    const double work_s = sim_s_from_ns(job->progress.done_ns - traffic->began_at_ns);
    const double step_s = traffic->messages != NULL ? job_training_asked_s(job->jobs, job->type, (double)job->view.gpus)
                                                    : traffic->ideal_s;
    return step_s > 0.0 ? work_s / step_s : 0.0;
}

void job_traffic_end(struct job *job)
{
    struct job_traffic *traffic = job->activity->traffic;
    if (traffic == NULL) return;
    struct job_network *network = job->jobs->network;
    const double steps = steps_done(traffic);
    count_time(traffic, engine_now(job->jobs->site->engine));
    for (int32_t i = 0; i < traffic->n_flows; i++) {
        struct link_flow *claim = &traffic->flows[i].claim;
        const int64_t bytes = (int64_t)fmin(traffic->flows[i].bytes * steps, 9e18);
        link_claim_count(claim, bytes);
        topology_count_moved(network->topology, claim, bytes);
        topology_note_path(network->topology, claim, -1);
        link_flow_cancel(claim);
    }
    for (int32_t i = 0; i < traffic->n_nodes; i++)
        network->nics_used[traffic->nodes[i].first.node] &= ~traffic->nodes[i].nics;
    drop_stale(network, traffic);
    job_traffic_forget(job);
}

void job_traffic_forget(struct job *job)
{
    struct job_traffic *traffic = job->activity->traffic;
    if (traffic == NULL) return;
    mem_free(traffic->nodes);
    mem_free(traffic->flows);
    mem_free(traffic->ports);
    mem_free(traffic->far_stages);
    mem_free(traffic);
    job->activity->traffic = NULL;
}

int job_traffic_emit(const struct jobs *jobs)
{
    if (jobs->network == NULL) return 0;
    return gpu_time_share_emit(&jobs->network->speed, jobs->site->sink, "job.network_speed");
}
