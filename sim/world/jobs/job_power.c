/* What a job draws: the power that its type states, or that of the phases of its training step. Before it trains, a job
 * whose power follows from its plan moves, waits or reads its state, and its GPUs idle. */
#include "sim/world/jobs/job.h"
#include "sim/world/policy/power_cap.h"

#include <math.h>
#include <string.h>

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

/* The phases that take time, in their order. Returns their number. */
static int stages_of(const struct power_stage *phases, struct power_stage stages[HOLDER_STAGES])
{
    int n = 0;
    for (int i = 0; i < TRAINING_PHASES; i++)
        if (phases[i].time_s > 0.0) stages[n++] = phases[i];
    return n;
}

/* A job that waits draws as GPUs idle with a process. Its clock is that at which it will train. */
static double used_frac(struct job *job, sim_ns now, int64_t gpus)
{
    if (!job_waits(job, now)) return (double)gpus / job->view.held_gpus;
    if (!isnan(holders_drawn_j(&job->jobs->cluster->holders, &job->holder, now))) job_await_work(job);
    return 0.0;
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

void job_activity_redraw(struct job *job, sim_ns now, bool is_running)
{
    struct job_activity *activity = job->activity;
    int64_t gpus;
    if (!activity->draws_by_plan) return;
    const struct power_stage *phases = job_training_phases(job->jobs, job->type, job->view.node_type,
                                                           job->view.held_gpus, &gpus);
    const struct power_stage *exchanged = is_running ? job_traffic_phases(job) : NULL;
    activity->draw = *job_typed_draw(job);
    if (phases != NULL) {
        activity->draw.n_stages = stages_of(exchanged != NULL ? exchanged : phases, activity->stages);
        activity->draw.stages = activity->stages;
        activity->draw.used_frac = used_frac(job, now, gpus);
    }
    if (is_running) holders_redrawn(&job->jobs->cluster->holders, &job->holder, now);
}
