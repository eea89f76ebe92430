/* The inside of the naive simulator: its state, shared by time (naive_serving.c) and batchers (naive_batchers.c), and
 * what both do to it. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_STATE_H
#define ORRERY_TESTS_ORACLE_NAIVE_STATE_H

#include "tests/oracle/naive_serving.h"

#include <string.h>

enum { NAIVE_TABLE = 2048, NAIVE_BLOCKS = 1 << 19 };

struct sequence {
    int todo;      /* prompt to process; after a recompute preemption also what had been generated */
    int processed; /* tokens; when the prompt is complete also the newest generated one, as yet without KV */
    int generated, output;
    int64_t blocks, windows; /* windows: of these, for layers with a window */
    int draft_processed;   /* tokens that the draft LLM knows */
    int64_t drafted;       /* of these, taken for drafts of the batch that it is in */
    int64_t number;        /* order of admission */
    int64_t handed_blocks; /* where its prompt was processed, until its KV has moved and is taken */
    double left_ns;        /* of its move, were it alone on the link */
    bool moves, is_here;
    int to;     /* replica that it moves to, over the network of a site */
    int from_group, to_group; /* attention groups there and here, in turn */
    bool flies; /* its flows have begun */
    int forks;  /* sequences that it becomes when it is ready to decode */
    bool copies, dropped; /* in this decision: its last block is held by others; it goes with another beam */
    int n_table, table[NAIVE_TABLE]; /* with sampling: its blocks */
};

struct batch {
    int drafts; /* that each decoding sequence verifies; 0: none */
    bool is_tree; /* these drafts are; else a chain */
    int n, id[NAIVE_REQUESTS], tokens[NAIVE_REQUESTS];
    int used[NAIVE_REQUESTS]; /* vLLM v1: of the budget, with drafts */
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
    int gpus[NAIVE_GPUS], n_gpus; /* of a site: number of the node times GPUs of a node, plus its place there */
    int next_group;               /* of the next sequence that is handed over */
    bool starts;                  /* has GPUs, and is up at up_ns */
    bool drains;                  /* gets no new requests */
    int64_t up_ns;
};

/* One of the bytes' ways through the network: a GPU's share of the KV of a request. */
struct flow {
    int id, n_links, links[8];
    int64_t starts_ns, end_ns;
    double cap;             /* bytes per ns */
    long double left, rate; /* bytes; bytes per ns */
};

enum { NAIVE_FLOWS = NAIVE_REQUESTS * 32 };

struct network {
    struct flow flows[NAIVE_FLOWS];
    int n;
    bool changed; /* since the rates were computed */
    bool is_taken[NAIVE_GPUS];
    bool is_down[NAIVE_NODES];
    int64_t back_ns[NAIVE_NODES];                  /* of a node that is down */
    int64_t next_ns[NAIVE_CAUSES][NAIVE_GPUS];     /* failure of each component */
    int n_lives[NAIVE_CAUSES][NAIVE_GPUS];
    bool nodes_changed; /* in this step a node returned, or a failure took a replica */
};

struct naive {
    const struct naive_scenario *s;
    struct naive_outcome *outcomes;
    struct sequence sequences[NAIVE_REQUESTS];
    struct replica replicas[NAIVE_REPLICAS];
    int64_t now_ns, moved_ns, admissions, batches, ends; /* moved_ns: up to which moves have been followed */
    int arrived, next_replica;
    bool released; /* blocks of another replica, in these decisions */
    struct network network;
    struct list held;    /* requests without a replica that is up */
    struct list undecided; /* prompts that are processed while no replica that decodes is up */
    int64_t release_ns;  /* when they are routed; INT64_MAX: later */
    int wanted[2];       /* replicas of each pool; the second decodes only */
    int64_t decides_ns[2];
    int refs[NAIVE_BLOCKS], n_refs;         /* with sampling: tables that each block is in */
    int deferred[NAIVE_BLOCKS], n_deferred; /* blocks that sequences have left in this decision */
    bool composing;
    int dropped_preemptions[NAIVE_REQUESTS];
};

/* --- Several sequences of a request (naive_samples.c) --- */

void samples_take(struct naive *naive, int id, int64_t blocks);
void samples_give(struct naive *naive, struct replica *replica, int id);
void samples_fork_ready(struct naive *naive, struct replica *replica);
/* Before and after a decision. */
void samples_begin(struct naive *naive, const struct replica *replica);
void samples_settle(struct naive *naive, struct replica *replica, struct batch *batch);
void samples_abandon(struct naive *naive, struct replica *replica, struct batch *batch, const struct list *before);
bool samples_drop_beams(struct naive *naive, int id);
void samples_resample(struct naive *naive, struct replica *replica, const struct batch *batch);
void samples_join(const struct naive *naive, int root);

/* A sequence that goes on is idle again. */
void naive_rejoin(struct naive *naive, struct replica *replica, int id);

/* --- Sites (naive_site.c) and their failures (naive_failures.c) --- */

