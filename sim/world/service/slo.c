#include "sim/world/service/slo.h"

#include "sim/world/rows/metric.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LIMIT(type, key, index, help_)                                                                                 \
    {                                                                                                                  \
        .name = key, .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_TIME,                              \
        .offset = offsetof(type, limits_s[index]), .min = DBL_MIN, .help = help_                                       \
    }
#define LIMITS(type)                                                                                                   \
    LIMIT(type, "ttft", SLO_TTFT, "time to the first token"),                                                          \
        LIMIT(type, "tpot", SLO_TPOT, "time per output token, mean over a request"),                                   \
        LIMIT(type, "e2e", SLO_E2E, "time to the last token"),                                                         \
        LIMIT(type, "max_gap", SLO_MAX_GAP, "longest time between two tokens of a request")

static const struct config_field class_fields[] = {LIMITS(struct slo_class), {0}};

const struct config_field slo_fields[] = {
    LIMITS(struct slo_config),
    {.name = "classes", .kind = CONFIG_MAP, .flags = CONFIG_OPTIONAL, .offset = offsetof(struct slo_config, classes),
     .fields = class_fields, .elem_bytes = sizeof(struct slo_class), .min = 0, .max = SLO_MAX_CLASSES,
     .help = "limits of the requests of a class, by its name; default: the limits above"},
    {0},
};

bool slo_limits_any(const double *limits_s)
{
    for (int i = 0; i < SLO_LIMITS; i++)
        if (!isnan(limits_s[i])) return true;
    return false;
}

bool slo_is_set(const struct slo_config *config)
{
    const struct slo_class *classes = config->classes.items;
    for (size_t i = 0; i < config->classes.n; i++)
        if (slo_limits_any(classes[i].limits_s)) return true;
    return slo_limits_any(config->limits_s);
}

void slo_limits_of(const struct slo_config *config, const char *class_name, double limits_s[SLO_LIMITS])
{
    const struct slo_class *classes = config->classes.items;
    memcpy(limits_s, config->limits_s, sizeof config->limits_s);
    for (size_t i = 0; i < config->classes.n; i++) {
        if (strcmp(classes[i].name, class_name) != 0) continue;
        for (int k = 0; k < SLO_LIMITS; k++)
            if (!isnan(classes[i].limits_s[k])) limits_s[k] = classes[i].limits_s[k];
    }
}

void slo_count(struct slo_counts *counts, const double *limits_s, const double *times_s, int64_t output_tokens)
{
    bool attained = times_s != NULL;
    if (!slo_limits_any(limits_s)) return;
    counts->requests++;
    for (int i = 0; i < SLO_LIMITS; i++) {
        if (isnan(limits_s[i])) continue;
        const bool kept = times_s != NULL && !(times_s[i] > limits_s[i]);
        counts->limited[i]++;
        counts->kept[i] += kept;
        attained &= kept;
    }
    if (!attained) return;
    counts->attained++;
    counts->attained_output_tokens += output_tokens;
}

void slo_count_unfinished(struct slo_counts *counts, const double *limits_s, const double *times_s,
                          bool has_first_token)
{
    bool misses = false;
    for (int i = 0; i < SLO_LIMITS; i++) misses |= times_s[i] > limits_s[i];
    if (!misses) return;
    counts->requests++;
    for (int i = 0; i < SLO_LIMITS; i++) {
        const bool missed = times_s[i] > limits_s[i];
        const bool kept = !missed && i == SLO_TTFT && has_first_token && !isnan(limits_s[i]);
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
