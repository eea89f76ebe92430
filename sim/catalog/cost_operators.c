#include "sim/catalog/cost_operators.h"

#include "sim/catalog/cost_kind.h"
#include "sim/catalog/cost_libraries.h"
#include "sim/catalog/expert_loads.h"
#include "sim/core/text.h"

#include <math.h>
#include <string.h>

struct operators_params {
    const char *calibration, *kernels, *engine;
    int64_t expert_parallel, redundant_experts, expert_groups, dispatch_sms, dispatch_nodes;
    double expert_skew;
    const char *expert_loads;
    int dispatch, overlap;
    bool sequence_parallel, cuda_graphs;
    struct engine_overhead overhead; /* NAN: the engine's own */
};

#define OVERHEAD(key, member, what) ROW_QUANTITY(key, member, UNIT_TIME, OPTIONAL, WITHIN(0.0, 3600.0), what)

#define ROW_OF struct engine_overhead
static const struct config_field overhead_fields[] = {
    OVERHEAD("iteration", iteration_s, "of every iteration"),
    OVERHEAD("sequence", sequence_s, "of each sequence in it"),
    OVERHEAD("prompt", prompt_s, "of each prompt, or part of one, on top of that"),
    {0},
};
#undef ROW_OF

static const char by_itself[] = "auto";

/* In the order of enum llm_dispatch. */
static const char *const dispatches[] = {"all-gather", "all-to-all", "deepep-normal", "deepep-low-latency", NULL};

enum { OVERLAP_NONE, OVERLAP_TWO_BATCHES };

enum { DEFAULT_SMS = 20 }; /* as the key's default says: set or not, it means nothing to other kernels */
static const char *const overlaps[] = {"none", "two-batches", NULL};

#define ROW_OF struct operators_params
static const struct config_field fields[] = {
    ROW_NAME_OR_PATH("engine", engine, DEFAULT("vllm-0.12"), WITHIN(1, 4096),
                     "serving engine (orrery list engines): its CPU overhead, and the calibration set of its kernels"),
    ROW_NAME_OR_PATH("calibration", calibration, DEFAULT(by_itself), WITHIN(1, 4096),
                     "fitted parameters of the kernels; auto: for the cluster's GPU"),
    ROW_TEXT("kernels", kernels, DEFAULT(by_itself), WITHIN(1, 64),
             "set of the calibration: in-model, isolated ...; auto: that of the engine"),
    ROW_INT("expert_parallel", expert_parallel, DEFAULT("1"), WITHIN(1, 1024),
            "groups of GPUs that the experts are dealt to; divides tensor_parallel"),
    ROW_CHOICE("dispatch", dispatch, DEFAULT("all-gather"), dispatches,
               "tokens to common experts and back: gathered by all GPUs, NCCL's all-to-all, or DeepEP's normal or "
               "low-latency kernels"),
    ROW_INT("redundant_experts", redundant_experts, DEFAULT("0"), WITHIN(0, 1024),
            "copies of experts that share tokens; all experts divide by expert_parallel"),
    ROW_REAL("expert_skew", expert_skew, DEFAULT("0"), WITHIN(0.0, 4.0),
             "loads of experts by Zipf's law with this exponent, copies placed like EPLB's; 0: all copies are alike"),
    ROW_PATH("expert_loads", expert_loads, OPTIONAL,
             "loads of experts, in place of 'expert_skew': a CSV file without header, a row of counts for each layer "
             "with experts, or one for all"),
    ROW_INT("expert_groups", expert_groups, DEFAULT("0"), WITHIN(0, 1024),
            "groups of experts that stay on one node, as by EPLB's hierarchical policy, where loads are given; 0: its "
            "global policy"),
    ROW_INT("dispatch_sms", dispatch_sms, DEFAULT("20"), WITHIN(1, 1024),
            "SMs that DeepEP's normal kernels take; fewer than the GPU has"),
    ROW_INT("dispatch_nodes", dispatch_nodes, DEFAULT("0"), WITHIN(0, 1024),
            "most nodes that the experts of a token lie on, in normal kernels; 0: all"),
    ROW_CHOICE("overlap", overlap, DEFAULT("none"), overlaps,
               "two-batches: one half of a batch computes while DeepEP's kernels send the other"),
    ROW_BOOL("sequence_parallel", sequence_parallel, DEFAULT("false"),
             "whether norms and residuals are split by tokens, instead of repeated on every GPU"),
    ROW_BOOL("cuda_graphs", cuda_graphs, DEFAULT("true"),
             "whether an engine that captures CUDA graphs replays them, instead of launching kernels one by one"),
    ROW_SECTION("overhead", overhead, FILLED, overhead_fields,
                "CPU overhead in place of the engine's own, as 'orrery trace replay --refit overhead' fits it"),
    {0},
};
#undef ROW_OF

