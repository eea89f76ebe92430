/* The runs of a job: it starts on its GPUs, progresses at the speed they give, and loses them or ends. */
#include "sim/core/check.h"
#include "sim/world/jobs/job.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>

static int emit_detail(const struct job *job, const char *action, const char *reason, sim_ns now)
{
    const struct sink *sink = job->jobs->site->sink;
    const struct decision_row row = {.t_s = sim_s_from_ns(now), .service = "", .policy = "jobs", .action = action,
                                     .subject = job->view.id, .reason = reason};
    return sink->detail(sink->context, &row);
}

/* Writes `what`, and the GPUs that the job holds or has just held. */
static int say_held(const struct job *job, const char *what, char *text, size_t bytes)
{
    const double gpus = gpus_of(job->holder.ugpus);
    char where[96];
    job_say_node_type(job->jobs, job->holder.cluster, where, sizeof where);
    return snprintf(text, bytes, "%s %.10g GPU%s%s", what, gpus, gpus == 1 ? "" : "s", where);
}

int job_emit_finish(const struct job *job, sim_ns now)
{
    const struct cluster *cluster = job->holder.cluster;
    char reason[256];
    if (job->jobs->site->sink->detail == NULL) return 0;
    const int n = say_held(job, "has held", reason, sizeof reason);
    if (cluster->total_gpus < INT64_MAX)
        snprintf(reason + n, sizeof reason - (size_t)n, "; %.10g of %lld are free", cluster_free_amount(cluster),
                 (long long)cluster->total_gpus);
    return emit_detail(job, "finish", reason, now);
}

int job_emit_interrupt(const struct job *job, const char *what, sim_ns now)
{
    char reason[512];
    if (job->jobs->site->sink->detail == NULL) return 0;
    say_held(job, what, reason, sizeof reason);
    return emit_detail(job, "interrupt", reason, now);
}

/* It compares what the job asks for with all node types on which it could be. */
int job_emit_reject(const struct job *job, const char *what, sim_ns now)
{
    const struct jobs *jobs = job->jobs;
    const struct cluster *cluster = jobs->cluster;
    const bool is_limited = cluster->total_gpus < INT64_MAX;
    double free_gpus = 0;
    int64_t gpus = 0;
    char reason[256];
    if (jobs->site->sink->detail == NULL) return 0;
    for (; is_limited && cluster != NULL; cluster = jobs->scheduler->uses_node_types ? cluster->next : NULL) {
        free_gpus += cluster_free_amount(cluster);
        gpus += cluster->total_gpus;
    }
    const int n = snprintf(reason, sizeof reason, "%s %d GPU%s", what, job->view.gpus, job->view.gpus == 1 ? "" : "s");
    if (is_limited && n < (int)sizeof reason)
        snprintf(reason + n, sizeof reason - (size_t)n, "; %.10g of %lld are free", free_gpus, (long long)gpus);
    return emit_detail(job, "reject", reason, now);
}

sim_ns job_resume_wait_ns(const struct job *job)
{
    const struct restart_config *restart = &job->jobs->config->restart;
    const struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    const bool is_wide = cluster->n_nodes > 0 && job->view.gpus > cluster->gpus_per_node;
    return is_wide && !isnan(restart->resume_multi_node_s) ? sim_ns_from_s(restart->resume_multi_node_s)
                                                           : restart->resume_ns;
}

sim_ns job_owed_wait_ns(const struct job *job)
{
    if (job->first_start_ns < 0) return job->jobs->config->restart.start_ns;
    const sim_ns now = engine_now(job->jobs->site->engine), ready_ns = job->ready_ns > now ? job->ready_ns - now : 0;
    return sim_ns_add(ready_ns, sim_ns_add(job_resume_wait_ns(job), job->restart_ns));
}

