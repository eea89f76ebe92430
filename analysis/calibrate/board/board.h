/* The board: every row of public tables of TTFT and TPOT, predicted, with its error and whether a fit used it.
 *
 * A board's file (NAME.board.json) names the tables, one per GPU. Their columns are those of aiconfigurator's
 * silicon_sample.csv with five more: first_copy, gpus_read, tp_read, dp_read, ep_read and sizes_note tell copies of a
 * measurement apart and correct its sizes. A row that cannot be predicted stays, with the reason.
 *
 * Of rows with prompts on other GPUs ("disagg") the replicas that decode are predicted, if the table counts them: each
 * decodes for its part of the users, and never sees a prompt.
 *
 * All loops are closed: `concurrency` users, each of whom sends a request when the previous answer is complete. A row
 * is predicted by the preset of its engine, as `orrery calibrate --engine` predicts the rows that it fits. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_H
#define ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_H

#include "analysis/calibrate/engine/engine_fit.h"

/* --- The board's file --- */

/* A table, by the GPU of the catalog on which it was measured. */
struct board_table {
    const char *gpu, *path;
};

/* Rows of a table. A text that is NULL and a tensor of 0 fit every row. `origin` and `measured` fit rows whose text
 * begins so. */
struct board_which {
    const char *where; /* the entry in the board's file, as file:line:column */
    const char *gpu, *llm, *engine, *version, *format, *mode, *origin, *measured;
    double tensor; /* GPUs that share a layer */
};

/* Rows that are shown and not judged. */
struct board_suspect {
    struct board_which which;
    const char *because;
};

/* How rows ran, where their source says what the table does not. The last entry that fits a row counts. */
struct board_run {
    struct board_which which;
    const char *kv;      /* number format of keys and values; NULL: by the other rules */
    const char *experts; /* set of the calibration with its kernels of experts; NULL: that of the preset */
    double memory_frac;  /* share of the GPU's memory for weights, keys and values; 0: the default */
    bool all_to_all;     /* tokens travel to experts on GPUs of their own, instead of being gathered by all GPUs */
    const char *source;
};

/* What the laws lack for an LLM of the tables, by its name there. */
struct board_lack {
    const char *where; /* of the entry */
    const char *llm, *because;
};

/* Rows whose lengths are means of drawn ones: origins that begin so. */
struct board_lengths {
    const char *where; /* of the entry */
    const char *origin;
    double mean_frac; /* of the nominal lengths */
};

struct board_file {
    const char *path;
    const char *source, *obtain; /* what was measured; where a reader gets it */
    struct config_list tables;   /* struct board_table */
    struct config_list lengths;  /* struct board_lengths */
    struct config_list suspects; /* struct board_suspect */
    struct config_list runs;     /* struct board_run */
    struct config_list lacks;    /* struct board_lack */
    char hash[HASH_HEX_CHARS];   /* of the file */
};

/* Reads the board's file, but not its tables. An error: a run's number format of keys and values is unknown. data: the
 * folder of public data, NULL for the default (path_join_data). Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int board_load(const char *path, const char *data, struct arena *arena, struct board_file *file, struct diag *diag);

/* --- Rows --- */

/* Whether a fit has used the row; else whether one has used rows of its group, by which its preset was chosen. */
enum board_fit { BOARD_IN_NO_FIT, BOARD_GROUP_IN_FIT, BOARD_ROW_IN_FIT, N_BOARD_FITS };

/* Texts are never NULL unless said; numbers NAN where the table is silent. */
struct board_row {
    const char *table; /* name of its file */
    uint32_t line;
    const char *gpu, *model, *engine, *version, *gemm, *moe, *mode, *origin, *sizes_note;
    const char *measured; /* date, as 2026-03-20; empty: not stated */
    bool first_copy, in_progress; /* in_progress: so marked by the source */
    double prompt_tokens, output_tokens, users;
    double batch; /* users of each part that data parallelism makes */
    double gpus, tensor, data, expert, pipeline; /* of "disagg" rows: of all replicas, then of one that decodes */
    double workers; /* replicas that decode, where others process the prompts; NAN: not stated */
    double ttft_s, tpot_s; /* measured */

    /* Set by board_predict. */
    const char *llm;            /* of the catalog; NULL: it has none */
    const char *group;          /* GPU, LLM and engine */
    const char *preset, *note;  /* NULL: none */
    bool overlapped;            /* the preset's host works while the GPU does */
    bool foreign;               /* the CPU overhead of the preset was not measured with this GPU */
    bool unmeasured;            /* kernels of the LLM's attention were never measured */
    const char *reason;         /* why it is not predicted; NULL: it is */
    const char *suspect;        /* why its measurement is not trusted; NULL */
    struct measured_row asked;  /* as the predictor takes it */
    struct engine_point point;  /* of a predicted row */
    double predicted_ttft_s, predicted_tpot_s;
    double left_out_tpot_s;     /* by constants that were fitted without the group */
    double roofline_tpot_s;     /* NAN: no roofline describes the LLM */
    double bound_tpot_s;        /* reading weights and keys at the full memory bandwidth */
    double fast_tpot_s, slow_tpot_s; /* the interval around it, from the errors of other groups; NAN: none */
    enum board_fit in_fit;
};

struct board {
    const struct board_file *file;
    const struct catalog *catalog;
    struct arena *arena;
    struct board_row *rows; /* in the order of the tables */
    size_t n, capacity;
};

/* Reads all tables. Returns 0, SIM_E_IO (with the file and where to get it), SIM_E_DATA or SIM_E_NOMEM. */
int board_read(struct board *board, const struct board_file *file, const struct catalog *catalog, struct arena *arena,
               struct diag *diag);

/* Predicts all rows. The tables that the presets were fitted to must lie beside those of the board. Returns 0,
 * SIM_E_IO, SIM_E_DATA, SIM_E_CONFIG or SIM_E_NOMEM. Warns of entries of the board's file that fit no row, and of runs
 * of which none counts, since a later one fits all their rows. */
int board_predict(struct board *board, struct diag *diag);

/* Whether the row counts in the claims: aggregated, the first copy, of sure size, not suspect, predicted, of an LLM
 * whose attention was measured. */
bool board_row_is_judged(const struct board_row *row);

/* "none", "group" or "row": what a fit used. */
const char *board_fit_name(enum board_fit in_fit);

/* Writes the rows to the table `board` of a new SQLite file, in place of one that is there. Returns 0, SIM_E_STORE,
 * SIM_E_IO or SIM_E_NOMEM. */
int board_write(const struct board *board, const char *path, struct diag *diag);

/* The first file that the board needs and that does not exist; NULL: none. */
const char *board_missing_file(const struct board_file *file);

#endif
