/* Prefix stores against a naive simulator, one token at a time, that shares nothing with the engine: one or two
 * replicas that batch as vLLM v0 does, prompts with common prefixes, host memory and drives below GPU memory, written
 * through or back, of each replica or shared, and copies that share PCIe and drives by max-min fairness. On random
 * scenarios the first token and the end of every request are equal to the nanosecond, with its hits; also in single
 * steps. Memory is ample for what runs, so that nothing is preempted, and scarce for what is kept. */
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/oracle/naive_store.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdlib.h>

/* --- Random scenarios --- */

static struct naive_terms random_terms(struct rng *rng)
{
    return (struct naive_terms){naive_between(rng, 1000000, 20000000), naive_between(rng, 1000, 100000),
                                naive_between(rng, 1000, 500000), naive_between(rng, 0, 3000),
                                naive_between(rng, 0, 100)};
}

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
    for (int more = naive_between(rng, 0, 6); more > 0 && request->n_keys < STORE_MOST_BLOCKS - 1; more--)
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
    int n_keys = 0, most = 0;
    rng_init(&rng, seed, 0, "tiers", 0);
    memset(s, 0, sizeof *s);
    s->n = naive_between(&rng, 10, STORE_REQUESTS);
    s->replicas = naive_between(&rng, 1, STORE_REPLICAS);
    s->max_sequences = naive_between(&rng, 1, 5);
    s->kv_block = 1 << naive_between(&rng, 1, 4);
    s->item = s->kv_block * naive_between(&rng, 1, 3);
    s->drives = naive_between(&rng, 1, 4);
    s->pcie = 0.3 + rng_uniform(&rng) * (naive_one_in(&rng, 2) ? 2 : 20);
    for (int place = 0; place < STORE_PLACES; place++) {
        s->capacity[place] = naive_between(&rng, 1, place == 0 ? 60 : 300);
        s->through[place] = naive_one_in(&rng, 2);
        s->shared[place] = naive_one_in(&rng, 2);
    }
    s->prefill = random_terms(&rng);
    s->decode = random_terms(&rng);
    const double gap_ms = 5 + rng_uniform(&rng) * 300;
    for (int id = 0; id < s->n; id++) {
        struct store_request *request = &s->requests[id];
        at_ms += (int64_t)rng_exponential(&rng, gap_ms);
        request->arrival_ns = at_ms * 1000000;
        random_prompt(&rng, s, id, &n_keys);
        const int blocks = (request->prompt + request->output + s->kv_block - 1) / s->kv_block;
        if (blocks > most) most = blocks;
    }
    s->kv_blocks = most * s->max_sequences + naive_between(&rng, 1, 20);
}

/* --- The same for Orrery --- */

static void add_terms(struct text *text, const char *phase, const struct naive_terms *terms)
{
    text_printf(text, "'%s': {'fixed': '%.0fns', 'per_token': '%.0fns', 'per_sequence': '%.0fns',", phase, terms->fixed,
                terms->token, terms->sequence);
    text_printf(text, " 'per_context_token': '%.0fns', 'per_pair': '%.0fns'}", terms->context, terms->pair);
}

static void add_tier(struct text *text, const struct store_scenario *s, int place)
{
    text_printf(text, "'%s': {%s'capacity': '%lldB', 'write': '%s', 'scope': '%s'}", place == 0 ? "host" : "disk",
                place == 0 ? "" : "'device': 'drives', ",
                (long long)s->capacity[place] * s->item * (long long)NAIVE_TOKEN_BYTES,
                s->through[place] ? "through" : "back", s->shared[place] ? "shared" : "replica");
}

