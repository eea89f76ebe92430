/* orrery plan: the time of a training step and the memory of a GPU, of one plan or of the best for a number of GPUs. */
#include "sim/cli/plan/plan.h"
#include "sim/cli/plan/rlhf.h"

#include "sim/cli/file_kind.h"
#include "sim/cli/key_names.h"
#include "sim/cli/paths.h"
#include "sim/core/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct plan_options {
    struct option_texts settings;
    const char *gpu, *gpus, *batch, *sequence;
    int form; /* enum answer_form */
    bool search;
};

#define AT(name) offsetof(struct plan_options, name)
static const struct option plan_options_table[] = {
    {"The plan", "gpu", 'g', OPTION_TEXT, AT(gpu), "NAME", NULL, "GPU, of 'orrery list gpus'"},
    {NULL, "gpus", 'n', OPTION_TEXT, AT(gpus), "N", NULL, "GPUs (default: 8)"},
    {NULL, "batch", 'b', OPTION_TEXT, AT(batch), "N", NULL, "sequences of a step, over all GPUs"},
    {NULL, "sequence", 0, OPTION_TEXT, AT(sequence), "TOKENS", NULL, "tokens of a sequence (default: 4096)"},
    {NULL, "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL,
     "set a key of the plan: tensor_parallel, pipeline_parallel, recompute, network, shape.layers ..."},
    {NULL, "search", 0, OPTION_FLAG, AT(search), NULL, NULL,
     "search the keys that are not set (default: when neither tensor_parallel nor pipeline_parallel is)"},
    {"What comes out", "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print JSON"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the plans of a search as CSV"},
    {NULL, "markdown", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print Markdown"},
    {0}};
#undef AT

static bool is_file(const char *subject)
{
    static const char ending[] = ".plan.json";
    const size_t n = strlen(subject), n_ending = sizeof ending - 1;
    return n >= n_ending && strcmp(subject + n - n_ending, ending) == 0;
}

static int set(struct cli *cli, struct config *config, const char *key, const char *value, struct arena *arena)
{
    if (value == NULL) return 0;
    const char *assignment = arena_printf(arena, "%s=%s", key, value);
    return assignment != NULL ? config_set(config, assignment, &cli->diag) : diag_nomem(&cli->diag);
}

#define BATCH_HINT "such as --batch 512, or --set global_batch_tokens=4194304"

static bool lacks(const struct config *config, const char *key)
{
    return !config_is_given(config, key);
}

/* The plan's document, or an empty one for an LLM. */
static int load(struct cli *cli, const char *subject, const struct plan_options *options, struct arena *arena,
                struct config **config)
{
    static const char empty[] = "{}";
    int code = is_file(subject) ? config_load(subject, config, &cli->diag)
                                : config_parse("orrery plan", ".", empty, sizeof empty - 1, config, &cli->diag);
    if (code == 0 && !is_file(subject)) code = set(cli, *config, "llm", subject, arena);
    if (code == 0) code = set(cli, *config, "gpu", options->gpu, arena);
    if (code == 0) code = set(cli, *config, "gpus", options->gpus, arena);
    if (code == 0) code = set(cli, *config, "global_batch", options->batch, arena);
    if (code == 0) code = set(cli, *config, "sequence_tokens", options->sequence, arena);
    for (size_t i = 0; code == 0 && i < options->settings.n; i++)
        code = config_set(*config, options->settings.items[i], &cli->diag);
    if (code == 0 && !is_file(subject) && !config_is_given(*config, "gpu"))
        code = diag_error(&cli->diag, SIM_E_USAGE, NULL, "name it with --gpu, one of 'orrery list gpus'",
                          "there is no GPU to train on");
    if (code == SIM_E_USAGE && lacks(*config, "global_batch") && lacks(*config, "global_batch_tokens"))
        diag_error(&cli->diag, SIM_E_USAGE, NULL, BATCH_HINT, "there is no batch of a step");
    return code;
}

static struct plan_free find_free(const struct config *config, const struct training_setup *setup)
{
    const int64_t long_tokens = 32768;
    return (struct plan_free){
        .tensor = lacks(config, "tensor_parallel"), .pipeline = lacks(config, "pipeline_parallel"),
        .chunks = lacks(config, "pipeline_chunks") && lacks(config, "schedule"),
        .context = lacks(config, "context_parallel") && setup->config->sequence_tokens >= long_tokens,
        .expert = lacks(config, "expert_parallel") && setup->llm.experts > 0,
        .micro_batch = lacks(config, "micro_batch") && lacks(config, "micro_batches"),
        .recompute = lacks(config, "recompute") && setup->config->tiers.placement == 0,
        .zero = lacks(config, "zero") && lacks(config, "shard_optimizer") && lacks(config, "shard_gradients") &&
                lacks(config, "shard_weights"),
        .secondary = lacks(config, "shard_secondary") && setup->config->tiers.weights == HOME_GPU};
}

/* Whether two keys of the plan cannot go together, in any layout. */
static bool is_exclusion(const char *problem)
{
    return strstr(problem, "exclude each other") != NULL;
}

/* The nearest batches that the data ranks share evenly. */
static void hint_batch(const struct training_setup *setup, const char *problem, char hint[TRAINING_HINT_CHARS])
{
    const struct training_plan *plan = &setup->plan;
    const int64_t sequences = training_config_sequences(setup->config), each = plan->data * plan->micro_batch;
    const int64_t below = sequences / each * each;
    if (strstr(problem, "not a multiple of the data ranks") == NULL) return;
    const int n = snprintf(hint, TRAINING_HINT_CHARS,
                           "%" PRId64 " sequences on %" PRId64 " data ranks times %" PRId64 "; take", sequences,
                           plan->data, plan->micro_batch);
    if (below > 0) snprintf(hint + n, (size_t)(TRAINING_HINT_CHARS - n), " %" PRId64 " or", below);
    snprintf(hint + strlen(hint), TRAINING_HINT_CHARS - strlen(hint), " %" PRId64, below + each);
}

static int fail_plan(struct cli *cli, const struct training_setup *setup, const char *problem)
{
    char hint[TRAINING_HINT_CHARS];
    const bool batch = strstr(problem, "needs 'global_batch'") != NULL, network = strstr(problem, "network") != NULL;
    training_setup_hint(setup, problem, hint);
    hint_batch(setup, problem, hint);
    return diag_error(&cli->diag, SIM_E_CONFIG, "plan",
                      hint[0] != 0                              ? hint
                      : batch                                   ? BATCH_HINT
                      : is_exclusion(problem)                   ? "leave one of the two out"
                      : strstr(problem, "not modelled") != NULL ? "take another LLM, such as llama-3.1-8b"
                      : network                                 ? "such as --set network=50GB/s, per GPU and direction"
                                                                : "'orrery plan --help' explains how to search",
                      "%s", problem);
}

/* The bytes of the plan that setup holds. */
static int find_levels(struct cli *cli, const struct training_setup *setup, struct training_levels *levels)
{
    const struct training_plan *plan = &setup->plan;
    if (plan->lengths != NULL) return 0;
    struct training_exchanges *stages = mem_zalloc((size_t)plan->pipeline, sizeof *stages);
    double *room = mem_zalloc(training_levels_room(plan), sizeof *room);
    const bool has_room = stages != NULL && room != NULL;
    if (has_room) {
        training_exchanges_of(&setup->parts, stages);
        training_levels_of(plan, stages, setup->nodes_per_rack, room, levels);
    }
    mem_free(stages);
    mem_free(room);
    return has_room ? 0 : diag_nomem(&cli->diag);
}

/* The static split of plans with other numbers of context ranks, which fit if this plan does, where one is faster. */
static void find_best_static(struct training_setup *setup, struct plan_found *found)
{
    struct training_step *best = &found->splits[SPLIT_BEST_STATIC];
    const int64_t ranks = training_plan_replicas(&found->plan);
    for (int64_t context = 1; context <= ranks; context *= 2) {
        if (ranks % context != 0) continue;
        setup->plan.context = context;
        setup->plan.data = ranks / context;
        if (training_plan_problem(&setup->plan, &setup->llm) != NULL) continue;
        const struct training_step step = training_step_of(&setup->parts, setup->config->reserve_frac);
        if (step.step_s < best->step_s && (step.fits || !found->step.fits)) *best = step;
    }
}

static void find_splits(struct training_setup *setup, struct plan_found *found)
{
    if (found->plan.lengths == NULL) return;
    for (int split = 0; split < TRAINING_SPLITS; split++) {
        setup->plan.split = (enum training_split)split;
        found->splits[split] = training_step_of(&setup->parts, setup->config->reserve_frac);
    }
    find_best_static(setup, found); /* whose split is the last one */
    setup->plan = found->plan;
}

static int answer_plan(struct cli *cli, const struct plan_options *options, const struct config *config,
                       struct training_setup *setup)
{
    const bool searches = options->search || (lacks(config, "tensor_parallel") && lacks(config, "pipeline_parallel"));
    struct plan_found found = {.config = *setup->config};
    const char *problem = training_setup_plan(setup, setup->gpus, true);
    const bool hopeless = problem != NULL && (strstr(problem, "global") != NULL || strstr(problem, "network") != NULL ||
                                              strstr(problem, "fp8") != NULL || is_exclusion(problem));
    if (hopeless) return fail_plan(cli, setup, problem);
    if (searches) {
        struct plan_search search;
        const struct plan_free free = find_free(config, setup);
        plan_search(setup, &free, &search);
        return plan_answer_search(setup, &search, (enum answer_form)options->form, cli->out, &cli->diag);
    }
    problem = training_setup_price(setup, setup->gpus, false, &found.step);
    if (problem != NULL) return fail_plan(cli, setup, problem);
    found.plan = setup->plan;
    find_splits(setup, &found);
    const int code = find_levels(cli, setup, &found.levels);
    if (code != 0) return code;
    return plan_answer_one(setup, &found, (enum answer_form)options->form, cli->out, &cli->diag);
}

/* A document of RLHF, with the options that it has keys for. */
static int plan_rlhf(struct cli *cli, const char *path, const struct plan_options *options)
{
    if (options->gpu != NULL || options->gpus != NULL || options->batch != NULL || options->sequence != NULL ||
        options->search)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "such as --set gpus=16, --set prompts=512",
                          "a plan of RLHF is set by its keys alone");
    return rlhf_plan(cli, path, &options->settings, (enum answer_form)options->form);
}

static int plan_verb(struct cli *cli, const struct cli_call *call)
{
    const struct plan_options *options = call->options;
    if (rlhf_is_file(call->arguments[0])) return plan_rlhf(cli, call->arguments[0], options);
    struct arena arena;
    struct catalog_memory memory;
    struct training_request request;
    struct training_setup *setup;
    struct config *config = NULL;
    struct config_families families = cli_families(NULL);
    families.advice = NULL; /* it is of scenarios */
    arena_init(&arena);
    catalog_memory_init(&memory);
    const struct catalog catalog = {.root = paths_catalog(&arena), .memory = &memory};
    setup = arena_alloc(&arena, sizeof *setup);
    int code = catalog.root != NULL && setup != NULL ? 0 : diag_nomem(&cli->diag);
    if (code == 0 && !is_file(call->arguments[0])) code = file_kind_check_llm(call->arguments[0], "plan", &cli->diag);
    if (code == 0) code = load(cli, call->arguments[0], options, &arena, &config);
    if (code == 0)
        code = config_bind(config, training_request_fields, &families, &arena, &request, sizeof request, &cli->diag);
    if (code == 0) code = training_setup_make(&catalog, &request, "plan", &arena, setup, &cli->diag);
    if (code == 0) code = answer_plan(cli, options, config, setup);
    config_destroy(config);
    catalog_memory_fini(&memory);
    arena_fini(&arena);
    return code;
}

/* A callback for struct verb: the LLM and the plan's file are arguments, a key of the plan is set. */
static enum option_hint explain_option(const char *name, char *hint, size_t hint_bytes)
{
    static const char alone[] = "the LLM stands alone: orrery plan llama-3.1-8b --gpu h100-sxm --gpus 8 --batch 512";
    static const char *const known[][2] = {
        {"llm", alone},
        {"model", alone},
        {"model-path", alone},
        {"plan", alone},
        {"nodes", "--gpus N counts the GPUs of all nodes; --set gpus_per_node=8 divides them"},
        {"global-batch", "it is --batch N"},
        {"global-batch-size", "it is --batch N"},
        {"seq-len", "it is --sequence TOKENS"},
        {"seq-length", "it is --sequence TOKENS"},
        {"dp", "data parallelism is what '--gpus' leaves; --set tensor_parallel=N sets the rest"},
        {"data-parallel", "data parallelism is what '--gpus' leaves; --set tensor_parallel=N sets the rest"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i][0], name) != 0) continue;
        snprintf(hint, hint_bytes, "%s", known[i][1]);
        return OPTION_MEANT;
    }
    return key_explain_field(training_request_fields, name, hint, hint_bytes);
}

const struct verb verb_plan = {
    .name = "plan",
    .summary = "time and memory of a training step, of one plan or of the fastest for a number of GPUs",
    .usage = "LLM --gpu NAME --gpus N --batch N [options]\nFILE.plan.json [options]\nFILE.rlhf.json [options]",
    .notes = "A search tries tensor, pipeline, expert and, from 32768 tokens on, context parallelism, chunks of stages,\n"
             "sizes of micro-batches, recomputation of layers, and shards of states. What does not fit is counted.\n"
             "FILE.rlhf.json has the four models of PPO: the answer is a mesh and a split for each call of a step.\n",
    .options = plan_options_table,
    .explain_key = explain_option,
    .options_bytes = sizeof(struct plan_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = plan_verb,
};
