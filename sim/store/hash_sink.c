#include "sim/store/hash_sink.h"

#include "sim/core/err.h"

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
