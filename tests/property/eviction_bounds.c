/* What is proven of eviction policies, on random and adversarial sequences: Belady's is the best there is; LRU and FIFO
 * miss at most k times as often; marking 2 H_k times in expectation; with one bit of advice the bounds of Antoniadis et
 * al. (ICML 2023).
 *
 * Expectations are checked on the mean over seeds: mean + 4 standard errors stay within the bound, so that a bound that
 * does not hold passes with a chance of less than 1 in 30,000. */
#include "policies/declared.h"
#include "policies/eviction/prediction.h"
#include "policies/registry.h"
#include "sim/core/tally.h"
#include "sim/world/kv/cache.h"
#include "tests/support/eviction_fixture.h"
#include "tests/support/harness.h"

static double harmonic(int k)
{
    double sum = 0;
    for (int i = 1; i <= k; i++) sum += 1.0 / i;
    return sum;
}

/* --- Sequences --- */

/* One more page than there is room for, round and round. */
static void paging_loop(struct paging *paging, int n, int n_pages)
{
    paging->n = n;
    for (int i = 0; i < n; i++) paging->pages[i] = (uint64_t)(i % n_pages);
}

/* Growing and shrinking sets: many phases, old and new pages in each. */
static void paging_waves(struct paging *paging, uint64_t seed, int n, int k)
{
    uint64_t base = 0, width = 1;
    struct rng rng = test_rng(seed, "waves", 0);
    paging->n = n;
    for (int i = 0; i < n; i++) {
        if (rng_below(&rng, (uint64_t)k) == 0) base += rng_below(&rng, (uint64_t)k);
        if (rng_below(&rng, (uint64_t)k) == 0) width = 1 + rng_below(&rng, (uint64_t)(2 * k));
        paging->pages[i] = base + rng_below(&rng, width);
    }
}

enum { N_KINDS = 5 };

static void make_sequence(struct paging *paging, int kind, uint64_t seed, int n, int k)
{
    switch (kind) {
    case 0: paging_uniform(paging, seed, n, k + 1); break;
    case 1: paging_uniform(paging, seed, n, 3 * k); break;
    case 2: paging_local(paging, seed, n, 4 * k, k + 1); break;
    case 3: paging_waves(paging, seed, n, k); break;
    default: paging_loop(paging, n, k + 1 + (int)(seed % 2)); break;
    }
}

/* Always asks for the page, of k + 1, that the policy does not have; then, it misses every time. */
static void paging_against(struct paging *paging, const struct policy *policy, int n, int k)
{
    struct cache cache;
    struct diag diag = {0};
    paging->n = n;
    CHECK_EQ_INT(cache_init(&cache, &(struct cache_options){.evictor = policy, .capacity = k, .diag = &diag}), 0);
    for (int i = 0; i < n; i++) {
        int32_t item;
        uint64_t page = 0;
        while (cache_find(&cache, page) != CACHE_NO_ITEM) page++;
        paging->pages[i] = page;
        CHECK_EQ_INT(cache_insert(&cache, page, &item), 1);
    }
    cache_fini(&cache);
}

static int opt(const struct paging *paging, int k)
{
    return paging_misses(paging, "belady", NULL, k, 1);
}

/* --- Deterministic bounds --- */

TEST(belady_bounds_every_policy)
{
    struct policy_table table = policy_registry();
    struct paging paging;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            int k = 1 + (int)(seed % 12);
            make_sequence(&paging, kind, seed, 300, k);
            int best = opt(&paging, k);
            for (size_t i = 0; i < table.n; i++) {
                if (table.policies[i]->family != POLICY_EVICTION) continue;
                int misses = paging_misses(&paging, table.policies[i]->name, NULL, k, seed);
                if (!CHECK(misses >= best)) printf("\n  %s: %d, %d", table.policies[i]->name, misses, best);
            }
        }
}

