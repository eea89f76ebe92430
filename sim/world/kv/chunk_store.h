/* A chunk store: KV of pieces of prompts, kept for prompts that have them at another place.
 *
 * A variant is the KV of a chunk as it was computed in one context (chunk_attention.h). A store has at most `chunks`
 * chunks, and `variants` variants of each. It has tiers, in GPU memory, in host memory or on drives. A variant is in
 * one tier. It enters the first one that is large enough. A tier without room asks its evictor for variants, which fall
 * into the next tier; those that the last tier evicts are gone. A variant that has been loaded whole from a lower tier
 * rises into the first one. A chunk that fits into no tier is not kept, and drops nothing.
 *
 * Of a chunk with too many variants the one that was used least recently goes; of a store with too many chunks, the
 * chunk that was used least recently, with all its variants.
 *
 * An id names a text of one length. A chunk that comes with another length finds nothing, and what is kept of the old
 * one goes when the new one is kept.
 *
 * A variant counts from the moment when it enters a tier. The world moves the bytes (replica_chunks.c). A variant that
 * leaves a tier before it has been written there takes the write along, so a tier's bytes under way are at most its
 * capacity. */
#ifndef ORRERY_WORLD_KV_CHUNK_STORE_H
#define ORRERY_WORLD_KV_CHUNK_STORE_H

#include "sim/core/config/config.h"
#include "sim/core/key_map.h"
#include "sim/world/kv/cache.h"
#include "sim/world/kv/chunk_attention.h"
#include "sim/world/links/topology_config.h"

enum { CHUNK_TIERS = 4 };

/* --- In a scenario --- */

enum chunk_keeps { CHUNK_KEEPS_ANY, CHUNK_KEEPS_WHOLE };

struct chunk_tier_config {
    const char *name;
    const char *device; /* NULL: the host; "gpu"; else a name in cluster.storage */
    double capacity_bytes;
    struct config_variant eviction;
};

struct chunk_store_config {
    struct config_list tiers; /* struct chunk_tier_config, from the top down; none: no store */
    int64_t variants, chunks; /* most of a chunk; most of a store, 0: no limit */
    double alpha, inter, sigma;
    int keeps; /* enum chunk_keeps */
};

extern const struct config_field chunk_store_fields[];

bool chunk_tier_is_gpu(const struct chunk_tier_config *tier);

/* Bytes of GPU memory that the store takes. */
double chunk_store_gpu_bytes(const struct chunk_store_config *config);

/* Checks a given store without knowing the site. Returns 0 or SIM_E_CONFIG with a finding at `where`. */
int chunk_store_config_check(const struct chunk_store_config *config, const struct topology_config *links,
                             const char *where, struct diag *diag);

/* --- A store --- */

struct chunk_variant {
    uint64_t key; /* chunk_context_key */
    struct stored_chunk *chunk;
    struct chunk_variant *next; /* of the chunk, the latest first */
    int32_t tier, item;
    int64_t bytes, last_use; /* bytes: in its tier */
    void *write;             /* into its tier, under way: of the mover; NULL: none */
    double cci;
    int32_t n_context;
    struct chunk_neighbour context[]; /* [n_context] */
};

struct stored_chunk {
    uint64_t id;
    int32_t tokens;
    int64_t n_variants;
    struct chunk_variant *variants;
    struct stored_chunk *newer, *older; /* by their latest use */
};

struct chunk_store_tier {
    struct chunk_store *store;
    struct cache cache; /* of the keys of variants */
    int32_t index;
    double token_bytes;
    int64_t capacity_bytes, used_bytes, most_bytes;
    int64_t written_bytes, loaded_bytes; /* into the tier; into GPU memory from it */
    int64_t writing_bytes, most_writing_bytes; /* under way into it */
    int64_t evictions;
};

struct chunk_store_options {
    const struct chunk_store_config *config;
    struct chunk_attention attention;
    double token_bytes, gpu_token_bytes; /* gpu: over all GPUs, some of which may hold the same */
    uint64_t index; /* of the store among those of a run: of the evictors' random streams */
    /* The variant's bytes go from a tier, -1: GPU memory, into its own; may be NULL. Returns 0 or a negative code. */
    int (*moves)(void *context, struct chunk_variant *variant, int32_t from);
    /* The variant leaves its tier: ends its write. Returns the tier that has the bytes, -1: GPU memory. May be NULL. */
    int32_t (*leaves)(void *context, struct chunk_variant *variant);
    void *context;
    struct diag *diag;
};

struct chunk_store {
    struct chunk_store_options options;
    int32_t n_tiers;
    struct chunk_store_tier tiers[CHUNK_TIERS];
    struct key_map chunks, variants; /* of pointers */
    struct stored_chunk *newest, *oldest;
    int64_t n_chunks, n_uses;
    int64_t n_kept, n_gone; /* variants that entered the store; that left it */
    uint64_t n_changes;     /* of the set of variants, and of their tiers */
};

/* Options outlive the store. chunk_store_fini may be called after failure; it keeps all counts, and a store may then be
 * opened again. Returns 0 or an error (cache.h). */
int chunk_store_open(struct chunk_store *store, const struct chunk_store_options *options);
void chunk_store_fini(struct chunk_store *store);

/* The variant of least CFO for the last chunk of chunks[n], behind the others, with which the ordered prompt begins;
 * among equals the one in the highest tier, then the latest. NULL: there is none. Counts as no use. */
struct chunk_variant *chunk_store_choose(const struct chunk_store *store, const struct chunk_order *order,
                                         const struct prompt_chunk *chunks, int32_t n, double *cfo);

/* Counts a use. Returns 0 or an error (cache.h). */
int chunk_store_use(struct chunk_store *store, struct chunk_variant *variant);

/* A variant that was loaded whole rises into the first tier, if it is still there. Returns 0 or an error. */
int chunk_store_raise(struct chunk_store *store, uint64_t key);

/* Keeps the last chunk of chunks[n], computed behind the others, unless the store has this variant. Returns 0 or an
 * error. */
int chunk_store_keep(struct chunk_store *store, const struct prompt_chunk *chunks, int32_t n);

/* Checks limits and sums; a fault ends the process. */
void chunk_store_check(const struct chunk_store *store);

#endif
