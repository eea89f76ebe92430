/* The section kv.chunk_store of a scenario. */
#include "sim/world/kv/chunk_store.h"

#include <string.h>

static const char *const keeps_names[] = {"any", "whole", NULL};

#define ROW_OF struct chunk_tier_config
static const struct config_field chunk_tier_fields[] = {
    ROW_TEXT("device", device, OPTIONAL, WITHIN(1, 256),
             "gpu, which takes memory from the KV blocks, or a name in cluster.storage; default: host memory"),
    ROW_QUANTITY("capacity", capacity_bytes, UNIT_BYTES, REQUIRED, WITHIN(1, 1e18), "of each replica"),
    ROW_SHORT_VARIANT("eviction", eviction, DEFAULT("lru"), "eviction", "policy", "variant that makes room"),
    {0}};
#undef ROW_OF

#define ROW_OF struct chunk_store_config
const struct config_field chunk_store_fields[] = {
    ROW_MAP("tiers", tiers, REQUIRED, WITHIN(1, CHUNK_TIERS), struct chunk_tier_config, chunk_tier_fields,
            "from the top down, by name"),
    ROW_INT("variants", variants, DEFAULT("5"), WITHIN(1, 1e6), "most variants of a chunk"),
    ROW_INT("chunks", chunks, DEFAULT("0"), WITHIN(0, 1e12), "most chunks of a replica's store; 0: no limit"),
    ROW_REAL("alpha", alpha, DEFAULT("1"), WITHIN(0, 1e12),
             "factor on the share of a chunk that is recomputed (Cache-Craft's alpha)"),
    ROW_REAL("inter", inter, DEFAULT("0.1"), WITHIN(1e-9, 1e9),
             "mean attention between two chunks over that within one, per pair of tokens; an assumption"),
    ROW_REAL("sigma", sigma, DEFAULT("1"), WITHIN(0, 10),
             "standard deviation of the logarithm of this attention over pairs of chunks; an assumption"),
    ROW_CHOICE("keeps", keeps, DEFAULT("any"), keeps_names,
               "chunks that become variants: any of which a part was computed, or those computed whole"),
    {0}};
#undef ROW_OF

bool chunk_tier_is_gpu(const struct chunk_tier_config *tier)
{
    return tier->device != NULL && strcmp(tier->device, "gpu") == 0;
}

double chunk_store_gpu_bytes(const struct chunk_store_config *config)
{
    const struct chunk_tier_config *tiers = config->tiers.items;
    double bytes = 0.0;
    for (size_t i = 0; i < config->tiers.n; i++) bytes += chunk_tier_is_gpu(&tiers[i]) ? tiers[i].capacity_bytes : 0.0;
    return bytes;
}

static bool has_device(const struct topology_config *links, const char *name)
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

static int check_tier(const struct chunk_store_config *config, size_t i, const struct topology_config *links,
                      const char *where, struct diag *diag)
{
    const struct chunk_tier_config *tiers = config->tiers.items, *tier = &tiers[i];
    const struct policy *evictor = tier->eviction.entry;
    if (tier->device != NULL && !chunk_tier_is_gpu(tier) && !has_device(links, tier->device))
        return diag_error(diag, SIM_E_CONFIG, where,
                          "add it there, name \"gpu\", or leave 'device' out for the host's memory",
                          "tier '%s' is on '%s', which cluster.storage does not have", tier->name, tier->device);
    if (chunk_tier_is_gpu(tier) && i > 0)
        return diag_error(diag, SIM_E_CONFIG, where, "list it first", "tier '%s' in GPU memory is below another one",
                          tier->name);
    for (size_t k = 0; k < i; k++)
        if (is_same(tier->device, tiers[k].device))
            return diag_error(diag, SIM_E_CONFIG, where, "give one of them another device",
                              "tiers '%s' and '%s' are on one device, between which nothing moves", tiers[k].name,
                              tier->name);
    if (evictor->oracle & ORACLE_FUTURE)
        return diag_error(diag, SIM_E_CONFIG, where, "only 'orrery trace stat --prefix-cache' knows it",
                          "eviction policy '%s' asks for the accesses that are still to come", evictor->name);
    return 0;
}

int chunk_store_config_check(const struct chunk_store_config *config, const struct topology_config *links,
                             const char *where, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; i < config->tiers.n && code == 0; i++) code = check_tier(config, i, links, where, diag);
    return code;
}
