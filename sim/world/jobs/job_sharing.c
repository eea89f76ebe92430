#include "sim/world/jobs/job_sharing.h"

#include "sim/core/check.h"
#include "sim/world/jobs/job.h"
#include "sim/world/links/topology.h"

#include <math.h>
#include <inttypes.h>
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
    ROW_GPUS("speeds", speeds, REQUIRED, ANY, struct gpu_speed, speed_item, "speed on shared GPUs, by GPU type"), {0}};
#undef ROW_OF

#define ROW_OF struct sharing_config
const struct config_field sharing_config_fields[] = {
    ROW_MAP("pairs", pairs, OPTIONAL, ANY, struct pair_config, pair_fields,
            "measured speeds beside a job of another type, or of its own, by the name of that type"),
    ROW_LIST("phases", phases, OPTIONAL, WITHIN(2, INTERLEAVING_MOST), double, phase_item,
             "parts of an iteration that use different resources, in their order; all types have equally many"),
    ROW_REAL("utilisation", utilisation, OPTIONAL, WITHIN(1e-6, 1),
             "share of the time that a job alone uses its GPUs; jobs on the same GPUs slow down where these exceed 1"),
    ROW_REAL("memory_frac", memory_frac, OPTIONAL, WITHIN(0, 1),
             "beside 'utilisation': share of the memory of its GPUs; together at most 1; default: that of its 'training' "
             "plan, else 0"),
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

/* --- Where jobs can share --- */

static const char placement_key[] = "jobs.placement";

static bool states_sharing(const struct sharing_config *config)
{
    return config->pairs.n > 0 || config->phases.n > 0 || config->utilisation > 0;
}

/* Whether two of its jobs, each as fast as on half of its GPUs, may do more than one alone. */
static bool may_gain_by_halves(const struct job_type *type)
{
    return type->speedup.law != SPEEDUP_LINEAR || type->training.plan.llm != NULL || goodput_is_given(&type->goodput);
}

/* Where jobs are on no nodes, some settings have no effect, while others are errors. */
static void warn_of_nodeless(const struct jobs *jobs)
{
    static const char penalty_key[] = "jobs.network_penalty";
    const struct network_penalty *penalty = &jobs->config->network_penalty;
    if (jobs->placer != NULL) return;
    if (penalty->nodes_frac > 0 || penalty->racks_frac > 0)
        diag_warning(jobs->site->diag, config_where(jobs->site->config, penalty_key), "leave it out",
                     "has no effect: jobs are on no nodes in particular");
    for (const struct cluster *cluster = jobs->cluster; cluster != NULL; cluster = cluster->next)
        if (cluster->resources != NULL)
            diag_warning(jobs->site->diag, config_where(jobs->site->config, placement_key),
                         "choose a placement that gives nodes, such as \"best-fit\", if jobs are to need them",
                         "jobs take no CPUs and no memory of nodes: the placement only compares numbers of GPUs");
}

void job_sharing_check(const struct jobs *jobs)
{
    warn_of_nodeless(jobs);
    const struct scheduler *scheduler = jobs->scheduler;
    const struct config_list *types = &jobs->config->all_types;
    const bool shares = scheduler->shares != NULL ? scheduler->shares(jobs->scheduler_state) : scheduler->shares_gpus;
    bool some = false, may_gain = false;
    for (size_t i = 0; i < types->n; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        some = some || states_sharing(&type->sharing);
        may_gain = may_gain || may_gain_by_halves(type);
    }
    if (shares && !some && !may_gain)
        diag_warning(jobs->site->diag, config_where(jobs->site->config, "jobs.scheduler"),
                     "state 'sharing' of job types, or name measured speeds in 'jobs.profiles'",
                     "no jobs share GPUs under '%s': no job type says how fast it is beside others",
                     scheduler->policy.name);
    if (shares && some && jobs->placer != NULL)
        diag_warning(jobs->site->diag, config_where(jobs->site->config, placement_key),
                     "\"placement\": \"counted\" lets them; no job is then on nodes",
                     "no jobs share GPUs under '%s': the placement '%s' gives each job GPUs of its own",
                     scheduler->policy.name, jobs->placer->policy.name);
}

bool job_swaps_follows(const struct cluster *cluster)
{
    enum { MOST_GPUS = 64 }; /* bits of a set */
    return cluster->gpus_per_node <= MOST_GPUS;
}

const char *job_swaps_alone_on(const struct jobs *jobs)
{
    static const char *const all[] = {"host memory, drives and CPUs", "host memory and CPUs", "drives and CPUs", "CPUs"};
    if (jobs->swapping == NULL) return all[0];
    return all[2 * (topology_config(jobs->topology)->host.device != NULL) + topology_has_drives(jobs->topology)];
}

void job_swaps_warn(const struct jobs *jobs)
{
    static const char effect[] = "jobs that keep states beyond their GPUs have the links of hosts to themselves";
    char path[512];
    if (jobs->placer == NULL)
        diag_warning(jobs->site->diag, config_where(jobs->site->config, placement_key),
                     "choose a placement that gives nodes, such as \"consolidated\"",
                     "%s: they are on no nodes in particular", effect);
    for (const struct cluster *at = jobs->cluster; at != NULL && jobs->placer != NULL; at = at->next) {
        const bool is_named = at->type_name != NULL;
        if (job_swaps_follows(at)) continue;
        snprintf(path, sizeof path, "cluster.%s%s%sgpus_per_node", is_named ? "node_types." : "",
                 is_named ? at->type_name : "", is_named ? "." : "");
        diag_warning(jobs->site->diag, config_where(jobs->site->config, path), NULL,
                     "%s on nodes of %" PRId32 " GPUs: they are followed on up to 64", effect, at->gpus_per_node);
    }
}

/* --- Speeds --- */

static double find_speed(const struct config_list *speeds, const char *gpu)
{
    const struct gpu_speed *speed = gpu != NULL ? gpu_speed_find(speeds, gpu) : speeds->items;
    return speed != NULL && speeds->n > 0 ? speed->speed : 0;
}

static double pair_speed(const struct job_type *type, const struct job_type *other, const char *gpu)
{
    const struct pair_config *pair = type->sharing.pairs.items;
    for (size_t i = 0; i < type->sharing.pairs.n; i++, pair++)
        if (strcmp(pair->type, other->name) == 0) return find_speed(&pair->speeds, gpu);
    return 0;
}

/* Whether both can run: a pair with a speed of 0 on either side cannot share. */
static double paired_speed(const struct job_type *type, const struct job_type *other, const char *gpu)
{
    return pair_speed(other, type, gpu) > 0 ? pair_speed(type, other, gpu) : 0;
}

/* A job on the GPUs that it asked for, of the node type that it is to share. */
struct sharer {
    const struct job_type *type;
    struct job_demand demand;
};

/* Whether their memory is known not to suffice. */
static bool overflow(const struct sharer *sharers, int32_t n)
{
    double memory_frac = 0;
    for (int32_t i = 0; i < n; i++) memory_frac += sharers[i].demand.memory_frac;
    return memory_frac > 1;
}

/* The share of its speed alone that the first of them keeps. */
static double interleaved_share(const struct sharer *sharers, int32_t n)
{
    struct interleaving_job jobs[INTERLEAVING_MOST] = {{{0}}};
    const int32_t resources = (int32_t)sharers[0].type->sharing.phases.n;
    if (n > resources || overflow(sharers, n)) return 0;
    for (int32_t i = 0; i < n; i++) {
        const struct sharing_config *sharing = &sharers[i].type->sharing;
        const double *phase_s = sharing->phases.items;
        if ((int32_t)sharing->phases.n != resources) return 0;
        memcpy(jobs[i].phase_s, phase_s, (size_t)resources * sizeof *phase_s);
    }
    return interleaving_alone_s(&jobs[0], resources) / interleaving_period_s(jobs, n, resources);
}

/* Share of the memory of each GPU: as stated, else that of the job's plan. */
static double memory_of(const struct job *job, int32_t node_type)
{
    const double stated_frac = job->type->sharing.memory_frac;
    const struct job_training_facts *facts = job_training_facts(job->jobs, job->type, node_type, job->view.gpus);
    if (!isnan(stated_frac)) return stated_frac;
    return facts != NULL ? facts->memory_frac : 0;
}

struct job_demand job_sharing_demand(const struct job *job, int32_t node_type)
{
    if (job->type == NULL) return (struct job_demand){0};
    const struct sharing_config *config = &job->type->sharing;
    return (struct job_demand){config->utilisation > 0 ? config->utilisation : 0, memory_of(job, node_type),
                               config->opportunistic};
}

/* The GPU's time goes to jobs by their utilisation, in equal proportion where it does not suffice. Opportunistic jobs
 * share what the others leave. */
static double utilised_share(const struct sharer *sharers, int32_t n)
{
    double guaranteed = 0, opportunistic = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct job_demand *demand = &sharers[i].demand;
        if (!(demand->utilisation > 0)) return 0;
        *(demand->is_opportunistic ? &opportunistic : &guaranteed) += demand->utilisation;
    }
    if (overflow(sharers, n)) return 0;
    const bool yields = sharers[0].demand.is_opportunistic;
    const double time = yields ? 1 - guaranteed : 1, wanted = yields ? opportunistic : guaranteed;
    return time >= wanted ? 1 : time > 0 ? time / wanted : 0;
}

