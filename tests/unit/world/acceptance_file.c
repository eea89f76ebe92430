/* Acceptance from files: tokens per step as the table states them, rates of requests, and what is refused. */
#include "sim/world/service/acceptance_file.h"
#include "tests/support/harness.h"

#include <string.h>

static double tokens_of(const struct acceptance *acceptance, int64_t drafts)
{
    double tokens = 0;
    for (int64_t i = 0; i <= drafts; i++) tokens += acceptance->right_frac[i];
    return tokens;
}

/* The mean tokens of a step are the sum of the probabilities of 0, 1 .. k right drafts in a row. */
TEST(the_shipped_tables_give_their_tokens)
{
    static const char *const datasets[] = {"gsm8k", "cnn", "instructcoder", "sharegpt"};
    static const double eagle_3[] = {2.379, 2.325, 2.343, 2.252}, ngram_3[] = {1.164, 1.333, 2.028, 1.395};
    for (size_t i = 0; i < 4; i++)
        for (int method = 0; method < 2; method++) {
            struct diag diag;
            struct acceptance acceptance;
            const struct acceptance_config config = {.table = "configs/figures/speculation/acceptance.csv",
                                                     .dataset = datasets[i],
                                                     .method = method == 0 ? "eagle3" : "ngram"};
            diag_init(&diag);
            MUST(acceptance_build(&config, "", NULL, &acceptance, &diag) == 0);
            CHECK_NEAR(tokens_of(&acceptance, 3), method == 0 ? eagle_3[i] : ngram_3[i], 1e-9);
            for (int k = 1; k <= SPECULATION_MAX_DEPTH; k++)
                CHECK(acceptance.right_frac[k] >= 0 && acceptance.right_frac[k] <= acceptance.right_frac[k - 1]);
        }
}

