#include "sim/world/kv/store_tiers.h"

#include "sim/core/mem.h"
#include "sim/world/policy/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool store_has_device(const struct topology_config *links, const char *name)
{
    const struct storage_config *storage = links->storage.items;
    for (size_t i = 0; i < links->storage.n; i++)
        if (strcmp(storage[i].name, name) == 0) return true;
    return false;
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

int store_place_check(const struct store_place *places, size_t n, const struct topology_config *links,
                      const char *other_hint, const char *where, struct diag *diag)
{
    const struct store_place *place = &places[n - 1];
    const struct policy *evictor = place->evictor;
    if (place->device != NULL && !store_has_device(links, place->device)) {
        char hint[160];
        snprintf(hint, sizeof hint, "add it there, %sor leave 'device' out for the host's memory", other_hint);
        return diag_error(diag, SIM_E_CONFIG, where, hint, "tier '%s' is on '%s', which cluster.storage does not have",
                          place->name, place->device);
    }
    for (size_t k = 0; k + 1 < n; k++)
        if (is_same(place->device, places[k].device))
            return diag_error(diag, SIM_E_CONFIG, where, "give one of them another device of cluster.storage",
                              "tiers '%s' and '%s' are on one device, between which nothing moves", places[k].name,
                              place->name);
    if (evictor->oracle & ORACLE_FUTURE)
        return diag_error(diag, SIM_E_CONFIG, where, "only 'orrery trace stat --prefix-cache' knows it",
                          "eviction policy '%s' asks for the accesses that are still to come", evictor->name);
    return 0;
}

/* Times that the paths cross a link. */
static int32_t count_uses(const struct link_path *paths, int32_t n, const struct link *link)
{
    int32_t uses = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < paths[i].n; k++) uses += paths[i].links[k] == link;
    return uses;
}

int store_load_rate(struct topology_end from, struct topology_end to, double *s_per_byte, double *latency_s)
{
    const int32_t n = topology_shards(from, to);
    struct link_path *paths = mem_alloc((size_t)n * sizeof *paths);
    double cap_bytes_per_s, slowest_s = 0.0;
    int code = paths != NULL ? 0 : SIM_E_NOMEM;
    for (int32_t i = 0; i < n && code == 0; i++)
        code = topology_path(to.placement->topology, from, to, i, &paths[i], &cap_bytes_per_s);
    for (int32_t i = 0; i < n && code == 0; i++)
        for (int32_t k = 0; k < paths[i].n; k++)
            slowest_s = fmax(slowest_s, (double)count_uses(paths, n, paths[i].links[k]) / (double)n /
                                            link_bytes_per_s(paths[i].links[k]));
    *s_per_byte = slowest_s;
    *latency_s = code == 0 ? sim_s_from_ns(paths[0].latency_ns) : 0.0;
    mem_free(paths);
    return code;
}
