/* MIG slices: GPUs cut into equal instances by a profile of NVIDIA's Multi-Instance GPU.
 *
 * The file of a GPU lists its profiles in the section "mig". A slice is called GPU:PROFILE, as "h100-sxm:1g.10gb". It
 * is a GPU like others to all readers of the catalog (gpu_cut in models/hardware.h). */
#ifndef ORRERY_CATALOG_MIG_H
#define ORRERY_CATALOG_MIG_H

#include "models/hardware.h"
#include "sim/catalog/catalog.h"

/* A profile in the file of a GPU. */
struct mig_profile {
    const char *name; /* its key */
    struct gpu_slice slice;
    const char *source, *sure;
};

extern const struct config_field mig_profile_fields[];

/* The two parts of a GPU's name. */
struct mig_name {
    const char *board;   /* an entry of the catalog, or the path of a file */
    const char *profile; /* NULL: a whole GPU */
};

/* Splits a name at its last colon. Returns 0 or SIM_E_NOMEM. */
int mig_name_split(const char *name, struct arena *arena, struct mig_name *parts, struct diag *diag);

/* "GPU:PROFILE"; NULL when out of memory. */
const char *mig_name(const char *board, const char *profile, struct arena *arena);

/* Makes a GPU the slice of a profile among `profiles` (struct mig_profile). Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG
 * with a finding at `where`: the GPU has no such profile, or its file gives the slices more than the GPU has. */
int mig_cut(struct gpu_spec *gpu, const struct config_list *profiles, const char *profile, const char *where,
            struct arena *arena, struct diag *diag);

#endif
