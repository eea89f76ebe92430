#include "models/transformer.h"

#include <math.h>
#include <stddef.h>

enum number_format llm_format(const struct llm_spec *llm, enum llm_part part)
{
    if (llm->part_formats[part] > 0) return (enum number_format)(llm->part_formats[part] - 1);
    if (part == LLM_PART_HEAD) return llm->compute;
    return part == LLM_PART_OUT ? llm_format(llm, LLM_PART_ATTENTION) : llm->weights;
}

bool llm_has(const struct llm_spec *llm, enum llm_part part)
{
    switch (part) {
    case LLM_PART_DENSE: return llm->experts == 0 || llm->dense_layers > 0;
    case LLM_PART_SHARED: return llm->experts > 0 && llm->ffn > 0;
    case LLM_PART_EXPERTS: return llm->experts > 0;
    default: return true;
    }
}

void llm_set_weights(struct llm_spec *llm, enum number_format format)
{
    llm->weights = format;
    for (int part = 0; part < LLM_PART_COUNT; part++) llm->part_formats[part] = 0;
}

/* Bytes of a weight of a part. */
static double part_bytes(const struct llm_spec *llm, enum llm_part part)
{
    return number_format_bytes(llm_format(llm, part));
}

static int64_t ffn_matrices(const struct llm_spec *llm)
{
    return llm->gated_ffn ? 3 : 2;
}

int64_t llm_key_dim(const struct llm_spec *llm)
{
    return llm->kv_latent > 0 ? llm->head_dim + llm->rotary_dim : llm->head_dim;
}

int64_t llm_value_dim(const struct llm_spec *llm)
{
    return llm->value_dim > 0 ? llm->value_dim : llm->head_dim;
}

static int64_t stated_or(int64_t stated, int64_t other)
{
    return stated > 0 ? stated : other;
}

struct llm_spec llm_windowed(const struct llm_spec *llm)
{
    struct llm_spec windowed = *llm;
    windowed.full_layers = windowed.window_q_heads = windowed.window_kv_heads = 0;
    windowed.window_head_dim = windowed.window_value_dim = 0;
    windowed.keys_as_values = false;
    windowed.q_heads = stated_or(llm->window_q_heads, llm->q_heads);
    windowed.kv_heads = stated_or(llm->window_kv_heads, llm->kv_heads);
    windowed.head_dim = stated_or(llm->window_head_dim, llm->head_dim);
    windowed.value_dim = stated_or(llm->window_value_dim, llm->window_head_dim > 0 ? 0 : llm->value_dim);
    return windowed;
}

bool llm_heads_are_plain(const struct llm_spec *llm)
{
    const struct llm_spec windowed = llm_windowed(llm);
    if (llm->keys_as_values || (llm->kv_latent == 0 && llm_value_dim(llm) != llm->head_dim)) return false;
    return windowed.q_heads == llm->q_heads && windowed.kv_heads == llm->kv_heads &&
           windowed.head_dim == llm->head_dim && llm_value_dim(&windowed) == llm_value_dim(llm);
}

/* Mean over the layers with softmax attention of what has one value in those that see all tokens, another one in those
 * with a window. */
static double mean_of(const struct llm_spec *llm, double full, double windowed)
{
    return full + llm_window_frac(llm) * (windowed - full);
}

/* Weights of the matrices of one layer that make latent vectors: every GPU holds all of them. */
static int64_t latent_weights(const struct llm_spec *llm)
{
    return llm->kv_latent > 0 ? llm->hidden * (llm->query_latent + llm->kv_latent + llm->rotary_dim) : 0;
}

/* Weights of the indexer of one layer, for its queries and its key: every GPU holds all of them. */
static int64_t index_weights(const struct llm_spec *llm)
{
    return llm->index_dim * (llm->query_latent * llm->index_heads + llm->hidden);
}

/* Weights of linear attention of one layer but for the output projection: queries, keys, values, gates of results. */
static double linear_inward_weights(const struct llm_spec *llm)
{
    return (double)(2 * llm->hidden * (llm_linear_keys(llm) + llm_linear_values(llm)));
}

