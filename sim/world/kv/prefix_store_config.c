/* The section kv.prefix_store of a scenario. */
#include "sim/world/kv/prefix_store.h"

#include "sim/world/kv/store_tiers.h"

static const char *const write_names[] = {"back", "through", NULL};
static const char *const scope_names[] = {"usual", "replica", "shared", NULL};
static const char *const load_names[] = {"always", "when-faster", NULL};
static const char *const waits_names[] = {"batch", "request", NULL};
static const char *const lift_names[] = {"usual", "always", "never", NULL};

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
    ROW_CHOICE("prefetch", prefetch, DEFAULT("usual"), lift_names,
               "of a tier below the first: whether its blocks are prefetched; usual: as the store's 'prefetch' says"),
    ROW_CHOICE("promote", promote, DEFAULT("usual"), lift_names,
               "of a tier below the first: whether its blocks are promoted; usual: as the store's 'promote' says"),
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
    ROW_BOOL("promote", promote, DEFAULT("false"), "copy blocks that are loaded from lower tiers into the first"),
    {0}};
#undef ROW_OF

static bool is_lifted(bool usual, int lift)
{
    return lift == STORE_LIFT_USUAL ? usual : lift == STORE_LIFT_ALWAYS;
}

bool store_prefetches(const struct store_config *config, size_t tier)
{
    const struct store_tier_config *tiers = config->tiers.items;
    return tier > 0 && is_lifted(config->prefetch, tiers[tier].prefetch);
}

bool store_promotes(const struct store_config *config, size_t tier)
{
    const struct store_tier_config *tiers = config->tiers.items;
    return tier > 0 && is_lifted(config->promote, tiers[tier].promote);
}

/* Whether each tier below the first says for itself that its blocks do not come up. */
static bool none_is_lifted(const struct store_config *config, bool (*is_lifting)(const struct store_config *, size_t))
{
    for (size_t i = 1; i < config->tiers.n; i++)
        if (is_lifting(config, i)) return false;
    return true;
}

static void warn_of_idle_lifts(const struct store_config *config, const char *where, struct diag *diag)
{
    const char *idle = config->prefetch && none_is_lifted(config, store_prefetches) ? "prefetch"
                       : config->promote && none_is_lifted(config, store_promotes)  ? "promote"
                                                                                    : NULL;
    if (idle == NULL) return;
    diag_warning(diag, where, "leave it out, or 'never' in one of the tiers",
                 "'%s' of the store has no effect: each tier below the first says 'never'", idle);
}

/* Blocks come to the first tier from those below it: there must be some, and the first is none of them. */
static int check_lifts(const struct store_config *config, const char *where, struct diag *diag)
{
    const struct store_tier_config *first = config->tiers.items;
    const char *all = config->tiers.n > 1 ? NULL : config->prefetch ? "prefetch" : config->promote ? "promote" : NULL;
    const char *own = first->prefetch != STORE_LIFT_USUAL  ? "prefetch"
                      : first->promote != STORE_LIFT_USUAL ? "promote"
                                                           : NULL;
    if (all != NULL)
        return diag_error(diag, SIM_E_CONFIG, where, "add a second tier, or leave it out",
                          "'%s' copies into the first tier from those below it, and there is only one", all);
    if (own != NULL)
        return diag_error(diag, SIM_E_CONFIG, where, "set it in a tier below, or leave it out",
                          "'%s' copies into the first tier from those below it, and tier '%s' is the first", own,
                          first->name);
    warn_of_idle_lifts(config, where, diag);
    return 0;
}

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
    return code == 0 ? check_lifts(config, where, diag) : code;
}
