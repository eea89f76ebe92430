/* Prefix caches of replicas: what they find is what the trace's blocks allow, blocks are conserved, and macro-steps
 * give up the same blocks as single steps. */
#include "policies/registry.h"
#include "sim/study/cache_stat.h"
#include "sim/world/kv/prefix_cache.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#define SESSIONS "'format': 'mooncake', 'path': 'traces/samples/sessions.jsonl'"
#define BLOCK_TOKENS 512

struct setup {
    const char *prefix_cache; /* the JSON of kv.prefix_cache; NULL: none */
    const char *batching, *routing, *trace;
    int replicas;
    long long blocks;
};

static struct bed_rows *run(const struct setup *setup, const struct bed_options *options)
{
    char cache[160] = "";
    if (setup->prefix_cache != NULL) snprintf(cache, sizeof cache, ", 'prefix_cache': %s", setup->prefix_cache);
    return bed_run(
        options,
        "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8}, 'services': {'trace': {'llm': 'llama-3.1-8b','replicas':"
        " %d, 'routing': '%s', 'kv': {'blocks': %lld%s}, 'cost': 'roofline', 'batching': %s,'trace': {%s}}},"
        " 'keep': 'curves'}",
        setup->replicas, setup->routing, setup->blocks, cache, setup->batching, setup->trace);
}

/* The service's name is also that of its stream of random numbers, here as in trace_source.h. */
static const struct bed_options checked = {.check = true}, plain = {.no_detail = true};
static const struct bed_options stepped = {.single_step = true, .queue = QUEUE_HEAP};

static int64_t cached_tokens(const struct bed_rows *rows)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < rows->n_requests; i++) tokens += rows->requests[i].cached_tokens;
    return tokens;
}

/* --- Hits --- */

/* What a cache without limit finds of the full blocks of a trace, as 'trace stat --prefix-cache lru=inf' counts. */
static int64_t hits_without_limit(const char *trace_text)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    struct block_log log = {0};
    struct cache_stat stat = {0};
    char quoted[512];
    snprintf(quoted, sizeof quoted, "{%s}", trace_text);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "%s", quoted), 0);
    if (trace.code != 0) puts(trace.message);
    while (trace_source_request(&trace, &record) == 1) {
        int32_t n = prefix_blocks_full(record.prompt_tokens, BLOCK_TOKENS, record.n_prefix_blocks);
        CHECK_EQ_INT(block_log_add(&log, record.prefix_blocks, n), 0);
    }
    const struct cache_stat_setting setting = {.evictor = policy_find(POLICY_EVICTION, "lru"), .capacity_blocks = INT64_MAX};
    CHECK_EQ_INT(cache_stat_run(&log, NULL, &setting, &stat, NULL), 0);
    CHECK_EQ_INT(stat.evictions, 0);
    block_log_fini(&log);
    return stat.block_hits;
}

/* One replica with room for everything, one request after the other. */
static void check_hits(const char *trace, int64_t at_least)
{
    const struct setup setup = {"'lru'", "'vllm-v1'", "round-robin", trace, 1, 100000000};
    struct bed_rows *rows = run(&setup, &plain);
    int64_t hits = hits_without_limit(trace);
    CHECK_EQ_INT(rows->code, 0);
    CHECK(hits >= at_least);
    CHECK_EQ_INT(cached_tokens(rows), hits * BLOCK_TOKENS);
    CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum"), hits * BLOCK_TOKENS);
    CHECK_EQ_INT(bed_metric(rows, "prefix.evicted_blocks.sum"), 0);
    CHECK_NEAR(bed_metric(rows, "prefix.hit_frac") * bed_metric(rows, "request.prompt_tokens.sum"),
               (double)(hits * BLOCK_TOKENS), 1e-3);
}

TEST(a_cache_without_limit_finds_all_there_is)
{
    check_hits(SESSIONS ", 'rate_scale': 1e-4", 500);
    check_hits("'format': 'generate', 'count': 300, 'mix': 'mooncake-conversation', 'arrival': {'process': 'fixed',"
               "'rate': '0.001/s'}, 'sessions': {'continue': 0.6, 'system_blocks': 2}",
               500);
}

