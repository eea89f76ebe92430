/* The naive simulator. Batchers are as their papers and engines have them, pipelines as Vidur has
 * them: as many batches in flight as stages, each stage serves them in order, a request is in one at a time. */
#include "tests/oracle/naive_serving.h"

#include "tests/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sequence {
    int todo;      /* prompt to process; after a recompute preemption also what had been generated */
    int processed; /* tokens; when the prompt is complete also the newest generated one, as yet without KV */
    int generated, output;
    int64_t blocks;
    int64_t number;        /* order of admission */
    int64_t handed_blocks; /* where its prompt was processed, until its KV has moved and is taken */
    double left_ns;        /* of its move, were it alone on the link */
    bool moves, is_here;
};

struct batch {
    int n, id[NAIVE_REQUESTS], tokens[NAIVE_REQUESTS];
    int64_t end_ns;
};

struct list {
    int n, id[NAIVE_REQUESTS];
};

struct replica {
    struct list waiting, idle;          /* idle: admitted, in no batch */
    struct list swapped, remote;        /* KV on the host; prompt processed elsewhere, not yet taken */
    struct list taken, moved;           /* KV on its way here, and since the last decision arrived */
    struct batch flying[NAIVE_STAGES];
    int n_flying;
    int64_t stage_free_ns[NAIVE_STAGES];
    int64_t free_blocks, copied_blocks;
    bool preempted; /* in this decision */
};

struct naive {
    const struct naive_scenario *s;
    struct naive_outcome *outcomes;
    struct sequence sequences[NAIVE_REQUESTS];
    struct replica replicas[NAIVE_REPLICAS];
    int64_t now_ns, moved_ns, admissions, batches; /* moved_ns: up to which moves have been followed */
    int arrived, next_replica;
};

static void list_insert(struct list *list, int at, int id)
{
    memmove(list->id + at + 1, list->id + at, (size_t)(list->n - at) * sizeof *list->id);
    list->id[at] = id;
    list->n++;
}

static int list_take(struct list *list, int at)
{
    int id = list->id[at];
    list->n--;
    memmove(list->id + at, list->id + at + 1, (size_t)(list->n - at) * sizeof *list->id);
    return id;
}

static int64_t blocks_of(const struct naive *naive, int64_t tokens)
{
    return (tokens + naive->s->block_tokens - 1) / naive->s->block_tokens;
}

static bool is_prompt(const struct sequence *sequence)
{
    return sequence->processed < sequence->todo;
}

static int admitted(const struct replica *replica)
{
    int n = replica->idle.n + replica->taken.n + replica->moved.n;
    for (int i = 0; i < replica->n_flying; i++) n += replica->flying[i].n;
    return n;
}

static int requests_at(const struct replica *replica)
{
    return replica->waiting.n + replica->swapped.n + replica->remote.n + admitted(replica);
}

/* Stable: equal arrivals keep their order. */
static void sort_by_arrival(const struct naive *naive, struct list *list)
{
    const struct naive_request *requests = naive->s->requests;
    for (int i = 1; i < list->n; i++)
        for (int k = i; k > 0 && requests[list->id[k]].arrival_ns < requests[list->id[k - 1]].arrival_ns; k--) {
            int id = list->id[k];
            list->id[k] = list->id[k - 1];
            list->id[k - 1] = id;
        }
}

static void batch_add(struct batch *batch, int id, int tokens)
{
    batch->id[batch->n] = id;
    batch->tokens[batch->n++] = tokens;
}

static void give_blocks(struct naive *naive, struct replica *replica, int id)
{
    replica->free_blocks += naive->sequences[id].blocks;
    naive->sequences[id].blocks = 0;
}

static void take_blocks(struct naive *naive, struct replica *replica, int id, int64_t blocks)
{
    replica->free_blocks -= blocks;
    naive->sequences[id].blocks += blocks;
    if (replica->free_blocks < 0) abort();
}

