/* Peer equivalence: Vidur's schedulers with a closed-form batch time, request by request, to a microsecond. Its inputs
 * and its own outputs are in tests/fixtures/vidur: caseN as published with the peers' data, cases/ computed by the same
 * revision (microsoft/vidur @ 7d47513, simulation core as it is, the predictor replaced by the same closed form) for
 * scarce KV blocks, pipeline stages, several replicas and another list. */
#include "tests/oracle/naive_serving.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define FIXTURES "tests/fixtures/vidur/"

struct vidur_case {
    const char *scheduler, *list;
    int blocks, stages, replicas;
    const char *routing;
    int cap, requests, restarts;
};

/* Restarts are Vidur's. */
static const struct vidur_case cases[] = {
    {"vllm", "r200", 400, 1, 1, "rr", 128, 200, 10},       {"vllm", "r200", 250, 1, 1, "rr", 128, 200, 39},
    {"vllm", "r200", 7424, 2, 1, "rr", 128, 200, 0},       {"vllm", "r200", 7424, 4, 1, "rr", 128, 200, 0},
    {"vllm", "r200", 7424, 1, 3, "lor", 128, 200, 0},      {"vllm", "burst64", 7424, 4, 1, "rr", 128, 64, 0},
    {"vllm", "burst64", 7424, 2, 2, "lor", 128, 64, 0},    {"vllm", "fast200", 1500, 1, 1, "rr", 128, 200, 12},
    {"vllm", "fast200", 800, 1, 3, "lor", 128, 200, 9},    {"vllm", "fast200", 1000, 2, 2, "rr", 128, 200, 18},
    {"vllm", "fast200", 2000, 2, 1, "rr", 64, 200, 8},     {"vllm", "fast200", 900, 4, 1, "rr", 32, 200, 19},
    {"sarathi", "r200", 400, 1, 1, "rr", 128, 200, 13},    {"sarathi", "r200", 7424, 2, 1, "rr", 128, 200, 0},
    {"sarathi", "r200", 7424, 4, 1, "rr", 128, 200, 0},    {"sarathi", "r200", 7424, 1, 3, "lor", 128, 200, 0},
    {"sarathi", "burst64", 7424, 4, 1, "rr", 128, 64, 0},  {"sarathi", "burst64", 7424, 2, 2, "lor", 128, 64, 0},
    {"sarathi", "fast200", 1500, 1, 1, "rr", 128, 200, 12}, {"sarathi", "fast200", 800, 1, 3, "lor", 128, 200, 5},
    {"sarathi", "fast200", 1000, 2, 2, "rr", 128, 200, 13}, {"sarathi", "fast200", 2000, 2, 1, "rr", 64, 200, 6},
    {"sarathi", "fast200", 900, 4, 1, "rr", 32, 200, 17},  {"orca", "r200", 7424, 1, 1, "rr", 16, 200, 0},
    {"orca", "fast200", 2560, 1, 2, "rr", 128, 200, 0},
};

/* Of this one Vidur's scheduler restarts prompts in their midst, and forgets the rest of them. */
static const struct vidur_case forgetful_case = {"sarathi", "r200", 250, 1, 1, "rr", 128, 200, 37};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* --- What Vidur says --- */

struct vidur_row {
    double scheduled_s, ttft_s, e2e_s; /* scheduled_s: NAN in cases/ */
    int restarts;
};

/* Columns from the ttft_column-th: TTFT, end to end, restarts. Returns the number of rows. */
static int read_expected(const char *path, int ttft_column, struct vidur_row *rows)
{
    FILE *file = fopen(path, "r");
    char line[512];
    int n = 0;
    if (!CHECK(file != NULL) || !CHECK(fgets(line, sizeof line, file) != NULL)) return 0;
    for (; n < NAIVE_REQUESTS && fgets(line, sizeof line, file) != NULL; n++) {
        double values[8];
        char *at = line;
        CHECK_EQ_INT(strtol(at, &at, 10), n);
        for (int i = 1; i < ttft_column + 3; i++) values[i] = strtod(at + 1, &at);
        rows[n] = (struct vidur_row){.scheduled_s = ttft_column > 2 ? values[2] : (double)NAN,
                                     .ttft_s = values[ttft_column],
                                     .e2e_s = values[ttft_column + 1],
                                     .restarts = (int)values[ttft_column + 2]};
    }
    fclose(file);
    return n;
}

