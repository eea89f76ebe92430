/* Each eviction policy on a sequence short enough to follow by hand. Pages are letters. */
#include "policies/declared.h"
#include "policies/eviction/prediction.h"
#include "policies/registry.h"
#include "sim/world/kv/cache.h"
#include "tests/support/eviction_fixture.h"
#include "tests/support/harness.h"

static struct paging letters(const char *text)
{
    struct paging paging = {.n = (int)strlen(text)};
    for (int i = 0; i < paging.n; i++) paging.pages[i] = (uint64_t)text[i];
    return paging;
}

/* The policy evicts these pages in this order. */
static void check_victims(const char *policy, const char *params, int capacity, const char *accesses,
                          const char *expected)
{
    struct paging paging = letters(accesses);
    struct paging_run run;
    char victims[64];
    paging_run(&paging, policy, params, capacity, 1, &run);
    for (int i = 0; i < run.n_victims; i++) victims[i] = (char)run.victims[i];
    victims[run.n_victims] = 0;
    CHECK_EQ_STR(victims, expected);
}

TEST(lru_evicts_the_longest_unused)
{
    check_victims("lru", NULL, 3, "abcadeabd", "bcde");
    check_victims("lru", NULL, 1, "aabba", "ab");
    check_victims("lru", NULL, 4, "abcabc", "");
}

TEST(fifo_evicts_the_oldest)
{
    check_victims("fifo", NULL, 3, "abcadeabd", "abcde");
    check_victims("fifo", NULL, 2, "aabacab", "abc");
}

TEST(lfu_evicts_the_least_used)
{
    check_victims("lfu", NULL, 3, "aabbcd", "c");
    check_victims("lfu", NULL, 3, "aabbcdccc", "cd");
    check_victims("lfu", NULL, 2, "abac", "b");
    check_victims("lfu", NULL, 2, "abc", "a"); /* among equals the longest unused */
}

TEST(belady_evicts_what_is_needed_last)
{
    check_victims("belady", NULL, 3, "abcdabcda", "cb");
    check_victims("belady", NULL, 2, "abcaba", "bc");
}

/* A small queue of one and a main queue of three; one hit is enough to stay. */
TEST(s3_fifo_moves_between_its_queues)
{
    static const char one_hit[] = "{\"small\": 0.25, \"promote\": 1}";
    check_victims("s3-fifo", one_hit, 4, "abcde", "a");
    check_victims("s3-fifo", one_hit, 4, "abcdebf", "ac");    /* b goes over to the main queue */
    check_victims("s3-fifo", one_hit, 4, "abcdebfa", "acd");  /* a was a ghost: into the main queue */
    check_victims("s3-fifo", one_hit, 4, "abcdebfaghi", "acdefg"); /* b and a stay */
    check_victims("s3-fifo", one_hit, 4, "abcdebfaghia", "acdefg");
    check_victims("s3-fifo", "{\"small\": 0.25}", 4, "abcdebf", "ab"); /* one hit is not enough */
}

/* Four items in the main queue of three: its end goes, unless it was asked for. */
TEST(s3_fifo_shortens_its_main_queue)
{
    static const char one_hit[] = "{\"small\": 0.25, \"promote\": 1}";
    check_victims("s3-fifo", one_hit, 4, "aabbccdde", "a");
    check_victims("s3-fifo", one_hit, 4, "aabbccddebf", "ae");
    check_victims("s3-fifo", one_hit, 4, "aabbccddebeef", "ac"); /* b goes round */
}

/* The main queue has b, c, d and e, all used since: b oftener than three times, which counts as three. All go round
 * three times, and b, the oldest, leaves. */
TEST(s3_fifo_counts_three_uses)
{
    static const char one_hit[] = "{\"small\": 0.25, \"promote\": 1}";
    check_victims("s3-fifo", one_hit, 4, "aabbccddefe" "bbb" "ccc" "ddd" "eee" "g", "aefb");
    check_victims("s3-fifo", one_hit, 4, "aabbccddefe" "bbbbbb" "ccc" "ddd" "eee" "g", "aefb");
    check_victims("s3-fifo", one_hit, 4, "aabbccddefe" "bbb" "cc" "ddd" "eee" "g", "aefc");
}

