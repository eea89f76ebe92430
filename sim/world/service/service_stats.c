#include "sim/world/service/service_stats.h"

#include <math.h>
#include <string.h>

int service_stats_init(struct service_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    int code = request_stats_init(&stats->requests);
    if (distribution_init(&stats->kv_transfer_s) != 0) code = SIM_E_NOMEM;
    return histogram_init(&stats->token_gap_s) != 0 ? SIM_E_NOMEM : code;
}

void service_stats_fini(struct service_stats *stats)
{
    histogram_fini(&stats->token_gap_s);
    distribution_fini(&stats->kv_transfer_s);
    request_stats_fini(&stats->requests);
}

static void add_counts(struct replica_counts *into, const struct replica_counts *from)
{
    into->prefill_iterations += from->prefill_iterations;
    into->decode_iterations += from->decode_iterations;
    into->decode_steps += from->decode_steps;
    into->decode_tokens += from->decode_tokens;
    into->preemptions += from->preemptions;
    into->swaps += from->swaps;
    into->swapped_bytes += from->swapped_bytes;
    into->recomputed_tokens += from->recomputed_tokens;
    into->cached_tokens += from->cached_tokens;
    into->busy_ns = sim_ns_add(into->busy_ns, from->busy_ns);
    into->extrapolated_ns = sim_ns_add(into->extrapolated_ns, from->extrapolated_ns);
}

int service_stats_merge(struct service_stats *into, const struct service_stats *from)
{
    into->replicas += from->replicas;
    into->uncalibrated |= from->uncalibrated;
    if (from->kv_peak_frac > into->kv_peak_frac) into->kv_peak_frac = from->kv_peak_frac;
    into->in_system_mean += from->in_system_mean;
    into->kv_transfer_bytes += from->kv_transfer_bytes;
    into->prefix_caches += from->prefix_caches;
    into->prefix_blocks += from->prefix_blocks;
    into->prefix_evictions += from->prefix_evictions;
    add_counts(&into->work, &from->work);
    work_merge(&into->used, &from->used);
    into->flop += from->flop;
    into->peak_flop += from->peak_flop;
    into->read_bytes += from->read_bytes;
    into->bandwidth_bytes += from->bandwidth_bytes;
    into->usd_per_h += from->usd_per_h;
    int code = request_stats_merge(&into->requests, &from->requests);
    if (code == 0) code = distribution_merge(&into->kv_transfer_s, &from->kv_transfer_s);
    return code != 0 ? code : histogram_merge(&into->token_gap_s, &from->token_gap_s);
}

static void add_prefixes(struct service_stats *stats, const struct replica_prefixes *prefixes)
{
    if (prefixes->block_tokens == 0) return;
    stats->prefix_caches++;
    stats->prefix_blocks += prefixes->cache.view.size * prefixes->item_blocks;
    stats->prefix_evictions += prefixes->cache.n_evictions * prefixes->item_blocks;
}

void service_stats_add_replica(struct service_stats *stats, const struct replica *replica, const struct gpu_spec *gpu,
                               int64_t gpus, double held_frac)
{
    const struct llm_spec *llm = replica->env->llm;
    const double gpu_busy_s = (double)gpus * sim_s_from_ns(replica->counts.busy_ns);
    const struct kvcache *kv = &replica->kv;
    double peak_frac = (double)(kv->total_blocks - kv->min_free_blocks) / (double)kv->total_blocks;
    if (peak_frac > stats->kv_peak_frac) stats->kv_peak_frac = peak_frac;
    stats->replicas += held_frac;
    stats->uncalibrated |= !replica->env->model.calibrated;
    add_prefixes(stats, &replica->prefixes);
    add_counts(&stats->work, &replica->counts);
    work_merge(&stats->used, &replica->work);
    stats->flop += work_flop(&replica->work, llm);
    stats->peak_flop += gpu_busy_s * gpu_peak_flop_per_s(gpu, llm->compute);
    stats->read_bytes += work_bytes(&replica->work, llm);
    stats->bandwidth_bytes += gpu_busy_s * gpu->memory_bytes_per_s;
    stats->usd_per_h += held_frac * (double)gpus * gpu->usd_per_h;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

double service_stats_extrapolated_frac(const struct service_stats *stats)
{
    if (stats->uncalibrated) return (double)NAN;
    return ratio((double)stats->work.extrapolated_ns, (double)stats->work.busy_ns);
}

static int emit_work(const struct service_stats *stats, const struct sink *sink)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"replica.iterations.sum", stats->work.prefill_iterations + stats->work.decode_iterations},
        {"replica.prefill_iterations.sum", stats->work.prefill_iterations},
        {"replica.preemptions.sum", stats->work.preemptions},
        {"replica.swaps.sum", stats->work.swaps},
        {"replica.swapped_bytes.sum", stats->work.swapped_bytes},
        {"replica.recomputed_tokens.sum", stats->work.recomputed_tokens},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof counts / sizeof *counts; i++)
        code = metric_emit(sink, counts[i].name, (double)counts[i].value);
    return code;
}

