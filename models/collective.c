#include "models/collective.h"

#include "models/smooth.h"

/* Bytes that one GPU sends of a message among n GPUs. */
static double traffic_bytes(enum collective_op op, double n, double bytes)
{
    if (op == COLLECTIVE_SEND) return bytes;
    return (op == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0) * (n - 1.0) / n * bytes;
}

static double ring_steps(enum collective_op op, double n)
{
    if (op == COLLECTIVE_SEND) return 1.0;
    return (op == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0) * (n - 1.0);
}

struct kernel_time collective_time(const struct collective_params *params, enum collective_op op,
                                   const struct collective_shape *shape)
{
    if (shape->gpus <= 1.0) return (struct kernel_time){.seconds = 0.0};
    const bool crosses = shape->nodes > 1.0;
    const double link = crosses ? params->network_frac * shape->network_bytes_per_s
                                : params->bandwidth_frac * shape->link_bytes_per_s;
    struct kernel_time time = {
        .overhead_s = params->start_s + ring_steps(op, shape->gpus) * (crosses ? params->network_hop_s : params->hop_s),
        .link_bytes = traffic_bytes(op, shape->gpus, shape->bytes),
    };
    time.network_s = time.link_bytes / link;
    time.seconds = soft_max(time.overhead_s, time.network_s, params->softness);
    return time;
}
