#include "sim/world/service/service_stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Counts of requests --- */

enum { N_DISTRIBUTIONS = 6 };

static const struct {
    const char *name;
    size_t offset;
} distributions[N_DISTRIBUTIONS] = {
    {"request.queue_s", offsetof(struct request_stats, queue_s)},
    {"request.ttft_s", offsetof(struct request_stats, ttft_s)},
    {"request.tpot_s", offsetof(struct request_stats, tpot_s)},
    {"request.e2e_s", offsetof(struct request_stats, e2e_s)},
    {"request.max_gap_s", offsetof(struct request_stats, max_gap_s)},
    {"request.norm_s", offsetof(struct request_stats, norm_s)},
};

static struct distribution *distribution_of(struct request_stats *stats, int i)
{
    return (struct distribution *)(void *)((char *)stats + distributions[i].offset);
}

static const struct distribution *distribution_in(const struct request_stats *stats, int i)
{
    return (const struct distribution *)(const void *)((const char *)stats + distributions[i].offset);
}

static int request_stats_init(struct request_stats *stats)
{
    int code = 0;
    memset(stats, 0, sizeof *stats);
    for (int i = 0; i < N_DISTRIBUTIONS; i++)
        if (distribution_init(distribution_of(stats, i)) != 0) code = SIM_E_NOMEM;
    return code;
}

static void request_stats_fini(struct request_stats *stats)
{
    for (int i = 0; i < N_DISTRIBUTIONS; i++) distribution_fini(distribution_of(stats, i));
}

static int request_stats_merge(struct request_stats *into, const struct request_stats *from)
{
    into->arrived += from->arrived;
    into->finished += from->finished;
    into->rejected += from->rejected;
    into->unfinished += from->unfinished;
    into->prompt_tokens += from->prompt_tokens;
    into->output_tokens += from->output_tokens;
    into->preemptions += from->preemptions;
    into->cached_tokens += from->cached_tokens;
    into->late_finished += from->late_finished;
    into->late_output_tokens += from->late_output_tokens;
    if (from->last_token_ns > into->last_token_ns) into->last_token_ns = from->last_token_ns;
    slo_merge(&into->slo, &from->slo);
    int code = 0;
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
        code = distribution_merge(distribution_of(into, i), distribution_in(from, i));
    return code;
}

void request_stats_add_output(struct request_stats *stats, const struct request *request, sim_ns now)
{
    stats->late_finished++;
    stats->late_output_tokens += request->output_tokens + request->other_tokens;
    if (now > stats->last_token_ns) stats->last_token_ns = now;
}

void request_stats_add_unfinished(struct request_stats *stats, const double *limits_s, const struct request *request,
                                  sim_ns now)
{
    const sim_ns arrival = request->view.arrival_ns, first = request->first_token_ns;
    const bool has_first = first != TIME_UNSET, decodes = has_first && request->output_tokens > 1;
    const double times_s[SLO_LIMITS] = {
        [SLO_TTFT] = sim_s_from_ns((has_first ? first : now) - arrival),
        [SLO_TPOT] = decodes ? sim_s_from_ns(now - first) / (request->output_tokens - 1) : (double)NAN,
        [SLO_E2E] = sim_s_from_ns(now - arrival),
        [SLO_MAX_GAP] = request->generated_tokens > 1 ? sim_s_from_ns(request->max_gap.ns) : (double)NAN};
    stats->unfinished++;
    slo_count_unfinished(&stats->slo, limits_s, times_s, has_first);
}

static void count_slo(struct request_stats *stats, const double *limits_s, const struct request *request, sim_ns now)
{
    const sim_ns arrival = request->view.arrival_ns, first = request->first_token_ns;
    const bool decodes = request->output_tokens > 1;
    const double times_s[SLO_LIMITS] = {
        [SLO_TTFT] = sim_s_from_ns(first - arrival),
        [SLO_TPOT] = decodes ? sim_s_from_ns(now - first) / (request->output_tokens - 1) : (double)NAN,
        [SLO_E2E] = sim_s_from_ns(now - arrival),
        [SLO_MAX_GAP] = decodes ? sim_s_from_ns(request->max_gap.ns) : (double)NAN};
    slo_count(&stats->slo, limits_s, times_s, request->output_tokens + request->other_tokens);
}

void request_stats_add_rejected(struct request_stats *stats, const double *limits_s)
{
    stats->rejected++;
    slo_count(&stats->slo, limits_s, NULL, 0);
}

/* A value of a service is in the histogram of a class too: one random access to memory is enough. */
static int add_value(struct distribution *distribution, double value, bool by_class)
{
    if (!by_class) return distribution_add(distribution, value);
    tally_add(&distribution->tally, value);
    return 0;
}

