#include "policies/scheduler/cells/virtual.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

int virtual_init(struct virtual_clusters *clusters, const struct cluster_view *view)
{
    int32_t roots[CELL_LEVELS] = {0};
    clusters->levels = cell_levels_of(view->n_nodes, view->gpus_per_node, view->nodes_per_rack);
    const int32_t top = clusters->levels.n - 1;
    roots[top] = (int32_t)((int64_t)view->n_nodes * view->gpus_per_node / clusters->levels.gpus[top]);
    clusters->lent_gpus = mem_zalloc((size_t)view->n_nodes, sizeof *clusters->lent_gpus);
    const int code = cells_init(&clusters->cells, &clusters->levels, roots);
    return clusters->lent_gpus == NULL ? SIM_E_NOMEM : code;
}

void virtual_fini(struct virtual_clusters *clusters)
{
    for (int32_t i = 0; i < clusters->n; i++) {
        cells_fini(&clusters->items[i].cells);
        mem_free(clusters->items[i].bound);
    }
    mem_free(clusters->items);
    mem_free(clusters->lent_gpus);
    cells_fini(&clusters->cells);
}

int virtual_add(struct virtual_clusters *clusters, const int32_t roots[CELL_LEVELS])
{
    int32_t n = 0;
    if (vec_push(&clusters->items, &clusters->n, &clusters->capacity, (struct virtual_cluster){0}) != 0)
        return SIM_E_NOMEM;
    struct virtual_cluster *cluster = &clusters->items[clusters->n - 1];
    for (int32_t level = 0; level < clusters->levels.n; level++) n += roots[level];
    cluster->bound = mem_alloc(((size_t)n + 1) * sizeof *cluster->bound);
    if (cluster->bound == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < n; i++) cluster->bound[i] = (struct binding){.cell = -1};
    return cells_init(&cluster->cells, &clusters->levels, roots);
}

/* Who looks for a cell. */
struct seeker {
    const struct virtual_clusters *clusters;
    const struct virtual_cluster *cluster;
    const struct cluster_view *view;
    int32_t gpus;       /* needed on one node */
    int32_t root_level; /* of the promised cell to be bound */
    int32_t offset;     /* GPUs of that cell before those that are needed */
};

/* Lent GPUs that must be taken on a node; below 0: that would not suffice. */
static int64_t taken_on(const struct seeker *seeker, int32_t node)
{
    const int32_t missing = seeker->gpus - seeker->view->node_free_gpus[node];
    if (missing > seeker->clusters->lent_gpus[node]) return -1;
    return missing > 0 ? missing : 0;
}

/* For a promised rack to be bound to a free rack: GPUs that are down or held by others count first, then those that
 * must be taken. */
static int64_t cost_of_rack(const struct seeker *seeker, int32_t first_node, int32_t n_nodes, int32_t node)
{
    const int32_t per_node = seeker->view->gpus_per_node;
    const int64_t taken = taken_on(seeker, node);
    int64_t lost = 0;
    for (int32_t i = first_node; i < first_node + n_nodes; i++)
        lost += per_node - seeker->view->node_free_gpus[i] - seeker->clusters->lent_gpus[i];
    return taken < 0 ? -1 : lost * (per_node + 1) + taken;
}

/* For a promised cell to be bound to a cell of the cluster, or to the best part of it. */
static int64_t cost_of_binding(const void *context, int32_t level, int32_t cell)
{
    const struct seeker *seeker = context;
    const struct cell_levels *levels = &seeker->clusters->levels;
    const int32_t first = cell * levels->gpus[level], per_node = levels->gpus[levels->node];
    const int32_t first_node = first / per_node;
    if (level <= levels->node) return taken_on(seeker, first_node);
    const int32_t n_nodes = levels->gpus[level] / per_node;
    if (seeker->root_level > levels->node)
        return cost_of_rack(seeker, first_node, n_nodes, (first + seeker->offset) / per_node);
    int64_t least = -1;
    for (int32_t node = first_node; node < first_node + n_nodes; node++) {
        const int64_t taken = taken_on(seeker, node);
        if (taken >= 0 && (least < 0 || taken < least)) least = taken;
    }
    return least;
}

