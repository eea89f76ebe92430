#include "sim/world/jobs/job_checkpoint.h"

#include "models/checkpoint.h"
#include "sim/world/jobs/job.h"
#include "sim/world/links/topology.h"
#include "sim/world/policy/checkpointing.h"
#include "sim/world/policy/instance.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const design_names[] = {"synchronous", "fastpersist", "datastates", NULL};
static const char *const keeps_names[] = {"all", "saved", NULL};

#define ROW_OF struct checkpoint_config
const struct config_field checkpoint_config_fields[] = {
    ROW_SHORT_VARIANT("policy", policy, DEFAULT("none"), "checkpointing", "policy", "interval between checkpoints"),
    ROW_CHOICE(
        "model", design, DEFAULT("synchronous"), design_names,
        "synchronous: the job waits for storage; fastpersist: slices written during the next step; datastates: through pinned host memory"),
    ROW_QUANTITY("bytes", bytes, UNIT_BYTES, OPTIONAL, POSITIVE,
                 "size of the whole state; default: params times bytes_per_param"),
    ROW_REAL("params", params, OPTIONAL, WITHIN(1, 1e15), "parameters of the model that the job trains; default: those of the LLM of its 'training'"),
    ROW_REAL("bytes_per_param", bytes_per_param, DEFAULT("14"), WITHIN(DBL_MIN, 1e3),
             "14: 16-bit weights, 32-bit weights and two moments of Adam; 16: with 16-bit gradients"),
    ROW_QUANTITY("write", write_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE, "write bandwidth of storage, all writers together"),
    ROW_QUANTITY("node_write", node_write_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "write bandwidth of each node: its drives, or its path to storage"),
    ROW_QUANTITY("gpu_copy", gpu_copy_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "datastates: bandwidth from each GPU to pinned host memory"),
    ROW_QUANTITY("gpu_buffer", gpu_buffer_bytes, UNIT_BYTES, DEFAULT("16GB"), AT_LEAST(0),
                 "datastates: pinned host memory for each GPU"),
    ROW_QUANTITY("overlap", overlap_s, UNIT_TIME, OPTIONAL, AT_LEAST(0),
                 "duration of a step's forward and backward pass, which hides writes of fastpersist and datastates; "
                 "default: that of the 'training' plan, else 0s"),
    ROW_CHOICE("preempt_keeps", preempt_keeps, DEFAULT("all"), keeps_names,
               "work kept at a preemption: all, or saved work only; a failure keeps saved work only"),
    ROW_TEXT(
        "to", to, OPTIONAL, ANY,
        "saves as flows over the network: to an entry of cluster.storage behind it, or to a \"peer\", the next node; default: by 'write' alone"),
    {0}};
#undef ROW_OF

#define ROW_OF struct load_config
const struct config_field load_config_fields[] = {
    ROW_QUANTITY("bytes", bytes, UNIT_BYTES, REQUIRED, POSITIVE, "bytes that the job reads, all its nodes together"),
    ROW_TEXT("from", from, REQUIRED, ANY, "the storage: an entry of cluster.storage behind the network"),
    {0}};
#undef ROW_OF

static const struct checkpointer *policy_of(const struct checkpoint_config *config)
{
    const struct checkpointer *policy = config->policy.entry;
    return policy != NULL && policy->interval_s != NULL ? policy : NULL;
}

static int check(const struct jobs *jobs, const struct job_type *type)
{
    const struct checkpoint_config *config = &type->checkpoint;
    const char *missing = NULL;
    char where[DIAG_WHERE_CHARS];
    if (isnan(config->bytes) && isnan(config->params) && type->training.plan.llm == NULL)
        missing = "'bytes', or 'params'";
    if (config->to == NULL && isnan(config->write_bytes_per_s) && isnan(config->node_write_bytes_per_s))
        missing = "'write' or 'node_write'";
    if (config->design == CHECKPOINT_DATASTATES && isnan(config->gpu_copy_bytes_per_s)) missing = "'gpu_copy'";
    if (missing == NULL) return 0;
    snprintf(where, sizeof where, "jobs.types.%s.checkpoint", type->name);
    return diag_error(jobs->site->diag, SIM_E_CONFIG, where, NULL, "checkpoints of jobs of type '%s' need %s",
                      type->name, missing);
}

