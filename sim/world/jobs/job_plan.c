/* The actions of schedulers, applied as they ask for them. */
#include "sim/world/jobs/job.h"
#include "sim/world/policy/instance.h"
#include "sim/world/rows/priority.h"

#include "sim/core/check.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void job_plan_blame(struct jobs *jobs, const struct policy *policy, const char *format, ...)
{
    if (jobs->plan.code < 0) return;
    char text[DIAG_TEXT_CHARS], where[DIAG_WHERE_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(where, sizeof where, "jobs.%s", policy->family == POLICY_SCHEDULER ? "scheduler" : "placement");
    double now_s = sim_s_from_ns(engine_now(jobs->site->engine));
    jobs->plan.code = diag_error(jobs->site->diag, SIM_E_POLICY, where, NULL, "policy '%s' %s, at %.15g s", policy->name,
                                 text, now_s);
}

void job_plan_fault(struct jobs *jobs, const char *what, const struct job_view *job)
{
    job_plan_blame(jobs, &jobs->scheduler->policy, "%s job %lld", what, (long long)job->id);
}

void job_plan_begin(struct jobs *jobs)
{
    struct job_plan *plan = &jobs->plan;
    plan->jobs = jobs;
    plan->number++;
    plan->wake_ns = SIM_NS_MAX;
    plan->n_actions = 0;
}

/* Free GPUs of the node type the job runs on. */
static double free_gpus_for(const struct job *job)
{
    return cluster_free_amount(job->holder.cluster);
}

int32_t job_plan_add_action(struct job_plan *plan, struct job *job, const char *name, const char *reason)
{
    if (plan->jobs->site->sink->decision == NULL) return -1;
    const struct job_action action = {.job = job, .name = name, .reason = reason, .gpus = gpus_of(job->holder.ugpus),
                                      .free_gpus = free_gpus_for(job), .cluster = job->holder.cluster};
    const int code = vec_push(&plan->actions, &plan->n_actions, &plan->actions_capacity, action);
    if (code != 0) plan->code = code;
    return code == 0 ? plan->n_actions - 1 : -1;
}

static void undo_preemption(struct job_plan *plan, struct job *job)
{
    job->view.preemptions--;
    plan->jobs->stats.n_preemptions--;
    if (job->preempt_action < 0) return;
    struct job_action *preemption = &plan->actions[job->preempt_action];
    preemption->job = NULL;
    /* The actions since then saw its GPUs as free. */
    for (int32_t i = job->preempt_action + 1; i < plan->n_actions; i++) {
        struct job_action *action = &plan->actions[i];
        if (action->cluster == preemption->cluster) action->free_gpus -= preemption->freed_gpus;
    }
}

static int grow_placement(struct placement *placement, int32_t capacity)
{
    if (capacity <= placement->capacity) return 0;
    int32_t *nodes = mem_realloc(placement->nodes, (size_t)capacity * sizeof *nodes);
    if (nodes != NULL) placement->nodes = nodes;
    int32_t *gpus = mem_realloc(placement->gpus, (size_t)capacity * sizeof *gpus);
    if (gpus != NULL) placement->gpus = gpus;
    if (nodes == NULL || gpus == NULL) return SIM_E_NOMEM;
    placement->capacity = capacity;
    return 0;
}

/* The job's request with `gpus` GPUs: CPU and memory in proportion. More GPUs than the one of a share are whole.
 * Returns the number of that request, 0 unless node resources are tracked, or -1 when out of memory. */
static int32_t request_with(struct job *job, int32_t gpus, struct resource_request *request)
{
    struct resource_requests *requests = &job->jobs->requests;
    *request = (struct resource_request){.gpus = gpus, .gpu_milli = 1000};
    if (job->jobs->cluster->resources == NULL) return 0;
    *request = requests->items[job->view.request];
    if (request->gpus == gpus) return job->view.request;
    request->cpu_milli = request->cpu_milli * gpus / request->gpus;
    request->memory_bytes = request->memory_bytes / request->gpus * gpus;
    request->gpus = gpus;
    request->gpu_milli = 1000;
    return resource_requests_index(requests, request);
}

/* The same with other CPUs and memory, unless `host` is NULL. */
static int32_t request_of(struct job *job, int32_t gpus, const struct job_host *host, struct resource_request *request)
{
    const int32_t index = request_with(job, gpus, request);
    if (host == NULL || index < 0 || job->jobs->cluster->resources == NULL) return index;
    request->cpu_milli = host->cpu_milli;
    request->memory_bytes = host->memory_bytes;
    return resource_requests_index(&job->jobs->requests, request);
}

/* Placers read the job's request: shows the job as if it had requested `gpus`. Returns the view to restore. */
static struct job_view show_as(struct job *job, int32_t gpus, int32_t request)
{
    const struct job_view asked = job->view;
    if (request != asked.request) jobs_refresh_view(job->jobs);
    job->view.gpus = gpus;
    job->view.request = request;
    return asked;
}

bool job_is_possible_on(struct job *job, int32_t node_type, double gpus)
{
    struct jobs *jobs = job->jobs;
    const struct cluster_view *view = jobs_view_of(jobs, node_type);
    const struct cluster *cluster = jobs_cluster_of(jobs, node_type);
    struct resource_request request;
    const int64_t claimed = cluster->claimed_gpus - cluster->returnable_gpus - cluster_missing_gpus(cluster);
    if (gpus + (double)claimed > (double)view->total_gpus + (double)cluster_kept_gpus(cluster)) return false;
    if (!(job_view_speed_on(view, &job->view, gpus) > 0)) return false;
    if (jobs->placer == NULL || view->n_nodes == 0 || jobs->placer->possible == NULL) return true;
    const int32_t index = request_with(job, (int32_t)gpus, &request);
    if (index < 0) return false;
    const struct job_view asked = show_as(job, (int32_t)gpus, index);
    const bool is_possible = jobs->placer->possible(jobs->placer_states[node_type], view, &job->view);
    job->view = asked;
    return is_possible;
}

/* Takes GPUs of the job's node type where `where` says, or if it is NULL, where the placer says. CPUs and memory are
 * those of `host`, or if it is NULL, of its request. Returns 1, 0 if there is no room, or a negative code. */
static int place(struct job *job, int32_t gpus, const struct job_host *host, const struct placement *where)
{
    struct jobs *jobs = job->jobs;
    struct placement *placement = &jobs->placement;
    struct resource_request request;
    const int32_t index = request_of(job, gpus, host, &request);
    const struct cluster_view *view = jobs_view_of(jobs, job->view.node_type);
    int code = index < 0 ? SIM_E_NOMEM : grow_placement(placement, gpus < view->n_nodes ? gpus + 1 : view->n_nodes);
    if (code < 0) return code;
    placement->n = 0;
    placement->gpu = -1;
    if (where == NULL) {
        const struct job_view asked = show_as(job, gpus, index);
        const int found = jobs->placer->place(jobs->placer_states[job->view.node_type], view, &job->view, placement);
        job->view = asked;
        if (found < 0 && jobs->plan.code == 0)
            return policy_failed(&jobs->placer->policy, "place", found, view->now_ns, jobs->site->diag);
        if (found <= 0) return found;
    }
    code = cluster_take_request(jobs_cluster_of(jobs, job->view.node_type), view->now_ns, &request,
                                where != NULL ? where : placement, &job->holder.held);
    if (code == 0) job->place_speed = job_has_traffic(job) ? 1.0 : jobs_place_speed(jobs, job->holder.held);
    if (code == SIM_E_POLICY)
        job_plan_blame(jobs, where != NULL ? &jobs->scheduler->policy : &jobs->placer->policy,
                       "puts job %lld on GPUs that are not free, or on another number than requested",
                       (long long)job->view.id);
    return code < 0 ? code : 1;
}

/* Takes `ugpus` of the job's node type. `host` and `where` as for place(), and so is the result. */
static int take(struct job *job, int64_t ugpus, const struct job_host *host, const struct placement *where)
{
    struct jobs *jobs = job->jobs;
    struct cluster *cluster = jobs_cluster_of(jobs, job->view.node_type);
    if (jobs->placer != NULL && cluster->n_nodes > 0) return place(job, (int32_t)job_gpus(job, ugpus), host, where);
    return cluster_take(cluster, jobs->view.now_ns, ugpus, NULL, &job->holder.held) == 0;
}

static const char *state_name(enum job_state state)
{
    static const char *const names[] = {"pending", "running", "finished", "rejected"};
    return names[state];
}

/* Whether the grant is possible; if not, that is a fault of the scheduler. */
static bool is_sound(const struct job *job, const struct job_grant *grant, const char *reason)
{
    struct jobs *jobs = job->jobs;
    const struct policy *policy = &jobs->scheduler->policy;
    const long long id = job->view.id;
    if (job->view.state != JOB_PENDING)
        job_plan_blame(jobs, policy, "starts job %lld, which is %s (reason: %s)", id, state_name(job->view.state),
                       reason);
    else if (grant->node_type < 0 || grant->node_type >= jobs_used_types(jobs))
        job_plan_blame(jobs, policy, "starts job %lld on node type %d, which does not exist (reason: %s)", id,
                       grant->node_type, reason);
    else if (!(job_view_speed_on(jobs_view_of(jobs, grant->node_type), &job->view, grant->gpus) > 0))
        job_plan_blame(jobs, policy, "starts job %lld on %.6g GPUs of node type %d, where it cannot run (reason: %s)",
                       id, grant->gpus, grant->node_type, reason);
    else if (jobs->placer != NULL && grant->gpus != floor(grant->gpus))
        job_plan_blame(jobs, policy, "starts job %lld on %.6g GPUs, but the placer places whole ones (reason: %s)", id,
                       grant->gpus, reason);
    return jobs->plan.code == 0;
}

/* Whether the job held these CPUs and this memory, or (NULL) any. */
static bool held_host(const struct job *job, const struct job_host *host)
{
    struct job_host held = {0, 0};
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        held.cpu_milli += part->details.cpu_milli;
        held.memory_bytes += part->details.memory_bytes;
    }
    return host == NULL || (held.cpu_milli == host->cpu_milli && held.memory_bytes == host->memory_bytes);
}

