/* Laws of speculation: closed forms of the tokens of a step, tokens and KV blocks that are conserved under every
 * batcher, runs that do not depend on how they are stepped through, and no drafts being no speculation. */
#include "sim/catalog/catalog.h"
#include "sim/world/replica/speculation.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

#define CHECK_SAME(a, b) CHECK_NEAR(a, b, 1e-9)

/* Each draft at depth i is right with rates[i - 1] if those before it are: k drafts give 1 + a1 + a1 a2 + ... tokens,
 * (1 - a^(k+1)) / (1 - a) if all rates are a. */
TEST(closed_form_of_a_step)
{
    static const double rates[][3] = {{0.7, 0.7, 0.7}, {0.9, 0.5, 0.8}, {0.0, 1.0, 1.0}, {1.0, 1.0, 1.0}};
    for (size_t law = 0; law < sizeof rates / sizeof *rates; law++) {
        struct acceptance acceptance = {.key = 5 + law};
        acceptance_from_rates(&acceptance, rates[law], 3);
        for (int64_t k = 0; k <= 6; k++) {
            const int n = 200000;
            double sum = 0, squares = 0, expected = 0, right = 1;
            for (int64_t i = 0; i <= k; i++) {
                expected += right;
                right *= rates[law][i < 2 ? i : 2];
            }
            for (int i = 0; i < n; i++) {
                const double tokens = 1.0 + (double)acceptance_draw(&acceptance, i / 100, i % 100, k);
                sum += tokens;
                squares += tokens * tokens;
            }
            const double mean = sum / n, error = sqrt(fmax(squares / n - mean * mean, 0.0) / n);
            CHECK(fabs(mean - expected) <= 4.5 * error + 1e-12);
        }
    }
}

/* The draw at a position with fewer drafts is that with more, cut off. */
TEST(draws_do_not_depend_on_the_drafts)
{
    static const double rates[] = {0.8, 0.6};
    struct acceptance acceptance = {.key = 77};
    acceptance_from_rates(&acceptance, rates, 2);
    for (int64_t id = 0; id < 50; id++)
        for (int64_t position = 0; position < 50; position++) {
            const int64_t most = acceptance_draw(&acceptance, id, position, SPECULATION_MAX_DEPTH);
            for (int64_t k = 0; k < 8; k++)
                CHECK_EQ_INT(acceptance_draw(&acceptance, id, position, k), most < k ? most : k);
        }
}

/* As many drafts are right as there are probabilities above the draw, a multiple of 2^-53. */
TEST(draws_are_compared_as_numbers)
{
    static const double rates[][3] = {{0.7, 0.7, 0.7}, {0.0, 1.0, 1.0}, {1.0, 0x1p-53, 0.5}, {1.0 / 3, 0.99, 0x1p-30}};
    for (size_t law = 0; law < sizeof rates / sizeof *rates; law++) {
        struct acceptance acceptance = {.key = 9 + law};
        acceptance_from_rates(&acceptance, rates[law], 3);
        const struct acceptance_of of = acceptance_of(&acceptance, 3);
        for (int64_t position = 0; position < 3000; position++) {
            const uint64_t bits = hash_mix(of.key + ACCEPTANCE_GOLDEN * ((uint64_t)position + 1));
            const double drawn = (double)(bits >> 11) * 0x1p-53;
            int64_t right = 0;
            while (right < 6 && drawn < acceptance.right_frac[right + 1]) right++;
            CHECK_EQ_INT(acceptance_draw(&acceptance, 3, position, 6), right);
            CHECK_EQ_INT(acceptance_draw(&acceptance, 3, position, 3), right < 3 ? right : 3);
        }
        for (int64_t i = 0; i <= 6; i++) CHECK(i == 0 || acceptance.right_draws[i] <= acceptance.right_draws[i - 1]);
        CHECK(acceptance.right_draws[0] == UINT64_C(1) << 53);
    }
}

static uint64_t shifts_undone(uint64_t x, int shift)
{
    uint64_t original = x;
    for (int known = shift; known < 64; known += shift) original = x ^ original >> shift;
    return original;
}

static uint64_t factor_undone(uint64_t x, uint64_t factor)
{
    uint64_t inverse = factor; /* modulo 2^64, by Newton's method */
    for (int k = 0; k < 6; k++) inverse *= 2 - factor * inverse;
    return x * inverse;
}

