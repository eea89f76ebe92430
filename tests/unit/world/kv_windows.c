/* What the cache keeps of layers with a window: by default as vLLM, all tokens where something else needs them. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <string.h>

static struct bed_rows *serve(const char *llm, const char *more)
{
    return bed_run(BED(.check = true),
                   "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1}, 'services': {'s': {'llm': '%s', 'tensor_parallel': 8, %s"
                   "'trace': {'format': 'generate', 'count': 40, 'arrival': {'process': 'poisson', 'rate': '20/s'}, "
                   "'prompt': {'distribution': 'uniform', 'min': 1, 'max': 3000}, "
                   "'output': {'distribution': 'uniform', 'min': 1, 'max': 60}}}}}",
                   llm, more);
}

static bool keeps(const char *llm, const char *more)
{
    struct bed_rows *rows = serve(llm, more);
    CHECK_EQ_INT(rows->code, 0);
    const bool warns = bed_warning(rows, "kv-windows") != NULL;
    bed_free(rows);
    return warns;
}

TEST(vllm_v1_frees_what_lies_behind_windows)
{
    CHECK(!keeps("gpt-oss-120b", ""));
    CHECK(!keeps("gpt-oss-120b", "'batching': 'vllm-v1', "));
    CHECK(keeps("gpt-oss-120b", "'batching': 'vllm-v0', "));
    CHECK(keeps("gpt-oss-120b", "'batching': 'sglang', "));
    CHECK(keeps("gpt-oss-120b", "'kv': {'windows': 'keep'}, "));
    CHECK(keeps("gpt-oss-120b", "'kv': {'blocks': 100000}, "));
    CHECK(!keeps("gpt-oss-120b", "'kv': {'blocks': 100000, 'windows': 'free'}, "));
    CHECK(keeps("gpt-oss-120b", "'kv': {'prefix_cache': 'lru'}, "));
    CHECK(keeps("gpt-oss-120b", "'sampling': {'sequences': 2}, "));
    CHECK(!keeps("llama-3-8b", ""));
    CHECK(keeps("llama-4-scout", ""));
    CHECK(!keeps("llama-4-scout", "'kv': {'windows': 'free'}, "));
}

/* A request alone takes the blocks of all its tokens but the last, in halves of its layers. Those with a window of 128
 * tokens take nine blocks more at most. */
TEST(a_request_alone_takes_its_window)
{
    static const struct {
        const char *kv;
        int prompt;
        double blocks;
    } cases[] = {{"'keep'", 1600, 101}, {"'free'", 1600, 101 + 9}, {"'keep'", 40, 4}, {"'free'", 40, 4 + 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows =
            bed_run(BED(.check = true),
                    "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1}, 'services': {'s': {'llm': 'gpt-oss-120b', "
                    "'kv': {'blocks': 1000, 'windows': %s}, 'trace': {'format': 'generate', 'count': 1, "
                    "'arrival': {'process': 'poisson', 'rate': '1/s'}, "
                    "'prompt': {'distribution': 'fixed', 'tokens': %d}, "
                    "'output': {'distribution': 'fixed', 'tokens': 10}}}}}",
                    cases[i].kv, cases[i].prompt);
        MUST(rows->code == 0);
        CHECK_NEAR(1000.0 * bed_metric(rows, "replica.kv_peak_frac"), cases[i].blocks, 1e-9);
        bed_free(rows);
    }
}

/* Where sequences are shorter than the window and memory is not short, freeing holds as much as keeping, in the mean:
 * what it takes early is missing later. */
TEST(short_sequences_gain_nothing)
{
    double reserved[2];
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows =
            bed_run(BED(.check = true),
                    "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1}, 'services': {'s': {'llm': 'gemma-3-27b', "
                    "'tensor_parallel': 4, 'kv': {'windows': '%s'}, 'trace': {'format': 'generate', 'count': 100, "
                    "'arrival': {'process': 'poisson', 'rate': '2/s'}, "
                    "'prompt': {'distribution': 'fixed', 'tokens': 100}, "
                    "'output': {'distribution': 'uniform', 'min': 50, 'max': 900}}}}}",
                    i == 0 ? "keep" : "free");
        MUST(rows->code == 0);
        reserved[i] = bed_metric(rows, "kv.reserved_frac");
        bed_free(rows);
    }
    CHECK_NEAR(reserved[1] / reserved[0], 1.0, 0.02);
}

/* Where memory is not short, freeing changes no time. */
TEST(freed_windows_change_no_time)
{
    struct bed_rows *free = serve("gemma-3-27b", "'kv': {'windows': 'free'}, ");
    struct bed_rows *kept = serve("gemma-3-27b", "'kv': {'windows': 'keep'}, ");
    MUST(free->code == 0 && kept->code == 0);
    for (int i = 0; i < 40; i++) {
        CHECK_NEAR(bed_request(free, i)->ttft_s, bed_request(kept, i)->ttft_s, 0.0);
        CHECK_NEAR(bed_request(free, i)->e2e_s, bed_request(kept, i)->e2e_s, 0.0);
    }
    bed_free(free);
    bed_free(kept);
}

/* A router that chooses both replicas on arrival hands requests over without pools, too. */
TEST(windows_are_kept_where_requests_move)
{
    static const char *const routers[] = {"splitwise", "least-outstanding"};
    for (size_t i = 0; i < sizeof routers / sizeof *routers; i++) {
        struct bed_rows *rows =
            bed_run(BED(.check = true),
                    "{'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'gemma-3-4b', 'replicas': 2, "
                    "'routing': '%s', 'trace': {'format': 'generate', 'count': 20}}}}", routers[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK((bed_warning(rows, "kv-windows") != NULL) == (i == 0));
        bed_free(rows);
    }
}

TEST(what_keeps_windows_is_named)
{
    static const struct {
        const char *more, *expected;
    } cases[] = {
        {"'kv': {'windows': 'free', 'prefix_cache': 'lru'}, ", "cannot free what lies behind windows: prompts are cached"},
        {"'kv': {'windows': 'free'}, 'batching': 'sglang', ", "the batcher is not vllm-v1"},
        {"'kv': {'windows': 'free'}, 'sampling': {'sequences': 2}, ", "requests have several sequences"},
        {"'kv': {'windows': 'free', 'offload': 'swap'}, ", "'kv.offload' places the cache"},
        {"'kv': {'windows': 'free'}, 'routing': 'splitwise', ", "KV moves between replicas"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = serve("gpt-oss-120b", cases[i].more);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        if (strstr(rows->diag.items[0].text, cases[i].expected) == NULL)
            CHECK_EQ_STR(rows->diag.items[0].text, cases[i].expected);
        bed_free(rows);
    }
}