int request_stats_add_finished(struct request_stats *stats, const double *limits_s, const struct request *request,
                               bool by_class, sim_ns now)
{
    sim_ns arrival = request->view.arrival_ns, first = request->first_token_ns;
    stats->finished++;
    stats->prompt_tokens += request->prompt_tokens;
    stats->output_tokens += request->output_tokens + request->other_tokens;
    stats->cached_tokens += request->cached_tokens;
    stats->preemptions += request->view.preemptions;
    if (slo_limits_any(limits_s)) count_slo(stats, limits_s, request, now);
    int code = add_value(&stats->queue_s, sim_s_from_ns(request->scheduled_ns - arrival), by_class);
    if (code == 0) code = add_value(&stats->ttft_s, sim_s_from_ns(first - arrival), by_class);
    if (code == 0) code = add_value(&stats->e2e_s, sim_s_from_ns(now - arrival), by_class);
    if (code == 0) code = add_value(&stats->norm_s, sim_s_from_ns(now - arrival) / request->output_tokens, by_class);
    if (code != 0 || request->output_tokens < 2) return code;
    code = add_value(&stats->tpot_s, sim_s_from_ns(now - first) / (request->output_tokens - 1), by_class);
    return code != 0 ? code : add_value(&stats->max_gap_s, sim_s_from_ns(request->max_gap.ns), by_class);
}

/* Emit the known metrics of one entity (NULL: of all together). `span_s`: the time that rates refer to. */
static int request_stats_emit_counts(const struct request_stats *stats, const char *entity, const struct sink *sink)
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
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof counts / sizeof *counts; i++)
        code = metric_emit_of(sink, counts[i].name, entity, (double)counts[i].value);
    return code;
}

static int request_stats_emit_distributions(const struct request_stats *stats, const char *entity,
                                            const struct sink *sink)
{
    int code = 0;
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
        code = metric_emit_distribution(sink, distributions[i].name, entity, distribution_in(stats, i));
    return code;
}

static int request_stats_emit_rates(const struct request_stats *stats, const char *entity, double span_s,
                                    const struct sink *sink)
{
    const double finished = (double)stats->late_finished, tokens = (double)stats->late_output_tokens;
    const bool has_span = span_s > 0;
    int code = metric_emit_of(sink, "service.requests_per_s", entity, has_span ? finished / span_s : (double)NAN);
    if (code != 0) return code;
    return metric_emit_of(sink, "service.output_tokens_per_s", entity, has_span ? tokens / span_s : (double)NAN);
}

static int request_stats_emit_histograms(const struct request_stats *stats, const struct sink *sink)
{
    int code = 0;
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
        code = metric_emit_histogram(sink, distributions[i].name, &distribution_in(stats, i)->histogram);
    return code;
}

/* --- Classes --- */

static const char default_name[] = "default";

/* Adds a class; its name is copied. */
static int add_class(struct service_classes *classes, const char *name, struct service_class **out)
{
    struct service_class *added = arena_alloc(classes->arena, sizeof *added);
    if (added == NULL) return SIM_E_NOMEM;
    int code = request_stats_init(&added->stats);
    classes->items[classes->n] = *out = added;
    added->view = (struct request_class){.name = arena_strdup(classes->arena, name), .index = classes->n++};
    added->entity = arena_printf(classes->arena, "%s/%s", classes->service, name);
    slo_limits_of(classes->slo, name, added->limits_s);
    return added->view.name != NULL && added->entity != NULL ? code : SIM_E_NOMEM;
}

static int too_many(const struct service_classes *classes, const char *next)
{
    return diag_error(classes->diag, SIM_E_DATA, classes->where, "do they come from the right column?",
                      "service '%s' has more than %d classes of requests; the next one is '%s'", classes->service,
                      SLO_MAX_CLASSES, next);
}

int service_classes_init(struct service_classes *classes, const struct slo_config *slo, const char *service,
                         const char *where, struct arena *arena, struct diag *diag)
{
    const struct slo_class *named = slo->classes.items;
    *classes = (struct service_classes){.service = service, .where = where, .slo = slo, .arena = arena, .diag = diag};
    classes->unnamed.view.name = "";
    slo_limits_of(slo, "", classes->unnamed.limits_s);
    int code = 0;
    for (size_t i = 0; i < slo->classes.n && code == 0; i++) {
        struct service_class *added;
        code = add_class(classes, named[i].name, &added);
    }
    return code;
}

void service_classes_fini(struct service_classes *classes)
{
    for (uint16_t i = 0; i < classes->n; i++) request_stats_fini(&classes->items[i]->stats);
}

static struct service_class *find_name(const struct service_classes *classes, const char *name)
{
    for (uint16_t i = 0; i < classes->n; i++)
        if (strcmp(classes->items[i]->view.name, name) == 0) return classes->items[i];
    return NULL;
}

static int find_or_add(struct service_classes *classes, const char *source_name, struct service_class **found)
{
    const char *name = source_name != NULL ? source_name : default_name;
    *found = source_name == NULL && classes->n == 0 ? &classes->unnamed : find_name(classes, name);
    if (*found != NULL) return 0;
    return classes->n < SLO_MAX_CLASSES ? add_class(classes, name, found) : too_many(classes, name);
}

