/* Running jobs that others may join on the same GPUs, in pairs. */
#ifndef ORRERY_POLICIES_SCHEDULER_SHARING_PARTNERS_H
#define ORRERY_POLICIES_SCHEDULER_SHARING_PARTNERS_H

#include "policies/scheduler/pending.h"

#include <stdbool.h>
#include <stddef.h>

/* A job's slot. */
struct partner_job {
    struct ranked ranked; /* first: its place among pending jobs */
    size_t at;            /* in partners.running */
    struct partner_job *mate;
    bool yields;          /* for the scheduler's own use */
};

/* Zero-initialised. */
struct partners {
    struct partner_job **running; /* [n] with GPUs, in any order */
    size_t n, capacity;
};

void partners_fini(struct partners *partners);

/* A job has got GPUs. Returns 0 or SIM_E_NOMEM. */
int partners_run(struct partners *partners, struct partner_job *job);

/* A job has lost its GPUs; its mate runs on alone. */
void partners_stop(struct partners *partners, struct partner_job *job);

/* Whether the waiting job may join a running one at all: that is alone on as many GPUs as both requested. */
bool partners_match(const struct partner_job *waiting, const struct partner_job *running);

/* The waiting job joins a running one. Returns whether it did. */
bool partners_join(struct job_plan *plan, struct partner_job *waiting, struct partner_job *running, const char *reason);

/* Tries to start the first jobs of the queue until none can: the first job of each class, and if that finds no partner,
 * some behind it of other types. `start` returns whether it started the job. Ends early where *code, that of the
 * scheduler, is an error. */
typedef bool partners_start(void *scheduler, const struct cluster_view *view, struct partner_job *job,
                            struct job_plan *plan);
void partners_serve(struct pending *pending, partners_start *start, void *scheduler, const struct cluster_view *view,
                    struct job_plan *plan, const int *code);

#endif
