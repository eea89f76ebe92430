/* The section kv.prefix_store of a scenario. */
#include "sim/world/kv/prefix_store.h"

#include <string.h>

static const char *const write_names[] = {"back", "through", NULL};
static const char *const scope_names[] = {"usual", "replica", "shared", NULL};
static const char *const load_names[] = {"always", "when-faster", NULL};
static const char *const waits_names[] = {"batch", "request", NULL};

#define ROW_OF struct store_tier_config
static const struct config_field store_tier_fields[] = {
    ROW_TEXT("device", device, OPTIONAL, WITHIN(1, 256),
             "name in cluster.storage; default: host memory"),
    ROW_QUANTITY("capacity", capacity_bytes, UNIT_BYTES, REQUIRED, WITHIN(1, 1e18),
                 "of each replica, or of all that share the tier"),
    ROW_SHORT_VARIANT("eviction", eviction, DEFAULT("lru"), "eviction", "policy", "block that makes room"),
    ROW_CHOICE("write", write, DEFAULT("back"), write_names,
               "through: when GPU memory gets a block; back: when the tier above evicts it"),
    ROW_CHOICE("scope", scope, DEFAULT("usual"), scope_names,
               "a tier per replica, or one that all share; usual: shared if remote"),
    {0}};
#undef ROW_OF

#define ROW_OF struct store_config
const struct config_field store_config_fields[] = {
    ROW_MAP("tiers", tiers, REQUIRED, WITHIN(1, STORE_TIERS), struct store_tier_config, store_tier_fields,
            "from the top down, by name"),
    ROW_CHOICE("load", load, DEFAULT("always"), load_names,
               "load stored blocks always, or when that is faster than computing"),
    ROW_CHOICE("waits", waits, DEFAULT("batch"), waits_names,
               "for loads: the whole batch, or the request alone"),
    ROW_BOOL("prefetch", prefetch, DEFAULT("false"),
             "fetch from lower tiers into the first while requests queue"),
    {0}};
#undef ROW_OF

static bool has_device(const struct topology_config *links, const char *name)
{
    const struct storage_config *storage = links->storage.items;
    for (size_t i = 0; i < links->storage.n; i++)
        if (strcmp(storage[i].name, name) == 0) return true;
    return name == NULL;
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int check_tier(const struct store_config *config, size_t i, const struct topology_config *links,
                      const char *where, struct diag *diag)
{
    const struct store_tier_config *tiers = config->tiers.items, *tier = &tiers[i];
    const struct policy *evictor = tier->eviction.entry;
    if (tier->device != NULL && !has_device(links, tier->device))
        return diag_error(diag, SIM_E_CONFIG, where, "add it there, or leave 'device' out for the host's memory",
                          "tier '%s' is on '%s', which cluster.storage does not have", tier->name, tier->device);
    for (size_t k = 0; k < i; k++)
        if (is_same(tier->device, tiers[k].device))
            return diag_error(diag, SIM_E_CONFIG, where, "give one of them another device of cluster.storage",
                              "tiers '%s' and '%s' are on one device, between which nothing moves", tiers[k].name,
                              tier->name);
    if (evictor->oracle & ORACLE_FUTURE)
        return diag_error(diag, SIM_E_CONFIG, where, "only 'orrery trace stat --prefix-cache' knows it",
                          "eviction policy '%s' asks for the accesses that are still to come", evictor->name);
    return 0;
}

int store_config_check(const struct store_config *config, const struct topology_config *links, const char *where,
                       struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; i < config->tiers.n && code == 0; i++) code = check_tier(config, i, links, where, diag);
    if (code == 0 && config->prefetch && config->tiers.n == 1)
        return diag_error(diag, SIM_E_CONFIG, where, "add a second tier, or leave 'prefetch' out",
                          "'prefetch' copies into the first tier from those below it, and there is only one");
    return code;
}
