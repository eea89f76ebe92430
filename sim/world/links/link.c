#include "sim/world/links/link.h"

#include "sim/core/check.h"
#include "sim/world/links/link_state.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdlib.h>

/* --- Timers of flows --- */

static bool is_before(const struct link_timer *a, const struct link_timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->flow->number < b->flow->number;
}

static void put(struct link_timers *timers, int32_t at, struct link_timer timer)
{
    timers->entries[at] = timer;
    timer.flow->timer_at = at;
}

/* Places the timer, moving it up or down from `at`. */
static void settle(struct link_timers *timers, int32_t at, struct link_timer timer)
{
    for (int32_t parent; at > 0 && is_before(&timer, &timers->entries[parent = (at - 1) / 2]); at = parent)
        put(timers, at, timers->entries[parent]);
    for (int32_t child; (child = 2 * at + 1) < timers->n; at = child) {
        if (child + 1 < timers->n && is_before(&timers->entries[child + 1], &timers->entries[child])) child++;
        if (!is_before(&timers->entries[child], &timer)) break;
        put(timers, at, timers->entries[child]);
    }
    put(timers, at, timer);
}

/* Sets or replaces the flow's timer; timer_at >= 0: it has one. */
static void link_timers_set(struct link_timers *timers, struct link_flow *flow, sim_ns at_ns)
{
    int32_t at = flow->timer_at >= 0 ? flow->timer_at : timers->n++;
    settle(timers, at, (struct link_timer){at_ns, flow});
}

/* Does nothing for a flow without a timer. */
static void link_timers_drop(struct link_timers *timers, struct link_flow *flow)
{
    int32_t at = flow->timer_at;
    if (at < 0) return;
    flow->timer_at = -1;
    struct link_timer last = timers->entries[--timers->n];
    if (at < timers->n) settle(timers, at, last);
}

/* --- Filling ---
 *
 * Max-min fair shares by progressive filling: a level rises for all flows alike. A flow stops at its bound, and all
 * flows over a link stop when it is full. In integers, rounded down, so that no link ever exceeds its capacity.
 *
 * The next stop is the root of a heap. A link's level, its remaining capacity over the flows that still rise, can only
 * go up while others stop below it. It is therefore recomputed when the link reaches the root, and put back if it has
 * gone up. */

static bool stops_before(const struct link_stop *a, const struct link_stop *b)
{
    return a->level != b->level ? a->level < b->level : a->order < b->order;
}

/* Puts `stop` at place `at` of a heap of n, or below it. */
static void sift_down(struct link_stop *stops, int32_t n, int32_t at, struct link_stop stop)
{
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && stops_before(&stops[child + 1], &stops[child])) child++;
        if (!stops_before(&stops[child], &stop)) break;
        stops[at] = stops[child];
    }
    stops[at] = stop;
}

static void gather_flows(struct link_net *net, const struct link *link)
{
    for (struct link_hop *hop = link->first; hop != NULL; hop = hop->after) {
        if (hop->flow->mark == net->mark) continue;
        hop->flow->mark = net->mark;
        hop->flow->filled = -1;
        net->filling[net->n_filling++] = hop->flow;
    }
}

/* Adds a link that is short of bandwidth to the filling. Others limit no flow. */
static void gather_link(struct link_net *net, struct link *link)
{
    if (link->mark == net->mark || !link_is_short(link)) return;
    link->mark = net->mark;
    link->left = link->capacity;
    link->n_open = link->hops.value;
    net->filling_links[net->n_filling_links++] = link;
    gather_flows(net, link);
}

/* Collects all flows over dirty links, and the links and flows coupled to them. */
static void gather(struct link_net *net)
{
    net->mark++;
    net->n_filling = net->n_filling_links = 0;
    for (int32_t i = 0; i < net->n_dirty; i++) {
        net->dirty[i]->dirty = false;
        gather_flows(net, net->dirty[i]);
    }
    net->n_dirty = 0;
    for (int32_t i = 0; i < net->n_filling; i++)
        for (int32_t k = 0; k < net->filling[i]->n_hops; k++) gather_link(net, net->filling[i]->hops[k].link);
}

