/* Nodes that go down, return, and are replaced by spare nodes. A spare node replaces one of the cluster's own nodes,
 * not one of further node types. Spare nodes stand in for those on which no job was when the outage began, or whose
 * jobs were interrupted. A node that is repaired when none of these is missing becomes a spare node. Spare nodes that
 * wait or start do not fail; those without power are not started. */
#include "sim/core/check.h"
#include "sim/world/failures/failure_state.h"

#include <math.h>

static int make_nodes(struct failures *failures)
{
    failures->n_nodes = (int32_t)cluster_site_nodes(failures->cluster);
    failures->nodes = mem_zalloc((size_t)failures->n_nodes + 1, sizeof *failures->nodes);
    if (failures->nodes == NULL) return SIM_E_NOMEM;
    struct failure_node *node = failures->nodes;
    for (struct cluster *part = failures->cluster; part != NULL; part = part->next)
        for (int32_t i = 0; i < part->n_nodes; i++) *node++ = (struct failure_node){.part = part, .index = i, .share_frac = 1.0};
    return 0;
}

/* Divides all nodes into groups. A last group that is smaller needs at most all of its nodes. */
static int make_quorum(struct failures *failures, const struct failure_domain_config *domain)
{
    struct failure_quorum *quorum = &failures->quorums[failures->n_quorums];
    const int64_t n = failures->n_nodes;
    quorum->domain = domain;
    quorum->n_groups = (int32_t)((n + domain->nodes - 1) / domain->nodes);
    quorum->n_down = mem_zalloc((size_t)quorum->n_groups + 1, sizeof *quorum->n_down);
    if (quorum->n_down == NULL) return SIM_E_NOMEM;
    level_init(&quorum->available, 0, quorum->n_groups);
    failures->n_quorums++;
    return 0;
}

static int make_quorums(struct failures *failures)
{
    const struct config_list *domains = &failures->config->domains;
    failures->quorums = mem_zalloc(domains->n + 1, sizeof *failures->quorums);
    if (failures->quorums == NULL) return SIM_E_NOMEM;
    int code = 0;
    for (size_t i = 0; i < domains->n && code == 0; i++) {
        const struct failure_domain_config *domain = (const struct failure_domain_config *)domains->items + i;
        if (domain->needed > 0) code = make_quorum(failures, domain);
    }
    return code;
}

/* Most nodes of a group that may be down while it is available. */
static int64_t most_down(const struct failures *failures, const struct failure_quorum *quorum, int64_t group)
{
    const int64_t first = group * quorum->domain->nodes, left = failures->n_nodes - first;
    const int64_t n = left < quorum->domain->nodes ? left : quorum->domain->nodes;
    return n > quorum->domain->needed ? n - quorum->domain->needed : 0;
}

static void count_down(struct failures *failures, int32_t node, int32_t change)
{
    for (size_t i = 0; i < failures->n_quorums; i++) {
        struct failure_quorum *quorum = &failures->quorums[i];
        const int64_t group = node / quorum->domain->nodes, most = most_down(failures, quorum, group);
        const int32_t before = quorum->n_down[group], after = before + change;
        quorum->n_down[group] = after;
        const int64_t groups = quorum->available.value + (after <= most) - (before <= most);
        if (groups != quorum->available.value)
            level_set(&quorum->available, engine_now(failures->site->engine), groups);
    }
}

static void take_out(struct failure_node *node, enum failure_node_state state)
{
    node->state = state;
    cluster_remove_node(node->part, node->index);
}

static void put_in(struct failure_node *node)
{
    node->state = FAILURE_NODE_UP;
    cluster_return_node(node->part, node->index);
}

void failure_set_spares_aside(struct failures *failures)
{
    const int32_t n_spares = failures->cluster->n_spare_nodes = (int32_t)failures->config->spare_nodes;
    for (int32_t node = failures->cluster->n_nodes - n_spares; node < failures->cluster->n_nodes; node++) {
        take_out(&failures->nodes[node], FAILURE_NODE_SPARE);
        nodeset_add(&failures->spares, node);
        failures->cluster->spare_gpus += failure_node_gpus(&failures->nodes[node]);
    }
}

int failure_nodes_init(struct failures *failures)
{
    level_init(&failures->missing_gpus, 0, 0);
    int code = make_nodes(failures);
    if (code == 0) code = make_quorums(failures);
    if (code == 0) code = nodeset_init(&failures->spares, failures->cluster->n_nodes + 1);
    return code;
}

void failure_nodes_fini(struct failures *failures)
{
    for (size_t i = 0; i < failures->n_quorums; i++) mem_free(failures->quorums[i].n_down);
    mem_free(failures->quorums);
    mem_free(failures->nodes);
    nodeset_fini(&failures->spares);
}

