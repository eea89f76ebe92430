#include "models/training/step.h"

#include "models/training/reduction.h"
#include "models/training/tiers.h"

#include <math.h>

/* Blocks of the model, and times of a pass of one micro-batch through a stage. */
struct blocks {
    struct training_block of[BLOCK_KINDS];
    double send_s[2]; /* of a hidden state to the next stage, exposed, once: on the same node, on another one */
    double send_bytes, gather_bytes; /* that a rank sends to the next stage, and then to its tensor group */
    bool send_outside[2];
};

/* Blocks in each cluster (nics.h), of which `between` has only what is sent from one to the next. */
struct priced_blocks {
    struct blocks in[TRAINING_CLUSTERS], between;
};

/* The plan on another network. */
struct other_network {
    struct training_plan plan;
    struct training_parts parts;
};

struct stage_time {
    struct training_time forward, backward, weight, recompute; /* backward: without products of weight gradients */
    double send_s, send_outside_s; /* messages to other stages */
    double sum_s;  /* of all */
    double tensor_bytes, context_bytes, expert_bytes;
    double outside_s;
};

/* --- Stages --- */

/* *other outlives what it returns. */
static const struct training_parts *parts_on(const struct training_parts *parts, double network_bytes_per_s,
                                             struct other_network *other)
{
    if (parts->plan->nics.n == 0) return parts;
    other->plan = *parts->plan;
    other->plan.network_bytes_per_s = network_bytes_per_s;
    other->parts = *parts;
    other->parts.plan = &other->plan;
    return &other->parts;
}

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

/* What a stage and the next one send to each other, of the last one with the first. */
static const struct blocks *blocks_at(const struct training_plan *plan, const struct priced_blocks *priced,
                                      int64_t stage)
{
    const int64_t cluster = training_nics_cluster(plan, stage), next = training_nics_cluster(plan, stage + 1);
    return cluster == next ? &priced->in[cluster] : &priced->between;
}

/* A stage sends hidden states ahead and gradients back. The ends of a pipeline that is not interleaved have one
 * neighbour, with which they exchange both. */
