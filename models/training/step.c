#include "models/training/step.h"

#include "models/training/tiers.h"

#include <math.h>

/* Blocks of the model, and times of a pass of one micro-batch through a stage. */
struct blocks {
    struct training_block of[BLOCK_KINDS];
    double send_s[2]; /* of a hidden state to the next stage, exposed, once: on the same node, on another one */
    double send_bytes, gather_bytes; /* that a rank sends to the next stage, and then to its tensor group */
    bool send_outside[2];
};

struct stage_time {
    struct training_time forward, backward, weight, recompute; /* backward: without products of weight gradients */
    double send_s, send_outside_s; /* messages to other stages */
    double sum_s;  /* of all */
    double tensor_bytes, context_bytes, expert_bytes;
    double outside_s;
};

/* --- Stages --- */

/* Sending to a neighbour: a rank's share where the tensor group splits it, else all of it. */
static void price_send(const struct training_parts *parts, struct blocks *blocks)
{
    const struct training_plan *plan = parts->plan;
    const bool splits = plan->sequence || plan->scatter_gather;
    const double bytes = 2.0 * training_plan_rank_tokens(plan) * (double)parts->llm->hidden /
                         (splits ? (double)plan->tensor : 1.0);
    if (plan->pipeline == 1) return;
    for (int is_far = 0; is_far < 2; is_far++) {
        const struct training_collective sent = training_stage_send_of(parts, is_far, bytes);
        blocks->send_s[is_far] = sent.seconds;
        blocks->send_bytes = sent.exchanged_bytes;
        blocks->send_outside[is_far] = sent.outside;
    }
    if (plan->scatter_gather && !plan->sequence) {
        const struct training_collective gathered = training_collective_of(
            parts, KERNEL_ALL_GATHER, training_tensor_group(plan), bytes * (double)plan->tensor);
        for (int is_far = 0; is_far < 2; is_far++) blocks->send_s[is_far] += gathered.seconds;
        blocks->gather_bytes = gathered.exchanged_bytes;
    }
}

/* A stage sends hidden states ahead and gradients back. The ends of a pipeline that is not interleaved have one
 * neighbour, with which they exchange both. */
static void add_sends(const struct training_plan *plan, const struct blocks *blocks, int64_t stage,
                      struct stage_time *time)
{
    const int64_t last = plan->pipeline - 1;
    const bool wraps = plan->schedule == SCHEDULE_INTERLEAVED;
    const bool far[] = {training_stage_is_far(plan, stage < last ? stage
                                                    : wraps      ? last
                                                                 : last - 1),
                        training_stage_is_far(plan, stage > 0 ? stage - 1
                                                    : wraps   ? last
                                                              : 0)};
    for (int way = 0; way < 2; way++) {
        const double seconds = (double)plan->chunks * blocks->send_s[far[way]];
        time->send_s += seconds;
        if (blocks->send_outside[far[way]]) time->send_outside_s += seconds;
    }
}

/* `recomputed`: share of the layers whose forward pass is repeated. */
static void add_block(struct stage_time *stage, double count, const struct training_block *block, double recomputed,
                      bool selective)
{
    if (!(count > 0.0)) return;
    training_time_add(&stage->forward, count, &block->forward);
    training_time_add(&stage->backward, count, &block->input);
    training_time_add(&stage->weight, count, &block->weight);
    training_time_add(&stage->recompute, count * recomputed, &block->forward);
    if (selective) training_time_add(&stage->recompute, count, &block->attention);
    stage->tensor_bytes += count * block->tensor_bytes;
    stage->context_bytes += count * block->context_bytes;
    stage->expert_bytes += count * block->expert_bytes;
}

