/* Prefix stores: every token of a prompt is a hit, loaded or computed; bytes of tiers are bytes of links; macro-steps
 * write and load what single steps do; tiers are shared, lost and left as their scope says. */
#include "tests/support/harness.h"
#include "tests/support/prefix_store_bed.h"

#include <math.h>

/* Host memory and drives whose whole blocks are whole granules. */
#define CLUSTER                                                                                                        \
    "'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, 'nodes': 2, 'pcie': '50GB/s',"                                 \
    " 'network': {'bandwidth': '40GB/s'}, 'host': {'device': 'host-dram-pcie5'},"                                      \
    " 'storage': {'drives': {'device': 'samsung-980-pro', 'count': 4}, 'pool': {'device': 'rdma-h800'}}}"

static const struct bed_options checked = {.check = true};
static const struct bed_options stepped = {.single_step = true, .queue = QUEUE_HEAP};

static const char *const stores[] = {
    "'tiers': {'host': {'capacity': '8GB'}, 'disk': {'device': 'drives', 'capacity': '30GB'}}",
    "'tiers': {'host': {'capacity': '8GB', 'write': 'through', 'eviction': 'fifo'},"
    " 'disk': {'device': 'drives', 'capacity': '30GB', 'write': 'through', 'scope': 'shared', 'eviction': 's3-fifo'}}",
    "'tiers': {'host': {'capacity': '4GB', 'scope': 'shared'}, 'pool': {'device': 'pool', 'capacity': '60GB',"
    " 'write': 'through'}}, 'prefetch': true",
    "'tiers': {'host': {'capacity': '2GB', 'write': 'through'}, 'disk': {'device': 'drives', 'capacity': '4GB'},"
    " 'pool': {'device': 'pool', 'capacity': '60GB'}}, 'prefetch': true, 'load': 'when-faster'",
    "'tiers': {'host': {'capacity': '2GB'}, 'disk': {'device': 'drives', 'capacity': '8GB', 'promote': 'never'},"
    " 'pool': {'device': 'pool', 'capacity': '60GB'}}, 'promote': true"};
enum { N_STORES = sizeof stores / sizeof *stores };

static struct bed_rows *run(const char *store, const char *service, const struct bed_options *options)
{
    return bed_run(options,
                   "{" CLUSTER
                   ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'kv': {'blocks': 2600,"
                   " 'prefix_cache': 'lru', 'prefix_store': {%s}}, %s}}}",
                   store, service);
}

/* --- Tokens and bytes --- */

/* Iterations process what is neither a hit nor loaded. */
static int64_t processed_tokens(const struct bed_rows *rows)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < rows->n_batches; i++) tokens += rows->batches[i].prefill_tokens;
    return tokens;
}

TEST(every_token_is_found_loaded_or_computed)
{
    for (int i = 0; i < N_STORES; i++) {
        const struct bed_rows *rows = run(
            stores[i], "'replicas': 2, 'batching': 'vllm-v1', 'trace': {" SESSIONS ", 'rate_scale': 0.05}", &checked);
        CHECK_EQ_INT(rows->code, 0);
        store_check_tokens(rows);
        CHECK_EQ_INT(processed_tokens(rows), bed_metric(rows, "store.computed_tokens.sum"));
        CHECK(bed_metric(rows, "store.loaded_tokens.sum") > 10000);
        CHECK(store_of_tiers(rows, "evicted_blocks.sum") > 0);
    }
}

