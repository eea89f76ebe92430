/* A prefix store: tiers below GPU memory that keep KV blocks of prompts, in host memory, on drives, behind the network.
 *
 * A tier holds whole prefix blocks (prefix_cache.h) under the same keys and has an evictor of its own. A block is
 * written down when it is published in GPU memory ("through"), or when the tier above evicts it ("back"). It counts in
 * a tier when its write has ended, and takes room from the start. Blocks that are being copied cannot be evicted. A
 * block that the last tier evicts is gone. Loading a block leaves the copy below where it is. Where a tier promotes,
 * the first tier is written from GPU memory as soon as a load from the lower one has ended. LMCache keeps what it has
 * read from disk or a server in its CPU memory.
 *
 * Copies are transfers over the links of the site. All blocks that one event moves between the same two places are one
 * transfer. Source of a write: the tier above, if it holds the block by then; else GPU memory.
 *
 * Leaves out: that a block's old place is occupied until its way down has ended (engines have staging buffers); index
 * and metadata traffic; compression. */
#ifndef ORRERY_WORLD_KV_PREFIX_STORE_H
#define ORRERY_WORLD_KV_PREFIX_STORE_H

#include "sim/core/config/config.h"
#include "sim/world/kv/cache.h"
#include "sim/world/links/topology.h"

enum { STORE_TIERS = 4 };

/* --- In a scenario --- */

enum store_write { STORE_BACK, STORE_THROUGH };
enum store_scope { STORE_USUAL, STORE_OWN, STORE_SHARED };
enum store_load { STORE_LOAD_ALWAYS, STORE_LOAD_WHEN_FASTER };
enum store_waits { STORE_BATCH_WAITS, STORE_REQUEST_WAITS };
enum store_lift { STORE_LIFT_USUAL, STORE_LIFT_ALWAYS, STORE_LIFT_NEVER }; /* usual: as the store says */

struct store_tier_config {
    const char *name;
    const char *device; /* NULL: the host; else a name in cluster.storage */
    double capacity_bytes;
    struct config_variant eviction;
    int write; /* enum store_write */
    int scope; /* enum store_scope */
    int prefetch, promote; /* enum store_lift; of a tier below the first */
};

struct store_config {
    struct config_list tiers; /* struct store_tier_config, from the top down; none: no store */
    int load;                 /* enum store_load */
    int waits;                /* enum store_waits: for loads */
    bool prefetch;            /* from lower tiers into the first one, while the request queues */
    bool promote;             /* blocks that are loaded from lower tiers, into the first one */
};

extern const struct config_field store_config_fields[];

/* Whether blocks of a tier (0: the first) are copied into the first one: while their request queues; once loaded. */
bool store_prefetches(const struct store_config *config, size_t tier);
bool store_promotes(const struct store_config *config, size_t tier);

/* Checks a given store without knowing the site. Returns 0 or SIM_E_CONFIG with a finding at `where`. */
int store_config_check(const struct store_config *config, const struct topology_config *links, const char *where,
                       struct diag *diag);

/* --- A tier: one device's memory, of one replica or shared --- */

struct store_counts {
    int64_t loaded_blocks, loaded_bytes; /* into GPU memory */
    int64_t written_bytes;               /* into the tier, of ended writes, also by prefetching */
    int64_t fetched_blocks;              /* written by prefetching */
    int64_t evictions, refusals;         /* blocks; refused: all others were being copied */
};

struct store_tier {
    const struct store_tier_config *config;
    struct tier *device;
    int32_t replica; /* whose own it is; -1: shared */
    bool is_open, promotes;
    struct cache cache;
    int64_t capacity_bytes, block_bytes;
    struct level used; /* bytes of its blocks, those on their way included */
    struct store_counts counts;
    struct prefix_store *mover; /* for whom a block is being inserted */
    struct store_tier *next;
};

/* The tiers of a service, and what they have in common. */
struct prefix_stores {
    struct engine *engine;
    struct diag *diag;
    uint64_t seed;
    uint32_t run;
    double token_bytes;
    int32_t block_tokens; /* of a prefix block */
    struct store_tier *tiers, *last;
    uint64_t n_tiers;
    struct store_copy *spares, *made; /* made: all, the latest first */
};

