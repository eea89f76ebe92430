/* The naive simulator: time, arrivals and what moves. Batchers (naive_batchers.c) are as their papers and engines
 * have them, pipelines as Vidur has them: as many batches in flight as stages, each stage serves them in order, a
 * request is in one at a time. */
#include "tests/oracle/naive_state.h"
#include "tests/support/harness.h"

/* --- Speculation --- */

int naive_drafts(const struct naive *naive, const struct replica *replica)
{
    const struct naive_speculation *speculation = naive->s->speculation;
    if (speculation == NULL) return 0;
    for (int i = 0; i < replica->idle.n; i++)
        if (!is_prompt(&naive->sequences[replica->idle.id[i]]))
            return speculation->tokens > 0 ? speculation->tokens : speculation->drafts;
    return 0;
}

/* Drafts in a row. */
static int levels_of(const struct naive *naive, const struct batch *batch)
{
    return batch->is_tree ? naive->s->speculation->drafts : batch->drafts;
}

/* Blocks that a decoding sequence lacks for its newest token and so many drafts, none beyond its last token. */
static int64_t lacks(const struct naive *naive, const struct sequence *sequence, int drafts)
{
    const int left = sequence->output - sequence->generated - 1;
    const int64_t need = blocks_of(naive, sequence->processed + (drafts < left ? drafts : left)) - sequence->blocks;
    return need > 0 ? need : 0;
}

static int64_t batch_lacks(const struct naive *naive, const struct batch *batch, int drafts)
{
    int64_t blocks = 0;
    for (int i = 0; i < batch->n; i++)
        if (!is_prompt(&naive->sequences[batch->id[i]]))
            blocks += lacks(naive, &naive->sequences[batch->id[i]], drafts);
    return blocks;
}

/* Drafts are made for sequences that decoded here before: without any in the batch there are none. */
static bool decodes(const struct naive *naive, const struct list *idle, const struct batch *batch)
{
    for (int i = 0; i < batch->n; i++)
        for (int k = 0; k < idle->n && !is_prompt(&naive->sequences[batch->id[i]]); k++)
            if (idle->id[k] == batch->id[i]) return true;
    return false;
}

/* As many drafts as there are blocks for, a chain if not the whole tree. */
static void take_drafts(struct naive *naive, struct replica *replica, const struct list *idle, struct batch *batch,
                        int planned)
{
    batch->drafts = decodes(naive, idle, batch) ? planned : 0;
    while (batch->drafts > 0 && batch_lacks(naive, batch, batch->drafts) > replica->free_blocks) batch->drafts--;
    batch->is_tree = naive->s->speculation->tokens > 0 && batch->drafts == planned;
    if (!batch->is_tree && batch->drafts > naive->s->speculation->drafts) batch->drafts = naive->s->speculation->drafts;
    for (int i = 0; i < batch->n && batch->drafts > 0; i++) {
        struct sequence *sequence = &naive->sequences[batch->id[i]];
        if (is_prompt(sequence)) continue;
        sequence->drafted = lacks(naive, sequence, batch->drafts);
        replica->free_blocks -= sequence->drafted;
        sequence->blocks += sequence->drafted;
    }
}

/* Right drafts of a sequence that has just got its token. Blocks without a token of its own are free again. */
static int accept_drafts(struct naive *naive, struct replica *replica, const struct batch *batch, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    const int left = sequence->output - sequence->generated, levels = levels_of(naive, batch);
    const int right = naive->s->speculation->right(naive->s->speculation, batch->is_tree, id, sequence->generated - 1,
                                                   levels < left ? levels : left);
    sequence->processed += right;
    sequence->generated += right;
    sequence->draft_processed = sequence->processed;
    int64_t unused = sequence->blocks - blocks_of(naive, sequence->processed - 1);
    if (unused > sequence->drafted) unused = sequence->drafted;
    sequence->blocks -= unused;
    replica->free_blocks += unused;
    sequence->drafted = 0;
    return right;
}

/* The draft LLM or layer: what it lacks of the sequences in a pass of its own, then one pass for each draft, of a tree
 * for each level. */
