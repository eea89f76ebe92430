/* Locations of the configurations that come with the program. */
#ifndef ORRERY_CLI_PATHS_H
#define ORRERY_CLI_PATHS_H

#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"

#include <stdbool.h>

/* The directory that holds "configs": $ORRERY_DATA; else the current one if it has "configs/hardware"; else the
 * executable's (the source tree around build/, or ../share/orrery); else PREFIX/share/orrery. In the arena; NULL
 * when out of memory. */
const char *paths_data(struct arena *arena);

/* The scenarios that come with the program, by name, sorted. */
struct scenario_names {
    size_t n;
    const char **names; /* in the arena */
};

/* `root` is the directory "configs". Returns 0, SIM_E_IO or SIM_E_NOMEM, and reports nothing. */
int paths_list_scenarios(struct arena *arena, const char *root, struct scenario_names *names);

bool paths_is_file(const char *path);
bool paths_is_directory(const char *path);

/* Adds the bytes of a file to the hash. Returns 0 or SIM_E_IO. */
int paths_hash_file(const char *path, struct hash *hash, struct diag *diag);

#endif