/* The request's part of a draw that is so many of 2^53 at position 0. */
static struct acceptance_of of_draw(uint64_t draw, double rate)
{
    uint64_t x = shifts_undone(draw << 11, 31);
    x = shifts_undone(factor_undone(x, UINT64_C(0x94d049bb133111eb)), 27);
    x = shifts_undone(factor_undone(x, UINT64_C(0xbf58476d1ce4e5b9)), 30);
    return (struct acceptance_of){x - ACCEPTANCE_GOLDEN, rate};
}

static void check_least_wrong_draw(double right_frac)
{
    const double rates[] = {right_frac, 0.0};
    struct acceptance chain = {.key = 1}, geometric = {.rates = rates, .n_rates = 1};
    acceptance_from_rates(&chain, rates, 2);
    const uint64_t least = chain.right_draws[1];
    MUST(least > 0 && least <= UINT64_C(1) << 53);
    CHECK((double)(least - 1) * 0x1p-53 < right_frac && !((double)least * 0x1p-53 < right_frac));
    for (int64_t most = 1; most <= 6; most += 5) { /* few are counted otherwise than many */
        const struct acceptance_of last_right = of_draw(least - 1, 0.0), first_wrong = of_draw(least, 0.0);
        CHECK_EQ_INT(acceptance_draw_of(&chain, &last_right, 0, most), 1);
        if (least < UINT64_C(1) << 53) CHECK_EQ_INT(acceptance_draw_of(&chain, &first_wrong, 0, most), 0);
    }
    const struct acceptance_of last_right = of_draw(least - 1, right_frac), first_wrong = of_draw(least, right_frac);
    CHECK_EQ_INT(acceptance_draw_of(&geometric, &last_right, 0, 1), 1);
    if (least < UINT64_C(1) << 53) CHECK_EQ_INT(acceptance_draw_of(&geometric, &first_wrong, 0, 1), 0);
}

/* The least k for which the draft is wrong is that for which k 2^-53 is not below its probability: k - 1 is right. */
TEST(the_least_wrong_draw)
{
    static const double fracs[] = {1.0, 0.7, 0.5, 0.49, 1.0 / 3, 0.1, 1e-9, 0x1.8p-53, 0x1p-53, 0x1p-54, 0x1p-1074};
    for (size_t i = 0; i < sizeof fracs / sizeof *fracs; i++) check_least_wrong_draw(fracs[i]);
    struct rng rng = test_rng(1, "fractions", 0);
    for (int i = 0; i < 1000; i++) {
        const double right_frac = rng_uniform(&rng) * 0x1p-3; /* a double, but hardly ever a multiple of 2^-53 */
        if (right_frac > 0.0) check_least_wrong_draw(right_frac);
    }
}

#define SERVICE(batching, cost, more)                                                                                  \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'mistral-7b',"      \
    " 'replicas': 2, 'batching': '" batching "', 'cost': " cost ", 'kv': {'blocks': 90}, " more                        \
    " 'trace': {'format': 'generate', 'count': 150, 'arrival': {'process': 'poisson', 'rate': '15/s'},"                \
    " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 300},"                                                    \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 120}}}}}"
#define OPERATORS "'operators'"
#define AFFINE                                                                                                         \
    "{'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'}, 'decode': {'fixed': '11ms',"                  \
    " 'per_sequence': '20us', 'per_token': '5us', 'per_context_token': '30ns'}}"

/* Whether iterations one by one give the same bytes, and no fewer events, as those that are computed ahead. A sink
 * that gets batches is told of each, so none is computed ahead for it. A power cap, or a queue, leaves none either. */
static void check_ahead(const struct bed_rows *rows, struct bed_rows *each)
{
    each->n_batches = 0;
    CHECK(bed_equal(rows, each));
    CHECK(rows->engine.fired <= each->engine.fired);
}

/* Every request gets its tokens, drafts are accepted or rejected, and single steps with the other queue give the same
 * bytes. The invariants are checked after every event. */
