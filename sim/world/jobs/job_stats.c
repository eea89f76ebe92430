#include "sim/world/jobs/job_stats.h"

#include "sim/world/jobs/job.h"
#include "sim/world/rows/metric.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Classes of ended jobs: by size and by type --- */

static const char *const size_names[JOB_SIZE_CLASSES] = {"1 GPU", "2-8 GPUs", "9-64 GPUs", "65 GPUs or more"};

static size_t size_class(int32_t gpus)
{
    static const int32_t most[] = {1, 8, 64};
    size_t i = 0;
    while (i + 1 < JOB_SIZE_CLASSES && gpus > most[i]) i++;
    return i;
}

static void job_classes_fini(struct job_classes *classes)
{
    for (size_t i = 0; i < JOB_SIZE_CLASSES; i++) distribution_fini(&classes->size_queue_s[i]);
    for (size_t i = 0; i < classes->n_types; i++) {
        distribution_fini(&classes->types[i].jct_s);
        distribution_fini(&classes->types[i].queue_s);
    }
}

static int add_to(struct distribution *distribution, double value)
{
    if (distribution->tally.count == 0) {
        int code = distribution_init(distribution);
        if (code < 0) return code;
    }
    return distribution_add(distribution, value);
}

/* NULL: there are too many types, and this one is not counted apart. */
static struct job_type_stats *find_type(struct job_classes *classes, const char *name)
{
    size_t i = 0;
    while (i < classes->n_types && classes->types[i].name != name && strcmp(classes->types[i].name, name) != 0) i++;
    if (i == JOB_TYPES_MAX) return NULL;
    if (i == classes->n_types) classes->types[classes->n_types++].name = name;
    return &classes->types[i];
}

static int job_classes_add(struct job_classes *classes, int32_t gpus, const char *type, double jct_s, double queue_s)
{
    int code = gpus == 0 ? 0 : add_to(&classes->size_queue_s[size_class(gpus)], queue_s);
    struct job_type_stats *of_type = code < 0 || *type == 0 ? NULL : find_type(classes, type);
    if (of_type == NULL) return code;
    code = add_to(&of_type->jct_s, jct_s);
    return code < 0 ? code : add_to(&of_type->queue_s, queue_s);
}

static bool has_sizes(const struct job_classes *classes)
{
    int n = 0;
    for (size_t i = 0; i < JOB_SIZE_CLASSES; i++) n += classes->size_queue_s[i].tally.count > 0;
    return n > 1;
}

static int job_classes_emit(const struct job_classes *classes, const struct sink *sink)
{
    int code = 0;
    for (size_t i = 0; code == 0 && has_sizes(classes) && i < JOB_SIZE_CLASSES; i++)
        code = metric_emit_distribution(sink, "job.queue_s", size_names[i], &classes->size_queue_s[i]);
    for (size_t i = 0; code == 0 && i < classes->n_types; i++) {
        const struct job_type_stats *type = &classes->types[i];
        code = metric_emit_distribution(sink, "job.jct_s", type->name, &type->jct_s);
        if (code == 0) code = metric_emit_distribution(sink, "job.queue_s", type->name, &type->queue_s);
    }
    return code;
}

/* --- Jobs beside each other --- */

/* GPUs of the nodes that jobs may use; 0: unlimited. */
static int64_t reach_gpus(const struct jobs *jobs)
{
    const struct cluster *cluster = jobs->cluster;
    if (cluster->total_gpus == INT64_MAX) return 0;
    int64_t gpus = 0;
    for (; cluster != NULL; cluster = jobs->scheduler->uses_node_types ? cluster->next : NULL)
        gpus += cluster->total_gpus;
    return gpus;
}

/* The integral of the GPUs of these nodes that are in use. */
static tally_int128 used_ugpu_ns(const struct jobs *jobs, sim_ns now)
{
    tally_int128 sum = 0;
    const struct cluster *cluster = jobs->cluster;
    for (; cluster != NULL; cluster = jobs->scheduler->uses_node_types ? cluster->next : NULL) {
        const struct level *level = &cluster->ugpus_in_use;
        sum += level->integral + (tally_int128)level->value * (now - level->since_ns);
    }
    return sum;
}