double job_full_speed(const struct job *job)
{
    if (job->view.gpus == 0) return job->holder.is_paused ? 0.0 : 1.0; /* slow GPUs do not slow it */
    const struct cluster_view *view = jobs_view_of(job->jobs, job->view.node_type);
    double slowed = job->holder.speed_frac * job->holder.slow_frac;
    if (job->activity != NULL) slowed *= job_traffic_speed(job) * job_swaps_speed(job);
    if (job->type != NULL && host_needs_given(&job->type->host)) slowed *= job_host_speed(job);
    if (job->mate != NULL) return slowed * job_shared_speed(job);
    if (job->type != NULL && goodput_is_given(&job->type->goodput))
        return job->place_speed * slowed * job_goodput_held(job);
    return job->place_speed * slowed * job_speed_on(job, view, job->view.held_gpus);
}

double job_speed(const struct job *job)
{
    const double full = job_full_speed(job);
    return job->activity != NULL ? fmin(full, job_reader_speed(job)) : full;
}

static void arm(struct job *job)
{
    engine_arm(job->jobs->site->engine, job_progress_end_ns(&job->progress), PRIORITY_JOB_FINISH, job_on_finish,
               &job->finish);
}

void job_rearm(struct job *job)
{
    arm(job);
}

/* Reports the job's GPUs to the watchers of the site. */
static void report_given(struct job *job, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    job->holder.bears_slow = job_step_stragglers(job);
    if (job->activity != NULL) job_activity_redraw(job, now, false);
    int code = holders_given(&jobs->cluster->holders, &job->holder, now);
    job_training_enters(job);
    job_swaps_enters(job);
    if (code == 0 && job->holder.speed_frac < 1.0) code = job_emit_clock(job, now);
    if (code != 0) engine_fail(jobs->site->engine, code);
}

/* --- The run --- */

static void keep_speed(struct job *job)
{
    job->progress.speed = job->view.speed = job_speed(job);
    if (!(job->progress.speed > 0.0)) return;
    job->last_speed = job->progress.speed;
    job->last_gpus = job->view.held_gpus;
    if (job->jobs->n_node_types > 1 && job->view.gpus > 0)
        job_types_see_gpu(&job->jobs->types_seen, &job->jobs->config->all_types, job->type, job->holder.cluster);
    if (!job->is_widened && job->view.held_gpus > (double)job->view.gpus) job_stats_widen(&job->jobs->stats, job);
}

void job_continue(struct job *job, sim_ns now)
{
    job->view.state = JOB_RUNNING;
    job->view.held_gpus = job_gpus(job, job->holder.ugpus);
    job->since_ns = job->progress.from_ns = now;
    job->falls_back = false;
    if (job->activity != NULL) job_activity_begin_saver(job, now, false);
    report_given(job, now);
    job->progress.is_paused = job->holder.is_paused;
    if (job->activity != NULL) job_activity_begin_traffic(job, now);
    keep_speed(job);
    if (job->activity != NULL) job_activity_paced(job, now);
    arm(job);
}

static void fall_back(struct job *job)
{
    job_checkpoint_lost(job);
    job->progress.done_ns = job->progress.saved_ns;
    job->lost_gpu_s += job->unsaved_gpu_s;
    job->jobs->stats.lost_gpu_s += job->unsaved_gpu_s;
}

void job_run(struct job *job, sim_ns now, sim_ns wait_ns)
{
    if (job->first_start_ns < 0) job->first_start_ns = now;
    if (job->falls_back) fall_back(job);
    job->restart_ns = 0;
    job->view.held_gpus = job_gpus(job, job->holder.ugpus);
    if (job->place != NULL) job_graph_start(job);
    const sim_ns data_ns = job->place != NULL ? job_graph_wait_ns(job, now) : 0;
    job_progress_begin(&job->progress, now, data_ns > wait_ns ? data_ns : wait_ns, job_checkpoint_saves(job));
    if (job->activity != NULL) job_activity_begin_saver(job, now, true);
    job_continue(job, now);
}

/* Counts what the job held up to now. Its progress has been moved to now. */
static void count_held(struct job *job, sim_ns now)
{
    job_stats_idle(&job->jobs->stats, job);
    job_training_held(job, now);
    job->held_ugpu_ns = job_held_ugpu_ns(job, now);
    job->executed_ns = job_executed_ns(job, now);
    job->since_ns = now;
}

