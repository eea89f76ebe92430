/* Speculation against the naive simulator, one token at a time, in random small scenarios under every batcher that it
 * knows: the first token and the end of every request to the nanosecond, preemptions, and the same bytes in single
 * steps. */
#include "tests/oracle/naive_cases.h"
#include "tests/support/harness.h"

static void random_case(struct naive_scenario *s, enum naive_kind kind, uint64_t seed)
{
    static struct naive_speculation speculation;
    naive_random_scenario(s, kind, seed + 7000);
    naive_random_speculation(&speculation, seed);
    s->speculation = &speculation;
    s->stages = 1;
}

/* A prompt of 10 and 6 tokens alone, two drafts that are always right: 100 + 10 + 7 for the prompt. Two iterations
 * then make three tokens, and the two that are left. Each has 2 passes of 3 + 2, and costs 50 + 7 + 3 * 1 + 2 *
 * context, with contexts 11 and 14. In the first one the draft LLM also processes the prompt, in 5 + 7. */
TEST(one_request_with_drafts_by_hand)
{
    static struct naive_speculation speculation = {.prefill = {.fixed = 5, .sequence = 7},
                                                   .decode = {.fixed = 3, .token = 2}};
    static struct naive_scenario s = {.kind = NAIVE_VLLM_V1, .replicas = 1, .stages = 1, .block_tokens = 4,
                                      .max_sequences = 8, .max_tokens = 100, .max_context = NAIVE_MAX_CONTEXT,
                                      .blocks = 30, .speculation = &speculation,
                                      .prefill = {.fixed = 100, .token = 1, .sequence = 7},
                                      .decode = {.fixed = 50, .token = 1, .sequence = 7, .context = 2},
                                      .n = 1, .requests = {{.arrival_ns = 5, .prompt = 10, .output = 6}}};
    struct naive_outcome outcome;
    struct naive_totals totals = {0};
    struct naive_speculation other;
    naive_random_speculation(&other, 1);
    speculation.drafts = 2;
    speculation.n_rates = 1;
    speculation.rates[0] = 1.0;
    speculation.right = other.right;
    CHECK_EQ_INT(naive_serve(&s, &outcome), 3);
    CHECK_EQ_INT(outcome.first_ns, 5 + 117);
    CHECK_EQ_INT(outcome.end_ns, outcome.first_ns + (12 + 10 + 60 + 22) + (10 + 60 + 28));
    CHECK_EQ_INT(outcome.right, 3);
    naive_check_scenario(&s, 0, &totals);
}

/* The same on three stages: each takes a third of the verification, so it is told thrice. The last stage alone drafts.
 * At batch 1 nothing overlaps. */
TEST(one_request_on_stages_by_hand)
{
    static struct naive_speculation speculation = {.prefill = {.fixed = 5, .sequence = 7},
                                                   .decode = {.fixed = 3, .token = 2}};
    static struct naive_scenario s = {.kind = NAIVE_VLLM_V1, .replicas = 1, .block_tokens = 4, .max_sequences = 8,
                                      .max_tokens = 100, .max_context = NAIVE_MAX_CONTEXT, .blocks = 30,
                                      .speculation = &speculation,
                                      .prefill = {.fixed = 100, .token = 1, .sequence = 7},
                                      .decode = {.fixed = 50, .token = 1, .sequence = 7, .context = 2},
                                      .n = 1, .requests = {{.arrival_ns = 5, .prompt = 10, .output = 6}}};
    struct naive_speculation other;
    naive_random_speculation(&other, 1);
    speculation.drafts = 2;
    speculation.n_rates = 1;
    speculation.rates[0] = 1.0;
    speculation.right = other.right;
    for (s.stages = 1; s.stages <= NAIVE_STAGES; s.stages++) {
        struct naive_outcome outcome;
        struct naive_totals totals = {0};
        CHECK_EQ_INT(naive_serve(&s, &outcome), 3);
        CHECK_EQ_INT(outcome.first_ns, 5 + s.stages * 117);
        CHECK_EQ_INT(outcome.end_ns, outcome.first_ns + s.stages * (60 + 22) + 12 + 10 + s.stages * (60 + 28) + 10);
        naive_check_scenario(&s, 0, &totals);
        CHECK_EQ_INT(totals.right, 3);
    }
}

/* Two requests on two stages, one after the other, in batches of their own: a stage takes 100 for a verification, and
 * the last one 30 for a draft that is always wrong. The prompts take 10 on each stage. The first verification ends at
 * 20 + 200 + 30. The second begins beside it, waits at the last stage until that has drafted, and ends 130 later. So a
 * replica that is full makes a token per batch in 130: the time of its last stage. */
