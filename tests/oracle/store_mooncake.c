/* Prefix stores of two and three tiers against a counter that shares nothing with them: on Mooncake's published
 * conversation trace (FAST 2025) at six capacities, and on a small generated one. Hits of every request in GPU memory,
 * and blocks loaded, written, evicted and refused of every tier, must be equal, without a tolerance.
 *
 * Requests come so far apart, and iterations are so long, that each is alone and every copy ends before the next
 * boundary. So the order of uses does not depend on how long copies take, but for two copies that begin with the
 * iteration that admits a request: loads, and writes of what it evicts. Their lengths are closed forms (below). */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#include <stdlib.h>

enum { BLOCK_TOKENS = 512, KV_BLOCK = 16, PER_ITEM = BLOCK_TOKENS / KV_BLOCK, GPU_BLOCKS = 8300 };
enum { MOST_REQUESTS = 12100, MOST_KEYS = 1 << 19, TIERS = 2, GAP_MS = 5000000 };

/* Bytes per nanosecond: PCIe of the GPU, and 64 drives' media, each way. Latencies of the drive in nanoseconds. */
static const double pcie = 1e6, drives_read = 64 * 7.0, drives_write = 64 * 5.1;
static const double block_bytes = 2.0 * 32 * 8 * 128 * 2 * BLOCK_TOKENS;

struct trace {
    int n;
    int prompt[MOST_REQUESTS], output[MOST_REQUESTS];
    long first[MOST_REQUESTS + 1]; /* index of its keys */
    long n_keys;
    uint64_t *keys; /* as in the trace */
    int *ids;       /* [n_keys]: 0, 1, ... instead */
    int n_ids;
};

/* --- The counter --- */

/* Blocks in the order of use, the longest unused first; a ring through id 0, which is no block. */
struct order {
    int *prev, *next; /* [n_ids + 1] */
    long n;
};

struct level_count {
    struct order order;
    bool *is_here; /* also while it is being copied */
    long capacity, held;
    bool through;
    long loaded, written, evicted, refused;
};

struct counter {
    struct level_count gpu, tiers[TIERS]; /* a tier that is not there has a capacity of 0 */
    bool promotes;                        /* host memory gets what drives load */
};

static void order_init(struct order *order, int n_ids)
{
    order->prev = calloc((size_t)n_ids + 1, sizeof(int));
    order->next = calloc((size_t)n_ids + 1, sizeof(int));
    order->n = 0;
}

static void order_add(struct order *order, int id)
{
    order->prev[id] = order->prev[0];
    order->next[id] = 0;
    order->next[order->prev[0]] = id;
    order->prev[0] = id;
    order->n++;
}

static void order_remove(struct order *order, int id)
{
    order->next[order->prev[id]] = order->next[id];
    order->prev[order->next[id]] = order->prev[id];
    order->n--;
}

/* Blocks of one event, in order. */
struct group {
    int ids[600];
    int n;
};

static void group_add(struct group *group, int id)
{
    if (group->n == 600) abort();
    group->ids[group->n++] = id;
}

/* Copies of a group have ended: its last block is the longest unused one. */
static void release(struct level_count *tier, const struct group *group)
{
    for (int i = group->n - 1; i >= 0; i--) order_add(&tier->order, group->ids[i]);
    tier->held -= group->n;
}

/* The blocks come to a tier: those that are new are `taken`, and others go `down` for them. */
static void come(struct level_count *tier, const struct group *group, bool reversed, struct group *taken,
                 struct group *down)
{
    taken->n = down->n = 0;
    for (int i = 0; i < group->n; i++) {
        const int id = group->ids[reversed ? group->n - 1 - i : i];
        if (tier->is_here[id]) {
            if (!tier->through) order_remove(&tier->order, id), order_add(&tier->order, id);
            continue;
        }
        if (tier->order.n + tier->held == tier->capacity) {
            const int victim = tier->order.next[0];
            if (victim == 0) {
                tier->refused++;
                continue;
            }
            order_remove(&tier->order, victim);
            tier->is_here[victim] = false;
            tier->evicted++;
            group_add(down, victim);
        }
        tier->is_here[id] = true;
        tier->held++;
        tier->written++;
        group_add(taken, id);
    }
}

/* When a copy of n blocks ends, begun at 0. */
static double end_ns(int n, double latency_ns, double rate)
{
    return n > 0 ? latency_ns + rint(n * block_bytes / rate) : 0;
}

