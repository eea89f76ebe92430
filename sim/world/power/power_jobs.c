/* The power of jobs: while a job runs, each of its GPUs draws what its type says, at the clock in force in its domain.
 * A job on several domains has the slowest of their clocks. The part of its power above idle power with a process
 * follows the clock and voltage of the core. GPUs of a paused job idle with a process. A job that trains by a plan
 * draws the mean power of its step's phases, each on the law of models/power.h. Not modelled: a GPU that idle jobs
 * share draws its idle power with a process only once. */
#include "sim/world/power/power_state.h"

#include <math.h>

static struct power_domain *domain_of(const struct power *power, const struct holder *holder,
                                      const struct allocation *part)
{
    return power_domain_of(power, holder->cluster->first_node + part->node);
}

/* The lowest clock and cap of all its domains, and the command of the last domain that lowers one of them. */
static struct clock_order order_of(const struct power *power, const struct holder *holder)
{
    struct clock_order least = clock_order_none();
    for (const struct allocation *part = holder->held; part != NULL; part = part->next) {
        const struct clock_order order = power_order_of(domain_of(power, holder, part), holder->draw->group,
                                                        power_type_of(power, holder));
        const bool is_slower = order.clock_frac < least.clock_frac || order.cap_w < least.cap_w;
        const struct clock_order before = least;
        if (is_slower) least = order;
        least.clock_frac = fmin(before.clock_frac, order.clock_frac);
        least.cap_w = fmin(before.cap_w, order.cap_w);
    }
    return least;
}

/* The state of a holder that states its mean power; else it draws idle power. */
static struct power_state stated(const struct power_node_type *type, const struct holder_draw *draw,
                                 const struct clock_order *order)
{
    const bool is_known = draw->mean_w > 0.0;
    const struct power_load load = {.busy_frac = 1.0};
    struct power_model model = type->model;
    const double share = is_known ? draw->clock_share : 0.0;
    model.active_w = is_known ? fmax(draw->mean_w - model.context_w, 0.0) : 0.0;
    model.limit_w = fmax(model.limit_w, model.context_w + model.active_w);
    struct power_state state = power_at_clock(&model, &load, share, order->clock_frac);
    if (state.power_w > order->cap_w) state = power_under_cap(&model, &load, share, order->cap_w);
    return state;
}

/* The state of a holder with stages. Of GPUs whose power is not known, only the clock counts. */
static struct power_state staged(const struct power_node_type *type, const struct holder_draw *draw,
                                 const struct clock_order *order)
{
    const bool is_known = !isnan(type->load.active_w);
    struct power_model model = type->load;
    if (!is_known) model.active_w = model.compute_w = model.memory_w = 0.0;
    struct power_state state = power_of_phases(&model, draw->stages, draw->n_stages, order->clock_frac, order->cap_w);
    state.power_w = model.context_w + draw->used_frac * (state.power_w - model.context_w);
    return state;
}

/* Sets power and speed by what is in force. */
static void set_clock(const struct power *power, struct power_job *of, struct holder *holder)
{
    const struct power_node_type *type = power_type_of(power, holder);
    const struct clock_order order = order_of(power, holder);
    const bool has_stages = holder->draw->n_stages > 0;
    const struct power_state state = has_stages ? staged(type, holder->draw, &order)
                                                : stated(type, holder->draw, &order);
    of->is_known = has_stages ? !isnan(type->load.active_w) : holder->draw->mean_w > 0.0;
    of->gpu_w = holder->is_paused ? type->model.context_w : state.power_w;
    of->order = order;
    holder->speed_frac = state.speed_frac;
}

struct holder_command power_job_command(const struct watcher *watcher, const struct holder *holder)
{
    const struct clock_order order = order_of(OWNER_ENTITY(watcher, const struct power, watcher), holder);
    return (struct holder_command){order.domain, order.target, order.given_ns, order.since_ns};
}

/* The share that the holder has of each of its GPUs: 1, or less if GPUs are shared. */
static double share_of(const struct holder *holder)
{
    int64_t gpus = 0;
    for (const struct allocation *part = holder->held; part != NULL; part = part->next) gpus += part->gpus;
    return gpus_of(holder->ugpus) / (double)gpus;
}

/* Adds (+1) or removes (-1) the power of a job's GPUs, in place of their bare idle power; of a shared GPU its share of
 * both. */
