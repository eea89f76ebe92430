/* What `orrery profile` found in a folder of the measuring kit, as tables and JSON. */
#ifndef ORRERY_CLI_CALIBRATE_PROFILE_PRINT_H
#define ORRERY_CLI_CALIBRATE_PROFILE_PRINT_H

#include "analysis/calibrate/kit/kit.h"
#include "analysis/calibrate/kit/kit_rows.h"
#include "analysis/calibrate/power/power_fit.h"
#include "sim/cli/answer.h"

#include <stdio.h>

struct profile_findings {
    struct kit kit;
    const struct gpu_spec *gpu;
    const char *gpu_word; /* what a scenario names it by: its name, or the path that --gpu gave */
    size_t n_profiles, n_sets;
    struct profile *profiles;     /* [n_profiles] */
    struct calibrated_set *sets;  /* [n_sets]; no sets: no kernels were measured */
    struct kit_iterations iterations; /* n is 0: none */
    const char *copies_path;      /* NULL: no copies */
    struct kit_copies copies;
    struct power_data power;
    struct power_fitted power_fit[POWER_CLASS_COUNT]; /* rows is 0: not fitted */
    const char *power_problem;    /* why the power was not fitted; NULL: it was, or was not measured */
    const char *requests_path;    /* log of a serving engine; NULL: none */
    const char *output, *power_output; /* files that will be written; NULL: none */
};

/* Prints the findings. Returns 0 or SIM_E_NOMEM. */
int profile_print(const struct profile_findings *findings, enum answer_form form, FILE *out);

#endif