/* Whether the job continues on the GPUs from which this plan preempted it. */
static bool retake(struct job *job, const struct job_grant *grant, int64_t ugpus)
{
    struct jobs *jobs = job->jobs;
    return job->preempted_in == jobs->plan.number && job->view.node_type == grant->node_type &&
           job->holder.ugpus == ugpus &&
           cluster_retake(jobs_cluster_of(jobs, grant->node_type), jobs->view.now_ns, ugpus, job->holder.held);
}

/* Gives the job new GPUs; `host` and `where` as for place(). Returns whether there was room; sets the plan's code on
 * failure. */
static bool give(struct job *job, const struct job_grant *grant, int64_t ugpus, const struct job_host *host,
                 const struct placement *where)
{
    struct jobs *jobs = job->jobs;
    const int emitted = job_emit_placement(job, jobs->view.now_ns);
    cluster_forget(jobs_cluster_of(jobs, job->view.node_type), job->holder.held);
    job->holder.held = NULL;
    job->preempted_in = 0; /* it cannot return to its old GPUs */
    job_set_node_type(job, grant->node_type);
    const int placed = emitted != 0 ? emitted : take(job, ugpus, host, where);
    if (placed < 0 && jobs->plan.code == 0) jobs->plan.code = placed;
    if (placed <= 0) return false;
    job->holder.ugpus = ugpus;
    job->held_from_ns = jobs->view.now_ns;
    return true;
}