void gpu_time_share_count(struct gpu_time_share *of, sim_ns *since_ns, sim_ns now, double gpus, double share_frac)
{
    const double gpu_s = sim_s_from_ns(now - *since_ns) * gpus;
    of->gpu_s += gpu_s;
    of->share_gpu_s += gpu_s * share_frac;
    *since_ns = now;
}

int gpu_time_share_emit(const struct gpu_time_share *of, const struct sink *sink, const char *metric)
{
    return of->gpu_s > 0.0 ? metric_emit(sink, metric, of->share_gpu_s / of->gpu_s) : 0;
}

void active_jobs_move(struct jobs *jobs, sim_ns now)
{
    struct active_jobs *active = &jobs->active;
    const sim_ns past_ns = now - active->last_ns;
    if (past_ns == 0) return;
    const int64_t gpus = reach_gpus(jobs);
    const tally_int128 used = used_ugpu_ns(jobs, now);
    active->job_ns += (tally_int128)(jobs_waiting(jobs) + jobs_running(jobs)) * past_ns;
    if (jobs->view.n_pending > 0 && gpus > 0)
        active->idle_ugpu_ns += (tally_int128)(gpus * GPU_MICRO) * past_ns - (used - active->used_ugpu_ns);
    active->used_ugpu_ns = used;
    active->last_ns = now;
}

/* Speed of a job on its share of the GPUs, were it as many GPUs as it requests: on a site of several node types, of
 * which the scheduler makes use, the mean over all their GPUs (as in Gavel, OSDI 2020); else 1. It is 0 on the GPUs of
 * a type on which what the job requests never fits. */
static double share_speed(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    if (!jobs->scheduler->uses_node_types || jobs->view.next_type == NULL || reach_gpus(jobs) == 0) return 1;
    double sum = 0;
    const struct cluster *cluster = jobs->cluster;
    for (const struct cluster_view *view = &jobs->view; view != NULL; view = view->next_type, cluster = cluster->next)
        if (job->view.gpus <= cluster->total_gpus && job_view_possible_on(view, &job->view))
            sum += (double)cluster->total_gpus * job_view_speed_on(view, &job->view, job->view.gpus);
    return sum / (double)reach_gpus(jobs);
}

/* rho of finish-time fairness (Mahajan et al., Themis, NSDI 2020, section 3): the time the job took over its time on
 * its share of the GPUs it may use. The share is these GPUs, of all node types alike, over the jobs in the system,
 * mean over its stay. The speed is in proportion to the share, at most that on the requested GPUs. At the end of the
 * job; NAN if it took no time, or can run on none of them. */
static double fairness_rho(const struct job *job, sim_ns now)
{
    const struct jobs *jobs = job->jobs;
    const double jct_ns = (double)(now - job->view.submit_ns), run_ns = (double)job->progress.work_ns;
    if (!(jct_ns > 0) || !(run_ns > 0)) return (double)NAN;
    const double beside = (double)(jobs->active.job_ns - job->active_before_ns) / jct_ns;
    const int64_t gpus = reach_gpus(jobs);
    const double asked = job->view.gpus * job_gpu_milli(job) / 1000.0;
    const double slower = gpus > 0 ? asked * beside / (double)gpus : 1, speed = share_speed(job);
    return speed > 0 ? jct_ns * speed / (run_ns * fmax(1, slower)) : (double)NAN;
}

/* --- All jobs --- */

/* The bound of bounded slowdown, which keeps very short jobs from ruling the mean (Feitelson et al., JSSPP 1997). */
static const double SHORT_RUN_S = 10;

static const char *const quantity_names[JOB_QUANTITIES] = {
    [JOB_JCT] = "job.jct_s",
    [JOB_QUEUE] = "job.queue_s",
    [JOB_WAIT] = "job.wait_s",
    [JOB_SLOWDOWN] = "job.slowdown",
    [JOB_BOUNDED_SLOWDOWN] = "job.bounded_slowdown",
    [JOB_FAIRNESS] = "job.finish_time_fairness",
    [JOB_ENERGY] = "job.energy_j",
};

int job_stats_init(struct job_stats *stats, const struct sink *sink, sim_ns warmup_ns)
{
    *stats = (struct job_stats){.sink = sink, .warmup_ns = warmup_ns, .least_loss = (double)NAN};
    level_init(&stats->ugpus_in_use, 0, 0);
    for (int i = 0; i < JOB_QUANTITIES; i++) {
        int code = distribution_init(&stats->distributions[i]);
        if (code < 0) return code;
    }
    return 0;
}

