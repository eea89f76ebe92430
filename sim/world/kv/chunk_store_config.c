/* The section kv.chunk_store of a scenario. */
#include "sim/world/kv/chunk_store.h"

#include "sim/world/kv/store_tiers.h"

#include <string.h>

static const char *const keeps_names[] = {"any", "whole", NULL};

#define ROW_OF struct chunk_tier_config
static const struct config_field chunk_tier_fields[] = {
    ROW_TEXT("device", device, OPTIONAL, WITHIN(1, 256),
             "gpu, which takes memory from the KV blocks unless kv.blocks gives them, or a name in cluster.storage; "
             "default: host memory"),
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

/* A tier in GPU memory is on no device of the cluster. */
static int check_gpu_tier(const struct chunk_tier_config *tier, size_t i, const struct topology_config *links,
                          const char *where, struct diag *diag)
{
    if (i > 0)
        return diag_error(diag, SIM_E_CONFIG, where, "list it first", "tier '%s' in GPU memory is below another one",
                          tier->name);
    if (store_has_device(links, "gpu"))
        return diag_error(diag, SIM_E_CONFIG, where, "rename it there",
                          "tier '%s' is on 'gpu', which is GPU memory and a device of cluster.storage", tier->name);
    return 0;
}

int chunk_store_config_check(const struct chunk_store_config *config, const struct topology_config *links,
                             const char *where, struct diag *diag)
{
    const struct chunk_tier_config *tiers = config->tiers.items;
    struct store_place places[CHUNK_TIERS];
    size_t n = 0; /* below GPU memory */
    int code = 0;
    for (size_t i = 0; i < config->tiers.n && code == 0; i++) {
        const bool is_gpu = chunk_tier_is_gpu(&tiers[i]);
        places[n] = (struct store_place){tiers[i].name, is_gpu ? NULL : tiers[i].device, tiers[i].eviction.entry};
        if (is_gpu) code = check_gpu_tier(&tiers[i], i, links, where, diag);
        if (code == 0) code = store_place_check(places, n + 1, links, "name \"gpu\", ", where, diag);
        n += !is_gpu;
    }
    return code;
}
