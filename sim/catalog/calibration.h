/* Calibration files: configs/calibration/GPU.json, written by `orrery calibrate`, read here into a kernel_set.
 *
 *     { "gpu": "a100-80-sxm",
 *       "like": "...",                                   // a GPU with the same chip, where one was measured
 *       "sets": {
 *         "in-model": {                                  // operators timed inside a model; "isolated": kernels alone
 *           "gemm": {
 *             "parameters": {"start": "3.9e-6s", "compute_efficiency": 0.825, ...},
 *             "at_bound": ["wave_quantisation"],         // parameters that a bound of the fit determines, not the rows
 *             "law": "in-model",                         // source of the parameters, if the rows were too few to fit
 *             "range": {"m": [1, 4096], "n": [1024, 28672], "k": [1024, 28672]},
 *             "formats": [{"weights": "fp16", "compute": "fp16"}],    // others are out of range; bf16 counts as fp16
 *             "table": [{"n": 6144, "k": 4096, "weights": "bf16", "compute": "bf16",          // one shape
 *                        "m": [1, 16, 256], "seconds": [5.1e-5, 5.2e-5, 9.8e-5]}],            // its measured points
 *             "rows": 12345,
 *             "measured_with": [{"library": "vLLM", "version": "0.14.0", "year": 2026}],      // see library.h
 *             "profiles": [{"file": "a100__Llama-2-70b__dense_ops.csv", "hash": "..."}],
 *             "fit": {"all": {"rows": 1, "median": 0.045, "p90": 0.126, "worst": 0.8, "bias": 0.0},
 *                     "17-256": {...}, "qkv": {...}, ...},                // by band of tokens and operator
 *             "held_out": {"by": "llm", "error": {... as "fit"}, "folds": {"llama-2-70b": {...}},
 *                          "roofline": {...}, "layer_sum": {...}} } } } }
 *
 * A class missing from a set is taken from the other sets of the file, in order. A class missing from a file given by
 * path is taken from the file of the GPU, then from the GPU that either file is "like", then from default.json (fitted
 * over all GPUs together), and last from the initial values of kernel.h. The last three have no range. A GPU without a
 * file takes all classes from the last two. Products with 4-bit weights that were not fitted follow the model of 16-bit
 * products, and writing the KV cache that of residual sums, both out of range. Attention with "writes_kv": true was
 * measured together with writing the cache.
 *
 * "table" is optional: `orrery calibrate --table` writes it, the files of configs/calibration have none. The members of
 * a shape are those of models/kernel.h by name. Running members, and those that follow from the call
 * ("pairs" of prompts, links of a collective), are lists as long as "seconds". Absent flags are false. Times near the
 * points are interpolated (models/operators/kernel_table.h), with the kernel model on the GPU that the file names. */
#ifndef ORRERY_CATALOG_CALIBRATION_H
#define ORRERY_CATALOG_CALIBRATION_H

#include "models/kernel.h"
#include "sim/catalog/catalog.h"

/* A file of measurements of the GPU, or of one that it is like. */
struct calibration_measured {
    const char *path;
    struct config_list sets; /* struct calibration_set, of calibration_file.h */
};

enum { CALIBRATION_MEASURED = 3 }; /* the file that was asked for, the GPU's own, that of the like GPU */

struct calibration {
    struct kernel_set kernels;
    struct calibration_measured measured[CALIBRATION_MEASURED]; /* in the order in which they are searched */
    size_t n_measured;
    const char *set[KERNEL_CLASS_COUNT]; /* the set of its file that each class comes from; NULL: "initial" */
    const char *origin[KERNEL_CLASS_COUNT]; /* source of each class: a set, a like GPU, "default", "initial" */
    const struct config_list *measured_with[KERNEL_CLASS_COUNT]; /* struct library_release; none: not stated */
    bool borrowed[KERNEL_CLASS_COUNT];      /* measured nowhere: parameters and origin are those of a similar class */
    bool writes_kv[KERNEL_CLASS_COUNT];     /* attention that was measured together with writing the cache */
    bool calibrated;                        /* the GPU was measured: there is a file, with a set in it */
};

struct calibration_request {
    const char *gpu;                   /* its file is read, if it exists; NULL: the GPU of `file` */
    bool is_slice;                     /* for a MIG slice of `gpu`: nothing counts as measured on it */
    const char *kernels, *collectives; /* preferred sets */
    const char *own_kernels;           /* of experts, latent attention, narrow products; NULL or absent: `kernels` */
    const char *experts;               /* of experts alone; NULL or absent: own_kernels */
    const char *own_all_reduce;        /* that of the engine's own all-reduce; likewise `collectives` */
    bool over_pcie;                    /* the collectives of a layer run over PCIe: they come from GPUs measured so */
    int64_t nvlink_gpus;               /* of the GPU: its own collectives of more GPUs were measured over PCIe */
    const bool *needed;                /* by class; NULL: all. default.json is read only for a missing one */
    const char *file;                  /* read before the GPU's own: a name, or a path ending in ".json"; NULL: none */
    const char *where, *sets_where;    /* the places that name the file and the sets, for findings; may be NULL */
};

/* Reads a calibration. Errors: `file` does not exist, the "like" GPU has no file, no file has the set,
 * or no GPU has such kernels in a set for own kernels, experts or the own all-reduce. A calibration of
 * another GPU gets a warning, unless one is "like" the other. Texts live in `arena`. Returns 0, SIM_E_CONFIG, SIM_E_IO
 * or SIM_E_NOMEM. */
int calibration_read(const struct catalog *catalog, const struct calibration_request *request, struct arena *arena,
                     struct calibration *calibration, struct diag *diag);

/* Leaves out what only the benchmarks of kernels show: products of one row take longer there, for no known cause
 * (configs/calibration/releases/README.md). Iterations and training steps are priced so. */
void calibration_leave_benchmarks(struct kernel_set *kernels);

/* Reads all classes of one set, of a GPU by name or a file by path. */
int calibration_load(const struct catalog *catalog, const char *name, const char *set, struct arena *arena,
                     struct calibration *calibration, struct diag *diag);

/* The names of the calibrated GPUs, and "default". */
int catalog_list_calibrations(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                              struct diag *diag);

/* Whether attention kernels write the KV cache, so that an iteration launches no separate kernel for it. */
bool calibration_writes_kv(const struct calibration *calibration);

#endif