static void count_missing(struct failures *failures, int64_t gpus)
{
    level_set(&failures->missing_gpus, engine_now(failures->site->engine), failures->missing_gpus.value + gpus);
}

static bool is_own(const struct failures *failures, int32_t node)
{
    return failures->nodes[node].part == failures->cluster;
}

/* The lowest spare node that has power and no outage; -1: none. */
static int32_t ready_spare(const struct failures *failures)
{
    int32_t spare = nodeset_next(&failures->spares, 0);
    while (spare >= 0 && failures->nodes[spare].out_until_ns > engine_now(failures->site->engine))
        spare = nodeset_next(&failures->spares, spare + 1);
    return spare;
}

int failure_nodes_cover(struct failures *failures)
{
    const sim_ns at_ns = sim_ns_add(engine_now(failures->site->engine), failures->config->spare_delay_ns);
    int32_t spare;
    int code = 0;
    while (code == 0 && failures->n_uncovered > 0 && (spare = ready_spare(failures)) >= 0) {
        nodeset_remove(&failures->spares, spare);
        failures->nodes[spare].state = FAILURE_NODE_STARTING;
        failures->n_uncovered--;
        code = failure_queue_add(&failures->returns, &(struct failure_entry){.time_ns = at_ns, .number = spare});
    }
    return code;
}

static int emit_step(const struct failures *failures, int32_t index, enum node_step step, sim_ns down_ns,
                     const char *cause)
{
    const struct sink *sink = failures->site->sink;
    if (sink->node == NULL) return 0;
    const struct node_row row = {.t_s = sim_s_from_ns(engine_now(failures->site->engine)),
                                 .step = step,
                                 .node = index,
                                 .gpus = failure_node_gpus(&failures->nodes[index]),
                                 .cause = cause,
                                 .down_s = down_ns < SIM_NS_MAX ? sim_s_from_ns(down_ns) : (double)INFINITY};
    return sink->node(sink->context, &row);
}

int failure_node_goes_down(struct failures *failures, const struct failure_effect *effect, int32_t index)
{
    struct failure_node *node = &failures->nodes[index];
    const sim_ns now = engine_now(failures->site->engine), back_ns = sim_ns_add(now, effect->repair_ns);
    take_out(node, FAILURE_NODE_DOWN);
    node->down_since_ns = now;
    const int told = emit_step(failures, index, NODE_DOWN, effect->repair_ns, effect->source->name);
    if (told != 0) return told;
    count_missing(failures, failure_node_gpus(node));
    count_down(failures, index, 1);
    int code = failure_queue_add(&failures->returns, &(struct failure_entry){.time_ns = back_ns, .number = index});
    if (code != 0 || !is_own(failures, index) || node->keeps_jobs) return code;
    failures->n_uncovered++;
    return failure_nodes_cover(failures);
}

int failure_node_keeps_none(struct failures *failures, int32_t index)
{
    struct failure_node *node = &failures->nodes[index];
    if (!node->keeps_jobs) return 0;
    node->keeps_jobs = false;
    failure_refresh_node(failures, index, engine_now(failures->site->engine));
    if (!is_own(failures, index)) return 0;
    failures->n_uncovered++;
    return failure_nodes_cover(failures);
}

int failure_node_returns(struct failures *failures, int32_t index)
{
    struct failure_node *node = &failures->nodes[index];
    if (node->out_until_ns > engine_now(failures->site->engine))
        return failure_queue_add(&failures->returns,
                                 &(struct failure_entry){.time_ns = node->out_until_ns, .number = index});
    SIM_REQUIRE(node->state == FAILURE_NODE_DOWN || node->state == FAILURE_NODE_STARTING);
    const bool is_repaired = node->state == FAILURE_NODE_DOWN;
    const bool is_replaceable = is_repaired && is_own(failures, index) && !node->keeps_jobs;
    const bool is_spare = is_replaceable && failures->n_uncovered == 0;
    const int code = emit_step(failures, index,
                               is_spare      ? NODE_SPARE
                               : is_repaired ? NODE_BACK
                                             : NODE_REPLACES,
                               engine_now(failures->site->engine) - node->down_since_ns, NULL);
    if (code != 0) return code;
    if (is_repaired) count_down(failures, index, -1);
    if (is_spare) {
        node->state = FAILURE_NODE_SPARE;
        nodeset_add(&failures->spares, index);
        return 0;
    }
    if (is_replaceable) failures->n_uncovered--;
    count_missing(failures, -failure_node_gpus(node));
    put_in(node);
    node->keeps_jobs = false;
    failure_refresh_node(failures, index, engine_now(failures->site->engine));
    return failure_nodes_cover(failures); /* with the power, spare nodes beside it are ready as well */
}
