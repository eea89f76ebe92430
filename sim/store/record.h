/* Rows on their way to the database: records, packed one after the other into blocks.
 *
 * A record is a header, one 8-byte cell per column, and the bytes of its texts, padded with zeros. The encoding is
 * canonical (one NaN, no -0, texts by value): two rows are equal exactly if the bytes of their records are. The result
 * hash is taken over those bytes. Numbers have the byte order of the machine, which must be little-endian. */
#ifndef ORRERY_STORE_RECORD_H
#define ORRERY_STORE_RECORD_H

#include "sim/core/hash.h"
#include "sim/store/results.h"
#include "sim/store/schema.h"
#include "sim/world/rows/sink.h"

#include <stddef.h>
#include <stdint.h>

struct cell_text {
    uint32_t offset, bytes; /* from the start of the record; without terminator */
};

union cell {
    int64_t integer;
    double real;
    struct cell_text text;
};

struct record {
    uint32_t bytes; /* of the whole record: the next one starts there */
    uint16_t table;   /* enum table_id */
    uint16_t n_cells; /* the table's columns, less the optional ones that the row lacks behind the last it has */
    union cell cells[];
};

/* Bytes per block: about 400 request rows, small enough to stay in the cache. */
enum { BLOCK_BYTES = 64 * 1024 };

struct block {
    char *bytes;
    size_t used, capacity;
};

int block_init(struct block *block); /* 0 or SIM_E_NOMEM */
void block_fini(struct block *block);

/* Appends a row (the struct of sink.h that belongs to the table). Returns 1; 0 if the block is full; or SIM_E_NOMEM.
 * An empty block takes a row of any length. */
int block_add(struct block *block, enum table_id table, const void *row);

/* The record at a position; NULL past the last one. */
static inline const struct record *block_at(const struct block *block, size_t position)
{
    return position < block->used ? (const void *)(block->bytes + position) : NULL;
}

/* The result hash of a run: a hash over its rows, independent of their order.
 *
 * A run is a multiset of rows per table: two requests that finish at the same moment have no order. Each table's
 * rows enter a sum of XXH3-128 hashes (hash_sum in hash.h). The result hash is XXH3-128 over the name, the number of
 * rows and the sum of every table. It is equal exactly if the tables, each sorted by its key, are equal (but for
 * accidents of probability 2^-128). It costs one short hash per row and no second pass over the database. Run ids
 * and run_cost are not part of it. It covers the rows that were kept: a run that keeps only metrics has another hash
 * than the same run with all rows. */

struct digest {
    struct hash_sum tables[TABLE_COUNT];
};

void digest_add(struct digest *digest, const struct record *record);

/* Writes the result hash. Returns 0 or SIM_E_NOMEM. */
int digest_hex(const struct digest *digest, char hex[HASH_HEX_CHARS]);

/* --- Sinks --- */

/* Takes a row, the struct of sink.h of its table. Returns 0 or a negative code, which the sink returns. */
struct route {
    int (*put)(void *store, enum table_id table, const void *row);
    void *store;
};

/* A sink that passes every row to the route, which must outlive it. Rows that `keep` excludes have NULL members. */
struct sink route_sink(struct route *route, enum results_keep keep);

/* Hashes the rows of a run that nobody keeps: the result hash that a database would get. */
struct hash_sink {
    enum results_keep keep;
    struct route route;
    struct digest digest;
    struct block block; /* the current record */
};

int hash_sink_init(struct hash_sink *sink, enum results_keep keep); /* 0 or SIM_E_NOMEM */
void hash_sink_fini(struct hash_sink *sink);                        /* accepts a zeroed one */

/* The sink; `sink` must not move while rows come. */
struct sink hash_sink(struct hash_sink *sink);

/* Writes the hash of all rows so far. Returns 0 or SIM_E_NOMEM. */
int hash_sink_hex(const struct hash_sink *sink, char hex[HASH_HEX_CHARS]);

#endif
