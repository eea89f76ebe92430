/* Sessions against a naive simulator, which follows every token: contexts are lists of tokens, a block is cached under
 * all tokens up to its end, a sequence has a list of blocks, and all are scanned at every step. One or two replicas with
 * vLLM v1's batcher, prefix caches with LRU eviction, sessions with branches. First token, end, replica, preemptions and
 * cached tokens of every request are equal, times to the nanosecond. */
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/oracle/naive_cases.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

enum { SESSIONS = 8, TURNS = 10, REQUESTS = SESSIONS * TURNS, TOKENS = 1400, BLOCKS = 900, REPLICAS = 2, N_SCENARIOS = 120 };

struct turn {
    int input, output, parent, join; /* numbers in the session; -1: none */
    int64_t wait_ns;
};

struct session {
    int64_t arrival_ns;
    int system_tokens, n, first; /* number of its first request */
    struct turn turns[TURNS];
};

struct scenario {
    int n_sessions, n_requests, replicas, block_tokens, blocks, max_sequences, budget;
    struct naive_terms prefill, decode;
    struct session sessions[SESSIONS];
};

struct sequence {
    int session, turn, prompt, output, n_tokens; /* with the whole output */
    int64_t tokens[TOKENS];
    int64_t arrival_ns, first_ns, end_ns, order; /* arrival -1: not sent; order: in which it was sent */
    int needed;                                  /* answers that it waits for */
    bool arrived;
    int replica, preemptions, cached; /* cached -1: never admitted */
    int todo, processed, generated;   /* processed: with the newest token once it decodes */
    int published, n_blocks, blocks[BLOCKS];
    int64_t admission;
};

/* tokens: those that its key stands for, up to the block's end. */
struct block {
    int owners;
    bool is_cached;
    int64_t unused_since;
    int n_tokens;
    int64_t tokens[TOKENS];
};

struct list {
    int n, id[REQUESTS];
};

struct replica {
    struct list waiting, running; /* running by admission */
    struct block blocks[BLOCKS];
    struct list batch;
    int batch_tokens[REQUESTS];
    int64_t batch_end_ns; /* -1: idle */
};

struct naive {
    const struct scenario *s;
    struct sequence sequences[REQUESTS];
    struct replica replicas[REPLICAS];
    int64_t now_ns, clock, sent, admissions; /* clock: counts releases */
    int next_replica;
};

static void list_insert(struct list *list, int at, int id)
{
    memmove(list->id + at + 1, list->id + at, (size_t)(list->n - at) * sizeof *list->id);
    list->id[at] = id;
    list->n++;
}

static int list_take(struct list *list, int at)
{
    const int id = list->id[at];
    list->n--;
    memmove(list->id + at, list->id + at + 1, (size_t)(list->n - at) * sizeof *list->id);
    return id;
}

static int blocks_for(const struct naive *naive, int tokens)
{
    return (tokens + naive->s->block_tokens - 1) / naive->s->block_tokens;
}

/* --- Blocks --- */

static int find_cached(const struct replica *replica, const int64_t *tokens, int n)
{
    for (int i = 0; i < BLOCKS; i++) {
        const struct block *block = &replica->blocks[i];
        if (block->is_cached && block->n_tokens == n && memcmp(block->tokens, tokens, (size_t)n * sizeof *tokens) == 0)
            return i;
    }
    return -1;
}

static int free_blocks(const struct naive *naive, const struct replica *replica)
{
    int n = 0;
    for (int i = 0; i < naive->s->blocks; i++) n += replica->blocks[i].owners == 0;
    return n;
}

/* Leading cached blocks of the prompt, but for its last token. */
static int count_cached(const struct naive *naive, const struct replica *replica, const struct sequence *sequence)
{
    int n = 0;
    while ((n + 1) * naive->s->block_tokens <= sequence->todo - 1 &&
           find_cached(replica, sequence->tokens, (n + 1) * naive->s->block_tokens) >= 0)
        n++;
    return n;
}

/* A block without contents, else the one that is unused for longest. */
static int take_block(const struct naive *naive, struct replica *replica)
{
    int best = -1;
    for (int i = 0; i < naive->s->blocks; i++) {
        const struct block *block = &replica->blocks[i];
        if (block->owners > 0) continue;
        if (best < 0 || (!block->is_cached && replica->blocks[best].is_cached) ||
            (block->is_cached == replica->blocks[best].is_cached &&
             block->unused_since < replica->blocks[best].unused_since))
            best = i;
    }
    if (best < 0) abort();
    replica->blocks[best].is_cached = false;
    replica->blocks[best].owners = 1;
    return best;
}

