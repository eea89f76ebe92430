/* Components that fail without stopping: slow GPUs, nodes and NICs, and hangs (slow: 0). A job runs at the share of its
 * slowest node, since all of its GPUs wait for one another, but for the nodes that gradient coding does without. A slow
 * NIC has a share of its bandwidth. A cause with "detection" is found after that time: its nodes then fail as usual.
 * Without it the component is as before after "repair". Services are not slowed by nodes, only by NICs. */
#include "sim/world/failures/failure_state.h"
#include "sim/world/links/topology.h"

#include <math.h>

int32_t failure_nodes_of(const struct failures *failures, const struct failure_source *source, int64_t component,
                         int32_t *first)
{
    const bool is_part = source->scope == FAILURE_GPU || (source->scope == FAILURE_NIC && failures->nic_per_gpu);
    *first = is_part ? failures->node_of_gpu[component] : (int32_t)component * source->nodes_each;
    const int32_t left = failures->n_nodes - *first;
    const int32_t n = is_part ? 1 : source->nodes_each;
    return n < left ? n : left;
}

/* Whether some component of the source on this node is slow. */
static bool is_slow_on(const struct failures *failures, const struct failure_source *source, int32_t node)
{
    if (source->scope != FAILURE_GPU) return source->slow[node / source->nodes_each];
    for (int64_t gpu = failures->first_gpu[node]; gpu < failures->first_gpu[node + 1]; gpu++)
        if (source->slow[gpu]) return true;
    return false;
}

static double share_of(const struct failures *failures, int32_t node)
{
    if (failures->nodes[node].keeps_jobs) return 0.0;
    double share_frac = 1.0;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        const struct failure_source *source = &failures->sources[i];
        if (source->slow == NULL || source->scope == FAILURE_NIC || !is_slow_on(failures, source, node)) continue;
        share_frac = fmin(share_frac, source->slow_frac);
    }
    return share_frac;
}

/* The least share but for those of the nodes that the holder does without. */
double failure_holder_share(const struct failure_exposure *exposure)
{
    enum { MOST_BORNE = 64 };
    double least[MOST_BORNE + 1]; /* rising */
    const int32_t most = exposure->holder->bears_slow < MOST_BORNE ? exposure->holder->bears_slow : MOST_BORNE;
    int32_t n = 0;
    for (const struct failure_occupant *part = exposure->occupants; part != NULL; part = part->next) {
        const double share_frac = exposure->failures->nodes[part->node].share_frac;
        if (!(share_frac < 1.0) || (n > most && share_frac >= least[most])) continue;
        int32_t at = n > most ? most : n++;
        for (; at > 0 && least[at - 1] > share_frac; at--) least[at] = least[at - 1];
        least[at] = share_frac;
    }
    return n > most ? least[most] : 1.0;
}

bool failure_holder_pauses(const struct failure_exposure *exposure)
{
    const struct failure_occupant *part = exposure->occupants;
    while (part != NULL && !exposure->failures->nodes[part->node].keeps_jobs) part = part->next;
    return part != NULL && failure_holder_share(exposure) == 0.0;
}

void failure_refresh_node(struct failures *failures, int32_t node, sim_ns now)
{
    failures->nodes[node].share_frac = share_of(failures, node);
    for (struct failure_occupant *part = failures->nodes[node].occupants; part != NULL; part = part->after) {
        struct holder *holder = part->exposure->holder;
        const double of_holder = failure_holder_share(part->exposure);
        const bool is_paused = failure_holder_pauses(part->exposure);
        if (of_holder == holder->slow_frac && is_paused == holder->is_paused) continue;
        holder->slow_frac = of_holder;
        holder->is_paused = is_paused;
        holder->ops->slowed(holder, now);
    }
}

/* Brings nodes or links up to date with a component that has become slow, or is no longer. */
static int refresh(struct failures *failures, const struct failure_source *source, int64_t component, sim_ns now)
{
    int32_t first;
    const int32_t n = failure_nodes_of(failures, source, component, &first);
    if (source->scope == FAILURE_NIC) {
        const int64_t nic = failures->nic_per_gpu ? component - failures->first_gpu[first] : 0;
        return topology_slow_nic(failures->options.topology, (struct graph_nic){first, (int32_t)nic},
                                 source->slow[component] ? source->slow_frac : 1.0);
    }
    for (int32_t i = 0; i < n; i++) failure_refresh_node(failures, first + i, now);
    return 0;
}

int failure_slow_begin(struct failures *failures, const struct failure_effect *effect, int64_t component,
                       struct rng *rng)
{
    struct failure_source *source = effect->source;
    const sim_ns now = engine_now(failures->site->engine);
    int32_t first, n_up = 0;
    const int32_t n = failure_nodes_of(failures, source, component, &first);
    const sim_ns found_ns = source->is_found ? failure_draw_ns(&source->detection, rng) : effect->repair_ns;
    for (int32_t i = 0; i < n; i++) n_up += failures->nodes[first + i].state == FAILURE_NODE_UP;
    if (n_up == 0) return 0;
    source->slow[component] = true;
    const struct failure_entry entry = {sim_ns_add(now, found_ns),
                                        (int64_t)(source - failures->sources) << FAILURE_COMPONENT_BITS | component,
                                        effect->repair_ns, effect->restart_ns};
    int code = failure_queue_add(&failures->found, &entry);
    if (code == 0) code = refresh(failures, source, component, now);
    return code < 0 ? code : n_up;
}

int failure_slow_end(struct failures *failures, struct failure_source *source, int64_t component)
{
    source->slow[component] = false;
    return refresh(failures, source, component, engine_now(failures->site->engine));
}