/* Starts the job; `host` and `where` as for place(). */
static bool start(struct job_plan *plan, const struct job_view *view, const struct job_grant *grant,
                  const struct job_host *host, const struct placement *where, const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    const sim_ns now = jobs->view.now_ns;
    job_prefetch(job);
    if (plan->code < 0 || !is_sound(job, grant, reason)) return false;
    const int64_t ugpus = job->view.gpus > 0 ? job_ugpus(job, grant->gpus) : 0;
    if (!cluster_has_free(jobs_cluster_of(jobs, grant->node_type), ugpus)) return false;
    const bool retaken = where == NULL && held_host(job, host) && retake(job, grant, ugpus);
    const bool is_first = job->first_start_ns < 0;
    if (!retaken && !give(job, grant, ugpus, host, where)) return false;
    jobs->view.n_pending--;
    jobs->view.n_running++;
    job_stats_hold(&jobs->stats, now, ugpus);
    if (retaken) {
        undo_preemption(plan, job);
        job_continue(job, now);
    } else {
        job_plan_add_action(plan, job, is_first ? "start" : "resume", reason);
        job_run(job, now, job_owed_wait_ns(job));
    }
    jobs_notify(jobs, JOB_EVENT_START, job);
    return true;
}

bool job_plan_start_as(struct job_plan *plan, const struct job_view *view, const struct job_grant *grant,
                       const char *reason)
{
    return start(plan, view, grant, NULL, NULL, reason);
}

