#include "analysis/calibrate/engine/engine_calibrate.h"

#include "analysis/calibrate/engine/engine_hosts.h"
#include "analysis/calibrate/write.h"
#include "sim/core/path.h"
#include "sim/core/units.h"

#include <math.h>
#include <string.h>

enum { MAX_GROUPS = 16 };

/* --- Recipes --- */

#define SERVING "ai-dynamo/aiconfigurator @ 095f58a5, silicon_sample.csv"

#define EAGER "; launches without CUDA graphs as vllm-0.2"

/* The largest batch for which no measured recent engine waits for launches. */
enum { GRAPH_TOKENS = 8192 };

#define RELEASE(name, version, year) \
    "{\"library\": \"" name "\", \"version\": \"" version "\", \"year\": " year "}"
#define OF_YEAR(name, year) "{\"library\": \"" name "\", \"year\": " year "}"

static const struct engine_recipe recipes[] = {
    {.name = "vllm-0.2", .libraries = "[" RELEASE("vLLM", "0.2", "2023") ", " OF_YEAR("NCCL", "2023") "]",
     .batching = "{\"policy\": \"vllm-v0\", \"padded\": true}",
     .summary = "vLLM 0.2 (late 2023): kernels launched one by one, Ray workers",
     .source = "Mutinifni/splitwise-sim @ 8f99e7dc, data/perf_model.csv", .kernels = "in-model",
     .collectives = "in-model", .terms = ENGINE_ITERATION | ENGINE_COMMON_SEQUENCE | ENGINE_LAUNCH | ENGINE_PROMPT},
    {.name = "vllm-2024",
     .libraries = "[" OF_YEAR("vLLM", "2024") ", " OF_YEAR("Vidur", "2024") ", " OF_YEAR("NCCL", "2024") "]",
     .batching = "{\"policy\": \"vllm-v0\"}",
     .summary = "vLLM of early 2024, as Vidur profiled it: host steps of decode iterations, launches left out",
     .source = "microsoft/vidur @ 7f14d6ab, data/profiling/{a100,a40}/cpu_overheads.csv", .kernels = "in-model",
     .collectives = "in-model", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "vllm-0.12",
     .libraries = "[" RELEASE("vLLM", "0.12", "2025") ", " OF_YEAR("NCCL", "2025") ", " OF_YEAR("DeepEP", "2025") "]",
     .batching = "{\"policy\": \"vllm-v1\"}",
     .summary = "vLLM 0.12 (2025): CUDA graphs, prompts in chunks beside decoding",
     .source = SERVING EAGER, .kernels = "isolated", .collectives = "isolated", .own_kernels = "vllm-0.24",
     .is_recent = true, .launches_of = "vllm-0.2", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "vllm-0.19",
     .libraries = "[" RELEASE("vLLM", "0.19", "2026") ", " OF_YEAR("NCCL", "2026") ", " OF_YEAR("DeepEP", "2026") "]",
     .batching = "{\"policy\": \"vllm-v1\", \"async\": true}",
     .summary = "vLLM 0.19 (2026), as LLMServingSim profiled its kernels: CPU overhead not measured",
     .source = "casys-kaist/LLMServingSim @ 5daddb21, profiler/perf" EAGER, .kernels = "in-model",
     .collectives = "in-model", .is_recent = true, .samples = true, .launches_of = "vllm-0.2"},
    {.name = "trtllm-1.0", .libraries = "[" RELEASE("TensorRT-LLM", "1.0", "2025") ", " OF_YEAR("NCCL", "2025") "]",
     .batching = "{\"policy\": \"trtllm\"}", .vendor = ENGINE_NVIDIA,
     .summary = "TensorRT-LLM 1.0 (2025): CUDA graphs, whole prompts beside decoding",
     .source = SERVING EAGER "; vendor: nvidia.github.io/TensorRT-LLM/supported-hardware.html", .kernels = "isolated",
     .collectives = "isolated", .own_kernels = "trtllm-1.3",
     .own_all_reduce = "trtllm-1.3", .is_recent = true, .attends_apart = true, .fused_narrowing = true, .launches_of = "vllm-0.2",
     .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "sglang-0.5",
     .libraries = "[" RELEASE("SGLang", "0.5", "2025") ", " OF_YEAR("NCCL", "2025") ", " OF_YEAR("DeepEP", "2025") "]",
     .batching = "{\"policy\": \"sglang\"}",
     .summary = "SGLang 0.5 (2025): CUDA graphs, prompts before decoding",
     .source = SERVING EAGER, .kernels = "isolated", .collectives = "isolated", .own_kernels = "sglang-0.5",
     .own_all_reduce = "sglang-0.5", .is_recent = true, .launches_of = "vllm-0.2", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "swifttransformer", .libraries = "[" OF_YEAR("SwiftTransformer", "2024") ", " OF_YEAR("NCCL", "2024") "]",
     .batching = "{\"policy\": \"distserve\"}",
     .summary = "SwiftTransformer (DistServe, 2024): C++, kernels launched one by one",
     .source = "LLMServe/DistServe @ 82831f16, profiler-a100-80g.distserve.json", .kernels = "in-model",
     .collectives = "in-model", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE | ENGINE_PROMPT},
};

