/* Commands of policies: checked, in flight, and in force. */
#include "sim/world/policy/instance.h"
#include "sim/world/power/power_state.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>

static const char *const target_names[POWER_TARGETS] = {"low", "high", "brake"};

/* --- In force --- */

static double clock_frac(const struct power_setting *setting, double highest_hz)
{
    if (setting->clock_hz == 0.0 || setting->clock_hz >= highest_hz) return 1.0;
    return fmax(setting->clock_hz / highest_hz, POWER_LEAST_CLOCK_FRAC);
}

struct power_node_type *power_type_of(const struct power *power, const struct holder *holder)
{
    return &power->types[holder->cluster->node_type];
}

/* The limit of a GPU of this type; INFINITY: none but its own. */
static double cap_of(const struct power_setting *setting, const struct power_node_type *type)
{
    const double cap_w = setting->cap_w > 0.0 ? setting->cap_w : (double)INFINITY;
    return setting->cap_frac > 0.0 ? fmin(cap_w, setting->cap_frac * type->gpu.tdp_w) : cap_w;
}

static void note_limits(const struct power_setting *setting, struct power_node_type *type)
{
    const double cap_w = cap_of(setting, type);
    if (setting->cap_w > type->gpu.tdp_w) type->cap_above_w = setting->cap_w;
    if (cap_w < type->model.context_w) type->cap_below_w = cap_w;
    if (setting->clock_hz > type->gpu.boost_hz) type->clock_above_hz = setting->clock_hz;
}

struct clock_order power_order_of(const struct power_domain *domain, int group, struct power_node_type *type)
{
    const double highest_hz = type->gpu.boost_hz;
    const struct power_setting *lock = &domain->holds[group].in_force;
    const struct power_setting *brake = &domain->holds[POWER_TARGET_BRAKE].in_force;
    const double locked_frac = clock_frac(lock, highest_hz), braked_frac = clock_frac(brake, highest_hz);
    struct clock_order order = clock_order_none();
    order.clock_frac = fmin(locked_frac, braked_frac);
    order.cap_w = cap_of(lock, type);
    note_limits(lock, type);
    if (!power_setting_is_held(lock) && !power_setting_is_held(brake)) return order;
    const int target = braked_frac < locked_frac ? POWER_TARGET_BRAKE : group;
    order.domain = domain->name;
    order.target = target_names[target];
    order.given_ns = domain->holds[target].given_ns;
    order.since_ns = domain->holds[target].since_ns;
    return order;
}

void power_apply(struct power_member *member, sim_ns now)
{
    const struct power_domain *domain = &member->power->domains[member->parts[0].domain];
    const struct holder_draw *draw = member->holder->draw;
    const struct clock_order order = power_order_of(domain, draw->group, power_type_of(member->power, member->holder));
    member->holder->ops->set_clock(member->holder, &order, now);
}

static int tell_effect(const struct power *power, const struct power_order *order, sim_ns now)
{
    const struct sink *sink = power->env.site->sink;
    const struct power_domain *domain = &power->domains[order->domain];
    if (sink->power_command == NULL) return 0;
    const struct power_command_row row = {.t_s = sim_s_from_ns(now),
                                          .domain = domain->name,
                                          .target = target_names[order->target],
                                          .holds = power_setting_is_held(&order->setting),
                                          .given_s = sim_s_from_ns(order->given_ns),
                                          .reading_w = order->reading_w,
                                          .budget_w = domain->view.budget_w};
    return sink->power_command(sink->context, &row);
}

static int take_effect(struct power *power, const struct power_order *order, sim_ns now)
{
    const int32_t index = order->domain;
    const enum power_target target = order->target;
    const struct power_setting setting = order->setting;
    struct power_domain *domain = &power->domains[index];
    struct power_hold *hold = &domain->holds[target];
    if (power_setting_is_held(&hold->in_force)) hold->held_ns += now - hold->since_ns;
    hold->since_ns = now;
    if (target == POWER_TARGET_BRAKE && power_setting_is_held(&setting) && !power_setting_is_held(&hold->in_force))
        domain->brakes++;
    hold->in_force = setting;
    hold->n_in_force = order->number;
    hold->given_ns = order->given_ns;
    for (size_t m = 0; m < power->n_members; m++) {
        struct power_member *member = power->members[m];
        const bool is_meant = target == POWER_TARGET_BRAKE || target == (enum power_target)member->holder->draw->group;
        if (is_meant && member->n_parts > 0 && member->parts[0].domain == index) power_apply(member, now);
    }
    power_jobs_apply(power, index, now);
    return tell_effect(power, order, now);
}