static struct stage_time stage_of(const struct training_parts *parts, const struct blocks *blocks, int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const struct training_stage_layers layers = training_stage_layers(parts, stage);
    const double recomputed = (double)training_plan_recomputed(plan, parts->llm) / (layers.dense + layers.sparse);
    const bool selective = plan->recompute == RECOMPUTE_SELECTIVE && !parts->trainer->flash_attention;
    struct stage_time time = {.send_s = 0.0};
    add_block(&time, layers.dense, &blocks->of[BLOCK_DENSE], recomputed, selective);
    add_block(&time, layers.sparse, &blocks->of[BLOCK_SPARSE], recomputed, selective);
    if (stage == 0) add_block(&time, 1.0, &blocks->of[BLOCK_EMBEDDING], 0.0, false);
    if (stage == plan->pipeline - 1) add_block(&time, 1.0, &blocks->of[BLOCK_HEAD], 0.0, false);
    if (plan->pipeline > 1) add_sends(plan, blocks, stage, &time);
    time.sum_s = training_time_s(&time.forward) + training_time_s(&time.backward) + training_time_s(&time.weight) +
                 training_time_s(&time.recompute) + time.send_s;
    time.outside_s = time.forward.outside_s + time.backward.outside_s + time.weight.outside_s +
                     time.recompute.outside_s + time.send_outside_s;
    return time;
}

static struct blocks blocks_of(const struct training_parts *parts)
{
    struct blocks blocks = {.send_bytes = 0.0};
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        const bool absent = (kind == BLOCK_SPARSE && parts->llm->experts == 0) ||
                            (kind == BLOCK_DENSE && parts->llm->experts > 0 && parts->llm->dense_layers == 0);
        if (!absent) blocks.of[kind] = training_block_of(parts, (enum training_block_kind)kind);
    }
    price_send(parts, &blocks);
    return blocks;
}

/* --- The pipeline --- */

struct pipeline_time {
    struct stage_time slowest;
    int64_t slowest_stage;
    double bubble_s;
};

static struct pipeline_time pipeline_of(const struct training_parts *parts, const struct blocks *blocks)
{
    const struct training_plan *plan = parts->plan;
    const double more = (double)(plan->micro_batches - 1);
    double sum_s = 0.0, forward_s = 0.0, backward_s = 0.0, weight_s = 0.0;
    struct pipeline_time pipeline = {.bubble_s = 0.0};
    for (int64_t i = 0; i < plan->pipeline; i++) {
        const struct stage_time stage = stage_of(parts, blocks, i);
        const double ahead_s = training_time_s(&stage.forward) + 0.5 * stage.send_s;
        if (i == 0 || stage.sum_s > pipeline.slowest.sum_s) {
            pipeline.slowest = stage;
            pipeline.slowest_stage = i;
        }
        sum_s += stage.sum_s;
        weight_s += training_time_s(&stage.weight);
        forward_s = fmax(forward_s, ahead_s);
        backward_s = fmax(backward_s, stage.sum_s - ahead_s);
    }
    const double others_s = sum_s - pipeline.slowest.sum_s;
    const double others_weight_s = weight_s - training_time_s(&pipeline.slowest.weight);
    pipeline.bubble_s = others_s;
    if (plan->schedule == SCHEDULE_GPIPE) pipeline.bubble_s += more * (forward_s + backward_s - pipeline.slowest.sum_s);
    if (plan->schedule == SCHEDULE_INTERLEAVED) pipeline.bubble_s = others_s / (double)plan->chunks;
    if (plan->schedule == SCHEDULE_ZERO_BUBBLE) pipeline.bubble_s = fmax(others_s - 2.0 * others_weight_s, 0.0);
    return pipeline;
}

/* --- Data parallelism and the update --- */

struct reduction {
    double seconds, exposed_s, sent_bytes, outside_s;
};

/* Ranks with the same weights, `stride` apart, and how they share states. */
struct sharing {
    struct training_shards shards;
    int64_t replicas, stride;
    double parameters;
};

/* What ranks send for a step: for each micro-batch, layer by layer, and once at its end. */
struct traffic {
    struct reduction layer_weights, layer_gradients, end_gradients, end_weights;
    struct training_exchanges exchanges; /* of all */
};