/* All unsaved work counts at the speed at which the job last worked, on the GPUs of then. */
static double unsaved_gpu_s(const struct job *job)
{
    const struct job_progress *progress = &job->progress;
    const bool works = progress->speed > 0.0;
    const double speed = works ? progress->speed : job->last_speed;
    if (!(speed > 0.0)) return 0.0;
    return sim_s_from_ns(progress->done_ns - progress->saved_ns) / speed *
           (works ? job->view.held_gpus : job->last_gpus);
}

void job_stop(struct job *job, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    holders_taken(&jobs->cluster->holders, &job->holder, now);
    job_training_leaves(job);
    job_swaps_leaves(job);
    job_progress_move(&job->progress, now);
    if (job->activity != NULL) job_activity_end(job);
    job->unsaved_gpu_s = unsaved_gpu_s(job);
    if (job->place != NULL) job_keeps_no_more(job, now);
    count_held(job, now);
    job->view.state = JOB_PENDING;
    job->view.held_gpus = job->view.speed = 0.0;
    engine_disarm(jobs->site->engine, &job->finish);
    if (!job_needs_node(job)) return;
    cluster_release(jobs_cluster_of(jobs, job->view.node_type), now, job->holder.ugpus, job->holder.held);
    job_stats_hold(&jobs->stats, now, -job->holder.ugpus);
    holders_changed(&jobs->cluster->holders, SITE_JOBS_RELEASED);
}

/* Sets the speed of the job from now on. */
static void set_speed(struct job *job, sim_ns now)
{
    job_progress_move(&job->progress, now);
    job->progress.is_paused = job->holder.is_paused;
    keep_speed(job);
    if (job->activity != NULL) job_activity_paced(job, now);
    arm(job);
}

/* Continues the run on its present GPUs, after `idle_ns` more without work. */
static void go_on(struct job *job, sim_ns now, sim_ns idle_ns)
{
    job_progress_save_as(&job->progress, job_checkpoint_saves(job));
    report_given(job, now);
    if (job->activity != NULL) job_activity_resized(job, now, idle_ns);
    set_speed(job, now);
}

void job_resize(struct job *job, sim_ns now, int64_t ugpus)
{
    job_progress_move(&job->progress, now);
    count_held(job, now);
    job->holder.ugpus = ugpus;
    job->view.held_gpus = job_gpus(job, ugpus);
    go_on(job, now, 0);
}

void job_migrate(struct job *job, sim_ns now)
{
    const double migrate_s = job->jobs->config->restart.migrate_s;
    const sim_ns wait_ns = isnan(migrate_s) ? job_resume_wait_ns(job) : sim_ns_from_s(migrate_s);
    job_progress_move(&job->progress, now);
    count_held(job, now);
    job->progress.move_ns = sim_ns_add(job->progress.move_ns, wait_ns);
    go_on(job, now, wait_ns);
}

int job_evict(struct job *job, sim_ns now, sim_ns notice_ns, const char *reason)
{
    if (!job_checkpoint_is_taken(job)) return job_interrupt(job, now, job_checkpoint_keeps_saved(job), reason);
    const sim_ns save_ns = job_checkpoint_save_ns(job);
    job_progress_move(&job->progress, now);
    if (save_ns <= notice_ns && !job->holder.is_paused) job_progress_save_last(&job->progress, save_ns);
    return job_interrupt(job, now, true, reason);
}

int job_interrupt(struct job *job, sim_ns now, bool failed, const char *reason)
{
    struct jobs *jobs = job->jobs;
    const bool was_kept = job_is_kept(job);
    active_jobs_move(jobs, now);
    job_stop(job, now);
    job->falls_back = !failed && job_checkpoint_falls_back(job);
    if (failed) fall_back(job);
    job->view.preemptions++;
    job->restarts++;
    jobs->stats.n_preemptions++;
    jobs->view.n_running -= !was_kept;
    jobs->view.n_pending++;
    int code = job_emit_interrupt(job, reason, now);
    if (was_kept)
        jobs_make_known(job);
    else
        jobs_notify_forced(jobs, job);
    job_group_leave(job, now);
    jobs_request_decision(jobs);
    return code;
}

