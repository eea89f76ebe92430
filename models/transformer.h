/* The shape of a decoder-only transformer, and quantities that follow from it: parameters, bytes, operations.
 *
 * Covers multi-head, grouped-query, multi-query and multi-head latent attention, gated and plain feed-forward layers,
 * mixtures of experts (in all layers, in all but the first, or in every other one), tied embeddings, parallel
 * attention and feed-forward, sliding windows or chunks in all or some layers, with heads of their own there, linear
 * attention in some, sparse attention with an indexer, formats by part. Leaves out encoders, cross-attention and other
 * layers of different kinds.
 *
 * Multi-head latent attention (DeepSeek-V2, 2024) keeps one latent vector of kv_latent numbers and one rotary key of
 * rotary_dim per token, for all heads together. Heads get keys of head_dim numbers beside the rotary one, and values of
 * value_dim, as products of the latent vector.
 *
 * Sparse attention (DeepSeek-V3.2, 2025): in every layer a query attends over the index_tokens latent vectors that an
 * indexer scores highest. It has index_heads small queries, made of the latent query, and caches one key of index_dim
 * numbers of 8 bits per token, with a scale. Layers without an indexer of their own take the choice of one before.
 *
 * Linear attention (Gated DeltaNet: Yang, Kautz and Hatamizadeh, 2025) keeps no keys: a state of linear_key_dim x
 * linear_value_dim numbers for each value head, in fp32, and the last linear_conv - 1 inputs of its convolution. The
 * layers with it are spread evenly among the others. */
#ifndef ORRERY_MODELS_TRANSFORMER_H
#define ORRERY_MODELS_TRANSFORMER_H

#include "models/hardware.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Bounds of a shape. All counts fit in 64 bits, with one bit to spare for FLOP. */
enum {
    LLM_MAX_LAYERS = 1 << 10,
    LLM_MAX_HIDDEN = 1 << 17,
    LLM_MAX_HEADS = 1 << 12,
    LLM_MAX_HEAD_DIM = 1 << 12,
    LLM_MAX_FFN = 1 << 19,
    LLM_MAX_EXPERTS = 1 << 10,
    LLM_MAX_MTP_LAYERS = 16,
    LLM_MAX_VOCAB = 1 << 24,
    LLM_MAX_CONTEXT = 1 << 30
};

/* Parts of an LLM whose matrices checkpoints store in formats of their own. */
enum llm_part {
    LLM_PART_ATTENTION, /* projections to queries, keys and values, or to latent vectors and from them */
    LLM_PART_OUT,       /* output projection of attention */
    LLM_PART_DENSE,     /* feed-forward layers of layers without experts */
    LLM_PART_SHARED,    /* shared expert */
    LLM_PART_EXPERTS,   /* experts that tokens choose */
    LLM_PART_HEAD,      /* with tied embeddings the input embedding as well */
    LLM_PART_COUNT
};