/* `calls` equal collectives of some of these ranks, `bytes` together; `sum` is of the traffic. */
static void add_calls(const struct training_parts *parts, struct traffic *traffic, struct reduction *sum,
                      enum kernel_class class, struct training_group group, double bytes, double calls)
{
    const struct training_collective collective = training_collective_of(parts, class, group, bytes / calls);
    training_exchange_add(&traffic->exchanges, EXCHANGE_RING, group, calls * collective.exchanged_bytes);
    sum->seconds += calls * collective.seconds;
    sum->sent_bytes += calls * collective.sent_bytes;
    if (collective.outside) sum->outside_s += calls * collective.seconds;
}

/* `count` ranks that lie `inner` shards apart. */
static struct training_group group_of(const struct sharing *sharing, int64_t count, int64_t inner)
{
    return (struct training_group){count, sharing->stride * inner};
}

/* The end of a step of a program that sums all gradients on all ranks with the same shard of them, after which each
 * rank broadcasts the weights that it has updated, one rank after another (AMSP, T_os). A broadcast around a ring of n
 * takes n - 1 steps, and every link carries all of it: an all-gather of n/(n - 1) times as much. */
static void add_broadcasts(const struct training_parts *parts, const struct sharing *sharing, struct traffic *traffic)
{
    const struct training_shards shards = sharing->shards;
    const int64_t n = shards.optimizer / shards.weights, sums = sharing->replicas / shards.gradients;
    const double weight_bytes = parts->trainer->weight_bytes * sharing->parameters / (double)shards.weights;
    const double gradient_bytes = parts->trainer->gradient_bytes * sharing->parameters / (double)shards.gradients;
    if (sums > 1)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_ALL_REDUCE, group_of(sharing, sums, shards.gradients),
                  gradient_bytes, 1.0);
    if (n > 1)
        add_calls(parts, traffic, &traffic->end_weights, KERNEL_ALL_GATHER, group_of(sharing, n, shards.weights),
                  weight_bytes * (double)n / (double)(n - 1), (double)n);
}

static void add_sharing(const struct training_parts *parts, const struct sharing *sharing, double layers,
                        struct traffic *traffic)
{
    const struct training_shards shards = sharing->shards;
    const double weight_bytes = parts->trainer->weight_bytes * sharing->parameters;
    const double gradient_bytes = parts->trainer->gradient_bytes * sharing->parameters;
    const double batches = (double)parts->plan->micro_batches, calls = batches * layers;
    const int64_t w = shards.weights, g = shards.gradients, o = shards.optimizer;
    if (w > 1) {
        add_calls(parts, traffic, &traffic->layer_weights, KERNEL_ALL_GATHER, group_of(sharing, w, 1),
                  2.0 * batches * weight_bytes, 2.0 * calls);
        add_calls(parts, traffic, &traffic->layer_gradients, KERNEL_REDUCE_SCATTER, group_of(sharing, w, 1),
                  batches * gradient_bytes, calls);
    }
    if (g > w)
        add_calls(parts, traffic, &traffic->layer_gradients, KERNEL_REDUCE_SCATTER, group_of(sharing, g / w, w),
                  batches * gradient_bytes / (double)w, calls);
    if (parts->trainer->broadcasts) {
        add_broadcasts(parts, sharing, traffic);
        return;
    }
    if (o > g)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_REDUCE_SCATTER, group_of(sharing, o / g, g),
                  gradient_bytes / (double)g, 1.0);
    if (sharing->replicas > o)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_ALL_REDUCE,
                  group_of(sharing, sharing->replicas / o, o), gradient_bytes / (double)o, 1.0);
    if (o > w)
        add_calls(parts, traffic, &traffic->end_weights, KERNEL_ALL_GATHER, group_of(sharing, o / w, w),
                  weight_bytes / (double)w, 1.0);
}