TEST(lru_and_fifo_are_k_competitive)
{
    static const char *const names[] = {"lru", "fifo"};
    struct paging paging;
    for (int p = 0; p < 2; p++) {
        for (uint64_t seed = 0; seed < 20; seed++)
            for (int kind = 0; kind < N_KINDS; kind++) {
                int k = 1 + (int)(seed % 12);
                make_sequence(&paging, kind, seed, 300, k);
                CHECK(paging_misses(&paging, names[p], NULL, k, 1) <= k * opt(&paging, k));
            }
        for (int k = 2; k <= 16; k *= 2) { /* the bound is tight */
            paging_against(&paging, policy_find(POLICY_EVICTION, names[p]), 40 * k, k);
            int misses = paging_misses(&paging, names[p], NULL, k, 1), best = opt(&paging, k);
            CHECK_EQ_INT(misses, 40 * k);
            CHECK(misses <= k * best);
            CHECK(misses >= 0.9 * k * (best - k));
        }
    }
}

/* Pages that were popular once stay for ever: the ratio grows with the sequence. */
TEST(lfu_is_not_competitive)
{
    struct paging paging = {0};
    for (int i = 0; i < 400; i++) paging.pages[paging.n++] = (uint64_t)(i % 3);
    for (int i = 0; i < 200; i++) paging.pages[paging.n++] = 100 + (uint64_t)(i % 2);
    int misses = paging_misses(&paging, "lfu", NULL, 4, 1), best = opt(&paging, 4);
    CHECK_EQ_INT(misses, 3 + 200);
    CHECK_EQ_INT(best, 3 + 2);
}

/* --- Expected bounds --- */

/* Whether the mean stays below zero with 4 standard errors to spare. */
static bool is_below_zero(const struct tally *excess)
{
    return excess->mean + 4 * sqrt(tally_variance(excess) / (double)excess->count) <= 1e-9;
}

TEST(marking_is_2_h_k_competitive)
{
    struct paging paging;
    for (int k = 2; k <= 16; k *= 2)
        for (int kind = 0; kind < N_KINDS; kind++) {
            struct tally excess;
            tally_init(&excess);
            make_sequence(&paging, kind, (uint64_t)k, 400, k);
            double bound = 2 * harmonic(k) * opt(&paging, k);
            for (uint64_t seed = 0; seed < 60; seed++)
                tally_add(&excess, paging_misses(&paging, "marking", NULL, k, seed) - bound);
            if (!CHECK(is_below_zero(&excess))) printf("\n  k = %d, sequence %d: %g", k, kind, excess.mean);
        }
}

/* k + 1 pages, all equally likely: whatever a policy does without knowing the future, it misses each with probability 1
 * / (k + 1) once it is full (Yao's principle; Raghavan and Snir 1989). */
TEST(no_policy_beats_chance)
{
    static const char *const names[] = {"lru", "fifo", "lfu", "s3-fifo", "marking"};
    enum { K = 9, N = 4000 };
    struct paging paging;
    for (size_t p = 0; p < sizeof names / sizeof *names; p++) {
        paging_uniform(&paging, 77 + p, N, K + 1);
        int misses = paging_misses(&paging, names[p], NULL, K, 1);
        double mean = (double)N / (K + 1), deviation = sqrt(mean * (1 - 1.0 / (K + 1)));
        CHECK_NEAR(misses, mean + K - 1, 4 * deviation + K);
        CHECK(misses > 1.5 * opt(&paging, K));
    }
}

/* --- One bit of advice --- */

/* Wrong bits of the advice that a policy gets in a run with this seed. */
static void count_errors(const struct paging *paging, enum prediction_kind kind, double error_frac, int k,
                         uint64_t seed, struct prediction *prediction)
{
    int64_t next_uses[PAGING_MAX];
    struct cache_future future = {paging->n, next_uses};
    struct cache cache;
    struct diag diag = {0};
    paging_next_uses(paging, next_uses);
    *prediction = (struct prediction){0};
    struct cache_options options = {
        .evictor = &eviction_belady.policy, .capacity = k, .seed = seed, .future = &future, .diag = &diag};
    CHECK_EQ_INT(cache_init(&cache, &options), 0);
    CHECK_EQ_INT(prediction_make(prediction, &cache.view, kind, error_frac), 0);
    cache_fini(&cache);
    prediction_fini(prediction);
}