static void release_both(struct level_count *tier, const struct group *loaded, double loaded_ns,
                         const struct group *written, double written_ns)
{
    const bool is_loaded_first = loaded_ns <= written_ns;
    release(tier, is_loaded_first ? loaded : written);
    release(tier, is_loaded_first ? written : loaded);
}

/* Drives have loaded a group, and host memory gets it, where no copy is under way any more: those over PCIe alone last
 * shorter than a load of one block. `written` are blocks that the drives have been getting since 0, until `written_ns`
 * if alone. What host memory now evicts is written beside them: each gets half of the drives. */
static void promote(struct counter *counter, const struct group *loaded, double loaded_ns, const struct group *written,
                    double written_ns)
{
    struct group promoted, victims, taken = {{0}, 0}, gone;
    struct level_count *host = &counter->tiers[0], *disk = &counter->tiers[1];
    const bool is_over = written_ns < loaded_ns;
    if (is_over) release(disk, written);
    release(disk, loaded);
    come(host, loaded, false, &promoted, &victims);
    if (!disk->through) come(disk, &victims, true, &taken, &gone);
    release(host, &promoted);
    const double left_bytes = written->n * block_bytes - loaded_ns * drives_write; /* both have one latency */
    const bool is_first = !is_over && left_bytes <= taken.n * block_bytes;
    if (is_first) release(disk, written);
    release(disk, &taken);
    if (!is_over && !is_first) release(disk, written);
}

/* GPU memory has evicted a group, while `loads` are on their way. */
static void evicted(struct counter *counter, const struct group *group, const struct group *loads)
{
    struct group taken[TIERS] = {{{0}, 0}}, victims = {{0}, 0}, gone;
    struct level_count *host = &counter->tiers[0], *disk = &counter->tiers[1];
    if (!host->through) come(host, group, true, &taken[0], &victims);
    if (!disk->through) come(disk, &victims, true, &taken[1], &gone);
    const double beside = loads[1].n > 0 ? drives_read : 0;
    release_both(host, &loads[0], end_ns(loads[0].n, 0, pcie - beside), &taken[0], end_ns(taken[0].n, 0, pcie));
    const double loaded_ns = end_ns(loads[1].n, 45e3, drives_read);
    const double written_ns = end_ns(taken[1].n, 17e3, drives_write);
    if (counter->promotes && loads[1].n > 0)
        promote(counter, &loads[1], loaded_ns, &taken[1], written_ns);
    else
        release_both(disk, &loads[1], loaded_ns, &taken[1], written_ns);
}

/* GPU memory has got a group. */
static void published(struct counter *counter, const struct group *group)
{
    struct level_count *host = &counter->tiers[0], *disk = &counter->tiers[1];
    struct group from_host = *group, victims = {{0}, 0}, taken, gone;
    if (host->through) {
        come(host, group, false, &from_host, &victims);
        release(host, &from_host);
    }
    come(disk, disk->through ? &from_host : &victims, !disk->through, &taken, &gone);
    release(disk, &taken);
}

/* Makes room in GPU memory for so many KV blocks of the request. */
static void make_room(struct counter *counter, int tokens, struct group *gone)
{
    const long free_blocks = GPU_BLOCKS - (tokens + KV_BLOCK - 1) / KV_BLOCK;
    gone->n = 0;
    while (counter->gpu.order.n * PER_ITEM > free_blocks) {
        const int id = counter->gpu.order.next[0];
        order_remove(&counter->gpu.order, id);
        counter->gpu.is_here[id] = false;
        group_add(gone, id);
    }
}

/* Serves a request alone; returns the blocks that GPU memory had. */
static int serve(struct counter *counter, const int *ids, int prompt, int output)
{
    static const struct group no_loads[TIERS];
    struct group loads[TIERS] = {{{0}, 0}}, gone, fresh = {{0}, 0};
    const int usable = (prompt - 1) / BLOCK_TOKENS, full = prompt / BLOCK_TOKENS;
    int hits = 0, i;
    for (; hits < usable && counter->gpu.is_here[ids[hits]]; hits++) order_remove(&counter->gpu.order, ids[hits]);
    for (i = hits; i < usable; i++) {
        int place = 0;
        while (place < TIERS && !counter->tiers[place].is_here[ids[i]]) place++;
        if (place == TIERS) break;
        order_remove(&counter->tiers[place].order, ids[i]);
        counter->tiers[place].held++;
        counter->tiers[place].loaded++;
        group_add(&loads[place], ids[i]);
    }
    make_room(counter, prompt, &gone);
    evicted(counter, &gone, loads);
    for (i = hits; i < full; i++) group_add(&fresh, ids[i]);
    for (i = hits; i < full; i++) counter->gpu.is_here[ids[i]] = true;
    published(counter, &fresh);
    for (int tokens = prompt + 1; tokens <= prompt + output - 1; tokens++) {
        make_room(counter, tokens, &gone);
        if (gone.n > 0) evicted(counter, &gone, no_loads);
    }
    for (i = full - 1; i >= 0; i--) order_add(&counter->gpu.order, ids[i]);
    return hits;
}

