#include "models/training/memory.h"

#include "models/training/context.h"
#include "models/training/mixed.h"
#include "models/training/tiers.h"

#include <math.h>

/* --- Parameters --- */

/* Parameters of a shard whose every number takes a byte: its bytes. */
static double counted(struct llm_spec llm, int64_t layers, int64_t tensor)
{
    llm.layers = layers;
    llm.compute = FORMAT_INT8;
    llm_set_weights(&llm, FORMAT_INT8);
    llm.experts = llm.experts_per_token = llm.expert_ffn = llm.dense_layers = llm.dense_ffn = 0;
    return llm_shard(&llm, tensor, 1).weight_bytes;
}

/* Of a layer without experts, whose feed-forward layer is `ffn` wide. */
static double layer_parameters(const struct llm_spec *llm, int64_t ffn, int64_t tensor)
{
    struct llm_spec alone = *llm;
    alone.ffn = ffn;
    return counted(alone, 2, tensor) - counted(alone, 1, tensor);
}

struct training_parameters training_block_parameters(const struct training_parts *parts, enum training_block_kind kind)
{
    const struct llm_spec *llm = parts->llm;
    const int64_t tensor = parts->plan->tensor;
    const double hidden = (double)llm->hidden, vocab = (double)llm->vocab / (double)tensor * hidden;
    const double norm = hidden * (llm->norm_bias ? 2.0 : 1.0), matrices = llm->gated_ffn ? 3.0 : 2.0;
    switch (kind) {
    case BLOCK_DENSE:
        return (struct training_parameters){layer_parameters(llm, llm->experts > 0 ? llm->dense_ffn : llm->ffn, tensor),
                                            0.0};
    case BLOCK_SPARSE:
        return (struct training_parameters){layer_parameters(llm, llm->ffn, tensor) + hidden * (double)llm->experts,
                                            matrices * hidden * (double)llm->expert_ffn * (double)llm->experts /
                                                (double)(tensor * parts->plan->expert)};
    case BLOCK_EMBEDDING:
        return (struct training_parameters){
            vocab + (double)llm->position_embeddings * hidden + (llm->embedding_norm ? norm : 0.0), 0.0};
    case BLOCK_HEAD:
    case BLOCK_KINDS: break;
    }
    const bool shares = llm->tied_embeddings && parts->plan->pipeline == 1;
    return (struct training_parameters){norm + (shares ? 0.0 : vocab), 0.0};
}

struct training_stage_layers training_stage_layers(const struct training_parts *parts, int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const int64_t layers = training_plan_layers(plan, parts->llm, stage), each = layers / plan->chunks;
    const int64_t first = parts->llm->experts > 0 ? parts->llm->dense_layers : parts->llm->layers;
    int64_t dense = 0, before = plan->nics.n == 0 ? stage * each : 0;
    for (int64_t i = 0; plan->nics.n > 0 && i < stage; i++)
        before += training_plan_layers(plan, parts->llm, i) / plan->chunks;
    for (int64_t chunk = 0; chunk < plan->chunks; chunk++) {
        const int64_t from = chunk * plan->pipeline * each + before;
        dense += first <= from ? 0 : first - from < each ? first - from : each;
    }
    return (struct training_stage_layers){(double)dense, (double)(layers - dense)};
}

static void add_parameters(struct training_parameters *sum, double count, struct training_parameters part)
{
    sum->dense += count * part.dense;
    sum->expert += count * part.expert;
}

struct training_parameters training_stage_parameters(const struct training_parts *parts, int64_t stage)
{
    const struct training_stage_layers layers = training_stage_layers(parts, stage);
    struct training_parameters sum = {0.0, 0.0};
    if (layers.dense > 0.0) add_parameters(&sum, layers.dense, training_block_parameters(parts, BLOCK_DENSE));
    if (layers.sparse > 0.0) add_parameters(&sum, layers.sparse, training_block_parameters(parts, BLOCK_SPARSE));
    if (stage == 0) add_parameters(&sum, 1.0, training_block_parameters(parts, BLOCK_EMBEDDING));
    if (stage == parts->plan->pipeline - 1) add_parameters(&sum, 1.0, training_block_parameters(parts, BLOCK_HEAD));
    return sum;
}

/* --- Activations --- */

/* Numbers per token of a rank's part of a layer. `operand`: bytes of what products read. */
struct widths {
    double tokens, own, hidden, operand; /* own: share of the tokens in norms and residuals */
    struct llm_shard shard;
};

static struct widths widths_of(const struct training_parts *parts)
{
    const struct training_plan *plan = parts->plan;
    return (struct widths){
        .tokens = training_plan_rank_tokens(plan),
        .own = plan->sequence ? 1.0 / (double)plan->tensor : 1.0,
        .hidden = (double)parts->llm->hidden,
        .operand = plan->compute == FORMAT_FP8 ? 1.0 : 2.0,
        .shard = llm_shard(parts->llm, plan->tensor, 1),
    };
}