/* Each byte of a tier crosses each kind of link on its path a known number of times. */
TEST(bytes_of_tiers_are_bytes_of_links)
{
    const char *service = "'replicas': 2, 'batching': 'vllm-v1', 'trace': {" SESSIONS ", 'rate_scale': 0.05}";
    const struct bed_rows *rows = run(stores[0], service, &checked);
    const double host = store_of_tier(rows, "loaded_bytes.sum", "host") +
                        store_of_tier(rows, "written_bytes.sum", "host");
    const double disk_in = store_of_tier(rows, "loaded_bytes.sum", "disk"),
                 disk_out = store_of_tier(rows, "written_bytes.sum", "disk");
    CHECK(disk_in > 0 && disk_out > 0);
    CHECK_EQ_INT(bed_metric(rows, "link.pcie.bytes"), host + disk_in);
    CHECK_EQ_INT(bed_metric(rows, "link.host.bytes"), host + 2 * disk_in + disk_out); /* drives go through the host */
    CHECK_EQ_INT(bed_metric(rows, "link.storage.bytes"), 2 * (disk_in + disk_out));   /* flash and port */
    const struct bed_rows *promotes = run("'promote': true, 'tiers': {'host': {'capacity': '8GB'}, 'disk': {'device':"
                                          " 'drives', 'capacity': '30GB'}}",
                                          service, &checked);
    const double up = store_of_tier(promotes, "loaded_bytes.sum", "disk");
    CHECK_EQ_INT(bed_metric(promotes, "link.pcie.bytes"), up + store_of_tier(promotes, "loaded_bytes.sum", "host") +
                                                              store_of_tier(promotes, "written_bytes.sum", "host"));
    CHECK_EQ_INT(bed_metric(rows, "tier.dram.used_bytes.max"), 16e9);
    CHECK_EQ_INT(bed_metric(rows, "tier.ssd.used_bytes.max"), 60e9);
    rows = run(stores[2], service, &checked);
    const double pool = store_of_tier(rows, "loaded_bytes.sum", "pool") +
                        store_of_tier(rows, "written_bytes.sum", "pool");
    const double fetched = store_of_tier(rows, "fetched_blocks.sum", "host") * (double)BLOCK_BYTES;
    CHECK(pool > 0 && fetched > 0);
    CHECK_EQ_INT(bed_metric(rows, "link.network.bytes"), 3 * (pool + fetched)); /* NIC, and the pool's media and port */
}

/* --- Upward: prefetching and promotion, tier by tier --- */

#define LIFTED "'replicas': 2, 'batching': 'vllm-v1', 'trace': {" SESSIONS ", 'rate_scale': 0.05}"

/* Three tiers; %s: more keys of the disk, of the pool, and of the store. */
static struct bed_rows *run_lifted(const char *disk, const char *pool, const char *all)
{
    char store[512];
    snprintf(store, sizeof store,
             "'tiers': {'host': {'capacity': '2GB'}, 'disk': {'device': 'drives', 'capacity': '4GB'%s},"
             " 'pool': {'device': 'pool', 'capacity': '60GB'%s}}%s",
             disk, pool, all);
    struct bed_rows *rows = run(store, LIFTED, &checked);
    CHECK_EQ_INT(rows->code, 0);
    store_check_tokens(rows);
    return rows;
}

/* The key of the store is that of all tiers below the first which say nothing themselves. */
TEST(a_store_says_what_its_tiers_leave_open)
{
    static const char *const keys[] = {"prefetch", "promote"};
    for (int i = 0; i < 2; i++) {
        char always[64], never[64], all[64], none[64];
        snprintf(always, sizeof always, ", '%s': 'always'", keys[i]);
        snprintf(never, sizeof never, ", '%s': 'never'", keys[i]);
        snprintf(all, sizeof all, ", '%s': true", keys[i]);
        snprintf(none, sizeof none, ", '%s': false", keys[i]);
        const struct bed_rows *with = run_lifted("", "", all), *without = run_lifted("", "", "");
        CHECK(bed_equal(with, run_lifted(always, always, "")));
        CHECK(bed_equal(with, run_lifted(always, "", all)));
        CHECK(bed_equal(without, run_lifted(never, never, all)));
        CHECK(bed_equal(without, run_lifted("", never, none)));
        CHECK(!bed_equal(with, without));
    }
}

