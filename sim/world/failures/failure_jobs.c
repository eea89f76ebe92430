/* How failures strike holders: jobs and replicas on a node, and jobs by their own software. */
#include "sim/world/failures/failure_state.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>

/* --- Strikes --- */

/* Takes a holder's GPUs because of a node; -1: because of its software. Returns 0 or a negative code. */
static int strike(struct failures *failures, const struct failure_effect *effect, struct holder *holder, int32_t node,
                  sim_ns now)
{
    const struct failure_recovery recovery = failure_recovery(failures, effect->source, now);
    struct holder_strike strike = {.cause = effect->source->name, .node = node, .restart_ns = effect->restart_ns,
                                   .ready_ns = recovery.ready_ns};
    const int code = holder->ops->strike(holder, &strike, now);
    if (strike.n_interrupts > 0) {
        failures->n_recoveries++;
        failures->n_by_staff += recovery.by_staff;
        failures->recovery_s += sim_s_from_ns(recovery.ready_ns - now);
    }
    effect->source->n_interrupts += strike.n_interrupts;
    effect->source->lost_gpu_s += strike.lost_gpu_s;
    return code;
}

static bool is_on(const struct holder *holder, int32_t node)
{
    for (const struct allocation *part = holder->held; part != NULL; part = part->next)
        if (holder->cluster->first_node + part->node == node) return true;
    return false;
}

int failure_clear_replicas(struct failures *failures, const struct failure_effect *effect, int32_t node)
{
    const sim_ns now = engine_now(failures->site->engine);
    struct holder *holder = failures->cluster->holders.first;
    int code = 0;
    for (; code == 0 && holder != NULL; holder = holder->next)
        if (is_on(holder, node)) code = strike(failures, effect, holder, node, now);
    return code;
}

int failure_clear_node(struct failures *failures, const struct failure_effect *effect, int32_t node)
{
    const sim_ns now = engine_now(failures->site->engine);
    int code = 0;
    while (code == 0 && failures->nodes[node].occupants != NULL)
        code = strike(failures, effect, failures->nodes[node].occupants->exposure->holder, node, now);
    return code != 0 ? code : failure_clear_replicas(failures, effect, node);
}

/* The source of the job's next failure; NULL: none. */
static struct failure_source *next_source(const struct failure_exposure *exposure)
{
    const struct failures *failures = exposure->failures;
    struct failure_source *first = NULL;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        struct failure_source *source = &failures->sources[i];
        if (source->scope != FAILURE_JOB) continue;
        if (first == NULL || exposure->next[source->job_index].at_ns < exposure->next[first->job_index].at_ns)
            first = source;
    }
    return first;
}

/* Draws the job's next failure from a source, counted from `held_ns` on. */
static void draw_next(struct failure_exposure *exposure, const struct failure_source *source, sim_ns held_ns,
                      struct rng *rng)
{
    struct job_strike *next = &exposure->next[source->job_index];
    failure_stream(exposure->failures, source, exposure->holder->number, next->n++, rng);
    next->at_ns = sim_ns_add(held_ns, failure_draw_life_ns(&source->lifetime, rng));
}

static void arm(struct failure_exposure *exposure, sim_ns now);

static void on_job_strike(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct failure_exposure *exposure = OWNER_ENTITY(owner, struct failure_exposure, strike);
    struct failure_source *source = next_source(exposure);
    struct job_strike *next = &exposure->next[source->job_index];
    struct rng rng;
    failure_stream(exposure->failures, source, exposure->holder->number, next->n - 1, &rng);
    rng_uniform(&rng); /* its time */
    const bool is_visible = rng_uniform(&rng) < source->visible_frac;
    const struct failure_effect effect = {.source = source, .restart_ns = failure_draw_ns(&source->restart, &rng)};
    draw_next(exposure, source, next->at_ns, &rng);
    if (is_visible)
        source->n_seen++;
    else
        source->n_unseen++;
    const int code = is_visible ? strike(exposure->failures, &effect, exposure->holder, -1, now) : 0;
    if (!is_visible) arm(exposure, now);
    if (code < 0) engine_fail(engine, code);
}

