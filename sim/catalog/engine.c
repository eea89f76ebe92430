#include "sim/catalog/engine.h"

#include "sim/catalog/shelf.h"
#include "sim/core/text.h"

#include <math.h>
#include <string.h>

#define ROW_OF struct engine_launch
static const struct config_field launch_fields[] = {
    ROW_TEXT("gpu", gpu, REQUIRED, WITHIN(1, 256), "GPU of the catalog; its usual host is meant"),
    ROW_QUANTITY("layer", layer_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 10),
                 "launching the kernels of one layer, one by one"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct engine_overhead
static const struct config_field overhead_fields[] = {
    ROW_TEXT("gpu", gpu, OPTIONAL, WITHIN(1, 256),
             "GPU of the catalog; its usual host is meant; absent: all GPUs that no entry names"),
    ROW_INT("tensor_parallel", tensor_parallel, REQUIRED, WITHIN(1, 1024), "GPUs that share each layer"),
    ROW_QUANTITY("iteration", iteration_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 10), "every iteration"),
    ROW_QUANTITY("sequence", sequence_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 10), "each sequence of the batch"),
    ROW_QUANTITY("prompt", prompt_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 10),
                 "each prompt, or chunk of one, on top of that"),
    {0},
};
#undef ROW_OF

static const struct config_field gpu_fields[] = {{.kind = CONFIG_TEXT, .help = "GPU of the catalog"}, {0}};

const char *const engine_vendor_names[] = {"any", "NVIDIA", "AMD", NULL};

#define ROW_OF struct engine_preset
static const struct config_field engine_preset_fields[] = {
    ROW_TEXT("summary", summary, REQUIRED, WITHIN(1, 512), "engine, version, how it was run"),
    ROW_TEXT("source", source, OPTIONAL, WITHIN(1, 512), "where the values of this file come from"),
    ROW_CHOICE("vendor", vendor, DEFAULT("any"), engine_vendor_names, "whose GPUs the engine runs on"),
    ROW_LIST("libraries", libraries, OPTIONAL, ANY, struct library_release, library_release_fields,
             "the engine, then other libraries whose kernels it runs, by version and year"),
    ROW_SHORT_VARIANT("batching", batching, OPTIONAL, "batching", "policy",
                      "the engine's scheduler, with the defaults of its version, of services that name none"),
    ROW_TEXT("kernels", kernels, DEFAULT("in-model"), WITHIN(1, 64),
             "calibration set of the kernels: timed inside a model, or each alone (isolated)"),
    ROW_TEXT("collectives", collectives, DEFAULT("in-model"), WITHIN(1, 64),
             "calibration set of the collective operations"),
    ROW_TEXT("own_kernels", own_kernels, OPTIONAL, WITHIN(1, 64),
             "calibration set of experts, latent attention, products in FP8 and NVFP4, where the GPU has it; "
             "absent: as kernels"),
    ROW_TEXT("experts", experts, OPTIONAL, WITHIN(1, 64),
             "set with its kernels of experts, on GPUs that have it; default: own_kernels"),
    ROW_TEXT("own_all_reduce", own_all_reduce, OPTIONAL, WITHIN(1, 64),
             "calibration set of the engine's own all-reduce, where the GPU has it; absent: as collectives"),
    ROW_BOOL("direct_all_reduce", direct_all_reduce, DEFAULT("false"),
             "short messages are summed by a kernel of the engine instead of the library"),
    ROW_BOOL("fused_residual", fused_residual, DEFAULT("false"), "norms also add the residual"),
    ROW_BOOL("mixed_attention", mixed_attention, DEFAULT("false"),
             "one attention launch serves both prompts and decoding sequences"),
    ROW_BOOL("samples", samples, DEFAULT("false"),
             "choosing the next tokens is a separate kernel, not part of the CPU overhead"),
    ROW_BOOL("fused_narrowing", fused_narrowing, DEFAULT("false"),
             "operators pass activations of fp8 products on in fp8"),
    ROW_BOOL("overlapped_host", overlapped_host, DEFAULT("false"),
             "the host schedules the next iteration while the GPU works: the longer of both counts, not their sum"),
    ROW_INT("graph_tokens", graph_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "batches of at most this many tokens replay a captured CUDA graph; 0: none does"),
    ROW_LIST("launch", launches, OPTIONAL, ANY, struct engine_launch, launch_fields,
             "launching kernels one by one, which may limit a fast GPU"),
    ROW_LIST("overhead", overheads, OPTIONAL, ANY, struct engine_overhead, overhead_fields,
             "CPU overhead on top of GPU time, by host and tensor parallelism"),
    ROW_TEXT("overhead_of", overhead_of, OPTIONAL, WITHIN(1, 256),
             "preset whose CPU overhead this one repeats: it was not measured for this engine"),
    ROW_LIST("measured_on", measured_on, OPTIONAL, ANY, const char *, gpu_fields,
             "GPUs that the CPU overhead was measured with"),
    ROW_TEXT("fitted_on", fitted_on, OPTIONAL, WITHIN(1, 512),
             "which of the measurements the constants were fitted on"),
    ROW_LIST("profiles", profiles, OPTIONAL, ANY, struct calibration_profile, calibration_profile_fields,
             "files of measurements"),
    ROW_MAP("fit", fit, OPTIONAL, ANY, struct calibration_error, calibration_error_fields,
            "error on the measurements that were fitted on"),
    ROW_MAP("kernels_fit", kernels_fit, OPTIONAL, ANY, struct calibration_error, calibration_error_fields,
            "error on sums of kernels that a GPU was fitted to"),
    ROW_MAP("held_out", held_out, OPTIONAL, ANY, struct calibration_error, calibration_error_fields,
            "error on all other measurements"),
    ROW_MAP("left_out", left_out, OPTIONAL, ANY, struct calibration_error, calibration_error_fields,
            "error on the measurements of one LLM on one host, by a fit to its other LLMs"),
    {0},
};
#undef ROW_OF

