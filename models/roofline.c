#include "models/roofline.h"

#include "models/piece.h"

#include <math.h>

/* Reads and writes per token of the element-wise operators of a layer, in numbers: two norms and two residual sums
 * over the hidden state, rotary embedding of queries and keys, activation over the feed-forward width, and with
 * experts the sum of their results. */
static double elementwise_numbers(const struct llm_spec *llm, const struct llm_shard *shard)
{
    const double chosen = (double)llm->experts_per_token, activated = shard->ffn + chosen * shard->expert_ffn;
    const double rotated = (shard->q_heads + shard->kv_heads) * (double)llm->head_dim;
    return (2.0 * (2.0 + 3.0) + 2.0 * chosen) * (double)llm->hidden + 2.0 * rotated +
           (llm->gated_ffn ? 3.0 : 2.0) * activated;
}

/* The scales that turn operations and bytes into seconds. */
struct roofline_scale {
    double flop_s, byte_s, weight_bytes, number_bytes;
};

/* m x k times k x n; `copies` such weight matrices, of which every row meets `share`. */
static struct roofline_product product(const struct roofline_scale *scale, double k, double n, double copies,
                                       double share)
{
    return (struct roofline_product){
        .flop_s = 2.0 * k * n * share * scale->flop_s,
        .weight_s = k * n * copies * scale->weight_bytes * scale->byte_s,
        .row_s = (k + n) * share * scale->number_bytes * scale->byte_s,
    };
}

static void init_projections(struct roofline *roofline, const struct llm_spec *llm, const struct llm_shard *shard,
                             struct roofline_scale scale)
{
    const double hidden = (double)llm->hidden, head_dim = (double)llm->head_dim, gate = llm->gated_ffn ? 2.0 : 1.0;
    struct roofline_product *products = roofline->products;
    scale.weight_bytes = number_format_bytes(llm_format(llm, LLM_PART_ATTENTION));
    products[ROOFLINE_QKV] = product(&scale, hidden, (shard->q_heads + 2.0 * shard->kv_heads) * head_dim, 1.0, 1.0);
    scale.weight_bytes = number_format_bytes(llm_format(llm, LLM_PART_OUT));
    products[ROOFLINE_OUT] = product(&scale, shard->q_heads * head_dim, hidden, 1.0, 1.0);
    scale.weight_bytes = number_format_bytes(llm_format(llm, llm_ffn_part(llm)));
    products[ROOFLINE_UP] = product(&scale, hidden, gate * shard->ffn, 1.0, 1.0);
    products[ROOFLINE_DOWN] = product(&scale, shard->ffn, hidden, 1.0, 1.0);
    if (shard->ffn <= 0.0) products[ROOFLINE_UP] = products[ROOFLINE_DOWN] = (struct roofline_product){0.0, 0.0, 0.0};
    const double experts = (double)llm->experts, chosen = (double)llm->experts_per_token;
    scale.weight_bytes = number_format_bytes(llm_format(llm, LLM_PART_EXPERTS));
    roofline->expert_up = product(&scale, hidden, gate * shard->expert_ffn, experts, chosen);
    roofline->expert_down = product(&scale, shard->expert_ffn, hidden, experts, chosen);
    scale.weight_bytes = scale.number_bytes;
    roofline->router = product(&scale, hidden, experts, 1.0, 1.0);
    scale.weight_bytes = number_format_bytes(llm_format(llm, LLM_PART_HEAD));
    roofline->head = product(&scale, hidden, shard->vocab, 1.0, 1.0);
}

/* 1 - k/E to the power 2^i: a token misses an expert unless it is one of its k of E, tokens choosing independently. */
static void init_experts(struct roofline *roofline, const struct llm_spec *llm)
{
    roofline->has_experts = llm->experts > 0;
    if (!roofline->has_experts) return;
    double missed = 1.0 - (double)llm->experts_per_token / (double)llm->experts;
    for (int i = 0; i < ROOFLINE_TOKEN_BITS; i++, missed *= missed) roofline->expert_missed[i] = missed;
}

static void init_attention(struct roofline *roofline, const struct gpu_spec *gpu, const struct llm_spec *llm,
                           const struct llm_shard *shard, const struct roofline_params *params)
{
    const double flop_s = 1.0 / (gpu_peak_flop_per_s(gpu, llm->compute) * params->attention_flop_frac);
    const double byte_s = 1.0 / (gpu->memory_bytes_per_s * params->attention_bandwidth_frac);
    const double head_dim = (double)llm->head_dim;
    roofline->pair_flop_s = 2.0 * shard->q_heads * head_dim * flop_s;
    roofline->context_flop_s = 4.0 * shard->q_heads * head_dim * flop_s;
    roofline->context_byte_s = 2.0 * shard->kv_heads * head_dim * number_format_bytes(llm->kv) * byte_s;
    roofline->query_byte_s = 2.0 * shard->q_heads * head_dim * number_format_bytes(llm->compute) * byte_s;
    roofline->window_tokens = (double)llm->sliding_window;
    roofline->window_frac = llm_window_frac(llm);
}