/* Out of the batch: to the head of the queue, to process everything again, or to the host's memory. */
static void preempt(struct naive *naive, struct replica *replica, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    naive->outcomes[id].preemptions++;
    replica->preempted = true;
    if (naive->s->swap) {
        replica->copied_blocks += sequence->blocks;
        list_insert(&replica->swapped, 0, id);
    } else {
        bool prompt = is_prompt(sequence);
        if (prompt && naive->s->forgetful) sequence->output += sequence->todo - sequence->processed;
        if (!prompt || naive->s->forgetful) sequence->todo = sequence->processed;
        sequence->processed = 0;
        list_insert(&replica->waiting, 0, id);
    }
    give_blocks(naive, replica, id);
}

static void admit_head(struct naive *naive, struct replica *replica, struct batch *batch, int64_t blocks, int tokens)
{
    int id = list_take(&replica->waiting, 0);
    naive->sequences[id].number = naive->admissions++;
    take_blocks(naive, replica, id, blocks);
    batch_add(batch, id, tokens);
}

/* A batch may hold its share of the sequences. */
static int batch_room(const struct naive *naive, const struct batch *batch)
{
    return (naive->s->max_sequences > naive->s->stages ? naive->s->max_sequences / naive->s->stages : 1) - batch->n;
}

/* --- vLLM v0 and Sarathi: a block must be free for each decode, needed or not --- */

static void v0_admit(struct naive *naive, struct replica *replica, struct batch *batch)
{
    const struct naive_scenario *s = naive->s;
    int64_t longest = 0, total = 0;
    while (replica->waiting.n > 0) {
        int64_t todo = naive->sequences[replica->waiting.id[0]].todo, need = blocks_of(naive, todo);
        if (todo > s->max_tokens || need + s->watermark_blocks > s->blocks) {
            naive->outcomes[list_take(&replica->waiting, 0)].rejected = true;
            continue;
        }
        if (todo > longest) longest = todo;
        total += todo;
        if ((s->padded ? (batch->n + 1) * longest : total) > s->max_tokens) return;
        if (replica->free_blocks - need < s->watermark_blocks) return;
        if (admitted(replica) + batch->n == s->max_sequences || batch_room(naive, batch) == 0) return;
        admit_head(naive, replica, batch, need, (int)todo);
    }
}

/* The candidate decodes when there is a block for it, after those behind it have made room. */
static void decode_or_preempt(struct naive *naive, struct replica *replica, struct batch *batch, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    while (replica->free_blocks < 1) {
        if (replica->idle.n == 0) {
            preempt(naive, replica, id);
            return;
        }
        preempt(naive, replica, list_take(&replica->idle, replica->idle.n - 1));
    }
    if (sequence->processed > sequence->blocks * naive->s->block_tokens) take_blocks(naive, replica, id, 1);
    batch_add(batch, id, 1);
}

/* Whether one that comes back fits: the watermark is for when others run. */
static bool has_room(const struct naive *naive, const struct replica *replica, const struct batch *batch,
                     int64_t blocks)
{
    int running = admitted(replica) + batch->n;
    return replica->free_blocks - blocks >= (running > 0 ? naive->s->watermark_blocks : 0) &&
           running < naive->s->max_sequences;
}

/* The sequences on the host come back in order of arrival, as many as fit. */
static void swap_in(struct naive *naive, struct replica *replica, struct batch *batch)
{
    sort_by_arrival(naive, &replica->swapped);
    while (replica->swapped.n > 0 && batch_room(naive, batch) > 0) {
        int id = replica->swapped.id[0], processed = naive->sequences[id].processed;
        if (!has_room(naive, replica, batch, blocks_of(naive, processed))) return;
        list_take(&replica->swapped, 0);
        take_blocks(naive, replica, id, blocks_of(naive, processed));
        replica->copied_blocks += blocks_of(naive, processed - 1);
        batch_add(batch, id, 1);
    }
}

static void release(struct naive *naive, int id)
{
    naive->replicas[naive->outcomes[id].replica].free_blocks += naive->sequences[id].handed_blocks;
    naive->sequences[id].handed_blocks = 0;
}

/* Sequences whose prompt was processed elsewhere are taken in order of coming: into the batch when their KV is here. */
static void take_remote(struct naive *naive, struct replica *replica, struct batch *batch)
{
    while (replica->remote.n > 0 && !replica->preempted && replica->idle.n == 0) {
        int id = replica->remote.id[0];
        struct sequence *sequence = &naive->sequences[id];
        if (!has_room(naive, replica, batch, blocks_of(naive, sequence->processed))) return;
        if (sequence->is_here && batch_room(naive, batch) == 0) return;
        list_take(&replica->remote, 0);
        take_blocks(naive, replica, id, blocks_of(naive, sequence->processed));
        if (sequence->is_here) {
            release(naive, id);
            naive->outcomes[id].replica = (int)(replica - naive->replicas);
            batch_add(batch, id, 1);
        } else {
            sequence->moves = true;
            list_insert(&replica->taken, replica->taken.n, id);
        }
    }
}

