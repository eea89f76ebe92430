#include "sim/world/service_stats.h"

#include <math.h>
#include <string.h>

enum { N_DISTRIBUTIONS = 7 };

struct named_distribution {
    const char *name;
    size_t offset;
};

static const struct named_distribution distributions[N_DISTRIBUTIONS] = {
    {"request.queue_s", offsetof(struct service_stats, queue_s)},
    {"request.ttft_s", offsetof(struct service_stats, ttft_s)},
    {"request.tpot_s", offsetof(struct service_stats, tpot_s)},
    {"request.e2e_s", offsetof(struct service_stats, e2e_s)},
    {"request.max_gap_s", offsetof(struct service_stats, max_gap_s)},
    {"request.norm_s", offsetof(struct service_stats, norm_s)},
    {"request.kv_transfer_s", offsetof(struct service_stats, kv_transfer_s)},
};

static struct distribution *distribution_of(struct service_stats *stats, int i)
{
    return (struct distribution *)(void *)((char *)stats + distributions[i].offset);
}

static const struct distribution *distribution_in(const struct service_stats *stats, int i)
{
    return (const struct distribution *)(const void *)((const char *)stats + distributions[i].offset);
}

int service_stats_init(struct service_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    int code = histogram_init(&stats->token_gap_s);
    for (int i = 0; i < N_DISTRIBUTIONS; i++)
        if (distribution_init(distribution_of(stats, i)) != 0) code = SIM_E_NOMEM;
    return code;
}

void service_stats_fini(struct service_stats *stats)
{
    histogram_fini(&stats->token_gap_s);
    for (int i = 0; i < N_DISTRIBUTIONS; i++) distribution_fini(distribution_of(stats, i));
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
    into->arrived += from->arrived;
    into->finished += from->finished;
    into->rejected += from->rejected;
    into->unfinished += from->unfinished;
    into->prompt_tokens += from->prompt_tokens;
    into->output_tokens += from->output_tokens;
    into->preemptions += from->preemptions;
    into->replicas += from->replicas;
    into->uncalibrated |= from->uncalibrated;
    into->late_finished += from->late_finished;
    into->late_output_tokens += from->late_output_tokens;
    if (from->last_token_ns > into->last_token_ns) into->last_token_ns = from->last_token_ns;
    if (from->kv_peak_frac > into->kv_peak_frac) into->kv_peak_frac = from->kv_peak_frac;
    into->in_system_mean += from->in_system_mean;
    into->kv_transfer_bytes += from->kv_transfer_bytes;
    into->cached_tokens += from->cached_tokens;
    into->prefix_caches += from->prefix_caches;
    into->prefix_blocks += from->prefix_blocks;
    into->prefix_evictions += from->prefix_evictions;
    add_counts(&into->work, &from->work);
    slo_merge(&into->slo, &from->slo);
    work_merge(&into->used, &from->used);
    into->flop += from->flop;
    into->peak_flop += from->peak_flop;
    into->read_bytes += from->read_bytes;
    into->bandwidth_bytes += from->bandwidth_bytes;
    into->usd_per_h += from->usd_per_h;
    int code = histogram_merge(&into->token_gap_s, &from->token_gap_s);
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++) {
        tally_merge(&distribution_of(into, i)->tally, &distribution_in(from, i)->tally);
        code = histogram_merge(&distribution_of(into, i)->histogram, &distribution_in(from, i)->histogram);
    }
    return code;
}

void service_stats_add_output(struct service_stats *stats, const struct request *request, sim_ns now)
{
    stats->late_finished++;
    stats->late_output_tokens += request->output_tokens;
    if (now > stats->last_token_ns) stats->last_token_ns = now;
}

void service_stats_add_unfinished(struct service_stats *stats, const struct slo_config *slo,
                                  const struct request *request, sim_ns now)
{
    const sim_ns arrival = request->view.arrival_ns, first = request->first_token_ns;
    const bool has_first = first != TIME_UNSET, decodes = has_first && request->output_tokens > 1;
    const double times_s[SLO_LIMITS] = {
        [SLO_TTFT] = sim_s_from_ns((has_first ? first : now) - arrival),
        [SLO_TPOT] = decodes ? sim_s_from_ns(now - first) / (request->output_tokens - 1) : (double)NAN,
        [SLO_E2E] = sim_s_from_ns(now - arrival),
        [SLO_MAX_GAP] = request->generated_tokens > 1 ? sim_s_from_ns(request->max_gap_ns) : (double)NAN};
    stats->unfinished++;
    slo_count_unfinished(&stats->slo, slo, times_s, has_first);
}

