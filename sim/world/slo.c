#include "sim/world/slo.h"

#include "sim/world/metric.h"

#include <float.h>
#include <math.h>

#define LIMIT(key, index, help_)                                                                                       \
    {                                                                                                                  \
        .name = key, .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_TIME,                              \
        .offset = offsetof(struct slo_config, limits_s[index]), .min = DBL_MIN, .help = help_                          \
    }

const struct config_field slo_fields[] = {
    LIMIT("ttft", SLO_TTFT, "time to the first token"),
    LIMIT("tpot", SLO_TPOT, "time per output token, mean over a request"),
    LIMIT("e2e", SLO_E2E, "time to the last token"),
    LIMIT("max_gap", SLO_MAX_GAP, "longest time between two tokens of a request"),
    {0},
};

bool slo_is_set(const struct slo_config *config)
{
    for (int i = 0; i < SLO_LIMITS; i++)
        if (!isnan(config->limits_s[i])) return true;
    return false;
}

void slo_count(struct slo_counts *counts, const struct slo_config *config, const double *times_s, int64_t output_tokens)
{
    bool attained = times_s != NULL;
    if (!slo_is_set(config)) return;
    counts->requests++;
    for (int i = 0; i < SLO_LIMITS; i++) {
        if (isnan(config->limits_s[i])) continue;
        const bool kept = times_s != NULL && !(times_s[i] > config->limits_s[i]);
        counts->limited[i]++;
        counts->kept[i] += kept;
        attained &= kept;
    }
    if (!attained) return;
    counts->attained++;
    counts->attained_output_tokens += output_tokens;
}

void slo_count_unfinished(struct slo_counts *counts, const struct slo_config *config, const double *times_s,
                          bool has_first_token)
{
    bool misses = false;
    for (int i = 0; i < SLO_LIMITS; i++) misses |= times_s[i] > config->limits_s[i];
    if (!misses) return;
    counts->requests++;
    for (int i = 0; i < SLO_LIMITS; i++) {
        const bool missed = times_s[i] > config->limits_s[i];
        const bool kept = !missed && i == SLO_TTFT && has_first_token && !isnan(config->limits_s[i]);
        counts->limited[i] += missed || kept;
        counts->kept[i] += kept;
    }
}

void slo_merge(struct slo_counts *into, const struct slo_counts *from)
{
    into->requests += from->requests;
    into->attained += from->attained;
    into->attained_output_tokens += from->attained_output_tokens;
    for (int i = 0; i < SLO_LIMITS; i++) {
        into->limited[i] += from->limited[i];
        into->kept[i] += from->kept[i];
    }
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

int slo_emit(const struct slo_counts *counts, const char *entity, double span_s, const struct sink *sink)
{
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"slo.attained_frac", share(counts->attained, counts->requests)},
        {"slo.ttft_kept_frac", share(counts->kept[SLO_TTFT], counts->limited[SLO_TTFT])},
        {"slo.tpot_kept_frac", share(counts->kept[SLO_TPOT], counts->limited[SLO_TPOT])},
        {"slo.e2e_kept_frac", share(counts->kept[SLO_E2E], counts->limited[SLO_E2E])},
        {"slo.max_gap_kept_frac", share(counts->kept[SLO_MAX_GAP], counts->limited[SLO_MAX_GAP])},
        {"slo.goodput_requests_per_s", span_s > 0 ? (double)counts->attained / span_s : (double)NAN},
        {"slo.goodput_tokens_per_s", span_s > 0 ? (double)counts->attained_output_tokens / span_s : (double)NAN},
    };
    int code = 0;
    for (size_t i = 0; counts->requests > 0 && code == 0 && i < sizeof values / sizeof *values; i++)
        code = metric_emit_of(sink, values[i].name, entity, values[i].value);
    return code;
}
