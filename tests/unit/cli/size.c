/* `orrery size` against trying every configuration with every number of replicas. */
#include "sim/cli/size/size.h"
#include "sim/study/map.h"
#include "tests/support/harness.h"

struct sizing_case {
    const char *llm, *trace;
    struct size_objective objectives[2];
    struct size_gpu gpus[2];
    int64_t most_gpus;
    bool disaggregated, has_experts;
};

#define POISSON(count, rate, lengths)                                                                                  \
    "{\"format\": \"generate\", \"count\": " count ", \"arrival\": {\"process\": \"poisson\", \"rate\": \"" rate       \
    "\"}" lengths "}"

static const struct sizing_case cases[] = {
    {"llama-3.1-8b", POISSON("300", "12/s", ""), {{NULL, SIZE_TTFT, 0.99, 0.5, "ttft p99"}, {NULL, SIZE_TPOT, 0.99, 0.05, "tpot p99"}},
     {{"a100-80-sxm", 3.67, NULL, 0}, {"h100-sxm", 4.69, NULL, 0}}, 64, false, false},
    {"llama-3.1-8b", POISSON("200", "6/s", ""), {{NULL, SIZE_TTFT, 0.9, 1, "ttft p90"}, {NULL, SIZE_E2E, 0.5, 6, "e2e p50"}},
     {{"l4", 0.7, NULL, 0}, {"a10g", 1.01, NULL, 0}}, 64, false, false},
    {"llama-3.1-70b", POISSON("200", "4/s", ""), {{NULL, SIZE_TTFT, 0.95, 1, "ttft p95"}, {NULL, SIZE_TPOT, 0.95, 0.06, "tpot p95"}},
     {{"a100-80-sxm", 3.67, NULL, 0}, {"h100-sxm", 4.69, NULL, 0}}, 64, false, false},
    {"mistral-7b", POISSON("300", "20/s", ", \"output\": {\"distribution\": \"fixed\", \"tokens\": 1}"),
     {{NULL, SIZE_TTFT, 0.99, 0.4, "ttft p99"}, {NULL, SIZE_E2E, 0.99, 0.5, "e2e p99"}},
     {{"a100-80-sxm", 3.67, NULL, 0}, {"l4", 0.7, NULL, 0}}, 64, false, false},
    {"llama-3.1-8b", POISSON("200", "5/s", ""), {{NULL, SIZE_TTFT, 0.99, 0.8, "ttft p99"}, {NULL, SIZE_TPOT, 0.99, 0.02, "tpot p99"}},
     {{"h100-sxm", 4.69, NULL, 0}, {"a100-80-sxm", 3.67, NULL, 0}}, 32, true, false},
    {"llama-2-7b", POISSON("200", "15/s", ", \"prompt\": {\"distribution\": \"fixed\", \"tokens\": 2000}"),
     {{NULL, SIZE_TTFT, 0.5, 1, "ttft p50"}, {NULL, SIZE_TPOT, 0.9, 0.2, "tpot p90"}},
     {{"a100-80-sxm", 3.67, NULL, 0}, {"h100-sxm", 4.69, NULL, 0}}, 64, false, false},
    {"mixtral-8x7b", POISSON("200", "12/s", ""), {{NULL, SIZE_TTFT, 0.9, 1, "ttft p90"}, {NULL, SIZE_TPOT, 0.9, 0.06, "tpot p90"}},
     {{"h100-sxm", 4.69, NULL, 0}, {"h200-sxm", 5.5, NULL, 0}}, 16, false, true},
    {"qwen3-30b-a3b", POISSON("200", "20/s", ""), {{NULL, SIZE_TTFT, 0.9, 0.5, "ttft p90"}, {NULL, SIZE_E2E, 0.9, 6, "e2e p90"}},
     {{"h100-sxm", 4.69, NULL, 0}, {"a100-80-sxm", 3.67, NULL, 0}}, 16, false, true},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static const struct option_texts no_settings;

static struct size_question question_of(const struct sizing_case *from, struct catalog_memory *memory)
{
    struct size_question question = {.llm = from->llm, .trace_json = from->trace, .settings = &no_settings,
                                     .n_objectives = 2, .n_gpus = 2, .most_gpus = from->most_gpus,
                                     .disaggregated = from->disaggregated, .has_experts = from->has_experts,
                                     .memory = memory};
    memcpy(question.objectives, from->objectives, sizeof from->objectives);
    memcpy(question.gpus, from->gpus, sizeof from->gpus);
    return question;
}

static bool meets(const struct size_question *question, const struct size_requests *requests,
                  const struct size_option *option, int64_t n)
{
    static const enum time_case ends[] = {TIMES_FAST, TIMES_SLOW, TIMES_PREDICTED};
    struct size_outcome outcome = {.meets = true};
    for (size_t i = question->sure ? 0 : 2; i < 3 && outcome.meets; i++)
        size_try(question, requests, option, n, (struct size_case){ends[i], false, NULL}, NULL, &outcome);
    return outcome.meets;
}

/* The lowest price of all configurations with all numbers of replicas; INFINITY: none meets the objectives. */
static double try_everything(const struct size_question *question, const struct size_result *result, int64_t *n_runs)
{
    double best = (double)INFINITY;
    *n_runs = 0;
    for (size_t i = 0; i < result->n; i++) {
        const struct size_option *option = &result->states[i].option;
        const int64_t gpus = size_replica_gpus(option);
        for (int64_t n = size_first_replicas(option); n * gpus <= question->most_gpus; n++) {
            const double usd_per_h = (double)(n * gpus) * option->gpu->usd_per_h;
            ++*n_runs;
            if (usd_per_h >= best) continue; /* its result does not matter */
            if (meets(question, &result->requests, option, n)) best = usd_per_h;
        }
    }
    return best;
}

/* Searches, and tries everything; adds the runs of both. Returns the price of the best fleet, and of the best that
 * keeps its limits at both ends. */
static double check_best(const struct sizing_case *from, bool sure, int64_t *n_runs, int64_t *n_sweep,
                         double *sure_usd_per_h)
{
    SCOPED(arena) arena;
    struct catalog_memory memory;
    struct size_result result;
    struct diag diag;
    int64_t n_everything;
    double found = (double)NAN;
    arena_init(&arena);
    diag_init(&diag);
    catalog_memory_init(&memory);
    struct size_question question = question_of(from, &memory);
    question.sure = sure;
    CHECK_EQ_INT(size_search(&question, 1, NULL, NULL, NULL, &arena, &result, &diag), 0);
    if (diag.n_items > 0) printf("%s\n", diag.items[0].text);
    const double best = try_everything(&question, &result, &n_everything);
    CHECK_EQ_INT(n_everything, result.n_sweep);
    if (CHECK(result.n_best > 0)) {
        found = size_usd_per_h(&result.states[result.best[0]]);
        CHECK(found <= best * (1 + 1e-9));
        CHECK(found >= best * (1 - 1e-9));
    }
    for (size_t i = 0; i < result.n_best; i++) {
        const struct size_state *state = &result.states[result.best[i]];
        struct size_outcome slow;
        size_try(&question, &result.requests, &state->option, state->replicas, (struct size_case){TIMES_SLOW, true, NULL},
                 NULL, &slow);
        CHECK_EQ_STR(slow.why, ""); /* it has run */
        bool differs = false; /* else the error is not known */
        for (size_t k = 0; k < question.n_objectives; k++) differs |= slow.values[k] != state->good.values[k];
        CHECK_EQ_INT(state->slow_end, !slow.meets ? SIZE_END_MISSED : differs ? SIZE_END_KEPT : SIZE_END_UNKNOWN);
        CHECK(slow.meets || !sure);
    }
    if (result.n_best > 0) {
        const struct size_state *first = &result.states[result.best[0]];
        CHECK(first->slow_end != SIZE_END_MISSED || result.has_sure != sure);
        CHECK(!result.has_sure || result.sure.replicas == 0 || size_usd_per_h(&result.sure) >= found);
    }
    *sure_usd_per_h = result.has_sure && result.sure.replicas > 0 ? size_usd_per_h(&result.sure) : found;
    *n_runs += result.n_runs;
    *n_sweep += result.n_sweep;
    size_result_fini(&result);
    catalog_memory_fini(&memory);
    return found;
}

TEST_OPTIMISED(size_finds_the_best_of_a_sweep_with_a_tenth_of_its_runs)
{
    int64_t n_runs = 0, n_sweep = 0;
    double of_sure;
    for (int i = 0; i < N_CASES; i++) check_best(&cases[i], false, &n_runs, &n_sweep, &of_sure);
    printf("size: %lld runs, a sweep: %lld\n", (long long)n_runs, (long long)n_sweep);
    CHECK(10 * n_runs <= n_sweep);
}

/* Whoever is sure pays at least as much, and more where the prediction keeps a limit narrowly. */
TEST_OPTIMISED(a_sure_fleet_keeps_its_limits_at_both_ends)
{
    const struct sizing_case narrow = {"llama-3.1-8b", POISSON("200", "12/s", ""),
                                       {{NULL, SIZE_TTFT, 0.99, 0.5, "ttft p99"}, {NULL, SIZE_TPOT, 0.99, 0.02, "tpot p99"}},
                                       {{"a100-80-sxm", 3.67, NULL, 0}, {"h100-sxm", 4.69, NULL, 0}}, 16, false, false};
    int64_t n_runs = 0, n_sweep = 0;
    for (int i = 0; i < 2; i++) {
        double announced, found;
        const struct sizing_case *from = i == 0 ? &narrow : &cases[4];
        const double predicted = check_best(from, false, &n_runs, &n_sweep, &announced);
        const double sure = check_best(from, true, &n_runs, &n_sweep, &found);
        CHECK(sure >= (i == 0 ? 1.01 : 1 - 1e-9) * predicted);
        CHECK_NEAR(announced, sure, 1e-9); /* whoever does not ask for it is told of it, too */
    }
}

/* --- Parallel functions --- */

static void square(void *context, size_t item, void *result)
{
    if (context != NULL && item == *(const size_t *)context) abort();
    *(int64_t *)result = (int64_t)(item * item) + 1;
}

TEST(map_fills_results_in_order)
{
    int64_t results[40];
    struct map map = {.n = 40, .result_bytes = sizeof *results, .workers = 3, .act = square};
    CHECK_EQ_INT(map_run(&map, results, NULL), 0);
    for (int64_t i = 0; i < 40; i++) CHECK_EQ_INT(results[i], i * i + 1);
    map.n = 0;
    CHECK_EQ_INT(map_run(&map, results, NULL), 0);
}

TEST(map_outlives_its_children)
{
    int64_t results[20];
    size_t fatal = 7;
    const struct map map = {.n = 20, .result_bytes = sizeof *results, .workers = 2, .act = square, .context = &fatal};
    CHECK_EQ_INT(map_run(&map, results, NULL), SIM_E_CRASH);
    CHECK_EQ_INT(results[7], 0);
    CHECK_EQ_INT(results[19], 362);
}

/* How far a GPU is from its limit has one unit, and a miss never looks like none. */
TEST(size_tells_misses_in_times_of_the_limit)
{
    static const struct {
        double alone_s;
        const char *text;
    } misses[] = {{1 + 1e-7, "(less than 1.001 times)"}, {1.00099, "(less than 1.001 times)"}, {1.0012, "(1.001 times)"},
                  {1.06, "(1.060 times)"}, {1.0999, "(1.100 times)"}, {1.14, "(1.14 times)"}, {3, "(3 times)"},
                  {1234, "(1234 times)"}};
    struct size_question question = {.n_objectives = 1, .n_gpus = 1, .gpus = {{"l4", 0.7, NULL, 0}}};
    static const struct size_batching batching = {.policy = "vllm-v0"};
    question.objectives[0] = (struct size_objective){NULL, SIZE_TTFT, 0.99, 1, "ttft p99"};
    for (size_t i = 0; i < sizeof misses / sizeof *misses; i++) {
        struct size_state state = {.option = {.gpu = &question.gpus[0], .tensor_parallel = 1, .pipeline_parallel = 1,
                                              .groups = 1, .batching = &batching},
                                   .bound = {.limit = 0, .alone_s = misses[i].alone_s}, .is_exact = true};
        const struct size_result result = {.n = 1, .states = &state};
        struct text text;
        text_init(&text);
        size_add_other(&question, &result, &question.gpus[0], &text);
        CHECK(!text.failed);
        if (!CHECK(strstr(text.chars, misses[i].text) != NULL)) printf("%s\n", text.chars);
        text_fini(&text);
    }
}

/* A fleet that was found, of one kind of replica, with these values as predicted and at the slow end. */
static struct size_state state_of(const double predicted[2], const double slow[2])
{
    struct size_state state = {.good = {.has_run = true}, .slow = {.has_run = true}};
    memcpy(state.good.values, predicted, 2 * sizeof *predicted);
    memcpy(state.slow.values, slow, 2 * sizeof *slow);
    return state;
}

/* Times are 1.2 and 0.9 of limits of 2 s and 0.1 s; those of the slow end are larger by factors. Times by the share x
 * of the error are t * factor^x, so the share that is withstood puts a time at its limit. */
TEST(a_fleet_withstands_the_error_up_to_its_first_miss)
{
    struct size_question question = {.n_objectives = 2};
    question.objectives[0] = (struct size_objective){NULL, SIZE_TTFT, 0.99, 2, "ttft p99"};
    question.objectives[1] = (struct size_objective){NULL, SIZE_TPOT, 0.99, 0.1, "tpot p99"};
    static const double predicted[2] = {1.2, 0.09}, factors[][2] = {{3, 1.5}, {1.1, 1.5}, {200, 1.01}, {1.1, 1.05}};
    static const size_t first[] = {1, 1, 0, 0};
    for (size_t i = 0; i < 4; i++) {
        const double slow[2] = {predicted[0] * factors[i][0], predicted[1] * factors[i][1]};
        const struct size_state state = state_of(predicted, slow);
        size_t at;
        const double frac = size_withstood(&question, &state, &at);
        CHECK_EQ_INT(size_is_saturated(&question, &state), i == 2);
        if (i == 3) {
            CHECK_NEAR(frac, 1, 0);
            continue;
        }
        CHECK_EQ_INT(at, first[i]);
        for (size_t k = 0; k < 2; k++) {
            const double part = predicted[k] * pow(factors[i][k], frac) / question.objectives[k].limit_s;
            CHECK(part <= 1 + 1e-12);
            if (k == at) CHECK_NEAR(part, 1, 1e-12);
        }
    }
}

TEST(size_counts_replicas_of_pools_in_words)
{
    static const struct size_batching batching = {.policy = "vllm-v0"};
    static const struct size_gpu gpu = {"l4", 0.7, NULL, 0};
    static const struct {
        int64_t prefill, replicas;
        const char *text;
    } pools[] = {{0, 1, ": 1 replica of TP 1, "}, {0, 2, ": 2 replicas of TP 1, "},
                 {1, 2, ": 1 prefill and 1 decode replica of TP 1, "},
                 {2, 3, ": 2 prefill replicas and 1 decode replica of TP 1, "},
                 {1, 3, ": 1 prefill replica and 2 decode replicas of TP 1, "},
                 {3, 5, ": 3 prefill and 2 decode replicas of TP 1, "}};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const struct size_option option = {.gpu = &gpu, .tensor_parallel = 1, .pipeline_parallel = 1, .groups = 1,
                                           .batching = &batching, .prefill_replicas = pools[i].prefill};
        struct text text;
        text_init(&text);
        size_describe(&option, pools[i].replicas, &text);
        if (!CHECK(!text.failed && strstr(text.chars, pools[i].text) != NULL)) printf("%s\n", text.chars);
        text_fini(&text);
    }
}

