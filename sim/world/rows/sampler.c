#include "sim/world/rows/sampler.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <string.h>

/* 1/512 s: a whole number of nanoseconds, and so is every doubling; in seconds both are exact. */
static const sim_ns FINEST_NS = 1953125;

const struct config_field sample_config_fields[] = {
    {.name = "period", .kind = CONFIG_TIME, .offset = offsetof(struct sample_config, period_ns), .value = "0s", .min = 0,
     .max = 9e9, .help = "time between two samples; 0s: chosen for at most 1024 samples per series"},
    {0}};

int sampler_init(struct sampler *sampler, const struct sample_config *config, size_t n_series)
{
    bool adapts = config->period_ns == 0;
    *sampler = (struct sampler){
        .n_series = n_series, .adapts = adapts, .period_ns = adapts ? FINEST_NS : config->period_ns};
    size_t n_points = adapts ? SAMPLER_POINTS : 1;
    sampler->series = mem_zalloc(n_series, sizeof *sampler->series);
    sampler->values = mem_zalloc(n_series, n_points * sizeof *sampler->values);
    return sampler->series != NULL && sampler->values != NULL ? 0 : SIM_E_NOMEM;
}

void sampler_fini(struct sampler *sampler)
{
    mem_free(sampler->series);
    mem_free(sampler->values);
    sampler->series = NULL;
    sampler->values = NULL;
}

static int emit(const struct sampler *sampler, size_t i, sim_ns at, double value)
{
    struct sample_row row = {.series = sampler->series[i].series,
                             .entity = sampler->series[i].entity,
                             .t_s = sim_s_from_ns(at),
                             .value = value};
    return sampler->sink->sample(sampler->sink->context, &row);
}

/* Keeps the points at even multiples of the period, which are those of the doubled one. */
static void halve(struct sampler *sampler)
{
    size_t bytes = sampler->n_series * sizeof *sampler->values;
    sampler->n_points = SAMPLER_POINTS / 2;
    sampler->period_ns *= 2;
    for (size_t i = 1; i < sampler->n_points; i++)
        memcpy(sampler->values + i * sampler->n_series, sampler->values + 2 * i * sampler->n_series, bytes);
}

static int take_one(struct sampler *sampler)
{
    int code = 0;
    if (sampler->adapts) {
        if (sampler->n_points == SAMPLER_POINTS) halve(sampler);
        sampler->read(sampler->context, sampler->next_ns, sampler->values + sampler->n_points++ * sampler->n_series);
    } else {
        sampler->read(sampler->context, sampler->next_ns, sampler->values);
        for (size_t i = 0; code == 0 && i < sampler->n_series; i++)
            code = emit(sampler, i, sampler->next_ns, sampler->values[i]);
    }
    sampler->next_ns = sim_ns_add(sampler->next_ns, sampler->period_ns);
    return code;
}

int sampler_take(struct sampler *sampler, sim_ns before_ns)
{
    const volatile sig_atomic_t *interrupt = sampler->interrupt;
    int code = 0;
    while (code == 0 && sampler->next_ns < before_ns && !(interrupt != NULL && *interrupt)) code = take_one(sampler);
    return code;
}

int sampler_end(const struct sampler *sampler)
{
    int code = 0;
    for (size_t i = 0; sampler->adapts && i < sampler->n_series; i++)
        for (size_t k = 0; code == 0 && k < sampler->n_points; k++)
            code = emit(sampler, i, (sim_ns)k * sampler->period_ns, sampler->values[k * sampler->n_series + i]);
    return code;
}
