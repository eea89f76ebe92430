/* Sequences that decode together: all of them get a token whenever the cohort is processed, so that what they need is kept for
 * all at once, at no cost per token: processed tokens as a sum, blocks by phase of growth, who ends next, the times between
 * tokens as one series. A replica has one cohort of those that are ready; with pipeline stages there is one more for each batch
 * in flight. */
#ifndef ORRERY_WORLD_REPLICA_COHORT_H
#define ORRERY_WORLD_REPLICA_COHORT_H

#include "sim/core/tally.h"
#include "sim/core/units.h"
#include "sim/world/kv/kvcache.h"
#include "sim/world/policy/policy.h"
#include "sim/world/replica/request.h"
#include "sim/world/replica/run_clock.h"

#include <stddef.h>
#include <stdint.h>

/* Decoding requests in the order of a number of each: in which they will finish, or by how much they have processed. A binary
 * heap by (number, id). */

struct request_entry {
    int64_t number, id;
    struct request *request;
};

struct request_order {
    struct request_entry *entries;
    int32_t n, capacity;
    enum request_rank rank; /* where its requests keep their places */
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

/* The longest time between two tokens of a sequence, without touching every sequence at every step.
 *
 * All sequences of a decoding batch get their tokens at the same boundaries, so the gaps are one series by step, and a
 * sequence wants the maximum over a suffix of it. A stack of (step, gap) with falling gaps holds all such maxima. */

struct token_gap {
    int64_t step;
    sim_ns gap_ns;
};

struct token_gaps {
    struct token_gap *gaps; /* steps rise, gaps fall */
    size_t n, capacity;
};

void token_gaps_init(struct token_gaps *gaps);
void token_gaps_fini(struct token_gaps *gaps);

/* Adds the gap before the token of `step`; steps come in rising order. Returns 0 or SIM_E_NOMEM. */
int token_gaps_add(struct token_gaps *gaps, int64_t step, sim_ns gap_ns);

/* The longest gap at this step or later; 0 when there is none. */
sim_ns token_gaps_max_from(const struct token_gaps *gaps, int64_t step);

/* Forgets the gaps before `step`. */
void token_gaps_forget_before(struct token_gaps *gaps, int64_t step);

struct cohort {
    struct request_list members;
    struct request_order finishing;
    struct kv_growth growth;
    int64_t step;           /* tokens that a member of all this time has got here */
    int64_t context_tokens; /* processed tokens, over the members */
    bool orders_contexts;   /* somebody asks for the longest */
    struct request_order contexts; /* by less of what they have processed, the longest first; where orders_contexts */
    sim_ns last_token_ns;   /* of the latest step accounted */
    struct token_gaps gaps;
    size_t forget_at;       /* when there are more gaps, those that nobody needs are dropped */
    struct request **fresh; /* [n_fresh]: members that have not got a token here yet */
    int32_t n_fresh, fresh_capacity;
};

int cohort_init(struct cohort *cohort, int64_t block_tokens, bool orders_contexts); /* 0 or SIM_E_NOMEM; cohort_fini also after failure */
void cohort_fini(struct cohort *cohort);

/* Tokens that a member has processed, and the KV blocks that it holds before its next step. */
static inline int64_t cohort_context(const struct cohort *cohort, const struct request *member)
{
    return member->context_tokens + (cohort->step - member->joined_step);
}

static inline int64_t cohort_blocks(const struct cohort *cohort, const struct request *member)
{
    int64_t block_tokens = cohort->growth.block_tokens;
    return member->grows ? (cohort_context(cohort, member) - 1 + block_tokens - 1) / block_tokens : member->held_blocks;
}

/* A sequence with context_tokens, held_blocks and joined_ns (its latest token) joins, at its place in the order. Returns 0 or
 * SIM_E_NOMEM. */
int cohort_join(struct cohort *cohort, struct request *request, enum batch_order order);

/* A member leaves, with what it has got: context_tokens, held_blocks, generated_tokens, joined_ns, max_gap_ns. */
void cohort_leave(struct cohort *cohort, struct request *member);

/* All members of `from` join `to`. Returns 0 or SIM_E_NOMEM. */
int cohort_merge(struct cohort *to, struct cohort *from, enum batch_order order);

/* Tokens that the longest member has processed; 0 without any, and where they are not in order. */
int64_t cohort_longest_tokens(const struct cohort *cohort);

/* All members get n tokens. */
static inline void cohort_advance(struct cohort *cohort, int64_t n)
{
    cohort->step += n;
    cohort->context_tokens += n * cohort->members.n;
}

/* Accounts the gaps before the tokens of the latest n steps, which came at the boundaries of the clock after the first
 * `counted` ones. Returns 0 or SIM_E_NOMEM. */
int cohort_count_gaps(struct cohort *cohort, const struct run_clock *clock, int64_t counted, int64_t n,
                      struct histogram *token_gap_s);

/* The longest gap between two tokens of a member, up to now. */
sim_ns cohort_max_gap_ns(const struct cohort *cohort, const struct request *member);

/* Output tokens of a member so far. */
static inline int64_t cohort_generated(const struct cohort *cohort, const struct request *member)
{
    return member->generated_tokens + (cohort->step - member->joined_step);
}

#endif