static void v0_compose(struct naive *naive, struct replica *replica, struct batch *batch)
{
    if (replica->swapped.n == 0) v0_admit(naive, replica, batch);
    if (batch->n > 0) return;
    sort_by_arrival(naive, &replica->idle);
    while (replica->idle.n > 0 && batch_room(naive, batch) > 0)
        decode_or_preempt(naive, replica, batch, list_take(&replica->idle, 0));
    if (!replica->preempted) swap_in(naive, replica, batch);
    take_remote(naive, replica, batch);
}

static int chunk(const struct naive *naive, int id, int used)
{
    int left = naive->sequences[id].todo - naive->sequences[id].processed, room = naive->s->max_tokens - used;
    if (room < 0) room = 0;
    return left < room ? left : room;
}

static void sarathi_admit(struct naive *naive, struct replica *replica, struct batch *batch, int used)
{
    const struct naive_scenario *s = naive->s;
    while (replica->waiting.n > 0) {
        int id = replica->waiting.id[0], tokens = chunk(naive, id, used);
        int64_t need = blocks_of(naive, naive->sequences[id].todo);
        if (need + s->watermark_blocks > s->blocks) {
            naive->outcomes[list_take(&replica->waiting, 0)].rejected = true;
            continue;
        }
        if (admitted(replica) + batch->n == s->max_sequences || batch_room(naive, batch) == 0) return;
        if (replica->free_blocks - need < s->watermark_blocks || tokens == 0) return;
        admit_head(naive, replica, batch, need, tokens);
        used += tokens;
    }
}

static void sarathi_compose(struct naive *naive, struct replica *replica, struct batch *batch)
{
    struct list prompts = {0}, skipped = {0};
    int used = 0;
    while (replica->idle.n > 0 && batch_room(naive, batch) > 0) {
        int id = list_take(&replica->idle, 0);
        if (is_prompt(&naive->sequences[id]))
            list_insert(&prompts, prompts.n, id);
        else
            decode_or_preempt(naive, replica, batch, id);
    }
    used = batch->n;
    take_remote(naive, replica, batch);
    for (int i = 0; i < prompts.n; i++) {
        int id = prompts.id[i], tokens = chunk(naive, id, used);
        used += tokens;
        if (tokens > 0)
            batch_add(batch, id, tokens);
        else
            list_insert(&skipped, skipped.n, id);
    }
    while (skipped.n > 0) list_insert(&replica->idle, 0, list_take(&skipped, skipped.n - 1));
    sort_by_arrival(naive, &replica->idle);
    sarathi_admit(naive, replica, batch, used);
}

/* --- vLLM v1: one budget of tokens, blocks for just the tokens of the iteration --- */

/* Makes room for `need` blocks from the last sequence on. False when the one that needs them goes, or waits for others. */
static bool v1_make_room(struct naive *naive, struct replica *replica, int id, int64_t need)
{
    while (need > replica->free_blocks) {
        if (replica->idle.id[replica->idle.n - 1] == id && replica->n_flying > 0) return false;
        int last = list_take(&replica->idle, replica->idle.n - 1);
        preempt(naive, replica, last);
        if (last == id) return false;
    }
    return true;
}

