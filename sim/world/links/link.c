#include "sim/world/links/link.h"

#include "sim/core/check.h"
#include "sim/world/links/link_state.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdlib.h>

static const int64_t fastest = INT64_C(1) << 62; /* rate of an unlimited flow */

static void link_due(struct engine *engine, struct owner *owner, sim_ns now);
static void link_settle(struct engine *engine, struct owner *owner, sim_ns now);

/* --- Rates and times --- */

static int64_t cap_of(double bytes_per_s)
{
    tally_int128 rate = link_rate(bytes_per_s);
    return rate < fastest ? (int64_t)rate : fastest;
}

/* The rate in bytes per second: exactly the ceiling if the flow is at its ceiling. */
static double bytes_per_s_of(const struct link_flow *flow)
{
    const int64_t rate = link_flow_rate(flow);
    return rate == flow->cap ? flow->cap_bytes_per_s : (double)rate / LINK_RATE_OF_1_PER_S;
}

/* --- Shares --- */

static void leave(struct link_flow *flow, sim_ns now)
{
    struct link_net *net = flow->net;
    if (flow->state == LINK_FLOW_MOVING) link_class_leave(flow, now);
    link_timers_drop(&net->timers, &flow->timed);
    link_class_quit(flow);
    if (flow->changed_at >= 0) net->changed[flow->changed_at] = NULL;
    flow->changed_at = -1;
    flow->rate = 0;
    flow->state = LINK_FLOW_IDLE;
    net->n_flows--;
}

static void note_change(struct link_net *net, struct link_flow *claim)
{
    if (claim->changed_at >= 0) return;
    claim->changed_at = net->n_changed;
    net->changed[net->n_changed++] = claim;
}

/* Recomputes the shares of dirty links, and sets the rates. */
static void share(struct link_net *net, sim_ns now)
{
    if (net->n_dirty == 0) return;
    link_fill(net);
    for (int32_t i = 0; i < net->n_filling; i++) {
        struct link_class *class = net->filling[i];
        link_class_share(net, class, now);
        if (class->is_claim && class->loose->rate != class->loose->reported) note_change(net, class->loose);
    }
}

/* Arms the events of the next due timer, and of what is left to do at this moment. */
static void arm(struct link_net *net)
{
    if ((net->n_dirty > 0 || net->n_changed > 0) && net->settle.armed == 0)
        engine_arm(net->engine, engine_now(net->engine), PRIORITY_LINK_SETTLE, link_settle, &net->settle);
    sim_ns due_ns = net->timers.n > 0 ? (sim_ns)net->timers.entries[0].at : SIM_NS_MAX;
    if (due_ns == SIM_NS_MAX) {
        engine_disarm(net->engine, &net->due);
    } else if (net->due.armed == 0 || net->due_ns != due_ns) {
        net->due_ns = due_ns;
        engine_arm(net->engine, due_ns, PRIORITY_LINK, link_due, &net->due);
    }
}

static void share_now(struct link_net *net)
{
    if (net->n_dirty == 0) return;
    share(net, engine_now(net->engine));
    arm(net);
}

/* A latency is over, or the last byte has moved. */
static void link_due(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct link_net *net = OWNER_ENTITY(owner, struct link_net, due);
    while (net->timers.n > 0 && net->timers.entries[0].at <= now) {
        struct link_timed *first = net->timers.entries[0].of;
        if (first->number == 0) {
            link_class_expose(net, OWNER_ENTITY(first, struct link_class, timed), now);
            continue;
        }
        struct link_flow *flow = OWNER_ENTITY(first, struct link_flow, timed);
        if (flow->state == LINK_FLOW_LATENT && flow->bytes > 0) {
            link_class_enter(flow, now);
            continue;
        }
        leave(flow, now);
        engine_progress(engine);
        flow->notify(net, flow, now);
    }
    arm(net);
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = (*(struct link_flow *const *)a)->timed.number,
             right = (*(struct link_flow *const *)b)->timed.number;
    return (left > right) - (left < right);
}

/* Moves remaining claims, noted from index `from` on, to index 0. */
static void close_ranks(struct link_net *net, int32_t from)
{
    int32_t n = 0;
    for (int32_t i = from; i < net->n_changed; i++) {
        if (net->changed[i] == NULL) continue;
        net->changed[n] = net->changed[i];
        net->changed[n]->changed_at = n;
        n++;
    }
    net->n_changed = n;
}

/* Whether a noted claim has a grant that its holder does not know. */
static bool has_news(const struct link_net *net)
{
    int32_t i = 0;
    while (i < net->n_changed && (net->changed[i] == NULL || net->changed[i]->rate == net->changed[i]->reported)) i++;
    return i < net->n_changed;
}

/* Forgets the noted claims, whose holders know their grants. */
static void forget_changes(struct link_net *net)
{
    for (int32_t i = 0; i < net->n_changed; i++)
        if (net->changed[i] != NULL) net->changed[i]->changed_at = -1;
    net->n_changed = 0;
}

