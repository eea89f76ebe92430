/* Peer equivalence: simdistserve (Zhong et al., OSDI 2024), request by request, to a microsecond. Its inputs are
 * Vidur's lists, its answers are in tests/fixtures/distserve: case1 as published with the peers' data, cases/ computed
 * by the same revision (LLMServe/DistServe @ 82831f1, its code as it is, given the lists and numbers of instances) for
 * other rates and lists, tensor parallel instances, pipeline stages, several instances, and its vLLM backend, where
 * every instance does both phases. An output of o tokens takes it o decode iterations after the prompt, so here it has
 * one token more. */
#include "tests/oracle/naive_serving.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { REQUESTS = 200 };

#define FIXTURES "tests/fixtures/distserve/"

struct latencies {
    double ttft_ms, total_ms;
};

/* TTFT is the first column, the total the last. Returns the number of rows. */
static int read_expected(const char *path, struct latencies rows[REQUESTS])
{
    FILE *file = fopen(path, "r");
    char line[256];
    int n = 0;
    if (!CHECK(file != NULL) || !CHECK(fgets(line, sizeof line, file) != NULL)) return 0;
    for (; n < REQUESTS && fgets(line, sizeof line, file) != NULL; n++) {
        char *total = strrchr(line, ',');
        rows[n] = (struct latencies){strtod(line, NULL), total != NULL ? strtod(total + 1, NULL) : -1};
    }
    fclose(file);
    return n;
}

/* --- The naive simulator --- */

/* Arrivals count from the first. */
static void read_requests(struct naive_scenario *s)
{
    FILE *file = fopen("tests/fixtures/vidur/r200.csv", "r");
    char line[256];
    MUST(file != NULL && fgets(line, sizeof line, file) != NULL);
    while (s->n < REQUESTS && fgets(line, sizeof line, file) != NULL) {
        struct naive_request *request = &s->requests[s->n++];
        double arrival_s;
        CHECK_EQ_INT(sscanf(line, "%*d,%lf,%d,%d", &arrival_s, &request->prompt, &request->output), 3);
        request->arrival_ns = llrint(arrival_s * 1e9) - (s->n > 1 ? s->requests[0].arrival_ns : 0);
        request->output++;
    }
    s->requests[0].arrival_ns = 0;
    fclose(file);
}

/* profiler-a100-80g.distserve.json with "ray overhead" (unit/affine), in nanoseconds; KV moves in no time. */
static struct naive_scenario scenario = {
    .kind = NAIVE_VLLM_V0, .replicas = 2, .prefill_replicas = 1, .push = true, .stages = 1, .block_tokens = 16,
    .max_sequences = 1000000, .max_tokens = 66144, .max_context = 1 << 20, .blocks = 1 << 30,
    .prefill = {.fixed = 18.10254647486372e6 + 1e6 + 2e6, .token = 0.1019122572698738e6 + 100,
                .pair = 7.122264314252114},
    .decode = {.fixed = 19.934702624895458e6 + 2e6, .context = 626.9356524350583 + 100,
               .sequence = 38506.97740828398 - 100},
    .decode_large = {.fixed = 7.1661889468253595e6 + 2e6, .context = 579.8000403396046 + 100,
                     .sequence = 158310.96191764046 - 100},
    .large_from = 95,
};

TEST(the_naive_simulator_is_its_twin)
{
    static struct naive_outcome outcomes[NAIVE_REQUESTS];
    struct latencies rows[REQUESTS];
    scenario.n = 0;
    read_requests(&scenario);
    CHECK_EQ_INT(scenario.n, REQUESTS);
    CHECK_EQ_INT(read_expected(FIXTURES "case1_tp1_r200.csv", rows), REQUESTS);
    CHECK_EQ_INT(naive_serve(&scenario, outcomes), 2453); /* iterations, as the peer counts them */
    for (int i = 0; i < REQUESTS; i++) {
        const int64_t arrival_ns = scenario.requests[i].arrival_ns;
        CHECK_NEAR((double)(outcomes[i].first_ns - arrival_ns) * 1e-6, rows[i].ttft_ms, 1e-3);
        CHECK_NEAR((double)(outcomes[i].end_ns - arrival_ns) * 1e-6, rows[i].total_ms, 1e-3);
    }
}

/* --- Orrery --- */

static void check_rows(const struct bed_rows *rows, const struct latencies *expected, int n)
{
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, n);
    for (int i = 0; i < n; i++) {
        const struct request_row *row = bed_request(rows, i);
        if (!CHECK(row != NULL)) return;
        CHECK_NEAR(row->ttft_s * 1e3, expected[i].ttft_ms, 1e-3);
        CHECK_NEAR(row->e2e_s * 1e3, expected[i].total_ms, 1e-3);
    }
}