int job_checkpoints_create(struct jobs *jobs)
{
    const struct config_list *types = &jobs->config->all_types;
    if (types->n == 0) return 0;
    jobs->checkpoint_states = mem_zalloc(types->n, sizeof *jobs->checkpoint_states);
    if (jobs->checkpoint_states == NULL) return SIM_E_NOMEM;
    int code = 0;
    for (size_t i = 0; i < types->n && code == 0; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        const struct checkpointer *policy = policy_of(&type->checkpoint);
        if (policy == NULL) continue;
        code = check(jobs, type);
        if (code == 0)
            code = policy_state_create(&policy->policy, POLICY_CHECKPOINTING, sizeof *policy,
                                       type->checkpoint.policy.params, &jobs->checkpoint_states[i], jobs->site->diag);
    }
    return code;
}

void job_checkpoints_destroy(struct jobs *jobs)
{
    const struct job_type *types = jobs->config->all_types.items;
    for (size_t i = 0; jobs->checkpoint_states != NULL && i < jobs->config->all_types.n; i++) {
        const struct checkpointer *policy = policy_of(&types[i].checkpoint);
        if (policy != NULL) policy_state_destroy(&policy->policy, jobs->checkpoint_states[i]);
    }
    mem_free(jobs->checkpoint_states);
}

/* --- Where it saves, and what it loads from --- */

static bool is_to_peer(const struct checkpoint_config *config)
{
    return config->to != NULL && strcmp(config->to, "peer") == 0;
}

/* The key and the text of a finding. */
struct saver_place {
    const char *key, *storage;
    const char *who, *what; /* "checkpoints", "go to" */
    bool saves;             /* false: it is read */
};

static int refuse(const struct jobs *jobs, const struct job_type *type, struct saver_place at, const char *hint,
                  const char *text)
{
    char where[DIAG_WHERE_CHARS];
    snprintf(where, sizeof where, "jobs.types.%s.%s", type->name, at.key);
    return diag_error(jobs->site->diag, SIM_E_CONFIG, config_where(jobs->site->config, where), hint,
                      "%s of type '%s' %s '%s', %s", at.who, type->name, at.what, at.storage, text);
}

static int check_place(const struct jobs *jobs, const struct job_type *type, struct saver_place at,
                       const struct topology *topology)
{
    const bool to_peer = at.saves && is_to_peer(&type->checkpoint);
    if (topology == NULL || !(topology_config(topology)->network.bytes_per_s > 0))
        return refuse(jobs, type, at, "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
                      "and there is no network");
    if (jobs->placer == NULL)
        return refuse(jobs, type, at, "choose a placement policy that gives nodes, and a cluster that has some",
                      "and jobs are on no nodes in particular");
    if (!to_peer && !topology_has_remote(topology, at.storage))
        return refuse(jobs, type, at,
                      at.saves ? "name an entry of cluster.storage whose device is of kind 'remote', or \"peer\""
                               : "name an entry of cluster.storage whose device is of kind 'remote'",
                      "which is no storage behind the network");
    if (to_peer && cluster_site_nodes(jobs->cluster) < 2)
        return refuse(jobs, type, at, "name storage behind the network, or add nodes",
                      "the next node of the job, and the cluster has one node");
    return 0;
}

static int check_type(const struct jobs *jobs, const struct job_type *type, const struct topology *topology)
{
    const struct saver_place saves = {"checkpoint.to", type->checkpoint.to, "checkpoints", "go to", true};
    const struct saver_place reads = {"load.from", type->load.from, "jobs", "load from", false};
    const struct saver_place data = {"data.from", type->data.from, "jobs", "read data from", false};
    int code = saves.storage != NULL ? check_place(jobs, type, saves, topology) : 0;
    if (code == 0 && reads.storage != NULL) code = check_place(jobs, type, reads, topology);
    return code == 0 && data.storage != NULL ? check_place(jobs, type, data, topology) : code;
}

