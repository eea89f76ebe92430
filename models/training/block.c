#include "models/training/block.h"

#include "models/training/context.h"
#include "models/training/expert_pipeline.h"

#include <math.h>

/* A block being filled, and values that its kernels share. */
struct filling {
    const struct training_parts *parts;
    struct llm_shard shard;
    double tokens, own_tokens; /* of a micro-batch on a rank; of them those that norms and residuals handle */
    double number_bytes;
    double softmax_s, linear_s; /* forward, inside attention, on the mean over the layers: of each kind */
    struct training_block block;
};

/* --- Kernels --- */

static struct kernel_time kernel_of(const struct filling *filling, const struct kernel_call *call, bool *outside)
{
    enum kernel_basis basis;
    const struct kernel_time time = kernel_set_time(filling->parts->kernels, filling->parts->gpu, call, &basis);
    *outside = basis == KERNEL_EXTRAPOLATED;
    return time;
}

/* Work of kernels, and the seconds that it takes. */
struct work {
    double seconds, flop, bytes;
    bool core_bound, outside;
    double narrow_flop; /* of flop, in 8-bit units */
};

static struct work work_of(const struct kernel_time *time, double seconds, bool outside)
{
    return (struct work){seconds, time->flop, time->bytes, time->compute_s > time->memory_s, outside, 0.0};
}

static struct work scaled(struct work work, double count)
{
    work.seconds *= count;
    work.flop *= count;
    work.narrow_flop *= count;
    work.bytes *= count;
    return work;
}

static void spend(struct training_time *time, const struct work *work)
{
    time->compute_s += work->seconds;
    time->flop += work->flop;
    time->narrow_flop += work->narrow_flop;
    time->bytes += work->bytes;
    if (work->core_bound) time->core_s += work->seconds;
    if (work->outside) time->outside_s += work->seconds;
}

/* A product whose computing runs at the sustained rate, and which moves `more_bytes` than its law counts. Operands are
 * as narrow as it wants them: laws of fp8 include how engines narrow activations, which training programs do
 * otherwise. */
static struct work product_of(const struct filling *filling, double m, double n, double k, double more_bytes,
                              bool plain)
{
    const struct training_parts *parts = filling->parts;
    const bool narrow = !plain && parts->plan->compute == FORMAT_FP8;
    const enum kernel_class class = narrow ? KERNEL_GEMM_FP8 : KERNEL_GEMM;
    const enum number_format format = narrow ? FORMAT_FP8 : FORMAT_BF16;
    const struct kernel_call call = {.class = class, .shape.gemm = {m, n, k, format, format}};
    const struct gemm_params *params = &parts->kernels->params[class].gemm;
    bool outside;
    const struct kernel_time time = kernel_of(filling, &call, &outside);
    const double moved_s = time.memory_s + more_bytes / (params->bandwidth_frac * parts->gpu->memory_bytes_per_s);
    const double sustained_s = time.compute_s / parts->trainer->sustained_compute;
    const double alone_s = soft_max(time.compute_s, time.memory_s, params->softness);
    const double narrowing_s = gemm_narrowing_s(params, parts->gpu, &call.shape.gemm);
    const double seconds = fmax(time.seconds - narrowing_s - alone_s, 0.0) +
                           soft_max(sustained_s, moved_s, params->softness);
    return (struct work){seconds,
                         time.flop,
                         time.bytes + more_bytes,
                         sustained_s > moved_s,
                         outside,
                         format == FORMAT_FP8 ? time.flop : 0.0};
}

/* A product with weights in `count` copies: forward, and both gradients. Gradients of weights are added to those of
 * earlier micro-batches. Copies beyond the first start with it. */
struct product_times {
    double forward_s, input_s, weight_s;
};

static double add_copies(struct training_time *time, double count, struct work one, double start_s)
{
    struct work all = scaled(one, count);
    all.seconds = fmax(all.seconds - start_s, 0.0);
    spend(time, &all);
    return all.seconds;
}

