#include "sim/world/jobs/job_training.h"

#include "sim/core/mem.h"
#include "sim/world/jobs/job.h"
#include "sim/world/jobs/job_traffic_state.h"
#include "sim/world/rows/metric.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Steps of a type on a node type, by the number of data ranks. */
struct priced {
    bool is_priced; /* some step has a price */
    struct training_setup *setup;
    double *step_s; /* [n]; NAN: not priced yet; 0: cannot be */
    struct job_training_facts *facts; /* [n], of steps with a price */
    struct power_stage **phases;    /* [n][TRAINING_PHASES]; NULL: not priced, or out of memory */
    struct job_messages **messages; /* [n]; NULL: not asked for yet */
    int64_t n;
    const char *problem; /* the first that was met */
    int64_t problem_gpus;
    double lacking_gib;  /* memory that it would need; 0: it is not about memory */
    double outside_frac; /* largest share of the kernels' time in a step outside their fitted range */
    int64_t outside_gpus;
};

/* Jobs on a node that keep states beyond their GPUs, and what they keep there; excess: over its room, at least 1. */
struct met {
    int32_t n;
    double host_bytes, disk_bytes, excess;
};

struct job_trainings {
    int32_t n_node_types;
    struct met *on_node;          /* [nodes of the site]; NULL: no job keeps states beyond its GPUs */
    struct met most;              /* most jobs on a node at once; then most host memory */
    const struct job_type *meets; /* type of the last of these */
    size_t n_types;
    struct priced *priced; /* [n_types][n_node_types] */
    double model_flop, hardware_flop; /* of the steps that jobs have done and kept */
    double peak_flop;                 /* of the GPU time that they held */
};

/* --- Setting up --- */

static struct priced *priced_of(const struct jobs *jobs, const struct job_type *type, int32_t node_type)
{
    const size_t index = (size_t)(type - jobs_type(jobs, 0));
    return &jobs->trainings->priced[index * (size_t)jobs->n_node_types + (size_t)node_type];
}

static int check_cluster(struct jobs *jobs, const struct cluster *cluster, const char *where)
{
    if (cluster->gpu == NULL)
        return diag_error(jobs->site->diag, SIM_E_CONFIG, where, "name the GPU with 'cluster.gpu'",
                          "jobs that train need the type of the GPUs that they run on");
    if (cluster->n_nodes == 0)
        return diag_error(jobs->site->diag, SIM_E_CONFIG, where, "such as 'cluster.nodes' and 'cluster.gpus_per_node'",
                          "jobs that train need nodes to run on");
    return 0;
}

static int make_one(struct jobs *jobs, const struct job_type *type, int32_t node_type,
                    const struct jobs_options *options)
{
    const struct cluster *cluster = jobs_cluster_of(jobs, node_type);
    const double sharers = options->nic_per_node && cluster->gpus_per_node > 0 ? (double)cluster->gpus_per_node : 1.0;
    struct arena *arena = jobs->site->arena;
    struct priced *priced = priced_of(jobs, type, node_type);
    char where[DIAG_WHERE_CHARS];
    snprintf(where, sizeof where, "jobs.types.%s.training", type->name);
    int code = check_cluster(jobs, cluster, where);
    if (code != 0) return code;
    struct training_request *request = arena_alloc(arena, sizeof *request);
    priced->setup = arena_alloc(arena, sizeof *priced->setup);
    if (request == NULL || priced->setup == NULL) return diag_nomem(jobs->site->diag);
    *request = (struct training_request){
        .gpu = cluster->gpu, .gpus = cluster->total_gpus, .gpus_per_node = cluster->gpus_per_node, .nvlink = true,
        .link_share = 1.0, .bridge_share = (double)NAN,
        .network_bytes_per_s = options->nic_bytes_per_s / sharers,
        .training = type->training.plan};
    code = training_setup_make(jobs->site->catalog, request, where, arena, priced->setup, jobs->site->diag);
    if (code != 0) return code;
    const int64_t ranks = type->training.plan.tensor_parallel * type->training.plan.pipeline_parallel *
                          type->training.plan.context_parallel;
    priced->n = cluster->total_gpus / ranks + 1;
    priced->step_s = arena_alloc(arena, (size_t)priced->n * sizeof *priced->step_s);
    priced->facts = arena_alloc(arena, (size_t)priced->n * sizeof *priced->facts);
    priced->messages = arena_alloc(arena, (size_t)priced->n * sizeof *priced->messages);
    priced->phases = (struct power_stage **)arena_alloc(arena, (size_t)priced->n * sizeof *priced->phases);
    if (priced->step_s == NULL || priced->facts == NULL || priced->messages == NULL || priced->phases == NULL)
        return diag_nomem(jobs->site->diag);
    for (int64_t i = 0; i < priced->n; i++) priced->step_s[i] = (double)NAN;
    return 0;
}

