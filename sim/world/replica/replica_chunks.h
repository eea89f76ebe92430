/* A replica's reuse of chunks (kv/chunk_store.h, kv/chunk_prompt.h). */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_CHUNKS_H
#define ORRERY_WORLD_REPLICA_REPLICA_CHUNKS_H

#include "sim/world/kv/chunk_prompt.h"
#include "sim/world/links/topology.h"

struct replica;
struct request;
struct chunk_write;

struct chunk_counts {
    struct chunk_tokens tokens; /* of admitted prompts, again after preemptions */
    int64_t chunks, found_chunks; /* of these prompts; with a variant */
    double cfo_sum;               /* over the found ones */
};

struct replica_chunks {
    struct chunk_store store;
    const struct chunk_store_config *config;
    struct chunk_store_options options;
    const char *where;                    /* it is configured, for errors */
    struct tier *devices[CHUNK_TIERS];    /* NULL: GPU memory */
    bool is_open;
    struct chunk_write *writes, *spares, *made; /* under way; to be used again; all */
    struct chunk_counts counts;
};

/* Takes the room of its tiers on their devices, unless it is open. */
void replica_open_chunks(struct replica *replica, sim_ns now);

/* The replica leaves its GPUs: all variants are gone. */
void replica_close_chunks(struct replica *replica, sim_ns now);
void replica_chunks_fini(struct replica *replica);

/* Tokens of the request's prompt that it would take from the store; and those of them in GPU memory. */
int64_t replica_reusable_tokens(const struct replica *replica, const struct request *request);

/* Gives a waiting request, before its admission, what it reuses, and starts the transfers that the next batch waits
 * for. Returns 0 or a negative code. */
int replica_reuse_chunks(struct replica *replica, struct request *request);

/* The request's prompt has been processed. Returns 0 or a negative code. */
int replica_keep_chunks(struct replica *replica, const struct request *request);

#endif