/* Matrices that stay in the format of computing, in so many layers on one of so many GPUs: for decay and strength of
 * the value heads of linear attention, which are split, and for the weights of an indexer's heads. */
static double wide_weights(const struct llm_spec *llm, double layers, double gpus)
{
    const double linear = layers * llm_linear_frac(llm),
                 indexers = layers * (double)llm->index_layers / (double)llm->layers;
    return (double)llm->hidden *
           (linear * (double)(2 * llm->linear_value_heads) / gpus + indexers * (double)llm->index_heads);
}

static double linear_out_weights(const struct llm_spec *llm)
{
    return (double)(llm->hidden * llm_linear_values(llm));
}

/* Convolution, decay, its offset, and the norm of a head, in one layer. */
static int64_t linear_vectors(const struct llm_spec *llm)
{
    const int64_t channels = 2 * llm_linear_keys(llm) + llm_linear_values(llm);
    return llm->linear_conv * channels + 2 * llm->linear_value_heads + llm->linear_value_dim;
}

double llm_state_bytes(const struct llm_spec *llm, int64_t tensor_parallel)
{
    const double channels = (double)(2 * llm_linear_keys(llm) + llm_linear_values(llm));
    const double kept = llm->linear_layers > 0 ? channels * (double)(llm->linear_conv - 1) : 0.0;
    const double state = (double)(llm->linear_key_dim * llm_linear_values(llm));
    return (double)llm->linear_layers / (double)tensor_parallel *
           (state * number_format_bytes(FORMAT_FP32) + kept * number_format_bytes(llm->compute));
}

/* Weights of the attention matrices of one layer for some of the heads, but for the output projection. */
static double head_weights(const struct llm_spec *llm, double q_heads, double kv_heads)
{
    const double hidden = (double)llm->hidden;
    const double gated = llm->attention_gate ? 2.0 : 1.0;
    const double key_dim = (double)llm->head_dim, value_dim = llm->keys_as_values ? 0.0 : (double)llm_value_dim(llm);
    if (llm->kv_latent == 0)
        return hidden * ((q_heads + kv_heads) * key_dim + ((gated - 1.0) * q_heads + kv_heads) * value_dim);
    const double query = llm->query_latent > 0 ? (double)llm->query_latent : hidden;
    const double expanded = kv_heads * (double)(llm->kv_latent * (llm->head_dim + llm->value_dim));
    return q_heads * query * (double)llm_key_dim(llm) + expanded;
}

/* Weights of the output projection of one layer for some of the heads. */
static double out_weights(const struct llm_spec *llm, double q_heads)
{
    return q_heads * (double)llm_value_dim(llm) * (double)llm->hidden;
}

/* Weights of the attention matrices of one layer, but for the output projection. */
static int64_t inward_weights(const struct llm_spec *llm)
{
    return latent_weights(llm) + (int64_t)head_weights(llm, (double)llm->q_heads, (double)llm->kv_heads);
}

/* Layers whose queries look back a window only. */
static int64_t window_layers(const struct llm_spec *llm)
{
    return llm->sliding_window > 0 ? llm->layers - llm->full_layers : 0;
}

/* Weights of the attention matrices of all layers, by what they do: into attention, and out of it. */
static double all_inward_weights(const struct llm_spec *llm)
{
    const struct llm_spec windowed = llm_windowed(llm);
    const int64_t windows = window_layers(llm), full = llm->layers - llm->linear_layers - windows;
    const int64_t softmax = full * inward_weights(llm) + windows * inward_weights(&windowed);
    return (double)(softmax + llm->index_layers * index_weights(llm)) +
           (double)llm->linear_layers * linear_inward_weights(llm);
}

static double all_out_weights(const struct llm_spec *llm)
{
    const struct llm_spec windowed = llm_windowed(llm);
    const double windows = (double)window_layers(llm), full = (double)(llm->layers - llm->linear_layers) - windows;
    return full * out_weights(llm, (double)llm->q_heads) + windows * out_weights(&windowed, (double)windowed.q_heads) +
           (double)llm->linear_layers * linear_out_weights(llm);
}