/* Data ranks on which the plan is possible if it is on any number of them: shards of states divide them, and a second
 * copy of the weights is shared by fewer ranks than the first. */
static int64_t checked_ranks(const struct training_config *plan)
{
    if (plan->shard_optimizer > 0)
        return plan->shard_optimizer % plan->context_parallel == 0 ? plan->shard_optimizer / plan->context_parallel
                                                                   : plan->shard_optimizer;
    return plan->shard_secondary > 0 ? 2 * plan->shard_secondary : 1;
}

/* What no number of GPUs changes is an error of the scenario. */
static int check_plan(struct jobs *jobs, const struct job_type *type)
{
    char where[DIAG_WHERE_CHARS];
    const struct training_config *plan = &type->training.plan;
    struct priced *priced = priced_of(jobs, type, 0);
    const bool has_clusters = plan->nics.clusters.n > 0 && plan->pipeline_parallel <= TRAINING_NICS_STAGES;
    const int64_t alone_gpus = plan->tensor_parallel * plan->pipeline_parallel * plan->context_parallel *
                               (has_clusters ? plan->pipeline_parallel : 1); /* so that clusters share each stage */
    const int64_t gpus = alone_gpus < (int64_t)1 << 40 ? alone_gpus * checked_ranks(plan) : alone_gpus;
    const bool has_batch = plan->global_batch > 0 || plan->global_batch_tokens > 0;
    snprintf(where, sizeof where, "jobs.types.%s.training", type->name);
    if (!has_batch)
        return diag_error(
            jobs->site->diag, SIM_E_CONFIG, where, "such as \"global_batch\": 512",
            "a job's plan needs 'global_batch' or 'global_batch_tokens', which stays when its GPUs change");
    if (plan->expert_parallel > 1) return 0; /* depends on the data ranks */
    struct training_setup alone = *priced->setup;
    alone.gpus_per_node = has_clusters                 ? 1 /* any number of GPUs fills whole nodes */
                          : gpus > alone.gpus_per_node ? gpus
                                                       : alone.gpus_per_node;
    const char *problem = training_setup_plan(&alone, gpus, true);
    char hint[TRAINING_HINT_CHARS];
    if (problem == NULL) return 0;
    training_setup_hint(&alone, problem, hint);
    return diag_error(jobs->site->diag, SIM_E_CONFIG, where,
                      hint[0] != 0 ? hint : "'orrery plan' lists plans that can be", "%s", problem);
}

bool job_type_swaps(const struct job_type *type)
{
    const struct training_config *plan = &type->training.plan;
    return plan->llm != NULL && (plan->offload.optimizer_frac > 0.0 || plan->tiers.weights != HOME_GPU ||
                                 plan->tiers.gradients != HOME_GPU || plan->tiers.optimizer != HOME_GPU ||
                                 plan->tiers.activations != HOME_GPU);
}

/* Room to count jobs by node, if some keep states there. */
static int make_nodes(const struct jobs *jobs, struct job_trainings *trainings)
{
    bool some = false;
    for (size_t i = 0; i < trainings->n_types; i++) some = some || job_type_swaps(jobs_type(jobs, i));
    if (!some || jobs->placer == NULL) return 0;
    trainings->on_node = mem_zalloc((size_t)cluster_site_nodes(jobs->cluster), sizeof *trainings->on_node);
    return trainings->on_node != NULL ? 0 : diag_nomem(jobs->site->diag);
}

