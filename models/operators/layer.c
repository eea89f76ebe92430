#include "models/operators/layer.h"

#include "models/operators/inside.h"

#include <math.h>

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
    const bool is_parted = split->sequence || llm_groups(split->data) > 1;
    if (llm_split_has_deepep(split) && !(split->expert == split->tensor && split->expert > 1 && is_parted))
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
    listing_add(list, op, driver, count, (struct kernel_call){.class = class, .shape.collective = shape});
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
    listing_add(list, OP_SEND, BY_TOKENS, 1.0, (struct kernel_call){.class = KERNEL_SEND, .shape.collective = shape});
}

static void add_embedding(struct listing *list)
{
    const double lookups = list->llm->position_embeddings > 0 ? 2.0 : 1.0;
    if (list->split->pipeline > 1) return;
    listing_add_elementwise(list, OP_EMBEDDING, KERNEL_EMBEDDING, lookups, list->tokens,
                            2.0 * (double)list->llm->hidden);
}

/* Norms of the layers, after the embedding and before the head. */
static void add_norms(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double outer = llm->embedding_norm && list->split->pipeline == 1 ? 2.0 : 1.0;
    listing_add_elementwise(list, OP_NORM, KERNEL_NORM, list->layers * (double)llm->layer_norms + outer,
                            list->own_tokens, 2.0 * (double)llm->hidden);
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
    listing_add(list, OP_UP, BY_TOKENS, layers, listing_product(list, part, tokens, wide, hidden));
    listing_add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, layers, tokens, wide + width);
    listing_add(list, OP_DOWN, BY_TOKENS, layers, listing_product(list, part, tokens, hidden, width));
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

/* The gate on what the shared expert makes, one number per token: its sigmoid and the product are two kernels, as is
 * the sum with what the experts make (TensorRT-LLM before its pull request 14306; SGLang 0.5, qwen2_moe.py). */
static void add_shared_gate(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const struct gemm_shape gate = {list->tokens, 1.0, (double)llm->hidden, llm->compute, llm->compute};
    if (!llm->shared_gate) return;
    listing_add(list, OP_ROUTER, BY_TOKENS, list->sparse,
                (struct kernel_call){.class = KERNEL_GEMM, .shape.gemm = gate});
    listing_add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, list->sparse, list->tokens, 2.0);
    listing_add_elementwise(list, OP_ACTIVATION, KERNEL_ACTIVATION, list->sparse, list->tokens,
                            2.0 * (double)llm->hidden);
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
    listing_add(list, combines ? OP_COMBINE : OP_DISPATCH, BY_SENT_TOKENS, list->sparse,
        (struct kernel_call){.class = classes[is_low][combines], .shape.exchange = shape});
}

/* All GPUs gather all tokens; the sums of what their experts make are scattered. */
static void add_gathering(struct listing *list)
{
    const int64_t all = list->split->tensor;
    const double all_bytes = list->all_tokens * (double)list->llm->hidden * list->number_bytes;
    add_collective_of(list, all, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_ALL_TOKENS, list->sparse, all_bytes);
    add_collective_of(list, all, OP_REDUCE_SCATTER, KERNEL_REDUCE_SCATTER, BY_ALL_TOKENS, list->sparse, all_bytes);
}

/* A token goes once to every group of GPUs that holds one of its experts, and there to each GPU that has a part of it.
 * The GPUs of a group of sequences send its tokens in equal shares. */
static void add_all_to_alls(struct listing *list, enum number_format compute)
{
    const double holders = (double)list->split->expert, parts = (double)list->split->tensor / holders;
    const double met = holders * (1.0 - pow(1.0 - 1.0 / holders, (double)list->llm->experts_per_token));
    const double bytes = hidden_bytes(list) / list->group_gpus * met * parts;
    const double narrowed = number_format_bytes(compute) / list->number_bytes;
    const int64_t all = list->split->tensor;
    if (list->groups == 1.0) {
        add_collective_of(list, all, OP_ALL_TO_ALL, KERNEL_ALL_TO_ALL, BY_TOKENS, 2.0 * list->sparse, bytes);
    } else {
        add_collective_of(list, all, OP_ALL_TO_ALL, KERNEL_ALL_TO_ALL, BY_TOKENS, list->sparse, bytes * narrowed);
        add_collective_of(list, all, OP_ALL_TO_ALL, KERNEL_ALL_TO_ALL, BY_TOKENS, list->sparse, bytes);
    }
}

