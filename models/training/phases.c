#include "models/training/phases.h"

static double share(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

void training_phases_of(const struct training_parts *parts, const struct training_step *step,
                        struct power_stage phases[TRAINING_PHASES])
{
    const double compute_s = step->forward_s + step->backward_s + step->recompute_s + step->quantise_s + step->update_s;
    const double messages_s = step->tensor_s + step->context_s + step->expert_s + step->pipeline_s + step->data_s;
    const bool is_narrow = parts->plan->compute == FORMAT_FP8;
    const double peak = gpu_peak_flop_per_s(parts->gpu, is_narrow ? FORMAT_BF16 : parts->plan->compute);
    const double narrow_frac = is_narrow
                                   ? share(step->narrow_flop, compute_s * gpu_peak_flop_per_s(parts->gpu, FORMAT_FP8))
                                   : 0.0;
    phases[PHASE_COMPUTE] = (struct power_stage){
        compute_s,
        {.busy_frac = 1.0,
         .compute_frac = share(step->flop - step->narrow_flop, compute_s * peak) + narrow_frac,
         .memory_frac = share(step->bytes, compute_s * parts->gpu->memory_bytes_per_s)},
        share(step->core_s, compute_s)};
    phases[PHASE_MESSAGES] = (struct power_stage){messages_s, {.busy_frac = 1.0}, 0.0};
    phases[PHASE_BUBBLE] = (struct power_stage){step->bubble_s, {.busy_frac = 0.0}, share(step->core_s, step->passes_s)};
    phases[PHASE_WAITING] = (struct power_stage){
        step->flush_s + step->swap_s + step->optimizer_s - step->update_s + step->host_s, {.busy_frac = 0.0}, 0.0};
}