int job_trainings_create(struct jobs *jobs, const struct jobs_options *options, struct job_trainings **out)
{
    const size_t n_types = jobs->config->all_types.n;
    bool some = false;
    *out = NULL;
    for (size_t i = 0; i < n_types; i++) some = some || jobs_type(jobs, i)->training.plan.llm != NULL;
    if (!some) return 0;
    struct job_trainings *trainings = mem_zalloc(1, sizeof *trainings);
    if (trainings == NULL) return diag_nomem(jobs->site->diag);
    *trainings = (struct job_trainings){.n_node_types = jobs->n_node_types, .n_types = n_types};
    trainings->priced = mem_zalloc(n_types * (size_t)jobs->n_node_types, sizeof *trainings->priced);
    *out = trainings;
    if (trainings->priced == NULL) return diag_nomem(jobs->site->diag);
    int code = make_nodes(jobs, trainings);
    for (size_t i = 0; i < n_types && code == 0; i++) {
        const struct job_type *type = jobs_type(jobs, i);
        if (type->training.plan.llm == NULL) continue;
        for (int32_t k = 0; k < jobs->n_node_types && code == 0; k++) code = make_one(jobs, type, k, options);
        if (code == 0) code = check_plan(jobs, type);
    }
    return code;
}

void job_trainings_destroy(struct job_trainings *trainings)
{
    if (trainings == NULL) return;
    mem_free(trainings->priced);
    mem_free(trainings->on_node);
    mem_free(trainings);
}

/* --- Prices --- */

/* Prices a step on `gpus` GPUs. Why it cannot be; NULL: it can. *lacking_gib: memory that it would need; 0: it is not
 * about memory. */
static const char *find_problem(const struct priced *priced, int64_t gpus, struct training_step *step,
                                double *lacking_gib)
{
    static const char *const lacking[] = {"it does not fit into the memory of a GPU",
                                          "its states do not fit into the host memory of a node ('tiers.host_memory')",
                                          "its states do not fit on the drives of a node ('tiers.disk')"};
    const char *problem = training_setup_price(priced->setup, gpus, true, step);
    *lacking_gib = 0.0;
    if (problem != NULL || step->fits) return problem;
    if (step->lacks == HOME_GPU) *lacking_gib = step->memory.total_bytes / 0x1p30;
    return lacking[step->lacks];
}

static struct job_training_facts facts_of(const struct training_setup *setup, double reserve_frac, int64_t gpus,
                                          const struct training_step *step)
{
    return (struct job_training_facts){
        .memory_frac = step->memory.total_bytes / (setup->gpu.memory_bytes * (1.0 - reserve_frac)),
        .passes_s = step->passes_s + step->bubble_s,
        .host_bytes = step->memory.host_bytes,
        .disk_bytes = step->memory.disk_bytes,
        .sequences = (double)training_plan_sequences(&setup->plan),
        .model_flop = step->model_flop,
        .hardware_flop = step->hardware_flop,
        .peak_flop_per_s = step->mfu > 0.0 ? step->model_flop / (step->mfu * step->step_s * (double)gpus) : 0.0};
}

/* Seconds of a step on `gpus` GPUs, and what else it takes; 0: it cannot be. */
static double price(struct priced *priced, const struct job_type *type, int64_t gpus, struct arena *arena,
                    int64_t ranks)
{
    struct training_step step;
    double lacking_gib;
    const char *problem = find_problem(priced, gpus, &step, &lacking_gib);
    if (problem == NULL) {
        priced->is_priced = true;
        if (step.outside_frac > priced->outside_frac) {
            priced->outside_frac = step.outside_frac;
            priced->outside_gpus = gpus;
        }
        priced->facts[ranks] = facts_of(priced->setup, type->training.plan.reserve_frac, gpus, &step);
        struct power_stage *phases = arena_alloc(arena, TRAINING_PHASES * sizeof *phases);
        if (phases != NULL) training_phases_of(&priced->setup->parts, &step, phases);
        priced->phases[ranks] = phases;
        return step.step_s;
    }
    if (priced->problem != NULL) return 0.0;
    priced->problem = problem;
    priced->problem_gpus = gpus;
    priced->lacking_gib = lacking_gib;
    return 0.0;
}

/* GPUs that the ranks of each data rank fill. */
static int64_t rank_gpus(const struct job_type *type)
{
    const struct training_config *plan = &type->training.plan;
    return plan->tensor_parallel * plan->pipeline_parallel * plan->context_parallel;
}