static int64_t link_level(const struct link *link)
{
    tally_int128 level = link->left / link->n_open;
    return level < INT64_MAX ? (int64_t)level : INT64_MAX;
}

static int32_t list_stops(struct link_net *net)
{
    int32_t n = 0;
    for (int32_t i = 0; i < net->n_filling; i++)
        net->stops[n++] = (struct link_stop){net->filling[i]->bound, net->filling[i]->number, NULL, net->filling[i]};
    for (int32_t i = 0; i < net->n_filling_links; i++) {
        struct link *link = net->filling_links[i];
        net->stops[n++] = (struct link_stop){link_level(link), UINT64_MAX / 2 + (uint64_t)link->index, link, NULL};
    }
    for (int32_t at = n / 2; at-- > 0;) sift_down(net->stops, n, at, net->stops[at]);
    return n;
}

static void stop_flow(struct link_net *net, struct link_flow *flow, int64_t level)
{
    flow->filled = level;
    for (int32_t k = 0; k < flow->n_hops; k++) {
        struct link *link = flow->hops[k].link;
        if (link->mark != net->mark) continue;
        link->left -= level;
        link->n_open--;
    }
}

static void stop_link(struct link_net *net, const struct link *link, int64_t level)
{
    for (struct link_hop *hop = link->first; hop != NULL; hop = hop->after)
        if (hop->flow->filled < 0) stop_flow(net, hop->flow, level);
}

/* Computes the rates of all flows coupled to the dirty links, into `filled` of net->filling, and cleans the links. */
static void link_fill(struct link_net *net)
{
    gather(net);
    int32_t n = list_stops(net);
    while (n > 0) {
        struct link_stop stop = net->stops[0];
        if (stop.link != NULL && stop.link->n_open > 0) {
            int64_t level = link_level(stop.link);
            SIM_ASSERT(level >= stop.level);
            if (level > stop.level) {
                stop.level = level;
                sift_down(net->stops, n, 0, stop);
                continue;
            }
            stop_link(net, stop.link, level);
        } else if (stop.flow != NULL && stop.flow->filled < 0) {
            stop_flow(net, stop.flow, stop.level);
        }
        n--;
        if (n > 0) sift_down(net->stops, n, 0, net->stops[n]);
    }
    net->work.fillings++;
    net->work.filled_flows += (uint64_t)net->n_filling;
}

#define GRAINS_PER_BYTE ((tally_int128)1 << LINK_GRAIN_BITS)
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
    return flow->rate == flow->cap ? flow->cap_bytes_per_s : (double)flow->rate / LINK_RATE_OF_1_PER_S;
}

static tally_int128 moved_by(const struct link_flow *flow, sim_ns at)
{
    if (flow->state != LINK_FLOW_MOVING || flow->counted) return flow->moved;
    tally_int128 moved = flow->moved + (tally_int128)flow->rate * (at - flow->anchor_ns);
    if (flow->endless) return moved;
    tally_int128 total = flow->bytes * GRAINS_PER_BYTE;
    return moved < total && at < flow->end_ns ? moved : total;
}

/* Grains over a rate, in whole ns, half to even. */
static sim_ns time_of(tally_int128 grains, int64_t rate)
{
    if (rate == 0) return SIM_NS_MAX;
    tally_int128 ns = grains / rate, twice = grains % rate * 2;
    if (twice > rate || (twice == rate && ns % 2 != 0)) ns++;
    return ns < SIM_NS_MAX ? (sim_ns)ns : SIM_NS_MAX;
}

/* Sets the rate from now on. A flow that is due to end now has ended, whatever the rate. */
static void set_rate(struct link_flow *flow, int64_t rate, sim_ns now)
{
    flow->moved = moved_by(flow, now);
    flow->anchor_ns = now;
    flow->rate = rate;
    if (flow->endless) return;
    flow->end_ns = sim_ns_add(now, time_of(flow->bytes * GRAINS_PER_BYTE - flow->moved, rate));
    link_timers_set(&flow->net->timers, flow, flow->end_ns);
}

/* --- On and off the links --- */

