#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

static struct cost_fixture made;

static int make(const char *document, int64_t tensor_parallel, int64_t pipeline_parallel)
{
    return cost_fixture_init(&made, document, "a100-80-sxm", "llama-2-70b", tensor_parallel, pipeline_parallel);
}

static double cost_s(struct iteration_work work)
{
    return cost_fixture_s(&made, work);
}

static void unmake(void)
{
    cost_fixture_fini(&made);
}

static void check_finding(const char *text, int64_t tensor_parallel, const char *expected)
{
    CHECK_EQ_INT(make(text, tensor_parallel, 1), tensor_parallel == 3 ? SIM_E_UNFIT : SIM_E_CONFIG);
    if (!strstr(made.message, expected)) CHECK_EQ_STR(made.message, expected);
    unmake();
}

/* Reading the weights takes 17.2 GB / (2.039 TB/s * 0.75) = 11.3 ms; overheads and collectives come on top. */
TEST(a_roofline_by_its_defaults)
{
    MUST(make("{'cost': 'roofline'}", 8, 1) == 0);
    CHECK_EQ_STR(made.model.kind, "roofline");
    CHECK(!made.model.calibrated);
    const double weights_s = 2.0 * 68976648192.0 / 8.0 / (2.039e12 * 0.75);
    const double token_s = cost_s((struct iteration_work){.decode_sequences = 1, .decode_context_tokens = 512});
    CHECK(token_s > weights_s && token_s < 2.0 * weights_s);
    unmake();
}

TEST(parameters_of_the_scenario_count)
{
    const struct iteration_work work = {.decode_sequences = 4, .decode_context_tokens = 4000};
    MUST(make("{'cost': 'roofline'}", 8, 1) == 0);
    const double base_s = cost_s(work);
    unmake();
    MUST(make("{'cost': {'kind': 'roofline', 'iteration_overhead': '10.85ms'}}", 8, 1) == 0);
    CHECK_NEAR(cost_s(work) - base_s, 10e-3, 1e-15);
    unmake();
    MUST(make("{'cost': {'kind': 'roofline', 'host_layer_time': '500us'}}", 8, 1) == 0);
    CHECK_NEAR(cost_s(work), 80 * 500e-6 + 0.85e-3 + 4 * 42e-6, 1e-15);
    unmake();
}

/* The closed form of the Vidur cases, on two pipeline stages: undivided parts stay whole. */
TEST(affine_from_a_document)
{
    MUST(make("{'cost': {'kind': 'affine', "
              "'prefill': {'fixed': '5ms', 'per_token': '50us', 'per_sequence': '20us', 'per_pair': '2ns'}, "
              "'decode': {'fixed': '5ms', 'per_token': '50us', 'per_sequence': '20us', 'per_context_token': '0.1us', "
              "'large_from': 10, 'large': {'fixed': '7ms'}, 'per_stage': '1ms', 'undivided': {'fixed': '2ms'}}}}",
              1, 2) == 0);
    CHECK(made.model.calibrated);
    const struct iteration_work prefill = {.prefill_sequences = 2, .prefill_tokens = 500, .prefill_pairs = 130000.0};
    CHECK_NEAR(cost_s(prefill), (5e-3 + 500 * 50e-6 + 2 * 20e-6 + 130000 * 2e-9) / 2, 1e-16);
    const struct iteration_work few = {.decode_sequences = 2, .decode_context_tokens = 800};
    CHECK_NEAR(cost_s(few), (5e-3 + 2 * 70e-6 + 800 * 0.1e-6) / 2 + 2 * 1e-3 + 2e-3, 1e-16);
    const struct iteration_work many = {.decode_sequences = 10, .decode_context_tokens = 8000};
    CHECK_NEAR(cost_s(many), 7e-3 / 2 + 2 * 1e-3 + 2e-3, 1e-16);
    unmake();
}