static struct traffic traffic_of(const struct training_parts *parts, int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const struct training_parameters parameters = training_stage_parameters(parts, stage);
    const double layers = (double)training_plan_layers(plan, parts->llm);
    const int64_t replicas = training_plan_replicas(plan), expert_replicas = replicas / plan->expert;
    const struct sharing dense = {training_plan_shards(plan, replicas), replicas, plan->tensor, parameters.dense};
    const struct sharing expert = {training_plan_shards(plan, expert_replicas), expert_replicas,
                                   plan->tensor * plan->expert, parameters.expert};
    struct traffic traffic = {.exchanges.n = 0};
    add_sharing(parts, &dense, layers, &traffic);
    if (parameters.expert > 0.0) add_sharing(parts, &expert, layers, &traffic);
    return traffic;
}

/* What hides behind `cover_s` does not show, but for the part of one of `layers`. */
static double shown_s(double seconds, double cover_s, double layers, double overlap_frac)
{
    return fmax(seconds - overlap_frac * fmin(seconds, cover_s), seconds / layers);
}

/* `overlap_frac`: share that hides; 0: the plan overlaps nothing. */
static void add_shown(struct reduction *sum, const struct reduction *part, double overlap_frac, double cover_s,
                      double layers)
{
    sum->seconds += part->seconds;
    sum->sent_bytes += part->sent_bytes;
    sum->outside_s += part->outside_s;
    sum->exposed_s += shown_s(part->seconds, cover_s, layers, overlap_frac);
}

static struct reduction reduction_of(const struct training_parts *parts, const struct pipeline_time *pipeline)
{
    const struct training_plan *plan = parts->plan;
    const struct stage_time *stage = &pipeline->slowest;
    const double layers = (double)training_plan_layers(plan, parts->llm), batches = (double)plan->micro_batches;
    const double backward_s = training_time_s(&stage->backward) + training_time_s(&stage->weight) +
                              training_time_s(&stage->recompute);
    const double forward_s = training_time_s(&stage->forward);
    const double overlap_frac = parts->trainer->overlap_frac;
    const double weights_frac = plan->overlap_weights ? overlap_frac : 0.0;
    const double gradients_frac = plan->overlap_gradients ? overlap_frac : 0.0;
    const struct traffic traffic = traffic_of(parts, pipeline->slowest_stage);
    struct reduction sum = {0};
    add_shown(&sum, &traffic.layer_weights, weights_frac, batches * (forward_s + backward_s), batches * layers);
    add_shown(&sum, &traffic.layer_gradients, gradients_frac, batches * backward_s, batches * layers);
    add_shown(&sum, &traffic.end_gradients, gradients_frac, backward_s, layers);
    add_shown(&sum, &traffic.end_weights, weights_frac, forward_s, layers);
    return sum;
}

/* Of states in host memory: the CPUs of a node, and what they leave to its GPUs. */
static double host_update_s(const struct training_parts *parts, double own)
{
    const struct training_offload *offload = &parts->plan->offload;
    const int64_t gpus = training_plan_gpus(parts->plan), each = parts->plan->gpus_per_node;
    const double on_node = (double)(gpus < each ? gpus : each), moved = own * offload->optimizer_frac;
    const double gpu_frac = offload->gpu_stride > 1 ? 1.0 / (double)offload->gpu_stride : 0.0;
    if (!(moved > 0.0)) return 0.0;
    return fmax((1.0 - gpu_frac) * on_node * moved / offload->cpu_update_per_s,
                gpu_frac * moved * parts->trainer->optimizer_bytes / offload->link_bytes_per_s);
}

/* Gradients of states in host memory, in fp32. */
static double flush_s(const struct training_parts *parts, double own, double backward_s)
{
    const struct training_offload *offload = &parts->plan->offload;
    const double bytes = 4.0 * own * offload->optimizer_frac;
    if (!(bytes > 0.0)) return 0.0;
    return offload->blocks_flush ? bytes / offload->flush_bytes_per_s
                                 : fmax(bytes / offload->link_bytes_per_s - backward_s, 0.0);
}