struct llm_spec {
    const char *name, *source;
    int64_t layers, hidden, q_heads, kv_heads, head_dim;
    int64_t query_latent, kv_latent, rotary_dim; /* latent attention; kv_latent 0: none; query_latent 0: queries
                                                    straight from the hidden state */
    int64_t value_dim;     /* of a head; 0 but with latent attention: head_dim */
    int64_t ffn;           /* width of the feed-forward layer; beside experts: of the shared expert, 0 without */
    int64_t vocab, max_context;
    int64_t sliding_window; /* tokens a query looks back, in all layers but full_layers; 0: all tokens */
    bool chunked; /* the window begins anew after each sliding_window tokens: a query sees its chunk alone */
    int64_t full_layers;    /* with a sliding window: layers whose queries look back at all tokens nevertheless */
    int64_t window_q_heads, window_kv_heads, window_head_dim, window_value_dim; /* of the others; 0: as in these */
    bool keys_as_values;    /* layers without the window make values of what keys are made of, by no other matrix */
    int64_t index_heads, index_dim, index_tokens; /* sparse attention; index_tokens 0: none */
    int64_t index_layers;                         /* layers with an indexer of their own */
    int64_t linear_layers; /* with linear attention; 0: none, and nothing of the next line */
    int64_t linear_key_heads, linear_value_heads, linear_key_dim, linear_value_dim, linear_conv;
    int64_t experts, experts_per_token, expert_ffn; /* per layer; experts 0: dense */
    int64_t dense_layers, dense_ffn; /* first layers, without experts; their width */
    bool alternating_dense;          /* these alternate with the others instead, as far as they go */
    int64_t mtp_layers;    /* beside `layers`, for multi-token prediction: services load them that draft with them */
    bool gated_ffn;        /* gate and up projection (SwiGLU) instead of up alone */
    bool parallel_block;   /* attention and feed-forward side by side: one all-reduce per layer, not two */
    bool tied_embeddings;  /* the head shares the input embedding */
    bool qkv_bias, output_bias, ffn_bias, head_bias, norm_bias;
    bool expert_bias;       /* on the experts' projections, and on the router */
    bool qk_norm, embedding_norm;
    bool wide_qk_norm; /* norms on queries and keys over all heads together: GPUs add up their sums of squares */
    bool attention_gate;    /* on the results of attention, made beside the queries and as wide */
    bool shared_gate;       /* one number per token, on what the shared expert makes */
    bool attention_sinks;   /* a learned number per head, which takes part in each softmax: costs nothing */
    int64_t layer_norms;         /* per layer */
    int64_t position_embeddings; /* learned positions */
    enum number_format weights, compute, kv; /* of the layers' matrices; of all else; of the KV cache */
    int part_formats[LLM_PART_COUNT]; /* of the matrices of a part, as 1 + enum number_format; 0: see llm_format */
    int64_t published_parameters;            /* as its publisher states, 0 unknown: for tests, unused by the models */
};

/* Number format of the matrices of a part. A part without one of its own has `weights`, the head `compute`, and the
 * output projection that of the attention's other projections. */
enum number_format llm_format(const struct llm_spec *llm, enum llm_part part);

/* The part that `ffn` is of: the shared expert beside experts, else the feed-forward layer of all layers. */
static inline enum llm_part llm_ffn_part(const struct llm_spec *llm)
{
    return llm->experts > 0 ? LLM_PART_SHARED : LLM_PART_DENSE;
}

/* Whether an LLM has matrices of a part. */
bool llm_has(const struct llm_spec *llm, enum llm_part part);

/* Gives all matrices of the layers one format, whatever their parts had, and the head that of computing. */
void llm_set_weights(struct llm_spec *llm, enum number_format format);

/* Share of the layers with softmax attention whose queries look back a window only. */
static inline double llm_window_frac(const struct llm_spec *llm)
{
    return llm->sliding_window > 0 ? 1.0 - (double)llm->full_layers / (double)llm->layers : 0.0;
}

/* Tokens that a query sees at most, in layers where it does not see all: those of the window or the chunk, or those
 * that an indexer chose; 0: all layers see all tokens. */
static inline double llm_seen_tokens(const struct llm_spec *llm)
{
    return (double)(llm->index_tokens > 0 ? llm->index_tokens : llm->sliding_window);
}

/* Whether some attention is of a kind of which no kernel, load or row was measured: linear, sparse, or in chunks. */
static inline bool llm_is_unmeasured_kind(const struct llm_spec *llm)
{
    return llm->linear_layers > 0 || llm->index_tokens > 0 || llm->chunked;
}

/* Whether all layers with softmax attention have the same heads, with keys and values of one width, made alike. */
bool llm_heads_are_plain(const struct llm_spec *llm);

/* The LLM whose layers all are like those with a window. */
struct llm_spec llm_windowed(const struct llm_spec *llm);

/* Share of the layers with linear attention. */
static inline double llm_linear_frac(const struct llm_spec *llm)
{
    return (double)llm->linear_layers / (double)llm->layers;
}