static void hold_blocks(const struct naive *naive, struct replica *replica, struct sequence *sequence, int n)
{
    while (sequence->n_blocks < n) sequence->blocks[sequence->n_blocks++] = take_block(naive, replica);
}

/* The full blocks of the tokens processed are cached, unless another one with the same tokens is. */
static void publish(const struct naive *naive, struct replica *replica, struct sequence *sequence, int processed)
{
    for (; (sequence->published + 1) * naive->s->block_tokens <= processed; sequence->published++) {
        const int n = (sequence->published + 1) * naive->s->block_tokens;
        struct block *block = &replica->blocks[sequence->blocks[sequence->published]];
        if (find_cached(replica, sequence->tokens, n) >= 0) continue;
        block->is_cached = true;
        block->n_tokens = n;
        memcpy(block->tokens, sequence->tokens, (size_t)n * sizeof *block->tokens);
    }
}

/* The last block first. */
static void give_blocks(struct naive *naive, struct replica *replica, struct sequence *sequence)
{
    while (sequence->n_blocks > 0) {
        struct block *block = &replica->blocks[sequence->blocks[--sequence->n_blocks]];
        if (--block->owners == 0) block->unused_since = ++naive->clock;
    }
    sequence->published = 0;
}

/* --- Sessions --- */

static void send(struct naive *naive, int id, int64_t at_ns)
{
    naive->sequences[id].arrival_ns = at_ns;
    naive->sequences[id].order = ++naive->sent;
}

static void end_turn(struct naive *naive, int id)
{
    const struct sequence *ended = &naive->sequences[id];
    const struct session *session = &naive->s->sessions[ended->session];
    naive->sequences[id].end_ns = naive->now_ns;
    for (int t = 0; t < session->n; t++) {
        struct sequence *other = &naive->sequences[session->first + t];
        const bool waits = session->turns[t].parent == ended->turn || session->turns[ended->turn].join == t;
        if (!waits || --other->needed > 0) continue;
        const int64_t at_ns = naive->now_ns + session->turns[t].wait_ns;
        send(naive, session->first + t, at_ns > naive->now_ns ? at_ns : naive->now_ns + 1);
    }
}

static void arrive(struct naive *naive, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    struct replica *replica = &naive->replicas[naive->next_replica];
    sequence->arrived = true;
    sequence->replica = naive->next_replica;
    naive->next_replica = (naive->next_replica + 1) % naive->s->replicas;
    list_insert(&replica->waiting, replica->waiting.n, id);
}

/* --- The batcher: vLLM v1 --- */

static bool is_prompt(const struct sequence *sequence)
{
    return sequence->processed < sequence->todo;
}

static void preempt(struct naive *naive, struct replica *replica, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    publish(naive, replica, sequence, is_prompt(sequence) ? sequence->processed : sequence->processed - 1);
    give_blocks(naive, replica, sequence);
    if (!is_prompt(sequence)) sequence->todo = sequence->processed;
    sequence->processed = 0;
    sequence->preemptions++;
    list_insert(&replica->waiting, 0, id);
}

/* Blocks that only this one uses: what the plan counts on when it goes. */
static int own_blocks(const struct replica *replica, const struct sequence *sequence)
{
    int n = 0;
    for (int i = 0; i < sequence->n_blocks; i++) n += replica->blocks[sequence->blocks[i]].owners == 1;
    return n;
}

/* What a plan decides before anything is done. */
struct plan {
    int free, budget;
    struct list evicted, runs, admitted;
    int tokens[REQUESTS];
};

static void plan_running(struct naive *naive, struct replica *replica, struct plan *plan)
{
    struct list left = replica->running;
    while (left.n > 0 && plan->budget > 0) {
        const int id = left.id[0];
        const struct sequence *sequence = &naive->sequences[id];
        const bool prompt = is_prompt(sequence);
        const int rest = sequence->todo - sequence->processed;
        const int tokens = !prompt ? 1 : rest < plan->budget ? rest : plan->budget;
        const int needed = blocks_for(naive, sequence->processed + (prompt ? tokens : 0)) - sequence->n_blocks;
        bool is_gone = false;
        while (!is_gone && needed > plan->free) {
            const int last = list_take(&left, left.n - 1);
            plan->free += own_blocks(replica, &naive->sequences[last]);
            list_insert(&plan->evicted, plan->evicted.n, last);
            is_gone = last == id;
        }
        if (is_gone) return;
        plan->free -= needed;
        plan->budget -= tokens;
        plan->tokens[id] = tokens;
        list_insert(&plan->runs, plan->runs.n, list_take(&left, 0));
    }
}

