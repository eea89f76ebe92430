/* The information delay: what routers see of the replicas is as old as the latest report.
 *
 * A report is an event at a multiple of the period, before all others of its moment, that copies every replica's load; what
 * changes within a run of iterations is evaluated for that moment, and no run is ended for it. So reports are the same in
 * every mode of stepping. They pause while nothing can change: a service without requests, or whose replicas are all
 * idle and await no KV; requests that nobody takes keep nothing going. */
#include "sim/world/rows/priority.h"
#include "sim/world/service/fleet.h"

int fleet_reports_init(struct fleet *fleet)
{
    struct fleet_reports *reports = &fleet->reports;
    *reports = (struct fleet_reports){.period_ns = fleet->config->information_delay_ns};
    if (reports->period_ns == 0) return 0;
    owner_init(&reports->owner, site_env_owner_ids(fleet->env->site, 1));
    reports->loads = mem_zalloc((size_t)fleet->n_replicas, sizeof *reports->loads);
    reports->usages = mem_zalloc((size_t)fleet->n_replicas, sizeof *reports->usages);
    return reports->loads != NULL && reports->usages != NULL ? 0 : SIM_E_NOMEM;
}

void fleet_reports_fini(struct fleet *fleet)
{
    mem_free(fleet->reports.loads);
    mem_free(fleet->reports.usages);
}

/* How all replicas stand at a time. Returns whether any of them is at work. */
static bool take_report(struct fleet *fleet, sim_ns at)
{
    struct fleet_reports *reports = &fleet->reports;
    bool busy = false;
    reports->seen_ns = at;
    for (int32_t i = 0; i < fleet->n_replicas; i++) {
        const struct replica *replica = &fleet->replicas[i];
        reports->loads[i] = fleet->loads[i];
        reports->usages[i] = (struct replica_usage){
            replica_used_blocks(replica, at), replica_decode_context_tokens(replica, at), fleet->reserved_tokens[i],
            replica_entering_prompts(replica), replica_idle_sequences(replica)};
        busy = busy || replica->state != REPLICA_IDLE || replica->n_moves > 0;
    }
    return busy;
}

static void report_is_due(struct engine *engine, struct owner *owner, sim_ns now);

/* Arms the first report after `now`, unless that is beyond the end of time. */
static void arm_next(struct fleet *fleet, sim_ns now)
{
    struct fleet_reports *reports = &fleet->reports;
    sim_ns next_ns = sim_ns_add(now - now % reports->period_ns, reports->period_ns);
    if (next_ns < SIM_NS_MAX)
        engine_arm(fleet->env->site->engine, next_ns, PRIORITY_REPORT, report_is_due, &reports->owner);
}

static void report_is_due(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct fleet_reports *reports = OWNER_ENTITY(owner, struct fleet_reports, owner);
    struct fleet *fleet = OWNER_ENTITY(reports, struct fleet, reports);
    reports->quiet_ns = now;
    if (take_report(fleet, now)) arm_next(fleet, now);
}

void fleet_reports_before_routing(struct fleet *fleet, sim_ns now)
{
    struct fleet_reports *reports = &fleet->reports;
    if (reports->period_ns == 0 || reports->owner.armed != 0) return;
    sim_ns latest_ns = now - now % reports->period_ns;
    if (latest_ns > reports->quiet_ns) take_report(fleet, latest_ns);
    arm_next(fleet, now);
}

void fleet_reports_when_empty(struct fleet *fleet, sim_ns now)
{
    struct fleet_reports *reports = &fleet->reports;
    if (reports->period_ns == 0) return;
    engine_disarm(fleet->env->site->engine, &reports->owner);
    reports->quiet_ns = now;
}
