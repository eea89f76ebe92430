/* Presets of training programs: configs/trainers/NAME.json, how a program stores states and which kernels it has.
 *
 *     { "summary": "Megatron-Core with TransformerEngine", "source": "...",
 *       "kernels": "isolated", "collectives": "isolated", "own_kernels": "vllm-0.24",
 *       "sustained_compute": 0.8,                                   // on GPUs that are not listed
 *       "measured": [{"gpu": "b200-sxm", "sustained_compute": 0.7, "fitted_on": "..."}],
 *       "attention_backward": 0.88, ... }
 *
 * models/training/trainer.h explains the constants. */
#ifndef ORRERY_CATALOG_TRAINER_H
#define ORRERY_CATALOG_TRAINER_H

#include "models/training/trainer.h"
#include "sim/catalog/calibration.h"
#include "sim/catalog/catalog.h"

/* Constants of one GPU. */
struct trainer_gpu {
    const char *gpu, *fitted_on;
    double sustained_compute, step_s, expert_layer_s;
};

struct trainer_preset {
    const char *name, *path, *summary, *source;
    const char *kernels, *collectives, *own_kernels; /* calibration sets, as of an engine */
    struct training_trainer constants; /* its sustained_compute: of GPUs that are not listed */
    struct config_list measured;       /* struct trainer_gpu */
};

/* Reads a preset by name or path. `where` is the place that names it. Texts live in `arena`. Returns 0, SIM_E_CONFIG,
 * SIM_E_IO or SIM_E_NOMEM. */
int catalog_trainer(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                    struct trainer_preset *preset, struct diag *diag);
int catalog_list_trainers(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                          struct diag *diag);

/* The constants on a GPU of the catalog. Returns whether they were fitted on that GPU. */
bool trainer_preset_constants(const struct trainer_preset *preset, const char *gpu, struct training_trainer *constants);

#endif
