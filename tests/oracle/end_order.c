/* The order in which requests of one iteration end under vllm-v1, against the naive simulator: that in which the
 * engine scheduled them (vllm-project/vllm, vllm/v1/core/sched/scheduler.py @ 00024d3, update_from_output). It
 * decides whose blocks are evicted first, and which follow-up arrives first. Short outputs make many end together:
 * prompts that are processed beside sequences that decode, sequences that came back after a preemption, with drafts,
 * on stages, and several sequences of a request. Every scenario of naive_cases.h is compared so, under every
 * batcher. */
#include "tests/oracle/naive_cases.h"
#include "tests/support/harness.h"

enum { SCENARIOS = 80, LONGEST = 4 };

static void shorten(struct naive_scenario *s)
{
    for (int i = 0; i < s->n; i++) s->requests[i].output = 1 + s->requests[i].output % LONGEST;
}

/* Ends that share an iteration, and of these such as are not in order of ids. */
static void check_ends(const struct naive_totals *totals, int64_t ties, int64_t turned)
{
    CHECK(totals->ties >= ties && totals->turned >= turned);
}

/* drafts: each has some. stages: more than one. */
static void run_scenarios(bool drafts, bool stages, uint64_t first_seed, struct naive_totals *totals)
{
    static struct naive_scenario s;
    static struct naive_speculation speculation;
    for (uint64_t seed = first_seed; seed < first_seed + SCENARIOS; seed++) {
        naive_random_scenario(&s, NAIVE_VLLM_V1, seed);
        s.by_priority = seed % 2 > 0;
        for (int i = 0; s.by_priority && i < s.n; i++) s.requests[i].priority = (int)((seed + 7 * (uint64_t)i) % 3);
        s.stages = stages ? 2 + (int)(seed % (NAIVE_STAGES - 1)) : 1;
        shorten(&s);
        if (drafts) naive_random_speculation(&speculation, seed);
        if (drafts && speculation.drafts == 0) speculation.drafts = 2;
        if (drafts) s.speculation = &speculation;
        naive_check_scenario(&s, seed, totals);
    }
}

TEST(alone)
{
    struct naive_totals totals = {0};
    run_scenarios(false, false, 9000, &totals);
    check_ends(&totals, 300, 30);
}

TEST(drafts)
{
    struct naive_totals totals = {0};
    run_scenarios(true, false, 9100, &totals);
    check_ends(&totals, 500, 50);
    CHECK(totals.right > 500);
}

TEST(stages)
{
    struct naive_totals totals = {0};
    run_scenarios(false, true, 9200, &totals);
    check_ends(&totals, 200, 10);
}

TEST(drafts_on_stages)
{
    struct naive_totals totals = {0};
    run_scenarios(true, true, 9300, &totals);
    check_ends(&totals, 300, 30);
    CHECK(totals.right > 500);
}

/* A request ends with the last of its sequences. */
TEST(siblings)
{
    static struct naive_scenario s;
    static struct naive_sampling sampling;
    struct naive_totals totals = {0};
    for (uint64_t seed = 9400; seed < 9400 + SCENARIOS; seed++) {
        naive_random_scenario(&s, NAIVE_VLLM_V1, seed);
        s.stages = 1 + (int)(seed % 3);
        shorten(&s);
        naive_random_sampling(&s, &sampling, false, seed);
        naive_check_scenario(&s, seed, &totals);
    }
    check_ends(&totals, 200, 10);
}