int engine_preset_check(const struct engine_preset *preset, const struct gpu_spec *gpu, const char *where,
                        struct diag *diag)
{
    static const enum gpu_vendor vendors[] = {[ENGINE_NVIDIA] = VENDOR_NVIDIA, [ENGINE_AMD] = VENDOR_AMD};
    if (preset->vendor == ENGINE_ANY || gpu->vendor == vendors[preset->vendor]) return 0;
    return diag_error(diag, SIM_E_UNFIT, where, "'orrery list engines' lists others",
                      "engine %s runs on %s's GPUs only, and %s is %s%s", preset->name,
                      engine_vendor_names[preset->vendor], gpu->name,
                      gpu->vendor == VENDOR_OTHER ? "of another maker" : gpu_vendor_names[gpu->vendor],
                      gpu->vendor == VENDOR_OTHER ? "" : "'s");
}

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

static bool is_of(const struct engine_overhead *overhead, const char *gpu)
{
    if (overhead->gpu == NULL || gpu == NULL) return overhead->gpu == gpu;
    return strcmp(overhead->gpu, gpu) == 0;
}

/* The entries of one host, which stand together; *n is 0 where there are none. */
static const struct engine_overhead *entries_of(const struct engine_preset *preset, const char *gpu, size_t *n)
{
    const struct engine_overhead *list = preset->overheads.items;
    size_t first = 0;
    while (first < preset->overheads.n && !is_of(&list[first], gpu)) first++;
    size_t end = first;
    while (end < preset->overheads.n && is_of(&list[end], gpu)) end++;
    *n = end - first;
    return list + first;
}

/* The entries that hold for a GPU: its own, those without a GPU, or those of the first. */
static const struct engine_overhead *entries_for(const struct engine_preset *preset, const char *gpu, size_t *n)
{
    const struct engine_overhead *entries = entries_of(preset, gpu, n);
    if (*n == 0) entries = entries_of(preset, NULL, n);
    if (*n > 0 || preset->overheads.n == 0) return entries;
    return entries_of(preset, ((const struct engine_overhead *)preset->overheads.items)->gpu, n);
}

