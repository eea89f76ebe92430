/* Presets of serving engines: configs/engines/NAME.json, the host time that a version of an engine adds to the GPU's,
 * and the calibration sets that its kernels behave like. Fitted by `orrery calibrate` on measured iterations.
 *
 *     { "summary": "vLLM 0.2 (late 2023): no CUDA graphs, Ray workers",
 *       "kernels": "in-model", "collectives": "in-model", "graph_tokens": 0,
 *       "launch": [{"gpu": "a100-80-sxm", "layer": {"value": "0.39ms", "source": "...", "sure": "measured"}}, ...],
 *       "overhead": [{"tensor_parallel": 2, "iteration": {...}, "sequence": {...}, "prompt": {...}}, ...] }
 *
 * Launching is the work of the CPU beside the GPU, so it is listed by GPU; a GPU that is not listed takes the first
 * entry. Overheads between two listed degrees of tensor parallelism are interpolated over the logarithm of the degree,
 * beyond the ends the nearest entry holds. */
#ifndef ORRERY_CATALOG_ENGINE_H
#define ORRERY_CATALOG_ENGINE_H

#include "models/engine.h"
#include "sim/catalog/calibration.h"
#include "sim/catalog/catalog.h"

#include <stdbool.h>

struct engine_launch {
    const char *gpu; /* of the catalog */
    double layer_s;
};

struct engine_overhead {
    int64_t tensor_parallel;
    double iteration_s, sequence_s, prompt_s;
};

struct engine_preset {
    const char *name, *summary;
    const char *kernels, *collectives; /* names of calibration sets */
    int64_t graph_tokens;
    struct config_list launches;  /* struct engine_launch; none: nothing to wait for */
    struct config_list overheads; /* struct engine_overhead, by rising degree; none: no overhead */
};

extern const struct config_field engine_preset_fields[];

/* Reads a preset by name or path. `where` is the place that names it. Texts live in `arena`. Returns 0, SIM_E_CONFIG,
 * SIM_E_IO or SIM_E_NOMEM. */
int catalog_engine(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct engine_preset *preset, struct diag *diag);
int catalog_list_engines(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                         struct diag *diag);

/* The host time beside one kind of GPU and degree of tensor parallelism. Returns whether the preset lists both, or needs
 * neither. */
bool engine_preset_params(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel,
                          struct engine_params *params);

/* The calibration of a GPU as the preset wants it: kernels of one set, collectives of another. Returns what
 * calibration_load returns. */
int engine_preset_kernels(const struct engine_preset *preset, const struct catalog *catalog, const char *gpu,
                          struct arena *arena, struct calibration *calibration, struct diag *diag);

#endif
