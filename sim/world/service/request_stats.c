#include "sim/world/service/request_stats.h"

#include <math.h>
#include <string.h>

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

int request_stats_init(struct request_stats *stats)
{
    int code = 0;
    memset(stats, 0, sizeof *stats);
    for (int i = 0; i < N_DISTRIBUTIONS; i++)
        if (distribution_init(distribution_of(stats, i)) != 0) code = SIM_E_NOMEM;
    return code;
}

void request_stats_fini(struct request_stats *stats)
{
    for (int i = 0; i < N_DISTRIBUTIONS; i++) distribution_fini(distribution_of(stats, i));
}

int request_stats_merge(struct request_stats *into, const struct request_stats *from)
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
    stats->late_output_tokens += request->output_tokens;
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
        [SLO_MAX_GAP] = request->generated_tokens > 1 ? sim_s_from_ns(request->max_gap_ns) : (double)NAN};
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
        [SLO_MAX_GAP] = decodes ? sim_s_from_ns(request->max_gap_ns) : (double)NAN};
    slo_count(&stats->slo, limits_s, times_s, request->output_tokens);
}

void request_stats_add_rejected(struct request_stats *stats, const double *limits_s)
{
    stats->rejected++;
    slo_count(&stats->slo, limits_s, NULL, 0);
}

int request_stats_add_finished(struct request_stats *stats, const double *limits_s, const struct request *request,
                               sim_ns now)
{
    sim_ns arrival = request->view.arrival_ns, first = request->first_token_ns;
    stats->finished++;
    stats->prompt_tokens += request->prompt_tokens;
    stats->output_tokens += request->output_tokens;
    stats->cached_tokens += request->cached_tokens;
    stats->preemptions += request->view.preemptions;
    if (slo_limits_any(limits_s)) count_slo(stats, limits_s, request, now);
    int code = distribution_add(&stats->queue_s, sim_s_from_ns(request->scheduled_ns - arrival));
    if (code == 0) code = distribution_add(&stats->ttft_s, sim_s_from_ns(first - arrival));
    if (code == 0) code = distribution_add(&stats->e2e_s, sim_s_from_ns(now - arrival));
    if (code == 0) code = distribution_add(&stats->norm_s, sim_s_from_ns(now - arrival) / request->output_tokens);
    if (code != 0 || request->output_tokens < 2) return code;
    code = distribution_add(&stats->tpot_s, sim_s_from_ns(now - first) / (request->output_tokens - 1));
    return code != 0 ? code : distribution_add(&stats->max_gap_s, sim_s_from_ns(request->max_gap_ns));
}

int request_stats_emit_counts(const struct request_stats *stats, const char *entity, const struct sink *sink)
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

int request_stats_emit_distributions(const struct request_stats *stats, const char *entity, const struct sink *sink)
{
    int code = 0;
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
        code = metric_emit_distribution(sink, distributions[i].name, entity, distribution_in(stats, i));
    return code;
}

int request_stats_emit_rates(const struct request_stats *stats, const char *entity, double span_s,
                             const struct sink *sink)
{
    const double finished = (double)stats->late_finished, tokens = (double)stats->late_output_tokens;
    const bool has_span = span_s > 0;
    int code = metric_emit_of(sink, "service.requests_per_s", entity, has_span ? finished / span_s : (double)NAN);
    if (code != 0) return code;
    return metric_emit_of(sink, "service.output_tokens_per_s", entity, has_span ? tokens / span_s : (double)NAN);
}

int request_stats_emit_histograms(const struct request_stats *stats, const struct sink *sink)
{
    int code = 0;
    for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
        code = metric_emit_histogram(sink, distributions[i].name, &distribution_in(stats, i)->histogram);
    return code;
}
