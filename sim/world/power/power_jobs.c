/* Jobs as members of the site's power: while they run, each of their GPUs draws what their type says, at the clock in force there. A
 * job on several domains goes at the slowest of their clocks. Of a job's own power all that is above idling with a process follows
 * the core's clock and voltage. Leaves out that a GPU which idle jobs share draws its power with a process but once. */
#include "sim/world/jobs/job.h"
#include "sim/world/power/power_state.h"

#include <math.h>

static const struct power_node_type *type_of(const struct power *power, const struct job *job)
{
    return &power->types[job->view.node_type];
}

static int group_of(const struct job *job)
{
    return job->type != NULL && job->type->power.mean_w > 0.0 && job->type->power.priority == 0 ? POWER_HIGH
                                                                                                : POWER_LOW;
}

/* The number in the site of a node of its node type. */
static struct power_domain *domain_of(const struct power *power, const struct job *job, const struct allocation *part)
{
    return power_domain_of(power, jobs_cluster_of(job->jobs, job->view.node_type)->first_node + part->node);
}

/* The lowest of all domains. */
static struct pace_order order_of(const struct power *power, const struct job *job)
{
    struct pace_order least = pace_free();
    for (const struct allocation *part = job->allocation; part != NULL; part = part->next) {
        const struct pace_order order = power_order_of(domain_of(power, job, part), group_of(job),
                                                       type_of(power, job)->gpu.boost_hz);
        least.clock_frac = fmin(least.clock_frac, order.clock_frac);
        least.cap_w = fmin(least.cap_w, order.cap_w);
    }
    return least;
}

/* Sets power and speed by what is in force. */
static void set_pace(const struct power *power, struct power_job *of, struct job *job)
{
    const struct job_power_config *config = job->type != NULL ? &job->type->power : NULL;
    const bool is_known = config != NULL && config->mean_w > 0.0;
    const struct power_load load = {1.0, 0.0, 0.0};
    struct power_law law = type_of(power, job)->law;
    const struct pace_order order = order_of(power, job);
    const double share = is_known ? config->clock_share : 0.0;
    law.active_w = is_known ? fmax(config->mean_w - law.context_w, 0.0) : 0.0;
    law.limit_w = fmax(law.limit_w, law.context_w + law.active_w);
    struct power_state state = power_at_clock(&law, &load, share, order.clock_frac);
    if (state.power_w > order.cap_w) state = power_under_cap(&law, &load, share, order.cap_w);
    of->gpu_w = state.power_w;
    job->outer_speed = state.speed_frac;
}

/* What it holds of each of its GPUs: 1, or where GPUs are shared less. */
static double share_of(const struct job *job)
{
    int64_t gpus = 0;
    for (const struct allocation *part = job->allocation; part != NULL; part = part->next) gpus += part->gpus;
    return gpus_of(job->held_ugpus) / (double)gpus;
}

/* Its GPUs draw so much more (+1), or less (-1), than bare ones. Of a GPU that jobs share each draws its share of what is above
 * bare idling, and of that. */
static void count(struct power *power, const struct power_job *of, int sign, sim_ns now)
{
    const double idle_w = type_of(power, of->job)->gpu.idle_w;
    for (const struct allocation *part = of->job->allocation; part != NULL; part = part->next) {
        const double gpus = sign * of->share * part->gpus;
        struct power_domain *domain = domain_of(power, of->job, part);
        power_meter_add(&domain->rest, gpus * (of->gpu_w - idle_w), now);
        power_meter_add(&power->on_jobs, gpus * of->gpu_w, now);
        power_meter_add(&power->idle, -gpus * idle_w, now);
        domain->view.groups[group_of(of->job)].gpus += sign * part->gpus;
        domain->view.highest_hz = fmax(domain->view.highest_hz, type_of(power, of->job)->gpu.boost_hz);
    }
}

static double drawn_since_j(const struct power_job *of, sim_ns now)
{
    return gpus_of(of->job->held_ugpus) * of->gpu_w * sim_s_from_ns(now - of->since_ns);
}

double power_job_j(const struct job *job, sim_ns now)
{
    if (job->jobs->power == NULL) return (double)NAN;
    return job->drawn_j + (job->power != NULL ? drawn_since_j(job->power, now) : 0.0);
}

static void begins_to_draw(struct power *power, struct power_job *of, sim_ns now)
{
    set_pace(power, of, of->job);
    of->since_ns = now;
    count(power, of, 1, now);
}

static void ends_to_draw(struct power *power, struct power_job *of, sim_ns now)
{
    of->job->drawn_j += drawn_since_j(of, now);
    count(power, of, -1, now);
}

void power_job_runs(struct power *power, struct job *job, sim_ns now)
{
    struct power_job *of = pool_take(&power->jobs);
    if (of == NULL) {
        engine_fail(power->env.site->engine, SIM_E_NOMEM);
        return;
    }
    *of = (struct power_job){.job = job, .next = power->running};
    if (of->next != NULL) of->next->prev = of;
    power->running = job->power = of;
    power->n_unknown += job->type == NULL || !(job->type->power.mean_w > 0.0);
    of->share = share_of(job);
    begins_to_draw(power, of, now);
}

void power_job_rests(struct power *power, struct job *job, sim_ns now)
{
    struct power_job *of = job->power;
    if (of == NULL) return;
    ends_to_draw(power, of, now);
    if (of->next != NULL) of->next->prev = of->prev;
    if (of->prev != NULL)
        of->prev->next = of->next;
    else
        power->running = of->next;
    pool_give(&power->jobs, of);
    job->power = NULL;
}

static bool is_on(const struct power *power, const struct job *job, int32_t domain)
{
    for (const struct allocation *part = job->allocation; part != NULL; part = part->next)
        if (domain_of(power, job, part) == &power->domains[domain]) return true;
    return false;
}

void power_jobs_obey(struct power *power, int32_t domain, sim_ns now)
{
    for (struct power_job *of = power->running; of != NULL; of = of->next) {
        const double before = of->job->outer_speed;
        if (!is_on(power, of->job, domain)) continue;
        ends_to_draw(power, of, now);
        begins_to_draw(power, of, now);
        if (of->job->outer_speed != before) job_respeed(of->job, now);
    }
}

int jobs_join_power(struct jobs *jobs, struct power *power)
{
    if (jobs->placer == NULL)
        return diag_error(jobs->site->diag, SIM_E_CONFIG, "jobs", "take \"placement\": \"consolidated\"",
                          "'cluster.power' has domains of nodes, and the jobs' placement policy only counts GPUs");
    jobs->power = power;
    power->of_jobs = jobs;
    return 0;
}
