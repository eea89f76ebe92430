#include "models/step_traffic.h"

#include <math.h>

/* Bytes that leave a member of a ring of p, over its buffer. */
static double ring_factor(enum step_collective_kind kind, double p)
{
    return (kind == STEP_ALL_REDUCE ? 2.0 : 1.0) * (p - 1.0) / p;
}

double step_edge_bytes(const struct step_collective *collective, const struct step_place *place)
{
    const double nodes = place->nodes, gpus = place->gpus_per_node, channels = place->channels;
    if (collective->group == STEP_GROUP_NODE || place->nodes < 2) return 0.0;
    const double all = nodes * gpus, members = collective->group == STEP_GROUP_ALL ? all : nodes;
    switch (collective->kind) {
    case STEP_SEND: return gpus * collective->bytes / channels;
    case STEP_ALL_TO_ALL: {
        const double outside = collective->group == STEP_GROUP_ALL ? all - gpus : nodes - 1.0;
        return gpus * collective->bytes * outside / members / (place->partners * channels);
    }
    default: {
        const double of_node = collective->group == STEP_GROUP_ALL ? collective->bytes : gpus * collective->bytes;
        return ring_factor(collective->kind, members) * of_node / channels;
    }
    }
}

/* Messages between nodes that follow one another. */
static double hops_of(const struct step_collective *collective, const struct step_place *place)
{
    const double others = place->nodes - 1.0;
    if (collective->group == STEP_GROUP_NODE || place->nodes < 2) return 0.0;
    if (collective->kind == STEP_SEND) return 1.0;
    return collective->kind == STEP_ALL_REDUCE ? 2.0 * others : others;
}

/* Bytes that leave each GPU towards others of its node, where the group is within nodes. */
static double inner_bytes(const struct step_collective *collective, const struct step_place *place)
{
    const double gpus = place->gpus_per_node;
    const bool is_inside = collective->group == STEP_GROUP_NODE ||
                           (collective->group == STEP_GROUP_ALL && place->nodes < 2);
    if (!is_inside || gpus < 2.0 || collective->kind == STEP_SEND) return 0.0;
    return collective->bytes * ring_factor(collective->kind, gpus);
}

double step_collective_s(const struct step_collective *collective, const struct step_place *place,
                         const struct step_rates *rates, double edge_bytes_per_s)
{
    const double bytes = step_edge_bytes(collective, place);
    return hops_of(collective, place) * rates->latency_s + (bytes > 0.0 ? bytes / edge_bytes_per_s : 0.0) +
           inner_bytes(collective, place) / rates->node_bytes_per_s;
}

double step_time_s(double compute_s, const struct step_collective *collectives, int32_t n,
                   const struct step_place *place, const struct step_rates *rates, double edge_bytes_per_s)
{
    double exposed_s = 0.0, hidden_s = 0.0;
    for (int32_t i = 0; i < n; i++) {
        const double time_s = step_collective_s(&collectives[i], place, rates, edge_bytes_per_s);
        exposed_s += (1.0 - collectives[i].overlap_frac) * time_s;
        hidden_s += collectives[i].overlap_frac * time_s;
    }
    return exposed_s + fmax(compute_s, hidden_s);
}
