/* Sessions: every token of a prompt that repeats earlier ones is found or computed again; what is found follows from
 * the plan when nothing is evicted; macro-steps, single steps and both queues agree; pauses and joins are as
 * planned. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/convert.h"
#include "traces/session.h"

#include <math.h>

enum { BLOCK = 32, MOST = 4000 };

#define AGENTS                                                                                                         \
    "'batch': {'shape': 'agent', 'turns': 5, 'system_tokens': 1000, 'max_context': 12000, 'branches': {'share': 0.3}}"
#define CHATS "'interactive': {'turns': 4, 'max_context': 6000}"
#define TRACE(classes, count, rate)                                                                                    \
    "'format': 'generate-sessions', 'count': " count ", 'block_tokens': 32, 'arrival': {'process': 'poisson',"          \
    " 'rate': '" rate "'}, 'classes': {" classes "}"

static const struct bed_options checked = {.check = true}, plain = {.no_detail = true};
static const struct bed_options stepped = {.single_step = true, .queue = QUEUE_HEAP};

static struct bed_rows *run(const struct bed_options *options, const char *batching, const char *service,
                            const char *trace)
{
    return bed_run(options,
                   "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8}, 'services': {'trace': {'llm': 'llama-3.1-8b',"
                   " 'cost': 'roofline', 'batching': %s, %s, 'trace': {%s}}}, 'keep': 'curves'}",
                   batching, service, trace);
}

/* --- What the plans say --- */

struct planned {
    int64_t session_id;
    int32_t parent; /* -1: the first turn */
    int32_t parent_end_tokens, prompt_tokens, system_tokens, joined_by;
    sim_ns wait_ns;
    bool has_siblings;
};

/* Of all requests, by id. Returns how many. */
static int64_t read_plans(const char *text, struct planned planned[MOST])
{
    SCOPED(trace_source) trace = {0};
    struct request_record record, none;
    int64_t n = 0;
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{%s}", text), 0);
    if (trace.code != 0) return 0;
    while (trace_source_request(&trace, &record) == 1) {
        const struct session_plan *plan = trace.requests->session(trace.requests, record.session_id);
        for (size_t i = 0; i < plan->n_turns && n < MOST; i++, n++) {
            const struct session_turn *turn = &plan->turns[i];
            const struct session_turn *parent = turn->parent >= 0 ? &plan->turns[turn->parent] : NULL;
            planned[n] = (struct planned){.session_id = record.session_id,
                                          .parent = turn->parent,
                                          .parent_end_tokens = parent != NULL ? parent->end_tokens : 0,
                                          .prompt_tokens = turn->end_tokens - turn->output_tokens,
                                          .system_tokens = plan->system_tokens,
                                          .joined_by = turn->joined_by,
                                          .wait_ns = turn->wait_ns,
                                          .has_siblings = parent != NULL && plan->turns[parent->child].next_child >= 0};
        }
        const struct request_end end = {.id = record.id, .session_id = record.session_id};
        trace.requests->follow(trace.requests, &end, &none, &trace.diag);
    }
    return n;
}

/* --- Hits --- */

/* Nothing is evicted: a turn finds the full blocks of what its parent processed, which is all but its last token; the
 * first turn those of the system prompt. Siblings also share a block that the parent's last token fills. */
