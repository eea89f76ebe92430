/* Laws of the transforms, on a made-up trace: what each of them may change, and that it changes nothing else. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

enum { N = 20000 };

struct requests {
    int64_t n;
    struct request_record *items; /* their prefix blocks are gone */
};

/* All requests of 'generate' with this seed, these transforms and further parameters. */
static struct requests read_all(uint64_t seed, const char *parameters)
{
    struct requests all = {.items = malloc((N + 1) * sizeof *all.items)};
    SCOPED(trace_source) trace;
    trace_source_requests(&trace, seed, "{'format': 'generate', 'count': %d%s}", N, parameters);
    CHECK_EQ_STR(trace.message, "");
    while (trace.code == 0 && all.n <= N && trace_source_request(&trace, &all.items[all.n]) == 1) all.n++;
    CHECK_EQ_STR(trace.message, "");
    return all;
}

static bool same_lengths(const struct request_record *a, const struct request_record *b)
{
    return a->id == b->id && a->prompt_tokens == b->prompt_tokens && a->output_tokens == b->output_tokens;
}

TEST(a_window_is_a_part_that_starts_at_zero)
{
    struct requests all = read_all(3, ""), part = read_all(3, ", 'window': ['500s', '900s']");
    int64_t first = 0;
    while (all.items[first].arrival_ns < 500 * SIM_NS_PER_S) first++;
    bool same = true;
    for (int64_t i = 0; i < part.n; i++) {
        const struct request_record *whole = &all.items[first + i];
        same &= same_lengths(&part.items[i], whole) &&
                part.items[i].arrival_ns == whole->arrival_ns - 500 * SIM_NS_PER_S;
    }
    CHECK(same);
    CHECK(part.n > 1000 && part.items[part.n - 1].arrival_ns < 400 * SIM_NS_PER_S);
    CHECK(all.items[first + part.n].arrival_ns >= 900 * SIM_NS_PER_S);
    free(all.items);
    free(part.items);
}

TEST(rate_scale_divides_times)
{
    struct requests all = read_all(3, ""), fast = read_all(3, ", 'rate_scale': 4"),
                    slow = read_all(3, ", 'rate_scale': 0.7");
    CHECK(fast.n == N && slow.n == N);
    bool ok = true;
    for (int64_t i = 0; i < N; i++) {
        ok &= same_lengths(&all.items[i], &fast.items[i]) && same_lengths(&all.items[i], &slow.items[i]);
        ok &= llabs(4 * fast.items[i].arrival_ns - all.items[i].arrival_ns) <= 2;
        ok &= fabs((double)slow.items[i].arrival_ns * 0.7 - (double)all.items[i].arrival_ns) <= 0.5;
        ok &= i == 0 || slow.items[i].arrival_ns >= slow.items[i - 1].arrival_ns;
    }
    CHECK(ok);
    free(all.items);
    free(fast.items);
    free(slow.items);
}

TEST(thinning_keeps_a_nested_share)
{
    struct requests all = read_all(3, ""), half = read_all(3, ", 'thin': 0.5"), fifth = read_all(3, ", 'thin': 0.2");
    CHECK_NEAR((double)half.n, N * 0.5, 4.5 * sqrt(N * 0.25));
    CHECK_NEAR((double)fifth.n, N * 0.2, 4.5 * sqrt(N * 0.16));
    int64_t j = 0;
    bool nested = true, unchanged = true;
    for (int64_t i = 0; i < fifth.n; i++) {
        while (j < half.n && half.items[j].id < fifth.items[i].id) j++;
        nested &= j < half.n && half.items[j].id == fifth.items[i].id;
        const struct request_record *original = &all.items[fifth.items[i].id];
        unchanged &= same_lengths(&fifth.items[i], original) && fifth.items[i].arrival_ns == original->arrival_ns;
    }
    CHECK(nested);
    CHECK(unchanged);
    free(all.items);
    free(half.items);
    free(fifth.items);
}

/* A trace of a clock that ticks every 3 s, give or take 2 ms. */
static const char *write_ticks(void)
{
    char *text = malloc(N * 32), *at = text;
    struct rng rng = test_rng(9, "ticks", 0);
    at += sprintf(at, "arrival_s,prompt_tokens,output_tokens\n");
    for (int i = 0, tick = 0; i < N; i++) {
        while (rng_uniform(&rng) < 0.1) tick++;
        at += sprintf(at, "%.3f,%d,1\n", tick * 3 + (tick * 7 % 5) * 0.001, 1 + i % 1000);
    }
    const char *path = trace_source_file("ticks.csv", text);
    free(text);
    return path;
}