double job_group_speed(const struct job *const *jobs, int32_t n, int32_t node_type)
{
    const struct cluster_view *view = jobs_view_of(jobs[0]->jobs, node_type);
    const double alone_speed = job_speed_on(jobs[0], view, jobs[0]->view.gpus);
    struct sharer sharers[INTERLEAVING_MOST] = {{.type = NULL}};
    for (int32_t i = 0; i < n; i++) {
        if (jobs[i]->type == NULL) return 0;
        sharers[i] = (struct sharer){jobs[i]->type, job_sharing_demand(jobs[i], node_type)};
    }
    if (n == 1) return alone_speed;
    if (sharers[0].type->sharing.phases.n > 0) return alone_speed * interleaved_share(sharers, n);
    if (sharers[0].type->sharing.pairs.n == 0) return alone_speed * utilised_share(sharers, n);
    return n == 2 ? paired_speed(sharers[0].type, sharers[1].type, view->gpu) : 0;
}

double job_shared_speed(const struct job *job)
{
    const struct job *members[INTERLEAVING_MOST];
    int32_t n = 0;
    const struct job *member = job;
    do {
        members[n++] = member;
        member = member->mate;
    } while (member != job && n < INTERLEAVING_MOST);
    return job_group_speed(members, n, job->view.node_type);
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

/* --- Requests that the placement does not look at --- */

/* Whether a list "A|B" of models has one. */
static bool has_model(const char *list, const char *model)
{
    const size_t n = model != NULL ? strlen(model) : 0;
    for (const char *name = list; n > 0 && *name != '\0'; name += name[0] == '|') {
        const size_t length = strcspn(name, "|");
        if (length == n && memcmp(name, model, n) == 0) return true;
        name += length;
    }
    return false;
}

/* Whether the job accepts some of the site's GPUs only. */
static bool is_choosy(const struct job_record *record, const struct cluster *cluster)
{
    if (record->gpu_models == NULL || record->gpu_models[0] == '\0') return false;
    bool accepts_all = true;
    for (; cluster != NULL; cluster = cluster->next) accepts_all &= has_model(record->gpu_models, cluster->gpu);
    return !accepts_all;
}

static void count_in_vain(struct job_stats *stats, enum unread_request what, bool asks, const struct job *job)
{
    if (asks && stats->n_in_vain[what]++ == 0) stats->first_in_vain[what] = job->view.id;
}

void job_requests_note(struct job_stats *stats, const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    const struct job_record *record = &jobs->record;
    if (record->gpus == 0 || jobs->cluster->resources != NULL) return;
    count_in_vain(stats, UNREAD_MODELS, is_choosy(record, jobs->cluster), job);
    count_in_vain(stats, UNREAD_SHARE, record->gpus == 1 && record->gpu_milli > 0 && record->gpu_milli < 1000, job);
    count_in_vain(stats, UNREAD_NODES, record->nodes > 0 && jobs->placer == NULL, job);
}

int job_requests_warn(const struct job_stats *stats)
{
    static const char *const what[] = {"only some models of GPUs", "a share of a GPU", "a number of nodes"};
    char text[DIAG_TEXT_CHARS];
    int code = 0;
    for (int i = 0; i < UNREAD_REQUESTS && code == 0 && stats->sink->warning != NULL; i++) {
        const int64_t n = stats->n_in_vain[i];
        snprintf(text, sizeof text,
                 "%" PRId64 " job%s for %s (the first: job %" PRId64
                 "), at which this placement does not look; one such as \"best-fit\" does",
                 n, n == 1 ? " asks" : "s ask", what[i], stats->first_in_vain[i]);
        const struct warning_row row = {.t_s = (double)NAN, .code = "unread-requests", .text = text, .count = n};
        if (n > 0) code = stats->sink->warning(stats->sink->context, &row);
    }
    return code;
}
