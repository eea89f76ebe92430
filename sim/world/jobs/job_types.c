#include "sim/world/jobs/job_types.h"

#include "models/failure.h"
#include "sim/catalog/catalog.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"
#include "sim/world/cluster/cluster.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW_OF struct speedup_point
static const struct config_field point_fields[] = {
    ROW_REAL("gpus", gpus, REQUIRED, WITHIN(DBL_MIN, 1e9), "GPUs that the job holds"),
    ROW_REAL("speed", speed, REQUIRED, WITHIN(DBL_MIN, 1e9), "speed relative to one GPU"),
    {0}};
#undef ROW_OF

static const char *const law_names[] = {"linear", "amdahl", "power", "table", NULL};

#define ROW_OF struct speedup_config
static const struct config_field speedup_fields[] = {
    ROW_CHOICE("law", law, DEFAULT("linear"), law_names,
               "speed on k GPUs. linear: k; amdahl: k / ((1-f) k + f); power: k^p; table: linear between points"),
    ROW_REAL("parallel_frac", parallel_frac, DEFAULT("1"), WITHIN(0, 1),
             "f of Amdahl's law: share of the work that is parallel"),
    ROW_REAL("exponent", exponent, DEFAULT("1"), WITHIN(DBL_MIN, 1), "p of the power law"),
    ROW_BOOL("linear_below_one", linear_below_one, DEFAULT("false"),
             "power law: on a share of a GPU, speed is proportional to the share"),
    ROW_LIST("points", points, OPTIONAL, ANY, struct speedup_point, point_fields, "points of the table, fewest GPUs first"),
    {0}};
#undef ROW_OF

static const struct config_field speed_fields[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct gpu_speed, speed), .min = 0, .max = 1e6, .value = "1",
     .help = "work per time relative to that of the trace's run times; 0: cannot run there"},
    {0}};

static const char *const priority_names[] = {"high", "low", NULL};

#define ROW_OF struct job_power_config
static const struct config_field power_fields[] = {
    ROW_QUANTITY("mean", mean_w, UNIT_POWER, OPTIONAL, WITHIN(1, 1e5),
                 "mean power of each of its GPUs at the highest clock; default: that of the phases of its 'training'"),
    ROW_REAL("clock_share", clock_share, OPTIONAL, WITHIN(0, 1),
             "beside 'mean': share of its run time that scales with the SM clock; default: 0.57, jobs on V100 (Zeus)"),
    ROW_CHOICE("priority", priority, DEFAULT("low"), priority_names, "priority when power runs short: low is slowed down first"),
    {0}};
#undef ROW_OF

#define ROW_OF struct job_type
const struct config_field job_type_config_fields[] = {
    ROW_SECTION("speedup", speedup, FILLED, speedup_fields, "speed on other numbers of GPUs than requested"),
    ROW_GPUS("speeds", speeds, OPTIONAL, ANY, struct gpu_speed, speed_fields,
             "speed by GPU type; 1 on types not named; a MIG slice that is not named has that of its GPU"),
    ROW_BOOL("preemptible", preemptible, DEFAULT("true"),
             "whether they yield to services; schedulers preempt all types"),
    ROW_INT("priority", priority, DEFAULT("0"), WITHIN(-1e6, 1e6),
            "preemptible jobs of lower priority yield first"),
    ROW_SECTION("checkpoint", checkpoint, OPTIONAL, checkpoint_config_fields,
                "checkpoints of its jobs; default: a failure loses all their work"),
    ROW_SECTION("load", load, OPTIONAL, load_config_fields,
                "what each job reads over the network before it works, unless it reads a checkpoint there"),
    ROW_SECTION("data", data, OPTIONAL, data_config_fields,
                "data set that its jobs read over the network, step by step; default: reading takes no time"),
    ROW_SECTION("training", training, OPTIONAL, training_job_config_fields,
                "LLM that its jobs train, and how: their speed on each GPU and number of GPUs follows"),
    ROW_SECTION("power", power, OPTIONAL, power_fields, "power of its GPUs; needs cluster.power"),
    ROW_SECTION("goodput", goodput, OPTIONAL, goodput_config_fields,
                "speed by step times and batch sizes, instead of 'speedup' and 'speeds'"),
    ROW_SECTION("sharing", sharing, OPTIONAL, sharing_config_fields, "speed beside other jobs on the same GPUs"),
    ROW_LIST("regimes", regimes, OPTIONAL, ANY, struct job_regime, job_regime_fields,
             "batch sizes of its jobs, one behind the other; default: one"),
    ROW_SECTION("step", step, OPTIONAL, step_config_fields,
                "what each step computes and exchanges over the network; default: jobs send nothing"),
    ROW_SECTION("host", host, OPTIONAL, host_needs_fields,
                "speed by the CPUs and memory that a job holds for each GPU; default: they do not change it"),
    {0}};