const struct engine_recipe *engine_recipe_at(size_t index)
{
    return index < sizeof recipes / sizeof *recipes ? &recipes[index] : NULL;
}

struct engine_preset engine_recipe_preset(const struct engine_recipe *recipe)
{
    return (struct engine_preset){.name = recipe->name, .summary = recipe->summary, .source = recipe->source,
                                  .vendor = recipe->vendor, .libraries_json = recipe->libraries, .batching_json = recipe->batching,
                                  .kernels = recipe->kernels, .collectives = recipe->collectives,
                                  .own_kernels = recipe->own_kernels, .own_all_reduce = recipe->own_all_reduce,
                                  .direct_all_reduce = recipe->is_recent, .fused_residual = recipe->is_recent,
                                  .mixed_attention = recipe->is_recent && !recipe->attends_apart,
                                  .samples = recipe->samples,
                                  .fused_narrowing = recipe->fused_narrowing,
                                  .graph_tokens = recipe->launches_of != NULL ? GRAPH_TOKENS : 0};
}

/* --- Calibration --- */

/* Leaves out the rows of other engines, with the engine as reason. */
static int leave_others_out(const char *engine, struct measured *file, struct arena *arena)
{
    size_t n = 0;
    for (size_t i = 0; i < file->n; i++) {
        if (strcmp(file->rows[i].engine, engine) == 0) {
            file->rows[n++] = file->rows[i];
            continue;
        }
        const char *reason = arena_printf(arena, "of the engine '%s'", file->rows[i].engine);
        if (reason == NULL) return SIM_E_NOMEM;
        dropped_add(file->dropped, &file->n_dropped, reason, 1);
    }
    file->n = n;
    return 0;
}

static int read_files(struct engine_calibration *calibration, const struct catalog *catalog, const char *const *paths,
                      struct arena *arena, struct diag *diag)
{
    for (size_t i = 0; i < calibration->n_files; i++) {
        const int code = measured_read(paths[i], catalog, arena, &calibration->files[i], diag);
        if (code != 0) return code;
        if (leave_others_out(calibration->preset.name, &calibration->files[i], arena) != 0) return diag_nomem(diag);
    }
    return 0;
}

/* Concatenates the points of all files. */
static int join_points(struct engine_calibration *calibration, struct engine_replicas *replicas, size_t step,
                       struct diag *diag)
{
    size_t n_rows = 0;
    for (size_t i = 0; i < calibration->n_files; i++) n_rows += calibration->files[i].n;
    calibration->points = arena_alloc(replicas->arena, (n_rows + 1) * sizeof *calibration->points);
    if (calibration->points == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < calibration->n_files; i++) {
        struct engine_point *points;
        size_t n;
        const int code = engine_points(replicas, &calibration->preset, &calibration->files[i], step, &points, &n, diag);
        if (code != 0) return code;
        if (n > 0) memcpy(calibration->points + calibration->n_points, points, n * sizeof *points);
        calibration->n_points += n;
    }
    return 0;
}