int32_t job_training_rank_gpus(const struct job_type *type)
{
    if (type == NULL || type->training.plan.llm == NULL) return 1;
    const int64_t gpus = rank_gpus(type);
    return gpus < INT32_MAX ? (int32_t)gpus : INT32_MAX;
}

double job_training_params(const struct jobs *jobs, const struct job_type *type)
{
    return (double)llm_parameters(&priced_of(jobs, type, 0)->setup->llm);
}

/* Data ranks on so many GPUs. */
static int64_t ranks_on(const struct job_type *type, double gpus)
{
    return (int64_t)floor(gpus + 1e-9) / rank_gpus(type);
}

static double step_s(const struct jobs *jobs, const struct job_type *type, int32_t node_type, double gpus)
{
    struct priced *priced = priced_of(jobs, type, node_type);
    const int64_t ranks = ranks_on(type, gpus);
    if (ranks < 1 || ranks >= priced->n) return 0.0;
    if (isnan(priced->step_s[ranks]))
        priced->step_s[ranks] = price(priced, type, ranks * rank_gpus(type), jobs->site->arena, ranks);
    return priced->step_s[ranks];
}

const struct power_stage *job_training_phases(const struct jobs *jobs, const struct job_type *type, int32_t node_type,
                                              double gpus, int64_t *used)
{
    if (!(step_s(jobs, type, node_type, gpus) > 0.0)) return NULL;
    *used = ranks_on(type, gpus) * rank_gpus(type);
    return priced_of(jobs, type, node_type)->phases[ranks_on(type, gpus)];
}

const struct job_training_facts *job_training_facts(const struct jobs *jobs, const struct job_type *type,
                                                    int32_t node_type, double gpus)
{
    if (type == NULL || type->training.plan.llm == NULL || !(step_s(jobs, type, node_type, gpus) > 0.0)) return NULL;
    return &priced_of(jobs, type, node_type)->facts[ranks_on(type, gpus)];
}

double job_training_asked_s(const struct jobs *jobs, const struct job_type *type, double asked)
{
    double seconds = 0.0;
    for (int32_t i = 0; i < jobs->n_node_types && !(seconds > 0.0); i++) seconds = step_s(jobs, type, i, asked);
    return seconds;
}

/* --- Jobs that meet on a node --- */

static void count_on_nodes(const struct job *job, int32_t sign)
{
    struct job_trainings *trainings = job->jobs->trainings;
    if (trainings == NULL || trainings->on_node == NULL || job->type == NULL || !job_type_swaps(job->type)) return;
    const struct job_training_facts *facts = job_training_facts(job->jobs, job->type, job->view.node_type,
                                                                gpus_of(job->holder.ugpus));
    const struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    for (const struct allocation *part = job->holder.held; part != NULL && facts != NULL; part = part->next) {
        struct met *met = &trainings->on_node[cluster->first_node + part->node];
        met->n += sign;
        met->host_bytes = met->n > 0 ? met->host_bytes + sign * facts->host_bytes : 0.0;
        met->disk_bytes = met->n > 0 ? met->disk_bytes + sign * facts->disk_bytes : 0.0;
        const struct training_tiers_config *tiers = &job->type->training.plan.tiers;
        met->excess = fmax(1.0, fmax(met->host_bytes / tiers->host_bytes, met->disk_bytes / tiers->disk_bytes));
        const struct met *most = &trainings->most;
        if (met->excess < most->excess || (met->excess == most->excess && met->n <= most->n)) continue;
        trainings->most = *met;
        trainings->meets = job->type;
    }
}

void job_training_enters(const struct job *job)
{
    count_on_nodes(job, 1);
}

void job_training_leaves(const struct job *job)
{
    count_on_nodes(job, -1);
}

/* --- What jobs have done --- */

void job_training_held(const struct job *job, sim_ns now)
{
    const struct jobs *jobs = job->jobs;
    if (jobs->trainings == NULL || job->view.state != JOB_RUNNING) return;
    const struct job_training_facts *facts = job_training_facts(jobs, job->type, job->view.node_type, job->view.gpus);
    if (facts == NULL) facts = job_training_facts(jobs, job->type, job->view.node_type, job->view.held_gpus);
    if (facts != NULL)
        jobs->trainings->peak_flop += facts->peak_flop_per_s * gpus_of(job->holder.ugpus) *
                                      sim_s_from_ns(now - job->since_ns);
}