TEST(jitter_spreads_the_arrivals_of_one_stamp_in_order)
{
    const char *path = write_ticks();
    struct trace_source plain, moved, again;
    struct request_record a, b, c;
    MUST(trace_source_requests(&plain, 1, "{'format': 'csv', 'path': '%s'}", path) == 0);
    MUST(trace_source_requests(&moved, 1, "{'format': 'csv', 'path': '%s', 'jitter': '3s'}", path) == 0);
    MUST(trace_source_requests(&again, 1, "{'format': 'csv', 'path': '%s', 'jitter': '3s'}", path) == 0);
    double sum = 0, squares = 0;
    sim_ns last_ns = 0;
    bool ok = true, repeatable = true;
    int64_t n = 0;
    while (trace_source_request(&plain, &a) == 1 && trace_source_request(&moved, &b) == 1) {
        ok &= same_lengths(&a, &b) && b.arrival_ns >= a.arrival_ns && b.arrival_ns < a.arrival_ns + 3 * SIM_NS_PER_S;
        ok &= b.arrival_ns >= last_ns;
        repeatable &= trace_source_request(&again, &c) == 1 && c.arrival_ns == b.arrival_ns;
        last_ns = b.arrival_ns;
        double place = sim_s_from_ns(b.arrival_ns - a.arrival_ns) / 3;
        sum += place;
        squares += place * place;
        n++;
    }
    CHECK_EQ_INT(n, N);
    CHECK(ok);
    CHECK(repeatable);
    CHECK_NEAR(sum / N, 0.5, 4.5 * sqrt(1.0 / 12 / N) + 0.001);
    CHECK_NEAR(squares / N, 1.0 / 3, 4.5 * sqrt(4.0 / 45 / N) + 0.001);
    trace_source_fini(&plain);
    trace_source_fini(&moved);
    trace_source_fini(&again);
}

TEST(jitter_never_moves_past_the_next_arrival)
{
    struct requests all = read_all(3, ""), moved = read_all(3, ", 'jitter': '3s'");
    struct requests part = read_all(3, ", 'jitter': '3s', 'window': ['600s', '700s']");
    bool ok = moved.n == N;
    for (int64_t i = 0; i + 1 < N; i++) {
        ok &= moved.items[i].arrival_ns >= all.items[i].arrival_ns;
        ok &= moved.items[i].arrival_ns <= all.items[i + 1].arrival_ns;
    }
    for (int64_t i = 0; i < part.n; i++) {
        ok &= part.items[i].arrival_ns + 600 * SIM_NS_PER_S == moved.items[part.items[i].id].arrival_ns;
    }
    CHECK(ok && part.n > 100);
    free(all.items);
    free(moved.items);
    free(part.items);
}

TEST(clipping_takes_from_the_prompt_first)
{
    struct requests all = read_all(3, ""), clipped = read_all(3, ", 'max_total_tokens': 600");
    int64_t n_clipped = 0;
    bool ok = true;
    for (int64_t i = 0; i < N; i++) {
        const struct request_record *a = &all.items[i], *b = &clipped.items[i];
        int32_t total = a->prompt_tokens + a->output_tokens;
        n_clipped += total > 600;
        ok &= b->arrival_ns == a->arrival_ns && b->prompt_tokens >= 1 && b->output_tokens >= 1;
        ok &= b->prompt_tokens + b->output_tokens == (total < 600 ? total : 600);
        ok &= b->output_tokens == a->output_tokens || b->prompt_tokens == 1;
    }
    CHECK(ok);
    CHECK(n_clipped > N / 4);
    struct requests each = read_all(3, ", 'max_prompt_tokens': 900, 'max_output_tokens': 90");
    for (int64_t i = 0; i < N; i++) {
        const struct request_record *a = &all.items[i], *b = &each.items[i];
        ok &= b->prompt_tokens == (a->prompt_tokens < 900 ? a->prompt_tokens : 900);
        ok &= b->output_tokens == (a->output_tokens < 90 ? a->output_tokens : 90);
    }
    CHECK(ok);
    free(all.items);
    free(clipped.items);
    free(each.items);
}

TEST(a_limit_keeps_the_first_ones)
{
    struct requests few = read_all(3, ", 'limit': 17, 'thin': 0.5"), more = read_all(3, ", 'thin': 0.5");
    CHECK_EQ_INT(few.n, 17);
    for (int64_t i = 0; i < few.n; i++) CHECK_EQ_INT(few.items[i].id, more.items[i].id);
    free(few.items);
    free(more.items);
}

