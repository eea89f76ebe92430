/* Laws of the story of a request, in random scenarios with restarts, preemptions and drafts. */
#include "sim/cli/explain/story.h"
#include "sim/core/rng.h"
#include "sim/world/policy/batching.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/prefix_store_bed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_REQUESTS = 60 };

/* --- The stories of all requests at once --- */

struct stories {
    struct arena arena;
    struct story of[N_REQUESTS];
};

#define TO_ALL(name)                                                                                                   \
    static int all_##name(void *context, const struct name##_row *row)                                                 \
    {                                                                                                                  \
        struct stories *stories = context;                                                                             \
        for (int i = 0; i < N_REQUESTS; i++) {                                                                         \
            struct sink sink = story_sink(&stories->of[i]);                                                            \
            const int code = sink.name(sink.context, row);                                                             \
            if (code != 0) return code;                                                                                \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
TO_ALL(request)
TO_ALL(batch)
TO_ALL(handover)
TO_ALL(sequence)
TO_ALL(token_wait)
TO_ALL(admission)
TO_ALL(decision)
TO_ALL(metric)

static struct sink stories_init(struct stories *stories, bool drafts)
{
    arena_init(&stories->arena);
    for (int i = 0; i < N_REQUESTS; i++)
        story_init(&stories->of[i], &(struct story_subject){.id = i, .service = "chat", .drafts = drafts},
                   &stories->arena);
    return (struct sink){.context = stories, .request = all_request, .batch = all_batch, .handover = all_handover,
                         .sequence = all_sequence, .token_wait = all_token_wait, .admission = all_admission,
                         .decision = all_decision, .detail = all_decision, .metric = all_metric};
}

static void stories_fini(struct stories *stories)
{
    for (int i = 0; i < N_REQUESTS; i++) story_fini(&stories->of[i]);
    arena_fini(&stories->arena);
}

/* --- Scenarios --- */

static bool is_in_pools(uint64_t number)
{
    return number % 6 == 3 && number % 4 != 1 && number % 5 != 2;
}

/* By their number: every fourth speculates, every fifth decodes three sequences of each request, every sixth hands KV
 * over. All fail, and most have few KV blocks. */
static struct bed_rows *run_random(uint64_t number, struct stories *stories)
{
    static const char *const batchers[] = {"vllm-v1", "vllm-v0", "sarathi", "vllm-v1"};
    struct rng rng = test_rng(number, "stories", 0);
    const bool drafts = number % 4 == 1, samples = number % 5 == 2 && !drafts;
    const bool pools = is_in_pools(number);
    const struct sink sink = stories_init(stories, drafts);
    const char *fleet = pools ? "'pools': {'prompts': {'role': 'prefill', 'replicas': 2},"
                                " 'tokens': {'role': 'decode', 'replicas': 2}},"
                              : "'replicas': 2,";
    const char *more = drafts    ? "'speculation': {'policy': 'ngram', 'drafts': 3}, 'acceptance': {'rates': [0.7]},"
                       : samples ? "'sampling': {'sequences': 3, 'length_sigma': 0.4},"
                                 : "";
    return bed_run(
        &(const struct bed_options){.check = true, .also = &sink},
        "{'cluster': {'nodes': 4, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm',"
        " 'network': {'bandwidth': '50GB/s'}}, 'seed': %d, 'keep': 'decisions',"
        " 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '%.3fs'},"
        " 'repair': {'mean': '%.3fs'}}}}, 'services': {'chat': {'llm': 'mistral-7b', %s %s 'batching': '%s',"
        " 'kv': {'blocks': %d}, 'restart': {'delay': '%.3fs'}, 'trace': {'format': 'generate', 'count': %d,"
        " 'arrival': {'process': 'poisson', 'rate': '%.3f/s'}, 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 700},"
        " 'output': {'distribution': 'uniform', 'min': 1, 'max': 150}}}}}",
        (int)number, 4 + 20 * rng_uniform(&rng), 0.1 + 4 * rng_uniform(&rng), fleet, more, batchers[number % 4],
        (int)(70 + rng_below(&rng, 200)), 3 * rng_uniform(&rng), N_REQUESTS, 4 + 30 * rng_uniform(&rng));
}

/* --- Laws --- */

/* The story's longest wait for a token is that of the row, bit for bit, and lies between its first and last token. */
static void check_wait(const struct story *story, const struct request_row *row)
{
    if (isnan(row->max_gap_s)) {
        CHECK(isnan(story->gap_s));
        return;
    }
    CHECK(story->gap_s == row->max_gap_s);
    CHECK(story->gap_from_s >= row->arrival_s + row->ttft_s - 1e-9);
    CHECK(isnan(row->e2e_s) || story->gap_from_s + story->gap_s <= row->arrival_s + row->e2e_s + 1e-9);
}

/* Whether any of the two replicas is up at this time. */
static bool is_up(const struct bed_rows *rows, double t_s)
{
    bool up[2] = {true, true};
    for (size_t i = 0; i < rows->n_decisions && rows->decisions[i].t_s <= t_s; i++) {
        const struct bed_decision *row = &rows->decisions[i];
        const bool is_fail = strcmp(row->action, "fail") == 0;
        int number;
        if ((!is_fail && strcmp(row->action, "up") != 0) || sscanf(row->reason, "replica %d", &number) != 1) continue;
        up[number & 1] = !is_fail;
    }
    return up[0] || up[1];
}

/* A restart names its cause. The request is without a replica in stretches in which none is up: those told, and no
 * others. Returns how many are told. */
static size_t check_restarts(const struct story *story, const struct request_row *row, const struct bed_rows *rows)
{
    double from_s, to_s;
    size_t n = 0;
    bool is_told_at_arrival = false;
    for (size_t i = 0; i < story->n_events; i++) {
        const struct story_event *event = &story->events[i];
        if (strcmp(event->what, "requeue") == 0) CHECK(strstr(event->text, "; cause: node on node ") != NULL);
        if (strcmp(event->what, "outage") != 0) continue;
        static const char form[] = "no replica of chat was up to take it from %lf s to %lf s, for";
        if (!CHECK(sscanf(event->text, form, &from_s, &to_s) == 2)) continue;
        CHECK_NEAR(from_s, event->t_s, 1e-6);
        CHECK(!is_up(rows, 0.5 * (from_s + to_s)) && !is_up(rows, from_s + 1e-6) && !is_up(rows, to_s - 1e-6));
        CHECK(is_up(rows, to_s + 1e-6) || to_s >= rows->end_s - 1e-6);
        is_told_at_arrival |= fabs(from_s - row->arrival_s) < 1e-6;
        n++;
    }
    CHECK(is_told_at_arrival == !is_up(rows, row->arrival_s));
    return n;
}

/* A time as a story tells it, "180.8 ms", and what follows it; NAN: it is none. */
static double read_story_time(const char *text, const char **rest)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{" s", 1}, {" ms", 1e-3}, {" ns", 1e-9}};
    char *end;
    const double number = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
        *rest = end + strlen(units[i].name);
        if (strncmp(end, units[i].name, strlen(units[i].name)) == 0) return number * units[i].s;
    }
    return (double)NAN;
}

