/* Random sites with prefix stores, as Orrery reads them, and the comparison of what becomes of their requests. */
#include "tests/oracle/naive_store_cases.h"

#include "sim/core/text.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>

/* --- Random sites --- */

static struct naive_terms random_terms(struct rng *rng)
{
    return (struct naive_terms){naive_between(rng, 1000000, 20000000), naive_between(rng, 1000, 100000),
                                naive_between(rng, 1000, 500000), naive_between(rng, 0, 3000),
                                naive_between(rng, 0, 100)};
}

void store_random_site(struct store_scenario *s, struct rng *rng)
{
    s->replicas = naive_between(rng, 1, STORE_REPLICAS);
    s->max_sequences = naive_between(rng, 1, 5);
    s->kv_block = 1 << naive_between(rng, 1, 4);
    s->item = s->kv_block * naive_between(rng, 1, 3);
    s->drives = naive_between(rng, 1, 4);
    s->pcie = 0.3 + rng_uniform(rng) * (naive_one_in(rng, 2) ? 2 : 20);
    for (int place = 0; place < STORE_PLACES; place++) {
        s->capacity[place] = naive_between(rng, 1, place == 0 ? 60 : 300);
        s->through[place] = naive_one_in(rng, 2);
        s->shared[place] = naive_one_in(rng, 2);
    }
    s->prefill = random_terms(rng);
    s->decode = random_terms(rng);
    s->promotes = s->capacity[1] % 2 == 1; /* no draw, so that the other numbers stay */
}

void store_random_memory(struct store_scenario *s, struct rng *rng)
{
    int most = 0;
    for (int id = 0; id < s->n; id++) {
        const struct store_request *request = &s->requests[id];
        const int blocks = (request->prompt + request->output + s->kv_block - 1) / s->kv_block;
        if (blocks > most) most = blocks;
    }
    s->kv_blocks = most * s->max_sequences + naive_between(rng, 1, 20);
}

/* Little more memory than the longest request takes, so that some are preempted and few can be parked. Where prompts
 * come in chunks they are admitted as a whole: what a request needs then does not depend on what is stored. */
void store_random_v1(struct store_scenario *s, bool alone, struct rng *rng)
{
    const int most = (s->kv_blocks - 1) / s->max_sequences;
    s->is_v1 = true;
    s->max_sequences = naive_between(rng, 2, 8);
    s->alone = alone;
    s->full_prompt = naive_one_in(rng, 2);
    s->budget = s->full_prompt ? s->max_sequences + naive_between(rng, 1, 6 * s->item) : 1000000;
    s->kv_blocks = most + naive_between(rng, 1, most);
    if (s->full_prompt && naive_one_in(rng, 2)) s->long_prompt = naive_between(rng, 1, 2 * s->item);
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
    const char *more = place == 0 ? "" : s->promotes ? ", 'promote': 'always'" : ", 'promote': 'never'";
    text_printf(text, "'%s': {%s'capacity': '%lldB', 'write': '%s', 'scope': '%s'%s}", place == 0 ? "host" : "disk",
                place == 0 ? "" : "'device': 'drives', ",
                (long long)s->capacity[place] * s->item * (long long)NAIVE_TOKEN_BYTES,
                s->through[place] ? "through" : "back", s->shared[place] ? "shared" : "replica", more);
}

void store_write_scenario(const struct store_scenario *s, const char *format, const char *trace, struct text *text)
{
    text_printf(text,
                "{'cluster': {'gpu': 'a100-80-sxm', 'gpus_per_node': 8, 'nodes': 1, 'pcie': '%.17gGB/s', 'storage':"
                " {'drives': {'device': 'samsung-980-pro', 'count': %d}}}, 'services': {'s': {'llm': 'llama-2-7b',"
                " 'replicas': %d, 'routing': 'round-robin', 'batching': {",
                s->pcie, s->drives, s->replicas);
    if (s->is_v1)
        text_printf(text,
                    "'policy': 'vllm-v1', 'token_budget': %d, 'reserve_full_prompt': %s,"
                    " 'long_prefill_tokens': %d",
                    s->budget, s->full_prompt ? "true" : "false", s->long_prompt);
    else
        text_printf(text, "'policy': 'vllm-v0', 'watermark': 0, 'max_batched_tokens': 1000000");
    text_printf(
        text,
        ", 'max_sequences': %d}, 'kv': {'blocks': %d, 'block_tokens': %d, 'prefix_cache': 'lru', 'prefix_store':"
        " {'waits': '%s', 'promote': %s, 'tiers': {",
        s->max_sequences, s->kv_blocks, s->kv_block, s->alone ? "request" : "batch", s->promotes ? "false" : "true");
    add_tier(text, s, 0);
    text_printf(text, ", ");
    add_tier(text, s, 1);
    text_printf(text, "}}}, 'cost': {'kind': 'affine', ");
    add_terms(text, "prefill", &s->prefill);
    text_printf(text, ", ");
    add_terms(text, "decode", &s->decode);
    text_printf(text, "}, 'trace': {'format': '%s', 'block_tokens': %d, 'path': '%s'}}}}", format, s->item, trace);
}

/* --- Comparison --- */

static bool same(const struct store_scenario *s, const struct store_request *request, const struct request_row *row)
{
    return row != NULL && llrint(row->arrival_s * 1e9) == request->arrival_ns &&
           request->arrival_ns + llrint(row->ttft_s * 1e9) == request->first_ns &&
           request->arrival_ns + llrint(row->e2e_s * 1e9) == request->end_ns && row->replica == request->replica &&
           row->cached_tokens == (int64_t)request->hits * s->item && row->preemptions == request->preemptions;
}

void store_compare(const struct naive_store *naive, const struct bed_rows *rows, uint64_t seed, const char *text)
{
    static const char *const names[] = {"host", "disk"};
    const struct store_scenario *s = naive->s;
    for (int id = 0; id < s->n; id++) {
        const struct request_row *row = bed_request(rows, id);
        if (CHECK(same(s, &s->requests[id], row))) continue;
        if (row == NULL) return;
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
