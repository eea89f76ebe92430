#include "sim/catalog/mig.h"

#include "sim/core/text.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#define ROW_OF struct mig_profile
const struct config_field mig_profile_fields[] = {
    ROW_INT("instances", slice.slices, REQUIRED, WITHIN(1, 64), "most slices of this profile on a GPU"),
    ROW_INT("sms", slice.sm_count, REQUIRED, AT_LEAST(1), "streaming multiprocessors of a slice"),
    ROW_QUANTITY("memory", slice.memory_bytes, UNIT_BYTES, REQUIRED, POSITIVE, "memory of a slice, as nvidia-smi reports it"),
    ROW_REAL("bandwidth_share", slice.bandwidth_frac, REQUIRED, WITHIN(DBL_MIN, 1), "share of the memory bandwidth"),
    ROW_REAL("l2_share", slice.l2_frac, REQUIRED, WITHIN(DBL_MIN, 1), "share of the L2 cache"),
    ROW_TEXT("source", source, OPTIONAL, ANY, "source of these numbers"),
    ROW_TEXT("sure", sure, OPTIONAL, ANY, "how sure they are, as of other values"),
    {0},
};
#undef ROW_OF

int mig_name_split(const char *name, struct arena *arena, struct mig_name *parts, struct diag *diag)
{
    const char *colon = strrchr(name, ':');
    *parts = (struct mig_name){.board = name};
    if (colon == NULL || strchr(colon, '/') != NULL) return 0;
    parts->board = arena_printf(arena, "%.*s", (int)(colon - name), name);
    parts->profile = colon + 1;
    return parts->board != NULL ? 0 : diag_nomem(diag);
}

const char *mig_name(const char *board, const char *profile, struct arena *arena)
{
    return arena_printf(arena, "%s:%s", board, profile);
}

static const struct mig_profile *find_profile(const struct config_list *profiles, const char *name)
{
    const struct mig_profile *profile = profiles->items;
    for (size_t i = 0; i < profiles->n; i++, profile++)
        if (strcmp(profile->name, name) == 0) return profile;
    return NULL;
}

static int refuse_profile(const struct gpu_spec *gpu, const struct config_list *profiles, const char *name,
                          const char *where, struct diag *diag)
{
    const struct mig_profile *profile = profiles->items;
    char hint[DIAG_TEXT_CHARS] = "'orrery list gpus --json' shows the profiles of each GPU";
    size_t length = 0;
    for (size_t i = 0; i < profiles->n && length < sizeof hint; i++)
        length += (size_t)snprintf(hint + length, sizeof hint - length, "%s%s", i > 0 ? ", " : "it has ",
                                   profile[i].name);
    if (profiles->n == 0)
        return diag_error(diag, SIM_E_CONFIG, where, hint, "'%s' cannot be cut: its file has no MIG profiles",
                          gpu->name);
    return diag_error(diag, SIM_E_CONFIG, where, hint, "'%s' has no MIG profile '%s'", gpu->name, name);
}

/* What the slices together have more of than the GPU; NULL: nothing. */
static const char *excess_of(const struct gpu_spec *gpu, const struct gpu_slice *slice)
{
    const double n = (double)slice->slices;
    if (n * (double)slice->sm_count > (double)gpu->sm_count) return "SMs";
    if (n * slice->memory_bytes > gpu->memory_bytes) return "memory";
    if (n * slice->bandwidth_frac > 1.0) return "memory bandwidth";
    return n * slice->l2_frac > 1.0 ? "L2 cache" : NULL;
}

int mig_cut(struct gpu_spec *gpu, const struct config_list *profiles, const char *profile, const char *where,
            struct arena *arena, struct diag *diag)
{
    const struct mig_profile *found = find_profile(profiles, profile);
    if (found == NULL) return refuse_profile(gpu, profiles, profile, where, diag);
    const char *excess = excess_of(gpu, &found->slice);
    if (excess != NULL)
        return diag_error(diag, SIM_E_CONFIG, where, "correct the section 'mig' of the GPU's file",
                          "the %lld slices '%s' of '%s' have more %s than the GPU", (long long)found->slice.slices,
                          profile, gpu->name, excess);
    struct gpu_spec *whole = arena_alloc(arena, sizeof *whole);
    const char *name = mig_name(gpu->name, profile, arena);
    if (whole == NULL || name == NULL) return diag_nomem(diag);
    *whole = *gpu;
    gpu_cut(gpu, &found->slice);
    gpu->name = name;
    gpu->whole = whole;
    return 0;
}
