#include "sim/store/hash_sink.h"

#include "sim/core/err.h"

int hash_sink_init(struct hash_sink *sink, enum results_keep keep)
{
    *sink = (struct hash_sink){.keep = keep};
    return block_init(&sink->block);
}

void hash_sink_fini(struct hash_sink *sink)
{
    block_fini(&sink->block);
}

static int hash_row(struct hash_sink *sink, enum table_id table, const void *row)
{
    sink->block.used = 0;
    int code = block_add(&sink->block, table, row);
    if (code < 0) return code;
    digest_add(&sink->digest, block_at(&sink->block, 0));
    return 0;
}

#define SINK_FUNCTION(name, table)                                                                                     \
    static int hash_##name(void *sink, const struct name##_row *row)                                                   \
    {                                                                                                                  \
        return hash_row(sink, table, row);                                                                             \
    }

SINK_FUNCTION(request, TABLE_REQUEST)
SINK_FUNCTION(job, TABLE_JOB)
SINK_FUNCTION(sample, TABLE_SAMPLE)
SINK_FUNCTION(histogram, TABLE_HISTOGRAM)
SINK_FUNCTION(decision, TABLE_DECISION)
SINK_FUNCTION(warning, TABLE_WARNING)
SINK_FUNCTION(metric, TABLE_METRIC)

struct sink hash_sink(struct hash_sink *hashing)
{
    struct sink sink = {
        .context = hashing, .histogram = hash_histogram, .warning = hash_warning, .metric = hash_metric};
    if (hashing->keep == KEEP_ROWS) {
        sink.request = hash_request;
        sink.job = hash_job;
        sink.sample = hash_sample;
        sink.decision = hash_decision;
    }
    return sink;
}

int hash_sink_hex(const struct hash_sink *sink, char hex[HASH_HEX_CHARS])
{
    return digest_hex(&sink->digest, hex);
}
