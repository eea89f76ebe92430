/* The batcher `sglang` once more, as plainly as it can be written: each plan is composed from the view alone and from
 * what the plans before it did, with exact sums and sorted lists. For comparison with the real one. The rules are
 * those of the head of policies/batching/sglang.c. The start and decay of the ratio are the batcher's own, tested in
 * sglang_scheduler.c. */
#ifndef ORRERY_TESTS_SUPPORT_NAIVE_SGLANG_H
#define ORRERY_TESTS_SUPPORT_NAIVE_SGLANG_H

#include "policies/batching/new_token_ratio.h"
#include "sim/world/policy/batching.h"

/* Requests at once, and ids that decode. */
enum { NAIVE_SGLANG_MOST = 128, NAIVE_SGLANG_IDS = 1024 };

/* The parameters of the batcher; classes "default" and "batch" have the priorities 10 and 20. */
struct naive_sglang_settings {
    int64_t max_sequences, chunk, max_prefill, max_tokens, threshold;
    double conservativeness;
    bool mixed, overlap, by_prefix, by_priority;
};

/* What plans met with. */
struct naive_sglang_seen {
    int cut, given_up, preempted, retracted, resumed, waited, cached; /* given_up: cut prompts */
};

struct naive_sglang_plan {
    struct batch_prefill prefills[NAIVE_SGLANG_MOST];
    const struct request_view *evicted[NAIVE_SGLANG_MOST];
    struct batch_resumption resumptions[NAIVE_SGLANG_MOST];
    int n_prefills, n_evicted, n_resumptions;
    bool decode, recheck;
    int64_t iterations;
    enum batch_limit limit;
    const struct request_view *limited;
};

/* Zeroed, but for settings, seen and ratio. */
struct naive_sglang {
    const struct naive_sglang_settings *settings;
    struct naive_sglang_seen *seen;
    struct new_token_ratio ratio;
    bool is_full, is_late, decays, in_steps_of_one, saw_elsewhere, has_cut;
    int64_t step;
    enum batch_limit limit;
    int64_t expected[NAIVE_SGLANG_IDS]; /* ids that decode from now on, unless they end */
    int n_expected;
    /* of the plan that is composed */
    const struct replica_view *view;
    struct naive_sglang_plan plan;
    int64_t offset, locked, taken, input, chunk;
};

/* Composes c->plan. Before the real batcher: a plan that names a request changes what the view gives for it. */
void naive_sglang_compose(struct naive_sglang *c, const struct replica_view *view);

/* Notes what the next plan must know of this one. */
void naive_sglang_remember(struct naive_sglang *c);

#endif