TEST(what_was_clipped_is_counted)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    MUST(trace_source_requests(&trace, 3,
                               "{'format': 'generate', 'count': 10, 'max_output_tokens': 7,"
                               " 'output': {'distribution': 'fixed', 'tokens': 8}}") == 0);
    while (trace_source_request(&trace, &record) == 1) CHECK_EQ_INT(record.output_tokens, 7);
    CHECK_EQ_INT(trace_source_note(&trace, "clipped"), 10);
}

TEST(clipped_prompts_keep_the_blocks_that_they_fill)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    MUST(trace_source_requests(&trace, 3,
                               "{'format': 'generate', 'mix': 'mooncake-conversation', 'count': 1000,"
                               " 'max_total_tokens': 4096, 'sessions': {'continue': 0.5, 'block_tokens': 100}}") == 0);
    while (trace_source_request(&trace, &record) == 1) {
        CHECK_EQ_INT(record.n_prefix_blocks, (record.prompt_tokens + 99) / 100);
        CHECK_EQ_INT(record.prefix_block_tokens, 100);
    }
}

TEST(impossible_transforms_are_refused)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5, 'window': ['2s', '1s']}"),
                 SIM_E_CONFIG);
    CHECK_EQ_STR(trace.message, "services.chat.trace: error: \"window\" must end after it begins; "
                                "write \"window\": [\"0s\", \"1h\"]");
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5, 'window': ['2s']}"),
                 SIM_E_CONFIG);
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5, 'rate_scale': 0}"), SIM_E_CONFIG);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5, 'window': ['9d', '10d']}") == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_CONFIG);
    CHECK_EQ_STR(trace.message,
                 "services.chat.trace: error: nothing is left of the trace after \"window\" and \"thin\"; "
                 "widen \"window\", or raise \"thin\"");
    CHECK_EQ_INT(trace_source_request(&trace, &record), 0);
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1,
                                       "{'format': 'generate', 'count': 5, 'thin': 0.5,"
                                       " 'arrival': {'process': 'closed', 'users': 3}}"),
                 SIM_E_CONFIG);
    CHECK_EQ_STR(
        trace.message,
        "services.chat.trace: error: a closed loop does not support window, rate_scale, thin, "
        "jitter, replicate, upscale, limit or offline; set the number of users, their think time or \"count\"");
}

/* Vidur's rule on the trace that peers were measured with: the outputs stay, prompts give way. */
TEST(azure_conversation_clipped_to_4096)
{
    const char *path = test_shared("request_traces/azure_llm_2023_conversation.csv");
    if (path == NULL) return;
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    int64_t prompt = 0, output = 0, n = 0;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s', 'max_total_tokens': 4096}", path) ==
         0);
    for (; trace_source_request(&trace, &record) == 1; n++) {
        prompt += record.prompt_tokens;
        output += record.output_tokens;
        CHECK(record.prompt_tokens + record.output_tokens <= 4096);
    }
    CHECK_EQ_INT(n, 19366);
    CHECK_EQ_INT(output, 4088665);
    CHECK_EQ_INT(prompt, 22083063);
    CHECK_EQ_INT(trace_source_note(&trace, "clipped"), 1612);
}

TEST(mooncake_jitter_spreads_its_three_second_stamps)
{
    const char *path = test_shared("request_traces/mooncake_fast25_conversation.jsonl");
    if (path == NULL) return;
    struct trace_source plain, moved;
    struct request_record a, b;
    int64_t n = 0, blocks = 0, distinct = 0;
    sim_ns last_ns = -1;
    MUST(trace_source_requests(&plain, 1, "{'format': 'mooncake', 'path': '%s'}", path) == 0);
    MUST(trace_source_requests(&moved, 1, "{'format': 'mooncake', 'path': '%s', 'jitter': '3s'}", path) == 0);
    bool ok = true;
    while (trace_source_request(&plain, &a) == 1 && trace_source_request(&moved, &b) == 1) {
        ok &= a.id == b.id && b.arrival_ns >= a.arrival_ns && b.arrival_ns < a.arrival_ns + 3 * SIM_NS_PER_S;
        ok &= b.arrival_ns >= last_ns;
        ok &= a.n_prefix_blocks == b.n_prefix_blocks &&
              memcmp(a.prefix_blocks, b.prefix_blocks, (size_t)a.n_prefix_blocks * sizeof *a.prefix_blocks) == 0;
        distinct += b.arrival_ns != last_ns;
        last_ns = b.arrival_ns;
        blocks += b.n_prefix_blocks;
        n++;
    }
    CHECK(ok);
    CHECK_EQ_INT(n, 12031);
    CHECK_EQ_INT(blocks, 288500);
    CHECK(distinct > 12000);
    trace_source_fini(&plain);
    trace_source_fini(&moved);
}
