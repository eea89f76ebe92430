/* The runs of a results database, as comparisons need them, and groups of runs. */
#ifndef ORRERY_ANALYSIS_COMPARE_RUNS_H
#define ORRERY_ANALYSIS_COMPARE_RUNS_H

#include "sim/core/database.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key that the study varies, as in --set. */
struct compare_param {
    const char *key, *value;
};

/* NULL texts in the file are empty here. */
struct compare_run {
    const struct database *database;
    int64_t id, seed;
    const char *name, *policies, *trace_hash, *scenario_hash, *status, *result_hash, *warmup;
    size_t n_params;
    struct compare_param *params; /* in order of their keys */
    const char *point;        /* runs_set_points */
    bool is_bootstrap;        /* its trace is a block bootstrap */
};

struct compare_group {
    const char *label;
    size_t n;
    struct compare_run *runs;
};

/* Reads all runs of a database, in order of their ids, into the arena. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int runs_read(const struct database *database, struct arena *arena, struct compare_group *all, struct diag *diag);

/* Narrows a group to the runs that "key=value,..." selects. Adds the selected parameters of the study to `keys`:
 * they must not count when runs are paired. Returns 0, SIM_E_USAGE, SIM_E_STORE or SIM_E_NOMEM. */
enum { SELECTION_MAX_KEYS = 16 };
struct selection_keys {
    size_t n;
    const char *items[SELECTION_MAX_KEYS];
};
int runs_select(const struct compare_group *all, const char *selection, struct arena *arena,
                struct selection_keys *keys, struct compare_group *group, struct diag *diag);

/* Sets the point of each run: the parameters that no selection was about, as "key=value, ..."; its name if there are
 * neither parameters nor selections. Returns 0 or SIM_E_NOMEM. */
int runs_set_points(struct compare_group *group, const struct selection_keys *keys, struct arena *arena);

#endif
