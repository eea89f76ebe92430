#include "sim/world/replica/energy.h"

#include <math.h>

struct energy_law energy_law_of(const struct power_law *law, const struct gpu_spec *gpu, const struct llm_spec *llm,
                                int64_t gpus)
{
    const double n = (double)gpus, head = llm_head_flop(llm), one = llm_flop_per_token(llm, 0);
    const double flop_j = law->compute_w / gpu_peak_flop_per_s(gpu, llm->compute);
    const double byte_j = law->memory_w / gpu->memory_bytes_per_s;
    return (struct energy_law){
        .idle_w = n * fmin(law->context_w, law->limit_w),
        .busy_w = n * (law->context_w + law->active_w),
        .limit_w = n * law->limit_w,
        .token_j = flop_j * (one - head),
        .row_j = flop_j * head,
        .pair_j = flop_j * (llm_flop_per_token(llm, 1) - one),
        .weight_byte_j = byte_j,
        .context_j = byte_j * llm_kv_bytes_per_token(llm),
    };
}

/* The sum of first + j slope over j = 0 .. n - 1. */
static double series(double first, double slope, double n)
{
    return n * first + 0.5 * n * (n - 1.0) * slope;
}

/* The same over the j where it is positive, of which one end is and the other is not. */
static double positive_part(double first, double slope, double n)
{
    if (first > 0.0) return series(first, slope, fmin(n, ceil(-first / slope)));
    const double from = fmin(n, floor(-first / slope) + 1.0);
    return series(first + from * slope, slope, n - from);
}

void energy_add(struct energy_sums *sums, const struct energy_law *law, int64_t n, double work_j, double work_slope_j,
                double time_s, double time_slope_s)
{
    const double above_w = law->busy_w - law->limit_w, last = (double)(n - 1);
    const double first_j = work_j + above_w * time_s, slope_j = work_slope_j + above_w * time_slope_s;
    const double last_j = first_j + last * slope_j;
    /* a quotient of two affine functions has no extremum between its ends */
    const double peak = fmax(first_j / time_s, last_j / (time_s + last * time_slope_s));
    sums->peak_w = fmax(sums->peak_w, law->limit_w + fmin(peak, 0.0));
    if (first_j <= 0.0 && last_j <= 0.0) return;
    const bool is_all = first_j > 0.0 && last_j > 0.0;
    sums->excess_j += is_all ? series(first_j, slope_j, (double)n) : positive_part(first_j, slope_j, (double)n);
}

void energy_add_at(struct energy_sums *sums, const struct energy_law *base, const struct energy_law *at,
                   const struct energy_run *run)
{
    const double spared_w = base->busy_w - at->busy_w;
    sums->excess_j += series(run->base_j - run->at_j + spared_w * run->time_s,
                             run->base_slope_j - run->at_slope_j + spared_w * run->time_slope_s, (double)run->n);
    energy_add(sums, at, run->n, run->at_j, run->at_slope_j, run->time_s, run->time_slope_s);
}

void energy_merge(struct energy_sums *into, const struct energy_sums *from)
{
    into->excess_j += from->excess_j;
    into->peak_w = fmax(into->peak_w, from->peak_w);
}