TEST(drafts_fill_the_last_stage_by_hand)
{
    static struct naive_speculation speculation = {.drafts = 1, .n_rates = 1, .decode = {.fixed = 30}};
    static struct naive_scenario s = {.kind = NAIVE_ORCA, .reservation = NAIVE_ORACLE, .replicas = 1, .stages = 2, .block_tokens = 4,
                                      .max_sequences = 1, .max_tokens = 100, .max_context = NAIVE_MAX_CONTEXT,
                                      .blocks = 30, .speculation = &speculation, .prefill = {.fixed = 10},
                                      .decode = {.fixed = 100}, .n = 2,
                                      .requests = {{.prompt = 4, .output = 4}, {.prompt = 4, .output = 4}}};
    struct naive_outcome outcomes[2];
    struct naive_totals totals = {0};
    struct naive_speculation other;
    naive_random_speculation(&other, 1);
    speculation.right = other.right;
    CHECK_EQ_INT(naive_serve(&s, outcomes), 8);
    CHECK_EQ_INT(outcomes[0].first_ns, 20);
    CHECK_EQ_INT(outcomes[1].first_ns, 30);
    CHECK_EQ_INT(outcomes[0].end_ns, 20 + 230 + 2 * 260);
    CHECK_EQ_INT(outcomes[1].end_ns, outcomes[0].end_ns + 130);
    naive_check_scenario(&s, 0, &totals);
}

TEST_SIZED(stages)
{
    static struct naive_scenario s;
    static struct naive_speculation speculation;
    struct naive_totals totals = {0}, trees = {0};
    for (uint64_t seed = 0; seed < (uint64_t)test_part(120); seed++) {
        random_case(&s, (enum naive_kind)(seed % 5), seed + 600);
        s.stages = 2 + (int)(seed / 5 % (NAIVE_STAGES - 1));
        if (seed % 3 > 0) {
            naive_check_scenario(&s, seed, &totals);
            continue;
        }
        naive_random_tree(&s, &speculation, seed + 600);
        s.speculation = &speculation;
        naive_check_scenario(&s, seed, &trees);
    }
    CHECK_WHOLE(totals.requests > 2000 && totals.preemptions > 100 && totals.right > 5000);
    CHECK_WHOLE(trees.requests > 1000 && trees.preemptions > 50 && trees.right > 2000);
}

TEST_SIZED(every_batcher)
{
    static struct naive_scenario s;
    struct naive_totals totals = {0};
    for (uint64_t seed = 0; seed < (uint64_t)test_part(100); seed++) {
        random_case(&s, (enum naive_kind)(seed % 5), seed);
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK_WHOLE(totals.requests > 2000 && totals.preemptions > 300 && totals.right > 5000);
}

/* Trees, under every batcher; where blocks are short, chains are left of them. */
TEST(trees)
{
    static struct naive_scenario s;
    static struct naive_speculation speculation;
    struct naive_totals totals = {0};
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_case(&s, (enum naive_kind)(seed % 5), seed + 400);
        naive_random_tree(&s, &speculation, seed + 400);
        s.speculation = &speculation;
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK(totals.requests > 1000 && totals.preemptions > 100 && totals.right > 5000);
}

TEST(swapping)
{
    static struct naive_scenario s;
    struct naive_totals totals = {0};
    for (uint64_t seed = 0; seed < 30; seed++) {
        random_case(&s, NAIVE_VLLM_V0, seed + 100);
        s.swap = true;
        s.copy_block_ns = s.block_tokens * (1000 + 37 * (int64_t)seed);
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK(totals.preemptions > 100 && totals.right > 500);
}

/* Prompts processed at some replicas, drafts at the others. */
TEST(disaggregated)
{
    static struct naive_scenario s;
    struct naive_totals totals = {0};
    for (uint64_t seed = 0; seed < 40; seed++) {
        random_case(&s, (enum naive_kind)(seed % 3), seed + 200);
        s.prefill_replicas = 1 + (int)(seed % 2);
        s.replicas = s.prefill_replicas + 1 + (int)(seed % 3);
        if (s.kind == NAIVE_VLLM_V1) s.watermark_blocks = 0;
        s.routing = NAIVE_LEAST_OUTSTANDING;
        s.push = seed % 4 < 2;
        s.kv_token_ns = (double)(1000 + 431 * seed);
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK(totals.right > 1000);
}
