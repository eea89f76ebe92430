/* What readings of power lead to: breakers that trip, outages, metrics and warnings. */
#include "sim/world/power/power_state.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>

/* --- Outages ---
 *
 * When the breaker of a domain has tripped, nothing there draws power until it is reset. Its nodes fail with all that
 * is on them; nodes that are down or spare return no sooner. */

/* Switches servers and bare GPUs off (-1) or on (+1). Holders on them count their own power. */
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

static void begin_outage(struct power *power, int32_t index, sim_ns now)
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

static double outage_s(const struct power_outage *outage, sim_ns now)
{
    return sim_s_from_ns(outage->dark_ns + (outage->is_dark ? now - outage->since_ns : 0));
}

/* --- Readings --- */

/* How far a reading is above the minimum since `since_ns`, itself included. */
static double rise_w(struct power_least *least, double mean_w, sim_ns at, sim_ns since_ns)
{
    const int32_t capacity = least->capacity;
    while (least->n > 0 && least->dips[least->first].at_ns < since_ns) {
        least->first = (least->first + 1) % capacity;
        least->n--;
    }
    while (least->n > 0 && least->dips[(least->first + least->n - 1) % capacity].mean_w >= mean_w) least->n--;
    least->dips[(least->first + least->n++) % capacity] = (struct power_dip){at, mean_w};
    return mean_w - least->dips[least->first].mean_w;
}

/* Heat rises with the square of the current above the rating and falls below it. Returns whether the breaker trips,
 * which cools it. */
static bool heat_up(const struct power_breaker_config *config, struct power_breaker *breaker, double power_frac,
                    double seconds)
{
    const double load = power_frac / config->rating_frac, full = config->overload_frac * config->overload_frac - 1.0;
    breaker->heat += (load * load - 1.0) / full * seconds / sim_s_from_ns(config->after_ns);
    breaker->heat = fmax(breaker->heat, 0.0);
    if (breaker->heat < 1.0) return false;
    breaker->heat = 0.0;
    breaker->trips++;
    return true;
}

/* The clock of the brake, or the lowest one if that is higher: no policy orders less. */
static double ordered_least_hz(const struct power *power, const struct power_domain *domain)
{
    return fmax(power->config->commands.brake_hz, POWER_LEAST_CLOCK_FRAC * domain->view.highest_hz);
}

/* Whether all held GPUs of the domain have been at that clock since `from_ns`. */
static bool is_at_least_clock(const struct power *power, const struct power_domain *domain, sim_ns from_ns)
{
    const double least_hz = ordered_least_hz(power, domain);
    bool is_held[POWER_TARGETS];
    for (int target = 0; target < POWER_TARGETS; target++) {
        const struct power_hold *hold = &domain->holds[target];
        const double hz = hold->in_force.clock_hz;
        is_held[target] = hz > 0.0 && hz <= least_hz && hold->since_ns <= from_ns;
    }
    bool all = true;
    for (int group = 0; group < POWER_GROUPS; group++)
        all = all && (is_held[group] || domain->view.groups[group].gpus == 0);
    return is_held[POWER_TARGET_BRAKE] || (all && (is_held[POWER_LOW] || is_held[POWER_HIGH]));
}

static void count(struct power *power, int32_t index, const struct power_row *row, double joules)
{
    const double mean_w = row->values[index];
    const sim_ns at = row->to_ns;
    const struct power_config *config = power->config;
    struct power_domain *domain = &power->domains[index];
    const double period_s = sim_s_from_ns(config->telemetry.period_ns);
    const double period_w = (joules - domain->breaker.since_j) / period_s;
    tally_add(&domain->used, mean_w / config->budget_w);
    const bool is_over = mean_w > config->budget_w;
    if (is_over) domain->over_ns += config->telemetry.period_ns;
    if (is_over && is_at_least_clock(power, domain, row->from_ns)) {
        domain->n_stuck++;
        domain->stuck_w = fmax(domain->stuck_w, mean_w);
    }
    domain->rise_w = fmax(domain->rise_w, rise_w(&domain->least, mean_w, at, at - power_latency_ns(config)));
    domain->breaker.since_j = joules;
    if (config->breaker.after_ns == 0) return;
    const bool trips = heat_up(&config->breaker, &domain->breaker, period_w / config->budget_w, period_s);
    if (trips && config->breaker.outage_ns > 0) begin_outage(power, index, at);
}

void power_count_readings(struct power *power, const struct power_row *row, const double *joules)
{
    double site_w = 0.0;
    const bool counts = row->from_ns >= power->env.site->warmup_ns;
    for (int32_t i = 0; i < power->n_domains && !counts; i++) power->domains[i].breaker.since_j = joules[i];
    if (!counts) return;
    for (int32_t i = 0; i < power->n_domains; i++) {
        count(power, i, row, joules[i]);
        site_w += row->values[i];
    }
    tally_add(&power->site, site_w);
}