TEST(a_turn_finds_the_whole_context_so_far)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "60", "0.002/s");
    static struct planned planned[MOST];
    struct bed_rows *rows = run(&plain, "'vllm-v1'", "'kv': {'blocks': 10000000, 'prefix_cache': 'lru'}", trace);
    const int64_t n = read_plans(trace, planned);
    int64_t n_exact = 0, n_siblings = 0, new_tokens = 0;
    CHECK_EQ_INT(rows->code, 0);
    MUST((int64_t)rows->n_requests == n && n < MOST);
    for (int64_t id = 0; id < n; id++) {
        const struct planned *turn = &planned[id];
        const struct request_row *row = bed_request(rows, id);
        const int32_t repeated = turn->parent >= 0 ? turn->parent_end_tokens : turn->system_tokens;
        CHECK_EQ_INT(row->prompt_tokens, turn->prompt_tokens);
        new_tokens += turn->prompt_tokens - repeated;
        if (turn->parent < 0) {
            CHECK(row->cached_tokens == 0 || row->cached_tokens == turn->system_tokens / BLOCK * BLOCK);
        } else if (turn->has_siblings) {
            n_siblings++;
            CHECK(row->cached_tokens >= (repeated - 1) / BLOCK * BLOCK &&
                  row->cached_tokens <= repeated / BLOCK * BLOCK);
        } else {
            n_exact++;
            CHECK_EQ_INT(row->cached_tokens, (repeated - 1) / BLOCK * BLOCK);
        }
    }
    CHECK(n_exact > 200 && n_siblings > 50);
    CHECK_EQ_INT(bed_metric(rows, "session.new_tokens.sum"), new_tokens);
    CHECK_EQ_INT(bed_metric(rows, "session.finished"), 60);
    CHECK_EQ_INT(bed_metric(rows, "session.turns.sum"), n);
}

/* Under pressure: prompts are new tokens, hits and tokens computed again. Replicas compute what was not found, at first
 * and after preemptions. */
static void check_tokens(const struct bed_rows *rows)
{
    int64_t prompts = 0, cached = 0, computed = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        if (strcmp(rows->requests[i].status, "finished") != 0) continue;
        prompts += rows->requests[i].prompt_tokens;
        cached += rows->requests[i].cached_tokens;
    }
    for (size_t i = 0; i < rows->n_batches; i++) computed += rows->batches[i].prefill_tokens;
    const double hit = bed_metric(rows, "session.hit_tokens.sum");
    const double again = bed_metric(rows, "session.recomputed_tokens.sum");
    CHECK_EQ_INT(hit, cached);
    CHECK_EQ_INT(bed_metric(rows, "session.new_tokens.sum") + hit + again, (double)prompts);
    /* A preempted sequence that decoded also processes its newest token as part of its prompt. */
    const double processed = (double)computed + bed_metric(rows, "prefix.saved_tokens.sum");
    const double wanted = (double)prompts + bed_metric(rows, "replica.recomputed_tokens.sum");
    CHECK(processed >= wanted && processed <= wanted + (double)bed_decisions(rows, "preempt", -1));
}

TEST(every_repeated_token_is_found_or_computed)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "40", "1/s");
    for (size_t i = 0; i < BED_BATCHERS; i++) {
        const char *service = "'replicas': 2, 'routing': 'round-robin', 'kv': {'blocks': 900, 'prefix_cache': 'lru'}";
        struct bed_rows *rows = run(&checked, bed_batchers[i], service, trace);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_metric(rows, "request.rejected"), 0);
        CHECK_EQ_INT(bed_metric(rows, "session.finished"), 40);
        CHECK(bed_metric(rows, "session.recomputed_tokens.sum") > 1000);
        if (strstr(bed_batchers[i], "swap") == NULL) check_tokens(rows);
        CHECK(bed_equal(rows, run(&stepped, bed_batchers[i], service, trace)));
        bed_free(rows);
    }
}

/* Prompts in one pool, decoding in another; several pipeline stages. */
TEST(sessions_work_with_pools_and_stages)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "30", "1/s");
    static const char *const services[] = {
        "'pools': {'p': {'role': 'prefill', 'replicas': 1, 'kv': {'blocks': 1200, 'prefix_cache': 'lru'}}, 'd': {'role':"
        " 'decode', 'replicas': 2, 'kv': {'blocks': 1200, 'prefix_cache': 'lru'}}}",
        "'replicas': 2, 'pipeline_parallel': 2, 'kv': {'blocks': 1200, 'prefix_cache': 'lru'}"};
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        struct bed_rows *rows = run(&checked, "'vllm-v1'", services[i], trace);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_metric(rows, "session.finished"), 30);
        CHECK(bed_equal(rows, run(&stepped, "'vllm-v1'", services[i], trace)));
    }
}

/* Replicas that fail and restart, and a number of replicas that follows the load: all sessions finish, and no token is
 * lost from the count. */
