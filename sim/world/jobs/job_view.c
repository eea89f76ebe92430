/* What schedulers and placers see of jobs and of their cluster, also what CPUs and memory do to a job's speed. */
#include "sim/world/jobs/job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void job_set_node_type(struct job *job, int32_t node_type)
{
    job->view.node_type = node_type;
    job->holder.cluster = jobs_cluster_of(job->jobs, node_type);
}

static void refresh(struct cluster_view *view, const struct cluster *cluster, sim_ns now)
{
    view->now_ns = now;
    view->free_gpus = cluster->free_gpus;
    view->free_amount = cluster_free_amount(cluster);
    view->total_gpus = cluster->total_gpus;
    if (cluster->n_nodes > 0) view->total_gpus -= cluster->group_gpus.value + cluster->down_gpus;
    if (cluster->total_gpus < INT64_MAX) view->total_gpus -= cluster_kept_gpus(cluster);
    view->capacity_epoch = cluster->capacity_epoch;
    view->n_spare_nodes = cluster->n_spare_nodes;
}

static void refresh_requests(struct cluster_view *view, struct jobs *jobs)
{
    if (view->nodes == NULL) return;
    view->requests = jobs->requests.items;
    view->n_requests = jobs->requests.n;
}

void jobs_refresh_view(struct jobs *jobs)
{
    const sim_ns now = engine_now(jobs->site->engine);
    const struct cluster *cluster = jobs->cluster;
    refresh(&jobs->view, cluster, now);
    refresh_requests(&jobs->view, jobs);
    for (int32_t i = 1; i < jobs->n_node_types; i++) {
        struct cluster_view *view = jobs_view_of(jobs, i);
        cluster = cluster->next;
        refresh(view, cluster, now);
        refresh_requests(view, jobs);
        view->n_pending = jobs->view.n_pending;
        view->n_running = jobs->view.n_running;
    }
}

static void describe(struct cluster_view *view, const struct cluster *cluster, bool has_placer)
{
    view->gpu = cluster->gpu;
    if (!has_placer || cluster->n_nodes == 0) return;
    view->n_nodes = cluster->n_nodes;
    view->gpus_per_node = cluster->gpus_per_node;
    view->node_free_gpus = cluster->node_free_gpus;
    view->cluster = cluster;
    if (cluster->resources == NULL) return;
    view->nodes = cluster->resources->nodes;
    view->changed_nodes = &cluster->resources->changed;
}

int jobs_make_views(struct jobs *jobs)
{
    const struct cluster *cluster = jobs->cluster;
    for (jobs->n_node_types = 1; cluster->next != NULL; cluster = cluster->next) jobs->n_node_types++;
    if (jobs->n_node_types > 1) jobs->next_views = mem_zalloc((size_t)jobs->n_node_types - 1, sizeof *jobs->next_views);
    if (jobs->n_node_types > 1 && jobs->next_views == NULL) return SIM_E_NOMEM;
    cluster = jobs->cluster;
    for (int32_t i = 0; i < jobs->n_node_types; i++, cluster = cluster->next) {
        struct cluster_view *view = jobs_view_of(jobs, i);
        describe(view, cluster, jobs->placer != NULL);
        view->random = &jobs->random;
        view->nodes_per_rack = cluster->nodes_per_rack;
        view->nodes_per_pod = cluster->nodes_per_pod;
        view->next_type = i + 1 < jobs->n_node_types ? jobs_view_of(jobs, i + 1) : NULL;
    }
    return 0;
}

/* --- Jobs --- */

sim_ns job_view_executed_ns(const struct cluster_view *view, const struct job_view *job)
{
    return job_executed_ns(job_of(job), view->now_ns);
}

static void require_oracle(const struct job_view *job)
{
    struct jobs *jobs = job_of(job)->jobs;
    if (!(jobs->scheduler->policy.oracle & ORACLE_DURATION))
        job_plan_fault(jobs, "reads, without declaring it, the true run time of", job);
}

static void require_speeds(const struct job_view *job)
{
    struct jobs *jobs = job_of(job)->jobs;
    if (!(jobs->scheduler->policy.oracle & ORACLE_SPEEDS))
        job_plan_fault(jobs, "reads, without declaring it, the exact speed of", job);
}

sim_ns job_view_remaining_ns(const struct cluster_view *view, const struct job_view *job)
{
    require_oracle(job);
    return job_remaining_ns(job_of(job), view->now_ns);
}

sim_ns job_view_remaining_work_ns(const struct cluster_view *view, const struct job_view *job)
{
    require_oracle(job);
    return job_of(job)->progress.work_ns - job_done_ns(job_of(job), view->now_ns);
}