static int64_t attention_weights(const struct llm_spec *llm)
{
    return (int64_t)(all_inward_weights(llm) + all_out_weights(llm) + wide_weights(llm, (double)llm->layers, 1.0));
}

static int64_t expert_weights(const struct llm_spec *llm)
{
    return ffn_matrices(llm) * llm->hidden * llm->expert_ffn;
}

/* Of the router, and of the gate on the shared expert. */
static int64_t router_weights(const struct llm_spec *llm)
{
    return llm->hidden * (llm->experts + (llm->shared_gate ? 1 : 0));
}

/* Weights of the feed-forward matrices of all layers, routers included, that are met by a token which `experts` serve
 * in each layer. */
static int64_t ffn_weights(const struct llm_spec *llm, int64_t experts)
{
    const int64_t row = ffn_matrices(llm) * llm->hidden;
    const int64_t layer = row * llm->ffn + router_weights(llm) + experts * expert_weights(llm);
    return llm->dense_layers * row * llm->dense_ffn + (llm->layers - llm->dense_layers) * layer;
}

static int64_t norm_parameters(const struct llm_spec *llm)
{
    return llm->hidden * (llm->norm_bias ? 2 : 1);
}

/* Norms and biases of one layer with softmax attention, but for the norms of the layer. */
static int64_t attention_vectors(const struct llm_spec *llm)
{
    int64_t n = 0;
    if (llm->qk_norm) n += 2 * llm->head_dim;
    if (llm->kv_latent > 0) n += llm->query_latent + llm->kv_latent;
    if (llm->qkv_bias)
        n += (llm->q_heads + llm->kv_heads) * llm->head_dim +
             (llm->keys_as_values ? 0 : llm->kv_heads * llm_value_dim(llm));
    if (llm->output_bias) n += llm->hidden;
    if (llm->attention_sinks) n += llm->q_heads;
    return n;
}

/* Norms and biases of so many layers, a share of which have linear attention. */
static double layers_vectors(const struct llm_spec *llm, double layers)
{
    const struct llm_spec windowed = llm_windowed(llm);
    const int64_t ffn_biases = llm->ffn_bias ? (ffn_matrices(llm) - 1) * llm->ffn + llm->hidden : 0;
    const double linear = layers * llm_linear_frac(llm);
    const double indexers = layers * (double)llm->index_layers / (double)llm->layers;
    return layers * (double)(llm->layer_norms * norm_parameters(llm) + ffn_biases) +
           (layers - linear) * mean_of(llm, (double)attention_vectors(llm), (double)attention_vectors(&windowed)) +
           linear * (double)linear_vectors(llm) + indexers * 2.0 * (double)llm->index_dim;
}

/* Biases of the router, and of one expert, in one layer with experts. */
static int64_t router_biases(const struct llm_spec *llm)
{
    return llm->expert_bias ? llm->experts : 0;
}

static int64_t expert_biases(const struct llm_spec *llm)
{
    return llm->expert_bias ? (ffn_matrices(llm) - 1) * llm->expert_ffn + llm->hidden : 0;
}

/* Everything outside the layers but the vocabulary matrices. */
static int64_t outer_vectors(const struct llm_spec *llm)
{
    int64_t n = norm_parameters(llm) + llm->position_embeddings * llm->hidden;
    if (llm->embedding_norm) n += norm_parameters(llm);
    if (llm->head_bias) n += llm->vocab;
    return n;
}

static int64_t count_parameters(const struct llm_spec *llm, int64_t experts)
{
    const int64_t biases = (llm->layers - llm->dense_layers) * (router_biases(llm) + experts * expert_biases(llm));
    return attention_weights(llm) + llround(layers_vectors(llm, (double)llm->layers)) + ffn_weights(llm, experts) +
           biases + (llm->tied_embeddings ? 1 : 2) * llm->vocab * llm->hidden + outer_vectors(llm);
}

int64_t llm_parameters(const struct llm_spec *llm)
{
    return count_parameters(llm, llm->experts);
}

int64_t llm_active_parameters(const struct llm_spec *llm)
{
    return count_parameters(llm, llm->experts_per_token);
}

double llm_weight_bytes(const struct llm_spec *llm)
{
    return llm_shard(llm, 1, 1).weight_bytes;
}

