/* The serving world against the naive simulator (naive_serving.c) in random small scenarios: the first token and the
 * end of every request to the nanosecond, the replica it went to, its preemptions; and the same bytes when every
 * boundary is visited. Costs are whole nanoseconds, so no time is rounded on either side. */
#include "tests/oracle/naive_serving.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { MAX_CONTEXT = 4096, TOKEN_BYTES = 2 * 32 * 4096 * 2 }; /* of the LLM in the scenarios; the KV of a token */

/* --- Random scenarios --- */

static int between(struct rng *rng, int low, int high)
{
    return low + (int)rng_below(rng, (uint64_t)(high - low + 1));
}

static bool one_in(struct rng *rng, int n)
{
    return rng_below(rng, (uint64_t)n) == 0;
}

static struct naive_terms random_terms(struct rng *rng)
{
    return (struct naive_terms){.fixed = between(rng, 1, 9000000), .token = between(rng, 0, 50000),
                                .sequence = between(rng, 0, 20000), .context = between(rng, 0, 300),
                                .pair = between(rng, 0, 9)}; /* whole nanoseconds */
}

/* Alone, in bursts, and two at the same time. */
static void random_requests(struct naive_scenario *s, struct rng *rng)
{
    int64_t now_ns = 0;
    double gap_ms = rng_uniform(rng) * 60;
    bool burst = one_in(rng, 4);
    int longest = between(rng, 1, 150);
    s->n = between(rng, 1, 60);
    for (int i = 0; i < s->n; i++) {
        if (!burst && !one_in(rng, 5)) now_ns += (int64_t)(rng_exponential(rng, gap_ms) * 1e6);
        s->requests[i] = (struct naive_request){.arrival_ns = now_ns, .prompt = between(rng, 1, longest),
                                                .output = one_in(rng, 6) ? 1 : between(rng, 1, 60)};
    }
}

static void random_scenario(struct naive_scenario *s, enum naive_kind kind, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, (uint32_t)kind, "differential", 0);
    memset(s, 0, sizeof *s);
    s->kind = kind;
    random_requests(s, &rng);
    s->routing = (enum naive_routing)between(&rng, NAIVE_ROUND_ROBIN, NAIVE_GIVEN);
    s->replicas = one_in(&rng, 2) ? 1 : between(&rng, 1, 4);
    s->stages = one_in(&rng, 2) ? 1 : between(&rng, 2, NAIVE_STAGES);
    s->block_tokens = one_in(&rng, 3) ? 1 : one_in(&rng, 3) ? between(&rng, 2, 32) : 16;
    s->blocks = (one_in(&rng, 2) ? between(&rng, 100, 260) : between(&rng, 200, 2000)) / s->block_tokens + 2;
    s->max_sequences = between(&rng, 1, 40);
    s->max_tokens = between(&rng, kind == NAIVE_VLLM_V0 ? 8 : s->max_sequences, 400);
    s->reservation = (enum naive_reservation)between(&rng, NAIVE_MAX, NAIVE_ORACLE);
    s->max_context = MAX_CONTEXT;
    s->watermark_blocks = one_in(&rng, 2) ? 0 : (int64_t)rng_below(&rng, (uint64_t)s->blocks / 4 + 1);
    s->padded = one_in(&rng, 2);
    s->prefill = random_terms(&rng);
    s->decode = random_terms(&rng);
}

/* --- The same scenario as Orrery reads it --- */

static void add_terms(struct text *text, const char *phase, const struct naive_terms *terms, int stages)
{
    text_printf(text, "'%s': {'fixed': '%.0fns', 'per_token': '%.0fns', 'per_sequence': '%.0fns',", phase,
                terms->fixed * stages, terms->token * stages, terms->sequence * stages);
    text_printf(text, " 'per_context_token': '%.0fns', 'per_pair': '%.0fns'}", terms->context * stages,
                terms->pair * stages);
}

