/* The breakdown of one iteration: work and time of each operator, kernel by kernel, evaluated one by one. */
#include "models/operators/operators.h"

/* Time of what one GPU sends at full speed, over the slower of link and network. */
static double ideal_exchange_s(const struct exchange_shape *shape)
{
    const struct exchange_traffic traffic = exchange_traffic_of(shape);
    const double network_s = shape->nodes > 1.0 ? traffic.network_bytes / shape->network_bytes_per_s : 0.0;
    const double link_s = traffic.link_bytes > 0.0 ? traffic.link_bytes / shape->link_bytes_per_s : 0.0;
    return larger_of(link_s, network_s);
}

/* Time of one GPU's traffic at full speed: over its link inside a node, and over its share of the network. */
static double ideal_network_s(const struct collective_shape *shape, double link_bytes)
{
    const double per_node = shape->gpus / shape->nodes;
    const double link_s = per_node > 1.0 ? link_bytes / shape->link_bytes_per_s : 0.0;
    const double network_s = shape->nodes > 1.0 ? link_bytes / per_node / shape->network_bytes_per_s : 0.0;
    return larger_of(link_s, network_s);
}

/* Seconds of a call's least work at the peaks. */
static double ideal_s(const struct gpu_spec *gpu, const struct kernel_call *call, const struct kernel_time *time)
{
    const double compute_s = time->flop / gpu_peak_flop_per_s(gpu, kernel_call_compute(call));
    const double busy_s = larger_of(compute_s, time->bytes / gpu->memory_bytes_per_s);
    if (time->link_bytes <= 0.0) return busy_s;
    if (call->class >= KERNEL_DISPATCH) return larger_of(busy_s, ideal_exchange_s(&call->shape.exchange));
    return larger_of(busy_s, ideal_network_s(&call->shape.collective, time->link_bytes));
}

static void add_time(struct kernel_time *sum, double count, const struct kernel_time *time)
{
    sum->seconds += count * time->seconds;
    sum->compute_s += count * time->compute_s;
    sum->memory_s += count * time->memory_s;
    sum->network_s += count * time->network_s;
    sum->overhead_s += count * time->overhead_s;
    sum->flop += count * time->flop;
    sum->bytes += count * time->bytes;
    sum->link_bytes += count * time->link_bytes;
}

static void add_use(struct operator_share *share, const struct operators_parts *parts, const struct kernel_use *use)
{
    const struct kernel_call *call = &use->call;
    enum kernel_basis basis;
    const struct kernel_time time = kernel_set_time(parts->kernels, parts->gpu, call, &basis);
    share->class = call->class;
    share->launches += use->count;
    share->ideal_s += use->count * ideal_s(parts->gpu, call, &time);
    if (basis == KERNEL_EXTRAPOLATED) share->outside_s += use->count * time.seconds;
    if (basis == KERNEL_MEASURED) share->measured_s += use->count * time.seconds;
    add_time(&share->time, use->count, &time);
}

void iteration_breakdown(const struct operators_parts *parts, const struct iteration_work *work,
                         struct iteration_breakdown *breakdown)
{
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, uses);
    const struct iteration_work own = llm_group_work(&parts->split, work);
    const double layers = (double)llm_shard(parts->llm, parts->split.tensor, parts->split.pipeline).layers;
    *breakdown = (struct iteration_breakdown){.n = 0};
    for (enum llm_operator op = 0; op < LLM_OPERATOR_COUNT; op++) {
        struct operator_share share = {.op = op, .launches = 0.0};
        for (size_t i = 0; i < n; i++)
            if (uses[i].op == op) add_use(&share, parts, &uses[i]);
        if (share.launches <= 0.0) continue;
        breakdown->operators[breakdown->n++] = share;
        breakdown->gpu_s += share.time.seconds;
        breakdown->outside_s += share.outside_s;
    }
    const struct piece gpu = piece_line(breakdown->gpu_s, 0.0);
    breakdown->host_s = engine_iteration(&parts->engine, layers, &own, gpu).now - breakdown->gpu_s;
}