static void check_conserved(const char *format)
{
    struct bed_rows *rows = bed_ok(BED(.check = true, .no_batches = true), "%s", format);
    struct bed_rows *single = bed_ok(BED(.single_step = true, .queue = QUEUE_HEAP), "%s", format);
    const double steps = bed_metric(rows, "speculation.drafted_tokens.sum");
    struct bed_rows *each = bed_ok(BED(.check = true), "%s", format);
    CHECK(bed_equal(each, single));
    check_ahead(rows, each);
    bed_free(each);
    CHECK(steps > 0);
    CHECK_SAME(steps, bed_metric(rows, "speculation.accepted_tokens.sum") +
                          bed_metric(rows, "speculation.rejected_tokens.sum"));
    CHECK_SAME(bed_metric(rows, "request.finished") + bed_metric(rows, "request.rejected"), 150);
    bed_free(rows);
    bed_free(single);
}

#define CHAIN "'speculation': {'policy': 'fixed', 'drafts': 4}, 'acceptance': {'rates': [0.8, 0.6]},"
#define LOAD                                                                                                           \
    " 'trace': {'format': 'generate', 'count': 150, 'arrival': {'process': 'poisson', 'rate': '15/s'},"                \
    " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 300},"                                                    \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 120}}}}}"
#define TREE                                                                                                           \
    "'speculation': {'policy': 'eagle', 'depth': 3, 'branches': 4, 'tokens': 20}, 'acceptance': {'rates': [0.8]},"

TEST(tokens_are_conserved_under_every_batcher)
{
    static const char *const worlds[] = {
        SERVICE("vllm-v0", OPERATORS, CHAIN), SERVICE("vllm-v1", OPERATORS, TREE), SERVICE("sarathi", AFFINE, CHAIN),
        SERVICE("orca", AFFINE, TREE), SERVICE("fastertransformer", AFFINE, CHAIN), SERVICE("splitwise", AFFINE, TREE),
        SERVICE("distserve", AFFINE, CHAIN), SERVICE("sglang", OPERATORS, CHAIN), SERVICE("trtllm", AFFINE, TREE)};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) check_conserved(worlds[i]);
}

TEST(most_iterations_are_computed_ahead)
{
    struct bed_rows *ahead = bed_ok(BED(.no_batches = true), SERVICE("vllm-v0", OPERATORS, CHAIN));
    struct bed_rows *each = bed_ok(NULL, SERVICE("vllm-v0", OPERATORS, CHAIN));
    CHECK(3 * ahead->engine.fired < 2 * each->engine.fired);
}

/* --- Trees --- */

#define RANKED "'acceptance': {'rates': [0.7, 0.5], 'rank_power': 0.5},"
#define PROMPTS "'acceptance': {'ranks': 'configs/figures/speculation/ranks.csv', 'method': 'ppd'},"

TEST(trees_are_conserved_under_every_batcher)
{
#define EAGLE_2 "'speculation': {'policy': 'eagle', 'depth': 4, 'branches': 4, 'tokens': 20}," RANKED
#define LIKELIEST "'speculation': {'policy': 'eagle', 'depth': 6, 'branches': 8, 'tokens': 12, 'shape': 'likeliest'}," RANKED
#define PPD "'speculation': {'policy': 'ppd', 'depth': 3, 'tokens': 16}," PROMPTS
    static const char *const worlds[] = {
        SERVICE("vllm-v0", OPERATORS, EAGLE_2),      SERVICE("vllm-v1", OPERATORS, PPD),
        SERVICE("sarathi", AFFINE, LIKELIEST),       SERVICE("orca", AFFINE, EAGLE_2),
        SERVICE("fastertransformer", AFFINE, PPD),   SERVICE("splitwise", AFFINE, LIKELIEST),
        SERVICE("distserve", AFFINE, EAGLE_2),       SERVICE("sglang", OPERATORS, LIKELIEST),
        SERVICE("trtllm", AFFINE, PPD)};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) check_conserved(worlds[i]);
}

/* A chain is a tree with one branch: the rates of other candidates change no byte of it, whichever policy drafts
 * it. */
