/* Transfers between groups of GPUs whose shards are all alike, moved as one flow.
 *
 * A group here has whole nodes of its own, and an adapter per GPU. All that its GPUs' links carry are transfers to and
 * from such groups, in equal shards over all of its GPUs. At every moment each GPU then carries as many shards of each
 * transfer as any other, so by max-min fairness all shards of a transfer have one rate and one end. One flow over the
 * links of the first GPUs has that rate: a link that carries several shards of a transfer occurs so often in its path.
 * The links of the other GPUs are twins of those of the first one. Results are to the bit those of separate shards
 * (tests/property/bundles.c); a transfer between 64 GPUs costs a 64th.
 *
 * The holder of the placements sees to it that nothing else uses their links (topology_placement.bundled). */
#include "sim/core/check.h"
#include "sim/world/links/topology_state.h"

enum { OUT_LINKS = 2, IN_LINKS = 2 }; /* of a path between nodes: PCIe and adapter on either side */

static int32_t shards_on(const struct topology_placement *placement, int32_t n)
{
    return n / placement->n_gpus;
}

bool topology_owns_nodes(const struct topology_placement *placement)
{
    for (int32_t i = 0; i < placement->n_gpus; i++) {
        const struct topology_node *node = placement->gpus[i]->node;
        const int32_t first = i - placement->gpus[i]->index;
        if (first < 0 || first + node->n_gpus > placement->n_gpus || placement->gpus[first]->node != node) return false;
    }
    return placement->n_gpus > 0;
}

bool topology_bundles(const struct topology *topology, int32_t from_gpus, int32_t to_gpus, double token_bytes)
{
    const struct topology_config *config = topology_config(topology);
    const int32_t n = from_gpus > to_gpus ? from_gpus : to_gpus;
    const bool is_large = topology->n_placed_gpus > TOPOLOGY_SAMPLED_GPUS; /* no series of single links */
    const bool is_plain = is_large && config->network.bytes_per_s > 0 && config->network.per == NETWORK_PER_GPU &&
                          !(config->network.fabric_bytes_per_s > 0) && config->pcie_switch.gpus == 0 &&
                          graph_is_flat(&topology->graph) && !topology->env.slows_nics;
    if (!is_plain || n % from_gpus != 0 || n % to_gpus != 0) return false;
    const int64_t bytes = (int64_t)token_bytes;
    return (double)bytes == token_bytes && bytes % n == 0 &&
           OUT_LINKS * (n / from_gpus) + IN_LINKS * (n / to_gpus) <= LINK_PATH_MAX;
}

bool topology_is_bundle(struct topology_end from, struct topology_end to)
{
    return from.tier == NULL && to.tier == NULL && from.placement->bundled && to.placement->bundled &&
           from.placement->gpus[0]->node != to.placement->gpus[0]->node;
}

static void make_twins(const struct topology_placement *placement)
{
    const struct topology_gpu *first = placement->gpus[0];
    for (int32_t i = 1; i < placement->n_gpus; i++) {
        const struct topology_gpu *gpu = placement->gpus[i];
        link_make_twin(gpu->pcie.in, first->pcie.in);
        link_make_twin(gpu->pcie.out, first->pcie.out);
        link_make_twin(gpu->nic.in, first->nic.in);
        link_make_twin(gpu->nic.out, first->nic.out);
    }
}

static bool has_links(const struct topology_placement *placement)
{
    const struct topology_gpu *last = placement->gpus[placement->n_gpus - 1];
    return last->nic.in != NULL && (placement->n_gpus == 1 || link_is_twin(last->nic.in));
}

/* Creates the links of all GPUs, in the order of the shards. Returns like topology_path. */
static int make_links(struct topology *topology, struct topology_end from, struct topology_end to)
{
    struct link_path path;
    double cap_bytes_per_s;
    int code = 0;
    if (has_links(from.placement) && has_links(to.placement)) return 0;
    for (int32_t i = 0; i < topology_shards(from, to) && code == 0; i++)
        code = topology_path(topology, from, to, i, &path, &cap_bytes_per_s);
    if (code != 0) return code;
    make_twins(from.placement);
    make_twins(to.placement);
    return 0;
}

int topology_bundle_path(struct topology *topology, struct topology_end from, struct topology_end to,
                         struct link_path *path, double *cap_bytes_per_s)
{
    const int32_t n = topology_shards(from, to);
    int code = make_links(topology, from, to);
    if (code == 0) code = topology_path(topology, from, to, 0, path, cap_bytes_per_s);
    if (code != 0) return code;
    SIM_REQUIRE(path->n == OUT_LINKS + IN_LINKS);
    const struct link_path once = *path;
    path->n = 0;
    for (int32_t i = 0; i < shards_on(from.placement, n); i++)
        for (int32_t k = 0; k < OUT_LINKS; k++) link_path_add(path, once.links[k]);
    for (int32_t i = 0; i < shards_on(to.placement, n); i++)
        for (int32_t k = 0; k < IN_LINKS; k++) link_path_add(path, once.links[OUT_LINKS + k]);
    return 0;
}

int32_t topology_bundle_out_links(struct topology_end from, struct topology_end to)
{
    return OUT_LINKS * shards_on(from.placement, topology_shards(from, to));
}
