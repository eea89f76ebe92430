/* A batch that is submitted at once, in an order: groups of shared prefixes against all ways to form groups. */
#include "sim/core/rng.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/prefix_groups.h"

enum { MOST_REQUESTS = 8, MOST_BLOCKS = 12, BLOCK_TOKENS = 16 };

struct prompt {
    uint64_t blocks[MOST_BLOCKS];
    int32_t n_blocks, prompt_tokens, output_tokens;
};

/* A random batch of prompts that extend one another, as blocks with names by their prefix have them. */
static int draw_batch(struct rng *rng, struct prompt prompts[MOST_REQUESTS])
{
    const int n = 1 + (int)rng_below(rng, MOST_REQUESTS);
    for (int i = 0; i < n; i++) {
        struct prompt *prompt = &prompts[i];
        *prompt = (struct prompt){.n_blocks = (int32_t)rng_below(rng, 7)};
        uint64_t name = 0;
        for (int32_t k = 0; k < prompt->n_blocks; k++) {
            name = name * 7 + 1 + rng_below(rng, k == 0 ? 2 : 3);
            prompt->blocks[k] = name;
        }
        const int32_t last = rng_below(rng, 2) == 0 ? 0 : (int32_t)(1 + rng_below(rng, 40));
        prompt->prompt_tokens = prompt->n_blocks * BLOCK_TOKENS + last;
        if (prompt->prompt_tokens == 0) prompt->prompt_tokens = 5;
        prompt->output_tokens = 1 + (int32_t)rng_below(rng, 200);
    }
    return n;
}

static int64_t shared(const struct prompt *a, const struct prompt *b)
{
    int64_t n = 0;
    while (n < a->n_blocks && n < b->n_blocks && a->blocks[n] == b->blocks[n]) n++;
    return n * BLOCK_TOKENS;
}

/* The most tokens that any groups of prompts[from, n) and those in `sets` save. */
static int64_t best_of_all(const struct prompt *prompts, int n, int from, int *sets, int n_sets)
{
    int64_t best = 0;
    if (from == n) {
        for (int set = 0; set < n_sets; set++) {
            int64_t prefix = INT64_MAX, n_members = 0;
            for (int i = 0; i < n; i++)
                for (int k = 0; sets[i] == set && k <= i; k++)
                    if (sets[k] == set && k != i && shared(&prompts[i], &prompts[k]) < prefix)
                        prefix = shared(&prompts[i], &prompts[k]);
            for (int i = 0; i < n; i++) n_members += sets[i] == set;
            if (n_members > 1) best += (n_members - 1) * prefix;
        }
        return best;
    }
    for (int set = 0; set <= n_sets; set++) {
        sets[from] = set;
        const int64_t saved = best_of_all(prompts, n, from + 1, sets, set == n_sets ? n_sets + 1 : n_sets);
        if (saved > best) best = saved;
    }
    return best;
}

static void fill(struct record_buffer *buffer, const struct prompt *prompts, int n)
{
    record_buffer_init(buffer, true);
    for (int i = 0; i < n; i++) {
        const union trace_record record = {.request = {.id = i,
                                                       .prompt_tokens = prompts[i].prompt_tokens,
                                                       .output_tokens = prompts[i].output_tokens,
                                                       .n_prefix_blocks = prompts[i].n_blocks,
                                                       .prefix_block_tokens = BLOCK_TOKENS,
                                                       .prefix_blocks = prompts[i].blocks}};
        MUST(record_buffer_add(buffer, &record) == 0);
    }
}

/* Each index once, and neighbours in the order share at least what the groups save. */
static void check_order(const struct prompt *prompts, int n, const size_t *order, int64_t saved_tokens)
{
    int seen[MOST_REQUESTS] = {0};
    int64_t by_neighbours = 0;
    for (int i = 0; i < n; i++) {
        MUST(order[i] < (size_t)n);
        seen[order[i]]++;
        if (i > 0) by_neighbours += shared(&prompts[order[i - 1]], &prompts[order[i]]);
    }
    for (int i = 0; i < n; i++) CHECK_EQ_INT(seen[i], 1);
    CHECK(by_neighbours >= saved_tokens);
}

