/* The serving world against the naive simulator (naive_serving.c) in random small scenarios: the first token and the
 * end of every request to the nanosecond, the replica it went to, its preemptions; and the same bytes when every
 * boundary is visited. Costs are whole nanoseconds, so no time is rounded on either side. */
#include "tests/oracle/naive_cases.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* vLLM v0 that moves the KV of the preempted over a PCIe link, a block in a whole number of nanoseconds. */
static void check_swapping(int scenarios, struct naive_totals *totals)
{
    static struct naive_scenario s;
    *totals = (struct naive_totals){0};
    for (int seed = 0; seed < scenarios; seed++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)seed, 0, "swapping", 0);
        naive_random_scenario(&s, NAIVE_VLLM_V0, (uint64_t)seed + 1000);
        s.swap = true;
        s.stages = 1; /* batches in flight would share the links, which the naive simulator does not know */
        s.copy_block_ns = s.block_tokens * naive_between(&rng, 8, 100000);
        naive_check_scenario(&s, (uint64_t)seed, totals);
    }
}

/* Prompts processed at some replicas, decoding at others; KV moves a token in a whole number of nanoseconds. */
static void check_disaggregated(int scenarios, struct naive_totals *totals)
{
    static struct naive_scenario s;
    *totals = (struct naive_totals){0};
    for (int seed = 0; seed < scenarios; seed++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)seed, 0, "disaggregation", 0);
        naive_random_scenario(&s, (enum naive_kind)(seed % 3), (uint64_t)seed + 2000);
        s.prefill_replicas = naive_between(&rng, 1, 3);
        s.replicas = s.prefill_replicas + naive_between(&rng, 1, 3);
        if (s.kind == NAIVE_VLLM_V1) s.watermark_blocks = 0; /* it has none */
        s.routing = NAIVE_LEAST_OUTSTANDING;
        s.push = naive_one_in(&rng, 2);
        s.kv_token_ns = naive_between(&rng, 1, 200000);
        naive_check_scenario(&s, (uint64_t)seed, totals);
    }
}

static void check_kind(enum naive_kind kind, int scenarios, struct naive_totals *totals)
{
    static struct naive_scenario s;
    *totals = (struct naive_totals){0};
    for (int seed = 0; seed < scenarios; seed++) {
        naive_random_scenario(&s, kind, (uint64_t)seed);
        naive_check_scenario(&s, (uint64_t)seed, totals);
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

/* A prompt of 12 beside a sequence that decodes, in blocks of 4, of which there are 4; an iteration takes 6 tokens and
 * 1 ns. By the rule of vLLM's V1 scheduler the prompt preempts itself twice, since it is the last one running: at 2
 * with 7 of its tokens processed, and at 4 with 5. Both times it returns in the next iteration that has blocks for its
 * first chunk: at 3, and at 6, when the other has ended. Then it needs two iterations. */
TEST(a_prompt_that_preempts_itself_by_hand)
{
    static struct naive_scenario s = {.kind = NAIVE_VLLM_V1, .replicas = 1, .stages = 1, .block_tokens = 4,
                                      .max_sequences = 6, .max_tokens = 6, .max_context = NAIVE_MAX_CONTEXT, .blocks = 4,
                                      .prefill = {.fixed = 1}, .decode = {.fixed = 1},
                                      .n = 2, .requests = {{.prompt = 4, .output = 6}, {.prompt = 12, .output = 1}}};
    struct naive_outcome outcomes[2];
    struct naive_totals totals = {0};
    CHECK_EQ_INT(naive_serve(&s, outcomes), 8);
    CHECK_EQ_INT(outcomes[0].end_ns, 6);
    CHECK_EQ_INT(outcomes[1].end_ns, 8);
    CHECK_EQ_INT(outcomes[1].cut_prompts, 2);
    naive_check_scenario(&s, 0, &totals);
    CHECK_EQ_INT(totals.cut_prompts, 2);
}

/* A sequence that was admitted first takes the blocks of an unfinished prompt behind it: it never waits. */
TEST(a_prompt_that_is_preempted_by_hand)
{
    static struct naive_scenario s = {.kind = NAIVE_VLLM_V1, .replicas = 1, .stages = 1, .block_tokens = 4,
                                      .max_sequences = 2, .max_tokens = 2, .max_context = NAIVE_MAX_CONTEXT, .blocks = 4,
                                      .prefill = {.fixed = 1}, .decode = {.fixed = 1},
                                      .n = 2, .requests = {{.prompt = 1, .output = 10}, {.prompt = 16, .output = 1}}};
    struct naive_outcome outcomes[2];
    struct naive_totals totals = {0};
    CHECK(naive_serve(&s, outcomes) > 0);
    CHECK_EQ_INT(outcomes[0].end_ns, 10);
    CHECK(outcomes[1].cut_prompts > 0);
    CHECK_EQ_INT(outcomes[0].preemptions, 0);
    naive_check_scenario(&s, 0, &totals);
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
                                      .max_context = NAIVE_MAX_CONTEXT, .blocks = 100, .prefill = {.fixed = 1},
                                      .decode = {.fixed = 1},
                                      .n = 2, .requests = {{.prompt = 4, .output = 1}, {.prompt = 4, .output = 1}}};
    for (int kind = NAIVE_VLLM_V0; kind <= NAIVE_FASTER_TRANSFORMER; kind++) {
        struct naive_outcome outcomes[2];
        struct naive_totals totals = {0};
        s.kind = (enum naive_kind)kind;
        CHECK_EQ_INT(naive_serve(&s, outcomes), 2);
        CHECK_EQ_INT(outcomes[0].end_ns, 2);
        CHECK_EQ_INT(outcomes[1].end_ns, second_ends_ns[kind]);
        naive_check_scenario(&s, 0, &totals);
    }
}

TEST(vllm_v0)
{
    struct naive_totals totals;
    check_kind(NAIVE_VLLM_V0, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300 && totals.rejections > 20);
}

/* KV behind windows is freed. */
static void check_windows(int scenarios, struct naive_totals *totals)
{
    static struct naive_scenario s;
    *totals = (struct naive_totals){0};
    for (int seed = 0; seed < scenarios; seed++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)seed, 0, "windows", 0);
        naive_random_scenario(&s, NAIVE_VLLM_V1, (uint64_t)seed + 7000);
        s.window_tokens = naive_between(&rng, 1, 60);
        s.window_share = naive_between(&rng, 1, 3);
        naive_check_scenario(&s, (uint64_t)seed, totals);
    }
}

