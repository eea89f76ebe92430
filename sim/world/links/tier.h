/* Memory beyond the GPUs' own: host DRAM, drives, drives that compute, memory behind the network. What a tier holds,
 * and the links that lead into it.
 *
 * Equal devices of a node are one tier: all data are striped over them, so they read and write together. Inside, each
 * direction has the sustained rate of the media. Outside, each has the rate of the link that joins the device to the
 * host, which carries both directions at once. Software on the path (file system, driver) is one more link, shared by
 * all devices of the node: two drives below a slow file system are no faster than one.
 *
 * Leaves out: reads and writes that slow each other down inside a drive, its cache, wear; requests per second and their
 * depth, which large transfers do not reach. */
#ifndef ORRERY_WORLD_LINKS_TIER_H
#define ORRERY_WORLD_LINKS_TIER_H

#include "sim/catalog/storage.h"
#include "sim/world/links/link.h"
#include "sim/world/links/topology_config.h"

#include <stdbool.h>

enum tier_kind { TIER_DRAM, TIER_SSD, TIER_CSD, TIER_REMOTE, TIER_KINDS };

struct tier {
    const char *name; /* "host", or its name in the scenario */
    enum tier_kind kind;
    int32_t node;                 /* -1: of the whole site, or of a replica without a node */
    int32_t device;               /* index in the topology's devices; 0: the host; -1: in no scenario */
    int64_t capacity_bytes;       /* INT64_MAX: unlimited */
    int64_t granularity_bytes;    /* smallest read or write */
    int64_t count;                /* devices */
    bool attention_here;          /* computed on the device, or by the host's CPU */
    bool through_host;            /* to and from GPUs by way of host memory */
    sim_ns latency_ns[2];         /* by storage_op, the software's included */
    const struct storage_spec *spec;         /* NULL: unknown */
    const struct storage_software *software; /* or NULL */
    /* by storage_op; NULL where nothing limits. DRAM: both media are one link */
    struct link *media[2], *ceiling[2]; /* by storage_op; NULL: no limit. DRAM: both media are one link */
    struct link *port[2];                    /* outwards when reading, inwards when writing */
    struct level used;            /* bytes */
};

/* Takes bytes of the tier. Returns false, taking none, if they are not free. */
bool tier_take(struct tier *tier, sim_ns now, int64_t bytes);
void tier_give(struct tier *tier, sim_ns now, int64_t bytes); /* not more than were taken */

static inline int64_t tier_free_bytes(const struct tier *tier)
{
    return tier->capacity_bytes - tier->used.value;
}

/* "dram", "ssd", "csd", "remote". */
const char *tier_kind_name(enum tier_kind kind);

#endif
