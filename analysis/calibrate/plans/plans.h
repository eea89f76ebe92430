/* Training plans with published measurements: read, priced, and compared.
 *
 * A file NAME.plans.json names a plan (sim/catalog/training.h), and rows that change it and give what was measured.
 * Rows stand in the file, or in a CSV table whose columns it maps to keys of the plan.
 *
 *     { "source": "...", "obtain": "...", "plan": "base.plan.json",
 *       "fits": [{"gpu": "a100-80-sxm", "constants": ["sustained_compute"], "series": "Table 1", "x": [1.7],
 *                 "leave_out": "llm"}],
 *       "table": {"path": "rows.csv", "series": "gpu", "name": "case", "set": {"gpus": "column"},
 *                 "words": [{"key": "gpu", "is": "B200", "means": "b200-sxm"}],
 *                 "measured": [{"quantity": "step_s", "column": "real_ms", "unit": 0.001}]},
 *       "rows": [{"series": "Table 1", "x": 1.7, "set": ["gpus=32"], "measured": {"tflops_per_gpu": 137}}] }
 *
 * `fits` find the constants, of the training program or of the server, that bring times and rates of their rows
 * closest: the least sum of squared logarithms of predicted over measured. They change no prediction: shipped constants
 * stand in configs/trainers, those of a server in the plan. With `leave_out`, each row is also predicted with the
 * constants fitted to the rows of all other LLMs. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PLANS_PLANS_H
#define ORRERY_ANALYSIS_CALIBRATE_PLANS_PLANS_H

#include "analysis/calibrate/sheet.h"
#include "sim/catalog/training.h"

struct plans_quantity { /* a column of measurements */
    const char *quantity, *column;
    double unit; /* of the column, in that of the quantity */
};

struct plans_word {
    const char *key, *is, *means; /* of the plan; in the table; in the plan */
};

struct plans_column {
    const char *key, *column; /* of the plan; of the table */
};

struct plans_table {
    const char *path, *series, *name;
    struct config_list set, words, measured; /* struct plans_column, plans_word, plans_quantity */
};

struct plans_value {
    const char *quantity; /* its key */
    double value;
};

struct plans_given {
    const char *series, *name;
    double x;
    struct config_list set;      /* const char *, "key=value" */
    struct config_list measured; /* struct plans_value */
};

/* Constants that a fit may choose. */
enum plans_constant { PLANS_SUSTAINED, PLANS_STEP, PLANS_EXPERT_LAYER, PLANS_LINK_SHARE, PLANS_BRIDGE_SHARE, PLANS_OVERLAP, PLANS_CPU_UPDATE, PLANS_FLUSH_RATE, PLANS_CONSTANTS };

struct plans_constants {
    double value[PLANS_CONSTANTS];
};

struct plans_fit {
    const char *gpu, *series, *leave_out;
    struct config_list constants; /* int, enum plans_constant */
    struct config_list x;         /* double; none: all rows of the series */
};

struct plans_file {
    const char *path, *source, *obtain, *plan;
    struct config_list fits; /* struct plans_fit */
    struct plans_table table;
    struct config_list rows; /* struct plans_given */
    char hash[HASH_HEX_CHARS];
};

/* A priced plan. */
struct plans_row {
    const char *series, *name, *llm; /* llm: as the row names it */
    double x;
    const struct plans_value *measured;
    size_t n_measured;
    struct training_request request;
    struct training_setup setup;
    struct training_step step;
    const char *problem; /* NULL: it was priced */
};

struct plans {
    const struct plans_file *file;
    struct arena *arena;
    struct plans_row *rows;
    size_t n, capacity;
};

/* Reads the file, but not its table. data: the folder of public data, NULL for the default (path_join_data). Returns 0,
 * SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int plans_load(const char *path, const char *data, struct arena *arena, struct plans_file *file, struct diag *diag);

/* The table, if it does not exist; else NULL. */
const char *plans_missing_file(const struct plans_file *file);

/* Reads and prices all rows. Returns 0 or a negative code with findings. */
int plans_read(struct plans *plans, const struct plans_file *file, const struct catalog *catalog, struct arena *arena,
               struct diag *diag);

/* The predicted value of a quantity: step_s, tflops_per_gpu, sequences_per_s, mfu, memory_gib; NAN: unknown name. */
double plans_quantity(const struct training_plan *plan, const struct training_step *step, const char *quantity);

/* "sustained_compute", "step", "expert_layer", "link_share", "bridge_share", "overlap". */
const char *plans_constant_name(enum plans_constant constant);

/* Whether the fit is about the row's GPU. */
bool plans_fit_applies(const struct plans_fit *fit, const struct plans_row *row);

/* The constants fitted to the fit's rows, without those of the LLM `left_out` (NULL: with all). Returns the number of
 * their measurements; 0: nothing was fitted. Constants that the fit does not choose are those of the first row. */
size_t plans_fit_find(const struct plans *plans, const struct plans_fit *fit, const char *left_out,
                      struct plans_constants *constants);

/* The row's step with other constants. */
struct training_step plans_step_with(const struct plans_row *row, const struct plans_constants *constants);

/* Writes the tables plan, measurement, fit and left_out of a new SQLite file. Returns 0 or a negative code. */
int plans_write(const struct plans *plans, const char *path, struct diag *diag);

#endif
