/* SGLang's estimate of how much of its limit a running request will still use: new_token_ratio. It starts at 0.7. With
 * each of 600 decode iterations it falls by the same amount, to 14 % of its start. It rises after a retraction.
 *
 * Source: sgl-project/sglang, python/sglang/srt. The decay: managers/scheduler_components/new_token_ratio_tracker.py
 * @ 1a882c5. The constants: environ.py (SGLANG_INIT_NEW_TOKEN_RATIO and others). The estimate after a retraction:
 * estimate_new_token_ratio_after_retract of the first file in later commits, with its unit test
 * test_new_token_ratio_tracker.py. In retract_decode (schedule_batch.py @ 000eaff) the 1 is missing. */
#ifndef ORRERY_POLICIES_BATCHING_NEW_TOKEN_RATIO_H
#define ORRERY_POLICIES_BATCHING_NEW_TOKEN_RATIO_H

#include <stdint.h>

enum { NEW_TOKEN_RATIO_DECAY_STEPS = 600, NEW_TOKEN_RATIO_RETRACT_STEPS = 20 };

struct new_token_ratio {
    double now, first, least;
    double decay; /* per decode iteration */
};

/* `conservativeness` scales the start, at most 1 (SGLang: schedule_conservativeness). */
static inline struct new_token_ratio new_token_ratio_of(double conservativeness)
{
    const double scaled = 0.7 * conservativeness, first = scaled < 1.0 ? scaled : 1.0, least = first * 0.14;
    return (struct new_token_ratio){first, first, least, (first - least) / NEW_TOKEN_RATIO_DECAY_STEPS};
}

/* After `steps` decode iterations, in closed form. A ratio below the least one rises to it with the first step. */
static inline void new_token_ratio_decay(struct new_token_ratio *ratio, int64_t steps)
{
    if (steps <= 0) return;
    const double now = ratio->now - (double)steps * ratio->decay;
    ratio->now = now > ratio->least ? now : ratio->least;
}

/* After a retraction, from the sequences that stay: their output tokens so far and the sum of their limits. */
static inline double new_token_ratio_after(int64_t sequences, int64_t output_tokens, int64_t limit_tokens)
{
    const double ratio = (double)(output_tokens + NEW_TOKEN_RATIO_RETRACT_STEPS * sequences) /
                         (double)(limit_tokens + 1);
    return ratio < 1.0 ? ratio : 1.0;
}

#endif
