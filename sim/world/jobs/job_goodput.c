#include "sim/world/jobs/job_goodput.h"

#include "sim/world/jobs/job.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW_OF struct gpu_profile
static const struct config_field profile_fields[] = {
    ROW_REAL("alpha_c", step.alpha_c, REQUIRED, WITHIN(0, 1e6), "seconds of a gradient, whatever its samples"),
    ROW_REAL("beta_c", step.beta_c, REQUIRED, WITHIN(DBL_MIN, 1e6), "seconds of a gradient per sample"),
    ROW_REAL("alpha_r", step.alpha_r, DEFAULT("0"), WITHIN(0, 1e6), "seconds of an exchange between two GPUs of a node"),
    ROW_REAL("beta_r", step.beta_r, DEFAULT("0"), WITHIN(0, 1e6), "more seconds for each further GPU of a node"),
    ROW_REAL("alpha_n", step.alpha_n, DEFAULT("0"), WITHIN(0, 1e6), "seconds of an exchange between two nodes"),
    ROW_REAL("beta_n", step.beta_n, DEFAULT("0"), WITHIN(0, 1e6), "more seconds for each further GPU, on several nodes"),
    ROW_REAL("gamma", step.gamma, DEFAULT("1"), WITHIN(1, 10),
             "how far gradient and exchange overlap: 1: not at all; 10: almost fully"),
    {0}};
#undef ROW_OF

#define ROW_OF struct goodput_config
const struct config_field goodput_config_fields[] = {
    ROW_REAL("first_batch", batches.first, REQUIRED, WITHIN(1, 1e9),
             "least batch size, in samples; efficiency is 1 there"),
    ROW_REAL("most_batch", batches.most, REQUIRED, WITHIN(1, 1e9), "largest batch size, in samples"),
    ROW_REAL("least_local", batches.least_local, DEFAULT("1"), WITHIN(1, 1e9),
             "fewest samples that a GPU computes at a time"),
    ROW_REAL("most_local", batches.most_local, REQUIRED, WITHIN(1, 1e9),
             "most samples that a GPU computes at a time, by its memory"),
    ROW_REAL("noise", batches.noise, REQUIRED, WITHIN(0, 1e12), "gradient noise scale, in samples"),
    ROW_REAL("batch", batch, OPTIONAL, WITHIN(1, 1e9),
             "batch size that its jobs ask for; default: the best for the GPUs that they request"),
    ROW_TEXT("run_times_on", run_times_on, OPTIONAL, ANY,
             "type of the GPUs that the trace's run times are for; default: the first profile"),
    ROW_INT("node_gpus", node_gpus, DEFAULT("0"), WITHIN(0, 1e6),
            "GPUs of a node in the runs that the trace's run times are for; 0: as the cluster's own nodes"),
    ROW_MAP("profiles", profiles, REQUIRED, ANY, struct gpu_profile, profile_fields, "step times, by GPU type"),
    {0}};
#undef ROW_OF

static const struct gpu_profile *find_profile(const struct goodput_config *config, const char *gpu)
{
    const struct gpu_profile *profile = config->profiles.items;
    if (gpu == NULL) return config->profiles.n > 0 ? profile : NULL;
    for (size_t i = 0; i < config->profiles.n; i++, profile++)
        if (strcmp(profile->gpu, gpu) == 0) return profile;
    return NULL;
}