static int read_case(const struct vidur_case *wanted, struct vidur_row *rows)
{
    char path[256];
    snprintf(path, sizeof path, FIXTURES "cases/%s-%s-%d-%d-%d-%s-%d.csv", wanted->scheduler, wanted->list,
             wanted->blocks, wanted->stages, wanted->replicas, wanted->routing, wanted->cap);
    int n = read_expected(path, 1, rows), restarts = 0;
    for (int i = 0; i < n; i++) restarts += rows[i].restarts;
    CHECK_EQ_INT(n, wanted->requests);
    CHECK_EQ_INT(restarts, wanted->restarts);
    return n;
}

static void check_row(const struct vidur_row *row, double ttft_s, double e2e_s, int preemptions)
{
    CHECK_NEAR(ttft_s, row->ttft_s, 1e-6);
    CHECK_NEAR(e2e_s, row->e2e_s, 1e-6);
    CHECK_EQ_INT(preemptions, row->restarts);
}

/* --- The naive simulator --- */

static void naive_of_case(const struct vidur_case *wanted, struct naive_scenario *s)
{
    bool sarathi = is(wanted->scheduler, "sarathi");
    *s = (struct naive_scenario){
        .kind = sarathi ? NAIVE_SARATHI : is(wanted->scheduler, "orca") ? NAIVE_ORCA : NAIVE_VLLM_V0,
        .routing = is(wanted->routing, "rr") ? NAIVE_ROUND_ROBIN : NAIVE_LEAST_WAITING,
        .padded = true,
        .replicas = wanted->replicas,
        .stages = wanted->stages,
        .block_tokens = 16,
        .max_sequences = wanted->cap,
        .max_tokens = sarathi ? 512 : 4096,
        .max_context = 4096,
        .blocks = wanted->blocks,
        .watermark_blocks = wanted->blocks / 100,
        .prefill = {.fixed = 5000000, .token = 50000, .sequence = 20000, .pair = 2},
        .decode = {.fixed = 5000000, .token = 50000, .sequence = 20000, .context = 100},
    };
    char path[256], line[256];
    snprintf(path, sizeof path, FIXTURES "%s.csv", wanted->list);
    FILE *file = fopen(path, "r");
    MUST(file != NULL && fgets(line, sizeof line, file) != NULL);
    while (s->n < NAIVE_REQUESTS && fgets(line, sizeof line, file) != NULL) {
        double arrival_s;
        struct naive_request *request = &s->requests[s->n++];
        CHECK_EQ_INT(sscanf(line, "%*d,%lf,%d,%d", &arrival_s, &request->prompt, &request->output), 3);
        request->arrival_ns = llrint(arrival_s * 1e9);
    }
    fclose(file);
}

static void check_naive(const struct vidur_case *wanted, bool forgetful)
{
    static struct naive_scenario s;
    static struct naive_outcome outcomes[NAIVE_REQUESTS];
    static struct vidur_row rows[NAIVE_REQUESTS];
    int n = read_case(wanted, rows);
    naive_of_case(wanted, &s);
    s.forgetful = forgetful;
    MUST(s.n == n && naive_serve(&s, outcomes) > 0);
    for (int i = 0; i < n; i++)
        check_row(&rows[i], (double)(outcomes[i].first_ns - s.requests[i].arrival_ns) * 1e-9,
                  (double)(outcomes[i].end_ns - s.requests[i].arrival_ns) * 1e-9, outcomes[i].preemptions);
}

TEST(the_naive_simulator_is_vidurs_twin)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_naive(&cases[i], false);
    check_naive(&forgetful_case, true);
}

/* --- Orrery --- */