TEST(table_from_a_document)
{
    MUST(make("{'cost': {'kind': 'table', 'mixed_factor': 1.2, "
              "'prefill': [{'tokens': 1000, 'time': '100ms'}, {'tokens': 500, 'time': '60ms'}], "
              "'decode': [{'tokens': 1, 'time': '30ms'}, {'tokens': 1, 'time': '50ms'}]}}",
              8, 1) == 0);
    CHECK_NEAR(cost_s((struct iteration_work){.prefill_sequences = 1, .prefill_tokens = 750}), 80e-3, 1e-15);
    CHECK_NEAR(cost_s((struct iteration_work){.decode_sequences = 9, .decode_context_tokens = 9}), 40e-3, 1e-15);
    unmake();
}

static const char measured_csv[] = "gpu,batch,length,first,next\n"
                                   "a100,1,500,60,30\n"
                                   "a100,2,500,100,\n"
                                   "a100,1,1000,104,34\n"
                                   "h100,1,1000,50,20\n"
                                   "a100,1,2000,200,40\n";

/* Writes `csv` to a file of its own and makes the model that reads it. */
static int make_from_file(const char *csv, const char *more)
{
    char document[1024];
    const char *path = test_file("measured.csv", "%s", csv);
    snprintf(document, sizeof document,
             "{'cost': {'kind': 'table', 'file': {'path': '%s', 'where': ['gpu=a100'], 'tokens': ['batch', 'length'], "
             "'prefill_time': 'first', 'decode_time': 'next'%s}}}",
             path, more);
    return make(document, 8, 1);
}

/* Both shapes of 1000 tokens go together, the empty cell is left out, the H100 is not asked for. */
TEST(table_from_a_file)
{
    MUST(make_from_file(measured_csv, "") == 0);
    CHECK_NEAR(cost_s((struct iteration_work){.prefill_sequences = 1, .prefill_tokens = 1000}), 102e-3, 1e-15);
    CHECK_NEAR(cost_s((struct iteration_work){.prefill_sequences = 1, .prefill_tokens = 1500}), 151e-3, 1e-15);
    CHECK_NEAR(cost_s((struct iteration_work){.decode_sequences = 1000}), 34e-3, 1e-15);
    unmake();
    MUST(make_from_file(measured_csv, ", 'time_unit': '1us'") == 0);
    CHECK_NEAR(cost_s((struct iteration_work){.decode_sequences = 1000}), 34e-6, 1e-18);
    unmake();
}

/* Decoding over the batch alone: of the rows of 500 and 1000 tokens, and of that of 2000 alone. */
TEST(decoding_may_be_looked_up_by_other_columns)
{
    static const char csv[] = "gpu,batch,length,first,next\n"
                              "a100,1,500,60,30\n"
                              "a100,5,500,100,34\n"
                              "a100,1,2000,200,40\n";
    MUST(make_from_file(csv, ", 'decode_tokens': ['batch'], 'decode_where': ['length=500']") == 0);
    CHECK_NEAR(cost_s((struct iteration_work){.prefill_sequences = 1, .prefill_tokens = 2250}), 150e-3, 1e-15);
    CHECK_NEAR(cost_s((struct iteration_work){.decode_sequences = 3}), 32e-3, 1e-15);
    unmake();
    MUST(make_from_file(csv, ", 'decode_tokens': ['batch'], 'decode_where': ['length=2000']") == 0);
    CHECK_NEAR(cost_s((struct iteration_work){.decode_sequences = 3}), 40e-3, 1e-15);
    unmake();
}

static void check_file_finding(const char *csv, int code, const char *expected)
{
    CHECK_EQ_INT(make_from_file(csv, ""), code);
    if (!strstr(made.message, expected)) CHECK_EQ_STR(made.message, expected);
    unmake();
}

