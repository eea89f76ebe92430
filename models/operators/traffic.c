/* What the collectives of an iteration send, kernel by kernel, and their time at a share of the network.
 *
 * A ring sends to the next node, an all-to-all and DeepEP's kernels to all other nodes. With `imbalance` the bytes of
 * DeepEP's kernels are those of the busiest GPU. An adapter sends at network_frac of its bandwidth. Left out: messages
 * between pipeline stages. */
#include "models/operators/traffic.h"

#include "models/operators/operators.h"

static bool is_exchange(const struct kernel_call *call)
{
    return call->class >= KERNEL_DISPATCH;
}

static bool is_collective(const struct kernel_call *call)
{
    return call->class >= KERNEL_ALL_REDUCE && call->class != KERNEL_SEND;
}

/* What one launch moves, and the rate of its adapter. */
struct moved {
    double ring_bytes, spread_bytes, node_bytes, bytes_per_s;
};

static struct moved moved_by(const struct operators_parts *parts, const struct kernel_call *call, double link_bytes)
{
    const union kernel_params *params = &parts->kernels->params[call->class];
    if (is_exchange(call)) {
        const struct exchange_shape *shape = &call->shape.exchange;
        const struct exchange_traffic traffic = exchange_traffic_of(shape);
        return (struct moved){.spread_bytes = traffic.network_bytes,
                              .node_bytes = traffic.link_bytes,
                              .bytes_per_s = params->exchange.network_frac * shape->network_bytes_per_s};
    }
    const struct collective_shape *shape = &call->shape.collective;
    const enum collective_op op = (enum collective_op)(COLLECTIVE_ALL_REDUCE + ((int)call->class - KERNEL_ALL_REDUCE));
    const double bytes = collective_network_bytes(op, shape);
    return (struct moved){.ring_bytes = op == COLLECTIVE_ALL_TO_ALL ? 0.0 : bytes,
                          .spread_bytes = op == COLLECTIVE_ALL_TO_ALL ? bytes : 0.0,
                          .node_bytes = shape->gpus > shape->nodes ? link_bytes : 0.0,
                          .bytes_per_s = params->collective.network_frac * shape->network_bytes_per_s};
}

/* Slows the network of a call. Returns whether the call crosses it. */
static bool slow_network(struct kernel_call *call, double share_frac)
{
    const bool crosses = is_exchange(call) ? call->shape.exchange.nodes > 1.0 : call->shape.collective.nodes > 1.0;
    if (is_exchange(call)) call->shape.exchange.network_bytes_per_s *= share_frac;
    if (!is_exchange(call)) call->shape.collective.network_bytes_per_s *= share_frac;
    return crosses;
}

static void add_use(struct iteration_traffic *sum, const struct operators_parts *parts, const struct kernel_use *use,
                    double share_frac)
{
    enum kernel_basis basis;
    struct kernel_call call = use->call;
    const struct kernel_time idle = kernel_set_time(parts->kernels, parts->gpu, &call, &basis);
    const struct moved moved = moved_by(parts, &call, idle.link_bytes);
    sum->node_bytes += use->count * moved.node_bytes;
    if (!slow_network(&call, share_frac)) {
        sum->node_seconds += use->count * idle.seconds;
        return;
    }
    sum->ring_bytes += use->count * moved.ring_bytes;
    sum->spread_bytes += use->count * moved.spread_bytes;
    sum->sending_s += use->count * (moved.ring_bytes + moved.spread_bytes) / moved.bytes_per_s;
    sum->seconds += use->count * kernel_set_time(parts->kernels, parts->gpu, &call, &basis).seconds;
}

void operators_traffic(const void *model, const struct iteration_work *work, double share_frac,
                       struct iteration_traffic *traffic)
{
    const struct operators_parts *parts = &((const struct operators *)model)->parts;
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, uses);
    *traffic = (struct iteration_traffic){.seconds = 0.0};
    for (size_t i = 0; i < n; i++)
        if (is_collective(&uses[i].call)) add_use(traffic, parts, &uses[i], share_frac);
}

struct operators_slower operators_slower_at(const struct operators_parts *parts, const struct iteration_work *work,
                                            double share_frac)
{
    struct operators_slower slower = {0.0, 0.0};
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = share_frac < 1.0 ? llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, uses) : 0;
    for (size_t i = 0; i < n; i++) {
        struct kernel_use slow = uses[i];
        if (!is_collective(&slow.call) || !slow_network(&slow.call, share_frac)) continue;
        const double more_s = operators_use_time(parts, &slow).seconds - operators_use_time(parts, &uses[i]).seconds;
        if (is_exchange(&slow.call)) slower.sending_s += more_s;
        if (!is_exchange(&slow.call)) slower.computing_s += more_s;
    }
    return slower;
}

/* What leaves a rack of `size` nodes in an iteration. */
static double leaves_rack(const struct iteration_traffic *traffic, const struct traffic_place *place, double size)
{
    const double elsewhere = (place->nodes - size) / (place->nodes - 1.0);
    return elsewhere > 0.0 ? place->gpus_per_node * (traffic->ring_bytes + size * traffic->spread_bytes * elsewhere)
                           : 0.0;
}

struct traffic_levels traffic_levels_of(const struct iteration_traffic *traffic, const struct traffic_place *place)
{
    const double gpus = place->nodes * place->gpus_per_node;
    const double between = place->nodes > 1.0 ? gpus * (traffic->ring_bytes + traffic->spread_bytes) : 0.0;
    struct traffic_levels levels = {.node_bytes = gpus * traffic->node_bytes, .binds_at = (double)INFINITY};
    if (!(place->nodes_per_rack > 0.0) || place->nodes_per_rack >= place->nodes) {
        levels.rack_bytes = between;
        return levels;
    }
    const double full = floor(place->nodes / place->nodes_per_rack), rest = place->nodes - full * place->nodes_per_rack;
    const double most = leaves_rack(traffic, place, place->nodes_per_rack);
    const double last = rest > 0.0 ? leaves_rack(traffic, place, rest) : 0.0;
    levels.site_bytes = full * most + last;
    levels.rack_bytes = between - levels.site_bytes;
    const double peak = larger_of(most, last) / traffic->sending_s;
    levels.binds_at = place->nodes_per_rack * place->gpus_per_node * place->network_bytes_per_s / peak;
    return levels;
}