int job_savers_check(const struct jobs *jobs, struct topology *topology)
{
    int code = 0;
    for (size_t i = 0; i < jobs->config->all_types.n && code == 0; i++) {
        const struct job_type *type = jobs_type(jobs, i);
        code = check_type(jobs, type, topology);
    }
    return code;
}

/* --- How it saves --- */

static double nodes_of(const struct job *job)
{
    double n = 0.0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) n++;
    const int32_t each = jobs_cluster_of(job->jobs, job->view.node_type)->gpus_per_node;
    return n > 0.0 || each == 0 ? fmax(n, 1.0) : ceil(job->view.held_gpus / each);
}

double job_checkpoint_bytes(const struct job *job)
{
    const struct checkpoint_config *config = &job->type->checkpoint;
    if (!isnan(config->bytes)) return config->bytes;
    return (isnan(config->params) ? job_training_params(job->jobs, job->type) : config->params) *
           config->bytes_per_param;
}

double job_checkpoint_overlap_s(const struct job *job)
{
    const double stated_s = job->type->checkpoint.overlap_s;
    if (!isnan(stated_s)) return stated_s;
    if (job->type->checkpoint.design == CHECKPOINT_SYNCHRONOUS) return 0.0;
    const struct job_training_facts *facts = job_training_facts(job->jobs, job->type, job->view.node_type,
                                                                job->view.held_gpus);
    if (facts == NULL) facts = job_training_facts(job->jobs, job->type, job->view.node_type, job->view.gpus);
    return facts != NULL ? facts->passes_s : 0.0;
}

static struct checkpoint_save save_of(const struct job *job)
{
    const struct checkpoint_config *config = &job->type->checkpoint;
    const bool has_flows = job_saves_by_flows(job);
    return (struct checkpoint_save){
        .design = (enum checkpoint_design)config->design,
        .bytes = job_checkpoint_bytes(job),
        .write_bytes_per_s = has_flows ? job_saver_idle_bytes_per_s(job)
                                       : fmin(config->write_bytes_per_s,
                                              config->node_write_bytes_per_s * nodes_of(job)),
        .copy_bytes_per_s = config->gpu_copy_bytes_per_s * job->view.held_gpus,
        .buffer_bytes = config->gpu_buffer_bytes * job->view.held_gpus,
        .overlap_s = job_checkpoint_overlap_s(job)};
}

static struct checkpoint_view view_of(const struct job *job, const struct checkpoint_save *save)
{
    const struct holder_risk risk = holders_risk(&job->jobs->cluster->holders, &job->holder);
    const struct checkpoint_time time = checkpoint_save_time(save, (double)INFINITY);
    const double resume_s = sim_s_from_ns(job_resume_wait_ns(job));
    return (struct checkpoint_view){
        .job = &job->view,
        .stall_s = time.stall_s,
        .flush_s = time.flush_s,
        .least_interval_s = fmax(fmax(time.flush_s, save->overlap_s), 1e-3),
        .restart_s = resume_s + risk.restart_s,
        .mtbf_s = risk.mtbf_s};
}

static int fault(const struct jobs *jobs, const struct checkpointer *policy, const struct job *job, double interval_s)
{
    return diag_error(jobs->site->diag, SIM_E_POLICY, "jobs", NULL,
                      "policy '%s' has job %lld save its state every %.15g s, at %.15g s", policy->policy.name,
                      (long long)job->view.id, interval_s, sim_s_from_ns(engine_now(jobs->site->engine)));
}

/* The mean over jobs has the interval that the policy of each chose last, and no job for which that was no saves, or
 * that lasts longer than clocks can tell. */
static void note_interval(struct job *job, double interval_s)
{
    struct job_stats *stats = &job->jobs->stats;
    const bool saves = sim_ns_from_s(interval_s) < SIM_NS_MAX;
    if (!saves) interval_s = 0.0;
    stats->n_intervals += (int64_t)saves - (int64_t)job->has_interval;
    stats->interval_s += interval_s - job->save_interval_s;
    if (stats->n_intervals == 0) stats->interval_s = 0.0; /* no rounding is left */
    job->has_interval = saves;
    job->save_interval_s = interval_s;
}

