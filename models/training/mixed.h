/* A step whose sequences have unlike lengths (mix.h): the mean over batches that were drawn.
 *
 * A rank computes as many tokens at a time as in the plan's own micro-batches: C = micro_batch sequence_tokens /
 * context, so the plan's memory is that of every split. What a pack takes is interpolated between three that are priced
 * as micro-batches of equal sequences: of the longest sequences, of 16 times as many with a 16th of the length, and of
 * as few with that length.
 *
 * Ranks compute unlike much. Parts of the step are means over the ranks, and the rest of the time until the last rank
 * ends is `bubble_s`. Gradients are reduced once, over all ranks. */
#ifndef ORRERY_MODELS_TRAINING_MIXED_H
#define ORRERY_MODELS_TRAINING_MIXED_H

#include "models/training/mix.h"
#include "models/training/stage.h"

#include <stddef.h>

/* Sequences of a batch, and ranks that share it, at most. */
enum { TRAINING_MIXED_SEQUENCES = 4096, TRAINING_MIXED_RANKS = 4096 };

/* Scratch memory of a pricing: costs and uses of all widths, groups. */
struct training_room {
    struct mix_cost cost[TRAINING_MIXED_RANKS + 1];
    struct mix_use uses[TRAINING_MIXED_RANKS + 1];
    struct mix_group groups[TRAINING_MIXED_SEQUENCES + TRAINING_MIXED_RANKS];
    struct mix_slack slack[4 * TRAINING_MIXED_SEQUENCES];
};

struct training_mixed {
    struct training_stage work; /* of all packs of a step, on the mean rank */
    double waits_s;             /* of the mean rank for the last one */
    double bound_s;             /* no split computes a batch in less */
    double width;               /* of the group of a token, on the mean */
    double static_frac;         /* of the batches: fell back on a static split */
};

/* parts->plan has lengths. */
struct training_mixed training_mixed_of(const struct training_parts *parts);

/* Sequences of a micro-batch; if they have unlike lengths, the most that a pack of its tokens can have. */
double training_mixed_most_sequences(const struct training_plan *plan);

/* Why sequences of the plan cannot have unlike lengths, as a static text, or NULL if they can. */
const char *training_mixed_problem(const struct training_plan *plan);

#endif
