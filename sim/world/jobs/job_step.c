/* Steps that a scenario states: what they exchange, between which nodes, and how long they take. */
#include "models/gradient_code.h"
#include "sim/catalog/catalog.h"
#include "sim/core/vec.h"
#include "sim/world/jobs/job_traffic_state.h"

#include <math.h>
#include <stdio.h>

static const char *const kind_names[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send", NULL};
static const char *const group_names[] = {"all", "rail", "node", NULL};
static const char *const scheme_names[] = {"none", "sr-sgc", "m-sgc", NULL};

#define ROW_OF struct code_config
static const struct config_field code_fields[] = {
    ROW_CHOICE("scheme", scheme, REQUIRED, scheme_names,
               "sequential gradient coding by repetition, or by two parts of the data"),
    ROW_INT("burst", burst, DEFAULT("1"), WITHIN(1, 63), "B: most rounds in a row in which a node may be late"),
    ROW_INT("window", window, DEFAULT("2"), WITHIN(2, 64), "W: rounds in a row that the code looks at"),
    ROW_INT("different", different, REQUIRED, WITHIN(1, 1e6),
            "lambda: most different nodes that may be late in a window"),
    {0}};
#undef ROW_OF

#define ROW_OF struct delays_config
static const struct config_field delays_fields[] = {
    ROW_REAL("late", late_frac, REQUIRED, WITHIN(1e-9, 1), "share of its rounds in which a node is late"),
    ROW_REAL("rounds", late_rounds, DEFAULT("1"), WITHIN(1, 1e6),
             "mean number of rounds in a row for which a node is late"),
    ROW_QUANTITY("delay", delay_s, UNIT_TIME, REQUIRED, WITHIN(0, 1e6), "time by which a late node answers later"),
    ROW_QUANTITY("base", base_s, UNIT_TIME, DEFAULT("0s"), WITHIN(0, 1e6),
                 "time of each round beside its computing, of all nodes, such as calls of functions"),
    ROW_REAL("patience", patience, DEFAULT("1"), WITHIN(0, 1e6),
             "with a code: nodes are stragglers after 1 + this times the fastest node's time"),
    {0}};
#undef ROW_OF

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
    ROW_SECTION("code", code, OPTIONAL, code_fields, "sequential gradient coding, in place of 'stragglers'"),
    ROW_SECTION("delays", delays, OPTIONAL, delays_fields, "nodes that answer late in some rounds; default: none does"),
    ROW_LIST("collectives", collectives, REQUIRED, WITHIN(1, 64), struct collective_config, collective_fields,
             "exchanges of a step, one after another"),
    {0}};
#undef ROW_OF

/* --- Types --- */

static bool leaves_node(const struct collective_config *collective)
{
    return collective->group != STEP_GROUP_NODE;
}

static bool is_ring(int kind)
{
    return kind != STEP_ALL_TO_ALL && kind != STEP_SEND;
}

static int check_code(const struct jobs *jobs, const struct job_type *type)
{
    const struct step_config *step = &type->step;
    const struct code_config *code = &step->code;
    const struct delays_config *delays = &step->delays;
    if (delays->late_frac > 0.0 && delays->late_frac * (delays->late_rounds + 1.0) > delays->late_rounds)
        return job_traffic_refuse(jobs, type, "step.delays", "raise 'rounds', or lower 'late'",
                                  "nodes that are late so often are late for more rounds in a row");
    if (code->scheme == 0) return 0;
    if (step->stragglers > 0)
        return job_traffic_refuse(jobs, type, "step.code", "leave out 'stragglers'",
                                  "a sequential code takes the place of 'stragglers'");
    if (code->burst >= code->window)
        return job_traffic_refuse(jobs, type, "step.code.burst", "for example \"burst\": 1, \"window\": 2",
                                  "'burst' must be less than 'window'");
    if (code->scheme + GRADIENT_GC == GRADIENT_SR_SGC && (code->window - 1) % code->burst != 0)
        return job_traffic_refuse(jobs, type, "step.code.window", "for example \"burst\": 2, \"window\": 3",
                                  "'burst' of sr-sgc must divide 'window' - 1");
    return 0;
}

/* Without a code, and with one that bears no stragglers, a round ends with its last node. */
static void warn_of_patience(const struct jobs *jobs, const struct job_type *type)
{
    char path[DIAG_WHERE_CHARS];
    snprintf(path, sizeof path, "jobs.types.%s.step.delays.patience", type->name);
    if (type->step.code.scheme == 0 && type->step.stragglers == 0)
        config_warn_idle(jobs->site->config, path, "patience", "without a code no node is left behind",
                         "give 'stragglers' or 'code', or leave it out", jobs->site->diag);
}