/* Each rank updates its part. Before, it clears all its gradients and takes the norm of its part. */
static double update_bytes(const struct training_parts *parts, int64_t stage)
{
    const struct training_parameters all = training_stage_parameters(parts, stage);
    const struct training_tiers *tiers = &parts->plan->tiers;
    const double kept_frac = tiers->optimizer == HOME_GPU ? 1.0 - parts->plan->offload.optimizer_frac : 0.0;
    const double own = training_holdings_of(parts, stage).optimizer * kept_frac;
    const double cleared = tiers->gradients == HOME_GPU ? all.dense + all.expert : 0.0;
    return own * (parts->trainer->update_bytes + parts->trainer->gradient_bytes) +
           cleared * parts->trainer->gradient_bytes;
}

static double update_s(const struct training_parts *parts, int64_t stage)
{
    const double frac = parts->kernels->params[KERNEL_RESIDUAL].elementwise.bandwidth_frac;
    return update_bytes(parts, stage) / (fmin(frac, 1.0) * parts->gpu->memory_bytes_per_s);
}

/* --- FLOP --- */

static double forward_flop(const struct training_parts *parts)
{
    return training_plan_tokens(parts->plan) * llm_flop_per_token(parts->llm, parts->plan->sequence_tokens);
}

double training_model_flop(const struct training_parts *parts)
{
    return 3.0 * forward_flop(parts);
}

/* Of what is repeated: whole layers, or scores and their sums. */
static double repeated_flop(const struct training_parts *parts)
{
    const struct llm_spec *llm = parts->llm;
    const struct training_plan *plan = parts->plan;
    const double tokens = training_plan_tokens(plan), head = tokens * llm_head_flop(llm);
    const double layers_flop = forward_flop(parts) - head;
    const double share = (double)training_plan_recomputed(plan, llm) / (double)training_plan_layers(plan, llm);
    if (plan->recompute != RECOMPUTE_SELECTIVE || parts->trainer->flash_attention) return share * layers_flop;
    return tokens * (llm_flop_per_token(llm, plan->sequence_tokens) - llm_flop_per_token(llm, 0));
}

/* --- The step --- */

static void add_parts(struct training_step *step, const struct stage_time *stage, double batches)
{
    const struct training_time *const times[] = {&stage->forward, &stage->backward, &stage->weight, &stage->recompute};
    step->forward_s = batches * stage->forward.compute_s;
    step->backward_s = batches * (stage->backward.compute_s + stage->weight.compute_s);
    step->recompute_s = batches * stage->recompute.compute_s;
    for (int i = 0; i < 4; i++) {
        step->tensor_s += batches * times[i]->tensor_s;
        step->context_s += batches * times[i]->context_s;
        step->expert_s += batches * times[i]->expert_s;
        step->flop += batches * times[i]->flop;
        step->narrow_flop += batches * times[i]->narrow_flop;
        step->bytes += batches * times[i]->bytes;
        step->core_s += batches * times[i]->core_s;
    }
    step->pipeline_s = batches * stage->send_s;
    step->tensor_bytes = batches * stage->tensor_bytes;
    step->context_bytes = batches * stage->context_bytes;
    step->expert_bytes = batches * stage->expert_bytes;
}

/* States beyond the GPU. They have no pipeline, so that this stage is the only one. */
static void add_swaps(const struct training_parts *parts, const struct stage_time *stage, struct training_step *step)
{
    const double forward_s = training_time_s(&stage->forward);
    if (!training_tiers_used(&parts->plan->tiers)) return;
    const struct training_swaps swaps = training_swaps_of(
        parts, (struct training_passes){forward_s, stage->sum_s - forward_s});
    step->swap_s = swaps.wait_s;
    step->optimizer_s += swaps.update_s;
    step->up_bytes = swaps.up_bytes;
    step->down_bytes = swaps.down_bytes;
    step->read_bytes = swaps.read_bytes;
    step->written_bytes = swaps.written_bytes;
}