static void add_sends(const struct training_plan *plan, const struct priced_blocks *priced, int64_t stage,
                      struct stage_time *time)
{
    const int64_t last = plan->pipeline - 1;
    const bool wraps = plan->schedule == SCHEDULE_INTERLEAVED;
    const int64_t borders[] = {stage < last ? stage
                               : wraps      ? last
                                            : last - 1,
                               stage > 0 ? stage - 1
                               : wraps   ? last
                                         : 0};
    for (int way = 0; way < 2; way++) {
        const struct blocks *blocks = blocks_at(plan, priced, borders[way]);
        const bool is_far = training_stage_is_far(plan, borders[way]);
        const double seconds = (double)plan->chunks * blocks->send_s[is_far];
        time->send_s += seconds;
        if (blocks->send_outside[is_far]) time->send_outside_s += seconds;
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

static struct stage_time stage_of(const struct training_parts *parts, const struct priced_blocks *priced, int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const struct blocks *blocks = &priced->in[training_nics_cluster(plan, stage)];
    const struct training_stage_layers layers = training_stage_layers(parts, stage);
    const double recomputed = (double)training_plan_recomputed(plan, parts->llm, stage) /
                              (layers.dense + layers.sparse);
    const bool selective = plan->recompute == RECOMPUTE_SELECTIVE && !parts->trainer->flash_attention;
    struct stage_time time = {.send_s = 0.0};
    add_block(&time, layers.dense, &blocks->of[BLOCK_DENSE], recomputed, selective);
    add_block(&time, layers.sparse, &blocks->of[BLOCK_SPARSE], recomputed, selective);
    if (stage == 0) add_block(&time, 1.0, &blocks->of[BLOCK_EMBEDDING], 0.0, false);
    if (stage == plan->pipeline - 1) add_block(&time, 1.0, &blocks->of[BLOCK_HEAD], 0.0, false);
    if (plan->pipeline > 1) add_sends(plan, priced, stage, &time);
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

static void price_blocks(const struct training_parts *parts, struct priced_blocks *priced)
{
    const struct training_plan *plan = parts->plan;
    struct other_network other;
    for (int64_t i = 0; i < training_nics_clusters(plan); i++)
        priced->in[i] = blocks_of(parts_on(parts, training_nics_network(plan, i), &other));
    priced->between = (struct blocks){.send_bytes = 0.0};
    if (training_nics_clusters(plan) > 1)
        price_send(parts_on(parts, plan->nics.between_bytes_per_s, &other), &priced->between);
}

/* --- The pipeline --- */

/* The slowest stage of those whose data ranks have one network. */
struct network_class {
    double network_bytes_per_s;
    struct stage_time slowest;
    int64_t stage;
};

struct pipeline_time {
    struct stage_time slowest;
    int64_t slowest_stage;
    double bubble_s;
    struct network_class classes[TRAINING_CLUSTERS];
    int64_t n_classes;
};

static void add_to_class(const struct training_plan *plan, int64_t stage, const struct stage_time *time,
                         struct pipeline_time *pipeline)
{
    const double network = training_nics_data_network(plan, training_nics_cluster(plan, stage));
    int64_t i = 0;
    while (i < pipeline->n_classes && pipeline->classes[i].network_bytes_per_s != network) i++;
    if (i < pipeline->n_classes && time->sum_s <= pipeline->classes[i].slowest.sum_s) return;
    if (i == pipeline->n_classes) pipeline->n_classes++;
    pipeline->classes[i] = (struct network_class){network, *time, stage};
}

static struct pipeline_time pipeline_of(const struct training_parts *parts, const struct priced_blocks *priced)
{
    const struct training_plan *plan = parts->plan;
    const double more = (double)(plan->micro_batches - 1);
    double sum_s = 0.0, forward_s = 0.0, backward_s = 0.0, weight_s = 0.0;
    struct pipeline_time pipeline = {.bubble_s = 0.0};
    for (int64_t i = 0; i < plan->pipeline; i++) {
        const struct stage_time stage = stage_of(parts, priced, i);
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

/* The reduction and the update of the stage that ends last: of the slowest stages of each network. */
struct ending {
    struct training_reduction reduction;
    double update_s;
    int64_t stage;
};

static struct training_cover cover_of(const struct stage_time *stage)
{
    return (struct training_cover){training_time_s(&stage->forward), training_time_s(&stage->backward) +
                                                                         training_time_s(&stage->weight) +
                                                                         training_time_s(&stage->recompute)};
}

static struct ending ending_of(const struct training_parts *parts, const struct pipeline_time *pipeline)
{
    struct ending last = {.stage = pipeline->slowest_stage};
    for (int64_t i = 0; i < pipeline->n_classes; i++) {
        const struct network_class *class = &pipeline->classes[i];
        const struct training_stage_size size = training_stage_size_of(parts, class->stage);
        const struct training_cover cover = cover_of(&class->slowest);
        struct other_network other;
        const struct training_parts *there = parts_on(parts, class->network_bytes_per_s, &other);
        other.plan.gpus_per_node = training_nics_node_gpus(parts->plan);
        const struct ending ending = {
            training_reduction_of(there, &cover, &size),
            update_s(parts, class->stage), class->stage};
        if (i == 0 || ending.reduction.exposed_s + ending.update_s > last.reduction.exposed_s + last.update_s)
            last = ending;
    }
    return last;
}

/* --- Layers of clusters --- */

/* The mean layer of the LLM, with its share of recomputation, in a cluster. */
static struct stage_time mean_layer(const struct training_parts *parts, const struct blocks *blocks)
{
    const struct training_plan *plan = parts->plan;
    const double layers = (double)parts->llm->layers;
    const double sparse = parts->llm->experts > 0 ? layers - (double)parts->llm->dense_layers : 0.0;
    const double each = layers / (double)plan->pipeline, given = (double)plan->recompute_layers;
    const double recomputed = plan->recompute != RECOMPUTE_FULL ? 0.0 : given > 0.0 ? fmin(given / each, 1.0) : 1.0;
    const bool selective = plan->recompute == RECOMPUTE_SELECTIVE && !parts->trainer->flash_attention;
    struct stage_time time = {.send_s = 0.0};
    add_block(&time, (layers - sparse) / layers, &blocks->of[BLOCK_DENSE], recomputed, selective);
    add_block(&time, sparse / layers, &blocks->of[BLOCK_SPARSE], recomputed, selective);
    return time;
}

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
    struct priced_blocks priced;
    price_blocks(parts, &priced);
    for (int64_t c = 0; c < training_nics_clusters(plan); c++) {
        const struct stage_time layer = mean_layer(parts, &priced.in[c]);
        const struct training_stage_size size = mean_stage(parts);
        const struct training_cover one = cover_of(&layer);
        const struct training_cover cover = {size.layers * one.forward_s, size.layers * one.backward_s};
        struct other_network other;
        const struct training_parts *there = parts_on(parts, training_nics_data_network(plan, c), &other);
        costs[c] = (struct training_layer_cost){one.forward_s + one.backward_s,
                                                training_reduction_of(there, &cover, &size).exposed_s / size.layers};
    }
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
    double recomputed = 0.0;
    for (int64_t i = 0; i < plan->pipeline; i++) recomputed += (double)training_plan_recomputed(plan, llm, i);
    const double share = recomputed / (double)llm->layers;
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
    struct priced_blocks blocks;
    price_blocks(parts, &blocks);
    const struct pipeline_time pipeline = pipeline_of(parts, &blocks);
    const struct ending ending = ending_of(parts, &pipeline);
    const struct training_reduction reduction = ending.reduction;
    struct training_step step = {.slowest = pipeline.slowest_stage, .bubble_s = pipeline.bubble_s,
                                 .data_s = reduction.exposed_s, .data_bytes = reduction.sent_bytes,
                                 .host_s = parts->trainer->step_s};
    add_parts(&step, &pipeline.slowest, batches);
    const double own = training_holdings_of(parts, ending.stage).optimizer;
    const double passes_s = batches * pipeline.slowest.sum_s;
    step.update_s = ending.update_s;
    step.bytes += update_bytes(parts, ending.stage);
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

static void exchange_stage(const struct training_parts *parts, const struct priced_blocks *priced, int64_t stage,
                           struct training_exchanges *out)
{
    const struct training_plan *plan = parts->plan;
    const struct blocks *blocks = &priced->in[0];
    const struct stage_time time = stage_of(parts, priced, stage);
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
    training_exchange_add(out, EXCHANGE_ALL_TO_ALL, training_expert_group(plan), sum.expert_sent);
    if (plan->pipeline == 1) return;
    out->of[out->n++] = (struct training_exchange){.kind = EXCHANGE_STAGES, .group = training_stages_group(plan),
                                                   .bytes = sends * blocks->send_bytes,
                                                   .wrap_bytes = (sends - batches) * blocks->send_bytes};
}

void training_exchanges_of(const struct training_parts *parts, struct training_exchanges *stages)
{
    struct priced_blocks blocks;
    price_blocks(parts, &blocks);
    for (int64_t i = 0; i < parts->plan->pipeline; i++) exchange_stage(parts, &blocks, i, &stages[i]);
}