/* --- In flight --- */

/* The command at the head of the queue is due. It has no effect if a later command has replaced it. */
static void arrive(struct power *power, struct power_command_queue *queue, sim_ns now)
{
    struct power_order *order = queue->head;
    queue->head = order->next;
    const struct power_hold *hold = &power->domains[order->domain].holds[order->target];
    const int code = order->number == hold->n_ordered ? take_effect(power, order, now) : 0;
    if (code != 0) engine_fail(power->env.site->engine, code);
    pool_give(&power->orders, order);
}

static void lock_arrives(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct power_command_queue *queue = OWNER_ENTITY(owner, struct power_command_queue, owner);
    arrive(OWNER_ENTITY(queue, struct power, locks), queue, now);
}

static void brake_arrives(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct power_command_queue *queue = OWNER_ENTITY(owner, struct power_command_queue, owner);
    arrive(OWNER_ENTITY(queue, struct power, brakes), queue, now);
}

void power_commands_init(struct power *power)
{
    const struct power_env *env = &power->env;
    pool_init(&power->orders, sizeof(struct power_order));
    owner_init(&power->locks.owner, site_env_owner_ids(env->site, 1));
    owner_init(&power->brakes.owner, site_env_owner_ids(env->site, 1));
    power->locks.latency_ns = power_latency_ns(power->config);
    power->brakes.latency_ns = power->config->commands.brake_ns;
}

static int send(struct power *power, const struct power_order *given, sim_ns effect_ns)
{
    const bool is_brake = given->target == POWER_TARGET_BRAKE;
    struct power_command_queue *queue = is_brake ? &power->brakes : &power->locks;
    struct power_order *order = pool_take(&power->orders);
    if (order == NULL) return SIM_E_NOMEM;
    *order = *given;
    if (queue->head == NULL)
        queue->head = order;
    else
        queue->tail->next = order;
    queue->tail = order;
    engine_schedule_background(power->env.site->engine, effect_ns, PRIORITY_POWER,
                               is_brake ? brake_arrives : lock_arrives, &queue->owner);
    return 0;
}

/* --- Given --- */

static int fault(const struct power *power, int32_t domain, enum power_target target, sim_ns now, const char *why)
{
    return diag_error(power->env.site->diag, SIM_E_POLICY, NULL, NULL,
                      "power_cap policy '%s' asked for a setting of '%s' in %s at %.9f s, but %s",
                      power->capper->policy.name, target_names[target], power->domains[domain].name, sim_s_from_ns(now),
                      why);
}

static int check(const struct power *power, int32_t domain, enum power_target target,
                 const struct power_setting *setting, sim_ns now)
{
    const double least_hz = power->domains[domain].view.least_hz;
    if (!(setting->clock_hz >= 0.0) || (setting->clock_hz > 0.0 && setting->clock_hz < least_hz))
        return fault(power, domain, target, now, "no GPU has such a clock");
    if (!(setting->cap_w >= 0.0) || isinf(setting->cap_w))
        return fault(power, domain, target, now, "its cap is no power");
    if (!(setting->cap_frac >= 0.0) || setting->cap_frac > 1.0)
        return fault(power, domain, target, now, "its cap is no share of a power limit");
    if (target == POWER_TARGET_BRAKE && (setting->cap_w > 0.0 || setting->cap_frac > 0.0))
        return fault(power, domain, target, now, "the brake is a clock");
    return 0;
}

