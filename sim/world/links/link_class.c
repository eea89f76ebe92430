/* Classes of flows, and the heaps by which flows end. */
#include "sim/core/check.h"
#include "sim/core/vec.h"
#include "sim/world/links/link_state.h"

#include <stdlib.h>
#include <string.h>

/* --- Heaps --- */

static bool is_before(const struct link_timer *a, const struct link_timer *b)
{
    return a->at != b->at ? a->at < b->at : a->of->number < b->of->number;
}

static void put(struct link_timers *timers, int32_t at, struct link_timer timer)
{
    timers->entries[at] = timer;
    timer.of->timer_at = at;
}

/* Places the timer, moving it up or down from `at`. */
static void sift(struct link_timers *timers, int32_t at, struct link_timer timer)
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

void link_timers_set(struct link_timers *timers, struct link_timed *of, tally_int128 at)
{
    sift(timers, of->timer_at >= 0 ? of->timer_at : timers->n++, (struct link_timer){at, of});
}

void link_timers_drop(struct link_timers *timers, struct link_timed *of)
{
    int32_t at = of->timer_at;
    if (at < 0) return;
    of->timer_at = -1;
    struct link_timer last = timers->entries[--timers->n];
    if (at < timers->n) sift(timers, at, last);
}

/* --- What a flow has moved, and when it ends --- */

/* Grains over a rate, in whole ns, half to even. */
static sim_ns time_of(tally_int128 grains, int64_t rate)
{
    if (rate == 0) return SIM_NS_MAX;
    tally_int128 ns = grains / rate, twice = grains % rate * 2;
    if (twice > rate || (twice == rate && ns % 2 != 0)) ns++;
    return ns < SIM_NS_MAX ? (sim_ns)ns : SIM_NS_MAX;
}

static struct link_flow *flow_of(const struct link_timed *timed)
{
    return OWNER_ENTITY(timed, struct link_flow, timed);
}

static tally_int128 served_at(const struct link_class *class, sim_ns at)
{
    return class->served + (tally_int128) class->rate * (at - class->anchor_ns);
}

/* The end of a settled flow that ends once the class has served so much. */
static sim_ns settled_end(const struct link_class *class, tally_int128 ends_at)
{
    const tally_int128 left = ends_at - class->served;
    return sim_ns_add(class->anchor_ns, time_of(left > 0 ? left : 0, class->rate));
}

int64_t link_flow_rate(const struct link_flow *flow)
{
    return flow->is_settled ? flow->class->rate : flow->rate;
}

/* The end of a moving flow at its present rate. */
static sim_ns end_of(const struct link_flow *flow)
{
    if (!flow->is_settled) return flow->end_ns;
    return settled_end(flow->class, flow->class->settled.entries[flow->timed.timer_at].at);
}

tally_int128 link_flow_moved(const struct link_flow *flow, sim_ns at)
{
    if (flow->state != LINK_FLOW_MOVING || flow->counted) return flow->moved;
    const tally_int128 total = link_flow_total(flow);
    tally_int128 moved = flow->moved + (tally_int128)flow->rate * (at - flow->anchor_ns);
    if (flow->is_settled)
        moved = total - (flow->class->settled.entries[flow->timed.timer_at].at - served_at(flow->class, at));
    if (flow->endless) return moved;
    return moved < total && at < end_of(flow) ? moved : total;
}

int64_t link_class_bytes(const struct link_class *class, sim_ns at)
{
    int64_t bytes = 0;
    for (const struct link_flow *flow = class->loose; flow != NULL; flow = flow->after)
        bytes += link_flow_moved_bytes(flow, at);
    for (int32_t i = 0; i < class->settled.n; i++)
        bytes += link_flow_moved_bytes(flow_of(class->settled.entries[i].of), at);
    return bytes;
}

void link_flow_set_rate(struct link_flow *flow, int64_t rate, sim_ns now)
{
    flow->moved = link_flow_moved(flow, now);
    flow->anchor_ns = now;
    flow->rate = rate;
    if (flow->endless) return;
    flow->end_ns = sim_ns_add(now, time_of(link_flow_total(flow) - flow->moved, rate));
    link_timers_set(&flow->net->timers, &flow->timed, flow->end_ns);
}

/* --- Loose and settled flows --- */

static void loosen(struct link_class *class, struct link_flow *flow)
{
    flow->before = NULL;
    flow->after = class->loose;
    if (flow->after != NULL) flow->after->before = flow;
    class->loose = flow;
}

static void unlist(struct link_class *class, struct link_flow *flow)
{
    *(flow->before != NULL ? &flow->before->after : &class->loose) = flow->after;
    if (flow->after != NULL) flow->after->before = flow->before;
}

