#include "sim/core/count_tree.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

int count_tree_init(struct count_tree *tree, int32_t n)
{
    *tree = (struct count_tree){.n = n};
    tree->counts = mem_zalloc((size_t)n, sizeof *tree->counts);
    tree->sums = mem_zalloc((size_t)n + 1, sizeof *tree->sums);
    if (tree->counts != NULL && tree->sums != NULL) return 0;
    count_tree_fini(tree);
    return SIM_E_NOMEM;
}

void count_tree_fini(struct count_tree *tree)
{
    mem_free(tree->counts);
    mem_free(tree->sums);
    *tree = (struct count_tree){0};
}

void count_tree_set(struct count_tree *tree, int32_t index, bool counts)
{
    if (tree->counts[index] == counts) return;
    const int32_t more = counts ? 1 : -1;
    tree->counts[index] = counts;
    tree->n_counted += more;
    for (int64_t i = (int64_t)index + 1; i <= tree->n; i += i & -i) tree->sums[i] += more;
}

int32_t count_tree_find(const struct count_tree *tree, int32_t k)
{
    int64_t before = 0, step = 1; /* things that are passed over */
    while (2 * step <= tree->n) step *= 2;
    for (; step > 0; step /= 2) {
        if (before + step > tree->n || tree->sums[before + step] > k) continue;
        before += step;
        k -= tree->sums[before];
    }
    return (int32_t)before;
}