static void count(struct power *power, const struct power_job *of, int sign, sim_ns now)
{
    const double idle_w = power_type_of(power, of->holder)->gpu.idle_w;
    for (const struct allocation *part = of->holder->held; part != NULL; part = part->next) {
        const double gpus = sign * of->share * part->gpus;
        struct power_domain *domain = domain_of(power, of->holder, part);
        power_meter_add(&domain->rest, gpus * (of->gpu_w - idle_w), now);
        power_meter_add(&power->on_jobs, gpus * of->gpu_w, now);
        power_meter_add(&power->idle, -gpus * idle_w, now);
        domain->view.groups[of->holder->draw->group].gpus += sign * part->gpus;
        domain->view.highest_hz = fmax(domain->view.highest_hz, power_type_of(power, of->holder)->gpu.boost_hz);
    }
}

static double drawn_since_j(const struct power_job *of, sim_ns now)
{
    return gpus_of(of->holder->ugpus) * of->gpu_w * sim_s_from_ns(now - of->since_ns);
}

double power_job_j(const struct watcher *watcher, const struct holder *holder, sim_ns now)
{
    const struct power_job *of = holder->watcher_state[watcher->slot];
    return holder->drawn_j + (of != NULL ? drawn_since_j(of, now) : 0.0);
}

static void begins_to_draw(struct power *power, struct power_job *of, sim_ns now)
{
    set_clock(power, of, of->holder);
    of->since_ns = now;
    count(power, of, 1, now);
}

static void ends_to_draw(struct power *power, struct power_job *of, sim_ns now)
{
    of->holder->drawn_j += drawn_since_j(of, now);
    count(power, of, -1, now);
}

/* Whether some stage computes or moves at a share of the peak that the power of its GPUs was not fitted on. */
static bool is_outside(const struct power_node_type *type, const struct holder_draw *draw)
{
    bool is_outside = draw->n_stages > 0 && !type->is_measured;
    for (int i = 0; i < draw->n_stages; i++)
        is_outside = is_outside || draw->stages[i].load.compute_frac > type->compute_range[1] ||
                     draw->stages[i].load.memory_frac > type->memory_range[1];
    return is_outside;
}

int power_job_starts(struct power *power, struct holder *holder, sim_ns now)
{
    if (holder->ugpus == 0) return 0;
    struct power_job *of = pool_take(&power->jobs);
    if (of == NULL) return SIM_E_NOMEM;
    *of = (struct power_job){.holder = holder, .next = power->running};
    if (of->next != NULL) of->next->prev = of;
    power->running = holder->watcher_state[power->watcher.slot] = of;
    of->share = share_of(holder);
    begins_to_draw(power, of, now);
    power->n_unknown += !of->is_known;
    power->n_outside += of->is_known && is_outside(power_type_of(power, holder), holder->draw);
    return 0;
}

void power_job_redrawn(struct power *power, struct holder *holder, sim_ns now)
{
    struct power_job *of = holder->watcher_state[power->watcher.slot];
    ends_to_draw(power, of, now);
    begins_to_draw(power, of, now);
}

void power_job_stops(struct power *power, struct holder *holder, sim_ns now)
{
    struct power_job *of = holder->watcher_state[power->watcher.slot];
    ends_to_draw(power, of, now);
    if (of->next != NULL) of->next->prev = of->prev;
    if (of->prev != NULL)
        of->prev->next = of->next;
    else
        power->running = of->next;
    pool_give(&power->jobs, of);
    holder->watcher_state[power->watcher.slot] = NULL;
}

static bool is_on(const struct power *power, const struct holder *holder, int32_t domain)
{
    for (const struct allocation *part = holder->held; part != NULL; part = part->next)
        if (domain_of(power, holder, part) == &power->domains[domain]) return true;
    return false;
}

static bool is_same_command(const struct clock_order *a, const struct clock_order *b)
{
    return a->domain == b->domain && a->target == b->target && a->given_ns == b->given_ns;
}

void power_jobs_apply(struct power *power, int32_t domain, sim_ns now)
{
    for (struct power_job *of = power->running; of != NULL; of = of->next) {
        const double before = of->holder->speed_frac;
        const struct clock_order order = of->order;
        if (!is_on(power, of->holder, domain)) continue;
        ends_to_draw(power, of, now);
        begins_to_draw(power, of, now);
        if (of->holder->speed_frac != before)
            of->holder->ops->speed_changed(of->holder, now);
        else if (before < 1.0 && !is_same_command(&of->order, &order))
            of->holder->ops->command_changed(of->holder, now);
    }
}