/* Of the ring through all GPUs of a group. It enters and leaves each node once, over all adapters of the node. */
static double ring_bytes_per_s(const struct gpu_spec *gpu, int64_t tensor_parallel, const struct gpu_nodes *nodes)
{
    const int64_t per_node = nodes->gpus_per_node;
    if (per_node == 0 || tensor_parallel <= per_node) return gpu_link_bytes_per_s(gpu, tensor_parallel);
    const double network = (double)per_node * nodes->network_bytes_per_s;
    return per_node > 1 ? fmin(gpu_link_bytes_per_s(gpu, per_node), network) : network;
}

/* Ring all-reduce among n GPUs (Patarasuk and Yuan 2009): 2 (n-1) steps, each moving 1/n of the message. */
static void init_collectives(struct roofline *roofline, const struct gpu_spec *gpu, const struct llm_spec *llm,
                             int64_t tensor_parallel, int64_t pipeline_parallel, const struct gpu_nodes *nodes,
                             const struct roofline_params *params)
{
    const double token_bytes = (double)llm->hidden * number_format_bytes(llm->compute);
    const double n = (double)tensor_parallel, steps = 2.0 * (n - 1.0);
    if (tensor_parallel > 1) {
        const double bytes_per_s = ring_bytes_per_s(gpu, tensor_parallel, nodes) * params->collective_bandwidth_frac;
        const double per_layer = llm->parallel_block ? 1.0 : 2.0;
        roofline->layer_s += per_layer * (params->collective_s + steps * params->collective_hop_s);
        roofline->token_s += per_layer * steps / n * token_bytes / bytes_per_s;
    }
    if (pipeline_parallel > 1) {
        const int64_t gpus = tensor_parallel * pipeline_parallel;
        const bool far = nodes->gpus_per_node > 0 && gpus > nodes->gpus_per_node;
        const double link = far ? nodes->network_bytes_per_s : gpu_pair_bytes_per_s(gpu, gpus);
        roofline->send_s = params->collective_s + params->collective_hop_s;
        roofline->send_token_s = token_bytes / n / (link * params->collective_bandwidth_frac);
    }
}

void roofline_init(struct roofline *roofline, const struct gpu_spec *gpu, const struct llm_spec *llm,
                   int64_t tensor_parallel, int64_t pipeline_parallel, const struct gpu_nodes *nodes,
                   const struct roofline_params *params)
{
    const struct llm_shard shard = llm_shard(llm, tensor_parallel, pipeline_parallel);
    const double number_bytes = number_format_bytes(llm->compute);
    const struct roofline_scale scale = {
        .flop_s = 1.0 / (gpu_peak_flop_per_s(gpu, llm->compute) * params->projection_flop_frac),
        .byte_s = 1.0 / (gpu->memory_bytes_per_s * params->projection_bandwidth_frac),
        .number_bytes = number_bytes,
    };
    const double elementwise_bytes_per_s = gpu->memory_bytes_per_s * params->elementwise_bandwidth_frac;
    *roofline = (struct roofline){
        .layers = (double)shard.layers,
        .token_s = elementwise_numbers(llm, &shard) * number_bytes / elementwise_bytes_per_s,
        .layer_s = params->layer_s,
        .host_s = (double)shard.layers * params->host_layer_s,
        .iteration_s = params->iteration_s,
        .sequence_s = params->sequence_s,
    };
    init_projections(roofline, llm, &shard, scale);
    init_experts(roofline, llm);
    init_attention(roofline, gpu, llm, &shard, params);
    init_collectives(roofline, gpu, llm, tensor_parallel, pipeline_parallel, nodes, params);
}

/* Seconds of a product over `rows` rows that touches a share of its weights. */
static double product_s(const struct roofline_product *product, double rows, double touched)
{
    const double compute_s = rows * product->flop_s, move_s = touched * product->weight_s + rows * product->row_s;
    return compute_s > move_s ? compute_s : move_s;
}

/* Expected share of the experts that at least one of the tokens chooses: 1 - (1 - k/E)^tokens. */
static double touched_experts(const struct roofline *roofline, int64_t tokens)
{
    double missed = 1.0;
    if (tokens >> ROOFLINE_TOKEN_BITS) return 1.0;
    for (const double *power = roofline->expert_missed; tokens > 0; tokens >>= 1, power++)
        if (tokens & 1) missed *= *power;
    return 1.0 - missed;
}