/* Of the matrices of copies of experts in `layers` layers, each expert_ffn wide. */
static double copies_bytes(const struct llm_spec *llm, int64_t copies, int64_t layers, double expert_ffn)
{
    const double row = (double)(ffn_matrices(llm) * llm->hidden);
    return (double)(layers * copies) * row * expert_ffn * part_bytes(llm, LLM_PART_EXPERTS);
}

double llm_copies_bytes(const struct llm_spec *llm, int64_t copies)
{
    return copies_bytes(llm, copies, llm->layers - llm->dense_layers, (double)llm->expert_ffn);
}

double llm_kv_bytes_per_token(const struct llm_spec *llm)
{
    return llm_shard(llm, 1, 1).kv_bytes_per_token;
}

/* Numbers of keys and values that all query heads of a layer attend over, for each token. */
static int64_t attended_width(const struct llm_spec *llm)
{
    return llm->q_heads * (llm_key_dim(llm) + llm_value_dim(llm));
}

double llm_flop_per_token(const struct llm_spec *llm, int64_t context_tokens)
{
    const int64_t weights = attention_weights(llm) + ffn_weights(llm, llm->experts_per_token);
    const double seen = llm_seen_tokens(llm), context = (double)context_tokens;
    const int64_t attending = llm->layers - llm->linear_layers;
    const bool is_cut = seen > 0.0 && seen < context;
    const double visible = llm->chunked && is_cut ? fmod(context - 1.0, seen) + 1.0 : seen;
    const struct llm_spec windowed = llm_windowed(llm);
    const int64_t cut_layers = llm->index_tokens > 0 ? attending : window_layers(llm);
    const double scores = (double)(llm->index_layers * llm->index_heads * (llm->index_dim + 1)) * context;
    const double states = (double)(llm->linear_layers * llm->linear_key_dim * llm_linear_values(llm));
    return 2.0 * (double)weights + llm_head_flop(llm) +
           2.0 * (double)((attending - cut_layers) * attended_width(llm)) * context +
           2.0 * (double)(cut_layers * attended_width(&windowed)) * (is_cut ? visible : context) + 2.0 * scores +
           LINEAR_FLOP * states;
}

double llm_head_flop(const struct llm_spec *llm)
{
    return 2.0 * (double)(llm->vocab * llm->hidden);
}

/* Weights of all layers by part, but for experts and routers. */
static void layer_weights(const struct llm_spec *llm, double weights[LLM_PART_EXPERTS])
{
    const int64_t row = ffn_matrices(llm) * llm->hidden;
    weights[LLM_PART_ATTENTION] = all_inward_weights(llm);
    weights[LLM_PART_OUT] = all_out_weights(llm);
    weights[LLM_PART_DENSE] = (double)(llm->dense_layers * row * llm->dense_ffn);
    weights[LLM_PART_SHARED] = 0.0;
    weights[llm_ffn_part(llm)] += (double)((llm->layers - llm->dense_layers) * row * llm->ffn);
}

struct llm_reads llm_reads(const struct llm_spec *llm)
{
    const double sparse = (double)(llm->layers - llm->dense_layers), wide = number_format_bytes(llm->compute);
    const double head_bytes = part_bytes(llm, LLM_PART_HEAD), head = (double)(llm->vocab * llm->hidden);
    struct llm_reads reads = {
        .sparse_layers = sparse,
        .experts = (double)llm->experts,
        .missed_frac = llm->experts > 0 ? 1.0 - (double)llm->experts_per_token / (double)llm->experts : 1.0,
        .expert_bytes = (double)expert_weights(llm) * part_bytes(llm, LLM_PART_EXPERTS),
        .plain_bytes = (sparse * (double)router_weights(llm) + wide_weights(llm, (double)llm->layers, 1.0)) * wide +
                       head * head_bytes,
        .widened_layer_bytes = head_bytes < wide ? head * wide : 0.0,
        .widened_expert_bytes = part_bytes(llm, LLM_PART_EXPERTS) < wide ? (double)expert_weights(llm) * wide : 0.0,
        .groups = 1.0,
    };
    double weights[LLM_PART_EXPERTS];
    layer_weights(llm, weights);
    for (enum llm_part part = 0; part < LLM_PART_EXPERTS; part++) {
        reads.layer_bytes += weights[part] * part_bytes(llm, part);
        if (part_bytes(llm, part) < wide) reads.widened_layer_bytes += weights[part] * wide;
    }
    return reads;
}