static bool is_auto(const char *text)
{
    return strcmp(text, by_itself) == 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct expert_loads loads_of(const struct operators_params *params, const struct cost_request *request,
                                    const struct llm_split *split)
{
    return (struct expert_loads){.path = params->expert_loads, .skew = params->expert_skew,
                                 .layers = request->llm->layers - request->llm->dense_layers,
                                 .experts = request->llm->experts, .copies = params->redundant_experts,
                                 .chosen = request->llm->experts_per_token,
                                 .gpus = params->expert_parallel, .groups = params->expert_groups,
                                 .nodes = (split->tensor + split->gpus_per_node - 1) / split->gpus_per_node};
}

/* Why keys do not go together, or NULL if they do: none is read in vain. */
static const char *keys_problem(const struct operators_params *params)
{
    const bool is_uneven = params->expert_skew > 0.0 || params->expert_loads;
    const bool is_normal = params->dispatch == DISPATCH_NORMAL;
    const bool has_deepep = is_normal || params->dispatch == DISPATCH_LOW_LATENCY;
    if (params->overlap == OVERLAP_TWO_BATCHES && !has_deepep)
        return "two-batches need DeepEP's kernels: set 'dispatch'";
    if (is_uneven && !has_deepep) return "loads of experts need DeepEP's kernels: set 'dispatch'";
    if (params->expert_skew > 0.0 && params->expert_loads)
        return "'expert_skew' and 'expert_loads' both give the loads of experts: leave one out";
    if (params->expert_groups > 0 && !is_uneven)
        return "'expert_groups' place experts by their loads: set 'expert_skew' or 'expert_loads'";
    if (params->dispatch_nodes > 0 && !is_normal)
        return "'dispatch_nodes' is of DeepEP's normal kernels: set 'dispatch' to 'deepep-normal', or leave it out";
    if (params->dispatch_sms != DEFAULT_SMS && !is_normal)
        return "'dispatch_sms' is of DeepEP's normal kernels: set 'dispatch' to 'deepep-normal', or leave it out";
    return NULL;
}

static int make_split(const struct operators_params *params, const struct cost_request *request,
                      struct llm_split *split)
{
    *split = (struct llm_split){
        .tensor = request->tensor_parallel,
        .pipeline = request->pipeline_parallel,
        .expert = params->expert_parallel,
        .redundant_experts = params->redundant_experts,
        .dispatch = (enum llm_dispatch)params->dispatch,
        .dispatch_sms = params->dispatch_sms,
        .dispatch_nodes = params->dispatch_nodes,
        .sequence = params->sequence_parallel,
        .data = request->data_parallel,
        .gpus_per_node = request->nodes.gpus_per_node,
        .network_bytes_per_s = request->nodes.network_bytes_per_s,
    };
    const int64_t gpus = request->tensor_parallel * request->pipeline_parallel;
    if (split->gpus_per_node == 0) split->gpus_per_node = gpus;
    const char *problem = llm_split_problem(request->llm, split);
    if (!problem) problem = keys_problem(params);
    if (!problem && split->dispatch == DISPATCH_NORMAL && params->dispatch_sms >= request->gpu->sm_count)
        return diag_error(request->diag, SIM_E_UNFIT, request->where, "DeepEP's default is 20 SMs",
                          "'dispatch_sms' %lld leaves none of the %lld SMs of %s to compute",
                          (long long)params->dispatch_sms, (long long)request->gpu->sm_count, request->gpu->name);
    const bool is_uneven = params->expert_skew > 0.0 || params->expert_loads;
    const struct expert_loads loads = loads_of(params, request, split);
    if (!problem && is_uneven) problem = expert_loads_problem(&loads);
    if (!problem) return is_uneven ? expert_loads_imbalance(&loads, &split->imbalance, request->diag) : 0;
    return diag_error(request->diag, SIM_E_UNFIT, request->where, NULL, "cannot split %s over %lld GPUs: %s",
                      request->llm->name, (long long)gpus, problem);
}

/* The classes of kernels that some batch launches: one launch of attention may serve prompts and decoding sequences. */
static void find_classes(const struct operators_parts *parts, bool needed[KERNEL_CLASS_COUNT])
{
    static const struct iteration_work works[] = {
        {.prefill_sequences = 1, .prefill_tokens = 1, .decode_sequences = 1, .decode_context_tokens = 1},
        {.decode_sequences = 1, .decode_context_tokens = 1}};
    for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
        struct kernel_use uses[LLM_MAX_USES];
        const size_t n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, &works[k], uses);
        for (size_t i = 0; i < n; i++) needed[uses[i].call.class] = true;
    }
    if (parts->split.direct_all_reduce) needed[KERNEL_ALL_REDUCE] = true; /* for long messages */
}

