#include "models/operators/exchange.h"

#include <math.h>

double exchange_parts_met(double parts, double experts, double chosen)
{
    const double elsewhere = experts - experts / parts;
    double missed = 1.0;
    for (double i = 0.0; i < chosen && i < experts; i += 1.0) missed *= fmax(elsewhere - i, 0.0) / (experts - i);
    return parts * (1.0 - missed);
}

double exchange_token_bytes(const struct exchange_shape *shape)
{
    const double scale_numbers = 128.0, scale_bytes = 4.0, head_bytes = 16.0;
    const bool is_narrow = number_format_bytes(shape->sent) < number_format_bytes(FORMAT_BF16);
    if (!is_narrow) return shape->hidden * number_format_bytes(shape->sent);
    return shape->hidden * (1.0 + scale_bytes / scale_numbers) + (shape->low_latency ? head_bytes : 0.0);
}

/* What the busiest GPU gets where a mean one gets `mean`: at most `all` that there is. */
static double busiest(const struct exchange_shape *shape, double mean, double all)
{
    return shape->imbalance > 1.0 ? fmin(mean * shape->imbalance, all) : mean;
}

struct exchange_traffic exchange_traffic_of(const struct exchange_shape *shape)
{
    const double bytes = exchange_token_bytes(shape), per_node = shape->gpus / shape->nodes;
    const double remote = 1.0 - 1.0 / shape->nodes, forwarded = 1.0 - 1.0 / per_node;
    if (shape->low_latency) {
        const double all = shape->tokens * fmin(shape->chosen * shape->gpus, shape->experts);
        const double choices = busiest(shape, shape->tokens * shape->chosen, all), moved_bytes = choices * bytes;
        return (struct exchange_traffic){.copies = choices,
                                         .node_copies = choices,
                                         .moved_bytes = moved_bytes,
                                         .link_bytes = (1.0 - remote) * forwarded * moved_bytes,
                                         .network_bytes = remote * moved_bytes};
    }
    const double allowed = shape->groups > 0.0 ? fmin(shape->groups, shape->nodes) : shape->nodes;
    const double experts = shape->experts * allowed / shape->nodes;
    const double copies = busiest(shape, shape->tokens * exchange_parts_met(allowed * per_node, experts, shape->chosen),
                                  shape->tokens * shape->gpus);
    const double node_copies = busiest(shape, shape->tokens * exchange_parts_met(allowed, experts, shape->chosen),
                                       shape->tokens * shape->nodes);
    return (struct exchange_traffic){.copies = copies,
                                     .node_copies = node_copies,
                                     .moved_bytes = copies * bytes,
                                     .link_bytes = forwarded * copies * bytes,
                                     .network_bytes = remote * node_copies * bytes};
}

/* SMs that work: as many as a normal kernel was given; or so many that each dispatches to equally many experts. */
static double busy_sms(const struct exchange_shape *shape, const struct gpu_spec *gpu)
{
    const double all = (double)gpu->sm_count;
    if (!shape->low_latency) return fmin(shape->sms, all);
    return shape->combines ? all : ceil(shape->experts / ceil(shape->experts / all));
}

/* Of the SMs, all working at once. */
static double sms_time(const struct exchange_params *params, const struct gpu_spec *gpu,
                       const struct exchange_shape *shape, const struct exchange_traffic *traffic)
{
    const double sm_bytes_per_s = params->sm_share * gpu->memory_bytes_per_s / (double)gpu->sm_count;
    const double passed_bytes = traffic->moved_bytes + params->own_copies * shape->tokens * exchange_token_bytes(shape);
    const double sm_s = shape->tokens * params->token_s + traffic->copies * params->copy_s +
                        passed_bytes / sm_bytes_per_s;
    return sm_s / busy_sms(shape, gpu);
}

struct kernel_time exchange_time(const struct exchange_params *params, const struct gpu_spec *gpu,
                                 const struct exchange_shape *shape)
{
    if (shape->gpus <= 1.0) return (struct kernel_time){.seconds = 0.0};
    const struct exchange_traffic traffic = exchange_traffic_of(shape);
    const double sms_s = sms_time(params, gpu, shape, &traffic);
    const bool is_wide = shape->nodes > 1.0;
    const double link_s = traffic.link_bytes > 0.0 ? traffic.link_bytes / (params->link_frac * shape->link_bytes_per_s)
                                                   : 0.0;
    const double network_s = is_wide ? traffic.network_bytes / (params->network_frac * shape->network_bytes_per_s)
                                     : 0.0;
    const double hop_s = is_wide ? params->network_hop_s : 0.0;
    const double overhead_s = params->start_s + shape->experts * params->expert_s + hop_s;
    const double wire_s = larger_of(link_s, network_s);
    return (struct kernel_time){
        .seconds = overhead_s + soft_max(sms_s, wire_s, params->softness),
        .memory_s = sms_s,
        .network_s = wire_s,
        .overhead_s = overhead_s,
        .bytes = 2.0 * traffic.moved_bytes, /* read and written */
        .link_bytes = traffic.link_bytes + traffic.network_bytes,
    };
}

struct kernel_time exchange_stated_time(const struct exchange_params *params, const struct exchange_shape *shape)
{
    const double sm_read_bytes_per_s = 200e9, sm_write_bytes_per_s = 50e9, link_frac = 0.9;
    if (shape->gpus <= 1.0) return (struct kernel_time){.seconds = 0.0};
    const struct exchange_traffic traffic = exchange_traffic_of(shape);
    const bool is_wide = shape->nodes > 1.0;
    const double to_nodes = is_wide ? traffic.node_copies : 0.0;
    const double read = shape->tokens + to_nodes;
    const double written = traffic.copies + (is_wide ? shape->tokens + to_nodes / shape->nodes : 0.0);
    const double sms_s = exchange_token_bytes(shape) *
                         larger_of(read / sm_read_bytes_per_s, written / sm_write_bytes_per_s) / shape->sms;
    const double link_s = traffic.link_bytes / (link_frac * shape->link_bytes_per_s);
    const double wire_s = is_wide ? larger_of(link_s, traffic.network_bytes / shape->network_bytes_per_s) : link_s;
    const double overhead_s = params->start_s + shape->experts * params->expert_s;
    return (struct kernel_time){
        .seconds = overhead_s + soft_max(sms_s, wire_s, params->softness),
        .memory_s = sms_s,
        .network_s = wire_s,
        .overhead_s = overhead_s,
        .bytes = exchange_token_bytes(shape) * (read + written),
        .link_bytes = traffic.link_bytes + traffic.network_bytes,
    };
}
