#include "policies/placement/parts.h"

struct parts parts_of(const struct cluster_view *view, const struct resource_request *request)
{
    const int32_t gpus = request->gpus, most = view->gpus_per_node;
    if (gpus == 0) return (struct parts){1, 0, 0, 0, request};
    const int32_t whole = gpus / most, rest = gpus % most;
    if (request->nodes <= whole + (rest > 0)) return (struct parts){whole, most, rest > 0, rest, request};
    const int32_t nodes = request->nodes < gpus ? request->nodes : gpus;
    return (struct parts){gpus % nodes, gpus / nodes + 1, nodes - gpus % nodes, gpus / nodes, request};
}

struct part parts_get(const struct parts *parts, int32_t index)
{
    const struct resource_request *request = parts->request;
    const int32_t gpus = index < parts->n_large ? parts->large : parts->small;
    return (struct part){.gpus = gpus,
                         .gpu_milli = request->gpu_milli,
                         .cpu_milli = resource_request_share(request->cpu_milli, gpus, request->gpus),
                         .memory_bytes = resource_request_share(request->memory_bytes, gpus, request->gpus),
                         .gpu_models = request->gpu_models};
}

int32_t part_gpus_on(const struct node_view *node, const struct part *part)
{
    if (!part_is_share(part)) return node->free_gpus;
    int32_t n = 0;
    for (int32_t g = 0; g < node->gpus; g++) n += node->gpu_left_milli[g] >= part->gpu_milli;
    return n;
}

/* Whether the node has a GPU model that the part accepts. */
static bool suits(const struct node_view *node, const struct part *part)
{
    return part->gpus == 0 || (part->gpu_models >> node->gpu_model & 1) != 0;
}

bool part_fits(const struct node_view *node, const struct part *part)
{
    return part->cpu_milli <= node->cpu_left_milli && part->memory_bytes <= node->memory_left_bytes &&
           suits(node, part) && part_gpus_on(node, part) >= part->gpus;
}

int32_t part_best_gpu(const struct node_view *node, const struct part *part)
{
    int32_t best = -1;
    for (int32_t g = 0; g < node->gpus; g++) {
        const int32_t left = node->gpu_left_milli[g];
        if (left >= part->gpu_milli && (best < 0 || left < node->gpu_left_milli[best])) best = g;
    }
    return best;
}

bool part_is_open(const struct cluster_view *view, int32_t node, const struct part *part,
                  const struct placement *placement)
{
    if (!part_fits(&view->nodes[node], part)) return false;
    for (int32_t i = 0; i < placement->n; i++)
        if (placement->nodes[i] == node) return false;
    return true;
}

int32_t part_best_node(const struct cluster_view *view, const struct part *part, int32_t first, int32_t end,
                       const struct placement *placement)
{
    int32_t best = -1;
    for (int32_t i = first; i < end; i++) {
        if (best >= 0 && view->nodes[i].left_milli >= view->nodes[best].left_milli) continue;
        if (part_is_open(view, i, part, placement)) best = i;
    }
    return best;
}

void part_put(const struct cluster_view *view, int32_t node, const struct part *part, struct placement *placement)
{
    placement_add(placement, node, part->gpus);
    if (part_is_share(part)) placement->gpu = part_best_gpu(&view->nodes[node], part);
}

static bool fits_empty(const struct node_view *node, const struct part *part)
{
    return part->cpu_milli <= node->cpu_milli && part->memory_bytes <= node->memory_bytes && suits(node, part) &&
           node->gpus >= part->gpus;
}

bool parts_possible(void *state, const struct cluster_view *view, const struct job_view *job)
{
    (void)state;
    const struct parts parts = parts_of(view, &view->requests[job->request]);
    const struct part large = parts_get(&parts, 0), small = parts_get(&parts, parts_n(&parts) - 1);
    int32_t n_large = 0, n_small = 0;
    for (int32_t i = 0; i < view->n_nodes - view->n_spare_nodes && n_large < parts_n(&parts); i++) {
        n_large += fits_empty(&view->nodes[i], &large);
        n_small += fits_empty(&view->nodes[i], &small);
    }
    return n_small >= parts_n(&parts) && n_large >= parts.n_large;
}
