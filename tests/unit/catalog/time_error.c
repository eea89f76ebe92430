/* How far measured times lie from predicted ones: by the preset where it was fitted, by the board elsewhere. */
#include "sim/catalog/cost.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

#include <string.h>

struct session {
    struct arena arena;
    struct diag diag;
    struct catalog catalog;
};

static void begin(struct session *session)
{
    *session = (struct session){.catalog = {.root = "configs"}};
    arena_init(&session->arena);
    diag_init(&session->diag);
}

/* The interval of a preset is that of its held-out rows: e of them means predicted / (1 + e) .. predicted / (1 -
 * e). */
TEST(a_preset_where_it_was_fitted)
{
    struct session session;
    struct engine_preset preset;
    struct time_error error;
    bool found;
    begin(&session);
    CHECK_EQ_INT(catalog_engine(&session.catalog, "vllm-0.12", "t", &session.arena, &preset, &session.diag), 0);
    const struct calibration_error *groups = preset.held_out.items;
    MUST(preset.held_out.n == 2 && strcmp(groups[1].name, "qwen3-32b") == 0);
    CHECK_EQ_INT(time_error_of_preset(&preset, "h100-sxm", "qwen3-32b", &session.arena, &error, &found), 0);
    CHECK(found);
    CHECK_NEAR(1.0 / error.fast_frac - 1.0, groups[1].p90, 1e-12);
    CHECK_NEAR(1.0 - 1.0 / error.slow_frac, groups[1].p90, 1e-12);
    static const char *const others[][2] = {
        {"a100-80-sxm", "qwen3-32b"}, {"h100-sxm", "llama-3.1-8b"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK_EQ_INT(time_error_of_preset(&preset, others[i][0], others[i][1], &session.arena, &error, &found), 0);
        CHECK(!found);
    }
    arena_fini(&session.arena);
}

/* None of the measured runs had DeepEP's kernels, two halves of a batch or copies of experts. */
TEST(no_interval_for_what_no_run_had)
{
    static const struct {
        const char *keys;
        bool known;
    } cases[] = {
        {"'expert_parallel': 8, 'sequence_parallel': true", true},
        {"'expert_parallel': 8, 'redundant_experts': 8", false},
        {"'expert_parallel': 8, 'sequence_parallel': true, 'dispatch': 'deepep-normal'", false},
        {"'expert_parallel': 8, 'sequence_parallel': true, 'dispatch': 'deepep-low-latency', 'overlap': 'two-batches'",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        struct cost_fixture fixture;
        snprintf(text, sizeof text, "{'cost': {'kind': 'operators', %s}}", cases[i].keys);
        CHECK_EQ_INT(cost_fixture_init(&fixture, text, "h100-sxm", "qwen3-30b-a3b", 8, 1), 0);
        CHECK_EQ_INT(fixture.error.slow_frac > 0.0, cases[i].known);
        cost_fixture_fini(&fixture);
    }
}

/* The kernels of the judged runs were measured on their GPUs. No interval holds for kernels that were not: those
 * of a GPU without measurements, even if another one like it has some. tests/cli/interval.sh has formats that were
 * measured on other GPUs alone. */
TEST(no_interval_for_kernels_that_nobody_measured)
{
    static const struct {
        const char *gpu, *llm, *why;
        bool known;
    } cases[] = {
        {"h100-sxm", "deepseek-v3", NULL, true},
        {"b200-sxm", "deepseek-v3", NULL, true},
        {"h200-sxm", "llama-3.1-8b", NULL, true},
        {"b300-sxm", "llama-3.1-8b", "no kernel of b300-sxm was measured", false},
        {"gb200", "llama-3.1-8b", "no kernel of gb200 was measured", false},
        {"mi300x", "llama-3.1-8b", "no kernel of mi300x was measured", false},
        {"a100-80-sxm:3g.40gb", "llama-3.1-8b", "no kernel of a100-80-sxm:3g.40gb was measured", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cost_fixture fixture;
        const int64_t gpus = strcmp(cases[i].llm, "deepseek-v3") == 0 ? 8 : 1;
        CHECK_EQ_INT(
            cost_fixture_init(&fixture, "{'cost': {'kind': 'operators'}}", cases[i].gpu, cases[i].llm, gpus, 1), 0);
        if (!CHECK((fixture.error.slow_frac > 0.0) == cases[i].known)) printf("\n  %s", cases[i].gpu);
        if (cases[i].known)
            CHECK(fixture.error.why == NULL);
        else if (CHECK(fixture.error.why != NULL))
            CHECK_EQ_STR(fixture.error.why, cases[i].why);
        cost_fixture_fini(&fixture);
    }
}

/* Nor did any LLM with linear, sparse or chunked attention run. */
TEST(no_interval_for_attention_that_no_run_had)
{
    static const char *const llms[] = {"qwen3-235b-a22b", "qwen3.5-122b-a10b", "deepseek-v3.2", "llama-4-scout"};
    for (size_t i = 0; i < sizeof llms / sizeof *llms; i++) {
        struct cost_fixture fixture;
        CHECK_EQ_INT(cost_fixture_init(&fixture, "{'cost': {'kind': 'operators'}}", "h200-sxm", llms[i], 8, 1), 0);
        CHECK_EQ_INT(fixture.error.slow_frac > 0.0, i == 0);
        cost_fixture_fini(&fixture);
    }
}