/* --- Metrics --- */

/* Totals over all domains. */
struct totals {
    struct tally used;
    double rise_w, held_s[POWER_TARGETS], over_s, dark_s;
    int64_t brakes, trips, commands;
};

static double held_s(const struct power_hold *hold, sim_ns now)
{
    const bool is_held = power_setting_is_held(&hold->in_force);
    return sim_s_from_ns(hold->held_ns + (is_held ? now - hold->since_ns : 0));
}

static struct totals add_up(const struct power *power, sim_ns now)
{
    struct totals totals = {0};
    tally_init(&totals.used);
    for (int32_t i = 0; i < power->n_domains; i++) {
        const struct power_domain *domain = &power->domains[i];
        tally_merge(&totals.used, &domain->used);
        totals.rise_w = fmax(totals.rise_w, domain->rise_w);
        totals.over_s += sim_s_from_ns(domain->over_ns);
        totals.dark_s += outage_s(&domain->outage, now);
        totals.brakes += domain->brakes;
        totals.trips += domain->breaker.trips;
        for (int target = 0; target < POWER_TARGETS; target++) {
            totals.held_s[target] += held_s(&domain->holds[target], now);
            totals.commands += domain->holds[target].n_ordered;
        }
    }
    return totals;
}

static int warn(const struct power *power, const char *code, const char *text, int64_t n)
{
    const struct sink *sink = power->env.site->sink;
    if (n == 0 || sink->warning == NULL) return 0;
    const struct warning_row row = {.t_s = (double)NAN, .code = code, .count = n, .text = text};
    return sink->warning(sink->context, &row);
}

/* Whether the brake does not slow GPUs of a type; `text` says so. */
static bool say_brake(const struct power *power, const struct power_node_type *type, char *text, size_t text_bytes)
{
    const double brake_hz = power->config->commands.brake_hz;
    snprintf(text, text_bytes, "a brake_clock of %.6g MHz does not slow %s: its highest is %.6g MHz", brake_hz * 1e-6,
             type->gpu.name, type->gpu.boost_hz * 1e-6);
    return brake_hz >= type->gpu.boost_hz;
}

/* Limits that GPUs of a type could not follow. */
static int warn_of_limits(const struct power *power, const struct power_node_type *type)
{
    char text[256];
    const char *gpu = type->gpu.name;
    const bool is_alone = power->env.cluster->node_types.n == 0;
    snprintf(text, sizeof text, "a power limit of %.6g W has no effect on %s: its TDP is %.6g W%s", type->cap_above_w,
             gpu, type->gpu.tdp_w,
             is_alone ? "" : "; for several types of GPUs in a domain, give static-cap a 'cap' below it");
    int code = warn(power, "power-limit", text, type->cap_above_w > 0.0);
    if (code != 0) return code;
    snprintf(
        text, sizeof text,
        "a power limit of %.6g W is below what %s draws idle with a process (%.6g W): its GPUs run at their lowest "
        "clock and draw more",
        type->cap_below_w, gpu, type->model.context_w);
    code = warn(power, "power-limit", text, type->cap_below_w > 0.0);
    if (code != 0) return code;
    snprintf(text, sizeof text, "a clock of %.6g MHz has no effect on %s: its highest is %.6g MHz",
             type->clock_above_hz * 1e-6, gpu, type->gpu.boost_hz * 1e-6);
    code = warn(power, "power-limit", text, type->clock_above_hz > 0.0);
    if (code != 0) return code;
    return warn(power, "power-limit", text, say_brake(power, type, text, sizeof text));
}

void power_warn_brake(const struct power *power, struct diag *diag)
{
    char text[256];
    const char *where = config_where(power->env.site->config, "cluster.power.commands.brake_clock");
    for (size_t i = 0; i <= power->env.cluster->node_types.n; i++)
        if (say_brake(power, &power->types[i], text, sizeof text)) diag_warning(diag, where, NULL, "%s", text);
}

/* Budgets that no clock keeps: those below what servers and GPUs idle with a process draw. Budgets that the brake's
 * clock does not keep: readings with all GPUs at it or below were above. Each warning has the domain that is furthest
 * above, and how many there are. */
