/* Measured iterations of serving engines. The constants of presets are fitted on some of them; all others test the
 * whole model.
 *
 * Formats are recognised by their header: Splitwise's prompt and token times, Vidur's CPU overheads, and
 * aiconfigurator's table of TTFT and TPOT. DistServe's coefficients (JSON) become a grid of times. LLMServingSim's
 * operators, recognised by the name of their file, are summed to iterations. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_MEASURED_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_MEASURED_H

#include "analysis/calibrate/engine/closed_loop.h"
#include "analysis/calibrate/sheet.h"
#include "models/hardware.h"
#include "models/iteration.h"
#include "models/operators/layer.h"
#include "sim/catalog/catalog.h"

enum measured_kind {
    MEASURED_HOST,      /* the CPU's part of an iteration */
    MEASURED_ITERATION, /* an iteration as a whole */
    MEASURED_TPOT       /* time per output token in a closed loop */
};

struct measured_row {
    enum measured_kind kind;
    const char *engine;                /* preset */
    const char *gpu, *llm;             /* of the catalog; of MEASURED_HOST those of the run, NULL where not stated */
    enum number_format weights, kv;    /* of the LLM as it ran */
    const char *experts;               /* set of the calibration with its kernels of experts; NULL: the preset's */
    int64_t tensor_parallel, expert_parallel, data_parallel; /* the last two: 0 as 1 */
    enum llm_dispatch dispatch;        /* of tokens to experts */
    struct iteration_work work;        /* MEASURED_HOST, MEASURED_ITERATION */
    struct closed_loop loop;           /* MEASURED_TPOT */
    double memory_frac;                /* of the GPU's memory, for weights, keys and values; 0: that of services */
    double measured_s;
    const char *group;                 /* of rows with a separate error, a static text: "tokens" ... */
    bool fit;                          /* constants may be fitted on it; else it tests them */
    bool in_range;                     /* fitted, if its LLM is one of those that constants are fitted to */
    bool kernels_fit;                  /* a sum of kernels that a calibration was fitted to, which it does not test */
    uint32_t line;
};

struct measured {
    const char *path, *format;
    const char *fitted_on; /* the rows with `fit`, in words; NULL: none */
    struct measured_row *rows;
    size_t n;
    struct dropped_rows dropped[DROPPED_MAX_REASONS];
    size_t n_dropped;
    char hash[HASH_HEX_CHARS]; /* of the file */
};

/* Sets how an engine composes iterations in a closed loop: "vllm", "trtllm" or "sglang", in versions of 2025 and later.
 * Returns false for any other engine. */
bool measured_loop_rules(const char *engine, struct closed_loop *loop);

/* Reads a file of any format. The catalog knows the LLMs that rows name. Rows and texts live in `arena`. Returns 0,
 * SIM_E_IO, SIM_E_DATA (unknown header, a wrong number, with its place), SIM_E_CONFIG (broken JSON) or SIM_E_NOMEM. */
int measured_read(const char *path, const struct catalog *catalog, struct arena *arena, struct measured *measured,
                  struct diag *diag);

#endif