/* Of the time in which a request decodes, iterations with prompts of others are a part, also where a failure cuts the
 * last one. Returns how many such parts are told. */
static size_t check_parts(const struct story *story)
{
    size_t n_parts = 0;
    for (size_t i = 0; i < story->n_events; i++) {
        const char *took = strstr(story->events[i].text, ") took "), *rest;
        if (strcmp(story->events[i].what, "decoded") != 0 || took == NULL) continue;
        const double part_s = read_story_time(took + strlen(") took "), &rest);
        if (!CHECK(!isnan(part_s) && strncmp(rest, " of ", strlen(" of ")) == 0)) continue;
        const double whole_s = read_story_time(rest + strlen(" of "), &rest);
        if (!CHECK(part_s <= whole_s)) printf("%s\n", story->events[i].text); /* both are rounded alike */
        n_parts++;
    }
    return n_parts;
}

/* The parts of the wait in the queue are its whole, to the nanosecond; none is negative. */
static void check_queue(const struct story *story, const struct request_row *row)
{
    sim_ns all_ns = 0;
    for (int kind = 0; kind < N_BLOCKED; kind++) {
        CHECK(story->blocked.part_ns[kind][0] >= 0 && story->blocked.part_ns[kind][1] >= 0);
        all_ns += blocked_ns(&story->blocked, kind);
    }
    CHECK_EQ_INT(all_ns, llround(1e9 * row->queue_s));
}