void job_stats_fini(struct job_stats *stats)
{
    for (int i = 0; i < JOB_QUANTITIES; i++) distribution_fini(&stats->distributions[i]);
    job_classes_fini(&stats->classes);
}

void job_stats_submit(struct job_stats *stats, const struct job *job)
{
    if (stats->n_submitted++ == 0) stats->first_submit_ns = job->view.submit_ns;
    stats->n_deadlines += job->view.deadline_ns < SIM_NS_MAX;
    job_requests_note(stats, job);
}

bool jobs_reads_estimates(const struct jobs *jobs)
{
    const struct scheduler *scheduler = jobs->scheduler;
    if (scheduler->ignores_estimates) return false;
    return scheduler->reads_estimates == NULL || scheduler->reads_estimates(jobs->scheduler_state);
}

bool jobs_may_migrate(const struct jobs *jobs)
{
    return jobs->scheduler->migrates && jobs->placer != NULL;
}

bool jobs_has_exact_estimates(const struct jobs *jobs)
{
    return jobs->stats.n_submitted > 0 && jobs->stats.n_estimated == 0 && jobs_reads_estimates(jobs);
}

/* Whether the scenario itself says that jobs of its type are faster in proportion. */
static bool states_linear(const struct job *job)
{
    char path[DIAG_WHERE_CHARS];
    if (job->type == NULL || job->type->speedup.law != SPEEDUP_LINEAR) return false;
    snprintf(path, sizeof path, "jobs.types.%s.speedup.law", job->type->name);
    return config_is_given(job->jobs->site->config, path);
}

void job_stats_widen(struct job_stats *stats, struct job *job)
{
    job->is_widened = true;
    stats->n_widened += job_type_is_linear(job->type) && !states_linear(job);
}

void job_stats_hold(struct job_stats *stats, sim_ns now, int64_t ugpus)
{
    level_set(&stats->ugpus_in_use, now, stats->ugpus_in_use.value + ugpus);
}

static int emit_idle(const struct job_stats *stats, const struct job *job)
{
    const struct job_progress *progress = &job->progress;
    if (stats->sink->job_idle == NULL) return 0;
    const struct job_idle_row row = {.job = job->view.id,
                                     .work_s = sim_s_from_ns(progress->work_ns),
                                     .loaded_s = sim_s_from_ns(progress->waited_ns),
                                     .saved_s = sim_s_from_ns(progress->stalled_ns),
                                     .moved_s = sim_s_from_ns(progress->moved_ns),
                                     .has_interval = job->has_interval,
                                     .has_saved = progress->has_saved,
                                     .save_interval_s = job->save_interval_s,
                                     .halted_s = sim_s_from_ns(progress->halted_ns),
                                     .kept_s = sim_s_from_ns(progress->kept_ns)};
    return stats->sink->job_idle(stats->sink->context, &row);
}

void job_stats_idle(struct job_stats *stats, struct job *job)
{
    struct job_progress *progress = &job->progress;
    const double gpus = gpus_of(job->holder.ugpus);
    const int code = emit_idle(stats, job);
    if (stats->row_code == 0) stats->row_code = code;
    stats->wait_gpu_s += sim_s_from_ns(progress->waited_ns) * gpus;
    stats->stall_gpu_s += sim_s_from_ns(progress->stalled_ns) * gpus;
    stats->move_gpu_s += sim_s_from_ns(progress->moved_ns) * gpus;
    progress->waited_ns = progress->stalled_ns = progress->moved_ns = 0;
    progress->halted_ns = progress->kept_ns = 0;
}

/* GPU time in seconds, exact before the one rounding: jobs may hold 10^4 GPUs for 10^8 s, which is 10^21 GPU ns. */
static double gpu_seconds(tally_int128 ugpu_ns)
{
    const tally_int128 gpu_ns = ugpu_ns / GPU_MICRO;
    if (gpu_ns > INT64_MAX) return (double)(gpu_ns / SIM_NS_PER_S) + (double)(gpu_ns % SIM_NS_PER_S) / 1e9;
    return (double)((int64_t)gpu_ns / SIM_NS_PER_S) + sim_s_from_ns((int64_t)gpu_ns % SIM_NS_PER_S);
}

