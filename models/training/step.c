#include "models/training/step.h"

#include "models/training/context.h"
#include "models/training/expert_pipeline.h"
#include "models/training/mixed.h"

#include <math.h>

/* --- The pipeline --- */

struct pipeline_time {
    struct training_stage slowest;
    int64_t slowest_stage;
    double bubble_s;
};

static struct pipeline_time pipeline_of(const struct training_parts *parts, const struct training_blocks *blocks)
{
    const struct training_plan *plan = parts->plan;
    const double more = (double)(plan->micro_batches - 1);
    double sum_s = 0.0, forward_s = 0.0, backward_s = 0.0, weight_s = 0.0;
    struct pipeline_time pipeline = {.bubble_s = 0.0};
    for (int64_t i = 0; i < plan->pipeline; i++) {
        const struct training_stage stage = training_stage_of(parts, blocks, i);
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
static void add_broadcasts(const struct training_parts *parts, const struct sharing *sharing, double end_calls,
                           struct traffic *traffic)
{
    const struct training_shards shards = sharing->shards;
    const int64_t n = shards.optimizer / shards.weights, sums = sharing->replicas / shards.gradients;
    const double weight_bytes = parts->trainer->weight_bytes * sharing->parameters / (double)shards.weights;
    const double gradient_bytes = parts->trainer->gradient_bytes * sharing->parameters / (double)shards.gradients;
    if (sums > 1)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_ALL_REDUCE, group_of(sharing, sums, shards.gradients),
                  gradient_bytes, end_calls);
    if (n > 1)
        add_calls(parts, traffic, &traffic->end_weights, KERNEL_ALL_GATHER, group_of(sharing, n, shards.weights),
                  weight_bytes * (double)n / (double)(n - 1), (double)n);
}

static void add_sharing(const struct training_parts *parts, const struct sharing *sharing, double layers,
                        double end_calls, struct traffic *traffic)
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
        add_broadcasts(parts, sharing, end_calls, traffic);
        return;
    }
    if (o > g)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_REDUCE_SCATTER, group_of(sharing, o / g, g),
                  gradient_bytes / (double)g, end_calls);
    if (sharing->replicas > o)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_ALL_REDUCE,
                  group_of(sharing, sharing->replicas / o, o), gradient_bytes / (double)o, end_calls);
    if (o > w)
        add_calls(parts, traffic, &traffic->end_weights, KERNEL_ALL_GATHER, group_of(sharing, o / w, w),
                  weight_bytes / (double)w, 1.0);
}