static struct service_class *find_source_name(const struct service_classes *classes, const char *source_name)
{
    for (uint16_t i = 0; source_name != NULL && i < classes->n; i++)
        if (classes->items[i]->source_name == source_name) return classes->items[i];
    return NULL;
}

int service_classes_find(struct service_classes *classes, const char *name, struct service_class **found)
{
    *found = find_source_name(classes, name);
    int code = *found == NULL ? find_or_add(classes, name, found) : 0;
    if (code != 0) return code;
    (*found)->occurs = true;
    (*found)->source_name = name;
    classes->latest = *found;
    classes->latest_name = name;
    return 0;
}

int service_classes_add_up(struct service_classes *classes, struct request_stats *all)
{
    int code = 0;
    if (classes->are_added) return 0;
    classes->are_added = true;
    for (uint16_t k = 0; k < classes->n; k++)
        for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
            code = histogram_merge(&distribution_of(all, i)->histogram,
                                   &distribution_in(&classes->items[k]->stats, i)->histogram);
    return code;
}

int service_classes_emit(const struct service_classes *classes, double span_s, const struct sink *sink)
{
    int code = 0;
    for (uint16_t i = 0; i < classes->n && code == 0; i++) {
        const struct service_class *class = classes->items[i];
        code = request_stats_emit_counts(&class->stats, class->entity, sink);
        if (code == 0) code = request_stats_emit_distributions(&class->stats, class->entity, sink);
        if (code == 0) code = slo_emit(&class->stats.slo, class->entity, span_s, sink);
        if (code == 0) code = request_stats_emit_rates(&class->stats, class->entity, span_s, sink);
    }
    return code;
}

/* --- Counts of a service --- */

int service_stats_init(struct service_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    int code = request_stats_init(&stats->requests);
    if (session_stats_init(&stats->sessions) != 0) code = SIM_E_NOMEM;
    if (distribution_init(&stats->kv_transfer_s) != 0) code = SIM_E_NOMEM;
    return histogram_init(&stats->token_gap_s) != 0 ? SIM_E_NOMEM : code;
}

void service_stats_fini(struct service_stats *stats)
{
    histogram_fini(&stats->token_gap_s);
    distribution_fini(&stats->kv_transfer_s);
    session_stats_fini(&stats->sessions);
    request_stats_fini(&stats->requests);
}

static void add_counts(struct replica_counts *into, const struct replica_counts *from)
{
    into->prefill_iterations += from->prefill_iterations;
    into->decode_iterations += from->decode_iterations;
    into->decode_steps += from->decode_steps;
    into->decode_tokens += from->decode_tokens;
    into->drafted_iterations += from->drafted_iterations;
    into->drafted_steps += from->drafted_steps;
    into->drafted_tokens += from->drafted_tokens;
    into->accepted_tokens += from->accepted_tokens;
    into->copied_blocks += from->copied_blocks;
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
    into->sequences += from->sequences;
    into->sequence_tokens += from->sequence_tokens;
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
    into->late_usd_per_h += from->late_usd_per_h;
    int code = request_stats_merge(&into->requests, &from->requests);
    if (code == 0) code = session_stats_merge(&into->sessions, &from->sessions);
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
                               int64_t gpus, double held_frac, double late_held_frac)
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
    stats->late_usd_per_h += late_held_frac * (double)gpus * gpu->usd_per_h;
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
        {"cost.output_tokens_per_usd", ratio(output_tokens, span_s * stats->late_usd_per_h / 3600.0)},
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

int service_stats_emit_speculation(const struct service_stats *stats, const char *entity, const struct sink *sink)
{
    const struct replica_counts *work = &stats->work;
    const double drafted = (double)work->drafted_tokens, accepted = (double)work->accepted_tokens;
    const double steps = (double)work->drafted_steps;
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"speculation.iterations_frac", ratio((double)work->drafted_iterations, (double)work->decode_steps)},
        {"speculation.tokens_per_step", ratio(steps + accepted, steps)},
        {"speculation.accepted_frac", ratio(accepted, drafted)},
        {"speculation.drafted_tokens.sum", drafted},
        {"speculation.accepted_tokens.sum", accepted},
        {"speculation.rejected_tokens.sum", drafted - accepted},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof values / sizeof *values; i++)
        code = metric_emit_of(sink, values[i].name, entity, values[i].value);
    return code;
}

/* Histograms of values without rows: gaps between tokens always, the others if there are no request rows. */
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
    if (code == 0) code = session_stats_emit(&stats->sessions, sink);
    if (code == 0) code = emit_histograms(stats, sink);
    if (code == 0) code = slo_emit(&stats->requests.slo, NULL, service_stats_span_s(stats, warmup_ns), sink);
    return code != 0 ? code : emit_rates(stats, sink, warmup_ns, end_ns);
}