/* The scenario of tests/oracle/README.md. */
TEST(the_published_case)
{
    struct latencies rows[REQUESTS];
    char text[8192] = "";
    FILE *file = fopen(FIXTURES "case1.json", "r");
    MUST(file != NULL && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    char *path = strstr(text, "../vidur/r200.csv");
    MUST(path != NULL);
    memmove(path + strlen("tests/fixtures"), path + strlen(".."), strlen(path) - strlen("..") + 1);
    memcpy(path, "tests/fixtures", strlen("tests/fixtures"));
    struct bed_rows *ours = bed_run(NULL, "%s", text);
    check_rows(ours, rows, read_expected(FIXTURES "case1_tp1_r200.csv", rows));
    CHECK_EQ_INT(bed_metric(ours, "replica.iterations.sum"), 2453);
}

/* profiler-a100-80g.*.json: a, b, c of prefill and of small and large decode batches, in milliseconds. */
struct profile {
    const char *engine, *llm;
    int tensor_parallel;
    double prefill[3], small[3], large[3];
};

static const struct profile profiles[] = {
    {"distserve", "13b", 1, {18.10254647486372, 0.1019122572698738, 7.122264314252114e-06},
     {19.934702624895458, 0.0006269356524350583, 0.03850697740828398},
     {7.1661889468253595, 0.0005798000403396046, 0.15831096191764046}},
    {"distserve", "13b", 2, {14.742973695171262, 0.06857720739764, 2.4495727400243586e-06},
     {13.294796350285385, 0.00034109219700723494, 0.06296393225243659},
     {10.638741913126715, 0.00031183369638295723, 0.08562913604102729}},
    {"distserve", "13b", 4, {12.062297033449054, 0.03808140082550695, 5.226249731787869e-07},
     {10.256231678259395, 0.00018786702316166354, 0.03269273629225551},
     {10.483514938375274, 0.00017120888562939117, 0.04566648525887034}},
    {"distserve", "66b", 2, {43.05881348288936, 0.2742292870458432, 2.2478042467169447e-05},
     {48.288015489286245, 0.0009424343535737985, 0.12755020094383188},
     {28.727693993711597, 0.00047448475459061987, 0.29617792360743994}},
    {"distserve", "66b", 4, {29.441636037717455, 0.151352180625198, 8.317450765979451e-06},
     {30.760284619429587, 0.000451947603788462, 0.063284195750671},
     {27.47082137429487, 0.0004046845541646486, 0.12480667738300383}},
    {"vllm", "13b", 1, {22.052204789310185, 0.14050923870128956, 8.076584822611088e-06},
     {23.475041008414784, 0.000592934466077393, 0.060726861260369455},
     {20.206356173691958, 0.0004907727036234946, 0.1200031385587413}},
    {"vllm", "13b", 2, {27.440806247810684, 0.0905453268062731, 8.452054313246025e-06},
     {24.54058424191086, 0.00022440145424035404, 0.08715787269447899},
     {17.947769467112806, 0.0004570851465217072, 0.11179075830699213}},
};

static const struct profile *profile_of(const char *engine, const char *llm, int tensor_parallel)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strcmp(profiles[i].engine, engine) == 0 && strcmp(profiles[i].llm, llm) == 0 &&
            profiles[i].tensor_parallel == tensor_parallel)
            return &profiles[i];
    CHECK(false);
    return &profiles[0];
}

struct instances {
    int n, tensor_parallel, stages;
};

struct dist_case {
    const char *engine, *llm, *list;
    int scale, requests;
    struct instances prefill, decode; /* vllm: the former do both */
    int max_tokens;                   /* max_num_tokens.csv, of prefill */
};

static const struct dist_case cases[] = {
    {"distserve", "13b", "r200", 2, 200, {1, 1, 1}, {1, 1, 1}, 66144},
    {"distserve", "13b", "r200", 4, 200, {1, 2, 1}, {1, 4, 1}, 163008},
    {"distserve", "13b", "fast200", 1, 200, {1, 1, 1}, {1, 1, 1}, 66144},
    {"distserve", "13b", "burst64", 1, 64, {1, 1, 1}, {1, 1, 1}, 66144},
    {"distserve", "13b", "r200", 1, 200, {1, 1, 2}, {1, 1, 1}, 163008},
    {"distserve", "13b", "r200", 1, 200, {1, 1, 1}, {1, 1, 2}, 66144},
    {"distserve", "13b", "r200", 2, 200, {1, 1, 2}, {1, 1, 2}, 163008},
    {"distserve", "13b", "r200", 4, 200, {1, 2, 2}, {1, 1, 4}, 356752},
    {"distserve", "13b", "fast200", 1, 200, {1, 1, 4}, {1, 2, 2}, 356752},
    {"distserve", "13b", "burst64", 1, 64, {1, 1, 2}, {1, 1, 2}, 163008},
    {"distserve", "13b", "r200", 4, 200, {2, 1, 1}, {1, 1, 1}, 66144},
    {"distserve", "13b", "r200", 4, 200, {1, 1, 1}, {2, 1, 1}, 66144},
    {"distserve", "13b", "fast200", 1, 200, {3, 1, 1}, {2, 1, 1}, 66144},
    {"distserve", "13b", "fast200", 1, 200, {2, 1, 2}, {2, 1, 2}, 163008},
    {"distserve", "66b", "r200", 1, 200, {1, 4, 1}, {1, 2, 2}, 78496},
    {"distserve", "66b", "fast200", 1, 200, {1, 4, 1}, {1, 2, 2}, 78496},
    {"vllm", "13b", "r200", 1, 200, {1, 1, 1}, {0, 1, 1}, 66144},
    {"vllm", "13b", "r200", 4, 200, {1, 2, 1}, {0, 2, 1}, 163008},
    {"vllm", "13b", "fast200", 1, 200, {1, 1, 1}, {0, 1, 1}, 66144},
    {"vllm", "13b", "burst64", 1, 64, {1, 1, 1}, {0, 1, 1}, 66144},
    {"vllm", "13b", "r200", 1, 200, {1, 1, 2}, {0, 1, 2}, 163008},
    {"vllm", "13b", "fast200", 1, 200, {1, 1, 4}, {0, 1, 4}, 356752},
    {"vllm", "13b", "r200", 4, 200, {2, 1, 2}, {0, 1, 2}, 163008},
};

