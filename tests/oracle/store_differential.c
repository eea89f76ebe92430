/* Prefix stores against a naive simulator, one token at a time, that shares nothing with the engine: one or two
 * replicas that batch as vLLM v0 does, prompts with common prefixes, host memory and drives below GPU memory, written
 * through or back, of each replica or shared, and copies that share PCIe and drives by max-min fairness. On random
 * scenarios the first token and the end of every request are equal to the nanosecond, with its hits; also in single
 * steps. Memory is ample for what runs, so that nothing is preempted, and scarce for what is kept. */
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/oracle/naive_store_cases.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdlib.h>

enum { MOST_BLOCKS = 24 };

/* --- Random scenarios --- */

/* A prompt goes on from an earlier one, or from one of a few beginnings. */
static void random_prompt(struct rng *rng, struct store_scenario *s, int id, int *n_keys)
{
    struct store_request *request = &s->requests[id];
    if (id > 0 && !naive_one_in(rng, 4)) {
        const struct store_request *before = &s->requests[naive_between(rng, 0, id - 1)];
        request->n_keys = before->prompt / s->item; /* its full blocks */
        if (naive_one_in(rng, 3)) request->n_keys = naive_between(rng, 0, request->n_keys);
        memcpy(request->keys, before->keys, sizeof request->keys);
    }
    for (int more = naive_between(rng, 0, 6); more > 0 && request->n_keys < MOST_BLOCKS - 1; more--)
        request->keys[request->n_keys++] = (*n_keys)++;
    request->prompt = request->n_keys * s->item + (naive_one_in(rng, 3) ? 0 : naive_between(rng, 1, s->item - 1));
    if (request->prompt == 0) request->prompt = 1;
    if (request->prompt > request->n_keys * s->item) request->keys[request->n_keys++] = (*n_keys)++;
    request->output = naive_one_in(rng, 8) ? 1 : naive_between(rng, 2, 60);
}

static void random_scenario(struct store_scenario *s, uint64_t seed)
{
    struct rng rng;
    int64_t at_ms = 0;
    int n_keys = 0;
    rng_init(&rng, seed, 0, "tiers", 0);
    memset(s, 0, sizeof *s);
    s->n = naive_between(&rng, 10, STORE_REQUESTS);
    store_random_site(s, &rng);
    const double gap_ms = 5 + rng_uniform(&rng) * 300;
    for (int id = 0; id < s->n; id++) {
        struct store_request *request = &s->requests[id];
        at_ms += (int64_t)rng_exponential(&rng, gap_ms);
        request->arrival_ns = at_ms * 1000000;
        request->parent = request->join = -1;
        random_prompt(&rng, s, id, &n_keys);
    }
    store_random_memory(s, &rng);
}

/* --- The same for Orrery --- */

static void write_trace(const struct store_scenario *s, const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    for (int id = 0; id < s->n; id++) {
        const struct store_request *request = &s->requests[id];
        fprintf(file, "{\"timestamp\": %lld, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [",
                (long long)request->arrival_ns / 1000000, request->prompt, request->output);
        for (int i = 0; i < request->n_keys; i++) fprintf(file, "%s%d", i > 0 ? ", " : "", request->keys[i]);
        fprintf(file, "]}\n");
    }
    fclose(file);
}

struct sums {
    int64_t loaded[STORE_PLACES], evicted[STORE_PLACES], promoted, preempted, parked, found_coming;
};

static void compare_scenario(struct store_scenario *s, uint64_t seed, struct sums *sums)
{
    static struct naive_store naive;
    SCOPED(text) text = {0};
    char trace[512];
    snprintf(trace, sizeof trace, "%s/trace.jsonl", test_tmpdir());
    write_trace(s, trace);
    store_write_scenario(s, "mooncake", trace, &text);
    struct bed_rows *macro = bed_run(BED(.check = seed % 4 == 0, .quiet = true), "%s", text.chars);
    struct bed_rows *single = bed_run(BED(.single_step = true, .queue = QUEUE_HEAP, .quiet = true), "%s", text.chars);
    CHECK_EQ_INT(macro->code, 0);
    naive_store_simulate(&naive, s);
    store_compare(&naive, macro, seed, text.chars);
    CHECK(bed_equal(macro, single));
    for (int place = 0; place < STORE_PLACES; place++) {
        sums->loaded[place] += naive.loaded[place];
        sums->evicted[place] += naive.evicted[place];
    }
    for (int id = 0; id < s->n; id++) sums->preempted += s->requests[id].preemptions;
    sums->promoted += naive.promoted;
    sums->parked += naive.parked;
    sums->found_coming += naive.found_coming;
    bed_free(macro);
    bed_free(single);
}