__attribute__((format(printf, 5, 6))) static int bad(struct diag *diag, const char *where, const char *key,
                                                     const char *hint, const char *format, ...)
{
    char place[DIAG_WHERE_CHARS], text[DIAG_TEXT_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(place, sizeof place, "%s.%s", where, key);
    return diag_error(diag, SIM_E_CONFIG, place, hint, "%s", text);
}

int goodput_config_check(const struct goodput_config *config, const char *where, struct diag *diag)
{
    const struct goodput_batches *batches = &config->batches;
    int code = 0;
    if (batches->most < batches->first)
        code = bad(diag, where, "most_batch", "'first_batch' is the least batch size", "is below 'first_batch', %g",
                   batches->first);
    if (batches->most_local < batches->least_local)
        code = bad(diag, where, "most_local", "'least_local' is the least", "is below 'least_local', %g",
                   batches->least_local);
    if (config->batch > batches->most)
        code = bad(diag, where, "batch", "'most_batch' is the largest", "exceeds 'most_batch', %g", batches->most);
    if (config->profiles.n == 0)
        code = bad(diag, where, "profiles", "name a GPU type with its step times", "has no GPU type");
    else if (config->run_times_on != NULL && find_profile(config, config->run_times_on) == NULL)
        code = bad(diag, where, "run_times_on", "name one of 'profiles'", "has no profile of '%.64s'",
                   config->run_times_on);
    return code;
}

/* The most GPUs over which a batch can be split. */
static int32_t usable(const struct goodput_config *config, const struct goodput_place *place, double gpus)
{
    const double batch = place->adapts || isnan(config->batch) ? config->batches.most : config->batch;
    return (int32_t)fmax(1, fmin(gpus, floor(batch / config->batches.least_local)));
}

static double on_whole(const struct goodput_config *config, const struct step_profile *step,
                       const struct goodput_place *place, double gpus)
{
    const int32_t k = usable(config, place, gpus);
    if (place->adapts || isnan(config->batch)) return goodput_best(step, &config->batches, k, place->nodes, NULL);
    return goodput_at(step, &config->batches, k, place->nodes, config->batch);
}

double job_goodput(const struct goodput_config *config, const struct goodput_place *place)
{
    const struct gpu_profile *profile = find_profile(config, place->gpu);
    if (profile == NULL) return 0;
    const double low = floor(place->gpus), high = ceil(place->gpus);
    if (place->gpus < 1) return place->gpus * on_whole(config, &profile->step, place, 1);
    const double at_low = on_whole(config, &profile->step, place, low);
    if (high == low) return at_low;
    return at_low + (on_whole(config, &profile->step, place, high) - at_low) * (place->gpus - low);
}

static int32_t fewest_nodes(double gpus, int32_t node_gpus)
{
    return node_gpus > 0 ? (int32_t)ceil(gpus / node_gpus) : 1;
}

static double asked_goodput(const struct goodput_config *config, int32_t asked, int32_t node_gpus)
{
    const int32_t own = config->node_gpus > 0 ? (int32_t)config->node_gpus : node_gpus;
    const struct goodput_place place = {.gpu = config->run_times_on, .gpus = asked, .nodes = fewest_nodes(asked, own)};
    return job_goodput(config, &place);
}

double job_goodput_speed(const struct goodput_config *config, const struct goodput_place *place, int32_t asked,
                         int32_t node_gpus)
{
    return job_goodput(config, place) / asked_goodput(config, asked, node_gpus);
}

/* --- Of the jobs of a run --- */

int goodput_cache_init(struct goodput_cache *cache, const struct jobs *jobs)
{
    const struct job_type *types = jobs->config->all_types.items;
    const size_t n = jobs->config->all_types.n, each = GOODPUT_CACHED_GPUS + 1;
    bool is_used = false;
    for (size_t i = 0; i < n; i++) is_used = is_used || goodput_is_given(&types[i].goodput);
    if (!is_used) return 0;
    cache->n_node_types = jobs->n_node_types;
    cache->values = mem_zalloc(n * (size_t)jobs->n_node_types * each, sizeof *cache->values);
    cache->asked = mem_zalloc(n * each, sizeof *cache->asked);
    return cache->values == NULL || cache->asked == NULL ? SIM_E_NOMEM : 0;
}

void goodput_cache_fini(struct goodput_cache *cache)
{
    mem_free(cache->values);
    mem_free(cache->asked);
}

/* What `slot` keeps, computed by `gpus` on the fewest nodes if it is not known. */
static double asked_of(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    const struct job_type *types = jobs->config->all_types.items;
    const int32_t asked = job->view.gpus;
    double *slot = asked <= GOODPUT_CACHED_GPUS
                       ? &jobs->goodputs.asked[(size_t)(job->type - types) * (GOODPUT_CACHED_GPUS + 1) + (size_t)asked]
                       : NULL;
    if (slot != NULL && *slot != 0) return *slot;
    const double goodput = asked_goodput(&job->type->goodput, asked, jobs->cluster->gpus_per_node);
    if (slot != NULL) *slot = goodput;
    return goodput;
}

static double on_fewest(const struct job *job, int32_t node_type, double gpus)
{
    const struct jobs *jobs = job->jobs;
    const struct cluster *cluster = jobs_cluster_of(job->jobs, node_type);
    const struct goodput_place place = {.gpu = cluster->gpu, .gpus = gpus, .adapts = jobs->scheduler->adapts_batch,
                                        .nodes = fewest_nodes(gpus, cluster->gpus_per_node)};
    return job_goodput(&job->type->goodput, &place);
}

double job_goodput_on(const struct job *job, int32_t node_type, double gpus)
{
    const struct jobs *jobs = job->jobs;
    const struct job_type *types = jobs->config->all_types.items;
    const bool is_kept = gpus <= GOODPUT_CACHED_GPUS && gpus == floor(gpus) && gpus >= 1;
    const size_t row = (size_t)(job->type - types) * (size_t)jobs->goodputs.n_node_types + (size_t)node_type;
    double *slot = is_kept ? &jobs->goodputs.values[row * (GOODPUT_CACHED_GPUS + 1) + (size_t)gpus] : NULL;
    double goodput = slot != NULL ? *slot : 0;
    if (goodput == 0) goodput = on_fewest(job, node_type, gpus);
    if (slot != NULL) *slot = goodput > 0 ? goodput : -1;
    return goodput > 0 ? goodput / asked_of(job) : 0;
}

double job_goodput_held(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    const struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    int32_t nodes = 0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) nodes++;
    if (nodes == 0 || nodes == fewest_nodes(job->view.held_gpus, cluster->gpus_per_node))
        return job_goodput_on(job, job->view.node_type, job->view.held_gpus);
    const struct goodput_place place = {.gpu = cluster->gpu, .gpus = job->view.held_gpus, .nodes = nodes,
                                        .adapts = jobs->scheduler->adapts_batch};
    return job_goodput(&job->type->goodput, &place) / asked_of(job);
}

