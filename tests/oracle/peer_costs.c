/* The affine and table costs against every iteration that peer simulators ran: from what was in the batch, the duration
 * that the peer gave it. */
#include "models/stated.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

#include <zlib.h>

enum { MAX_REQUESTS = 1024, MAX_LINE = 1 << 16 };

static char line[MAX_LINE];

/* Prompt lengths by request id, from a peer's input. Returns how many there are. */
static int read_prompts(const char *path, int64_t prompts[MAX_REQUESTS])
{
    int n = 0;
    gzFile file = gzopen(path, "r");
    if (!file || !gzgets(file, line, sizeof line)) abort();
    for (long id, tokens; n < MAX_REQUESTS && gzgets(file, line, sizeof line); n++) {
        if (sscanf(line, "%ld,%*[^,],%ld", &id, &tokens) != 2 || id != n) abort();
        prompts[n] = tokens;
    }
    gzclose(file);
    return n;
}

/* t_us = 5000 + 50 T + 20 R + 0.1 C + 0.002 P (peers/vidur/README.md). */
static const struct affine vidur = {
    .prefill.small = {.fixed_s = 5000e-6, .token_s = 50e-6, .sequence_s = 20e-6, .pair_s = 0.002e-6},
    .decode.small = {.fixed_s = 5000e-6, .token_s = 50e-6, .sequence_s = 20e-6, .context_token_s = 0.1e-6},
    .stages = 1.0,
};

/* The members "request:tokens:processed before", separated by blanks, as work. */
static struct iteration_work vidur_work(char *members, const int64_t prompts[MAX_REQUESTS])
{
    struct iteration_work work = {0};
    for (char *member = strtok(members, " \n"); member; member = strtok(NULL, " \n")) {
        long request;
        double n, p;
        if (sscanf(member, "%ld:%lf:%lf", &request, &n, &p) != 3) abort();
        if (p > (double)prompts[request]) {
            work.decode_sequences++;
            work.decode_context_tokens += (int64_t)p;
        } else {
            work.prefill_sequences++;
            work.prefill_tokens += (int64_t)n;
            work.prefill_context_tokens += (int64_t)p;
            work.prefill_pairs += n * n + 2.0 * n * p;
        }
    }
    return work;
}

static void check_vidur_case(const char *input, const char *batches, int expected_batches)
{
    static int64_t prompts[MAX_REQUESTS];
    const char *input_path = test_shared(input), *batches_path = test_shared(batches);
    if (!input_path || !batches_path) return;
    MUST(read_prompts(input_path, prompts) > 0);
    gzFile file = gzopen(batches_path, "r");
    MUST(file && gzgets(file, line, sizeof line));
    int n = 0;
    for (double seconds, worst = 0.0; gzgets(file, line, sizeof line); n++) {
        int at = 0;
        MUST(sscanf(line, "%*d,%*d,%*d,%*[^,],%*[^,],%lf,%*[^,],%*[^,],%*[^,],%n", &seconds, &at) == 1 && at > 0);
        const struct iteration_work work = vidur_work(line + at, prompts);
        struct iteration_cost cost;
        affine_cost(&vidur, &work, &cost);
        worst = fmax(worst, fabs(cost.first_s - seconds));
        CHECK(worst < 1e-12);
    }
    gzclose(file);
    CHECK_EQ_INT(n, expected_batches);
}

TEST(vidur_prefill_first_batches)
{
    check_vidur_case("peers/vidur/r200.csv", "peers/vidur/case1_vllm_r200/batches_out.csv.gz", 8157);
}

TEST(vidur_chunked_batches)
{
    check_vidur_case("peers/vidur/r200.csv", "peers/vidur/case2_sarathi_r200/batches_out.csv.gz", 8144);
}

TEST(vidur_large_batches)
{
    check_vidur_case("peers/vidur/burst64.csv", "peers/vidur/case5_vllm_burst64/batches_out.csv.gz", 66);
}

/* OPT-13B, TP 1, of profiler-a100-80g.distserve.json, with simdistserve's "ray overhead"; as in unit/affine. */
static const struct affine distserve = {
    .prefill = {.small = {.fixed_s = 18.10254647486372e-3, .token_s = 0.1019122572698738e-3,
                          .pair_s = 7.122264314252114e-09},
                .stage_s = 1e-3,
                .undivided = {.fixed_s = 2e-3, .token_s = 1e-7}},
    .decode = {.small = {.fixed_s = 19.934702624895458e-3, .context_token_s = 0.0006269356524350583e-3,
                         .sequence_s = 0.03850697740828398e-3},
               .large = {.fixed_s = 7.1661889468253595e-3, .context_token_s = 0.0005798000403396046e-3,
                         .sequence_s = 0.15831096191764046e-3},
               .large_from = 95,
               .undivided = {.fixed_s = 2e-3, .context_token_s = 1e-7, .sequence_s = -1e-7}},
    .stages = 1.0,
};

enum { MAX_EVENTS = 40000 };

