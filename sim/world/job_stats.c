#include "sim/world/job_stats.h"

#include "sim/world/job.h"
#include "sim/world/metric.h"

#include <math.h>

/* The bound of bounded slowdown, which keeps very short jobs from ruling the mean (Feitelson et al., JSSPP 1997). */
static const double SHORT_RUN_S = 10;

static const char *const quantity_names[JOB_QUANTITIES] = {
    [JOB_JCT] = "job.jct_s",
    [JOB_QUEUE] = "job.queue_s",
    [JOB_SLOWDOWN] = "job.slowdown",
    [JOB_BOUNDED_SLOWDOWN] = "job.bounded_slowdown",
};

int job_stats_init(struct job_stats *stats, const struct sink *sink, sim_ns warmup_ns)
{
    *stats = (struct job_stats){.sink = sink, .warmup_ns = warmup_ns};
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
}

void job_stats_submit(struct job_stats *stats, const struct job *job)
{
    if (stats->n_submitted++ == 0) stats->first_submit_ns = job->view.submit_ns;
}

void job_stats_hold(struct job_stats *stats, sim_ns now, int64_t ugpus)
{
    level_set(&stats->ugpus_in_use, now, stats->ugpus_in_use.value + ugpus);
}

void job_stats_idle(struct job_stats *stats, struct job *job)
{
    struct job_progress *progress = &job->progress;
    const double gpus = gpus_of(job->held_ugpus);
    stats->wait_gpu_s += sim_s_from_ns(progress->waited_ns) * gpus;
    stats->stall_gpu_s += sim_s_from_ns(progress->stalled_ns) * gpus;
    progress->waited_ns = progress->stalled_ns = 0;
}

/* GPU time in seconds, exact before the one rounding: jobs may hold 10^4 GPUs for 10^8 s. */
static double gpu_seconds(tally_int128 ugpu_ns)
{
    const tally_int128 gpu_ns = ugpu_ns / GPU_MICRO;
    return (double)(gpu_ns / SIM_NS_PER_S) + (double)(gpu_ns % SIM_NS_PER_S) / 1e9;
}

static int emit_row(const struct job_stats *stats, const struct job *job, sim_ns now, const char *status)
{
    if (stats->sink->job == NULL) return 0;
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
    };
    return stats->sink->job(stats->sink->context, &row);
}

static int add_distributions(struct job_stats *stats, const struct job *job, sim_ns now)
{
    double jct_s = sim_s_from_ns(now - job->view.submit_ns), run_s = sim_s_from_ns(job->progress.work_ns);
    double bounded = jct_s / fmax(run_s, SHORT_RUN_S);
    struct distribution *of = stats->distributions;
    int code = distribution_add(&of[JOB_JCT], jct_s);
    if (code == 0) code = distribution_add(&of[JOB_QUEUE], sim_s_from_ns(job->first_start_ns - job->view.submit_ns));
    if (code == 0) code = distribution_add(&of[JOB_BOUNDED_SLOWDOWN], fmax(bounded, 1));
    if (code == 0 && job->progress.work_ns > 0) code = distribution_add(&of[JOB_SLOWDOWN], jct_s / run_s);
    return code;
}

int job_stats_finish(struct job_stats *stats, const struct job *job, sim_ns now)
{
    stats->n_finished++;
    stats->last_finish_ns = now;
    int code = job->view.submit_ns < stats->warmup_ns ? 0 : add_distributions(stats, job, now);
    return code < 0 ? code : emit_row(stats, job, now, "finished");
}

int job_stats_reject(struct job_stats *stats, const struct job *job, sim_ns now)
{
    if (stats->n_rejected++ == 0) stats->first_reject_ns = now;
    return emit_row(stats, job, now, "rejected");
}

int job_stats_unfinished(const struct job_stats *stats, const struct job *job, sim_ns now)
{
    return emit_row(stats, job, now, "unfinished");
}

static int warn_of_rejections(const struct job_stats *stats)
{
    if (stats->n_rejected == 0 || stats->sink->warning == NULL) return 0;
    struct warning_row row = {.t_s = sim_s_from_ns(stats->first_reject_ns),
                              .code = "job-rejected",
                              .text = "jobs larger than the cluster, or than the placement policy can ever place",
                              .count = stats->n_rejected};
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
static int emit_waste(const struct job_stats *stats)
{
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"job.lost_gpu_s.sum", stats->lost_gpu_s},
                   {"job.wait_gpu_s.sum", stats->wait_gpu_s},
                   {"job.checkpoint_gpu_s.sum", stats->stall_gpu_s}};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof metrics[0]; i++)
        if (metrics[i].value > 0.0) code = metric_emit(stats->sink, metrics[i].name, metrics[i].value);
    return code;
}

int job_stats_emit(const struct job_stats *stats, sim_ns now)
{
    int64_t n_unfinished = stats->n_submitted - stats->n_finished - stats->n_rejected;
    sim_ns makespan_ns = stats->n_finished > 0 ? stats->last_finish_ns - stats->first_submit_ns : 0;
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"job.submitted", (double)stats->n_submitted},
        {"job.finished", (double)stats->n_finished},
        {"job.rejected", (double)stats->n_rejected},
        {"job.unfinished", (double)n_unfinished},
        {"job.preemptions.sum", (double)stats->n_preemptions},
        {"job.gpu_s.sum", level_integral_s_in(&stats->ugpus_in_use, now, GPU_MICRO)},
        {"job.gpus_in_use.mean", mean_gpus_in_use(stats, now)},
        {"job.gpus_in_use.max", gpus_of(stats->ugpus_in_use.max)},
        {"job.makespan_s", sim_s_from_ns(makespan_ns)},
    };
    int code = warn_of_rejections(stats);
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof metrics[0]; i++)
        code = metric_emit(stats->sink, metrics[i].name, metrics[i].value);
    for (int i = 0; code == 0 && i < JOB_QUANTITIES; i++)
        code = metric_emit_distribution(stats->sink, quantity_names[i], NULL, &stats->distributions[i]);
    return code < 0 ? code : emit_waste(stats);
}
