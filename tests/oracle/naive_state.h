/* The inside of the naive simulator: its state, shared by time (naive_serving.c) and batchers (naive_batchers.c), and
 * what both do to it. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_STATE_H
#define ORRERY_TESTS_ORACLE_NAIVE_STATE_H

#include "tests/oracle/naive_serving.h"

#include <string.h>

struct sequence {
    int todo;      /* prompt to process; after a recompute preemption also what had been generated */
    int processed; /* tokens; when the prompt is complete also the newest generated one, as yet without KV */
    int generated, output;
    int64_t blocks;
    int64_t number;        /* order of admission */
    int64_t handed_blocks; /* where its prompt was processed, until its KV has moved and is taken */
    double left_ns;        /* of its move, were it alone on the link */
    bool moves, is_here;
};

struct batch {
    int n, id[NAIVE_REQUESTS], tokens[NAIVE_REQUESTS];
    int64_t end_ns;
};

struct list {
    int n, id[NAIVE_REQUESTS];
};

struct replica {
    struct list waiting, idle;          /* idle: admitted, in no batch */
    struct list swapped, remote;        /* KV on the host; prompt processed elsewhere, not yet taken */
    struct list taken, moved;           /* KV on its way here, and since the last decision arrived */
    struct batch flying[NAIVE_STAGES];
    int n_flying;
    int64_t stage_free_ns[NAIVE_STAGES];
    int64_t free_blocks, copied_blocks;
    bool preempted; /* in this decision */
};

struct naive {
    const struct naive_scenario *s;
    struct naive_outcome *outcomes;
    struct sequence sequences[NAIVE_REQUESTS];
    struct replica replicas[NAIVE_REPLICAS];
    int64_t now_ns, moved_ns, admissions, batches; /* moved_ns: up to which moves have been followed */
    int arrived, next_replica;
    bool released; /* blocks of another replica, in these decisions */
};

/* Composes the replica's next batch, or none. */
void naive_compose(struct naive *naive, struct replica *replica, struct batch *batch);

static inline void list_insert(struct list *list, int at, int id)
{
    memmove(list->id + at + 1, list->id + at, (size_t)(list->n - at) * sizeof *list->id);
    list->id[at] = id;
    list->n++;
}

static inline int list_take(struct list *list, int at)
{
    int id = list->id[at];
    list->n--;
    memmove(list->id + at, list->id + at + 1, (size_t)(list->n - at) * sizeof *list->id);
    return id;
}

static inline int64_t blocks_of(const struct naive *naive, int64_t tokens)
{
    return (tokens + naive->s->block_tokens - 1) / naive->s->block_tokens;
}

static inline bool is_prompt(const struct sequence *sequence)
{
    return sequence->processed < sequence->todo;
}

static inline int admitted(const struct replica *replica)
{
    int n = replica->idle.n + replica->taken.n + replica->moved.n;
    for (int i = 0; i < replica->n_flying; i++) n += replica->flying[i].n;
    return n;
}

static inline void give_blocks(struct naive *naive, struct replica *replica, int id)
{
    replica->free_blocks += naive->sequences[id].blocks;
    naive->sequences[id].blocks = 0;
}

static inline void release(struct naive *naive, int id)
{
    naive->replicas[naive->outcomes[id].replica].free_blocks += naive->sequences[id].handed_blocks;
    naive->sequences[id].handed_blocks = 0;
    naive->released = true;
}

#endif