/* Takes GPUs for a replica, a stage on one node or on whole ones. False, changing nothing, if there are not enough. */
bool site_take_gpus(struct naive *naive, int replica);
void site_release_gpus(struct naive *naive, int replica);
/* Starts flows for sequences that have begun to move, and divides the links anew. */
void site_begin_moves(struct naive *naive);
/* Moves bytes up to now. ended: [NAIVE_REQUESTS], whether the last flow of a sequence has ended. */
void site_follow_moves(struct naive *naive, bool *ended);
int64_t site_next_ns(const struct naive *naive);
void site_drop_moves(struct naive *naive, int id);

void failures_begin(struct naive *naive);
/* Nodes that return, then nodes that fail, with all replicas on them. */
void failures_strike(struct naive *naive);
int64_t failures_next_ns(const struct naive *naive);

/* --- Replicas that start and stop (naive_scaling.c) --- */

/* Up at the start: all, or as many as a pool that scales starts with. */
void scaling_begin(struct naive *naive);
/* Replicas that have loaded are up, those that are drained stop; decisions; replicas that are missing start where
 * there is room. */
void scaling_follow(struct naive *naive);
int64_t scaling_next_ns(const struct naive *naive);

/* Drafts that are planned for a decoding sequence in the replica's next batch. */
int naive_drafts(const struct naive *naive, const struct replica *replica);

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

/* Numbers of sequences: some may be of none. */
static inline int naive_ids(const struct naive *naive)
{
    return naive->s->sampling != NULL ? naive->s->n * naive->s->sampling->width : naive->arrived;
}

static inline int index_of(const struct naive *naive, const struct replica *replica)
{
    return (int)(replica - naive->replicas);
}

static inline bool only_decodes(const struct naive *naive, int replica)
{
    return naive->s->prefill_replicas > 0 && replica >= naive->s->prefill_replicas;
}

static inline int stages_of(const struct naive *naive, const struct replica *replica)
{
    const bool other = naive->s->decode_stages > 0 && only_decodes(naive, index_of(naive, replica));
    return other ? naive->s->decode_stages : naive->s->stages;
}

/* Attention groups, each with its part of the blocks. */
static inline int groups_of(const struct naive *naive, const struct replica *replica)
{
    if (naive->s->site == NULL) return 1;
    return only_decodes(naive, index_of(naive, replica)) ? naive->s->site->decode_groups : naive->s->site->groups;
}

static inline bool is_up(const struct naive *naive, const struct replica *replica)
{
    return naive->s->site == NULL || (replica->n_gpus > 0 && !replica->starts && !replica->drains);
}

static inline int64_t blocks_of(const struct naive *naive, int64_t tokens)
{
    return (tokens + naive->s->block_tokens - 1) / naive->s->block_tokens;
}

/* Blocks that a sequence takes for layers with a window: the mean over its steps. */
static inline int64_t windows_of(const struct naive *naive, int64_t first_tokens, int64_t last_tokens)
{
    const int64_t most = blocks_of(naive, naive->s->window_tokens - 1) + 1, share = naive->s->window_share;
    int64_t sum = 0, steps = last_tokens - first_tokens + 1;
    if (share == 0) return 0;
    for (int64_t tokens = first_tokens; tokens <= last_tokens; tokens++) {
        const int64_t all = blocks_of(naive, tokens);
        sum += share * (all < most ? all : most);
    }
    return (sum + steps - 1) / steps;
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

/* At the replica, but for those whose KV has not left it. */
static inline int requests_at(const struct replica *replica)
{
    return replica->waiting.n + replica->swapped.n + replica->remote.n + admitted(replica);
}

/* Sequences of these requests, once they have become several. */
static inline int running_in(const struct naive *naive, const int *id, int n)
{
    int running = 0;
    for (int i = 0; i < n; i++) running += naive->sequences[id[i]].forks > 1 ? naive->sequences[id[i]].forks : 1;
    return running;
}

static inline int running_of(const struct naive *naive, const struct replica *replica, const struct batch *batch)
{
    int n = running_in(naive, replica->idle.id, replica->idle.n) + replica->taken.n + replica->moved.n;
    for (int i = 0; i < replica->n_flying; i++) n += running_in(naive, replica->flying[i].id, replica->flying[i].n);
    return n + running_in(naive, batch->id, batch->n);
}

/* Whether there are slots for a request. One that needs more than there are has them alone. */
static inline bool has_slots(const struct naive *naive, const struct replica *replica, const struct batch *batch,
                             int id)
{
    const int running = running_of(naive, replica, batch);
    return running == 0 || running + running_in(naive, &id, 1) <= naive->s->max_sequences;
}

static inline void give_blocks(struct naive *naive, struct replica *replica, int id)
{
    if (naive->s->sampling != NULL) {
        samples_give(naive, replica, id);
        return;
    }
    replica->free_blocks += naive->sequences[id].blocks;
    naive->sequences[id].blocks = naive->sequences[id].windows = 0;
}

static inline void release(struct naive *naive, int id)
{
    naive->replicas[naive->outcomes[id].replica].free_blocks += naive->sequences[id].handed_blocks;
    naive->sequences[id].handed_blocks = 0;
    naive->released = true;
}

#endif