int job_step_read_type(const struct jobs *jobs, const struct job_type *type, struct traffic_type *out)
{
    const struct config_list *list = &type->step.collectives;
    const struct collective_config *first = NULL;
    if (list->n == 0) return 0;
    const int checked = check_code(jobs, type);
    if (checked != 0) return checked;
    warn_of_patience(jobs, type);
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
            return job_traffic_refuse(
                jobs, type, "step",
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

/* Rate between the GPUs of a node: NVLink, or PCIe without. Where each pair has a link, that of one. */
int job_step_read_rates(const struct jobs *jobs, struct job_network *network)
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
        const double rate = gpu.fabric == FABRIC_FULL ? gpu_link_bytes_per_s(&gpu, 2)
                            : gpu.nvlink_gpus > 1     ? gpu.nvlink_bytes_per_s
                                                      : gpu.pcie_bytes_per_s;
        if (rate > 0) network->rates[i].node_bytes_per_s = rate;
    }
    return 0;
}

/* --- Times --- */

static const struct step_rates *rates_of(const struct job *job)
{
    return &job->jobs->network->rates[job->view.node_type];
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

int32_t job_step_stragglers(const struct job *job)
{
    int64_t most = -1;
    if (job->type == NULL || job->type->step.code.scheme != 0) return 0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) most++;
    const int64_t given = job->type->step.stragglers;
    return given < most ? (int32_t)given : most > 0 ? (int32_t)most : 0;
}

/* --- Gradient coding ---
 *
 * A node is a worker. Its load is at most all of the data: a job on few nodes does with smaller numbers. */

static struct gradient_code code_of(const struct job_traffic *traffic)
{
    const struct step_config *step = &traffic->job->type->step;
    const int32_t nodes = traffic->n_nodes > 0 ? traffic->n_nodes : 1;
    struct gradient_code code = {.scheme = GRADIENT_GC, .workers = nodes,
                                 .stragglers = job_step_stragglers(traffic->job)};
    if (step->code.scheme == 0 || nodes < 2) return code;
    code.scheme = (enum gradient_scheme)(GRADIENT_GC + step->code.scheme);
    code.burst = (int32_t)step->code.burst;
    code.window = (int32_t)step->code.window;
    code.different = step->code.different < nodes ? (int32_t)step->code.different : nodes;
    return code;
}

/* Draws n rounds of all nodes: the delays of rounds in a row are those of a chain in its steady state. */
static void draw_delays(const struct job_traffic *traffic, int32_t nodes, int64_t n, double *delay_s, bool *late)
{
    const struct job *job = traffic->job;
    const struct delays_config *delays = &job->type->step.delays;
    const double ends_frac = 1.0 / delays->late_rounds;
    const double begins_frac = ends_frac * delays->late_frac / (1.0 - delays->late_frac);
    struct rng rng;
    rng_init(&rng, job->jobs->site->seed, job->jobs->site->run, "jobs.delays", job_number(job));
    for (int64_t i = 0; i < n * nodes; i++) {
        const bool was_late = i >= nodes && late[i - nodes];
        const double late_frac = i < nodes ? delays->late_frac : was_late ? 1.0 - ends_frac : begins_frac;
        late[i] = rng_uniform(&rng) < late_frac;
        delay_s[i] = delays->base_s + (late[i] ? delays->delay_s : 0.0);
    }
}

/* Sets *sum_s to the computing of so many steps, with the rounds of the code's delay. Returns 0 or SIM_E_NOMEM. */
static int run_rounds(const struct job_traffic *traffic, const struct gradient_code *code, int32_t steps, double *sum_s)
{
    const struct step_config *step = &traffic->job->type->step;
    const int64_t rounds = steps + gradient_code_delay(code);
    double *delay_s = mem_zalloc((size_t)(rounds * code->workers), sizeof *delay_s);
    bool *late = mem_zalloc((size_t)(rounds * code->workers), sizeof *late);
    const bool has_both = delay_s != NULL && late != NULL;
    if (has_both) {
        draw_delays(traffic, code->workers, rounds, delay_s, late);
        *sum_s = gradient_code_run_s(code, delay_s, step->compute_s * code->workers, step->delays.patience, steps,
                                     late);
    }
    mem_free(delay_s);
    mem_free(late);
    return has_both ? 0 : SIM_E_NOMEM;
}

/* Draws the rounds, unless the job had as many nodes and steps before: they are those of then. Returns 0 or
 * SIM_E_NOMEM. */
