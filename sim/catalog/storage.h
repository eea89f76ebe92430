/* The storage shelf of the catalog: configs/storage/NAME.json, one device each, with the ceilings that software stacks
 * set on the way to it. Every number says where it comes from.
 *
 *     { "summary": "...", "kind": "ssd", "capacity": {...}, "granularity": "4KiB", "queue_depth": 64,
 *       "read":  {"bandwidth": "7GB/s", "sustained": "6.9GB/s", "latency": "80us", "requests": "1e6/s"},
 *       "write": {...}, "link": {"bandwidth": ..., "sustained": ...},
 *       "csd":   {"channels": 8, ...},                            // kind "csd" only
 *       "software": { "flexgen": {"summary": "...", "read": "1.1GB/s", "write": ..., "latency": ...} } } */
#ifndef ORRERY_CATALOG_STORAGE_H
#define ORRERY_CATALOG_STORAGE_H

#include "models/storage.h"
#include "sim/catalog/catalog.h"

/* DRAM of the host, a drive, a drive that computes, the memory of another node's GPUs. */
enum storage_kind { STORAGE_DRAM, STORAGE_SSD, STORAGE_CSD, STORAGE_REMOTE };

struct storage_stack {
    const char *name, *summary; /* "flexgen" */
    struct storage_software limits;
};

struct storage_spec {
    const char *name, *summary;
    enum storage_kind kind;
    struct storage_device device;
    struct csd_spec csd;          /* of kind STORAGE_CSD; else NAN and false */
    struct config_list software;  /* struct storage_stack */
};

/* Reads an entry by name or path. `where` is the place that names it. Texts live in `arena`. Returns 0, SIM_E_CONFIG,
 * SIM_E_IO or SIM_E_NOMEM. */
int catalog_storage(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                    struct storage_spec *spec, struct diag *diag);
int catalog_list_storage(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                         struct diag *diag);

/* The limits of a software stack of the entry; NULL when it lists none of that name. */
const struct storage_software *storage_spec_software(const struct storage_spec *spec, const char *name);

/* "dram", "ssd", "csd", "remote". */
const char *storage_kind_name(enum storage_kind kind);

#endif