double llm_read_bytes(const struct llm_spec *llm, int64_t tokens)
{
    const struct llm_reads reads = llm_reads(llm);
    return llm_reads_bytes(&reads, tokens, 1);
}

double llm_window_pairs(double tokens, double context_tokens, double window_tokens)
{
    const double room = window_tokens > context_tokens ? window_tokens - context_tokens : 0.0;
    const double growing = room < tokens ? room : tokens;
    return growing * growing + 2.0 * growing * context_tokens + 2.0 * (tokens - growing) * window_tokens;
}

double llm_chunk_pairs(double tokens, double context_tokens, double chunk_tokens)
{
    const double held = fmod(context_tokens, chunk_tokens), room = chunk_tokens - held;
    const double first = tokens < room ? tokens : room, rest = tokens - first;
    const double last = fmod(rest, chunk_tokens);
    return first * first + 2.0 * first * held + (rest - last) * chunk_tokens + last * last;
}

/* Bytes of the vocabulary matrices on one GPU. Of a pipeline the last stage holds the head, the first the embedding:
 * every stage counts the larger of the two. */
static double shard_vocab_bytes(const struct llm_spec *llm, double vocab, int64_t pipeline_parallel)
{
    const double head = part_bytes(llm, LLM_PART_HEAD);
    const double embedding = llm->tied_embeddings ? 0.0 : number_format_bytes(llm->compute);
    const double bytes = pipeline_parallel == 1 ? head + embedding : head > embedding ? head : embedding;
    return vocab * (double)llm->hidden * bytes;
}

double llm_latent_bytes(const struct llm_spec *llm)
{
    const double latent = (double)llm->kv_latent, rotary = (double)llm->rotary_dim, group = 128.0;
    const double wide_bytes = number_format_bytes(llm->compute), bytes = number_format_bytes(llm->kv);
    if (llm->index_tokens == 0 || bytes >= wide_bytes) return (latent + rotary) * bytes;
    return latent * bytes + latent / group * number_format_bytes(FORMAT_FP32) + rotary * wide_bytes;
}

/* Bytes of keys and values, or of the latent vector, of a token in one layer. */
static double layer_kv_bytes(const struct llm_spec *llm, double kv_heads)
{
    const double heads = kv_heads * (double)(llm_key_dim(llm) + llm_value_dim(llm));
    return llm->kv_latent > 0 ? llm_latent_bytes(llm) : heads * number_format_bytes(llm->kv);
}

/* Heads of keys and values on each of so many GPUs. */
static double split_kv_heads(const struct llm_spec *llm, int64_t gpus)
{
    return llm->kv_heads < gpus ? 1.0 : (double)llm->kv_heads / (double)gpus;
}

struct llm_shard llm_shard(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel)
{
    return llm_data_shard(llm, tensor_parallel, pipeline_parallel, 1);
}