TEST(chains_have_no_use_for_other_candidates)
{
    static const char *const policies[] = {"{'policy': 'eagle', 'depth': 4}",
                                           "{'policy': 'mtp', 'drafts': 4}",
                                           "{'policy': 'fixed', 'drafts': 4}",
                                           "'smartspec'",
                                           "'ngram'",
                                           "{'policy': 'eagle', 'depth': 4, 'shape': 'likeliest'}"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        char text[2][1200];
        for (int ranked = 0; ranked < 2; ranked++)
            snprintf(text[ranked], sizeof text[ranked],
                     SERVICE("vllm-v1", AFFINE, "'speculation': %s, 'acceptance': {'rates': [0.7, 0.5]%s},"),
                     policies[i], ranked ? ", 'rank_power': 0.5" : "");
        struct bed_rows *plain = bed_ok(NULL, "%s", text[0]), *with_ranks = bed_ok(NULL, "%s", text[1]);
        CHECK(bed_equal(plain, with_ranks));
        bed_free(plain);
        bed_free(with_ranks);
    }
}

/* Tokens per step of one user after another. Of a request's 2000 tokens only those of the last step are cut off. */
static double tokens_per_step(const char *more)
{
    struct bed_rows *rows = bed_ok(
        BED(.no_batches = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'mistral-7b',"
        " 'batching': 'vllm-v1', 'cost': " AFFINE ", %s 'trace': {'format': 'generate', 'count': 40,"
        " 'arrival': {'process': 'closed', 'users': 1}, 'prompt': {'distribution': 'fixed', 'tokens': 50},"
        " 'output': {'distribution': 'fixed', 'tokens': 2000}}}}}",
        more);
    const double tokens = bed_metric(rows, "speculation.tokens_per_step");
    bed_free(rows);
    return tokens;
}

/* The mean of a run is the closed form, which grows with each node. About 30,000 steps, whose drafts deviate by less
 * than half of the most: 4.5 deviations of the mean, and the cut last step of 40 requests. */
TEST(wider_trees_give_what_their_nodes_give)
{
    struct draft_rates rates = {.depths = 2};
    draft_rates_by_power(&rates, 1, 0.7, 0.5);
    draft_rates_by_power(&rates, 2, 0.5, 0.5);
    double before[2] = {0, 0};
    for (int tokens = 4; tokens <= 64; tokens *= 2)
        for (int likeliest = 0; likeliest < 2; likeliest++) {
            char more[300];
            struct draft_tree tree;
            double kept[DRAFT_MAX_NODES];
            snprintf(
                more, sizeof more,
                "'speculation': {'policy': 'eagle', 'depth': 4, 'branches': 5, 'tokens': %d, 'shape': '%s'}," RANKED,
                tokens, likeliest ? "likeliest" : "eagle-2");
            draft_tree_likeliest(&rates, 4, 5, likeliest ? 0 : 5, tokens, &tree);
            const double expected = 1 + draft_tree_kept(&rates, &tree, kept), measured = tokens_per_step(more);
            CHECK_NEAR(measured, expected, 4.5 * 2 / sqrt(80000 / expected) + 4 * expected / 2000);
            CHECK(measured > before[likeliest]);
            CHECK(likeliest == 0 || measured >= before[0] - 0.02);
            before[likeliest] = measured;
        }
}

/* Trees of parallel prompt decoding, by the rates of its authors for Vicuna-7B. More tokens give more. The trees in
 * their program for 50, 60 and 100 tokens give 2.203, 2.245 and 2.357 tokens per step, with the three prompt tokens
 * that they have behind the newest token; those here, of as many tokens, differ by 1 % at most. */
TEST(more_prompt_tokens_and_guesses_give_more)
{
    static const struct {
        int tokens;
        double authors;
    } cases[] = {{6, 0}, {9, 0}, {12, 0}, {16, 0}, {24, 0}, {36, 0}, {53, 2.203}, {63, 2.245}, {103, 2.357}};
    double before = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char more[300];
        snprintf(more, sizeof more, "'speculation': {'policy': 'ppd', 'depth': 3, 'tokens': %d}," PROMPTS,
                 cases[i].tokens);
        const double tokens = tokens_per_step(more);
        CHECK(tokens > before);
        if (cases[i].authors > 0) CHECK_NEAR(tokens, cases[i].authors, 0.01 * cases[i].authors);
        before = tokens;
    }
}

/* Prompt tokens make the guesses of the next step: where blocks are too short for them, there are none. So fewer
 * blocks never serve more, here where trees pay. */