static void plan_admissions(struct naive *naive, struct replica *replica, struct plan *plan)
{
    for (int i = 0; i < replica->waiting.n; i++) {
        const struct sequence *sequence = &naive->sequences[replica->waiting.id[i]];
        const int cached = count_cached(naive, replica, sequence);
        const int done = cached * naive->s->block_tokens, rest = sequence->todo - done;
        const int tokens = rest < plan->budget ? rest : plan->budget;
        int needed = blocks_for(naive, done + tokens);
        if (replica->running.n + i >= naive->s->max_sequences || plan->budget == 0) return;
        for (int k = 0; k < cached; k++)
            needed -= replica->blocks[find_cached(replica, sequence->tokens, (k + 1) * naive->s->block_tokens)].owners >
                      0;
        if (needed > plan->free) return;
        plan->free -= needed;
        plan->budget -= tokens;
        plan->tokens[replica->waiting.id[i]] = tokens;
        list_insert(&plan->admitted, plan->admitted.n, replica->waiting.id[i]);
    }
}

static void share_cached(struct naive *naive, struct replica *replica, struct sequence *sequence)
{
    const int n = count_cached(naive, replica, sequence);
    for (int k = 0; k < n; k++) {
        const int at = find_cached(replica, sequence->tokens, (k + 1) * naive->s->block_tokens);
        replica->blocks[at].owners++;
        sequence->blocks[sequence->n_blocks++] = at;
    }
    sequence->processed = n * naive->s->block_tokens;
    sequence->published = n;
    if (sequence->cached < 0) sequence->cached = sequence->processed;
}

static void apply(struct naive *naive, struct replica *replica, const struct plan *plan)
{
    for (int i = 0; i < plan->evicted.n; i++) {
        int at = 0;
        while (replica->running.id[at] != plan->evicted.id[i]) at++;
        preempt(naive, replica, list_take(&replica->running, at));
    }
    for (int i = 0; i < plan->admitted.n; i++) share_cached(naive, replica, &naive->sequences[plan->admitted.id[i]]);
    replica->batch = plan->runs;
    for (int i = 0; i < plan->admitted.n; i++) {
        const int id = list_take(&replica->waiting, 0);
        naive->sequences[id].admission = ++naive->admissions;
        list_insert(&replica->running, replica->running.n, id);
        list_insert(&replica->batch, replica->batch.n, id);
    }
    for (int i = 0; i < replica->batch.n; i++) {
        struct sequence *sequence = &naive->sequences[replica->batch.id[i]];
        const int tokens = plan->tokens[replica->batch.id[i]];
        replica->batch_tokens[i] = tokens;
        hold_blocks(naive, replica, sequence,
                    blocks_for(naive, sequence->processed + (is_prompt(sequence) ? tokens : 0)));
    }
}

static int64_t batch_ns(const struct naive *naive, const struct replica *replica)
{
    double fixed = 0, ns = 0;
    for (int i = 0; i < replica->batch.n; i++) {
        const struct sequence *sequence = &naive->sequences[replica->batch.id[i]];
        const struct naive_terms *terms = is_prompt(sequence) ? &naive->s->prefill : &naive->s->decode;
        const double n = replica->batch_tokens[i], p = sequence->processed;
        if (terms->fixed > fixed) fixed = terms->fixed;
        ns += terms->sequence + terms->token * n + terms->context * p;
        if (is_prompt(sequence)) ns += terms->pair * (n * n + 2 * n * p);
    }
    return llrint(fixed + ns);
}

static void schedule(struct naive *naive, struct replica *replica)
{
    bool again = true;
    while (again && replica->batch_end_ns < 0) {
        static const struct plan empty;
        struct plan plan = empty;
        plan.free = free_blocks(naive, replica);
        plan.budget = naive->s->budget;
        plan_running(naive, replica, &plan);
        if (plan.evicted.n == 0) plan_admissions(naive, replica, &plan);
        apply(naive, replica, &plan);
        if (replica->batch.n > 0) replica->batch_end_ns = naive->now_ns + batch_ns(naive, replica);
        again = plan.evicted.n > 0;
    }
}

/* --- Time --- */