/* The calibration of the GPU, behind another one where that is asked for. */
static int find_calibration(const struct operators_params *params, const struct cost_request *request,
                            struct operators_parts *parts, struct cost_operators *cost)
{
    bool needed[KERNEL_CLASS_COUNT] = {false};
    const bool by_engine = is_auto(params->kernels);
    const struct calibration_request wanted = {
        .gpu = gpu_whole_name(request->gpu),
        .is_slice = request->gpu->slices > 0,
        .kernels = by_engine ? cost->engine.kernels : params->kernels,
        .collectives = by_engine ? cost->engine.collectives : params->kernels,
        .own_kernels = by_engine ? cost->engine.own_kernels : NULL,
        .experts = by_engine ? cost->engine.experts : NULL,
        .own_all_reduce = by_engine ? cost->engine.own_all_reduce : NULL,
        .over_pcie = least(parts->split.tensor, parts->split.gpus_per_node) > request->gpu->nvlink_gpus,
        .nvlink_gpus = request->gpu->nvlink_gpus,
        .needed = needed,
        .file = is_auto(params->calibration) ? NULL : params->calibration,
        .where = request->where,
        .sets_where = by_engine ? cost->engine.path : request->where,
    };
    find_classes(parts, needed);
    const int code = calibration_read(request->catalog, &wanted, request->arena, &cost->calibration, request->diag);
    if (code != 0) return code;
    engine_preset_adapt(&cost->engine, &cost->calibration.kernels);
    parts->split.attention_writes_kv = calibration_writes_kv(&cost->calibration);
    return 0;
}

static bool is_unmeasured(const struct calibration *calibration, int class)
{
    const char *origin = calibration->origin[class];
    return calibration->borrowed[class] || strcmp(origin, "default") == 0 || strcmp(origin, "initial") == 0;
}

/* Sets *names to the kernels whose parameters are those of no GPU in particular, or of a similar kernel, though the GPU
 * has others: products, attention and experts, which take most of an iteration. NULL where there are none. */
static int name_unmeasured(const struct calibration *calibration, const struct operators_parts *parts,
                           struct arena *arena, const char **names)
{
    bool needed[KERNEL_CLASS_COUNT] = {false};
    struct text text;
    size_t n = 0;
    *names = NULL;
    if (!calibration->calibrated) return 0;
    find_classes(parts, needed);
    text_init(&text);
    for (int class = 0; class < KERNEL_ALL_REDUCE; class ++) {
        const bool is_small = class >= KERNEL_NORM && class <= KERNEL_SAMPLING;
        if (!needed[class] || is_small || !is_unmeasured(calibration, class)) continue;
        text_printf(&text, "%s%s", n++ > 0 ? ", " : "", kernel_class_info((enum kernel_class) class)->name);
    }
    if (n > 0 && !text.failed) *names = arena_strdup(arena, text.chars);
    text_fini(&text);
    return n == 0 || *names ? 0 : SIM_E_NOMEM;
}

/* Says which of the kernels that some batch launches are not of the engine's libraries, or of other releases. A set
 * that the user names is taken at its word; classes that it lacks are chosen as ever. */
static int name_other_kernels(const struct operators_params *params, const struct cost_operators *cost,
                              const struct operators_parts *parts, struct arena *arena, struct iteration_model *model)
{
    bool needed[KERNEL_CLASS_COUNT] = {false};
    struct library_statement statement;
    find_classes(parts, needed);
    if (parts->split.tensor == 1) needed[KERNEL_ALL_REDUCE] = false; /* listed for messages that nobody sends */
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) {
        const char *set = cost->calibration.set[i];
        if (!is_auto(params->kernels) && set && strcmp(set, params->kernels) == 0) needed[i] = false;
    }
    const int code = cost_libraries_say(&cost->calibration, needed, &cost->engine, parts->gpu->name, arena, &statement);
    model->other_kernels = statement.misfits;
    model->fitting_kernels = statement.fitting;
    return code;
}