/* Wait of the next start, with what the job reads then. */
static sim_ns next_wait_ns(const struct job *job)
{
    return sim_ns_add(job_owed_wait_ns(job), job_expected_read_ns(job));
}

/* The progress of a running job as its scheduler expects it. */
static struct job_progress progress_at(const struct job *job, sim_ns now)
{
    struct job_progress progress = job->progress;
    job_progress_move(&progress, now);
    job_saver_expect(job, now, &progress);
    return progress;
}

/* Time for `left_ns` of work: at the job's speed if it runs, else at speed 1 after its start's wait. */
static sim_ns time_for(const struct job *job, sim_ns left_ns, sim_ns now)
{
    if (job->view.state != JOB_RUNNING) return sim_ns_add(left_ns, next_wait_ns(job));
    struct job_progress progress = progress_at(job, now);
    progress.work_ns = progress.done_ns + left_ns;
    const sim_ns end_ns = job_progress_end_ns(&progress);
    return end_ns < SIM_NS_MAX ? end_ns - now : SIM_NS_MAX;
}

/* Share of the job's run time that is done. */
static double work_frac(const struct cluster_view *view, const struct job *job)
{
    const sim_ns work_ns = job->progress.work_ns;
    return work_ns > 0 ? (double)job_done_ns(job, view->now_ns) / (double)work_ns : 0;
}

struct job_epochs job_view_epochs(const struct cluster_view *view, const struct job_view *job)
{
    static const struct config_list none;
    const struct job *of = job_of(job);
    return job_regimes_epochs(of->type != NULL ? &of->type->regimes : &none, work_frac(view, of));
}

double job_view_steps_per_s(const struct cluster_view *view, const struct job_view *job)
{
    const struct job *of = job_of(job);
    return of->type != NULL ? job_regimes_steps_per_s(&of->type->regimes, work_frac(view, of)) : 0;
}

sim_ns job_view_estimated_remaining_ns(const struct cluster_view *view, const struct job_view *job)
{
    const struct job *of = job_of(job);
    if (of->type != NULL && of->type->regimes.n > 0) {
        const struct job_epochs epochs = job_view_epochs(view, job);
        const double left_s = (1 - epochs.done_frac) * sim_s_from_ns(job->estimate_ns) /
                              epochs.modes[epochs.mode].speed;
        return time_for(of, sim_ns_from_s(left_s > 0 ? left_s : 0), view->now_ns);
    }
    const sim_ns left_ns = job->estimate_ns - job_done_ns(of, view->now_ns);
    return time_for(of, left_ns > 0 ? left_ns : 0, view->now_ns);
}

sim_ns job_view_wait_ns(const struct cluster_view *view, const struct job_view *job)
{
    const struct job *of = job_of(job);
    if (job->state != JOB_RUNNING) return next_wait_ns(of);
    const struct job_progress progress = progress_at(of, view->now_ns);
    return sim_ns_add(progress.move_ns, progress.wait_ns);
}

bool job_has_model(const struct cluster_view *view, const struct job *job)
{
    if (view->cluster == NULL || view->cluster->resources == NULL) return true;
    return (job->jobs->requests.items[job->view.request].gpu_models & view->cluster->resources->model_set) != 0;
}

double job_speed_on(const struct job *job, const struct cluster_view *view, double gpus)
{
    const struct jobs *jobs = job->jobs;
    if (job->type == NULL || job->type->training.plan.llm == NULL)
        return job_type_speed(job->type, view->gpu, gpus, job->view.gpus);
    const int32_t node_type = view == &jobs->view ? 0 : 1 + (int32_t)(view - jobs->next_views);
    return job_training_speed(jobs, job->type, node_type, gpus, job->view.gpus);
}

/* Number of the node type of a view. */
static int32_t number_of(const struct cluster_view *view, const struct job *job)
{
    int32_t node_type = 0;
    while (jobs_view_of(job->jobs, node_type) != view) node_type++;
    return node_type;
}

double job_view_speed_on(const struct cluster_view *view, const struct job_view *job, double gpus)
{
    if (job->gpus == 0) return 1.0;
    const struct job *of = job_of(job);
    if (!job_has_model(view, of)) return 0.0;
    if (of->type != NULL && goodput_is_given(&of->type->goodput)) return job_goodput_on(of, number_of(view, of), gpus);
    return job_speed_on(of, view, gpus);
}

int32_t job_view_rank_gpus(const struct job_view *job)
{
    return job_training_rank_gpus(job_of(job)->type);
}

double job_view_shared_speed(const struct cluster_view *view, const struct job_view *const *jobs, int32_t n, int32_t i)
{
    if (n > 1) require_speeds(jobs[i]);
    return jobs_shared_speed(view, jobs, n, i);
}