TEST(wrong_files_are_named)
{
    check_file_finding("gpu,batch,first,next\na100,1,2,3\n", SIM_E_DATA, "length");
    check_file_finding("gpu,batch,length,first,next\na100,1,500,sixty,30\n", SIM_E_DATA,
                       "measured.csv:2:12: error: column 'first' must hold a number above 0, got 'sixty'");
    check_file_finding("gpu,batch,length,first,next\na100,1,-5,60,30\n", SIM_E_DATA, "column 'length' must hold");
    check_file_finding("gpu,batch,length,first,next\nh100,1,500,60,30\n", SIM_E_CONFIG, "no measured iterations in");
    CHECK_EQ_INT(make("{'cost': {'kind': 'table', 'file': {'path': 'no/such.csv'}}}", 8, 1), SIM_E_IO);
    unmake();
    check_finding("{'cost': {'kind': 'table', 'file': {'path': 'x.csv', 'where': ['gpu']}}}", 8, "no '=' in 'gpu'");
    check_finding("{'cost': {'kind': 'table', 'prefill': [{'tokens': 1, 'time': '1s'}], 'file': {'path': 'x.csv'}}}", 8,
                  "either from a 'file' or from 'prefill' and 'decode'");
}

/* Each tells what it would take to have an effect; those beside it have one, and nothing is said. */
TEST(what_has_no_effect_is_named)
{
#define POINTS "'prefill': [{'tokens': 1, 'time': '1ms'}], 'decode': [{'tokens': 1, 'time': '1ms'}]"
    static const struct {
        const char *cost, *says; /* NULL: nothing */
    } cases[] = {
        {"'kind': 'affine', 'decode': {'per_pair': '1us'}", "'per_pair' of 'decode' has no effect"},
        {"'kind': 'affine', 'decode': {'per_pair': '-1us'}", "'per_pair' of 'decode' has no effect"},
        {"'kind': 'affine', 'decode': {'large': {'fixed': '-1us'}}", "'large' of 'decode' has no effect"},
        {"'kind': 'affine', 'decode': {'large_from': 2, 'large': {'per_pair': '1us'}}", "'per_pair' of 'decode'"},
        {"'kind': 'affine', 'decode': {'undivided': {'per_pair': '1us'}}", "'per_pair' of 'decode' has no effect"},
        {"'kind': 'affine', 'decode': {'first_stage': {'per_pair': '1us'}}", "'per_pair' of 'decode' has no effect"},
        {"'kind': 'affine', 'prefill': {'per_pair': '1us', 'undivided': {'per_pair': '1us'}}", NULL},
        {"'kind': 'affine', 'decode': {'large': {'fixed': '1us'}}", "'large' of 'decode' has no effect"},
        {"'kind': 'affine', 'prefill': {'large': {'per_token': '1us'}}", "'large' of 'prefill' has no effect"},
        {"'kind': 'affine', 'prefill': {'large_from': 1, 'large': {'per_token': '1us'}}", NULL},
        {"'kind': 'table', " POINTS, NULL},
        {"'kind': 'table', 'file': {'time_unit': '1ms', 'tokens': ['tokens'], 'decode_time': 'decode_time'}, " POINTS, NULL},
        {"'kind': 'table', 'file': {'time_unit': '1s'}, " POINTS, "'time_unit' of 'file' has no effect"},
        {"'kind': 'table', 'file': {'where': ['a=1']}, " POINTS, "'where' of 'file' has no effect"},
        {"'kind': 'table', 'file': {'tokens': ['a']}, " POINTS, "'tokens' of 'file' has no effect"},
        {"'kind': 'table', 'file': {'tokens': ['tokens', 'a']}, " POINTS, "'tokens' of 'file' has no effect"},
        {"'kind': 'table', 'file': {'decode_where': ['a=1']}, " POINTS, "'decode_where' of 'file' has no effect"},
        {"'kind': 'table', 'file': {'decode_tokens': ['a']}, " POINTS, "'decode_tokens' of 'file' has no effect"},
        {"'kind': 'table', 'file': {'prefill_time': 'a'}, " POINTS, "'prefill_time' of 'file' has no effect"},
        {"'kind': 'table', 'file': {'decode_time': 'a'}, " POINTS, "'decode_time' of 'file' has no effect"}};
#undef POINTS
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "{'cost': {%s}}", cases[i].cost);
        CHECK_EQ_INT(make(text, 1, 1), 0);
        CHECK_EQ_INT(made.diag.n_warnings, cases[i].says != NULL);
        if (cases[i].says != NULL && !strstr(made.message, cases[i].says)) CHECK_EQ_STR(made.message, cases[i].says);
        unmake();
    }
}