/* Numbers per row that an element-wise operator moves, forward and backward. */
static void add_elementwise(struct filling *filling, enum kernel_class class, double tokens, double forward_width,
                            double backward_width)
{
    const double widths[] = {forward_width, backward_width};
    struct training_time *const times[] = {&filling->block.forward, &filling->block.input};
    for (int i = 0; i < 2; i++) {
        const struct kernel_call call = {.class = class,
                                         .shape.elementwise = {tokens, widths[i], filling->number_bytes}};
        bool outside;
        if (!(tokens > 0.0 && widths[i] > 0.0)) continue;
        const struct kernel_time time = kernel_of(filling, &call, &outside);
        const struct work work = work_of(&time, time.seconds, outside);
        spend(times[i], &work);
    }
}

/* Operands of a product in fp8: a program reads numbers of 16 bits and writes them narrow, as they are and transposed,
 * since the gradients need both (TransformerEngine, cast and transpose in one kernel). Inputs once forward, their
 * gradients once backward, weights once in a step. */
static void add_narrowing(struct filling *filling, double rows, double n, double k, double weights)
{
    const double batches = (double)filling->parts->plan->micro_batches, moved = 2.0; /* in numbers of 16 bits */
    add_elementwise(filling, KERNEL_ACTIVATION, rows, moved * k, moved * n);
    add_elementwise(filling, KERNEL_ACTIVATION, weights / k / batches, moved * k, 0.0);
}

static struct product_times add_product(struct filling *filling, double count, double m, double n, double k, bool plain)
{
    struct training_block *block = &filling->block;
    const struct training_parts *parts = filling->parts;
    const double start_s = (count - 1.0) * parts->kernels->params[KERNEL_GEMM].gemm.start_s;
    const double added_bytes = n * k * (2.0 * parts->trainer->gradient_bytes - 2.0);
    struct product_times times = {0};
    if (!(m > 0.0 && n > 0.0 && k > 0.0)) return times;
    times.forward_s = add_copies(&block->forward, count, product_of(filling, m, n, k, 0.0, plain), start_s);
    times.input_s = add_copies(&block->input, count, product_of(filling, m, k, n, 0.0, plain), start_s);
    times.weight_s = add_copies(&block->weight, count, product_of(filling, n, k, m, added_bytes, plain), start_s);
    if (!plain && parts->plan->compute == FORMAT_FP8) add_narrowing(filling, count * m, n, k, count * n * k);
    return times;
}

/* --- Collectives --- */

/* Which ranks meet: those of a tensor group, of a group of experts. Those of a sequence do so in context.c. */
enum meeting { MEET_TENSOR, MEET_EXPERT };

static struct training_group group_of(const struct training_plan *plan, enum meeting meeting)
{
    return meeting == MEET_EXPERT ? training_expert_group(plan) : training_tensor_group(plan);
}

/* A collective of which hidden_s of other work can hide a part. */
static void send(struct filling *filling, enum meeting meeting, enum kernel_class class, double bytes, double hidden_s,
                 struct training_time *time)
{
    struct training_block *block = &filling->block;
    double *const seconds[] = {&time->tensor_s, &time->expert_s};
    double *const exchanged[] = {&time->tensor_sent, &time->expert_sent};
    double *const sent[] = {&block->tensor_bytes, &block->expert_bytes};
    const struct training_group group = group_of(filling->parts->plan, meeting);
    const struct training_collective collective = training_collective_of(filling->parts, class, group, bytes);
    const double exposed_s = collective.seconds -
                             filling->parts->trainer->overlap_frac * fmin(collective.seconds, hidden_s);
    *seconds[meeting] += exposed_s;
    *exchanged[meeting] += collective.exchanged_bytes;
    *sent[meeting] += collective.sent_bytes;
    if (collective.outside) time->outside_s += exposed_s;
    if (training_collective_is_far(filling->parts, class, group)) time->network_s += collective.seconds;
}

