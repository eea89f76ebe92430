/* The power of GPUs: configs/calibration/power/GPU.json, written by `orrery calibrate power`, read here into a
 * power_model.
 *
 *     { "gpu": "a100-80-sxm",
 *       "like": "...",                      // a GPU with the same chip, used for what is not measured here
 *       "activity": {                    // power of kernels at the highest clock, beside the catalog's context_power
 *         "parameters": {"active": "60W", "compute": "700W", "memory": "280W"},   // and "attention", "widening"
 *         "at_bound": ["memory"],           // parameters that a bound of the fit determines
 *         "range": {"compute": [0, 0.4], "memory": [0.1, 0.7]},                    // achieved shares
 *         "rows": 200, "profiles": [{"file": "...", "hash": "..."}],
 *         "fit": {"all": {"rows": 1, "median": 0.05, "p90": 0.1, "worst": 0.2, "bias": 0.0}, ...},
 *         "held_out": {"by": "group", "error": {...}} },
 *       "clock": {                          // what the clock changes: sweeps of the power limit with training jobs
 *         "parameters": {"context": "80W", "active": "...", "memory": "...", "clock_share": 0.6,
 *                        "voltage_floor": 0.7, "voltage_knee": 0.8}, ... } }
 *
 * Either part may be absent. A clock model does not give an activity model: the power of training kernels does not tell
 * the energy of a FLOP or a byte. */
#ifndef ORRERY_CATALOG_POWER_H
#define ORRERY_CATALOG_POWER_H

#include "models/power.h"
#include "sim/catalog/calibration_file.h"
#include "sim/catalog/catalog.h"

/* One part of a file. */
struct power_part {
    int64_t rows; /* 0: nothing */
    struct config_list at_bound, profiles, fit; /* const char *, struct calibration_profile, struct calibration_error */
    struct calibration_held_out held_out;
};

struct power_file {
    const char *gpu, *like;
    double active_w, compute_w, memory_w, attention_w, widening_w; /* activity; the last two 0 where not fitted */
    struct config_list compute_range, memory_range; /* two doubles each */
    struct power_part activity;
    struct power_model clock; /* of training jobs, no limit */
    double clock_share;
    struct power_part clock_part;
};

/* The power of a GPU, as far as it is known. */
struct gpu_power {
    struct power_model model;   /* NAN where nothing is known: then `from` is NULL */
    const char *from;           /* the GPU whose measurements the activity model was fitted to; NULL: none */
    bool is_measured;           /* that is the GPU itself */
    double compute_range[2], memory_range[2]; /* of the shares that the law was fitted on */
    double p90_error;           /* of |predicted / measured - 1| on rows that its fit left out; NAN: unknown */
    const char *problem;    /* `from` is NULL: why, as half a sentence */
    const char *nearest;    /* the same: a GPU that was measured, of the same architecture or else of the nearest TDP */
};

/* Reads a file. Returns 0, SIM_E_IO, SIM_E_CONFIG or SIM_E_NOMEM. */
int power_file_read(const struct catalog *catalog, const char *path, struct arena *arena, struct power_file *file,
                    struct diag *diag);

/* Looks up a GPU by the name of its spec. If its file names a "like" GPU, watts are scaled by the ratio of the peaks: a
 * FLOP and a byte take the same energy on both. An unknown GPU is no error. Texts live in `arena`. Returns 0,
 * SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int catalog_gpu_power(const struct catalog *catalog, const struct gpu_spec *gpu, struct arena *arena,
                      struct gpu_power *power, struct diag *diag);

/* Takes the voltage of a law from the sweeps of another GPU. Returns 0, SIM_E_IO, SIM_E_NOMEM, or SIM_E_CONFIG with a
 * finding at `where`: it was not swept. */
int catalog_power_voltage(const struct catalog *catalog, const char *gpu, const char *where, struct arena *arena,
                          struct power_model *model, struct diag *diag);

#endif