/* Appends the error of a group (NULL: of all) of some points to a list under a name, if it has rows. */
static int add_error(const struct engine_preset *preset, const struct engine_point *points, size_t n, const char *group,
                     const char *name, enum engine_use use, struct config_list *errors)
{
    struct fit_error error;
    struct calibration_error *items = errors->items;
    const int code = engine_measure(preset, points, n, group, use, &error);
    if (code != 0 || error.rows == 0) return code;
    items[errors->n++] = (struct calibration_error){.name = name, .rows = error.rows, .median = error.median,
                                                    .p90 = error.p90, .worst = error.worst, .bias = error.bias};
    return 0;
}

/* Appends a name to names[n] unless it is there. Returns their number. */
static size_t add_distinct(const char **names, size_t n, const char *name)
{
    size_t at = 0;
    while (at < n && strcmp(names[at], name) != 0) at++;
    names[at] = name;
    return at < n ? n : n + 1;
}

/* Appends the error on each of several hosts, unless the groups are hosts already. */
static int measure_hosts(struct engine_calibration *calibration, enum engine_use use, struct config_list *errors,
                         struct arena *arena)
{
    const char *hosts[MAX_GROUPS + 1];
    size_t n_hosts = 0;
    int code = 0;
    struct engine_point *chosen = arena_alloc(arena, (calibration->n_points + 1) * sizeof *chosen);
    if (chosen == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < calibration->n_points && n_hosts < MAX_GROUPS; i++) {
        const struct measured_row *row = calibration->points[i].row;
        if (row->gpu == NULL || strcmp(row->gpu, row->group) == 0) return 0;
        n_hosts = add_distinct(hosts, n_hosts, row->gpu);
    }
    for (size_t h = 0; code == 0 && n_hosts > 1 && h < n_hosts; h++) {
        size_t n = 0;
        for (size_t i = 0; i < calibration->n_points; i++)
            if (strcmp(calibration->points[i].row->gpu, hosts[h]) == 0) chosen[n++] = calibration->points[i];
        code = add_error(&calibration->preset, chosen, n, NULL, hosts[h], use, errors);
    }
    return code;
}

/* Lists the errors of all points of one use, of each group, and of each host. */
static int measure_groups(struct engine_calibration *calibration, enum engine_use use, struct config_list *errors,
                          struct arena *arena)
{
    const char *groups[MAX_GROUPS + 1]; /* by first occurrence */
    const struct engine_preset *preset = &calibration->preset;
    const struct engine_point *points = calibration->points;
    size_t n = 0;
    for (size_t i = 0; i < calibration->n_points && n < MAX_GROUPS; i++)
        n = add_distinct(groups, n, points[i].row->group);
    errors->items = arena_alloc(arena, (n + 1 + MAX_GROUPS) * sizeof(struct calibration_error));
    if (errors->items == NULL) return SIM_E_NOMEM;
    int code = add_error(preset, points, calibration->n_points, NULL, "all", use, errors);
    for (size_t i = 0; code == 0 && i < n; i++)
        code = add_error(preset, points, calibration->n_points, groups[i], groups[i], use, errors);
    return code == 0 ? measure_hosts(calibration, use, errors, arena) : code;
}

/* The GPUs of the points, by first occurrence; the CPU alone is no measurement of a GPU. */
static int list_gpus(struct engine_calibration *calibration, struct arena *arena)
{
    const char **gpus = arena_alloc(arena, (calibration->n_points + 1) * sizeof *gpus);
    size_t n = 0;
    if (gpus == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < calibration->n_points; i++) {
        const struct measured_row *row = calibration->points[i].row;
        if (row->kind != MEASURED_HOST) n = add_distinct(gpus, n, row->gpu);
    }
    calibration->preset.measured_on = (struct config_list){n, gpus};
    return 0;
}

