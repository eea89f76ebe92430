/* Names of LLMs: the name of a file below llms, or one of the aliases that it states, such as its id on the Hugging
 * Face hub. Shared by the readers of the catalog, of no use to others. */
#ifndef ORRERY_CATALOG_LLM_NAMES_H
#define ORRERY_CATALOG_LLM_NAMES_H

#include "sim/catalog/shelf.h"

/* Finds the file of an LLM by its name, an alias (letters of either case) or its path. Reports an unknown name, with
 * the nearest one. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int llm_names_find(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
                   struct arena *arena, const char **path, struct diag *diag);

#endif
