/* The plans that `orrery plan` searches, against a walk over all values of the keys that may be chosen. */
#include "sim/cli/plan/plan.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

enum { MOST_PLANS = 4096 };

/* A layout that the walk has priced. */
struct walked {
    struct training_config config;
    double rate, bytes;
    bool fits;
};

struct walk {
    struct training_setup *setup;
    const struct plan_free *free;
    struct training_config given;
    struct walked plans[MOST_PLANS];
    size_t n;
    struct plan_reasons undivided, refused; /* in the order in which they were met */
};

static bool is_power(int64_t value)
{
    while (value > 1 && value % 2 == 0) value /= 2;
    return value == 1;
}

static void count(struct plan_reasons *reasons, const char *text)
{
    size_t i = 0;
    while (i < reasons->n && strcmp(reasons->items[i].text, text) != 0) i++;
    if (i == reasons->n && i < PLAN_REASONS) reasons->items[reasons->n++] = (struct plan_reason){text, 0};
    if (i < PLAN_REASONS) reasons->items[i].n++;
}

static void price(struct walk *walk, const struct training_config *config)
{
    struct training_setup setup = *walk->setup;
    struct training_step step;
    setup.config = config;
    const char *problem = training_setup_price(&setup, setup.gpus, false, &step);
    if (problem != NULL) count(&walk->refused, problem);
    if (problem != NULL || !CHECK(walk->n < MOST_PLANS)) return;
    walk->plans[walk->n++] = (struct walked){*config, (double)training_plan_sequences(&setup.plan) / step.step_s,
                                             step.memory.total_bytes, step.fits};
}

/* The layout as it is, then with every number of ranks that share weights, gradients, optimizer states, and a second
 * copy of the weights. */
static void walk_shards(struct walk *walk, struct training_config config)
{
    const int64_t replicas = walk->setup->gpus / config.tensor_parallel / config.pipeline_parallel;
    price(walk, &config);
    if (!walk->free->zero || config.pipeline_parallel != 1) return;
    for (int64_t weights = 1; weights <= replicas; weights++)
        for (int64_t optimizer = 1; optimizer <= replicas; optimizer++)
            for (int64_t gradients = 1; gradients <= replicas; gradients++) {
                if (!is_power(weights) || !is_power(optimizer) || replicas % optimizer != 0) continue;
                if (weights > optimizer || (gradients != weights && gradients != optimizer)) continue;
                if (weights == 1 && gradients == 1 && optimizer == replicas) continue; /* ZeRO 1, as it is */
                config.shard_weights = weights;
                config.shard_gradients = gradients;
                config.shard_optimizer = optimizer;
                config.shard_secondary = walk->given.shard_secondary;
                price(walk, &config);
                for (int64_t copies = 2; walk->free->secondary && copies < weights; copies++) {
                    config.shard_secondary = copies;
                    if (is_power(copies)) price(walk, &config);
                }
            }
}

static void walk_ways(struct walk *walk, struct training_config config)
{
    for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++)
        for (int64_t chunks = 1; chunks <= 4; chunks++) {
            const bool is_one = !walk->free->recompute && recompute != RECOMPUTE_NONE;
            const bool divides = config.pipeline_parallel > 1 &&
                                 chunks * config.pipeline_parallel <= walk->setup->llm.layers;
            if (is_one || (recompute != RECOMPUTE_NONE && recompute != RECOMPUTE_FULL) || !is_power(chunks)) continue;
            if (chunks > 1 && (!walk->free->chunks || !divides)) continue;
            config.recompute = walk->free->recompute ? recompute : walk->given.recompute;
            config.pipeline_chunks = walk->free->chunks ? chunks : walk->given.pipeline_chunks;
            if (walk->free->chunks) config.schedule = chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
            walk_shards(walk, config);
        }
}

static bool has_value(bool is_free, int64_t value, int64_t given, int64_t most)
{
    return is_free ? is_power(value) && (value == 1 || value <= most) : value == given;
}

