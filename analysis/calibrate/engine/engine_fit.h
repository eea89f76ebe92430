/* Fitting the CPU overhead of a serving engine to measured iterations, given the time of the GPU.
 *
 * Minimises the soft_l1 loss of log(predicted / measured), like the fits of kernels (fit.h), over the rows marked
 * `fit`; all others test it. The recipe of an engine lists its terms. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_FIT_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_FIT_H

#include "analysis/calibrate/engine/measured.h"
#include "analysis/calibrate/fit.h"
#include "models/operators/operators.h"
#include "sim/catalog/engine.h"

enum engine_term {
    ENGINE_ITERATION = 1, /* seconds per iteration, by degree of tensor parallelism */
    ENGINE_SEQUENCE = 2,  /* seconds per sequence, by degree */
    ENGINE_LAUNCH = 4,    /* seconds to launch a layer, by GPU */
    ENGINE_PROMPT = 8,    /* seconds per prompt, common to all degrees */
    ENGINE_COMMON_SEQUENCE = 16, /* seconds per sequence, common to all degrees */
    ENGINE_COMMON_ITERATION = 32, /* seconds per iteration, common to all degrees */
    ENGINE_BY_HOST = 64 /* constants by degree are those of the GPU's host; the preset has the common ones already */
};

/* How the preset of an engine is made. */
struct engine_recipe {
    const char *name, *summary;
    const char *libraries; /* that it runs kernels of, as JSON (sim/catalog/library.h); NULL: not stated */
    const char *batching; /* its scheduler with the defaults of its version, as JSON; NULL: none */
    const char *source; /* of the measurements */
    enum engine_vendor vendor; /* whose GPUs it runs on */
    const char *kernels, *collectives;
    const char *own_kernels, *own_all_reduce; /* NULL: as kernels, as collectives */
    bool is_recent;       /* own all-reduce, fused residual sums, mixed attention */
    bool attends_apart;   /* no mixed attention: prompts and decoding sequences have a launch each */
    bool fused_narrowing, samples;
    const char *launches_of; /* engine whose launch times it has without a CUDA graph; NULL: its own, if any */
    unsigned terms;
};

/* The index-th recipe, or NULL past the last one. */
const struct engine_recipe *engine_recipe_at(size_t index);

/* The replicas of measured rows as the simulator models them: GPU time from the calibration that an engine's preset
 * names (models/operators/operators.h). Each is made once. */
struct engine_replica;

struct engine_replicas {
    const struct catalog *catalog;
    struct arena *arena;
    struct engine_replica *first;
};

void engine_replicas_init(struct engine_replicas *replicas, const struct catalog *catalog, struct arena *arena);

/* The operators of the row's GPU, LLM and split, without any CPU overhead; NULL for MEASURED_HOST, which has none.
 * They live in the arena. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int engine_replicas_find(struct engine_replicas *replicas, const struct engine_preset *preset,
                         const struct measured_row *row, const struct operators **operators, struct diag *diag);

/* The factors of the fitted constants in a measured row. */
struct engine_point {
    const struct measured_row *row;
    double gpu_s, layers;                  /* layers is 0 when launches are not modelled */
    double iterations, sequences, prompts; /* numbers within measured_s */
    struct closed_loop_times times;        /* of MEASURED_TPOT: GPU time alone */
};

/* Makes the point of a row of the preset's engine. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int engine_point_init(struct engine_replicas *replicas, const struct engine_preset *preset,
                      const struct measured_row *row, struct engine_point *point, struct diag *diag);

/* Every `step`-th row of the preset's engine as a point. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int engine_points(struct engine_replicas *replicas, const struct engine_preset *preset, const struct measured *measured,
                  size_t step, struct engine_point **points, size_t *n, struct diag *diag);

/* A preset without CPU overhead. */
struct engine_preset engine_recipe_preset(const struct engine_recipe *recipe);

/* Fits the terms of the recipe to the points whose row is marked `fit`, and puts them into the preset. Returns 0,
 * SIM_E_DATA when there are fewer points than constants, or SIM_E_NOMEM. */
int engine_fit(const struct engine_recipe *recipe, const struct engine_point *points, size_t n, struct arena *arena,
               struct engine_preset *preset, struct diag *diag);

/* The seconds that the preset predicts for measured_s; for the TTFT of a point of MEASURED_TPOT. */
double engine_point_s(const struct engine_preset *preset, const struct engine_point *point);
double engine_point_ttft_s(const struct engine_preset *preset, const struct engine_point *point);

/* Whether the constants of a preset were fitted on a row, only the kernels of its GPU, or neither. */
enum engine_use { ENGINE_FIT, ENGINE_KERNELS_FIT, ENGINE_HELD_OUT };

/* The errors of a group's points (NULL: of all) of one use. Returns 0 or SIM_E_NOMEM. */
int engine_measure(const struct engine_preset *preset, const struct engine_point *points, size_t n, const char *group,
                   enum engine_use use, struct fit_error *error);

#endif
