#include "models/operators/layer.h"

#include "models/operators/weight_kernels.h"

#include <math.h>

/* The list being filled, and values that its calls share. */
struct listing {
    const struct llm_spec *llm;
    const struct llm_split *split;
    const struct gpu_spec *gpu;
    const struct iteration_work *work; /* of the fullest group */
    struct llm_shard shard;
    double groups, group_gpus;    /* with sequences of their own; GPUs of each, which are all GPUs where there is one */
    double all_tokens;            /* of all groups */
    double layers, dense, sparse; /* of the stage: all, those without experts where others have some, the rest */
    double tokens, logits;        /* of that group's batch; rows of the head */
    double own_tokens;            /* that norms and residual sums work on: a share with sequence parallelism */
    double number_bytes;          /* of activations */
    struct kernel_use *uses;
    size_t n;
};

const char *llm_operator_name(enum llm_operator op)
{
    static const char *const names[] = {
#define LLM_OPERATOR_NAME(id, name) name,
        LLM_OPERATORS(LLM_OPERATOR_NAME)
#undef LLM_OPERATOR_NAME
    };
    return names[op];
}

/* n parts of `of` things, dealt to the groups: the part of all those of the fullest. */
static int64_t part_of(int64_t all, int64_t most, int64_t of)
{
    return of > 0 ? (all / of) * most + (all % of) * most / of : 0;
}

struct iteration_work llm_group_work(const struct llm_split *split, const struct iteration_work *work)
{
    const int64_t groups = llm_groups(split->data), prompts = work->prefill_sequences, decodes = work->decode_sequences;
    struct iteration_work own = *work;
    if (groups == 1) return own;
    own.prefill_sequences = (prompts + groups - 1) / groups;
    own.prefill_tokens = part_of(work->prefill_tokens, own.prefill_sequences, prompts);
    own.prefill_context_tokens = part_of(work->prefill_context_tokens, own.prefill_sequences, prompts);
    if (prompts > 0) own.prefill_pairs *= (double)own.prefill_sequences / (double)prompts;
    own.decode_sequences = (decodes + groups - 1) / groups;
    own.decode_context_tokens = part_of(work->decode_context_tokens, own.decode_sequences, decodes);
    return own;
}

/* Nodes that the GPUs with experts lie on. */
static int64_t nodes_of(const struct llm_split *split)
{
    return (split->tensor + split->gpus_per_node - 1) / split->gpus_per_node;
}

const char *llm_split_problem(const struct llm_spec *llm, const struct llm_split *split)
{
    const char *problem = llm_data_problem(llm, split->tensor, split->pipeline, llm_groups(split->data));
    if (problem) return problem;
    if (split->expert < 1 || split->gpus_per_node < 1) return "parallelism and the GPUs of a node start at 1";
    if (split->expert > 1 && llm->experts == 0) return "it has no experts, so leave out expert parallelism";
    if (split->tensor % split->expert != 0) return "tensor parallelism is not a multiple of expert parallelism";
    if (llm_groups(split->data) > 1 && split->sequence)
        return "sequence parallelism and data parallelism exclude each other";
    if (llm->expert_ffn % (split->tensor / split->expert) != 0)
        return "the width of an expert is not a multiple of the GPUs that share it";
    if (split->dispatch != DISPATCH_ALL_TO_ALL &&
        !(split->expert == split->tensor && split->expert > 1 && (split->sequence || llm_groups(split->data) > 1)))
        return "DeepEP's kernels need data or sequence parallelism, and as much expert as tensor parallelism";
    if ((llm->experts + split->redundant_experts) % split->expert != 0)
        return "the number of experts, copies included, is not a multiple of expert parallelism";
    if (split->redundant_experts > 0 && split->expert == 1) return "redundant experts need expert parallelism";
    const int64_t nodes = nodes_of(split), allowed = split->dispatch_nodes;
    if (split->dispatch == DISPATCH_NORMAL && allowed > 0 && allowed < nodes &&
        (llm->experts + split->redundant_experts) * allowed < llm->experts_per_token * nodes)
        return "the nodes that a token may choose ('dispatch_nodes') hold fewer experts than it chooses";
    return NULL;
}

