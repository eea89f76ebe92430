#include "sim/store/digest.h"

#include "sim/core/err.h"

void digest_add(struct digest *digest, const struct record *record)
{
    hash_sum_add(&digest->tables[record->table], record->cells, record->bytes - sizeof *record);
}

int digest_hex(const struct digest *digest, char hex[HASH_HEX_CHARS])
{
    struct hash *hash = hash_create();
    if (hash == NULL) return SIM_E_NOMEM;
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (i == TABLE_LEASE && digest->tables[i].n == 0) continue; /* runs that rent nothing: the table is not named */
        hash_text(hash, schema_tables[i].name);
        hash_i64(hash, (int64_t)digest->tables[i].n);
        hash_i64(hash, (int64_t)digest->tables[i].low);
        hash_i64(hash, (int64_t)digest->tables[i].high);
    }
    hash_hex(hash, hex);
    hash_destroy(hash);
    return 0;
}