bool job_plan_start_with(struct job_plan *plan, const struct job_view *view, const struct job_host *host,
                         const struct placement *where, const char *reason)
{
    if (where != NULL && plan->jobs->placer == NULL)
        job_plan_blame(plan->jobs, &plan->jobs->scheduler->policy,
                       "starts job %lld on nodes, but GPUs are only counted (reason: %s)", (long long)view->id, reason);
    return start(plan, view, &(struct job_grant){.gpus = view->gpus}, host, where, reason);
}

bool job_plan_start_at(struct job_plan *plan, const struct job_view *view, const struct placement *where,
                       const char *reason)
{
    return job_plan_start_with(plan, view, NULL, where, reason);
}

void job_plan_take_over(struct job_plan *plan, struct job *job, const struct job *released)
{
    struct placement where = {.gpu = -1};
    const struct job_grant grant = {.gpus = job->view.gpus, .node_type = released->view.node_type};
    int32_t n = 0;
    for (const struct allocation *part = released->holder.held; part != NULL; part = part->next) n++;
    const int code = grow_placement(&where, n);
    if (code < 0 && plan->code == 0) plan->code = code;
    for (const struct allocation *part = released->holder.held; code == 0 && part != NULL; part = part->next) {
        placement_add(&where, part->node, part->gpus);
        if (part->details.gpu_milli > 0 && part->details.gpu_milli < 1000)
            where.gpu = __builtin_ctzll(part->details.gpu_set);
    }
    if (code == 0)
        start(plan, &job->view, &grant, NULL, n > 0 ? &where : NULL, "exchanges GPUs with jobs that wait, too");
    mem_free(where.nodes);
    mem_free(where.gpus);
}

/* Whether the scheduler says that it shares GPUs; if not, that it does is a fault. */
static bool declares_sharing(struct jobs *jobs, const char *reason)
{
    if (jobs->scheduler->shares_gpus) return true;
    job_plan_blame(jobs, &jobs->scheduler->policy, "lets jobs share GPUs, and does not set 'shares_gpus' (reason: %s)",
                   reason);
    return false;
}

/* Whether the jobs may share the GPUs of the grant; if not, that is a fault of the scheduler. */
static bool is_sound_group(struct jobs *jobs, const struct job_view *const *views, int32_t n,
                           const struct job_grant *grant, const char *reason)
{
    const struct policy *policy = &jobs->scheduler->policy;
    if (!declares_sharing(jobs, reason)) return false;
    if (n < 1 || n > INTERLEAVING_MOST || jobs->placer != NULL)
        job_plan_blame(jobs, policy, "lets %d jobs share GPUs, which %s (reason: %s)", n,
                       jobs->placer != NULL ? "needs the placement 'counted'" : "is not possible", reason);
    for (int32_t i = 0; i < n && jobs->plan.code == 0; i++) {
        if (!is_sound(job_of(views[i]), &(struct job_grant){views[i]->gpus, grant->node_type}, reason)) return false;
        if (views[i]->gpus != grant->gpus ||
            !(jobs_shared_speed(jobs_view_of(jobs, grant->node_type), views, n, i) > 0))
            job_plan_blame(jobs, policy, "lets job %lld share %.6g GPUs, where it cannot run (reason: %s)",
                           (long long)views[i]->id, grant->gpus, reason);
    }
    return jobs->plan.code == 0;
}