static void add(struct listing *list, enum llm_operator op, enum kernel_driver driver, double count,
                struct kernel_call call)
{
    if (count > 0.0) list->uses[list->n++] = (struct kernel_use){op, driver, call, false, count};
}

/* Query-key pairs within a window, for equal prompts. */
static double seen_pairs(const struct iteration_work *work, double window_tokens)
{
    const double prompts = (double)work->prefill_sequences, tokens = (double)work->prefill_tokens;
    if (window_tokens <= 0.0) return work->prefill_pairs;
    const double past = (double)work->prefill_context_tokens;
    return fmin(work->prefill_pairs, prompts * llm_window_pairs(tokens / prompts, past / prompts, window_tokens));
}

void prefill_shape_rebatch(struct prefill_shape *shape, const struct iteration_work *work, bool mixes)
{
    shape->sequences = (double)work->prefill_sequences;
    shape->tokens = (double)work->prefill_tokens;
    shape->past = (double)work->prefill_context_tokens;
    if (mixes) {
        shape->decodes = (double)work->decode_sequences;
        shape->decode_drafts = (double)work->decode_drafts;
        shape->decode_longest = (double)work->decode_longest_tokens;
        shape->decode_context = shape->decodes > 0.0 ? (double)work->decode_context_tokens / shape->decodes : 0.0;
    }
    shape->pairs = seen_pairs(work, shape->window);
}

static void rebatch_prefill(struct kernel_call *call, const struct iteration_work *work, bool mixes)
{
    if (call->class == KERNEL_PREFILL_ATTENTION || call->class == KERNEL_LATENT_PREFILL)
        prefill_shape_rebatch(&call->shape.prefill, work, mixes);
    else
        call->shape.gemm.m = (double)work->prefill_tokens + (double)work->prefill_context_tokens;
}

static void rebatch_decode(struct kernel_call *call, const struct iteration_work *work)
{
    const double sequences = (double)work->decode_sequences;
    if (call->class != KERNEL_DECODE_ATTENTION && call->class != KERNEL_LATENT_DECODE) {
        call->shape.gemm.m = (double)iteration_decode_tokens(work);
        return;
    }
    call->shape.decode.sequences = sequences;
    call->shape.decode.drafts = (double)work->decode_drafts;
    call->shape.decode.context = (double)work->decode_context_tokens / sequences;
    call->shape.decode.longest = (double)work->decode_longest_tokens;
}

void kernel_use_rebatch(struct kernel_use *use, const struct iteration_work *work)
{
    if (use->driver == BY_PREFILL) rebatch_prefill(&use->call, work, use->mixes);
    if (use->driver == BY_DECODE) rebatch_decode(&use->call, work);
}

/* Adds a call in so many layers, of attention or for it, for the batch of the list. */
static void add_batched(struct listing *list, enum llm_operator op, enum kernel_driver driver, double layers,
                        bool mixes, struct kernel_call call)
{
    add(list, op, driver, layers, call);
    list->uses[list->n - 1].mixes = mixes;
    kernel_use_rebatch(&list->uses[list->n - 1], list->work);
}

static void add_elementwise(struct listing *list, enum llm_operator op, enum kernel_class class, double count,
                            double tokens, double width)
{
    const struct elementwise_shape shape = {tokens, width, list->number_bytes};
    add(list, op, BY_TOKENS, count, (struct kernel_call){.class = class, .shape.elementwise = shape});
}

static struct weight_kernels kernels_for(const struct listing *list, enum number_format weights)
{
    return weight_kernels(list->gpu, weights, list->llm->compute);
}

/* A product with weights of a part. */
static struct kernel_call part_product(const struct listing *list, enum llm_part part, double m, double n, double k)
{
    const enum number_format format = llm_format(list->llm, part);
    const struct weight_kernels kernels = kernels_for(list, format);
    return (struct kernel_call){.class = kernels.product, .shape.gemm = {m, n, k, format, kernels.compute}};
}