void job_training_done(const struct job *job, sim_ns now)
{
    const struct jobs *jobs = job->jobs;
    const struct job_training_facts *facts = NULL;
    if (jobs->trainings == NULL) return;
    for (int32_t i = 0; i < jobs->n_node_types && facts == NULL; i++)
        facts = job_training_facts(jobs, job->type, i, job->view.gpus);
    if (facts == NULL) return;
    const double steps = sim_s_from_ns(job_done_ns(job, now)) / job_training_asked_s(jobs, job->type, job->view.gpus);
    jobs->trainings->model_flop += steps * facts->model_flop;
    jobs->trainings->hardware_flop += steps * facts->hardware_flop;
}

int job_trainings_emit(const struct jobs *jobs)
{
    const struct job_trainings *trainings = jobs->trainings;
    if (trainings == NULL || !(trainings->peak_flop > 0.0)) return 0;
    const int code = metric_emit(jobs->site->sink, "job.mfu", trainings->model_flop / trainings->peak_flop);
    if (code < 0) return code;
    return metric_emit(jobs->site->sink, "job.hfu", trainings->hardware_flop / trainings->peak_flop);
}

double job_training_speed(const struct jobs *jobs, const struct job_type *type, int32_t node_type, double gpus,
                          double asked)
{
    const double here_s = step_s(jobs, type, node_type, gpus), asked_s = job_training_asked_s(jobs, type, asked);
    return here_s > 0.0 && asked_s > 0.0 ? asked_s / here_s : 0.0;
}

int job_training_price(struct jobs *jobs, struct job_record *record)
{
    const struct job_type *type = job_type_find(&jobs->config->all_types, record->type);
    const bool trains = type != NULL && type->training.plan.llm != NULL;
    if (record->steps > 0 && !trains)
        return diag_error(jobs->site->diag, SIM_E_CONFIG, jobs_record_where(jobs, record->id),
                          "give its type a section 'training'",
                          "job %" PRId64 " counts steps, but its type does not say what it trains", record->id);
    if (record->steps < 0 && !(trains && type->training.steps > 0))
        return diag_error(jobs->site->diag, SIM_E_CONFIG, jobs_record_where(jobs, record->id),
                          "such as \"duration\": \"2h\", or \"steps\": 1000",
                          "job %" PRId64 " has neither a duration nor steps", record->id);
    const int64_t steps = record->steps > 0 ? record->steps : trains ? type->training.steps : 0;
    if (steps == 0) return 0;
    const bool follows = record->estimate_ns == record->duration_ns;
    const double seconds = (double)steps * job_training_asked_s(jobs, type, (double)record->gpus);
    const double most_s = 9e9;
    record->duration_ns = sim_ns_from_s(seconds < most_s ? seconds : most_s);
    if (follows) record->estimate_ns = record->duration_ns;
    return 0;
}

static struct job_messages *describe(struct jobs *jobs, struct priced *priced, int64_t gpus)
{
    struct training_step step;
    if (training_setup_price(priced->setup, gpus, true, &step) != NULL) return NULL;
    struct job_messages *messages = arena_alloc(jobs->site->arena, sizeof *messages);
    struct training_exchanges *stages = arena_alloc(jobs->site->arena,
                                                    (size_t)priced->setup->plan.pipeline * sizeof *stages);
    if (messages == NULL || stages == NULL) return NULL;
    *messages = (struct job_messages){.setup = priced->setup, .plan = priced->setup->plan, .stages = stages};
    training_exchanges_of(&priced->setup->parts, stages);
    return job_messages_ideal_s(messages) > 0.0 ? messages : NULL;
}

bool job_training_is_uneven(const struct jobs *jobs, const struct job_type *type)
{
    return priced_of(jobs, type, 0)->setup->lengths != NULL;
}

int job_training_messages(struct jobs *jobs, const struct job_type *type, int32_t node_type, double gpus,
                          struct job_messages **messages)
{
    struct priced *priced = priced_of(jobs, type, node_type);
    const int64_t ranks = ranks_on(type, gpus);
    *messages = NULL;
    if (priced->setup->lengths != NULL) return 0; /* of batches that differ nothing is claimed */
    if (!(step_s(jobs, type, node_type, gpus) > 0.0)) return 0;
    if (priced->messages[ranks] == NULL) priced->messages[ranks] = describe(jobs, priced, ranks * rank_gpus(type));
    *messages = priced->messages[ranks];
    return *messages != NULL ? 1 : SIM_E_NOMEM;
}