/* Tokens to the experts and their results back. The GPUs of a group of sequences gather what comes back. */
static void add_dispatch(struct listing *list, enum number_format compute)
{
    if (!dispatches(list) && list->groups == 1.0) return;
    switch (dispatches(list) ? list->split->dispatch : DISPATCH_ALL_GATHER) {
    case DISPATCH_ALL_GATHER: add_gathering(list); break;
    case DISPATCH_ALL_TO_ALL: add_all_to_alls(list, compute); break;
    case DISPATCH_NORMAL:
    case DISPATCH_LOW_LATENCY:
        add_exchange(list, false, compute);
        add_exchange(list, true, list->llm->compute);
    }
    if (list->groups > 1.0)
        add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_TOKENS, list->sparse, hidden_bytes(list));
}

/* DeepEP delivers tokens in 8 bits for grouped products. */
static enum kernel_class experts_class(const struct listing *list, enum kernel_class fused)
{
    if (fused != KERNEL_MOE_FP8 || !dispatches(list) || !llm_split_has_deepep(list->split)) return fused;
    return list->split->dispatch == DISPATCH_LOW_LATENCY ? KERNEL_MOE_FP8_MASKED : KERNEL_MOE_FP8_CONTIGUOUS;
}

static void add_experts(struct listing *list)
{
    const struct llm_spec *llm = list->llm;
    const double groups = (double)list->split->expert;
    if (llm->experts == 0) return;
    const double routed = dispatches(list) ? list->own_tokens : list->tokens;
    const struct gemm_shape router = {routed, (double)llm->experts, (double)llm->hidden, llm->compute, llm->compute};
    listing_add(list, OP_ROUTER, BY_TOKENS, list->sparse, (struct kernel_call){.class = KERNEL_GEMM, .shape.gemm = router});
    const struct weight_kernels kernels = listing_kernels(list, llm_format(llm, LLM_PART_EXPERTS));
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
    listing_add(list, OP_EXPERTS, list->groups > 1.0 ? BY_ALL_TOKENS : BY_TOKENS, list->sparse,
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

/* Two sums per layer, which norms may take over, and one of the experts and the shared expert, which they do not. */
static void add_residuals(struct listing *list)
{
    const double beside = list->llm->experts > 0 && list->llm->ffn > 0 ? list->sparse : 0.0;
    const double residuals = list->split->fused_residual ? 0.0 : 2.0 * list->layers;
    listing_add_elementwise(list, OP_RESIDUAL, KERNEL_RESIDUAL, residuals + beside, list->own_tokens,
                            3.0 * (double)list->llm->hidden);
}

/* Whole hidden states are needed once after the embedding, and after attention and feed-forward layer of every layer,
 * if tokens do not travel: by all-reduces, or by both their halves, the last of which gathers for the head. A stage
 * that receives shares puts them together first. Groups sum up among themselves, also what a shared expert makes; what
 * the others make is summed up on its way back. Norms on queries and keys over all heads sum two numbers per token. */
static void add_sums(struct listing *list)
{
    const double first = list->split->pipeline == 1 ? 1.0 : 0.0, bytes = hidden_bytes(list);
    const double shared = list->groups > 1.0 && list->llm->ffn > 0 ? list->sparse : 0.0;
    const double ffns = dispatches(list) || list->groups > 1.0 ? list->dense + shared : list->layers;
    const double sums = list->llm->parallel_block ? list->layers : list->layers + ffns;
    const double squares = list->llm->wide_qk_norm ? list->attending : 0.0;
    const double square_bytes = 2.0 * list->tokens * number_format_bytes(FORMAT_FP32);
    add_collective(list, OP_ALL_REDUCE, all_reduce_class(list, square_bytes), BY_TOKENS, squares, square_bytes);
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
    listing_add(list, OP_HEAD, BY_SEQUENCES, 1.0,
                listing_product(list, LLM_PART_HEAD, list->logits, list->shard.vocab, (double)llm->hidden));
    add_collective(list, OP_ALL_GATHER, KERNEL_ALL_GATHER, BY_SEQUENCES, 1.0,
                   list->logits * (double)llm->vocab * list->number_bytes);
    const struct elementwise_shape shape = {list->logits, (double)llm->vocab, list->number_bytes};
    listing_add(list, OP_SAMPLING, BY_SEQUENCES, list->split->samples ? 1.0 : 0.0,
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
    list.linear = list.shard.linear_layers;
    list.attending = list.layers - list.linear;
    if (tokens <= 0.0) return 0;
    add_receive(&list);
    add_embedding(&list);
    add_norms(&list);
    listing_add_mixers(&list);
    add_ffns(&list);
    add_shared_gate(&list);
    add_experts(&list);
    add_residuals(&list);
    add_sums(&list);
    add_head(&list);
    return list.n;
}