static void walk_all(struct walk *walk)
{
    const struct plan_free *free = walk->free;
    const int64_t gpus = walk->setup->gpus, layers = walk->setup->llm.layers, per_node = walk->setup->gpus_per_node;
    struct training_config config = walk->given;
    if (free->micro_batch) config.micro_batch = 0;
    for (config.tensor_parallel = 1; config.tensor_parallel <= 64; config.tensor_parallel++) {
        if (!has_value(free->tensor, config.tensor_parallel, walk->given.tensor_parallel, per_node)) continue;
        if (!free->pipeline && (walk->given.pipeline_parallel > layers || walk->given.pipeline_parallel > gpus))
            count(&walk->undivided, "'pipeline_parallel' is above the GPUs or the layers");
        for (config.pipeline_parallel = 1; config.pipeline_parallel <= layers && config.pipeline_parallel <= gpus;
             config.pipeline_parallel++) {
            if (!free->pipeline && config.pipeline_parallel != walk->given.pipeline_parallel) continue;
            const char *undivided = layers % config.pipeline_parallel != 0
                                        ? "the layers are not a multiple of 'pipeline_parallel'"
                                    : gpus % (config.pipeline_parallel * config.tensor_parallel) != 0
                                        ? "the GPUs are not a multiple of tensor and pipeline parallelism together"
                                        : NULL;
            if (undivided != NULL) count(&walk->undivided, undivided);
            for (config.context_parallel = 1; undivided == NULL && config.context_parallel <= 64;
                 config.context_parallel++)
                for (config.expert_parallel = 1; config.expert_parallel <= 256; config.expert_parallel++)
                    if (has_value(free->context, config.context_parallel, walk->given.context_parallel, per_node) &&
                        has_value(free->expert, config.expert_parallel, walk->given.expert_parallel,
                                  walk->setup->llm.experts))
                        walk_ways(walk, config);
        }
    }
}

/* Of the reasons of the walk each once, the most frequent first. */
static void check_reasons(const struct plan_reasons *found, const struct plan_reasons *walked)
{
    CHECK_EQ_INT(found->n, walked->n);
    for (size_t i = 0; i < found->n; i++) {
        size_t k = 0;
        while (k < walked->n && strcmp(found->items[i].text, walked->items[k].text) != 0) k++;
        if (CHECK(k < walked->n)) CHECK_EQ_INT(found->items[i].n, walked->items[k].n);
        if (i > 0) CHECK(found->items[i - 1].n >= found->items[i].n);
    }
}

/* The best is taken from the walk ten times, of equal ones the first. */
static void check_best(const struct plan_search *search, struct walk *walk)
{
    size_t n_fit = 0;
    for (size_t i = 0; i < walk->n; i++) n_fit += walk->plans[i].fits;
    CHECK_EQ_INT(search->n_priced, walk->n);
    CHECK_EQ_INT(search->n_unfit, walk->n - n_fit);
    CHECK_EQ_INT(search->n_best, n_fit < PLAN_BEST ? n_fit : PLAN_BEST);
    double least_bytes = (double)INFINITY;
    for (size_t i = 0; i < walk->n; i++) least_bytes = fmin(least_bytes, walk->plans[i].bytes);
    if (walk->n > 0) CHECK_NEAR(search->smallest.step.memory.total_bytes, least_bytes, 0.0);
    for (size_t n = 0; n < search->n_best; n++) {
        const struct plan_found *found = &search->best[n];
        struct walked *best = NULL;
        for (size_t i = 0; i < walk->n; i++)
            if (walk->plans[i].fits && (best == NULL || walk->plans[i].rate > best->rate)) best = &walk->plans[i];
        MUST(best != NULL);
        best->fits = false; /* not to be taken again */
        CHECK_NEAR((double)training_plan_sequences(&found->plan) / found->step.step_s, best->rate, 0.0);
        CHECK_EQ_INT(found->config.tensor_parallel, best->config.tensor_parallel);
        CHECK_EQ_INT(found->config.pipeline_parallel, best->config.pipeline_parallel);
        CHECK_EQ_INT(found->config.context_parallel, best->config.context_parallel);
        CHECK_EQ_INT(found->config.expert_parallel, best->config.expert_parallel);
        CHECK_EQ_INT(found->config.recompute, best->config.recompute);
        CHECK_EQ_INT(found->config.pipeline_chunks, best->config.pipeline_chunks);
        CHECK_EQ_INT(found->config.schedule, best->config.schedule);
        CHECK_EQ_INT(found->config.shard_weights, best->config.shard_weights);
        CHECK_EQ_INT(found->config.shard_gradients, best->config.shard_gradients);
        CHECK_EQ_INT(found->config.shard_optimizer, best->config.shard_optimizer);
        CHECK_EQ_INT(found->config.shard_secondary, best->config.shard_secondary);
        CHECK_EQ_INT(found->config.micro_batch, best->config.micro_batch);
    }
}