static void send_tensor(struct filling *filling, enum kernel_class class, double bytes, double hidden_s,
                        struct training_time *time)
{
    send(filling, MEET_TENSOR, class, bytes, hidden_s, time);
}

/* The collectives around one half of a layer, whose first product is `first`: hidden states come in whole and leave as
 * sums. */
static void add_half(struct filling *filling, struct product_times first)
{
    struct training_block *block = &filling->block;
    const bool overlaps = filling->parts->plan->overlap_tensor;
    const double bytes = filling->tokens * (double)filling->parts->llm->hidden * filling->number_bytes;
    const double input_s = overlaps ? first.input_s : 0.0, weight_s = overlaps ? first.weight_s : 0.0;
    if (filling->parts->plan->sequence) {
        send_tensor(filling, KERNEL_ALL_GATHER, bytes, 0.0, &block->forward);
        send_tensor(filling, KERNEL_REDUCE_SCATTER, bytes, 0.0, &block->forward);
        send_tensor(filling, KERNEL_ALL_GATHER, bytes, 0.0, &block->input);         /* the gradient of the output */
        send_tensor(filling, KERNEL_ALL_GATHER, bytes, input_s, &block->input);     /* the input, again */
        send_tensor(filling, KERNEL_REDUCE_SCATTER, bytes, weight_s, &block->input); /* the gradient of the input */
    } else {
        send_tensor(filling, KERNEL_ALL_REDUCE, bytes, 0.0, &block->forward);
        send_tensor(filling, KERNEL_ALL_REDUCE, bytes, weight_s, &block->input);
    }
}

/* --- Attention --- */

static void add_norms(struct filling *filling, double count)
{
    const double width = (double)filling->parts->llm->hidden;
    for (double i = 0.0; i < count; i++)
        add_elementwise(filling, KERNEL_NORM, filling->own_tokens, 2.0 * width, 3.0 * width);
}

/* Dropout adds a mask of a byte per number. */
static void add_residual(struct filling *filling)
{
    const double width = (double)filling->parts->llm->hidden, mask = filling->parts->trainer->dropout ? 0.5 : 0.0;
    add_elementwise(filling, KERNEL_RESIDUAL, filling->own_tokens, (3.0 + mask) * width, (3.0 + mask) * width);
}

/* One call of the fused kernel in `share` of the layers. pairs: twice those of a query and a key, of a sequence.
 * window_tokens: that a query looks back; 0: all. Returns its seconds in the forward pass. */
static double add_flash_kernel(struct filling *filling, double share, double pairs, double window_tokens,
                               bool is_linear)
{
    const struct training_parts *parts = filling->parts;
    const struct training_plan *plan = parts->plan;
    const double ranks = (double)plan->context, sequences = (double)plan->micro_batch;
    const double tokens = (double)plan->sequence_tokens;
    const struct prefill_shape shape = {
        .sequences = sequences, .tokens = sequences * tokens, .pairs = sequences * pairs,
        .q_heads = filling->shard.q_heads / ranks, .kv_heads = fmax(filling->shard.kv_heads / ranks, 1.0),
        .key_dim = (double)llm_key_dim(parts->llm), .value_dim = (double)llm_value_dim(parts->llm),
        .kv = FORMAT_BF16, .compute = FORMAT_BF16, .window = window_tokens};
    const struct kernel_call call = {.class = KERNEL_PREFILL_ATTENTION, .shape.prefill = shape};
    bool outside;
    if (!(share > 0.0)) return 0.0;
    const struct kernel_time time = kernel_of(filling, &call, &outside);
    const double seconds = share * (time.seconds + time.compute_s * (1.0 / parts->trainer->sustained_compute - 1.0));
    const double start_s = share * parts->kernels->params[KERNEL_PREFILL_ATTENTION].prefill.start_s;
    struct work work = work_of(&time, seconds, outside || is_linear);
    work.flop *= share;
    work.bytes *= share;
    spend(&filling->block.attention, &work);
    spend(&filling->block.forward, &work);
    work = scaled(work, 2.5);
    work.seconds = start_s + (seconds - start_s) * 2.5 / parts->trainer->attention_backward;
    spend(&filling->block.input, &work);
    return seconds;
}

