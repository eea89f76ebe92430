/* Presets of serving engines: configs/engines/NAME.json, the CPU overhead that a version of an engine adds to GPU time,
 * and the calibration sets of its kernels. Written by `orrery calibrate`, fitted on one part of measured iterations and
 * tested on the rest.
 *
 *     { "summary": "vLLM 0.2 (late 2023): no CUDA graphs, Ray workers", "source": "...",
 *       "libraries": [{"library": "vLLM", "version": "0.2", "year": 2023}, {"library": "NCCL", "year": 2023}],
 *       "batching": {"policy": "vllm-v0", "padded": true},
 *       "kernels": "in-model", "collectives": "in-model", "own_kernels": "vllm-0.24",
 *       "direct_all_reduce": false, "fused_residual": false, "mixed_attention": false, "samples": false,
 *       "fused_narrowing": false, "overlapped_host": false, "graph_tokens": 0,
 *       "launch": [{"gpu": "a100-80-sxm", "layer": "0.39ms"}, ...],
 *       "overhead": [{"gpu": "a100-80-sxm", "tensor_parallel": 2, "iteration": "9ms", "prompt": "8ms"}, ...,
 *                    {"tensor_parallel": 2, "iteration": "8ms", "sequence": "0s", "prompt": "8ms"}, ...],
 *       "overhead_of": "vllm-0.12", "measured_on": ["a100-80-sxm", "h100-sxm"],
 *       "fitted_on": "Llama-2-70B, batches of at most 2048 prompt tokens",
 *       "profiles": [{"file": "splitwise__llama2-70b__latency_and_power.csv", "hash": "..."}, ...],
 *       "fit": {"all": {"rows": 1, "median": 0.02, "p90": 0.08, "worst": 0.3, "bias": 0.0}, "tokens": {...}, ...},
 *       "kernels_fit": {...}, "held_out": {...}, "left_out": {"a100-80-sxm__bloom-176b": {...}, ...} }
 *
 * `libraries` are the engine and those that it runs kernels of. Kernels of other libraries and older releases stand in
 * where no others were measured; runs say so (cost_libraries.h).
 *
 * Launch times and overheads depend on the CPU of the host, so both are listed by GPU; its usual host is meant. A GPU
 * without a launch time takes the first one. Entries of an overhead without a GPU hold for all GPUs that no entry
 * names; without such entries, those of the first GPU do. Overheads are interpolated over the logarithm of the degree
 * of tensor parallelism, among the entries of one host; beyond the ends the nearest entry holds. */
#ifndef ORRERY_CATALOG_ENGINE_H
#define ORRERY_CATALOG_ENGINE_H

#include "models/engine.h"
#include "models/operators/layer.h"
#include "sim/catalog/calibration.h"
#include "sim/catalog/calibration_file.h"
#include "sim/catalog/catalog.h"

#include <stdbool.h>

struct engine_launch {
    const char *gpu; /* of the catalog */
    double layer_s;
};

struct engine_overhead {
    int64_t tensor_parallel;
    double iteration_s, sequence_s, prompt_s;
    const char *gpu; /* of the catalog; NULL: every GPU that no entry names */
};

enum engine_vendor { ENGINE_ANY, ENGINE_NVIDIA, ENGINE_AMD };
extern const char *const engine_vendor_names[]; /* by engine_vendor; NULL behind the last */

struct engine_preset {
    const char *name, *path; /* of the file; NULL: read from none */
    const char *summary, *source;
    enum engine_vendor vendor;         /* whose GPUs it runs on */
    struct config_list libraries;      /* struct library_release: the engine, then others; none: not stated */
    const char *kernels, *collectives; /* names of calibration sets */
    const char *own_kernels;           /* of experts, latent attention, narrow products; NULL: `kernels` */
    const char *experts;               /* of experts alone; NULL: `own_kernels` */
    const char *own_all_reduce;        /* that of the engine's own all-reduce; likewise `collectives` */
    bool direct_all_reduce, fused_residual, mixed_attention, samples; /* see llm_split */
    struct config_variant batching; /* the engine's scheduler: its name, without parameters; or none */
    const char *libraries_json;     /* the libraries of presets to be written; NULL in those that were read */
    const char *batching_json;      /* all of it, in presets to be written; NULL in those that were read */
    bool fused_narrowing; /* operators hand activations of fp8 products on in fp8 */
    bool overlapped_host; /* the overhead passes while the GPU works: asynchronous scheduling */
    int64_t graph_tokens;
    struct config_list launches;  /* struct engine_launch; none: nothing to wait for */
    struct config_list overheads; /* struct engine_overhead, by host and rising degree; none: no overhead */
    const char *overhead_of; /* the preset whose overhead this one repeats, which was not measured for it; or NULL */
    struct config_list measured_on; /* const char *: GPUs of the catalog; none: not measured, or on unknown GPUs */
    const char *fitted_on;        /* which of the measurements, in words; NULL: not fitted */
    struct config_list profiles;  /* struct calibration_profile */
    struct config_list fit;         /* struct calibration_error, by group: of the rows that constants were fitted on */
    struct config_list kernels_fit; /* of sums of kernels that the GPU's calibration was fitted to */
    struct config_list held_out;    /* of all others */
    struct config_list left_out;    /* by host and LLM: of its rows, by a fit to other LLMs on that host */
};

/* Reads a preset by name or path. `where` is the place that names it. Texts live in `arena`. Returns 0, SIM_E_CONFIG,
 * SIM_E_IO or SIM_E_NOMEM. */
int catalog_engine(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct engine_preset *preset, struct diag *diag);

/* Refuses a GPU of another maker than those that the engine runs on. Returns 0 or SIM_E_UNFIT. */
int engine_preset_check(const struct engine_preset *preset, const struct gpu_spec *gpu, const char *where,
                        struct diag *diag);

/* Loads the document of a preset, whose "batching" is of the language of scenarios. It is no input of a run by itself.
 * Returns what catalog_engine returns; *document, which the caller destroys, is NULL after an error. */
int catalog_engine_document(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                            struct config **document, struct diag *diag);
int catalog_list_engines(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                         struct diag *diag);

/* The CPU overhead with a GPU and a degree of tensor parallelism. Returns whether the preset lists both or has no
 * overhead. */
bool engine_preset_params(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel,
                          struct engine_params *params);

/* Whether the preset lists an overhead of exactly this degree among those that hold for a GPU. */
bool engine_preset_lists(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel);

/* Whether the CPU overhead was measured with a GPU, or no GPU is named. */
bool engine_preset_measured_on(const struct engine_preset *preset, const char *gpu);

/* Explains the source of a CPU overhead that was not measured with this engine, GPU and degree. *caveat is NULL if it
 * was measured, or none is needed. The text lives in `arena`. Returns 0 or SIM_E_NOMEM. */
int engine_preset_caveat(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel,
                         struct arena *arena, const char **caveat);

/* Sets the members of `split` that the engine decides. */
void engine_preset_split(const struct engine_preset *preset, struct llm_split *split);

/* Removes what an engine's products lack: what only benchmarks show, and in fp8 the pass over activations if the
 * engine needs none: they then start like other products. */
void engine_preset_adapt(const struct engine_preset *preset, struct kernel_set *kernels);

/* The calibration of a GPU as the preset wants it: its sets, adapted. Returns what calibration_read returns. */
int engine_preset_kernels(const struct engine_preset *preset, const struct catalog *catalog, const char *gpu,
                          struct arena *arena, struct calibration *calibration, struct diag *diag);

#endif
