/* Iteration cost as the sum of the kernels that an iteration launches (layer.h), with calibrated times (kernel.h), plus
 * the CPU overhead of the engine (engine.h).
 *
 *     gpu = by_tokens(T) + by_sequences(S) + by_keys(prompts' keys) + by_decoding(n)
 *           + decode attention(n, C/n), or with prompts attention of the batch
 *           + by_all_tokens(T of all groups), where groups of GPUs have sequences of their own; the others are then
 *           those of the fullest group
 *
 * Evaluating every kernel takes microseconds, so all but the attention of batches with prompts is tabulated at knots
 * and interpolated linearly between them. In tokens and sequences the knots enclose the steps of matrix products, which
 * fill tiles of 64 rows, and further steps found at the middle of a chord. In context they lie in the middle of the
 * blocks of 128 tokens that attention kernels walk in: the sequences of a batch differ, and on average fill half of
 * their last block. Along a run of decode iterations the cost is exactly affine, until the mean context crosses a knot:
 * the lead of the longest sequence over the mean, which delays the others, stays constant.
 *
 * With two batches the work of each group is halved. One half sends while the other computes (DeepSeek-V3, 2024, 3.2.1
 * and 3.4; two-batch overlap of SGLang). c computes and x sends a half, in all L layers together:
 *
 *     gpu = min(2 max(c, x) + min(c, x) / L, time without halving)
 *
 * This is the end of two jobs that alternate between two machines in L equal rounds. One job has a machine at a time.
 * SMs that normal kernels take are missed by computing, whose time grows by S / (S - sms). A real layer has two rounds:
 * attention and dispatch, experts and combine. Where their parts differ less is hidden, so this is a lower bound. With
 * parts of 3 to 1 two jobs take 24 % longer, with extreme ones up to 48 %. Left out: these unequal rounds, and the SMs
 * of low-latency kernels that send and receive.
 *
 * The time of kernels outside the range that their class was fitted on is tabulated too; every cost states its
 * share. */
#ifndef ORRERY_MODELS_OPERATORS_OPERATORS_H
#define ORRERY_MODELS_OPERATORS_OPERATORS_H

#include "models/engine.h"
#include "models/operators/knots.h"
#include "models/operators/layer.h"

#include <stddef.h>
#include <stdint.h>

enum { OPERATORS_GRID_SEQUENCES = 352, OPERATORS_GRID_CONTEXTS = 72, OPERATORS_FEW = 512 };

/* Seconds of some kernels, and the part of it outside a fitted range. */
struct operators_time {
    double seconds, outside_s;
};

/* The kernels that one number drives. */
struct operators_curve {
    struct knots knots; /* none: there are no such kernels */
    struct operators_time times[KNOTS_MAX];
    struct operators_time few[OPERATORS_FEW]; /* at 0, 1 ..: what the knots give, or zeros without knots */
};

/* Attention of decoding sequences, by their number and their mean context. */
struct operators_grid {
    struct knots sequences, contexts;
    /* A row of contexts.n times per knot of sequences: side by side, so that small grids touch few pages. */
    struct operators_time times[OPERATORS_GRID_SEQUENCES * OPERATORS_GRID_CONTEXTS];
};

/* The kernels of one driver, in some batch. */
struct operators_uses {
    size_t n;
    struct kernel_use uses[LLM_MAX_USES];
};

/* One kernel of attention over prompts, and what follows from all but the batch (prompt_cost.c). */
struct operators_prompt {
    struct kernel_use use; /* of some batch */
    bool is_tabled;        /* measured, or no attention over keys: evaluated as it is */
    struct prefill_row row;
    const struct kernel_range *range; /* of its class; NULL: what no batch changes lies outside */
};

/* With and without a window: a layer's attention has one or none. Or sparse attention and its indexer, or softmax and
 * linear attention. */
enum { OPERATORS_PROMPTS = 2 };
struct operators_prompts {
    size_t n;
    bool mix; /* they also serve decoding sequences of the batch */
    struct operators_prompt kernels[OPERATORS_PROMPTS];
};

/* What a model is made of; the pointers outlive it. */
struct operators_parts {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    const struct kernel_set *kernels;
    struct llm_split split;
    struct engine_params engine;
    bool two_batches; /* whether each half of a batch computes while the other sends; without sending nothing differs */
};

struct operators {
    struct operators_parts parts;
    double layers;  /* of the stage */
    bool is_hybrid; /* some of them have linear attention */
    struct operators_curve by_all_tokens, by_tokens, by_sequences;
    struct operators_curve by_sent_tokens; /* DeepEP's kernels */
    struct operators_curve by_keys, by_decoding; /* products from and to latent vectors */
    struct operators_grid decode;                /* of sequences that are alike */
    struct operators_uses decode_attention;      /* its kernels, for the delay by the longest sequence */
    struct operators_prompts prompts;            /* their attention */
    struct operators_time steady[OPERATORS_FEW]; /* of n decoding sequences without prompts: the constant part */
};

/* The kernels of `list`, attention over some prompt. */
void operators_prompts_init(struct operators_prompts *prompts, const struct operators_parts *parts,
                            const struct operators_uses *list);

