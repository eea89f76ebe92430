/* Sessions over prefix stores against a naive simulator (naive_store.h), which follows every token: each follow-up is
 * sent after the end of the answer that it continues and a pause, and its prompt repeats the context, that answer
 * included. Branches run in parallel and are joined. What the context has left in GPU memory, host memory or on drives
 * is shared or loaded. Two blocks have the same key where all tokens up to their ends are the same, by comparison of
 * all tokens. On random scenarios arrival, first token and end of every request are equal to the nanosecond, with its
 * cached tokens and the counts of the tiers; also in single steps. */
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/oracle/naive_store_cases.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

enum { N_SCENARIOS = 100, MOST_TURNS = 8, MOST_TOKENS = 2000 };

struct random_sessions {
    struct store_scenario s;
    int n_sessions, first[STORE_REQUESTS + 1]; /* of the session after the last: n */
    int system_tokens[STORE_REQUESTS], input[STORE_REQUESTS];
    int64_t tokens[STORE_REQUESTS][MOST_TOKENS];
};

/* --- Random scenarios --- */

static void random_turn(struct random_sessions *of, struct rng *rng, int id)
{
    struct store_request *request = &of->s.requests[id];
    of->input[id] = naive_between(rng, 1, 3 * of->s.item);
    request->output = naive_one_in(rng, 6) ? 1 : naive_between(rng, 2, 5 * of->s.item < 40 ? 5 * of->s.item : 40);
    request->wait_ns = naive_one_in(rng, 5) ? 0 : (int64_t)rng_exponential(rng, 3e8);
    request->join = -1;
    request->arrival_ns = -1;
    request->covers_output = true;
}

/* Turns 1 and 2 may be branches of turn 0 that turn 3 joins, as may turns 5 and 6 of turn 4. */
static void random_branches(struct random_sessions *of, struct rng *rng, int first, int n)
{
    struct store_request *turns = &of->s.requests[first];
    for (int fork = 0; fork + 3 < n; fork += 4) {
        if (naive_one_in(rng, 2)) continue;
        turns[fork + 2].parent = turns[fork + 3].parent = first + fork;
        turns[fork + 1].join = turns[fork + 2].join = first + fork + 3;
    }
}

static void random_session(struct random_sessions *of, struct rng *rng, int system_tokens, int64_t arrival_ns)
{
    const int first = of->s.n, left = STORE_REQUESTS - first;
    const int n = naive_between(rng, 1, left < MOST_TURNS ? left : MOST_TURNS);
    for (int id = first; id < first + n; id++) {
        random_turn(of, rng, id);
        of->s.requests[id].parent = id > first ? id - 1 : -1;
    }
    random_branches(of, rng, first, n);
    of->s.requests[first].arrival_ns = arrival_ns;
    of->s.requests[first].wait_ns = 0;
    of->system_tokens[of->n_sessions] = naive_one_in(rng, 3) ? 0 : system_tokens;
    of->first[of->n_sessions++] = first;
    of->first[of->n_sessions] = of->s.n = first + n;
}

/* Numbers all tokens of the turn's context, its answer included. Those of a system prompt are the same everywhere. */
static void write_tokens(struct random_sessions *of, int id, int system_tokens)
{
    struct store_request *request = &of->s.requests[id];
    const struct store_request *parent = request->parent >= 0 ? &of->s.requests[request->parent] : NULL;
    const int before = parent != NULL ? parent->prompt + parent->output : system_tokens;
    request->prompt = before + of->input[id];
    MUST(request->prompt + request->output <= MOST_TOKENS);
    for (int i = 0; i < request->prompt + request->output; i++)
        of->tokens[id][i] = i >= before      ? (int64_t)(id + 1) * MOST_TOKENS + i
                            : parent != NULL ? of->tokens[request->parent][i]
                                             : i;
    request->needed = parent != NULL;
    for (int other = 0; other < id; other++) request->needed += of->s.requests[other].join == id;
}

/* The key of the request's block: that of an earlier request whose tokens are the same up to the block's end. */
static int key_of(const struct random_sessions *of, int id, int block, int *n_keys)
{
    const size_t bytes = (size_t)(block + 1) * (size_t)of->s.item * sizeof(int64_t);
    for (int other = 0; other < id; other++) {
        const struct store_request *request = &of->s.requests[other];
        if (block < request->n_keys && memcmp(of->tokens[other], of->tokens[id], bytes) == 0)
            return request->keys[block];
    }
    return (*n_keys)++;
}

static void write_keys(struct random_sessions *of)
{
    int n_keys = 0;
    for (int id = 0; id < of->s.n; id++) {
        struct store_request *request = &of->s.requests[id];
        request->n_keys = (request->prompt + request->output) / of->s.item;
        MUST(request->n_keys <= STORE_BLOCKS);
        for (int i = 0; i < request->n_keys; i++) request->keys[i] = key_of(of, id, i, &n_keys);
    }
    MUST(n_keys <= STORE_KEYS);
}

