#include "sim/store/route.h"

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