static int emit_row(const struct job_stats *stats, const struct job *job, sim_ns now, const char *status)
{
    const struct job_view *view = &job->view;
    bool finished = view->state == JOB_FINISHED;
    struct job_row row = {
        .id = view->id,
        .submit_s = sim_s_from_ns(view->submit_ns),
        .start_s = job->first_start_ns < 0 ? (double)NAN : sim_s_from_ns(job->first_start_ns),
        .end_s = finished ? sim_s_from_ns(now) : (double)NAN,
        .gpus = view->gpus,
        .gpu_s = gpu_seconds(job_held_ugpu_ns(job, now)),
        .jct_s = finished ? sim_s_from_ns(now - view->submit_ns) : (double)NAN,
        .preemptions = view->preemptions,
        .restarts = job->restarts,
        .lost_gpu_s = job->lost_gpu_s,
        .status = status,
        .energy_j = holders_drawn_j(&job->jobs->cluster->holders, &job->holder, now),
        .type = view->type,
        .group_name = view->group,
        .user_name = job->user,
    };
    return stats->sink->job(stats->sink->context, &row);
}

static int add_distributions(struct job_stats *stats, const struct job *job, sim_ns now)
{
    double jct_s = sim_s_from_ns(now - job->view.submit_ns), run_s = sim_s_from_ns(job->progress.work_ns);
    const double queue_s = sim_s_from_ns(job->first_start_ns - job->view.submit_ns);
    const double wait_s = sim_s_from_ns(now - job->view.submit_ns - job_executed_ns(job, now));
    const double bounded = jct_s / fmax(run_s, SHORT_RUN_S);
    const double energy_j = holders_drawn_j(&job->jobs->cluster->holders, &job->holder, now);
    const double rho = job->view.gpus > 0 ? fairness_rho(job, now) : (double)NAN;
    struct distribution *of = stats->distributions;
    int code = distribution_add(&of[JOB_JCT], jct_s);
    if (code == 0) code = distribution_add(&of[JOB_QUEUE], queue_s);
    if (code == 0) code = distribution_add(&of[JOB_WAIT], wait_s);
    if (code == 0) code = distribution_add(&of[JOB_BOUNDED_SLOWDOWN], fmax(bounded, 1));
    if (code == 0 && job->progress.work_ns > 0) code = distribution_add(&of[JOB_SLOWDOWN], jct_s / run_s);
    if (code == 0 && !isnan(rho)) code = distribution_add(&of[JOB_FAIRNESS], rho);
    if (code == 0 && !isnan(energy_j)) code = distribution_add(&of[JOB_ENERGY], energy_j);
    return code < 0 ? code : job_classes_add(&stats->classes, job->view.gpus, job->view.type, jct_s, queue_s);
}

static void count_useful(struct job_stats *stats, const struct job *job, sim_ns now)
{
    const int32_t milli = job_gpu_milli(job);
    const tally_int128 gpu_ns = (tally_int128)job_done_ns(job, now) * job->view.gpus;
    stats->useful_gpu_ns += milli == 1000 ? gpu_ns : gpu_ns * milli / 1000;
    job_training_done(job, now);
}

/* A job that the trace has end before its work was of use. */
static void count_futile(struct job_stats *stats, const struct job *job, sim_ns now)
{
    stats->n_cancelled += job->status == JOB_IS_CANCELLED;
    stats->n_failed += job->status == JOB_FAILS;
    stats->status_gpu_s[job->status] += gpu_seconds(job_held_ugpu_ns(job, now));
}

static void count_ended(struct job_stats *stats, const struct job *job, sim_ns now)
{
    stats->n_met += job->view.deadline_ns < SIM_NS_MAX && now <= job->view.deadline_ns;
    if (job->status != JOB_COMPLETES) count_futile(stats, job, now);
    if (job->status == JOB_COMPLETES && job->jobs->losses.has_any && job_has_loss(job))
        stats->least_loss = fmin(stats->least_loss, job_loss_of(job, 1));
}

static void count_stopped(struct job_stats *stats, const struct job *job, sim_ns now)
{
    stats->n_stopped++;
    stats->stopped_gpu_s += gpu_seconds(job_held_ugpu_ns(job, now));
}