TEST_SIZED(stores_serve_as_the_naive_simulator_does)
{
    static struct store_scenario s;
    struct sums sums = {0};
    for (uint64_t seed = 0; seed < (uint64_t)test_part(100); seed++) {
        random_scenario(&s, seed);
        compare_scenario(&s, seed, &sums);
    }
    for (int place = 0; place < STORE_PLACES; place++)
        CHECK_WHOLE(sums.loaded[place] > 500 && sums.evicted[place] > 500);
    CHECK_WHOLE(sums.promoted > 200);
}

/* Under vLLM v1, where requests are preempted. In three of four scenarios requests wait for their loads alone. */
TEST_SIZED(requests_wait_for_loads_as_in_the_naive_simulator)
{
    static struct store_scenario s;
    struct sums sums = {0};
    for (uint64_t seed = 100; seed < 100 + (uint64_t)test_part(120); seed++) {
        struct rng rng;
        rng_init(&rng, seed, 0, "vllm v1", 0);
        random_scenario(&s, seed);
        store_random_v1(&s, seed % 4 != 0, &rng);
        compare_scenario(&s, seed, &sums);
    }
    for (int place = 0; place < STORE_PLACES; place++)
        CHECK_WHOLE(sums.loaded[place] > 500 && sums.evicted[place] > 500);
    CHECK_WHOLE(sums.preempted > 200 && sums.parked > 500);
    CHECK_WHOLE(sums.found_coming > 40);
}

/* --- By hand --- */

static void add_request(struct store_scenario *s, int at_ms, int prompt, int output, const int *keys, int n_keys)
{
    struct store_request *request = &s->requests[s->n++];
    *request = (struct store_request){.prompt = prompt, .output = output, .n_keys = n_keys, .parent = -1, .join = -1};
    request->arrival_ns = at_ms * INT64_C(1000000);
    memcpy(request->keys, keys, (size_t)n_keys * sizeof *keys);
}

/* Host memory has block 2 and no longer block 1 before it: 2 was loaded behind a hit, so 1 was used less recently when
 * block 5 came. Of two prompts that come at once the first computes block 1. The second shares it, and computes 2:
 * what lies behind blocks that are just scheduled is not loaded by a request that waits alone. */
TEST(nothing_is_loaded_alone_behind_scheduled_blocks)
{
    static struct store_scenario s;
    struct sums sums = {0};
    s = (struct store_scenario){.replicas = 1, .max_sequences = 4, .kv_block = 4, .item = 4, .kv_blocks = 4, .drives = 1,
                                .capacity = {2, 1}, .through = {true, true}, .is_v1 = true, .alone = true,
                                .budget = 1000000, .pcie = 1, .prefill = {.fixed = 10000000},
                                .decode = {.fixed = 10000000}};
    add_request(&s, 0, 8, 1, (const int[]){1, 2}, 2);
    add_request(&s, 1000, 3, 10, (const int[]){3}, 1); /* GPU memory evicts 2 */
    add_request(&s, 2000, 9, 1, (const int[]){1, 2, 4}, 3);
    add_request(&s, 3000, 4, 13, (const int[]){5}, 1); /* GPU memory evicts all, host memory 1 */
    add_request(&s, 5000, 8, 1, (const int[]){1, 7}, 2);
    add_request(&s, 5000, 9, 1, (const int[]){1, 2, 8}, 3);
    compare_scenario(&s, 0, &sums);
    CHECK_EQ_INT(sums.loaded[0], 1);
    CHECK_EQ_INT(sums.parked, 1);
    CHECK_EQ_INT(s.requests[5].hits, 1);
    CHECK_EQ_INT(s.requests[5].first_ns, s.requests[4].first_ns);
}
