#include "models/training/stage.h"

#include "models/training/memory.h"
#include "models/training/nics.h"

#include <math.h>

const struct training_parts *training_parts_on(const struct training_parts *parts, double network_bytes_per_s,
                                               struct training_elsewhere *elsewhere)
{
    if (parts->plan->nics.n == 0) return parts;
    elsewhere->plan = *parts->plan;
    elsewhere->plan.network_bytes_per_s = network_bytes_per_s;
    elsewhere->parts = *parts;
    elsewhere->parts.plan = &elsewhere->plan;
    return &elsewhere->parts;
}

/* --- Blocks --- */

/* Sending to a neighbour: a rank's share where the tensor group splits it, else all of it. */
static void price_send(const struct training_parts *parts, struct training_blocks *blocks)
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
        blocks->gather_s = gathered.seconds;
        blocks->gather_bytes = gathered.exchanged_bytes;
    }
}

static struct training_blocks blocks_of(const struct training_parts *parts)
{
    struct training_blocks blocks = {.send_bytes = 0.0};
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        const bool absent = (kind == BLOCK_SPARSE && !llm_has(parts->llm, LLM_PART_EXPERTS)) ||
                            (kind == BLOCK_DENSE && !llm_has(parts->llm, LLM_PART_DENSE));
        if (!absent) blocks.of[kind] = training_block_of(parts, (enum training_block_kind)kind);
    }
    price_send(parts, &blocks);
    return blocks;
}

void training_blocks_of(const struct training_parts *parts, struct training_priced *priced)
{
    const struct training_plan *plan = parts->plan;
    struct training_elsewhere elsewhere;
    for (int64_t i = 0; i < training_nics_clusters(plan); i++)
        priced->in[i] = blocks_of(training_parts_on(parts, training_nics_network(plan, i), &elsewhere));
    priced->between = (struct training_blocks){.send_bytes = 0.0};
    if (training_nics_clusters(plan) > 1)
        price_send(training_parts_on(parts, plan->nics.between_bytes_per_s, &elsewhere), &priced->between);
}

/* --- Stages --- */

/* What a stage and the next one send to each other, of the last one with the first. */
static const struct training_blocks *blocks_at(const struct training_plan *plan, const struct training_priced *priced,
                                               int64_t stage)
{
    const int64_t cluster = training_nics_cluster(plan, stage), next = training_nics_cluster(plan, stage + 1);
    return cluster == next ? &priced->in[cluster] : &priced->between;
}

/* A stage sends hidden states ahead and gradients back. The ends of a pipeline that is not interleaved have one
 * neighbour, with which they exchange both. */
static void add_sends(const struct training_plan *plan, const struct training_priced *priced, int64_t stage,
                      struct training_stage *time)
{
    const struct training_blocks *own = &priced->in[training_nics_cluster(plan, stage)];
    const int64_t last = plan->pipeline - 1;
    const bool wraps = plan->schedule == SCHEDULE_INTERLEAVED;
    const int64_t borders[] = {stage < last ? stage
                               : wraps      ? last
                                            : last - 1,
                               stage > 0 ? stage - 1
                               : wraps   ? last
                                         : 0};
    for (int way = 0; way < 2; way++) {
        const struct training_blocks *blocks = blocks_at(plan, priced, borders[way]);
        const bool is_far = training_stage_is_far(plan, borders[way]);
        const double seconds = (double)plan->chunks * (blocks->send_s[is_far] + own->gather_s);
        time->send_s += seconds;
        if (blocks->send_outside[is_far]) time->send_outside_s += seconds;
    }
}

/* `recomputed`: share of the layers whose forward pass is repeated. */
static void add_block(struct training_stage *stage, double count, const struct training_block *block, double recomputed,
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

struct training_stage training_stage_of(const struct training_parts *parts, const struct training_priced *priced,
                                        int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const struct training_blocks *blocks = &priced->in[training_nics_cluster(plan, stage)];
    const struct training_stage_layers layers = training_stage_layers(parts, stage);
    const double recomputed = (double)training_plan_recomputed(plan, parts->llm, stage) /
                              (layers.dense + layers.sparse);
    const bool selective = plan->recompute == RECOMPUTE_SELECTIVE && !parts->trainer->flash_attention;
    struct training_stage time = {.send_s = 0.0};
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

struct training_stage training_mean_layer(const struct training_parts *parts, const struct training_blocks *blocks)
{
    const struct training_plan *plan = parts->plan;
    const double layers = (double)parts->llm->layers;
    const double sparse = parts->llm->experts > 0 ? layers - (double)parts->llm->dense_layers : 0.0;
    const double each = layers / (double)plan->pipeline, given = (double)plan->recompute_layers;
    const double recomputed = plan->recompute != RECOMPUTE_FULL ? 0.0 : given > 0.0 ? fmin(given / each, 1.0) : 1.0;
    const bool selective = plan->recompute == RECOMPUTE_SELECTIVE && !parts->trainer->flash_attention;
    struct training_stage time = {.send_s = 0.0};
    add_block(&time, (layers - sparse) / layers, &blocks->of[BLOCK_DENSE], recomputed, selective);
    add_block(&time, sparse / layers, &blocks->of[BLOCK_SPARSE], recomputed, selective);
    return time;
}