/* Among so many GPUs side by side. */
static void add_collective_of(struct listing *list, int64_t gpus, enum llm_operator op, enum kernel_class class,
                              enum kernel_driver driver, double count, double bytes)
{
    const struct llm_split *split = list->split;
    if (gpus == 1) return;
    const int64_t nodes = (gpus + split->gpus_per_node - 1) / split->gpus_per_node;
    const int64_t on_node = nodes > 1 ? split->gpus_per_node : gpus;
    struct collective_shape shape = {
        .bytes = bytes,
        .gpus = (double)gpus,
        .nodes = (double)nodes,
        .network_bytes_per_s = split->network_bytes_per_s,
    };
    collective_set_link(&shape, list->gpu, on_node);
    add(list, op, driver, count, (struct kernel_call){.class = class, .shape.collective = shape});
}

/* Among the GPUs of a group. */
static void add_collective(struct listing *list, enum llm_operator op, enum kernel_class class,
                           enum kernel_driver driver, double count, double bytes)
{
    add_collective_of(list, list->split->tensor / llm_groups(list->split->data), op, class, driver, count, bytes);
}

/* Of the tokens of a group. */
static double hidden_bytes(const struct listing *list)
{
    return list->tokens * (double)list->llm->hidden * list->number_bytes;
}

/* From the stage before: each GPU of it sends its share of the hidden state. */
static void add_receive(struct listing *list)
{
    const struct llm_split *split = list->split;
    const int64_t gpus = split->tensor * split->pipeline;
    if (split->pipeline == 1) return;
    const struct collective_shape shape = {
        .bytes = hidden_bytes(list) / list->group_gpus,
        .gpus = 2.0,
        .nodes = gpus > split->gpus_per_node ? 2.0 : 1.0,
        .link_bytes_per_s = gpu_pair_bytes_per_s(list->gpu, gpus),
        .network_bytes_per_s = split->network_bytes_per_s,
        .bridges = (double)gpu_bridges(list->gpu, gpus),
        .host_staged = gpu_host_staged(list->gpu, gpus),
    };
    add(list, OP_SEND, BY_TOKENS, 1.0, (struct kernel_call){.class = KERNEL_SEND, .shape.collective = shape});
}

static void add_embedding(struct listing *list)
{
    const double lookups = list->llm->position_embeddings > 0 ? 2.0 : 1.0;
    if (list->split->pipeline > 1) return;
    add_elementwise(list, OP_EMBEDDING, KERNEL_EMBEDDING, lookups, list->tokens, 2.0 * (double)list->llm->hidden);
}

/* Norms of the layers, after the embedding and before the head. */
static void add_norms(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double outer = llm->embedding_norm && list->split->pipeline == 1 ? 2.0 : 1.0;
    add_elementwise(list, OP_NORM, KERNEL_NORM, list->layers * (double)llm->layer_norms + outer, list->own_tokens,
                    2.0 * (double)llm->hidden);
}

/* A norm in every layer over something else than the hidden state. */
static void add_inner_norm(struct listing *list, double width)
{
    if (width > 0.0) add_elementwise(list, OP_NORM, KERNEL_NORM, list->layers, list->tokens, 2.0 * width);
}

/* Learned positions are added once, all others turn `rotated` numbers of queries and keys in every layer. */
static void add_rotary(struct listing *list, double rotated)
{
    if (list->llm->position_embeddings > 0) return;
    add_elementwise(list, OP_ROTARY, KERNEL_ROTARY, list->layers, list->tokens, 2.0 * rotated);
}

/* A token's cache entry is read in one format and written in another: the mean of both, times twice the numbers. */
static void add_kv_write(struct listing *list, double numbers)
{
    const double number_bytes = 0.5 * (list->number_bytes + number_format_bytes(list->llm->kv));
    const struct elementwise_shape shape = {list->tokens, 2.0 * numbers, number_bytes};
    add(list, OP_KV_WRITE, BY_TOKENS, list->layers,
        (struct kernel_call){.class = KERNEL_KV_WRITE, .shape.elementwise = shape});
}

