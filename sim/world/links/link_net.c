/* A network of links: its memory, and the statistics of each link. */
#include "sim/core/check.h"
#include "sim/world/links/link_state.h"

#include <math.h>

enum { MIN_LINKS = 16, MIN_FLOWS = 64 };

tally_int128 link_rate(double bytes_per_s)
{
    double rate = bytes_per_s * LINK_RATE_OF_1_PER_S;
    if (rate < 1) return 1;
    if (rate < 0x1p62) return llrint(rate);
    return rate < 0x1p100 ? (tally_int128)rate : (tally_int128)1 << 100;
}

struct link_net *link_net_create(struct engine *engine, uint32_t first_owner_id)
{
    struct link_net *net = mem_zalloc(1, sizeof *net);
    if (net == NULL) return NULL;
    net->engine = engine;
    owner_init(&net->due, first_owner_id);
    owner_init(&net->settle, first_owner_id + 1);
    arena_init(&net->arena);
    return net;
}

void link_net_destroy(struct link_net *net)
{
    if (net == NULL) return;
    link_classes_free(net);
    arena_fini(&net->arena);
    mem_free(net->links);
    mem_free(net->dirty);
    mem_free(net->filling_links);
    mem_free(net->filling);
    mem_free(net->changed);
    mem_free(net->stops);
    mem_free(net->timers.entries);
    mem_free(net);
}

/* The list with room for n entries; on failure unchanged, with *code set. */
static void *grown(void *list, int32_t n, size_t bytes_each, int *code)
{
    void *larger = *code == 0 ? mem_realloc(list, (size_t)n * bytes_each) : NULL;
    if (larger == NULL) *code = SIM_E_NOMEM;
    return larger != NULL ? larger : list;
}

static int32_t enough(int32_t capacity, int32_t n, int32_t least)
{
    if (n <= capacity) return capacity;
    return n + n / 2 > least ? n + n / 2 : least;
}

int link_net_reserve(struct link_net *net, int32_t n_links, int32_t n_flows)
{
    int code = 0;
    int32_t links = enough(net->links_capacity, n_links, MIN_LINKS);
    int32_t flows = enough(net->flows_capacity, n_flows, MIN_FLOWS);
    if (links == net->links_capacity && flows == net->flows_capacity) return 0;
    net->links = grown(net->links, links, sizeof(*net->links), &code);
    net->dirty = grown(net->dirty, links, sizeof(*net->dirty), &code);
    net->filling_links = grown(net->filling_links, links, sizeof(*net->filling_links), &code);
    net->filling = grown(net->filling, flows, sizeof(*net->filling), &code);
    net->changed = grown(net->changed, 2 * flows, sizeof(*net->changed), &code);
    net->timers.entries = grown(net->timers.entries, 2 * flows, sizeof(*net->timers.entries), &code);
    net->stops = grown(net->stops, links + flows, sizeof(*net->stops), &code);
    if (code != 0) return code;
    net->links_capacity = links;
    net->flows_capacity = flows;
    return 0;
}

struct link *link_net_add(struct link_net *net, const char *name, double bytes_per_s, sim_ns latency_ns)
{
    SIM_REQUIRE(bytes_per_s > 0 && latency_ns >= 0);
    if (link_net_reserve(net, net->n_links + 1, net->n_flows) != 0) return NULL;
    struct link *link = arena_alloc(&net->arena, sizeof *link);
    if (link == NULL) return NULL;
    link->name = name;
    link->index = net->n_links;
    link->latency_ns = latency_ns;
    link->bytes_per_s = bytes_per_s;
    link->full = link->capacity = link_rate(bytes_per_s);
    link->start_ns = engine_now(net->engine);
    net->links[net->n_links++] = link;
    return link;
}

/* --- Twins --- */

void link_make_twin(struct link *link, struct link *of)
{
    SIM_REQUIRE(link != of && link->first == NULL && of->twin_of == NULL && link->capacity == of->capacity);
    link->twin_of = of;
}

bool link_is_twin(const struct link *link)
{
    return link->twin_of != NULL;
}

static const struct link *carrier_of(const struct link *link)
{
    return link->twin_of != NULL ? link->twin_of : link;
}

/* --- Statistics --- */

const char *link_name(const struct link *link)
{
    return link->name;
}

double link_bytes_per_s(const struct link *link)
{
    return link->bytes_per_s;
}

int32_t link_index(const struct link *link)
{
    return link->index;
}

double link_used_bytes_per_s(const struct link *twin)
{
    const struct link *link = carrier_of(twin);
    tally_int128 rate = 0;
    for (const struct link_hop *hop = link->first; hop != NULL; hop = hop->after)
        if (!hop->class->senses) rate += (tally_int128)hop->class->rate * hop->class->n_moving;
    return (double)rate / LINK_RATE_OF_1_PER_S;
}

int64_t link_bytes(const struct link *twin, sim_ns at)
{
    const struct link *link = carrier_of(twin);
    int64_t bytes = link->ended_bytes;
    for (const struct link_hop *hop = link->first; hop != NULL; hop = hop->after)
        bytes += link_class_bytes(hop->class, at);
    return bytes;
}

struct link_stats link_stats(const struct link *twin, sim_ns at)
{
    const struct link *link = carrier_of(twin);
    struct link_stats stats = {.bytes = link_bytes(link, at)};
    double lasted_s = sim_s_from_ns(at - link->start_ns);
    if (lasted_s <= 0) return stats;
    sim_ns busy_ns = link->busy_ns + (link->n_hops > link->idle_hops ? at - link->busy_since_ns : 0);
    stats.busy_frac = sim_s_from_ns(busy_ns) / lasted_s;
    stats.used_frac = (double)stats.bytes / (link->bytes_per_s * lasted_s);
    return stats;
}

int32_t link_net_count(const struct link_net *net)
{
    return net->n_links;
}

struct link *link_net_at(const struct link_net *net, int32_t index)
{
    SIM_REQUIRE(index >= 0 && index < net->n_links);
    return net->links[index];
}

struct link_net_work link_net_work(const struct link_net *net)
{
    return net->work;
}