static void write_scenario(const struct store_scenario *s, const char *trace, struct text *text)
{
    text_printf(text,
                "{'cluster': {'gpu': 'a100-80-sxm', 'gpus_per_node': 8, 'nodes': 1, 'pcie': '%.17gGB/s', 'storage':"
                " {'drives': {'device': 'samsung-980-pro', 'count': %d}}}, 'services': {'s': {'llm': 'llama-2-7b',"
                " 'replicas': %d, 'routing': 'round-robin', 'batching': {'policy': 'vllm-v0', 'watermark': 0,"
                " 'max_sequences': %d}, 'kv': {'blocks': %d, 'block_tokens': %d, 'prefix_cache': 'lru', 'prefix_store':"
                " {'tiers': {",
                s->pcie, s->drives, s->replicas, s->max_sequences, s->kv_blocks, s->kv_block);
    add_tier(text, s, 0);
    text_printf(text, ", ");
    add_tier(text, s, 1);
    text_printf(text, "}}}, 'cost': {'kind': 'affine', ");
    add_terms(text, "prefill", &s->prefill);
    text_printf(text, ", ");
    add_terms(text, "decode", &s->decode);
    text_printf(text, "}, 'trace': {'format': 'mooncake', 'block_tokens': %d, 'path': '%s'}}}}", s->item, trace);
}

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

/* --- Comparison --- */

static bool same(const struct store_scenario *s, const struct store_request *request, const struct request_row *row)
{
    return row != NULL && request->arrival_ns + llrint(row->ttft_s * 1e9) == request->first_ns &&
           request->arrival_ns + llrint(row->e2e_s * 1e9) == request->end_ns && row->replica == request->replica &&
           row->cached_tokens == (int64_t)request->hits * s->item;
}

static void compare(const struct naive_store *naive, const struct bed_rows *rows, uint64_t seed, const char *text)
{
    static const char *const names[] = {"host", "disk"};
    const struct store_scenario *s = naive->s;
    for (int id = 0; id < s->n; id++) {
        const struct request_row *row = bed_request(rows, id);
        if (CHECK(same(s, &s->requests[id], row))) continue;
        printf("seed %d request %d: first %lld end %lld hits %d, naive %lld %lld %d\n%s\n", (int)seed, id,
               (long long)(s->requests[id].arrival_ns + llrint(row->ttft_s * 1e9)),
               (long long)(s->requests[id].arrival_ns + llrint(row->e2e_s * 1e9)), (int)row->cached_tokens / s->item,
               (long long)s->requests[id].first_ns, (long long)s->requests[id].end_ns, s->requests[id].hits, text);
        return;
    }
    for (int place = 0; place < STORE_PLACES; place++) {
        char metric[64];
        snprintf(metric, sizeof metric, "store.loaded_blocks.sum[%s]", names[place]);
        CHECK_EQ_INT(bed_metric(rows, metric), naive->loaded[place]);
        snprintf(metric, sizeof metric, "store.written_bytes.sum[%s]", names[place]);
        CHECK_EQ_INT(bed_metric(rows, metric), (double)naive->written[place] * naive_store_item_bytes(naive));
        snprintf(metric, sizeof metric, "store.evicted_blocks.sum[%s]", names[place]);
        CHECK_EQ_INT(bed_metric(rows, metric), naive->evicted[place]);
    }
}

TEST(stores_serve_as_the_naive_simulator_does)
{
    static struct naive_store naive;
    static struct store_scenario s;
    int64_t loaded[STORE_PLACES] = {0}, evicted[STORE_PLACES] = {0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        SCOPED(text) text = {0};
        char trace[512];
        random_scenario(&s, seed);
        snprintf(trace, sizeof trace, "%s/trace.jsonl", test_tmpdir());
        write_trace(&s, trace);
        write_scenario(&s, trace, &text);
        struct bed_rows *macro = bed_run(BED(.check = seed % 4 == 0), "%s", text.chars);
        struct bed_rows *single = bed_run(BED(.single_step = true, .queue = QUEUE_HEAP), "%s", text.chars);
        CHECK_EQ_INT(macro->code, 0);
        naive_store_simulate(&naive, &s);
        compare(&naive, macro, seed, text.chars);
        CHECK(bed_equal(macro, single));
        for (int place = 0; place < STORE_PLACES; place++) {
            loaded[place] += naive.loaded[place];
            evicted[place] += naive.evicted[place];
        }
        bed_free(macro);
        bed_free(single);
    }
    for (int place = 0; place < STORE_PLACES; place++) CHECK(loaded[place] > 500 && evicted[place] > 500);
}