/* The inside of attention in one kernel. With context parallelism a rank has all tokens for its share of the heads, or
 * its share of the pairs for all: as much work. Linear attention has the operations of a window (context.h). */
static void add_flash_attention(struct filling *filling)
{
    const struct llm_spec *llm = filling->parts->llm;
    const double window_frac = llm_window_frac(llm), linear_frac = training_linear_frac(filling->parts);
    const double tokens = (double)filling->parts->plan->sequence_tokens, window = (double)llm->sliding_window;
    const double linear_tokens = training_linear_window(llm, 0.5);
    filling->softmax_s = add_flash_kernel(filling, 1.0 - window_frac - linear_frac, tokens * tokens, 0.0, false);
    if (window_frac > 0.0)
        filling->softmax_s += add_flash_kernel(filling, window_frac, llm_window_pairs(tokens, 0.0, window), window,
                                               false);
    filling->linear_s = add_flash_kernel(filling, linear_frac, 2.0 * tokens * linear_tokens, linear_tokens, true);
}

/* Kernels that walk through all scores, at the memory bandwidth that sums of residuals reach: rows are too many for the
 * range of element-wise laws. */
static void add_scores(struct filling *filling, double rows, double forward_width, double backward_width)
{
    const struct training_parts *parts = filling->parts;
    const double frac = fmin(parts->kernels->params[KERNEL_RESIDUAL].elementwise.bandwidth_frac, 1.0);
    const double number_s = filling->number_bytes / (frac * parts->gpu->memory_bytes_per_s);
    const struct work forward = {
        rows * forward_width * number_s, 0.0, rows * forward_width * filling->number_bytes, false, true, 0.0};
    const struct work backward = {
        rows * backward_width * number_s, 0.0, rows * backward_width * filling->number_bytes, false, true, 0.0};
    spend(&filling->block.forward, &forward);
    spend(&filling->block.attention, &forward);
    spend(&filling->block.input, &backward);
}

/* Scores in memory: products without weights, in all heads and sequences, a softmax that reads and writes them, dropout
 * with a mask. Causal masks save nothing. */
static void add_plain_attention(struct filling *filling)
{
    const struct training_parts *parts = filling->parts;
    struct training_block *block = &filling->block;
    const double context = (double)parts->plan->sequence_tokens;
    const double rows = filling->tokens * filling->shard.q_heads;
    const double key = (double)llm_key_dim(parts->llm), value = (double)llm_value_dim(parts->llm);
    const struct work scores = product_of(filling, rows, context, key, 0.0, true);
    const struct work sums = product_of(filling, rows, value, context, 0.0, true);
    struct work both = {scores.seconds + sums.seconds,        scores.flop + sums.flop,        scores.bytes + sums.bytes,
                        scores.core_bound && sums.core_bound, scores.outside || sums.outside, 0.0};
    spend(&block->forward, &both);
    spend(&block->attention, &both);
    both = scaled(both, 2.0);
    spend(&block->input, &both);
    add_scores(filling, rows, 2.0 * context, 3.0 * context);
    if (parts->trainer->dropout) add_scores(filling, rows, 2.5 * context, 2.5 * context);
    filling->softmax_s = block->attention.compute_s;
}

/* Queries, keys and values by one product; returns that. */
static struct product_times add_plain_projections(struct filling *filling)
{
    const struct llm_spec *llm = filling->parts->llm;
    const double width = (filling->shard.q_heads + 2.0 * filling->shard.kv_heads) * (double)llm->head_dim;
    const double rotated = (filling->shard.q_heads + filling->shard.kv_heads) * (double)llm->head_dim;
    const struct product_times first = add_product(filling, 1.0, filling->tokens, width, (double)llm->hidden, false);
    if (llm->qk_norm) add_elementwise(filling, KERNEL_NORM, filling->tokens, 2.0 * rotated, 3.0 * rotated);
    if (llm->position_embeddings == 0)
        add_elementwise(filling, KERNEL_ROTARY, filling->tokens, 2.0 * rotated, 2.0 * rotated);
    return first;
}