TEST(sessions_survive_failures_and_scaling)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "40", "1/s");
    static const char *const sets[][3] = {
        {"failures.causes.a={\"scope\": \"gpu\", \"lifetime\": {\"mean\": \"200s\"}, \"repair\": {\"mean\": \"20s\"}}", NULL},
        {"services.trace.scaling={\"policy\": \"target-outstanding\", \"min\": 1, \"max\": 5, \"interval\": \"10s\"}", NULL}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        static const char service[] =
            "'replicas': 3, 'routing': 'session-affinity', 'kv': {'blocks': 1200, 'prefix_cache': 'lru'}";
        struct bed_rows *rows = run(BED(.check = true, .sets = sets[i]), "'vllm-v1'", service, trace);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_metric(rows, "session.finished"), 40);
        CHECK(bed_metric(rows, "session.hit_tokens.sum") > 1000);
        CHECK(bed_equal(rows, run(BED(.single_step = true, .queue = QUEUE_HEAP, .sets = sets[i]), "'vllm-v1'", service, trace)));
    }
}

/* --- Times --- */

/* A turn is sent a pause after the last answer that it needs. */
TEST(turns_wait_for_the_answers_that_they_need)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "40", "1/s");
    static struct planned planned[MOST];
    struct bed_rows *rows = run(&plain, "'vllm-v1'", "'kv': {'blocks': 100000, 'prefix_cache': 'lru'}", trace);
    const int64_t n = read_plans(trace, planned);
    double ready_s[MOST] = {0};
    int64_t first = 0, n_joined = 0;
    MUST((int64_t)rows->n_requests == n && n < MOST);
    for (int64_t id = 0; id < n; id++) {
        if (planned[id].parent < 0) first = id;
        const struct request_row *row = bed_request(rows, id);
        const struct request_row *parent = planned[id].parent >= 0 ? bed_request(rows, first + planned[id].parent)
                                                                   : NULL;
        double after_s = ready_s[id];
        n_joined += after_s > 0;
        if (parent != NULL && parent->arrival_s + parent->e2e_s > after_s) after_s = parent->arrival_s + parent->e2e_s;
        if (parent != NULL) CHECK_NEAR(row->arrival_s, after_s + sim_s_from_ns(planned[id].wait_ns), 3e-9);
        const double end_s = row->arrival_s + row->e2e_s;
        const int32_t join = planned[id].joined_by;
        if (join >= 0 && end_s > ready_s[first + join]) ready_s[first + join] = end_s;
    }
    CHECK(n_joined > 5);
}

/* A session whose request is too long ends there. */
TEST(a_rejected_request_ends_its_session)
{
    const char *path = trace_source_file("s.jsonl",
                                         "{\"arrival_s\": 0, \"input\": [100, 5000, 9], \"output\": [5, 5, 5]}\n"
                                         "{\"arrival_s\": 1, \"input\": [100, 50, 9], \"output\": [5, 5, 5]}\n");
    char trace[600];
    snprintf(trace, sizeof trace, "'format': 'sessions', 'path': '%s'", path);
    struct bed_rows *rows = run(&checked, "'vllm-v1'", "'kv': {'blocks': 100, 'prefix_cache': 'lru'}", trace);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, 5);
    CHECK_EQ_INT(bed_metric(rows, "request.rejected"), 1);
    CHECK_EQ_INT(bed_metric(rows, "session.begun"), 2);
    CHECK_EQ_INT(bed_metric(rows, "session.finished"), 1);
    CHECK_EQ_INT(bed_metric(rows, "session.turns.sum"), 4);
}

/* --- Traces --- */

