/* Times of the collectives of a plan, and of messages between stages. */
#include "models/training/adapters.h"
#include "models/training/block.h"

#include <math.h>

/* GPUs that send over a bridge between PCIe switches at once, in messages of a collective's size: those of groups whose
 * members lie between those of this one; in an all-to-all also those of this group behind the bridge, each with what
 * goes to the other side. */
static double bridge_senders(const struct training_parts *parts, enum kernel_class class, struct training_group group)
{
    const double stride = fmin((double)group.stride, (double)parts->plan->gpus_per_node);
    const double side = (double)parts->gpu->gpus_per_switch / stride, all = (double)group.gpus;
    if (class != KERNEL_ALL_TO_ALL || side >= all) return stride;
    return stride * fmax(side * (all - side) / (all - 1.0), 1.0);
}

static enum training_exchange_kind exchange_kind(enum kernel_class class)
{
    if (class == KERNEL_ALL_TO_ALL) return EXCHANGE_ALL_TO_ALL;
    return class == KERNEL_SEND ? EXCHANGE_SHIFT : EXCHANGE_RING;
}

static double exchanged_bytes(enum kernel_class class, double gpus, double bytes)
{
    if (class == KERNEL_SEND) return bytes;
    return (class == KERNEL_ALL_REDUCE ? 2.0 : 1.0) * (gpus - 1.0) / gpus * bytes;
}

/* What the plan's spread says of a group; NULL: nothing. Stages send messages like a shift, in groups of their own. */
static const struct training_reach *reach_of(const struct training_plan *plan, enum kernel_class class,
                                             struct training_group group)
{
    for (int32_t i = 0; plan->spread != NULL && i < plan->spread->n; i++) {
        const struct training_reach *reach = &plan->spread->of[i];
        const enum training_exchange_kind kind = reach->kind == EXCHANGE_STAGES ? EXCHANGE_SHIFT : reach->kind;
        if (kind == exchange_kind(class) && training_groups_are_equal(reach->group, group)) return reach;
    }
    return NULL;
}

/* Of the bandwidth between nodes, what the library's choice of adapters leaves to a ring. */
static double adapter_share(const struct training_parts *parts, enum kernel_class class, struct training_group group,
                            double nodes)
{
    const struct training_adapters adapters = {parts->gpu->gpus_per_switch, parts->trainer->staged_frac};
    if (!parts->trainer->first_adapters || exchange_kind(class) != EXCHANGE_RING) return 1.0;
    return training_adapter_share(&adapters, group, nodes);
}

/* `nodes`: that the group lies on. `reach`: NULL, its members have the bandwidth of the plan. */
static struct training_collective collective_on(const struct training_parts *parts, enum kernel_class class,
                                                struct training_group group, double nodes,
                                                const struct training_reach *reach, double bytes)
{
    const struct training_plan *plan = parts->plan;
    struct collective_shape shape = {
        .bytes = bytes, .gpus = (double)group.gpus, .nodes = nodes,
        .network_bytes_per_s = plan->network_bytes_per_s * (reach != NULL ? reach->network_frac : 1.0) *
                               adapter_share(parts, class, group, nodes)};
    const int64_t span = group.gpus * group.stride;
    const int64_t on_node = span < plan->gpus_per_node ? span : plan->gpus_per_node;
    collective_set_link(&shape, parts->gpu, on_node);
    if (parts->gpu->fabric == FABRIC_FULL && on_node <= parts->gpu->nvlink_gpus) /* its members' links alone */
        shape.link_bytes_per_s = gpu_link_bytes_per_s(parts->gpu,
                                                      class == KERNEL_SEND ? 2 : group.gpus / (int64_t)nodes);
    shape.switch_adds = shape.switch_adds && class == KERNEL_ALL_REDUCE;
    if (shape.bridges > 0.0) shape.link_bytes_per_s /= bridge_senders(parts, class, group);
    const struct kernel_call call = {.class = class, .shape.collective = shape};
    enum kernel_basis basis;
    const struct kernel_time time = kernel_set_time(parts->kernels, parts->gpu, &call, &basis);
    return (struct training_collective){time.seconds, time.link_bytes, exchanged_bytes(class, shape.gpus, bytes),
                                        basis == KERNEL_EXTRAPOLATED};
}

bool training_collective_is_far(const struct training_parts *parts, enum kernel_class class,
                                struct training_group group)
{
    const struct training_reach *reach = reach_of(parts->plan, class, group);
    return (reach != NULL ? reach->nodes : (double)training_group_nodes(parts->plan, group)) > 1.0;
}

struct training_collective training_collective_of(const struct training_parts *parts, enum kernel_class class,
                                                  struct training_group group, double bytes)
{
    if (group.gpus <= 1 || !(bytes > 0.0)) return (struct training_collective){.seconds = 0.0};
    const struct training_reach *reach = reach_of(parts->plan, class, group);
    const double nodes = reach != NULL ? reach->nodes : (double)training_group_nodes(parts->plan, group);
    return collective_on(parts, class, group, nodes, reach, bytes);
}

struct training_collective training_stage_send_of(const struct training_parts *parts, bool is_far, double bytes)
{
    const struct training_group group = training_stages_group(parts->plan);
    return collective_on(parts, KERNEL_SEND, group, is_far ? 2.0 : 1.0, reach_of(parts->plan, KERNEL_SEND, group),
                         bytes);
}

struct training_collective training_return_of(const struct training_parts *parts, double bytes)
{
    const struct training_group group = training_context_group(parts->plan);
    const struct training_reach *reach = reach_of(parts->plan, KERNEL_ALL_TO_ALL, group);
    const double nodes = reach != NULL ? reach->nodes : (double)training_group_nodes(parts->plan, group);
    return collective_on(parts, KERNEL_SEND, group, nodes, reach, bytes);
}
