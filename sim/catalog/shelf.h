/* A shelf of the catalog: a folder whose files are found by name. Shared by the readers of the catalog, of no use to
 * others. */
#ifndef ORRERY_CATALOG_SHELF_H
#define ORRERY_CATALOG_SHELF_H

#include "sim/catalog/catalog.h"

#include <stdbool.h>

/* The folder below the catalog's root, and what messages call its entries. */
struct shelf {
    const char *folder, *noun, *list_command;
    const char *no_entry; /* a file of the folder that is none: "sources.json"; or NULL */
    const char *scope;    /* what entries there are at all, for an unknown name: "only NVIDIA ..."; or NULL */
};

/* Finds the file of an entry. Reports an unknown name; that a path leads nowhere is for its reader to say. Returns 0,
 * SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int shelf_find(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
               struct arena *arena, const char **path, struct diag *diag);

/* Whether the shelf has a file of this name. False when out of memory. */
bool shelf_has(const struct catalog *catalog, const struct shelf *shelf, const char *name, struct arena *arena);

/* Names of all entries, sorted. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int shelf_list(const struct catalog *catalog, const struct shelf *shelf, struct arena *arena,
               struct catalog_names *names, struct diag *diag);

/* Adds a file that was read to those that the catalog keeps account of. */
void shelf_note(const struct catalog *catalog, const struct hash_sum *file);

/* Loads and binds a file of ours, or copies it from the catalog's memory, which keeps it for this table of fields; and
 * notes it. The texts that the struct keeps are in the arena, or in the memory. Returns what config_load and
 * config_bind return. */
int shelf_bind(const struct catalog *catalog, const char *path, const struct config_field *fields, struct arena *arena,
               void *out, size_t bytes, struct diag *diag);

/* "a100" of "hardware/a100.json", and "Yi-34B" of "models/Yi-34B/config.json": checkpoints call all their files alike.
 * NULL when out of memory. */
char *shelf_entry_name(struct arena *arena, const char *path);

#endif