static void arm_class(struct link_net *net, struct link_class *class)
{
    if (class->settled.n > 0)
        link_timers_set(&net->timers, &class->timed, settled_end(class, class->settled.entries[0].at));
    else
        link_timers_drop(&net->timers, &class->timed);
}

static void expose(struct link_net *net, struct link_class *class, sim_ns now)
{
    while (class->settled.n > 0 && settled_end(class, class->settled.entries[0].at) <= now) {
        struct link_flow *flow = flow_of(class->settled.entries[0].of);
        link_timers_drop(&class->settled, &flow->timed);
        flow->is_settled = false;
        flow->moved = link_flow_total(flow);
        flow->rate = class->rate;
        flow->anchor_ns = flow->end_ns = now;
        loosen(class, flow);
        link_timers_set(&net->timers, &flow->timed, now);
    }
}

void link_class_expose(struct link_net *net, struct link_class *class, sim_ns now)
{
    expose(net, class, now);
    arm_class(net, class);
}

/* The class has been anchored at `now`. */
static void settle_flow(struct link_net *net, struct link_class *class, struct link_flow *flow, sim_ns now)
{
    const tally_int128 moved = link_flow_moved(flow, now);
    unlist(class, flow);
    link_timers_drop(&net->timers, &flow->timed);
    flow->is_settled = true;
    link_timers_set(&class->settled, &flow->timed, class->served + link_flow_total(flow) - moved);
}

static void settle_all(struct link_net *net, struct link_class *class, sim_ns now)
{
    expose(net, class, now);
    class->served = served_at(class, now);
    class->anchor_ns = now;
    class->rate = class->filled;
    for (struct link_flow *flow = class->loose, *after; flow != NULL; flow = after) {
        after = flow->after;
        if (flow->end_ns > now) settle_flow(net, class, flow, now);
    }
    arm_class(net, class);
}

void link_class_share(struct link_net *net, struct link_class *class, sim_ns now)
{
    if (class->filled != class->rate && !class->is_claim) {
        settle_all(net, class, now);
        return;
    }
    class->rate = class->filled;
    for (struct link_flow *flow = class->loose; flow != NULL; flow = flow->after)
        if (flow->rate != class->filled) link_flow_set_rate(flow, class->filled, now);
}

/* --- On and off the links --- */

static void hop_on(struct link_hop *hop)
{
    struct link *link = hop->link;
    hop->before = link->last;
    hop->after = NULL;
    *(link->last != NULL ? &link->last->after : &link->first) = hop;
    link->last = hop;
}

static void hop_off(const struct link_hop *hop)
{
    struct link *link = hop->link;
    *(hop->before != NULL ? &hop->before->after : &link->first) = hop->after;
    *(hop->after != NULL ? &hop->after->before : &link->last) = hop->before;
}

static bool is_busy(const struct link *link)
{
    return link->n_hops > link->idle_hops;
}

/* More or fewer flows of a class are on a link. */
static void count_hops(struct link *link, const struct link_class *class, int64_t more, sim_ns now)
{
    const bool was_busy = is_busy(link);
    link->n_hops += more;
    link->weights += more * class->weight;
    if (class->leaves_idle) link->idle_hops += more;
    if (!was_busy) link->busy_since_ns = now;
    if (was_busy && !is_busy(link)) link->busy_ns += now - link->busy_since_ns;
}

void link_claim_leave_idle(struct link_flow *claim)
{
    SIM_REQUIRE(claim->state == LINK_FLOW_MOVING && claim->endless && !claim->class->leaves_idle);
    const sim_ns now = engine_now(claim->net->engine);
    claim->class->leaves_idle = true;
    for (int32_t k = 0; k < claim->class->n_hops; k++) {
        struct link *link = claim->class->hops[k].link;
        link->idle_hops++;
        if (!is_busy(link)) link->busy_ns += now - link->busy_since_ns;
    }
}

void link_class_enter(struct link_flow *flow, sim_ns now)
{
    struct link_class *class = flow->class;
    const bool is_first = class->n_moving++ == 0;
    flow->state = LINK_FLOW_MOVING;
    flow->anchor_ns = now;
    if (is_first) {
        class->rate = class->bound;
        class->anchor_ns = now;
        class->served = 0;
    }
    for (int32_t k = 0; k < class->n_hops; k++) {
        link_add_wanted(flow->net, class->hops[k].link, class->bound);
        if (is_first) hop_on(&class->hops[k]);
        count_hops(class->hops[k].link, class, 1, now);
    }
    loosen(class, flow);
    link_flow_set_rate(flow, class->bound, now);
}