/* --- Traces --- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Numbers the keys from 1. */
static void number_keys(struct trace *trace)
{
    const size_t n = (size_t)trace->n_keys;
    uint64_t *sorted = malloc((n + 1) * sizeof *sorted);
    long n_sorted = 0;
    memcpy(sorted, trace->keys, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1]) sorted[n_sorted++] = sorted[i];
    for (size_t i = 0; i < n; i++) {
        const uint64_t *found = bsearch(&trace->keys[i], sorted, (size_t)n_sorted, sizeof *sorted, by_key);
        trace->ids[i] = (int)(found - sorted) + 1;
    }
    trace->n_ids = (int)n_sorted;
    free(sorted);
}

/* Reads requests, and writes them to a file so far apart that each is alone. Returns its path. */
static const char *spread(struct trace *trace, const char *format)
{
    static char path[512];
    SCOPED(trace_source) source = {0};
    struct request_record record;
    trace->n = 0;
    trace->n_keys = 0;
    trace->keys = malloc(MOST_KEYS * sizeof *trace->keys);
    trace->ids = malloc(MOST_KEYS * sizeof *trace->ids);
    CHECK_EQ_INT(trace_source_requests(&source, 1, "{%s}", format), 0);
    snprintf(path, sizeof path, "%s/spread.jsonl", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    while (trace_source_request(&source, &record) == 1) {
        if (trace->n == MOST_REQUESTS || trace->n_keys + record.n_prefix_blocks > MOST_KEYS) abort();
        fprintf(file, "{\"timestamp\": %lld, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [",
                (long long)(trace->n + 1) * GAP_MS, record.prompt_tokens, record.output_tokens);
        for (int i = 0; i < record.n_prefix_blocks; i++)
            fprintf(file, "%s%llu", i > 0 ? ", " : "", (unsigned long long)record.prefix_blocks[i]);
        fprintf(file, "]}\n");
        memcpy(trace->keys + trace->n_keys, record.prefix_blocks, (size_t)record.n_prefix_blocks * sizeof *trace->keys);
        trace->prompt[trace->n] = record.prompt_tokens;
        trace->output[trace->n] = record.output_tokens;
        trace->first[trace->n++] = trace->n_keys;
        trace->n_keys += record.n_prefix_blocks;
    }
    fclose(file);
    number_keys(trace);
    return path;
}

static void trace_free(struct trace *trace)
{
    free(trace->keys);
    free(trace->ids);
}

/* --- Comparison --- */

struct setup {
    int n_tiers;
    bool through[TIERS];
    long capacity[TIERS];
    bool promotes;
};

static struct bed_rows *run(const struct setup *setup, const char *path)
{
    char tiers[400] = "";
    for (int i = 0; i < setup->n_tiers; i++)
        snprintf(tiers + strlen(tiers), sizeof tiers - strlen(tiers), "%s'%s': {%s'capacity': '%.0fB', 'write': '%s'%s}",
                 i > 0 ? ", " : "", i > 0 ? "disk" : "host", i > 0 ? "'device': 'drives', " : "",
                 (double)setup->capacity[i] * block_bytes, setup->through[i] ? "through" : "back",
                 i > 0 && setup->promotes ? ", 'promote': 'always'" : "");
    return bed_run(BED(.no_detail = true),
                   "{'cluster': {'gpu': 'h100-sxm', 'pcie': '1000TB/s', 'storage': {'drives': {'device':"
                   " 'samsung-980-pro', 'count': 64}}}, 'services': {'s': {'llm': 'llama-3.1-8b', 'cost': {'kind':"
                   " 'affine', 'prefill': {'fixed': '10s'}, 'decode': {'fixed': '1s'}}, 'batching': {'policy': 'vllm-v0',"
                   " 'max_sequences': 1, 'watermark': 0}, 'kv': {'blocks': %d, 'prefix_cache': 'lru', 'prefix_store':"
                   " {'tiers': {%s}}}, 'trace': {'format': 'mooncake', 'path': '%s'}}}}",
                   GPU_BLOCKS, tiers, path);
}

static void check_tier(const struct bed_rows *rows, const struct level_count *tier, const char *name)
{
    static const char *const metrics[] = {"loaded_blocks.sum", "written_bytes.sum", "evicted_blocks.sum",
                                          "refused_blocks.sum"};
    const double counted[] = {(double)tier->loaded, (double)tier->written * block_bytes, (double)tier->evicted,
                              (double)tier->refused};
    for (int i = 0; i < 4; i++) {
        char metric[64];
        snprintf(metric, sizeof metric, "store.%s[%s]", metrics[i], name);
        CHECK_EQ_INT(bed_metric(rows, metric), counted[i]);
    }
}

static void level_init_count(struct level_count *count, int n_ids, long capacity, bool through)
{
    *count = (struct level_count){.capacity = capacity, .through = through};
    order_init(&count->order, n_ids);
    count->is_here = calloc((size_t)n_ids + 1, sizeof(bool));
}

static void level_free(struct level_count *count)
{
    free(count->order.prev);
    free(count->order.next);
    free(count->is_here);
}

/* Returns the blocks that the tiers together had. */
static long compare(const struct trace *trace, const char *path, const struct setup *setup)
{
    struct counter counter;
    struct bed_rows *rows = run(setup, path);
    long n_wrong = 0, hits = 0, loaded = 0;
    counter.promotes = setup->promotes;
    level_init_count(&counter.gpu, trace->n_ids, 0, false);
    for (int i = 0; i < TIERS; i++)
        level_init_count(&counter.tiers[i], trace->n_ids, i < setup->n_tiers ? setup->capacity[i] : 0,
                         setup->through[i]);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(bed_metric(rows, "request.finished"), trace->n);
    for (int i = 0; i < trace->n; i++) {
        const int found = serve(&counter, trace->ids + trace->first[i], trace->prompt[i], trace->output[i]);
        const struct request_row *row = &rows->requests[i];
        n_wrong += row->id != i || row->cached_tokens != (int64_t)found * BLOCK_TOKENS;
        hits += found;
    }
    for (int i = 0; i < setup->n_tiers; i++) {
        check_tier(rows, &counter.tiers[i], i > 0 ? "disk" : "host");
        loaded += counter.tiers[i].loaded;
    }
    CHECK_EQ_INT(n_wrong, 0);
    CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum"), hits * BLOCK_TOKENS);
    CHECK_EQ_INT(bed_metric(rows, "store.loaded_tokens.sum"), loaded * BLOCK_TOKENS);
    level_free(&counter.gpu);
    for (int i = 0; i < TIERS; i++) level_free(&counter.tiers[i]);
    bed_free(rows);
    return loaded;
}

/* Host memory alone, and above drives of four times its capacity, also with promotion; ways of writing. Those that
 * mix are left out where there are many capacities. Promotion is tried there only where both tiers are written back. */
static void compare_all(const char *format, const long *capacities, int n_capacities, long at_least)
{
    static struct trace trace;
    const char *path = spread(&trace, format);
    long loaded = 0;
    for (int c = 0; c < n_capacities; c++)
        for (int ways = 0; ways < 10; ways++) {
            if (n_capacities > 3 && (ways == 3 || ways == 4 || ways > 6)) continue;
            const int way = ways < 6 ? ways : ways - 4; /* the last four: those of two tiers, with promotion */
            const struct setup setup = {.n_tiers = way < 2 ? 1 : 2,
                                        .through = {way % 2 == 1, way >= 4},
                                        .capacity = {capacities[c], 4 * capacities[c]},
                                        .promotes = ways >= 6};
            loaded += compare(&trace, path, &setup);
        }
    CHECK(loaded >= at_least);
    trace_free(&trace);
}

TEST(tiers_of_a_small_trace_are_counted)
{
    static const long capacities[] = {3, 40, 200};
    compare_all(
        "'format': 'generate', 'count': 200, 'mix': 'mooncake-conversation', 'max_prompt_tokens': 60000,"
        "'max_output_tokens': 200, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'sessions': {'continue': 0.7,"
        " 'system_blocks': 2}",
        capacities, 3, 100);
}

TEST_OPTIMISED(tiers_of_mooncake_are_counted)
{
    static const long capacities[] = {100, 300, 1000, 3000, 10000, 30000};
    char format[512];
    const char *path = test_shared("request_traces/mooncake_fast25_conversation.jsonl");
    if (path == NULL) return;
    snprintf(format, sizeof format, "'format': 'mooncake', 'path': '%s'", path);
    compare_all(format, capacities, 6, 100000);
}
