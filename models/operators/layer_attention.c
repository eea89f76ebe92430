/* Attention of all kinds, with what leads to it and from it: see layer.h. */
#include "models/operators/inside.h"

#include <math.h>

/* A norm in every layer with softmax attention over something else than the hidden state. */
static void add_inner_norm(struct listing *list, double width)
{
    if (width > 0.0) listing_add_elementwise(list, OP_NORM, KERNEL_NORM, list->attending, list->tokens, 2.0 * width);
}

/* Learned positions are added once, all others turn `rotated` numbers of queries and keys in every such layer. */
static void add_rotary(struct listing *list, double rotated)
{
    if (list->llm->position_embeddings > 0) return;
    listing_add_elementwise(list, OP_ROTARY, KERNEL_ROTARY, list->attending, list->tokens, 2.0 * rotated);
}

/* A token's cache entry is read in one format and written in another: the mean of both, times twice the numbers. */
static void add_kv_write(struct listing *list, double numbers)
{
    const double number_bytes = 0.5 * (list->number_bytes + number_format_bytes(list->llm->kv));
    const struct elementwise_shape shape = {list->tokens, 2.0 * numbers, number_bytes};
    listing_add(list, OP_KV_WRITE, BY_TOKENS, list->attending,
        (struct kernel_call){.class = KERNEL_KV_WRITE, .shape.elementwise = shape});
}

/* A product of all tokens with weights in so many layers: of OP_OUT the output projection's. */
static void add_product_in(struct listing *list, double layers, enum llm_operator op, double n, double k)
{
    const enum llm_part part = op == OP_OUT ? LLM_PART_OUT : LLM_PART_ATTENTION;
    listing_add(list, op, BY_TOKENS, layers, listing_product(list, part, list->tokens, n, k));
}

/* A small product with weights in the format of computing. */
static void add_wide_product(struct listing *list, double layers, double n, double k)
{
    const enum number_format format = list->llm->compute;
    const struct gemm_shape shape = {list->tokens, n, k, format, format};
    listing_add(list, OP_QKV, BY_TOKENS, layers, (struct kernel_call){.class = KERNEL_GEMM, .shape.gemm = shape});
}

static void add_product(struct listing *list, enum llm_operator op, double n, double k)
{
    add_product_in(list, list->attending, op, n, k);
}

/* Whether attention writes keys and values into the cache. */
static bool attention_writes_kv(const struct listing *list)
{
    return list->split->attention_writes_kv && list->llm->kv_latent == 0;
}

static bool decodes(const struct listing *list)
{
    return list->work->decode_sequences > 0;
}

/* Whether one launch of attention serves prompts and decoding sequences. On GPUs with units of 4 bits engines launch a
 * kernel for each (FlashInfer's TensorRT-LLM kernels), whatever they do elsewhere. */
static bool mixes_attention(const struct listing *list)
{
    return list->split->mixed_attention && list->llm->kv_latent == 0 &&
           !(list->gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0);
}

/* The chunks of prompts, with the sequences that decode. Each query head has keys and values of its own when latent
 * vectors were expanded; decoding works on these themselves then, in another launch. */
static void add_prefill_attention(struct listing *list, double layers, double window_tokens)
{
    const struct llm_spec *llm = list->llm;
    const struct prefill_shape shape = {
        .q_heads = list->shard.q_heads,
        .kv_heads = list->shard.kv_heads,
        .key_dim = (double)llm_key_dim(llm),
        .value_dim = (double)llm_value_dim(llm),
        .kv = llm->kv,
        .compute = llm->compute,
        .window = list->llm->chunked ? 0.0 : window_tokens,
        .chunk = list->llm->chunked ? window_tokens : 0.0,
        .writes_kv = attention_writes_kv(list),
    };
    const struct kernel_call call = {
        .class = llm->kv_latent > 0 ? KERNEL_LATENT_PREFILL : KERNEL_PREFILL_ATTENTION, .shape.prefill = shape};
    const bool may_mix = mixes_attention(list), mixes = may_mix && decodes(list);
    listing_add_batched(list, mixes ? OP_MIXED_ATTENTION : OP_PREFILL_ATTENTION, BY_PREFILL, layers, may_mix, call);
}

