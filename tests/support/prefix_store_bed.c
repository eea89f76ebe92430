#include "tests/support/prefix_store_bed.h"

#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>

double store_of_tier(const struct bed_rows *rows, const char *metric, const char *tier)
{
    char name[64];
    snprintf(name, sizeof name, "store.%s[%s]", metric, tier);
    const double value = bed_metric(rows, name);
    return isnan(value) ? 0.0 : value;
}

double store_of_tiers(const struct bed_rows *rows, const char *metric)
{
    return store_of_tier(rows, metric, "host") + store_of_tier(rows, metric, "disk") +
           store_of_tier(rows, metric, "pool");
}

void store_check_tokens(const struct bed_rows *rows)
{
    const double loaded_blocks = store_of_tiers(rows, "loaded_blocks.sum");
    CHECK_EQ_INT(bed_metric(rows, "replica.preemptions.sum"), 0);
    CHECK_EQ_INT(bed_metric(rows, "request.unfinished") + bed_metric(rows, "request.rejected"), 0);
    CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum") + bed_metric(rows, "store.loaded_tokens.sum") +
                     bed_metric(rows, "store.computed_tokens.sum"),
                 bed_metric(rows, "request.prompt_tokens.sum"));
    CHECK_EQ_INT(bed_metric(rows, "store.loaded_tokens.sum"), loaded_blocks * BLOCK_TOKENS);
    CHECK_EQ_INT(store_of_tiers(rows, "loaded_bytes.sum"), loaded_blocks * BLOCK_BYTES);
}