static size_t count_events(const struct story *story, const char *what)
{
    size_t n = 0;
    for (size_t i = 0; i < story->n_events; i++) n += strcmp(story->events[i].what, what) == 0;
    return n;
}

TEST(a_story_agrees_with_the_row_and_the_failures)
{
    size_t n_restarted = 0, n_preempted = 0, n_told = 0, n_outages = 0, n_blocked[N_BLOCKED] = {0};
    for (uint64_t number = 0; number < 60; number++) {
        struct stories *stories = calloc(1, sizeof *stories);
        MUST(stories != NULL);
        const struct bed_rows *rows = run_random(number, stories);
        if (!CHECK_EQ_INT(rows->code, 0)) printf("scenario %d\n", (int)number);
        const bool has_pools = is_in_pools(number);
        for (size_t i = 0; i < rows->n_requests; i++) {
            struct story *story = &stories->of[rows->requests[i].id];
            check_wait(story, &rows->requests[i]);
            CHECK(story_end(story) == 0);
            if (!has_pools) n_outages += check_restarts(story, &rows->requests[i], rows);
            n_told += isnan(story->gap_s) ? 0 : 1;
            n_preempted += rows->requests[i].preemptions > 0;
            n_restarted += count_events(story, "requeue") > 0;
            if (!isnan(rows->requests[i].queue_s)) check_queue(story, &rows->requests[i]);
            for (int kind = 0; kind < N_BLOCKED; kind++) n_blocked[kind] += blocked_ns(&story->blocked, kind) > 0;
        }
        stories_fini(stories);
        free(stories);
    }
    CHECK(n_blocked[BATCH_LIMIT_KV_BLOCKS] > 300 && n_blocked[BLOCKED_ITERATION] > 300);
    CHECK(n_blocked[BLOCKED_NO_REPLICA] > 100 && n_blocked[BATCH_LIMIT_UNSTATED] == 0);
    CHECK(n_told > 3000 && n_restarted > 300 && n_preempted > 300 && n_outages > 100);
}

/* Long prompts, short outputs and a failure every few seconds: many a failure cuts an iteration with prompts, and many
 * requests that decode then have few tokens. */
static struct bed_rows *run_cut(uint64_t number, struct stories *stories)
{
    static const char *const batchers[] = {"vllm-v1", "vllm-v0", "sarathi"};
    const struct sink sink = stories_init(stories, false);
    return bed_run(&(const struct bed_options){.check = true, .also = &sink},
                   "{'cluster': {'nodes': 2, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'seed': %d, 'keep': 'decisions',"
                   " 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '3s'},"
                   " 'repair': {'mean': '0.2s'}}}}, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2,"
                   " 'batching': '%s', 'restart': {'delay': '0.1s'}, 'trace': {'format': 'generate', 'count': %d,"
                   " 'arrival': {'process': 'poisson', 'rate': '8/s'},"
                   " 'prompt': {'distribution': 'uniform', 'min': 300, 'max': 3000},"
                   " 'output': {'distribution': 'uniform', 'min': 2, 'max': 40}}}}}",
                   (int)number, batchers[number % 3], N_REQUESTS);
}

TEST(prompts_of_others_take_a_part_of_the_time)
{
    size_t n_parts = 0, n_restarted = 0;
    for (uint64_t number = 0; number < 30; number++) {
        struct stories *stories = calloc(1, sizeof *stories);
        MUST(stories != NULL);
        const struct bed_rows *rows = run_cut(number, stories);
        CHECK_EQ_INT(rows->code, 0);
        for (size_t i = 0; i < N_REQUESTS; i++) {
            CHECK(story_end(&stories->of[i]) == 0);
            n_parts += check_parts(&stories->of[i]);
            n_restarted += count_events(&stories->of[i], "requeue") > 0;
        }
        stories_fini(stories);
        free(stories);
    }
    CHECK(n_parts > 1000 && n_restarted > 300);
}

/* --- What ends the admissions --- */

#define ONE_REPLICA(more)                                                                                              \
    "{" more "'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {"               \
    " 'llm': 'mistral-7b', 'batching': %s, 'kv': {'blocks': %d}, 'trace': {'format': 'generate',"                      \
    " 'count': %d, 'arrival': {'process': 'poisson', 'rate': '%d/s'},"                                                 \
    " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 400},"                                                    \
    " 'output': {'distribution': 'uniform', 'min': 2, 'max': 60}}}}}"