/* The decoding sequences: over keys and values, or over latent vectors, which all heads share. */
static void add_decode_attention(struct listing *list, double layers, double window_tokens)
{
    const struct llm_spec *llm = list->llm;
    const bool latent = llm->kv_latent > 0;
    const struct decode_shape shape = {
        .q_heads = list->shard.q_heads,
        .kv_heads = latent ? 1.0 : list->shard.kv_heads,
        .key_dim = (double)(latent ? llm->kv_latent + llm->rotary_dim : llm->head_dim),
        .value_dim = (double)(latent ? llm->kv_latent : llm_value_dim(llm)),
        .kv = llm->kv,
        .compute = llm->compute,
        .window = list->llm->chunked ? 0.0 : window_tokens,
        .chunk = list->llm->chunked ? window_tokens : 0.0,
        .shared_kv = latent,
        .writes_kv = attention_writes_kv(list),
    };
    listing_add_batched(list, OP_DECODE_ATTENTION, BY_DECODE, layers, false,
                (struct kernel_call){.class = latent ? KERNEL_LATENT_DECODE : KERNEL_DECODE_ATTENTION,
                                     .shape.decode = shape});
}

/* Attention over keys and values in so many layers. */
static void add_attention_in(struct listing *list, double layers, double window_tokens)
{
    const bool prompts = list->work->prefill_tokens > 0;
    if (prompts) add_prefill_attention(list, layers, window_tokens);
    if (decodes(list) && !(prompts && mixes_attention(list))) add_decode_attention(list, layers, window_tokens);
}

/* The layers of the list with softmax attention, `windowed` of which look back a window only. */
static void add_heads(struct listing *list, double windowed)
{
    const struct llm_spec *llm = list->llm;
    const double q_heads = list->shard.q_heads, kv_heads = list->shard.kv_heads;
    const double key_dim = (double)llm->head_dim, value_dim = (double)llm_value_dim(llm);
    const double q_width = q_heads * key_dim, k_width = kv_heads * key_dim, v_width = kv_heads * value_dim;
    const double results = q_heads * value_dim;
    const double made = q_width + (llm->attention_gate ? results : 0.0) + k_width +
                        (llm->keys_as_values ? 0.0 : v_width);
    add_product(list, OP_QKV, made, (double)llm->hidden);
    add_inner_norm(list, llm->qk_norm ? q_width : 0.0);
    add_inner_norm(list, llm->qk_norm ? k_width : 0.0);
    add_rotary(list, q_width + k_width);
    if (!attention_writes_kv(list)) add_kv_write(list, k_width + v_width);
    if (windowed < list->attending) add_attention_in(list, list->attending - windowed, 0.0);
    if (windowed > 0.0) add_attention_in(list, windowed, (double)llm->sliding_window);
    if (llm->attention_gate) { /* its sigmoid, and the product (sgl-project/sglang, pull request 27732) */
        listing_add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, list->attending, list->tokens, 2.0 * results);
        listing_add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, list->attending, list->tokens, 3.0 * results);
    }
    add_product(list, OP_OUT, (double)llm->hidden, results);
}

/* Layers with a window are listed apart where they have heads of their own. */
static void add_attention(struct listing *list)
{
    const struct llm_spec *llm = list->llm, windowed_llm = llm_windowed(llm);
    const double windowed = list->attending * llm_window_frac(llm);
    if (llm_heads_are_plain(llm) || windowed <= 0.0 || windowed >= list->attending) {
        add_heads(list, windowed);
        return;
    }
    struct listing part = *list;
    part.attending = list->attending - windowed;
    add_heads(&part, 0.0);
    part.llm = &windowed_llm;
    part.attending = windowed;
    part.shard.q_heads = list->shard.window_q_heads;
    part.shard.kv_heads = list->shard.window_kv_heads;
    add_heads(&part, windowed);
    list->n = part.n;
}

/* The gated delta rule, for the value heads of one GPU. A chunk multiplies queries and keys with keys, the inverse of
 * the latter with keys and values, scores with values (6 and 4 times its length), and keys and queries with states. */