static void mark_dirty(struct link_net *net, struct link *link)
{
    if (link->dirty) return;
    link->dirty = true;
    net->dirty[net->n_dirty++] = link;
}

/* Adds to the sum of the bounds of a link's hops. A link that is short before or after becomes dirty. */
static void add_wanted(struct link_net *net, struct link *link, tally_int128 more)
{
    if (link_is_short(link)) mark_dirty(net, link);
    link->wanted += more;
    if (link_is_short(link)) mark_dirty(net, link);
}

static void hop_on(struct link_hop *hop, sim_ns now)
{
    struct link *link = hop->link;
    hop->before = link->last;
    hop->after = NULL;
    *(link->last != NULL ? &link->last->after : &link->first) = hop;
    link->last = hop;
    if (link->hops.value == 0) link->busy_since_ns = now;
    level_set(&link->hops, now, link->hops.value + 1);
}

static void hop_off(struct link_hop *hop, sim_ns now)
{
    struct link *link = hop->link;
    *(hop->before != NULL ? &hop->before->after : &link->first) = hop->after;
    *(hop->after != NULL ? &hop->after->before : &link->last) = hop->before;
    level_set(&link->hops, now, link->hops.value - 1);
    if (link->hops.value == 0) link->busy_ns += now - link->busy_since_ns;
    link->ended_bytes += (int64_t)(hop->flow->moved >> LINK_GRAIN_BITS);
}

/* The flow moves at its bound until shares are computed. */
static void enter(struct link_flow *flow, sim_ns now)
{
    flow->state = LINK_FLOW_MOVING;
    flow->anchor_ns = now;
    for (int32_t k = 0; k < flow->n_hops; k++) {
        add_wanted(flow->net, flow->hops[k].link, flow->bound);
        hop_on(&flow->hops[k], now);
    }
    set_rate(flow, flow->bound, now);
}

static void leave(struct link_flow *flow, sim_ns now)
{
    struct link_net *net = flow->net;
    if (flow->state == LINK_FLOW_MOVING) {
        flow->moved = moved_by(flow, now);
        for (int32_t k = 0; k < flow->n_hops; k++) {
            add_wanted(net, flow->hops[k].link, -(tally_int128)flow->bound);
            hop_off(&flow->hops[k], now);
        }
    }
    link_timers_drop(&net->timers, flow);
    if (flow->changed_at >= 0) net->changed[flow->changed_at] = NULL;
    flow->changed_at = -1;
    flow->rate = 0;
    flow->state = LINK_FLOW_IDLE;
    net->n_flows--;
}

/* --- Shares --- */

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
        struct link_flow *flow = net->filling[i];
        if (flow->filled != flow->rate) set_rate(flow, flow->filled, now);
        if (flow->endless && flow->rate != flow->reported) note_change(net, flow);
    }
}

