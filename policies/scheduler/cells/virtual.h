/* Virtual clusters: each was promised cells. It gives them to its jobs as if they were a cluster of their own. While a
 * job is in a promised cell, that is bound to a cell of the cluster, which the buddy system always has. */
#ifndef ORRERY_POLICIES_SCHEDULER_CELLS_VIRTUAL_H
#define ORRERY_POLICIES_SCHEDULER_CELLS_VIRTUAL_H

#include "policies/scheduler/cells/cells.h"
#include "sim/world/policy/scheduler.h"

/* A promised cell. */
struct binding {
    int32_t cell;   /* of the cluster, of its level; -1: none */
    int32_t n_jobs; /* parts of jobs in it */
};

struct virtual_cluster {
    struct cells cells;    /* its roots are the promised cells */
    struct binding *bound; /* [roots] */
};

struct virtual_clusters {
    struct cell_levels levels;
    struct cells cells; /* of the cluster */
    int32_t n, capacity;
    struct virtual_cluster *items;
    int32_t *lent_gpus; /* [nodes] GPUs of jobs outside all cells, which a cell may take; the owner keeps it */
};

/* A cell that a job has. */
struct virtual_cell {
    int32_t level, cell; /* of the virtual cluster */
    int32_t node;
};

/* The view has nodes with whole GPUs. Returns 0 or SIM_E_NOMEM; virtual_fini is due in any case. */
int virtual_init(struct virtual_clusters *clusters, const struct cluster_view *view);
void virtual_fini(struct virtual_clusters *clusters);

/* Adds a virtual cluster with roots[level] cells of each level. Together they do not exceed the cluster. Returns 0 or
 * SIM_E_NOMEM. */
int virtual_add(struct virtual_clusters *clusters, const int32_t roots[CELL_LEVELS]);

/* Takes a cell of virtual cluster i for `gpus` GPUs of a node: the first one of the lowest level that suffices. It is
 * bound where the fewest lent GPUs are on the way. Returns 1, 0 if there is none, or SIM_E_NOMEM. */
int virtual_take(struct virtual_clusters *clusters, int32_t i, const struct cluster_view *view, int32_t gpus,
                 int32_t level, struct virtual_cell *taken);

/* Gives a cell back. Returns 0 or SIM_E_NOMEM. */
int virtual_give(struct virtual_clusters *clusters, int32_t i, int32_t level, int32_t cell);

#endif