/* What one tier does leaves the blocks of the other where they are. */
TEST(tiers_prefetch_and_promote_one_by_one)
{
    const struct bed_rows *disk = run_lifted(", 'promote': 'always'", "", "");
    const struct bed_rows *pool = run_lifted("", ", 'promote': 'always'", "");
    const struct bed_rows *both = run_lifted("", "", ", 'promote': true");
    CHECK(store_of_tier(disk, "loaded_blocks.sum", "pool") > 0 && store_of_tier(pool, "loaded_blocks.sum", "disk") > 0);
    const struct bed_rows *none = run_lifted("", "", "");
    CHECK(!bed_equal(disk, none) && !bed_equal(pool, none) && !bed_equal(both, disk) && !bed_equal(both, pool));
    const struct bed_rows *fetches = run_lifted(", 'prefetch': 'always'", "", "");
    const struct bed_rows *all = run_lifted("", "", ", 'prefetch': true");
    const double some = store_of_tier(fetches, "fetched_blocks.sum", "host");
    CHECK_EQ_INT(store_of_tier(none, "fetched_blocks.sum", "host"), 0);
    CHECK(some > 0 && some < store_of_tier(all, "fetched_blocks.sum", "host"));
    CHECK(store_of_tier(fetches, "loaded_blocks.sum", "pool") > store_of_tier(all, "loaded_blocks.sum", "pool"));
    CHECK_EQ_INT(store_of_tier(all, "loaded_blocks.sum", "pool"), 0); /* all of it is in host memory first */
}

/* --- The same, whatever the stepping --- */

TEST(stepping_writes_and_loads_the_same)
{
    for (int i = 0; i < BED_BATCHERS; i++) {
        char service[320];
        snprintf(service, sizeof service,
                 "'replicas': 2, 'batching': %s, 'routing': 'prefix-aware', 'trace': {" SESSIONS ", 'rate_scale': 0.4}",
                 bed_batchers[i]);
        for (int k = i % 2; k < N_STORES; k += 2) {
            struct bed_rows *macro = run(stores[k], service, &checked), *single = run(stores[k], service, &stepped);
            CHECK_EQ_INT(macro->code, 0);
            CHECK(bed_metric(macro, "store.loaded_tokens.sum") > 0);
            CHECK(bed_equal(macro, single));
            bed_free(macro);
            bed_free(single);
        }
    }
}

/* Sequences are preempted beside the store; stages of pipelines, and prompts handed over. */
TEST(stepping_is_the_same_beside_all_else)
{
    static const char *const services[] = {
        "'batching': 'vllm-v1', 'kv': {'blocks': 700, 'prefix_cache': 'lru', 'prefix_store': {%s}},"
        "'trace': {'format': 'mooncake', 'path': 'traces/samples/sessions.jsonl', 'max_prompt_tokens': 3000,"
        " 'rate_scale': 4}",
        "'pipeline_parallel': 2, 'batching': 'sarathi', 'kv': {'blocks': 2600, 'prefix_cache': 'lru', 'prefix_store':"
        " {%s}}, 'trace': {" SESSIONS "}",
        "'pools': {'p': {'role': 'prefill'}, 'd': {'role': 'decode'}}, 'routing': 'prefix-aware',"
        "'replicas': 2, 'tensor_parallel': 2, 'kv': {'blocks': 3000, 'prefix_cache': 'lru', 'prefix_store': {%s}},"
        "'trace': {" SESSIONS ", 'rate_scale': 0.5}"};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < N_STORES; k++) {
            char service[640];
            snprintf(service, sizeof service, services[i], stores[k]);
            struct bed_rows *rows[2];
            for (int s = 0; s < 2; s++)
                rows[s] = bed_run(
                    s == 0 ? &checked : &stepped,
                    "{" CLUSTER ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', %s}}}", service);
            CHECK_EQ_INT(rows[0]->code, 0);
            CHECK(bed_metric(rows[0], "store.loaded_tokens.sum") > 0);
            CHECK(i != 0 || bed_metric(rows[0], "replica.preemptions.sum") > 0);
            CHECK(bed_equal(rows[0], rows[1]));
            bed_free(rows[0]);
            bed_free(rows[1]);
        }
}

/* Answers of conversations are blocks of the next prompt: they are published, and so written, when a request ends.
 * Every token of a prompt is new, a hit, loaded, or computed again. */
