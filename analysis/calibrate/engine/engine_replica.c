#include "analysis/calibrate/engine/engine_replica.h"

#include <string.h>

enum { GPUS_PER_NODE = 8 };

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
    if (replica == NULL) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
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
