/* Metrics of reinforcement learning. */
#include "sim/world/rl/rl_state.h"

#include <math.h>

int rl_stats_init(struct rl_stats *stats)
{
    struct distribution *const all[] = {&stats->step_s, &stats->rollout_s, &stats->training_s, &stats->sending_s,
                                        &stats->staleness};
    int code = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && code == 0; i++) code = distribution_init(all[i]);
    return code;
}

void rl_stats_fini(struct rl_stats *stats)
{
    struct distribution *const all[] = {&stats->step_s, &stats->rollout_s, &stats->training_s, &stats->sending_s,
                                        &stats->staleness};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) distribution_fini(all[i]);
}

/* GPUs of both sides. */
static int64_t site_gpus(const struct rl *rl)
{
    int64_t gpus = rl->config->layout == RL_APART ? rl->gpus : 0;
    for (int32_t i = 0; i < rl->n_replicas; i++) gpus += service_replica_gpus(rl->env.service, i)->n_gpus;
    return gpus;
}

/* List price of the GPUs of both sides; NAN: not known. */
static double site_usd_per_h(const struct rl *rl)
{
    double usd_per_h = rl->config->layout == RL_APART ? (double)rl->gpus * rl->gpu_usd_per_h : 0.0;
    for (int32_t i = 0; i < rl->n_replicas; i++) usd_per_h += service_replica_usd_per_h(rl->env.service, i);
    return usd_per_h;
}

/* From the start to the latest change, or to `now` if something is in progress. */
static double span_s(const struct rl *rl, sim_ns now)
{
    const bool is_over = rl->phase == RL_IDLE && !rl->is_generating;
    return sim_s_from_ns(is_over ? rl->stats.settled_ns : now);
}

/* Nanoseconds of a phase, with what it has lasted so far if it is in progress. */
static double busy_s(sim_ns ended_ns, bool is_in_progress, sim_ns since_ns, sim_ns now)
{
    return sim_s_from_ns(ended_ns + (is_in_progress && now > since_ns ? now - since_ns : 0));
}

static int emit_tokens(const struct rl *rl, double seconds)
{
    const struct rl_stats *stats = &rl->stats;
    const struct sink *sink = rl->env.site->sink;
    const double tokens = (double)(stats->trained_tokens + stats->trained_prompt_tokens),
                 usd_per_h = site_usd_per_h(rl);
    int code = metric_emit(sink, "rl.samples", (double)stats->trained_samples);
    if (code == 0) code = metric_emit(sink, "rl.generated_tokens.sum", (double)stats->generated_tokens);
    if (code == 0) code = metric_emit(sink, "rl.trained_tokens.sum", tokens);
    if (code == 0) code = metric_emit(sink, "rl.trained_output_tokens.sum", (double)stats->trained_tokens);
    if (code == 0) code = metric_emit(sink, "rl.dropped_tokens.sum", (double)stats->dropped_tokens);
    if (code == 0 && !isnan(usd_per_h)) code = metric_emit(sink, "rl.usd_per_h", usd_per_h);
    if (code != 0 || !(seconds > 0.0)) return code;
    code = metric_emit(sink, "rl.tokens_per_s", tokens / seconds);
    if (code == 0) code = metric_emit(sink, "rl.tokens_per_gpu_s", tokens / seconds / (double)site_gpus(rl));
    if (code != 0 || isnan(usd_per_h)) return code;
    return metric_emit(sink, "rl.tokens_per_usd", tokens / seconds * 3600.0 / usd_per_h);
}

static int emit_idle(const struct rl *rl, double seconds, sim_ns now)
{
    const struct rl_stats *stats = &rl->stats;
    const struct sink *sink = rl->env.site->sink;
    const sim_ns begin_ns = rl->is_generating ? rl_batch(rl, rl->n_generated)->begin_ns : 0;
    if (!(seconds > 0.0)) return 0;
    const double generating_s = busy_s(stats->generating_ns, rl->is_generating, begin_ns, now);
    const double training_s = busy_s(stats->training_ns, rl->phase == RL_TRAIN, rl->since_ns, now);
    const int code = metric_emit(sink, "rl.rollout_idle_frac", fmax(1.0 - generating_s / seconds, 0.0));
    return code != 0 ? code : metric_emit(sink, "rl.training_idle_frac", fmax(1.0 - training_s / seconds, 0.0));
}

int rl_emit(const struct rl *rl, sim_ns now)
{
    const struct rl_stats *stats = &rl->stats;
    const struct sink *sink = rl->env.site->sink;
    const double seconds = span_s(rl, now);
    int code = metric_emit(sink, "rl.steps", (double)rl->n_trained);
    if (code == 0) code = metric_emit(sink, "rl.span_s", seconds);
    if (code == 0) code = metric_emit_distribution(sink, "rl.step_s", NULL, &stats->step_s);
    if (code == 0) code = metric_emit_distribution(sink, "rl.rollout_s", NULL, &stats->rollout_s);
    if (code == 0) code = metric_emit_distribution(sink, "rl.training_s", NULL, &stats->training_s);
    if (code == 0) code = metric_emit_distribution(sink, "rl.sending_s", NULL, &stats->sending_s);
    if (code == 0) code = metric_emit_distribution(sink, "rl.staleness", NULL, &stats->staleness);
    if (code == 0) code = emit_idle(rl, seconds, now);
    if (code == 0) code = emit_tokens(rl, seconds);
    if (code == 0) code = metric_emit(sink, "rl.sends", (double)stats->n_sends);
    if (code == 0) code = metric_emit(sink, "rl.weight_bytes.sum", (double)stats->sent_bytes);
    if (code != 0 || rl->config->layout == RL_APART) return code;
    code = metric_emit(sink, "rl.swap_s.sum", sim_s_from_ns(stats->swapping_ns));
    return code != 0 ? code : metric_emit(sink, "rl.swap_bytes.sum", (double)stats->swapped_bytes);
}
