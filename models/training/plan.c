#include "models/training/plan.h"

#include "models/training/exchange.h"
#include "models/training/expert_pipeline.h"
#include "models/training/mixed.h"
#include "models/training/nics.h"

#include <stddef.h>

int64_t training_plan_recomputed(const struct training_plan *plan, const struct llm_spec *llm, int64_t stage)
{
    const int64_t layers = training_plan_layers(plan, llm, stage);
    if (plan->recompute != RECOMPUTE_FULL) return 0;
    return plan->recompute_layers > 0 && plan->recompute_layers < layers ? plan->recompute_layers : layers;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct training_shards training_plan_shards(const struct training_plan *plan, int64_t replicas)
{
    struct training_shards shards = {plan->zero >= 3 ? replicas : 1, plan->zero >= 2 ? replicas : 1,
                                     plan->zero >= 1 ? replicas : 1, 0};
    if (plan->shard_optimizer > 0)
        shards = (struct training_shards){least(plan->shard_weights, replicas), least(plan->shard_gradients, replicas),
                                          least(plan->shard_optimizer, replicas), 0};
    if (shards.weights > 1) shards.secondary = least(plan->shard_secondary, shards.weights);
    return shards;
}

static bool divides(int64_t part, int64_t all)
{
    return part > 0 && all % part == 0;
}

static const char *size_problem(const struct training_plan *plan)
{
    const int64_t sizes[] = {
        plan->tensor, plan->pipeline,    plan->chunks,        plan->context,         plan->data,
        plan->expert, plan->micro_batch, plan->micro_batches, plan->sequence_tokens, plan->gpus_per_node};
    const int64_t most = (int64_t)1 << 20;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] < 1 || sizes[i] > most * 64) return "sizes of a plan start at 1";
    if (plan->tensor > most || plan->pipeline > most || plan->data > most || plan->context > most)
        return "a plan has at most 1048576 ranks of a kind";
    if (plan->expert_parts < -1 || plan->expert_parts > EXPERT_PARTS) return "'expert_parts' is at most 8";
    if (plan->gradient_parts < 0 || plan->gradient_parts > EXPERT_PARTS) return "'gradient_parts' is at most 8";
    if (plan->gradient_parts > 0 && plan->overlap_gradients)
        return "'gradient_parts' and 'overlap_gradients' exclude each other";
    if (plan->zero < 0 || plan->zero > 3) return "'zero' is a stage from 0 to 3";
    return NULL;
}

static const char *schedule_problem(const struct training_plan *plan)
{
    const bool interleaves = plan->schedule == SCHEDULE_INTERLEAVED;
    if (interleaves && plan->chunks < 2) return "an interleaved schedule needs 'pipeline_chunks' of at least 2";
    if (!interleaves && plan->chunks > 1) return "several 'pipeline_chunks' need the schedule 'interleaved'";
    if (plan->schedule != SCHEDULE_1F1B && plan->pipeline < 2)
        return "this schedule needs 'pipeline_parallel' of at least 2";
    if (interleaves && plan->micro_batches % plan->pipeline != 0)
        return "an interleaved schedule needs micro-batches in multiples of 'pipeline_parallel'";
    return NULL;
}

static const char *split_problem(const struct training_plan *plan, const struct llm_spec *llm)
{
    const char *problem = llm_parallel_problem(llm, plan->tensor, 1);
    if (problem) return problem;
    if (!(plan->nics.n > 0 && plan->nics.is_uneven) && !divides(plan->pipeline * plan->chunks, llm->layers))
        return "the layers are not a multiple of 'pipeline_parallel' times 'pipeline_chunks'";
    if (!divides(plan->context, plan->sequence_tokens)) return "the sequence is not a multiple of 'context_parallel'";
    if (plan->context > 1 && plan->context_form == CONTEXT_ALL_TO_ALL &&
        !divides(plan->context * plan->tensor, llm->q_heads))
        return "the attention heads are not a multiple of 'context_parallel' times 'tensor_parallel'";
    if (plan->expert > 1 && llm->experts == 0) return "'expert_parallel' needs an LLM with experts";
    if (plan->expert > 1 && !divides(plan->expert, llm->experts))
        return "the experts are not a multiple of 'expert_parallel'";
    if (!divides(plan->expert, training_plan_replicas(plan)))
        return "the context and data ranks are not a multiple of 'expert_parallel'";
    const struct training_shards shards = training_plan_shards(plan, training_plan_replicas(plan));
    if (shards.gradients > 1 && plan->pipeline > 1)
        return "a pipeline adds up gradients over micro-batches, so that 'zero' 2 and 3 cannot shard them";
    return NULL;
}

