/* The result hash of a run: what its rows say, whatever order they came in.
 *
 * A run is a multiset of rows per table: two requests that finish at the same moment have no order of their own.
 * Each table's rows enter a sum of XXH3-128 hashes (hash_sum in hash.h); the result hash is XXH3-128 over the name,
 * the number of rows and the sum of every table. It is equal exactly when the tables, each sorted by its key, are
 * equal (but for accidents of probability 2^-128), it costs one short hash per row, and it needs no second pass over
 * the database. Run ids are not part of it, nor is run_cost. It covers the rows that were kept: a run that keeps
 * only metrics has another hash than the same run with all rows. */
#ifndef ORRERY_STORE_DIGEST_H
#define ORRERY_STORE_DIGEST_H

#include "sim/core/hash.h"
#include "sim/store/record.h"

struct digest {
    struct hash_sum tables[TABLE_COUNT];
};

void digest_add(struct digest *digest, const struct record *record);

/* Writes the result hash. Returns 0 or SIM_E_NOMEM. */
int digest_hex(const struct digest *digest, char hex[HASH_HEX_CHARS]);

#endif
