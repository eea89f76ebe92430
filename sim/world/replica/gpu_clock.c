#include "sim/world/replica/gpu_clock.h"

#define ROW_OF struct clock_share_config
const struct config_field clock_share_config_fields[] = {
    ROW_REAL("prefill", prefill, DEFAULT("0.95"), WITHIN(0, 1),
             "share in iterations that process prompts; an assumption, see configs/calibration/power"),
    ROW_REAL("decode", decode, DEFAULT("0.05"), WITHIN(0, 1), "share in iterations that only decode; an assumption, see configs/calibration/power"),
    {0}};
#undef ROW_OF

/* The load of each GPU at the highest clock, in shares of the power model's terms, scaled to keep the power limit.
 * Widening counts as computing, attention as reading: these follow the clock alike. */
static struct power_load load_of(const struct clock_model *model, const struct energy_model *base,
                                 const struct work_parts *parts, double draft_j, double seconds)
{
    const double gpus = (double)model->gpus, active_w = base->busy_w - base->idle_w;
    const double compute_w = work_flop_j(parts, base) / seconds;
    const double memory_w = (work_bytes_j(parts, base) + draft_j) / seconds;
    const double above_w = active_w + compute_w + memory_w, room_w = base->limit_w - base->idle_w;
    const double kept = above_w > room_w ? room_w / above_w : 1.0;
    return (struct power_load){.busy_frac = kept,
                               .compute_frac = kept * compute_w / (gpus * model->power.compute_w),
                               .memory_frac = kept * memory_w / (gpus * model->power.memory_w)};
}

static struct energy_model energy_at_clock(const struct energy_model *base, const struct power_model *power,
                                           double clock_frac, double kept)
{
    const double v = power_voltage_frac(power, clock_frac), core = kept * v * v;
    return (struct energy_model){.idle_w = base->idle_w,
                                 .busy_w = base->idle_w + core * clock_frac * (base->busy_w - base->idle_w),
                                 .limit_w = base->limit_w,
                                 .token_j = core * base->token_j,
                                 .row_j = core * base->row_j,
                                 .pair_j = core * base->pair_j,
                                 .weight_byte_j = kept * base->weight_byte_j,
                                 .widened_byte_j = core * base->widened_byte_j,
                                 .context_j = kept * base->context_j};
}

struct clock_state clock_state_of(const struct clock_model *model, const struct energy_model *base,
                                  const struct clock_order *order, const struct llm_reads *reads,
                                  const struct iteration_work *work, double draft_j, double seconds)
{
    const struct work_parts parts = work_parts_of(reads, work);
    const double share = work->prefill_tokens > 0 ? model->clock_share.prefill : model->clock_share.decode;
    const struct power_load load = load_of(model, base, &parts, draft_j, seconds);
    struct power_state state = power_at_clock(&model->power, &load, share, order->clock_frac);
    if (state.power_w > order->cap_w) state = power_under_cap(&model->power, &load, share, order->cap_w);
    if (state.clock_frac >= 1.0) return (struct clock_state){.is_slow = false};
    return (struct clock_state){.is_slow = true, .speed_frac = state.speed_frac,
                                .clock_frac = state.clock_frac, .domain = order->domain, .target = order->target,
                                .given_ns = order->given_ns, .since_ns = order->since_ns,
                                .energy = energy_at_clock(base, &model->power, state.clock_frac, load.busy_frac)};
}
