#include "analysis/calibrate/engine/engine_fit.h"

#include <string.h>

enum { GPUS_PER_NODE = 8 };

/* --- Replicas --- */

struct engine_replica {
    struct engine_replica *next;
    const char *engine, *gpu_name, *llm_name;
    enum number_format weights, kv;
    int64_t tensor_parallel;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct calibration calibration;
    struct operators operators;
};

void engine_replicas_init(struct engine_replicas *replicas, const struct catalog *catalog, struct arena *arena)
{
    *replicas = (struct engine_replicas){.catalog = catalog, .arena = arena};
}

static bool matches(const struct engine_replica *replica, const struct engine_preset *preset,
                    const struct measured_row *row)
{
    return replica->weights == row->weights && replica->kv == row->kv &&
           replica->tensor_parallel == row->tensor_parallel && strcmp(replica->gpu_name, row->gpu) == 0 &&
           strcmp(replica->llm_name, row->llm) == 0 && strcmp(replica->engine, preset->name) == 0;
}

static int read_parts(const struct engine_replicas *replicas, const struct engine_preset *preset,
                      struct engine_replica *replica, struct diag *diag)
{
    const struct catalog *catalog = replicas->catalog;
    struct arena *arena = replicas->arena;
    int code = catalog_gpu(catalog, replica->gpu_name, "measured rows", arena, &replica->gpu, diag);
    if (code == 0) code = catalog_llm(catalog, replica->llm_name, "measured rows", arena, &replica->llm, diag);
    if (code == 0) code = engine_preset_kernels(preset, catalog, replica->gpu_name, arena, &replica->calibration, diag);
    replica->llm.weights = replica->weights;
    replica->llm.kv = replica->kv;
    return code;
}

static int make(struct engine_replicas *replicas, const struct engine_preset *preset, const struct measured_row *row,
                struct engine_replica **out, struct diag *diag)
{
    struct engine_replica *replica = arena_alloc(replicas->arena, sizeof *replica);
    *out = replica;
    if (replica == NULL) return diag_nomem(diag);
    replica->engine = preset->name;
    replica->gpu_name = row->gpu;
    replica->llm_name = row->llm;
    replica->weights = row->weights;
    replica->kv = row->kv;
    replica->tensor_parallel = row->tensor_parallel;
    const int code = read_parts(replicas, preset, replica, diag);
    if (code != 0) return code;
    struct llm_split split = {
        .tensor = row->tensor_parallel, .pipeline = 1, .expert = 1, .gpus_per_node = GPUS_PER_NODE};
    engine_preset_split(preset, &split);
    split.attention_writes_kv = calibration_writes_kv(&replica->calibration);
    const char *problem = llm_split_problem(&replica->llm, &split);
    if (problem != NULL)
        return diag_error(diag, SIM_E_CONFIG, NULL, NULL, "cannot split %s over %lld GPUs: %s", row->llm,
                          (long long)split.tensor, problem);
    const struct operators_parts parts = {
        .gpu = &replica->gpu, .llm = &replica->llm, .kernels = &replica->calibration.kernels, .split = split};
    operators_init(&replica->operators, &parts);
    replica->next = replicas->first;
    replicas->first = replica;
    return 0;
}

int engine_replicas_find(struct engine_replicas *replicas, const struct engine_preset *preset,
                         const struct measured_row *row, const struct operators **operators, struct diag *diag)
{
    *operators = NULL;
    if (row->kind == MEASURED_HOST) return 0;
    struct engine_replica *replica = replicas->first;
    while (replica != NULL && !matches(replica, preset, row)) replica = replica->next;
    const int code = replica != NULL ? 0 : make(replicas, preset, row, &replica, diag);
    if (code == 0) *operators = &replica->operators;
    return code;
}

/* --- Points --- */

static double gpu_seconds(const void *context, const struct iteration_work *work)
{
    struct iteration_cost cost;
    operators_cost(context, work, &cost);
    return cost.first_s;
}

static int set_loop(struct engine_point *point, const struct operators *operators)
{
    struct closed_loop_times times;
    const int code = closed_loop_run(&point->row->loop, gpu_seconds, operators, &times);
    if (code != 0) return code;
    point->gpu_s = times.tpot_s;
    point->iterations = times.iterations;
    point->sequences = times.sequences;
    point->prompts = times.prompts;
    return 0;
}

static int set_point(struct engine_point *point, const struct operators *operators)
{
    const struct iteration_work *work = &point->row->work;
    if (point->row->kind == MEASURED_TPOT) return set_loop(point, operators);
    point->gpu_s = operators != NULL ? gpu_seconds(operators, work) : 0.0;
    point->layers = operators != NULL ? operators->layers : 0.0;
    point->iterations = 1.0;
    point->sequences = (double)(work->prefill_sequences + work->decode_sequences);
    point->prompts = (double)work->prefill_sequences;
    return 0;
}

int engine_points(struct engine_replicas *replicas, const struct engine_preset *preset, const struct measured *measured,
                  size_t step, struct engine_point **points, size_t *n, struct diag *diag)
{
    *n = 0;
    *points = arena_alloc(replicas->arena, (measured->n + 1) * sizeof **points);
    if (*points == NULL) return diag_nomem_at(diag, measured->path);
    size_t met = 0;
    for (size_t i = 0; i < measured->n; i++) {
        if (strcmp(measured->rows[i].engine, preset->name) != 0 || met++ % step != 0) continue;
        struct engine_point *point = &(*points)[*n];
        const struct operators *operators;
        point->row = &measured->rows[i];
        int code = engine_replicas_find(replicas, preset, point->row, &operators, diag);
        if (code == 0) code = set_point(point, operators);
        if (code != 0) return code;
        ++*n;
    }
    return 0;
}

double engine_point_s(const struct engine_preset *preset, const struct engine_point *point)
{
    struct engine_params params;
    engine_preset_params(preset, point->row->gpu, point->row->tensor_parallel, &params);
    const int64_t tokens = point->row->work.prefill_tokens + point->row->work.decode_sequences;
    const double launch_s = tokens > params.graph_tokens ? point->layers * params.layer_launch_s : 0.0;
    return (point->gpu_s > launch_s ? point->gpu_s : launch_s) + point->iterations * params.iteration_s +
           point->sequences * params.sequence_s + point->prompts * params.prompt_s;
}

static enum engine_use use_of(const struct measured_row *row)
{
    if (row->fit) return ENGINE_FIT;
    return row->kernels_fit ? ENGINE_KERNELS_FIT : ENGINE_HELD_OUT;
}

int engine_measure(const struct engine_preset *preset, const struct engine_point *points, size_t n, const char *group,
                   enum engine_use use, struct fit_error *error)
{
    double *errors = mem_alloc((n + 1) * sizeof *errors);
    size_t n_errors = 0;
    if (errors == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (use_of(points[i].row) == use && (group == NULL || strcmp(points[i].row->group, group) == 0))
            errors[n_errors++] = engine_point_s(preset, &points[i]) / points[i].row->measured_s - 1.0;
    *error = fit_error_of(errors, n_errors);
    mem_free(errors);
    return 0;
}