/* A change of GPU and pools together is told apart: also the same GPU without pools, or from which price on none was
 * tried. */
TEST(pools_on_another_gpu_are_compared_on_the_same_one_too)
{
    static const struct size_batching batching = {.policy = "vllm-v0"};
    static const struct size_gpu b200 = {"b200-sxm", 10, NULL, 0}, h200 = {"h200-sxm", 7, NULL, 0};
    struct size_result result = {.sure_open_usd_per_h = (double)INFINITY};
    result.sure = (struct size_state){.option = {&b200, 1, 1, 1, &batching, 3}, .replicas = 5};
    result.sure_other = (struct size_state){.option = {&h200, 1, 1, 1, &batching, 0}, .replicas = 8};
    static const struct {
        const struct size_gpu *other;
        int64_t alike;
        double open_usd_per_h;
        const char *text;
    } cases_of[] = {
        {&h200, 0, 60,
         "cheaper by 10.7 %, GPU and pools changed together; without pools on the same GPU at least $60.00/h, not tried further"},
        {&h200, 7, (double)INFINITY, "; without pools on the same GPU 7 x b200-sxm at $70.00/h (+40 %)"},
        {&h200, 7, 60, " (+40 %); not all of these from $60.00/h on were tried"},
        {&h200, 0, (double)INFINITY, "; without pools on the same GPU no fleet keeps the limits"},
        {&b200, 8, (double)INFINITY, "cheaper by 37.5 %"},
    };
    for (size_t i = 0; i < sizeof cases_of / sizeof *cases_of; i++) {
        struct text text;
        result.sure_other.option.gpu = cases_of[i].other;
        result.sure_alike = (struct size_state){.option = {&b200, 1, 1, 1, &batching, 0}, .replicas = cases_of[i].alike};
        result.sure_alike_open_usd_per_h = cases_of[i].open_usd_per_h;
        text_init(&text);
        size_add_sure_pools(&result, &text);
        const size_t n = text.failed ? 0 : strlen(text.chars), n_tail = strlen(cases_of[i].text);
        if (!CHECK(n >= n_tail && strcmp(text.chars + n - n_tail, cases_of[i].text) == 0)) printf("%s\n", text.chars);
        text_fini(&text);
    }
}