static void arm(struct failure_exposure *exposure, sim_ns now)
{
    const struct failure_source *source = next_source(exposure);
    if (source == NULL) return;
    const sim_ns left_ns = exposure->next[source->job_index].at_ns -
                           exposure->holder->ops->held_ns(exposure->holder, now);
    const sim_ns at_ns = sim_ns_add(now, left_ns > 0 ? left_ns : 0);
    engine_arm(exposure->failures->site->engine, at_ns, PRIORITY_FAILURE, on_job_strike, &exposure->strike);
}

/* --- Seats --- */

static int occupy_node(struct failure_exposure *exposure, int32_t index)
{
    struct failures *failures = exposure->failures;
    struct failure_node *node = &failures->nodes[index];
    struct failure_occupant *occupant = pool_take(&failures->occupants);
    if (occupant == NULL) return SIM_E_NOMEM;
    *occupant = (struct failure_occupant){
        .exposure = exposure, .node = index, .after = node->occupants, .next = exposure->occupants};
    if (occupant->after != NULL) occupant->after->before = occupant;
    node->occupants = exposure->occupants = occupant;
    return 0;
}

static void leave_nodes(struct failure_exposure *exposure)
{
    struct failures *failures = exposure->failures;
    while (exposure->occupants != NULL) {
        struct failure_occupant *occupant = exposure->occupants;
        exposure->occupants = occupant->next;
        if (occupant->after != NULL) occupant->after->before = occupant->before;
        *(occupant->before != NULL ? &occupant->before->after
                                   : &failures->nodes[occupant->node].occupants) = occupant->after;
        pool_give(&failures->occupants, occupant);
    }
}

static struct failure_exposure *create_exposure(struct failures *failures, struct holder *holder)
{
    struct failure_exposure *exposure = pool_take(&failures->exposures);
    struct rng rng;
    if (exposure == NULL) return NULL;
    *exposure = (struct failure_exposure){.failures = failures, .holder = holder};
    owner_init_passing(&exposure->strike, OWNER_ID_JOB_FAILURES, holder->number);
    for (int32_t i = 0; i < failures->n_job_sources; i++) exposure->next[i] = (struct job_strike){0};
    for (int32_t i = 0; i < failures->n_sources; i++)
        if (failures->sources[i].scope == FAILURE_JOB) draw_next(exposure, &failures->sources[i], 0, &rng);
    return exposure;
}

static struct failures *failures_of(const struct watcher *watcher)
{
    return OWNER_ENTITY(watcher, struct failures, watcher);
}

static void count_exposed(struct failure_exposure *exposure, bool holds_gpus, sim_ns now)
{
    struct level *exposed = &exposure->failures->exposed;
    if (exposure->holds_gpus == holds_gpus) return;
    level_set(exposed, now, exposed->value + (holds_gpus ? 1 : -1));
    exposure->holds_gpus = holds_gpus;
}

/* Replicas have no exposure: failure_clear_node finds them by their nodes. */
static int on_given(struct watcher *watcher, struct holder *holder, sim_ns now)
{
    struct failures *failures = failures_of(watcher);
    struct failure_exposure *exposure = holder->watcher_state[watcher->slot];
    if (holder->ops->held_ns == NULL || (holder->ugpus == 0 && holder->held == NULL)) return 0;
    if (exposure == NULL) exposure = holder->watcher_state[watcher->slot] = create_exposure(failures, holder);
    if (exposure == NULL) return SIM_E_NOMEM;
    for (const struct allocation *part = holder->held; part != NULL; part = part->next)
        if (occupy_node(exposure, holder->cluster->first_node + part->node) != 0) return SIM_E_NOMEM;
    holder->slow_frac = failure_holder_share(exposure);
    holder->is_paused = failure_holder_pauses(exposure);
    if (holder->is_paused && holder->ugpus > 0) holders_redrawn(&failures->cluster->holders, holder, now);
    if (holder->ugpus > 0) arm(exposure, now);
    count_exposed(exposure, holder->ugpus > 0, now);
    return 0;
}