/* By latent vectors, which every rank of a tensor group makes for itself. Keys of all heads are put together with the
 * common rotary part. */
static struct product_times add_latent_projections(struct filling *filling)
{
    const struct llm_spec *llm = filling->parts->llm;
    const double hidden = (double)llm->hidden, tokens = filling->tokens, heads = filling->shard.q_heads;
    const double key = (double)llm_key_dim(llm), query_latent = (double)llm->query_latent;
    const double kv_latent = (double)llm->kv_latent, rotary = (double)llm->rotary_dim;
    const double from = query_latent > 0.0 ? query_latent : hidden;
    const struct product_times first = add_product(filling, 1.0, tokens, kv_latent + rotary, hidden, false);
    if (query_latent > 0.0) {
        add_product(filling, 1.0, tokens, query_latent, hidden, false);
        add_elementwise(filling, KERNEL_NORM, tokens, 2.0 * query_latent, 3.0 * query_latent);
    }
    add_product(filling, 1.0, tokens, heads * key, from, false);
    add_elementwise(filling, KERNEL_NORM, tokens, 2.0 * kv_latent, 3.0 * kv_latent);
    add_product(filling, 1.0, tokens, heads * (double)(llm->head_dim + llm->value_dim), kv_latent, false);
    add_elementwise(filling, KERNEL_ROTARY, tokens, 2.0 * (heads + 1.0) * rotary, 2.0 * (heads + 1.0) * rotary);
    add_elementwise(filling, KERNEL_RESIDUAL, tokens, 4.0 * heads * key, 4.0 * heads * key);
    return first;
}

static void add_attention(struct filling *filling)
{
    const struct llm_spec *llm = filling->parts->llm;
    const bool latent = llm->kv_latent > 0;
    add_norms(filling, 1.0);
    const struct product_times first = latent ? add_latent_projections(filling) : add_plain_projections(filling);
    if (filling->parts->trainer->flash_attention)
        add_flash_attention(filling);
    else
        add_plain_attention(filling);
    const struct training_context context = {.q_heads = filling->shard.q_heads, .kv_heads = filling->shard.kv_heads,
                                             .tokens = filling->tokens, .softmax_s = filling->softmax_s,
                                             .linear_s = filling->linear_s};
    training_context_add(filling->parts, &context, &filling->block);
    add_product(filling, 1.0, filling->tokens, (double)llm->hidden, filling->shard.q_heads * (double)llm_value_dim(llm),
                false);
    add_half(filling, first);
    add_residual(filling);
}

/* --- Feed-forward layers --- */

/* Products and activation of `count` equal networks of `rows` tokens each; returns the first product. */
static struct product_times add_ffn(struct filling *filling, double count, double rows, double width)
{
    const struct llm_spec *llm = filling->parts->llm;
    const double up = llm->gated_ffn ? 2.0 * width : width, kept = llm->gated_ffn ? 3.0 : 2.0;
    if (!(width > 0.0)) return (struct product_times){0};
    const struct product_times first = add_product(filling, count, rows, up, (double)llm->hidden, false);
    add_elementwise(filling, KERNEL_ACTIVATION, count * rows, kept * width, (2.0 * kept - 1.0) * width);
    add_product(filling, count, rows, (double)llm->hidden, width, false);
    return first;
}

static void add_dense_ffn(struct filling *filling, double width)
{
    add_norms(filling, 1.0);
    add_half(filling, add_ffn(filling, 1.0, filling->tokens, width));
    add_residual(filling);
}