/* The interval that the policy chooses; INFINITY: no saves. */
static double interval_of(struct job *job, const struct checkpoint_save *save)
{
    const struct jobs *jobs = job->jobs;
    const struct checkpointer *policy = policy_of(&job->type->checkpoint);
    const struct checkpoint_view view = view_of(job, save);
    void *state = jobs->checkpoint_states[job->type - jobs_type(jobs, 0)];
    const double wanted_s = policy->interval_s(state, &view);
    const double interval_s = fmax(wanted_s, view.least_interval_s);
    job->never_saves = isinf(wanted_s);
    if (wanted_s >= 0.0) {
        note_interval(job, interval_s);
        return interval_s;
    }
    engine_fail(jobs->site->engine, fault(jobs, policy, job, wanted_s));
    return (double)INFINITY;
}

sim_ns job_checkpoint_interval_ns(struct job *job)
{
    const struct checkpoint_save save = save_of(job);
    if (!(save.write_bytes_per_s > 0.0)) return 0;
    const double interval_s = interval_of(job, &save);
    return isinf(interval_s) ? 0 : sim_ns_from_s(interval_s);
}

struct job_saves job_checkpoint_saves(struct job *job)
{
    const struct job_saves none = {0};
    if (!job_checkpoint_is_taken(job) || job->view.gpus == 0 || job_saves_by_flows(job)) return none;
    const struct checkpoint_save save = save_of(job);
    const double interval_s = interval_of(job, &save);
    if (isinf(interval_s)) return none;
    const struct checkpoint_time time = checkpoint_save_time(&save, interval_s);
    return (struct job_saves){.interval_ns = sim_ns_from_s(interval_s),
                              .stall_ns = sim_ns_from_s(time.stall_s),
                              .flush_ns = sim_ns_from_s(time.flush_s)};
}

bool job_checkpoint_is_taken(const struct job *job)
{
    return job->type != NULL && policy_of(&job->type->checkpoint) != NULL;
}

sim_ns job_checkpoint_save_ns(const struct job *job)
{
    const struct checkpoint_save save = save_of(job);
    const struct checkpoint_time time = checkpoint_save_time(&save, (double)INFINITY);
    return sim_ns_add(sim_ns_from_s(time.stall_s), sim_ns_from_s(time.flush_s));
}

bool job_checkpoint_keeps_saved(const struct job *job)
{
    return job->type != NULL && job->type->checkpoint.preempt_keeps == CHECKPOINT_KEEPS_SAVED;
}

bool job_checkpoint_falls_back(const struct job *job)
{
    return job_checkpoint_keeps_saved(job) || (job_checkpoint_is_taken(job) && !(job->progress.speed > 0.0));
}

void job_checkpoint_lost(struct job *job)
{
    struct jobs *jobs = job->jobs;
    if (!job->never_saves || job->progress.saved_ns > 0 || !(job->unsaved_gpu_s > 0.0)) return;
    if (jobs->n_never_saved++ == 0) jobs->never_saved = job->type;
}

int job_checkpoints_warn(const struct jobs *jobs)
{
    char text[DIAG_TEXT_CHARS];
    if (jobs->n_never_saved == 0 || jobs->site->sink->warning == NULL) return 0;
    snprintf(text, sizeof text,
             "jobs of type '%s' lost all their work, but never save: '%s' expects no loss; it foresees no outages, "
             "available instances, preemptions, or hangs when spot GPUs are taken back; \"policy\": \"periodic\" saves",
             jobs->never_saved->name, policy_of(&jobs->never_saved->checkpoint)->policy.name);
    const struct warning_row row = {.t_s = (double)NAN, .code = "never-saves", .text = text,
                                    .count = jobs->n_never_saved};
    return jobs->site->sink->warning(jobs->site->sink->context, &row);
}