/* Numbers of a token that linear attention works on in a layer: queries and keys, and values. */
static inline int64_t llm_linear_keys(const struct llm_spec *llm)
{
    return llm->linear_key_heads * llm->linear_key_dim;
}

static inline int64_t llm_linear_values(const struct llm_spec *llm)
{
    return llm->linear_value_heads * llm->linear_value_dim;
}

/* Bytes that the layers with linear attention keep of a sequence, whatever its length, on one of `tensor_parallel`
 * GPUs that hold all layers. */
double llm_state_bytes(const struct llm_spec *llm, int64_t tensor_parallel);

/* All parameters, biases and norms included. */
int64_t llm_parameters(const struct llm_spec *llm);

/* Parameters used by one token: with experts only experts_per_token of them. */
int64_t llm_active_parameters(const struct llm_spec *llm);

/* Bytes of all parameters. */
double llm_weight_bytes(const struct llm_spec *llm);

/* Bytes of so many further copies of experts in each layer that has some. */
double llm_copies_bytes(const struct llm_spec *llm, int64_t copies);

/* Bytes of keys and values, or of latent vectors, per token over all layers, on one GPU without parallelism. */
double llm_kv_bytes_per_token(const struct llm_spec *llm);

/* Bytes of a latent vector with its rotary key, of a token in one layer. Beside an indexer a cache of 8 bits has a
 * scale in fp32 for each 128 numbers, and rotary keys in the format of computing: 656 bytes in DeepSeek-V3.2
 * (deepseek-ai/FlashMLA, README.md). */
double llm_latent_bytes(const struct llm_spec *llm);

/* Bytes of an indexer's key of a token in one layer: 8 bits a number, and a scale in fp32. 0 without one. */
static inline double llm_index_key_bytes(const struct llm_spec *llm)
{
    return llm->index_tokens > 0 ? (double)llm->index_dim + number_format_bytes(FORMAT_FP32) : 0.0;
}

/* FLOP of linear attention for each number of its state and token: decay, what the key recalls, the correction that is
 * written, what the query reads. */
enum { LINEAR_FLOP = 7 };

/* Widths of the keys and values that a head attends over, in layers that see all tokens. */
int64_t llm_key_dim(const struct llm_spec *llm);
int64_t llm_value_dim(const struct llm_spec *llm);

/* Forward floating-point operations for one more token that attends to `context_tokens` tokens, logits included: two
 * per weight of the matrices it meets, and 2 q_heads (key_dim + value_dim) per layer and context token (scores and
 * weighted sum); 2 index_heads (index_dim + 1) per indexer and context token; LINEAR_FLOP per number of linear states.
 * Decoding over latent vectors instead takes 2 q_heads (2 kv_latent + rotary_dim) of these. */
double llm_flop_per_token(const struct llm_spec *llm, int64_t context_tokens);

/* FLOP of the head for one row of logits. Engines run it once per sequence, not for every token of a prompt. */
double llm_head_flop(const struct llm_spec *llm);

/* Bytes of the matrices that an iteration over `tokens` tokens reads: those of the layers, and the head. Of the
 * experts the share that at least one token is expected to choose, tokens choosing independently: 1 - (1 -
 * k/E)^tokens. */
double llm_read_bytes(const struct llm_spec *llm, int64_t tokens);

/* llm_read_bytes for repeated use: the parts that do not depend on the tokens, computed once. */
struct llm_reads {
    double layer_bytes, expert_bytes; /* of all layers, but for experts and routers; of an expert in one layer */
    double sparse_layers, experts;    /* layers with experts; experts of each */
    double missed_frac;               /* share of the experts that a token does not choose */
    double plain_bytes;               /* routers and head */
    double widened_layer_bytes, widened_expert_bytes; /* of the weights of all layers and the head, and of an expert in
                                         one layer, in the format of computing: of those alone whose own is narrower */
    double groups;                    /* of data parallelism: each reads all but the experts for its sequences */
};