void link_class_leave(struct link_flow *flow, sim_ns now)
{
    struct link_class *class = flow->class;
    flow->moved = link_flow_moved(flow, now);
    class->n_moving--;
    for (int32_t k = 0; k < class->n_hops; k++) {
        struct link *link = class->hops[k].link;
        link_add_wanted(flow->net, link, -(tally_int128) class->bound);
        if (class->n_moving == 0) hop_off(&class->hops[k]);
        count_hops(link, class, -1, now);
        link->ended_bytes += (int64_t)(flow->moved >> LINK_GRAIN_BITS);
    }
    if (flow->is_settled) {
        link_timers_drop(&class->settled, &flow->timed);
        arm_class(flow->net, class);
    } else {
        unlist(class, flow);
    }
    flow->is_settled = false;
}

/* --- Users --- */

static uint64_t mix(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

static uint64_t key_of(const struct link_flow *flow, int64_t bound)
{
    uint64_t key = mix(0, (uint64_t)bound);
    for (int32_t k = 0; k < flow->n_hops; k++) key = mix(key, (uint64_t)flow->links[k]->index + 1);
    return key;
}

static bool is_of(const struct link_class *class, const struct link_flow *flow, int64_t bound)
{
    bool is_same = class->bound == bound && class->n_hops == flow->n_hops;
    for (int32_t k = 0; is_same && k < flow->n_hops; k++) is_same = class->hops[k].link == flow->links[k];
    return is_same;
}

/* An idle class, of which only its index and its room for flows count, or a new one. NULL: out of memory. */
static struct link_class *take_class(struct link_net *net)
{
    struct link_class *class = net->idle;
    if (class == NULL) {
        class = arena_alloc(&net->arena, sizeof *class);
        if (class == NULL || vec_push(&net->classes, &net->n_classes, &net->classes_capacity, class) != 0) return NULL;
        class->index = net->n_classes - 1;
        return class;
    }
    net->idle = class->next_idle;
    return class;
}

static void give_class(struct link_net *net, struct link_class *class)
{
    class->next_idle = net->idle;
    net->idle = class;
}

static struct link_class *make_class(struct link_net *net, const struct link_flow *flow, int64_t bound)
{
    struct link_class *class = take_class(net);
    if (class == NULL) return NULL;
    class->timed = (struct link_timed){.timer_at = -1};
    class->key = class->mark = 0;
    class->is_claim = flow->endless;
    class->is_found = class->senses = class->leaves_idle = false;
    class->n_users = class->settled.n = 0;
    class->n_moving = class->rate = class->filled = 0;
    class->weight = LINK_WEIGHT_ONE;
    class->bound = bound;
    class->anchor_ns = 0;
    class->served = 0;
    class->loose = NULL;
    class->n_hops = flow->n_hops;
    for (int32_t k = 0; k < flow->n_hops; k++)
        class->hops[k] = (struct link_hop){.link = flow->links[k], .class = class};
    return class;
}

/* Two classes of one key are possible, not likely: the later one is not found then. */
int link_class_join(struct link_flow *flow, int64_t bound)
{
    struct link_net *net = flow->net;
    const uint64_t key = key_of(flow, bound);
    const int64_t found = flow->endless ? -1 : key_map_find(&net->class_of_key, key);
    struct link_class *class = found >= 0 ? net->classes[found] : NULL;
    if (class == NULL || !is_of(class, flow, bound)) class = make_class(net, flow, bound);
    if (class == NULL) return SIM_E_NOMEM;
    int code = vec_reserve(&class->settled.entries, &class->settled.capacity, class->n_users + 1);
    if (code == 0 && found < 0 && !flow->endless) {
        code = key_map_set(&net->class_of_key, key, class->index);
        class->is_found = code == 0;
        class->key = key;
    }
    if (code != 0 && class->n_users == 0) give_class(net, class);
    if (code != 0) return code;
    class->n_users++;
    flow->class = class;
    return 0;
}

void link_class_quit(struct link_flow *flow)
{
    struct link_net *net = flow->net;
    struct link_class *class = flow->class;
    flow->class = NULL;
    if (--class->n_users > 0) return;
    if (class->is_found) key_map_remove(&net->class_of_key, class->key);
    give_class(net, class);
}

void link_classes_free(struct link_net *net)
{
    for (int32_t i = 0; i < net->n_classes; i++) mem_free(net->classes[i]->settled.entries);
    mem_free((void *)net->classes);
    key_map_fini(&net->class_of_key);
}