static void v1_compose(struct naive *naive, struct replica *replica, struct batch *batch)
{
    int budget = naive->s->max_tokens, waits = 0;
    for (int i = 0; i < replica->idle.n && budget > 0; i++) {
        int id = replica->idle.id[i];
        struct sequence *sequence = &naive->sequences[id];
        bool prompt = is_prompt(sequence);
        int left = sequence->todo - sequence->processed, tokens = !prompt ? 1 : left < budget ? left : budget;
        int64_t need = blocks_of(naive, sequence->processed + (prompt ? tokens : 0)) - sequence->blocks;
        if ((waits = !v1_make_room(naive, replica, id, need))) break;
        take_blocks(naive, replica, id, need);
        batch_add(batch, id, tokens);
        budget -= tokens;
    }
    for (int i = 0; i < batch->n; i++) list_take(&replica->idle, 0); /* those in the batch, in the same order */
    if (waits) return;
    take_remote(naive, replica, batch);
    while (!replica->preempted && replica->waiting.n > 0 && budget > 0 &&
           admitted(replica) + batch->n < naive->s->max_sequences) {
        int todo = naive->sequences[replica->waiting.id[0]].todo, tokens = todo < budget ? todo : budget;
        if (blocks_of(naive, tokens) > replica->free_blocks) return;
        admit_head(naive, replica, batch, blocks_of(naive, tokens), tokens);
        budget -= tokens;
    }
}

/* --- Orca and FasterTransformer: everything is reserved at admission --- */

static int64_t reserved_blocks(const struct naive *naive, int id)
{
    const struct naive_request *request = &naive->s->requests[id];
    int64_t bound = 1, tokens = naive->s->max_tokens;
    while (bound < request->output) bound *= 2;
    if (naive->s->reservation == NAIVE_ORACLE) bound = request->output;
    if (naive->s->reservation != NAIVE_MAX && request->prompt + bound < tokens) tokens = request->prompt + bound;
    return blocks_of(naive, tokens) < naive->s->blocks ? blocks_of(naive, tokens) : naive->s->blocks;
}

static void orca_compose(struct naive *naive, struct replica *replica, struct batch *batch)
{
    bool empty = admitted(replica) == 0;
    while (replica->idle.n > 0) batch_add(batch, list_take(&replica->idle, 0), 1);
    if (naive->s->kind == NAIVE_FASTER_TRANSFORMER && !empty) return;
    while (replica->waiting.n > 0) {
        int id = replica->waiting.id[0];
        int64_t need = reserved_blocks(naive, id);
        if (naive->s->requests[id].prompt + naive->s->requests[id].output > naive->s->max_tokens) {
            naive->outcomes[list_take(&replica->waiting, 0)].rejected = true;
            continue;
        }
        if (need > replica->free_blocks || batch->n == naive->s->max_sequences) return; /* of a batch, as in Orca */
        admit_head(naive, replica, batch, need, naive->sequences[id].todo);
    }
}

static void (*const composers[])(struct naive *, struct replica *, struct batch *) = {
    v0_compose, v1_compose, sarathi_compose, orca_compose, orca_compose};

static int64_t batch_ns(const struct naive *naive, const struct batch *batch)
{
    const struct naive_terms *prefill = &naive->s->prefill, *decode = &naive->s->decode;
    double fixed = 0, ns = 0;
    int decoding = 0;
    for (int i = 0; i < batch->n; i++) decoding += !is_prompt(&naive->sequences[batch->id[i]]);
    if (naive->s->large_from > 0 && decoding >= naive->s->large_from) decode = &naive->s->decode_large;
    for (int i = 0; i < batch->n; i++) {
        const struct sequence *sequence = &naive->sequences[batch->id[i]];
        bool prompt = is_prompt(sequence);
        const struct naive_terms *terms = prompt ? prefill : decode;
        double n = batch->tokens[i], p = sequence->processed;
        if (terms->fixed > fixed) fixed = terms->fixed;
        ns += terms->sequence + terms->token * n + terms->context * p;
        if (prompt) ns += terms->pair * (n * n + 2 * n * p);
    }
    return llrint(fixed + ns);
}

/* Passes the stages in turn, each after the batches before it. */
static void start(struct naive *naive, struct replica *replica, struct batch *batch)
{
    int64_t stage_ns = batch_ns(naive, batch), at_ns = naive->now_ns + replica->copied_blocks * naive->s->copy_block_ns;
    for (int stage = 0; stage < naive->s->stages; stage++) {
        if (at_ns < replica->stage_free_ns[stage]) at_ns = replica->stage_free_ns[stage];
        at_ns += stage_ns;
        replica->stage_free_ns[stage] = at_ns;
    }
    batch->end_ns = at_ns;
    replica->copied_blocks = 0;
    replica->flying[replica->n_flying++] = *batch;
    naive->batches++;
}

