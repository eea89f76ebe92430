#include "sim/world/links/tier.h"

#include "sim/core/check.h"

#include <math.h>

bool tier_take(struct tier *tier, sim_ns now, int64_t bytes)
{
    SIM_REQUIRE(bytes >= 0);
    if (bytes > tier_free_bytes(tier)) return false;
    level_set(&tier->used, now, tier->used.value + bytes);
    return true;
}

void tier_give(struct tier *tier, sim_ns now, int64_t bytes)
{
    SIM_REQUIRE(bytes >= 0 && bytes <= tier->used.value);
    level_set(&tier->used, now, tier->used.value - bytes);
}

double tier_bytes_per_s(const struct tier *tier, enum storage_op op)
{
    const struct link *links[] = {tier->media[op], tier->ceiling[op], tier->port[op]};
    double least = HUGE_VAL;
    for (int i = 0; i < 3; i++)
        if (links[i] != NULL) least = fmin(least, link_bytes_per_s(links[i]));
    return least;
}

const char *tier_kind_name(enum tier_kind kind)
{
    static const char *const names[TIER_KINDS] = {
        [TIER_DRAM] = "dram", [TIER_SSD] = "ssd", [TIER_CSD] = "csd", [TIER_REMOTE] = "remote"};
    return names[kind];
}