static int find_rounds(const struct job_traffic *traffic, const struct gradient_code *code, int32_t steps)
{
    struct job_rounds *rounds = &traffic->job->activity->rounds;
    if (rounds->nodes == code->workers && rounds->steps == steps) return 0;
    const int result = run_rounds(traffic, code, steps, &rounds->sum_s);
    rounds->nodes = result == 0 ? code->workers : 0;
    rounds->steps = steps;
    return result;
}

/* Steps of the job, of which at most STEP_ROUNDS node rounds are drawn; 100 at least. */
static double steps_of(const struct job_traffic *traffic)
{
    const double work_s = sim_s_from_ns(traffic->job->progress.work_ns);
    return traffic->ideal_s > 0.0 ? fmax(round(work_s / traffic->ideal_s), 1.0) : 1.0;
}

int job_step_compute(struct job_traffic *traffic)
{
    const struct step_config *step = &traffic->job->type->step;
    const struct gradient_code code = code_of(traffic);
    const double steps = steps_of(traffic), more = gradient_code_delay(&code);
    traffic->compute_s = step->compute_s * code.workers * gradient_code_load(&code) * (steps + more) / steps;
    if (!(step->delays.late_frac > 0.0)) return 0;
    const double drawn = fmin(steps, fmax(floor((double)STEP_ROUNDS / code.workers), 100.0));
    const int result = find_rounds(traffic, &code, (int32_t)drawn);
    traffic->compute_s = traffic->job->activity->rounds.sum_s / (drawn + more) * (steps + more) / steps;
    return result;
}

static double step_s(const struct job_traffic *traffic, const struct step_place *place, double compute_s,
                     double edge_bytes_per_s)
{
    return step_time_s(compute_s, traffic->type->collectives, traffic->type->n, place, rates_of(traffic->job),
                       edge_bytes_per_s);
}

double job_step_ideal_s(const struct job_traffic *traffic)
{
    const struct job *job = traffic->job;
    const struct job_network *network = job->jobs->network;
    const int32_t each = jobs_cluster_of(job->jobs, job->view.node_type)->gpus_per_node;
    const int32_t gpus = job->view.gpus, nodes = (gpus + each - 1) / each;
    const struct step_place place = place_on(network, traffic->type, nodes, gpus / nodes, (gpus + nodes - 1) / nodes);
    return step_s(traffic, &place, job->type->step.compute_s,
                  nic_bytes_per_s(network) / flows_per_nic(traffic->type, &place));
}

double job_step_flow_bytes_per_s(const struct job_traffic *traffic)
{
    return nic_bytes_per_s(traffic->job->jobs->network) / flows_per_nic(traffic->type, &traffic->place);
}

double job_step_now_s(const struct job_traffic *traffic, double least_bytes_per_s)
{
    return step_s(traffic, &traffic->place, traffic->compute_s, least_bytes_per_s);
}

/* --- Edges --- */

void job_step_place(struct job_traffic *traffic)
{
    int32_t least = traffic->n_nodes > 0 ? INT32_MAX : 1, most = 1;
    for (int32_t i = 0; i < traffic->n_nodes; i++) {
        least = traffic->nodes[i].gpus < least ? traffic->nodes[i].gpus : least;
        most = traffic->nodes[i].gpus > most ? traffic->nodes[i].gpus : most;
    }
    traffic->place = place_on(traffic->job->jobs->network, traffic->type, traffic->n_nodes > 0 ? traffic->n_nodes : 1,
                              least, most);
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

/* Each claims the bandwidth of its adapter. */
int job_step_edges(const struct job_traffic *traffic, struct traffic_edges *edges)
{
    const int32_t partners = traffic->type->kind == STEP_ALL_TO_ALL ? traffic->place.partners : 1;
    const double demand = nic_bytes_per_s(traffic->job->jobs->network);
    double bytes = 0.0;
    for (int32_t i = 0; i < traffic->type->n; i++)
        bytes += step_edge_bytes(&traffic->type->collectives[i], &traffic->place);
    if (!traffic->type->is_between || traffic->place.nodes < 2) return 0;
    for (int32_t i = 0; i < traffic->n_nodes; i++)
        for (int32_t q = 0; q < partners; q++) {
            const int32_t to = partner_of(traffic, i, q);
            for (int32_t c = 0; c < traffic->place.channels && to >= 0; c++) {
                const struct traffic_edge edge = {{job_traffic_nic(traffic, i, c), job_traffic_nic(traffic, to, c)},
                                                  bytes,
                                                  demand,
                                                  0,
                                                  0,
                                                  demand,
                                                  1.0};
                if (vec_push(&edges->of, &edges->n, &edges->capacity, edge) != 0) return SIM_E_NOMEM;
            }
        }
    return 0;
}