bool job_plan_start_group(struct job_plan *plan, const struct job_view *const *views, int32_t n,
                          const struct job_grant *grant, const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *members[INTERLEAVING_MOST];
    const int64_t ugpus = ugpus_of(grant->gpus);
    if (plan->code < 0 || !is_sound_group(jobs, views, n, grant, reason)) return false;
    if (!cluster_has_free(jobs_cluster_of(jobs, grant->node_type), ugpus)) return false;
    for (int32_t i = 0; i < n; i++) members[i] = job_of(views[i]);
    job_group_make(members, n, ugpus);
    for (int32_t i = 0; i < n && plan->code == 0; i++) {
        const bool is_first = members[i]->first_start_ns < 0;
        if (!give(members[i], grant, ugpus / n, NULL, NULL)) return false;
        jobs->view.n_pending--;
        jobs->view.n_running++;
        job_stats_hold(&jobs->stats, jobs->view.now_ns, ugpus / n);
        job_plan_add_action(plan, members[i], is_first ? "start" : "resume", reason);
        job_run(members[i], jobs->view.now_ns, job_owed_wait_ns(members[i]));
        jobs_notify(jobs, JOB_EVENT_START, members[i]);
    }
    return plan->code == 0;
}

/* Whether the running job has GPUs to share with the other one; if not, that is a fault of the scheduler. */
static bool may_join(const struct job *job, const struct job *running, const char *reason)
{
    struct jobs *jobs = job->jobs;
    const struct job_view *views[] = {&job->view, &running->view};
    const struct job_grant grant = {.gpus = job->view.gpus, .node_type = running->view.node_type};
    const bool is_alone = running->view.state == JOB_RUNNING && running->mate == NULL && jobs->placer == NULL &&
                          running->view.held_gpus == job->view.gpus;
    if (!declares_sharing(jobs, reason)) return false;
    if (!is_alone) {
        job_plan_blame(jobs, &jobs->scheduler->policy, "lets job %lld join job %lld, which is %s (reason: %s)",
                       (long long)job->view.id, (long long)running->view.id,
                       running->view.state == JOB_RUNNING ? "not alone on as many counted GPUs"
                                                          : state_name(running->view.state),
                       reason);
        return false;
    }
    if (!is_sound(job, &grant, reason)) return false;
    const struct cluster_view *view = jobs_view_of(jobs, grant.node_type);
    const bool shares_well = jobs_shared_speed(view, views, 2, 0) > 0 && jobs_shared_speed(view, views, 2, 1) > 0;
    if (!shares_well)
        job_plan_blame(jobs, &jobs->scheduler->policy,
                       "lets job %lld join job %lld, beside which it cannot run (reason: %s)", (long long)job->view.id,
                       (long long)running->view.id, reason);
    return shares_well;
}

bool job_plan_join(struct job_plan *plan, const struct job_view *view, const struct job_view *other, const char *reason)
{
    struct job *job = job_of(view), *running = job_of(other), *members[] = {running, job};
    struct jobs *jobs = plan->jobs;
    const int64_t ugpus = running->holder.ugpus;
    if (plan->code < 0 || !may_join(job, running, reason)) return false;
    const bool is_first = job->first_start_ns < 0;
    job_group_make(members, 2, ugpus);
    job_group_hold(running, jobs->view.now_ns, ugpus / 2);
    jobs_refresh_view(jobs);
    const struct job_grant grant = {.gpus = view->gpus, .node_type = other->node_type};
    if (!give(job, &grant, ugpus / 2, NULL, NULL)) return false;
    jobs->view.n_pending--;
    jobs->view.n_running++;
    job_stats_hold(&jobs->stats, jobs->view.now_ns, ugpus / 2);
    job_plan_add_action(plan, job, is_first ? "start" : "resume", reason);
    job_run(job, jobs->view.now_ns, job_owed_wait_ns(job));
    jobs_notify(jobs, JOB_EVENT_START, job);
    return true;
}

bool job_plan_start(struct job_plan *plan, const struct job_view *view, const char *reason)
{
    return job_plan_start_as(plan, view, &(struct job_grant){.gpus = view->gpus}, reason);
}