static int build(const char *text, bool is_table, struct acceptance *acceptance, struct diag *diag)
{
    static struct arena arena;
    char path[512];
    snprintf(path, sizeof path, "%s/acceptance.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) return SIM_E_IO;
    fputs(text, file);
    fclose(file);
    const struct acceptance_config config = {.table = is_table ? path : NULL, .request_rates = is_table ? NULL : path};
    diag_init(diag);
    arena_init(&arena);
    const int code = acceptance_build(&config, "here", &arena, acceptance, diag);
    if (is_table || code != 0) arena_fini(&arena);
    return code;
}

/* Between two stated numbers of drafts, and beyond the last, the rate is constant. */
TEST(a_table_with_gaps)
{
    struct diag diag;
    struct acceptance acceptance;
    MUST(build("i,value\n1,1.5\n3,1.875\n", true, &acceptance, &diag) == 0);
    CHECK_NEAR(acceptance.right_frac[1], 0.5, 1e-9);
    CHECK_NEAR(acceptance.right_frac[2], 0.25, 1e-9);
    CHECK_NEAR(acceptance.right_frac[3], 0.125, 1e-9);
    CHECK_NEAR(acceptance.right_frac[5], 0.03125, 1e-9);
}

static void check_refused(const char *text, bool is_table, const char *words)
{
    struct diag diag;
    struct acceptance acceptance;
    CHECK(build(text, is_table, &acceptance, &diag) != 0 && diag.n_errors > 0 &&
          strstr(diag.items[0].text, words) != NULL);
}

TEST(wrong_files_are_refused)
{
    check_refused("i,value\n1,2.5\n", true, "tokens per step");
    check_refused("i,value\n0,1\n", true, "number of drafts");
    check_refused("i,value\n1,1.5\n1,1.5\n", true, "each number of drafts once");
    check_refused("i,value\n1,1.5\n2,1.4\n", true, "do not follow");
    check_refused("i,value\n1,1.5\n2,2.5\n", true, "do not follow");
    check_refused("i,value\n", true, "no tokens per step");
    check_refused("i\n1\n", true, "value");
    check_refused("rate\n1.5\n", false, "a rate from 0 to 1");
    check_refused("rate\n", false, "no rates");
}

static int build_ranks(const char *text, const char *method, double power, struct acceptance *acceptance,
                       struct arena *arena, struct diag *diag)
{
    char path[512];
    double rates[] = {0.5, 0.25};
    snprintf(path, sizeof path, "%s/ranks.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) return SIM_E_IO;
    fputs(text != NULL ? text : "", file);
    fclose(file);
    struct acceptance_config config = {.ranks = path, .method = method};
    if (text == NULL) config = (struct acceptance_config){.rates = {2, rates}, .rank_power = power};
    diag_init(diag);
    return acceptance_build(&config, "here", arena, acceptance, diag);
}

/* A chain takes the best candidates. Deeper candidates than stated are as the last ones, worse ones are never
 * right. */
TEST(rates_by_rank)
{
    static struct arena arena;
    struct diag diag;
    struct acceptance acceptance;
    MUST(build_ranks("rank,rate,depth,method\n1,0.6,1,a\n2,0.3,1,a\n1,0.9,1,b\n1,0.5,2,a\n", "a", 0, &acceptance,
                     &arena, &diag) == 0);
    MUST(acceptance.ranks != NULL);
    CHECK(draft_rate(acceptance.ranks, 1, 1) == 0.6 && draft_rate(acceptance.ranks, 1, 2) == 0.3);
    CHECK(draft_rate(acceptance.ranks, 1, 3) == 0 && draft_rate(acceptance.ranks, 1, 64) == 0);
    CHECK(draft_rate(acceptance.ranks, 2, 1) == 0.5 && draft_rate(acceptance.ranks, 32, 1) == 0.5);
    CHECK_NEAR(acceptance.right_frac[1], 0.6, 1e-15);
    CHECK_NEAR(acceptance.right_frac[4], 0.6 * 0.5 * 0.5 * 0.5, 1e-15);
    arena_fini(&arena);
}

/* Beside rates and tables, a power: of 4 candidates none is right in half as many cases as of 1, if it is 1/2. */
TEST(a_power_beside_rates_and_tables)
{
    static struct arena arena;
    struct diag diag;
    struct acceptance acceptance;
    MUST(build_ranks(NULL, NULL, 0.5, &acceptance, &arena, &diag) == 0);
    double sum[2] = {0, 0};
    for (int32_t depth = 1; depth <= 2; depth++)
        for (int32_t rank = 1; rank <= 4; rank++) sum[depth - 1] += draft_rate(acceptance.ranks, depth, rank);
    CHECK_NEAR(sum[0], 1 - 0.5 / 2, 1e-12);
    CHECK_NEAR(sum[1], 1 - 0.75 / 2, 1e-12);
    CHECK(draft_rate(acceptance.ranks, 9, 2) == draft_rate(acceptance.ranks, 2, 2));
    const struct acceptance_config config = {.table = "configs/figures/speculation/acceptance.csv", .dataset = "gsm8k",
                                             .method = "eagle3", .rank_power = 0.5};
    MUST(acceptance_build(&config, "", &arena, &acceptance, &diag) == 0);
    double right = 1;
    for (int32_t depth = 1; depth <= 3; depth++) {
        right *= draft_rate(acceptance.ranks, depth, 1);
        CHECK_NEAR(right, acceptance.right_frac[depth], 1e-12);
    }
    arena_fini(&arena);
}

static void check_ranks_refused(const char *text, double power, const char *words)
{
    static struct arena arena;
    struct diag diag;
    struct acceptance acceptance;
    CHECK(build_ranks(text, NULL, power, &acceptance, &arena, &diag) != 0 && diag.n_errors > 0 &&
          strstr(diag.items[0].text, words) != NULL);
    arena_fini(&arena);
}

TEST(wrong_ranks_are_refused)
{
    check_ranks_refused("depth,rank,rate\n1,1,0.5\n1,2,0.6\n", 0, "right more often (0.6) than one of rank 1 (0.5)");
    check_ranks_refused("depth,rank,rate\n1,1,0.5\n1,3,0.1\n", 0, "depth 1 has rank 3, but no rank 2");
    check_ranks_refused("depth,rank,rate\n1,1,0.6\n1,2,0.1\n2,2,0.3\n", 0, "depth 2 has rank 2, but no rank 1");
    check_ranks_refused("depth,rank,rate\n1,1,0.6\n1,2,0.6\n", 0, "sum to 1.2");
    check_ranks_refused("depth,rank,rate\n1,1,0.6\n3,1,0.6\n", 0, "a depth 3, but no depth 2");
    check_ranks_refused("depth,rank,rate\n1,1,0.6\n1,1,0.5\n", 0, "each depth and rank once");
    check_ranks_refused("depth,rank,rate\n33,1,0.6\n", 0, "a depth from 1 to 32");
    check_ranks_refused("depth,rank,rate\n1,65,0.6\n", 0, "a rank from 1 to 64");
    check_ranks_refused("depth,rank,rate\n1,1,1.5\n", 0, "a rate from 0 to 1");
    check_ranks_refused("depth,rank,rate\n", 0, "no rates of a first candidate");
    check_ranks_refused("depth,rank\n1,1\n", 0, "rate");
    check_ranks_refused(NULL, 1.5, "'rank_power' and the rates: at depth 2 a candidate of rank 2 is right more often");
}

static int build_power(double *rates, size_t n, double power, struct arena *arena, struct diag *diag)
{
    const struct acceptance_config config = {.rates = {n, rates}, .rank_power = power};
    struct acceptance acceptance;
    diag_init(diag);
    return acceptance_build(&config, "here", arena, &acceptance, diag);
}

/* With a first candidate right in 1/4 of the cases, the second is right in 3/4 (1 - 2^-b): as often for 2^-b = 2/3. A
 * power as hinted is possible at all depths, one a little larger is not. */
TEST(the_largest_power_is_hinted)
{
    static struct arena arena;
    struct diag diag;
    struct rng rng = test_rng(1, "rank_power", 0);
    double known[] = {0.5, 0.25}, falling[] = {0.45, 0.25, 0.1, 0.3};
    CHECK(build_power(known, 2, 0.586, &arena, &diag) != 0 && diag.n_errors == 1);
    CHECK_EQ_STR(diag.items[0].hint, "lower rank_power: at depth 2 at most 0.584");
    CHECK_EQ_INT(build_power(known, 2, 0.584, &arena, &diag), 0);
    CHECK(build_power(falling, 4, 2, &arena, &diag) != 0);
    CHECK(strstr(diag.items[0].text, "at depth 2 ") != NULL);
    CHECK(strstr(diag.items[0].hint, "lower rank_power: at depth 3 at most 0.1") != NULL);
    for (int run = 0; run < 200; run++) {
        double rates[3], most = 0;
        for (int i = 0; i < 3; i++) rates[i] = 0.01 + 0.6 * rng_uniform(&rng);
        if (build_power(rates, 3, 2, &arena, &diag) == 0) continue;
        const char *number = strstr(diag.items[0].hint, "at most ");
        if (!CHECK(number != NULL && sscanf(number, "at most %lf", &most) == 1)) continue;
        CHECK_EQ_INT(build_power(rates, 3, most, &arena, &diag), 0);
        CHECK(build_power(rates, 3, most + 0.0011, &arena, &diag) != 0);
    }
    arena_fini(&arena);
}

/* The key's least value is 0.01, so that a rate below 0.0069 allows none: 1 - 2^-0.01. */
TEST(rates_that_allow_no_power_say_so)
{
    static struct arena arena;
    struct diag diag;
    double low[] = {0.4, 0.006}, enough[] = {0.4, 0.007};
    CHECK(build_power(low, 2, 0.01, &arena, &diag) != 0);
    CHECK_EQ_STR(diag.items[0].hint,
                 "leave rank_power out, or give 'ranks': at depth 2 the best candidate is right too "
                 "rarely (0.006) for any power");
    CHECK_EQ_INT(build_power(enough, 2, 0.01, &arena, &diag), 0);
    arena_fini(&arena);
}

/* The n-th request has the n-th rate, and after the last row the first again. */
TEST(rates_of_requests)
{
    static struct arena arena;
    struct diag diag;
    struct acceptance acceptance;
    char path[512];
    snprintf(path, sizeof path, "%s/rates.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fputs("rate\n0\n1\n", file);
    fclose(file);
    const struct acceptance_config config = {.request_rates = path};
    diag_init(&diag);
    arena_init(&arena);
    MUST(acceptance_build(&config, "here", &arena, &acceptance, &diag) == 0);
    for (int64_t id = 0; id < 20; id++) CHECK_EQ_INT(acceptance_draw(&acceptance, id, 3 * id, 5), id % 2 == 0 ? 0 : 5);
    arena_fini(&arena);
}