struct llm_reads llm_reads(const struct llm_spec *llm);

/* Groups that read the layers of `sequences` sequences: at most as many as there are sequences. */
static inline double llm_reading_groups(const struct llm_reads *reads, int64_t sequences)
{
    const double most = (double)sequences;
    if (reads->groups <= 1.0) return 1.0;
    return reads->groups < most ? reads->groups : most;
}

/* Experts of a layer of which at least one of `tokens` tokens is expected. */
static inline double llm_experts_read(const struct llm_reads *reads, int64_t tokens)
{
    return reads->experts > 0.0 ? reads->experts * (1.0 - pow(reads->missed_frac, (double)tokens)) : 0.0;
}

/* llm_read_bytes of `tokens` tokens of `sequences` sequences. */
static inline double llm_reads_bytes(const struct llm_reads *reads, int64_t tokens, int64_t sequences)
{
    const double groups = llm_reading_groups(reads, sequences), touched = llm_experts_read(reads, tokens);
    const double bytes = groups * reads->layer_bytes + reads->sparse_layers * touched * reads->expert_bytes;
    return bytes + groups * reads->plain_bytes;
}

/* Bytes that the weights read take in the format of computing, of those alone whose own format is narrower. */
static inline double llm_widened_bytes(const struct llm_reads *reads, int64_t tokens, int64_t sequences)
{
    const double layers = llm_reading_groups(reads, sequences) * reads->widened_layer_bytes;
    if (!(reads->widened_expert_bytes > 0.0)) return layers;
    return layers + reads->sparse_layers * llm_experts_read(reads, tokens) * reads->widened_expert_bytes;
}

/* Twice the query-key pairs of `tokens` tokens that come on top of `context_tokens`, where each query sees at most
 * `window_tokens` > 0: the window's part of tokens^2 + 2 tokens context_tokens. */
double llm_window_pairs(double tokens, double context_tokens, double window_tokens);

/* The same where a query sees its chunk alone. */
double llm_chunk_pairs(double tokens, double context_tokens, double chunk_tokens);

/* Tokens that decoding sequences see of their chunks, which have `context_tokens` in the mean: all of the first chunk.
 * From two chunks on they stand anywhere in one. Between, where some of a batch are in the first chunk and some in the
 * second, the number falls evenly. */
static inline double llm_chunk_context(double context_tokens, double chunk_tokens)
{
    const double half = 0.5 * (chunk_tokens + 1.0), beyond = context_tokens / chunk_tokens - 1.0;
    if (beyond <= 0.0) return context_tokens;
    return beyond < 1.0 ? chunk_tokens - beyond * (chunk_tokens - half) : half;
}

/* Why no LLM can have this shape, as a static text, or NULL if one can. */
const char *llm_problem(const struct llm_spec *llm);

/* Why the model cannot be split so, as a static text, or NULL if it can. */
const char *llm_parallel_problem(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel);

/* The part on one GPU of a model split `tensor_parallel` ways inside each layer (Megatron-LM, Shoeybi et al. 2019) and
 * `pipeline_parallel` ways between layers; the fullest stage, of several the last. KV heads are replicated when GPUs
 * outnumber them, and latent vectors always, with the matrices that make them. */
struct llm_shard {
    int64_t layers, dense_layers; /* of them those without experts, if others have some */
    double linear_layers, index_layers; /* of them, on average: with linear attention, with an indexer of their own */
    double q_heads, kv_heads, ffn, expert_ffn, dense_ffn, vocab; /* fractional where the split is uneven on average */
    double window_q_heads, window_kv_heads; /* of layers with a window */
    double weight_bytes, kv_bytes_per_token;
    double window_kv_bytes_per_token; /* of it, in layers with a window, where others have none; else 0 */
};

struct llm_shard llm_shard(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel);

