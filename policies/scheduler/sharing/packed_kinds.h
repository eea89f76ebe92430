/* Kinds of jobs, and the combinations of them that may share GPUs, for schedulers that treat equal jobs alike. Jobs of
 * one kind have the same type, requested GPUs, and speed on every node type. A job may be a kind of its own. */
#ifndef ORRERY_POLICIES_SCHEDULER_SHARING_PACKED_KINDS_H
#define ORRERY_POLICIES_SCHEDULER_SHARING_PACKED_KINDS_H

#include "policies/scheduler/cpu_jobs.h"
#include "policies/scheduler/sharing/packed_lp.h"
#include "sim/world/policy/scheduler.h"

#include <stdbool.h>

/* A job's slot. Of jobs without GPUs only `waiting` is used. */
struct packed_job {
    struct ranked waiting;
    const struct job_view *view;
    int kind;              /* in this allocation; -1: none yet */
    bool is_own_kind;      /* set by the scheduler before packed_kinds_find */
    double owed;           /* rounds that it should have run in, less those in which it did */
    struct packed_job *partner; /* that shares its GPUs while it runs; NULL: alone */
    int next_type;         /* chosen for this round; -1: none */
    struct packed_job *next_partner;
};

struct packed_kinds {
    struct packed_job **jobs; /* [n] by order of submission */
    size_t n, capacity;
    size_t depth;             /* only so many jobs take part, the oldest */
    int kinds, combinations;
    struct packed_job **first; /* [kinds]: the oldest job of each */
    double *count, *need;      /* [kinds] */
    struct combination *of;    /* [combinations] */
    size_t kinds_capacity, count_capacity, need_capacity, of_capacity;
};

enum { PACKED_MOST_KINDS = 128 };

void packed_kinds_fini(struct packed_kinds *kinds);

/* Adds and removes a job. packed_kinds_add returns 0 or SIM_E_NOMEM. */
int packed_kinds_add(struct packed_kinds *kinds, struct packed_job *job);
void packed_kinds_remove(struct packed_kinds *kinds, const struct packed_job *job);

/* Jobs that take part. */
static inline size_t packed_kinds_n(const struct packed_kinds *kinds)
{
    return kinds->n < kinds->depth ? kinds->n : kinds->depth;
}

/* Finds the kinds of the oldest jobs, up to PACKED_MOST_KINDS of them, and their combinations. Pairs only where
 * `shares`, and only those that do more together than one after the other on some node type. Returns 0 or
 * SIM_E_NOMEM. */
int packed_kinds_find(struct packed_kinds *kinds, const struct cluster_view *view, bool shares);

#endif