static int list_profiles(struct engine_calibration *calibration, struct arena *arena)
{
    struct calibration_profile *profiles = arena_alloc(arena, calibration->n_files * sizeof *profiles);
    if (profiles == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < calibration->n_files; i++)
        profiles[i] = (struct calibration_profile){path_name(calibration->files[i].path), calibration->files[i].hash};
    calibration->preset.profiles = (struct config_list){calibration->n_files, profiles};
    calibration->preset.fitted_on = calibration->files[0].fitted_on;
    return 0;
}

static bool is_finite(const struct config_list *list)
{
    const struct calibration_error *errors = list->items;
    for (size_t i = 0; i < list->n; i++)
        if (!isfinite(errors[i].worst)) return false;
    return true;
}

static int describe(const struct engine_recipe *recipe, struct engine_calibration *calibration, struct arena *arena,
                    struct diag *diag)
{
    struct engine_preset *preset = &calibration->preset;
    int code = list_profiles(calibration, arena);
    if (code == 0) code = list_gpus(calibration, arena);
    if (code == 0) code = measure_groups(calibration, ENGINE_FIT, &preset->fit, arena);
    if (code == 0) code = measure_groups(calibration, ENGINE_KERNELS_FIT, &preset->kernels_fit, arena);
    if (code == 0) code = measure_groups(calibration, ENGINE_HELD_OUT, &preset->held_out, arena);
    if (code == 0 && recipe->terms != 0)
        code = engine_hosts_list_left_out(recipe, calibration->points, calibration->n_points, arena, &preset->left_out);
    if (code != 0) return diag_nomem(diag);
    if (is_finite(&preset->fit) && is_finite(&preset->kernels_fit) && is_finite(&preset->held_out) &&
        is_finite(&preset->left_out))
        return 0;
    return diag_error(diag, SIM_E_DATA, calibration->files[0].path, NULL, "a row's predicted time is not finite");
}

int engine_calibrate(const struct engine_recipe *recipe, const struct catalog *catalog, const char *const *paths,
                     size_t n_paths, size_t step, struct arena *arena, struct engine_calibration *calibration,
                     struct diag *diag)
{
    struct engine_replicas replicas;
    engine_replicas_init(&replicas, catalog, arena);
    *calibration = (struct engine_calibration){.preset = engine_recipe_preset(recipe), .n_files = n_paths};
    calibration->files = arena_alloc(arena, (n_paths + 1) * sizeof *calibration->files);
    if (calibration->files == NULL) return diag_nomem(diag);
    int code = read_files(calibration, catalog, paths, arena, diag);
    if (code == 0) code = join_points(calibration, &replicas, step, diag);
    if (code != 0) return code;
    if (calibration->n_points == 0)
        return diag_error(diag, SIM_E_DATA, n_paths > 0 ? paths[0] : NULL, NULL, "no measurements of engine '%s'",
                          recipe->name);
    code = engine_hosts_fit(recipe, calibration->points, calibration->n_points, arena, &calibration->preset, diag);
    if (code == 0 && recipe->launches_of != NULL) {
        struct engine_preset lender;
        code = catalog_engine(catalog, recipe->launches_of, "recipe", arena, &lender, diag);
        if (code == 0) calibration->preset.launches = lender.launches;
    }
    return code == 0 ? describe(recipe, calibration, arena, diag) : code;
}

/* --- The preset's file --- */

enum { DIGITS = 4 };

static const double least_s = 1e-9; /* shorter times count as none */

static void write_time(struct json_writer *json, const char *key, double seconds)
{
    calibration_write_value(json, key, seconds < least_s ? 0.0 : seconds, DIGITS, UNIT_TIME);
}

