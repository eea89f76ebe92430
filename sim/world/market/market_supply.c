/* The supply of spot GPUs: replayed from a file of instance counts, or random for each lease. */
#include "sim/world/market/market_state.h"

#include "sim/world/rows/priority.h"

#include <math.h>

int market_supply_open(struct market *market, int32_t offer)
{
    struct offer_state *state = &market->states[offer];
    const struct spot_config *spot = &state->config->spot;
    market->has_spot = market->has_spot || state->config->kind == OFFER_SPOT || spot->availability != NULL;
    if (spot->availability == NULL) return 0;
    return availability_read(spot->availability, (enum availability_format)spot->format, &state->availability,
                             market->env.site->diag);
}

/* GPUs of an offer by its file, leased ones included. */
static double supplied_gpus(const struct offer_state *state)
{
    if (state->availability.n == 0) return (double)INFINITY;
    return (double)(state->availability.steps[state->step].instances * state->config->spot.gpus_per_instance);
}

/* The most GPUs of an offer from now on. */
static double most_supplied_gpus(const struct offer_state *state)
{
    const struct availability *availability = &state->availability;
    int64_t instances = 0;
    for (size_t i = state->step; i < availability->n; i++)
        if (availability->steps[i].instances > instances) instances = availability->steps[i].instances;
    return availability->n == 0 ? (double)INFINITY : (double)(instances * state->config->spot.gpus_per_instance);
}

/* GPUs of one node type, in 1e-6: leased, of these for the whole run, and of these for jobs that have not started. */
struct part_leases {
    int64_t all, for_run, starting;
};

static struct part_leases leases_of(const struct market *market, const struct cluster *part)
{
    struct part_leases sums = {0};
    for (int32_t i = 0; i < market->view.n_offers; i++) {
        const struct offer_state *state = &market->states[i];
        if (state->part != part) continue;
        sums.all += market->ledger.accounts[i].micro_gpus;
        sums.for_run += state->run_ugpus;
        sums.starting += state->starting_ugpus;
    }
    return sums;
}

double market_leased_gpus(const struct market *market, const struct cluster *part)
{
    return gpus_of(leases_of(market, part).all);
}

static double limit_of(const struct offer_state *state)
{
    return isnan(state->config->limit_gpus) ? (double)INFINITY : state->config->limit_gpus;
}

double market_free_gpus(const struct market *market, int32_t offer)
{
    const struct offer_state *state = &market->states[offer];
    const struct cluster *part = state->part;
    const double leased = gpus_of(market->ledger.accounts[offer].micro_gpus);
    const double free = fmin(limit_of(state), supplied_gpus(state)) - leased;
    if (part->total_gpus == INT64_MAX) return free;
    const struct part_leases leases = leases_of(market, part);
    const double there = cluster_free_amount(part) - gpus_of(leases.starting);
    return fmin(free, fmin((double)part->total_gpus - gpus_of(leases.all), there));
}

/* Of `nodes_gpus` GPUs, those that an offer can still lease. */
static double most_of(const struct market *market, int32_t offer, int64_t nodes_gpus)
{
    const struct offer_state *state = &market->states[offer];
    const double most = fmin(limit_of(state), most_supplied_gpus(state)) - gpus_of(state->run_ugpus);
    if (state->part->total_gpus == INT64_MAX) return most;
    return fmin(most, (double)nodes_gpus - gpus_of(leases_of(market, state->part).for_run));
}

double market_most_gpus(const struct market *market, int32_t offer)
{
    const struct cluster *part = market->states[offer].part;
    return most_of(market, offer, part->total_gpus - part->spare_gpus);
}

double market_most_for_run(const struct market *market, int32_t offer)
{
    return most_of(market, offer, market->states[offer].part->total_gpus);
}