static void leave(struct naive *naive, struct replica *replica, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    int at = 0;
    while (replica->running.id[at] != id) at++;
    list_take(&replica->running, at);
    publish(naive, replica, sequence, sequence->processed - 1);
    give_blocks(naive, replica, sequence);
    end_turn(naive, id);
}

/* Prompts in the order of the batch; then those that decoded, by number. */
static void end_batch(struct naive *naive, struct replica *replica)
{
    bool was_prompt[REQUESTS];
    replica->batch_end_ns = -1;
    for (int i = 0; i < replica->batch.n; i++) {
        const int id = replica->batch.id[i];
        struct sequence *sequence = &naive->sequences[id];
        was_prompt[id] = is_prompt(sequence);
        sequence->processed += replica->batch_tokens[i];
        if (was_prompt[id]) publish(naive, replica, sequence, sequence->processed);
        if (is_prompt(sequence)) continue;
        if (was_prompt[id]) sequence->processed++;
        if (++sequence->generated == 1) sequence->first_ns = naive->now_ns;
        if (was_prompt[id] && sequence->generated == sequence->output) leave(naive, replica, id);
    }
    for (int id = 0; id < naive->s->n_requests; id++)
        for (int i = 0; i < replica->batch.n; i++)
            if (replica->batch.id[i] == id && !was_prompt[id] &&
                naive->sequences[id].generated == naive->sequences[id].output)
                leave(naive, replica, id);
    replica->batch.n = 0;
}

/* The earliest request that has been sent and has not arrived, the first sent among equals; -1: none. */
static int next_arrival(const struct naive *naive)
{
    int best = -1;
    for (int id = 0; id < naive->s->n_requests; id++) {
        const struct sequence *one = &naive->sequences[id], *other = best >= 0 ? &naive->sequences[best] : NULL;
        if (one->arrival_ns < 0 || one->arrived) continue;
        if (other == NULL || one->arrival_ns < other->arrival_ns ||
            (one->arrival_ns == other->arrival_ns && one->order < other->order))
            best = id;
    }
    return best;
}

static void begin(struct naive *naive)
{
    for (int i = 0; i < naive->s->n_sessions; i++) {
        const struct session *session = &naive->s->sessions[i];
        for (int t = 0; t < session->n; t++) {
            const struct turn *turn = &session->turns[t];
            struct sequence *sequence = &naive->sequences[session->first + t];
            *sequence = (struct sequence){.session = i, .turn = t, .arrival_ns = -1, .first_ns = -1, .end_ns = -1, .cached = -1};
            const struct sequence *parent = turn->parent >= 0 ? &naive->sequences[session->first + turn->parent] : NULL;
            const int before = parent != NULL ? parent->n_tokens : session->system_tokens;
            for (int k = 0; k < before; k++) sequence->tokens[k] = parent != NULL ? parent->tokens[k] : k;
            sequence->prompt = sequence->todo = before + turn->input;
            sequence->output = turn->output;
            sequence->n_tokens = sequence->prompt + turn->output;
            if (sequence->n_tokens > TOKENS) abort();
            for (int k = before; k < sequence->n_tokens; k++)
                sequence->tokens[k] = (int64_t)(session->first + t + 1) * 1000000 + k;
            sequence->needed = parent != NULL;
            for (int k = 0; k < t; k++) sequence->needed += session->turns[k].join == t;
        }
        send(naive, session->first, session->arrival_ns);
    }
}

static void serve(struct naive *naive, const struct scenario *s)
{
    memset(naive, 0, sizeof *naive);
    naive->s = s;
    for (int r = 0; r < REPLICAS; r++) naive->replicas[r].batch_end_ns = -1;
    begin(naive);
    for (;;) {
        int64_t next_ns = INT64_MAX;
        int id = next_arrival(naive);
        if (id >= 0) next_ns = naive->sequences[id].arrival_ns;
        for (int r = 0; r < s->replicas; r++) {
            const int64_t end_ns = naive->replicas[r].batch_end_ns;
            if (end_ns >= 0 && end_ns < next_ns) next_ns = end_ns;
        }
        if (next_ns == INT64_MAX) return;
        naive->now_ns = next_ns;
        for (; id >= 0 && naive->sequences[id].arrival_ns == next_ns; id = next_arrival(naive)) arrive(naive, id);
        for (int r = 0; r < s->replicas; r++) {
            if (naive->replicas[r].batch_end_ns == next_ns) end_batch(naive, &naive->replicas[r]);
            schedule(naive, &naive->replicas[r]);
        }
    }
}

