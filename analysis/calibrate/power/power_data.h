/* Measured power of GPUs, on which the laws of models/power.h are fitted.
 *
 * A load is the power of a GPU at known rates of FLOP and bytes; the law of activity is fitted on loads. A cap is the
 * slowdown and the power of a training job under a power limit; the law of the clock is fitted on caps. Formats are
 * recognised by their columns: Splitwise's shares of TDP, the ML.ENERGY leaderboard, loads of our own
 * (analysis/calibrate/kit), Zeus' sweeps of the power limit. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_DATA_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_DATA_H

#include "analysis/calibrate/sheet.h"
#include "models/hardware.h"
#include "models/iteration.h"
#include "models/power.h"
#include "models/transformer.h"
#include "sim/catalog/catalog.h"

enum { POWER_MAX_PHASES = 2 };

/* Time spent at one load. */
struct power_phase {
    double time_frac;
    struct power_load load;
};

struct power_row {
    const char *group; /* rows that are held out together: an LLM, a kind of load */
    const char *part;  /* rows with a separate error, a static text: "mean" ... */
    double batch;      /* sequences; 0: unknown */
    double measured_w;
    bool is_assumed;   /* its FLOP rest on an assumption of the reader */
    struct power_phase phases[POWER_MAX_PHASES];
    size_t n_phases;
};

/* A training job under one limit, relative to the same job under its highest limit. */
struct power_cap_row {
    size_t job;
    double cap_w, slowdown, measured_w; /* slowdown: time / time under the highest limit */
    double uncapped_w;                  /* mean power under the highest limit */
};

struct power_data {
    const char *path, *format;
    struct power_row *rows;
    size_t n_rows;
    struct power_cap_row *caps;
    size_t n_caps, n_jobs;
    struct dropped_rows dropped[DROPPED_MAX_REASONS];
    size_t n_dropped;
    char hash[HASH_HEX_CHARS];
};

/* Reads the rows of one GPU. Returns 0, SIM_E_IO, SIM_E_DATA (unknown columns, a wrong number, with its place),
 * SIM_E_CONFIG (an LLM's file) or SIM_E_NOMEM. */
int power_data_read(const char *path, const struct catalog *catalog, const struct gpu_spec *gpu, struct arena *arena,
                    struct power_data *data, struct diag *diag);

/* Shares of the peaks that each of `gpus` GPUs achieves in an iteration of `seconds`: FLOP and bytes as the world
 * counts them (sim/world/replica/work.h). */
struct power_load power_load_of(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t gpus,
                                const struct iteration_work *work, double seconds);

#endif