/* ALG <= a OPT + b eta_0 + c eta_1. */
struct bound {
    const char *policy, *format; /* of its parameters */
    enum prediction_kind kind;
    double a, b, c;
};

static double excess_of(const struct bound *bound, const struct paging *paging, int best, double error_frac, int k,
                        uint64_t seed)
{
    char params[80];
    struct prediction prediction;
    snprintf(params, sizeof params, "{\"error\": %g%s}", error_frac, bound->format);
    count_errors(paging, bound->kind, error_frac, k, seed, &prediction);
    double allowed = bound->a * best + bound->b * (double)prediction.wrong_zeros +
                     bound->c * (double)prediction.wrong_ones;
    return paging_misses(paging, bound->policy, params, k, seed) - allowed;
}

static const double errors[] = {0, 0.03, 0.15, 0.5, 1};
enum { N_ERRORS = sizeof errors / sizeof *errors };

TEST(discarding_all_keeps_its_bound)
{
    struct paging paging;
    for (uint64_t seed = 0; seed < 10; seed++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            int k = 1 + (int)(seed % 8);
            struct bound bound = {"discard-bit", ", \"algorithm\": \"flush\"", PREDICT_DISCARD, 1, k - 1, 1};
            make_sequence(&paging, kind, seed, 300, k);
            int best = opt(&paging, k);
            for (int e = 0; e < N_ERRORS; e++) CHECK(excess_of(&bound, &paging, best, errors[e], k, seed) <= 0);
        }
}

static void check_expected(const struct bound *bound, int k, int kind, double error_frac)
{
    struct paging paging;
    struct tally excess;
    tally_init(&excess);
    make_sequence(&paging, kind, (uint64_t)k, 300, k);
    int best = opt(&paging, k);
    for (uint64_t seed = 0; seed < 30; seed++) tally_add(&excess, excess_of(bound, &paging, best, error_frac, k, seed));
    if (!CHECK(is_below_zero(&excess)))
        printf("\n  %s, k = %d, sequence %d, error %g: %g", bound->policy, k, kind, error_frac, excess.mean);
}

TEST(mark0_keeps_its_bound)
{
    for (int k = 2; k <= 8; k *= 2)
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int e = 0; e < N_ERRORS; e++)
                check_expected(&(struct bound){"discard-bit", "", PREDICT_DISCARD, 1, 2 * harmonic(k), 1}, k, kind,
                               errors[e]);
}

TEST(mark_and_predict_keeps_its_bound)
{
    for (int k = 2; k <= 8; k *= 2)
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int e = 0; e < N_ERRORS; e++)
                check_expected(&(struct bound){"phase-bit", "", PREDICT_PHASE, 2, harmonic(k), 1}, k, kind, errors[e]);
}

/* True discard bits are all that Belady knows; wrong ones cost, so that each term of the bounds is needed. */
TEST(advice_is_worth_what_it_says)
{
    static const char *const names[] = {"{\"error\": 0}", "{\"error\": 0, \"algorithm\": \"flush\"}"};
    struct paging paging;
    int64_t sums[2][3] = {{0}}, best_sum = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        paging_local(&paging, seed, 400, 40, 11);
        int best = opt(&paging, 10);
        best_sum += best;
        for (int i = 0; i < 2; i++) CHECK_EQ_INT(paging_misses(&paging, "discard-bit", names[i], 10, seed), best);
        static const char *const levels[] = {"{\"error\": 0}", "{\"error\": 0.1}", "{\"error\": 0.5}"};
        for (int e = 0; e < 3; e++) {
            sums[0][e] += paging_misses(&paging, "discard-bit", levels[e], 10, seed);
            sums[1][e] += paging_misses(&paging, "phase-bit", levels[e], 10, seed);
        }
    }
    CHECK_EQ_INT(sums[0][0], best_sum);
    CHECK(sums[1][0] <= 2 * best_sum);
    for (int p = 0; p < 2; p++) CHECK(sums[p][0] < sums[p][1] && sums[p][1] < sums[p][2]);
}
