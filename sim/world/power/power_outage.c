/* Outages: the breaker of a domain has tripped, and until it is reset nothing there draws power. Its nodes fail, and what is on them
 * with them; those that were away, or spare, come back no sooner. */
#include "sim/world/power/power_state.h"
#include "sim/world/rows/priority.h"

/* Servers and bare GPUs go out (-1), or on again (+1). What is held on them is its holders' to take away. */
static void turn(struct power_outage *outage, int sign, sim_ns now)
{
    struct power *power = outage->power;
    struct power_domain *domain = &power->domains[outage->domain];
    const double servers_w = (double)domain->servers * power->env.server_power->idle_w;
    power_meter_add(&domain->beside, sign * servers_w, now);
    power_meter_add(&domain->rest, sign * domain->bare_w, now);
    power_meter_add(&power->idle, sign * domain->bare_w, now);
    outage->is_dark = sign < 0;
}

static void on_reset(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct power_outage *outage = OWNER_ENTITY(owner, struct power_outage, reset);
    (void)engine;
    outage->dark_ns += now - outage->since_ns;
    turn(outage, 1, now);
}

void power_outage_init(struct power *power, int32_t domain)
{
    struct power_outage *outage = &power->domains[domain].outage;
    *outage = (struct power_outage){.power = power, .domain = domain};
    owner_init(&outage->reset, site_env_owner_ids(power->env.site, 1));
}

void power_outage_begin(struct power *power, int32_t index, sim_ns now)
{
    const struct power_domain *domain = &power->domains[index];
    struct power_outage *outage = &power->domains[index].outage;
    const sim_ns until_ns = sim_ns_add(now, power->config->breaker.outage_ns);
    const int code = holders_black_out(power->env.holders, (int32_t)domain->first_node, (int32_t)domain->servers,
                                       until_ns);
    if (code != 0) engine_fail(power->env.site->engine, code);
    outage->since_ns = now;
    turn(outage, -1, now);
    if (until_ns < SIM_NS_MAX)
        engine_schedule_background(power->env.site->engine, until_ns, PRIORITY_POWER, on_reset, &outage->reset);
}

double power_outage_s(const struct power_outage *outage, sim_ns now)
{
    return sim_s_from_ns(outage->dark_ns + (outage->is_dark ? now - outage->since_ns : 0));
}