/* A closed loop draws its requests while others are awaited; their blocks stay what they were. Users pause for so long
 * that each request is alone, in an order other than that of drawing. */
TEST(users_of_a_closed_loop_find_their_own_blocks)
{
    enum { N = 120, BLOCK = 32, MOST_BLOCKS = 64 };
    static const char requests[] = "'format': 'generate', 'count': %d, 'prompt': {'distribution': 'uniform', 'min': 40,"
                                   " 'max': 2000}, 'output': {'distribution': 'fixed', 'tokens': 2},"
                                   " 'sessions': {'continue': 0.7, 'block_tokens': %d}, 'arrival': %s";
    static uint64_t keys[N][MOST_BLOCKS];
    int32_t n_keys[N];
    char text[512];
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    struct block_log log = {0};
    struct cache_stat stat = {0};
    snprintf(text, sizeof text, requests, N, BLOCK, "{'process': 'fixed', 'rate': '1/s'}");
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{%s}", text), 0);
    while (trace_source_request(&trace, &record) == 1) {
        n_keys[record.id] = prefix_blocks_full(record.prompt_tokens, BLOCK, record.n_prefix_blocks);
        memcpy(keys[record.id], record.prefix_blocks, (size_t)n_keys[record.id] * sizeof keys[0][0]);
    }
    snprintf(text, sizeof text, requests, N, BLOCK, "{'process': 'closed', 'users': 7, 'think': '1000s'}");
    const struct setup setup = {"'lru'", "'vllm-v1'", "round-robin", text, 1, 1000000};
    struct bed_rows *rows = run(&setup, &plain);
    CHECK_EQ_INT(rows->code, 0);
    MUST(rows->n_requests == N);
    int n_swapped = 0;
    for (size_t i = 0; i < N; i++) { /* rows come as requests finish */
        const int64_t id = rows->requests[i].id;
        n_swapped += i > 0 && id < rows->requests[i - 1].id;
        CHECK_EQ_INT(block_log_add(&log, keys[id], n_keys[id]), 0);
    }
    const struct cache_stat_setting setting = {.evictor = policy_find(POLICY_EVICTION, "lru"), .capacity_blocks = INT64_MAX};
    CHECK_EQ_INT(cache_stat_run(&log, NULL, &setting, &stat, NULL), 0);
    CHECK(n_swapped > 0 && stat.block_hits > N);
    CHECK_EQ_INT(cached_tokens(rows), stat.block_hits * BLOCK);
    block_log_fini(&log);
}

TEST(mooncake_is_found_as_it_is_counted)
{
    char trace[512];
    const char *path = test_shared("request_traces/mooncake_fast25_conversation.jsonl");
    if (path == NULL) return;
    snprintf(trace, sizeof trace, "'format': 'mooncake', 'path': '%s', 'limit': 1500, 'rate_scale': 1e-4", path);
    check_hits(trace, 1000);
}

/* --- A naive reference --- */

enum { MOST_KEYS = 20000, KV_BLOCK = 16, PER_ITEM = BLOCK_TOKENS / KV_BLOCK };

/* Keys of the blocks that are cached and not in use, the longest unused first. */
struct naive {
    uint64_t keys[MOST_KEYS];
    int64_t n;
};

static int64_t naive_find(const struct naive *naive, uint64_t key)
{
    int64_t i = 0;
    while (i < naive->n && naive->keys[i] != key) i++;
    return i < naive->n ? i : -1;
}

static void naive_remove(struct naive *naive, int64_t at)
{
    for (int64_t i = at + 1; i < naive->n; i++) naive->keys[i - 1] = naive->keys[i];
    naive->n--;
}