/* A request's part in an iteration. The worker for prompts and the one for decoding start apart. */
struct distserve_event {
    bool prefill;
    double start_ms, duration_ms;
    int64_t prompt, context;
};

static int compare_events(const void *left, const void *right)
{
    const struct distserve_event *a = left, *b = right;
    if (a->prefill != b->prefill) return a->prefill ? -1 : 1;
    return (a->start_ms > b->start_ms) - (a->start_ms < b->start_ms);
}

/* Decode steps of a request in the order of its events: the i-th works on a context of prompt + i tokens. */
static int read_distserve_events(const char *path, const int64_t prompts[MAX_REQUESTS], struct distserve_event *events)
{
    static int64_t decoded[MAX_REQUESTS];
    memset(decoded, 0, sizeof decoded);
    gzFile file = gzopen(path, "r");
    if (!file || !gzgets(file, line, sizeof line)) abort();
    int n = 0;
    while (gzgets(file, line, sizeof line)) {
        char kind[32];
        long request;
        struct distserve_event event;
        if (sscanf(line, "%lf,%31[^,],%*d,%ld,%lf", &event.start_ms, kind, &request, &event.duration_ms) != 4) abort();
        event.prefill = strcmp(kind, "do_prefill") == 0;
        if (!event.prefill && strcmp(kind, "do_decode") != 0) continue;
        event.prompt = prompts[request];
        event.context = event.prefill ? 0 : event.prompt + ++decoded[request];
        if (n == MAX_EVENTS) abort();
        events[n++] = event;
    }
    gzclose(file);
    return n;
}

TEST(distserve_iterations)
{
    static int64_t prompts[MAX_REQUESTS];
    static struct distserve_event events[MAX_EVENTS];
    const char *input = test_shared("peers/distserve/r200.csv");
    const char *path = test_shared("peers/distserve/case1_distserve_tp1_r200_events_ms.csv.gz");
    if (!input || !path) return;
    MUST(read_prompts(input, prompts) == 200);
    const int n = read_distserve_events(path, prompts, events);
    qsort(events, (size_t)n, sizeof *events, compare_events);
    int iterations = 0;
    for (int first = 0, next; first < n; first = next, iterations++) {
        struct iteration_work work = {0};
        for (next = first; next < n && compare_events(&events[first], &events[next]) == 0; next++) {
            const double prompt = (double)events[next].prompt;
            work.prefill_sequences += events[next].prefill;
            work.prefill_tokens += events[next].prefill ? events[next].prompt : 0;
            work.prefill_pairs += events[next].prefill ? prompt * prompt : 0.0;
            work.decode_sequences += !events[next].prefill;
            work.decode_context_tokens += events[next].context;
        }
        struct iteration_cost cost;
        affine_cost(&distserve, &work, &cost);
        CHECK_NEAR(cost.first_s, events[first].duration_ms * 1e-3, 1e-12);
    }
    CHECK_EQ_INT(iterations, 2453);
}

/* SplitwiseSim's table of Llama-2-70B on H100 with TP 8, and the first iterations of token_jsq_r200_nodes.csv: a prompt
 * of 314 tokens alone; one of 563 beside one decoding request; two that decode (left of the table, as its README says);
 * a prompt of 1211 beside two; of 1852 beside three. */
TEST(splitwise_iterations)
{
    const char *path = test_shared("llm_end_to_end/splitwise__llama2-70b__latency_and_power.csv");
    if (!path) return;
    char document[1024];
    snprintf(document, sizeof document,
             "{'cost': {'kind': 'table', 'file': {'path': '%s', 'where': ['hardware=h100-80gb', 'tensor_parallel=8'], "
             "'tokens': ['prompt_size', 'batch_size'], 'prefill_time': 'prompt_time', 'decode_time': 'token_time'}}}",
             path);
    SCOPED(cost_fixture) fixture;
    MUST(cost_fixture_init(&fixture, document, "h100-sxm", "llama-2-70b", 8, 1) == 0);
    static const struct {
        int64_t prompt, decoding;
        double start_s, end_s;
        bool extrapolated;
    } known[] = {
        {314, 0, 0.209966, 0.2621228272897639, false},
        {563, 1, 0.2621228272897639, 0.32402839997411376, false},
        {0, 2, 0.32402839997411376, 0.35548207146810473, true},
        {1211, 2, 0.35548207146810473, 0.4524539640753877, false},
        {1852, 3, 0.4524539640753877, 0.5885560493910977, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct iteration_work work = {.prefill_sequences = known[i].prompt > 0, .prefill_tokens = known[i].prompt,
                                            .decode_sequences = known[i].decoding};
        struct iteration_cost cost;
        fixture.model.cost(fixture.model.model, &work, &cost);
        CHECK_NEAR(cost.first_s, known[i].end_s - known[i].start_s, 1e-14);
        CHECK(cost.extrapolated_frac == (known[i].extrapolated ? 1.0 : 0.0));
    }
}