static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'peer': {'llm':"
    " 'llama-2-7b', 'replicas': %d, 'pipeline_parallel': %d, 'routing': {'policy': %s}, 'kv': {'blocks': %d,"
    " 'block_tokens': 16}, 'batching': {'policy': %s, 'max_sequences': %d}, 'cost': {'kind': 'affine',"
    " 'prefill': {'fixed': '%dms', 'per_token': '%dus', 'per_sequence': '%dus', 'per_pair': '%dns'},"
    " 'decode': {'fixed': '%dms', 'per_token': '%dus', 'per_sequence': '%dus', 'per_context_token': '%dns'}},"
    " 'trace': {'format': 'csv', 'path': '" FIXTURES "%s.csv', 'columns': {'arrival': 'arrived_at',"
    " 'prompt': 'num_prefill_tokens', 'output': 'num_decode_tokens'}} }}}";

static const struct vidur_case published = {"vllm", "r200", 7424, 1, 1, "rr", 128, 200, 0};
static const struct vidur_case published_sarathi = {"sarathi", "r200", 7424, 1, 1, "rr", 128, 200, 0};
static const struct vidur_case published_burst = {"vllm", "burst64", 7424, 1, 1, "rr", 128, 64, 0};

static const char *batching_of(const struct vidur_case *wanted)
{
    if (is(wanted->scheduler, "sarathi")) return "'sarathi', 'token_budget': 512";
    if (is(wanted->scheduler, "orca")) return "'orca'";
    return "'vllm-v0', 'max_batched_tokens': 4096, 'padded': true";
}

static struct bed_rows *run_case(const struct vidur_case *wanted, const struct bed_options *options)
{
    int stages = wanted->stages; /* the times are those of one stage */
    return bed_run(options, scenario, wanted->replicas, stages,
                   is(wanted->routing, "rr") ? "'round-robin'" : "'least-outstanding', 'count': 'queued'",
                   wanted->blocks, batching_of(wanted), wanted->cap, 5 * stages, 50 * stages, 20 * stages, 2 * stages,
                   5 * stages, 50 * stages, 20 * stages, 100 * stages, wanted->list);
}

static void check_run(const struct vidur_case *wanted, const struct vidur_row *expected, int n)
{
    struct bed_rows *rows = run_case(wanted, NULL);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, n);
    for (int i = 0; i < n; i++) {
        const struct request_row *row = bed_request(rows, i);
        if (!CHECK(row != NULL)) break;
        check_row(&expected[i], row->ttft_s, row->e2e_s, (int)row->preemptions);
        if (!isnan(expected[i].scheduled_s)) CHECK_NEAR(row->arrival_s + row->queue_s, expected[i].scheduled_s, 1e-6);
    }
}

TEST(published_cases)
{
    static struct vidur_row rows[NAIVE_REQUESTS];
    CHECK_EQ_INT(read_expected(FIXTURES "case1_requests.csv", 5, rows), 200);
    check_run(&published, rows, 200);
    CHECK_EQ_INT(read_expected(FIXTURES "case2_requests.csv", 5, rows), 200);
    check_run(&published_sarathi, rows, 200);
    CHECK_EQ_INT(read_expected(FIXTURES "case5_requests.csv", 5, rows), 64);
    check_run(&published_burst, rows, 64);
}

TEST(further_cases)
{
    static struct vidur_row rows[NAIVE_REQUESTS];
    int checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct vidur_case *one = &cases[i];
        check_run(one, rows, read_case(one, rows));
        checked++;
    }
    CHECK_EQ_INT(checked, 25);
}

TEST(batches_are_as_many_as_vidurs)
{
    struct bed_rows *rows = run_case(&published, NULL);
    CHECK_EQ_INT(bed_metric(rows, "replica.iterations.sum"), 8157); /* summary.json of the case */
}

TEST(every_mode_gives_the_same_bytes)
{
    struct bed_rows *macro = run_case(&published, NULL);
    struct bed_rows *single = run_case(&published, &(struct bed_options){.single_step = true, .queue = QUEUE_HEAP});
    struct bed_rows *checked = run_case(&published, &(struct bed_options){.check = true});
    CHECK(bed_equal(macro, single));
    CHECK(bed_equal(macro, checked));
    CHECK(macro->engine.fired * 4 < single->engine.fired);
}