/* --- Warnings --- */

static int emit_warning(const struct jobs *jobs, const char *code, const char *text)
{
    const struct warning_row row = {.t_s = (double)NAN, .code = code, .text = text, .count = 1};
    return jobs->site->sink->warning(jobs->site->sink->context, &row);
}

/* "on 4 h100-sxm: it does not fit into the memory of a GPU: 88 GiB, and 74.9 are usable". */
static void say_problem(const struct job_type *type, const struct priced *priced, char *text, size_t bytes)
{
    char memory[96] = "";
    const double usable_frac = 1.0 - type->training.plan.reserve_frac, gib = 1024.0 * 1024.0 * 1024.0;
    if (priced->lacking_gib > 0.0)
        snprintf(memory, sizeof memory, ": %.4g GiB, and %.4g are usable", priced->lacking_gib,
                 usable_frac * priced->setup->gpu.memory_bytes / gib);
    snprintf(text, bytes, "on %" PRId64 " %s: %s%s", priced->problem_gpus, priced->setup->gpu.name, priced->problem,
             memory);
}

static int warn_of_problem(const struct jobs *jobs, const struct job_type *type, const struct priced *priced)
{
    char text[512], problem[256];
    say_problem(type, priced, problem, sizeof problem);
    snprintf(text, sizeof text, "jobs: type '%s' cannot train %s", type->name, problem);
    return emit_warning(jobs, "training-plan", text);
}

bool job_training_problem(const struct job *job, char *text, size_t bytes)
{
    const struct jobs *jobs = job->jobs;
    const struct job_type *type = job->type;
    if (type == NULL || type->training.plan.llm == NULL) return false;
    const int64_t ranks = ranks_on(type, job->view.gpus);
    const int32_t n_used = jobs_used_types(jobs);
    for (int32_t k = 0; k < n_used; k++) {
        struct priced met = *priced_of(jobs, type, k);
        struct training_step step;
        if (!job_has_model(jobs_view_of(job->jobs, k), job) || ranks >= met.n) continue;
        if (ranks == 0) {
            snprintf(text, bytes, "on fewer than the %" PRId64 " GPUs of a data rank", rank_gpus(type));
            return true;
        }
        met.problem_gpus = ranks * rank_gpus(type);
        met.problem = find_problem(&met, met.problem_gpus, &step, &met.lacking_gib);
        if (met.problem == NULL) continue;
        say_problem(type, &met, text, bytes);
        return true;
    }
    return false;
}

/* "; together 1900 GiB in host memory, and a node has 119 ('tiers.host_memory')", where it is not enough. */
static void say_room(char *text, size_t bytes, double used_bytes, double room_bytes, const char *what, const char *key)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    text[0] = 0;
    if (room_bytes > 0.0 && used_bytes > room_bytes)
        snprintf(text, bytes, "; they keep %.4g GiB %s, and a node has %.4g ('tiers.%s')", used_bytes / gib, what,
                 room_bytes / gib, key);
}

/* Warns of jobs that are timed as if each had CPUs of a node alone, and what else is on no link. */
static int warn_of_meeting(const struct jobs *jobs)
{
    const struct job_trainings *trainings = jobs->trainings;
    char text[640], host[120], disk[120];
    if (trainings->most.n < 2) return 0;
    const struct training_tiers_config *tiers = &trainings->meets->training.plan.tiers;
    say_room(host, sizeof host, trainings->most.host_bytes, tiers->host_bytes, "in host memory", "host_memory");
    say_room(disk, sizeof disk, trainings->most.disk_bytes, tiers->disk_bytes, "on drives", "disk");
    snprintf(text, sizeof text,
             "jobs: up to %" PRId32
             " jobs that keep states beyond their GPUs ran on one node at once, the last of type "
             "'%s', each as fast as alone on its %s%s%s",
             trainings->most.n, trainings->meets->name, job_swaps_alone_on(jobs), host, disk);
    return emit_warning(jobs, "shared-host", text);
}