int job_stats_finish(struct job_stats *stats, const struct job *job, sim_ns now)
{
    static const char *const status[] = {
        [JOB_COMPLETES] = "finished", [JOB_IS_CANCELLED] = "cancelled", [JOB_FAILS] = "failed"};
    stats->n_ended++;
    if (job->is_stopped)
        count_stopped(stats, job, now);
    else
        count_ended(stats, job, now);
    stats->last_finish_ns = now;
    count_useful(stats, job, now);
    const bool is_counted = job->view.submit_ns >= stats->warmup_ns && !job->is_stopped;
    const int code = is_counted ? add_distributions(stats, job, now) : 0;
    if (code < 0 || stats->sink->job == NULL) return code;
    return emit_row(stats, job, now, job->is_stopped ? "stopped" : status[job->status]);
}

/* Writes " on 4 nodes"; "" if it does not matter. */
static void say_nodes(const struct job_view *view, char *text, size_t bytes)
{
    text[0] = 0;
    if (view->nodes > 0) snprintf(text, bytes, " on %d node%s", view->nodes, view->nodes == 1 ? "" : "s");
}

void job_obstacle_text(const struct job *job, const char *obstacle, char *text, size_t bytes)
{
    struct jobs *jobs = job->jobs;
    const struct job_view *view = &job->view;
    const int64_t most = jobs_most_gpus(jobs), site = reach_gpus(jobs);
    const char *gpus = view->gpus == 1 ? "GPU" : "GPUs";
    const bool cannot_run = obstacle == job_never_fits && view->gpus <= most &&
                            !(job_view_speed_on(&jobs->view, view, view->gpus) > 0);
    char nodes[40], problem[256];
    say_nodes(view, nodes, sizeof nodes);
    if (obstacle != job_never_fits)
        snprintf(text, bytes, "asks for %d %s: %s", view->gpus, gpus, obstacle);
    else if (view->gpus > most && most < site)
        snprintf(text, bytes,
                 "asks for %d %s, and a job can have %" PRId64 " of the site's %" PRId64
                 ", on nodes of one type and beside the services; ask for fewer, or raise 'cluster.nodes'",
                 view->gpus, gpus, most, site);
    else if (view->gpus > most)
        snprintf(text, bytes, "asks for %d %s, and the site has %" PRId64 "; ask for fewer, or raise 'cluster.nodes'",
                 view->gpus, gpus, most);
    else if (cannot_run && job_training_problem(job, problem, sizeof problem))
        snprintf(text, bytes, "asks for %d %s, and its type cannot train %s", view->gpus, gpus, problem);
    else if (jobs->placer == NULL || cannot_run)
        snprintf(text, bytes,
                 "asks for %d %s, and its type cannot run on those of the site; see its 'gpu_models', and "
                 "'speeds' of its type",
                 view->gpus, gpus);
    else
        snprintf(text, bytes,
                 "asks for %d %s%s, and placement '%s' finds no room for that even in an empty site; ask for "
                 "less per node, or choose another 'jobs.placement'",
                 view->gpus, gpus, nodes, jobs->placer->policy.name);
}

int job_stats_reject(struct job_stats *stats, const struct job *job, const char *obstacle, sim_ns now)
{
    if (stats->n_rejected++ == 0) {
        stats->first_reject_ns = now;
        stats->first_rejected = job->view.id;
        job_obstacle_text(job, obstacle, stats->first_obstacle, sizeof stats->first_obstacle);
    }
    return stats->sink->job != NULL ? emit_row(stats, job, now, "rejected") : 0;
}

int job_stats_unfinished(struct job_stats *stats, const struct job *job, sim_ns now)
{
    count_useful(stats, job, now);
    job_training_held(job, now);
    return stats->sink->job != NULL ? emit_row(stats, job, now, "unfinished") : 0;
}

static int warn_of_rejections(const struct job_stats *stats)
{
    char text[DIAG_TEXT_CHARS];
    if (stats->n_rejected == 0 || stats->sink->warning == NULL) return 0;
    if (stats->n_rejected == 1)
        snprintf(text, sizeof text, "job %" PRId64 " can never run: it %s", stats->first_rejected,
                 stats->first_obstacle);
    else
        snprintf(text, sizeof text, "%" PRId64 " jobs can never run; the first, job %" PRId64 ", %s", stats->n_rejected,
                 stats->first_rejected, stats->first_obstacle);
    struct warning_row row = {.t_s = sim_s_from_ns(stats->first_reject_ns),
                              .code = "job-rejected",
                              .text = text,
                              .count = stats->n_rejected};
    return stats->sink->warning(stats->sink->context, &row);
}