static double draft_ns_of(const struct naive *naive, const struct batch *batch)
{
    const struct naive_speculation *speculation = naive->s->speculation;
    const struct naive_terms *prefill = &speculation->prefill, *decode = &speculation->decode;
    double lacking_ns = 0, ns = 0;
    for (int i = 0; i < batch->n && batch->drafts > 0; i++) {
        const struct sequence *sequence = &naive->sequences[batch->id[i]];
        double p = sequence->draft_processed, n = sequence->processed - 1 - p;
        if (is_prompt(sequence) || n <= 0) continue;
        if (lacking_ns <= 0) lacking_ns = prefill->fixed + (double)speculation->pass_ns;
        lacking_ns += prefill->sequence + prefill->token * n + prefill->context * p +
                      prefill->pair * (n * n + 2 * n * p);
    }
    for (int pass = 0; pass < (batch->is_tree ? speculation->passes : batch->drafts); pass++) {
        const int width = batch->is_tree && pass > 0 ? speculation->width : 1;
        ns += decode->fixed + (double)speculation->pass_ns;
        for (int i = 0; i < batch->n; i++) {
            const struct sequence *sequence = &naive->sequences[batch->id[i]];
            if (!is_prompt(sequence))
                ns += decode->sequence + decode->token * width + decode->context * (sequence->processed + pass);
        }
    }
    for (int i = 0; i < batch->n && batch->drafts > 0; i++)
        if (!is_prompt(&naive->sequences[batch->id[i]])) ns += (double)speculation->sequence_ns;
    return lacking_ns + ns;
}

/* --- Batches --- */

/* A stage's part of the batch. */
static int64_t stage_ns_of(const struct naive *naive, const struct replica *replica, const struct batch *batch)
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
        double n = batch->tokens[i] + (prompt ? 0 : batch->drafts), p = sequence->processed;
        if (terms->fixed > fixed) fixed = terms->fixed;
        ns += terms->sequence + terms->token * n + terms->context * p;
        if (prompt) ns += terms->pair * (n * n + 2 * n * p);
    }
    if (naive->s->decode_stages > 0)
        return llrint(fixed + ns) * naive->s->stages * naive->s->decode_stages / stages_of(naive, replica);
    return llrint(fixed + ns);
}

/* Passes the stages in turn, each after the batches before it. The last one drafts. */
static void start(struct naive *naive, struct replica *replica, struct batch *batch)
{
    const bool drafts = naive->s->speculation != NULL && index_of(naive, replica) >= naive->s->prefill_replicas;
    const int64_t stage_ns = stage_ns_of(naive, replica, batch);
    const int64_t draft_ns = drafts ? llrint(draft_ns_of(naive, batch)) : 0;
    const int stages = stages_of(naive, replica);
    int64_t at_ns = naive->now_ns + replica->copied_blocks * naive->s->copy_block_ns;
    for (int stage = 0; stage < stages; stage++) {
        if (at_ns < replica->stage_free_ns[stage]) at_ns = replica->stage_free_ns[stage];
        at_ns += stage_ns + (stage == stages - 1 ? draft_ns : 0);
        replica->stage_free_ns[stage] = at_ns;
    }
    batch->end_ns = at_ns;
    replica->copied_blocks = 0;
    replica->flying[replica->n_flying++] = *batch;
    naive->batches++;
}

/* Those that go on are idle again: vLLM v1 has them in order of admission, the others as they come back. */
void naive_rejoin(struct naive *naive, struct replica *replica, int id)
{
    struct list *idle = &replica->idle;
    int at = idle->n;
    while (naive->s->kind == NAIVE_VLLM_V1 && at > 0 &&
           naive->sequences[idle->id[at - 1]].number > naive->sequences[id].number)
        at--;
    list_insert(idle, at, id);
}

/* The KV has come: the block that was kept for the next token is that token's to take. */
static void join_moved(struct naive *naive, struct replica *replica, int id)
{
    int64_t held = blocks_of(naive, naive->sequences[id].processed - 1);
    replica->free_blocks += naive->sequences[id].blocks - held;
    naive->sequences[id].blocks = held;
    naive_rejoin(naive, replica, id);
}