static int read_case(const struct dist_case *one, struct latencies *rows)
{
    const struct instances *p = &one->prefill, *d = &one->decode;
    char path[256];
    snprintf(path, sizeof path, FIXTURES "cases/%s-%s-%s-%d-%d-%d-%d-%d-%d-%d.csv", one->engine, one->llm, one->list,
             one->scale, p->n, d->n, p->tensor_parallel, p->stages, d->tensor_parallel, d->stages);
    int n = read_expected(path, rows);
    CHECK_EQ_INT(n, one->requests);
    return n;
}

static void add_instances(struct text *text, const struct dist_case *one, const struct instances *instances)
{
    const struct profile *p = profile_of(one->engine, one->llm, instances->tensor_parallel);
    text_printf(text, "'replicas': %d, 'tensor_parallel': %d, 'pipeline_parallel': %d, 'cost': {'kind': 'affine', ",
                instances->n, instances->tensor_parallel, instances->stages);
    text_printf(text,
                "'prefill': {'fixed': '%.17gms', 'per_token': '%.17gms', 'per_pair': '%.17gms', 'per_stage': '1ms',"
                " 'first_stage': {'fixed': '2ms', 'per_token': '100ns'}},",
                p->prefill[0], p->prefill[1], p->prefill[2]);
    text_printf(text, "'decode': {'fixed': '%.17gms', 'per_context_token': '%.17gms', 'per_sequence': '%.17gms', ",
                p->small[0], p->small[1], p->small[2]);
    text_printf(
        text,
        "'large_from': 95, 'large': {'fixed': '%.17gms', 'per_context_token': '%.17gms', 'per_sequence': '%.17gms'},",
        p->large[0], p->large[1], p->large[2]);
    text_printf(text, "'first_stage': {'fixed': '2ms', 'per_context_token': '100ns', 'per_sequence': '-100ns'}}}");
}

static void write_scenario(const struct dist_case *one, struct text *text)
{
    text_printf(text,
                "{'cluster': {'nodes': 4, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'peer': {"
                "'llm': 'llama-3.1-8b', 'kv': {'blocks': 10000000}, 'routing': 'distserve',"
                "'batching': {'policy': 'distserve', 'max_batched_tokens': %d},",
                one->max_tokens);
    if (one->decode.n > 0) {
        text_printf(text, "'decode_routing': 'distserve', 'kv_transfer': {'start': 'push', 'bandwidth': '1e20GB/s'},"
                          "'pools': {'prompts': {'role': 'prefill', ");
        add_instances(text, one, &one->prefill);
        text_printf(text, "}, 'tokens': {'role': 'decode', ");
        add_instances(text, one, &one->decode);
        text_printf(text, "}},");
    } else {
        text_printf(text, "'pools': {'both': {");
        add_instances(text, one, &one->prefill);
        text_printf(text, "}},");
    }
    text_printf(
        text,
        "'trace': {'format': 'csv', 'path': 'tests/fixtures/vidur/%s.csv', 'rate_scale': %d, 'extra_output_tokens': 1,"
        "'columns': {'arrival': 'arrived_at', 'prompt': 'num_prefill_tokens', 'output': 'num_decode_tokens'}}}}}",
        one->list, one->scale);
}

static struct bed_rows *run_case(const struct dist_case *one, const struct bed_options *options)
{
    SCOPED(text) text = {0};
    write_scenario(one, &text);
    return bed_run(options, "%s", text.chars);
}

TEST(further_cases)
{
    static struct latencies expected[REQUESTS];
    int checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++, checked++) {
        struct bed_rows *rows = run_case(&cases[i], &(struct bed_options){.check = true});
        check_rows(rows, expected, read_case(&cases[i], expected));
    }
    CHECK_EQ_INT(checked, 23);
}

TEST(every_mode_gives_the_same_bytes)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += 3) {
        struct bed_rows *macro = run_case(&cases[i], NULL);
        struct bed_rows *single = run_case(&cases[i],
                                           &(struct bed_options){.single_step = true, .queue = QUEUE_HEAP});
        CHECK(bed_equal(macro, single));
    }
}