/* Notifies claims, in order, whose grant differs from the last reported one. Their reactions take effect in another
 * event of this moment. */
static void notify_claims(struct link_net *net, sim_ns now)
{
    close_ranks(net, 0);
    int32_t n = net->n_changed;
    qsort(net->changed, (size_t)n, sizeof(*net->changed), by_number);
    for (int32_t i = 0; i < n; i++) net->changed[i]->changed_at = i;
    for (int32_t i = 0; i < n; i++) {
        struct link_flow *claim = net->changed[i];
        if (claim == NULL) continue;
        claim->changed_at = -1;
        net->changed[i] = NULL;
        if (claim->rate == claim->reported) continue;
        claim->reported = claim->rate;
        claim->notify(net, claim, now);
    }
    close_ranks(net, n);
}

static void link_settle(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct link_net *net = OWNER_ENTITY(owner, struct link_net, settle);
    (void)engine;
    share(net, now);
    if (has_news(net))
        notify_claims(net, now);
    else
        forget_changes(net);
    arm(net);
}

/* --- Flows and claims --- */

/* Returns 0, or SIM_E_NOMEM with the flow idle. */
static int prepare(struct link_net *net, struct link_flow *flow, const struct link_path *path, double cap_bytes_per_s)
{
    SIM_REQUIRE(flow->state == LINK_FLOW_IDLE && path->n >= 1 && path->n <= LINK_PATH_MAX);
    int64_t bound = flow->cap = cap_of(cap_bytes_per_s);
    flow->net = net;
    flow->cap_bytes_per_s = cap_bytes_per_s;
    flow->rate = flow->reported = 0;
    flow->counted = flow->is_settled = false;
    flow->moved = 0;
    flow->end_ns = SIM_NS_MAX;
    flow->timed.timer_at = flow->changed_at = -1;
    flow->n_hops = path->n;
    for (int32_t k = 0; k < path->n; k++) {
        flow->links[k] = path->links[k];
        if (path->links[k]->full < bound) bound = (int64_t)path->links[k]->full;
    }
    int code = link_net_reserve(net, net->n_links, net->n_flows + 1);
    if (code == 0) code = link_class_join(flow, bound);
    if (code != 0) return code;
    flow->timed.number = ++net->n_started;
    net->n_flows++;
    return 0;
}

int link_flow_start(struct link_net *net, struct link_flow *flow, const struct link_path *path, int64_t bytes,
                    double cap_bytes_per_s, link_fn done)
{
    SIM_REQUIRE(bytes >= 0 && cap_bytes_per_s > 0);
    flow->endless = false;
    int code = prepare(net, flow, path, cap_bytes_per_s);
    if (code != 0) return code;
    sim_ns now = engine_now(net->engine), begin_ns = sim_ns_add(now, path->latency_ns);
    for (int32_t k = 0; k < path->n; k++) begin_ns = sim_ns_add(begin_ns, path->links[k]->latency_ns);
    flow->bytes = bytes;
    flow->notify = done;
    flow->state = LINK_FLOW_LATENT;
    if (begin_ns == now && bytes > 0)
        link_class_enter(flow, now);
    else
        link_timers_set(&net->timers, &flow->timed, begin_ns);
    arm(net);
    return 0;
}

int64_t link_flow_cancel(struct link_flow *flow)
{
    if (flow->state != LINK_FLOW_IDLE) {
        leave(flow, engine_now(flow->net->engine));
        arm(flow->net);
    }
    return (int64_t)(flow->moved >> LINK_GRAIN_BITS);
}

int64_t link_flow_moved_bytes(const struct link_flow *flow, sim_ns at)
{
    return (int64_t)(link_flow_moved(flow, at) >> LINK_GRAIN_BITS);
}

double link_flow_bytes_per_s(struct link_flow *flow)
{
    if (flow->state != LINK_FLOW_MOVING) return 0;
    share_now(flow->net);
    return bytes_per_s_of(flow);
}

bool link_flow_is_squeezed(const struct link_flow *flow)
{
    bool is_short = false;
    for (int32_t k = 0; flow->state == LINK_FLOW_MOVING && k < flow->n_hops; k++)
        is_short = is_short || link_is_short(flow->links[k]);
    return is_short;
}

sim_ns link_flow_begin_ns(const struct link_flow *flow)
{
    const struct link_net *net = flow->net;
    if (flow->state != LINK_FLOW_LATENT) return engine_now(net->engine);
    return (sim_ns)net->timers.entries[flow->timed.timer_at].at;
}

double link_flow_path_bytes_per_s(const struct link_flow *flow)
{
    double least = (double)INFINITY;
    for (int32_t k = 0; k < flow->n_hops; k++) least = fmin(least, link_bytes_per_s(flow->links[k]));
    return least;
}

double link_claim_grant(struct link_flow *claim)
{
    share_now(claim->net);
    claim->reported = claim->rate;
    return bytes_per_s_of(claim);
}