double jobs_shared_speed(const struct cluster_view *view, const struct job_view *const *jobs, int32_t n, int32_t i)
{
    const struct job *members[INTERLEAVING_MOST];
    if (n < 1 || n > INTERLEAVING_MOST) return 0;
    for (int32_t k = 0; k < n; k++) {
        const struct job_view *member = jobs[(i + k) % n];
        if (member->gpus != jobs[i]->gpus || member->gpus == 0 || !job_has_model(view, job_of(member))) return 0;
        members[k] = job_of(member);
    }
    return job_group_speed(members, n, number_of(view, members[0]));
}

bool job_view_possible_on(const struct cluster_view *view, const struct job_view *job)
{
    struct jobs *jobs = job_of(job)->jobs;
    if (!(job_view_speed_on(view, job, job->gpus) > 0)) return false;
    if (jobs->placer == NULL || view->n_nodes == 0 || jobs->placer->possible == NULL) return true;
    return jobs->placer->possible(jobs->placer_states[number_of(view, job_of(job))], view, job);
}

struct job_demand job_view_demand(const struct cluster_view *view, const struct job_view *job)
{
    require_speeds(job);
    return job_sharing_demand(job_of(job), number_of(view, job_of(job)));
}

sim_ns job_remaining_ns(const struct job *job, sim_ns now)
{
    return time_for(job, job->progress.work_ns - job_done_ns(job, now), now);
}

/* --- Memory of jobs --- */

void job_pools_init(struct jobs *jobs)
{
    const size_t slot_bytes = jobs->scheduler->job_bytes;
    jobs->has_slots_apart = slot_bytes > CACHE_LINE_BYTES;
    pool_init(&jobs->pool, sizeof(struct job) + (jobs->has_slots_apart ? 0 : slot_bytes));
    pool_init_lines(&jobs->slots, slot_bytes);
    pool_init(&jobs->activities, sizeof(struct job_activity));
}

struct job *job_take(struct jobs *jobs)
{
    struct job *job = pool_take(&jobs->pool);
    if (job == NULL) return NULL;
    memset(job, 0, sizeof *job);
    job->slot = jobs->has_slots_apart ? pool_take(&jobs->slots) : job + 1;
    if (job->slot == NULL) return NULL;
    memset(job->slot, 0, jobs->scheduler->job_bytes);
    return job;
}

void job_give_back(struct job *job)
{
    struct jobs *jobs = job->jobs;
    if (jobs->has_slots_apart) pool_give(&jobs->slots, job->slot);
    pool_give(&jobs->pool, job);
}

void *job_view_slot(const struct job_view *job)
{
    return job_of(job)->slot;
}

void job_view_prefetch(const struct job_view *job)
{
    job_prefetch(job_of(job));
}

int32_t cluster_view_next_node(const struct cluster_view *view, int32_t low, int32_t high, int32_t from)
{
    return cluster_next_node(view->cluster, low, high, from);
}

int32_t cluster_view_nodes_with(const struct cluster_view *view, int32_t free_gpus)
{
    return view->cluster->nodes_by_free[free_gpus].n_members;
}

/* --- What can never run --- */

const char job_never_fits[] = "would never find";

int32_t jobs_request_index(struct jobs *jobs)
{
    if (jobs->cluster->resources == NULL) return 0;
    struct resource_request request = resource_request_of(&jobs->record, jobs->cluster->models);
    const struct job_type *type = job_type_find(&jobs->config->all_types, jobs->record.type);
    if (type != NULL && request.gpus > 0) host_needs_fill(&type->host, &jobs->share_of_gpu, &request);
    return resource_requests_index(&jobs->requests, &request);
}

/* --- CPUs and memory --- */

int jobs_check_hosts(struct jobs *jobs)
{
    int code = 0;
    jobs->share_of_gpu = cluster_share_of_gpu(jobs->cluster);
    for (size_t i = 0; i < jobs->config->all_types.n; i++) {
        const struct job_type *type = jobs_type(jobs, i);
        const bool lacks_cpus = type->host.cpus.n > 0 && jobs->share_of_gpu.cpu_milli == 0;
        const bool lacks_memory = type->host.memory.n > 0 && jobs->share_of_gpu.memory_bytes == 0;
        char where[DIAG_WHERE_CHARS];
        snprintf(where, sizeof where, "jobs.types.%s.host", type->name);
        const int checked = host_needs_check(&type->host, jobs->site->config, where, jobs->site->diag);
        const char *at = config_where(jobs->site->config, where);
        if (checked != 0) code = checked;
        if (lacks_cpus || lacks_memory)
            code = diag_error(jobs->site->diag, SIM_E_CONFIG, at, "leave it out, or say how much each node has",
                              "needs '%s', and nodes with GPUs",
                              lacks_cpus ? "cluster.cpus_per_node" : "cluster.memory_per_node");
        else if (host_needs_given(&type->host) && jobs->placer == NULL)
            code = diag_error(jobs->site->diag, SIM_E_CONFIG, at, "choose another placement, such as \"best-fit\"",
                              "needs jobs on nodes, and the placement policy only counts GPUs");
    }
    return code;
}

