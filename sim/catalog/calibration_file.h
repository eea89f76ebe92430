/* One calibration file: parameters, ranges and fit errors, by set and class. */
#ifndef ORRERY_CATALOG_CALIBRATION_FILE_H
#define ORRERY_CATALOG_CALIBRATION_FILE_H

#include "models/kernel.h"
#include "sim/catalog/library.h"
#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

/* |predicted / measured - 1| over some rows; bias: median of predicted / measured - 1. */
struct calibration_error {
    const char *name; /* "all", "17-256", "qkv"; the group that was held out */
    int64_t rows;
    double median, p90, worst, bias;
};

struct calibration_profile {
    const char *file, *hash;
};

/* Tables of these structs. Errors are a map by name. */
extern const struct config_field calibration_error_fields[], calibration_profile_fields[],
    calibration_held_out_fields[];

/* The lists are of struct calibration_error: over bands and operators, and by group. */
struct calibration_held_out {
    const char *by; /* "llm", "shape"; NULL: nothing was held out */
    struct config_list error, folds;
    struct config_list roofline;  /* of a plain roofline, fitted and held out in the same way */
    struct config_list layer_sum; /* of the products of a layer taken together */
};

/* One class of a file. */
struct calibration_class {
    int64_t rows; /* 0: nothing */
    union kernel_params params;
    const char *law;                            /* source of the parameters; NULL: fitted to the rows */
    struct config_list at_bound;                /* const char *: parameters that a bound of the fit determines */
    struct config_list limits[KERNEL_MAX_AXES]; /* two doubles each; empty without a range */
    struct config_list formats;                 /* struct kernel_formats; empty where the class has none */
    struct kernel_range range;                  /* the same */
    bool writes_kv;                             /* attention that was measured together with writing the cache */
    struct config_list table;                   /* struct calibration_shape: measured points, if any */
    struct config_list measured_with;           /* struct library_release: each library once; empty: not stated */
    struct config_list profiles;                /* struct calibration_profile */
    struct config_list fit;                     /* struct calibration_error, over bands and operators */
    struct calibration_held_out held_out;
};

struct calibration_set {
    const char *name; /* "in-model", "isolated" */
    struct calibration_class classes[KERNEL_CLASS_COUNT];
};

struct calibration_file {
    const char *gpu;
    const char *like; /* a GPU with the same chip, or NULL */
    struct config_list sets; /* struct calibration_set */
    struct hash_sum files; /* what it was read from */
};

/* Reads a file. Reports all unknown keys, missing parameters and values out of bounds. Everything lives in
 * `arena`. Returns 0, SIM_E_IO, SIM_E_CONFIG or SIM_E_NOMEM. */
int calibration_file_read(const char *path, struct arena *arena, struct calibration_file *file, struct diag *diag);

/* Whether a class has one kernel among those of its profiles, "FILE@KERNEL": engines take it where told to only. */
bool calibration_class_is_of_one_kernel(const struct calibration_class *class);

/* The set of that name, or NULL. */
const struct calibration_set *calibration_file_set(const struct calibration_file *file, const char *name);

#endif