TEST(answers_are_stored_for_the_next_turn)
{
    int compared = 0;
    for (int k = 0; k < N_STORES; k++) {
        static const char service[] =
            "'replicas': 2, 'routing': 'session-affinity', 'trace': {'format': 'generate-sessions', 'count': 40,"
            " 'arrival': {'process': 'poisson', 'rate': '3/s'}, 'block_tokens': 512, 'classes': {'chat': {}}}";
        struct bed_rows *macro = run(stores[k], service, BED(.check = true, .no_rows = true));
        struct bed_rows *single = run(stores[k], service, BED(.single_step = true, .queue = QUEUE_HEAP, .no_rows = true));
        CHECK_EQ_INT(macro->code, 0);
        store_check_tokens(macro);
        CHECK(bed_metric(macro, "store.loaded_tokens.sum") > 500);
        CHECK(bed_equal(macro, single));
        if (bed_metric(macro, "replica.preemptions.sum") > 0) continue;
        CHECK_EQ_INT(bed_metric(macro, "session.loaded_tokens.sum"), bed_metric(macro, "store.loaded_tokens.sum"));
        CHECK_EQ_INT(bed_metric(macro, "session.recomputed_tokens.sum") + bed_metric(macro, "session.new_tokens.sum"),
                     bed_metric(macro, "store.computed_tokens.sum"));
        compared++;
    }
    CHECK(compared > 0);
}

/* --- Scopes --- */

/* Two replicas in turn serve one prompt after another; caches of GPU memory are their own. */
static struct bed_rows *in_turn(const char *scope, int nodes)
{
    return bed_run(
        &checked,
        "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': %d, 'nodes': 2, 'pcie': '50GB/s'}, 'services':"
        " {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'replicas': 2, 'routing': 'round-robin', 'kv':"
        " {'blocks': 20000, 'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '2TB',"
        " 'write': 'through', 'scope': '%s'}}}}, 'trace': {" SESSIONS ", 'rate_scale': 1e-3}}}}",
        2 / nodes, scope);
}