static void write_launches(struct json_writer *json, const struct config_list *list)
{
    const struct engine_launch *launches = list->items;
    if (list->n == 0) return;
    json_write_open(json, "launch", '[');
    for (size_t i = 0; i < list->n; i++) {
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "gpu", launches[i].gpu);
        write_time(json, "layer", launches[i].layer_s);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static void write_overheads(struct json_writer *json, const struct config_list *list)
{
    const struct engine_overhead *overheads = list->items;
    if (list->n == 0) return;
    json_write_open(json, "overhead", '[');
    for (size_t i = 0; i < list->n; i++) {
        json_write_open_row(json, NULL, '{');
        if (overheads[i].gpu != NULL) json_write_string(json, "gpu", overheads[i].gpu);
        json_write_number(json, "tensor_parallel", (double)overheads[i].tensor_parallel);
        write_time(json, "iteration", overheads[i].iteration_s);
        if (overheads[i].sequence_s >= least_s) write_time(json, "sequence", overheads[i].sequence_s);
        if (overheads[i].prompt_s >= least_s) write_time(json, "prompt", overheads[i].prompt_s);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static void write_measured_on(struct json_writer *json, const struct config_list *list)
{
    const char *const *gpus = list->items;
    if (list->n == 0) return;
    json_write_open_row(json, "measured_on", '[');
    for (size_t i = 0; i < list->n; i++) json_write_string(json, NULL, gpus[i]);
    json_write_close(json, ']');
}

static void write_profiles(struct json_writer *json, const struct config_list *list)
{
    const struct calibration_profile *profiles = list->items;
    if (list->n == 0) return;
    json_write_open(json, "profiles", '[');
    for (size_t i = 0; i < list->n; i++) {
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "file", profiles[i].file);
        json_write_string(json, "hash", profiles[i].hash);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static void write_errors(struct json_writer *json, const char *key, const struct config_list *list)
{
    const struct calibration_error *errors = list->items;
    if (list->n == 0) return;
    json_write_open(json, key, '{');
    for (size_t i = 0; i < list->n; i++)
        calibration_write_error(json, errors[i].name,
                                &(struct fit_error){.rows = errors[i].rows, .median = errors[i].median,
                                                    .p90 = errors[i].p90, .worst = errors[i].worst,
                                                    .bias = errors[i].bias});
    json_write_close(json, '}');
}

int engine_preset_write(const struct engine_preset *preset, struct text *json)
{
    struct json_writer writer;
    json_writer_init(&writer, json);
    json_write_open(&writer, NULL, '{');
    json_write_string(&writer, "summary", preset->summary);
    if (preset->source != NULL) json_write_string(&writer, "source", preset->source);
    if (preset->vendor != ENGINE_ANY) json_write_string(&writer, "vendor", engine_vendor_names[preset->vendor]);
    if (preset->libraries_json != NULL) {
        json_write_key(&writer, "libraries");
        text_add(json, preset->libraries_json);
    }
    if (preset->batching_json != NULL) {
        json_write_key(&writer, "batching");
        text_add(json, preset->batching_json);
    }
    json_write_string(&writer, "kernels", preset->kernels);
    json_write_string(&writer, "collectives", preset->collectives);
    if (preset->own_kernels != NULL) json_write_string(&writer, "own_kernels", preset->own_kernels);
    if (preset->own_all_reduce != NULL) json_write_string(&writer, "own_all_reduce", preset->own_all_reduce);
    json_write_bool(&writer, "direct_all_reduce", preset->direct_all_reduce);
    json_write_bool(&writer, "fused_residual", preset->fused_residual);
    json_write_bool(&writer, "mixed_attention", preset->mixed_attention);
    json_write_bool(&writer, "samples", preset->samples);
    json_write_bool(&writer, "fused_narrowing", preset->fused_narrowing);
    if (preset->graph_tokens > 0) json_write_number(&writer, "graph_tokens", (double)preset->graph_tokens);
    write_launches(&writer, &preset->launches);
    write_overheads(&writer, &preset->overheads);
    write_measured_on(&writer, &preset->measured_on);
    if (preset->fitted_on != NULL) json_write_string(&writer, "fitted_on", preset->fitted_on);
    write_profiles(&writer, &preset->profiles);
    write_errors(&writer, "fit", &preset->fit);
    write_errors(&writer, "kernels_fit", &preset->kernels_fit);
    write_errors(&writer, "held_out", &preset->held_out);
    write_errors(&writer, "left_out", &preset->left_out);
    json_write_close(&writer, '}');
    text_add(json, "\n");
    return json->failed ? SIM_E_NOMEM : 0;
}