void prefix_stores_fini(struct prefix_stores *stores);

/* Checks INV-9 (world.h): tiers hold no more than they can, and of their blocks those that are being copied are
 * held. */
void prefix_stores_check(const struct prefix_stores *stores);

/* The node has lost what its host memory held. Returns 0 or an error (cache.h). */
int prefix_stores_lose_host(struct prefix_stores *stores, int32_t node, sim_ns now);

/* --- The store of a replica: the tiers that it reaches --- */

/* Blocks on their way between two places, the lower number being above; place -1 is GPU memory. */
struct store_copy {
    struct transfer transfer;
    struct prefix_store *store;
    int32_t from, to;
    int32_t n, from_capacity, to_capacity;
    int32_t n_from;                 /* n, or 0: nothing is held there */
    int32_t *from_items, *to_items; /* held there */
    void *waiter;                     /* of a fetch: the request that waits; or NULL */
    struct store_copy *before, *next; /* in store.writes; `next` also in lists of loads and spares */
    struct store_copy *made;          /* the one made before it */
};

struct store_wants {
    uint64_t *keys;
    int32_t n, capacity;
};

struct prefix_store {
    struct prefix_stores *all;
    const struct store_config *config;
    const char *where; /* it is configured, for errors */
    const struct topology_placement *placement;
    int32_t replica;
    int32_t n; /* open tiers; 0: not open */
    struct store_tier *tiers[STORE_TIERS];
    struct store_wants wants[STORE_TIERS]; /* to be written in this event */
    int64_t n_wants;
    struct store_copy *writes; /* under way */
    double load_s_per_byte[STORE_TIERS], load_latency_s[STORE_TIERS]; /* alone; for STORE_LOAD_WHEN_FASTER */
    void *owner;
    void (*fetched)(void *owner, void *waiter, sim_ns now); /* a fetch has ended */
};

/* Takes the room of its tiers on their devices, unless they are open. Returns 0 or a negative code: a device has not
 * the room, or a tier holds no block. */
int prefix_store_open(struct prefix_store *store, sim_ns now);

/* The replica leaves its GPUs: abandons its writes, and empties tiers of its own. Returns 0 or an error (cache.h). */
int prefix_store_close(struct prefix_store *store, sim_ns now);
void prefix_store_fini(struct prefix_store *store);

/* Whether blocks that GPU memory evicts are written. */
static inline bool prefix_store_takes_evicted(const struct prefix_store *store)
{
    return ((const struct store_tier_config *)store->config->tiers.items)->write == STORE_BACK;
}

/* GPU memory has a new block; it has evicted one. Writes begin with prefix_store_flush, in the same event. All return 0
 * or a negative code. */
int prefix_store_published(struct prefix_store *store, uint64_t key);
int prefix_store_evicted(struct prefix_store *store, uint64_t key);
int prefix_store_flush(struct prefix_store *store);

/* Leading keys that are in some tier. Counts as no access. */
int32_t prefix_store_match(const struct prefix_store *store, const uint64_t *keys, int32_t n);

/* Seconds to load n blocks, the tiers one after another, nothing else being on the links. */
double prefix_store_load_s(const struct prefix_store *store, const uint64_t *keys, int32_t n);

/* Holds n blocks, which must be in the store, each in the highest tier that has it: a copy per tier, from the top, or
 * NULL with a negative code. prefix_store_unpin ends one of them; `is_done`: its bytes have moved. Promotion begins
 * with prefix_store_flush, in the same event. */
int prefix_store_pin(struct prefix_store *store, const uint64_t *keys, int32_t n, struct store_copy **copies);
int prefix_store_unpin(struct store_copy *copy, bool is_done);
int64_t store_copy_bytes(const struct store_copy *copy);

/* Begins to copy those of n leading blocks that the first tier has not, from the tiers below into it. Returns the
 * number of transfers, each of which reports to `fetched`, or a negative code. */
int prefix_store_fetch(struct prefix_store *store, const uint64_t *keys, int32_t n, void *waiter);

#endif