/* --- Where it runs ---
 *
 * The network penalty of a job on several nodes, and placement rows. A run that a preemption ended is reported when the
 * job starts again or the simulation ends: until the scheduler has decided, the job may keep its GPUs. Parts of counted
 * GPUs, which are on no node, have no rows. */

static int emit(const struct job *job, sim_ns to_ns, int64_t node, int64_t gpus)
{
    const struct sink *sink = job->jobs->site->sink;
    const struct cluster *cluster = job->holder.cluster;
    struct placement_row row = {.job = job->view.id,
                                .node = node,
                                .gpus = gpus,
                                .start_s = sim_s_from_ns(job->held_from_ns),
                                .end_s = sim_s_from_ns(to_ns),
                                .gpu = cluster_gpu_of(cluster, node - cluster->first_node),
                                .node_type = cluster->type_name};
    return sink->placement(sink->context, &row);
}

int job_emit_placement(struct job *job, sim_ns now)
{
    sim_ns to_ns = job->view.state == JOB_RUNNING ? now : job->since_ns;
    int code = 0;
    if (job->jobs->site->sink->placement != NULL && job->view.gpus > 0 && job->held_from_ns < to_ns) {
        const int32_t first_node = jobs_cluster_of(job->jobs, job->view.node_type)->first_node;
        if (job->holder.held == NULL && job->holder.ugpus % GPU_MICRO == 0)
            code = emit(job, to_ns, -1, job->holder.ugpus / GPU_MICRO);
        for (const struct allocation *part = job->holder.held; code == 0 && part != NULL; part = part->next)
            code = emit(job, to_ns, first_node + part->node, part->gpus);
    }
    job->held_from_ns = to_ns;
    return code;
}

double jobs_place_speed(const struct jobs *jobs, const struct allocation *allocation)
{
    const struct network_penalty *penalty = &jobs->config->network_penalty;
    const int32_t per_rack = jobs->cluster->nodes_per_rack;
    if (allocation == NULL || allocation->next == NULL) return 1;
    bool one_rack = true;
    for (const struct allocation *part = allocation->next; per_rack > 0 && part != NULL; part = part->next)
        one_rack = one_rack && part->node / per_rack == allocation->node / per_rack;
    return 1 - (one_rack ? penalty->nodes_frac : penalty->racks_frac);
}

int jobs_check_power(const struct jobs *jobs)
{
    if (jobs->placer != NULL) return 0;
    return diag_error(jobs->site->diag, SIM_E_CONFIG, "jobs", "take \"placement\": \"consolidated\"",
                      "'cluster.power' has domains of nodes, and the jobs' placement policy only counts GPUs");
}

/* --- The job as a holder --- */

static int on_strike(struct holder *holder, struct holder_strike *strike, sim_ns now)
{
    struct job *job = OWNER_ENTITY(holder, struct job, holder);
    const sim_ns lost_ns = job_progress_done_ns(&job->progress, now) - job_progress_saved_ns(&job->progress, now);
    char reason[160], place[32] = "";
    if (strike->node >= 0) snprintf(place, sizeof place, " on node %d", strike->node);
    snprintf(reason, sizeof reason, "%.80s%s: loses %.6g s of work on", strike->cause, place, sim_s_from_ns(lost_ns));
    job->restart_ns = strike->restart_ns;
    if (strike->ready_ns > job->ready_ns) job->ready_ns = strike->ready_ns; /* of several causes, the last found */
    const int code = job_interrupt(job, now, true, reason);
    strike->n_interrupts = 1;
    strike->lost_gpu_s = job->unsaved_gpu_s;
    return code;
}

