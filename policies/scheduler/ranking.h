/* Jobs in an order, with sums over any prefix: a treap (Seidel and Aragon 1996). Its nodes lie in the jobs' own slots
 * and hold the GPUs and the shortest run time of their subtrees. Every operation costs O(log n) expected. The shape
 * comes from a hash of the job's sequence number, so it is equal in every run. */
#ifndef ORRERY_POLICIES_SCHEDULER_RANKING_H
#define ORRERY_POLICIES_SCHEDULER_RANKING_H

#include "sim/world/policy/scheduler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compared from first to third. Unique in a ranking. */
struct rank {
    int64_t first, second;
    uint64_t third;
};

static inline bool rank_before(const struct rank *a, const struct rank *b)
{
    if (a->first != b->first) return a->first < b->first;
    if (a->second != b->second) return a->second < b->second;
    return a->third < b->third;
}

/* What a walk down the tree reads comes first: it is one cache line or two. */
struct ranked {
    struct rank rank;
    struct ranked *left, *right;
    uint64_t height;
    int64_t gpus_below;
    sim_ns min_span_below_ns;
    const struct job_view *job;
    int64_t gpus;
    sim_ns span_ns; /* run time for ranking_first_within */
};

struct ranking {
    struct ranked *root, *first;
};

/* A list of jobs. Zero-initialised. */
struct ranked_list {
    size_t n, capacity;
    struct ranked **items;
};

/* Returns 0 or SIM_E_NOMEM. */
int ranked_list_add(struct ranked_list *list, struct ranked *ranked);
void ranked_list_fini(struct ranked_list *list);

/* Sorts the list in order of submission. */
void ranked_list_sort(struct ranked_list *list);

/* Adds a job whose `job`, `rank`, `gpus` and `span_ns` are set, and removes one without changing these. */
void ranking_add(struct ranking *ranking, struct ranked *ranked);
void ranking_remove(struct ranking *ranking, struct ranked *ranked);

/* GPUs of all jobs. */
int64_t ranking_gpus(const struct ranking *ranking);

/* GPUs of all jobs ranked before `bound`. */
int64_t ranking_gpus_before(const struct ranking *ranking, struct rank bound);

/* The first job at which the sum of GPUs from the beginning, its own included, reaches `gpus` > 0; NULL: none. */
struct ranked *ranking_reach(const struct ranking *ranking, int64_t gpus);

/* The first job with span_ns <= `span_ns`, or NULL. */
struct ranked *ranking_first_within(const struct ranking *ranking, sim_ns span_ns);

/* The first job that is not ranked before `bound`, or NULL. */
struct ranked *ranking_first_from(const struct ranking *ranking, struct rank bound);

struct ranked *ranking_last(const struct ranking *ranking);                                   /* NULL when empty */
struct ranked *ranking_previous(const struct ranking *ranking, const struct ranked *ranked); /* NULL before the first */

#endif