static void count_slo(struct service_stats *stats, const struct slo_config *slo, const struct request *request,
                      sim_ns now)
{
    const sim_ns arrival = request->view.arrival_ns, first = request->first_token_ns;
    const bool decodes = request->output_tokens > 1;
    const double times_s[SLO_LIMITS] = {
        [SLO_TTFT] = sim_s_from_ns(first - arrival),
        [SLO_TPOT] = decodes ? sim_s_from_ns(now - first) / (request->output_tokens - 1) : (double)NAN,
        [SLO_E2E] = sim_s_from_ns(now - arrival),
        [SLO_MAX_GAP] = decodes ? sim_s_from_ns(request->max_gap_ns) : (double)NAN};
    slo_count(&stats->slo, slo, times_s, request->output_tokens);
}

void service_stats_add_rejected(struct service_stats *stats, const struct slo_config *slo)
{
    stats->rejected++;
    slo_count(&stats->slo, slo, NULL, 0);
}

int service_stats_add_finished(struct service_stats *stats, const struct slo_config *slo, const struct request *request,
                               sim_ns now)
{
    sim_ns arrival = request->view.arrival_ns, first = request->first_token_ns;
    stats->finished++;
    stats->prompt_tokens += request->prompt_tokens;
    stats->output_tokens += request->output_tokens;
    stats->cached_tokens += request->cached_tokens;
    stats->preemptions += request->view.preemptions;
    count_slo(stats, slo, request, now);
    int code = distribution_add(&stats->queue_s, sim_s_from_ns(request->scheduled_ns - arrival));
    if (code == 0) code = distribution_add(&stats->ttft_s, sim_s_from_ns(first - arrival));
    if (code == 0) code = distribution_add(&stats->e2e_s, sim_s_from_ns(now - arrival));
    if (code == 0) code = distribution_add(&stats->norm_s, sim_s_from_ns(now - arrival) / request->output_tokens);
    if (code != 0 || request->output_tokens < 2) return code;
    code = distribution_add(&stats->tpot_s, sim_s_from_ns(now - first) / (request->output_tokens - 1));
    return code != 0 ? code : distribution_add(&stats->max_gap_s, sim_s_from_ns(request->max_gap_ns));
}

static void add_prefixes(struct service_stats *stats, const struct replica_prefixes *prefixes)
{
    if (prefixes->block_tokens == 0) return;
    stats->prefix_caches++;
    stats->prefix_blocks += prefixes->cache.view.size * prefixes->item_blocks;
    stats->prefix_evictions += prefixes->cache.n_evictions * prefixes->item_blocks;
}