static int warn_of_speedup(const struct job_stats *stats)
{
    char text[DIAG_TEXT_CHARS];
    if (stats->n_widened == 0 || stats->sink->warning == NULL) return 0;
    snprintf(text, sizeof text,
             "%" PRId64
             " job%s had more GPUs than asked for and sped up in proportion, which real jobs do not; 'speedup' of "
             "jobs.types, there of \"default\" too, has other laws, such as amdahl with 'parallel_frac' 0.9; a "
             "\"law\": \"linear\" that is written there silences this",
             stats->n_widened, stats->n_widened == 1 ? "" : "s");
    const struct warning_row row = {.t_s = (double)NAN, .code = "linear-speedup", .text = text,
                                    .count = 1};
    return stats->sink->warning(stats->sink->context, &row);
}

/* Estimates in another unit than run times, mostly. */
static int warn_of_estimates(const struct job_stats *stats, const struct jobs *jobs)
{
    char text[DIAG_TEXT_CHARS];
    enum { LEAST_JOBS = 10 };
    const bool is_most = stats->n_submitted >= LEAST_JOBS && 2 * stats->n_short_estimates > stats->n_submitted;
    if (!is_most || stats->sink->warning == NULL || !jobs_reads_estimates(jobs)) return 0;
    snprintf(text, sizeof text,
             "%" PRId64 " of %" PRId64
             " jobs run for over twice their estimate, which the scheduler reads; the two may "
             "have different units ('estimate_unit' of csv-jobs)",
             stats->n_short_estimates, stats->n_submitted);
    const struct warning_row row = {.t_s = (double)NAN, .code = "short-estimates", .text = text, .count = 1};
    return stats->sink->warning(stats->sink->context, &row);
}

/* Up to the last finish, or to the end of the run when jobs still run then. */
static double mean_gpus_in_use(const struct job_stats *stats, sim_ns now)
{
    const struct level *in_use = &stats->ugpus_in_use;
    sim_ns last_ns = stats->last_finish_ns > in_use->since_ns ? stats->last_finish_ns : in_use->since_ns;
    return level_mean_in(in_use, in_use->value > 0 ? now : last_ns, GPU_MICRO);
}

/* What some runs have and others cannot. */
static int emit_waste(const struct job_stats *stats, const struct job_graph *graph)
{
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"job.lost_gpu_s.sum", stats->lost_gpu_s},
                   {"job.wait_gpu_s.sum", stats->wait_gpu_s},
                   {"job.checkpoint_gpu_s.sum", stats->stall_gpu_s},
                   {"job.migration_gpu_s.sum", stats->move_gpu_s},
                   {"job.kept_gpu_s.sum", graph->kept_gpu_s},
                   {"job.stopped", (double)stats->n_stopped},
                   {"job.stopped_gpu_s.sum", stats->stopped_gpu_s},
                   {"job.migrations.sum", (double)stats->n_migrations}};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof metrics[0]; i++)
        if (metrics[i].value > 0.0) code = metric_emit(stats->sink, metrics[i].name, metrics[i].value);
    return code;
}

static int emit_held(const struct job_stats *stats, const struct job_graph *graph)
{
    if (graph->n_released == 0) return 0;
    return metric_emit(stats->sink, "job.held_s.mean", graph->held_s / (double)graph->n_released);
}

static int emit_deadlines(const struct job_stats *stats)
{
    if (stats->n_deadlines == 0) return 0;
    const int code = metric_emit(stats->sink, "job.deadlines", (double)stats->n_deadlines);
    return code < 0
               ? code
               : metric_emit(stats->sink, "job.deadline_met_frac", (double)stats->n_met / (double)stats->n_deadlines);
}

/* 1: all the same; 1/n: one has all (Jain, Chiu and Hawe 1984). NAN of nothing. */
static double jain_index(const struct tally *tally)
{
    if (tally->count == 0) return (double)NAN;
    const double squares = tally->mean * tally->mean + tally->m2 / (double)tally->count;
    return tally->mean * tally->mean / squares;
}

