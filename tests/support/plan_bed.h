/* A training plan with everything that prices it, on a GPU and LLMs that belong to no catalog. */
#ifndef ORRERY_TESTS_SUPPORT_PLAN_BED_H
#define ORRERY_TESTS_SUPPORT_PLAN_BED_H

#include "models/training/step.h"

/* An A100 by its data sheet; a GPT with plain attention; an LLM with latent attention and experts. */
extern const struct gpu_spec plan_bed_a100;
extern const struct llm_spec plan_bed_gpt, plan_bed_experts;

struct plan_bed {
    struct kernel_set kernels;
    struct llm_spec llm;
    struct training_plan plan;
    struct training_trainer trainer;
    struct training_parts parts;
};

/* Kernels at their initial parameters, one rank, four micro-batches. Tests change the plan. */
void plan_bed_init(struct plan_bed *bed, const struct llm_spec *llm);

/* Prices the plan, which must be possible. */
struct training_step plan_bed_step(struct plan_bed *bed);

#endif
