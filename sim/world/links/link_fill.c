/* Max-min fair shares by progressive filling: a level rises for all flows alike; a flow stops at its bound, and all flows
 * over a link stop when it is full. In integers, rounded down, so that no link ever carries more than it can.
 *
 * What stops the level next stands at the root of a heap. A link's level, what is left of it over the flows that still
 * rise, only goes up while others stop below it, so it is worked out when the link comes to the root, and put back if it
 * has gone up since. */
#include "sim/core/check.h"
#include "sim/world/links/link_state.h"

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

/* Takes a link that is short into the filling. Others hold nobody back. */
static void gather_link(struct link_net *net, struct link *link)
{
    if (link->mark == net->mark || !link_is_short(link)) return;
    link->mark = net->mark;
    link->left = link->capacity;
    link->n_open = link->hops.value;
    net->filling_links[net->n_filling_links++] = link;
    gather_flows(net, link);
}

/* All flows over dirty links, and what these are tied to. */
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

void link_fill(struct link_net *net)
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