/* Arms the events of the next due timer, and of what is left to do at this moment. */
static void arm(struct link_net *net)
{
    if ((net->n_dirty > 0 || net->n_changed > 0) && net->settle.armed == 0)
        engine_arm(net->engine, engine_now(net->engine), PRIORITY_LINK_SETTLE, link_settle, &net->settle);
    sim_ns due_ns = net->timers.n > 0 ? net->timers.entries[0].at_ns : SIM_NS_MAX;
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
    while (net->timers.n > 0 && net->timers.entries[0].at_ns <= now) {
        struct link_flow *flow = net->timers.entries[0].flow;
        if (flow->state == LINK_FLOW_LATENT && flow->bytes > 0) {
            enter(flow, now);
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
    uint64_t left = (*(struct link_flow *const *)a)->number, right = (*(struct link_flow *const *)b)->number;
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
    notify_claims(net, now);
    arm(net);
}

/* --- Flows and claims --- */

static void prepare(struct link_net *net, struct link_flow *flow, const struct link_path *path, double cap_bytes_per_s)
{
    flow->net = net;
    flow->number = ++net->n_started;
    flow->cap_bytes_per_s = cap_bytes_per_s;
    flow->cap = flow->bound = cap_of(cap_bytes_per_s);
    flow->rate = flow->reported = 0;
    flow->counted = false;
    flow->moved = 0;
    flow->end_ns = SIM_NS_MAX;
    flow->mark = 0;
    flow->timer_at = flow->changed_at = -1;
    flow->n_hops = path->n;
    for (int32_t k = 0; k < path->n; k++) {
        flow->hops[k] = (struct link_hop){.link = path->links[k], .flow = flow};
        if (path->links[k]->capacity < flow->bound) flow->bound = (int64_t)path->links[k]->capacity;
    }
    net->n_flows++;
}

static int can_start(struct link_net *net, const struct link_flow *flow, const struct link_path *path)
{
    SIM_REQUIRE(flow->state == LINK_FLOW_IDLE && path->n >= 1 && path->n <= LINK_PATH_MAX);
    return link_net_reserve(net, net->n_links, net->n_flows + 1);
}

int link_flow_start(struct link_net *net, struct link_flow *flow, const struct link_path *path, int64_t bytes,
                    double cap_bytes_per_s, link_fn done)
{
    SIM_REQUIRE(bytes >= 0 && cap_bytes_per_s > 0);
    int code = can_start(net, flow, path);
    if (code != 0) return code;
    sim_ns now = engine_now(net->engine), begin_ns = sim_ns_add(now, path->latency_ns);
    prepare(net, flow, path, cap_bytes_per_s);
    for (int32_t k = 0; k < path->n; k++) begin_ns = sim_ns_add(begin_ns, path->links[k]->latency_ns);
    flow->bytes = bytes;
    flow->endless = false;
    flow->notify = done;
    flow->state = LINK_FLOW_LATENT;
    if (begin_ns == now && bytes > 0)
        enter(flow, now);
    else
        link_timers_set(&net->timers, flow, begin_ns);
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
    return (int64_t)(moved_by(flow, at) >> LINK_GRAIN_BITS);
}

double link_flow_bytes_per_s(struct link_flow *flow)
{
    if (flow->state != LINK_FLOW_MOVING) return 0;
    share_now(flow->net);
    return bytes_per_s_of(flow);
}

sim_ns link_flow_end_ns(struct link_flow *flow)
{
    SIM_REQUIRE(flow->state != LINK_FLOW_IDLE);
    share_now(flow->net);
    if (flow->state == LINK_FLOW_MOVING) return flow->end_ns;
    sim_ns begin_ns = flow->net->timers.entries[flow->timer_at].at_ns;
    return sim_ns_add(begin_ns, time_of(flow->bytes * GRAINS_PER_BYTE, flow->bound));
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
    claim->moved = moved_by(claim, engine_now(claim->net->engine));
    claim->counted = true;
}

void link_claim_count(struct link_flow *claim, int64_t bytes)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->counted && bytes >= 0);
    claim->moved += bytes * GRAINS_PER_BYTE;
}

int link_claim_start(struct link_net *net, struct link_flow *claim, const struct link_path *path,
                     double demand_bytes_per_s, link_fn changed, double *granted_bytes_per_s)
{
    SIM_REQUIRE(demand_bytes_per_s > 0);
    int code = can_start(net, claim, path);
    if (code != 0) return code;
    prepare(net, claim, path, demand_bytes_per_s);
    claim->bytes = INT64_MAX;
    claim->endless = true;
    claim->notify = changed;
    enter(claim, engine_now(net->engine));
    arm(net);
    *granted_bytes_per_s = link_claim_grant(claim);
    return 0;
}

double link_claim_demand(struct link_flow *claim, double demand_bytes_per_s)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->endless && demand_bytes_per_s > 0);
    int64_t bound = claim->cap = cap_of(demand_bytes_per_s);
    claim->cap_bytes_per_s = demand_bytes_per_s;
    for (int32_t k = 0; k < claim->n_hops; k++)
        if (claim->hops[k].link->capacity < bound) bound = (int64_t)claim->hops[k].link->capacity;
    for (int32_t k = 0; k < claim->n_hops; k++) add_wanted(claim->net, claim->hops[k].link, bound - claim->bound);
    claim->bound = bound;
    set_rate(claim, bound, engine_now(claim->net->engine));
    arm(claim->net);
    return link_claim_grant(claim);
}