/* "1275 MHz: ", "325 W: ", and of GPUs with different limits "81.25 % of the limit of each: ". */
static void tell_level(const struct power_domain *domain, const struct power_setting *setting, char *text, size_t bytes)
{
    const double limit_w = domain->view.gpu_limit_w;
    if (setting->clock_hz > 0.0)
        snprintf(text, bytes, "%.6g MHz: ", setting->clock_hz * 1e-6);
    else if (setting->cap_w > 0.0)
        snprintf(text, bytes, "%.6g W: ", setting->cap_w);
    else if (setting->cap_frac > 0.0 && domain->least_limit_w == limit_w)
        snprintf(text, bytes, "%.6g W: ", setting->cap_frac * limit_w);
    else if (setting->cap_frac > 0.0)
        snprintf(text, bytes, "%.6g %% of the limit of each: ", setting->cap_frac * 100.0);
}

/* "lock low", "cap high", "free low", "brake", "release"; behind it to what, and why. */
static int tell(const struct power *power, int32_t domain, enum power_target target,
                const struct power_command *command, sim_ns now)
{
    const struct sink *sink = power->env.site->sink;
    const struct power_setting *setting = &command->setting;
    const bool is_lock = setting->clock_hz > 0.0, is_brake = target == POWER_TARGET_BRAKE;
    char action[32], reason[160], level[64] = "";
    if (sink->decision == NULL) return 0;
    tell_level(&power->domains[domain], setting, level, sizeof level);
    snprintf(reason, sizeof reason, "%s%s", level, command->reason != NULL ? command->reason : "");
    snprintf(action, sizeof action, "%s%s",
             is_brake                         ? (is_lock ? "brake" : "release")
             : is_lock                        ? "lock "
             : power_setting_is_held(setting) ? "cap "
                                              : "free ",
             is_brake ? "" : target_names[target]);
    struct decision_row row = {.t_s = sim_s_from_ns(now), .service = power->domains[domain].name,
                               .policy = power->capper->policy.name, .action = action, .subject = domain,
                               .reason = reason};
    return sink->decision(sink->context, &row);
}

static int give(struct power *power, int32_t domain, enum power_target target, const struct power_command *command,
                bool at_once, sim_ns now)
{
    struct power_hold *hold = &power->domains[domain].holds[target];
    const sim_ns latency_ns = target == POWER_TARGET_BRAKE ? power->brakes.latency_ns : power->locks.latency_ns;
    int code = check(power, domain, target, &command->setting, now);
    if (code == 0) code = tell(power, domain, target, command, now);
    if (code != 0) return code;
    hold->ordered = command->setting;
    hold->n_ordered++;
    hold->effect_ns = at_once ? now : sim_ns_add(now, latency_ns);
    const struct power_order order = {.domain = domain, .target = target, .setting = hold->ordered,
                                      .number = hold->n_ordered, .given_ns = now,
                                      .reading_w = power->domains[domain].view.reading.mean_w};
    if (hold->effect_ns > now) return hold->effect_ns < SIM_NS_MAX ? send(power, &order, hold->effect_ns) : 0;
    return take_effect(power, &order, now);
}

int power_command(struct power *power, int32_t domain, const struct power_plan *plan, bool at_once, sim_ns now)
{
    int code = 0;
    for (int target = 0; target < POWER_TARGETS && code == 0; target++)
        if (plan->commands[target].given)
            code = give(power, domain, (enum power_target)target, &plan->commands[target], at_once, now);
    return code;
}

/* --- For policies --- */

static void show(const struct power_hold *hold, struct power_group_view *view)
{
    view->in_force = hold->in_force;
    view->ordered = hold->ordered;
    view->in_flight = hold->n_ordered != hold->n_in_force;
    view->effect_ns = hold->effect_ns;
}

void power_refresh_view(struct power *power, int32_t domain, sim_ns now)
{
    struct power_domain *shown = &power->domains[domain];
    shown->view.now_ns = now;
    shown->view.least_hz = POWER_LEAST_CLOCK_FRAC * shown->view.highest_hz;
    shown->view.brake_hz = fmax(power->config->commands.brake_hz, shown->view.least_hz);
    for (int group = 0; group < POWER_GROUPS; group++) show(&shown->holds[group], &shown->view.groups[group]);
    show(&shown->holds[POWER_TARGET_BRAKE], &shown->view.brake);
}