/* Whether the degree is listed, or nothing is. */
static bool find_overhead(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel,
                          struct engine_overhead *overhead)
{
    size_t n, above = 0;
    const struct engine_overhead *list = entries_for(preset, gpu, &n);
    *overhead = (struct engine_overhead){0};
    if (n == 0) return true;
    while (above < n && list[above].tensor_parallel < tensor_parallel) above++;
    const bool past_end = above == n;
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
    const bool degree_listed = find_overhead(preset, gpu, tensor_parallel, &overhead);
    *params = (struct engine_params){
        .layer_launch_s = layer_s,
        .iteration_s = overhead.iteration_s,
        .sequence_s = overhead.sequence_s,
        .prompt_s = overhead.prompt_s,
        .overlapped = preset->overlapped_host,
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
    static const enum kernel_class narrow[] = {KERNEL_GEMM_FP8, KERNEL_GEMM_FP8_BLOCK, KERNEL_GEMM_NVFP4};
    calibration_leave_benchmarks(kernels);
    if (!preset->fused_narrowing) return;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        struct gemm_params *params = &kernels->params[narrow[i]].gemm;
        params->start_s = kernels->params[KERNEL_GEMM].gemm.start_s;
        params->quantise_frac = 0.0;
    }
}

int engine_preset_kernels(const struct engine_preset *preset, const struct catalog *catalog, const char *gpu,
                          struct arena *arena, struct calibration *calibration, struct diag *diag)
{
    const struct calibration_request request = {.gpu = gpu, .kernels = preset->kernels,
                                                .collectives = preset->collectives, .own_kernels = preset->own_kernels,
                                                .experts = preset->experts,
                                                .own_all_reduce = preset->own_all_reduce,
                                                .sets_where = preset->path};
    const int code = calibration_read(catalog, &request, arena, calibration, diag);
    if (code == 0) engine_preset_adapt(preset, &calibration->kernels);
    return code;
}

/* Looking up an overhead relies on the order of the list: entries of a host stand together, by rising degree. */
static int check_order(const struct engine_preset *preset, const char *where, struct diag *diag)
{
    const struct engine_overhead *list = preset->overheads.items;
    for (size_t i = 1; i < preset->overheads.n; i++) {
        size_t n;
        const bool is_same = is_of(&list[i], list[i - 1].gpu);
        if (is_same && list[i].tensor_parallel <= list[i - 1].tensor_parallel)
            return diag_error(diag, SIM_E_CONFIG, where, NULL,
                              "engine '%s' lists its overheads out of order: tensor_parallel %lld after %lld",
                              preset->name, (long long)list[i].tensor_parallel, (long long)list[i - 1].tensor_parallel);
        if (!is_same && entries_of(preset, list[i].gpu, &n) != &list[i])
            return diag_error(diag, SIM_E_CONFIG, where, "list the overheads of each 'gpu' together",
                              "engine '%s' lists the overheads of %s in two places", preset->name,
                              list[i].gpu != NULL ? list[i].gpu : "no GPU");
    }
    return 0;
}

static const struct shelf engines = {"engines", "engine", "orrery list engines", NULL, NULL};

int catalog_engine(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct engine_preset *preset, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &engines, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, engine_preset_fields, arena, preset, sizeof *preset, diag);
    if (code != 0) return code;
    preset->path = path;
    preset->name = shelf_entry_name(arena, path);
    if (!preset->name) return diag_nomem(diag);
    code = library_check(&preset->libraries, path, diag);
    return code == 0 ? check_order(preset, where, diag) : code;
}

int catalog_engine_document(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                            struct config **document, struct diag *diag)
{
    const char *path;
    *document = NULL;
    const int code = shelf_find(catalog, &engines, name, where, arena, &path, diag);
    return code == 0 ? config_load(path, document, diag) : code;
}