/* What one replica has processed the other loads, if both are on one node and share its host memory. */
TEST(replicas_of_a_node_share_its_host)
{
    const struct bed_rows *own = in_turn("replica", 1), *shared = in_turn("shared", 1), *apart = in_turn("shared", 2);
    const struct bed_rows *one = bed_run(
        &checked,
        "{" CLUSTER ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'kv': {'blocks': 100000000,"
        " 'prefix_cache': 'lru'}, 'trace': {" SESSIONS ", 'rate_scale': 1e-3}}}}");
    CHECK_EQ_INT(bed_metric(own, "store.loaded_tokens.sum"), 0); /* all is still in GPU memory */
    CHECK_EQ_INT(bed_metric(apart, "store.loaded_tokens.sum"), 0);
    CHECK_EQ_INT(bed_metric(apart, "prefix.saved_tokens.sum"), bed_metric(own, "prefix.saved_tokens.sum"));
    CHECK(bed_metric(shared, "store.loaded_tokens.sum") > 10000);
    CHECK_EQ_INT(bed_metric(shared, "store.loaded_tokens.sum") + bed_metric(shared, "prefix.saved_tokens.sum"),
                 bed_metric(one, "prefix.saved_tokens.sum"));
}

/* Memory behind the network is shared by all replicas unless the scenario says otherwise. */
TEST(remote_memory_is_shared_by_all)
{
    static const char service[] = "'replicas': 2, 'tensor_parallel': 8, 'trace': {" SESSIONS ", 'rate_scale': 1e-3}";
    const struct bed_rows *shared = run(
        "'tiers': {'pool': {'device': 'pool', 'capacity': '100GB', 'write': 'through'}}", service, &checked);
    const struct bed_rows *own = run(
        "'tiers': {'pool': {'device': 'pool', 'capacity': '50GB', 'write': 'through', 'scope': 'replica'}}", service,
        &checked);
    CHECK_EQ_INT(shared->code + own->code, 0);
    CHECK(bed_metric(shared, "store.loaded_tokens.sum") > 2 * bed_metric(own, "store.loaded_tokens.sum"));
}

/* A router that sees the tiers sends a request to where they have its prompt. */
TEST(a_router_may_see_the_tiers)
{
    static const char *const weights[] = {"0", "1"};
    double computed[2];
    for (int i = 0; i < 2; i++) {
        char service[400];
        snprintf(service, sizeof service,
                 "'replicas': 4, 'routing': {'policy': 'prefix-aware', 'store_weight': %s}, 'trace': {" SESSIONS
                 ", 'rate_scale': 0.2}",
                 weights[i]);
        struct bed_rows *macro = run(stores[0], service, &checked), *single = run(stores[0], service, &stepped);
        CHECK_EQ_INT(macro->code, 0);
        CHECK(bed_equal(macro, single));
        computed[i] = bed_metric(macro, "store.computed_tokens.sum");
    }
    CHECK(computed[1] < 0.97 * computed[0]);
}

/* Of replicas of which only the first has a store, each alone with its request: nothing is stored at the other one, so
 * the first of equals takes all. */
TEST(a_replica_without_a_store_has_nothing_stored)
{
    struct bed_rows *rows = bed_ok(
        &checked,
        "{" CLUSTER ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'routing': {'policy': "
        "'prefix-aware', 'store_weight': 1}, 'pools': {'p': {'kv': {'blocks': 2600, 'prefix_cache': 'lru', "
        "'prefix_store': {%s}}}, 'q': {'kv': {'blocks': 2600, 'prefix_cache': 'lru'}}}, 'trace': {" SESSIONS
        ", 'rate_scale': 1e-3}}}}",
        stores[0]);
    CHECK(rows->n_requests > 10);
    for (size_t i = 0; i < rows->n_requests; i++) CHECK_EQ_INT(rows->requests[i].replica, 0);
}

/* --- What is lost and what stays --- */

/* A node fails every 4 s; tiers of either device, shared. */
static struct bed_rows *failing(const char *tier, const struct bed_options *options)
{
    return bed_run(options,
                   "{" CLUSTER ", 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'law': 'constant',"
                   " 'mean': '4s'}}}}, 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'replicas': 2,"
                   " 'tensor_parallel': 8, 'restart': {'delay': '0s'}, 'kv': {'blocks': 2600, 'prefix_cache': 'lru',"
                   " 'prefix_store': {'tiers': {'t': {%s, 'capacity': '60GB', 'write': 'through'}}}},"
                   " 'trace': {" SESSIONS ", 'rate_scale': 0.4}}}}",
                   tier);
}

TEST(a_node_that_fails_loses_its_host_and_keeps_its_drives)
{
    static const char *const tiers[] = {"'scope': 'replica'", "'scope': 'shared'",
                                        "'device': 'drives', 'scope': 'shared'", "'device': 'pool'"};
    double loaded[4];
    for (int i = 0; i < 4; i++) {
        struct bed_rows *rows = failing(tiers[i], &checked), *single = failing(tiers[i], &stepped);
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_metric(rows, "failure.restarted_requests") > 5);
        CHECK(bed_equal(rows, single));
        loaded[i] = bed_metric(rows, "store.loaded_tokens.sum");
    }
    CHECK_EQ_INT(loaded[0], loaded[1]); /* one replica to a node */
    CHECK(loaded[2] > 2 * loaded[1]);
    CHECK(loaded[3] > loaded[2]);
}

/* Replicas come and go: what is their own goes with them, what they share stays for the next ones. */
TEST(a_replica_that_leaves_takes_its_own_tiers)
{
    double loaded[2];
    for (int i = 0; i < 2; i++) {
        char service[512];
        snprintf(service, sizeof service,
                 "'replicas': 1, 'scaling': {'policy': {'policy': 'schedule', 'period': '20s', 'steps': [{'at': '0s',"
                 " 'replicas': 1}, {'at': '10s', 'replicas': 4}]}, 'min': 1, 'max': 4, 'interval': '1s', 'start_delay':"
                 " '1s'}, 'kv': {'blocks': 2600, 'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity':"
                 " '20GB', 'scope': '%s', 'write': 'through'}}}}, 'trace': {" SESSIONS ", 'rate_scale': 0.4}",
                 i == 0 ? "replica" : "shared");
        struct bed_rows *rows[2];
        for (int s = 0; s < 2; s++)
            rows[s] = bed_run(s == 0 ? &checked : &stepped,
                              "{" CLUSTER ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', %s}}}",
                              service);
        CHECK_EQ_INT(rows[0]->code, 0);
        CHECK(bed_metric(rows[0], "scaling.drains.sum") > 3);
        CHECK(bed_equal(rows[0], rows[1]));
        loaded[i] = bed_metric(rows[0], "store.loaded_tokens.sum");
    }
    CHECK(loaded[1] > loaded[0]);
}

/* Bytes of the tiers, times seconds, of a run that a job makes so long. Three of four replicas leave after 30 s. */
static double byte_seconds(int run_s, int *drains)
{
    const struct bed_rows *rows = bed_ok(
        &checked,
        "{" CLUSTER
        ", 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '%ds'}]}}, 'services': {'chat': {"
        "'llm': 'llama-3.1-8b', 'cost': 'roofline', 'replicas': 4, 'scaling': {'policy': {'policy': 'schedule',"
        " 'period': '1000s', 'steps': [{'at': '0s', 'replicas': 4}, {'at': '30s', 'replicas': 1}]}, 'min': 1, 'max': 4,"
        " 'interval': '1s', 'start_delay': '1s'}, 'kv': {'blocks': 2600, 'prefix_cache': 'lru', 'prefix_store': {"
        "'tiers': {'host': {'capacity': '1GB', 'scope': 'replica', 'write': 'through'}}}}, 'trace': {" SESSIONS
        ", 'limit': 120, 'rate_scale': 2}}}}",
        run_s);
    CHECK_NEAR(rows->end_s, run_s, 1e-9);
    *drains = (int)bed_metric(rows, "scaling.drains.sum");
    return rows->end_s * store_of_tiers(rows, "used_bytes.mean");
}

/* Once all is done, the replica that stays holds whole blocks in its tier, and those that left hold nothing. */
TEST(a_tier_that_is_closed_holds_nothing)
{
    int drains;
    const double held_bytes = (byte_seconds(600, &drains) - byte_seconds(300, &drains)) / 300;
    CHECK_EQ_INT(drains, 3);
    CHECK(held_bytes > 0.5e9 && held_bytes <= 1e9);
    CHECK_NEAR(held_bytes, (double)BLOCK_BYTES * round(held_bytes / (double)BLOCK_BYTES), 0.5);
}

/* --- When loading is worth it --- */

/* Prompts of 8 blocks that share 7, each alone; the second one is at the other replica, which shares the host. */
static double second_ttft_s(double gb_per_s, const char *load)
{
    const struct bed_rows *rows = bed_run(
        &checked,
        "{'cluster': {'gpu': 'h100-sxm', 'pcie': '%gGB/s', 'nodes': 1, 'gpus_per_node': 2}, 'services': {'chat': {'llm':"
        " 'llama-3.1-8b', 'replicas': 2, 'routing': 'round-robin', 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms',"
        " 'per_token': '60us'}, 'decode': {'fixed': '11ms'}}, 'batching': {'policy': 'vllm-v1', 'token_budget':"
        " 8192}, 'kv': {'prefix_cache': 'lru', 'prefix_store': {'load': '%s', 'tiers': {'host': {'capacity': '10GB',"
        " 'write': 'through', 'scope': 'shared'}}}}, 'trace': {'format': 'generate', 'count': 2, 'arrival': {'process':"
        " 'fixed', 'rate': '0.01/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 4096}, 'output': {'distribution':"
        " 'fixed', 'tokens': 2}, 'sessions': {'continue': 1e-9, 'block_tokens': 512, 'system_blocks': 7}}}}}",
        gb_per_s, load);
    CHECK_EQ_INT(rows->code, 0);
    return rows->n_requests == 2 ? rows->requests[1].ttft_s : (double)NAN;
}

/* Loading saves 7 blocks of 512 tokens of 60 us each: as long as loading them takes at 2.1845 GB/s. */
TEST(blocks_are_loaded_if_that_is_faster)
{
    static const double rates_gb_per_s[] = {1, 2.1, 2.184, 2.185, 2.2, 4, 50};
    const double whole_s = 9e-3 + 60e-6 * 4096, rest_s = 9e-3 + 60e-6 * 512;
    for (size_t i = 0; i < sizeof rates_gb_per_s / sizeof *rates_gb_per_s; i++) {
        const double load_s = 7.0 * (double)BLOCK_BYTES / (rates_gb_per_s[i] * 1e9);
        CHECK_NEAR(second_ttft_s(rates_gb_per_s[i], "always"), load_s + rest_s, 2e-9);
        CHECK_NEAR(second_ttft_s(rates_gb_per_s[i], "when-faster"), fmin(load_s + rest_s, whole_s), 2e-9);
    }
}

/* --- Errors --- */

/* The first error says this, and its hint that; NULL: any. */
static void check_hint(const char *kv, const char *says, const char *hint)
{
    const struct bed_rows *rows = bed_run(
        &(struct bed_options){.quiet = true},
        "{" CLUSTER ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'kv': {%s}, 'trace': {" SESSIONS "}}}}", kv);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (CHECK(rows->diag.n_items > 0) && !CHECK(strstr(rows->diag.items[0].text, says) != NULL))
        printf("%s\n", rows->diag.items[0].text);
    const char *given = rows->diag.n_items > 0 ? rows->diag.items[0].hint : NULL;
    CHECK(hint == NULL || (given != NULL && strstr(given, hint) != NULL));
}