static void schedule(struct naive *naive, struct replica *replica)
{
    static const struct batch empty;
    while (replica->n_flying < naive->s->stages) {
        struct batch batch = empty;
        replica->preempted = false;
        while (replica->moved.n > 0) list_insert(&replica->idle, replica->idle.n, list_take(&replica->moved, 0));
        composers[naive->s->kind](naive, replica, &batch);
        if (batch.n > 0)
            start(naive, replica, &batch);
        else if (!replica->preempted)
            return;
    }
}

/* Those that go on are idle again: vLLM v1 has them in order of admission, the others as they come back. */
static void rejoin(struct naive *naive, struct replica *replica, int id)
{
    struct list *idle = &replica->idle;
    int at = idle->n;
    while (naive->s->kind == NAIVE_VLLM_V1 && at > 0 &&
           naive->sequences[idle->id[at - 1]].number > naive->sequences[id].number)
        at--;
    list_insert(idle, at, id);
}

/* To the decoding replica with the fewest requests. The KV blocks stay here until they have moved. */
static void hand_over(struct naive *naive, int id)
{
    int best = naive->s->prefill_replicas;
    for (int i = best + 1; i < naive->s->replicas; i++)
        if (requests_at(&naive->replicas[i]) < requests_at(&naive->replicas[best])) best = i;
    struct list *remote = &naive->replicas[best].remote;
    struct sequence *sequence = &naive->sequences[id];
    sequence->handed_blocks = sequence->blocks;
    sequence->blocks = 0;
    sequence->left_ns = sequence->todo * naive->s->kv_token_ns;
    sequence->moves = naive->s->push;
    list_insert(remote, remote->n, id);
}

static void end_batch(struct naive *naive, struct replica *replica)
{
    struct batch batch = replica->flying[0];
    replica->n_flying--;
    memmove(replica->flying, replica->flying + 1, (size_t)replica->n_flying * sizeof *replica->flying);
    for (int i = 0; i < batch.n; i++) {
        int id = batch.id[i];
        struct sequence *sequence = &naive->sequences[id];
        struct naive_outcome *outcome = &naive->outcomes[id];
        bool prompt = is_prompt(sequence);
        sequence->processed += batch.tokens[i];
        if (is_prompt(sequence)) {
            rejoin(naive, replica, id);
            continue;
        }
        if (prompt) sequence->processed++;
        if (++sequence->generated == 1) outcome->first_ns = naive->now_ns;
        if (sequence->generated < sequence->output) {
            if (outcome->replica < naive->s->prefill_replicas)
                hand_over(naive, id);
            else
                rejoin(naive, replica, id);
        } else {
            outcome->end_ns = naive->now_ns;
            give_blocks(naive, replica, id);
        }
    }
}

/* --- Arrivals and time --- */

/* What the router counts: requests, those that wait, or the prompt tokens still to be processed. */
static int64_t load_of(const struct naive *naive, int which)
{
    const struct replica *replica = &naive->replicas[which];
    int64_t tokens = 0;
    if (naive->s->routing == NAIVE_LEAST_WAITING) return replica->waiting.n;
    if (naive->s->routing == NAIVE_LEAST_OUTSTANDING) return requests_at(replica);
    for (int id = 0; id < naive->arrived; id++) {
        const struct sequence *sequence = &naive->sequences[id];
        const struct naive_outcome *outcome = &naive->outcomes[id];
        if (outcome->replica == which && outcome->end_ns < 0 && !outcome->rejected && is_prompt(sequence))
            tokens += sequence->todo - sequence->processed;
    }
    return tokens;
}

static int route(struct naive *naive, int id)
{
    int best = 0, n = naive->s->prefill_replicas > 0 ? naive->s->prefill_replicas : naive->s->replicas;
    if (naive->s->routing == NAIVE_GIVEN) return naive->s->requests[id].replica;
    if (naive->s->routing == NAIVE_ROUND_ROBIN) return naive->next_replica++ % n;
    for (int i = 1; i < n; i++)
        if (load_of(naive, i) < load_of(naive, best)) best = i;
    return best;
}