/* Whether two allocations are on the same nodes, with as many GPUs on each. */
static bool is_same_place(const struct allocation *a, const struct allocation *b)
{
    size_t n = 0;
    for (const struct allocation *part = a; part != NULL; part = part->next, n++) {
        const struct allocation *other = b;
        while (other != NULL && (other->node != part->node || other->gpus != part->gpus)) other = other->next;
        if (other == NULL) return false;
    }
    for (; b != NULL; b = b->next) n--;
    return n == 0;
}

/* Other GPUs for a running job. */
struct exchange {
    int64_t ugpus;
    int32_t node_type;
    bool elsewhere;     /* on other nodes, */
    double least_speed; /* at this speed or more */
};

static bool is_wanted(const struct job *job, const struct exchange *exchange, const struct allocation *before,
                      int32_t type_before)
{
    if (!exchange->elsewhere) return true;
    const bool stays = job->view.node_type == type_before && is_same_place(job->holder.held, before);
    return !stays && job_speed(job) >= exchange->least_speed;
}

/* Takes the GPUs of the exchange for a job that holds none, unless is_wanted rejects them. Returns as take(). */
static int take_wanted(struct job *job, const struct exchange *exchange, const struct allocation *before,
                       int32_t type_before)
{
    struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    const double place_speed = job->place_speed;
    const int taken = cluster_has_free(cluster, exchange->ugpus) ? take(job, exchange->ugpus, NULL, NULL) : 0;
    if (taken <= 0 || is_wanted(job, exchange, before, type_before)) return taken;
    cluster_release(cluster, job->jobs->view.now_ns, exchange->ugpus, job->holder.held);
    cluster_forget(cluster, job->holder.held);
    job->place_speed = place_speed;
    return 0;
}

/* Exchanges the GPUs of a running job. Returns 1, 0 if there is no room (the job keeps its GPUs), or a negative
 * code. */
static int exchange(struct job *job, const struct exchange *exchange)
{
    struct jobs *jobs = job->jobs;
    const sim_ns now = jobs->view.now_ns;
    const int32_t type = job->view.node_type;
    struct cluster *cluster = jobs_cluster_of(jobs, type);
    struct allocation *before = job->holder.held;
    cluster_release(cluster, now, job->holder.ugpus, before);
    jobs_refresh_view(jobs);
    job->holder.held = NULL;
    job_set_node_type(job, exchange->node_type);
    const int taken = take_wanted(job, exchange, before, type);
    struct allocation *after = job->holder.held;
    job->holder.held = before;
    job_set_node_type(job, type);
    if (taken <= 0) {
        SIM_REQUIRE(cluster_retake(cluster, now, job->holder.ugpus, before));
        jobs_refresh_view(jobs);
        return taken;
    }
    const int emitted = job_emit_placement(job, now);
    holders_taken(&jobs->cluster->holders, &job->holder, now);
    job_training_leaves(job);
    job_swaps_leaves(job);
    cluster_forget(cluster, before);
    job->holder.held = after;
    job_set_node_type(job, exchange->node_type);
    holders_changed(&jobs->cluster->holders, SITE_JOBS_RELEASED);
    return emitted < 0 ? emitted : 1;
}

/* Whether the job is in a group, whose GPUs only change when jobs leave: a fault. */
static bool shares(const struct job *job, const char *action, const char *reason)
{
    if (job->mate == NULL) return false;
    job_plan_blame(job->jobs, &job->jobs->scheduler->policy, "%s job %lld, which shares its GPUs (reason: %s)", action,
                   (long long)job->view.id, reason);
    return true;
}

int job_exchange_gpus(struct job *job, int64_t ugpus)
{
    struct jobs *jobs = job->jobs;
    const int exchanged = exchange(job, &(struct exchange){.ugpus = ugpus, .node_type = job->view.node_type});
    if (exchanged <= 0) return exchanged;
    job_stats_hold(&jobs->stats, jobs->view.now_ns, ugpus - job->holder.ugpus);
    job_resize(job, jobs->view.now_ns, ugpus);
    return exchanged;
}

