/* Sessions against a naive simulator (naive_sessions.h): arrival, first token, end, replica, preemptions and cached
 * tokens of every request are equal, times to the nanosecond. */
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/oracle/naive_cases.h"
#include "tests/oracle/naive_sessions.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

enum { N_SCENARIOS = 120 };

/* --- Random scenarios --- */

static void random_session(struct naive_session *session, struct rng *rng, int longest)
{
    session->system_tokens = naive_one_in(rng, 3) ? 0 : 37;
    session->n = naive_between(rng, 1, TURNS);
    for (int t = 0; t < session->n; t++)
        session->turns[t] = (struct naive_turn){.input = naive_between(rng, 1, longest),
                                                .output = naive_one_in(rng, 6) ? 1 : naive_between(rng, 1, 60),
                                          .parent = t - 1, .join = -1,
                                          .wait_ns = naive_one_in(rng, 4) ? 0 : (int64_t)(rng_exponential(rng, 2e7))};
    session->turns[0].wait_ns = 0;
    /* Turns 1 and 2 may be branches of turn 0, joined by turn 3; another branch of two turns in parallel. */
    if (session->n >= 4 && naive_one_in(rng, 2)) {
        session->turns[2].parent = 0;
        session->turns[1].join = session->turns[2].join = 3;
        session->turns[3].parent = 0;
    }
    if (session->n >= 8 && naive_one_in(rng, 2)) {
        session->turns[6].parent = 4;
        session->turns[5].join = session->turns[6].join = 7;
        session->turns[7].parent = 4;
    }
}

static struct naive_terms random_terms(struct rng *rng)
{
    return (struct naive_terms){.fixed = naive_between(rng, 1, 9000000), .token = naive_between(rng, 0, 50000),
                                .sequence = naive_between(rng, 0, 20000), .context = naive_between(rng, 0, 300),
                                .pair = naive_between(rng, 0, 9)};
}

static int longest_context(const struct naive_sessions *s)
{
    int most = 0;
    for (int i = 0; i < s->n_sessions; i++) {
        int tokens[TURNS];
        for (int t = 0; t < s->sessions[i].n; t++) {
            const struct naive_turn *turn = &s->sessions[i].turns[t];
            tokens[t] = (turn->parent >= 0 ? tokens[turn->parent] : s->sessions[i].system_tokens) + turn->input +
                        turn->output;
            if (tokens[t] > most) most = tokens[t];
        }
    }
    return most;
}

static void random_scenario(struct naive_sessions *s, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "sessions", 0);
    memset(s, 0, sizeof *s);
    const int longest = naive_between(&rng, 1, 60);
    const double gap_ns = rng_uniform(&rng) * 3e7;
    int64_t now_ns = 0;
    s->n_sessions = naive_between(&rng, 1, SESSIONS);
    for (int i = 0; i < s->n_sessions; i++) {
        struct naive_session *session = &s->sessions[i];
        random_session(session, &rng, longest);
        session->first = s->n_requests;
        s->n_requests += session->n;
        now_ns += 1 + (int64_t)rng_exponential(&rng, gap_ns);
        session->arrival_ns = now_ns;
    }
    s->replicas = naive_between(&rng, 1, REPLICAS);
    s->block_tokens = naive_one_in(&rng, 3) ? 4 : naive_between(&rng, 2, 32);
    s->blocks = (longest_context(s) + naive_between(&rng, 0, naive_one_in(&rng, 2) ? 60 : 900)) / s->block_tokens + 1;
    if (s->blocks > BLOCKS) s->blocks = BLOCKS;
    s->max_sequences = naive_between(&rng, 2, 12);
    s->budget = s->max_sequences + (naive_one_in(&rng, 2) ? 2000 : naive_between(&rng, 0, 200));
    s->prefill = random_terms(&rng);
    s->decode = random_terms(&rng);
}

/* --- The same as Orrery reads it --- */

static void write_list(FILE *file, const struct naive_session *session, const char *name, int which)
{
    fprintf(file, ", \"%s\": [", name);
    for (int t = 0; t < session->n; t++) {
        const struct naive_turn *turn = &session->turns[t];
        if (which == 4)
            fprintf(file, "%s%lld.%09lld", t > 0 ? ", " : "", (long long)(turn->wait_ns / 1000000000),
                    (long long)(turn->wait_ns % 1000000000));
        else
            fprintf(file, "%s%d", t > 0 ? ", " : "",
                    ((const int[]){turn->input, turn->output, turn->parent, turn->join})[which]);
    }
    fprintf(file, "]");
}