/* A product of all tokens with weights in every layer: of OP_OUT the output projection's. */
static void add_product(struct listing *list, enum llm_operator op, double n, double k)
{
    const enum llm_part part = op == OP_OUT ? LLM_PART_OUT : LLM_PART_ATTENTION;
    add(list, op, BY_TOKENS, list->layers, part_product(list, part, list->tokens, n, k));
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
        .window = window_tokens,
        .writes_kv = attention_writes_kv(list),
    };
    const struct kernel_call call = {
        .class = llm->kv_latent > 0 ? KERNEL_LATENT_PREFILL : KERNEL_PREFILL_ATTENTION, .shape.prefill = shape};
    const bool may_mix = mixes_attention(list), mixes = may_mix && decodes(list);
    add_batched(list, mixes ? OP_MIXED_ATTENTION : OP_PREFILL_ATTENTION, BY_PREFILL, layers, may_mix, call);
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
        .value_dim = (double)(latent ? llm->kv_latent : llm->head_dim),
        .kv = llm->kv,
        .compute = llm->compute,
        .window = window_tokens,
        .shared_kv = latent,
        .writes_kv = attention_writes_kv(list),
    };
    add_batched(list, OP_DECODE_ATTENTION, BY_DECODE, layers, false,
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

static void add_attention(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double head_dim = (double)llm->head_dim;
    const double q_width = list->shard.q_heads * head_dim, kv_width = list->shard.kv_heads * head_dim;
    add_product(list, OP_QKV, q_width + 2.0 * kv_width, (double)llm->hidden);
    add_inner_norm(list, llm->qk_norm ? q_width : 0.0);
    add_inner_norm(list, llm->qk_norm ? kv_width : 0.0);
    add_rotary(list, q_width + kv_width);
    if (!attention_writes_kv(list)) add_kv_write(list, 2.0 * kv_width);
    const double windowed = list->layers * llm_window_frac(llm);
    if (windowed < list->layers) add_attention_in(list, list->layers - windowed, 0.0);
    if (windowed > 0.0) add_attention_in(list, windowed, (double)llm->sliding_window);
    add_product(list, OP_OUT, (double)llm->hidden, q_width);
}

/* Prompts expand the latent vectors of all their tokens, the earlier ones too. Decoding multiplies the expansion's two
 * halves with queries and results instead (the products of all heads count as one). */
static void add_latent_attention(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double heads = list->shard.q_heads, latent = (double)llm->kv_latent, rotary = (double)llm->rotary_dim;
    const double hidden = (double)llm->hidden, query = (double)llm->query_latent, value_dim = (double)llm->value_dim;
    add_product(list, OP_QKV, query + latent + rotary, hidden);
    add_inner_norm(list, query);
    add_inner_norm(list, latent);
    add_product(list, OP_QKV, heads * (double)llm_key_dim(llm), query > 0.0 ? query : hidden);
    add_rotary(list, (heads + 1.0) * rotary);
    add_kv_write(list, latent + rotary);
    if (list->work->prefill_tokens > 0) {
        const double expanded = heads * ((double)llm->head_dim + value_dim);
        add_batched(list, OP_QKV, BY_PREFILL, list->layers, false,
                    part_product(list, LLM_PART_ATTENTION, 0.0, expanded, latent));
        add_prefill_attention(list, list->layers, (double)llm->sliding_window);
    }
    if (list->work->decode_sequences > 0) {
        add_batched(list, OP_QKV, BY_DECODE, list->layers, false,
                    part_product(list, LLM_PART_ATTENTION, 0.0, heads * latent, (double)llm->head_dim));
        add_decode_attention(list, list->layers, (double)llm->sliding_window);
        add_batched(list, OP_OUT, BY_DECODE, list->layers, false,
                    part_product(list, LLM_PART_ATTENTION, 0.0, heads * value_dim, latent));
    }
    add_product(list, OP_OUT, hidden, heads * value_dim);
}

/* Whether tokens travel to the experts, instead of lying on every GPU. */
static bool dispatches(const struct listing *list)
{
    const bool parted = list->split->sequence || list->groups > 1.0;
    return list->llm->experts > 0 && parted && list->split->expert > 1;
}

static void add_ffn(struct listing *list, enum llm_part part, double layers, double tokens, double width)
{
    const double hidden = (double)list->llm->hidden, wide = list->llm->gated_ffn ? 2.0 * width : width;
    if (width == 0.0) return;
    add(list, OP_UP, BY_TOKENS, layers, part_product(list, part, tokens, wide, hidden));
    add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, layers, tokens, wide + width);
    add(list, OP_DOWN, BY_TOKENS, layers, part_product(list, part, tokens, hidden, width));
}

