/* The batchers of the naive simulator, as their papers and engines have them. */
#include "tests/oracle/naive_state.h"
#include "tests/support/harness.h"

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

static void take_blocks(struct naive *naive, struct replica *replica, int id, int64_t blocks)
{
    replica->free_blocks -= blocks;
    naive->sequences[id].blocks += blocks;
    if (naive->s->sampling != NULL) samples_take(naive, id, blocks);
    if (replica->free_blocks < 0) abort();
}

/* Out of the batch: to the head of the queue, to process everything again, or to the host's memory. */
static void preempt(struct naive *naive, struct replica *replica, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    if (naive->s->sampling != NULL && samples_drop_beams(naive, id)) {
        give_blocks(naive, replica, id);
        return;
    }
    naive->outcomes[id].preemptions++;
    naive->outcomes[id].cut_prompts += is_prompt(sequence) && sequence->processed > 0;
    sequence->draft_processed = 0;
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

static void reject(struct naive *naive, int id)
{
    naive->outcomes[id].rejected = true;
    naive->outcomes[id].rejected_ns = naive->now_ns;
}

static void admit_head(struct naive *naive, struct replica *replica, struct batch *batch, int64_t blocks, int tokens)
{
    int id = list_take(&replica->waiting, 0);
    naive->sequences[id].number = naive->admissions++;
    take_blocks(naive, replica, id, blocks);
    batch_add(batch, id, tokens);
}

/* A batch may hold its share of the sequences, as in Vidur; vLLM v1 has no such rule. */
static int batch_room(const struct naive *naive, const struct replica *replica, const struct batch *batch)
{
    const int stages = stages_of(naive, replica);
    if (naive->s->kind == NAIVE_VLLM_V1) return INT32_MAX;
    return (naive->s->max_sequences > stages ? naive->s->max_sequences / stages : 1) - batch->n;
}

/* --- vLLM v0 and Sarathi: a block must be free for each decode, needed or not --- */

static void v0_admit(struct naive *naive, struct replica *replica, struct batch *batch)
{
    const struct naive_scenario *s = naive->s;
    int64_t longest = 0, total = 0;
    while (replica->waiting.n > 0) {
        int64_t todo = naive->sequences[replica->waiting.id[0]].todo, need = blocks_of(naive, todo);
        if (todo > s->max_tokens || need + s->watermark_blocks > s->blocks) {
            reject(naive, list_take(&replica->waiting, 0));
            continue;
        }
        if (todo > longest) longest = todo;
        total += todo;
        if ((s->padded ? (batch->n + 1) * longest : total) > s->max_tokens) return;
        if (replica->free_blocks - need < s->watermark_blocks) return;
        if (!has_slots(naive, replica, batch, replica->waiting.id[0]) || batch_room(naive, replica, batch) == 0) return;
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
    else if (sequence->copies) replica->free_blocks--; /* settled when the decision is made */
    batch_add(batch, id, 1);
}

/* Whether one that comes back fits: the watermark is for when others run. */
static bool has_room(const struct naive *naive, const struct replica *replica, const struct batch *batch, int id,
                     int64_t blocks)
{
    int running = running_of(naive, replica, batch);
    return replica->free_blocks - blocks >= (running > 0 ? naive->s->watermark_blocks : 0) &&
           has_slots(naive, replica, batch, id);
}

/* The sequences on the host come back in order of arrival, as many as fit. While others run each is to find the blocks
 * that it had and one more, whether its next token needs it or not. */
static void swap_in(struct naive *naive, struct replica *replica, struct batch *batch)
{
    sort_by_arrival(naive, &replica->swapped);
    while (replica->swapped.n > 0 && batch_room(naive, replica, batch) > 0) {
        int id = replica->swapped.id[0], processed = naive->sequences[id].processed;
        bool alone = admitted(replica) + batch->n == 0;
        if (!has_room(naive, replica, batch, id,
                      alone ? blocks_of(naive, processed) : blocks_of(naive, processed - 1) + 1))
            return;
        list_take(&replica->swapped, 0);
        take_blocks(naive, replica, id, blocks_of(naive, processed));
        replica->copied_blocks += blocks_of(naive, processed - 1);
        batch_add(batch, id, 1);
    }
}

/* Whether a decoding sequence found no place in the batch. */
static bool leaves_one_out(const struct naive *naive, const struct replica *replica)
{
    for (int i = 0; i < replica->idle.n; i++)
        if (!is_prompt(&naive->sequences[replica->idle.id[i]])) return true;
    return false;
}

/* Sequences whose prompt was processed elsewhere are taken in order of coming: into the batch when their KV is here. */
static void take_remote(struct naive *naive, struct replica *replica, struct batch *batch, int budget)
{
    while (replica->remote.n > 0 && !leaves_one_out(naive, replica)) {
        int id = replica->remote.id[0];
        struct sequence *sequence = &naive->sequences[id];
        if (!has_room(naive, replica, batch, id, blocks_of(naive, sequence->processed))) return;
        if (sequence->is_here && (batch_room(naive, replica, batch) == 0 || budget-- == 0)) return;
        list_take(&replica->remote, 0);
        sequence->number = naive->admissions++;
        take_blocks(naive, replica, id, blocks_of(naive, sequence->processed));
        if (sequence->is_here) {
            release(naive, id);
            naive->outcomes[id].replica = index_of(naive, replica);
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
    while (replica->idle.n > 0 && batch_room(naive, replica, batch) > 0)
        decode_or_preempt(naive, replica, batch, list_take(&replica->idle, 0));
    if (replica->preempted) return;
    swap_in(naive, replica, batch);
    take_remote(naive, replica, batch, INT32_MAX);
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
            reject(naive, list_take(&replica->waiting, 0));
            continue;
        }
        if (!has_slots(naive, replica, batch, id) || batch_room(naive, replica, batch) == 0) return;
        if (replica->free_blocks - need < s->watermark_blocks || tokens == 0) return;
        admit_head(naive, replica, batch, need, tokens);
        used += tokens;
    }
}

static bool came_later(const struct naive *naive, int a, int b)
{
    int64_t a_ns = naive->s->requests[a].arrival_ns, b_ns = naive->s->requests[b].arrival_ns;
    return a_ns != b_ns ? a_ns > b_ns : naive->sequences[a].number > naive->sequences[b].number;
}

/* Where sequences come whose prompt was processed elsewhere, or return one by one of their request, prompts may have
 * arrived before those who decode: of the last ones of both the later arrival is last. */
static void merge_prompts(const struct naive *naive, struct list *idle)
{
    struct list parts[2] = {0}, merged = {0};
    while (idle->n > 0) {
        int id = list_take(idle, 0);
        struct list *part = &parts[is_prompt(&naive->sequences[id])];
        list_insert(part, part->n, id);
    }
    while (parts[0].n + parts[1].n > 0) {
        bool prompt = parts[0].n == 0 ||
                      (parts[1].n > 0 && came_later(naive, parts[1].id[parts[1].n - 1], parts[0].id[parts[0].n - 1]));
        list_insert(&merged, 0, list_take(&parts[prompt], parts[prompt].n - 1));
    }
    *idle = merged;
}

static void sarathi_compose(struct naive *naive, struct replica *replica, struct batch *batch)
{
    struct list prompts = {0}, skipped = {0};
    int used = 0;
    const int drafts = naive_drafts(naive, replica);
    const struct list before = replica->idle;
    const bool fails = naive->s->site != NULL && naive->s->site->n_causes > 0;
    if (naive->s->prefill_replicas > 0 || naive->s->sampling != NULL || fails) merge_prompts(naive, &replica->idle);
    while (replica->idle.n > 0 && batch_room(naive, replica, batch) > 0) {
        int id = list_take(&replica->idle, 0);
        if (is_prompt(&naive->sequences[id]))
            list_insert(&prompts, prompts.n, id);
        else
            decode_or_preempt(naive, replica, batch, id);
    }
    if (naive->s->sampling != NULL && replica->preempted) {
        samples_abandon(naive, replica, batch, &before);
        return;
    }
    const int each = batch->n > 0 ? 1 + drafts : 1; /* not if all have been preempted */
    take_remote(naive, replica, batch, INT32_MAX);
    used = batch->n * each;
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

/* Makes room for `need` blocks from the last sequence on. False when the one that needs them goes, or waits for
 * others. */
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

/* Whether the first goes before the second: by priority, then by arrival. */
static bool goes_before(const struct naive *naive, int a, int b)
{
    const struct naive_request *requests = naive->s->requests;
    if (requests[a].priority != requests[b].priority) return requests[a].priority < requests[b].priority;
    return requests[a].arrival_ns < requests[b].arrival_ns;
}

static void sort_by_priority(const struct naive *naive, struct list *list)
{
    for (int i = 0; i < list->n; i++)
        for (int k = i + 1; k < list->n; k++) {
            const int a = list->id[i], b = list->id[k];
            if (!goes_before(naive, b, a) && (goes_before(naive, a, b) || a < b)) continue;
            list->id[i] = b;
            list->id[k] = a;
        }
}

static void batch_drop(struct batch *batch, int at)
{
    batch->n--;
    memmove(batch->id + at, batch->id + at + 1, (size_t)(batch->n - at) * sizeof *batch->id);
    memmove(batch->used + at, batch->used + at + 1, (size_t)(batch->n - at) * sizeof *batch->used);
    memmove(batch->tokens + at, batch->tokens + at + 1, (size_t)(batch->n - at) * sizeof *batch->tokens);
}

/* The last by priority goes, also out of the batch, whose first ones are the first of `idle`. *at: the place of the one
 * that needs the blocks. Returns as v1_make_room. */
static bool v1_make_room_by_priority(struct naive *naive, struct replica *replica, struct batch *batch, int *at,
                                     int64_t need, int *budget)
{
    struct list *idle = &replica->idle;
    const int id = idle->id[*at];
    while (need > replica->free_blocks) {
        int last = 0;
        for (int i = 1; i < idle->n; i++)
            if (goes_before(naive, idle->id[last], idle->id[i])) last = i;
        if (idle->id[last] == id && replica->n_flying > 0) return false;
        if (last < *at) {
            *budget += batch->used[last];
            batch_drop(batch, last);
            --*at;
        }
        const int victim = list_take(idle, last);
        preempt(naive, replica, victim);
        if (victim == id) return false;
    }
    return true;
}

static void v1_compose(struct naive *naive, struct replica *replica, struct batch *batch)
{
    int budget = naive->s->max_tokens, waits = 0;
    const int each = 1 + naive_drafts(naive, replica);
    for (int i = 0; i < replica->idle.n && budget > 0; i++) {
        int id = replica->idle.id[i];
        struct sequence *sequence = &naive->sequences[id];
        bool prompt = is_prompt(sequence);
        int left = sequence->todo - sequence->processed, tokens = !prompt ? 1 : left < budget ? left : budget;
        int64_t need = blocks_of(naive, sequence->processed + (prompt ? tokens : 0)) + sequence->windows -
                       sequence->blocks;
        const bool copies = !prompt && sequence->copies;
        if (copies) need = 1;
        waits = naive->s->by_priority ? !v1_make_room_by_priority(naive, replica, batch, &i, need, &budget)
                                      : !v1_make_room(naive, replica, id, need);
        if (waits) break;
        if (copies)
            replica->free_blocks -= need; /* settled when the decision is made */
        else
            take_blocks(naive, replica, id, need);
        batch_add(batch, id, tokens);
        if (!prompt) tokens = each < budget ? each : budget; /* drafts beyond the budget are cut */
        batch->used[batch->n - 1] = tokens;
        budget -= tokens;
    }
    for (int i = 0; i < batch->n; i++) list_take(&replica->idle, 0); /* those in the batch, in the same order */
    if (waits || replica->preempted) return;
    int in_batch = batch->n;
    take_remote(naive, replica, batch, budget / each);
    budget -= (batch->n - in_batch) * each;
    if (naive->s->by_priority) sort_by_priority(naive, &replica->waiting);
    while (replica->waiting.n > 0 && budget > 0 && has_slots(naive, replica, batch, replica->waiting.id[0])) {
        const int id = replica->waiting.id[0], todo = naive->sequences[id].todo, tokens = todo < budget ? todo : budget;
        const int last = naive->s->requests[id].prompt + naive->s->requests[id].output - 1;
        const int64_t windows = windows_of(naive, todo, last), need = blocks_of(naive, tokens) + windows;
        if (need > replica->free_blocks) return;
        admit_head(naive, replica, batch, need, tokens);
        naive->sequences[id].windows = windows;
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

void naive_compose(struct naive *naive, struct replica *replica, struct batch *batch)
{
    composers[naive->s->kind](naive, replica, batch);
}

TEST(no_requests_make_no_batch)
{
    static struct naive_scenario s = {.replicas = 1, .stages = 1, .block_tokens = 4, .max_sequences = 8, .max_tokens = 9};
    static struct naive naive = {.s = &s};
    for (int kind = NAIVE_VLLM_V0; kind <= NAIVE_FASTER_TRANSFORMER; kind++) {
        struct batch batch = {0};
        s.kind = (enum naive_kind)kind;
        naive_compose(&naive, &naive.replicas[0], &batch);
        CHECK_EQ_INT(batch.n, 0);
    }
}
