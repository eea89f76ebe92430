/* Jobs that a scheduler may stop before their end, by what they reach: trials of a search for hyper-parameters.
 *
 * Each job has a loss that it reaches at its end: of the trace, or drawn evenly from 0 to 1. A loss measured at a share
 * f of its work has an error, normal with the standard deviation loss_noise (1 - f). Draws depend on the seed, the
 * job's id and f alone, so that all schedulers meet the same trials.
 *
 * Not modelled: the shape of learning curves; the time that an evaluation takes. */
#include "sim/core/vec.h"
#include "sim/world/jobs/job.h"

#include <math.h>

struct traced_loss {
    double loss; /* at the end of the job */
};

void job_losses_init(struct job_losses *losses, const struct jobs_config *config)
{
    *losses = (struct job_losses){.has_any = config->loss_noise > 0};
    pool_init(&losses->pool, sizeof(struct traced_loss));
}

void job_losses_fini(struct job_losses *losses)
{
    key_map_fini(&losses->traced);
    pool_fini(&losses->pool);
}

int job_loss_trace(struct job *job, double loss)
{
    struct job_losses *losses = &job->jobs->losses;
    struct traced_loss *traced = pool_take(&losses->pool);
    if (traced == NULL) return SIM_E_NOMEM;
    traced->loss = loss;
    losses->has_any = true;
    return key_map_set(&losses->traced, job_number(job), (int64_t)(intptr_t)traced);
}

/* NULL: the trace states none. */
static struct traced_loss *traced_of(const struct job *job)
{
    const int64_t found = key_map_find(&job->jobs->losses.traced, job_number(job));
    return found < 0 ? NULL : (struct traced_loss *)(intptr_t)found; // NOLINT(performance-no-int-to-ptr)
}

void job_loss_forget(struct job *job)
{
    struct traced_loss *traced = traced_of(job);
    if (traced == NULL) return;
    key_map_remove(&job->jobs->losses.traced, job_number(job));
    pool_give(&job->jobs->losses.pool, traced);
}

double job_loss_of(const struct job *job, double done_frac)
{
    const struct jobs *jobs = job->jobs;
    const double noise = jobs->config->loss_noise * (1 - done_frac);
    struct rng rng;
    const struct traced_loss *traced = traced_of(job);
    double loss = traced != NULL ? traced->loss : 0;
    if (traced == NULL) {
        rng_init(&rng, jobs->site->seed, jobs->site->run, "jobs.losses", (uint64_t)job->view.id);
        loss = rng_uniform(&rng);
    }
    if (!(noise > 0)) return loss;
    const uint64_t place = ((uint64_t)job->view.id << 20) ^ (uint64_t)(done_frac * 1048576.0);
    rng_init(&rng, jobs->site->seed, jobs->site->run, "jobs.loss_noise", place);
    const double radius = sqrt(-2 * log(rng_uniform(&rng)));
    return loss + noise * radius * cos(2 * 3.14159265358979323846 * rng_uniform(&rng));
}

bool job_has_loss(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    const bool has_all = jobs->losses.is_read || jobs->config->loss_noise > 0;
    return traced_of(job) != NULL || (has_all && job_needs_node(job));
}

/* Work of a share of the job, rounded up. */
static sim_ns work_of(const struct job *job, double done_frac)
{
    const double work_ns = ceil((double)job->progress.work_ns * done_frac);
    return work_ns < (double)job->progress.work_ns ? (sim_ns)work_ns : job->progress.work_ns;
}

bool job_view_has_done(const struct cluster_view *view, const struct job_view *job, double done_frac)
{
    const struct job *of = job_of(job);
    return job_done_ns(of, view->now_ns) >= work_of(of, done_frac);
}

sim_ns job_view_reaches_ns(const struct cluster_view *view, const struct job_view *job, double done_frac)
{
    struct job *of = job_of(job);
    struct job_progress progress = of->progress;
    of->jobs->losses.is_awaited = true;
    if (job->state != JOB_RUNNING) return SIM_NS_MAX;
    job_progress_move(&progress, view->now_ns);
    progress.work_ns = work_of(of, done_frac);
    if (progress.done_ns > progress.work_ns) return view->now_ns;
    return job_progress_end_ns(&progress);
}

double job_view_loss(const struct cluster_view *view, const struct job_view *job, double done_frac)
{
    struct jobs *jobs = job_of(job)->jobs;
    jobs->losses.is_read = jobs->losses.has_any = true;
    if (!job_view_has_done(view, job, done_frac) && job->state != JOB_FINISHED)
        job_plan_fault(jobs, "reads the loss of work that is not done, of", job);
    return job_loss_of(job_of(job), done_frac);
}

/* Its actions of this plan still name it, so it leaves at the end of the plan. */
void job_end_after_plan(struct job *job)
{
    struct jobs *jobs = job->jobs;
    const int code = vec_push(&jobs->ended, &jobs->n_ended, &jobs->ended_capacity, job);
    if (code < 0) engine_fail(jobs->site->engine, code);
}

int jobs_end_after_plan(struct jobs *jobs)
{
    const sim_ns now = engine_now(jobs->site->engine);
    const int code = job_plan_emit_actions(&jobs->plan);
    while (jobs->n_ended > 0) job_end(jobs->ended[--jobs->n_ended], now);
    return code;
}

bool job_stop_early(struct job *job, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    if (job->first_start_ns < 0 || (job->view.state != JOB_RUNNING && job->view.state != JOB_PENDING)) return false;
    job->is_stopped = true;
    if (job->view.state == JOB_RUNNING) {
        job_end_run(job, now);
    } else {
        const int code = job_emit_placement(job, now);
        if (code < 0) engine_fail(jobs->site->engine, code);
        active_jobs_move(jobs, now);
        job->view.state = JOB_FINISHED;
        jobs->view.n_pending--;
        jobs_notify(jobs, JOB_EVENT_FINISH, job);
    }
    job_end_after_plan(job);
    return true;
}
