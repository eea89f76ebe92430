#include "sim/world/kv/store_tiers.h"

#include "sim/world/policy/policy.h"

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