sim_ns market_draw_expiry(const struct market *market, int32_t offer, int64_t lease, sim_ns ready_ns)
{
    const struct spot_config *spot = &market->states[offer].config->spot;
    struct rng rng;
    if (market->offers[offer].kind != OFFER_SPOT || isnan(spot->mean_life_s)) return SIM_NS_MAX;
    rng_init(&rng, market->env.site->seed, market->env.site->run, "spot-life", (uint64_t)lease);
    const double shape = spot->law == SPOT_WEIBULL ? spot->shape : 1.0;
    const double life_s = spot->mean_life_s / tgamma(1.0 + 1.0 / shape) * pow(rng_exponential(&rng, 1.0), 1.0 / shape);
    return sim_ns_add(ready_ns, sim_ns_from_s(life_s));
}

/* Interrupts leases of an offer, the youngest first, until its GPUs suffice for the rest. */
static int take_back(struct market *market, int32_t offer, sim_ns now)
{
    const double supplied = supplied_gpus(&market->states[offer]);
    int code = 0;
    struct lease *before;
    for (struct lease *lease = market->ledger.youngest; lease != NULL && code == 0; lease = before) {
        before = lease->prev;
        if (gpus_of(market->ledger.accounts[offer].micro_gpus) <= supplied) break;
        if (lease->offer == offer && lease->job != NULL) code = market_jobs_interrupt(market, lease->job, now);
    }
    return code;
}

static int move_on(struct market *market, int32_t offer, sim_ns now)
{
    struct offer_state *state = &market->states[offer];
    const struct availability *availability = &state->availability;
    bool changed = false;
    for (; state->step + 1 < availability->n && availability->steps[state->step + 1].time_ns <= now; changed = true)
        state->step++;
    return changed ? take_back(market, offer, now) : 0;
}

static int expire(struct market *market, sim_ns now)
{
    int code = 0;
    struct lease *next;
    for (struct lease *lease = market->ledger.oldest; lease != NULL && code == 0; lease = next) {
        next = lease->next;
        if (lease->expires_ns <= now) code = market_jobs_interrupt(market, lease->job, now);
    }
    return code;
}

static void on_timer(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct market *market = OWNER_ENTITY(owner, struct market, timer);
    int code = expire(market, now);
    for (int32_t i = 0; i < market->view.n_offers && code == 0; i++) code = move_on(market, i, now);
    if (code < 0) engine_fail(engine, code);
    market_jobs_request_decision(market);
    market_supply_watch(market);
}

/* The next change of spot GPUs that jobs have or want. */
static sim_ns next_ns(const struct market *market)
{
    sim_ns next = SIM_NS_MAX;
    for (const struct lease *lease = market->ledger.oldest; lease != NULL; lease = lease->next)
        if (lease->expires_ns < next) next = lease->expires_ns;
    for (int32_t i = 0; i < market->view.n_offers; i++) {
        const struct offer_state *state = &market->states[i];
        const bool is_wanted = market->ledger.accounts[i].micro_gpus > 0 || state->waiting.first != NULL;
        if (!is_wanted || state->step + 1 >= state->availability.n) continue;
        const sim_ns step_ns = state->availability.steps[state->step + 1].time_ns;
        if (step_ns < next) next = step_ns;
    }
    return next;
}

void market_supply_watch(struct market *market)
{
    if (!market->has_spot) return;
    const sim_ns now = engine_now(market->env.site->engine), next = next_ns(market);
    if (next == SIM_NS_MAX)
        engine_disarm(market->env.site->engine, &market->timer);
    else
        engine_arm(market->env.site->engine, next > now ? next : now, PRIORITY_MARKET, on_timer, &market->timer);
}

int market_supply_catch_up(struct market *market, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; i < market->view.n_offers && code == 0; i++) code = move_on(market, i, now);
    return code;
}

int market_supply_look(struct market *market, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; i < market->view.n_offers && code == 0; i++)
        if (market->ledger.accounts[i].micro_gpus == 0) code = move_on(market, i, now);
    return code;
}
