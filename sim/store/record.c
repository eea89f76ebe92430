#include "sim/store/record.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

/* --- Records --- */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are hashed in the byte order of the machine");

enum { RECORD_ALIGN_BYTES = 8, RECORD_MAX_BYTES = 1 << 30 };

int block_init(struct block *block)
{
    *block = (struct block){.bytes = mem_alloc(BLOCK_BYTES), .capacity = BLOCK_BYTES};
    return block->bytes != NULL ? 0 : SIM_E_NOMEM;
}

void block_fini(struct block *block)
{
    mem_free(block->bytes);
    *block = (struct block){0};
}

static int block_grow(struct block *block)
{
    if (block->capacity >= RECORD_MAX_BYTES) return SIM_E_NOMEM;
    char *bytes = mem_realloc(block->bytes, 2 * block->capacity);
    if (bytes == NULL) return SIM_E_NOMEM;
    block->bytes = bytes;
    block->capacity *= 2;
    return 0;
}

/* The value as SQLite returns it: without the payload of a NaN or the sign of a zero. */
static double real_canonical(double value)
{
    return value != value ? (double)NAN : value + 0.0;
}

/* Appends a text to a record. Returns 0 if there is no room for it. */
static int text_pack(struct record *record, size_t room, const char *text, union cell *cell)
{
    size_t bytes = strlen(text);
    if (bytes > room - record->bytes) return 0;
    cell->text = (struct cell_text){record->bytes, (uint32_t)bytes};
    memcpy((char *)record + record->bytes, text, bytes);
    record->bytes += (uint32_t)bytes;
    return 1;
}

/* Whether the row lacks a column: the column is optional, REAL or TEXT, and the row has no number or text in it. */
static bool lacks(const struct table *layout, const void *row, int column)
{
    const char *value = (const char *)row + column * COLUMN_BYTES, *text;
    double real;
    if (!layout->columns[column].optional) return false;
    if (layout->columns[column].kind == COLUMN_INTEGER) return false;
    if (layout->columns[column].kind == COLUMN_REAL) {
        memcpy(&real, value, sizeof real);
        return isnan(real);
    }
    memcpy(&text, value, sizeof text);
    return text == NULL || text[0] == '\0';
}

/* Encodes a row at `record`, where `room` bytes are free. Returns 0 if they do not suffice. */
static int record_pack(struct record *record, size_t room, enum table_id table, const void *row)
{
    const struct table *layout = &schema_tables[table];
    int n_cells = layout->n_columns;
    while (n_cells > 0 && lacks(layout, row, n_cells - 1)) n_cells--;
    size_t fixed_bytes = sizeof *record + (size_t)n_cells * sizeof *record->cells;
    if (room < fixed_bytes) return 0;
    record->table = (uint16_t)table;
    record->n_cells = (uint16_t)n_cells;
    record->bytes = (uint32_t)fixed_bytes;
    for (int i = 0; i < n_cells; i++) {
        const void *value = (const char *)row + i * COLUMN_BYTES;
        union cell *cell = &record->cells[i];
        const char *text;
        switch (layout->columns[i].kind) {
        case COLUMN_INTEGER: memcpy(&cell->integer, value, sizeof cell->integer); break;
        case COLUMN_REAL:
            memcpy(&cell->real, value, sizeof cell->real);
            cell->real = real_canonical(cell->real);
            break;
        case COLUMN_TEXT:
            memcpy(&text, value, sizeof text);
            if (!text_pack(record, room, text != NULL ? text : "", cell)) return 0;
            break;
        }
    }
    size_t padding = -(size_t)record->bytes % RECORD_ALIGN_BYTES;
    if (padding > room - record->bytes) return 0;
    memset((char *)record + record->bytes, 0, padding);
    record->bytes += (uint32_t)padding;
    return 1;
}

int block_add(struct block *block, enum table_id table, const void *row)
{
    for (;;) {
        struct record *record = (void *)(block->bytes + block->used);
        if (record_pack(record, block->capacity - block->used, table, row)) {
            block->used += record->bytes;
            return 1;
        }
        if (block->used > 0) return 0;
        int code = block_grow(block);
        if (code != 0) return code;
    }
}

/* --- Digest --- */

void digest_add(struct digest *digest, const struct record *record)
{
    hash_sum_add(&digest->tables[record->table], record->cells, record->bytes - sizeof *record);
}

int digest_hex(const struct digest *digest, char hex[HASH_HEX_CHARS])
{
    struct hash *hash = hash_create();
    if (hash == NULL) return SIM_E_NOMEM;
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (i == TABLE_LEASE && digest->tables[i].n == 0) continue; /* as if there were no such table */
        hash_text(hash, schema_tables[i].name);
        hash_i64(hash, (int64_t)digest->tables[i].n);
        hash_i64(hash, (int64_t)digest->tables[i].low);
        hash_i64(hash, (int64_t)digest->tables[i].high);
    }
    hash_hex(hash, hex);
    hash_destroy(hash);
    return 0;
}

#define TABLE(name, NAME, keep, text)                                                                                  \
    static int put_##name(void *context, const struct name##_row *row)                                                 \
    {                                                                                                                  \
        const struct route *route = context;                                                                           \
        return route->put(route->store, TABLE_##NAME, row);                                                            \
    }
#include "sim/world/rows/tables.inc"

struct sink route_sink(struct route *route, enum results_keep keep)
{
    struct sink sink = {.context = route};
#define TABLE(name, NAME, least, text)                                                                                 \
    if (keep >= (least)) sink.name = put_##name;
#include "sim/world/rows/tables.inc"
    if (keep >= KEEP_DECISIONS) sink.detail = put_decision;
    return sink;
}

int hash_sink_init(struct hash_sink *sink, enum results_keep keep)
{
    *sink = (struct hash_sink){.keep = keep};
    return block_init(&sink->block);
}

void hash_sink_fini(struct hash_sink *sink)
{
    block_fini(&sink->block);
}

static int hash_row(void *hashing, enum table_id table, const void *row)
{
    struct hash_sink *sink = hashing;
    sink->block.used = 0;
    int code = block_add(&sink->block, table, row);
    if (code < 0) return code;
    digest_add(&sink->digest, block_at(&sink->block, 0));
    return 0;
}

struct sink hash_sink(struct hash_sink *sink)
{
    sink->route = (struct route){.put = hash_row, .store = sink};
    return route_sink(&sink->route, sink->keep);
}

int hash_sink_hex(const struct hash_sink *sink, char hex[HASH_HEX_CHARS])
{
    return digest_hex(&sink->digest, hex);
}
