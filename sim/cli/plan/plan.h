/* What `orrery plan` asks: one training plan, or the fastest plans for a number of GPUs. */
#ifndef ORRERY_CLI_PLAN_PLAN_H
#define ORRERY_CLI_PLAN_PLAN_H

#include "models/training/traffic.h"
#include "sim/catalog/training.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"

enum { PLAN_BEST = 10 }; /* plans of a search that are printed */

/* Keys that a search may choose: those that nobody gave. */
struct plan_free {
    bool tensor, pipeline, chunks, context, expert, micro_batch, recompute, zero, secondary;
};

/* A priced plan. */
struct plan_found {
    struct training_config config;
    struct training_plan plan;
    struct training_step step;
    struct training_levels levels; /* of the one plan that was asked for */
    struct training_step splits[TRAINING_SPLITS]; /* of it with each split, if its sequences have unlike lengths */
};

/* Why layouts of a search are no plans: the texts of training_plan_problem and others, the most frequent first. */
enum { PLAN_REASONS = 16 };
struct plan_reason {
    const char *text;
    size_t n; /* layouts */
};
struct plan_reasons {
    struct plan_reason items[PLAN_REASONS]; /* later ones of further texts are not kept */
    size_t n;
};

struct plan_search {
    struct plan_reasons undivided; /* of layouts that do not divide layers or GPUs */
    struct plan_reasons refused;   /* of the other layouts */
    struct plan_found best[PLAN_BEST]; /* the fastest first */
    size_t n_best;
    size_t n_priced, n_unfit; /* n_unfit: of the priced ones */
    struct plan_found smallest; /* the least memory of all, where none fits */
};

/* --- plan_search.c --- */

/* Prices all plans of the free keys. setup->config is changed meanwhile. */
void plan_search(struct training_setup *setup, const struct plan_free *free, struct plan_search *search);

/* --- plan_answer.c --- */

int plan_answer_one(const struct training_setup *setup, const struct plan_found *found, enum answer_form form,
                    FILE *out, struct diag *diag);
int plan_answer_search(const struct training_setup *setup, const struct plan_search *search, enum answer_form form,
                       FILE *out, struct diag *diag);

#endif