TEST(groups_save_the_most_that_any_groups_save)
{
    struct rng rng;
    rng_init(&rng, 11, 0, "batch", 0);
    int n_saving = 0;
    for (int draw = 0; draw < 400; draw++) {
        struct prompt prompts[MOST_REQUESTS];
        int sets[MOST_REQUESTS] = {0};
        const int n = draw_batch(&rng, prompts);
        struct record_buffer buffer;
        fill(&buffer, prompts, n);
        size_t order[MOST_REQUESTS];
        int64_t saved_tokens;
        MUST(prefix_groups_order(&buffer, order, &saved_tokens) == 0);
        CHECK_EQ_INT(saved_tokens, best_of_all(prompts, n, 0, sets, 0));
        check_order(prompts, n, order, saved_tokens);
        n_saving += saved_tokens > 0;
        record_buffer_fini(&buffer);
    }
    CHECK(n_saving > 200);
}

enum { LARGE = 150 };

/* The most that the requests in prompts[from, until), which share their first `depth` blocks, save where those in no
 * deeper group share `above` tokens with their group, and where that group has been paid for. */
static int64_t best_below(const struct prompt *prompts, int from, int until, int32_t depth, int64_t above)
{
    int64_t without = 0, with = -(int64_t)depth * BLOCK_TOKENS;
    for (int i = from, end; i < until; i = end) {
        end = i + 1;
        const bool is_leaf = prompts[i].n_blocks == depth;
        while (!is_leaf && end < until && prompts[end].n_blocks > depth &&
               prompts[end].blocks[depth] == prompts[i].blocks[depth])
            end++;
        without += is_leaf ? above : best_below(prompts, i, end, depth + 1, above);
        with += is_leaf ? depth * BLOCK_TOKENS : best_below(prompts, i, end, depth + 1, depth * BLOCK_TOKENS);
    }
    return with > without ? with : without;
}

static int compare_blocks(const void *left, const void *right)
{
    const struct prompt *a = left, *b = right;
    for (int32_t i = 0; i < a->n_blocks && i < b->n_blocks; i++)
        if (a->blocks[i] != b->blocks[i]) return a->blocks[i] < b->blocks[i] ? -1 : 1;
    return a->n_blocks - b->n_blocks;
}

/* Whether a prefix is a group is chosen naively, for each group that may lie above it. */
TEST(groups_of_large_batches_save_the_most)
{
    struct rng rng;
    rng_init(&rng, 12, 0, "batch", 0);
    for (int draw = 0; draw < 300; draw++) {
        static struct prompt prompts[LARGE];
        const int n = 9 + (int)rng_below(&rng, LARGE - 8), width = 1 + (int)rng_below(&rng, 3);
        for (int i = 0; i < n; i++) {
            struct prompt *prompt = &prompts[i];
            *prompt = (struct prompt){.n_blocks = (int32_t)rng_below(&rng, MOST_BLOCKS + 1), .output_tokens = 1};
            uint64_t name = 0;
            for (int32_t k = 0; k < prompt->n_blocks; k++)
                prompt->blocks[k] = name = name * 7 + 1 +
                                           rng_below(&rng, name % 3 == 0 ? 1 : (uint64_t)width + name % 2);
            prompt->prompt_tokens = prompt->n_blocks * BLOCK_TOKENS + 1;
        }
        struct record_buffer buffer;
        fill(&buffer, prompts, n);
        size_t order[LARGE];
        int64_t saved_tokens, by_neighbours = 0;
        MUST(prefix_groups_order(&buffer, order, &saved_tokens) == 0);
        for (int i = 1; i < n; i++) by_neighbours += shared(&prompts[order[i - 1]], &prompts[order[i]]);
        CHECK(by_neighbours >= saved_tokens);
        qsort(prompts, (size_t)n, sizeof *prompts, compare_blocks);
        CHECK_EQ_INT(saved_tokens, best_below(prompts, 0, n, 0, 0));
        record_buffer_fini(&buffer);
    }
}

