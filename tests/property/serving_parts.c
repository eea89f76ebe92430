/* The parts of the serving clock against brute force: block growth by phase, boundary times, longest gaps, order of
 * finishing. */
#include "sim/world/kv/kvcache.h"
#include "sim/world/replica/run_clock.h"
#include "sim/world/replica/running_batch.h"
#include "tests/support/harness.h"

/* --- KV blocks --- */

enum { MAX_SEQUENCES = 12, HORIZON = 400 };

/* Walks step by step and sequence by sequence. Returns the first i >= 1 whose iteration leaves fewer than `keep`. */
static int64_t walk(const int64_t *contexts, int n, int64_t block_tokens, int64_t free_blocks, int64_t keep,
                    int64_t *growth)
{
    int64_t first_short = INT64_MAX;
    for (int64_t i = 0; i < HORIZON; i++) {
        growth[i] = 0;
        for (int k = 0; k < n; k++) growth[i] += (contexts[k] + i - 1) % block_tokens == 0;
        free_blocks -= growth[i];
        if (i >= 1 && free_blocks < keep && first_short == INT64_MAX) first_short = i;
    }
    return first_short;
}

TEST(block_growth_is_closed_form)
{
    struct rng rng = test_rng(7, "kvcache test", 0);
    for (int round = 0; round < 3000; round++) {
        int64_t block_tokens = 1 + (int64_t)rng_below(&rng, 20), step = (int64_t)rng_below(&rng, 1000);
        int64_t contexts[MAX_SEQUENCES], growth[HORIZON], keep = (int64_t)rng_below(&rng, 4);
        int n = 1 + (int)rng_below(&rng, MAX_SEQUENCES);
        int64_t free_blocks = 1 + (int64_t)rng_below(&rng, 100);
        struct kv_growth kv;
        MUST(kv_growth_init(&kv, block_tokens) == 0);
        for (int k = 0; k < n; k++) kv_growth_join(&kv, step, contexts[k] = 2 + (int64_t)rng_below(&rng, 60));
        int64_t expected = walk(contexts, n, block_tokens, free_blocks, keep, growth);
        int64_t found = kv_growth_steps_until_short(&kv, step, free_blocks - keep);
        CHECK_EQ_INT(found > HORIZON ? INT64_MAX : found, expected);
        int64_t sum = 0, from = (int64_t)rng_below(&rng, 50);
        for (int64_t i = 0; i < 100; i++) {
            CHECK_EQ_INT(kv_growth_over(&kv, step + from, i), sum);
            sum += growth[from + i];
        }
        for (int k = 0; k < n; k++) kv_growth_leave(&kv, step + 77, contexts[k] + 77);
        for (int64_t i = 0; i < block_tokens; i++) CHECK_EQ_INT(kv.phases[i], 0);
        /* Nobody takes blocks: short at once, or never. */
        CHECK_EQ_INT(kv_growth_steps_until_short(&kv, step, free_blocks - keep), free_blocks < keep ? 1 : INT64_MAX);
        kv_growth_fini(&kv);
    }
}

/* --- Boundaries --- */

TEST(boundaries_invert)
{
    struct rng rng = test_rng(11, "clock test", 0);
    for (int round = 0; round < 20000; round++) {
        struct run_clock clock = {.anchor_ns = (sim_ns)rng_below(&rng, 1u << 30),
                                  .first_ns = exp(rng_uniform(&rng) * 18) + 2,
                                  .slope_ns = rng_below(&rng, 3) ? exp(rng_uniform(&rng) * 12) : 0};
        int64_t k = 1 + (int64_t)rng_below(&rng, 100000);
        sim_ns at = run_clock_boundary_ns(&clock, k);
        CHECK_EQ_INT(run_clock_first_boundary(&clock, at), k);
        CHECK_EQ_INT(run_clock_first_boundary(&clock, at + 1), k + 1);
        CHECK_EQ_INT(run_clock_first_boundary(&clock, run_clock_boundary_ns(&clock, k - 1) + 1), k);
        CHECK_EQ_INT(run_clock_first_boundary(&clock, clock.anchor_ns), 1);
    }
}

TEST(boundaries_add_up_the_iterations)
{
    struct run_clock clock = {.anchor_ns = 1000, .first_ns = 5e6 + 0.25, .slope_ns = 3.5};
    double sum = 0;
    for (int64_t k = 1; k < 1000; k++) {
        sum += clock.first_ns + (double)(k - 1) * clock.slope_ns;
        CHECK_EQ_INT(run_clock_boundary_ns(&clock, k), 1000 + llrint(sum));
    }
}

/* --- Gaps --- */

TEST(longest_gaps_are_suffix_maxima)
{
    enum { STEPS = 300 };
    struct rng rng = test_rng(13, "gaps test", 0);
    for (int round = 0; round < 50; round++) {
        struct token_gaps gaps;
        sim_ns all[STEPS];
        int64_t kept_from = 0;
        token_gaps_init(&gaps);
        for (int64_t step = 0; step < STEPS; step++) {
            all[step] = 1 + (sim_ns)rng_below(&rng, 1000);
            MUST(token_gaps_add(&gaps, step, (struct token_wait){all[step], 7 * step}) == 0);
            if (rng_below(&rng, 40) == 0) token_gaps_forget_before(&gaps, kept_from = step - 20);
            int64_t from = kept_from + (int64_t)rng_below(&rng, (uint64_t)(step - kept_from + 2));
            sim_ns expected = 0, expected_from = 0;
            for (int64_t i = from < 0 ? 0 : from; i <= step; i++)
                if (all[i] >= expected) expected = all[i], expected_from = 7 * i;
            const struct token_wait longest = token_gaps_max_from(&gaps, from);
            CHECK_EQ_INT(longest.ns, expected);
            CHECK_EQ_INT(longest.from_ns, expected_from);
        }
        token_gaps_fini(&gaps);
    }
}

/* --- Order of finishing --- */

TEST(the_first_to_finish_is_the_least)
{
    enum { MEMBERS = 64 };
    static struct request requests[MEMBERS];
    bool in[MEMBERS] = {false};
    struct request_order order;
    struct rng rng = test_rng(17, "finish test", 0);
    request_order_init(&order, RANK_FINISH);
    for (int round = 0; round < 20000; round++) {
        int i = (int)rng_below(&rng, MEMBERS);
        if (in[i]) {
            request_order_remove(&order, &requests[i]);
        } else {
            requests[i].view.id = i;
            requests[i].finish_step = (int64_t)rng_below(&rng, 50);
            MUST(request_order_add(&order, &requests[i], requests[i].finish_step) == 0);
        }
        in[i] = !in[i];
        const struct request *least = NULL;
        for (int k = 0; k < MEMBERS; k++)
            if (in[k] && (least == NULL || requests[k].finish_step < least->finish_step)) least = &requests[k];
        CHECK(request_order_first(&order) == least);
        CHECK_EQ_INT(request_order_least(&order), least != NULL ? least->finish_step : INT64_MAX);
    }
    request_order_fini(&order);
}