void service_stats_add_replica(struct service_stats *stats, const struct replica *replica, const struct gpu_spec *gpu,
                               int64_t gpus)
{
    const struct llm_spec *llm = replica->env->llm;
    const double gpu_busy_s = (double)gpus * sim_s_from_ns(replica->counts.busy_ns);
    const struct kvcache *kv = &replica->kv;
    double peak_frac = (double)(kv->total_blocks - kv->min_free_blocks) / (double)kv->total_blocks;
    if (peak_frac > stats->kv_peak_frac) stats->kv_peak_frac = peak_frac;
    stats->replicas++;
    stats->uncalibrated |= !replica->env->model.calibrated;
    add_prefixes(stats, &replica->prefixes);
    add_counts(&stats->work, &replica->counts);
    work_merge(&stats->used, &replica->work);
    stats->flop += work_flop(&replica->work, llm);
    stats->peak_flop += gpu_busy_s * gpu_peak_flop_per_s(gpu, llm->compute);
    stats->read_bytes += work_bytes(&replica->work, llm);
    stats->bandwidth_bytes += gpu_busy_s * gpu->memory_bytes_per_s;
    stats->usd_per_h += (double)gpus * gpu->usd_per_h;
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

static int emit_counts(const struct service_stats *stats, const struct sink *sink)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"request.arrived", stats->arrived},
        {"request.finished", stats->finished},
        {"request.rejected", stats->rejected},
        {"request.unfinished", stats->unfinished},
        {"request.prompt_tokens.sum", stats->prompt_tokens},
        {"request.output_tokens.sum", stats->output_tokens},
        {"request.preemptions.sum", stats->preemptions},
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
    double span_s = sim_s_from_ns(stats->last_token_ns - warmup_ns);
    const struct {
        const char *name;
        double value;
    } rates[] = {
        {"service.requests_per_s", ratio((double)stats->late_finished, span_s)},
        {"service.output_tokens_per_s", ratio((double)stats->late_output_tokens, span_s)},
        {"request.in_system.mean", stats->in_system_mean},
        {"replica.decode_batch.mean", ratio((double)work->decode_tokens, (double)work->decode_steps)},
        {"replica.busy_frac", ratio((double)work->busy_ns, (double)end_ns * (double)stats->replicas)},
        {"replica.kv_peak_frac", stats->kv_peak_frac},
        {"replica.mfu", ratio(stats->flop, stats->peak_flop)},
        {"replica.mbu", ratio(stats->read_bytes, stats->bandwidth_bytes)},
        {"kv.reserved_frac", ratio(stats->used.reserved_slot_s, stats->used.total_slot_s)},
        {"kv.held_frac", ratio(stats->used.held_slot_s, stats->used.total_slot_s)},
        {"kv.waste_frac", ratio(stats->used.reserved_slot_s - stats->used.held_slot_s, stats->used.reserved_slot_s)},
        {"cost.usd_per_h", stats->usd_per_h},
        {"cost.output_tokens_per_usd", ratio((double)stats->late_output_tokens, span_s * stats->usd_per_h / 3600.0)},
        {"request.kv_transfer_bytes.sum",
         stats->kv_transfer_bytes > 0 ? (double)stats->kv_transfer_bytes : (double)NAN},
        {"model.extrapolated_frac", service_stats_extrapolated_frac(stats)},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof rates / sizeof *rates; i++)
        code = metric_emit(sink, rates[i].name, rates[i].value);
    return code;
}

static int emit_prefixes(const struct service_stats *stats, const struct sink *sink)
{
    if (stats->prefix_caches == 0) return 0;
    int code = metric_emit(sink, "prefix.hit_frac", ratio((double)stats->cached_tokens, (double)stats->prompt_tokens));
    if (code == 0) code = metric_emit(sink, "prefix.saved_tokens.sum", (double)stats->work.cached_tokens);
    if (code == 0) code = metric_emit(sink, "prefix.cached_blocks.sum", (double)stats->prefix_blocks);
    return code != 0 ? code : metric_emit(sink, "prefix.evicted_blocks.sum", (double)stats->prefix_evictions);
}

/* Histograms of what no row tells: gaps between tokens always, the rest when there are no rows. */
static int emit_histograms(const struct service_stats *stats, const struct sink *sink)
{
    int code = metric_emit_histogram(sink, "token.gap_s", &stats->token_gap_s);
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0 && sink->request == NULL; i++)
        code = metric_emit_histogram(sink, distributions[i].name, &distribution_in(stats, i)->histogram);
    return code;
}

int service_stats_emit_slo(const struct service_stats *stats, const char *service, const struct sink *sink,
                           sim_ns warmup_ns)
{
    return slo_emit(&stats->slo, service, sim_s_from_ns(stats->last_token_ns - warmup_ns), sink);
}

int service_stats_emit(const struct service_stats *stats, const struct sink *sink, sim_ns warmup_ns, sim_ns end_ns)
{
    int code = emit_counts(stats, sink);
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
        code = metric_emit_distribution(sink, distributions[i].name, distribution_in(stats, i));
    if (code == 0 && stats->token_gap_s.count > 0) {
        code = metric_emit(sink, "token.gap_s.p50", histogram_quantile(&stats->token_gap_s, 0.50));
        if (code == 0) code = metric_emit(sink, "token.gap_s.p99", histogram_quantile(&stats->token_gap_s, 0.99));
    }
    if (code == 0) code = emit_prefixes(stats, sink);
    if (code == 0) code = emit_histograms(stats, sink);
    if (code == 0) code = service_stats_emit_slo(stats, NULL, sink, warmup_ns);
    return code != 0 ? code : emit_rates(stats, sink, warmup_ns, end_ns);
}