static void schedule(struct naive *naive, struct replica *replica)
{
    static const struct batch empty;
    while (replica->n_flying < stages_of(naive, replica)) {
        struct batch batch = empty;
        replica->preempted = false;
        while (replica->moved.n > 0) join_moved(naive, replica, list_take(&replica->moved, 0));
        const int drafts = naive_drafts(naive, replica);
        const struct list idle = replica->idle;
        if (naive->s->sampling != NULL) samples_fork_ready(naive, replica);
        if (naive->s->sampling != NULL) samples_begin(naive, replica);
        naive_compose(naive, replica, &batch);
        if (naive->s->sampling != NULL) samples_settle(naive, replica, &batch);
        if (drafts > 0) take_drafts(naive, replica, &idle, &batch, drafts);
        if (batch.n > 0)
            start(naive, replica, &batch);
        else if (!replica->preempted)
            return;
    }
}

static int take_group(const struct naive *naive, struct replica *replica)
{
    return replica->next_group++ % groups_of(naive, replica);
}

/* To the decoding replica with the fewest requests, of those that are up. False: none is. */
static bool send(struct naive *naive, int id)
{
    int best = -1;
    for (int i = naive->s->prefill_replicas; i < naive->s->replicas; i++)
        if (is_up(naive, &naive->replicas[i]) &&
            (best < 0 || requests_at(&naive->replicas[i]) < requests_at(&naive->replicas[best])))
            best = i;
    if (best < 0) return false;
    struct list *remote = &naive->replicas[best].remote;
    struct sequence *sequence = &naive->sequences[id];
    sequence->left_ns = sequence->todo * naive->s->kv_token_ns;
    sequence->moves = naive->s->push;
    sequence->to = best;
    sequence->to_group = take_group(naive, &naive->replicas[best]);
    list_insert(remote, remote->n, id);
    return true;
}

/* The KV blocks stay here until they have moved. */
static void hand_over(struct naive *naive, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    sequence->handed_blocks = sequence->blocks;
    sequence->blocks = 0;
    sequence->from_group = take_group(naive, &naive->replicas[naive->outcomes[id].replica]);
    if (!send(naive, id)) list_insert(&naive->undecided, naive->undecided.n, id);
}

/* Whether a sequence of the batch ends before another one that it stands behind. In vLLM V1 none does: the scheduler
 * frees sequences in the order of its running list (update_from_output), which is that of the batch. Elsewhere those
 * whose prompt was processed end first, then those that decoded, by the id of their request. */
static bool ends_before(const struct naive *naive, int id, bool was_prompt, int other, bool other_was_prompt)
{
    if (naive->s->kind == NAIVE_VLLM_V1) return false;
    if (was_prompt != other_was_prompt) return was_prompt;
    return !was_prompt && id % naive->s->n < other % naive->s->n;
}

static void number_ends(struct naive *naive, const struct batch *batch, const bool *was_prompt)
{
    bool is_numbered[NAIVE_REQUESTS] = {false};
    for (int turn = 0; turn < batch->n; turn++) {
        int first = -1;
        for (int i = 0; i < batch->n; i++)
            if (!is_numbered[i] &&
                (first < 0 || ends_before(naive, batch->id[i], was_prompt[i], batch->id[first], was_prompt[first])))
                first = i;
        is_numbered[first] = true;
        if (naive->outcomes[batch->id[first]].end_ns == naive->now_ns)
            naive->outcomes[batch->id[first]].end_number = ++naive->ends;
    }
}

static void end_batch(struct naive *naive, struct replica *replica)
{
    struct batch batch = replica->flying[0];
    bool was_prompt[NAIVE_REQUESTS];
    replica->n_flying--;
    memmove(replica->flying, replica->flying + 1, (size_t)replica->n_flying * sizeof *replica->flying);
    for (int i = 0; i < batch.n; i++) {
        int id = batch.id[i];
        struct sequence *sequence = &naive->sequences[id];
        struct naive_outcome *outcome = &naive->outcomes[id];
        bool prompt = was_prompt[i] = is_prompt(sequence);
        sequence->processed += batch.tokens[i];
        if (is_prompt(sequence)) {
            naive_rejoin(naive, replica, id);
            continue;
        }
        if (prompt) sequence->processed++;
        if (++sequence->generated == 1)
            outcome->first_ns = naive->now_ns;
        else if (naive->now_ns - outcome->token_ns > outcome->max_gap_ns)
            outcome->max_gap_ns = naive->now_ns - outcome->token_ns;
        outcome->token_ns = naive->now_ns;
        if (!prompt && batch.drafts > 0) outcome->right += accept_drafts(naive, replica, &batch, id);
        if (sequence->generated < sequence->output) {
            if (outcome->replica < naive->s->prefill_replicas)
                hand_over(naive, id);
            else
                naive_rejoin(naive, replica, id);
        } else {
            outcome->end_ns = naive->now_ns;
            give_blocks(naive, replica, id);
        }
    }
    number_ends(naive, &batch, was_prompt);
    if (naive->s->sampling != NULL) samples_resample(naive, replica, &batch);
}