static void write_trace(const struct naive_sessions *s, const char *path)
{
    static const char *const names[] = {"input", "output", "parent", "join", "wait_s"};
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    for (int i = 0; i < s->n_sessions; i++) {
        const struct naive_session *session = &s->sessions[i];
        fprintf(file, "{\"arrival_s\": %lld.%09lld, \"system\": \"of-%d\", \"system_tokens\": %d",
                (long long)(session->arrival_ns / 1000000000), (long long)(session->arrival_ns % 1000000000),
                session->system_tokens, session->system_tokens);
        for (int which = 0; which < 5; which++) write_list(file, session, names[which], which);
        fprintf(file, "}\n");
    }
    fclose(file);
}

static void add_terms(struct text *text, const char *phase, const struct naive_terms *terms)
{
    text_printf(text, "'%s': {'fixed': '%.0fns', 'per_token': '%.0fns', 'per_sequence': '%.0fns',", phase, terms->fixed,
                terms->token, terms->sequence);
    text_printf(text, " 'per_context_token': '%.0fns', 'per_pair': '%.0fns'}", terms->context, terms->pair);
}

static struct bed_rows *run(const struct naive_sessions *s, const char *trace, const struct bed_options *options)
{
    struct text cost;
    text_init(&cost);
    add_terms(&cost, "prefill", &s->prefill);
    text_printf(&cost, ", ");
    add_terms(&cost, "decode", &s->decode);
    struct bed_rows *rows = bed_run(
        options,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'llama-2-7b',"
        " 'replicas': %d, 'routing': 'round-robin', 'kv': {'blocks': %d, 'block_tokens': %d, 'prefix_cache': 'lru'},"
        " 'batching': {'policy': 'vllm-v1', 'max_sequences': %d, 'token_budget': %d}, 'cost': {'kind': 'affine', %s},"
        " 'trace': {'format': 'sessions', 'path': '%s', 'block_tokens': %d}}}}",
        s->replicas, s->blocks, s->block_tokens, s->max_sequences, s->budget, cost.chars, trace, s->block_tokens);
    text_fini(&cost);
    return rows;
}

static int64_t ns_of(double seconds)
{
    return llrint(seconds * 1e9);
}

static bool is_same(const struct naive_sequence *naive, const struct request_row *row, char *text, size_t n_chars)
{
    if (row == NULL) {
        snprintf(text, n_chars, "has no row");
        return false;
    }
    const int64_t arrival_ns = ns_of(row->arrival_s), first_ns = arrival_ns + ns_of(row->ttft_s);
    const int64_t end_ns = arrival_ns + ns_of(row->e2e_s);
    snprintf(text, n_chars,
             "arrival %lld first %lld end %lld replica %d preemptions %d cached %d, naive %lld %lld %lld %d %d %d",
             (long long)arrival_ns, (long long)first_ns, (long long)end_ns, (int)row->replica, (int)row->preemptions,
             (int)row->cached_tokens, (long long)naive->arrival_ns, (long long)naive->first_ns,
             (long long)naive->end_ns, naive->replica, naive->preemptions, naive->cached);
    return arrival_ns == naive->arrival_ns && first_ns == naive->first_ns && end_ns == naive->end_ns &&
           row->replica == naive->replica && row->preemptions == naive->preemptions &&
           row->cached_tokens == naive->cached;
}

TEST_SIZED(sessions_are_equal_to_the_nanosecond)
{
    static struct naive_sessions s;
    static struct naive_sequence sequences[REQUESTS];
    int64_t n_requests = 0, n_preemptions = 0, n_cached = 0, n_evicted = 0;
    char path[512], text[300], told[400];
    snprintf(path, sizeof path, "%s/sessions.jsonl", test_tmpdir());
    for (uint64_t seed = 0; seed < (uint64_t)test_part(N_SCENARIOS); seed++) {
        random_scenario(&s, seed);
        write_trace(&s, path);
        naive_sessions_serve(&s, sequences);
        struct bed_rows *rows = run(&s, path, BED(.check = seed % 8 == 0)),
                        *stepped = run(&s, path, BED(.check = seed % 8 == 0, .single_step = true, .queue = QUEUE_HEAP));
        CHECK_EQ_INT(rows->n_requests, s.n_requests);
        for (int id = 0; id < s.n_requests; id++) {
            n_requests++;
            n_preemptions += sequences[id].preemptions;
            n_cached += sequences[id].cached;
            if (is_same(&sequences[id], bed_request(rows, id), text, sizeof text)) continue;
            snprintf(told, sizeof told, "seed %d request %d: %s", (int)seed, id, text);
            test_check(false, told, __FILE__, __LINE__);
            break;
        }
        n_evicted += bed_metric(rows, "prefix.evicted_blocks.sum") > 0;
        CHECK(bed_equal(rows, stepped));
        bed_free(rows);
        bed_free(stepped);
    }
    CHECK_WHOLE(n_requests > 2000 && n_preemptions > 100 && n_cached > 100000 && n_evicted > 50);
}