#undef ROW_OF

/* A type of which the scenario says nothing. Returns 0 or a negative code. */
static int default_type(const struct config_families *families, struct arena *arena, struct job_type *type,
                        struct diag *diag)
{
    struct config *config;
    int code = config_parse("{}", ".", "{}", 2, &config, diag);
    if (code == 0) code = config_bind(config, job_type_config_fields, families, arena, type, sizeof *type, diag);
    config_destroy(config);
    return code;
}

static void take_profile(struct job_type *type, const struct job_profile *profile)
{
    if (type->speeds.n == 0) type->speeds = profile->speeds;
    if (type->sharing.pairs.n == 0) type->sharing.pairs = profile->pairs;
    if (type->sharing.phases.n == 0) type->sharing.phases = profile->phases;
    if (type->regimes.n == 0) type->regimes = profile->regimes;
}

int job_types_load(const struct config_list *types, const struct config_variant *profiles,
                   const struct config_families *families, struct arena *arena, struct config_list *all,
                   struct diag *diag)
{
    const struct job_profile_format *format = profiles->entry;
    struct config_list read;
    struct job_type fresh;
    *all = *types;
    if (format == NULL) return 0;
    int code = format->read(profiles->params, arena, &read, diag);
    if (code == 0) code = default_type(families, arena, &fresh, diag);
    if (code != 0) return code;
    struct job_type *items = arena_alloc(arena, (types->n + read.n) * sizeof *items);
    if (items == NULL) return diag_nomem(diag);
    if (types->n > 0) memcpy(items, types->items, types->n * sizeof *items);
    *all = (struct config_list){types->n, items};
    for (size_t i = 0; i < read.n; i++) {
        const struct job_profile *profile = (const struct job_profile *)read.items + i;
        struct job_type *type = items;
        while (type < items + all->n && strcmp(type->name, profile->type) != 0) type++;
        if (type == items + all->n) {
            *type = fresh;
            type->name = profile->type;
            all->n++;
        }
        take_profile(type, profile);
    }
    return 0;
}

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

bool job_type_may_occur(const struct trace_format *format, const char *name)
{
    const char *const *types = format->job_types;
    while (types != NULL && *types != NULL && strcmp(*types, name) != 0) types++;
    return (types != NULL && *types != NULL) || strcmp(name, "default") == 0;
}

int job_types_seen_init(struct job_types_seen *seen, const struct config_list *types, const struct config_list *all)
{
    *seen = (struct job_types_seen){0};
    seen->has_occurred = mem_zalloc(types->n + 1, sizeof *seen->has_occurred);
    seen->unstated = mem_zalloc(all->n + 1, sizeof *seen->unstated);
    return seen->has_occurred != NULL && seen->unstated != NULL ? 0 : SIM_E_NOMEM;
}

void job_types_seen_fini(struct job_types_seen *seen)
{
    mem_free(seen->has_occurred);
    mem_free(seen->unstated);
}

void job_types_see(struct job_types_seen *seen, const struct config_list *types, const char *name)
{
    const struct job_type *items = types->items;
    if (types->n == 0 || name == NULL || *name == 0) return;
    const struct job_type *type = find(types, name);
    if (type != NULL) {
        seen->has_occurred[type - items] = true;
        return;
    }
    for (size_t i = 0; i < seen->n_unnamed; i++)
        if (strcmp(seen->unnamed[i], name) == 0) return;
    if (seen->n_unnamed < JOB_TYPES_UNNAMED) seen->unnamed[seen->n_unnamed++] = name;
}

