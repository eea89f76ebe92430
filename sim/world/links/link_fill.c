/* Max-min fair shares by progressive filling: a level rises for all flows alike. The rate of a flow is the level times
 * its weight. A flow stops at its bound, and all flows over a link stop when it is full. In integers, rounded down, so
 * that no link ever exceeds its capacity.
 *
 * The next stop is the root of a heap. A link's level, its capacity left over the open weights, can only
 * go up while others stop below it. It is therefore recomputed when the link reaches the root, and put back if it has
 * gone up. Classes often have their bounds at one level, such as those of the GPUs of a node: one stop holds them all,
 * where they follow each other among the classes. */
#include "sim/core/check.h"
#include "sim/world/links/link_state.h"

enum { RECENT_STOPS = 4 };

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

static void gather_classes(struct link_net *net, const struct link *link)
{
    for (struct link_hop *hop = link->first; hop != NULL; hop = hop->after) {
        if (hop->class->mark == net->mark) continue;
        hop->class->mark = net->mark;
        hop->class->filled = -1;
        net->filling[net->n_filling++] = hop->class;
    }
}

/* Adds a link that is short of bandwidth to the filling. Others limit no class. */
static void gather_link(struct link_net *net, struct link *link)
{
    if (link->mark == net->mark || !link_is_short(link)) return;
    link->mark = net->mark;
    link->left = link->capacity;
    link->open_weights = link->weights;
    net->filling_links[net->n_filling_links++] = link;
    gather_classes(net, link);
}

/* Collects all classes over dirty links, and the links and classes coupled to them. */
static void gather(struct link_net *net)
{
    net->mark++;
    net->n_filling = net->n_filling_links = 0;
    for (int32_t i = 0; i < net->n_dirty; i++) {
        net->dirty[i]->dirty = false;
        gather_classes(net, net->dirty[i]);
    }
    net->n_dirty = 0;
    for (int32_t i = 0; i < net->n_filling; i++)
        for (int32_t k = 0; k < net->filling[i]->n_hops; k++) gather_link(net, net->filling[i]->hops[k].link);
}

static int64_t link_level(const struct link *link)
{
    tally_int128 level = link->left * LINK_WEIGHT_ONE / link->open_weights;
    return level < INT64_MAX ? (int64_t)level : INT64_MAX;
}

/* The least level at which the class has its bound. */
static int64_t bound_level(const struct link_class *class)
{
    if (class->weight == LINK_WEIGHT_ONE) return class->bound;
    const tally_int128 level = ((tally_int128) class->bound * LINK_WEIGHT_ONE + class->weight - 1) / class->weight;
    return level < INT64_MAX ? (int64_t)level : INT64_MAX;
}

static int64_t rate_at(const struct link_class *class, int64_t level)
{
    const tally_int128 rate = (tally_int128)level * class->weight / LINK_WEIGHT_ONE;
    return rate < class->bound ? (int64_t)rate : class->bound;
}

/* A stop for each class, or one for classes at one level of which hardly any others come between. */
static int32_t list_class_stops(struct link_net *net)
{
    int32_t n = 0;
    for (int32_t i = 0; i < net->n_filling; i++) {
        struct link_class *class = net->filling[i];
        const int64_t level = bound_level(class);
        int32_t at = n;
        while (at > 0 && at > n - RECENT_STOPS && net->stops[at - 1].level != level) at--;
        const bool is_found = at > 0 && at > n - RECENT_STOPS;
        class->next_stop = is_found ? net->stops[at - 1].class : NULL;
        net->stops[is_found ? at - 1 : n++] = (struct link_stop){level, (uint64_t)class->index, NULL, class};
    }
    return n;
}

static int32_t list_stops(struct link_net *net)
{
    int32_t n = list_class_stops(net);
    for (int32_t i = 0; i < net->n_filling_links; i++) {
        struct link *link = net->filling_links[i];
        net->stops[n++] = (struct link_stop){link_level(link), UINT64_MAX / 2 + (uint64_t)link->index, link, NULL};
    }
    for (int32_t at = n / 2; at-- > 0;) sift_down(net->stops, n, at, net->stops[at]);
    return n;
}

static void stop_class(struct link_net *net, struct link_class *class, int64_t level)
{
    class->filled = rate_at(class, level);
    for (int32_t k = 0; k < class->n_hops; k++) {
        struct link *link = class->hops[k].link;
        if (link->mark != net->mark) continue;
        link->left -= (tally_int128) class->filled * class->n_moving;
        link->open_weights -= class->weight * class->n_moving;
    }
}

static void stop_link(struct link_net *net, const struct link *link, int64_t level)
{
    for (struct link_hop *hop = link->first; hop != NULL; hop = hop->after)
        if (hop->class->filled < 0) stop_class(net, hop->class, level);
}

/* Sensors get what all others leave, each of them all of it. */
static void fill_sensors(const struct link_net *net)
{
    for (int32_t i = 0; i < net->n_filling; i++) {
        struct link_class *class = net->filling[i];
        tally_int128 left = class->bound - class->filled;
        for (int32_t k = 0; k < class->n_hops && class->senses; k++) {
            const struct link *link = class->hops[k].link;
            if (link->mark == net->mark && link->left < left) left = link->left;
        }
        if (class->senses) class->filled += (int64_t)left;
    }
}

void link_fill(struct link_net *net)
{
    gather(net);
    int32_t n = list_stops(net);
    while (n > 0) {
        struct link_stop stop = net->stops[0];
        if (stop.link != NULL && stop.link->open_weights > 0) {
            int64_t level = link_level(stop.link);
            SIM_ASSERT(level >= stop.level);
            if (level > stop.level) {
                stop.level = level;
                sift_down(net->stops, n, 0, stop);
                continue;
            }
            stop_link(net, stop.link, level);
        }
        for (struct link_class *class = stop.class; class != NULL; class = class->next_stop)
            if (class->filled < 0) stop_class(net, class, stop.level);
        n--;
        if (n > 0) sift_down(net->stops, n, 0, net->stops[n]);
    }
    fill_sensors(net);
    net->work.fillings++;
    net->work.filled_classes += (uint64_t)net->n_filling;
    for (int32_t i = 0; i < net->n_filling; i++) net->work.filled_flows += (uint64_t)net->filling[i]->n_moving;
}