/* Copies of tokens are put in order by expert, or back. */
static void add_order(struct filling *filling, double copies)
{
    const double width = 2.0 * (double)filling->parts->llm->hidden;
    add_elementwise(filling, KERNEL_RESIDUAL, copies, width, width);
}

/* All copies at once: to the experts and back, forward and backward. */
static void add_experts_at_once(struct filling *filling, double copies)
{
    const struct training_plan *plan = filling->parts->plan;
    const double bytes = copies * (double)filling->parts->llm->hidden * filling->number_bytes;
    const double held = (double)filling->parts->llm->experts / (double)plan->expert;
    struct training_time *const times[] = {&filling->block.forward, &filling->block.input};
    add_order(filling, copies);
    for (int pass = 0; pass < 2; pass++)
        for (int way = 0; way < 2; way++) {
            send(filling, MEET_EXPERT, KERNEL_ALL_TO_ALL, bytes / (double)plan->tensor, 0.0, times[pass]);
            send_tensor(filling, way == 0 ? KERNEL_ALL_GATHER : KERNEL_REDUCE_SCATTER, bytes, 0.0, times[pass]);
        }
    add_ffn(filling, held, copies / held, filling->shard.expert_ffn);
    add_order(filling, copies);
}

/* --- Experts in parts --- */

/* A pass through the experts in `n` equal parts: work of one part, and seconds of all. */
struct expert_pass {
    int n;
    struct training_block work;
    struct training_collective exchange, gather, scatter;
    double seconds, compute_s; /* compute_s: of one part, in the pipeline */
    bool is_far[2];            /* the exchange; gather and scatter */
};

/* Products of weight gradients stand in the pipeline, unless the schedule moves them into bubbles. */
static struct expert_pass expert_pass_of(const struct filling *filling, double copies, int n, bool backward)
{
    const struct training_parts *parts = filling->parts;
    const struct training_plan *plan = parts->plan;
    const double part = copies / (double)n, bytes = part * (double)parts->llm->hidden * filling->number_bytes;
    const double held = (double)parts->llm->experts / (double)plan->expert;
    const struct training_group experts = training_expert_group(plan), tensor = training_tensor_group(plan);
    struct filling one = *filling;
    one.block = (struct training_block){.tensor_bytes = 0.0};
    add_order(&one, part);
    add_ffn(&one, held, part / held, filling->shard.expert_ffn);
    add_order(&one, part);
    struct expert_pass pass = {
        .n = n, .work = one.block,
        .exchange = training_collective_of(parts, KERNEL_ALL_TO_ALL, experts, bytes / (double)plan->tensor),
        .gather = training_collective_of(parts, KERNEL_ALL_GATHER, tensor, bytes),
        .scatter = training_collective_of(parts, KERNEL_REDUCE_SCATTER, tensor, bytes),
        .compute_s = backward ? one.block.input.compute_s : one.block.forward.compute_s};
    if (backward && plan->schedule != SCHEDULE_ZERO_BUBBLE) pass.compute_s += one.block.weight.compute_s;
    pass.is_far[0] = training_collective_is_far(parts, KERNEL_ALL_TO_ALL, experts);
    pass.is_far[1] = training_collective_is_far(parts, KERNEL_ALL_GATHER, tensor);
    const enum expert_lane lanes[] = {LANE_NODE, LANE_NETWORK};
    const enum expert_lane far = lanes[pass.is_far[0]], near = lanes[pass.is_far[1]];
    const struct expert_pipeline pipeline = {
        .parts = n,
        .seconds = {pass.exchange.seconds, pass.gather.seconds, pass.compute_s, pass.scatter.seconds,
                    pass.exchange.seconds},
        .lane = {far, near, LANE_CORES, near, far}};
    pass.seconds = expert_pipeline_s(&pipeline);
    return pass;
}

