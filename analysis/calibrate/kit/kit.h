/* The folder that the measuring kit (measure.py beside this file) writes on a machine with the GPU: manifest.json, and
 * the rows of its parts as CSV. The manifest names the GPU, the versions that ran, and what became of each part. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_KIT_KIT_H
#define ORRERY_ANALYSIS_CALIBRATE_KIT_KIT_H

#include "analysis/calibrate/profile/profile.h"
#include "sim/core/config/config.h"

/* The version of the manifest's format that is read. */
enum { KIT_VERSION = 1 };

/* A part that is done or partial has rows. */
enum kit_status { KIT_DONE, KIT_PARTIAL, KIT_SKIPPED, KIT_FAILED };

const char *kit_status_name(enum kit_status status);

struct kit_part {
    const char *name; /* "bf16" */
    int status;       /* enum kit_status */
    int64_t measured, planned; /* points so far, and of all */
    double seconds;           /* spent so far */
    const char *reason;       /* of a part that is not done; NULL: none */
    struct config_list files; /* const char *: names below the folder */
};

struct kit {
    const char *folder;
    int64_t version;
    const char *date, *gpu; /* when the manifest was begun (UTC); the GPU as its driver names it */
    const char *driver, *cuda, *python, *torch, *triton, *cudnn, *nccl, *vllm; /* versions; NULL: not there */
    const char *capability; /* "9.0" */
    int64_t gpus, sms;      /* GPUs of the machine; streaming multiprocessors of the first */
    double memory_bytes, l2_bytes, power_limit_w, sm_max_mhz, memory_max_mhz, pcie_generation, pcie_width;
    const char *power_sensor; /* what the column instant_w of power.csv is */
    struct config_list parts; /* struct kit_part */
};

/* Reads the manifest of a folder. Texts live in `arena`. Returns 0, SIM_E_IO (no manifest), SIM_E_CONFIG (another
 * format, a name that leaves the folder) or SIM_E_NOMEM. */
int kit_read(const char *folder, struct arena *arena, struct kit *kit, struct diag *diag);

/* The names of the files of all parts that begin with `prefix`, each once, in the order of the parts. Texts live in
 * `arena`. Returns 0 or SIM_E_NOMEM. */
int kit_files(const struct kit *kit, const char *prefix, struct arena *arena, struct config_list *files,
              struct diag *diag);

/* The path of the file STEM.csv of the folder; NULL: no part names it, or memory ran out. */
const char *kit_path(const struct kit *kit, const char *stem, struct arena *arena);

/* Finds the GPU of the catalog with the SMs and the memory of the manifest, whose chip is a word of the reported name.
 * Of several, such as the form factors of one chip, that with the most parts of its name in the reported one. Returns
 * 0, SIM_E_CONFIG (none, or several), SIM_E_IO or SIM_E_NOMEM. */
int kit_find_gpu(const struct kit *kit, const struct catalog *catalog, struct arena *arena, const char **name,
                 struct diag *diag);

/* Warns where the measured GPU differs from the catalog's: SMs, memory, a lower power limit. */
void kit_check_gpu(const struct kit *kit, const struct gpu_spec *gpu, struct diag *diag);

/* --- Plausibility --- */

/* The highest rates that rows of a class reach, as shares of the peaks of the data sheet. */
struct kit_rates {
    int64_t rows;
    double flop_frac, memory_frac, link_frac; /* 0: no row has FLOP, much memory traffic, or messages */
    int64_t beyond_memory;                    /* rows whose traffic would exceed the memory's bandwidth */
};

/* The rates of a class's rows. Memory counts where a row's traffic is at least four times the L2 cache. */
struct kit_rates kit_rates_of(const struct profile *profile, enum kernel_class class);

/* Warns when more than one in twenty rows exceed the memory's bandwidth. */
void kit_check_rates(const struct kit_rates *rates, const char *class, const struct profile *profile,
                     const struct gpu_spec *gpu, struct diag *diag);

#endif