static void on_taken(struct watcher *watcher, struct holder *holder, sim_ns now)
{
    struct failure_exposure *exposure = holder->watcher_state[watcher->slot];
    if (exposure == NULL) return;
    leave_nodes(exposure);
    count_exposed(exposure, false, now);
    engine_disarm(exposure->failures->site->engine, &exposure->strike);
}

static void on_leaves(struct watcher *watcher, struct holder *holder, bool is_finished)
{
    struct failure_exposure *exposure = holder->watcher_state[watcher->slot];
    struct failures *failures = failures_of(watcher);
    (void)is_finished;
    if (exposure != NULL) {
        count_exposed(exposure, false, engine_now(failures->site->engine));
        pool_give(&failures->exposures, exposure);
    }
    holder->watcher_state[watcher->slot] = NULL;
}

/* --- Expected failures --- */

static bool hits_groups(const struct failure_source *source)
{
    return source->scope != FAILURE_GPU && source->scope != FAILURE_JOB && source->scope != FAILURE_NIC;
}

/* Counts the holder's nodes of one component, `node` included. */
static int32_t count_held(const struct failure_source *source, int32_t node)
{
    return source->nodes_each == 1 ? 1 : ++source->n_held[node / source->nodes_each];
}

static void forget_held(const struct failure_source *source, const struct allocation *part, int32_t first)
{
    for (; part != NULL && hits_groups(source) && source->nodes_each > 1; part = part->next)
        source->n_held[(first + part->node) / source->nodes_each] = 0;
}

/* Failures per second that a source causes to a holder. A shock strikes the holder if it hits any of its nodes. */
static double rate_of(const struct failures *failures, const struct failure_source *source, const struct holder *holder)
{
    const double each = source->visible_frac / source->lifetime.mean_s;
    double rate = source->scope == FAILURE_JOB ? each : 0.0;
    const int32_t first = holder->cluster->first_node;
    const bool is_part = source->scope == FAILURE_GPU || (source->scope == FAILURE_NIC && failures->nic_per_gpu);
    if (source->slow != NULL && !source->is_found) return 0.0; /* it interrupts nothing */
    if (!(each > 0.0)) return 0.0; /* an outage, or a breaker: of these there may be thousands */
    for (const struct allocation *part = holder->held; part != NULL; part = part->next) {
        const int32_t node = first + part->node;
        if (source->scope == FAILURE_NIC && !is_part) rate += each;
        if (is_part) rate += each * failure_node_boards(&failures->nodes[node]);
        if (hits_groups(source))
            rate += each * source->hit_frac * pow(1.0 - source->hit_frac, count_held(source, node) - 1);
    }
    forget_held(source, holder->held, first);
    return rate;
}

static struct holder_risk risk(const struct watcher *watcher, const struct holder *holder)
{
    const struct failures *failures = failures_of(watcher);
    const double found_s = failure_recovery_mean_s(failures);
    double rate = 0.0, sum = 0.0;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        const double of_source = rate_of(failures, &failures->sources[i], holder);
        rate += of_source;
        sum += of_source * (failures->sources[i].restart.mean_s + found_s);
    }
    return rate > 0.0 ? (struct holder_risk){1.0 / rate, sum / rate} : (struct holder_risk){(double)INFINITY, 0.0};
}

const struct watcher_ops failure_watcher_ops = {.given = on_given, .taken = on_taken, .leaves = on_leaves,
                                                .none_awaited = failures_none_awaited, .black_out = failures_black_out,
                                                .risk = risk};