static sim_ns held_ns(const struct holder *holder, sim_ns now)
{
    return job_executed_ns(OWNER_ENTITY(holder, const struct job, holder), now);
}

/* A scheduler that waits for a share of the work asks anew when it will have been done. */
static void tell_speed(struct job *job)
{
    jobs_notify(job->jobs, JOB_EVENT_SPEED, job);
    if (job->jobs->losses.is_awaited) jobs_request_decision(job->jobs);
}

void job_speed_changed(struct job *job, sim_ns now)
{
    const double before = job->progress.speed;
    set_speed(job, now);
    if (job->progress.speed != before) tell_speed(job);
}

static void speed_changed(struct holder *holder, sim_ns now)
{
    struct job *job = OWNER_ENTITY(holder, struct job, holder);
    const double before = job->progress.speed;
    set_speed(job, now);
    const int code = job_emit_clock(job, now);
    if (code != 0) engine_fail(job->jobs->site->engine, code);
    if (job->progress.speed != before) tell_speed(job);
}

static void command_changed(struct holder *holder, sim_ns now)
{
    const struct job *job = OWNER_ENTITY(holder, struct job, holder);
    const int code = job_emit_clock(job, now);
    if (code != 0) engine_fail(job->jobs->site->engine, code);
}

static void slowed(struct holder *holder, sim_ns now)
{
    struct job *job = OWNER_ENTITY(holder, struct job, holder);
    const bool was_paused = job->progress.is_paused;
    job_speed_changed(job, now);
    if (holder->is_paused == was_paused || holder->ugpus == 0) return;
    if (job->activity != NULL) job_activity_redraw(job, now, true);
    holders_redrawn(&job->jobs->cluster->holders, holder, now);
}

const struct holder_ops job_holder_ops = {
    .strike = on_strike, .held_ns = held_ns, .speed_changed = speed_changed, .command_changed = command_changed,
    .slowed = slowed};

/* --- What running jobs hold --- */

/* What is taken of each node, less what jobs hold there: [n_nodes] to be freed, or NULL. Of a resource that a node
 * does not count: 0. */
static struct job_host *unaccounted(const struct jobs *jobs, int32_t node_type)
{
    const struct node_resources *resources = jobs_cluster_of(jobs, node_type)->resources;
    struct job_host *taken = mem_zalloc((size_t)resources->n_nodes + 1, sizeof *taken);
    for (int32_t i = 0; taken != NULL && i < resources->n_nodes; i++) {
        const struct node_view *node = &resources->nodes[i];
        taken[i].cpu_milli = node->cpu_milli - node->cpu_left_milli - resources->down[i].cpu_milli;
        taken[i].memory_bytes = node->memory_bytes - node->memory_left_bytes - resources->down[i].memory_bytes;
    }
    for (const struct job *job = jobs->oldest; taken != NULL && job != NULL; job = job->next) {
        const bool holds = job->view.state == JOB_RUNNING || job_is_kept(job);
        if (job->view.node_type != node_type || !holds) continue;
        for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
            const struct node_view *node = &resources->nodes[part->node];
            if (node->cpu_milli < INT64_MAX) taken[part->node].cpu_milli -= part->details.cpu_milli;
            if (node->memory_bytes < INT64_MAX) taken[part->node].memory_bytes -= part->details.memory_bytes;
        }
    }
    return taken;
}

void jobs_check_held(void *self, sim_ns now)
{
    const struct jobs *jobs = self;
    (void)now;
    for (int32_t type = 0; type < jobs->n_node_types; type++) {
        const struct cluster *cluster = jobs_cluster_of(jobs, type);
        if (cluster->resources == NULL || jobs->placer == NULL) continue;
        struct job_host *host = unaccounted(jobs, type);
        for (int32_t i = 0; host != NULL && i < cluster->resources->n_nodes; i++) {
            SIM_LAW("INV-14 (CPU of a node is conserved)", host[i].cpu_milli, 0);
            SIM_LAW("INV-14 (memory of a node is conserved)", host[i].memory_bytes, 0);
        }
        mem_free(host);
    }
}