struct llm_shard llm_data_shard(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel,
                                int64_t data_parallel)
{
    const int64_t group = tensor_parallel / data_parallel;
    const int64_t layers = (llm->layers + pipeline_parallel - 1) / pipeline_parallel;
    const int64_t with_experts = llm->layers - llm->dense_layers;
    const double tp = (double)group;
    struct llm_shard shard = {
        .layers = layers,
        .dense_layers = llm->alternating_dense ? layers / 2 : layers > with_experts ? layers - with_experts : 0,
        .q_heads = (double)llm->q_heads / tp,
        .kv_heads = split_kv_heads(llm, group),
        .ffn = (double)llm->ffn / tp,
        .expert_ffn = (double)llm->expert_ffn / (double)tensor_parallel,
        .dense_ffn = (double)llm->dense_ffn / tp,
        .vocab = (double)llm->vocab / tp,
    };
    const double dense = (double)shard.dense_layers, sparse = (double)(layers - shard.dense_layers);
    const double experts = (double)llm->experts * shard.expert_ffn * part_bytes(llm, LLM_PART_EXPERTS);
    const double ffn_bytes = (double)(ffn_matrices(llm) * llm->hidden) *
                             (dense * shard.dense_ffn * part_bytes(llm, LLM_PART_DENSE) +
                              sparse * (shard.ffn * part_bytes(llm, llm_ffn_part(llm)) + experts));
    const double biases = (double)router_biases(llm) +
                          (double)(llm->experts * expert_biases(llm)) / (double)tensor_parallel;
    const double linear = (double)layers * llm_linear_frac(llm), attending = (double)layers - linear;
    const double indexers = (double)layers * (double)llm->index_layers / (double)llm->layers;
    const struct llm_spec windowed = llm_windowed(llm);
    shard.window_q_heads = (double)windowed.q_heads / tp;
    shard.window_kv_heads = split_kv_heads(&windowed, group);
    const double inward = (double)latent_weights(llm) +
                          mean_of(llm, head_weights(llm, shard.q_heads, shard.kv_heads),
                                  head_weights(&windowed, shard.window_q_heads, shard.window_kv_heads));
    const double outward = mean_of(llm, out_weights(llm, shard.q_heads), out_weights(&windowed, shard.window_q_heads));
    const double attention_bytes = (attending * inward + indexers * (double)index_weights(llm) +
                                    linear / tp * linear_inward_weights(llm)) *
                                       part_bytes(llm, LLM_PART_ATTENTION) +
                                   (attending * outward + linear / tp * linear_out_weights(llm)) *
                                       part_bytes(llm, LLM_PART_OUT);
    const double vectors = layers_vectors(llm, (double)layers) + sparse * ((double)router_weights(llm) + biases) +
                           wide_weights(llm, (double)layers, tp) + (double)outer_vectors(llm);
    shard.weight_bytes = attention_bytes + ffn_bytes + vectors * number_format_bytes(llm->compute) +
                         shard_vocab_bytes(llm, shard.vocab, pipeline_parallel);
    shard.linear_layers = linear;
    shard.index_layers = indexers;
    shard.kv_bytes_per_token = attending * mean_of(llm, layer_kv_bytes(llm, shard.kv_heads),
                                                   layer_kv_bytes(&windowed, shard.window_kv_heads)) +
                               indexers * llm_index_key_bytes(llm);
    if (llm->full_layers > 0)
        shard.window_kv_bytes_per_token = attending * llm_window_frac(llm) *
                                          layer_kv_bytes(&windowed, shard.window_kv_heads);
    return shard;
}

struct llm_spec llm_further_layers(const struct llm_spec *llm, int64_t layers)
{
    struct llm_spec further = *llm;
    further.layers = layers;
    further.dense_layers = further.dense_ffn = further.full_layers = further.sliding_window = 0;
    further.chunked = further.alternating_dense = false;
    further.window_q_heads = further.window_kv_heads = further.window_head_dim = further.window_value_dim = 0;
    further.linear_layers = further.linear_key_heads = further.linear_value_heads = 0;
    further.linear_key_dim = further.linear_value_dim = further.linear_conv = 0;
    if (further.index_layers > 0) further.index_layers = layers;
    return further;
}

struct llm_shard llm_mtp_shard(const struct llm_spec *llm, int64_t tensor_parallel, int64_t data_parallel)
{
    const struct llm_spec layers = llm_further_layers(llm, llm->mtp_layers);
    struct llm_shard shard = llm_data_shard(&layers, tensor_parallel, 1, data_parallel);
    const double own = (double)(llm->mtp_layers * (2 * llm->hidden * llm->hidden + 3 * norm_parameters(llm)));
    shard.weight_bytes += (own - (double)outer_vectors(llm)) * number_format_bytes(llm->compute) -
                          shard_vocab_bytes(llm, shard.vocab, 1);
    return shard;
}

/* --- KV capacity --- */