static struct scan_shape delta_rule(const struct listing *list, bool prompts)
{
    const struct llm_spec *llm = list->llm;
    const double chunk = 64.0, key_dim = (double)llm->linear_key_dim, value_dim = (double)llm->linear_value_dim;
    const double heads = (double)llm->linear_value_heads / list->group_gpus, state = heads * key_dim * value_dim;
    const double moved = (2.0 * (double)llm_linear_keys(llm) + 2.0 * (double)llm_linear_values(llm)) / list->group_gpus;
    const double state_bytes = state * number_format_bytes(FORMAT_FP32);
    struct scan_shape shape = {
        .query_flop = LINEAR_FLOP * state,
        .query_bytes = moved * list->number_bytes + state_bytes,
        .sequence_bytes = state_bytes,
        .compute = FORMAT_FP32,
    };
    if (!prompts) return shape;
    shape.query_flop = heads * chunk * (6.0 * key_dim + 4.0 * value_dim) + 6.0 * state;
    shape.query_bytes = 3.0 * moved * list->number_bytes + 2.0 * state / chunk * list->number_bytes;
    shape.sequence_bytes = 2.0 * state_bytes;
    shape.compute = llm->compute;
    return shape;
}

/* Layers with linear attention, whose heads are split like those of softmax attention. */
static void add_linear_attention(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double gpus = list->group_gpus, keys = (double)llm_linear_keys(llm) / gpus;
    const double values = (double)llm_linear_values(llm) / gpus, hidden = (double)llm->hidden;
    if (list->linear <= 0.0) return;
    add_product_in(list, list->linear, OP_QKV, 2.0 * (keys + values), hidden);
    add_wide_product(list, list->linear, 2.0 * (double)llm->linear_value_heads / gpus, hidden);
    listing_add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, list->linear, list->tokens,
                            4.0 * (keys + values)); /* their order in memory (sglang, pull request 21019) */
    listing_add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, list->linear, list->tokens,
                            2.0 * (2.0 * keys + values)); /* the convolution */
    if (list->work->prefill_tokens > 0)
        listing_add_batched(list, OP_LINEAR_ATTENTION, BY_PREFILL, list->linear, false,
                    (struct kernel_call){.class = KERNEL_LINEAR_PREFILL, .shape.scan = delta_rule(list, true)});
    if (decodes(list))
        listing_add_batched(list, OP_LINEAR_ATTENTION, BY_DECODE, list->linear, false,
                    (struct kernel_call){.class = KERNEL_LINEAR_DECODE, .shape.scan = delta_rule(list, false)});
    listing_add_elementwise(list, OP_NORM, KERNEL_NORM, list->linear, list->tokens, 3.0 * values);
    add_product_in(list, list->linear, OP_OUT, hidden, values);
}

/* The indexers. A score is written and read again, in fp32. Queries and weights of heads come from the latent query
 * and the hidden state; the key is rotated and cached. */
static void add_indexers(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double heads = (double)llm->index_heads, width = heads * (double)llm->index_dim;
    const double key = (double)llm->index_dim, hidden = (double)llm->hidden, layers = list->shard.index_layers;
    const struct scan_shape shape = {
        .pair_flop = 2.0 * width + 2.0 * heads,
        .query_bytes = width * number_format_bytes(FORMAT_FP8),
        .pair_bytes = 2.0 * number_format_bytes(FORMAT_FP32),
        .key_bytes = llm_index_key_bytes(llm),
        .compute = FORMAT_FP8,
    };
    const struct kernel_call scores = {.class = KERNEL_INDEX, .shape.scan = shape};
    add_product_in(list, layers, OP_QKV, width, (double)llm->query_latent);
    add_product_in(list, layers, OP_QKV, key, hidden);
    add_wide_product(list, layers, heads, hidden);
    listing_add_elementwise(list, OP_NORM, KERNEL_NORM, layers, list->tokens, 2.0 * key);
    listing_add_elementwise(list, OP_ROTARY, KERNEL_ROTARY, layers, list->tokens, 2.0 * (width + key));
    if (list->work->prefill_tokens > 0) listing_add_batched(list, OP_INDEX, BY_PREFILL, layers, false, scores);
    if (decodes(list)) listing_add_batched(list, OP_INDEX, BY_DECODE, layers, false, scores);
}

