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
    struct bed_rows *macro = bed_run(BED(.check = seed % 4 == 0), "%s", text.chars);
    struct bed_rows *single = bed_run(BED(.single_step = true, .queue = QUEUE_HEAP), "%s", text.chars);
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

TEST(stores_serve_as_the_naive_simulator_does)
{
    static struct store_scenario s;
    struct sums sums = {0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        random_scenario(&s, seed);
        compare_scenario(&s, seed, &sums);
    }
    for (int place = 0; place < STORE_PLACES; place++) CHECK(sums.loaded[place] > 500 && sums.evicted[place] > 500);
    CHECK(sums.promoted > 200);
}

/* Under vLLM v1, where requests are preempted. In three of four scenarios requests wait for their loads alone. */
TEST(requests_wait_for_loads_as_in_the_naive_simulator)
{
    static struct store_scenario s;
    struct sums sums = {0};
    for (uint64_t seed = 100; seed < 220; seed++) {
        struct rng rng;
        rng_init(&rng, seed, 0, "vllm v1", 0);
        random_scenario(&s, seed);
        store_random_v1(&s, seed % 4 != 0, &rng);
        compare_scenario(&s, seed, &sums);
    }
    for (int place = 0; place < STORE_PLACES; place++) CHECK(sums.loaded[place] > 500 && sums.evicted[place] > 500);
    CHECK(sums.preempted > 200 && sums.parked > 500);
    CHECK(sums.found_coming > 40);
}