TEST_SIZED(vllm_v1_windows)
{
    struct naive_totals totals;
    check_windows(test_part(100), &totals);
    CHECK_WHOLE(totals.requests > 2500 && totals.preemptions > 300 && totals.rejections > 100);
}

TEST(vllm_v0_swapping)
{
    struct naive_totals totals;
    check_swapping(60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300);
}

TEST_SIZED(disaggregation)
{
    struct naive_totals totals;
    check_disaggregated(test_part(200), &totals);
    CHECK_WHOLE(totals.requests > 1000 && totals.preemptions > 100);
}

TEST(vllm_v1)
{
    struct naive_totals totals;
    check_kind(NAIVE_VLLM_V1, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300 && totals.cut_prompts > 50);
}

/* Three classes of requests by priority; with drafts, where a sequence takes several tokens. */
TEST_SIZED(vllm_v1_by_priority)
{
    static struct naive_scenario s;
    struct naive_totals totals = {0};
    for (int seed = 0; seed < test_part(100); seed++) {
        struct rng rng;
        struct naive_speculation speculation;
        rng_init(&rng, (uint64_t)seed, 0, "priorities", 0);
        naive_random_scenario(&s, NAIVE_VLLM_V1, (uint64_t)seed + 5000);
        s.by_priority = true;
        for (int i = 0; i < s.n; i++) s.requests[i].priority = naive_between(&rng, 0, NAIVE_PRIORITIES - 1);
        naive_random_speculation(&speculation, (uint64_t)seed);
        if (naive_one_in(&rng, 4)) s.speculation = &speculation;
        naive_check_scenario(&s, (uint64_t)seed, &totals);
    }
    CHECK_WHOLE(totals.requests > 2000 && totals.preemptions > 500 && totals.cut_prompts > 50);
}

TEST(sarathi)
{
    struct naive_totals totals;
    check_kind(NAIVE_SARATHI, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions > 300);
}

TEST(orca)
{
    struct naive_totals totals;
    check_kind(NAIVE_ORCA, 60, &totals);
    CHECK(totals.requests > 1000 && totals.preemptions == 0 && totals.rejections > 20);
}

TEST(faster_transformer)
{
    struct naive_totals totals;
    check_kind(NAIVE_FASTER_TRANSFORMER, 30, &totals);
    CHECK(totals.requests > 500 && totals.preemptions == 0);
}