/* Scores that are kept where no kernel recomputes them: the softmax, and with dropout its mask and result. */
static double score_bytes(const struct training_parts *parts, const struct widths *widths)
{
    const double context = (double)parts->plan->sequence_tokens, heads = widths->shard.q_heads;
    if (parts->trainer->flash_attention) return 4.0 * heads;
    return parts->plan->recompute == RECOMPUTE_SELECTIVE ? 0.0
                                                         : (parts->trainer->dropout ? 5.0 : 2.0) * heads * context;
}

/* Softmax layers keep statistics of rows, linear ones the sum of the states before, of each sequence. Of a token, on
 * the mean over the layers. */
static double kept_of_rows(const struct training_parts *parts, const struct widths *widths)
{
    const double linear_frac = training_linear_frac(parts);
    const double state = widths->shard.kv_heads * (double)(llm_key_dim(parts->llm) * llm_value_dim(parts->llm));
    return (1.0 - linear_frac) * score_bytes(parts, widths) +
           linear_frac * 2.0 * state * training_mixed_most_sequences(parts->plan) / widths->tokens;
}

static double attention_bytes(const struct training_parts *parts, const struct widths *widths)
{
    const struct llm_spec *llm = parts->llm;
    const double key = (double)llm_key_dim(llm), value = (double)llm_value_dim(llm), heads = widths->shard.q_heads;
    const double kv_heads = widths->shard.kv_heads;
    const double latent = llm->kv_latent > 0 ? (2.0 + widths->operand) * (double)(llm->query_latent + llm->kv_latent)
                                             : 0.0;
    const double kept = 2.0 * (heads * key + kv_heads * (key + value)) + widths->operand * heads * value;
    return kept + latent + kept_of_rows(parts, widths);
}

static double ffn_bytes(const struct training_parts *parts, const struct widths *widths, double width)
{
    return (parts->llm->gated_ffn ? 4.0 : 2.0) * width + widths->operand * width;
}

/* Of one choice of a token: its hidden state as the experts' products read it, and the inside of the expert. */
static double expert_bytes(const struct training_parts *parts, const struct widths *widths)
{
    return widths->operand * widths->hidden + ffn_bytes(parts, widths, widths->shard.expert_ffn);
}

double training_layer_bytes(const struct training_parts *parts, enum training_block_kind kind)
{
    const struct llm_spec *llm = parts->llm;
    const struct widths widths = widths_of(parts);
    const double norms = 2.0 * (2.0 + widths.operand) * widths.hidden * widths.own;
    const double masks = parts->trainer->dropout ? 2.0 * widths.hidden * widths.own : 0.0;
    double bytes = norms + masks + attention_bytes(parts, &widths);
    if (kind == BLOCK_DENSE)
        bytes += ffn_bytes(parts, &widths, llm->experts > 0 ? widths.shard.dense_ffn : widths.shard.ffn);
    if (kind == BLOCK_SPARSE)
        bytes += ffn_bytes(parts, &widths, widths.shard.ffn) + 8.0 * (double)llm->experts * widths.own +
                 (double)llm->experts_per_token * expert_bytes(parts, &widths);
    return widths.tokens * bytes;
}

/* A layer that is recomputed keeps its input. */
static double input_bytes(const struct widths *widths)
{
    return 2.0 * widths->tokens * widths->hidden * widths->own;
}

double training_in_flight(const struct training_plan *plan, int64_t stage)
{
    const double all = (double)plan->micro_batches, behind = (double)(plan->pipeline - 1 - stage);
    const double chunks = (double)plan->chunks;
    switch (plan->schedule) {
    case SCHEDULE_GPIPE: return all;
    case SCHEDULE_INTERLEAVED:
        return fmin(all, (2.0 * behind + (chunks - 1.0) * (double)plan->pipeline + 1.0) / chunks);
    case SCHEDULE_1F1B:
    case SCHEDULE_ZERO_BUBBLE: break;
    }
    return fmin(all, behind + 1.0);
}

double training_kept_bytes(const struct training_parts *parts, int64_t stage)
{
    const struct training_stage_layers layers = training_stage_layers(parts, stage);
    const struct widths widths = widths_of(parts);
    const double all = layers.dense + layers.sparse;
    const double whole_frac = 1.0 - (double)training_plan_recomputed(parts->plan, parts->llm, stage) / all;
    const double whole = (layers.dense > 0.0 ? layers.dense * training_layer_bytes(parts, BLOCK_DENSE) : 0.0) +
                         (layers.sparse > 0.0 ? layers.sparse * training_layer_bytes(parts, BLOCK_SPARSE) : 0.0);
    return training_in_flight(parts->plan, stage) *
           (whole_frac * whole + (1.0 - whole_frac) * all * input_bytes(&widths));
}