/* Three groups have as many outputs for each computed token: 60 of 48, 20 of 16, and 20 of 16 alone. They come in the
 * order of their first requests, and equal requests keep theirs. A prompt shares no more than it has. */
TEST(equal_groups_come_in_the_order_of_their_first_requests)
{
    static const struct prompt prompts[] = {
        {{1, 19}, 2, 32, 30}, {{2}, 1, 16, 10}, {{2}, 1, 16, 10}, {{1, 15}, 2, 32, 30}, {{0}, 1, 16, 20}};
    static const struct prompt part[] = {{{3}, 1, 16, 10}, {{3}, 1, 9, 10}};
    static const size_t expected[] = {3, 0, 1, 2, 4};
    struct record_buffer buffer;
    fill(&buffer, prompts, 5);
    size_t order[5];
    int64_t saved_tokens;
    MUST(prefix_groups_order(&buffer, order, &saved_tokens) == 0);
    CHECK_EQ_INT(saved_tokens, 32);
    for (int i = 0; i < 5; i++) CHECK_EQ_INT(order[i], expected[i]);
    record_buffer_fini(&buffer);
    fill(&buffer, part, 2);
    MUST(prefix_groups_order(&buffer, order, &saved_tokens) == 0);
    CHECK_EQ_INT(saved_tokens, 9);
    record_buffer_fini(&buffer);
}

/* Four requests share one block, two of them two more; two share another block; one is alone. */
TEST(groups_come_by_outputs_for_each_computed_token)
{
    static const struct prompt prompts[] = {
        {{1}, 1, 16, 10}, {{1, 11, 12}, 3, 48, 10}, {{2}, 1, 20, 30}, {{0}, 0, 10, 20},
        {{1, 11, 12}, 3, 48, 50}, {{2}, 1, 20, 1}, {{1}, 1, 17, 10},
    };
    struct record_buffer buffer;
    fill(&buffer, prompts, 7);
    size_t order[7];
    int64_t saved_tokens;
    MUST(prefix_groups_order(&buffer, order, &saved_tokens) == 0);
    CHECK_EQ_INT(saved_tokens, 48 + 16 + 16);
    /* 20 of 10 alone; 31 of 24 computed; 60 of 48; 20 of 17 */
    static const size_t expected[] = {3, 2, 5, 1, 4, 0, 6};
    for (int i = 0; i < 7; i++) CHECK_EQ_INT(order[i], expected[i]);
    record_buffer_fini(&buffer);
}

TEST(without_memory_no_order_is_made)
{
    static const struct prompt prompts[] = {{{1}, 1, 16, 10}, {{1}, 1, 16, 10}};
    struct record_buffer buffer;
    fill(&buffer, prompts, 2);
    size_t order[2];
    int64_t saved_tokens;
    for (int n = 0; n < 5; n++) {
        mem_fail_after(n);
        CHECK_EQ_INT(prefix_groups_order(&buffer, order, &saved_tokens), SIM_E_NOMEM);
        mem_fail_never();
    }
    CHECK_EQ_INT(prefix_groups_order(&buffer, order, &saved_tokens), 0);
    record_buffer_fini(&buffer);
}

enum { N = 3000 };

static int64_t read_batch(uint64_t seed, const char *order, int64_t ids[N + 1])
{
    int64_t n = 0;
    SCOPED(trace_source) trace;
    trace_source_requests(
        &trace, seed, "{'format': 'generate', 'count': %d, 'offline': '%s', 'sessions': {'continue': 0.7}}", N, order);
    struct request_record request;
    bool at_start = true;
    while (trace.code == 0 && n <= N && trace_source_request(&trace, &request) == 1) {
        at_start &= request.arrival_ns == 0;
        ids[n++] = request.id;
    }
    CHECK_EQ_STR(trace.message, "");
    CHECK(at_start);
    return n;
}