TEST(wrong_costs_are_named)
{
    check_finding("{'cost': 'rooflin'}", 8, "did you mean 'roofline'?");
    check_finding("{'cost': {'kind': 'roofline', 'iteration_overhead': 3}}", 8,
                  "'iteration_overhead' needs a unit, got 3");
    check_finding("{'cost': {'kind': 'roofline', 'attention_compute_efficiency': 1.5}}", 8, "1.5");
    check_finding("{'cost': {'kind': 'roofline', 'projection_compute_efficiency': 0}}", 8, "above 0");
    check_finding("{'cost': {'kind': 'table', 'decode': [{'tokens': 1, 'time': '30ms'}]}}", 8,
                  "a table cost has no measurements of prompts");
    check_finding("{'cost': {'kind': 'table', 'prefill': [{'tokens': 1, 'time': '30ms'}]}}", 8, "of decoding");
    check_finding("{'cost': {'kind': 'table', 'prefill': [{'tokens': 1, 'time': '0ms'}]}}", 8,
                  "'time' must be above 0");
    check_finding("{}", 3,
                  "t.json:1:2: error: cannot split llama-2-70b over 3 x 1 GPUs: the number of attention heads "
                  "is not a multiple of the tensor parallelism");
}

/* Wherever memory runs out, making a model says so and leaks nothing. */
TEST(running_out_of_memory_is_survived)
{
    int code = SIM_E_NOMEM;
    for (long n = 0; n < 1000 && code != 0; n++) {
        mem_fail_after(n);
        code = make_from_file(measured_csv, "");
        mem_fail_never();
        CHECK(code == 0 || code == SIM_E_NOMEM);
        CHECK((code == 0) == (made.message[0] == 0));
        unmake();
    }
    CHECK_EQ_INT(code, 0);
}

/* With a memory of the catalog, a model is made of the tables of an earlier one that differs in its engine at most. It
 * costs what it costs without: here after models of other splits, LLMs, GPUs, kernels and overheads. */
TEST(tables_from_a_memory_are_those_made_anew)
{
    static const char *const documents[] = {
        "{}", "{'cost': {'kind': 'operators', 'overhead': {'iteration': '2ms'}}}",
        "{'cost': {'kind': 'operators', 'kernels': 'isolated'}}", "{'cost': {'kind': 'operators', 'engine': 'none'}}"};
    static const char *const gpus[] = {"a100-80-sxm", "h100-sxm"}, *const llms[] = {"llama-2-70b", "mixtral-8x7b"};
    const struct iteration_work work = {.prefill_sequences = 1, .prefill_tokens = 300, .prefill_pairs = 90000,
                                        .decode_sequences = 37, .decode_context_tokens = 37 * 1234};
    struct catalog_memory memory;
    struct cost_fixture kept, anew;
    catalog_memory_init(&memory);
    for (int i = 0; i < 64; i++) {
        const char *document = documents[i % 4], *gpu = gpus[i / 4 % 2], *llm = llms[i / 8 % 2];
        const struct cost_shape shape = {.tensor_parallel = i / 16 % 2 == 0 ? 4 : 8, .pipeline_parallel = 1};
        MUST(cost_fixture_init_on(&kept, &memory, document, gpu, llm, &shape) == 0);
        MUST(cost_fixture_init_on(&anew, NULL, document, gpu, llm, &shape) == 0);
        CHECK(cost_fixture_s(&kept, work) == cost_fixture_s(&anew, work)); /* to the bit */
        cost_fixture_fini(&kept);
        cost_fixture_fini(&anew);
    }
    CHECK(memory.n_operators > 0 && memory.n_operators < 32); /* some are shared */
    catalog_memory_fini(&memory);
}

