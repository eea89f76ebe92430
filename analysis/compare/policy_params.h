/* What policies that are compared differ in besides their names: two policies of one family may have parameters of one
 * name with different values, of which at least one is a default. Such a difference, such as token budgets of 512 and
 * 2,048, can explain results as well as the policies do. */
#ifndef ORRERY_ANALYSIS_COMPARE_POLICY_PARAMS_H
#define ORRERY_ANALYSIS_COMPARE_POLICY_PARAMS_H

#include "sim/core/database.h"
#include "sim/core/mem.h"

#include <stddef.h>
#include <stdint.h>

/* Runs of results databases. */
struct policy_run {
    const struct database *database;
    int64_t id;
};

struct policy_notes {
    size_t n;
    const char **texts; /* "sarathi has token_budget 512, vllm-v1 2048" */
};

/* Compares the parameters of the policies at the same place in the resolved scenarios of runs[n]. Left out are
 * parameters that vary under one policy, and those that the study gives to every policy. Texts are in the arena.
 * Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int policy_notes(const struct policy_run *runs, size_t n, struct arena *arena, struct policy_notes *notes,
                 struct diag *diag);

/* Compares the policies that the study in a file varies: a run for each word or object on its axes, at most 64. */
int policy_notes_of_study(const struct database *database, struct arena *arena, struct policy_notes *notes,
                          struct diag *diag);

#endif