/* Serves a request alone, from beginning to end; returns the tokens that it found. */
static int64_t naive_serve(struct naive *naive, const struct request_record *record, int64_t total_blocks)
{
    int64_t hits = 0, at, blocks = (record->prompt_tokens + record->output_tokens - 1 + KV_BLOCK - 1) / KV_BLOCK;
    if (blocks > total_blocks) return 0;
    while (hits < (record->prompt_tokens - 1) / BLOCK_TOKENS &&
           (at = naive_find(naive, record->prefix_blocks[hits])) >= 0) {
        naive_remove(naive, at);
        hits++;
    }
    while (naive->n * PER_ITEM > total_blocks - blocks) naive_remove(naive, 0);
    for (int64_t i = record->prompt_tokens / BLOCK_TOKENS - 1; i >= 0; i--)
        if (naive_find(naive, record->prefix_blocks[i]) < 0) naive->keys[naive->n++] = record->prefix_blocks[i];
    return hits * BLOCK_TOKENS;
}

/* Small caches, one request after the other: every request finds what the naive cache has. */
static void check_against_naive(const char *batching, int64_t total_blocks)
{
    static const char trace_text[] = SESSIONS ", 'rate_scale': 1e-4, 'max_prompt_tokens': 10000";
    static struct naive naive;
    const struct setup setup = {"'lru'", batching, "round-robin", trace_text, 1, total_blocks};
    struct bed_rows *rows = run(&setup, &plain);
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    int64_t n_hits = 0;
    naive.n = 0;
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{%s}", trace_text), 0);
    while (trace_source_request(&trace, &record) == 1) {
        int64_t tokens = naive_serve(&naive, &record, total_blocks);
        const struct request_row *row = bed_request(rows, record.id);
        n_hits += tokens > 0;
        CHECK(row != NULL && row->cached_tokens == tokens);
    }
    CHECK(n_hits > 10);
    CHECK(bed_metric(rows, "prefix.evicted_blocks.sum") > 0);
    CHECK_EQ_INT(bed_metric(rows, "prefix.cached_blocks.sum"), naive.n * PER_ITEM);
}

TEST(small_caches_find_what_a_naive_one_does)
{
    check_against_naive("'vllm-v1'", 1000);
    check_against_naive("'vllm-v1'", 3333);
    check_against_naive("'sarathi'", 3333);
    check_against_naive("{'policy': 'vllm-v0', 'watermark': 0}", 7000);
}

/* --- The same, whatever the stepping --- */

TEST(stepping_changes_nothing)
{
    static const char *const evictors[] = {"'lru'", "'fifo'", "'lfu'", "'s3-fifo'", "'marking'"};
    for (int i = 0; i < BED_BATCHERS; i++) {
        const struct setup setup = {evictors[i % 5],
                                    bed_batchers[i],
                                    "prefix-aware",
                                    SESSIONS ", 'max_prompt_tokens': 8000, 'rate_scale': 0.4",
                                    2,
                                    2600};
        struct bed_rows *macro = run(&setup, &checked), *single = run(&setup, &stepped);
        CHECK_EQ_INT(macro->code, 0);
        CHECK(bed_metric(macro, "prefix.evicted_blocks.sum") > 0);
        CHECK(bed_metric(macro, "prefix.saved_tokens.sum") > 0);
        CHECK(bed_equal(macro, single));
    }
}

TEST(sequences_are_preempted_beside_a_cache)
{
    for (int i = 0; i < BED_BATCHERS; i++) {
        const struct setup setup = {
            "'lru'", bed_batchers[i], "round-robin", SESSIONS ", 'max_prompt_tokens': 3000, 'rate_scale': 4", 1, 700};
        struct bed_rows *macro = run(&setup, &checked), *single = run(&setup, &stepped);
        CHECK_EQ_INT(macro->code, 0);
        CHECK_EQ_INT(bed_metric(macro, "request.finished") + bed_metric(macro, "request.rejected"), 200);
        CHECK(strstr(bed_batchers[i], "orca") != NULL || bed_metric(macro, "replica.preemptions.sum") > 0);
        CHECK(bed_equal(macro, single));
    }
}

