/* The plans for a number of GPUs: every split of the layers, sequences and experts, with and without recomputation. */
#include "sim/cli/plan/plan.h"

#include <string.h>

static double rate_of(const struct plan_found *found)
{
    return (double)training_plan_sequences(&found->plan) / found->step.step_s;
}

/* Puts a plan among the best; of equal ones the first stays in front. */
static void keep(struct plan_search *search, const struct plan_found *found)
{
    size_t at = search->n_best;
    while (at > 0 && rate_of(&search->best[at - 1]) < rate_of(found)) at--;
    if (at == PLAN_BEST) return;
    if (search->n_best < PLAN_BEST) search->n_best++;
    for (size_t i = search->n_best - 1; i > at; i--) search->best[i] = search->best[i - 1];
    search->best[at] = *found;
}

/* Counts a layout that is no plan. */
static void note(struct plan_reasons *reasons, const char *text)
{
    size_t at = 0;
    while (at < reasons->n && strcmp(reasons->items[at].text, text) != 0) at++;
    if (at == PLAN_REASONS) return;
    if (at == reasons->n) reasons->items[reasons->n++] = (struct plan_reason){text, 0};
    reasons->items[at].n++;
    for (; at > 0 && reasons->items[at - 1].n < reasons->items[at].n; at--) {
        const struct plan_reason more = reasons->items[at];
        reasons->items[at] = reasons->items[at - 1];
        reasons->items[at - 1] = more;
    }
}

static void try_plan(struct training_setup *setup, const struct training_config *config, struct plan_search *search)
{
    struct plan_found found = {.config = *config};
    setup->config = &found.config;
    const char *problem = training_setup_price(setup, setup->gpus, false, &found.step);
    found.plan = setup->plan;
    if (problem != NULL) {
        note(&search->refused, problem);
        return;
    }
    if (search->n_priced == 0 || found.step.memory.total_bytes < search->smallest.step.memory.total_bytes)
        search->smallest = found;
    search->n_priced++;
    if (found.step.fits)
        keep(search, &found);
    else
        search->n_unfit++;
}

/* The next value of a key: twice the last one; a fixed key has one value. */
static int64_t next(bool is_free, int64_t value, int64_t most)
{
    return is_free && value * 2 <= most ? value * 2 : 0;
}

/* Without a second copy of the weights, and with each that fewer ranks share (Wang et al. 2023, ZeRO++). */
static void try_copies(struct training_setup *setup, const struct plan_free *free, struct training_config config,
                       struct plan_search *search)
{
    try_plan(setup, &config, search);
    for (int64_t ranks = 2; free->secondary && ranks < config.shard_weights; ranks *= 2) {
        config.shard_secondary = ranks;
        try_plan(setup, &config, search);
    }
}

/* Ways to share the states of a layout among `replicas` ranks: ZeRO 1; without a pipeline also every choice of
 * neighbours of which those that share weights are at most as many as those that share gradients, and these at most as
 * many as those that share optimizer states (Chen et al. 2023, AMSP). Gradients lie with one of the others. */
static void try_shards(struct training_setup *setup, const struct plan_free *free, struct training_config config,
                       struct plan_search *search)
{
    const int64_t replicas = setup->gpus / (config.tensor_parallel * config.pipeline_parallel);
    try_plan(setup, &config, search);
    if (!free->zero || config.pipeline_parallel > 1) return;
    for (int64_t weights = 1; weights <= replicas; weights *= 2)
        for (int64_t optimizer = weights; optimizer <= replicas; optimizer *= 2)
            for (int side = 0; side < (optimizer > weights ? 2 : 1); side++) {
                if (replicas % optimizer != 0 || (optimizer == replicas && weights == 1 && side == 0)) continue;
                config.shard_weights = weights;
                config.shard_optimizer = optimizer;
                config.shard_gradients = side == 0 ? weights : optimizer;
                try_copies(setup, free, config, search);
            }
}

/* Recomputation, shards and chunks of a layout. */
static void try_ways(struct training_setup *setup, const struct plan_free *free, struct training_config config,
                     struct plan_search *search)
{
    const int recomputes[] = {RECOMPUTE_NONE, RECOMPUTE_FULL};
    const int64_t most_chunks = setup->llm.layers / config.pipeline_parallel;
    const struct training_config given = config;
    for (size_t r = 0; r < (free->recompute ? 2 : 1); r++)
        for (int64_t chunks = 1;
             chunks == 1 || (free->chunks && chunks <= most_chunks && chunks <= 4 && given.pipeline_parallel > 1);
             chunks *= 2) {
            if (free->recompute) config.recompute = recomputes[r];
            if (free->chunks) config.pipeline_chunks = chunks;
            if (free->chunks) config.schedule = chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
            try_shards(setup, free, config, search);
        }
}

static int64_t first(bool is_free, int64_t given)
{
    return is_free ? 1 : given;
}

void plan_search(struct training_setup *setup, const struct plan_free *free, struct plan_search *search)
{
    const struct training_config *const own = setup->config, given = *own;
    struct training_config config = given;
    const int64_t gpus = setup->gpus, layers = setup->llm.layers;
    *search = (struct plan_search){.n_best = 0};
    if (free->micro_batch) config.micro_batch = 0;
    for (config.tensor_parallel = first(free->tensor, given.tensor_parallel); config.tensor_parallel > 0;
         config.tensor_parallel = next(free->tensor, config.tensor_parallel, setup->gpus_per_node)) {
        const int64_t fewest = first(free->pipeline, given.pipeline_parallel);
        if (fewest > layers || fewest > gpus)
            note(&search->undivided, "'pipeline_parallel' is above the GPUs or the layers");
        for (int64_t stages = fewest; stages <= layers && stages <= gpus; stages++) {
            if (!free->pipeline && stages != given.pipeline_parallel) break;
            if (layers % stages != 0) {
                note(&search->undivided, "the layers are not a multiple of 'pipeline_parallel'");
                continue;
            }
            if (gpus % (stages * config.tensor_parallel) != 0) {
                note(&search->undivided, "the GPUs are not a multiple of tensor and pipeline parallelism together");
                continue;
            }
            config.pipeline_parallel = stages;
            for (config.context_parallel = first(free->context, given.context_parallel); config.context_parallel > 0;
                 config.context_parallel = next(free->context, config.context_parallel, setup->gpus_per_node))
                for (config.expert_parallel = first(free->expert, given.expert_parallel); config.expert_parallel > 0;
                     config.expert_parallel = next(free->expert, config.expert_parallel, setup->llm.experts))
                    try_ways(setup, free, config, search);
        }
    }
    setup->config = own;
}
