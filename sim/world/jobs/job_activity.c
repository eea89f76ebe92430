#include "sim/world/jobs/job_activity.h"

#include "sim/world/jobs/job.h"
#include "sim/world/policy/power_cap.h"
#include "sim/world/rows/priority.h"

#include <math.h>

/* Whether its power follows from its plan. */
static bool draws_by_plan(const struct job *job)
{
    return job->type->training.plan.llm != NULL && !(job->type->power.mean_w > 0.0) && job->view.gpus > 0;
}

int job_activity_create(struct job *job)
{
    if (job->type == NULL) return 0;
    const bool draws = draws_by_plan(job);
    if (!draws && !job_has_traffic(job) && !job_has_saver(job) && !job_reads(job) && !job_has_swaps(job)) return 0;
    struct job_activity *activity = job->activity = pool_take(&job->jobs->activities);
    if (activity == NULL) return SIM_E_NOMEM;
    *activity = (struct job_activity){.job = job, .draws_by_plan = draws, .draw = *job->holder.draw};
    owner_init_passing(&activity->save, OWNER_ID_JOB_SAVES, job_number(job));
    owner_init_passing(&activity->works, OWNER_ID_JOB_WORKS, job_number(job));
    owner_init_passing(&activity->read, OWNER_ID_JOB_READS, job_number(job));
    if (draws) job->holder.draw = &activity->draw;
    return 0;
}

