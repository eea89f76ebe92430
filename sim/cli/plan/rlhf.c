/* The document FILE.rlhf.json: models, lengths, cluster and search. */
#include "sim/cli/plan/rlhf.h"

#include "sim/catalog/cost.h"
#include "sim/cli/paths.h"
#include "sim/core/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROW_OF struct rlhf_search_config
static const struct config_field search_fields[] = {
    ROW_INT("proposals", proposals, DEFAULT("20000"), WITHIN(0, 1e9), "plans that the Markov chains propose"),
    ROW_INT("visits", visits, DEFAULT("200000"), WITHIN(0, 1e12),
            "partial plans that the proof of the optimum may visit; 0: there is none"),
    ROW_REAL("temperature", temperature, DEFAULT("0.1"), WITHIN(1e-6, 100),
             "of the chains at their start: a plan longer by this share is kept with the chance 1/e"),
    ROW_INT("seed", seed, DEFAULT("1"), AT_LEAST(0), "of the random stream"),
    {0}};
#undef ROW_OF

#define ROW_OF struct rlhf_config
const struct config_field rlhf_config_fields[] = {
    ROW_NAME_OR_PATH("gpu", gpu, REQUIRED, WITHIN(1, 4096), "GPU ('orrery list gpus')"),
    ROW_INT("gpus", gpus, DEFAULT("8"), WITHIN(1, REALLOCATION_GPUS),
            "GPUs of the cluster: whole nodes, or part of one"),
    ROW_INT("gpus_per_node", gpus_per_node, DEFAULT("8"), WITHIN(1, 64), "GPUs of a node"),
    ROW_QUANTITY("network", network_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth between nodes, per GPU and direction"),
    ROW_REAL("reserve", reserve_frac, DEFAULT("0.06"), WITHIN(0, 0.9), "share of a GPU's memory that is kept free"),
    ROW_SECTION("actor", actor, REQUIRED, training_config_fields, "model that is trained, and how: keys of a plan"),
    ROW_SECTION("critic", critic, REQUIRED, training_config_fields, "model of values that is trained, and how"),
    ROW_NAME_OR_PATH("reference", reference, OPTIONAL, WITHIN(1, 4096), "LLM; default: the actor's"),
    ROW_NAME_OR_PATH("reward", reward, OPTIONAL, WITHIN(1, 4096), "LLM; default: the critic's"),
    ROW_INT("prompts", prompts, REQUIRED, WITHIN(1, 1e6), "prompts of a step"),
    ROW_INT("samples", samples, DEFAULT("1"), WITHIN(1, 1e4), "samples of each prompt"),
    ROW_INT("prompt_tokens", prompt_tokens, REQUIRED, WITHIN(1, 1 << 22), "tokens of each prompt"),
    ROW_INT("output_tokens", output_tokens, REQUIRED, WITHIN(1, 1 << 22), "tokens of each sample"),
    ROW_INT("updates", updates, DEFAULT("1"), WITHIN(1, 1000),
            "updates of actor and critic in a step, each with an equal part of the samples"),
    ROW_SHORT_VARIANT("cost", cost, DEFAULT("operators"), "cost", "kind",
                      "duration of iterations that generate or only run forward"),
    ROW_SECTION("search", search, FILLED, search_fields, "how long plans are searched"),
    {0}};
#undef ROW_OF

bool rlhf_is_file(const char *subject)
{
    static const char ending[] = ".rlhf.json";
    const size_t n = strlen(subject), n_ending = sizeof ending - 1;
    return n >= n_ending && strcmp(subject + n - n_ending, ending) == 0;
}

#define SPLITS "leave it out: the search chooses splits and micro-batches"
#define BATCH  "leave it out: the batch follows from 'prompts', 'samples' and 'updates'"
#define LENGTH "leave it out: sequences have 'prompt_tokens' and 'output_tokens'"
#define SHARES "give 'zero' 0, 1 or 2"
#define ON_GPU "leave it out: plans of RLHF keep all states on GPUs"

/* Keys of a plan that the search chooses, that follow from the step, or that meshes and moves do not know. */
static const struct refused {
    const char *key, *hint;
} refused[] = {{"tensor_parallel", SPLITS},
               {"pipeline_parallel", SPLITS},
               {"pipeline_chunks", SPLITS},
               {"context_parallel", SPLITS},
               {"expert_parallel", SPLITS},
               {"micro_batch", SPLITS},
               {"micro_batches", SPLITS},
               {"schedule", "leave it out: stages run 1f1b"},
               {"global_batch", BATCH},
               {"global_batch_tokens", BATCH},
               {"sequence_tokens", LENGTH},
               {"lengths", LENGTH},
               {"shard_weights", SHARES},
               {"shard_gradients", SHARES},
               {"shard_optimizer", SHARES},
               {"shard_secondary", SHARES},
               {"recompute_layers", "leave it out: all layers are recomputed, or none"},
               {"reserve", "give 'reserve' outside the section: it holds for all models"},
               {"tiers", ON_GPU},
               {"offload", ON_GPU},
               {"nics", "leave it out: 'network' connects all nodes"}};

static int check_keys(const struct config *config, const char *section, const struct training_config *training,
                      struct diag *diag)
{
    char path[64];
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(path, sizeof path, "%s.%s", section, refused[i].key);
        if (config_is_given(config, path))
            return diag_error(diag, SIM_E_CONFIG, config_where(config, path), refused[i].hint,
                              "'%s' is not free in a plan of RLHF", refused[i].key);
    }
    snprintf(path, sizeof path, "%s.recompute", section);
    if (training_chooses_layers(training->recompute))
        return diag_error(diag, SIM_E_CONFIG, config_where(config, path),
                          "leave it out: the search takes \"none\" or \"full\", by what fits beside other models",
                          "'recompute' that looks at the memory of one model is not known in a plan of RLHF");
    return 0;
}

