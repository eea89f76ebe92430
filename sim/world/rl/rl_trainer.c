/* The training of a step: its plan, its GPUs, its time. */
#include "sim/world/rl/rl_state.h"

#include <math.h>
#include <string.h>

static const char *where_of(const struct rl *rl, const char *path)
{
    return config_where(rl->env.site->config, path);
}

/* --- Time --- */

static int64_t divided_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Prices a batch of so many tokens, above 0. Returns NULL, or why the plan cannot be. */
static const char *price(struct rl *rl, int64_t tokens, struct training_step *step)
{
    rl->training.global_batch = divided_up(tokens, rl->training.sequence_tokens);
    return training_setup_price(rl->setup, rl->gpus, true, step);
}

static double forward_s(const struct training_step *step)
{
    return step->passes_s * step->forward_s / (step->forward_s + step->backward_s + step->recompute_s);
}

static int refuse_memory(const struct rl *rl, const struct training_step *step)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    return diag_error(rl->env.site->diag, SIM_E_UNFIT, where_of(rl, "rl.training"),
                      "raise tensor_parallel, zero or rl.gpus, or recompute",
                      "training on %lld GPUs does not fit: %.4g GiB of a GPU, and %.4g are usable", (long long)rl->gpus,
                      step->memory.total_bytes / gib,
                      (1.0 - rl->training.reserve_frac) * rl->setup->gpu.memory_bytes / gib);
}

int rl_training_s(struct rl *rl, int64_t tokens, double *seconds)
{
    const struct rl_config *config = rl->config;
    struct training_step step;
    *seconds = 0.0;
    if (tokens == 0) return 0;
    SIM_REQUIRE(price(rl, divided_up(tokens, config->updates), &step) == NULL);
    if (!step.fits) return refuse_memory(rl, &step);
    *seconds = (double)config->updates * step.step_s;
    if (config->forward_passes == 0) return 0;
    SIM_REQUIRE(price(rl, tokens, &step) == NULL);
    *seconds += (double)config->forward_passes * forward_s(&step);
    return 0;
}

/* --- The plan --- */

/* What a step trains follows from the service. */
static int check_batch(const struct rl *rl)
{
    const struct training_config *plan = &rl->config->training;
    if (plan->lengths.law != 0)
        return diag_error(rl->env.site->diag, SIM_E_CONFIG, where_of(rl, "rl.training.lengths"), "leave out 'lengths'",
                          "the tokens of 'rl' are packed into sequences of equal length");
    if (plan->shape.linear_layers > 0)
        return diag_error(rl->env.site->diag, SIM_E_CONFIG, where_of(rl, "rl.training.shape"),
                          "leave out 'linear_layers'", "services generate with softmax attention in all layers");
    if (plan->global_batch == 0 && plan->global_batch_tokens == 0 && plan->micro_batches == 0) return 0;
    return diag_error(rl->env.site->diag, SIM_E_CONFIG, where_of(rl, "rl.training"),
                      "leave out 'global_batch', 'global_batch_tokens' and 'micro_batches'",
                      "the batch of 'rl' follows from its prompts and samples");
}

static int check_llm(const struct rl *rl)
{
    const struct llm_spec *trained = &rl->setup->llm, *served = service_llm_spec(rl->env.service);
    if (trained->layers == served->layers && trained->hidden == served->hidden &&
        llm_parameters(trained) == llm_parameters(served))
        return 0;
    return diag_error(rl->env.site->diag, SIM_E_CONFIG, where_of(rl, "rl.training.llm"), "train the LLM of the service",
                      "service '%s' generates with %s, and training makes another LLM, %s", rl->config->service,
                      served->name, trained->name);
}

/* The memory of a GPU does not depend on the number of sequences of a step, once there are enough for the pipeline.
 * With gpipe it does, and is checked as steps are trained. */
static int check_plan(struct rl *rl)
{
    struct training_step step;
    const struct rl_config *config = rl->config;
    const int64_t tokens = config->prompts * config->samples * config->training.sequence_tokens;
    const char *problem = price(rl, divided_up(tokens, config->updates), &step);
    if (problem != NULL)
        return diag_error(rl->env.site->diag, SIM_E_CONFIG, where_of(rl, "rl.training"),
                          strstr(problem, "not modelled") ? "take another LLM" : "'orrery plan' prices such a plan",
                          "training cannot run on %lld GPUs: %s", (long long)rl->gpus, problem);
    rl->state_bytes = step.memory.weight_bytes + step.memory.optimizer_bytes;
    return step.fits || rl->setup->plan.schedule == SCHEDULE_GPIPE ? 0 : refuse_memory(rl, &step);
}