int catalog_list_engines(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                         struct diag *diag)
{
    return shelf_list(catalog, &engines, arena, names, diag);
}

/* --- What the CPU overhead rests on: GPUs and degrees of tensor parallelism that were measured --- */

bool engine_preset_lists(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel)
{
    size_t n;
    const struct engine_overhead *list = entries_for(preset, gpu, &n);
    for (size_t i = 0; i < n; i++)
        if (list[i].tensor_parallel == tensor_parallel) return true;
    return false;
}

/* Whether some entry names a host. */
static bool names_hosts(const struct engine_preset *preset)
{
    const struct engine_overhead *list = preset->overheads.items;
    for (size_t i = 0; i < preset->overheads.n; i++)
        if (list[i].gpu != NULL) return true;
    return false;
}

/* Entries that name their GPUs say it better than the list of all measurements. */
bool engine_preset_measured_on(const struct engine_preset *preset, const char *gpu)
{
    const char *const *gpus = preset->measured_on.items;
    size_t n;
    if (names_hosts(preset)) return entries_of(preset, gpu, &n) && n > 0;
    for (size_t i = 0; i < preset->measured_on.n; i++)
        if (strcmp(gpus[i], gpu) == 0) return true;
    return preset->measured_on.n == 0;
}

/* What stands before the i-th of n things in a sentence. */
static const char *joint(size_t i, size_t n)
{
    if (i == 0) return "";
    return i + 1 < n ? ", " : " and ";
}

/* Whether the entry is the first of its host. */
static bool begins_host(const struct engine_preset *preset, size_t at)
{
    const struct engine_overhead *list = preset->overheads.items;
    return at == 0 || !is_of(&list[at], list[at - 1].gpu);
}

static void say_gpus(const struct engine_preset *preset, const char *gpu, struct text *text)
{
    const char *const *gpus = preset->measured_on.items;
    const struct engine_overhead *list = preset->overheads.items;
    size_t n = 0, i = 0;
    if (names_hosts(preset) && engine_preset_measured_on(preset, gpu)) {
        text_printf(text, " on %s", gpu);
        return;
    }
    if (!names_hosts(preset)) {
        n = preset->measured_on.n;
        for (; i < n; i++) text_printf(text, "%s%s", i == 0 ? " on " : joint(i, n), gpus[i]);
        return;
    }
    for (size_t at = 0; at < preset->overheads.n; at++) n += list[at].gpu != NULL && begins_host(preset, at);
    for (size_t at = 0; at < preset->overheads.n; at++)
        if (list[at].gpu != NULL && begins_host(preset, at)) {
            text_printf(text, "%s%s", i == 0 ? " on " : joint(i, n), list[at].gpu);
            i++;
        }
}

static void say_degrees(const struct engine_preset *preset, const char *gpu, struct text *text)
{
    size_t n;
    const struct engine_overhead *list = entries_for(preset, gpu, &n);
    for (size_t i = 0; i < n; i++)
        text_printf(text, "%s%lld", i == 0 ? " with " : joint(i, n), (long long)list[i].tensor_parallel);
    if (n > 0) text_add(text, list[n - 1].tensor_parallel == 1 ? " GPU" : " GPUs");
}

/* Whether a host has an entry for one of two degrees. */
static bool host_lists(const struct engine_preset *preset, const char *gpu, const int64_t degrees[2])
{
    return engine_preset_lists(preset, gpu, degrees[0]) || engine_preset_lists(preset, gpu, degrees[1]);
}