void jobs_explain_stall(const struct jobs *jobs)
{
    const struct job *worst = NULL;
    for (const struct job *job = jobs->oldest; job != NULL; job = job->next)
        if (job->lost_gpu_s > (worst != NULL ? worst->lost_gpu_s : 0.0)) worst = job;
    if (worst == NULL) return;
    const double work_s = sim_s_from_ns(worst->progress.work_ns);
    diag_warning(jobs->site->diag, NULL,
                 job_checkpoint_is_taken(worst)
                     ? "save more often, or have failures and the scheduler take GPUs away less often"
                 : job_checkpoint_keeps_saved(worst)
                     ? "give its 'checkpoint' a policy that saves, or set its 'preempt_keeps' to \"all\""
                     : "give its type a 'checkpoint', or have failures take GPUs away less often",
                 "job %" PRId64 " may never end, as it loses what it gains: failures took its GPUs %" PRId32
                 " times and the scheduler %" PRId32
                 " times, it did work of %.4g GPU s in vain and has kept %.4g s of its %.4g s",
                 worst->view.id, worst->restarts, worst->view.preemptions, worst->lost_gpu_s,
                 sim_s_from_ns(worst->progress.saved_ns), work_s);
}

/* --- Flows in an idle network --- */

struct job_idle_flows job_idle_flows(const struct job *job, const struct link_path *path, bool to_peer, int32_t n)
{
    struct topology *topology = job->jobs->topology;
    const struct network_config *network = &topology_config(topology)->network;
    struct job_idle_flows idle = {n, n * network->bytes_per_s, path != NULL ? path->latency_ns : network->latency_ns};
    for (int32_t k = 0; !to_peer && k < path->n; k++)
        if (topology_is_shared(topology, path->links[k]))
            idle.bytes_per_s = fmin(idle.bytes_per_s, link_bytes_per_s(path->links[k]));
    return idle;
}

sim_ns job_idle_ns(const struct job_idle_flows *idle, int64_t slice_bytes)
{
    return sim_ns_from_s((double)slice_bytes * idle->n / fmax(idle->bytes_per_s, 1.0));
}

sim_ns job_idle_whole_ns(const struct job_idle_flows *idle, int64_t bytes)
{
    if (idle->n == 0) return 0;
    return sim_ns_add(idle->latency_ns, job_idle_ns(idle, bytes / idle->n + (bytes % idle->n > 0)));
}

/* Nodes of a job that does not run: the fewest that hold its GPUs, or as many as it asks for. */
static int32_t expected_nodes(const struct job *job)
{
    const int32_t each = jobs_cluster_of(job->jobs, job->view.node_type)->gpus_per_node;
    const int32_t fewest = each > 0 ? (job->view.gpus + each - 1) / each : 1;
    return job->view.nodes > fewest ? job->view.nodes : fewest > 1 ? fewest : 1;
}

sim_ns job_expected_read_ns(const struct job *job)
{
    if (job->activity == NULL) return 0;
    const char *to = job->type->checkpoint.to;
    const bool to_peer = is_to_peer(&job->type->checkpoint);
    const int32_t n_nodes = expected_nodes(job);
    const bool restores = job_done_ns(job, 0) > 0 && job_saves_by_flows(job) && (!to_peer || n_nodes > 1);
    if (!restores && !job_loads(job)) return 0;
    const bool from_peer = restores && to_peer;
    const struct graph_nic nic = {jobs_cluster_of(job->jobs, job->view.node_type)->first_node, 0};
    const bool has_nics = topology_config(job->jobs->topology)->network.per == NETWORK_PER_GPU && job->view.gpus > 0;
    struct link_path path;
    if (!from_peer &&
        topology_storage_path(job->jobs->topology, nic, restores ? to : job->type->load.from, false, &path))
        return 0;
    const struct job_idle_flows idle = job_idle_flows(job, from_peer ? NULL : &path, from_peer,
                                                      has_nics ? job->view.gpus : n_nodes);
    return job_idle_whole_ns(&idle, (int64_t)fmin(restores ? job_checkpoint_bytes(job) : job->type->load.bytes, 9e18));
}