/* Rows tell what every admission has found: the first what the request's row says, all together what the metric
 * says. */
TEST(rows_record_every_hit)
{
    const struct setup setup = {
        "'lru'", "'vllm-v1'", "round-robin", SESSIONS ", 'max_prompt_tokens': 3000, 'rate_scale': 4", 1, 700};
    struct bed_rows *rows = run(&setup, &checked);
    int64_t all = 0, again = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *row = &rows->decisions[i];
        const bool is_first = strcmp(row->action, "admit") == 0;
        const char *found = strstr(row->reason, " tokens, ");
        int tokens;
        if (!is_first && strcmp(row->action, "resume") != 0) continue;
        if (!CHECK(found != NULL && sscanf(found, " tokens, %d found in the prefix cache, takes ", &tokens) == 1))
            break;
        if (is_first) CHECK_EQ_INT(tokens, bed_request(rows, row->subject)->cached_tokens);
        all += tokens;
        again += is_first ? 0 : tokens;
    }
    CHECK_EQ_INT(all, bed_metric(rows, "prefix.saved_tokens.sum"));
    CHECK(again > 0 && all > again);
}

/* --- Without prefixes, without a cache --- */

#define GENERATED "'format': 'generate', 'count': 150, 'arrival': {'process': 'poisson', 'rate': '20/s'}"

TEST(prompts_without_ids_are_served_as_without_a_cache)
{
    for (int i = 0; i < BED_BATCHERS; i++) {
        struct setup setup = {"'lru'", bed_batchers[i], "least-outstanding", GENERATED, 2, 20000};
        struct bed_rows *with = run(&setup, &checked);
        setup.prefix_cache = NULL;
        struct bed_rows *without = run(&setup, &checked);
        CHECK_EQ_INT(with->code, 0);
        CHECK_EQ_INT(with->n_warnings, without->n_warnings + 1); /* that the cache has no effect */
        memcpy(with->others, without->others, sizeof with->others);
        CHECK(bed_equal(with, without));
    }
}

/* What a preemption takes is found again as far as nobody has overwritten it: as many preemptions or fewer, none of the
 * tokens twice, and all is over sooner. Blocks are full ones, of a context that had them all. */
TEST(preempted_sequences_find_their_own_blocks_again)
{
    for (int i = 0; i < 2; i++) {
        struct setup setup = {"'lru'", bed_batchers[i], "round-robin", GENERATED, 1, 300};
        struct bed_rows *with = run(&setup, &checked), *single = run(&setup, &stepped);
        CHECK(bed_equal(with, single));
        setup.prefix_cache = NULL;
        struct bed_rows *without = run(&setup, &checked);
        const double saved = bed_metric(with, "prefix.saved_tokens.sum");
        CHECK(saved > 0.0 && fmod(saved, 16.0) == 0.0);
        CHECK(saved <= bed_metric(with, "replica.recomputed_tokens.sum"));
        CHECK_EQ_INT(cached_tokens(with), 0); /* on their first admission */
        CHECK(bed_metric(with, "request.e2e_s.mean") < bed_metric(without, "request.e2e_s.mean"));
    }
}

TEST(without_a_cache_ids_mean_nothing)
{
    const struct setup setup = {NULL, "'vllm-v1'", "round-robin", SESSIONS, 1, 20000};
    struct bed_rows *rows = run(&setup, &checked);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(cached_tokens(rows), 0);
    CHECK(isnan(bed_metric(rows, "prefix.hit_frac")));
}

/* --- What it is for --- */

TEST(hits_shorten_the_wait_for_the_first_token)
{
    struct setup setup = {"'lru'", "'vllm-v1'", "round-robin", SESSIONS ", 'rate_scale': 1e-3", 1, 200000};
    struct bed_rows *with = run(&setup, &checked);
    setup.prefix_cache = NULL;
    struct bed_rows *without = run(&setup, &checked);
    size_t n_hits = 0;
    for (size_t i = 0; i < with->n_requests; i++) {
        const struct request_row *row = &with->requests[i], *other = bed_request(without, row->id);
        n_hits += row->cached_tokens > 0;
        CHECK(row->cached_tokens > 0 ? row->ttft_s < other->ttft_s : row->ttft_s <= other->ttft_s);
    }
    CHECK(n_hits > 50);
}

