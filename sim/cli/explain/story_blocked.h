/* What a request waits for in the queue, from its arrival until it is first admitted: the parts of its queue time. */
#ifndef ORRERY_CLI_EXPLAIN_STORY_BLOCKED_H
#define ORRERY_CLI_EXPLAIN_STORY_BLOCKED_H

#include "sim/core/units.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>

/* The first are those of enum batch_limit (policy/batching.h): what ended the admissions of the replica's batcher. */
enum {
    BLOCKED_LIMITS = 8,
    BLOCKED_NO_REPLICA = BLOCKED_LIMITS, /* no replica is up to take it */
    BLOCKED_ITERATION,                   /* the batcher is asked at the end of the iteration in progress */
    BLOCKED_LOADS,                       /* KV of its prompt comes from a prefix store */
    BLOCKED_HELD,                        /* its replica starts no iteration before it has new weights */
    N_BLOCKED
};

/* A replica's queue, by the latest row. */
struct queue_state {
    int kind; /* BLOCKED_HELD, or a limit */
    int64_t request;
    bool stands; /* an arrival waits for the same */
};

struct story_blocked {
    bool has_route, is_over; /* it was admitted, or rejected */
    bool loads;
    int kind;
    bool is_behind; /* admissions end at another request */
    sim_ns since_ns;
    sim_ns part_ns[N_BLOCKED][2]; /* [1]: behind another request */
};

/* What the queue of a replica waits for, after this row of it. */
struct queue_state queue_state_of(const struct admission_row *row);

/* The request joins the queue of a replica in this state; NULL: no row has come of it. */
void blocked_routed(struct story_blocked *blocked, double t_s, const struct queue_state *queue);

/* A row of the replica that the request `id` is routed to. */
void blocked_see(struct story_blocked *blocked, int64_t id, const struct admission_row *row,
                 const struct queue_state *queue);

void blocked_requeued(struct story_blocked *blocked, double t_s); /* its replica has failed */
void blocked_over(struct story_blocked *blocked, double t_s);     /* it is admitted or rejected, or the run ends */

/* Counts the time from its arrival until it was first routed; `end_s`: if it never was. Called once, at the end. */
void blocked_arrived(struct story_blocked *blocked, double arrival_s, double first_routed_s, double end_s);

/* Time of this kind. */
static inline sim_ns blocked_ns(const struct story_blocked *blocked, int kind)
{
    return blocked->part_ns[kind][0] + blocked->part_ns[kind][1];
}

/* "no free slot for another sequence" */
const char *blocked_text(int kind);

#endif
