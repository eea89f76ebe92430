/* Peer equivalence: simdistserve (Zhong et al., OSDI 2024), one prefill and one decoding instance of OPT-13B on A100-80G,
 * request by request, to a microsecond. The peer's answers are in tests/fixtures/distserve; its input is Vidur's. An output
 * of o tokens takes the peer o decode iterations after the prompt, so here it has one token more. */
#include "tests/harness.h"

#include "tests/oracle/naive_serving.h"

#include <math.h>
#include <stdio.h>

enum { REQUESTS = 200 };

struct latencies {
    double ttft_ms, total_ms;
};

static int read_expected(struct latencies rows[REQUESTS])
{
    FILE *file = fopen("tests/fixtures/distserve/case1_tp1_r200.csv", "r");
    char line[256];
    int n = 0;
    if (!CHECK(file != NULL) || !CHECK(fgets(line, sizeof line, file) != NULL)) return 0;
    for (; n < REQUESTS && fgets(line, sizeof line, file) != NULL; n++)
        CHECK_EQ_INT(sscanf(line, "%lf,%*f,%lf", &rows[n].ttft_ms, &rows[n].total_ms), 2);
    fclose(file);
    return n;
}

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

static void the_naive_simulator_is_its_twin(void)
{
    static struct naive_outcome outcomes[NAIVE_REQUESTS];
    struct latencies rows[REQUESTS];
    scenario.n = 0;
    read_requests(&scenario);
    CHECK_EQ_INT(scenario.n, REQUESTS);
    CHECK_EQ_INT(read_expected(rows), REQUESTS);
    CHECK_EQ_INT(naive_serve(&scenario, outcomes), 2453); /* iterations, as the peer counts them */
    for (int i = 0; i < REQUESTS; i++) {
        const int64_t arrival_ns = scenario.requests[i].arrival_ns;
        CHECK_NEAR((double)(outcomes[i].first_ns - arrival_ns) * 1e-6, rows[i].ttft_ms, 1e-3);
        CHECK_NEAR((double)(outcomes[i].end_ns - arrival_ns) * 1e-6, rows[i].total_ms, 1e-3);
    }
}

TEST_SUITE(distserve)
{
    TEST(the_naive_simulator_is_its_twin);
}