/* The second finds what the first left only where the first went. */
TEST(a_prefix_aware_router_finds_the_cached_prefix)
{
    struct setup setup = {"'lru'", "'vllm-v1'", "prefix-aware", SESSIONS ", 'rate_scale': 1e-3", 4, 200000};
    struct bed_rows *aware = run(&setup, &checked);
    setup.routing = "round-robin";
    struct bed_rows *blind = run(&setup, &checked);
    setup.replicas = 1;
    struct bed_rows *one = run(&setup, &checked);
    CHECK_EQ_INT(cached_tokens(aware), cached_tokens(one));
    CHECK(2 * cached_tokens(blind) < cached_tokens(one));
}

TEST(a_load_that_weighs_more_spreads_requests)
{
    struct setup setup = {"'lru'", "'vllm-v1'", "prefix-aware", SESSIONS ", 'rate_scale': 1", 4, 200000};
    static const char *const weights[] = {"services.trace.routing.load_weight=0", NULL};
    struct bed_rows *weighed = run(&setup, &checked);
    struct bed_rows *unweighed = run(&setup, &(struct bed_options){.sets = weights});
    CHECK_EQ_INT(unweighed->code, 0);
    CHECK(cached_tokens(unweighed) >= cached_tokens(weighed));
    CHECK(bed_metric(unweighed, "request.ttft_s.mean") > bed_metric(weighed, "request.ttft_s.mean"));
}

/* --- Pipelines, and prompts processed elsewhere --- */

static struct bed_rows *run_text(const char *services, const struct bed_options *options)
{
    return bed_run(
        options,
        "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, 'nodes': 4}, 'services': {'chat': {'llm': 'llama-3.1-8b',"
        " 'cost': 'roofline', %s}}}",
        services);
}

static void check_steps_of(const char *services)
{
    struct bed_rows *macro = run_text(services, &checked), *single = run_text(services, &stepped);
    CHECK_EQ_INT(macro->code, 0);
    CHECK(cached_tokens(macro) > 0);
    CHECK(bed_metric(macro, "prefix.evicted_blocks.sum") > 0);
    CHECK(bed_equal(macro, single));
}

TEST(pipelines_and_prefill_pools_cache_prefixes)
{
    check_steps_of("'pipeline_parallel': 2, 'batching': 'sarathi', 'kv': {'blocks': 3000, 'prefix_cache': 'lru'},"
                   "'trace': {" SESSIONS ", 'max_prompt_tokens': 8000}");
    check_steps_of("'pools': {'p': {'role': 'prefill'}, 'd': {'role': 'decode'}}, 'routing': 'prefix-aware',"
                   "'replicas': 2, 'kv': {'blocks': 3000, 'prefix_cache': 'lru'},"
                   "'trace': {" SESSIONS ", 'max_prompt_tokens': 8000, 'rate_scale': 0.5}");
}

/* --- Errors --- */

static void check_error(const struct setup *setup, const char *set, int code, const char *says)
{
    const char *const sets[] = {set, NULL};
    struct bed_rows *rows = run(setup, &(struct bed_options){.quiet = true, .sets = set != NULL ? sets : NULL});
    CHECK_EQ_INT(rows->code, code);
    if (CHECK(rows->diag.n_items > 0) && !CHECK(strstr(rows->diag.items[0].text, says) != NULL))
        printf("%s\n", rows->diag.items[0].text);
}

