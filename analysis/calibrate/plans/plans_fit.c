/* Predicted quantities, and the constant that fits them best. */
#include "analysis/calibrate/plans/plans.h"

#include <math.h>
#include <string.h>

double plans_quantity(const struct training_plan *plan, const struct training_step *step, const char *quantity)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    if (strcmp(quantity, "step_s") == 0) return step->step_s;
    if (strcmp(quantity, "tflops_per_gpu") == 0) return step->flop_per_s / 1e12;
    if (strcmp(quantity, "sequences_per_s") == 0) return (double)training_plan_sequences(plan) / step->step_s;
    if (strcmp(quantity, "mfu") == 0) return step->mfu;
    if (strcmp(quantity, "memory_gib") == 0) return step->memory.total_bytes / gib;
    return (double)NAN;
}

struct training_step plans_step_with(const struct plans_row *row, double sustained_compute)
{
    struct training_trainer trainer = row->setup.trainer;
    struct training_parts parts = row->setup.parts;
    trainer.sustained_compute = sustained_compute;
    parts.trainer = &trainer;
    return training_step_of(&parts, row->request.training.reserve_frac);
}

/* Whether the fit takes the row. */
static bool takes(const struct plans *plans, const struct plans_row *row, const struct plans_row *like,
                  const char *left_out)
{
    const struct plans_fit *fit = &plans->file->fit;
    const double *x = fit->x.items;
    bool found = fit->x.n == 0;
    if (row->problem != NULL) return false;
    if (fit->by != NULL && strcmp(row->setup.gpu.name, like->setup.gpu.name) != 0) return false;
    if (fit->series != NULL && strcmp(row->series, fit->series) != 0) return false;
    if (left_out != NULL && strcmp(row->llm, left_out) == 0) return false;
    for (size_t i = 0; i < fit->x.n; i++) found = found || x[i] == row->x;
    return found;
}

/* Sum of absolute logarithms of predicted over measured times and rates. */
static double loss_of(const struct plans *plans, const struct plans_row *like, const char *left_out, double constant,
                      size_t *n)
{
    double sum = 0.0;
    *n = 0;
    for (size_t i = 0; i < plans->n; i++) {
        const struct plans_row *row = &plans->rows[i];
        if (!takes(plans, row, like, left_out)) continue;
        const struct training_step step = plans_step_with(row, constant);
        for (size_t k = 0; k < row->n_measured; k++) {
            if (strcmp(row->measured[k].quantity, "memory_gib") == 0) continue;
            sum += fabs(log(plans_quantity(&row->setup.plan, &step, row->measured[k].quantity) / row->measured[k].value));
            (*n)++;
        }
    }
    return sum;
}

double plans_fit(const struct plans *plans, const struct plans_row *like, const char *left_out, size_t *n)
{
    enum { STEPS = 40 };
    const double golden = 0.5 * (sqrt(5.0) - 1.0);
    double low = log(0.1), high = log(2.0);
    loss_of(plans, like, left_out, 1.0, n);
    if (*n == 0) return (double)NAN;
    for (int i = 0; i < STEPS; i++) { /* the loss is nearly convex in the logarithm of the constant */
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        if (loss_of(plans, like, left_out, exp(left), n) <= loss_of(plans, like, left_out, exp(right), n))
            high = right;
        else
            low = left;
    }
    return exp(0.5 * (low + high));
}