static bool is_in_order(const struct config_list *points)
{
    const struct speedup_point *point = points->items;
    for (size_t i = 1; i < points->n; i++)
        if (point[i].gpus <= point[i - 1].gpus || point[i].speed < point[i - 1].speed) return false;
    return points->n > 0;
}

/* What a type that trains takes from its model. */
static const char *training_conflict(const struct job_type *type)
{
    if (type->training.plan.llm == NULL) return NULL;
    if (type->step.collectives.n > 0)
        return "'step' and 'training' exclude each other: a plan's messages follow from the plan";
    if (goodput_is_given(&type->goodput)) return "'goodput' and 'training' exclude each other: both give its speeds";
    if (type->sharing.pairs.n > 0 || type->sharing.phases.n > 0)
        return "'sharing' and 'training' exclude each other: a plan has its GPUs alone";
    if (type->speeds.n > 0) return "'speeds' and 'training' exclude each other: speeds follow from the plan";
    return type->speedup.law != SPEEDUP_LINEAR
               ? "'speedup' and 'training' exclude each other: speeds follow from the plan"
               : NULL;
}

static int check_goodput(const struct job_type *type, const char *where, struct diag *diag)
{
    char place[DIAG_WHERE_CHARS];
    snprintf(place, sizeof place, "%s.types.%s.goodput", where, type->name);
    const int code = goodput_config_check(&type->goodput, place, diag);
    if (type->speedup.law == SPEEDUP_LINEAR && type->speeds.n == 0) return code;
    return diag_error(diag, SIM_E_CONFIG, place, "leave out 'speedup' and 'speeds'",
                      "gives the speed on every number and type of GPUs, and so does 'speedup' or 'speeds'");
}

static int check_sharing(const struct job_type *type, const char *where, struct diag *diag)
{
    char place[DIAG_WHERE_CHARS];
    snprintf(place, sizeof place, "%s.types.%s.sharing", where, type->name);
    return sharing_config_check(&type->sharing, place, diag);
}

static int check_regimes(const struct job_type *type, const char *where, struct diag *diag)
{
    char place[DIAG_WHERE_CHARS];
    snprintf(place, sizeof place, "%s.types.%s.regimes", where, type->name);
    return job_regimes_check(&type->regimes, place, diag);
}

/* A section "power" says how much, where no plan does. */
static int check_power(const struct job_type *type, const char *where, struct diag *diag)
{
    char place[DIAG_WHERE_CHARS];
    if (type->power.mean_w == 0.0 || type->power.mean_w > 0.0) return 0;
    snprintf(place, sizeof place, "%s.types.%s.power", where, type->name);
    if (type->training.plan.llm != NULL && !isnan(type->power.clock_share))
        return diag_error(diag, SIM_E_CONFIG, place, "leave it out, or give 'mean' as well",
                          "'clock_share' needs 'mean': without it the phases of the plan say what follows the clock");
    if (type->training.plan.llm != NULL) return 0;
    return diag_error(diag, SIM_E_CONFIG, place, "such as \"mean\": \"300W\"", "misses 'mean'");
}