/* Of objectives that are equally tight, the first is named, also where all times are 0. */
TEST(the_first_of_equally_tight_objectives_counts)
{
    static const struct size_objective first = {NULL, SIZE_TTFT, 0.99, 0.5, "ttft p99"},
                                       second = {NULL, SIZE_TPOT, 0.99, 0.25, "tpot p99"};
    static const struct {
        double values[3], most;
        size_t at;
    } cases_of[] = {{{0.25, 0.125, 0.25}, 0.5, 0}, {{0, 0, 0}, 0, 0},      {{0.125, 0.125, 0.25}, 0.5, 1},
                    {{0.125, 0, 0.5}, 1, 2},       {{0.25, 0.25, 0.5}, 1, 1}, {{1, 0.25, 0.25}, 2, 0}};
    const struct size_question question = {.objectives = {first, second, first}, .n_objectives = 3};
    for (size_t i = 0; i < sizeof cases_of / sizeof *cases_of; i++) {
        struct size_outcome outcome = {.meets = true};
        size_t at = 7;
        memcpy(outcome.values, cases_of[i].values, sizeof cases_of[i].values);
        CHECK_NEAR(size_tightest(&question, &outcome, &at), cases_of[i].most, 0);
        CHECK_EQ_INT(at, cases_of[i].at);
    }
}
