#include "sim/world/jobs/job_types.h"

#include "models/failure.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define POINT(name) offsetof(struct speedup_point, name)
static const struct config_field point_fields[] = {
    {.name = "gpus", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED, .offset = POINT(gpus), .min = DBL_MIN, .max = 1e9,
     .help = "GPUs that the job holds"},
    {.name = "speed", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED, .offset = POINT(speed), .min = DBL_MIN, .max = 1e9,
     .help = "work per time, 1 on one GPU"},
    {0}};
#undef POINT

static const char *const law_names[] = {"linear", "amdahl", "power", "table", NULL};

#define FIELD(name) offsetof(struct speedup_config, name)
static const struct config_field speedup_fields[] = {
    {.name = "law", .kind = CONFIG_CHOICE, .offset = FIELD(law), .value = "linear", .choices = law_names,
     .help = "speed s on k GPUs: k; k / ((1-f) k + f); k^p; straight between points"},
    {.name = "parallel_frac", .kind = CONFIG_REAL, .offset = FIELD(parallel_frac), .value = "1", .min = 0, .max = 1,
     .help = "f of Amdahl's law: share of the work that is parallel"},
    {.name = "exponent", .kind = CONFIG_REAL, .offset = FIELD(exponent), .value = "1", .min = DBL_MIN, .max = 1,
     .help = "p of the power law"},
    {.name = "linear_below_one", .kind = CONFIG_BOOL, .offset = FIELD(linear_below_one), .value = "false",
     .help = "of the power law: on a part of a GPU a job is as fast as that part is large"},
    {.name = "points", .kind = CONFIG_LIST, .offset = FIELD(points), .fields = point_fields,
     .elem_bytes = sizeof(struct speedup_point), .help = "of the table, fewest GPUs first"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct job_type, name)
static const struct config_field speed_fields[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct gpu_speed, speed), .min = 0, .max = 1e6, .value = "1",
     .help = "work per time relative to that of the trace's run times; 0: cannot run there"},
    {0}};

static const char *const priority_names[] = {"high", "low", NULL};

#define POWER(name) offsetof(struct job_power_config, name)
static const struct config_field power_fields[] = {
    {.name = "mean", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED, .dim = UNIT_POWER, .offset = POWER(mean_w),
     .min = 1, .max = 1e5, .help = "of each of its GPUs, in the mean, at the highest clock"},
    {.name = "clock_share", .kind = CONFIG_REAL, .offset = POWER(clock_share), .value = "0.57", .min = 0, .max = 1,
     .help = "share of its time that waits for the SM clock; the default is that of Zeus' training jobs on V100"},
    {.name = "priority", .kind = CONFIG_CHOICE, .offset = POWER(priority), .value = "low", .choices = priority_names,
     .help = "when power runs short: low is slowed down first"},
    {0}};
#undef POWER

const struct config_field job_type_config_fields[] = {
    {.name = "speedup", .kind = CONFIG_SECTION, .offset = FIELD(speedup), .fields = speedup_fields,
     .help = "what other numbers of GPUs than asked for do to its speed"},
    {.name = "speeds", .kind = CONFIG_MAP, .offset = FIELD(speeds), .fields = speed_fields,
     .elem_bytes = sizeof(struct gpu_speed), .help = "speed by the type of GPU; 1 on those not named"},
    {.name = "preemptible", .kind = CONFIG_BOOL, .offset = FIELD(preemptible), .value = "true",
     .help = "whether it yields to services, where jobs do (jobs.preemptible)"},
    {.name = "priority", .kind = CONFIG_INT, .offset = FIELD(priority), .value = "0", .min = -1e6, .max = 1e6,
     .help = "among jobs that may yield, those of lower priority do first"},
    {.name = "checkpoint", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(checkpoint),
     .fields = checkpoint_config_fields, .help = "how its jobs save their state; else a failure costs all their work"},
    {.name = "power", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(power), .fields = power_fields,
     .help = "what its GPUs draw, where the cluster has a section 'power'"},
    {0}};
#undef FIELD

static const struct job_type *find(const struct config_list *types, const char *name)
{
    const struct job_type *type = types->items;
    for (size_t i = 0; i < types->n; i++, type++)
        if (strcmp(type->name, name) == 0) return type;
    return NULL;
}

const struct job_type *job_type_find(const struct config_list *types, const char *name)
{
    if (types->n == 0) return NULL;
    const struct job_type *type = name != NULL && *name != 0 ? find(types, name) : NULL;
    return type != NULL ? type : find(types, "default");
}

static bool is_in_order(const struct config_list *points)
{
    const struct speedup_point *point = points->items;
    for (size_t i = 1; i < points->n; i++)
        if (point[i].gpus <= point[i - 1].gpus || point[i].speed < point[i - 1].speed) return false;
    return points->n > 0;
}

int job_types_check(const struct config_list *types, const char *where, struct diag *diag)
{
    const struct job_type *type = types->items;
    int code = 0;
    for (size_t i = 0; i < types->n; i++, type++) {
        if (type->speedup.law != SPEEDUP_TABLE || is_in_order(&type->speedup.points)) continue;
        char place[DIAG_WHERE_CHARS];
        snprintf(place, sizeof place, "%s.types.%s.speedup.points", where, type->name);
        code = diag_error(diag, SIM_E_CONFIG, place,
                          "write for example [{\"gpus\": 1, \"speed\": 1}, {\"gpus\": 8, \"speed\": 6.5}]",
                          "a table needs points with rising 'gpus', and a 'speed' that does not fall");
    }
    return code;
}

struct speedup speedup_config_get(const struct speedup_config *config)
{
    return (struct speedup){.law = (enum speedup_law)config->law,
                            .parallel_frac = config->parallel_frac,
                            .exponent = config->exponent,
                            .linear_below_one = config->linear_below_one,
                            .n_points = config->points.n,
                            .points = config->points.items};
}

static double speed_on(const struct job_type *type, const char *gpu)
{
    const struct gpu_speed *speed = type->speeds.items;
    for (size_t i = 0; gpu != NULL && i < type->speeds.n; i++, speed++)
        if (strcmp(speed->gpu, gpu) == 0) return speed->speed;
    return 1.0;
}

double job_type_speed(const struct job_type *type, const char *gpu, double gpus, double asked)
{
    if (type == NULL) return gpus == asked ? 1.0 : gpus / asked;
    const double speed = type->speeds.n == 0 ? 1.0 : speed_on(type, gpu);
    if (gpus == asked) return speed;
    const struct speedup speedup = speedup_config_get(&type->speedup);
    return speed * speedup_at(&speedup, gpus) / speedup_at(&speedup, asked);
}

/* --- Estimates --- */

static const char *const estimate_names[] = {"traced", "exact", "lognormal", "uniform", NULL};

#define FIELD(name) offsetof(struct estimates_config, name)
const struct config_field estimates_config_fields[] = {
    {.name = "law", .kind = CONFIG_CHOICE, .offset = FIELD(law), .value = "traced", .choices = estimate_names,
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