/* Whether steps of these GPUs have prices. */
static bool is_priced_on(const struct priced *priced, const char *gpu)
{
    return priced->is_priced && strcmp(priced->setup->gpu.name, gpu) == 0;
}

/* Warns of the step on these GPUs with the largest share outside. */
static int warn_of_extrapolation(const struct jobs *jobs, const char *gpu)
{
    const struct job_trainings *trainings = jobs->trainings;
    const struct priced *worst = NULL;
    const char *type = "";
    char text[512], others[64] = "";
    size_t n_types = 0;
    for (size_t i = 0; i < trainings->n_types; i++) {
        bool is_outside = false;
        for (size_t k = 0; k < (size_t)trainings->n_node_types; k++) {
            const struct priced *priced = &trainings->priced[i * (size_t)trainings->n_node_types + k];
            if (!is_priced_on(priced, gpu) || !(priced->outside_frac > 0.0)) continue;
            is_outside = true;
            if (worst != NULL && priced->outside_frac <= worst->outside_frac) continue;
            worst = priced;
            type = jobs_type(jobs, i)->name;
        }
        n_types += is_outside;
    }
    if (worst == NULL) return 0;
    if (n_types > 1) snprintf(others, sizeof others, "; %zu types in all", n_types);
    snprintf(text, sizeof text,
             "jobs: %s%.3g %% of the kernels' time in a step on %" PRId64 " %s (type '%s'%s) is outside the range that "
             "its cost was fitted on",
             n_types > 1 ? "up to " : "", 100.0 * worst->outside_frac, worst->outside_gpus, gpu, type, others);
    return emit_warning(jobs, "extrapolated", text);
}

/* Warns once of GPUs, by their kernels. */
static int warn_of_kernels(const struct jobs *jobs, const struct priced *first)
{
    char text[512];
    const struct gpu_spec *gpu = &first->setup->gpu;
    if (first->setup->calibration.calibrated) return warn_of_extrapolation(jobs, gpu->name);
    if (gpu->slices > 0)
        snprintf(text, sizeof text, "jobs: no kernel of a slice was measured: times of steps follow those of %s",
                 gpu_whole_name(gpu));
    else
        snprintf(text, sizeof text, "jobs: no kernel of %s was measured: times of steps follow the fit over all GPUs%s",
                 gpu->name, gpu_vendor_caveat(gpu));
    return emit_warning(jobs, "uncalibrated", text);
}

static int warn_of_trainer(const struct jobs *jobs, const struct priced *first)
{
    char text[512];
    if (first->setup->trainer_measured) return 0;
    snprintf(text, sizeof text, "jobs: the constants of %s were not fitted on %s", first->setup->preset.name,
             first->setup->gpu.name);
    return emit_warning(jobs, "extrapolated", text);
}

/* Each GPU has one line, and each trainer on it: those of the first type and node type that have it. */
static int warn_if_first(const struct jobs *jobs, const struct priced *priced)
{
    bool has_kernels = false, has_trainer = false;
    if (!priced->is_priced) return 0;
    for (const struct priced *p = jobs->trainings->priced; p < priced; p++) {
        if (!is_priced_on(p, priced->setup->gpu.name)) continue;
        has_kernels = true;
        has_trainer = has_trainer || strcmp(p->setup->preset.name, priced->setup->preset.name) == 0;
    }
    const int code = has_kernels ? 0 : warn_of_kernels(jobs, priced);
    return code != 0 || has_trainer ? code : warn_of_trainer(jobs, priced);
}

int job_trainings_warn(const struct jobs *jobs)
{
    const struct job_trainings *trainings = jobs->trainings;
    if (trainings == NULL || jobs->site->sink->warning == NULL) return 0;
    int code = warn_of_meeting(jobs);
    for (size_t i = 0; i < trainings->n_types && code == 0; i++)
        for (int32_t k = 0; k < trainings->n_node_types && code == 0; k++) {
            const struct priced *priced = &trainings->priced[i * (size_t)trainings->n_node_types + (size_t)k];
            if (priced->problem != NULL) code = warn_of_problem(jobs, jobs_type(jobs, i), priced);
            if (code == 0) code = warn_if_first(jobs, priced);
        }
    return code;
}
