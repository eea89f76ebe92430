#include "policies/scheduler/ranking.h"

#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdlib.h>

int ranked_list_add(struct ranked_list *list, struct ranked *ranked)
{
    return vec_push(&list->items, &list->n, &list->capacity, ranked);
}

void ranked_list_fini(struct ranked_list *list)
{
    mem_free(list->items);
}

static int compare_sequences(const void *a, const void *b)
{
    int64_t x = (*(struct ranked *const *)a)->job->sequence, y = (*(struct ranked *const *)b)->job->sequence;
    return (x > y) - (x < y);
}

void ranked_list_sort(struct ranked_list *list)
{
    if (list->n > 1) qsort(list->items, list->n, sizeof *list->items, compare_sequences);
}

static void sum_up(struct ranked *node)
{
    node->gpus_below = node->gpus;
    node->min_span_below_ns = node->span_ns;
    for (int side = 0; side < 2; side++) {
        const struct ranked *child = side ? node->right : node->left;
        if (child == NULL) continue;
        node->gpus_below += child->gpus_below;
        if (child->min_span_below_ns < node->min_span_below_ns) node->min_span_below_ns = child->min_span_below_ns;
    }
}

/* Counts a node that is added below. The children are not read: most of them are in no cache. */
static void count_added(struct ranked *root, const struct ranked *node)
{
    root->gpus_below += node->gpus;
    if (node->span_ns < root->min_span_below_ns) root->min_span_below_ns = node->span_ns;
}

/* Counts a node that was removed below `child`, one of the two. */
static void count_removed(struct ranked *root, const struct ranked *child, const struct ranked *node)
{
    const bool was_least = node->span_ns == root->min_span_below_ns;
    if (was_least && (child == NULL || child->min_span_below_ns > node->span_ns))
        sum_up(root);
    else
        root->gpus_below -= node->gpus;
}

/* Splits a tree into the nodes before `rank` and the others. */
static void split(struct ranked *node, const struct rank *rank, struct ranked **before, struct ranked **after)
{
    if (node == NULL) {
        *before = *after = NULL;
    } else if (rank_before(&node->rank, rank)) {
        *before = node;
        split(node->right, rank, &node->right, after);
        sum_up(node);
    } else {
        *after = node;
        split(node->left, rank, before, &node->left);
        sum_up(node);
    }
}

/* Joins two trees; all nodes of the first are before all of the second. */
static struct ranked *join(struct ranked *before, struct ranked *after)
{
    if (before == NULL) return after;
    if (after == NULL) return before;
    struct ranked *root = before->height > after->height ? before : after;
    if (root == before)
        root->right = join(before->right, after);
    else
        root->left = join(before, after->left);
    sum_up(root);
    return root;
}

static struct ranked *add_below(struct ranked *root, struct ranked *node)
{
    if (root == NULL || node->height > root->height) {
        split(root, &node->rank, &node->left, &node->right);
        sum_up(node);
        return node;
    }
    struct ranked **child = rank_before(&node->rank, &root->rank) ? &root->left : &root->right;
    *child = add_below(*child, node);
    count_added(root, node);
    return root;
}

static struct ranked *remove_below(struct ranked *root, const struct ranked *node)
{
    if (root == node) return join(root->left, root->right);
    struct ranked **child = rank_before(&node->rank, &root->rank) ? &root->left : &root->right;
    *child = remove_below(*child, node);
    count_removed(root, *child, node);
    return root;
}

void ranking_add(struct ranking *ranking, struct ranked *ranked)
{
    ranked->height = hash_mix((uint64_t)ranked->job->sequence + 1); /* a bijection: heights are distinct */
    if (ranking->first == NULL || rank_before(&ranked->rank, &ranking->first->rank)) ranking->first = ranked;
    ranking->root = add_below(ranking->root, ranked);
}

void ranking_remove(struct ranking *ranking, struct ranked *ranked)
{
    ranking->root = remove_below(ranking->root, ranked);
    if (ranking->first != ranked) return;
    ranking->first = ranking->root;
    while (ranking->first != NULL && ranking->first->left != NULL) ranking->first = ranking->first->left;
}

static int64_t gpus_below(const struct ranked *node)
{
    return node == NULL ? 0 : node->gpus_below;
}

int64_t ranking_gpus(const struct ranking *ranking)
{
    return gpus_below(ranking->root);
}

int64_t ranking_gpus_before(const struct ranking *ranking, struct rank bound)
{
    int64_t gpus = 0;
    const struct ranked *node = ranking->root;
    while (node != NULL) {
        if (rank_before(&node->rank, &bound)) {
            gpus += gpus_below(node->left) + node->gpus;
            node = node->right;
        } else {
            node = node->left;
        }
    }
    return gpus;
}

struct ranked *ranking_reach(const struct ranking *ranking, int64_t gpus)
{
    struct ranked *node = ranking->root;
    while (node != NULL) {
        int64_t before = gpus_below(node->left);
        if (before >= gpus) {
            node = node->left;
        } else if (before + node->gpus >= gpus) {
            return node;
        } else {
            gpus -= before + node->gpus;
            node = node->right;
        }
    }
    return NULL;
}

struct ranked *ranking_first_within(const struct ranking *ranking, sim_ns span_ns)
{
    struct ranked *node = ranking->root;
    if (node == NULL || node->min_span_below_ns > span_ns) return NULL;
    for (;;) {
        if (node->left != NULL && node->left->min_span_below_ns <= span_ns)
            node = node->left;
        else if (node->span_ns <= span_ns)
            return node;
        else
            node = node->right;
    }
}

struct ranked *ranking_first_from(const struct ranking *ranking, struct rank bound)
{
    struct ranked *node = ranking->root, *first = NULL;
    while (node != NULL) {
        if (rank_before(&node->rank, &bound)) {
            node = node->right;
        } else {
            first = node;
            node = node->left;
        }
    }
    return first;
}

struct ranked *ranking_last(const struct ranking *ranking)
{
    struct ranked *node = ranking->root;
    while (node != NULL && node->right != NULL) node = node->right;
    return node;
}

struct ranked *ranking_previous(const struct ranking *ranking, const struct ranked *ranked)
{
    struct ranked *node = ranking->root, *previous = NULL;
    while (node != NULL) {
        if (rank_before(&node->rank, &ranked->rank)) {
            previous = node;
            node = node->right;
        } else {
            node = node->left;
        }
    }
    return previous;
}
