/* Groups of jobs that share GPUs, and their matching in pairs: the one with the largest sum over new groups of
 *
 *     sum over the jobs of a group of (speed in the group / speed alone)
 *
 * Groups of jobs of the same types are alike. So the matching is an integer program with a variable for each pair
 * of kinds of groups, and it equals a maximum-weight matching of all groups. If its solver gives up, or there are
 * more than MATCHING_KINDS kinds, pairs are taken by falling weight. */
#ifndef ORRERY_POLICIES_SCHEDULER_SHARING_MATCHING_H
#define ORRERY_POLICIES_SCHEDULER_SHARING_MATCHING_H

#include "policies/scheduler/cpu_jobs.h"
#include "sim/world/policy/scheduler.h"

#include <stdbool.h>

enum { SHARING_MOST = 4, MATCHING_KINDS = 40 };

/* A job's slot. Of jobs without GPUs only `waiting` is used. */
struct sharing_job {
    struct ranked waiting;
    const struct job_view *view;
    struct sharing_job *mates[SHARING_MOST]; /* that share its GPUs while it runs */
    int32_t n_mates;
    double key; /* its place in the order; the least goes first */
    bool is_taken, stays; /* for the scheduler's own use */
};

struct sharing_group {
    int32_t n;
    struct sharing_job *jobs[SHARING_MOST];
    bool fits; /* for the scheduler's own use */
};

/* Joins groups in pairs of at most `most` jobs; the others stay as they are. The groups request equally many GPUs.
 * *n is their number, before and after. Returns 1, 0 if the matching may not be the best, or SIM_E_NOMEM. */
int matching_pair(const struct cluster_view *view, struct sharing_group *groups, size_t *n, int32_t most);

#endif
