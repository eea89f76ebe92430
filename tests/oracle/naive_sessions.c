/* The simulator itself; naive_sessions.h says what it is. */
#include "tests/oracle/naive_sessions.h"

#include "tests/support/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    const struct naive_sessions *s;
    struct naive_sequence sequences[REQUESTS];
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

static void hold_blocks(const struct naive *naive, struct replica *replica, struct naive_sequence *sequence, int n)
{
    while (sequence->n_blocks < n) sequence->blocks[sequence->n_blocks++] = take_block(naive, replica);
}

/* The full blocks of the tokens processed are cached, unless another one with the same tokens is. */
static void publish(const struct naive *naive, struct replica *replica, struct naive_sequence *sequence, int processed)
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
static void give_blocks(struct naive *naive, struct replica *replica, struct naive_sequence *sequence)
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
    const struct naive_sequence *ended = &naive->sequences[id];
    const struct naive_session *session = &naive->s->sessions[ended->session];
    naive->sequences[id].end_ns = naive->now_ns;
    for (int t = 0; t < session->n; t++) {
        struct naive_sequence *other = &naive->sequences[session->first + t];
        const bool waits = session->turns[t].parent == ended->turn || session->turns[ended->turn].join == t;
        if (!waits || --other->needed > 0) continue;
        const int64_t at_ns = naive->now_ns + session->turns[t].wait_ns;
        send(naive, session->first + t, at_ns > naive->now_ns ? at_ns : naive->now_ns + 1);
    }
}

static void arrive(struct naive *naive, int id)
{
    struct naive_sequence *sequence = &naive->sequences[id];
    struct replica *replica = &naive->replicas[naive->next_replica];
    sequence->arrived = true;
    sequence->replica = naive->next_replica;
    naive->next_replica = (naive->next_replica + 1) % naive->s->replicas;
    list_insert(&replica->waiting, replica->waiting.n, id);
}

/* --- The batcher: vLLM v1 --- */

static bool is_prompt(const struct naive_sequence *sequence)
{
    return sequence->processed < sequence->todo;
}

static void preempt(struct naive *naive, struct replica *replica, int id)
{
    struct naive_sequence *sequence = &naive->sequences[id];
    publish(naive, replica, sequence, is_prompt(sequence) ? sequence->processed : sequence->processed - 1);
    give_blocks(naive, replica, sequence);
    if (!is_prompt(sequence)) sequence->todo = sequence->processed;
    sequence->processed = 0;
    sequence->preemptions++;
    list_insert(&replica->waiting, 0, id);
}

/* Blocks that only this one uses: what the plan counts on when it goes. */
static int own_blocks(const struct replica *replica, const struct naive_sequence *sequence)
{
    int n = 0;
    for (int i = 0; i < sequence->n_blocks; i++) n += replica->blocks[sequence->blocks[i]].owners == 1;
    return n;
}

/* What a plan decides before anything is done. A prompt has processed `reach` tokens afterwards. */
struct plan {
    int free, budget;
    struct list evicted, runs, admitted;
    int tokens[REQUESTS], reach[REQUESTS], shared[REQUESTS];
};

/* Whether a prompt before it in the plan completes the block that ends at token n. vLLM v1 caches such blocks when it
 * schedules them. */
static bool is_coming(const struct naive *naive, const struct plan *plan, const struct naive_sequence *sequence, int n)
{
    const struct list *lists[] = {&plan->runs, &plan->admitted};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < lists[i]->n; k++) {
            const int id = lists[i]->id[k];
            const struct naive_sequence *other = &naive->sequences[id];
            if (plan->reach[id] >= n && other->published * naive->s->block_tokens < n &&
                memcmp(other->tokens, sequence->tokens, (size_t)n * sizeof *sequence->tokens) == 0)
                return true;
        }
    return false;
}

/* Leading blocks that are cached or will be; *in_use: of these, those that need no free block. */
static int count_shared(const struct naive *naive, const struct replica *replica, const struct plan *plan,
                        const struct naive_sequence *sequence, int *in_use)
{
    int n = 0;
    for (*in_use = 0; (n + 1) * naive->s->block_tokens <= sequence->todo - 1; n++) {
        const int end = (n + 1) * naive->s->block_tokens, at = find_cached(replica, sequence->tokens, end);
        if (at < 0 && !is_coming(naive, plan, sequence, end)) break;
        *in_use += at < 0 || replica->blocks[at].owners > 0;
    }
    return n;
}

static void plan_running(struct naive *naive, struct replica *replica, struct plan *plan)
{
    struct list left = replica->running;
    while (left.n > 0 && plan->budget > 0) {
        const int id = left.id[0];
        const struct naive_sequence *sequence = &naive->sequences[id];
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
        plan->reach[id] = prompt ? sequence->processed + tokens : 0;
        list_insert(&plan->runs, plan->runs.n, list_take(&left, 0));
    }
}

static void plan_admissions(struct naive *naive, struct replica *replica, struct plan *plan)
{
    for (int i = 0; i < replica->waiting.n; i++) {
        const int id = replica->waiting.id[i];
        const struct naive_sequence *sequence = &naive->sequences[id];
        int in_use;
        const int shared = count_shared(naive, replica, plan, sequence, &in_use);
        const int done = shared * naive->s->block_tokens, rest = sequence->todo - done;
        const int tokens = rest < plan->budget ? rest : plan->budget;
        const int needed = blocks_for(naive, done + tokens) - in_use;
        if (replica->running.n + i >= naive->s->max_sequences || plan->budget == 0) return;
        if (needed > plan->free) return;
        plan->free -= needed;
        plan->budget -= tokens;
        plan->tokens[id] = tokens;
        plan->reach[id] = done + tokens;
        plan->shared[id] = shared;
        list_insert(&plan->admitted, plan->admitted.n, id);
    }
}