/* The same of experts on GPUs of their own: ways to send tokens, halves of batches, attention groups, nodes, and their
 * network. No two of the models that are made first cost the same, and the later ones find them again. */
TEST(tables_of_experts_from_a_memory_are_those_made_anew)
{
    static const char *const costs[] = {"'expert_parallel': 16", "'expert_parallel': 8",
                                        "'expert_parallel': 16, 'dispatch': 'deepep-normal'",
                                        "'expert_parallel': 16, 'dispatch': 'deepep-normal', 'overlap': 'two-batches'",
                                        "'expert_parallel': 16, 'dispatch': 'deepep-low-latency'"};
    static const struct cost_shape shapes[] = {{16, 1, 16, {8, 50e9}}, {16, 1, 8, {8, 50e9}}, {16, 1, 16, {4, 50e9}},
                                               {16, 1, 16, {8, 25e9}}};
    enum { COSTS = sizeof costs / sizeof *costs, SHAPES = sizeof shapes / sizeof *shapes, ALL = COSTS * SHAPES };
    const struct iteration_work work = {.prefill_sequences = 160, .prefill_tokens = 160000, .prefill_pairs = 16e7,
                                        .decode_sequences = 370, .decode_context_tokens = 370 * 1234};
    struct catalog_memory memory;
    struct cost_fixture kept, anew;
    double seconds[ALL];
    catalog_memory_init(&memory);
    for (int i = 0; i < 2 * ALL; i++) {
        const char *document = test_json("{'cost': {'kind': 'operators', %s}}", costs[i % COSTS]);
        const struct cost_shape *shape = &shapes[i / COSTS % SHAPES];
        MUST(cost_fixture_init_on(&kept, &memory, document, "h100-sxm", "deepseek-v3", shape) == 0);
        CHECK_EQ_INT(memory.n_operators, i < ALL ? i + 1 : ALL);
        if (i < ALL) {
            MUST(cost_fixture_init_on(&anew, NULL, document, "h100-sxm", "deepseek-v3", shape) == 0);
            seconds[i] = cost_fixture_s(&anew, work);
            for (int j = 0; j < i; j++) CHECK(seconds[j] != seconds[i]);
            cost_fixture_fini(&anew);
        }
        CHECK(cost_fixture_s(&kept, work) == seconds[i % ALL]); /* to the bit */
        cost_fixture_fini(&kept);
    }
    catalog_memory_fini(&memory);
}

/* Kernels that take most of an iteration, of a GPU that is calibrated, from nowhere near: a GPU without any
 * measurement is uncalibrated instead. */
TEST(kernels_that_no_near_gpu_measured_are_named)
{
    static const struct {
        const char *gpu, *llm, *unmeasured;
    } cases[] = {
        {"rtx-pro-6000", "qwen3-30b-a3b", "moe"},
        {"rtx-pro-6000", "llama-3.1-8b", NULL},
        {"a40", "llama-3.1-8b", "prefill_attention, decode_attention"},
        {"h800-sxm", "qwen3-30b-a3b", NULL}, /* as the H100, the same chip */
        {"h100-sxm", "qwen3-30b-a3b", NULL},
        {"v100-32-sxm", "llama-3.1-8b", NULL},
        /* Borrowed from a similar kernel that was measured there. */
        {"rtx-pro-6000", "deepseek-v3", "gemm_fp8_block, latent_decode_attention, latent_prefill_attention, moe_fp8"},
        {"rtx-pro-6000", "qwen2.5-7b-awq", "gemm_int4"},
        {"h100-sxm", "deepseek-v3", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cost_fixture fixture;
        if (!CHECK_EQ_INT(
                cost_fixture_init(&fixture, "{'cost': {'kind': 'operators'}}", cases[i].gpu, cases[i].llm, 1, 1), 0))
            puts(fixture.message);
        CHECK_EQ_STR(fixture.model.unmeasured ? fixture.model.unmeasured : "-",
                     cases[i].unmeasured ? cases[i].unmeasured : "-");
        cost_fixture_fini(&fixture);
    }
}