/* Whether a promised cell can be bound to any cell of the cluster. */
static bool can_bind(const struct seeker *seeker)
{
    const struct cells *cells = &seeker->clusters->cells;
    for (int32_t level = seeker->root_level; level < cells->levels->n; level++)
        for (int32_t i = 0; i < cells->free[level].n; i++)
            if (cost_of_binding(seeker, level, cells->free[level].cells[i]) >= 0) return true;
    return false;
}

/* The first GPU of the cluster that a cell of a virtual cluster stands for; -1: its promised cell is not bound.
 * Sets what the seeker knows of the promised cell. */
static int32_t first_gpu_of(struct seeker *seeker, int32_t level, int32_t cell)
{
    const int32_t *gpus = seeker->clusters->levels.gpus;
    int32_t root;
    const int32_t root_level = cells_root_of(&seeker->cluster->cells, level, cell, &root);
    const int32_t bound = seeker->cluster->bound[root].cell;
    seeker->root_level = root_level;
    seeker->offset = cell * gpus[level] % gpus[root_level];
    return bound < 0 ? -1 : bound * gpus[root_level] + seeker->offset;
}

/* For a cell of a virtual cluster: 0, or -1 if it is on a node that is down or held by others, or would have to be. */
static int64_t cost_within(const void *context, int32_t level, int32_t cell)
{
    struct seeker seeker = *(const struct seeker *)context;
    const struct cell_levels *levels = &seeker.clusters->levels;
    if (level > levels->node) return 0;
    const int32_t gpu = first_gpu_of(&seeker, level, cell);
    if (gpu < 0) return can_bind(&seeker) ? 0 : -1;
    return taken_on(&seeker, gpu / levels->gpus[levels->node]) < 0 ? -1 : 0;
}

/* Binds the promised cell of a cell that has just been taken, if needed. *gpu: the cell's first GPU; -1: no cell of the
 * cluster can be used. Returns 0 or SIM_E_NOMEM. */
static int bind(struct virtual_clusters *clusters, struct virtual_cluster *cluster, struct seeker *seeker,
                int32_t level, int32_t cell, int32_t *gpu)
{
    int32_t root, of_cluster = -1;
    int code = 0;
    const int32_t root_level = cells_root_of(&cluster->cells, level, cell, &root);
    struct binding *bound = &cluster->bound[root];
    *gpu = first_gpu_of(seeker, level, cell);
    if (*gpu < 0) {
        code = cells_take(&clusters->cells, root_level, cost_of_binding, seeker, &of_cluster);
        if (code < 0 || of_cluster < 0) return code;
        bound->cell = of_cluster;
        *gpu = first_gpu_of(seeker, level, cell);
    }
    bound->n_jobs++;
    return 0;
}

int virtual_take(struct virtual_clusters *clusters, int32_t i, const struct cluster_view *view, int32_t gpus,
                 int32_t level, struct virtual_cell *taken)
{
    struct virtual_cluster *cluster = &clusters->items[i];
    struct seeker seeker = {clusters, cluster, view, gpus, 0, 0};
    int32_t cell, gpu;
    int code = cells_take(&cluster->cells, level, cost_within, &seeker, &cell);
    if (code < 0 || cell < 0) return code;
    code = bind(clusters, cluster, &seeker, level, cell, &gpu);
    *taken = (struct virtual_cell){level, cell, gpu / view->gpus_per_node};
    if (code == 0 && gpu >= 0) return 1;
    const int given = cells_give(&cluster->cells, level, cell);
    return code < 0 ? code : given;
}

int virtual_give(struct virtual_clusters *clusters, int32_t i, int32_t level, int32_t cell)
{
    struct virtual_cluster *cluster = &clusters->items[i];
    int32_t root;
    const int32_t root_level = cells_root_of(&cluster->cells, level, cell, &root);
    struct binding *bound = &cluster->bound[root];
    const int code = cells_give(&cluster->cells, level, cell);
    if (--bound->n_jobs > 0 || code < 0) return code;
    const int32_t of_cluster = bound->cell;
    bound->cell = -1;
    return cells_give(&clusters->cells, root_level, of_cluster);
}