TEST(fewer_blocks_make_no_prompt_decoding_faster)
{
    double before = INFINITY;
    for (int blocks = 110; blocks >= 40; blocks -= 10) {
        struct bed_rows *rows = bed_ok(
            BED(.no_batches = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'mistral-7b',"
            " 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '11ms', 'per_token': '20us'}},"
            " 'batching': 'vllm-v1', 'kv': {'blocks': %d}, 'speculation': {'policy': 'ppd', 'tokens': 32}," PROMPTS
            " 'trace': {'format': 'generate', 'count': 64, 'arrival': {'process': 'closed', 'users': 8},"
            " 'prompt': {'distribution': 'fixed', 'tokens': 16},"
            " 'output': {'distribution': 'uniform', 'min': 100, 'max': 300}}}}}",
            blocks);
        const double tokens_per_s = bed_metric(rows, "service.output_tokens_per_s");
        CHECK(tokens_per_s <= before);
        before = tokens_per_s;
        bed_free(rows);
    }
}

/* Failures of nodes, replicas that come and go, power that is capped and prefixes that are cached. */
TEST(the_rest_of_the_site_goes_on)
{
    static const char *const worlds[] = {
        "{'cluster': {'nodes': 4, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, 'failures': {'causes': {'a': {'scope':"
        " 'node', 'lifetime': {'mean': '15s'}, 'repair': {'law': 'constant', 'mean': '2s'}}}}, 'services': {'s': {'llm':"
        " 'mistral-7b', 'replicas': 5, 'restart': {'delay': '1s'}, 'batching': 'vllm-v1', 'kv': {'blocks': 200}, " CHAIN
            LOAD,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'mistral-7b',"
        " 'scaling': {'policy': {'policy': 'target-outstanding', 'target': 4}, 'max': 6, 'interval': '500ms', 'start_delay': '400ms'},"
        " 'batching': 'sglang', 'kv': {'blocks': 200}, " TREE LOAD,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '680W',"
        " 'per_gpu_watt': 0.66}, 'power': {'budget': '2000W', 'level': 'server', 'telemetry': {'period': '100ms'},"
        " 'commands': {'out_of_band': '400ms', 'brake': '50ms'}, 'capping': 'static-cap'}}, 'services': {'s': {'llm':"
        " 'mistral-7b', 'replicas': 3, 'batching': 'sarathi', 'draft': {'llm': 'phi-2'}, " CHAIN LOAD,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'mistral-7b',"
        " 'replicas': 2, 'batching': {'policy': 'vllm-v0', 'preemption': 'swap'}, 'kv': {'blocks': 60,"
        " 'prefix_cache': 'lru'}, " CHAIN LOAD};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) check_conserved(worlds[i]);
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* A fixed number of 0 drafts is no speculation. */
TEST(no_drafts_are_no_speculation)
{
    struct bed_rows *none = bed_ok(NULL, SERVICE("vllm-v1", OPERATORS, ""));
    struct bed_rows *zero = bed_ok(NULL, SERVICE("vllm-v1", OPERATORS,
                                                 "'speculation': {'policy': 'fixed', 'drafts': 0},"
                                                 " 'acceptance': {'rates': [0.5]},"));
    CHECK_EQ_INT(none->n_requests, zero->n_requests);
    for (int64_t id = 0; id < 150; id++) {
        const struct request_row *a = bed_request(none, id), *b = bed_request(zero, id);
        MUST(a != NULL && b != NULL);
        CHECK(a->ttft_s == b->ttft_s && a->e2e_s == b->e2e_s && is_same(a->max_gap_s, b->max_gap_s) &&
              a->replica == b->replica && a->preemptions == b->preemptions);
    }
    CHECK_SAME(bed_metric(none, "energy.j"), bed_metric(zero, "energy.j"));
}

static int catch_assumption(void *context, const struct warning_row *row)
{
    unsigned *found = context;
    *found |= strcmp(row->code, "acceptance") == 0 ? 1u : strcmp(row->code, "free-drafts") == 0 ? 2u : 0u;
    *found |= strcmp(row->code, "made-up-layer") == 0 ? 4u : 0u;
    return 0;
}

/* A run that drafts stores what it takes for granted: 1 the acceptance, 2 that drafts cost nothing, 4 a layer of the
 * LLM. A scenario that gives them, policies that draft without a draft LLM, and runs without drafts store nothing of
 * the kind. */
TEST(assumptions_about_drafts_are_stored)
{
#define FIXED "'speculation': {'policy': 'fixed', 'drafts': 2},"
#define GIVEN "'acceptance': {'rates': [0.5]},"
    static const struct {
        const char *world;
        unsigned found;
    } cases[] = {{SERVICE("vllm-v1", AFFINE, FIXED), 3},
                 {SERVICE("vllm-v1", AFFINE, FIXED GIVEN), 2},
                 {SERVICE("vllm-v1", AFFINE, FIXED GIVEN "'draft': {'pass_overhead': '0s'},"), 0},
                 {SERVICE("vllm-v1", OPERATORS, FIXED "'draft': {'llm': 'phi-2'},"), 1},
                 {SERVICE("vllm-v1", AFFINE, "'speculation': 'ngram',"), 1},
                 {SERVICE("vllm-v1", AFFINE, "'speculation': 'eagle'," GIVEN), 0},
                 {SERVICE("vllm-v1", AFFINE, "'speculation': 'mtp'," GIVEN), 4},
                 {"{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'h200-sxm'}, 'services': {'s': {'llm': 'glm-4.7',"
                  " 'tensor_parallel': 8, 'cost': " AFFINE ", 'speculation': 'mtp', " GIVEN " 'trace': {'format': "
                  "'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': "
                  "'fixed', 'tokens': 5}, 'output': {'distribution': 'fixed', 'tokens': 5}}}}}",
                  0},
                 {SERVICE("vllm-v1", AFFINE, "'speculation': {'policy': 'fixed', 'drafts': 0},"), 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned found = 0;
        const struct sink sink = {.context = &found, .warning = catch_assumption};
        bed_free(bed_ok(BED(.also = &sink), "%s", cases[i].world));
        CHECK_EQ_INT(found, cases[i].found);
    }
}

static int catch_cache(void *context, const struct warning_row *row)
{
    if (strcmp(row->code, "request-too-long") == 0)
        *(long long *)context = strtoll(strrchr(row->text, '(') + 1, NULL, 10);
    return 0;
}

/* Tokens that the KV cache of GLM-4.7 on eight H200s holds, by the warning about a request that is too long. */
static long long cached_tokens(const char *more)
{
    long long tokens = 0;
    const struct sink sink = {.context = &tokens, .warning = catch_cache};
    bed_free(bed_ok(BED(.also = &sink),
                    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'h200-sxm'}, 'services': {'s': {'llm': 'glm-4.7',"
                    " 'tensor_parallel': 8, 'cost': " AFFINE ", %s 'trace': {'format': 'generate', 'count': 1, 'arrival':"
                    " {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 900000},"
                    " 'output': {'distribution': 'fixed', 'tokens': 5}}}}}",
                    more));
    return tokens;
}

/* The layers for multi-token prediction take memory from the cache of a service that drafts with them, and keep keys
 * and values of their own; other services do not load them. A layer that is made up also has a vocabulary. */
TEST(services_that_draft_with_the_layers_hold_them)
{
    static const struct catalog catalog = {.root = "configs"};
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct llm_spec llm;
    MUST(catalog_llm(&catalog, "glm-4.7", "test", &arena, &llm, &diag) == 0 && llm.mtp_layers == 1);
    const struct llm_shard whole = llm_shard(&llm, 8, 1), own = llm_mtp_shard(&llm, 8, 1);
    const long long without = cached_tokens(""),
                    with = cached_tokens("'speculation': 'mtp', 'acceptance': {'rates': [0.5]},");
    const long long made_up = cached_tokens("'speculation': 'eagle', 'acceptance': {'rates': [0.5]},");
    const double block_bytes = 16.0 * (whole.kv_bytes_per_token + own.kv_bytes_per_token);
    const double left_bytes = (double)without * whole.kv_bytes_per_token - own.weight_bytes;
    MUST(without > 0 && with > 0);
    CHECK_NEAR((double)with * (whole.kv_bytes_per_token + own.kv_bytes_per_token), left_bytes, block_bytes);
    CHECK(made_up < with);
}

/* One user alone: n tokens behind the first take n iterations if no draft is right, ceil(n / (k + 1)) if all are. */
static double iterations_alone(const char *rate, int output)
{
    struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'mistral-7b',"
        " 'batching': 'vllm-v1', 'cost': " AFFINE ", 'speculation': {'policy': 'fixed', 'drafts': 3},"
        " 'acceptance': {'rates': [%s]}, 'trace': {'format': 'generate', 'count': 1,"
        " 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 50},"
        " 'output': {'distribution': 'fixed', 'tokens': %d}}}}}",
        rate, output);
    return bed_metric(rows, "replica.iterations.sum");
}

TEST(never_right_and_always_right)
{
    for (int output = 2; output < 40; output += 3) {
        CHECK_SAME(iterations_alone("0", output), output);
        CHECK_SAME(iterations_alone("1", output), 1 + (output - 1 + 3) / 4);
    }
}

/* Drafts cost energy: what an iteration with k drafts takes is more, and what it saves is iterations. */
TEST(energy_of_drafts)
{
#define ENERGY(more)                                                                                                   \
    bed_metric(bed_ok(NULL, SERVICE("vllm-v1", OPERATORS, more)), "energy.j_per_output_token")
    const double none_j = ENERGY("");
    const double wrong_j = ENERGY("'speculation': {'policy': 'fixed', 'drafts': 4}, 'acceptance': {'rates': [0]},");
    const double free_j = ENERGY("'speculation': {'policy': 'fixed', 'drafts': 4}, 'acceptance': {'rates': [0.9]},");
    const double drafted_j = ENERGY("'speculation': {'policy': 'fixed', 'drafts': 4}, 'acceptance': {'rates': [0.9]},"
                                    " 'draft': {'llm': 'phi-2'},");
#undef ENERGY
    CHECK(wrong_j > none_j && free_j < none_j && drafted_j > free_j);
}

/* Output tokens per second of so many users, by Little's law: each always has one request. */
static double speed_of(int users, const char *token, const char *speculation, double *drafted_frac)
{
    struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'mistral-7b',"
        " 'batching': 'vllm-v1', 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '10ms',"
        " 'per_token': '%s'}}, %s 'trace': {'format': 'generate',"
        " 'count': %d, 'arrival': {'process': 'closed', 'users': %d}, 'prompt': {'distribution': 'uniform',"
        " 'min': 20, 'max': 60}, 'output': {'distribution': 'uniform', 'min': 100, 'max': 300}}}}}",
        token, speculation, 12 * users, users);
    *drafted_frac = bed_metric(rows, "speculation.iterations_frac");
    const double speed = users * bed_metric(rows, "request.output_tokens.sum") / bed_metric(rows, "request.finished") /
                         bed_metric(rows, "request.e2e_s.mean");
    bed_free(rows);
    return speed;
}

/* The goodput rule takes drafts where a further token of an iteration is nearly free, and none where it costs three
 * times the fixed part of an iteration. It is then at most 1 % slower than no drafts. */
TEST(goodput_decides_by_load)
{
    static const char rule[] = "'speculation': 'smartspec', 'acceptance': {'rates': [0.6]},", none[] = "";
    double drafted, unused;
    for (int users = 1; users <= 16; users *= 4) {
        CHECK(speed_of(users, "10us", rule, &drafted) > 1.5 * speed_of(users, "10us", none, &unused));
        CHECK(drafted > 0.99);
        CHECK(speed_of(users, "30ms", rule, &drafted) > 0.99 * speed_of(users, "30ms", none, &unused));
        CHECK(drafted < 0.01);
    }
}

/* A first draft is nearly always right, and a second one hardly ever. The rule that learns rates by depth is as fast
 * as one draft, within 2 %. With the mean rate of all drafts it takes too many. */
TEST(rates_by_depth_find_the_useful_drafts)
{
#define RATES "'acceptance': {'rates': [0.95, 0.01]},"
    double unused;
    const double one = speed_of(4, "1ms", "'speculation': {'policy': 'smartspec', 'max_drafts': 1}," RATES, &unused);
    const double by_depth = speed_of(4, "1ms", "'speculation': {'policy': 'smartspec', 'estimate': 'by-depth'}," RATES,
                                     &unused);
    const double by_rate = speed_of(4, "1ms", "'speculation': {'policy': 'smartspec', 'estimate': 'rate'}," RATES,
                                    &unused);
#undef RATES
    CHECK_NEAR(by_depth / one, 1, 0.02);
    CHECK(by_rate < 0.95 * by_depth);
}

/* Probing tries one draft after every so many iterations without. */
TEST(probing_is_as_frequent_as_it_says)
{
    double drafted;
    speed_of(4, "12ms", "'speculation': {'policy': 'smartspec', 'probe_every': 10}, 'acceptance': {'rates': [0.6]},",
             &drafted);
    CHECK_NEAR(drafted, 0.1, 0.01);
}

/* What cannot work is refused with its place. */
static void check_refused(const char *more, const char *words)
{
    struct bed_rows *rows = bed_run(BED(.quiet = true),
                                    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'s': {"
                                    " 'llm': 'mistral-7b', %s 'trace': {'format': 'generate', 'count': 1, 'arrival':"
                                    " {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 5},"
                                    " 'output': {'distribution': 'fixed', 'tokens': 5}}}}}",
                                    more);
    bool found = false;
    for (int i = 0; i < rows->diag.n_items; i++) found = found || strstr(rows->diag.items[i].text, words) != NULL;
    CHECK(rows->code != 0 && found);
}

TEST(impossible_combinations_are_refused)
{
    check_refused(
        "'pipeline_parallel': 2, 'batching': 'distserve', 'speculation': 'fixed', 'acceptance': {'rates': [0.5]},",
        "stages batch for themselves");
    check_refused("'speculation': 'fixed', 'acceptance': {},", "acceptance needs");
    check_refused("'speculation': 'mtp', 'acceptance': {'rates': [0.5]}, 'draft': {'llm': 'phi-2'},",
                  "drafts with a layer");
    check_refused("'speculation': 'ngram', 'acceptance': {'rates': [0.5]}, 'draft': {'llm': 'phi-2'},",
                  "drafts without an LLM");
    check_refused("'speculation': 'fixed', 'acceptance': {'rates': [0.5]}, 'draft': {'llm': 'phi-2'}, 'cost': " AFFINE
                  ",",
                  "prices no draft LLM");
    check_refused("'speculation': {'policy': 'eagle', 'tokens': 9}, 'acceptance': {'rates': [0.5]},",
                  "a chain of depth");
    check_refused("'speculation': {'policy': 'eagle', 'depth': 2, 'branches': 4, 'tokens': 21},"
                  " 'acceptance': {'rates': [0.5]},",
                  "has at most 20 tokens");
    check_refused("'speculation': {'policy': 'eagle', 'depth': 2, 'branches': 4, 'tokens': 21, 'shape': 'likeliest'},"
                  " 'acceptance': {'rates': [0.5], 'rank_power': 0.5},",
                  "has at most 20 tokens");
    check_refused("'speculation': 'fixed', 'acceptance': {'request_rates': 'a.csv', 'rank_power': 0.5},",
                  "not to 'request_rates'");
    check_refused("'speculation': 'fixed', 'acceptance': {'ranks': 'a.csv', 'rates': [0.5]},", "exclude each other");
    check_refused("'speculation': 'fixed', 'acceptance': {'rates': [0.1], 'rank_power': 2},",
                  "a candidate of rank 2 is right more often");
}

/* Iterations that are computed ahead do not begin after the end of time, here after the ninth. */
TEST(time_ends_among_drafts)
{
    struct bed_rows *rows = bed_run(
        BED(.quiet = true, .no_batches = true),
        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1, 'gpus_per_node': 1}, 'services': {'s': {'llm': 'mistral-7b',"
        " 'cost': {'kind': 'affine', 'prefill': {'fixed': '1s'}, 'decode': {'fixed': '1000000000s'}},"
        " 'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': [0.5]}, 'trace': {'format': 'generate',"
        " 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 5},"
        " 'output': {'distribution': 'fixed', 'tokens': 400}}}}}");
    MUST(rows->code == SIM_E_CONFIG && rows->diag.n_items == 1);
    CHECK(strstr(rows->diag.items[0].text, "computes for longer than 292 years") != NULL);
}