static int emit_rates(const struct service_stats *stats, const struct sink *sink, sim_ns warmup_ns, sim_ns end_ns)
{
    const struct replica_counts *work = &stats->work;
    const double span_s = service_stats_span_s(stats, warmup_ns);
    const double output_tokens = (double)stats->requests.late_output_tokens;
    const struct {
        const char *name;
        double value;
    } rates[] = {
        {"request.in_system.mean", stats->in_system_mean},
        {"replica.decode_batch.mean", ratio((double)work->decode_tokens, (double)work->decode_steps)},
        {"replica.busy_frac", ratio((double)work->busy_ns, (double)end_ns * stats->replicas)},
        {"replica.kv_peak_frac", stats->kv_peak_frac},
        {"replica.mfu", ratio(stats->flop, stats->peak_flop)},
        {"replica.mbu", ratio(stats->read_bytes, stats->bandwidth_bytes)},
        {"kv.reserved_frac", ratio(stats->used.reserved_slot_s, stats->used.total_slot_s)},
        {"kv.held_frac", ratio(stats->used.held_slot_s, stats->used.total_slot_s)},
        {"kv.waste_frac", ratio(stats->used.reserved_slot_s - stats->used.held_slot_s, stats->used.reserved_slot_s)},
        {"cost.usd_per_h", stats->usd_per_h},
        {"cost.output_tokens_per_usd", ratio(output_tokens, span_s * stats->usd_per_h / 3600.0)},
        {"request.kv_transfer_bytes.sum",
         stats->kv_transfer_bytes > 0 ? (double)stats->kv_transfer_bytes : (double)NAN},
        {"model.extrapolated_frac", service_stats_extrapolated_frac(stats)},
    };
    int code = request_stats_emit_rates(&stats->requests, NULL, span_s, sink);
    for (size_t i = 0; code == 0 && i < sizeof rates / sizeof *rates; i++)
        code = metric_emit(sink, rates[i].name, rates[i].value);
    return code;
}

static int emit_prefixes(const struct service_stats *stats, const struct sink *sink)
{
    if (stats->prefix_caches == 0) return 0;
    const struct request_stats *requests = &stats->requests;
    const double hit_frac = ratio((double)requests->cached_tokens, (double)requests->prompt_tokens);
    int code = metric_emit(sink, "prefix.hit_frac", hit_frac);
    if (code == 0) code = metric_emit(sink, "prefix.saved_tokens.sum", (double)stats->work.cached_tokens);
    if (code == 0) code = metric_emit(sink, "prefix.cached_blocks.sum", (double)stats->prefix_blocks);
    return code != 0 ? code : metric_emit(sink, "prefix.evicted_blocks.sum", (double)stats->prefix_evictions);
}

/* Histograms of what no row tells: gaps between tokens always, the rest when there are no rows. */
static int emit_histograms(const struct service_stats *stats, const struct sink *sink)
{
    int code = metric_emit_histogram(sink, "token.gap_s", &stats->token_gap_s);
    if (code != 0 || sink->request != NULL) return code;
    code = request_stats_emit_histograms(&stats->requests, sink);
    return code != 0 ? code : metric_emit_histogram(sink, "request.kv_transfer_s", &stats->kv_transfer_s.histogram);
}

double service_stats_span_s(const struct service_stats *stats, sim_ns warmup_ns)
{
    return sim_s_from_ns(stats->requests.last_token_ns - warmup_ns);
}

int service_stats_emit(const struct service_stats *stats, const struct sink *sink, sim_ns warmup_ns, sim_ns end_ns)
{
    int code = request_stats_emit_counts(&stats->requests, NULL, sink);
    if (code == 0) code = emit_work(stats, sink);
    if (code == 0) code = request_stats_emit_distributions(&stats->requests, NULL, sink);
    if (code == 0) code = metric_emit_distribution(sink, "request.kv_transfer_s", NULL, &stats->kv_transfer_s);
    if (code == 0 && stats->token_gap_s.count > 0) {
        code = metric_emit(sink, "token.gap_s.p50", histogram_quantile(&stats->token_gap_s, 0.50));
        if (code == 0) code = metric_emit(sink, "token.gap_s.p99", histogram_quantile(&stats->token_gap_s, 0.99));
    }
    if (code == 0) code = emit_prefixes(stats, sink);
    if (code == 0) code = emit_histograms(stats, sink);
    if (code == 0) code = slo_emit(&stats->requests.slo, NULL, service_stats_span_s(stats, warmup_ns), sink);
    return code != 0 ? code : emit_rates(stats, sink, warmup_ns, end_ns);
}