TEST(what_cannot_be_is_refused)
{
    struct setup setup = {"'belady'", "'vllm-v1'", "round-robin", SESSIONS, 1, 20000};
    check_error(&setup, NULL, SIM_E_CONFIG, "'belady' asks for the accesses that are still to come");
    setup.prefix_cache = "'lru'";
    check_error(&setup, "services.trace.kv.block_tokens=48", SIM_E_CONFIG, "no multiple of the 48 of its KV blocks");
    setup.prefix_cache = "'nothing'";
    check_error(&setup, NULL, SIM_E_CONFIG, "nothing");
}

/* Prompts of 90 tokens that begin with the same 80, one after the other: these are found, whatever the block. */
TEST(blocks_of_one_token_are_found)
{
    for (int block_tokens = 1; block_tokens <= 16; block_tokens *= 4) {
        const struct bed_rows *rows = bed_run(
            &checked,
            "{'cluster': {'gpu': 'h100-sxm'}, 'services': {'trace': {'llm': 'llama-3.1-8b', 'kv': {'blocks': 4000,"
            " 'block_tokens': %d, 'prefix_cache': 'lru'}, 'cost': 'roofline', 'batching': 'vllm-v1', 'trace': {'format':"
            " 'generate', 'count': 40, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution':"
            " 'fixed', 'tokens': 90}, 'output': {'distribution': 'fixed', 'tokens': 2}, 'sessions': {'block_tokens': 16,"
            " 'continue': 0.5, 'system_blocks': 5}}}}}",
            block_tokens);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum"), 39 * 80);
    }
}

TEST(a_cache_smaller_than_a_block_caches_nothing)
{
    struct setup setup = {
        "'lru'", "'vllm-v1'", "round-robin", SESSIONS ", 'max_prompt_tokens': 100, 'max_output_tokens': 100", 1, 31};
    struct bed_rows *rows = run(&setup, &checked);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(cached_tokens(rows), 0);
    CHECK_EQ_INT(bed_metric(rows, "request.finished"), 200);
}

/* Blocks of one token hold a token each, but for the one that each sequence is about to generate, and for prompts that
 * are being processed: wherever in a pipeline the sequence is. */
TEST(sequences_on_every_stage_hold_their_tokens)
{
    static const char *const policies[] = {"vllm-v0", "vllm-v1", "sarathi", "splitwise", "distserve"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        for (int stages = 1; stages <= 4; stages *= 2) {
            const struct bed_rows *rows = bed_run(
                &plain,
                "{'cluster': {'gpu': 'a100-80-sxm', 'gpus_per_node': 8}, 'services': {'trace': {'llm': 'opt-6.7b',"
                " 'kv': {'blocks': 30000, 'block_tokens': 1}, 'pipeline_parallel': %d, 'batching': '%s', 'cost':"
                " 'roofline', 'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson',"
                " 'rate': '20/s'}}}}}",
                stages, policies[i]);
            CHECK_EQ_INT(rows->code, 0);
            CHECK_NEAR(bed_metric(rows, "kv.waste_frac"), 0.025, 0.025);
        }
}

/* Blocks that several sequences share hold their tokens once, and those that wait between stages hold them too. */
TEST(shares_of_the_cache_are_shares_where_stages_batch_for_themselves)
{
    const struct bed_rows *rows = bed_run(
        &plain, "{'cluster': {'gpu': 'rtx-4090'}, 'until': '61s', 'services': {'a': {'llm': 'opt-6.7b', 'trace':"
                " {'format': 'generate', 'count': 6, 'prompt': {'distribution': 'fixed', 'tokens': 90}, 'sessions':"
                " {'block_tokens': 16, 'continue': 0.6155, 'system_blocks': 5}}, 'kv': {'blocks': 11, 'prefix_cache':"
                " 'fifo'}, 'pipeline_parallel': 2, 'batching': 'distserve', 'cost': {'kind': 'roofline',"
                " 'iteration_overhead': '10s'}}}}");
    const double held = bed_metric(rows, "kv.held_frac"), reserved = bed_metric(rows, "kv.reserved_frac");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(held > 0 && held <= reserved && reserved <= 1);
    CHECK_NEAR(bed_metric(rows, "kv.waste_frac"), 1 - held / reserved, 1e-12);
}
