/* Which of n things count, and the k-th of those: sums over growing ranges (Fenwick 1994). A change and a search cost
 * log n steps. */
#ifndef ORRERY_CORE_COUNT_TREE_H
#define ORRERY_CORE_COUNT_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: empty, so that count_tree_fini is allowed. */
struct count_tree {
    int32_t n, n_counted;
    bool *counts;  /* [n] */
    int32_t *sums; /* [n + 1]: sums[i] over the i & -i things that end before i */
};

/* n >= 1 things, none of which counts. Returns 0 or SIM_E_NOMEM. */
int count_tree_init(struct count_tree *tree, int32_t n);
void count_tree_fini(struct count_tree *tree);

void count_tree_set(struct count_tree *tree, int32_t index, bool counts);

/* The k-th thing that counts, 0 <= k < n_counted, in order of index. */
int32_t count_tree_find(const struct count_tree *tree, int32_t k);

#endif