static void add_batching(struct text *text, const struct naive_scenario *s)
{
    static const char *const policies[] = {[NAIVE_VLLM_V0] = "vllm-v0",
                                           [NAIVE_VLLM_V1] = "vllm-v1",
                                           [NAIVE_SARATHI] = "sarathi",
                                           [NAIVE_ORCA] = "orca",
                                           [NAIVE_FASTER_TRANSFORMER] = "fastertransformer"};
    static const char *const tokens[] = {[NAIVE_VLLM_V0] = "max_batched_tokens",
                                         [NAIVE_VLLM_V1] = "token_budget",
                                         [NAIVE_SARATHI] = "token_budget",
                                         [NAIVE_ORCA] = "max_tokens",
                                         [NAIVE_FASTER_TRANSFORMER] = "max_tokens"};
    static const char *const reservations[] = {"max", "pow2", "oracle"};
    double watermark = s->watermark_blocks > 0 ? ((double)s->watermark_blocks + 0.5) / (double)s->blocks : 0;
    text_printf(text, "'batching': {'policy': '%s', 'max_sequences': %d, '%s': %d", policies[s->kind], s->max_sequences,
                tokens[s->kind], s->max_tokens);
    if (s->kind == NAIVE_VLLM_V0)
        text_printf(text, ", 'padded': %s, 'preemption': '%s'", s->padded ? "true" : "false",
                    s->swap ? "swap" : "recompute");
    if (s->kind == NAIVE_VLLM_V0 || s->kind == NAIVE_SARATHI) text_printf(text, ", 'watermark': %.15f", watermark);
    if (s->kind == NAIVE_ORCA || s->kind == NAIVE_FASTER_TRANSFORMER)
        text_printf(text, ", 'reservation': '%s'", reservations[s->reservation]);
    text_printf(text, "}, ");
}

/* Chance and the KV cache are for the engine alone to know: it gives its choice to the naive simulator. */
static const char *routing_of(const struct naive_scenario *s)
{
    static const char *const given[] = {"'random'", "'power-of-two'", "'least-kv'"};
    switch (s->routing) {
    case NAIVE_ROUND_ROBIN: return "'round-robin'";
    case NAIVE_LEAST_OUTSTANDING: return "'least-outstanding'";
    case NAIVE_LEAST_WAITING: return "{'policy': 'least-outstanding', 'count': 'queued'}";
    case NAIVE_LEAST_TOKENS: return "'jsq-tokens'";
    case NAIVE_GIVEN: return given[s->n % 3];
    }
    return "";
}

/* Prompts in one pool, decoding in another. */
static void add_pools(struct text *text, const struct naive_scenario *s)
{
    text_printf(
        text,
        "'pools': {'prompts': {'role': 'prefill', 'replicas': %d}, 'tokens': {'role': 'decode', 'replicas': %d}}, ",
        s->prefill_replicas, s->replicas - s->prefill_replicas);
    text_printf(text,
                "'decode_routing': 'least-outstanding', 'kv_transfer': {'start': '%s', 'bandwidth': '%.17gB/s'}, ",
                s->push ? "push" : "pull", TOKEN_BYTES * 1e9 / s->kv_token_ns);
}

static void write_scenario(const struct naive_scenario *s, const char *trace, struct text *text)
{
    text_printf(text, "{'cluster': {'nodes': 1, 'gpus_per_node': 24, 'gpu': 'a100-80-sxm'");
    if (s->swap)
        text_printf(text, ", 'pcie': '%.17gB/s'",
                    TOKEN_BYTES * 1e9 * s->block_tokens / (double)(s->copy_block_ns * s->stages));
    text_printf(text, "}, 'services': {'s': {");
    text_printf(text, "'llm': 'llama-2-7b', 'pipeline_parallel': %d, 'routing': %s, ", s->stages, routing_of(s));
    if (s->prefill_replicas > 0)
        add_pools(text, s);
    else
        text_printf(text, "'replicas': %d, ", s->replicas);
    text_printf(text, "'kv': {'blocks': %lld, 'block_tokens': %d}, ", (long long)s->blocks, s->block_tokens);
    add_batching(text, s);
    text_printf(text, "'cost': {'kind': 'affine', ");
    add_terms(text, "prefill", &s->prefill, s->stages);
    text_printf(text, ", ");
    add_terms(text, "decode", &s->decode, s->stages);
    text_printf(text, "}, 'trace': {'format': 'csv', 'path': '%s'}}}}", trace);
}