/* Feed-forward layers for every token, beside experts or not. Each GPU holds them whole if tokens are dispatched. */
static void add_ffns(struct listing *list)
{
    const enum llm_part part = llm_ffn_part(list->llm);
    add_ffn(list, LLM_PART_DENSE, list->dense, list->tokens, list->shard.dense_ffn);
    if (dispatches(list) && list->groups == 1.0)
        add_ffn(list, part, list->sparse, list->own_tokens, (double)list->llm->ffn);
    else
        add_ffn(list, part, list->sparse, list->tokens, list->shard.ffn);
}

/* Experts of a layer, copies included. */
static double expert_slots(const struct listing *list)
{
    return (double)(list->llm->experts + list->split->redundant_experts);
}

/* Tokens that give the experts of a mean GPU as many rows as those of the busiest have. */
static double busiest_tokens(const struct listing *list, double tokens)
{
    return list->split->imbalance > 0.0 && dispatches(list) ? tokens * list->split->imbalance : tokens;
}

/* The same by DeepEP's kernels: tokens in the format that experts compute in, results in that of the hidden state. */
static void add_exchange(struct listing *list, bool combines, enum number_format sent)
{
    static const enum kernel_class classes[][2] = {{KERNEL_DISPATCH, KERNEL_COMBINE},
                                                   {KERNEL_LOW_DISPATCH, KERNEL_LOW_COMBINE}};
    const struct llm_split *split = list->split;
    const bool is_low = split->dispatch == DISPATCH_LOW_LATENCY;
    const int64_t nodes = nodes_of(split);
    const struct exchange_shape shape = {
        .tokens = list->tokens / (split->sequence ? (double)split->tensor : list->group_gpus),
        .hidden = (double)list->llm->hidden,
        .chosen = (double)list->llm->experts_per_token,
        .experts = expert_slots(list),
        .groups = (double)split->dispatch_nodes,
        .gpus = (double)split->tensor,
        .nodes = (double)nodes,
        .sms = (double)split->dispatch_sms,
        .imbalance = split->imbalance,
        .low_latency = is_low,
        .combines = combines,
        .sent = sent,
        .link_bytes_per_s = gpu_link_bytes_per_s(list->gpu, nodes > 1 ? split->gpus_per_node : split->tensor),
        .network_bytes_per_s = split->network_bytes_per_s,
    };
    add(list, combines ? OP_COMBINE : OP_DISPATCH, BY_SENT_TOKENS, list->sparse,
        (struct kernel_call){.class = classes[is_low][combines], .shape.exchange = shape});
}

/* Tokens to the experts and their results back. A token goes once to every group of GPUs that holds one of its
 * experts, and there to each GPU that has a part of it. The GPUs of a group of sequences send its tokens in equal
 * shares, and gather what comes back. */
