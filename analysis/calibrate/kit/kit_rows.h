/* Rows of the measuring kit that no fit reads: whole iterations of a model, which test the fitted kernels, and copies
 * between host and GPU. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_KIT_KIT_ROWS_H
#define ORRERY_ANALYSIS_CALIBRATE_KIT_KIT_ROWS_H

#include "analysis/calibrate/calibrate.h"
#include "models/iteration.h"

/* --- Iterations --- */

/* The LLM of the catalog that has the shape of the kit's model. */
extern const char kit_llm[];

struct kit_iteration {
    struct iteration_work work;
    bool is_flash2; /* prompts attend by FlashAttention-2, not by cuDNN */
    double measured_s, predicted_s; /* NAN: not predicted */
};

struct kit_iterations {
    struct kit_iteration *items;
    size_t n;
};

/* Reads the columns phase (decode or prefill), sequences, tokens, past, context, time_us and source. Rows live in
 * `arena`. Returns 0, SIM_E_IO, SIM_E_DATA or SIM_E_NOMEM. */
int kit_iterations_read(const char *path, struct arena *arena, struct kit_iterations *iterations, struct diag *diag);

/* Predicts the iterations as sums of kernels of an LLM, without CPU overhead. Those by FlashAttention-2 are left out:
 * that kernel cuts the keys of prompts into parts, which no law here has. Returns 0 or SIM_E_NOMEM. */
int kit_iterations_predict(struct kit_iterations *iterations, const struct calibration *calibration,
                           const struct gpu_spec *gpu, const struct llm_spec *llm);

/* The errors of the predicted iterations that only decode, or that have prompts. Returns 0 or SIM_E_NOMEM. */
int kit_iterations_error(const struct kit_iterations *iterations, bool has_prompts, struct fit_error *error);

/* Lays the classes of a fitted set over those of a calibration. */
void kit_lay_over(const struct calibrated_set *set, struct calibration *calibration);

/* --- Copies --- */

/* The fastest copies of each kind, in bytes per second; 0: not measured. */
struct kit_copies {
    double to_gpu, from_gpu, peer;
};

/* Reads the columns copy (h2d, d2h, d2d, p2p), host, beside and bytes_per_s. Copies beside others and of pageable
 * memory do not count. Returns 0, SIM_E_IO, SIM_E_DATA or SIM_E_NOMEM. */
int kit_copies_read(const char *path, struct arena *arena, struct kit_copies *copies, struct diag *diag);

#endif