static void random_scenario(struct random_sessions *of, uint64_t seed)
{
    struct rng rng;
    int64_t at_ns = 0;
    rng_init(&rng, seed, 0, "sessions over tiers", 0);
    memset(of, 0, sizeof *of);
    store_random_site(&of->s, &rng);
    const int least = naive_between(&rng, 10, STORE_REQUESTS), system_tokens = naive_between(&rng, 1, 4 * of->s.item);
    const double gap_ns = 1e7 + rng_uniform(&rng) * 5e8;
    while (of->s.n < least) {
        at_ns += 1 + (int64_t)rng_exponential(&rng, gap_ns);
        random_session(of, &rng, system_tokens, at_ns);
    }
    for (int i = 0; i < of->n_sessions; i++)
        for (int id = of->first[i]; id < of->first[i + 1]; id++) write_tokens(of, id, of->system_tokens[i]);
    write_keys(of);
    store_random_memory(&of->s, &rng);
}

static void random_v1(struct random_sessions *of, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "vllm v1", 0);
    store_random_v1(&of->s, true, &rng);
}

/* --- The same for Orrery --- */

enum column { INPUT, OUTPUT, PARENT, JOIN, WAIT };

static void write_list(FILE *file, const struct random_sessions *of, int session, enum column column)
{
    static const char *const names[] = {"input", "output", "parent", "join", "wait_s"};
    const int first = of->first[session];
    fprintf(file, ", \"%s\": [", names[column]);
    for (int id = first; id < of->first[session + 1]; id++) {
        const struct store_request *request = &of->s.requests[id];
        const int numbers[] = {of->input[id], request->output, request->parent >= 0 ? request->parent - first : -1,
                               request->join >= 0 ? request->join - first : -1};
        fprintf(file, "%s", id > first ? ", " : "");
        if (column == WAIT)
            fprintf(file, "%lld.%09lld", (long long)(request->wait_ns / 1000000000),
                    (long long)(request->wait_ns % 1000000000));
        else
            fprintf(file, "%d", numbers[column]);
    }
    fprintf(file, "]");
}

static void write_trace(const struct random_sessions *of, const char *path)
{
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    for (int i = 0; i < of->n_sessions; i++) {
        const int64_t arrival_ns = of->s.requests[of->first[i]].arrival_ns;
        fprintf(file, "{\"arrival_s\": %lld.%09lld, \"system\": \"of-%d\", \"system_tokens\": %d",
                (long long)(arrival_ns / 1000000000), (long long)(arrival_ns % 1000000000), of->system_tokens[i],
                of->system_tokens[i]);
        for (enum column column = INPUT; column <= WAIT; column++) write_list(file, of, i, column);
        fprintf(file, "}\n");
    }
    fclose(file);
}

/* --- Comparison --- */

static void compare_sessions(bool is_v1)
{
    static struct naive_store naive;
    static struct random_sessions of;
    int64_t parked = 0, n_requests = 0, n_cached = 0, n_joins = 0, loaded[STORE_PLACES] = {0}, evicted[STORE_PLACES] = {0};
    char trace[512];
    snprintf(trace, sizeof trace, "%s/sessions.jsonl", test_tmpdir());
    for (uint64_t seed = 0; seed < (uint64_t)test_part(N_SCENARIOS); seed++) {
        SCOPED(text) text = {0};
        random_scenario(&of, seed);
        if (is_v1) random_v1(&of, seed);
        write_trace(&of, trace);
        store_write_scenario(&of.s, "sessions", trace, &text);
        struct bed_rows *macro = bed_run(BED(.check = seed % 4 == 0, .quiet = true), "%s", text.chars);
        struct bed_rows *single = bed_run(BED(.single_step = true, .queue = QUEUE_HEAP, .quiet = true), "%s", text.chars);
        CHECK_EQ_INT(macro->code, 0);
        CHECK_EQ_INT(macro->n_requests, of.s.n);
        naive_store_simulate(&naive, &of.s);
        store_compare(&naive, macro, seed, text.chars);
        CHECK(bed_equal(macro, single));
        n_requests += of.s.n;
        parked += naive.parked;
        for (int id = 0; id < of.s.n; id++) {
            n_cached += of.s.requests[id].hits;
            n_joins += of.s.requests[id].join >= 0;
        }
        for (int place = 0; place < STORE_PLACES; place++) {
            loaded[place] += naive.loaded[place];
            evicted[place] += naive.evicted[place];
        }
        bed_free(macro);
        bed_free(single);
    }
    CHECK_WHOLE(n_requests > 2000 && n_cached > 2000 && n_joins > 300 && (parked > 500) == is_v1);
    for (int place = 0; place < STORE_PLACES; place++) CHECK_WHOLE(loaded[place] > 500 && evicted[place] > 500);
}

TEST_SIZED(sessions_over_tiers_are_equal_to_the_nanosecond)
{
    compare_sessions(false);
}

/* Under vLLM v1, where requests are preempted and wait for their loads alone. */
TEST_SIZED(sessions_that_wait_for_loads_alone_are_equal_to_the_nanosecond)
{
    compare_sessions(true);
}
