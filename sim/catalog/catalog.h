/* The catalog of GPUs and LLMs: files found by name and read into the models' plain structs.
 *
 * A name like "a100-80-sxm" is the file hardware/a100-80-sxm.json or llms/NAME.json below the root; a name that ends
 * in ".json" is a path. "NAME:PROFILE" is a MIG slice of that GPU. An LLM's file may also be a Hugging Face
 * config.json: it is recognised by its "model_type" or "architectures". The name of an LLM may also be one of the
 * "aliases" in its file: "meta-llama/Llama-3.1-8B". Every value of our own files says where it comes from. */
#ifndef ORRERY_CATALOG_CATALOG_H
#define ORRERY_CATALOG_CATALOG_H

#include "models/hardware.h"
#include "models/transformer.h"
#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>

struct catalog {
    const char *root;       /* directory, for example "configs" */
    struct hash_sum *files; /* gets the bytes of every file that is read, for provenance; may be NULL */
    struct catalog_memory *memory; /* NULL: every file is read anew */
};

/* Cache of the catalog's files but those of LLMs, for processes with many runs: reading files can take longer than a
 * run. The files must not change meanwhile. A cached file counts as read. */
struct catalog_memory {
    struct arena arena;
    struct catalog_kept *first; /* calibrations */
    struct shelf_kept *bound;   /* other files */
    struct operators_kept *operators; /* tables of cost models (cost_operators.c), which take longer still */
    int n_operators;
};

void catalog_memory_init(struct catalog_memory *memory);
void catalog_memory_fini(struct catalog_memory *memory);

struct catalog_names {
    size_t n;
    const char *const *names; /* sorted, in the arena */
};

/* Table of the files of LLMs, bound to struct llm_spec. */
extern const struct config_field catalog_llm_fields[];

/* Reads one entry. `where` is the place that names it, for the error if it does not exist, which suggests the nearest
 * names. Texts live in `arena`. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int catalog_gpu(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct gpu_spec *gpu, struct diag *diag);
int catalog_llm(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct llm_spec *llm, struct diag *diag);

/* The MIG profiles of a GPU, separated by blanks, in the order of its file: "1g.10gb 2g.20gb". catalog_gpu reads each
 * slice "h100-sxm:1g.10gb". Returns what catalog_gpu returns. */
int catalog_gpu_profiles(const struct catalog *catalog, const char *name, struct arena *arena, const char **text,
                         struct diag *diag);

/* Where the price in the file of a GPU comes from: "derived: the $4.69/h of h100-sxm.json times ..."; NULL if the file
 * does not say. Returns what catalog_gpu returns. */
int catalog_gpu_price_origin(const struct catalog *catalog, const char *name, struct arena *arena, const char **text,
                             struct diag *diag);

/* The aliases of an entry, separated by blanks. Returns what catalog_llm returns. */
int catalog_llm_aliases(const struct catalog *catalog, const char *name, struct arena *arena, const char **aliases,
                        struct diag *diag);

/* The hint of messages about an absent catalog. */
#define CATALOG_ROOT_HINT "set ORRERY_DATA to the directory that holds 'configs'"

/* The names of all entries. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int catalog_list_gpus(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag);
int catalog_list_llms(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag);

/* --- Prices --- */

/* Dated lists of what renting GPUs costs: configs/prices/NAME.json.
 *
 *     { "date": "2025", "source": "...",
 *       "gpus": { "h100-sxm": {"on_demand": "$2.29/h", "spot": "$0.8015/h"}, ... } }
 *
 * Prices are of one GPU, by its name in the hardware catalog. */

/* Dollars per hour; NAN: not offered. */
struct price_entry {
    const char *gpu; /* its key */
    double on_demand_usd_per_h, reserved_usd_per_h, spot_usd_per_h;
};

struct price_list {
    const char *name, *date, *source;
    struct config_list gpus; /* struct price_entry */
};

/* Reads a list by its name, or path. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int catalog_prices(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct price_list *prices, struct diag *diag);
int catalog_list_prices(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                        struct diag *diag);

/* The entry of a GPU, or NULL. */
const struct price_entry *price_list_find(const struct price_list *prices, const char *gpu);

/* The prices of a GPU with this name. A MIG slice that the list does not name has its share of the whole GPU's. False:
 * the list has neither. */
bool price_list_price(const struct price_list *prices, const struct gpu_spec *gpu, const char *name,
                      struct price_entry *price);

#endif