/* --- Arrivals and time --- */

/* What the router counts: requests, those that wait, or the prompt tokens still to be processed. */
static int64_t load_of(const struct naive *naive, int which)
{
    const struct replica *replica = &naive->replicas[which];
    int64_t tokens = 0;
    if (naive->s->routing == NAIVE_LEAST_WAITING) return replica->waiting.n;
    if (naive->s->routing == NAIVE_LEAST_OUTSTANDING) return requests_at(replica);
    for (int id = 0; id < naive_ids(naive); id++) {
        const struct sequence *sequence = &naive->sequences[id];
        const struct naive_outcome *outcome = &naive->outcomes[id];
        if (sequence->output > 0 && outcome->replica == which && outcome->end_ns < 0 && !outcome->rejected &&
            is_prompt(sequence))
            tokens += sequence->todo - sequence->processed;
    }
    return tokens;
}

/* Of those that are up. */
static int route(struct naive *naive, int id)
{
    const int n = naive->s->prefill_replicas > 0 ? naive->s->prefill_replicas : naive->s->replicas;
    int up[NAIVE_REPLICAS] = {0}, n_up = 0, best = 0;
    if (naive->s->routing == NAIVE_GIVEN) return naive->s->requests[id].replica;
    for (int i = 0; i < n; i++)
        if (is_up(naive, &naive->replicas[i])) up[n_up++] = i;
    if (naive->s->routing == NAIVE_ROUND_ROBIN) {
        const int turn = naive->next_replica < n_up ? naive->next_replica : 0;
        naive->next_replica = (turn + 1) % n_up;
        return up[turn];
    }
    for (int i = 1; i < n_up; i++)
        if (load_of(naive, up[i]) < load_of(naive, up[best])) best = i;
    return up[best];
}

/* Of those that process prompts. */
static bool some_are_up(const struct naive *naive)
{
    const int n = naive->s->prefill_replicas > 0 ? naive->s->prefill_replicas : naive->s->replicas;
    for (int i = 0; i < n; i++)
        if (is_up(naive, &naive->replicas[i])) return true;
    return false;
}

static void enqueue(struct naive *naive, int id)
{
    int chosen = route(naive, id);
    struct list *waiting = &naive->replicas[chosen].waiting;
    naive->outcomes[id].replica = chosen;
    list_insert(waiting, waiting->n, id);
}

/* Into the part of an attention group of each replica. Where prompts are processed only, the prompt, unless a failure
 * may bring it back with its tokens. */
static bool fits_everywhere(const struct naive *naive, const struct naive_request *request)
{
    for (int i = 0; i < naive->s->replicas; i++) {
        const bool fails = naive->s->site != NULL && naive->s->site->n_causes > 0;
        const bool only_prompts = i < naive->s->prefill_replicas && !fails;
        const int64_t tokens = only_prompts ? request->prompt : request->prompt + request->output - 1;
        if (blocks_of(naive, tokens) + windows_of(naive, tokens, tokens) >
            naive->s->blocks / groups_of(naive, &naive->replicas[i]))
            return false;
    }
    return true;
}

static void arrive(struct naive *naive)
{
    int id = naive->arrived++;
    const struct naive_request *request = &naive->s->requests[id];
    int64_t tokens = request->prompt + request->output;
    naive->outcomes[id] = (struct naive_outcome){.first_ns = -1, .end_ns = -1, .replica = -1, .max_gap_ns = -1};
    naive->sequences[id] = (struct sequence){.todo = request->prompt, .output = request->output};
    if (naive->s->sampling != NULL) naive->sequences[id].forks = naive->s->sampling->width;
    if (tokens > naive->s->max_context || !fits_everywhere(naive, request)) {
        naive->outcomes[id].rejected = true;
        return;
    }
    if (naive->held.n > 0 || !some_are_up(naive))
        list_insert(&naive->held, naive->held.n, id);
    else
        enqueue(naive, id);
}