/* What the generator writes is what the reader reads: the same run, but for its name. */
TEST(a_written_trace_gives_the_same_requests)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "30", "1/s");
    static struct planned made[MOST], read[MOST];
    SCOPED(trace_source) source = {0};
    char path[512], text[600];
    int64_t n;
    snprintf(path, sizeof path, "%s/written.jsonl", test_tmpdir());
    MUST(trace_source_requests(&source, 1, "{%s}", trace) == 0);
    CHECK_EQ_INT(trace_convert_requests(source.requests, trace_writer_find("sessions"), path, &n, &source.diag), 0);
    CHECK_EQ_INT(n, 30);
    snprintf(text, sizeof text, "'format': 'sessions', 'path': '%s', 'block_tokens': 32", path);
    const int64_t n_made = read_plans(trace, made);
    CHECK_EQ_INT(read_plans(text, read), n_made);
    CHECK(memcmp(made, read, (size_t)n_made * sizeof *made) == 0);
    const char *service = "'kv': {'blocks': 2000, 'prefix_cache': 'lru'}";
    struct bed_rows *a = run(&plain, "'vllm-v1'", service, trace), *b = run(&plain, "'vllm-v1'", service, text);
    CHECK_EQ_INT(bed_metric(a, "session.hit_tokens.sum"), bed_metric(b, "session.hit_tokens.sum"));
    CHECK(a->end_s >= b->end_s && a->end_s <= b->end_s);
}

/* A session is the same whatever the others do: thinning drops whole sessions, and leaves the rest as they were. */
TEST(transforms_take_whole_sessions)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "60", "0.01/s");
    char thinned[800], late[800];
    snprintf(thinned, sizeof thinned, "%s, 'thin': 0.5, 'rate_scale': 2", trace);
    snprintf(late, sizeof late, "%s, 'window': ['1000s', '3000s']", trace);
    const char *service = "'kv': {'blocks': 1000000, 'prefix_cache': 'lru'}";
    struct bed_rows *all = run(&plain, "'vllm-v1'", service, trace), *half = run(&plain, "'vllm-v1'", service, thinned);
    struct bed_rows *part = run(&checked, "'vllm-v1'", service, late);
    CHECK_EQ_INT(half->code, 0);
    CHECK(bed_metric(half, "session.begun") > 15 && bed_metric(half, "session.begun") < 45);
    CHECK_EQ_INT(bed_metric(half, "session.finished"), bed_metric(half, "session.begun"));
    CHECK_EQ_INT(bed_metric(part, "session.finished"), bed_metric(part, "session.begun"));
    for (size_t i = 0; i < half->n_requests; i++) {
        const struct request_row *row = &half->requests[i], *same = bed_request(all, row->id);
        CHECK(same != NULL && same->prompt_tokens == row->prompt_tokens && same->output_tokens == row->output_tokens);
    }
}

TEST(wrong_sessions_are_refused)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{\"arrival_s\": 0, \"input\": [1], \"output\": []}", "'output' has 0 numbers, but 'input' has 1"},
        {"{\"arrival_s\": 0, \"input\": [], \"output\": []}", "turn 0 is missing"},
        {"{\"arrival_s\": 0, \"input\": [1, 0], \"output\": [1, 1]}", "turn 1 needs at least one input and one output token"},
        {"{\"arrival_s\": 0, \"input\": [1, 1], \"output\": [1, 1], \"parent\": [-1, 1]}", "turn 1 must continue an earlier turn"},
        {"{\"arrival_s\": 0, \"input\": [1, 1, 1], \"output\": [1, 1, 1], \"parent\": [-1, 0, 0]}", "turn 1 is neither continued"},
        {"{\"arrival_s\": 0, \"input\": [2000000000], \"output\": [2000000000]}", "turn 0 has a context of more than"},
        {"{\"arrival_s\": 0, \"input\": [1], \"output\": [1], \"wait_s\": [-1]}", "'wait_s' must be a number of seconds"},
        {"{\"arrival_s\": 0, \"input\": [1], \"output\": [1], \"wait_s\": [9]}", "'wait_s' must be 0 for turn 0"},
        {"{\"arrival_s\": 0, \"input\": [1], \"output\": [1], \"tool\": [7]}", "'tool' must be 0 or 1 for each turn"},
        {"{\"arrival_s\": 0, \"input\": [1], \"input\": [1], \"output\": [1]}", "'input' is given twice"},
        {"{\"arrival_s\": 0, \"input\": [1], \"output\": [1], \"waits\": [1]}", "a session has no 'waits'"},
        {"{\"arrival_s\": 0, \"input\": [1], \"output\": [1], \"system_tokens\": 5}", "'system' is missing"},
        {"{\"arrival_s\": 0, \"input\": [1], \"output\": [1], \"system\": \"a\"}", "'system_tokens' is missing"},
        {"{\"input\": [1], \"output\": [1]}", "'arrival_s' is missing"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        struct request_record record;
        char text[600];
        snprintf(text, sizeof text, "%s\n", cases[i].line);
        const char *path = trace_source_file("wrong.jsonl", text);
        CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'sessions', 'path': '%s'}", path), 0);
        CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
        test_check(strstr(trace.message, cases[i].message) != NULL, trace.message, __FILE__, __LINE__);
    }
}

