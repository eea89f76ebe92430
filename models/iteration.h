/* What one iteration of an LLM engine costs: the border between the serving world and the cost models.
 *
 * A model is a pure function of the work in a batch. For a batch that only decodes it also says how the duration grows:
 * iteration i of an unchanged batch lasts first_s + i * slope_s, for i < until. So the world can advance a whole run of
 * iterations in one event. */
#ifndef ORRERY_MODELS_ITERATION_H
#define ORRERY_MODELS_ITERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The work of one iteration on one replica. A prefill chunk of n tokens on top of p tokens already processed counts n
 * in prefill_tokens, p in prefill_context_tokens and n^2 + 2 n p in prefill_pairs (twice its query-key pairs). A
 * decoding sequence that has processed c tokens (prompt and generated, the newest included) counts c in
 * decode_context_tokens. With speculation each decoding sequence verifies drafts behind its newest token. */
struct iteration_work {
    int64_t prefill_sequences, decode_sequences;
    int64_t prefill_tokens, prefill_context_tokens;
    int64_t decode_context_tokens;
    int64_t decode_longest_tokens; /* of the decoding sequence with the most; 0: all are alike */
    int64_t decode_drafts; /* that each decoding sequence verifies beside its newest token; 0: no speculation */
    double prefill_pairs;
};

/* Adds a prompt, or a chunk of one: `tokens` of it behind `before` that are processed. */
static inline void iteration_add_prompt(struct iteration_work *work, int64_t tokens, int64_t before)
{
    const double n = (double)tokens, past = (double)before;
    work->prefill_sequences++;
    work->prefill_tokens += tokens;
    work->prefill_context_tokens += before;
    work->prefill_pairs += n * n + 2 * n * past;
}

/* Tokens that the decoding sequences process: the newest of each, and its drafts. */
static inline int64_t iteration_decode_tokens(const struct iteration_work *work)
{
    return work->decode_sequences + work->decode_sequences * work->decode_drafts;
}

struct iteration_cost {
    double first_s, slope_s;
    double entry_s;           /* pipeline stages: first stage's time minus that of the others; may be < 0 */
    int64_t until;            /* >= 1; 1 whenever the batch holds prefill or drafts; INT64_MAX: for ever */
    double extrapolated_frac; /* 0 .. 1: share of the kernels' time outside the fitted range; that of all i */
};

/* What the GPUs of a replica send to other nodes in one iteration. All of them send alike. */
struct iteration_traffic {
    double ring_bytes;   /* of one GPU, to the GPU of its place on the next node */
    double spread_bytes; /* of one GPU, in equal parts to the GPUs of its place on all other nodes */
    double node_bytes;   /* of one GPU, over its link inside the node */
    double sending_s;    /* in which its adapter sends at the full rate of collectives */
    double seconds;      /* of all collectives between nodes, latencies included */
    double node_seconds; /* of all collectives inside nodes */
};

/* A cost model bound to one kind of replica (GPU, LLM, parallelism). `model` is what it was built from. */
struct iteration_model {
    const char *kind; /* "operators", "roofline", "affine", "table" */
    const void *model;
    void (*cost)(const void *model, const struct iteration_work *work, struct iteration_cost *cost);
    /* The same costs for n >= 1 batches in a row, of equally many sequences and drafts. `memo`, memo_bytes that are
     * all zero at first, keeps what these share with other rows. NULL: nothing is shared. */
    void (*cost_row)(const void *model, void *memo, const struct iteration_work *works, int32_t n,
                     struct iteration_cost *costs);
    size_t memo_bytes;
    /* What an iteration sends, if its collectives get this share of the bandwidth between nodes, above 0 and at most
     * 1: only `seconds` depends on it. NULL: not known. */
    void (*traffic)(const void *model, const struct iteration_work *work, double share_frac,
                    struct iteration_traffic *traffic);
    /* The cost where collectives between nodes get this share of their bandwidth. NULL: `traffic` is not known. */
    void (*cost_at_share)(const void *model, const struct iteration_work *work, double share_frac,
                          struct iteration_cost *cost);
    /* Fitted, or stated by the user: the coefficients of "affine", the points of "table". When false the model has no
     * range of its own, and nobody knows what is extrapolated. */
    bool calibrated;
    bool reads_longest; /* decode_longest_tokens has an influence; else nobody needs to know it */
    const char *caveat; /* what else was not measured, as half a sentence; NULL: nothing */
    const char *other_kernels; /* kernels older than those of the engine, or of another library; NULL: none */
    const char *fitting_kernels; /* sets of measurements that have such kernels for the engine; NULL: none */
    const char *unmeasured; /* products, attention and experts of a calibrated GPU that were not measured on it, nor on
                               its chip: names of kernels; NULL: none */
};

#endif