/* The hosts behind entries without one: those measured with one of the degrees, if each degree has some. */
static void say_hosts(const struct engine_preset *preset, const int64_t degrees[2], struct text *text)
{
    const struct engine_overhead *list = preset->overheads.items;
    size_t n = 0, n_hosts = 0, i = 0;
    bool has[2] = {false, false};
    for (size_t at = 0; at < preset->overheads.n; at++) {
        if (list[at].gpu == NULL || !begins_host(preset, at)) continue;
        n_hosts++;
        n += host_lists(preset, list[at].gpu, degrees);
        for (int d = 0; d < 2; d++) has[d] |= engine_preset_lists(preset, list[at].gpu, degrees[d]);
    }
    if (!has[0] || !has[1] || n == n_hosts) {
        text_add(text, " over all these hosts");
        return;
    }
    for (size_t at = 0; at < preset->overheads.n; at++)
        if (list[at].gpu != NULL && begins_host(preset, at) && host_lists(preset, list[at].gpu, degrees)) {
            text_printf(text, "%s%s", i == 0 ? " with " : joint(i, n), list[at].gpu);
            i++;
        }
}

/* Which of the listed overheads stand in for a degree. */
static void say_source(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel, struct text *text)
{
    size_t n, at = 0;
    const struct engine_overhead *list = entries_for(preset, gpu, &n);
    while (at + 1 < n && list[at].tensor_parallel < tensor_parallel) at++;
    const long long nearest = list[at].tensor_parallel;
    const bool is_between = at > 0 && nearest > tensor_parallel;
    const int64_t degrees[2] = {list[is_between ? at - 1 : at].tensor_parallel, nearest};
    if (is_between)
        text_printf(text, "lies between those of %lld and %lld GPUs", (long long)list[at - 1].tensor_parallel, nearest);
    else
        text_printf(text, "is that of %lld %s", nearest, nearest == 1 ? "GPU" : "GPUs");
    if (names_hosts(preset) && list[at].gpu == NULL)
        say_hosts(preset, degrees, text);
    else if (names_hosts(preset) && !engine_preset_measured_on(preset, gpu))
        text_printf(text, " with %s", list[at].gpu);
    else if (names_hosts(preset) || preset->measured_on.n > 0)
        text_add(text, " there");
}

/* Whether only the kernels were measured. */
static bool has_no_host(const struct engine_preset *preset)
{
    return preset->overheads.n == 0 && preset->measured_on.n > 0;
}

/* `is_of_engine`: the GPU and the degree were measured, if only with the engine whose overhead the preset repeats. */
static void say_caveat(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel, bool is_of_engine,
                       struct text *text)
{
    if (has_no_host(preset)) {
        text_printf(text, "the CPU overhead of engine %s was not measured: none is added", preset->name);
        return;
    }
    if (preset->overhead_of != NULL) {
        text_printf(text, "the CPU overhead of engine %s was not measured: it is that of %s", preset->name,
                    preset->overhead_of);
        if (is_of_engine) return;
        text_add(text, "; ");
    }
    text_printf(text, "engine %s was measured", preset->overhead_of != NULL ? preset->overhead_of : preset->name);
    say_gpus(preset, gpu, text);
    say_degrees(preset, gpu, text);
    if (names_hosts(preset) && !engine_preset_measured_on(preset, gpu))
        text_printf(text, ", not with the host of %s", gpu);
    text_printf(text, "; its CPU overhead for %lld x %s ", (long long)tensor_parallel, gpu);
    say_source(preset, gpu, tensor_parallel, text);
}

int engine_preset_caveat(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel,
                         struct arena *arena, const char **caveat)
{
    const bool degree_known = preset->overheads.n == 0 || engine_preset_lists(preset, gpu, tensor_parallel);
    const bool is_of_engine = engine_preset_measured_on(preset, gpu) && degree_known && !has_no_host(preset);
    *caveat = NULL;
    if (is_of_engine && preset->overhead_of == NULL) return 0;
    struct text text;
    text_init(&text);
    say_caveat(preset, gpu, tensor_parallel, is_of_engine, &text);
    if (!text.failed) *caveat = arena_strdup(arena, text.chars);
    text_fini(&text);
    return *caveat ? 0 : SIM_E_NOMEM;
}
