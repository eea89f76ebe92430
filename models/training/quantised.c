#include "models/training/quantised.h"

double training_weight_message_bytes(const struct training_parts *parts)
{
    return parts->plan->weight_message == MESSAGE_STORED ? parts->trainer->weight_bytes : 1.0;
}

double training_gradient_message_bytes(const struct training_parts *parts)
{
    switch (parts->plan->gradient_message) {
    case MESSAGE_INT8: return 1.0;
    case MESSAGE_INT4: return 0.5;
    case MESSAGE_STORED: break;
    }
    return parts->trainer->gradient_bytes;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct training_hops training_hops_of(const struct training_plan *plan, struct training_group group)
{
    const int64_t on_node = plan->gpus_per_node / group.stride;
    const int64_t within = on_node > 1 ? common_divisor(group.gpus, on_node) : 1;
    return (struct training_hops){{within, group.stride}, {group.gpus / within, group.stride * within}};
}

/* A kernel that moves `bytes` through memory: an element-wise operator over rows as wide as the hidden state. */
static void add_kernel(const struct training_parts *parts, double bytes, struct training_quantising *sum)
{
    const double width = (double)parts->llm->hidden, number_bytes = 2.0;
    const struct kernel_call call = {.class = KERNEL_ACTIVATION,
                                     .shape.elementwise = {bytes / (width * number_bytes), width, number_bytes}};
    enum kernel_basis basis;
    const double seconds = kernel_set_time(parts->kernels, parts->gpu, &call, &basis).seconds;
    sum->seconds += seconds;
    sum->bytes += bytes;
    if (basis == KERNEL_EXTRAPOLATED) sum->outside_s += seconds;
}

struct training_quantising training_quantise_gather(const struct training_parts *parts, int64_t ranks, double n)
{
    const double moved = parts->trainer->weight_bytes + training_weight_message_bytes(parts);
    struct training_quantising sum = {0.0, 0.0, 0.0};
    if (parts->plan->weight_message == MESSAGE_STORED || ranks < 2 || !(n > 0.0)) return sum;
    add_kernel(parts, n / (double)ranks * moved, &sum);
    add_kernel(parts, n * moved, &sum);
    return sum;
}

struct training_quantising training_quantise_scatter(const struct training_parts *parts,
                                                     const struct training_hops *hops, double n)
{
    const double stored = parts->trainer->gradient_bytes, sent = training_gradient_message_bytes(parts);
    const double within = (double)hops->within.gpus, between = (double)hops->between.gpus;
    struct training_quantising sum = {0.0, 0.0, 0.0};
    if (parts->plan->gradient_message == MESSAGE_STORED || within * between < 2.0 || !(n > 0.0)) return sum;
    add_kernel(parts, n * (stored + sent), &sum);
    if (within > 1.0) add_kernel(parts, n * sent + n / within * (between > 1.0 ? sent : stored), &sum);
    if (between > 1.0) add_kernel(parts, n / within * sent + n / (within * between) * stored, &sum);
    return sum;
}