double training_swapped_bytes(const struct training_parts *parts, int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const double layers = (double)training_plan_layers(plan, parts->llm, stage), swapped = (double)plan->tiers.swapped;
    const double inputs = (double)training_plan_recomputed(plan, parts->llm, stage), whole = layers - inputs;
    const double kept = training_kept_bytes(parts, stage);
    if (plan->tiers.activations == HOME_GPU) return 0.0;
    if (!(swapped > 0.0) || swapped >= layers) return kept;
    const struct widths widths = widths_of(parts);
    const double input = training_in_flight(plan, stage) * input_bytes(&widths), all_whole = kept - inputs * input;
    return swapped <= whole ? swapped / whole * all_whole : all_whole + (swapped - whole) * input;
}

static bool is_gathered(const struct training_plan *plan)
{
    return training_plan_shards(plan, training_plan_replicas(plan)).weights > 1;
}

/* Two layers of weights, of which one is at work and one on its way, and two of gradients, if they lie beyond the GPU;
 * in tiles. Further buffers hold whole layers. No layer does if all are persistent.
 * `gathered`: the bytes of sharded weights that are whole meanwhile. */
static double streamed_bytes(const struct training_parts *parts, const struct training_parameters *layer,
                             double gathered)
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    const double tiles = tiers->tiles > 1 ? (double)tiers->tiles : 1.0, one = layer->dense + layer->expert;
    const double whole = fmax(training_buffered_layers(parts) - 2.0, 0.0) * one * parts->trainer->weight_bytes;
    const double gradients = tiers->gradients != HOME_GPU ? 2.0 * one * parts->trainer->gradient_bytes : 0.0;
    if (!training_tiers_used(tiers) || !(training_moving_frac(parts) > 0.0)) return gathered;
    if (tiers->weights == HOME_GPU) return (gathered + gradients) / tiles;
    return whole + (2.0 * one * parts->trainer->weight_bytes + gradients) / tiles;
}

/* The embedding and the head are as whole at work as a layer. */
static double streamed_ends(const struct training_parts *parts)
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    const double tiles = tiers->tiles > 1 ? (double)tiers->tiles : 1.0;
    const double parameters = training_block_parameters(parts, BLOCK_EMBEDDING).dense;
    if (!(training_moving_frac(parts) > 0.0)) return 0.0;
    return ((tiers->weights != HOME_GPU ? parameters * parts->trainer->weight_bytes : 0.0) +
            (tiers->gradients != HOME_GPU ? parameters * parts->trainer->gradient_bytes : 0.0)) /
           tiles;
}

/* Gradients of the widest tensors of a layer while its backward pass runs, and what it recomputes. A tensor group also
 * gathers an input; with sharded weights two layers are gathered at a time. */
static double layer_working_bytes(const struct training_parts *parts, enum training_block_kind kind, int64_t stage)
{
    const struct llm_spec *llm = parts->llm;
    const struct widths widths = widths_of(parts);
    const double passes = llm->gated_ffn ? 3.0 : 2.0;
    const double width = kind == BLOCK_SPARSE ? (double)llm->experts_per_token * widths.shard.expert_ffn
                         : llm->experts > 0   ? widths.shard.dense_ffn
                                              : widths.shard.ffn;
    const double copies = kind == BLOCK_SPARSE ? (double)llm->experts_per_token : 1.0;
    const double gathered = parts->plan->tensor > 1 && parts->plan->sequence ? 2.0 * widths.hidden : 0.0;
    const double gradients = widths.tokens *
                             (2.0 * passes * width + 2.0 * (copies + widths.own) * widths.hidden + gathered);
    const bool recomputes = training_plan_recomputed(parts->plan, llm, stage) > 0;
    const struct training_parameters layer = training_block_parameters(parts, kind);
    const double whole = is_gathered(parts->plan) ? 2.0 * parts->trainer->weight_bytes * (layer.dense + layer.expert)
                                                  : 0.0;
    return gradients + streamed_bytes(parts, &layer, whole) + (recomputes ? training_layer_bytes(parts, kind) : 0.0);
}

static double working_bytes(const struct training_parts *parts, int64_t stage)
{
    const struct training_stage_layers layers = training_stage_layers(parts, stage);
    const struct widths widths = widths_of(parts);
    const double dense = layers.dense > 0.0 ? layer_working_bytes(parts, BLOCK_DENSE, stage) : 0.0;
    const double sparse = layers.sparse > 0.0 ? layer_working_bytes(parts, BLOCK_SPARSE, stage) : 0.0;
    const double head = widths.tokens * (4.0 * widths.hidden * widths.own +
                                         widths.shard.vocab * (2.0 + parts->trainer->loss_bytes)) +
                        parts->trainer->placeholder_bytes * widths.shard.vocab * widths.hidden;
    return fmax(fmax(dense, sparse), stage == parts->plan->pipeline - 1 ? head + streamed_ends(parts) : 0.0);
}