int job_types_check(const struct config_list *types, const char *where, struct diag *diag)
{
    const struct job_type *type = types->items;
    int code = 0;
    for (size_t i = 0; i < types->n; i++, type++) {
        const char *conflict = training_conflict(type);
        if (conflict != NULL) {
            char at[DIAG_WHERE_CHARS];
            snprintf(at, sizeof at, "%s.types.%s", where, type->name);
            code = diag_error(diag, SIM_E_CONFIG, at, NULL, "%s", conflict);
        }
        if (goodput_is_given(&type->goodput)) {
            const int found = check_goodput(type, where, diag);
            code = found < 0 ? found : code;
        }
        const int shared = check_sharing(type, where, diag), powered = check_power(type, where, diag);
        const int adapted = check_regimes(type, where, diag);
        code = shared < 0 ? shared : powered < 0 ? powered : adapted < 0 ? adapted : code;
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

const struct gpu_speed *gpu_speed_find(const struct config_list *speeds, const char *gpu)
{
    const struct gpu_speed *speed = speeds->items, *of_whole = NULL;
    for (size_t i = 0; i < speeds->n; i++, speed++) {
        const size_t n = strlen(speed->gpu);
        if (strncmp(speed->gpu, gpu, n) != 0) continue;
        if (gpu[n] == '\0') return speed;
        if (gpu[n] == ':') of_whole = speed;
    }
    return of_whole;
}

static const struct gpu_speed *stated_speed(const struct job_type *type, const char *gpu)
{
    return gpu != NULL ? gpu_speed_find(&type->speeds, gpu) : NULL;
}

static double speed_on(const struct job_type *type, const char *gpu)
{
    const struct gpu_speed *speed = stated_speed(type, gpu);
    return speed != NULL ? speed->speed : 1.0;
}

/* --- Types of GPUs --- */

/* Whether the catalog has this GPU; if not, says so, with the GPU of the node type that the key names. */
static int check_gpu(const char *path, const char *gpu, const struct site_env *site, const struct cluster *cluster)
{
    const struct cluster *named = cluster;
    char hint[DIAG_TEXT_CHARS];
    struct gpu_spec spec;
    while (named != NULL && (named->type_name == NULL || strcmp(named->type_name, gpu) != 0)) named = named->next;
    const bool may_name_type = named != NULL && named->gpu != NULL;
    const char *where = config_where(site->config, path);
    const int code = catalog_gpu(site->catalog, gpu, where, site->arena, &spec, may_name_type ? NULL : site->diag);
    if (code == 0 || !may_name_type) return code;
    snprintf(hint, sizeof hint, "did you mean '%s', the GPU of that node type?", named->gpu);
    return diag_error(site->diag, SIM_E_CONFIG, where, hint, "speeds go by type of GPU, and '%s' is a node type", gpu);
}

static int check_speeds(const char *path, const struct config_list *speeds, const struct site_env *site,
                        const struct cluster *cluster)
{
    const struct gpu_speed *speed = speeds->items;
    int code = 0;
    for (size_t i = 0; i < speeds->n; i++, speed++) {
        const struct cluster *of = cluster;
        char key[DIAG_WHERE_CHARS];
        snprintf(key, sizeof key, "%s.%s", path, speed->gpu);
        while (of != NULL && (of->gpu == NULL || strcmp(of->gpu, speed->gpu) != 0)) of = of->next;
        const int checked = of == NULL ? check_gpu(key, speed->gpu, site, cluster) : 0;
        if (code == 0) code = checked;
    }
    return code;
}

int job_types_check_gpus(const struct config_list *types, const struct site_env *site, const struct cluster *cluster)
{
    const struct job_type *type = types->items;
    int code = 0;
    if (site->catalog == NULL || site->config == NULL) return 0;
    for (size_t i = 0; i < types->n; i++, type++) {
        const struct pair_config *pair = type->sharing.pairs.items;
        char path[DIAG_WHERE_CHARS];
        snprintf(path, sizeof path, "jobs.types.%s.speeds", type->name);
        int checked = check_speeds(path, &type->speeds, site, cluster);
        if (code == 0) code = checked;
        for (size_t k = 0; k < type->sharing.pairs.n; k++, pair++) {
            snprintf(path, sizeof path, "jobs.types.%s.sharing.pairs.%s.speeds", type->name, pair->type);
            checked = check_speeds(path, &pair->speeds, site, cluster);
            if (code == 0) code = checked;
        }
    }
    return code;
}

void job_types_see_gpu(struct job_types_seen *seen, const struct config_list *all, const struct job_type *type,
                       const struct cluster *cluster)
{
    const size_t index = type != NULL ? (size_t)(type - (const struct job_type *)all->items) : all->n;
    const bool follows = type != NULL && (goodput_is_given(&type->goodput) || type->training.plan.llm != NULL);
    if (follows || cluster->gpu == NULL || cluster->node_type >= JOB_TYPES_GPUS) return;
    if (type == NULL || stated_speed(type, cluster->gpu) == NULL)
        seen->unstated[index] |= (uint64_t)1 << cluster->node_type;
}

/* Writes the types of GPUs of a set of node types, each once: "t4, a100-80-sxm". Returns their number. */
static int list_gpus(uint64_t set, const struct cluster *cluster, struct text *text)
{
    const char *listed[JOB_TYPES_GPUS];
    int n = 0;
    for (; cluster != NULL; cluster = cluster->next) {
        if (cluster->node_type >= JOB_TYPES_GPUS || (set >> cluster->node_type & 1) == 0) continue;
        int same = 0;
        while (same < n && strcmp(listed[same], cluster->gpu) != 0) same++;
        if (same < n) continue;
        text_printf(text, "%s%s", n > 0 ? ", " : "", cluster->gpu);
        listed[n++] = cluster->gpu;
    }
    return n;
}

int job_types_warn(const struct job_types_seen *seen, const struct config_list *all, const struct site_env *site,
                   const struct cluster *cluster)
{
    const struct job_type *types = all->items;
    struct text text;
    int64_t n = 0;
    int code = 0;
    text_init(&text);
    for (size_t i = 0; i <= all->n; i++) {
        struct text gpus;
        text_init(&gpus);
        if (list_gpus(seen->unstated[i], cluster, &gpus) > 1 && n++ == 0)
            text_printf(&text, "jobs %s%s%s ran equally fast on different GPUs: %s; ", i < all->n ? "of type '" : "",
                        i < all->n ? types[i].name : "that jobs.types does not describe", i < all->n ? "'" : "",
                        gpus.failed ? "" : gpus.chars);
        text_fini(&gpus);
    }
    if (n > 1) text_printf(&text, "so did those of other types (%" PRId64 " in all); ", n);
    text_add(&text, "a type of GPU that 'speeds' does not name has speed 1; name all but one of these GPUs in "
                    "jobs.types.NAME.speeds, or in those of \"default\"");
    const struct warning_row row = {.t_s = (double)NAN, .code = "equal-speeds", .text = text.chars, .count = n};
    if (text.failed)
        code = SIM_E_NOMEM;
    else if (n > 0 && site->sink->warning != NULL)
        code = site->sink->warning(site->sink->context, &row);
    text_fini(&text);
    return code;
}

bool job_type_is_linear(const struct job_type *type)
{
    if (type == NULL) return true;
    const bool is_described = goodput_is_given(&type->goodput) || type->training.plan.llm != NULL;
    const struct speedup_config *speedup = &type->speedup;
    return !is_described &&
           (speedup->law == SPEEDUP_LINEAR || (speedup->law == SPEEDUP_AMDAHL && speedup->parallel_frac >= 1.0) ||
            (speedup->law == SPEEDUP_POWER && speedup->exponent >= 1.0));
}

sim_ns job_type_run_ns(const struct job_type *type, sim_ns first_ns)
{
    return type != NULL ? job_regimes_run_ns(&type->regimes, first_ns) : first_ns;
}

double job_record_run_s(const struct config_list *types, const struct job_record *record)
{
    return sim_s_from_ns(job_type_run_ns(job_type_find(types, record->type), record->duration_ns));
}

double job_type_speed(const struct job_type *type, const char *gpu, double gpus, double asked)
{
    if (type == NULL) return gpus == asked ? 1.0 : gpus / asked;
    if (goodput_is_given(&type->goodput)) {
        const struct goodput_place place = {.gpu = gpu, .gpus = gpus, .nodes = 1};
        return job_goodput_speed(&type->goodput, &place, (int32_t)asked, 0);
    }
    const double speed = type->speeds.n == 0 ? 1.0 : speed_on(type, gpu);
    if (gpus == asked) return speed;
    const struct speedup speedup = speedup_config_get(&type->speedup);
    return speed * speedup_at(&speedup, gpus) / speedup_at(&speedup, asked);
}

/* --- Estimates --- */

static const char *const estimate_names[] = {"traced", "exact", "lognormal", "uniform", NULL};

#define ROW_OF struct estimates_config
const struct config_field estimates_config_fields[] = {
    ROW_CHOICE(
        "law", law, DEFAULT("traced"), estimate_names,
        "traced: as in the trace; exact: the true run time; lognormal: the true run time times a random factor of median 1; uniform: times 1 to 'most'"),
    ROW_REAL("sigma", sigma, DEFAULT("1"), WITHIN(DBL_MIN, 10),
             "lognormal: standard deviation of the factor's logarithm"),
    ROW_REAL("most", most, DEFAULT("10"), WITHIN(1, 1e6), "uniform: the largest factor"),
    {0}};
#undef ROW_OF

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

/* --- Deadlines --- */

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