/* Every batcher with this parameter, on one replica; arrivals come faster than they are served. */
static struct bed_rows *run_limited(const char *batching, int blocks, int per_s, struct stories *stories)
{
    const struct sink sink = stories_init(stories, false);
    return bed_run(&(const struct bed_options){.check = true, .also = &sink}, ONE_REPLICA(""), batching, blocks,
                   N_REQUESTS, per_s);
}

/* Time in which all stories wait for each kind. */
static void sum_parts(struct stories *stories, sim_ns all_ns[static N_BLOCKED])
{
    for (int i = 0; i < N_REQUESTS; i++) {
        CHECK(story_end(&stories->of[i]) == 0);
        check_queue(&stories->of[i], &stories->of[i].request);
        for (int kind = 0; kind < N_BLOCKED; kind++) all_ns[kind] += blocked_ns(&stories->of[i].blocked, kind);
    }
}

/* With one limit that binds and wide others, requests wait for it and for iterations in progress only. */
TEST(a_queue_waits_for_the_limit_that_binds)
{
    static const struct {
        const char *batching;
        int blocks;
        enum batch_limit limit;
    } cases[] = {
        {"{'policy': 'vllm-v1', 'max_sequences': 2}", 4000, BATCH_LIMIT_SEQUENCES},
        {"{'policy': 'vllm-v0', 'max_sequences': 2}", 4000, BATCH_LIMIT_SEQUENCES},
        {"{'policy': 'sarathi', 'max_sequences': 2}", 4000, BATCH_LIMIT_SEQUENCES},
        {"{'policy': 'orca', 'max_sequences': 2, 'reservation': 'oracle'}", 4000, BATCH_LIMIT_SEQUENCES},
        {"{'policy': 'splitwise', 'max_sequences': 2}", 4000, BATCH_LIMIT_SEQUENCES},
        {"{'policy': 'trtllm', 'max_sequences': 2, 'limits': 'exact'}", 4000, BATCH_LIMIT_SEQUENCES},
        {"{'policy': 'sglang', 'max_sequences': 2, 'max_tokens': 60, 'overlap': false}", 4000, BATCH_LIMIT_SEQUENCES},
        {"'vllm-v1'", 40, BATCH_LIMIT_KV_BLOCKS},
        {"'vllm-v0'", 40, BATCH_LIMIT_KV_BLOCKS},
        {"{'policy': 'sarathi', 'token_budget': 100000}", 40, BATCH_LIMIT_KV_BLOCKS},
        {"{'policy': 'orca', 'reservation': 'oracle'}", 40, BATCH_LIMIT_KV_BLOCKS},
        {"'distserve'", 40, BATCH_LIMIT_KV_BLOCKS},
        {"'splitwise'", 40, BATCH_LIMIT_KV_BLOCKS},
        {"{'policy': 'trtllm', 'limits': 'exact'}", 40, BATCH_LIMIT_KV_BLOCKS},
        {"{'policy': 'sglang', 'max_tokens': 60, 'overlap': false}", 40, BATCH_LIMIT_KV_BLOCKS},
        {"{'policy': 'vllm-v1', 'max_sequences': 16, 'token_budget': 16}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'sarathi', 'token_budget': 16}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'distserve', 'max_batched_tokens': 500}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'splitwise', 'max_batched_tokens': 500}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'vllm-v0', 'max_batched_tokens': 500}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'vllm-v0', 'max_batched_tokens': 500, 'padded': true}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'trtllm', 'token_budget': 400, 'limits': 'exact'}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'trtllm', 'token_budget': 100, 'limits': 'exact', 'chunked': true}", 4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'trtllm', 'token_budget': 100, 'limits': 'exact', 'chunked': true, 'chunking': 'equal-progress',"
         " 'chunk_unit_tokens': 30}",
         4000, BATCH_LIMIT_TOKENS},
        {"{'policy': 'sglang', 'chunked_prefill_tokens': 64, 'max_tokens': 60, 'overlap': false}", 4000,
         BATCH_LIMIT_TOKENS},
        {"{'policy': 'fastertransformer', 'reservation': 'oracle'}", 4000, BATCH_LIMIT_CLOSED},
        {"{'policy': 'trtllm', 'capacity': 'static-batch', 'limits': 'exact'}", 4000, BATCH_LIMIT_CLOSED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stories *stories = calloc(1, sizeof *stories);
        MUST(stories != NULL);
        sim_ns all_ns[N_BLOCKED] = {0}, others_ns = 0;
        const int per_s = cases[i].limit == BATCH_LIMIT_TOKENS ? 100 : 20;
        const struct bed_rows *rows = run_limited(cases[i].batching, cases[i].blocks, per_s, stories);
        CHECK_EQ_INT(rows->code, 0);
        sum_parts(stories, all_ns);
        for (int kind = 0; kind < N_BLOCKED; kind++)
            others_ns += kind != (int)cases[i].limit && kind != BLOCKED_ITERATION ? all_ns[kind] : 0;
        if (!CHECK_EQ_INT(others_ns, 0) || !CHECK(all_ns[cases[i].limit] > SIM_NS_PER_S))
            printf("%s\n", cases[i].batching);
        stories_fini(stories);
        free(stories);
    }
}

/* Only an engine that schedules ahead learns of arrivals and ends one iteration later. */
TEST(an_engine_that_schedules_ahead_learns_late)
{
    static const char *const ahead[] = {"{'policy': 'vllm-v1', 'max_sequences': 2, 'async': %s}",
                                        "{'policy': 'sglang', 'max_sequences': 2, 'max_tokens': 60, 'overlap': %s}"};
    for (int i = 0; i < 4; i++) {
        struct stories *stories = calloc(1, sizeof *stories);
        MUST(stories != NULL);
        sim_ns all_ns[N_BLOCKED] = {0};
        char batching[128];
        snprintf(batching, sizeof batching, ahead[i / 2], i % 2 == 0 ? "true" : "false");
        CHECK_EQ_INT(run_limited(batching, 4000, 20, stories)->code, 0);
        sum_parts(stories, all_ns);
        CHECK_EQ_INT(all_ns[BATCH_LIMIT_LATE] > 0, i % 2 == 0);
        stories_fini(stories);
        free(stories);
    }
}

/* The parts of a request that is never admitted last to the end of the run. */
TEST(who_still_waits_has_parts_up_to_the_end)
{
    struct stories *stories = calloc(1, sizeof *stories);
    MUST(stories != NULL);
    const struct sink sink = stories_init(stories, false);
    const struct bed_rows *rows =
        bed_run(&(const struct bed_options){.check = true, .also = &sink}, ONE_REPLICA("'until': '2.5s', "),
                "{'policy': 'vllm-v1', 'max_sequences': 1}", 4000, N_REQUESTS, 20);
    int n_left = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        struct story *story = &stories->of[row->id];
        sim_ns all_ns = 0;
        CHECK(story_end(story) == 0);
        if (!isnan(row->queue_s)) continue;
        for (int kind = 0; kind < N_BLOCKED; kind++) all_ns += blocked_ns(&story->blocked, kind);
        CHECK_EQ_INT(all_ns, llround(1e9 * rows->end_s) - llround(1e9 * row->arrival_s));
        n_left++;
    }
    CHECK(n_left > 30);
    stories_fini(stories);
    free(stories);
}