/* Numbers per token, beside two hidden states, at the widest point of a layer. */
static double widest_numbers(const struct llm_spec *llm, const struct llm_shard *shard)
{
    const double passes = llm->gated_ffn ? 3.0 : 2.0;
    const double sparse = passes * (shard->ffn + (double)llm->experts_per_token * shard->expert_ffn);
    const double dense = passes * shard->dense_ffn;
    const struct llm_spec windowed = llm_windowed(llm);
    const double full = (shard->q_heads + shard->kv_heads) * (double)(llm_key_dim(llm) + llm_value_dim(llm));
    const double window = (shard->window_q_heads + shard->window_kv_heads) *
                          (double)(llm_key_dim(&windowed) + llm_value_dim(&windowed));
    return fmax(fmax(full, llm->sliding_window > 0 ? window : 0.0), fmax(sparse, dense));
}

static double activation_bytes(const struct llm_spec *llm, const struct llm_shard *shard,
                               const struct kv_params *params)
{
    const double number_bytes = number_format_bytes(llm->compute);
    const double token_numbers = 2.0 * (double)llm->hidden + widest_numbers(llm, shard);
    const double logit_bytes = (double)llm->vocab * (number_bytes + 2.0 * number_format_bytes(FORMAT_FP32));
    return (double)params->batch_tokens * token_numbers * number_bytes + (double)params->batch_sequences * logit_bytes;
}

double llm_window_share(const struct llm_spec *llm, int64_t tensor_parallel)
{
    const struct llm_shard shard = llm_shard(llm, tensor_parallel, 1);
    return shard.window_kv_bytes_per_token / (shard.kv_bytes_per_token - shard.window_kv_bytes_per_token);
}

/* Blocks of 1, 2 ... `tokens` tokens, added up. */
static int64_t added_blocks(int64_t tokens, int64_t block_tokens)
{
    const int64_t whole = tokens / block_tokens, rest = tokens - whole * block_tokens;
    return block_tokens * whole * (whole + 1) / 2 + rest * (whole + 1);
}

int64_t llm_window_blocks(const struct llm_spec *llm, double share, int64_t block_tokens, int64_t first_tokens,
                          int64_t last_tokens)
{
    if (share <= 0.0) return 0;
    const int64_t most = (llm->sliding_window - 1 + block_tokens - 1) / block_tokens + 1;
    const int64_t full = most * block_tokens; /* tokens from which on no block is added */
    const int64_t before = first_tokens - 1 < full ? first_tokens - 1 : full;
    const int64_t growing = last_tokens < full ? last_tokens : full;
    const int64_t steps = last_tokens - first_tokens + 1, filled = steps - (growing - before);
    const int64_t sum = added_blocks(growing, block_tokens) - added_blocks(before, block_tokens) + filled * most;
    const double rounding = 1e-6; /* of a share that is whole */
    return (int64_t)ceil(share * (double)sum / (double)steps - rounding);
}

struct kv_capacity kv_capacity(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t tensor_parallel,
                               int64_t pipeline_parallel, const struct kv_params *params)
{
    const int64_t groups = llm_groups(params->data_parallel);
    const struct llm_shard shard = llm_data_shard(llm, tensor_parallel, pipeline_parallel, groups);
    struct kv_capacity capacity = {
        .usable_bytes = gpu->memory_bytes * params->usable_frac,
        .weight_bytes = shard.weight_bytes + copies_bytes(llm, params->redundant_experts, shard.layers - shard.dense_layers,
                                                            shard.expert_ffn),
        .activation_bytes = activation_bytes(llm, &shard, params),
        .reserve_bytes = params->reserve_bytes,
        .state_bytes = (double)params->batch_sequences * llm_state_bytes(llm, tensor_parallel / groups) *
                       (double)shard.layers / (double)llm->layers,
        .block_bytes = (shard.kv_bytes_per_token - (params->frees_windows ? shard.window_kv_bytes_per_token : 0.0)) *
                       (double)params->block_tokens,
    };
    const double left_bytes = capacity.usable_bytes - capacity.weight_bytes - capacity.activation_bytes -
                              capacity.reserve_bytes - capacity.state_bytes;
    if (left_bytes > 0.0) capacity.blocks = (int64_t)floor(left_bytes / capacity.block_bytes);
    return capacity;
}