/* With the number of parts that the plan gives, or that is fastest. */
static struct expert_pass choose_expert_pass(const struct filling *filling, double copies, bool backward)
{
    const int64_t given = filling->parts->plan->expert_parts;
    const bool apart = backward && filling->parts->plan->schedule == SCHEDULE_ZERO_BUBBLE;
    struct expert_pass best = expert_pass_of(filling, copies, given > 0 ? (int)given : 1, backward);
    for (int n = 2; given < 0 && n <= EXPERT_PARTS; n++) {
        const struct expert_pass pass = expert_pass_of(filling, copies, n, backward);
        const double weight_s = (double)n * pass.work.weight.compute_s;
        const double best_weight_s = (double)best.n * best.work.weight.compute_s;
        if (pass.seconds + (apart ? weight_s - best_weight_s : 0.0) < best.seconds) best = pass;
    }
    return best;
}

/* What the pass waits for messages counts by kind, as their times do. */
static void add_expert_pass(struct filling *filling, const struct expert_pass *pass, struct training_time *time)
{
    const struct training_collective *const of[] = {&pass->exchange, &pass->exchange, &pass->gather, &pass->scatter};
    const double n = (double)pass->n, exposed_s = fmax(pass->seconds - n * pass->compute_s, 0.0);
    double all_s = 0.0;
    for (int i = 0; i < 4; i++) all_s += of[i]->seconds;
    for (int i = 0; i < 4 && all_s > 0.0; i++) {
        const double share_s = exposed_s * of[i]->seconds / all_s;
        *(i < 2 ? &time->expert_s : &time->tensor_s) += share_s;
        *(i < 2 ? &time->expert_sent : &time->tensor_sent) += n * of[i]->exchanged_bytes;
        *(i < 2 ? &filling->block.expert_bytes : &filling->block.tensor_bytes) += n * of[i]->sent_bytes;
        if (of[i]->outside) time->outside_s += share_s;
        if (pass->is_far[i / 2]) time->network_s += n * of[i]->seconds;
    }
}

static void add_experts_in_parts(struct filling *filling, double copies)
{
    struct training_block *block = &filling->block;
    const struct expert_pass forward = choose_expert_pass(filling, copies, false);
    const struct expert_pass backward = choose_expert_pass(filling, copies, true);
    training_time_add(&block->forward, (double)forward.n, &forward.work.forward);
    training_time_add(&block->input, (double)backward.n, &backward.work.input);
    training_time_add(&block->weight, (double)backward.n, &backward.work.weight);
    add_expert_pass(filling, &forward, &block->forward);
    add_expert_pass(filling, &backward, &block->input);
    block->forward_parts = forward.n;
    block->backward_parts = backward.n;
}

/* Each choice of a token is copied, sent, computed, sent back and summed up. A tensor group's ranks send the choices of
 * their own tokens and gather what arrives. */
static void add_experts(struct filling *filling)
{
    const struct llm_spec *llm = filling->parts->llm;
    const struct training_plan *plan = filling->parts->plan;
    const double hidden = (double)llm->hidden, copies = filling->tokens * (double)llm->experts_per_token;
    const double own_copies = copies / (double)plan->tensor;
    add_norms(filling, 1.0);
    add_product(filling, 1.0, filling->own_tokens, (double)llm->experts, hidden, true);
    add_elementwise(filling, KERNEL_RESIDUAL, own_copies, 2.0 * hidden, 2.0 * hidden); /* to the sender's buffer */
    if (plan->expert_parts == 0 || plan->expert_parts == 1)
        add_experts_at_once(filling, copies);
    else
        add_experts_in_parts(filling, copies);
    add_elementwise(filling, KERNEL_RESIDUAL, own_copies, 2.0 * hidden, 2.0 * hidden);
    if (llm->ffn > 0) {
        add_half(filling, add_ffn(filling, 1.0, filling->tokens, filling->shard.ffn));
        add_residual(filling);
    }
    add_residual(filling);
}

/* --- Ends of the model --- */

