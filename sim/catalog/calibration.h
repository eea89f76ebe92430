/* Calibration files: configs/calibration/GPU.json, written by `orrery calibrate`, read here into a kernel_set.
 *
 *     { "gpu": "a100-80-sxm",
 *       "like": "...",                                   // a GPU with the same chip, where one was measured
 *       "sets": {
 *         "in-model": {                                  // operators timed inside a model; "isolated": kernels alone
 *           "gemm": {
 *             "parameters": {"start": "3.9e-6s", "compute_efficiency": 0.825, ...},
 *             "at_bound": ["wave_quantisation"],         // what a bound of the fit has set, and not the rows; if any
 *             "law": "in-model",                         // whose they are, where the rows were too few to fit any
 *             "range": {"m": [1, 4096], "n": [1024, 28672], "k": [1024, 28672]},
 *             "formats": [{"weights": "fp16", "compute": "fp16"}],            // others are out of range; bf16 counts as fp16
 *             "table": [{"n": 6144, "k": 4096, "weights": "bf16", "compute": "bf16",          // one shape
 *                        "m": [1, 16, 256], "seconds": [5.1e-5, 5.2e-5, 9.8e-5]}],            // its measured points
 *             "rows": 12345,
 *             "profiles": [{"file": "a100__Llama-2-70b__dense_ops.csv", "hash": "..."}],
 *             "fit": {"all": {"rows": 1, "median": 0.045, "p90": 0.126, "worst": 0.8, "bias": 0.0},
 *                     "17-256": {...}, "qkv": {...}, ...},                // by band of tokens and operator
 *             "held_out": {"by": "llm", "error": {... as "fit"}, "folds": {"llama-2-70b": {...}},
 *                          "roofline": {...}, "layer_sum": {...}} } } } }
 *
 * A set that lacks a class takes it from the file's other sets, in their order. What a calibration of one's own lacks comes
 * from the file of the GPU itself, then from the GPU that one of the two is like, then from default.json, whose parameters
 * were fitted over all GPUs together, and last from the initial values of kernel.h; the last three have no range. A GPU
 * without a file of its own takes all from the last two. Where nothing was fitted for them, products with 4-bit weights
 * follow the law of 16-bit ones and writing the KV cache that of residual sums, out of range. Attention with
 * "writes_kv": true was measured together with writing the cache.
 *
 * A "table" is optional: `orrery calibrate --table` writes it, the files of configs/calibration have none. Members of a
 * shape are those of models/operators/kernel_shape.h by name; what runs (and what follows from the call: "pairs" of prompts, the
 * links of a collective) is a list, as long as that of the seconds; flags are false where they are left out. Times near
 * the points are then interpolated (models/operators/kernel_table.h), with the law on the GPU that the file names. */
#ifndef ORRERY_CATALOG_CALIBRATION_H
#define ORRERY_CATALOG_CALIBRATION_H

#include "models/kernel.h"
#include "sim/catalog/catalog.h"

struct calibration {
    struct kernel_set kernels;
    const char *origin[KERNEL_CLASS_COUNT]; /* where each class comes from: a set, a GPU alike, "default", "initial" */
    bool writes_kv[KERNEL_CLASS_COUNT];     /* attention that was measured together with writing the cache */
    bool calibrated;                        /* the GPU was measured: there is a file, with a set in it */
};

struct calibration_request {
    const char *gpu;                   /* whose own file is taken, if there is one; NULL: that of `file` */
    const char *kernels, *collectives; /* preferred sets */
    const bool *needed;                /* by class; NULL: all. The defaults are read only where one of them lacks */
    const char *file;                  /* NULL, or what goes before the GPU's own: a name, or a path ending in ".json" */
    const char *where, *sets_where;    /* the places that name the file and the sets, for findings; may be NULL */
};

/* Reads what is asked for. A `file` that does not exist, a GPU to be like that has none, and a set that none of the files
 * has are errors; a calibration of another GPU gets a warning, unless one is like the other. Texts live in `arena`.
 * Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int calibration_read(const struct catalog *catalog, const struct calibration_request *request, struct arena *arena,
                     struct calibration *calibration, struct diag *diag);

/* The same for all classes, and one set, of a GPU by name or a file by path. */
int calibration_load(const struct catalog *catalog, const char *name, const char *set, struct arena *arena,
                     struct calibration *calibration, struct diag *diag);

/* Whether all attention writes the cache itself, so that an iteration launches no other kernel for that. */
bool calibration_writes_kv(const struct calibration *calibration);

#endif