/* --- Random scenarios --- */

static void random_session(struct session *session, struct rng *rng, int longest)
{
    session->system_tokens = naive_one_in(rng, 3) ? 0 : 37;
    session->n = naive_between(rng, 1, TURNS);
    for (int t = 0; t < session->n; t++)
        session->turns[t] = (struct turn){.input = naive_between(rng, 1, longest), .output = naive_one_in(rng, 6) ? 1 : naive_between(rng, 1, 60),
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

static int longest_context(const struct scenario *s)
{
    int most = 0;
    for (int i = 0; i < s->n_sessions; i++) {
        int tokens[TURNS];
        for (int t = 0; t < s->sessions[i].n; t++) {
            const struct turn *turn = &s->sessions[i].turns[t];
            tokens[t] = (turn->parent >= 0 ? tokens[turn->parent] : s->sessions[i].system_tokens) + turn->input +
                        turn->output;
            if (tokens[t] > most) most = tokens[t];
        }
    }
    return most;
}

static void random_scenario(struct scenario *s, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "sessions", 0);
    memset(s, 0, sizeof *s);
    const int longest = naive_between(&rng, 1, 60);
    const double gap_ns = rng_uniform(&rng) * 3e7;
    int64_t now_ns = 0;
    s->n_sessions = naive_between(&rng, 1, SESSIONS);
    for (int i = 0; i < s->n_sessions; i++) {
        struct session *session = &s->sessions[i];
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

static void write_list(FILE *file, const struct session *session, const char *name, int which)
{
    fprintf(file, ", \"%s\": [", name);
    for (int t = 0; t < session->n; t++) {
        const struct turn *turn = &session->turns[t];
        if (which == 4)
            fprintf(file, "%s%lld.%09lld", t > 0 ? ", " : "", (long long)(turn->wait_ns / 1000000000),
                    (long long)(turn->wait_ns % 1000000000));
        else
            fprintf(file, "%s%d", t > 0 ? ", " : "",
                    ((const int[]){turn->input, turn->output, turn->parent, turn->join})[which]);
    }
    fprintf(file, "]");
}

static void write_trace(const struct scenario *s, const char *path)
{
    static const char *const names[] = {"input", "output", "parent", "join", "wait_s"};
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    for (int i = 0; i < s->n_sessions; i++) {
        const struct session *session = &s->sessions[i];
        fprintf(file, "{\"arrival_s\": %lld.%09lld, \"system\": \"all\", \"system_tokens\": %d",
                (long long)(session->arrival_ns / 1000000000), (long long)(session->arrival_ns % 1000000000),
                session->system_tokens);
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

static struct bed_rows *run(const struct scenario *s, const char *trace, const struct bed_options *options)
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

static bool is_same(const struct sequence *naive, const struct request_row *row, char *text, size_t n_chars)
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

TEST(sessions_are_equal_to_the_nanosecond)
{
    static struct scenario s;
    static struct naive naive;
    int64_t n_requests = 0, n_preemptions = 0, n_cached = 0, n_evicted = 0;
    char path[512], text[300], told[400];
    snprintf(path, sizeof path, "%s/sessions.jsonl", test_tmpdir());
    for (uint64_t seed = 0; seed < N_SCENARIOS; seed++) {
        random_scenario(&s, seed);
        write_trace(&s, path);
        serve(&naive, &s);
        struct bed_rows *rows = run(&s, path, BED(.check = seed % 8 == 0)),
                        *stepped = run(&s, path, BED(.check = seed % 8 == 0, .single_step = true, .queue = QUEUE_HEAP));
        CHECK_EQ_INT(rows->n_requests, s.n_requests);
        for (int id = 0; id < s.n_requests; id++) {
            n_requests++;
            n_preemptions += naive.sequences[id].preemptions;
            n_cached += naive.sequences[id].cached;
            if (is_same(&naive.sequences[id], bed_request(rows, id), text, sizeof text)) continue;
            snprintf(told, sizeof told, "seed %d request %d: %s", (int)seed, id, text);
            test_check(false, told, __FILE__, __LINE__);
            break;
        }
        n_evicted += bed_metric(rows, "prefix.evicted_blocks.sum") > 0;
        CHECK(bed_equal(rows, stepped));
        bed_free(rows);
        bed_free(stepped);
    }
    CHECK(n_requests > 2000 && n_preemptions > 100 && n_cached > 100000 && n_evicted > 50);
}