static void write_trace(const struct naive_scenario *s, const char *path)
{
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fprintf(file, "arrival_s,prompt_tokens,output_tokens\n");
    for (int i = 0; i < s->n; i++)
        fprintf(file, "%lld.%09lld,%d,%d\n", (long long)(s->requests[i].arrival_ns / 1000000000),
                (long long)(s->requests[i].arrival_ns % 1000000000), s->requests[i].prompt, s->requests[i].output);
    fclose(file);
}

/* --- Comparison --- */

static int64_t ns_after(int64_t arrival_ns, double seconds)
{
    return isnan(seconds) ? -1 : arrival_ns + llrint(seconds * 1e9);
}

static bool same(const struct naive_request *request, const struct naive_outcome *naive, const struct request_row *row,
                 char *text, size_t n_chars)
{
    if (row == NULL) {
        snprintf(text, n_chars, "has no row");
        return false;
    }
    int64_t first_ns = ns_after(request->arrival_ns, row->ttft_s), end_ns = ns_after(request->arrival_ns, row->e2e_s);
    snprintf(text, n_chars, "%s first %lld end %lld replica %d preemptions %d, naive %d: %lld %lld %d %d", row->status,
             (long long)first_ns, (long long)end_ns, (int)row->replica, (int)row->preemptions, naive->rejected,
             (long long)naive->first_ns, (long long)naive->end_ns, naive->replica, naive->preemptions);
    return first_ns == naive->first_ns && end_ns == naive->end_ns && row->replica == naive->replica &&
           row->preemptions == naive->preemptions && (strcmp(row->status, "rejected") == 0) == naive->rejected;
}

struct totals {
    int64_t requests, preemptions, rejections;
};

static bool compare(const struct naive_scenario *s, const struct naive_outcome *outcomes, const struct bed_rows *rows,
                    uint64_t seed, struct totals *totals)
{
    CHECK_EQ_INT(rows->n_requests, s->n);
    for (int i = 0; i < s->n; i++) {
        char text[256], told[400];
        totals->requests++;
        totals->preemptions += outcomes[i].preemptions;
        totals->rejections += outcomes[i].rejected;
        if (same(&s->requests[i], &outcomes[i], bed_request(rows, i), text, sizeof text)) continue;
        snprintf(told, sizeof told, "seed %d request %d: %s", (int)seed, i, text);
        return test_check(false, told, __FILE__, __LINE__);
    }
    return true;
}

static void check_scenario(struct naive_scenario *s, uint64_t seed, struct totals *totals)
{
    static struct naive_outcome outcomes[NAIVE_REQUESTS];
    SCOPED(text) text = {0};
    char trace[512];
    snprintf(trace, sizeof trace, "%s/trace.csv", test_tmpdir());
    write_trace(s, trace);
    write_scenario(s, trace, &text);
    struct bed_rows *macro = bed_run(BED(.check = true), "%s", text.chars);
    struct bed_rows *single = bed_run(BED(.single_step = true, .queue = QUEUE_HEAP), "%s", text.chars);
    CHECK_EQ_INT(macro->code, 0);
    for (int i = 0; i < s->n; i++) {
        const struct request_row *row = bed_request(macro, i);
        s->requests[i].replica = row != NULL ? (int)row->replica : -1;
    }
    MUST(naive_serve(s, outcomes) >= 0);
    if (!compare(s, outcomes, macro, seed, totals) || !CHECK(bed_equal(macro, single))) {
        FILE *file = fopen("build/differential.json", "w");
        test_quotes(text.chars);
        if (file != NULL) fprintf(file, "%s\n", text.chars), fclose(file);
    }
    bed_free(macro);
    bed_free(single);
}