/* Groups of data parallelism: 0 stands for the one group of a replica that has none. */
static inline int64_t llm_groups(int64_t data_parallel)
{
    return data_parallel > 1 ? data_parallel : 1;
}

/* llm_shard with attention in data_parallel groups of the GPUs, each for sequences of its own: a group splits all but
 * the experts among its own GPUs, and all GPUs together hold the experts once (DeepSeek-V3, 2024). */
struct llm_shard llm_data_shard(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel,
                                int64_t data_parallel);

/* So many layers like the LLM's last ones, but that see all tokens, or those that an indexer of their own chooses:
 * without windows, chunks and linear attention, whatever some of the others have. Heads are those of layers without a
 * window. */
struct llm_spec llm_further_layers(const struct llm_spec *llm, int64_t layers);

/* The layers for multi-token prediction on one GPU, split like llm_data_shard; the LLM has some. They are like its
 * last layers, but look back at all tokens. Each has norms of its own, and a matrix of 2 hidden x hidden in the
 * format of computing that joins a hidden state and an embedding. Embedding and head are the LLM's (DeepSeek-V3,
 * section 2.2). */
struct llm_shard llm_mtp_shard(const struct llm_spec *llm, int64_t tensor_parallel, int64_t data_parallel);

/* Why the model cannot be split so, as a static text, or NULL if it can. How experts are split is not looked at. */
const char *llm_data_problem(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel,
                             int64_t data_parallel);

/* The number of KV-cache blocks that fit on a GPU beside the weights, the activations of the largest batch and the
 * memory of the runtime. This is how vLLM sizes its cache (Kwon et al., SOSP 2023), from the model's shape instead of
 * a trial run. */
struct kv_params {
    double usable_frac;      /* share of the memory that the engine may use (vLLM: gpu_memory_utilization) */
    double reserve_bytes;    /* driver, CUDA context, buffers of collectives, CUDA graphs */
    int64_t batch_tokens;    /* largest number of tokens in an iteration */
    int64_t batch_sequences; /* largest number of sequences in an iteration */
    int64_t block_tokens;
    int64_t data_parallel;   /* groups of GPUs with sequences of their own; 0: one */
    int64_t redundant_experts; /* copies of experts in each layer that has some, dealt to all GPUs alike */
    bool frees_windows;        /* blocks hold the layers without a window alone (llm_window_blocks) */
};

/* All per GPU: usable = weights + activations + reserve + states + blocks * block + rest, 0 <= rest < block. States
 * are those of linear attention, for batch_sequences sequences: a pool of their own, as in SGLang. */
struct kv_capacity {
    double usable_bytes, weight_bytes, activation_bytes, reserve_bytes, state_bytes, block_bytes;
    int64_t blocks; /* 0 when the weights alone do not fit */
};

/* Blocks that a sequence holds beside those of its layers without a window, where tokens behind the window are freed
 * (vLLM's hybrid KV cache manager): the share that the layers with a window have of ceil((window - 1) / block) + 1
 * blocks at most. The mean over its steps, the first of which has first_tokens, the last one last_tokens >=
 * first_tokens >= 1. Blocks of a chunk of a prompt that leave the window at once are not counted, nor layers that pad
 * vLLM's groups of layers. share: llm_window_share. */
int64_t llm_window_blocks(const struct llm_spec *llm, double share, int64_t block_tokens, int64_t first_tokens,
                          int64_t last_tokens);

/* Bytes of a token in the layers with a window, over those in the others; 0 unless both are there. */
double llm_window_share(const struct llm_spec *llm, int64_t tensor_parallel);

/* The activations are those of the widest point of a layer, over batch_tokens: two hidden states, and gate, up and
 * their product in the feed-forward layer, or queries, keys, values and results of attention; then the logits of
 * batch_sequences, kept once in the model's format and twice in fp32 for sampling. One of several groups
 * may have all of the batch. */
struct kv_capacity kv_capacity(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t tensor_parallel,
                               int64_t pipeline_parallel, const struct kv_params *params);

#endif