static void arrive(struct naive *naive)
{
    int id = naive->arrived++;
    const struct naive_request *request = &naive->s->requests[id];
    int64_t tokens = request->prompt + request->output;
    naive->outcomes[id] = (struct naive_outcome){.first_ns = -1, .end_ns = -1, .replica = -1};
    naive->sequences[id] = (struct sequence){.todo = request->prompt, .output = request->output};
    if (tokens > naive->s->max_context || blocks_of(naive, tokens - 1) > naive->s->blocks) {
        naive->outcomes[id].rejected = true;
        return;
    }
    int chosen = route(naive, id);
    struct list *waiting = &naive->replicas[chosen].waiting;
    naive->outcomes[id].replica = chosen;
    list_insert(waiting, waiting->n, id);
}

static int sharers(const struct naive *naive)
{
    int n = 0;
    for (int id = 0; id < naive->arrived; id++) n += naive->sequences[id].moves;
    return naive->s->shared_link && n > 0 ? n : 1;
}

static int64_t move_end_ns(const struct naive *naive, int id)
{
    return naive->moved_ns + llrint(naive->sequences[id].left_ns * sharers(naive));
}

/* Everything on the link has moved on since the last time; what has arrived and is taken may join. */
static void follow_moves(struct naive *naive)
{
    double alone_ns = (double)(naive->now_ns - naive->moved_ns) / sharers(naive);
    bool ended[NAIVE_REQUESTS];
    for (int id = 0; id < naive->arrived; id++)
        ended[id] = naive->sequences[id].moves && move_end_ns(naive, id) <= naive->now_ns;
    for (int id = 0; id < naive->arrived; id++) {
        naive->sequences[id].left_ns -= alone_ns;
        if (ended[id]) naive->sequences[id].moves = false, naive->sequences[id].is_here = true;
    }
    for (int r = 0; r < naive->s->replicas; r++) {
        struct replica *replica = &naive->replicas[r];
        for (int i = 0; i < replica->taken.n; i++) {
            int id = replica->taken.id[i];
            if (!naive->sequences[id].is_here) continue;
            release(naive, id);
            naive->outcomes[id].replica = r;
            list_insert(&replica->moved, replica->moved.n, list_take(&replica->taken, i--));
        }
    }
    naive->moved_ns = naive->now_ns;
}

static int64_t next_ns(const struct naive *naive)
{
    int64_t next = naive->arrived < naive->s->n ? naive->s->requests[naive->arrived].arrival_ns : INT64_MAX;
    for (int r = 0; r < naive->s->replicas; r++) {
        const struct replica *replica = &naive->replicas[r];
        if (replica->n_flying > 0 && replica->flying[0].end_ns < next) next = replica->flying[0].end_ns;
    }
    for (int id = 0; id < naive->arrived; id++)
        if (naive->sequences[id].moves && move_end_ns(naive, id) < next) next = move_end_ns(naive, id);
    return next < INT64_MAX ? next : -1;
}

int64_t naive_serve(const struct naive_scenario *scenario, struct naive_outcome *outcomes)
{
    struct naive *naive = calloc(1, sizeof *naive);
    if (naive == NULL) abort();
    naive->s = scenario;
    naive->outcomes = outcomes;
    for (int r = 0; r < scenario->replicas; r++) naive->replicas[r].free_blocks = scenario->blocks;
    while ((naive->now_ns = next_ns(naive)) >= 0) {
        follow_moves(naive);
        while (naive->arrived < scenario->n && scenario->requests[naive->arrived].arrival_ns == naive->now_ns)
            arrive(naive);
        for (int r = 0; r < scenario->replicas; r++) {
            struct replica *replica = &naive->replicas[r];
            while (replica->n_flying > 0 && replica->flying[0].end_ns == naive->now_ns) end_batch(naive, replica);
        }
        for (int r = 0; r < scenario->replicas; r++) schedule(naive, &naive->replicas[r]);
    }
    int64_t batches = naive->batches;
    for (int id = 0; id < scenario->n; id++)
        if (!outcomes[id].rejected && outcomes[id].end_ns < 0) batches = -1;
    free(naive);
    return batches;
}

static void nothing_takes_no_time(void)
{
    CHECK_EQ_INT(naive_serve(&(struct naive_scenario){.replicas = 1, .stages = 1}, NULL), 0);
}

TEST_SUITE(naive_serving)
{
    TEST(nothing_takes_no_time);
}
