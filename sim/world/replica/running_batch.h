/* The running batch: sequences that decode together. All of them get a token whenever the batch is processed, and with
 * speculation some get more (running_extend). So their
 * state is kept for all at once, at no cost per token: the sum of processed tokens, KV blocks by phase of growth, the
 * next to finish, and one series of times between tokens. A replica has one running batch of ready sequences; with
 * pipeline stages there is one more for each batch in flight. */
#ifndef ORRERY_WORLD_REPLICA_RUNNING_BATCH_H
#define ORRERY_WORLD_REPLICA_RUNNING_BATCH_H

#include "sim/core/tally.h"
#include "sim/core/units.h"
#include "sim/core/vec.h"
#include "sim/world/kv/kvcache.h"
#include "sim/world/policy/request_view.h"
#include "sim/world/replica/request.h"
#include "sim/world/replica/run_clock.h"

#include <stddef.h>
#include <stdint.h>

/* Decoding requests ordered by a number: when they finish, or less of what they have processed. A binary heap by
 * (number, tie). */
struct request_entry {
    int64_t number, tie;
    struct request *request;
};

struct request_order {
    struct request_entry *entries;
    int32_t n, capacity;
    enum request_rank rank; /* index of this order in request.ranks */
    bool by_admission;      /* ties: in order of admission, otherwise of ids */
};

void request_order_init(struct request_order *order, enum request_rank rank);
void request_order_fini(struct request_order *order);
int request_order_add(struct request_order *order, struct request *request, int64_t number); /* 0 or SIM_E_NOMEM */
void request_order_remove(struct request_order *order, struct request *request);

/* The least number; INT64_MAX when there is none. */
static inline int64_t request_order_least(const struct request_order *order)
{
    return order->n > 0 ? order->entries[0].number : INT64_MAX;
}

static inline struct request *request_order_first(const struct request_order *order)
{
    return order->n > 0 ? order->entries[0].request : NULL;
}

/* The longest time between two tokens of a sequence, without work per sequence and step.
 *
 * All sequences of a running batch get their tokens at the same boundaries. The gaps are therefore one series by step,
 * and a sequence needs the maximum over a suffix of it. A stack of (step, gap) with falling gaps holds all such
 * maxima. */
struct token_gap {
    int64_t step;
    struct token_wait wait;
};

struct token_gaps {
    struct token_gap *gaps; /* steps rise, gaps fall */
    size_t n, capacity;
};

void token_gaps_init(struct token_gaps *gaps);
void token_gaps_fini(struct token_gaps *gaps);

/* Adds the gap before the token of `step`; steps come in rising order. Returns 0 or SIM_E_NOMEM. */
static inline int token_gaps_add(struct token_gaps *gaps, int64_t step, struct token_wait wait)
{
    while (gaps->n > 0 && gaps->gaps[gaps->n - 1].wait.ns <= wait.ns) gaps->n--;
    return vec_push(&gaps->gaps, &gaps->n, &gaps->capacity, (struct token_gap){step, wait});
}

/* The longest gap at this step or later. */
struct token_wait token_gaps_max_from(const struct token_gaps *gaps, int64_t step);

/* Forgets the gaps before `step`. */
void token_gaps_forget_before(struct token_gaps *gaps, int64_t step);

struct running_batch {
    struct request_list members;
    struct request_order finishing;
    struct kv_growth growth;
    int64_t step;           /* tokens that a member of all this time has got here */
    int64_t context_tokens; /* processed tokens, over the members */
    bool orders_contexts;   /* the cost model needs the longest context */
    struct request_order contexts; /* longest context first; only if orders_contexts */
    sim_ns last_token_ns;   /* of the latest step accounted */
    struct token_gaps gaps;
    size_t forget_at;       /* number of gaps from which unneeded ones are dropped */
    struct request **fresh; /* [n_fresh]: members without a token from this batch */
    int32_t n_fresh, fresh_capacity;
    int32_t n_watched;      /* members that are watched (request.is_watched) */
    int64_t drafts;         /* that each member verifies in the iteration under way (speculation.h); 0: none */
    int64_t drafted_blocks; /* of KV that this iteration has taken, if it has drafts */
};

/* ends_as_scheduled: members that finish in one step do so in order of admission. Returns 0 or SIM_E_NOMEM; call
 * running_fini also after failure. */
int running_init(struct running_batch *running, int64_t block_tokens, bool orders_contexts, bool ends_as_scheduled);
void running_fini(struct running_batch *running);

/* Tokens that a member has processed, and the KV blocks that it holds before its next step. */
static inline int64_t running_context(const struct running_batch *running, const struct request *member)
{
    return member->context_tokens + (running->step - member->joined_step);
}

static inline int64_t running_blocks(const struct running_batch *running, const struct request *member)
{
    int64_t block_tokens = running->growth.block_tokens;
    return member->grows ? (running_context(running, member) - 1 + block_tokens - 1) / block_tokens
                         : member->held_blocks;
}

/* KV blocks that the next iteration takes if each member verifies so many drafts: none beyond its last token. */
int64_t running_growth(const struct running_batch *running, int64_t drafts);

/* KV blocks that a growing member holds while an iteration is under way. */
static inline int64_t running_step_blocks(const struct running_batch *running, const struct request *member)
{
    const int64_t left = member->finish_step - running->step - 1;
    const int64_t drafts = running->drafts < left ? running->drafts : left;
    return (running_context(running, member) + drafts + running->growth.block_tokens - 1) /
           running->growth.block_tokens;
}

/* Adds a sequence with context_tokens, held_blocks and joined_ns (its latest token) at its place in the order. Returns
 * 0 or SIM_E_NOMEM. */
int running_join(struct running_batch *running, struct request *request, enum batch_order order);

/* Removes a member and sets its context_tokens, held_blocks, generated_tokens, joined_ns and max_gap. */
void running_leave(struct running_batch *running, struct request *member);

/* A member gets `extra` tokens beside the one that all members got in the present step. The caller moves its phase of
 * growth (kv_growth_hasten). */
void running_extend(struct running_batch *running, struct request *member, int64_t extra);

/* Moves all members of `from` to `to`. Returns 0 or SIM_E_NOMEM. */
int running_merge(struct running_batch *to, struct running_batch *from, enum batch_order order);

/* Processed tokens of the member with the longest context; 0 without members or unless orders_contexts. */
int64_t running_longest_tokens(const struct running_batch *running);

/* All members get n tokens. */
static inline void running_advance(struct running_batch *running, int64_t n)
{
    running->step += n;
    running->context_tokens += n * running->members.n;
}

/* Accounts the gaps before the tokens of the latest n steps, which came at the boundaries of the clock after the first
 * `counted` ones, the last of them at end_ns. Returns 0 or SIM_E_NOMEM. */
int running_count_gaps(struct running_batch *running, const struct run_clock *clock, int64_t counted, int64_t n,
                       sim_ns end_ns, struct histogram *token_gap_s);

/* The same for the latest step, whose tokens came at token_ns. */
int running_count_gap(struct running_batch *running, sim_ns token_ns, struct histogram *token_gap_s);

/* The same for the latest n steps, whose tokens came at tokens_ns[n]. */
int running_count_gap_row(struct running_batch *running, const sim_ns *tokens_ns, int32_t n,
                          struct histogram *token_gap_s);

/* The longest gap between two tokens of a member, up to now. */
struct token_wait running_max_gap(const struct running_batch *running, const struct request *member);

/* Output tokens of a member so far. */
static inline int64_t running_generated(const struct running_batch *running, const struct request *member)
{
    return member->generated_tokens + (running->step - member->joined_step);
}

#endif