bool jobs_are_priced(const struct jobs *jobs)
{
    return jobs->has_drawn_by_plan;
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

/* A job that has ended at this moment begins no save. */
static void on_works(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job *job = OWNER_ENTITY(owner, struct job_activity, works)->job;
    (void)engine;
    if (job_progress_end_ns(&job->progress) > now) job_begins_work(job, now);
}

/* Power and network want to hear of the end of a job's wait, and power of the next stall of a save, or of its end. */
static void await_work(struct job *job)
{
    struct engine *engine = job->jobs->site->engine;
    const sim_ns at_ns = job_waits(job, engine_now(engine)) ? works_at_ns(job) : job_progress_turn_ns(&job->progress);
    if (at_ns < SIM_NS_MAX)
        engine_arm(engine, at_ns, PRIORITY_JOB_FINISH, on_works, &job->activity->works);
    else
        engine_disarm(engine, &job->activity->works);
}

static bool is_on_links(const struct job *job)
{
    return job_has_traffic(job) || job_reads(job) || job_has_swaps(job);
}

/* A job that waits sends nothing, and reads no data. */
void job_activity_begin_traffic(struct job *job, sim_ns now)
{
    const bool waits = is_on_links(job) && job_waits(job, now);
    if (waits) await_work(job);
    int code = job->jobs->network != NULL && !waits && job->activity->traffic == NULL ? job_traffic_begin(job) : 0;
    if (code == 0 && !waits) code = job_swaps_begin(job);
    if (code == 0 && !waits) code = job_reader_begin(job);
    if (code != 0) engine_fail(job->jobs->site->engine, code);
    if (job->activity->traffic != NULL) job_activity_redraw(job, now, true);
}

void job_begins_work(struct job *job, sim_ns now)
{
    job_progress_move(&job->progress, now);
    if (is_on_links(job)) job_activity_begin_traffic(job, now);
    job_activity_redraw(job, now, true);
    job_speed_changed(job, now);
}

/* --- The run --- */

void job_activity_begin_saver(struct job *job, sim_ns now, bool starts)
{
    if (starts) job->activity->ahead_bytes = 0.0;
    if (job->activity->saver != NULL || !job_has_saver(job)) return;
    const int code = job_saver_begin(job, now, starts);
    if (code != 0) engine_fail(job->jobs->site->engine, code);
}

void job_activity_resized(struct job *job, sim_ns now, sim_ns idle_ns)
{
    const int code = job_has_saver(job) ? job_saver_resized(job, now, idle_ns) : 0;
    if (code != 0) engine_fail(job->jobs->site->engine, code);
    job_swaps_end(job);
    job_traffic_end(job);
    job_reader_end(job);
    job->activity->ahead_bytes = 0.0;
    job_activity_begin_traffic(job, now);
}

void job_activity_end(struct job *job)
{
    job_saver_end(job);
    job_swaps_end(job);
    job_traffic_end(job);
    job_reader_end(job);
    engine_disarm(job->jobs->site->engine, &job->activity->works);
}

void job_activity_forget(struct job *job)
{
    job_swaps_forget(job);
    job_traffic_forget(job);
    job_saver_forget(job);
    job_reader_forget(job);
}

/* --- Power ---
 *
 * A job draws what its type states, or what the phases of its training step draw. Before it trains, a job whose power
 * follows from its plan moves, waits or reads its state, and its GPUs idle. So they do while a save stalls it: copies
 * to the host and to storage need no kernels. */

/* The phases that take time, in their order. Returns their number. */
static int stages_of(const struct power_stage *phases, struct power_stage stages[HOLDER_STAGES])
{
    int n = 0;
    for (int i = 0; i < TRAINING_PHASES; i++)
        if (phases[i].time_s > 0.0) stages[n++] = phases[i];
    return n;
}

/* Whether the beginnings and ends of waits and stalls change what the job draws. */
static bool draws_by_turns(struct job *job, sim_ns now)
{
    const struct job_activity *activity = job->activity;
    return activity->draw.stages == activity->stages &&
           !isnan(holders_drawn_j(&job->jobs->cluster->holders, &job->holder, now));
}

void job_activity_paced(struct job *job, sim_ns now)
{
    if (job->activity->draws_by_plan) job->jobs->has_drawn_by_plan = true;
    job_saver_paced(job, now);
    job_reader_paced(job, now);
    if (draws_by_turns(job, now)) await_work(job); /* at speed 0 no save begins */
}

/* A job that waits, or stalls for a save, draws as GPUs idle with a process; and in the part of its time in which it
 * waits for data. Its clock is that at which it trains. */
static double used_frac(struct job *job, sim_ns now, int64_t gpus)
{
    const bool rests = job_waits(job, now) || job_progress_stalls(&job->progress, now);
    if (draws_by_turns(job, now)) await_work(job);
    return rests ? 0.0 : (1.0 - job_reader_waits_frac(job)) * (double)gpus / job->view.held_gpus;
}

void job_activity_redraw(struct job *job, sim_ns now, bool is_running)
{
    struct job_activity *activity = job->activity;
    int64_t gpus;
    if (!activity->draws_by_plan) return;
    const struct power_stage *phases = job_training_phases(job->jobs, job->type, job->view.node_type,
                                                           job->view.held_gpus, &gpus);
    const struct power_stage *exchanged = is_running ? job_traffic_phases(job) : NULL;
    if (is_running && job_swaps_phases(job) != NULL) exchanged = job_swaps_phases(job);
    activity->draw = *job_typed_draw(job);
    if (phases != NULL) {
        activity->draw.n_stages = stages_of(exchanged != NULL ? exchanged : phases, activity->stages);
        activity->draw.stages = activity->stages;
        activity->draw.used_frac = used_frac(job, now, gpus);
    }
    if (is_running) holders_redrawn(&job->jobs->cluster->holders, &job->holder, now);
}

static struct holder_draw draw_of(const struct job_type *type)
{
    const struct job_power_config *power = &type->power;
    const bool is_stated = power->mean_w > 0.0, is_given = power->mean_w != 0.0; /* NAN: given without a mean */
    const struct holder_draw draw = {.group = is_given && power->priority == 0 ? POWER_HIGH : POWER_LOW};
    if (!is_stated) return draw;
    const double v100_share = 0.57; /* of jobs on V100 (Zeus) */
    const double clock_share = isnan(power->clock_share) ? v100_share : power->clock_share;
    return (struct holder_draw){.group = draw.group, .mean_w = power->mean_w, .clock_share = clock_share};
}

int job_draws_create(struct jobs *jobs)
{
    const struct job_type *types = jobs->config->all_types.items;
    const size_t n = jobs->config->all_types.n;
    jobs->draws = mem_zalloc(n + 1, sizeof *jobs->draws);
    if (jobs->draws == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) jobs->draws[i] = draw_of(&types[i]);
    jobs->draws[n] = (struct holder_draw){.group = POWER_LOW};
    return 0;
}

const struct holder_draw *job_typed_draw(const struct job *job)
{
    const struct config_list *types = &job->jobs->config->all_types;
    return &job->jobs
                ->draws[job->type != NULL ? (size_t)(job->type - (const struct job_type *)types->items) : types->n];
}