static int make_setup(struct rl *rl, const struct cluster *cluster, const char *gpu)
{
    const struct site_env *site = rl->env.site;
    const double sharers = rl->env.nic_per_node && cluster->gpus_per_node > 0 ? (double)cluster->gpus_per_node : 1.0;
    struct training_request *request = arena_alloc(site->arena, sizeof *request);
    rl->setup = arena_alloc(site->arena, sizeof *rl->setup);
    if (request == NULL || rl->setup == NULL) return diag_nomem(site->diag);
    *request = (struct training_request){
        .gpu = gpu, .gpus = rl->gpus, .gpus_per_node = cluster->gpus_per_node, .nvlink = true, .link_share = 1.0,
        .bridge_share = (double)NAN, .network_bytes_per_s = rl->env.nic_bytes_per_s / sharers,
        .training = rl->training};
    const int code = training_setup_make(site->catalog, request, where_of(rl, "rl.training"), site->arena, rl->setup,
                                         site->diag);
    if (code != 0) return code;
    rl->setup->config = &rl->training;
    const double given = cluster_gpu_usd_per_h(rl->env.cluster, gpu);
    rl->gpu_usd_per_h = isnan(given) ? rl->setup->gpu.usd_per_h : given;
    return 0;
}

/* --- GPUs --- */

/* Whole nodes, or GPUs of one node. */
static int take_gpus(struct rl *rl, const struct cluster *cluster, const char *gpu)
{
    const struct site_env *site = rl->env.site;
    const int64_t per_node = cluster->gpus_per_node, each = rl->gpus < per_node ? rl->gpus : per_node;
    if (rl->gpus % each != 0)
        return diag_error(site->diag, SIM_E_CONFIG, where_of(rl, "rl.gpus"), "take a multiple of the GPUs of a node",
                          "training takes GPUs of one node or whole nodes of %lld, not %lld GPUs", (long long)per_node,
                          (long long)rl->gpus);
    if (!cluster_has_groups_of(rl->env.cluster, gpu, (int32_t)each, rl->gpus / each))
        return diag_error(site->diag, SIM_E_UNFIT, where_of(rl, "rl.gpus"), "raise cluster.nodes, or lower rl.gpus",
                          "the cluster has not %lld GPUs left for the training beside service '%s'",
                          (long long)rl->gpus, rl->config->service);
    for (int64_t i = 0; i < rl->gpus / each; i++) {
        const int32_t node = cluster_take_group_of(rl->env.cluster, gpu, 0, (int32_t)each);
        const int code = topology_placement_add(rl->env.topology, &rl->placement, node, (int32_t)each, &rl->setup->gpu);
        if (code != 0) return code;
    }
    return 0;
}

static int count_gpus(struct rl *rl)
{
    const struct rl_config *config = rl->config;
    const struct site_env *site = rl->env.site;
    rl->gpus = config->gpus;
    if (config->layout == RL_APART && config->gpus == 0)
        return diag_error(site->diag, SIM_E_CONFIG, where_of(rl, "rl"), "such as \"gpus\": 8",
                          "training apart from the replicas needs 'gpus'");
    if (config->layout == RL_APART) return 0;
    if (config->gpus > 0 || config->gpu != NULL)
        return diag_error(site->diag, SIM_E_CONFIG, where_of(rl, config->gpus > 0 ? "rl.gpus" : "rl.gpu"),
                          "leave it out", "with layout 'together' training runs on the GPUs of service '%s'",
                          config->service);
    if (rl->env.has_pools)
        return diag_error(site->diag, SIM_E_CONFIG, where_of(rl, "rl.layout"), "take \"layout\": \"apart\"",
                          "service '%s' has pools, and training cannot take turns with those", config->service);
    if (config->staleness > 0)
        return diag_error(site->diag, SIM_E_CONFIG, where_of(rl, "rl.staleness"), "leave it out",
                          "rollouts and training that take turns are synchronous");
    for (int32_t i = 0; i < rl->n_replicas; i++) rl->gpus += service_replica_gpus(rl->env.service, i)->n_gpus;
    return 0;
}

int rl_trainer_create(struct rl *rl)
{
    const struct rl_config *config = rl->config;
    const char *gpu = config->gpu != NULL ? config->gpu : rl->env.cluster->gpu;
    const struct cluster *cluster = cluster_with_gpu(rl->env.cluster, gpu);
    if (cluster == NULL)
        return diag_error(rl->env.site->diag, SIM_E_CONFIG, where_of(rl, "rl.gpu"), "add some to cluster.node_types",
                          "the cluster has no nodes with the GPU '%s' of the training", gpu);
    if (cluster->n_nodes == 0 || rl->env.cluster->n_nodes == 0)
        return diag_error(rl->env.site->diag, SIM_E_CONFIG, where_of(rl, "cluster"),
                          "such as 'cluster.nodes' and 'cluster.gpus_per_node'", "'rl' needs nodes with GPUs");
    rl->training = config->training;
    int code = check_batch(rl);
    if (code == 0) code = count_gpus(rl);
    if (code == 0) code = make_setup(rl, cluster, gpu);
    if (code == 0) code = check_llm(rl);
    if (code == 0) code = check_plan(rl);
    return code != 0 || config->layout == RL_TOGETHER ? code : take_gpus(rl, cluster, gpu);
}