bool job_plan_resize(struct job_plan *plan, const struct job_view *view, double gpus, const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    const int64_t ugpus = job_ugpus(job, gpus);
    if (plan->code < 0) return false;
    if (view->state != JOB_RUNNING || !(gpus > 0) || (jobs->placer != NULL && gpus != floor(gpus))) {
        job_plan_blame(jobs, &jobs->scheduler->policy, "gives %.6g GPUs to job %lld, which is %s (reason: %s)", gpus,
                       (long long)view->id, state_name(view->state), reason);
        return false;
    }
    if (view->gpus == 0 || shares(job, "resizes", reason)) return false;
    if (ugpus == job->holder.ugpus) return true;
    const int resized = job_exchange_gpus(job, ugpus);
    if (resized < 0 && plan->code == 0) plan->code = resized;
    if (resized <= 0) return false;
    job_plan_add_action(plan, job, "resize", reason);
    jobs_notify(jobs, JOB_EVENT_RESIZE, job);
    return true;
}

/* Whether a running job may go to a node type; a fault of the scheduler if not. */
static bool may_migrate(const struct job *job, int32_t node_type, const char *reason)
{
    struct jobs *jobs = job->jobs;
    const int32_t n_types = jobs_used_types(jobs);
    const bool there_is = node_type >= 0 && node_type < n_types;
    if (jobs->plan.code < 0) return false;
    if (!jobs->scheduler->migrates)
        job_plan_blame(jobs, &jobs->scheduler->policy, "moves job %lld, and does not set 'migrates' (reason: %s)",
                       (long long)job->view.id, reason);
    else if (job->view.state != JOB_RUNNING || !there_is)
        job_plan_blame(jobs, &jobs->scheduler->policy, "moves job %lld, which is %s, to node type %d%s (reason: %s)",
                       (long long)job->view.id, state_name(job->view.state), node_type,
                       there_is ? "" : ", which does not exist", reason);
    return jobs->plan.code == 0 && !shares(job, "moves", reason) &&
           job_view_speed_on(jobs_view_of(jobs, node_type), &job->view, job->view.held_gpus) > 0;
}

bool job_plan_migrate(struct job_plan *plan, const struct job_view *view, int32_t node_type, double least_speed,
                      const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    if (!may_migrate(job, node_type, reason)) return false;
    const struct exchange elsewhere = {job->holder.ugpus, node_type, true, least_speed};
    const int exchanged = exchange(job, &elsewhere);
    if (exchanged < 0 && plan->code == 0) plan->code = exchanged;
    if (exchanged <= 0) return false;
    jobs->stats.n_migrations++;
    job_migrate(job, jobs->view.now_ns);
    job_plan_add_action(plan, job, "migrate", reason);
    jobs_notify(jobs, JOB_EVENT_RESIZE, job);
    return true;
}

void job_plan_preempt(struct job_plan *plan, const struct job_view *view, const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    if (plan->code < 0) return;
    if (view->state != JOB_RUNNING) {
        job_plan_blame(jobs, &jobs->scheduler->policy, "preempts job %lld, which is %s (reason: %s)",
                       (long long)view->id, state_name(view->state), reason);
        return;
    }
    const double free_gpus = free_gpus_for(job);
    job->falls_back = job_checkpoint_falls_back(job);
    job_stop(job, jobs->view.now_ns);
    job->view.preemptions++;
    job->preempted_in = plan->number;
    job->preempt_action = job_plan_add_action(plan, job, "preempt", reason);
    if (job->preempt_action >= 0) plan->actions[job->preempt_action].freed_gpus = free_gpus_for(job) - free_gpus;
    jobs->stats.n_preemptions++;
    jobs->view.n_running--;
    jobs->view.n_pending++;
    jobs_notify(jobs, JOB_EVENT_PREEMPT, job);
    if (job->mate != NULL) job_group_leave(job, jobs->view.now_ns);
}

void job_plan_stop(struct job_plan *plan, const struct job_view *view, const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    if (plan->code < 0) return;
    job_plan_add_action(plan, job, "stop", reason);
    if (job_stop_early(job, jobs->view.now_ns)) return;
    job_plan_blame(jobs, &jobs->scheduler->policy, "stops job %lld, which has not started or has ended (reason: %s)",
                   (long long)view->id, reason);
}
