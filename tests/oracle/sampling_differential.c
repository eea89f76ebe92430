/* Requests of several sequences against the naive simulator, one token and one block at a time, in random small
 * scenarios: the first token and the end of every request to the nanosecond, its preemptions, and the same bytes in
 * single steps. */
#include "tests/oracle/naive_cases.h"
#include "tests/support/harness.h"

static struct naive_scenario s;
static struct naive_sampling sampling;

static void random_case(enum naive_kind kind, bool beams, uint64_t seed)
{
    naive_random_scenario(&s, kind, seed + 9000);
    if (beams) s.stages = 1;
    naive_random_sampling(&s, &sampling, beams, seed);
}

/* A prompt of 6 tokens in blocks of 4, three samples of 3 tokens each: 100 + 6 for the prompt, then two iterations of
 * 50 + 3 * 2 and the contexts of 3 * 7 and 3 * 8 tokens. Two copies of the second block are made, so there are 4 blocks
 * in all. A plan wants a block for each of the three sequences. */
TEST(three_samples_by_hand)
{
    struct naive_outcome outcomes[3];
    struct naive_totals totals = {0};
    s = (struct naive_scenario){.kind = NAIVE_VLLM_V1, .replicas = 1, .stages = 1, .block_tokens = 4,
                                .max_sequences = 8, .max_tokens = 100, .max_context = NAIVE_MAX_CONTEXT, .blocks = 5,
                                .prefill = {.fixed = 100, .token = 1},
                                .decode = {.fixed = 50, .sequence = 2, .context = 1},
                                .n = 1, .requests = {{.arrival_ns = 5, .prompt = 6, .output = 3}}};
    naive_random_sampling(&s, &sampling, false, 1);
    sampling.width = 3;
    sampling.sigma = 0.0;
    CHECK_EQ_INT(naive_serve(&s, outcomes), 3);
    CHECK_EQ_INT(outcomes[0].first_ns, 5 + 106);
    CHECK_EQ_INT(outcomes[0].end_ns, 5 + 106 + 56 + 21 + 56 + 24);
    CHECK_EQ_INT(outcomes[0].preemptions, 0);
    naive_check_scenario(&s, 0, &totals);
    s.blocks = 4; /* one sample goes, and comes back with 7 tokens when the others have ended */
    CHECK(naive_serve(&s, outcomes) > 3);
    CHECK_EQ_INT(outcomes[0].preemptions, 1);
    naive_check_scenario(&s, 1, &totals);
}

TEST_SIZED(samples_under_every_batcher_that_preempts)
{
    struct naive_totals totals = {0};
    for (uint64_t seed = 0; seed < (uint64_t)test_part(100); seed++) {
        random_case((enum naive_kind)(seed % 3), false, seed);
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK_WHOLE(totals.requests > 1500 && totals.preemptions > 300);
}

TEST_SIZED(beams_under_every_batcher_that_preempts)
{
    struct naive_totals totals = {0};
    for (uint64_t seed = 0; seed < (uint64_t)test_part(100); seed++) {
        random_case((enum naive_kind)(seed % 3), true, seed + 500);
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK_WHOLE(totals.requests > 1500 && totals.preemptions > 300);
}

/* Beams that go together may leave an empty batch, and others return while their KV still leaves: the naive simulator
 * copies in one direction at a time. */
TEST(samples_that_are_swapped)
{
    struct naive_totals totals = {0};
    for (uint64_t seed = 0; seed < 40; seed++) {
        random_case(NAIVE_VLLM_V0, false, seed + 1000);
        s.swap = true;
        s.stages = 1;
        s.copy_block_ns = s.block_tokens * (1000 + 37 * (int64_t)seed);
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK(totals.preemptions > 100);
}
