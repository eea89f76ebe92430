/* Replicas of the naive store simulator that batch as vLLM v1 does: an iteration is a number of tokens of each request,
 * from one budget. Running requests come first, in order of admission; who finds no block preempts the last of them.
 * Then requests are admitted from the head of the queue. Full blocks of prompts are cached when they are scheduled, so
 * that requests behind share them in the same iteration; those that load alone share what was cached before.
 * Those with stored blocks may be parked there: with the blocks of their whole prompt, until their loads have come. */
#include "tests/oracle/naive_store.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

/* --- Requests --- */

static int take_from(int *ids, int *n, int at)
{
    const int id = ids[at];
    --*n;
    memmove(ids + at, ids + at + 1, (size_t)(*n - at) * sizeof *ids);
    return id;
}

static void push_front(int *ids, int *n, int id)
{
    memmove(ids + 1, ids, (size_t)*n * sizeof *ids);
    ids[0] = id;
    ++*n;
}

static bool is_prompt(const struct store_request *request)
{
    return request->done < request->todo;
}

/* Full blocks of the first tokens that have keys. */
static int keyed_blocks(const struct naive_store *naive, const struct store_request *request, int tokens)
{
    if (!request->covers_output && tokens > request->prompt) tokens = request->prompt;
    const int n = tokens / naive->s->item;
    return n < request->n_keys ? n : request->n_keys;
}

/* Tokens of a prompt in an iteration, of those that are left. */
static int chunk_of(const struct naive_store *naive, int left, int budget)
{
    if (naive->s->long_prompt > 0 && budget > naive->s->long_prompt) budget = naive->s->long_prompt;
    return left < budget ? left : budget;
}

static int usable_blocks(const struct naive_store *naive, const struct store_request *request)
{
    return keyed_blocks(naive, request, request->todo - 1);
}

static int held_blocks(const struct naive_store *naive, const struct store_request *request)
{
    int items = 0;
    for (int i = 0; i < request->n_published; i++) items += request->shares[i];
    return request->own_blocks + items * (naive->s->item / naive->s->kv_block);
}

static void take(struct naive_store *naive, int replica, struct store_request *request, int tokens)
{
    const int n = store_blocks_of(naive, tokens) - held_blocks(naive, request);
    if (n <= 0) return;
    request->own_blocks += n;
    store_take_blocks(naive, replica, n);
}

static void publish(struct naive_store *naive, int replica, struct store_request *request, int processed)
{
    store_publish(naive, replica, request, keyed_blocks(naive, request, processed) * naive->s->item, false);
}

/* Leading blocks that GPU memory has, or that are coming (NULL: none are); *in_use: those of them that others hold. */
static int count_hits(const struct naive_store *naive, const struct server *server, const struct store_request *request,
                      const bool *coming, int *in_use)
{
    int n = 0;
    for (*in_use = 0; n < usable_blocks(naive, request); n++) {
        const int key = request->keys[n];
        if (!server->gpu.is_here[key] && (coming == NULL || !coming[key])) break;
        *in_use += !server->gpu.is_here[key] || server->gpu.holds[key] > 0;
    }
    return n;
}

/* --- A decision --- */

struct decision {
    int budget, free_blocks, n_running;
    int n_preempted, preempted[STORE_REQUESTS];
    int n_parked, parked[STORE_REQUESTS];
    bool coming[STORE_KEYS]; /* blocks that prompts of this iteration complete */
    bool finds[STORE_REQUESTS]; /* of the batch: that share what is coming */
};

static void schedule(const struct naive_store *naive, const struct store_request *request, int processed,
                     struct decision *decision)
{
    for (int i = request->n_published; i < keyed_blocks(naive, request, processed); i++)
        decision->coming[request->keys[i]] = true;
}

