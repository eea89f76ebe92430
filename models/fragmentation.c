#include "models/fragmentation.h"

#include <stdbool.h>
#include <stdlib.h>

enum { WHOLE_MILLI = 1000 };

/* GPUs of a node that have as much free as a task wants of each, and what is free on all others. */
struct frag_sum {
    int32_t n_enough, small_milli;
};

static struct frag_sum sum_gpus(const struct frag_node *node, int32_t gpu_milli)
{
    struct frag_sum sum = {0, 0};
    for (int32_t g = 0; g < node->gpus; g++) {
        const bool enough = node->left_milli[g] >= gpu_milli;
        sum.n_enough += enough;
        sum.small_milli += enough ? 0 : node->left_milli[g];
    }
    return sum;
}

double fragmentation_milli(const struct frag_node *node, const struct frag_task *tasks, int32_t n_tasks)
{
    int32_t total_milli = 0;
    for (int32_t g = 0; g < node->gpus; g++) total_milli += node->left_milli[g];
    if (total_milli == 0) return 0;
    const struct frag_sum of_whole = sum_gpus(node, WHOLE_MILLI);
    double sum_milli = 0;
    for (const struct frag_task *task = tasks; task < tasks + n_tasks; task++) {
        int32_t of_no_use_milli = total_milli;
        if (task->gpus > 0 && node->cpu_left_milli >= task->cpu_milli &&
            (task->gpu_models >> node->gpu_model & 1) != 0) {
            const struct frag_sum sum = task->gpu_milli == WHOLE_MILLI ? of_whole : sum_gpus(node, task->gpu_milli);
            if (sum.n_enough >= task->gpus) of_no_use_milli = sum.small_milli;
        }
        sum_milli += task->popularity_frac * of_no_use_milli;
    }
    return sum_milli;
}

/* The sign of a - b. */
static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *a, const void *b)
{
    const struct frag_task *x = a, *y = b;
    if (x->popularity_frac != y->popularity_frac) return x->popularity_frac > y->popularity_frac ? -1 : 1;
    if (x->cpu_milli != y->cpu_milli) return order(y->cpu_milli, x->cpu_milli);
    if (x->gpu_milli != y->gpu_milli) return order(y->gpu_milli, x->gpu_milli);
    if (x->gpus != y->gpus) return order(y->gpus, x->gpus);
    return x->gpu_models == y->gpu_models ? 0 : x->gpu_models > y->gpu_models ? -1 : 1;
}

int32_t fragmentation_typical(struct frag_task *tasks, int32_t n_tasks, double cover_frac)
{
    qsort(tasks, (size_t)n_tasks, sizeof *tasks, compare);
    double all = 0, covered = 0;
    for (int32_t i = 0; i < n_tasks; i++) all += tasks[i].popularity_frac;
    int32_t n = 0;
    while (n < n_tasks && covered < cover_frac * all) covered += tasks[n++].popularity_frac;
    for (int32_t i = 0; i < n; i++) tasks[i].popularity_frac /= covered;
    return n;
}
