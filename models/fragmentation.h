/* GPU fragmentation of a node for a workload: free GPU capacity that a task drawn at random cannot use.
 *
 *     F_n(m) = sum of R_g                        if task m does not fit on the node, or asks for no GPU
 *              sum of R_g over R_g < min(D, 1)   otherwise, D: GPUs that it asks for
 *     F_n    = sum of p_m F_n(m)
 *
 * R_g is the free share of GPU g of the node, p_m the popularity of the task (Weng et al., "Beware of Fragmentation:
 * Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023, section 3). A task fits when
 * the CPU suffices, its GPU model is the node's, and enough GPUs have enough free: by the paper's scalar u (wholly free
 * GPUs plus the largest rest). Memory does not count, as in the paper. */
#ifndef ORRERY_MODELS_FRAGMENTATION_H
#define ORRERY_MODELS_FRAGMENTATION_H

#include <stdint.h>

/* A kind of tasks: a share of one GPU, or a number of whole GPUs. */
struct frag_task {
    double popularity_frac;
    int32_t gpus, gpu_milli; /* gpus 0: none; gpu_milli of each, in 1/1000 */
    int64_t cpu_milli;
    uint64_t gpu_models;     /* bits of the GPU models that it runs on */
};

/* Free resources of a node. */
struct frag_node {
    const int32_t *left_milli; /* [gpus] */
    int32_t gpus, gpu_model;
    int64_t cpu_left_milli;
};

/* F_n, in 1/1000 of a GPU. */
double fragmentation_milli(const struct frag_node *node, const struct frag_task *tasks, int32_t n_tasks);

/* Selects the typical tasks: the most popular of `tasks` (popularity_frac: any number in proportion) until they make up
 * `cover_frac` of all, with popularities that sum to 1. Among equally popular ones those with more CPU, then larger
 * shares, more GPUs, higher models go first. Sorts `tasks` in place. Returns the number of typical tasks. */
int32_t fragmentation_typical(struct frag_task *tasks, int32_t n_tasks, double cover_frac);

#endif
