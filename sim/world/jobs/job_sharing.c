#include "sim/world/jobs/job_sharing.h"

#include "sim/core/check.h"
#include "sim/world/jobs/job.h"

#include <stdio.h>
#include <string.h>

static const struct config_field speed_item[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct gpu_speed, speed), .min = 0, .max = 1e6,
     .help = "speed beside the other job, where 1 is that of the trace's run times; 0: they cannot share"},
    {0}};

static const struct config_field phase_item[] = {
    {.kind = CONFIG_REAL, .min = 0, .max = 1e9, .help = "seconds"}, {0}};

#define ROW_OF struct pair_config
static const struct config_field pair_fields[] = {
    ROW_MAP("speeds", speeds, REQUIRED, ANY, struct gpu_speed, speed_item, "speed on shared GPUs, by GPU type"), {0}};
#undef ROW_OF

#define ROW_OF struct sharing_config
const struct config_field sharing_config_fields[] = {
    ROW_MAP("pairs", pairs, OPTIONAL, ANY, struct pair_config, pair_fields,
            "measured speeds beside a job of another type, or of its own, by the name of that type"),
    ROW_LIST("phases", phases, OPTIONAL, WITHIN(2, INTERLEAVING_MOST), double, phase_item,
             "parts of an iteration that use different resources, in their order; all types have equally many"),
    ROW_REAL("utilisation", utilisation, OPTIONAL, WITHIN(1e-6, 1),
             "share of the time that a job alone uses its GPUs; jobs on the same GPUs slow down where these exceed 1"),
    ROW_REAL("memory_frac", memory_frac, DEFAULT("0"), WITHIN(0, 1),
             "beside 'utilisation': share of the memory of its GPUs; together at most 1"),
    ROW_BOOL("opportunistic", opportunistic, DEFAULT("false"),
             "under antman yields to others; beside 'utilisation': gets the time that jobs on its GPUs leave"),
    {0}};
#undef ROW_OF

int sharing_config_check(const struct sharing_config *config, const char *where, struct diag *diag)
{
    const double *phase = config->phases.items;
    double sum = 0;
    if (config->memory_frac > 0 && !(config->utilisation > 0))
        return diag_error(diag, SIM_E_CONFIG, where, "state 'utilisation', too",
                          "'memory_frac' without 'utilisation' says nothing: the jobs share no GPUs by it");
    for (size_t i = 0; i < config->phases.n; i++) sum += phase[i];
    if (config->phases.n == 0 || sum > 0) return 0;
    char place[DIAG_WHERE_CHARS];
    snprintf(place, sizeof place, "%s.phases", where);
    return diag_error(diag, SIM_E_CONFIG, place, "write for example [0.1, 0.02, 0.3, 0.05]",
                      "an iteration takes time on some resource");
}

/* --- Speeds --- */

static double find_speed(const struct config_list *speeds, const char *gpu)
{
    const struct gpu_speed *speed = speeds->items;
    for (size_t i = 0; i < speeds->n; i++, speed++)
        if (gpu == NULL || gpu_speed_is_of(speed, gpu)) return speed->speed;
    return 0;
}

static double pair_speed(const struct job_type *type, const struct job_type *other, const char *gpu)
{
    const struct pair_config *pair = type->sharing.pairs.items;
    for (size_t i = 0; i < type->sharing.pairs.n; i++, pair++)
        if (strcmp(pair->type, other->name) == 0) return find_speed(&pair->speeds, gpu);
    return 0;
}

/* Whether both can run: a pair with a speed of 0 on either side cannot share. */
static double paired_speed(const struct job_type *const *types, const char *gpu)
{
    return pair_speed(types[1], types[0], gpu) > 0 ? pair_speed(types[0], types[1], gpu) : 0;
}