/* With all other items used in this phase, there is only one to draw. */
TEST(marking_keeps_what_was_used)
{
    check_victims("marking", NULL, 1, "abc", "ab");
    struct paging paging = letters("abcdab");
    struct paging_run run;
    for (uint64_t seed = 0; seed < 20; seed++) {
        paging_run(&paging, "marking", NULL, 3, seed, &run);
        CHECK(run.victims[0] >= 'a' && run.victims[0] <= 'c');
        for (int i = 1; i < run.n_victims; i++) CHECK(run.victims[i] != 'd'); /* used in its own phase */
    }
}

/* --- Predictions --- */

static void predict(const struct paging *paging, enum prediction_kind kind, double error_frac, int64_t capacity,
                    struct prediction *prediction)
{
    int64_t next_uses[PAGING_MAX];
    struct cache_future future = {paging->n, next_uses};
    struct cache cache;
    struct diag diag = {0};
    paging_next_uses(paging, next_uses);
    *prediction = (struct prediction){0};
    CHECK_EQ_INT(cache_init(&cache, &(struct cache_options){.evictor = &eviction_belady.policy,
                                                            .capacity = capacity,
                                                            .seed = 5,
                                                            .future = &future,
                                                            .diag = &diag}),
                 0);
    CHECK_EQ_INT(prediction_make(prediction, &cache.view, kind, error_frac), 0);
    cache_fini(&cache);
}

static void check_bits(enum prediction_kind kind, int64_t capacity, const char *accesses, const char *expected)
{
    struct paging paging = letters(accesses);
    struct prediction prediction;
    char bits[64] = {0};
    predict(&paging, kind, 0, capacity, &prediction);
    for (int i = 0; i < paging.n; i++) bits[i] = (char)('0' + prediction.bits[i]);
    CHECK_EQ_STR(bits, expected);
    CHECK_EQ_INT(prediction.wrong_zeros + prediction.wrong_ones, 0);
    prediction_fini(&prediction);
}

TEST(discard_bits_are_belady_s)
{
    check_bits(PREDICT_DISCARD, 2, "abcab", "01100"); /* b goes for c, c for the second b */
    check_bits(PREDICT_DISCARD, 3, "abcdabcda", "001001000");
}

TEST(phase_bits_look_one_phase_ahead)
{
    check_bits(PREDICT_PHASE, 2, "ababcbcad", "101011111");
    check_bits(PREDICT_PHASE, 1, "aabb", "1111");
    check_bits(PREDICT_PHASE, 2, "abcabc", "010111");
}

TEST(errors_come_at_their_rate)
{
    struct paging paging;
    struct prediction truth, bent, all;
    paging_uniform(&paging, 3, 4000, 30);
    for (int kind = 0; kind < 2; kind++) {
        predict(&paging, (enum prediction_kind)kind, 0, 10, &truth);
        predict(&paging, (enum prediction_kind)kind, 0.2, 10, &bent);
        predict(&paging, (enum prediction_kind)kind, 1, 10, &all);
        int64_t zeros = 0, ones = 0;
        for (int i = 0; i < paging.n; i++) {
            zeros += bent.bits[i] == 0 && truth.bits[i] == 1;
            ones += bent.bits[i] == 1 && truth.bits[i] == 0;
            CHECK_EQ_INT(all.bits[i], !truth.bits[i]);
        }
        CHECK_EQ_INT(bent.wrong_zeros, zeros);
        CHECK_EQ_INT(bent.wrong_ones, ones);
        CHECK_NEAR((double)(zeros + ones), 800, 4 * 25.3); /* 4 standard deviations */
        prediction_fini(&truth);
        prediction_fini(&bent);
        prediction_fini(&all);
    }
}

TEST(one_bit_policies_follow_their_bits)
{
    check_victims("discard-bit", NULL, 2, "abcaba", "bc");
    check_victims("discard-bit", "{\"algorithm\": \"flush\"}", 2, "abcaba", "bc");
    check_victims("phase-bit", NULL, 2, "ababcbc", "a");
}