static void add_dispatch(struct listing *list, enum number_format compute)
{
    if (dispatches(list) && list->split->dispatch != DISPATCH_ALL_TO_ALL) {
        add_exchange(list, false, compute);
        add_exchange(list, true, list->llm->compute);
        if (list->groups > 1.0)
            add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_TOKENS, list->sparse, hidden_bytes(list));
        return;
    }
    const double holders = (double)list->split->expert, parts = (double)list->split->tensor / holders;
    const double met = holders * (1.0 - pow(1.0 - 1.0 / holders, (double)list->llm->experts_per_token));
    const double bytes = hidden_bytes(list) / list->group_gpus * met * parts;
    const double narrowed = number_format_bytes(compute) / list->number_bytes;
    const int64_t all = list->split->tensor;
    if (dispatches(list) && list->groups == 1.0) {
        add_collective_of(list, all, OP_ALL_TO_ALL, KERNEL_ALL_TO_ALL, BY_TOKENS, 2.0 * list->sparse, bytes);
    } else if (dispatches(list)) {
        add_collective_of(list, all, OP_ALL_TO_ALL, KERNEL_ALL_TO_ALL, BY_TOKENS, list->sparse, bytes * narrowed);
        add_collective_of(list, all, OP_ALL_TO_ALL, KERNEL_ALL_TO_ALL, BY_TOKENS, list->sparse, bytes);
        add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_TOKENS, list->sparse, hidden_bytes(list));
    } else if (list->groups > 1.0) {
        const double all_bytes = list->all_tokens * (double)list->llm->hidden * list->number_bytes;
        add_collective_of(list, all, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_ALL_TOKENS, list->sparse, all_bytes);
        add_collective_of(list, all, OP_REDUCE_SCATTER, KERNEL_REDUCE_SCATTER, BY_ALL_TOKENS, list->sparse, all_bytes);
        add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_TOKENS, list->sparse, hidden_bytes(list));
    }
}

/* DeepEP delivers tokens in 8 bits for grouped products. */
static enum kernel_class experts_class(const struct listing *list, enum kernel_class fused)
{
    if (fused != KERNEL_MOE_FP8 || !dispatches(list) || list->split->dispatch == DISPATCH_ALL_TO_ALL) return fused;
    return list->split->dispatch == DISPATCH_LOW_LATENCY ? KERNEL_MOE_FP8_MASKED : KERNEL_MOE_FP8_CONTIGUOUS;
}

static void add_experts(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double groups = (double)list->split->expert;
    if (llm->experts == 0) return;
    const double routed = dispatches(list) ? list->own_tokens : list->tokens;
    const struct gemm_shape router = {routed, (double)llm->experts, (double)llm->hidden, llm->compute, llm->compute};
    add(list, OP_ROUTER, BY_TOKENS, list->sparse, (struct kernel_call){.class = KERNEL_GEMM, .shape.gemm = router});
    const struct weight_kernels kernels = kernels_for(list, llm_format(llm, LLM_PART_EXPERTS));
    add_dispatch(list, kernels.compute);
    const struct moe_shape shape = {
        .tokens = busiest_tokens(list, list->all_tokens),
        .hidden = (double)llm->hidden,
        .inner = list->shard.expert_ffn * groups,
        .chosen = (double)llm->experts_per_token,
        .experts = expert_slots(list),
        .held = expert_slots(list) / groups,
        .matrices = llm->gated_ffn ? 3.0 : 2.0,
        .dispatched = dispatches(list),
        .weights = llm_format(llm, LLM_PART_EXPERTS),
        .compute = kernels.compute,
    };
    add(list, OP_EXPERTS, list->groups > 1.0 ? BY_ALL_TOKENS : BY_TOKENS, list->sparse,
        (struct kernel_call){.class = experts_class(list, kernels.experts), .shape.moe = shape});
}

/* The engine's own kernel takes messages of up to 8 MiB among GPUs that NVLink connects, or between two that reach
 * each other over PCIe (vLLM, custom_all_reduce.py). */
static enum kernel_class all_reduce_class(const struct listing *list, double bytes)
{
    const double direct_bytes = 8.0 * 1024.0 * 1024.0;
    const struct llm_split *split = list->split;
    const int64_t gpus = split->tensor / llm_groups(split->data);
    const bool over_pcie = gpus == 2 && list->gpu->peer_to_peer;
    const bool connected = gpus <= list->gpu->nvlink_gpus || over_pcie;
    const bool direct = split->direct_all_reduce && connected && gpus <= split->gpus_per_node;
    return direct && bytes < direct_bytes ? KERNEL_DIRECT_ALL_REDUCE : KERNEL_ALL_REDUCE;
}