TEST(a_system_prompt_has_one_length)
{
#define OF(system, tokens)                                                                                             \
    "{\"arrival_s\": 0, \"input\": [1], \"output\": [1], \"system\": \"" system "\", \"system_tokens\": " tokens "}\n"
    static const struct {
        const char *rows;
        int n_right, code;
    } cases[] = {{OF("a", "9") OF("b", "8") OF("a", "9"), 3, 0}, {OF("a", "0") OF("b", "8") OF("a", "9"), 2, SIM_E_DATA}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        struct request_record record;
        int n = 0, code;
        const char *path = trace_source_file("systems.jsonl", cases[i].rows);
        CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'sessions', 'path': '%s'}", path), 0);
        while ((code = trace_source_request(&trace, &record)) == 1) n++;
        CHECK_EQ_INT(n, cases[i].n_right);
        CHECK_EQ_INT(code, cases[i].code);
    }
}

/* The format has no key "sort": no hint speaks of it. */
TEST(sessions_are_in_order_of_arrival)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    const char *path = trace_source_file("order.jsonl", "{\"arrival_s\": 5, \"input\": [1], \"output\": [1]}\n"
                                                        "{\"arrival_s\": 1, \"input\": [1], \"output\": [1]}\n");
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'sessions', 'path': '%s'}", path), 0);
    CHECK_EQ_INT(trace_source_request(&trace, &record), 1);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
    CHECK(strstr(trace.message, "runs backwards") != NULL && strstr(trace.message, "\"sort\"") == NULL);
}

TEST(system_prompts_have_whole_tokens)
{
    SCOPED(trace_source) trace = {0};
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{%s}", TRACE("'chat': {'system_tokens': 10.5}", "40", "1/s")),
                 SIM_E_CONFIG);
    CHECK(strstr(trace.message, "must be whole numbers") != NULL);
}

/* --- Affinity --- */

/* With a loose bound a session stays at one replica, whose cache it then finds as if it were alone. A tight bound keeps
 * the loads even. */
TEST(a_session_stays_at_its_replica)
{
    static const char trace[] = TRACE(CHATS ", " AGENTS, "80", "2/s");
    static const char service[] =
        "'replicas': 4, 'routing': {'policy': 'session-affinity', 'bound': %s}, 'kv': {'blocks': 100000, "
        "'prefix_cache': 'lru'}";
    static struct planned planned[MOST];
    const int64_t n = read_plans(trace, planned);
    char loose[300], tight[300];
    snprintf(loose, sizeof loose, service, "1e9");
    snprintf(tight, sizeof tight, service, "1");
    struct bed_rows *stays = run(&checked, "'vllm-v1'", loose, trace),
                    *moves = run(&checked, "'vllm-v1'", tight, trace);
    int64_t n_moved[2] = {0, 0}, n_used[4] = {0};
    MUST((int64_t)stays->n_requests == n && (int64_t)moves->n_requests == n);
    for (int64_t id = 1; id < n; id++) {
        if (planned[id].session_id != planned[id - 1].session_id) continue;
        n_moved[0] += bed_request(stays, id)->replica != bed_request(stays, id - 1)->replica;
        n_moved[1] += bed_request(moves, id)->replica != bed_request(moves, id - 1)->replica;
        n_used[bed_request(stays, id)->replica]++;
    }
    CHECK_EQ_INT(n_moved[0], 0);
    CHECK(n_moved[1] > 20);
    for (int i = 0; i < 4; i++) CHECK(n_used[i] > n / 20);
    CHECK(bed_metric(stays, "session.hit_tokens.sum") > bed_metric(moves, "session.hit_tokens.sum"));
}