static double interleaved_speed(const struct job_type *const *types, int32_t n, const char *gpu)
{
    struct interleaving_job jobs[INTERLEAVING_MOST] = {{{0}}};
    const int32_t resources = (int32_t)types[0]->sharing.phases.n;
    if (n > resources) return 0;
    for (int32_t i = 0; i < n; i++) {
        const double *phase_s = types[i]->sharing.phases.items;
        if ((int32_t)types[i]->sharing.phases.n != resources) return 0;
        memcpy(jobs[i].phase_s, phase_s, (size_t)resources * sizeof *phase_s);
    }
    return interleaving_alone_s(&jobs[0], resources) / interleaving_period_s(jobs, n, resources) *
           job_type_speed(types[0], gpu, 1, 1);
}

struct job_demand sharing_demand(const struct sharing_config *config)
{
    return (struct job_demand){config->utilisation > 0 ? config->utilisation : 0, config->memory_frac,
                               config->opportunistic};
}

/* The GPU's time goes to jobs by their utilisation, in equal proportion where it does not suffice. Opportunistic jobs
 * share what the others leave. */
static double utilised_speed(const struct job_type *const *types, int32_t n, const char *gpu)
{
    double guaranteed = 0, opportunistic = 0, memory_frac = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct job_demand demand = sharing_demand(&types[i]->sharing);
        if (!(demand.utilisation > 0)) return 0;
        *(demand.is_opportunistic ? &opportunistic : &guaranteed) += demand.utilisation;
        memory_frac += demand.memory_frac;
    }
    if (memory_frac > 1) return 0;
    const bool yields = types[0]->sharing.opportunistic;
    const double time = yields ? 1 - guaranteed : 1, wanted = yields ? opportunistic : guaranteed;
    const double part = time >= wanted ? 1 : time > 0 ? time / wanted : 0;
    return part * job_type_speed(types[0], gpu, 1, 1);
}

double job_type_shared_speed(const struct job_type *const *types, int32_t n, const char *gpu)
{
    for (int32_t i = 0; i < n; i++)
        if (types[i] == NULL) return 0;
    if (n == 1) return job_type_speed(types[0], gpu, 1, 1);
    if (types[0]->sharing.phases.n > 0) return interleaved_speed(types, n, gpu);
    if (types[0]->sharing.pairs.n == 0) return utilised_speed(types, n, gpu);
    return n == 2 ? paired_speed(types, gpu) : 0;
}

double job_shared_speed(const struct job *job)
{
    const struct job_type *types[INTERLEAVING_MOST];
    int32_t n = 0;
    const struct job *member = job;
    do {
        types[n++] = member->type;
        member = member->mate;
    } while (member != job && n < INTERLEAVING_MOST);
    return job_type_shared_speed(types, n, jobs_cluster_of(job->jobs, job->view.node_type)->gpu);
}

/* --- Groups --- */

void job_group_make(struct job *const *jobs, int32_t n, int64_t ugpus)
{
    for (int32_t i = 0; i < n; i++) {
        jobs[i]->mate = n > 1 ? jobs[(i + 1) % n] : NULL;
        jobs[i]->group_ugpus = ugpus;
    }
}

void job_group_hold(struct job *job, sim_ns now, int64_t ugpus)
{
    struct jobs *jobs = job->jobs;
    struct cluster *cluster = jobs_cluster_of(jobs, job->view.node_type);
    const int64_t had = job->holder.ugpus;
    const int code = job_emit_placement(job, now);
    if (code != 0) engine_fail(jobs->site->engine, code);
    holders_taken(&jobs->cluster->holders, &job->holder, now);
    cluster_release(cluster, now, had, NULL);
    SIM_REQUIRE(cluster_take(cluster, now, ugpus, NULL, &job->holder.held) == 0);
    job_stats_hold(&jobs->stats, now, ugpus - had);
    job_resize(job, now, ugpus);
    jobs_notify(jobs, JOB_EVENT_RESIZE, job);
}

void job_group_leave(struct job *job, sim_ns now)
{
    struct job *others[INTERLEAVING_MOST];
    int32_t n = 0;
    for (struct job *member = job->mate; member != NULL && member != job; member = member->mate) others[n++] = member;
    job->mate = NULL;
    if (n == 0) return;
    job_group_make(others, n, job->group_ugpus);
    for (int32_t i = 0; i < n; i++) job_group_hold(others[i], now, job->group_ugpus / n);
}
