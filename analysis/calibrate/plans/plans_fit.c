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

struct training_step plans_step_with(const struct plans_row *row, const struct plans_constants *constants)
{
    struct training_trainer trainer = row->setup.trainer;
    struct gpu_spec gpu = row->setup.gpu;
    struct training_plan plan = row->setup.plan;
    struct training_parts parts = row->setup.parts;
    const double links = constants->value[PLANS_LINK_SHARE] / row->request.link_share;
    trainer.sustained_compute = constants->value[PLANS_SUSTAINED];
    trainer.step_s = constants->value[PLANS_STEP];
    trainer.overlap_frac = constants->value[PLANS_OVERLAP];
    trainer.expert_layer_s = constants->value[PLANS_EXPERT_LAYER];
    gpu.nvlink_bytes_per_s *= links;
    gpu.pcie_bytes_per_s *= links;
    gpu.bridge_share = constants->value[PLANS_BRIDGE_SHARE];
    plan.offload.cpu_update_per_s = constants->value[PLANS_CPU_UPDATE];
    plan.offload.flush_bytes_per_s = constants->value[PLANS_FLUSH_RATE];
    parts.plan = &plan;
    parts.trainer = &trainer;
    parts.gpu = &gpu;
    return training_step_of(&parts, row->request.training.reserve_frac);
}

bool plans_fit_applies(const struct plans_fit *fit, const struct plans_row *row)
{
    return strcmp(row->setup.gpu.name, fit->gpu) == 0;
}

/* Whether the fit takes the row. */
static bool takes(const struct plans_fit *fit, const struct plans_row *row, const char *left_out)
{
    const double *x = fit->x.items;
    bool found = fit->x.n == 0;
    if (row->problem != NULL || !plans_fit_applies(fit, row)) return false;
    if (fit->series != NULL && strcmp(row->series, fit->series) != 0) return false;
    if (left_out != NULL && strcmp(row->llm, left_out) == 0) return false;
    for (size_t i = 0; i < fit->x.n; i++) found = found || x[i] == row->x;
    return found;
}

/* Sum of squared logarithms of predicted over measured times and rates. */
static double loss_of(const struct plans *plans, const struct plans_fit *fit, const char *left_out,
                      const struct plans_constants *constants, size_t *n)
{
    double sum = 0.0;
    *n = 0;
    for (size_t i = 0; i < plans->n; i++) {
        const struct plans_row *row = &plans->rows[i];
        if (row->n_measured == 0 || !takes(fit, row, left_out)) continue;
        const struct training_step step = plans_step_with(row, constants);
        for (size_t k = 0; k < row->n_measured; k++) {
            const struct plans_value *measured = &row->measured[k];
            if (strcmp(measured->quantity, "memory_gib") == 0) continue;
            const double error = log(plans_quantity(&row->setup.plan, &step, measured->quantity) / measured->value);
            sum += error * error;
            (*n)++;
        }
    }
    return sum;
}

/* The best value of one constant, by golden sections: the loss has one valley along it. */
static void improve(const struct plans *plans, const struct plans_fit *fit, const char *left_out,
                    struct plans_constants *constants, enum plans_constant which)
{
    static const struct {
        double low, high;
    } bounds[] = {{0.2, 1.6}, {0.0, 2.0}, {0.0, 0.05}, {0.05, 1.0}, {0.1, 1.0}, {0.0, 1.0}, {1e9, 2e10}, {1e9, 5e10}};
    enum { SECTIONS = 24 };
    const double golden = 0.5 * (sqrt(5.0) - 1.0);
    double low = bounds[which].low, high = bounds[which].high, losses[2];
    size_t n;
    for (int i = 0; i < SECTIONS; i++) {
        const double at[] = {high - golden * (high - low), low + golden * (high - low)};
        for (int side = 0; side < 2; side++) {
            constants->value[which] = at[side];
            losses[side] = loss_of(plans, fit, left_out, constants, &n);
        }
        if (losses[0] <= losses[1])
            high = at[1];
        else
            low = at[0];
    }
    constants->value[which] = 0.5 * (low + high);
}

size_t plans_fit_find(const struct plans *plans, const struct plans_fit *fit, const char *left_out,
                      struct plans_constants *constants)
{
    enum { ROUNDS = 16 };
    const int *chosen = fit->constants.items;
    const int rounds = fit->constants.n > 1 ? ROUNDS : 1;
    size_t n = 0;
    for (size_t i = 0; i < plans->n && n == 0; i++) {
        const struct plans_row *row = &plans->rows[i];
        if (!takes(fit, row, left_out)) continue;
        const struct training_trainer *trainer = &row->setup.trainer;
        *constants = (struct plans_constants){{trainer->sustained_compute, trainer->step_s, trainer->expert_layer_s,
                                               row->request.link_share, row->setup.gpu.bridge_share,
                                               trainer->overlap_frac, row->setup.plan.offload.cpu_update_per_s,
                                               row->setup.plan.offload.flush_bytes_per_s}};
        loss_of(plans, fit, left_out, constants, &n);
    }
    for (int round = 0; n > 0 && round < rounds; round++)
        for (size_t i = 0; i < fit->constants.n; i++)
            improve(plans, fit, left_out, constants, (enum plans_constant)chosen[i]);
    return n;
}