static int compare_ids(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

TEST(a_batch_has_all_requests_at_the_start_once)
{
    static const char *const orders[] = {"as-it-is", "shuffled", "prefix-groups"};
    for (int k = 0; k < 3; k++) {
        int64_t ids[N + 1], again[N + 1], other[N + 1];
        CHECK_EQ_INT(read_batch(1, orders[k], ids), N);
        CHECK_EQ_INT(read_batch(1, orders[k], again), N);
        CHECK(memcmp(ids, again, sizeof *ids * N) == 0);
        read_batch(2, orders[k], other);
        CHECK((memcmp(ids, other, sizeof *ids * N) == 0) == (k == 0));
        bool is_sorted = true;
        for (int64_t i = 0; i < N; i++) is_sorted &= ids[i] == i;
        CHECK(is_sorted == (k == 0));
        qsort(ids, N, sizeof *ids, compare_ids);
        for (int64_t i = 0; i < N; i++) MUST(ids[i] == i);
    }
}

/* Of three requests each order comes for a sixth of the seeds: 100 of 600, and 9 the standard deviation. */
TEST(every_order_is_as_likely)
{
    int n_of[27] = {0};
    for (uint64_t seed = 1; seed <= 600; seed++) {
        SCOPED(trace_source) trace;
        struct request_record request;
        int order = 0;
        trace_source_requests(&trace, seed, "{'format': 'generate', 'count': 3, 'offline': 'shuffled'}");
        while (trace.code == 0 && trace_source_request(&trace, &request) == 1) order = 3 * order + (int)request.id;
        MUST(order < 27);
        n_of[order]++;
    }
    static const int orders[] = {5, 7, 11, 15, 19, 21}; /* 012, 021, 102, 120, 201, 210 */
    for (int i = 0; i < 6; i++) CHECK(n_of[orders[i]] > 60 && n_of[orders[i]] < 140);
}

/* The order is that of an inside-out shuffle by the stream NAME.offline of the seed and the run. */
TEST(each_name_seed_and_run_has_its_own_order)
{
    static const struct source_options every[] = {{.seed = 1, .stream = "a"}, {.seed = 1, .run = 2, .stream = "a"},
                                                  {.seed = 2, .stream = "a"}, {.seed = 1, .stream = "b"}};
    enum { COUNT = 20 };
    for (int k = 0; k < 4; k++) {
        SCOPED(trace_source) trace;
        trace_source_requests(&trace, 1, "{'format': 'generate', 'count': %d, 'offline': 'shuffled'}", (int)COUNT);
        MUST(trace.code == 0);
        trace.requests->close(trace.requests);
        trace.requests = NULL;
        const struct trace_format *format = trace.variant.entry;
        MUST(format->open_requests(trace.variant.params, &every[k], &trace.requests, &trace.diag) == 0);
        char name[32];
        snprintf(name, sizeof name, "%s.offline", every[k].stream);
        struct rng rng;
        rng_init(&rng, every[k].seed, every[k].run, name, 0);
        int64_t ids[COUNT] = {0};
        for (int64_t i = 0; i < COUNT; i++) {
            const uint64_t at = rng_below(&rng, (uint64_t)i + 1);
            ids[i] = ids[at];
            ids[at] = i;
        }
        struct request_record request;
        for (int i = 0; i < COUNT; i++) {
            MUST(trace_source_request(&trace, &request) == 1);
            CHECK_EQ_INT(request.id, ids[i]);
        }
    }
}

enum { FEW = 200, MOST_PREFIX = 64 };

/* A request as the trace has it: its lengths, and its blocks. */
struct wanted {
    int32_t prompt_tokens, output_tokens, n_blocks;
    uint64_t blocks[MOST_PREFIX];
};

/* Requests of a trace in an order, against `wanted`, which the order "no" fills. */
static void check_requests(const char *format, const char *order, struct wanted wanted[FEW])
{
    SCOPED(trace_source) trace;
    struct request_record request;
    int n = 0, n_blocks = 0;
    trace_source_requests(&trace, 1, "{%s, 'limit': %d, 'offline': '%s'}", format, FEW, order);
    while (trace.code == 0 && trace_source_request(&trace, &request) == 1) {
        MUST(request.id >= 0 && request.id < FEW);
        struct wanted *of = &wanted[request.id];
        const int32_t kept = request.n_prefix_blocks < MOST_PREFIX ? request.n_prefix_blocks : MOST_PREFIX;
        const size_t bytes = (size_t)kept * sizeof *of->blocks;
        if (strcmp(order, "no") == 0) {
            *of = (struct wanted){request.prompt_tokens, request.output_tokens, request.n_prefix_blocks, {0}};
            memcpy(of->blocks, request.prefix_blocks, bytes);
        }
        CHECK_EQ_INT(request.prompt_tokens, of->prompt_tokens);
        CHECK_EQ_INT(request.output_tokens, of->output_tokens);
        CHECK_EQ_INT(request.n_prefix_blocks, of->n_blocks);
        CHECK_EQ_INT(memcmp(request.prefix_blocks, of->blocks, bytes), 0);
        n_blocks += kept;
        n++;
    }
    CHECK_EQ_INT(n, FEW);
    CHECK(n_blocks > FEW);
}

/* A batch has another order than its trace, and the same requests, with the blocks that their prompts share. */
TEST(a_batch_keeps_its_requests_as_they_are)
{
    static struct wanted wanted[FEW];
    static const char *const orders[] = {"no", "as-it-is", "shuffled", "prefix-groups"};
    static const char *const formats[] = {
        "'format': 'generate', 'count': 999, 'prompt': {'distribution': 'fixed', 'tokens': 900},"
        " 'sessions': {'continue': 0.5, 'block_tokens': 64, 'system_blocks': 2}",
        "'format': 'mooncake', 'path': 'traces/samples/sessions.jsonl'"};
    for (int k = 0; k < 8; k++) check_requests(formats[k / 4], orders[k % 4], wanted);
}

/* What cannot be read ends the trace, wherever it stands; what was left out is told. */
TEST(a_batch_tells_what_its_trace_tells)
{
    for (int is_broken = 0; is_broken < 2; is_broken++) {
        const char *path = trace_source_file("batch.csv",
                                             is_broken ? "arrival,prompt,output\n0,10,5\n1,20,0\n2,x,7\n3,40,8\n"
                                                       : "arrival,prompt,output\n0,10,5\n1,20,0\n2,30,7\n3,40,8\n");
        static const char *const orders[] = {"no", "as-it-is", "shuffled"};
        char message[1024] = "";
        int64_t row = 0;
        for (int k = 0; k < 3; k++) {
            SCOPED(trace_source) trace;
            struct request_record request;
            int64_t n = 0;
            trace_source_requests(&trace, 1,
                                  "{'format': 'csv', 'path': '%s', 'offline': '%s', 'columns': {'arrival': 'arrival',"
                                  " 'prompt': 'prompt', 'output': 'output'}}",
                                  path, orders[k]);
            while (trace.code == 0 && trace_source_request(&trace, &request) == 1) n++;
            if (k == 0) snprintf(message, sizeof message, "%s", trace.message);
            CHECK_EQ_STR(trace.message, message);
            CHECK_EQ_INT(message[0] != 0, is_broken);
            CHECK_EQ_INT(trace_source_note(&trace, "no-output"), 1);
            if (k == 0) row = trace.requests->place(trace.requests).row;
            CHECK(row > 0);
            CHECK_EQ_INT(trace.requests->place(trace.requests).row, row);
            if (!is_broken) CHECK_EQ_INT(n, 3);
            if (is_broken) CHECK_EQ_INT(n, k == 0 ? 1 : 0);
        }
    }
}
