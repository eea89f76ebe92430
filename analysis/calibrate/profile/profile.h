/* Measured kernels: rows of a profile CSV as kernel calls with their measured time.
 *
 * Formats are recognised by their header (profile_format.h lists them). Rows that cannot be a measurement of the call
 * they name (faster than the peak of the data sheet, empty) are dropped and counted by reason. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_H

#include "analysis/calibrate/sheet.h"
#include "models/kernel.h"
#include "models/operators/layer.h"
#include "sim/catalog/catalog.h"
#include "sim/catalog/library.h"

struct profile_row {
    struct kernel_call call;
    const struct gpu_spec *gpu; /* the measured GPU */
    enum llm_operator op; /* operator of a layer; of an isolated kernel the nearest one */
    double measured_s;
    double tokens;  /* band of the error table: rows of a product, tokens, or sequences; 0: none */
    uint32_t group; /* index of the name in `groups`: rows that are held out together */
    uint32_t line;
    uint32_t kernel; /* hash of the kernel's name, where a file names several for one call; else 0 */
    uint32_t layer;  /* hash of the LLM's whole layer that the call is a share of, where a file tells; else 0 */
};

struct profile {
    const char *path, *format; /* "vidur-dense" ... */
    const char *set;           /* the parameter set its numbers belong to: "in-model" or "isolated" */
    const char *grouped_by;    /* "llm", "shape", "heads" */
    struct profile_row *rows;
    size_t n;
    const char **groups; /* names: an LLM, "n4096 k4096", "32/8 heads" */
    size_t n_groups;
    struct dropped_rows dropped[DROPPED_MAX_REASONS];
    size_t n_dropped;
    struct library_release library;      /* whose kernels were measured, set by the caller; no name: not stated */
    bool uses_llm, uses_tensor_parallel; /* options that were used because the file does not state them */
    char hash[HASH_HEX_CHARS]; /* of the file */
};

/* What a file does not state. */
struct profile_options {
    const struct catalog *catalog;
    const struct gpu_spec *gpu;
    const char *llm;         /* name in the catalog; NULL: from the file's name, if the format needs one */
    int64_t tensor_parallel; /* 0: from the file or its name, else 1 */
};

/* The reason for dropping rows that would be faster than the peak of the data sheet. */
extern const char profile_faster_than_peak[];

/* Reads a file of any format. "FILE@KERNEL" reads only the rows of a kernel, where the file names several; without
 * one, rows of kernels that no engine serves with by default are left out. Rows and texts live in `arena`. Returns 0,
 * SIM_E_IO, SIM_E_DATA (unknown header, a kernel that the file lacks, a wrong number, with its place), SIM_E_CONFIG
 * (unknown LLM) or SIM_E_NOMEM. */
int profile_read(const char *path, const struct profile_options *options, struct arena *arena, struct profile *profile,
                 struct diag *diag);

/* What a row's call does by the default parameters of its class: its FLOP and bytes do not depend on a fit. */
struct kernel_time profile_row_work(const struct profile_row *row);

/* Whether a set may have this name, which becomes a part of file names: 1 to 64 letters, digits, '_', '.' and '-'. */
bool profile_is_set_name(const char *chars, size_t n_chars);

/* The rows of several profiles as one, in their order: groups of the same name become one group, reasons for dropping
 * are added up. Format, set and grouping are those of the first profile; path and hash are empty. Returns 0 or
 * SIM_E_NOMEM. */
int profile_join(const struct profile *profiles, size_t n, struct arena *arena, struct profile *joined,
                 struct diag *diag);

#endif