/* Takes the CPU overhead that the scenario sets. Returns whether it sets all of it. */
static bool set_overhead(const struct engine_overhead *overhead, struct engine_params *engine)
{
    if (!isnan(overhead->iteration_s)) engine->iteration_s = overhead->iteration_s;
    if (!isnan(overhead->sequence_s)) engine->sequence_s = overhead->sequence_s;
    if (!isnan(overhead->prompt_s)) engine->prompt_s = overhead->prompt_s;
    return !isnan(overhead->iteration_s) && !isnan(overhead->sequence_s) && !isnan(overhead->prompt_s);
}

/* All that the tables of a model depend on; names are left out. */
struct operators_key {
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct llm_split split;
    struct kernel_set kernels;
    bool two_batches;
};

/* Tables in the memory of the catalog. */
struct operators_kept {
    struct operators_kept *next;
    struct operators_key key;
    struct operators operators;
};

enum { MOST_KEPT = 64 }; /* half a megabyte each */

/* Returns whether models of these parts can be kept: tables of kernels lie elsewhere. Padding may differ between equal
 * keys; then a model is made anew. */
static bool make_key(const struct operators_parts *parts, struct operators_key *key)
{
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++)
        if (parts->kernels->tables[i] != NULL) return false;
    memset(key, 0, sizeof *key);
    key->gpu = *parts->gpu;
    key->llm = *parts->llm;
    key->split = parts->split;
    key->kernels = *parts->kernels;
    key->two_batches = parts->two_batches;
    key->gpu.whole = NULL;
    key->gpu.name = key->gpu.architecture = key->llm.name = key->llm.source = NULL;
    return true;
}

/* Makes the model, or copies the tables of an equal one from the catalog's memory. */
static void make_operators(const struct catalog *catalog, const struct operators_parts *parts,
                           struct operators *operators)
{
    struct catalog_memory *memory = catalog->memory;
    struct operators_key key;
    const bool is_kept = memory != NULL && make_key(parts, &key);
    struct operators_kept *kept = is_kept ? memory->operators : NULL;
    while (kept != NULL && memcmp(&kept->key, &key, sizeof key) != 0) kept = kept->next;
    if (kept != NULL) {
        operators_copy(operators, &kept->operators, parts);
        return;
    }
    operators_init(operators, parts);
    if (!is_kept || memory->n_operators == MOST_KEPT) return;
    kept = arena_alloc(&memory->arena, sizeof *kept);
    if (kept == NULL) return; /* the next one is made anew */
    memcpy(&kept->key, &key, sizeof key);
    operators_copy(&kept->operators, operators, parts);
    kept->next = memory->operators;
    memory->operators = kept;
    memory->n_operators++;
}

static int build(const void *given, const struct cost_request *request, struct iteration_model *model)
{
    const struct operators_params *params = given;
    struct cost_operators *cost = arena_alloc(request->arena, sizeof *cost);
    if (!cost) return SIM_E_NOMEM;
    struct operators_parts parts = {.gpu = request->gpu, .llm = request->llm, .kernels = &cost->calibration.kernels,
                                    .two_batches = params->overlap == OVERLAP_TWO_BATCHES};
    int code = make_split(params, request, &parts.split);
    if (code == 0)
        code = catalog_engine(request->catalog, params->engine, request->where, request->arena, &cost->engine,
                              request->diag);
    if (code == 0) code = engine_preset_check(&cost->engine, request->gpu, request->where, request->diag);
    engine_preset_split(&cost->engine, &parts.split);
    if (code == 0) code = find_calibration(params, request, &parts, cost);
    if (code != 0) return code;
    const int64_t groups = llm_groups(request->data_parallel);
    const int64_t group_gpus = request->tensor_parallel / groups; /* each group has a process of the engine */
    engine_preset_params(&cost->engine, gpu_whole_name(request->gpu), group_gpus, &parts.engine);
    code = engine_preset_caveat(&cost->engine, gpu_whole_name(request->gpu), group_gpus, request->arena,
                                &model->caveat);
    if (code == 0) code = name_unmeasured(&cost->calibration, &parts, request->arena, &model->unmeasured);
    if (code == 0) code = name_other_kernels(params, cost, &parts, request->arena, model);
    if (code != 0) return code;
    if (set_overhead(&params->overhead, &parts.engine)) model->caveat = NULL;
    if (!params->cuda_graphs) parts.engine.graph_tokens = 0;
    /* vllm-project/vllm, vllm/config/vllm.py: with pipeline stages it does not schedule asynchronously. */
    if (request->host_waits || request->pipeline_parallel > 1) parts.engine.overlapped = false;
    if (request->no_overhead) parts.engine.iteration_s = parts.engine.sequence_s = parts.engine.prompt_s = 0.0;
    make_operators(request->catalog, &parts, &cost->operators);
    model->model = &cost->operators;
    model->cost = operators_cost;
    model->cost_row = operators_cost_row;
    model->memo_bytes = sizeof(struct operators_memo);
    model->traffic = operators_traffic;
    model->cost_at_share = operators_cost_at_share;
    model->reads_longest = operators_read_longest(&parts);
    model->calibrated = cost->calibration.calibrated;
    return 0;
}