/* Requests that have lost their replica, or found none. */
static void release_held(struct naive *naive)
{
    naive->release_ns = INT64_MAX;
    while (naive->held.n > 0 && some_are_up(naive)) enqueue(naive, list_take(&naive->held, 0));
    while (naive->undecided.n > 0 && send(naive, naive->undecided.id[0])) list_take(&naive->undecided, 0);
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
    if (naive->s->site != NULL) site_follow_moves(naive, ended);
    for (int id = 0; id < naive->arrived; id++) {
        if (naive->sequences[id].moves) naive->sequences[id].left_ns -= alone_ns;
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

static bool is_over(const struct naive *naive)
{
    for (int id = 0; id < naive_ids(naive); id++)
        if (naive->sequences[id].output > 0 && naive->outcomes[id].end_ns < 0 && !naive->outcomes[id].rejected)
            return false;
    return naive->arrived == naive->s->n;
}

static int64_t next_ns(const struct naive *naive)
{
    int64_t next = naive->arrived < naive->s->n ? naive->s->requests[naive->arrived].arrival_ns : INT64_MAX;
    for (int r = 0; r < naive->s->replicas; r++) {
        const struct replica *replica = &naive->replicas[r];
        if (replica->n_flying > 0 && replica->flying[0].end_ns < next) next = replica->flying[0].end_ns;
    }
    for (int id = 0; id < naive->arrived && naive->s->site == NULL; id++)
        if (naive->sequences[id].moves && move_end_ns(naive, id) < next) next = move_end_ns(naive, id);
    if (naive->s->site != NULL && site_next_ns(naive) < next) next = site_next_ns(naive);
    if (naive->s->site != NULL && failures_next_ns(naive) < next) next = failures_next_ns(naive);
    if (naive->s->site != NULL && scaling_next_ns(naive) < next) next = scaling_next_ns(naive);
    if (naive->release_ns < next) next = naive->release_ns;
    return next < INT64_MAX && !is_over(naive) ? next : -1;
}

int64_t naive_serve(const struct naive_scenario *scenario, struct naive_outcome *outcomes)
{
    struct naive *naive = calloc(1, sizeof *naive);
    if (naive == NULL) abort();
    naive->s = scenario;
    naive->outcomes = outcomes;
    naive->release_ns = INT64_MAX;
    for (int r = 0; r < scenario->replicas; r++) naive->replicas[r].free_blocks = scenario->blocks;
    if (scenario->site != NULL) scaling_begin(naive);
    if (scenario->site != NULL) failures_begin(naive);
    while ((naive->now_ns = next_ns(naive)) >= 0) {
        follow_moves(naive);
        if (scenario->site != NULL) failures_strike(naive);
        if (naive->release_ns <= naive->now_ns) release_held(naive);
        while (naive->arrived < scenario->n && scenario->requests[naive->arrived].arrival_ns == naive->now_ns)
            arrive(naive);
        for (int r = 0; r < scenario->replicas; r++) {
            struct replica *replica = &naive->replicas[r];
            while (replica->n_flying > 0 && replica->flying[0].end_ns == naive->now_ns) end_batch(naive, replica);
        }
        do {
            naive->released = false;
            for (int r = 0; r < scenario->replicas; r++) schedule(naive, &naive->replicas[r]);
        } while (naive->released);
        if (scenario->site != NULL) site_begin_moves(naive);
        if (scenario->site != NULL && !is_over(naive)) scaling_follow(naive);
    }
    for (int id = 0; id < scenario->n && scenario->sampling != NULL; id++) samples_join(naive, id);
    int64_t batches = naive->batches;
    for (int id = 0; id < scenario->n; id++)
        if (!outcomes[id].rejected && outcomes[id].end_ns < 0) batches = -1;
    free(naive);
    return batches;
}

TEST(nothing_takes_no_time)
{
    CHECK_EQ_INT(naive_serve(&(struct naive_scenario){.replicas = 1, .stages = 1}, NULL), 0);
}
