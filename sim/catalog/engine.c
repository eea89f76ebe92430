#include "sim/catalog/engine.h"

#include "sim/catalog/shelf.h"

#include <math.h>
#include <string.h>

#define LAUNCH(member) .offset = offsetof(struct engine_launch, member)
#define OVERHEAD(member) .offset = offsetof(struct engine_overhead, member)
#define PRESET(member) .offset = offsetof(struct engine_preset, member)
#define DURATION .kind = CONFIG_QUANTITY, .flags = CONFIG_SOURCED, .dim = UNIT_TIME, .value = "0s", .min = 0, .max = 10

static const struct config_field launch_fields[] = {
    {.name = "gpu", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, LAUNCH(gpu), .min = 1, .max = 256,
     .help = "GPU of the catalog; its usual host is meant"},
    {.name = "layer", LAUNCH(layer_s), DURATION, .help = "launching the kernels of one layer, one by one"},
    {0},
};

static const struct config_field overhead_fields[] = {
    {.name = "tensor_parallel", .kind = CONFIG_INT, .flags = CONFIG_REQUIRED, OVERHEAD(tensor_parallel), .min = 1,
     .max = 1024, .help = "GPUs that share each layer"},
    {.name = "iteration", OVERHEAD(iteration_s), DURATION, .help = "every iteration"},
    {.name = "sequence", OVERHEAD(sequence_s), DURATION, .help = "each sequence of the batch"},
    {.name = "prompt", OVERHEAD(prompt_s), DURATION, .help = "each prompt, or chunk of one, on top of that"},
    {0},
};

static const struct config_field gpu_fields[] = {{.kind = CONFIG_TEXT, .help = "GPU of the catalog"}, {0}};

const struct config_field engine_preset_fields[] = {
    {.name = "summary", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, PRESET(summary), .min = 1, .max = 512,
     .help = "engine, version, how it was run"},
    {.name = "source", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, PRESET(source), .min = 1, .max = 512,
     .help = "where the values of this file come from"},
    {.name = "kernels", .kind = CONFIG_TEXT, PRESET(kernels), .value = "in-model", .min = 1, .max = 64,
     .help = "calibration set of the kernels: timed inside a model, or each alone (isolated)"},
    {.name = "collectives", .kind = CONFIG_TEXT, PRESET(collectives), .value = "in-model", .min = 1, .max = 64,
     .help = "calibration set of the collective operations"},
    {.name = "direct_all_reduce", .kind = CONFIG_BOOL, PRESET(direct_all_reduce), .value = "false",
     .help = "short messages are summed by a kernel of the engine instead of the library"},
    {.name = "fused_residual", .kind = CONFIG_BOOL, PRESET(fused_residual), .value = "false",
     .help = "norms add the residual up in passing"},
    {.name = "mixed_attention", .kind = CONFIG_BOOL, PRESET(mixed_attention), .value = "false",
     .help = "one launch of attention serves prompts and the sequences that decode beside them"},
    {.name = "samples", .kind = CONFIG_BOOL, PRESET(samples), .value = "false",
     .help = "choosing the next tokens is a kernel of its own, not a part of the host's time"},
    {.name = "fused_narrowing", .kind = CONFIG_BOOL, PRESET(fused_narrowing), .value = "false",
     .help = "operators hand the activations of fp8 products on in fp8"},
    {.name = "graph_tokens", .kind = CONFIG_INT, PRESET(graph_tokens), .value = "0", .min = 0, .max = 1e9,
     .help = "batches of up to so many tokens replay a captured CUDA graph; 0: none does"},
    {.name = "launch", .kind = CONFIG_LIST, PRESET(launches), .fields = launch_fields,
     .elem_bytes = sizeof(struct engine_launch), .help = "launching kernels one by one, under which a fast GPU waits"},
    {.name = "overhead", .kind = CONFIG_LIST, PRESET(overheads), .fields = overhead_fields,
     .elem_bytes = sizeof(struct engine_overhead), .help = "host time on top of the GPU's, by tensor parallelism"},
    {.name = "measured_on", .kind = CONFIG_LIST, PRESET(measured_on), .fields = gpu_fields,
     .elem_bytes = sizeof(const char *), .help = "GPUs that the host time was measured with"},
    {.name = "fitted_on", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, PRESET(fitted_on), .min = 1, .max = 512,
     .help = "which of the measurements the constants were fitted on"},
    {.name = "profiles", .kind = CONFIG_LIST, PRESET(profiles), .fields = calibration_profile_fields,
     .elem_bytes = sizeof(struct calibration_profile), .help = "files of measurements"},
    {.name = "fit", .kind = CONFIG_MAP, PRESET(fit), .fields = calibration_error_fields,
     .elem_bytes = sizeof(struct calibration_error), .help = "error on the measurements that were fitted on"},
    {.name = "kernels_fit", .kind = CONFIG_MAP, PRESET(kernels_fit), .fields = calibration_error_fields,
     .elem_bytes = sizeof(struct calibration_error), .help = "error on sums of kernels that a GPU was fitted to"},
    {.name = "held_out", .kind = CONFIG_MAP, PRESET(held_out), .fields = calibration_error_fields,
     .elem_bytes = sizeof(struct calibration_error), .help = "error on all others"},
    {0},
};

