#include "sim/world/jobs/job_deadlines.h"

#include <float.h>

#define ROW_OF struct deadlines_config
const struct config_field deadlines_config_fields[] = {
    ROW_REAL("least", least, REQUIRED, WITHIN(DBL_MIN, 1e6), "shortest time from submission to deadline, in run times"),
    ROW_REAL("most", most, REQUIRED, WITHIN(DBL_MIN, 1e6), "longest such time"),
    ROW_REAL("best_effort", best_effort_frac, DEFAULT("0"), WITHIN(0, 1), "share of the jobs that have no deadline"),
    {0}};
#undef ROW_OF

int deadlines_check(const struct deadlines_config *config, struct diag *diag)
{
    if (config->most >= config->least) return 0;
    return diag_error(diag, SIM_E_CONFIG, "jobs.deadlines.most", "write for example \"least\": 0.5, \"most\": 1.5",
                      "is below 'least', %g", config->least);
}

sim_ns deadline_of(const struct deadlines_config *config, const struct job_record *record, struct rng *rng)
{
    if (!(config->most > 0)) return SIM_NS_MAX;
    const double kind = rng_uniform(rng), place = rng_uniform(rng);
    if (kind < config->best_effort_frac) return SIM_NS_MAX;
    const double factor = config->least + (config->most - config->least) * place;
    return sim_ns_add(record->submit_ns, sim_ns_from_s(sim_s_from_ns(record->duration_ns) * factor));
}