/* Shares leading blocks up to number n, as far as they are cached. */
static void share_cached(struct naive *naive, struct replica *replica, struct naive_sequence *sequence, int n)
{
    while (sequence->n_blocks < n) {
        const int end = (sequence->n_blocks + 1) * naive->s->block_tokens;
        const int at = find_cached(replica, sequence->tokens, end);
        if (at < 0) return;
        replica->blocks[at].owners++;
        sequence->blocks[sequence->n_blocks++] = at;
    }
}

static void admit(struct naive *naive, struct replica *replica, struct naive_sequence *sequence, int shared)
{
    share_cached(naive, replica, sequence, shared);
    sequence->processed = shared * naive->s->block_tokens;
    sequence->published = shared;
    if (sequence->cached < 0) sequence->cached = sequence->processed;
}

static void apply(struct naive *naive, struct replica *replica, const struct plan *plan)
{
    for (int i = 0; i < plan->evicted.n; i++) {
        int at = 0;
        while (replica->running.id[at] != plan->evicted.id[i]) at++;
        preempt(naive, replica, list_take(&replica->running, at));
    }
    for (int i = 0; i < plan->admitted.n; i++)
        admit(naive, replica, &naive->sequences[plan->admitted.id[i]], plan->shared[plan->admitted.id[i]]);
    replica->batch = plan->runs;
    for (int i = 0; i < plan->admitted.n; i++) {
        const int id = list_take(&replica->waiting, 0);
        naive->sequences[id].admission = ++naive->admissions;
        list_insert(&replica->running, replica->running.n, id);
        list_insert(&replica->batch, replica->batch.n, id);
    }
    for (int i = 0; i < replica->batch.n; i++) {
        struct naive_sequence *sequence = &naive->sequences[replica->batch.id[i]];
        const int tokens = plan->tokens[replica->batch.id[i]];
        replica->batch_tokens[i] = tokens;
        share_cached(naive, replica, sequence, sequence->published);
        hold_blocks(naive, replica, sequence,
                    blocks_for(naive, sequence->processed + (is_prompt(sequence) ? tokens : 0)));
        if (is_prompt(sequence)) publish(naive, replica, sequence, sequence->processed + tokens);
    }
}

static int64_t batch_ns(const struct naive *naive, const struct replica *replica)
{
    double fixed = 0, ns = 0;
    for (int i = 0; i < replica->batch.n; i++) {
        const struct naive_sequence *sequence = &naive->sequences[replica->batch.id[i]];
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
    struct naive_sequence *sequence = &naive->sequences[id];
    int at = 0;
    while (replica->running.id[at] != id) at++;
    list_take(&replica->running, at);
    publish(naive, replica, sequence, sequence->processed - 1);
    give_blocks(naive, replica, sequence);
    end_turn(naive, id);
}

/* In the order of the batch. */
static void end_batch(struct naive *naive, struct replica *replica)
{
    replica->batch_end_ns = -1;
    for (int i = 0; i < replica->batch.n; i++) {
        const int id = replica->batch.id[i];
        struct naive_sequence *sequence = &naive->sequences[id];
        const bool was_prompt = is_prompt(sequence);
        sequence->processed += replica->batch_tokens[i];
        if (was_prompt) publish(naive, replica, sequence, sequence->processed);
        if (is_prompt(sequence)) continue;
        if (was_prompt) sequence->processed++;
        if (++sequence->generated == 1) sequence->first_ns = naive->now_ns;
        if (sequence->generated == sequence->output) leave(naive, replica, id);
    }
    replica->batch.n = 0;
}

/* The earliest request that has been sent and has not arrived, the first sent among equals; -1: none. */
static int next_arrival(const struct naive *naive)
{
    int best = -1;
    for (int id = 0; id < naive->s->n_requests; id++) {
        const struct naive_sequence *one = &naive->sequences[id], *other = best >= 0 ? &naive->sequences[best] : NULL;
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
        const struct naive_session *session = &naive->s->sessions[i];
        for (int t = 0; t < session->n; t++) {
            const struct naive_turn *turn = &session->turns[t];
            struct naive_sequence *sequence = &naive->sequences[session->first + t];
            *sequence = (struct naive_sequence){
                .session = i, .turn = t, .arrival_ns = -1, .first_ns = -1, .end_ns = -1, .cached = -1};
            const struct naive_sequence *parent = NULL;
            if (turn->parent >= 0) parent = &naive->sequences[session->first + turn->parent];
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

static void serve(struct naive *naive, const struct naive_sessions *s)
{
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

void naive_sessions_serve(const struct naive_sessions *scenario, struct naive_sequence *sequences)
{
    struct naive *naive = calloc(1, sizeof *naive);
    if (naive == NULL) abort();
    serve(naive, scenario);
    memcpy(sequences, naive->sequences, sizeof naive->sequences);
    free(naive);
}

TEST(no_sessions_need_no_time)
{
    static struct naive_sessions none = {.replicas = 1, .block_tokens = 4};
    static struct naive_sequence sequences[REQUESTS];
    naive_sessions_serve(&none, sequences);
    CHECK_EQ_INT(sequences[0].n_tokens, 0);
}