/* Moves need every rank to have its whole part of the weights. */
static int check_weights(const struct config *config, const char *path, int64_t zero, struct diag *diag)
{
    if (zero < 3) return 0;
    return diag_error(diag, SIM_E_CONFIG, config_where(config, path), "give 0, 1 or 2",
                      "plans of RLHF do not know weights that data ranks share");
}

static int check_cluster(const struct config *config, struct rlhf_config *rlhf, struct diag *diag)
{
    if (rlhf->gpus > rlhf->gpus_per_node && rlhf->gpus % rlhf->gpus_per_node != 0)
        return diag_error(
            diag, SIM_E_CONFIG, config_where(config, "gpus"), "give whole nodes, or fewer GPUs than one has",
            "%" PRId64 " GPUs are not a multiple of the %" PRId64 " GPUs of a node", rlhf->gpus, rlhf->gpus_per_node);
    if (rlhf->gpus / rlhf->gpus_per_node > RLHF_NODES_MOST)
        return diag_error(diag, SIM_E_CONFIG, config_where(config, "gpus"), "give fewer GPUs, or larger nodes",
                          "more than %d nodes are not searched", RLHF_NODES_MOST);
    if (rlhf->gpus > rlhf->gpus_per_node && isnan(rlhf->network_bytes_per_s))
        return diag_error(diag, SIM_E_CONFIG, config_where(config, "gpus"),
                          "such as \"network\": \"50GB/s\", per GPU and direction", "no network connects the nodes");
    if (rlhf_sequences(rlhf) % rlhf->updates != 0)
        return diag_error(
            diag, SIM_E_CONFIG, config_where(config, "updates"), "give a divisor of prompts times samples",
            "%" PRId64 " sequences are not a multiple of %" PRId64 " updates", rlhf_sequences(rlhf), rlhf->updates);
    return 0;
}

static int load(struct cli *cli, const char *path, const struct option_texts *set, struct arena *arena,
                struct config **config, struct rlhf_config *rlhf)
{
    struct config_families families = cli_families(NULL);
    families.advice = NULL; /* it is of scenarios */
    int code = config_load(path, config, &cli->diag);
    for (size_t i = 0; code == 0 && i < set->n; i++) code = config_set(*config, set->items[i], &cli->diag);
    if (code == 0) code = config_bind(*config, rlhf_config_fields, &families, arena, rlhf, sizeof *rlhf, &cli->diag);
    if (code == 0) code = check_keys(*config, "actor", &rlhf->actor, &cli->diag);
    if (code == 0) code = check_keys(*config, "critic", &rlhf->critic, &cli->diag);
    if (code == 0) code = check_weights(*config, "actor.zero", rlhf->actor.zero, &cli->diag);
    if (code == 0) code = check_weights(*config, "critic.zero", rlhf->critic.zero, &cli->diag);
    return code == 0 ? check_cluster(*config, rlhf, &cli->diag) : code;
}

int rlhf_plan(struct cli *cli, const char *path, const struct option_texts *set, enum answer_form form)
{
    struct arena arena;
    struct catalog_memory memory;
    struct rlhf_config rlhf;
    struct rlhf_search search;
    struct config *config = NULL;
    arena_init(&arena);
    catalog_memory_init(&memory);
    const struct catalog catalog = {.root = paths_catalog(&arena), .memory = &memory};
    struct rlhf_setup *setup = arena_alloc(&arena, sizeof *setup);
    struct rlhf_space *space = arena_alloc(&arena, sizeof *space);
    int code = catalog.root != NULL && setup != NULL && space != NULL ? 0 : diag_nomem(&cli->diag);
    if (code == 0) code = load(cli, path, set, &arena, &config, &rlhf);
    if (code == 0) {
        *setup = (struct rlhf_setup){.config = &rlhf, .document = config, .catalog = &catalog};
        code = rlhf_space_meshes(space, rlhf.gpus, rlhf.gpus_per_node, &arena, &cli->diag);
    }
    if (code == 0) code = rlhf_price(setup, space, &arena, &cli->diag);
    if (code == 0) code = rlhf_search(space, &rlhf.search, cli->interrupt, &search, &cli->diag);
    if (code == 0) code = rlhf_answer(setup, space, &search, form, cli->out, &cli->diag);
    if (code == 0 && search.is_interrupted)
        code = diag_error(&cli->diag, SIM_E_INTERRUPTED, path,
                          "lower 'search.proposals' or 'search.visits' for a shorter search",
                          search.has_best ? "interrupted: the answer has the best of %" PRId64 " plans"
                                          : "interrupted: none of %" PRId64 " plans fits",
                          search.n_evaluated);
    config_destroy(config);
    catalog_memory_fini(&memory);
    arena_fini(&arena);
    return code;
}
