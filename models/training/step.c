#include "models/training/step.h"

#include "models/training/context.h"
#include "models/training/mixed.h"
#include "models/training/reduction.h"
#include "models/training/tiers.h"

#include <math.h>

/* --- The pipeline --- */

/* The slowest stage of those whose data ranks have one network. */
struct network_class {
    double network_bytes_per_s;
    struct training_stage slowest;
    int64_t stage;
};

struct pipeline_time {
    struct training_stage slowest;
    int64_t slowest_stage;
    double bubble_s;
    struct network_class classes[TRAINING_CLUSTERS];
    int64_t n_classes;
};

static void add_to_class(const struct training_plan *plan, int64_t stage, const struct training_stage *time,
                         struct pipeline_time *pipeline)
{
    const double network = training_nics_data_network(plan, training_nics_cluster(plan, stage));
    int64_t i = 0;
    while (i < pipeline->n_classes && pipeline->classes[i].network_bytes_per_s != network) i++;
    if (i < pipeline->n_classes && time->sum_s <= pipeline->classes[i].slowest.sum_s) return;
    if (i == pipeline->n_classes) pipeline->n_classes++;
    pipeline->classes[i] = (struct network_class){network, *time, stage};
}

static struct pipeline_time pipeline_of(const struct training_parts *parts, const struct training_priced *priced)
{
    const struct training_plan *plan = parts->plan;
    const double more = (double)(plan->micro_batches - 1);
    double sum_s = 0.0, forward_s = 0.0, backward_s = 0.0, weight_s = 0.0;
    struct pipeline_time pipeline = {.bubble_s = 0.0};
    for (int64_t i = 0; i < plan->pipeline; i++) {
        const struct training_stage stage = training_stage_of(parts, priced, i);
        const double ahead_s = training_time_s(&stage.forward) + 0.5 * stage.send_s;
        if (i == 0 || stage.sum_s > pipeline.slowest.sum_s) {
            pipeline.slowest = stage;
            pipeline.slowest_stage = i;
        }
        add_to_class(plan, i, &stage, &pipeline);
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

/* --- The update --- */

static double gpu_update_frac(const struct training_offload *offload)
{
    return offload->gpu_stride > 1 ? 1.0 / (double)offload->gpu_stride : 0.0;
}

/* Of states in host memory: the CPUs of a node, and what they leave to its GPUs. */
static double host_update_s(const struct training_parts *parts, double own)
{
    const struct training_offload *offload = &parts->plan->offload;
    const struct training_link_shares left = training_shares_of(parts->plan);
    const int64_t gpus = training_plan_gpus(parts->plan), each = parts->plan->gpus_per_node;
    const double on_node = (double)(gpus < each ? gpus : each), moved = own * offload->optimizer_frac;
    const double gpu_frac = gpu_update_frac(offload);
    if (!(moved > 0.0)) return 0.0;
    return fmax((1.0 - gpu_frac) * on_node * moved / offload->cpu_update_per_s,
                gpu_frac * moved * parts->trainer->optimizer_bytes /
                    (fmin(left.up, left.down) * offload->link_bytes_per_s));
}

/* `update_s` of CPUs adds to the step, or runs beside the next one: then a step lasts as long as the longer one. */
static void add_host_update(const struct training_plan *plan, double update_s, struct training_step *step)
{
    const double shown_s = plan->offload.is_delayed ? fmax(update_s - step->step_s, 0.0) : update_s;
    step->optimizer_s += shown_s;
    step->step_s += shown_s;
}

/* Gradients of states in host memory, in fp32. */
static double flushed_bytes(const struct training_parts *parts, double own)
{
    return 4.0 * own * parts->plan->offload.optimizer_frac;
}

/* A flush that blocks has its own rate, and never more than the link, or others, leave it. */
static double flush_s(const struct training_parts *parts, double own, double backward_s)
{
    const struct training_offload *offload = &parts->plan->offload;
    const double bytes = flushed_bytes(parts, own), down = training_shares_of(parts->plan).down;
    const double link_bytes_per_s = down * offload->link_bytes_per_s;
    if (!(bytes > 0.0)) return 0.0;
    if (!offload->blocks_flush) return fmax(bytes / link_bytes_per_s - backward_s, 0.0);
    return bytes / fmin(offload->flush_bytes_per_s, link_bytes_per_s);
}

/* Each rank updates its part. Before, it clears all its gradients and takes the norm of its part. */
static double update_bytes(const struct training_parts *parts, int64_t stage)
{
    const struct training_parameters all = training_stage_parameters(parts, stage);
    const struct training_tiers *tiers = &parts->plan->tiers;
    const double persistent = 1.0 - training_moving_frac(parts);
    const double kept_frac = tiers->optimizer == HOME_GPU ? 1.0 - parts->plan->offload.optimizer_frac : persistent;
    const double own = training_holdings_of(parts, stage).optimizer * kept_frac;
    const double cleared = (tiers->gradients == HOME_GPU ? 1.0 : persistent) * (all.dense + all.expert);
    return own * (parts->trainer->update_bytes + parts->trainer->gradient_bytes) +
           cleared * parts->trainer->gradient_bytes;
}

static double update_s(const struct training_parts *parts, int64_t stage)
{
    const double frac = parts->kernels->params[KERNEL_RESIDUAL].elementwise.bandwidth_frac;
    return update_bytes(parts, stage) / (fmin(frac, 1.0) * parts->gpu->memory_bytes_per_s);
}

/* The reduction and the update of the stage that ends last: of the slowest stages of each network. */
struct ending {
    struct training_reduction reduction;
    double update_s;
    int64_t stage;
};

static double ending_s(const struct ending *ending)
{
    return ending->reduction.exposed_s + ending->reduction.quantise_s + ending->update_s;
}

static struct training_cover cover_of(const struct training_stage *stage)
{
    const struct training_time *backward[] = {&stage->backward, &stage->weight, &stage->recompute};
    struct training_cover cover = {.forward_s = training_time_s(&stage->forward)};
    for (int i = 0; i < 3; i++) {
        cover.backward_s += training_time_s(backward[i]);
        cover.network_s += backward[i]->network_s;
    }
    return cover;
}

static struct ending ending_of(const struct training_parts *parts, const struct pipeline_time *pipeline)
{
    struct ending last = {.stage = pipeline->slowest_stage};
    for (int64_t i = 0; i < pipeline->n_classes; i++) {
        const struct network_class *class = &pipeline->classes[i];
        const struct training_stage_size size = training_stage_size_of(parts, class->stage);
        const struct training_cover cover = cover_of(&class->slowest);
        struct training_elsewhere elsewhere;
        const struct training_parts *there = training_parts_on(parts, class->network_bytes_per_s, &elsewhere);
        elsewhere.plan.gpus_per_node = training_nics_node_gpus(parts->plan);
        const struct ending ending = {
            training_reduction_of(there, &cover, &size),
            update_s(parts, class->stage), class->stage};
        if (i == 0 || ending_s(&ending) > ending_s(&last)) last = ending;
    }
    return last;
}

/* --- Layers of clusters --- */

static struct training_stage_size mean_stage(const struct training_parts *parts)
{
    const double layers = (double)parts->llm->layers, each = layers / (double)parts->plan->pipeline;
    const double sparse = parts->llm->experts > 0 ? layers - (double)parts->llm->dense_layers : 0.0;
    struct training_stage_size size = {.layers = each};
    if (layers > sparse) {
        const struct training_parameters dense = training_block_parameters(parts, BLOCK_DENSE);
        size.parameters.dense += each * (layers - sparse) / layers * dense.dense;
    }
    if (sparse > 0.0) {
        const struct training_parameters one = training_block_parameters(parts, BLOCK_SPARSE);
        size.parameters.dense += each * sparse / layers * one.dense;
        size.parameters.expert += each * sparse / layers * one.expert;
    }
    return size;
}

void training_layer_costs_of(const struct training_parts *parts, struct training_layer_cost costs[TRAINING_CLUSTERS])
{
    const struct training_plan *plan = parts->plan;
    struct training_priced priced;
    training_blocks_of(parts, &priced);
    for (int64_t c = 0; c < training_nics_clusters(plan); c++) {
        const struct training_stage layer = training_mean_layer(parts, &priced.in[c]);
        const struct training_stage_size size = mean_stage(parts);
        const struct training_cover one = cover_of(&layer);
        const struct training_cover cover = {size.layers * one.forward_s, size.layers * one.backward_s,
                                             size.layers * one.network_s};
        struct training_elsewhere elsewhere;
        const struct training_parts *there = training_parts_on(parts, training_nics_data_network(plan, c), &elsewhere);
        const struct training_reduction reduction = training_reduction_of(there, &cover, &size);
        costs[c] = (struct training_layer_cost){one.forward_s + one.backward_s,
                                                (reduction.exposed_s + reduction.quantise_s) / size.layers};
    }
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
    double recomputed = 0.0;
    for (int64_t i = 0; i < plan->pipeline; i++) recomputed += (double)training_plan_recomputed(plan, llm, i);
    const double share = recomputed / (double)llm->layers;
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

/* States beyond the GPU. They have no pipeline, so that this stage is the only one. */
static void add_swaps(const struct training_parts *parts, const struct training_stage *stage,
                      struct training_step *step)
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
    const double gpus = (double)training_plan_gpus(plan);
    struct training_priced priced;
    training_blocks_of(parts, &priced);
    const struct pipeline_time pipeline = pipeline_of(parts, &priced);
    const struct passes passes = passes_of(parts, &pipeline);
    const struct ending ending = ending_of(parts, &pipeline);
    const struct training_reduction reduction = ending.reduction;
    struct training_step step = {.slowest = pipeline.slowest_stage, .bubble_s = passes.bubble_s,
                                 .bound_s = passes.bound_s, .width = passes.width, .static_frac = passes.static_frac,
                                 .data_s = reduction.exposed_s, .data_bytes = reduction.sent_bytes,
                                 .quantise_s = reduction.quantise_s,
                                 .host_s = parts->trainer->step_s};
    add_parts(&step, &passes.stage, passes.batches);
    const double own = training_holdings_of(parts, ending.stage).optimizer;
    const double passes_s = passes.batches * passes.stage.sum_s;
    const struct training_block *experts = &priced.in[training_nics_cluster(plan, step.slowest)].of[BLOCK_SPARSE];
    step.forward_parts = experts->forward_parts;
    step.backward_parts = experts->backward_parts;
    step.update_s = ending.update_s;
    step.bytes += update_bytes(parts, ending.stage) + reduction.quantise_bytes;
    step.passes_s = passes_s;
    step.optimizer_s = step.update_s;
    step.flush_s = flush_s(parts, own, step.backward_s + step.recompute_s);
    step.fetched_bytes = gpu_update_frac(&plan->offload) * own * plan->offload.optimizer_frac *
                         parts->trainer->optimizer_bytes;
    step.flushed_bytes = flushed_bytes(parts, own) + step.fetched_bytes;
    add_swaps(parts, &passes.stage, &step);
    step.step_s = passes_s + step.bubble_s + step.data_s + step.quantise_s + step.flush_s + step.swap_s +
                  step.optimizer_s + step.host_s;
    add_host_update(plan, host_update_s(parts, own), &step);
    /* sums in another order may differ in the last digit */
    const double priced_s = passes_s + reduction.seconds + reduction.quantise_s;
    step.outside_frac = fmin((passes.batches * passes.stage.outside_s + reduction.outside_s) / priced_s, 1.0);
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

static void exchange_stage(const struct training_parts *parts, const struct training_priced *priced, int64_t stage,
                           struct training_exchanges *out)
{
    const struct training_plan *plan = parts->plan;
    const struct training_blocks *blocks = &priced->in[0];
    const struct training_stage time = training_stage_of(parts, priced, stage);
    const struct training_stage_size size = training_stage_size_of(parts, stage);
    const double batches = (double)plan->micro_batches, sends = batches * (double)plan->chunks;
    const bool exchanges_heads = plan->context_form == CONTEXT_ALL_TO_ALL;
    struct training_time sum = {.compute_s = 0.0};
    *out = training_reduction_exchanges(parts, &size);
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
    struct training_priced priced;
    training_blocks_of(parts, &priced);
    for (int64_t i = 0; i < parts->plan->pipeline; i++) exchange_stage(parts, &priced, i, &stages[i]);
}
