#include "sim/world/jobs/job_estimates.h"

#include "models/failure.h"

#include <float.h>
#include <math.h>

static const char *const law_names[] = {"traced", "exact", "lognormal", "uniform", NULL};

#define FIELD(name) offsetof(struct estimates_config, name)
const struct config_field estimates_config_fields[] = {
    {.name = "law", .kind = CONFIG_CHOICE, .offset = FIELD(law), .value = "traced", .choices = law_names,
     .help = "what the trace says; the truth; the truth times a factor of median 1, or one from 1 to 'most'"},
    {.name = "sigma", .kind = CONFIG_REAL, .offset = FIELD(sigma), .value = "1", .min = DBL_MIN, .max = 10,
     .help = "lognormal: standard deviation of the factor's logarithm"},
    {.name = "most", .kind = CONFIG_REAL, .offset = FIELD(most), .value = "10", .min = 1, .max = 1e6,
     .help = "uniform: the largest factor"},
    {0}};
#undef FIELD

double estimate_factor(const struct estimates_config *config, double u)
{
    const double variance = config->sigma * config->sigma;
    const struct lifetime law = {.kind = LIFETIME_LOGNORMAL, .mean_s = exp(variance / 2.0), .shape = config->sigma};
    if (config->law == ESTIMATE_LOGNORMAL) return lifetime_quantile_s(&law, u);
    return config->law == ESTIMATE_UNIFORM ? 1.0 + (config->most - 1.0) * u : 1.0;
}

sim_ns estimate_of(const struct estimates_config *config, const struct job_record *record, struct rng *rng)
{
    if (config->law == ESTIMATE_TRACED) return record->estimate_ns;
    if (config->law == ESTIMATE_EXACT) return record->duration_ns;
    const double factor = estimate_factor(config, rng_uniform(rng));
    return sim_ns_from_s(sim_s_from_ns(record->duration_ns) * factor);
}
