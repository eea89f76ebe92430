/* A sink for runs whose rows nobody keeps: it hashes them, to the same result hash that a database would get. */
#ifndef ORRERY_STORE_HASH_SINK_H
#define ORRERY_STORE_HASH_SINK_H

#include "sim/store/digest.h"
#include "sim/store/route.h"

struct hash_sink {
    enum results_keep keep;
    struct route route;
    struct digest digest;
    struct block block; /* holds the record of the row in hand */
};

int hash_sink_init(struct hash_sink *sink, enum results_keep keep); /* 0 or SIM_E_NOMEM */
void hash_sink_fini(struct hash_sink *sink);                        /* also of a zeroed one */

/* Where the rows go; it must stay where it is while they come. */
struct sink hash_sink(struct hash_sink *sink);

/* The hash of all rows so far. Returns 0 or SIM_E_NOMEM. */
int hash_sink_hex(const struct hash_sink *sink, char hex[HASH_HEX_CHARS]);

#endif