void link_claim_hold(struct link_flow *claim)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->endless);
    claim->moved = link_flow_moved(claim, engine_now(claim->net->engine));
    claim->counted = true;
}

void link_claim_count(struct link_flow *claim, int64_t bytes)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->counted && bytes >= 0);
    claim->moved += bytes * LINK_GRAINS_PER_BYTE;
}

int link_claim_start(struct link_net *net, struct link_flow *claim, const struct link_path *path,
                     double demand_bytes_per_s, link_fn changed, double *granted_bytes_per_s)
{
    SIM_REQUIRE(demand_bytes_per_s > 0);
    claim->endless = true;
    int code = prepare(net, claim, path, demand_bytes_per_s);
    if (code != 0) return code;
    claim->bytes = INT64_MAX;
    claim->notify = changed;
    link_class_enter(claim, engine_now(net->engine));
    claim->reported = claim->rate;
    arm(net);
    if (granted_bytes_per_s != NULL) *granted_bytes_per_s = link_claim_grant(claim);
    return 0;
}

/* Sets the bound of a claim to that of a demand, but not its rate. */
static void set_bound(struct link_flow *claim, double demand_bytes_per_s)
{
    int64_t bound = cap_of(demand_bytes_per_s);
    for (int32_t k = 0; k < claim->n_hops; k++)
        if (claim->links[k]->full < bound) bound = (int64_t)claim->links[k]->full;
    for (int32_t k = 0; k < claim->n_hops; k++)
        link_add_wanted(claim->net, claim->links[k], bound - claim->class->bound);
    claim->class->bound = bound;
}

void link_claim_ask(struct link_flow *claim, double demand_bytes_per_s)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->endless && demand_bytes_per_s > 0);
    if (demand_bytes_per_s == claim->cap_bytes_per_s) return;
    claim->cap = cap_of(demand_bytes_per_s);
    claim->cap_bytes_per_s = demand_bytes_per_s;
    set_bound(claim, demand_bytes_per_s);
    claim->class->rate = claim->class->bound; /* no filling follows where no link is short */
    link_flow_set_rate(claim, claim->class->bound, engine_now(claim->net->engine));
    arm(claim->net);
}

double link_claim_demand(struct link_flow *claim, double demand_bytes_per_s)
{
    link_claim_ask(claim, demand_bytes_per_s);
    return link_claim_grant(claim);
}

/* --- Demands that are tried --- */

bool link_net_is_settled(const struct link_net *net)
{
    return net->n_dirty == 0;
}

void link_claim_try(struct link_flow *claim, double demand_bytes_per_s)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->endless && demand_bytes_per_s > 0);
    set_bound(claim, demand_bytes_per_s);
    claim->class->filled = claim->class->bound;
}

/* Claims whose grant would differ are noted, as if it did: they are notified in the order in which they would be. */
double link_claim_tried(struct link_flow *claim, double demand_bytes_per_s)
{
    struct link_net *net = claim->net;
    if (net->n_dirty > 0) {
        link_fill(net);
        for (int32_t i = 0; i < net->n_filling; i++) {
            const struct link_class *class = net->filling[i];
            if (class->is_claim && class->filled != class->loose->reported) note_change(net, class->loose);
        }
    }
    const int64_t rate = claim->class->filled;
    return rate == cap_of(demand_bytes_per_s) ? demand_bytes_per_s : (double)rate / LINK_RATE_OF_1_PER_S;
}

void link_claim_end_try(struct link_flow *claim)
{
    struct link_net *net = claim->net;
    set_bound(claim, claim->cap_bytes_per_s);
    for (int32_t i = 0; i < net->n_dirty; i++) net->dirty[i]->dirty = false;
    net->n_dirty = 0;
    arm(net);
}

/* A claim has a class of its own. */
void link_claim_weigh(struct link_flow *claim, double weight)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->endless && weight > 0 && weight <= 1);
    struct link_class *class = claim->class;
    const int64_t before = class->weight, steps = llrint(weight * LINK_WEIGHT_ONE);
    class->weight = steps > 0 ? steps : 1;
    for (int32_t k = 0; k < class->n_hops; k++) {
        class->hops[k].link->weights += class->weight - before;
        link_add_wanted(claim->net, class->hops[k].link, 0);
    }
    arm(claim->net);
}

void link_claim_sense(struct link_flow *claim)
{
    link_claim_weigh(claim, 1.0 / LINK_WEIGHT_ONE);
    link_claim_hold(claim);
    claim->class->senses = true;
}

/* The bounds of classes stay those of the full link: a slow one is short of bandwidth for each of them. */
void link_net_slow(struct link_net *net, struct link *link, double share_frac)
{
    SIM_REQUIRE(share_frac > 0 && share_frac <= 1 && link->twin_of == NULL);
    link_add_wanted(net, link, 0);
    link->capacity = share_frac < 1 ? link_rate(link->bytes_per_s * share_frac) : link->full;
    link_add_wanted(net, link, 0);
    arm(net);
}