/* The speed with `amount` relative to that with what the job asked for. */
static double relative_speed(const struct job *job, const struct host_amount *amount)
{
    const struct host_needs *needs = &job->type->host;
    const struct host_amount asked = host_amount_of(&job->jobs->requests.items[job->view.request]);
    const double speed = host_needs_speed(needs, amount), before = host_needs_speed(needs, &asked);
    return before > 0.0 && before < (double)INFINITY ? speed / before : 1.0;
}

/* All GPUs wait for the node that has least. */
double job_host_speed(const struct job *job)
{
    struct host_amount amount = {(double)INFINITY, (double)INFINITY};
    if (job->view.gpus == 0 || job->holder.held == NULL || job->jobs->cluster->resources == NULL) return 1.0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        const double gpus = part->gpus * (part->details.gpu_milli / 1000.0);
        amount.cpus = fmin(amount.cpus, (double)part->details.cpu_milli / 1000.0 / gpus);
        amount.bytes = fmin(amount.bytes, (double)part->details.memory_bytes / gpus);
    }
    return relative_speed(job, &amount);
}

/* Whether CPUs or memory change the speed of the job. */
static bool has_host_needs(const struct job *job)
{
    return job->view.gpus > 0 && job->type != NULL && host_needs_given(&job->type->host) &&
           job->jobs->cluster->resources != NULL;
}

double job_view_host_speed(const struct cluster_view *view, const struct job_view *job, const struct job_host *host)
{
    const struct job *of = job_of(job);
    (void)view;
    require_speeds(job);
    if (!has_host_needs(of)) return 1.0;
    struct resource_request request = of->jobs->requests.items[job->request];
    request.cpu_milli = host->cpu_milli;
    request.memory_bytes = host->memory_bytes;
    const struct host_amount amount = host_amount_of(&request);
    return relative_speed(of, &amount);
}

struct job_host job_view_host_best(const struct cluster_view *view, const struct job_view *job)
{
    const struct job *of = job_of(job);
    (void)view;
    require_speeds(job);
    if (of->jobs->cluster->resources == NULL) return (struct job_host){0, 0};
    const struct resource_request *request = &of->jobs->requests.items[job->request];
    struct job_host best = {request->cpu_milli, request->memory_bytes};
    if (!has_host_needs(of)) return best;
    const struct host_amount asked = host_amount_of(request), each = host_needs_best(&of->type->host, &asked);
    const double gpus = request->gpu_milli < 1000 ? request->gpu_milli / 1000.0 : 1.0;
    if (of->type->host.cpus.n > 0) best.cpu_milli = (int64_t)ceil(each.cpus * 1000 * gpus - 1e-6) * request->gpus;
    if (of->type->host.memory.n > 0) best.memory_bytes = (int64_t)ceil(each.bytes * gpus) * request->gpus;
    return best;
}

bool job_view_next_part(const struct job_view *job, struct job_part *part)
{
    const struct allocation *before = part->place, *first = job->state == JOB_RUNNING ? job_of(job)->holder.held : NULL,
                            *at = before != NULL ? before->next : first;
    if (at == NULL) return false;
    *part = (struct job_part){at->node, at->gpus, at->details.cpu_milli, at->details.memory_bytes, at};
    return true;
}

bool jobs_can_run(struct jobs *jobs, struct job *job)
{
    jobs_refresh_view(jobs);
    for (int32_t i = 0; i < jobs_used_types(jobs); i++)
        if (job_is_possible_on(job, i, job->view.gpus)) return true;
    return false;
}

int64_t jobs_most_gpus(struct jobs *jobs)
{
    int64_t most = 0;
    jobs_refresh_view(jobs);
    for (int32_t i = 0; i < jobs_used_types(jobs); i++) {
        const struct cluster *cluster = jobs_cluster_of(jobs, i);
        const int64_t kept = cluster->claimed_gpus - cluster->returnable_gpus - cluster_missing_gpus(cluster);
        const int64_t gpus = jobs_view_of(jobs, i)->total_gpus - kept;
        if (gpus > most) most = gpus;
    }
    return most;
}