struct training_step training_step_of(const struct training_parts *parts, double reserve_frac)
{
    const struct training_plan *plan = parts->plan;
    const double batches = (double)plan->micro_batches, gpus = (double)training_plan_gpus(plan);
    const struct blocks blocks = blocks_of(parts);
    const struct pipeline_time pipeline = pipeline_of(parts, &blocks);
    const struct reduction reduction = reduction_of(parts, &pipeline);
    struct training_step step = {.slowest = pipeline.slowest_stage, .bubble_s = pipeline.bubble_s,
                                 .data_s = reduction.exposed_s, .data_bytes = reduction.sent_bytes,
                                 .host_s = parts->trainer->step_s};
    add_parts(&step, &pipeline.slowest, batches);
    const double own = training_holdings_of(parts, pipeline.slowest_stage).optimizer;
    const double passes_s = batches * pipeline.slowest.sum_s;
    step.update_s = update_s(parts, pipeline.slowest_stage);
    step.bytes += update_bytes(parts, pipeline.slowest_stage);
    step.passes_s = passes_s;
    step.optimizer_s = step.update_s + host_update_s(parts, own);
    step.flush_s = flush_s(parts, own, step.backward_s + step.recompute_s);
    add_swaps(parts, &pipeline.slowest, &step);
    step.step_s = passes_s + step.bubble_s + step.data_s + step.flush_s + step.swap_s + step.optimizer_s + step.host_s;
    const double priced_s = passes_s + reduction.seconds; /* sums in another order may differ in the last digit */
    step.outside_frac = fmin((batches * pipeline.slowest.outside_s + reduction.outside_s) / priced_s, 1.0);
    step.model_flop = training_model_flop(parts);
    step.hardware_flop = step.model_flop + repeated_flop(parts);
    const double peak = gpus * gpu_peak_flop_per_s(parts->gpu, plan->compute);
    step.mfu = step.model_flop / (step.step_s * peak);
    step.hfu = step.hardware_flop / (step.step_s * peak);
    step.flop_per_s = step.hardware_flop / (step.step_s * gpus);
    step.memory = training_memory_of(parts);
    step.lacks = training_memory_lacks(parts, &step.memory, reserve_frac);
    step.fits = step.lacks == TRAINING_HOMES;
    return step;
}

/* --- Exchanges --- */

static void exchange_stage(const struct training_parts *parts, const struct blocks *blocks, int64_t stage,
                           struct training_exchanges *out)
{
    const struct training_plan *plan = parts->plan;
    const struct stage_time time = stage_of(parts, blocks, stage);
    const double batches = (double)plan->micro_batches, sends = batches * (double)plan->chunks;
    const bool exchanges_heads = plan->context_form == CONTEXT_ALL_TO_ALL;
    struct training_time sum = {.compute_s = 0.0};
    *out = traffic_of(parts, stage).exchanges;
    training_time_add(&sum, batches, &time.forward);
    training_time_add(&sum, batches, &time.backward);
    training_time_add(&sum, batches, &time.weight);
    training_time_add(&sum, batches, &time.recompute);
    training_exchange_add(out, EXCHANGE_RING, training_tensor_group(plan),
                          sum.tensor_sent + 2.0 * sends * blocks->gather_bytes);
    training_exchange_add(out, exchanges_heads ? EXCHANGE_ALL_TO_ALL : EXCHANGE_SHIFT, training_context_group(plan),
                          sum.context_sent);
    training_exchange_add(out, EXCHANGE_ALL_TO_ALL, training_expert_group(plan), sum.expert_sent);
    if (plan->pipeline == 1) return;
    out->of[out->n++] = (struct training_exchange){.kind = EXCHANGE_STAGES, .group = training_stages_group(plan),
                                                   .bytes = sends * blocks->send_bytes,
                                                   .wrap_bytes = (sends - batches) * blocks->send_bytes};
}

void training_exchanges_of(const struct training_parts *parts, struct training_exchanges *stages)
{
    const struct blocks blocks = blocks_of(parts);
    for (int64_t i = 0; i < parts->plan->pipeline; i++) exchange_stage(parts, &blocks, i, &stages[i]);
}