static int warn_of_floors(const struct power *power)
{
    const struct power_domain *highest = NULL, *stuck = NULL;
    const double budget_w = power->config->budget_w, each = 1.0 + power->env.server_power->per_gpu_w;
    double highest_w = budget_w;
    int64_t n_domains = 0, n_stuck = 0;
    char text[256];
    for (int32_t i = 0; i < power->n_domains; i++) {
        const struct power_domain *domain = &power->domains[i];
        const double floor_w = each * domain->process_w + (double)domain->servers * power->env.server_power->idle_w;
        n_domains += floor_w > budget_w;
        n_stuck += domain->n_stuck;
        if (floor_w > highest_w) highest = domain;
        highest_w = fmax(highest_w, floor_w);
        if (domain->n_stuck > 0 && (stuck == NULL || domain->stuck_w > stuck->stuck_w)) stuck = domain;
    }
    if (highest != NULL) {
        snprintf(text, sizeof text,
                 "no clock keeps the budget of %.6g W: with a process on each GPU and without work, %.32s draws %.6g W",
                 budget_w, highest->name, highest_w);
        const int code = warn(power, "power-floor", text, n_domains);
        if (code != 0) return code;
    }
    if (stuck == NULL) return 0;
    snprintf(text, sizeof text,
             "readings above the budget of %.6g W with all GPUs of the domain at the brake's clock of %.6g MHz or "
             "below: %.32s drew %.6g W",
             budget_w, ordered_least_hz(power, stuck) * 1e-6, stuck->name, stuck->stuck_w);
    return warn(power, "power-floor", text, n_stuck);
}

/* A capping policy that leaves domains over their budget for more than a hundredth of the time. */
static int warn_of_excess(const struct power *power, const struct totals *totals, sim_ns now)
{
    char text[256];
    const double run_s = sim_s_from_ns(now) * power->n_domains;
    const bool caps = power->capper->setup != NULL || power->capper->decide != NULL;
    snprintf(text, sizeof text,
             "'%s' left domains over their budget for %.4g of %.4g s, up to %.4g %% of it: compare policies only where "
             "they keep it",
             power->capper->policy.name, totals->over_s, run_s, 100 * totals->used.max);
    return warn(power, "over-budget", text, caps && totals->over_s > 0.01 * run_s);
}

/* Energy of the site without its GPUs. */
static double servers_j(struct power *power, sim_ns now)
{
    double idle_j = 0.0;
    for (int32_t i = 0; i < power->n_domains; i++) idle_j += power_meter_j(&power->domains[i].beside, now);
    const double more = power->env.server_power->per_gpu_w;
    return idle_j + (power_site_j(power, now) - idle_j) * more / (1.0 + more);
}

int power_finish(void *self, sim_ns now)
{
    struct power *power = self;
    const struct sink *sink = power->env.site->sink;
    const struct totals totals = add_up(power, now);
    const bool has_read = power->site.count > 0, has_outages = power->config->breaker.outage_ns > 0;
    const double budget_w = power->config->budget_w, site_j = power_site_j(power, now), none = (double)NAN;
    const double jobs_j = power_meter_j(&power->on_jobs, now);
    const int64_t n_jobs = power->n_finished_jobs;
    const struct {
        const char *name, *entity;
        double value;
    } metrics[] = {
        {"energy.site_j", NULL, site_j},
        {"energy.jobs_j", NULL, power->env.has_jobs ? jobs_j : none},
        {"energy.j_per_job", NULL, n_jobs > 0 ? jobs_j / (double)n_jobs : none},
        {"energy.idle_j", NULL, power_meter_j(&power->idle, now)},
        {"energy.servers_j", NULL, servers_j(power, now)},
        {"power.site_w.mean", NULL, now > 0 ? site_j / sim_s_from_ns(now) : none},
        {"power.site_w.max", NULL, has_read ? power->site.max : none},
        {"power.budget_frac.mean", NULL, has_read ? totals.used.mean : none},
        {"power.budget_frac.max", NULL, has_read ? totals.used.max : none},
        {"power.rise_frac.max", NULL, has_read ? totals.rise_w / budget_w : none},
        {"power.over_budget_s", NULL, totals.over_s},
        {"power.held_s", "low", totals.held_s[POWER_LOW]},
        {"power.held_s", "high", totals.held_s[POWER_HIGH]},
        {"power.braked_s", NULL, totals.held_s[POWER_TARGET_BRAKE]},
        {"power.brakes", NULL, (double)totals.brakes},
        {"power.commands", NULL, (double)totals.commands},
        {"power.breaker_trips", NULL, power->config->breaker.after_ns > 0 ? (double)totals.trips : none},
        {"power.dark_s", NULL, has_outages ? totals.dark_s : none},
    };
    int code = warn(power, "breaker",
                    has_outages ? "a breaker tripped; its domain was dark until it was reset"
                                : "a breaker would have tripped; its domain stays powered",
                    totals.trips);
    if (code == 0)
        code = warn(power, "power", "jobs whose type has no power: their GPUs draw idle power with a process",
                    power->n_unknown);
    if (code == 0)
        code = warn(power, "power",
                    "jobs that train compute or move more than loads that the power of their GPUs was "
                    "fitted on, or those GPUs were not measured",
                    power->n_outside);
    for (size_t i = 0; code == 0 && i < 1 + power->env.cluster->node_types.n; i++)
        code = warn_of_limits(power, &power->types[i]);
    if (code == 0) code = warn_of_floors(power);
    if (code == 0) code = warn_of_excess(power, &totals, now);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && code == 0; i++)
        code = metric_emit_of(sink, metrics[i].name, metrics[i].entity, metrics[i].value);
    return code;
}