struct searched {
    const char *llm;
    int64_t gpus, per_node, tokens, batch; /* batch 0: four sequences on each data rank */
    struct plan_free free;
    int64_t tensor, pipeline, chunks;
};

static void check_search(const struct searched *of, struct walk *walk, struct plan_search *search)
{
    static const struct catalog catalog = {.root = "configs"};
    SCOPED(session) session = {0};
    struct training_setup setup;
    const struct training_config config = {
        .llm = of->llm, .trainer = "megatron-core", .tensor_parallel = of->tensor, .pipeline_parallel = of->pipeline,
        .pipeline_chunks = of->chunks, .context_parallel = 1, .expert_parallel = 1, .sequence_parallel = true,
        .schedule = of->chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B, .micro_batch = 1,
        .global_batch = of->batch,
        .micro_batches = of->batch > 0 ? 0 : 4, .recompute = RECOMPUTE_FULL, .zero = 1, .sequence_tokens = of->tokens,
        .reserve_frac = 0.1, .offload = {.link_bytes_per_s = (double)NAN}};
    const struct training_request request = {.gpu = "h100-sxm", .gpus = of->gpus, .gpus_per_node = of->per_node,
                                             .nvlink = true, .link_share = 1.0, .bridge_share = (double)NAN,
                                             .network_bytes_per_s = 50e9, .training = config};
    MUST(training_setup_make(&catalog, &request, "test", &session.arena, &setup, &session.diag) == 0);
    setup.config = &config;
    *walk = (struct walk){.setup = &setup, .free = &of->free, .given = config};
    walk_all(walk);
    plan_search(&setup, &of->free, search);
    CHECK(setup.config == &config); /* that of a plan has gone out of scope */
    check_reasons(&search->undivided, &walk->undivided);
    check_reasons(&search->refused, &walk->refused);
    check_best(search, walk);
}

TEST(a_search_finds_what_a_walk_over_all_plans_finds)
{
    static const struct searched cases[] = {
        {"llama-2-7b", 8, 8, 4096, 64,
         {.tensor = true, .pipeline = true, .chunks = true, .micro_batch = true, .recompute = true, .zero = true,
          .secondary = true}, 1, 1, 1},
        {"llama-2-7b", 12, 4, 4096, 96, {.tensor = true, .pipeline = true, .chunks = true, .zero = true}, 1, 1, 1},
        {"llama-2-7b", 16, 8, 32768, 16,
         {.tensor = true, .context = true, .recompute = true, .zero = true, .secondary = true}, 1, 1, 1},
        {"qwen3-30b-a3b", 16, 8, 4096, 64, {.pipeline = true, .expert = true, .chunks = true, .zero = true}, 1, 1, 1},
        {"llama-2-7b", 8, 8, 4096, 64, {.tensor = true, .recompute = true}, 1, 3, 1},
        {"llama-2-7b", 8, 8, 4096, 64, {.tensor = true, .micro_batch = true}, 1, 16, 1},
        {"llama-2-7b", 64, 8, 4096, 64, {.tensor = true, .chunks = true}, 1, 33, 1},
        {"llama-2-7b", 64, 8, 4096, 64, {.tensor = true, .chunks = true, .recompute = true}, 1, 16, 1},
        {"llama-2-7b", 16, 8, 4096, 64, {.pipeline = true, .zero = true, .micro_batch = true}, 2, 1, 1},
        {"llama-2-7b", 16, 8, 4096, 64, {.pipeline = true, .recompute = true}, 2, 1, 2},
        {"llama-2-7b", 64, 8, 4096, 64, {.pipeline = true}, 2, 1, 1},
        {"llama-2-7b", 16, 8, 4096, 0, {.tensor = true, .recompute = true}, 1, 1, 1},
        {"llama-2-70b", 8, 8, 4096, 64, {.tensor = true, .pipeline = true, .chunks = true}, 1, 1, 1}};
    struct walk *walk = mem_zalloc(1, sizeof *walk);
    struct plan_search *search = mem_zalloc(1, sizeof *search);
    size_t n = 0, n_unfit = 0, n_refused = 0, n_undivided = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_search(&cases[i], walk, search);
        n += walk->n;
        n_unfit += search->n_unfit;
        n_refused += search->refused.n;
        n_undivided += search->undivided.n;
    }
    CHECK(n > 300 && n_unfit > 30 && n_refused > 3 && n_undivided > 5);
    mem_free(search);
    mem_free(walk);
}
