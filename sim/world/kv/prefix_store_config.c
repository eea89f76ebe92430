/* The section kv.prefix_store of a scenario. */
#include "sim/world/kv/prefix_store.h"

#include "sim/world/kv/store_tiers.h"

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

int store_config_check(const struct store_config *config, const struct topology_config *links, const char *where,
                       struct diag *diag)
{
    const struct store_tier_config *tiers = config->tiers.items;
    struct store_place places[STORE_TIERS];
    int code = 0;
    for (size_t i = 0; i < config->tiers.n && code == 0; i++) {
        places[i] = (struct store_place){tiers[i].name, tiers[i].device, tiers[i].eviction.entry};
        code = store_place_check(places, i + 1, links, "", where, diag);
    }
    if (code == 0 && config->prefetch && config->tiers.n == 1)
        return diag_error(diag, SIM_E_CONFIG, where, "add a second tier, or leave 'prefetch' out",
                          "'prefetch' copies into the first tier from those below it, and there is only one");
    return code;
}