static void preempt_last(struct naive_store *naive, struct server *server, struct decision *decision)
{
    const int id = server->running[--server->n_running];
    const struct store_request *request = &naive->s->requests[id];
    const int per_item = naive->s->item / naive->s->kv_block;
    decision->preempted[decision->n_preempted++] = id;
    decision->free_blocks += request->own_blocks;
    for (int i = 0; i < request->n_published; i++)
        if (request->shares[i] && server->gpu.holds[request->keys[i]] == 1) decision->free_blocks += per_item;
}

/* What the running requests get. */
static void go_on(struct naive_store *naive, struct server *server, struct decision *decision)
{
    for (int i = 0; i < server->n_running && decision->budget > 0; i++) {
        const struct store_request *request = &naive->s->requests[server->running[i]];
        const int left = request->todo - request->done;
        const int tokens = is_prompt(request) ? chunk_of(naive, left, decision->budget) : 1;
        int need = store_blocks_of(naive, request->done + tokens) - held_blocks(naive, request);
        if (need < 0) need = 0;
        while (need > decision->free_blocks) {
            preempt_last(naive, server, decision);
            if (server->n_running == i) return;
        }
        decision->free_blocks -= need;
        decision->budget -= tokens;
        if (is_prompt(request)) schedule(naive, request, request->done + tokens, decision);
        server->tokens[server->n_batch] = is_prompt(request) ? tokens : 0;
        server->batch[server->n_batch++] = server->running[i];
    }
}

enum verdict { ADMIT, PARK, NO_ROOM };

static enum verdict judge(struct naive_store *naive, int replica, const struct store_request *request,
                          struct decision *decision, int *tokens)
{
    const struct server *server = &naive->servers[replica];
    const int per_item = naive->s->item / naive->s->kv_block;
    int in_use = 0, done = request->done, stored = 0;
    if (!request->is_parked) {
        int hits = count_hits(naive, server, request, NULL, &in_use);
        stored = store_count_stored(naive, replica, request, hits, usable_blocks(naive, request));
        if (!naive->s->alone || stored == 0) {
            hits = count_hits(naive, server, request, decision->coming, &in_use);
            /* What lies behind blocks that are coming is not loaded alone. */
            if (!naive->s->alone)
                stored = store_count_stored(naive, replica, request, hits, usable_blocks(naive, request));
        }
        done = (hits + (naive->s->alone ? 0 : stored)) * naive->s->item;
    }
    const int whole = store_blocks_of(naive, request->todo) - held_blocks(naive, request) - in_use * per_item;
    *tokens = chunk_of(naive, request->todo - done, decision->budget);
    const bool parks = naive->s->alone && stored > 0;
    int need = parks ? whole : store_blocks_of(naive, done + *tokens) - held_blocks(naive, request) - in_use * per_item;
    if (need < 0) need = 0;
    if (need > decision->free_blocks || (naive->s->full_prompt && whole > decision->free_blocks)) return NO_ROOM;
    decision->free_blocks -= need;
    if (!parks) schedule(naive, request, done + *tokens, decision);
    return parks ? PARK : ADMIT;
}

/* From the head of the queue. Behind a request that finds no room only those that have loaded are admitted. */
static void admit(struct naive_store *naive, int replica, struct decision *decision)
{
    struct server *server = &naive->servers[replica];
    bool is_blocked = false;
    for (int i = 0; i < server->n_waiting; i++) {
        const int id = server->waiting[i];
        struct store_request *request = &naive->s->requests[id];
        int tokens;
        if (request->n_loads > 0 || (is_blocked && !request->is_parked)) continue;
        if (decision->n_running == naive->s->max_sequences || decision->budget == 0) return;
        const enum verdict verdict = judge(naive, replica, request, decision, &tokens);
        is_blocked = is_blocked || verdict == NO_ROOM;
        if (verdict == PARK) decision->parked[decision->n_parked++] = id;
        if (verdict != ADMIT) continue;
        server->tokens[server->n_batch] = tokens;
        server->batch[server->n_batch++] = id;
        decision->budget -= tokens;
        decision->n_running++;
    }
}