static double projections_s(const struct roofline *roofline, int64_t tokens)
{
    const double rows = (double)tokens;
    double seconds = 0.0;
    for (int i = 0; i < ROOFLINE_PRODUCTS; i++) seconds += product_s(&roofline->products[i], rows, 1.0);
    if (!roofline->has_experts) return seconds;
    const double touched = touched_experts(roofline, tokens);
    return seconds + product_s(&roofline->router, rows, 1.0) + product_s(&roofline->expert_up, rows, touched) +
           product_s(&roofline->expert_down, rows, touched);
}

/* Attention of the prompts, in one layer. With a window the prompts of a batch count as alike. */
static double prefill_layer_s(const struct roofline *roofline, const struct iteration_work *work, double window_tokens)
{
    const double tokens = (double)work->prefill_tokens;
    double pairs = work->prefill_pairs, keys = tokens + (double)work->prefill_context_tokens;
    if (window_tokens > 0.0) {
        const double prompts = (double)work->prefill_sequences, n = tokens / prompts;
        const double p = (double)work->prefill_context_tokens / prompts, seen = n + window_tokens;
        const double windowed = prompts * llm_window_pairs(n, p, window_tokens);
        if (windowed < pairs) pairs = windowed;
        if (prompts * seen < keys) keys = prompts * seen;
    }
    const double compute_s = pairs * roofline->pair_flop_s;
    const double move_s = keys * roofline->context_byte_s + tokens * roofline->query_byte_s;
    return compute_s > move_s ? compute_s : move_s;
}

/* The mean layer. */
static double prefill_attention_s(const struct roofline *roofline, const struct iteration_work *work)
{
    const double windowed = roofline->window_frac;
    double seconds = 0.0;
    if (work->prefill_tokens == 0) return 0.0;
    if (windowed < 1.0) seconds += (1.0 - windowed) * prefill_layer_s(roofline, work, 0.0);
    if (windowed > 0.0) seconds += windowed * prefill_layer_s(roofline, work, roofline->window_tokens);
    return seconds;
}

/* Attention of the decoding sequences, in one layer, along the run. */
static struct piece decode_layer(const struct roofline *roofline, const struct iteration_work *work,
                                 double window_tokens)
{
    const double sequences = (double)work->decode_sequences;
    struct piece context = piece_line((double)work->decode_context_tokens, sequences);
    if (window_tokens > 0.0) context = piece_min(context, piece_line(sequences * window_tokens, 0.0));
    const double queries = (double)(1 + work->decode_drafts);
    const struct piece compute = piece_scale(context, queries * roofline->context_flop_s);
    const struct piece move = piece_add(piece_scale(context, roofline->context_byte_s),
                                        piece_line(queries * sequences * roofline->query_byte_s, 0.0));
    return piece_max(compute, move);
}

/* The mean layer. */
static struct piece decode_attention(const struct roofline *roofline, const struct iteration_work *work)
{
    const double windowed = roofline->window_frac;
    if (windowed == 0.0) return decode_layer(roofline, work, 0.0);
    const struct piece cut = decode_layer(roofline, work, roofline->window_tokens);
    if (windowed == 1.0) return cut;
    return piece_add(piece_scale(decode_layer(roofline, work, 0.0), 1.0 - windowed), piece_scale(cut, windowed));
}

void roofline_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct roofline *roofline = model;
    const int64_t tokens = work->prefill_tokens + iteration_decode_tokens(work);
    const double sequences = (double)(work->prefill_sequences + work->decode_sequences);
    const double logits = (double)(work->prefill_sequences + iteration_decode_tokens(work));
    const double steady_s = projections_s(roofline, tokens) + prefill_attention_s(roofline, work) +
                            (double)tokens * roofline->token_s + roofline->layer_s;
    const double outside_s = product_s(&roofline->head, logits, 1.0) + roofline->send_s +
                             (double)tokens * roofline->send_token_s;
    struct piece gpu = piece_scale(decode_attention(roofline, work), roofline->layers);
    gpu = piece_add(gpu, piece_line(roofline->layers * steady_s + outside_s, 0.0));
    const struct piece busy = piece_max(gpu, piece_line(roofline->host_s, 0.0));
    *cost = (struct iteration_cost){
        .first_s = busy.now + roofline->iteration_s + sequences * roofline->sequence_s,
        .slope_s = busy.slope,
        .until = work->prefill_tokens > 0 || work->decode_drafts > 0 ? 1 : busy.until,
        .extrapolated_frac = 0.0,
    };
}