/* --- Batch sizes that whoever trains the model changes: regimes (job_types.h) --- */

#define ROW_OF struct job_regime
const struct config_field job_regime_fields[] = {
    ROW_REAL("epochs", epochs, REQUIRED, WITHIN(1e-6, 1e6), "its epochs, relative to those of the other regimes"),
    ROW_REAL("speed", speed, REQUIRED, WITHIN(1e-3, 1e3), "epochs per time, relative to the first batch size"),
    ROW_REAL("steps_per_s", steps_per_s, DEFAULT("0"), WITHIN(0, 1e9),
             "steps per second on the requested GPUs, for schedulers that compare jobs by it; 0: not stated"),
    {0}};
#undef ROW_OF

static const struct job_regime *regime_at(const struct config_list *regimes, size_t i)
{
    return (const struct job_regime *)regimes->items + i;
}

/* The number of the mode with this speed among the first n, or n. */
static int32_t mode_of(const struct job_epochs *epochs, double speed)
{
    int32_t mode = 0;
    while (mode < epochs->n_modes && epochs->modes[mode].speed != speed) mode++;
    return mode;
}

/* All modes, with no epoch done. */
static struct job_epochs list_modes(const struct config_list *regimes)
{
    struct job_epochs epochs = {.n_modes = 0};
    for (size_t i = 0; i < regimes->n; i++) {
        const double speed = regime_at(regimes, i)->speed;
        const int32_t mode = mode_of(&epochs, speed);
        if (mode == epochs.n_modes && mode < JOB_MODES) epochs.modes[epochs.n_modes++].speed = speed;
    }
    if (regimes->n == 0) epochs.modes[epochs.n_modes++].speed = 1;
    return epochs;
}

int job_regimes_check(const struct config_list *regimes, const char *where, struct diag *diag)
{
    const struct job_epochs epochs = list_modes(regimes);
    for (size_t i = 0; i < regimes->n; i++)
        if (mode_of(&epochs, regime_at(regimes, i)->speed) == JOB_MODES)
            return diag_error(diag, SIM_E_CONFIG, where, "give regimes with nearly equal speeds one speed",
                              "more than %d different speeds", JOB_MODES);
    return 0;
}

/* The sum of epochs, and of epochs over speed. */
static void sum_up(const struct config_list *regimes, double *epochs, double *time)
{
    *epochs = *time = 0;
    for (size_t i = 0; i < regimes->n; i++) {
        *epochs += regime_at(regimes, i)->epochs;
        *time += regime_at(regimes, i)->epochs / regime_at(regimes, i)->speed;
    }
}

sim_ns job_regimes_run_ns(const struct config_list *regimes, sim_ns first_ns)
{
    double epochs, time;
    if (regimes->n == 0) return first_ns;
    sum_up(regimes, &epochs, &time);
    return sim_ns_from_s(sim_s_from_ns(first_ns) * time / epochs);
}

struct job_epochs job_regimes_epochs(const struct config_list *regimes, double work_frac)
{
    struct job_epochs of = list_modes(regimes);
    double epochs, time;
    if (regimes->n == 0) {
        of.done_frac = of.modes[0].done_frac = work_frac;
        return of;
    }
    sum_up(regimes, &epochs, &time);
    double left = work_frac * time;
    for (size_t i = 0; i < regimes->n; i++) {
        const struct job_regime *regime = regime_at(regimes, i);
        const double own = regime->epochs / regime->speed;
        const double done = (left < own ? left : own) * regime->speed / epochs;
        of.mode = mode_of(&of, regime->speed);
        of.modes[of.mode].done_frac += done;
        of.done_frac += done;
        left -= own;
        if (!(left >= 0)) break;
    }
    return of;
}

double job_regimes_steps_per_s(const struct config_list *regimes, double work_frac)
{
    double epochs, time;
    if (regimes->n == 0) return 0;
    sum_up(regimes, &epochs, &time);
    double left = work_frac * time;
    size_t i = 0;
    for (; i + 1 < regimes->n; i++) {
        left -= regime_at(regimes, i)->epochs / regime_at(regimes, i)->speed;
        if (!(left >= 0)) break;
    }
    return regime_at(regimes, i)->steps_per_s;
}
