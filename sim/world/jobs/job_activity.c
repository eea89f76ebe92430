#include "sim/world/jobs/job_activity.h"

#include "sim/world/jobs/job.h"
#include "sim/world/rows/priority.h"

/* Whether its power follows from its plan. */
static bool draws_by_plan(const struct job *job)
{
    return job->type->training.plan.llm != NULL && !(job->type->power.mean_w > 0.0) && job->view.gpus > 0;
}

int job_activity_create(struct job *job)
{
    if (job->type == NULL) return 0;
    const bool draws = draws_by_plan(job);
    if (!draws && !job_has_traffic(job) && !job_saves_by_flows(job)) return 0;
    struct job_activity *activity = job->activity = pool_take(&job->jobs->activities);
    if (activity == NULL) return SIM_E_NOMEM;
    *activity = (struct job_activity){.job = job, .draws_by_plan = draws, .draw = *job->holder.draw};
    owner_init_passing(&activity->save, OWNER_ID_JOB_SAVES, job_number(job));
    owner_init_passing(&activity->works, OWNER_ID_JOB_WORKS, job_number(job));
    if (draws) job->holder.draw = &activity->draw;
    return 0;
}

void job_activity_destroy(struct job *job)
{
    pool_give(&job->jobs->activities, job->activity);
    job->activity = NULL;
}

/* --- The wait before the work --- */

static sim_ns works_at_ns(const struct job *job)
{
    const struct job_progress *progress = &job->progress;
    return sim_ns_add(sim_ns_add(progress->from_ns, progress->move_ns), progress->wait_ns);
}

bool job_waits(const struct job *job, sim_ns now)
{
    return works_at_ns(job) > now;
}

static void on_works(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    job_begins_work(OWNER_ENTITY(owner, struct job_activity, works)->job, now);
}

void job_await_work(struct job *job)
{
    const sim_ns at_ns = works_at_ns(job);
    if (at_ns < SIM_NS_MAX)
        engine_arm(job->jobs->site->engine, at_ns, PRIORITY_JOB_FINISH, on_works, &job->activity->works);
}

/* A job that waits sends nothing. */
void job_activity_begin_traffic(struct job *job, sim_ns now)
{
    const bool waits = job_has_traffic(job) && job_waits(job, now);
    if (waits) job_await_work(job);
    const int code = job->jobs->network != NULL && !waits ? job_traffic_begin(job) : 0;
    if (code != 0) engine_fail(job->jobs->site->engine, code);
    if (job->activity->traffic != NULL) job_activity_redraw(job, now, true);
}

void job_begins_work(struct job *job, sim_ns now)
{
    job_progress_move(&job->progress, now);
    if (job_has_traffic(job) && job->activity->traffic == NULL) job_activity_begin_traffic(job, now);
    job_activity_redraw(job, now, true);
    job_speed_changed(job, now);
}

/* --- The run --- */

void job_activity_begin_saver(struct job *job, sim_ns now, bool restores)
{
    if (job->activity->saver != NULL || !job_saves_by_flows(job)) return;
    const int code = job_saver_begin(job, now, restores);
    if (code != 0) engine_fail(job->jobs->site->engine, code);
}

void job_activity_resized(struct job *job, sim_ns now, sim_ns idle_ns)
{
    const int code = job_saves_by_flows(job) ? job_saver_resized(job, now, idle_ns) : 0;
    if (code != 0) engine_fail(job->jobs->site->engine, code);
    job_traffic_end(job);
    job_activity_begin_traffic(job, now);
}

void job_activity_end(struct job *job)
{
    job_saver_end(job);
    job_traffic_end(job);
    engine_disarm(job->jobs->site->engine, &job->activity->works);
}