/* Attention over the latent vectors that each query chose, as over one head of keys that are values too. Decoding
 * gathers them for every query; those of a prompt's neighbours are mostly the same, and stay in the cache. */
static void add_sparse(struct listing *list, bool prompts)
{
    const struct llm_spec *llm = list->llm;
    const double rows = 64.0, latent = (double)llm->kv_latent, key = latent + (double)llm->rotary_dim;
    const double heads = ceil(list->shard.q_heads / rows) * rows;
    const double key_bytes = llm_latent_bytes(llm);
    const struct scan_shape shape = {
        .window = (double)llm->index_tokens,
        .pair_flop = 2.0 * heads * (key + latent),
        .query_bytes = list->shard.q_heads * (key + latent) * list->number_bytes,
        .pair_bytes = prompts ? 0.0 : key_bytes,
        .key_bytes = prompts ? key_bytes : 0.0,
        .compute = llm->compute,
    };
    listing_add_batched(list, prompts ? OP_PREFILL_ATTENTION : OP_DECODE_ATTENTION, prompts ? BY_PREFILL : BY_DECODE,
                        list->layers, false,
                        (struct kernel_call){.class = prompts ? KERNEL_SPARSE_PREFILL : KERNEL_SPARSE_DECODE,
                                             .shape.scan = shape});
}

/* Latent attention over what indexers chose: all tokens multiply the expansion's halves with queries and results. */
static void add_sparse_attention(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double heads = list->shard.q_heads, latent = (double)llm->kv_latent;
    add_indexers(list);
    add_product(list, OP_QKV, heads * latent, (double)llm->head_dim);
    if (list->work->prefill_tokens > 0) add_sparse(list, true);
    if (decodes(list)) add_sparse(list, false);
    add_product(list, OP_OUT, heads * (double)llm->value_dim, latent);
}

/* Prompts expand the latent vectors of all their tokens, the earlier ones too. Decoding multiplies the expansion's two
 * halves with queries and results instead (the products of all heads count as one). */
static void add_dense_latent_attention(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double heads = list->shard.q_heads, latent = (double)llm->kv_latent, value_dim = (double)llm->value_dim;
    if (list->work->prefill_tokens > 0) {
        const double expanded = heads * ((double)llm->head_dim + value_dim);
        listing_add_batched(list, OP_QKV, BY_PREFILL, list->layers, false,
                            listing_product(list, LLM_PART_ATTENTION, 0.0, expanded, latent));
        add_prefill_attention(list, list->layers, (double)llm->sliding_window);
    }
    if (decodes(list)) {
        listing_add_batched(list, OP_QKV, BY_DECODE, list->layers, false,
                            listing_product(list, LLM_PART_ATTENTION, 0.0, heads * latent, (double)llm->head_dim));
        add_decode_attention(list, list->layers, (double)llm->sliding_window);
        listing_add_batched(list, OP_OUT, BY_DECODE, list->layers, false,
                            listing_product(list, LLM_PART_ATTENTION, 0.0, heads * value_dim, latent));
    }
}

static void add_latent_attention(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double heads = list->shard.q_heads, latent = (double)llm->kv_latent, rotary = (double)llm->rotary_dim;
    const double hidden = (double)llm->hidden, query = (double)llm->query_latent;
    add_product(list, OP_QKV, query + latent + rotary, hidden);
    add_inner_norm(list, query);
    add_inner_norm(list, latent);
    add_product(list, OP_QKV, heads * (double)llm_key_dim(llm), query > 0.0 ? query : hidden);
    add_rotary(list, (heads + 1.0) * rotary);
    add_kv_write(list, latent + rotary);
    if (llm->index_tokens > 0)
        add_sparse_attention(list);
    else
        add_dense_latent_attention(list);
    add_product(list, OP_OUT, hidden, heads * (double)llm->value_dim);
}

void listing_add_mixers(struct listing *list)
{
    if (list->llm->kv_latent > 0)
        add_latent_attention(list);
    else
        add_attention(list);
    add_linear_attention(list);
}