/* A linear form of attention is known where it stands in for whole softmax attention with plain heads. */
static const char *linear_problem(const struct training_plan *plan, const struct llm_spec *llm)
{
    if (plan->linear_layers == 0) return NULL;
    if (plan->linear_layers < 0 || plan->linear_layers > llm->layers)
        return "the LLM has fewer layers than 'linear_layers'";
    if (llm->kv_latent > 0) return "latent attention has no linear form: leave 'linear_layers' out";
    return llm->sliding_window > 0 ? "an LLM with a sliding window has no layers that could be linear" : NULL;
}

static const char *offload_problem(const struct training_offload *offload)
{
    if (!(offload->optimizer_frac > 0.0))
        return offload->is_delayed ? "a delayed 'offload.update' needs 'offload.optimizer'" : NULL;
    if (!(offload->cpu_update_per_s > 0.0 && offload->link_bytes_per_s > 0.0))
        return "offloading needs 'cpu_update' and a link to the host";
    if (offload->is_delayed && offload->gpu_stride > 1)
        return "'offload.gpu_stride' and a delayed 'offload.update' exclude each other";
    if (offload->blocks_flush && !(offload->flush_bytes_per_s > 0.0)) return "a flush that blocks needs 'flush_rate'";
    return NULL;
}

static const char *tier_rates_problem(const struct training_tiers *tiers)
{
    const enum training_home last = HOME_DISK;
    const bool drives = tiers->weights == last || tiers->gradients == last || tiers->optimizer == last ||
                        tiers->activations == last;
    if (drives && !(tiers->read_bytes_per_s > 0.0 && tiers->write_bytes_per_s > 0.0))
        return "states on drives need 'tiers.disk_read' and 'tiers.disk_write'";
    if (!(tiers->link_bytes_per_s > 0.0)) return "'tiers' needs a link from the host to the GPU";
    if (tiers->optimizer != HOME_GPU && !(tiers->cpu_update_per_s > 0.0))
        return "optimizer states beyond the GPU need 'tiers.cpu_update'";
    return NULL;
}

/* Numbers of layers that would say nothing. Two buffers are the least, also of one layer. */
static const char *tier_layers_problem(const struct training_tiers *tiers, int64_t layers)
{
    const bool has_states = tiers->weights != HOME_GPU || tiers->optimizer != HOME_GPU;
    const bool is_odd = tiers->persistent > layers || tiers->buffers > (layers > 2 ? layers : 2) ||
                        tiers->swapped > layers || (tiers->persistent > 0 && !has_states) ||
                        (tiers->buffers > 0 && tiers->weights == HOME_GPU) ||
                        (tiers->swapped > 0 && tiers->activations == HOME_GPU);
    return is_odd ? "'tiers.persistent', 'tiers.buffers' and 'tiers.swapped' are at most the layers, and need a home "
                    "beyond the GPU"
                  : NULL;
}

static const char *tiers_problem(const struct training_plan *plan, int64_t layers)
{
    const struct training_tiers *tiers = &plan->tiers;
    const char *problem = tier_layers_problem(tiers, layers);
    if (problem != NULL) return problem;
    if (tiers->weights == HOME_GPU && tiers->gradients == HOME_GPU && tiers->optimizer == HOME_GPU &&
        tiers->activations == HOME_GPU)
        return NULL;
    if (plan->pipeline > 1) return "'tiers' needs 'pipeline_parallel' 1: stages keep their states on the GPU";
    if (plan->offload.optimizer_frac > 0.0) return "'tiers.optimizer' and 'offload.optimizer' exclude each other";
    if (tiers->gradients != HOME_GPU && tiers->optimizer == HOME_GPU)
        return "'tiers.gradients' beyond the GPU needs 'tiers.optimizer' beyond it, which reads them";
    if (tiers->buffers == 1 || tiers->buffers < 0)
        return "'tiers.buffers' are at least 2: a layer is at work, and the next one on its way";
    return tier_rates_problem(tiers);
}

static const char *shard_problem(const struct training_plan *plan)
{
    const int64_t weights = plan->shard_weights, gradients = plan->shard_gradients, optimizer = plan->shard_optimizer;
    if (weights == 0 && gradients == 0 && optimizer == 0) return NULL;
    if (weights < 1 || gradients < 1 || optimizer < 1)
        return "'shard_weights', 'shard_gradients' and 'shard_optimizer' are given together";
    if (!divides(weights, gradients) || !divides(gradients, optimizer) ||
        !divides(optimizer, training_plan_replicas(plan)))
        return "shards of weights divide those of gradients, these divide those of the optimizer, and these the ranks";
    return NULL;
}

