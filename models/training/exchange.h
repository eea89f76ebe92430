/* What the ranks of a plan send to each other in a step, and how far that reaches.
 *
 * Every exchange is one of a group of ranks. Its bytes are those that a member sends in all collectives of a step:
 *
 *     ring         2 (n-1)/n of the buffers of all-reduces, (n-1)/n of those of all-gathers and reduce-scatters
 *     all-to-all   (n-1)/n of the buffers, in equal parts to all others of the group; partial results of a ring of
 *                  queries, each of which returns to another rank
 *     shift        whole messages to the next member of a closed ring: keys and values, or queries, of context ranks
 *     stages       whole messages to the same rank of the next stage, and as many bytes back: hidden states and their
 *                  gradients. Of an interleaved schedule also from the last stage to the first, and back
 *
 * A ring enters and leaves each node once for each member that the node with the fewest of them has: these channels
 * share the bytes. */
#ifndef ORRERY_MODELS_TRAINING_EXCHANGE_H
#define ORRERY_MODELS_TRAINING_EXCHANGE_H

#include "models/training/plan.h"

enum training_exchange_kind { EXCHANGE_RING, EXCHANGE_ALL_TO_ALL, EXCHANGE_SHIFT, EXCHANGE_STAGES };

/* Of a plan at most 26: tensor, context (three kinds), expert groups, stages; of dense parameters and of experts each
 * four rings of weights, and of gradients three rings with one more for sums, or six all-to-alls. */
enum { TRAINING_EXCHANGES = 26 };

struct training_exchange {
    enum training_exchange_kind kind;
    struct training_group group; /* of stages: two ranks, a stage apart */
    double bytes, wrap_bytes;    /* wrap_bytes: of stages, from the last to the first, and back */
};

/* Of the ranks of one stage. */
struct training_exchanges {
    int32_t n;
    struct training_exchange of[TRAINING_EXCHANGES];
};

/* Where the groups of an exchange are: nodes of a group, the most of any, and the share of a GPU's network bandwidth
 * that its members get. */
struct training_reach {
    enum training_exchange_kind kind;
    struct training_group group;
    double nodes, network_frac;
};

struct training_spread {
    int32_t n;
    struct training_reach of[TRAINING_EXCHANGES];
    const bool *far_stages; /* [stages] as training_stage_is_far; NULL: ranks fill nodes in order */
};

static inline bool training_groups_are_equal(struct training_group a, struct training_group b)
{
    return a.gpus == b.gpus && a.stride == b.stride;
}

/* Adds bytes to the exchange of this kind and group. Groups of one rank send nothing. */
void training_exchange_add(struct training_exchanges *exchanges, enum training_exchange_kind kind,
                           struct training_group group, double bytes);

#endif