static void check_error(const char *kv, const char *says)
{
    check_hint(kv, says, NULL);
}

#define HOST "'host': {'capacity': '8GB'}"

TEST(what_cannot_be_is_refused)
{
    check_error("'prefix_store': {'tiers': {" HOST "}}", "its replicas cache no prefixes that could be stored");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {" HOST "}}, 'tiers': {'host': {'device':"
                " 'host-dram-pcie5'}}, 'offload': {'policy': 'vllm-cpu', 'cpu_offload': '4GiB'}",
                "its 'kv.offload' places weights or KV cache elsewhere");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '8GB', 'device': 'nothing'}}}",
                "tier 'host' is on 'nothing', which cluster.storage does not have");
    check_error(
        "'prefix_cache': 'lru', 'prefix_store': {'tiers': {'a': {'capacity': '8GB'}, 'b': {'capacity': '8GB'}}}",
        "tiers 'a' and 'b' are on one device");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '8GB', 'eviction': 'belady'}}}",
                "asks for the accesses that are still to come");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {" HOST "}, 'prefetch': true}", "there is only one");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {" HOST "}, 'promote': true}", "there is only one");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '8GB', 'promote': 'never'},"
                " 'disk': {'device': 'drives', 'capacity': '8GB'}}}",
                "tier 'host' is the first");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '60MB'}}}",
                "holds no block of 512 tokens");
    check_hint("'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '600GB'}}}",
               "takes 600000000000 bytes of 'host', of which", "each replica takes its capacity");
    check_hint("'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '600GB', 'scope': 'shared'}}}",
               "takes 600000000000 bytes of 'host', of which", "lower its capacity, or raise that of the device");
    check_error("'prefix_cache': 'lru', 'prefix_store': {'tiers': {}}", "'tiers' must have between 1 and 4 items");
}

/* Of the store's keys such as no tier follows. */
TEST(keys_without_effect_are_named)
{
    static const char *const keys[] = {"prefetch", "promote"};
    for (int i = 0; i < 4; i++) {
        const char *key = keys[i / 2], *says = i % 2 == 0 ? "never" : "usual";
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true),
            "{" CLUSTER ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'kv': {'prefix_cache': 'lru', 'prefix_store': {"
            "'%s': true, 'tiers': {" HOST
            ", 'disk': {'device': 'drives', 'capacity': '8GB', '%s': '%s'}}}}, 'trace': {" SESSIONS "}}}}",
            key, key, says);
        bool is_named = false;
        for (int k = 0; k < rows->diag.n_items; k++)
            is_named |= strstr(rows->diag.items[k].text, "of the store has no effect") != NULL;
        CHECK_EQ_INT(rows->code, 0);
        CHECK(is_named == (i % 2 == 0));
    }
}