/* The GPUs that jobs may use, where these are fewer than the cluster has. */
static int emit_reach(const struct job_stats *stats, const struct jobs *jobs, sim_ns now)
{
    const struct cluster *cluster = jobs->cluster;
    const int64_t gpus = reach_gpus(jobs);
    if (gpus == 0 || cluster->next == NULL || jobs->scheduler->uses_node_types) return 0;
    const int code = metric_emit(stats->sink, "cluster.job_gpus", (double)gpus);
    return code < 0 ? code
                    : metric_emit(stats->sink, "cluster.job_gpus_in_use.mean",
                                  level_mean_in(&cluster->ugpus_in_use, now, GPU_MICRO));
}

static int emit_service(const struct job_stats *stats, const struct jobs *jobs, sim_ns now)
{
    const double held_gpu_s = level_integral_s_in(&stats->ugpus_in_use, now, GPU_MICRO);
    const double useful_gpu_s = (double)stats->useful_gpu_ns / 1e9;
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"job.cancelled", (double)stats->n_cancelled},
        {"job.failed", (double)stats->n_failed},
        {"job.cancelled_gpu_s.sum", stats->status_gpu_s[JOB_IS_CANCELLED]},
        {"job.failed_gpu_s.sum", stats->status_gpu_s[JOB_FAILS]},
        {"job.useful_gpu_s.sum", useful_gpu_s},
        {"job.goodput_frac", held_gpu_s > 0 ? useful_gpu_s / held_gpu_s : (double)NAN},
        {"job.slowdown_jain", jain_index(&stats->distributions[JOB_BOUNDED_SLOWDOWN].tally)},
        {"cluster.idle_while_waiting_gpu_s", (double)jobs->active.idle_ugpu_ns / (1e9 * GPU_MICRO)},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof metrics[0]; i++)
        code = metric_emit(stats->sink, metrics[i].name, metrics[i].value);
    if (code == 0) code = emit_reach(stats, jobs, now);
    return code < 0 ? code : job_classes_emit(&stats->classes, stats->sink);
}

int job_stats_emit(const struct job_stats *stats, const struct jobs *jobs, sim_ns now)
{
    int64_t n_unfinished = stats->n_submitted - stats->n_ended - stats->n_rejected;
    sim_ns makespan_ns = stats->n_ended > 0 ? stats->last_finish_ns - stats->first_submit_ns : 0;
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"job.submitted", (double)stats->n_submitted},
        {"job.ended", (double)stats->n_ended},
        {"job.finished", (double)(stats->n_ended - stats->n_failed - stats->n_cancelled - stats->n_stopped)},
        {"job.rejected", (double)stats->n_rejected},
        {"job.unfinished", (double)n_unfinished},
        {"job.preemptions.sum", (double)stats->n_preemptions},
        {"job.gpu_s.sum", level_integral_s_in(&stats->ugpus_in_use, now, GPU_MICRO)},
        {"job.gpus_in_use.mean", mean_gpus_in_use(stats, now)},
        {"job.gpus_in_use.max", gpus_of(stats->ugpus_in_use.max)},
        {"job.makespan_s", sim_s_from_ns(makespan_ns)},
    };
    int code = stats->row_code;
    if (code == 0) code = warn_of_rejections(stats);
    if (code == 0) code = job_requests_warn(stats);
    if (code == 0) code = warn_of_speedup(stats);
    if (code == 0) code = warn_of_estimates(stats, jobs);
    if (code == 0) code = job_types_warn(&jobs->types_seen, &jobs->config->all_types, jobs->site, jobs->cluster);
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof metrics[0]; i++)
        code = metric_emit(stats->sink, metrics[i].name, metrics[i].value);
    for (int i = 0; code == 0 && i < JOB_QUANTITIES; i++)
        code = metric_emit_distribution(stats->sink, quantity_names[i], NULL, &stats->distributions[i]);
    if (code == 0 && stats->n_intervals > 0)
        code = metric_emit(stats->sink, "job.checkpoint_interval_s.mean",
                           stats->interval_s / (double)stats->n_intervals);
    if (code == 0) code = emit_held(stats, &jobs->graph);
    if (code == 0 && !isnan(stats->least_loss)) code = metric_emit(stats->sink, "job.loss.min", stats->least_loss);
    if (code == 0) code = emit_deadlines(stats);
    if (code == 0) code = job_trainings_emit(jobs);
    if (code == 0) code = emit_waste(stats, &jobs->graph);
    return code < 0 ? code : emit_service(stats, jobs, now);
}