/* vLLM v0 that moves the KV of the preempted over a PCIe link, a block in a whole number of nanoseconds. */
static void check_swapping(int scenarios, struct totals *totals)
{
    static struct naive_scenario s;
    *totals = (struct totals){0};
    for (int seed = 0; seed < scenarios; seed++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)seed, 0, "swapping", 0);
        random_scenario(&s, NAIVE_VLLM_V0, (uint64_t)seed + 1000);
        s.swap = true;
        s.stages = 1; /* batches in flight would share the links, which the naive simulator does not know */
        s.copy_block_ns = s.block_tokens * between(&rng, 8, 100000);
        check_scenario(&s, (uint64_t)seed, totals);
    }
}

/* Prompts processed at some replicas, decoding at others; KV moves a token in a whole number of nanoseconds. */
static void check_disaggregated(int scenarios, struct totals *totals)
{
    static struct naive_scenario s;
    *totals = (struct totals){0};
    for (int seed = 0; seed < scenarios; seed++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)seed, 0, "disaggregation", 0);
        random_scenario(&s, (enum naive_kind)(seed % 3), (uint64_t)seed + 2000);
        s.prefill_replicas = between(&rng, 1, 3);
        s.replicas = s.prefill_replicas + between(&rng, 1, 3);
        if (s.kind == NAIVE_VLLM_V1) s.watermark_blocks = 0; /* it has none */
        s.routing = NAIVE_LEAST_OUTSTANDING;
        s.push = one_in(&rng, 2);
        s.kv_token_ns = between(&rng, 1, 200000);
        check_scenario(&s, (uint64_t)seed, totals);
    }
}

static void check_kind(enum naive_kind kind, int scenarios, struct totals *totals)
{
    static struct naive_scenario s;
    *totals = (struct totals){0};
    for (int seed = 0; seed < scenarios; seed++) {
        random_scenario(&s, kind, (uint64_t)seed);
        check_scenario(&s, (uint64_t)seed, totals);
    }
}

/* A prompt of 10 and 3 tokens alone: 100 + 10 * 1 + 7, then 50 + 7 + 2 * context, with contexts 11 and 12. */
TEST(one_request_by_hand)
{
    static struct naive_scenario s = {.replicas = 1, .stages = 1, .block_tokens = 4, .max_sequences = 8,
                                      .max_tokens = 100, .max_context = 100, .blocks = 30,
                                      .prefill = {.fixed = 100, .token = 1, .sequence = 7},
                                      .decode = {.fixed = 50, .sequence = 7, .context = 2},
                                      .n = 1, .requests = {{.arrival_ns = 5, .prompt = 10, .output = 3}}};
    for (int stages = 1; stages <= 3; stages++)
        for (int kind = NAIVE_VLLM_V0; kind <= NAIVE_FASTER_TRANSFORMER; kind++) {
            struct naive_outcome outcome;
            s.kind = (enum naive_kind)kind;
            s.stages = stages;
            CHECK_EQ_INT(naive_serve(&s, &outcome), 3);
            CHECK_EQ_INT(outcome.first_ns, 5 + 117 * stages);
            CHECK_EQ_INT(outcome.end_ns, 5 + (117 + 79 + 81) * stages);
        }
}

/* Two prompts of 4 in blocks of 4, of which there are 3: the second has to go when the first needs its second block,
 * and comes back with 5 tokens to process. Every iteration takes 1 ns. */
TEST(a_preemption_by_hand)
{
    static struct naive_scenario s = {.replicas = 1, .stages = 1, .block_tokens = 4, .max_sequences = 8,
                                      .max_tokens = 100, .max_context = 100, .blocks = 3, .prefill = {.fixed = 1},
                                      .decode = {.fixed = 1},
                                      .n = 2, .requests = {{.prompt = 4, .output = 4}, {.prompt = 4, .output = 4}}};
    struct naive_outcome outcomes[2];
    s.kind = NAIVE_VLLM_V1;
    CHECK_EQ_INT(naive_serve(&s, outcomes), 7);
    CHECK_EQ_INT(outcomes[0].end_ns, 4);
    CHECK_EQ_INT(outcomes[1].first_ns, 1);
    CHECK_EQ_INT(outcomes[1].preemptions, 1);
    CHECK_EQ_INT(outcomes[1].end_ns, 7); /* 5 tokens again at 4..5, giving the second; then two more */
}