/* Out of the queue, as the last that runs. */
static void begin_to_run(struct server *server, int id)
{
    int at = 0;
    while (server->waiting[at] != id) at++;
    server->running[server->n_running++] = take_from(server->waiting, &server->n_waiting, at);
}

static void lose_blocks(struct naive_store *naive, int replica, int id)
{
    struct server *server = &naive->servers[replica];
    struct store_request *request = &naive->s->requests[id];
    if (request->covers_output) publish(naive, replica, request, request->done);
    store_give_blocks(naive, replica, request);
    if (!is_prompt(request)) request->todo = request->prompt + request->made;
    request->done = 0;
    request->preemptions++;
    push_front(server->waiting, &server->n_waiting, id);
}

/* What changes before blocks are taken. */
static void apply_moves(struct naive_store *naive, int replica, struct decision *decision, int n_gone_on)
{
    struct server *server = &naive->servers[replica];
    struct store_request *requests = naive->s->requests;
    for (int i = 0; i < decision->n_preempted; i++) lose_blocks(naive, replica, decision->preempted[i]);
    for (int i = 0; i < decision->n_parked; i++) {
        struct store_request *request = &requests[decision->parked[i]];
        request->is_parked = true;
        naive->parked++;
        store_find_prefix(naive, replica, request, usable_blocks(naive, request), true, NULL);
    }
    memset(decision->coming, 0, sizeof decision->coming);
    for (int i = 0; i < n_gone_on; i++)
        if (server->tokens[i] > 0)
            schedule(naive, &requests[server->batch[i]], requests[server->batch[i]].done + server->tokens[i], decision);
    for (int i = n_gone_on; i < server->n_batch; i++) {
        struct store_request *request = &requests[server->batch[i]];
        decision->finds[i] = !request->is_parked;
        if (!request->is_parked)
            store_find_prefix(naive, replica, request, usable_blocks(naive, request), !naive->s->alone,
                              decision->coming);
        schedule(naive, request, request->done + server->tokens[i], decision);
        request->is_parked = false;
        request->was_admitted = true;
        begin_to_run(server, server->batch[i]);
    }
    for (int i = 0; i < decision->n_parked; i++)
        take(naive, replica, &requests[decision->parked[i]], requests[decision->parked[i]].todo);
    store_flush(naive, replica);
}

void store_v1_compose(struct naive_store *naive, int replica)
{
    struct server *server = &naive->servers[replica];
    struct decision decision = {0};
    bool again = true;
    while (again) {
        decision = (struct decision){.budget = naive->s->budget, .free_blocks = server->free_blocks};
        server->n_batch = 0;
        go_on(naive, server, &decision);
        const int n_gone_on = server->n_batch;
        decision.n_running = server->n_running;
        if (decision.n_preempted == 0) admit(naive, replica, &decision);
        apply_moves(naive, replica, &decision, n_gone_on);
        again = server->n_batch == 0 && decision.n_preempted + decision.n_parked > 0;
    }
    server->is_busy = server->n_batch > 0;
    server->end_ns = -1;
    server->is_prefill = false;
    for (int i = 0; i < server->n_batch; i++) server->is_prefill |= server->tokens[i] > 0;
    if (!server->is_prefill) return; /* those that decode take their blocks at the end */
    int growth = 0;
    for (int i = 0; i < server->n_batch; i++) {
        struct store_request *request = &naive->s->requests[server->batch[i]];
        const int processed = request->done + server->tokens[i];
        if (server->tokens[i] == 0) continue;
        if (decision.finds[i]) store_find_coming(naive, replica, request);
        take(naive, replica, request, processed);
        store_publish(naive, replica, request, keyed_blocks(naive, request, processed) * naive->s->item, true);
    }
    for (int i = 0; i < server->n_batch; i++) {
        struct store_request *request = &naive->s->requests[server->batch[i]];
        const int n = store_blocks_of(naive, request->done + 1) - held_blocks(naive, request);
        if (server->tokens[i] > 0 || n <= 0) continue;
        request->own_blocks += n;
        growth += n;
    }
    store_take_blocks(naive, replica, growth);
}