/* --- A rank --- */

/* Placeholders of gradients: of each kind of layer on the stage, without experts, which are alike and small. */
static double placeholder_bytes(const struct training_parts *parts, int64_t stage)
{
    const struct training_stage_layers layers = training_stage_layers(parts, stage);
    double parameters = 0.0;
    if (layers.sparse > 0.0) parameters = training_block_parameters(parts, BLOCK_SPARSE).dense;
    if (layers.dense > 0.0) parameters = fmax(parameters, training_block_parameters(parts, BLOCK_DENSE).dense);
    return parts->trainer->placeholder_bytes * parameters;
}

/* Parameters of a rank's shards. */
static double sharded(const struct training_parameters *all, int64_t dense_shards, int64_t expert_shards)
{
    return all->dense / (double)dense_shards + all->expert / (double)expert_shards;
}

struct training_holdings training_holdings_of(const struct training_parts *parts, int64_t stage)
{
    const struct training_parameters all = training_stage_parameters(parts, stage);
    const int64_t replicas = training_plan_replicas(parts->plan);
    const struct training_shards dense = training_plan_shards(parts->plan, replicas);
    const struct training_shards expert = training_plan_shards(parts->plan, replicas / parts->plan->expert);
    const double second_dense = dense.secondary > 0 ? all.dense / (double)dense.secondary : 0.0;
    const double second_expert = expert.secondary > 0 ? all.expert / (double)expert.secondary : 0.0;
    return (struct training_holdings){sharded(&all, dense.weights, expert.weights),
                                      sharded(&all, dense.gradients, expert.gradients),
                                      sharded(&all, dense.optimizer, expert.optimizer), second_dense + second_expert};
}

/* `persistent`: share that stays on the GPU though others lie beyond it. */
static double on_gpu(enum training_home home, double persistent, double bytes)
{
    return (home == HOME_GPU ? 1.0 : persistent) * bytes;
}

static struct training_memory stage_memory(const struct training_parts *parts, int64_t stage)
{
    const struct training_plan *plan = parts->plan;
    const struct training_trainer *trainer = parts->trainer;
    const struct training_tiers *tiers = &plan->tiers;
    const struct training_holdings own = training_holdings_of(parts, stage);
    const double kept = training_kept_bytes(parts, stage);
    const double layers = (double)training_plan_layers(plan, parts->llm, stage);
    const double swapped = training_swapped_bytes(parts, stage), persistent = 1.0 - training_moving_frac(parts);
    const double swapped_layers = tiers->swapped > 0 ? fmin((double)tiers->swapped, layers) : layers;
    const struct training_homes homes = training_homes_of(parts);
    struct training_memory memory = {
        .weight_bytes = on_gpu(tiers->weights, persistent, trainer->weight_bytes * (own.weights + own.secondary)),
        .gradient_bytes = on_gpu(tiers->gradients, persistent, trainer->gradient_bytes * own.gradients),
        .optimizer_bytes = on_gpu(tiers->optimizer, persistent,
                                  (1.0 - plan->offload.optimizer_frac) * trainer->optimizer_bytes * own.optimizer),
        .activation_bytes = kept - swapped + fmin(swapped, 2.0 * swapped / swapped_layers),
        .working_bytes = working_bytes(parts, stage),
        .buffer_bytes = trainer->buffer_bytes + placeholder_bytes(parts, stage),
        .host_bytes = homes.host_bytes,
        .disk_bytes = homes.disk_bytes,
        .stage = stage,
    };
    memory.total_bytes = memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes +
                         memory.activation_bytes + memory.working_bytes + memory.buffer_bytes;
    return memory;
}

enum training_home training_memory_lacks(const struct training_parts *parts, const struct training_memory *memory,
                                         double reserve_frac)
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    if (memory->total_bytes > parts->gpu->memory_bytes * (1.0 - reserve_frac)) return HOME_GPU;
    if (tiers->host_bytes > 0.0 && memory->host_bytes > tiers->host_bytes) return HOME_HOST;
    if (tiers->disk_bytes > 0.0 && memory->disk_bytes > tiers->disk_bytes) return HOME_DISK;
    return TRAINING_HOMES;
}

struct training_memory training_memory_of(const struct training_parts *parts)
{
    struct training_memory worst = stage_memory(parts, 0);
    for (int64_t stage = 1; stage < parts->plan->pipeline; stage++) {
        const struct training_memory memory = stage_memory(parts, stage);
        if (memory.total_bytes > worst.total_bytes) worst = memory;
    }
    return worst;
}