/* Of the second copy of weights, and of messages in few bits. `replicas`: ranks with the same weights. */
static const char *low_bandwidth_problem(const struct training_plan *plan, int64_t replicas)
{
    const struct training_shards shards = training_plan_shards(plan, replicas);
    if (shards.secondary > 0 && !divides(shards.secondary, shards.weights))
        return "'shard_secondary' does not divide the ranks that share weights";
    if (plan->gradient_message != MESSAGE_STORED && shards.optimizer < replicas)
        return "'gradient_messages' in few bits replace a reduce-scatter over all ranks: these share optimizer states";
    return NULL;
}

static const char *messages_problem(const struct training_plan *plan)
{
    const int64_t replicas = training_plan_replicas(plan);
    const int64_t sharers = training_plan_shards(plan, replicas).weights;
    const char *problem = low_bandwidth_problem(plan, replicas);
    if (plan->shard_secondary > 0 && sharers < 2)
        return "'shard_secondary' needs weights that ranks share, by \"zero\": 3 or 'shard_weights'";
    if (plan->shard_secondary >= sharers && plan->shard_secondary > 0)
        return "'shard_secondary' is below the ranks that share weights";
    if (plan->shard_secondary > 0 && plan->tiers.weights != HOME_GPU)
        return "'shard_secondary' and 'tiers.weights' beyond the GPU exclude each other";
    if (plan->gradient_message != MESSAGE_STORED && plan->gradient_parts > 0)
        return "'gradient_messages' in few bits and 'gradient_parts' exclude each other";
    if (problem == NULL && plan->expert > 1 && divides(plan->expert, replicas))
        problem = low_bandwidth_problem(plan, replicas / plan->expert);
    return problem;
}

const char *training_plan_problem(const struct training_plan *plan, const struct llm_spec *llm)
{
    const char *problem = size_problem(plan);
    if (!problem) problem = shard_problem(plan);
    if (!problem) problem = messages_problem(plan);
    if (!problem) problem = offload_problem(&plan->offload);
    if (!problem) problem = tiers_problem(plan, llm->layers);
    if (!problem) problem = training_nics_problem(plan, llm->layers);
    if (!problem) problem = schedule_problem(plan);
    if (!problem) problem = split_problem(plan, llm);
    if (!problem) problem = linear_problem(plan, llm);
    if (!problem && (llm_is_unmeasured_kind(llm) || llm->alternating_dense))
        problem = "training of an LLM with linear, sparse or chunked attention is not modelled";
    if (!problem && !llm_heads_are_plain(llm))
        problem = "training of an LLM with heads of two kinds, or values of another width than keys, is not modelled";
    if (!problem && plan->lengths != NULL) problem = training_mixed_problem(plan);
    if (!problem && training_plan_gpus(plan) > plan->gpus_per_node && plan->nics.n == 0 &&
        !(plan->network_bytes_per_s > 0.0))
        problem = "the GPUs fill more than one node, and no network connects nodes";
    return problem;
}

struct training_group training_tensor_group(const struct training_plan *plan)
{
    return (struct training_group){plan->tensor, 1};
}

struct training_group training_context_group(const struct training_plan *plan)
{
    return (struct training_group){plan->context, plan->tensor};
}

struct training_group training_expert_group(const struct training_plan *plan)
{
    return (struct training_group){plan->expert, plan->tensor};
}

struct training_group training_replica_group(const struct training_plan *plan)
{
    return (struct training_group){training_plan_replicas(plan), plan->tensor};
}

struct training_group training_stages_group(const struct training_plan *plan)
{
    return (struct training_group){2, training_plan_gpus(plan) / plan->pipeline};
}

bool training_stage_is_far(const struct training_plan *plan, int64_t stage)
{
    const int64_t ranks = training_plan_gpus(plan) / plan->pipeline, each = plan->gpus_per_node;
    if (plan->spread != NULL && plan->spread->far_stages != NULL) return plan->spread->far_stages[stage];
    if (stage == plan->pipeline - 1) return training_plan_gpus(plan) > each;
    return stage * ranks / each != ((stage + 2) * ranks - 1) / each;
}

int64_t training_group_nodes(const struct training_plan *plan, struct training_group group)
{
    const int64_t on_node = plan->gpus_per_node / group.stride; /* members that fit on a node */
    if (on_node < 1) return group.gpus;
    return (group.gpus + on_node - 1) / on_node;
}