void store_v1_start(struct naive_store *naive, struct server *server)
{
    double fixed = 0, ns = 0;
    for (int i = 0; i < server->n_batch; i++) {
        const struct store_request *request = &naive->s->requests[server->batch[i]];
        const bool prompt = server->tokens[i] > 0;
        const struct naive_terms *terms = prompt ? &naive->s->prefill : &naive->s->decode;
        if (terms->fixed > fixed) fixed = terms->fixed;
        ns += store_request_ns(terms, prompt ? server->tokens[i] : 1, request->done + !prompt, prompt);
    }
    server->end_ns = naive->now_ns + llrint(fixed + ns);
}

/* --- Ends --- */

void store_v1_loaded(struct naive_store *naive, int replica, struct store_request *request)
{
    publish(naive, replica, request, request->done);
    store_flush(naive, replica);
}

static void stop(struct naive_store *naive, int replica, int id)
{
    struct server *server = &naive->servers[replica];
    int at = 0;
    while (server->running[at] != id) at++;
    take_from(server->running, &server->n_running, at);
    store_leave(naive, replica, id);
}

static void end_decoding(struct naive_store *naive, int replica)
{
    struct server *server = &naive->servers[replica];
    int growth = 0;
    for (int i = 0; i < server->n_batch; i++) {
        struct store_request *request = &naive->s->requests[server->batch[i]];
        if (server->tokens[i] > 0) continue;
        const int n = store_blocks_of(naive, request->done + 1) - held_blocks(naive, request);
        growth += n > 0 ? n : 0;
        request->own_blocks += n > 0 ? n : 0;
        request->done++;
        request->made++;
    }
    if (!server->is_prefill) store_take_blocks(naive, replica, growth);
}

static void end_prompts(struct naive_store *naive, int replica)
{
    struct server *server = &naive->servers[replica];
    for (int i = 0; i < server->n_batch; i++) {
        struct store_request *request = &naive->s->requests[server->batch[i]];
        if (server->tokens[i] == 0) continue;
        request->done += server->tokens[i];
        publish(naive, replica, request, request->done);
        if (is_prompt(request)) continue;
        if (++request->made == 1) request->first_ns = naive->now_ns;
    }
    store_flush(naive, replica);
}

/* Those that have their last token leave in the order of the batch. */
void store_v1_end(struct naive_store *naive, int replica)
{
    const struct server *server = &naive->servers[replica];
    if (server->is_prefill) end_prompts(naive, replica);
    end_decoding(naive, replica);
    for (int i = 0; i < server->n_batch; i++) {
        const struct store_request *request = &naive->s->requests[server->batch[i]];
        if (request->made == request->output) stop(naive, replica, server->batch[i]);
    }
    store_flush(naive, replica);
}

/* Two requests with nothing stored, in blocks of 4 tokens, of which there are 4: the second one grows first, and is
 * preempted when the first one needs its block. */
TEST(a_preemption_by_hand)
{
    static struct naive_store naive;
    static struct store_scenario s = {.n = 2, .replicas = 1, .max_sequences = 2, .kv_block = 4, .item = 4,
                                      .kv_blocks = 4, .drives = 1, .capacity = {1, 1}, .is_v1 = true, .budget = 100,
                                      .pcie = 1, .prefill = {.fixed = 10}, .decode = {.fixed = 10},
                                      .requests = {{.prompt = 7, .output = 5, .parent = -1, .join = -1},
                                                   {.prompt = 5, .output = 5, .parent = -1, .join = -1}}};
    naive_store_simulate(&naive, &s);
    CHECK_EQ_INT(s.requests[0].first_ns, 10);
    CHECK_EQ_INT(s.requests[1].first_ns, 10);
    CHECK_EQ_INT(s.requests[0].preemptions, 0);
    CHECK_EQ_INT(s.requests[1].preemptions, 1);
    CHECK_EQ_INT(s.requests[0].end_ns, 50);
}
