#include "models/operators/collective.h"

#include <math.h>

/* An algorithm of an operation inside a node: its steps, and the bytes that one GPU moves in words and in chunks. */
struct route {
    double steps, word_bytes, chunk_bytes;
};

static struct route route_of(enum collective_op op, double n, double bytes)
{
    const double share = (n - 1.0) / n * bytes;
    switch (op) {
    case COLLECTIVE_ALL_REDUCE: return (struct route){2.0 * (n - 1.0), 2.0 * share, 2.0 * share};
    case COLLECTIVE_DIRECT_ALL_REDUCE: return (struct route){n - 1.0, (n - 1.0) * bytes, 2.0 * share};
    case COLLECTIVE_SEND: return (struct route){1.0, bytes, bytes};
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_TO_ALL: break;
    }
    return (struct route){n - 1.0, share, share};
}

void collective_set_link(struct collective_shape *shape, const struct gpu_spec *gpu, int64_t on_node)
{
    shape->link_bytes_per_s = gpu_link_bytes_per_s(gpu, on_node);
    shape->switch_adds = gpu_switch_adds(gpu, on_node);
    shape->bridges = (double)gpu_bridges(gpu, on_node);
    shape->host_staged = gpu_host_staged(gpu, on_node);
}

/* Moving through a pipeline in chunks of the best size. */
static double pipelined_s(double fill_s, double transfer_s)
{
    const double root = sqrt(fill_s) + sqrt(transfer_s);
    return root * root;
}

static struct kernel_time timed(double overhead_s, double network_s, double link_bytes, double seconds)
{
    return (struct kernel_time){
        .seconds = seconds, .overhead_s = overhead_s, .network_s = network_s, .link_bytes = link_bytes};
}

static struct kernel_time faster(struct kernel_time a, struct kernel_time b)
{
    return b.seconds < a.seconds ? b : a;
}

static struct kernel_time time_on_node(const struct collective_params *params, enum collective_op op,
                                       const struct collective_shape *shape)
{
    const struct route route = route_of(op, shape->gpus, shape->bytes);
    const double link = shape->link_bytes_per_s, staged = shape->host_staged ? 1.0 : 0.0;
    const double latency = params->start_s + (1.0 + staged) * route.steps * params->hop_s;
    const double fill_s = (1.0 + shape->bridges + staged) * params->fill_s;
    const double word_s = route.word_bytes / (params->fast_frac * link);
    const double chunk_s = route.chunk_bytes / (params->bandwidth_frac * link);
    const struct kernel_time words = timed(latency, word_s, route.word_bytes, latency + word_s);
    const double moved_s = op == COLLECTIVE_DIRECT_ALL_REDUCE ? fill_s + chunk_s : pipelined_s(fill_s, chunk_s);
    const struct kernel_time chunks = timed(latency, chunk_s, route.chunk_bytes, latency + moved_s);
    const struct kernel_time best = faster(words, chunks);
    if (op != COLLECTIVE_ALL_REDUCE || !shape->switch_adds) return best;
    const double switch_bytes = (1.0 + 1.0 / shape->gpus) * shape->bytes;
    const double switch_s = switch_bytes / (params->switch_frac * link);
    const double through_switch_s = params->start_s + pipelined_s(fill_s, switch_s);
    return faster(best, timed(params->start_s, switch_s, switch_bytes, through_switch_s));
}

double collective_network_bytes(enum collective_op op, const struct collective_shape *shape)
{
    if (shape->nodes <= 1.0) return 0.0;
    const double per_node = shape->gpus / shape->nodes;
    if (op == COLLECTIVE_ALL_TO_ALL) return (1.0 - per_node / shape->gpus) * shape->bytes;
    return route_of(op, shape->gpus, shape->bytes).chunk_bytes / (op == COLLECTIVE_SEND ? 1.0 : per_node);
}

static struct kernel_time time_between_nodes(const struct collective_params *params, enum collective_op op,
                                             const struct collective_shape *shape)
{
    const double per_node = shape->gpus / shape->nodes;
    const struct route whole = route_of(op, shape->gpus, shape->bytes);
    const double inside = op == COLLECTIVE_SEND ? 0.0 : route_of(op, per_node, 0.0).steps;
    const double between = op == COLLECTIVE_SEND ? 1.0 : route_of(op, shape->nodes, 0.0).steps;
    const double latency = params->start_s + inside * params->hop_s + between * params->network_hop_s;
    const double link_s = per_node > 1.0 ? whole.chunk_bytes / (params->bandwidth_frac * shape->link_bytes_per_s) : 0.0;
    const double adapter_s = collective_network_bytes(op, shape) / (params->network_frac * shape->network_bytes_per_s);
    const double transfer_s = fmax(link_s, adapter_s);
    return timed(latency, transfer_s, whole.chunk_bytes, latency + pipelined_s(params->fill_s, transfer_s));
}

struct kernel_time collective_time(const struct collective_params *params, enum collective_op op,
                                   const struct collective_shape *shape)
{
    if (shape->gpus <= 1.0) return (struct kernel_time){.seconds = 0.0};
    return shape->nodes > 1.0 ? time_between_nodes(params, op, shape) : time_on_node(params, op, shape);
}