/* Whether the GPU is listed, or nothing is. */
static bool find_launch(const struct engine_preset *preset, const char *gpu, double *layer_s)
{
    const struct engine_launch *launches = preset->launches.items;
    *layer_s = 0.0;
    if (preset->launches.n == 0) return true;
    for (size_t i = 0; i < preset->launches.n; i++) {
        if (strcmp(launches[i].gpu, gpu) != 0) continue;
        *layer_s = launches[i].layer_s;
        return true;
    }
    *layer_s = launches[0].layer_s;
    return false;
}

static double between(double from, double to, double frac)
{
    return from + frac * (to - from);
}

/* Whether the degree is listed, or nothing is. */
static bool find_overhead(const struct engine_preset *preset, int64_t tensor_parallel, struct engine_overhead *overhead)
{
    const struct engine_overhead *list = preset->overheads.items;
    *overhead = (struct engine_overhead){0};
    if (preset->overheads.n == 0) return true;
    size_t above = 0;
    while (above < preset->overheads.n && list[above].tensor_parallel < tensor_parallel) above++;
    const bool past_end = above == preset->overheads.n;
    *overhead = list[past_end ? above - 1 : above];
    if (past_end || overhead->tensor_parallel == tensor_parallel || above == 0)
        return overhead->tensor_parallel == tensor_parallel;
    const struct engine_overhead *low = &list[above - 1], *high = &list[above];
    const double frac = log2((double)tensor_parallel / (double)low->tensor_parallel) /
                        log2((double)high->tensor_parallel / (double)low->tensor_parallel);
    *overhead = (struct engine_overhead){
        .tensor_parallel = tensor_parallel,
        .iteration_s = between(low->iteration_s, high->iteration_s, frac),
        .sequence_s = between(low->sequence_s, high->sequence_s, frac),
        .prompt_s = between(low->prompt_s, high->prompt_s, frac),
    };
    return false;
}

bool engine_preset_params(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel,
                          struct engine_params *params)
{
    struct engine_overhead overhead;
    double layer_s;
    const bool gpu_listed = find_launch(preset, gpu, &layer_s);
    const bool degree_listed = find_overhead(preset, tensor_parallel, &overhead);
    *params = (struct engine_params){
        .layer_launch_s = layer_s,
        .iteration_s = overhead.iteration_s,
        .sequence_s = overhead.sequence_s,
        .prompt_s = overhead.prompt_s,
        .graph_tokens = preset->graph_tokens,
    };
    return gpu_listed && degree_listed;
}

void engine_preset_split(const struct engine_preset *preset, struct llm_split *split)
{
    split->direct_all_reduce = preset->direct_all_reduce;
    split->fused_residual = preset->fused_residual;
    split->mixed_attention = preset->mixed_attention;
    split->samples = preset->samples;
}

void engine_preset_adapt(const struct engine_preset *preset, struct kernel_set *kernels)
{
    struct gemm_params *narrow = &kernels->params[KERNEL_GEMM_FP8].gemm;
    if (!preset->fused_narrowing) return;
    narrow->start_s = kernels->params[KERNEL_GEMM].gemm.start_s;
    narrow->quantise_frac = 0.0;
}

int engine_preset_kernels(const struct engine_preset *preset, const struct catalog *catalog, const char *gpu,
                          struct arena *arena, struct calibration *calibration, struct diag *diag)
{
    const struct calibration_request request = {.gpu = gpu, .kernels = preset->kernels,
                                                .collectives = preset->collectives, .sets_where = preset->path};
    const int code = calibration_read(catalog, &request, arena, calibration, diag);
    if (code == 0) engine_preset_adapt(preset, &calibration->kernels);
    return code;
}

/* Looking up an overhead relies on the order of the list. */
static int check_order(const struct engine_preset *preset, const char *where, struct diag *diag)
{
    const struct engine_overhead *list = preset->overheads.items;
    for (size_t i = 1; i < preset->overheads.n; i++)
        if (list[i].tensor_parallel <= list[i - 1].tensor_parallel)
            return diag_error(diag, SIM_E_CONFIG, where, NULL,
                              "engine '%s' lists its overheads out of order: tensor_parallel %lld after %lld",
                              preset->name, (long long)list[i].tensor_parallel, (long long)list[i - 1].tensor_parallel);
    return 0;
}

static const struct shelf engines = {"engines", "engine", "orrery list engines"};

int catalog_engine(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct engine_preset *preset, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &engines, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, engine_preset_fields, arena, preset, sizeof *preset, diag);
    if (code != 0) return code;
    preset->path = path;
    preset->name = shelf_entry_name(arena, path);
    return preset->name ? check_order(preset, where, diag) : diag_nomem(diag);
}

int catalog_list_engines(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                         struct diag *diag)
{
    return shelf_list(catalog, &engines, arena, names, diag);
}
