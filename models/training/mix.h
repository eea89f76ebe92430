/* How sequences of unlike length share ranks, so that the longest time of any rank is short.
 *
 * A group of w ranks computes packs of sequences: up to w C tokens at a time, C those that fit on a rank. A pack takes
 *
 *     t(w) = p(w) + a(w) sum l + q(w) sum l^2     over the lengths l of its sequences
 *
 * since products grow with the tokens and attention with their pairs. Three splits of a batch over R ranks:
 *
 * - static: all groups have the same width. Sequences are packed first-fit, the longest first; packs go to the group
 *   with the least work, the longest first.
 * - flexible (FlexSP, Wang et al. 2024): the batch is cut into micro-batches of like lengths, with as many tokens each.
 *   Several numbers of them are tried. Each has a mix of its own of groups whose widths are powers of two; every group
 *   computes one pack, and all wait for the slowest. The mix is found by bisection of its time. For a given time each
 *   sequence, the longest first, joins the first group that still meets it, or opens the narrowest one that does, while
 *   ranks are left. Where ranks do not suffice for any time, the micro-batch is cut. The paper solves a linear program
 *   over buckets of lengths instead.
 * - hybrid (ByteScale, Ge et al. 2025): a sequence gets the fewest ranks that hold it, and those that fit on one rank
 *   are packed there. Groups form and dissolve from pack to pack, so that ranks compute unlike numbers of packs. The
 *   widest come first, each on the ranks with the least work.
 *
 * The last two fall back on the best static split wherever that is faster. They are heuristics. For the possible widths
 * and their prices no split is below
 *
 *     bound = max(max over l of min over w of t(w), 1/R sum over l of min over w of w (a(w) l + q(w) l^2))
 *
 * with widths that hold the sequence. Where a coefficient is below 0, the bound is lower by what other sequences could
 * shorten a pack by. A group is priced as neighbours, whichever ranks it has, and the last two splits take any.
 * Left out: hybrid's packs that fill up the last rank of a long sequence, its offloading of activations, and what it
 * costs to form groups. */
#ifndef ORRERY_MODELS_TRAINING_MIX_H
#define ORRERY_MODELS_TRAINING_MIX_H

#include <stdbool.h>
#include <stdint.h>

/* best-static: the static split with the one width that takes the least time over all batches. */
enum training_split { SPLIT_STATIC, SPLIT_FLEXIBLE, SPLIT_HYBRID, SPLIT_BEST_STATIC, TRAINING_SPLITS };

/* Of packs on groups of one width. */
struct mix_cost {
    bool possible;
    double pack_s, token_s, square_s;
};

/* A group, or a pack. */
struct mix_group {
    double tokens, squares, seconds;
    int64_t width, index;
};

/* What groups can still take: the most of any of them. width: of all; 0: they differ. */
struct mix_slack {
    double tokens, seconds;
    int64_t width;
};

struct mix_problem {
    int64_t ranks, width;        /* width: of the static split */
    double rank_tokens;          /* of a pack, at most, on each rank */
    const struct mix_cost *cost; /* [ranks + 1] by width */
    const int64_t *tokens;       /* [n] of the sequences, the longest first */
    int64_t n;
    struct mix_group *room;      /* [n + ranks] */
    struct mix_slack *slack;     /* [4 n] */
};

/* Packs on groups of a width. */
struct mix_use {
    double packs, tokens, squares;
};

/* A split of a batch. */
struct mix_choice {
    double seconds;  /* until the last rank has computed all; INFINITY if a sequence fits nowhere */
    bool fell_back;  /* on a static split */
};

/* Adds the packs to uses [ranks + 1] by width; NULL: not wanted. Both static splits have the problem's width. */
struct mix_choice mix_choose(const struct mix_problem *problem, enum training_split split, struct mix_use *uses);

static inline double mix_split(const struct mix_problem *problem, enum training_split split, struct mix_use *uses)
{
    return mix_choose(problem, split, uses).seconds;
}

/* Of the static split with groups of `width` ranks. */
double mix_static(const struct mix_problem *problem, int64_t width, struct mix_use *uses);

/* Of all sequences in one micro-batch of the flexible split. */
double mix_micro_batch(const struct mix_problem *problem, struct mix_use *uses);

/* No split takes less. */
double mix_bound(const struct mix_problem *problem);

#endif