/* Attention over the prompts of a group's batch, which may have none. */
struct operators_time operators_prompts_time(const struct operators_prompts *prompts,
                                             const struct operators_parts *parts, const struct iteration_work *work);

/* Whether the longest sequence of a batch matters. */
bool operators_read_longest(const struct operators_parts *parts);

/* The split is possible (llm_split_problem). */
void operators_init(struct operators *operators, const struct operators_parts *parts);

/* As operators_init, with the tables of a model that differs in its engine at most. Only what these hold is touched:
 * they are large, and mostly empty. */
void operators_copy(struct operators *operators, const struct operators *from, const struct operators_parts *parts);

/* The kernels of a group along a run, but for those that send; outside_s: at the beginning of the run. */
struct operators_computing {
    struct piece gpu;
    double outside_s;
};

/* The computing of one group of a batch with all_tokens; and DeepEP's kernels for `tokens` of one group. */
struct operators_computing operators_computing(const struct operators *operators, const struct iteration_work *own,
                                               int64_t all_tokens);
struct operators_time operators_sending(const struct operators *operators, int64_t tokens);

/* Two halves of a batch that take turns, as at the head of this file: `computing` and sending_s are those of a half,
 * in all `layers` together. */
struct piece operators_overlap(struct piece computing, double sending_s, double layers);

/* Lists the kernels of one driver in a batch. */
void operators_list(const struct operators_parts *parts, enum kernel_driver driver, const struct iteration_work *work,
                    struct operators_uses *list);

/* Time of the listed kernels, evaluated one by one: the tables approximate it. */
struct operators_time operators_sum(const struct operators_parts *parts, const struct operators_uses *list);

static inline struct operators_time operators_add(struct operators_time a, struct operators_time b)
{
    return (struct operators_time){a.seconds + b.seconds, a.outside_s + b.outside_s};
}

/* Time of one call; and of all but attention in a batch without prompts, of one group of a batch with all_tokens. */
struct operators_time operators_use_time(const struct operators_parts *parts, const struct kernel_use *use);
struct operators_time operators_steady(const struct operators *operators, const struct iteration_work *own,
                                       int64_t all_tokens);

/* outside / all, at most 1 despite rounding. */
static inline double operators_share(double outside_s, double all_s)
{
    const double frac = outside_s > 0.0 ? outside_s / all_s : 0.0;
    return frac < 1.0 ? frac : 1.0;
}

/* An iteration_model's cost function; `model` is a struct operators. Its extrapolated_frac is a share of the kernels'
 * time, at the first iteration of a run. */
void operators_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

/* An iteration_model's cost_at_share (share_cost.c). */
void operators_cost_at_share(const void *model, const struct iteration_work *work, double share_frac,
                             struct iteration_cost *cost);

/* An iteration_model's memo (drafted_cost.c) keeps what batches share that verify drafts and have no prompts. Such
 * batches share it if they agree in sequences and drafts of a group, and in the tokens of all groups. Of each
 * remainder of sequences modulo OPERATORS_MEMO_BATCHES the memo keeps the latest batch. It takes 324,352 bytes. A
 * pool with speculation has one. */
enum { OPERATORS_MEMO_USES = 4, OPERATORS_MEMO_BATCHES = 32 };
struct operators_memo_batch {
    int64_t sequences, drafts, all_tokens; /* sequences 0: none */
    bool is_possible;          /* false: such batches are priced by operators_cost */
    struct operators_time steady;
    size_t n;
    struct operators_memo_use {
        bool varies;                 /* with the context; otherwise its time is `fixed` */
        struct operators_time fixed;
        double count;                /* of launches */
        double low, high;            /* contexts of the fitted range; NAN: no context lies in it */
        struct decode_row row;
    } uses[OPERATORS_MEMO_USES];
};

struct operators_memo {
    struct operators_memo_batch batches[OPERATORS_MEMO_BATCHES]; /* by sequences modulo their number */
};

/* operators_cost, to the bit. memo: a struct operators_memo of this model alone, at first all zero. */
void operators_cost_row(const void *model, void *memo, const struct iteration_work *works, int32_t n,
                        struct iteration_cost *costs);

/* An iteration_model's traffic: of all kernels of an iteration but the messages between stages (traffic.c). */
void operators_traffic(const void *model, const struct iteration_work *work, double share_frac,
                       struct iteration_traffic *traffic);

/* --- Breakdown of one iteration: work and time of each operator, kernel by kernel, and the CPU overhead --- */

/* All launches of one operator together. */
struct operator_share {
    enum llm_operator op;
    enum kernel_class class; /* of its kernels */
    double launches;
    struct kernel_time time; /* sums */
    double ideal_s;          /* the least work at the peaks of the data sheet, by the slowest of them */
    double outside_s;        /* seconds of calls outside the range that their class was fitted on */
    double measured_s;       /* seconds of calls that a table contains */
};

struct iteration_breakdown {
    size_t n;
    struct operator_share operators[LLM_OPERATOR_COUNT]; /* in the order of the enum */
    double gpu_s, outside_s, host_s; /* all operators; iteration time beyond them */
};

void iteration_breakdown(const struct operators_parts *parts, const struct iteration_work *work,
                         struct iteration_breakdown *breakdown);

#endif