/* `end_calls`: messages of a kind that gradients are sent in at the end of a step. */
static struct traffic traffic_of(const struct training_parts *parts, int64_t stage, double end_calls)
{
    const struct training_plan *plan = parts->plan;
    const struct training_parameters parameters = training_stage_parameters(parts, stage);
    const double layers = (double)training_plan_layers(plan, parts->llm);
    const int64_t replicas = training_plan_replicas(plan), expert_replicas = replicas / plan->expert;
    const struct sharing dense = {training_plan_shards(plan, replicas), replicas, plan->tensor, parameters.dense};
    const struct sharing expert = {training_plan_shards(plan, expert_replicas), expert_replicas,
                                   plan->tensor * plan->expert, parameters.expert};
    struct traffic traffic = {.exchanges.n = 0};
    add_sharing(parts, &dense, layers, end_calls, &traffic);
    if (parameters.expert > 0.0) add_sharing(parts, &expert, layers, end_calls, &traffic);
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

/* Seconds that gradients in parts save, in the fastest number of messages per layer: they go between other messages of
 * the last backward pass (Pan et al. 2025, FSMoE). Rings inside nodes gain nothing here. */
static double saved_by_parts_s(const struct training_parts *parts, const struct pipeline_time *pipeline,
                               const struct reduction *at_once, double backward_s)
{
    const struct training_plan *plan = parts->plan;
    const struct training_stage *stage = &pipeline->slowest;
    const int64_t layers = training_plan_layers(plan, parts->llm);
    const double busy_s = stage->backward.network_s + stage->weight.network_s + stage->recompute.network_s;
    const double gap_s = fmax(backward_s - busy_s, 0.0) / (double)layers;
    double saved_s = 0.0;
    if (plan->lengths != NULL) return 0.0; /* gaps of passes of unlike length are not known */
    if (!training_collective_is_far(parts, KERNEL_ALL_REDUCE, training_replica_group(plan))) return 0.0;
    for (int64_t n = 1; n <= plan->gradient_parts; n++) {
        const double calls = (double)(n * layers);
        const double seconds = traffic_of(parts, pipeline->slowest_stage, calls).end_gradients.seconds;
        saved_s = fmax(saved_s, at_once->seconds - expert_gradients_s(layers, n, seconds / calls, gap_s));
    }
    return saved_s;
}

static struct reduction reduction_of(const struct training_parts *parts, const struct pipeline_time *pipeline)
{
    const struct training_plan *plan = parts->plan;
    const struct training_stage *stage = &pipeline->slowest;
    const double layers = (double)training_plan_layers(plan, parts->llm), batches = (double)plan->micro_batches;
    const double backward_s = training_time_s(&stage->backward) + training_time_s(&stage->weight) +
                              training_time_s(&stage->recompute);
    const double forward_s = training_time_s(&stage->forward);
    const double overlap_frac = parts->trainer->overlap_frac;
    const double weights_frac = plan->overlap_weights ? overlap_frac : 0.0;
    const double gradients_frac = plan->overlap_gradients ? overlap_frac : 0.0;
    const struct traffic traffic = traffic_of(parts, pipeline->slowest_stage, 1.0);
    struct reduction sum = {0};
    add_shown(&sum, &traffic.layer_weights, weights_frac, batches * (forward_s + backward_s), batches * layers);
    add_shown(&sum, &traffic.layer_gradients, gradients_frac, batches * backward_s, batches * layers);
    add_shown(&sum, &traffic.end_gradients, gradients_frac, backward_s, layers);
    sum.exposed_s -= saved_by_parts_s(parts, pipeline, &traffic.end_gradients, backward_s);
    add_shown(&sum, &traffic.end_weights, weights_frac, forward_s, layers);
    return sum;
}

/* Parameters of which a rank owns the optimizer's states. */
static double owned(const struct training_parts *parts, int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const struct training_parameters all = training_stage_parameters(parts, stage);
    const int64_t replicas = training_plan_replicas(plan);
    const struct training_shards dense = training_plan_shards(plan, replicas);
    const struct training_shards expert = training_plan_shards(plan, replicas / plan->expert);
    return all.dense / (double)dense.optimizer + all.expert / (double)expert.optimizer;
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
    const double own = owned(parts, stage) * (1.0 - parts->plan->offload.optimizer_frac);
    return own * (parts->trainer->update_bytes + parts->trainer->gradient_bytes) +
           (all.dense + all.expert) * parts->trainer->gradient_bytes;
}

static double update_s(const struct training_parts *parts, int64_t stage)
{
    const double frac = parts->kernels->params[KERNEL_RESIDUAL].elementwise.bandwidth_frac;
    return update_bytes(parts, stage) / (fmin(frac, 1.0) * parts->gpu->memory_bytes_per_s);
}

/* --- FLOP --- */

/* Layers with linear attention have the operations of a window instead of those of the whole sequence. */
static double flop_per_token(const struct training_parts *parts, int64_t sequence_tokens)
{
    const struct llm_spec *llm = parts->llm;
    const double width = (double)(llm->q_heads * (llm_key_dim(llm) + llm_value_dim(llm)));
    const double spared = (double)sequence_tokens - training_linear_window(llm, 1.0);
    return llm_flop_per_token(llm, sequence_tokens) - 2.0 * (double)parts->plan->linear_layers * width * spared;
}

static double forward_flop(const struct training_parts *parts)
{
    const struct training_lengths *lengths = parts->plan->lengths;
    double sum = 0.0;
    if (lengths == NULL) return training_plan_tokens(parts->plan) * flop_per_token(parts, parts->plan->sequence_tokens);
    for (int64_t i = 0; i < lengths->batches * lengths->sequences; i++)
        sum += (double)lengths->tokens[i] * flop_per_token(parts, lengths->tokens[i]);
    return sum / (double)lengths->batches;
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
    return tokens * (flop_per_token(parts, plan->sequence_tokens) - llm_flop_per_token(llm, 0));
}

/* --- The step --- */

static void add_parts(struct training_step *step, const struct training_stage *stage, double batches)
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

/* What the slowest stage computes and sends in a step: all micro-batches, or packs of unlike sequences. */
struct passes {
    struct training_stage stage;
    double batches, bubble_s, bound_s, width, static_frac;
};

static struct passes passes_of(const struct training_parts *parts, const struct pipeline_time *pipeline)
{
    if (parts->plan->lengths == NULL)
        return (struct passes){pipeline->slowest, (double)parts->plan->micro_batches, pipeline->bubble_s, 0.0, 0.0, 0.0};
    const struct training_mixed mixed = training_mixed_of(parts);
    return (struct passes){mixed.work, 1.0, mixed.waits_s, mixed.bound_s, mixed.width, mixed.static_frac};
}

struct training_step training_step_of(const struct training_parts *parts, double reserve_frac)
{
    const struct training_plan *plan = parts->plan;
    const double gpus = (double)training_plan_gpus(plan);
    const struct training_blocks blocks = training_blocks_of(parts);
    const struct pipeline_time pipeline = pipeline_of(parts, &blocks);
    const struct passes passes = passes_of(parts, &pipeline);
    const struct reduction reduction = reduction_of(parts, &pipeline);
    struct training_step step = {.slowest = pipeline.slowest_stage, .bubble_s = passes.bubble_s,
                                 .bound_s = passes.bound_s, .width = passes.width, .static_frac = passes.static_frac,
                                 .data_s = reduction.exposed_s, .data_bytes = reduction.sent_bytes,
                                 .host_s = parts->trainer->step_s};
    add_parts(&step, &passes.stage, passes.batches);
    const double own = owned(parts, pipeline.slowest_stage), passes_s = passes.batches * passes.stage.sum_s;
    step.forward_parts = blocks.of[BLOCK_SPARSE].forward_parts;
    step.backward_parts = blocks.of[BLOCK_SPARSE].backward_parts;
    step.update_s = update_s(parts, pipeline.slowest_stage);
    step.bytes += update_bytes(parts, pipeline.slowest_stage);
    step.passes_s = passes_s;
    step.optimizer_s = step.update_s + host_update_s(parts, own);
    step.flush_s = flush_s(parts, own, step.backward_s + step.recompute_s);
    step.step_s = passes_s + step.bubble_s + step.data_s + step.flush_s + step.optimizer_s + step.host_s;
    const double priced_s = passes_s + reduction.seconds; /* sums in another order may differ in the last digit */
    step.outside_frac = fmin((passes.batches * passes.stage.outside_s + reduction.outside_s) / priced_s, 1.0);
    step.model_flop = training_model_flop(parts);
    step.hardware_flop = step.model_flop + repeated_flop(parts);
    const double peak = gpus * gpu_peak_flop_per_s(parts->gpu, plan->compute);
    step.mfu = step.model_flop / (step.step_s * peak);
    step.hfu = step.hardware_flop / (step.step_s * peak);
    step.flop_per_s = step.hardware_flop / (step.step_s * gpus);
    step.memory = training_memory_of(parts);
    step.fits = step.memory.total_bytes <= parts->gpu->memory_bytes * (1.0 - reserve_frac);
    return step;
}

/* --- Exchanges --- */

static void exchange_stage(const struct training_parts *parts, const struct training_blocks *blocks, int64_t stage,
                           struct training_exchanges *out)
{
    const struct training_plan *plan = parts->plan;
    const struct training_stage time = training_stage_of(parts, blocks, stage);
    const double batches = (double)plan->micro_batches, sends = batches * (double)plan->chunks;
    const bool exchanges_heads = plan->context_form == CONTEXT_ALL_TO_ALL;
    struct training_time sum = {.compute_s = 0.0};
    *out = traffic_of(parts, stage, 1.0).exchanges;
    training_time_add(&sum, batches, &time.forward);
    training_time_add(&sum, batches, &time.backward);
    training_time_add(&sum, batches, &time.weight);
    training_time_add(&sum, batches, &time.recompute);
    training_exchange_add(out, EXCHANGE_RING, training_tensor_group(plan),
                          sum.tensor_sent + 2.0 * sends * blocks->gather_bytes);
    training_exchange_add(out, exchanges_heads ? EXCHANGE_ALL_TO_ALL : EXCHANGE_SHIFT, training_context_group(plan),
                          sum.context_sent);
    training_exchange_add(out, EXCHANGE_ALL_TO_ALL, training_context_group(plan), sum.returned_sent);
    training_exchange_add(out, EXCHANGE_RING, training_context_group(plan), sum.state_sent);
    training_exchange_add(out, EXCHANGE_ALL_TO_ALL, training_expert_group(plan), sum.expert_sent);
    if (plan->pipeline == 1) return;
    out->of[out->n++] = (struct training_exchange){.kind = EXCHANGE_STAGES, .group = training_stages_group(plan),
                                                   .bytes = sends * blocks->send_bytes,
                                                   .wrap_bytes = (sends - batches) * blocks->send_bytes};
}

void training_exchanges_of(const struct training_parts *parts, struct training_exchanges *stages)
{
    const struct training_blocks blocks = training_blocks_of(parts);
    for (int64_t i = 0; i < parts->plan->pipeline; i++) exchange_stage(parts, &blocks, i, &stages[i]);
}