/* Of four requests in turn on two replicas the first one stores 7 blocks, which the fourth finds on the other replica,
 * beside the second, which decodes. It alone waits for the load, as long as its bytes take at this rate. */
TEST(a_load_is_a_part_of_its_own)
{
    struct stories *stories = calloc(1, sizeof *stories);
    MUST(stories != NULL);
    const struct sink sink = stories_init(stories, false);
    char path[512];
    snprintf(path, sizeof path, "%s/loads.jsonl", test_tmpdir());
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fputs("{\"timestamp\": 0, \"input_length\": 3584, \"output_length\": 1, \"hash_ids\": [1,2,3,4,5,6,7]}\n"
          "{\"timestamp\": 99000, \"input_length\": 512, \"output_length\": 300, \"hash_ids\": [11]}\n"
          "{\"timestamp\": 99100, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [12]}\n"
          "{\"timestamp\": 99200, \"input_length\": 4096, \"output_length\": 2, \"hash_ids\": [1,2,3,4,5,6,7,8]}\n",
          file);
    fclose(file);
    const struct bed_rows *rows =
        bed_run(&(const struct bed_options){.check = true, .also = &sink},
                "{'cluster': {'gpu': 'h100-sxm', 'pcie': '1GB/s', 'nodes': 1, 'gpus_per_node': 2},"
                " 'services': {'chat': {'llm': 'llama-3.1-8b', 'replicas': 2, 'routing': 'round-robin', 'kv': {'prefix_cache': 'lru',"
                " 'prefix_store': {'waits': 'request', 'tiers': {'host': {'capacity': '10GB', 'write': 'through',"
                " 'scope': 'shared'}}}}, 'trace': {'format': 'mooncake', 'path': '%s'}}}}",
                path);
    CHECK_EQ_INT(rows->code, 0);
    for (int i = 0; i < 4; i++) {
        struct story *story = &stories->of[i];
        CHECK(story_end(story) == 0);
        check_queue(story, &story->request);
        CHECK_NEAR((double)blocked_ns(&story->blocked, BLOCKED_LOADS), i == 3 ? 7.0 * (double)BLOCK_BYTES : 0, 1);
    }
    stories_fini(stories);
    free(stories);
}