static void add_embedding(struct filling *filling)
{
    const struct llm_spec *llm = filling->parts->llm;
    const double width = 2.0 * (double)llm->hidden,
                 bytes = filling->tokens * (double)llm->hidden * filling->number_bytes;
    const bool splits = filling->parts->plan->sequence;
    add_elementwise(filling, KERNEL_EMBEDDING, filling->tokens, width, width);
    if (llm->position_embeddings > 0) add_elementwise(filling, KERNEL_EMBEDDING, filling->tokens, width, width);
    send_tensor(filling, splits ? KERNEL_REDUCE_SCATTER : KERNEL_ALL_REDUCE, bytes, 0.0, &filling->block.forward);
    if (splits) send_tensor(filling, KERNEL_ALL_GATHER, bytes, 0.0, &filling->block.input);
}

static void add_head(struct filling *filling)
{
    const struct training_parts *parts = filling->parts;
    const double passes = parts->trainer->loss_passes, vocab = filling->shard.vocab;
    const double bytes = filling->tokens * (double)parts->llm->hidden * filling->number_bytes;
    const bool overlaps = parts->plan->overlap_tensor;
    add_norms(filling, 1.0);
    const struct product_times head = add_product(filling, 1.0, filling->tokens, vocab, (double)parts->llm->hidden,
                                                  true);
    add_elementwise(filling, KERNEL_ACTIVATION, filling->tokens, passes * vocab, vocab);
    if (parts->plan->sequence) {
        send_tensor(filling, KERNEL_ALL_GATHER, bytes, 0.0, &filling->block.forward);
        send_tensor(filling, KERNEL_ALL_GATHER, bytes, overlaps ? head.input_s : 0.0, &filling->block.input);
        send_tensor(filling, KERNEL_REDUCE_SCATTER, bytes, overlaps ? head.weight_s : 0.0, &filling->block.input);
    } else {
        send_tensor(filling, KERNEL_ALL_REDUCE, bytes, overlaps ? head.weight_s : 0.0, &filling->block.input);
    }
}

/* A CPU that launches kernels one by one limits a fast GPU: the slower of both counts. */
static void add_launches(struct filling *filling)
{
    struct training_block *block = &filling->block;
    const double launch_s = filling->parts->trainer->layer_launch_s;
    const double forward_s = training_time_s(&block->forward);
    const double backward_s = training_time_s(&block->input) + training_time_s(&block->weight);
    block->forward.compute_s += fmax(launch_s - forward_s, 0.0);
    block->input.compute_s += fmax(2.0 * launch_s - backward_s, 0.0);
}

/* A third of the host's waits are in the forward pass. */
static void add_waits(struct filling *filling)
{
    const double wait_s = filling->parts->trainer->expert_layer_s;
    filling->block.forward.compute_s += wait_s / 3.0;
    filling->block.input.compute_s += wait_s * 2.0 / 3.0;
}

struct training_block training_block_of(const struct training_parts *parts, enum training_block_kind kind)
{
    const struct training_plan *plan = parts->plan;
    const double tokens = training_plan_rank_tokens(plan);
    struct filling filling = {
        .parts = parts,
        .shard = llm_shard(parts->llm, plan->tensor, 1),
        .tokens = tokens,
        .own_tokens = plan->sequence ? tokens / (double)plan->tensor : tokens,
        .number_bytes = 2.0,
    };
    if (kind == BLOCK_EMBEDDING) add_embedding(&filling);
    if (kind == BLOCK_HEAD) add_head(&filling);
    if (kind == BLOCK_DENSE || kind == BLOCK_SPARSE) add_attention(&filling);
    if (kind == BLOCK_SPARSE) add_experts(&filling);
    if (kind == BLOCK_DENSE)
        add_dense_ffn(&filling, parts->llm->experts > 0 ? filling.shard.dense_ffn : filling.shard.ffn);
    if (kind == BLOCK_DENSE || kind == BLOCK_SPARSE) add_launches(&filling);
    if (kind == BLOCK_SPARSE) add_waits(&filling);
    return filling.block;
}