/* Two sums per layer, and one of the experts and the shared expert. */
static void add_residuals(struct listing *list)
{
    const double beside = list->llm->experts > 0 && list->llm->ffn > 0 ? list->sparse : 0.0;
    if (list->split->fused_residual) return;
    add_elementwise(list, OP_RESIDUAL, KERNEL_RESIDUAL, 2.0 * list->layers + beside, list->own_tokens,
                    3.0 * (double)list->llm->hidden);
}

/* Whole hidden states are needed once after the embedding, and after attention and feed-forward layer of every layer,
 * if tokens do not travel: by all-reduces, or by both their halves, the last of which gathers for the head. A stage
 * that receives shares puts them together first. Groups sum up among themselves, also what a shared expert makes; what
 * the others make is summed up on its way back. */
static void add_sums(struct listing *list)
{
    const double first = list->split->pipeline == 1 ? 1.0 : 0.0, bytes = hidden_bytes(list);
    const double shared = list->groups > 1.0 && list->llm->ffn > 0 ? list->sparse : 0.0;
    const double ffns = dispatches(list) || list->groups > 1.0 ? list->dense + shared : list->layers;
    const double sums = list->llm->parallel_block ? list->layers : list->layers + ffns;
    if (list->split->sequence) {
        add_collective(list, OP_REDUCE_SCATTER, KERNEL_REDUCE_SCATTER, BY_TOKENS, first + sums, bytes);
        add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_TOKENS, sums + 1.0, bytes);
    } else {
        add_collective(list, OP_ALL_REDUCE, all_reduce_class(list, bytes), BY_TOKENS, first + sums, bytes);
        add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_TOKENS, 1.0 - first, bytes);
    }
}

static void add_head(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    add(list, OP_HEAD, BY_SEQUENCES, 1.0,
        part_product(list, LLM_PART_HEAD, list->logits, list->shard.vocab, (double)llm->hidden));
    add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_SEQUENCES, 1.0,
                   list->logits * (double)llm->vocab * list->number_bytes);
    const struct elementwise_shape shape = {list->logits, (double)llm->vocab, list->number_bytes};
    add(list, OP_SAMPLING, BY_SEQUENCES, list->split->samples ? 1.0 : 0.0,
        (struct kernel_call){.class = KERNEL_SAMPLING, .shape.elementwise = shape});
}

size_t llm_iteration_kernels(const struct llm_spec *llm, const struct llm_split *split, const struct gpu_spec *gpu,
                             const struct iteration_work *work, struct kernel_use uses[LLM_MAX_USES])
{
    const int64_t groups = llm_groups(split->data);
    const struct iteration_work own = llm_group_work(split, work);
    const double tokens = (double)(own.prefill_tokens + iteration_decode_tokens(&own));
    struct listing list = {
        .llm = llm, .split = split, .gpu = gpu,
        .work = &own,
        .uses = uses,
        .shard = llm_data_shard(llm, split->tensor, split->pipeline, groups),
        .groups = (double)groups,
        .group_gpus = (double)(split->tensor / groups),
        .all_tokens = (double)(work->prefill_tokens + iteration_decode_tokens(work)),
        .tokens = tokens,
        .logits = (double)(own.prefill_sequences + iteration_decode_tokens(&own)),
        .own_tokens = split->sequence ? tokens / (double)split->tensor : tokens,
        .number_bytes = number_format_bytes(llm->compute),
    };
    list.layers = (double)list.shard.layers;
    list.dense = (double)list.shard.dense_layers;
    list.sparse = list.layers - list.dense;
    if (tokens <= 0.0) return 0;
    add_receive(&list);
    add_embedding(&list);
    add_norms(&list);
    if (llm->kv_latent > 0)
        add_latent_attention(&list);
    else
        add_attention(&list);
    add_ffns(&list);
    add_experts(&list);
    add_residuals(&list);
    add_sums(&list);
    add_head(&list);
    return list.n;
}