/* Whether the model is one of those that were compared with measurements: a measured engine, its own CPU overhead, and
 * the shipped kernels. */
static bool is_shipped(const struct operators_params *params, const struct engine_preset *preset)
{
    const struct engine_overhead *own = &params->overhead;
    return isnan(own->iteration_s) && isnan(own->sequence_s) && isnan(own->prompt_s) && params->cuda_graphs &&
           is_auto(params->kernels) && is_auto(params->calibration) && preset->measured_on.n > 0;
}

/* Whether no judged run is like those of the model (configs/figures/board/README.md#intervals); *why says so in words,
 * NULL when memory runs out. The kernels of all judged runs were measured on their GPUs. */
static bool find_doubt(const struct operators_params *params, const struct cost_request *request,
                       const struct iteration_model *model, const struct engine_preset *preset, const char **why)
{
    struct arena *arena = request->arena;
    const char *gpu = request->gpu->name;
    const bool is_dealt = params->dispatch != DISPATCH_ALL_GATHER || params->overlap != OVERLAP_NONE ||
                          params->redundant_experts > 0;
    if (preset->measured_on.n == 0)
        *why = arena_printf(arena, "engine %s was not measured", preset->name);
    else if (!is_shipped(params, preset))
        *why = "no measured run has such a calibration, kernels or CPU overhead";
    else if (!model->calibrated)
        *why = arena_printf(arena, "no kernel of %s was measured", gpu);
    else if (model->unmeasured != NULL)
        *why = arena_printf(arena, "never measured on %s: %s", gpu, model->unmeasured);
    else if (llm_is_unmeasured_kind(request->llm))
        *why = arena_printf(arena, "no measured run has attention as in %s", request->llm->name);
    else if (request->nodes.gpus_per_node > 0)
        *why = "no measured run has a replica over several nodes";
    else if (request->data_parallel > 1)
        *why = "no measured run has attention in groups (DP)";
    else if (is_dealt)
        *why = "no measured run has such a dispatch of experts";
    else
        return false;
    return true;
}

static int time_error(const void *given, const struct cost_request *request, const struct iteration_model *model,
                      struct time_error *error)
{
    const struct operators_params *params = given;
    const bool is_plain = request->pipeline_parallel == 1 && params->expert_parallel == 1 && !params->sequence_parallel;
    struct engine_preset preset;
    bool found = false;
    int code = catalog_engine(request->catalog, params->engine, request->where, request->arena, &preset, request->diag);
    if (code != 0) return code;
    if (find_doubt(params, request, model, &preset, &error->why)) return error->why != NULL ? 0 : SIM_E_NOMEM;
    if (is_plain)
        code = time_error_of_preset(&preset, request->gpu->name, request->llm->name, request->arena, error, &found);
    if (code == 0 && !found)
        code = time_error_in_no_fit(request->catalog, "operators",
                                    !engine_preset_measured_on(&preset, request->gpu->name), request->arena, error,
                                    request->diag);
    error->engine = preset.name;
    return code;
}

static const char *engine(const void *given)
{
    const struct operators_params *params = given;
    return params->engine;
}

static int64_t redundant_experts(const void *given)
{
    const struct operators_params *params = given;
    return params->redundant_experts;
}

const struct cost_operators *cost_operators_of(const struct iteration_model *model)
{
    return model->cost == operators_cost ? model->model : NULL;
}

const struct cost_kind cost_operators = {
    .name = "operators",
    .summary = "kernel by kernel, with parameters fitted on measured profiles of the GPU",
    .fields = fields,
    .params_bytes = sizeof(struct operators_params),
    .build = build,
    .time_error = time_error,
    .engine = engine,
    .redundant_experts = redundant_experts,
};