/* Weights come while requests of the next step wait for slots: with `halt`, no iteration starts then. */
TEST(a_queue_is_held_while_weights_are_sent)
{
    static const char *const updates[] = {"halt", "beside"};
    for (int i = 0; i < 2; i++) {
        struct stories *stories = calloc(1, sizeof *stories);
        MUST(stories != NULL);
        sim_ns all_ns[N_BLOCKED] = {0};
        const struct sink sink = stories_init(stories, false);
        const struct bed_rows *rows = bed_run(
            &(const struct bed_options){.check = true, .also = &sink},
            "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': 2, 'network': {'bandwidth': '16GB/s'}},"
            " 'rl': {'service': 'chat', 'gpus': 2, 'prompts': 20, 'steps': 3, 'staleness': 1, 'update': '%s',"
            " 'training': {'llm': 'phi-2', 'recompute': 'full', 'sequence_tokens': 512}}, 'services': {'chat': {"
            " 'llm': 'phi-2', 'replicas': 2, 'batching': {'policy': 'vllm-v1', 'max_sequences': 2}, 'cost': {"
            " 'kind': 'affine', 'prefill': {'fixed': '5ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {"
            " 'format': 'generate', 'count': %d, 'arrival': {'process': 'poisson', 'rate': '5/s'},"
            " 'prompt': {'distribution': 'fixed', 'tokens': 100},"
            " 'output': {'distribution': 'uniform', 'min': 10, 'max': 90}}}}}",
            updates[i], N_REQUESTS);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_requests, N_REQUESTS);
        sum_parts(stories, all_ns);
        CHECK_EQ_INT(all_ns[BLOCKED_HELD] > 0, i == 0);
        stories_fini(stories);
        free(stories);
    }
}

/* With one slot and first come, first served: a request that comes while another one waits is the first to wait once
 * that one has been admitted, and until it is admitted itself. */
TEST(a_request_is_behind_others_until_the_one_before_it_is_admitted)
{
    struct stories *stories = calloc(1, sizeof *stories);
    MUST(stories != NULL);
    const struct bed_rows *rows = run_limited("{'policy': 'vllm-v1', 'max_sequences': 1}", 4000, 20, stories);
    sim_ns all_ns[N_BLOCKED] = {0}, before_ns = -1;
    int n_behind = 0;
    CHECK_EQ_INT(rows->code, 0);
    sum_parts(stories, all_ns);
    for (int i = 0; i < N_REQUESTS; i++) {
        const struct request_row *row = &stories->of[i].request;
        const sim_ns arrival_ns = llround(1e9 * row->arrival_s), admitted_ns = arrival_ns + llround(1e9 * row->queue_s);
        if (before_ns > arrival_ns) {
            CHECK_EQ_INT(stories->of[i].blocked.part_ns[BATCH_LIMIT_SEQUENCES][0], admitted_ns - before_ns);
            n_behind++;
        }
        before_ns = admitted_ns;
    }
    CHECK(n_behind > N_REQUESTS / 2);
    stories_fini(stories);
    free(stories);
}