/* Two prompts of 4 in blocks of 4, of which there are 4; iterations take 1 ns, copies none. At 2 both have two blocks
 * and none is free, so the second goes to the host. At 3 its two blocks are free, but not a third, though its last one
 * has room: it waits until the first has ended at 4. */
TEST(a_swap_by_hand)
{
    static struct naive_scenario s = {.kind = NAIVE_VLLM_V0, .swap = true, .replicas = 1, .stages = 1, .block_tokens = 4,
                                      .max_sequences = 8, .max_tokens = 100, .max_context = 100, .blocks = 4,
                                      .prefill = {.fixed = 1}, .decode = {.fixed = 1},
                                      .n = 2, .requests = {{.prompt = 4, .output = 4}, {.prompt = 4, .output = 4}}};
    struct naive_outcome outcomes[2];
    CHECK_EQ_INT(naive_serve(&s, outcomes), 6);
    CHECK_EQ_INT(outcomes[0].end_ns, 4);
    CHECK_EQ_INT(outcomes[1].preemptions, 1);
    CHECK_EQ_INT(outcomes[1].end_ns, 6);
}

/* One sequence at most, two stages of 1 ns, two prompts of one token: the bound is of a batch in Orca, where the second
 * batch follows in the pipeline, and of the replica in the others. */
TEST(one_sequence_in_two_stages)
{
    static const int second_ends_ns[] = {[NAIVE_VLLM_V0] = 4,
                                         [NAIVE_VLLM_V1] = 4,
                                         [NAIVE_SARATHI] = 4,
                                         [NAIVE_ORCA] = 3,
                                         [NAIVE_FASTER_TRANSFORMER] = 4};
    static struct naive_scenario s = {.replicas = 1, .stages = 2, .block_tokens = 4, .max_sequences = 1, .max_tokens = 100,
                                      .max_context = MAX_CONTEXT, .blocks = 100, .prefill = {.fixed = 1},
                                      .decode = {.fixed = 1},
                                      .n = 2, .requests = {{.prompt = 4, .output = 1}, {.prompt = 4, .output = 1}}};
    for (int kind = NAIVE_VLLM_V0; kind <= NAIVE_FASTER_TRANSFORMER; kind++) {
        struct naive_outcome outcomes[2];
        struct totals totals = {0};
        s.kind = (enum naive_kind)kind;
        CHECK_EQ_INT(naive_serve(&s, outcomes), 2);
        CHECK_EQ_INT(outcomes[0].end_ns, 2);
        CHECK_EQ_INT(outcomes[1].end_ns, second_ends_ns[kind]);
        check_scenario(&s, 0, &totals);
    }
}

TEST(vllm_v0)
{
    struct totals totals;
    check_kind(NAIVE_VLLM_V0, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300 && totals.rejections > 20);
}

TEST(vllm_v0_swapping)
{
    struct totals totals;
    check_swapping(60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300);
}

TEST(disaggregation)
{
    struct totals totals;
    check_disaggregated(200, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 100);
}

TEST(vllm_v1)
{
    struct totals totals;
    check_kind(NAIVE_VLLM_V1, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300);
}

TEST(sarathi)
{
    struct totals totals;
    check_kind(NAIVE_SARATHI, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300);
}

TEST(orca)
{
    struct totals totals;
    check_kind(NAIVE_ORCA, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions == 0 && totals.rejections > 20);
}

TEST(faster_transformer)
{
    struct totals totals;
    check_kind(NAIVE_FASTER_TRANSFORMER, 30, &totals);
    CHECK(totals.requests > 500 && totals.preemptions == 0);
}
