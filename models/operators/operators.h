/* Iteration cost as the sum of the kernels that an iteration launches (layer.h), each as long as a calibration says
 * (kernel.h), and what the engine's host adds (engine.h).
 *
 *     gpu = by_tokens(T) + by_sequences(S) + by_keys(prompts' keys) + by_decoding(n)
 *           + decode attention(n, C/n), or with prompts attention of the batch
 *
 * Evaluating every kernel takes microseconds, so all but the attention of batches with prompts is worked out
 * beforehand, at knots, and lies on the chords between them. In tokens and sequences the knots enclose the steps of
 * matrix products, which fill tiles of 64 rows, and further steps where the middle of a chord gives them away. In
 * context they lie in the middle of the blocks of 128 tokens that attention kernels walk in: the sequences of a batch
 * differ, and on average fill half of their last block. Along a run of decode iterations the cost is exactly affine,
 * until the mean context crosses a knot: what the longest sequence is ahead of the mean, and holds up the others, stays
 * the same.
 *
 * What kernels take outside the range that their class was fitted on is kept beside, so that every cost says its
 * share. */
#ifndef ORRERY_MODELS_OPERATORS_OPERATORS_H
#define ORRERY_MODELS_OPERATORS_OPERATORS_H

#include "models/engine.h"
#include "models/operators/layer.h"

#include <stddef.h>
#include <stdint.h>

/* Whole numbers in rising order, at which a function is known: between two of them it lies on their chord. */
enum { KNOTS_MAX = 768 };

struct knots {
    size_t n;
    int64_t at[KNOTS_MAX];
};

/* Takes `at` as one more knot, unless it is there, below 1, or there is no room: then it is left out. */
void knots_add(struct knots *knots, int64_t at);

/* Index of the left one of the two neighbours between which x / scale lies, the right one included; or of the outer
 * pair next to it. There are at least two knots; scale > 0. */
static inline size_t knots_find(const struct knots *knots, int64_t scale, int64_t x)
{
    size_t first = 0;
    for (size_t left = knots->n - 1; left > 1;) {
        const size_t half = left / 2;
        first = scale * knots->at[first + half] < x ? first + half : first; /* branch-free: unpredictable */
        left -= half;
    }
    return first;
}

/* The same for a whole number x >= 1, at once where the knots up to it are 1, 2, 3 ... */
static inline size_t knots_find_whole(const struct knots *knots, int64_t x)
{
    const size_t place = (size_t)x - 1;
    if (place >= knots->n || knots->at[place] != x) return knots_find(knots, 1, x);
    return place > 0 ? place - 1 : 0;
}

enum { OPERATORS_GRID_SEQUENCES = 352, OPERATORS_GRID_CONTEXTS = 72, OPERATORS_STEADY = 512 };

/* Seconds of some kernels, and how many of these lie outside a fitted range. */
struct operators_time {
    double seconds, outside_s;
};

/* The kernels that one number drives. */
struct operators_curve {
    struct knots knots; /* none: there are no such kernels */
    struct operators_time times[KNOTS_MAX];
};

/* Attention of decoding sequences, by their number and their mean context. */
struct operators_grid {
    struct knots sequences, contexts;
    struct operators_time times[OPERATORS_GRID_SEQUENCES][OPERATORS_GRID_CONTEXTS];
};

/* The kernels of one driver, in some batch. */
struct operators_uses {
    size_t n;
    struct kernel_use uses[LLM_MAX_USES];
};

/* What a model is made of; the pointers outlive it. */
struct operators_parts {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    const struct kernel_set *kernels;
    struct llm_split split;
    struct engine_params engine;
};

struct operators {
    struct operators_parts parts;
    double layers; /* of the stage */
    struct operators_curve by_tokens, by_sequences;
    struct operators_curve by_keys, by_decoding; /* products from and to latent vectors */
    struct operators_grid decode;                /* of sequences that are alike */
    struct operators_uses decode_attention;      /* what of it the longest sequence holds up */
    struct operators_uses prefill;               /* attention of some prompt */
    struct operators_time steady[OPERATORS_STEADY]; /* of n decoding sequences without prompts: the constant part */
};

/* Whether the longest sequence of a batch has an influence. */
bool operators_read_longest(const struct operators_parts *parts);

/* The split is possible (llm_split_problem). */
void operators_init(struct operators *operators, const struct operators_parts *parts);

/* Lists the kernels of one driver in a batch. */
void operators_list(const struct operators_parts *parts, enum kernel_driver driver, const struct iteration_work *work,
                    struct operators_uses *list);

/* What listed kernels take, one by one: what the tables stand for. */
struct operators_time operators_sum(const struct operators_parts *parts, const struct operators_uses *list);

/* All that does not change along a run. */
struct operators_time operators_steady(const struct operators *operators, const struct iteration_work *work);

/* An iteration_model's cost function; `model` is a struct operators. Its extrapolated_frac is a share of the kernels'
 * time, at the first iteration of a run. */
void operators_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

/* One iteration taken apart: what each operator of an LLM does and takes, kernel by kernel, and what the engine's host
 * adds. The tables of operators.h stand for the same sum. */
/* All launches of one operator together. */
struct operator_share {
    enum llm_operator op;
    enum kernel_class class; /* whose parameters it has */
    double launches;
    struct kernel_time time; /* sums */
    double ideal_s;          /* the least work at the peaks of the data sheet, whichever of them takes longest */
    double outside_s;        /* of the seconds: by calls outside the range that their class was fitted on, */
    double measured_s;       /* and by calls that a table holds */
};

struct iteration_breakdown {
    size_t n;
    struct operator_share operators[LLM_OPERATOR_COUNT]; /* in the order of the enum */
    double gpu_s, outside_s, host_s; /* all operators; what the iteration takes beyond them */
};

void iteration_breakdown(const struct operators_parts *parts, const struct iteration_work *work,
                         struct iteration_breakdown *breakdown);

#endif
