/* Requests of several sequences in the naive simulator: every sequence has a table of its blocks, and every block a
 * count of the tables it is in. A sequence of slot k of request i has number k * n + i, for n requests.
 *
 * A plan counts with what is sure when it is made: a sequence whose last block others hold needs a block, and one that
 * goes frees the blocks that it alone holds. What is left over is free when the plan is carried out. */
#include "tests/oracle/naive_state.h"
#include "tests/support/harness.h"

static int root_of(const struct naive *naive, int id)
{
    return id % naive->s->n;
}

static int slot_of(const struct naive *naive, int id)
{
    return id / naive->s->n;
}

static int sibling(const struct naive *naive, int id, int slot)
{
    return slot * naive->s->n + root_of(naive, id);
}

/* --- Blocks --- */

static int new_block(struct naive *naive)
{
    if (naive->n_refs == NAIVE_BLOCKS) abort();
    naive->refs[naive->n_refs] = 1;
    return naive->n_refs++;
}

void samples_take(struct naive *naive, int id, int64_t blocks)
{
    struct sequence *sequence = &naive->sequences[id];
    for (int64_t i = 0; i < blocks; i++) {
        if (sequence->n_table == NAIVE_TABLE) abort();
        sequence->table[sequence->n_table++] = new_block(naive);
    }
}

/* In a decision only what the sequence alone holds is free at once. */
void samples_give(struct naive *naive, struct replica *replica, int id)
{
    struct sequence *sequence = &naive->sequences[id];
    for (int i = 0; i < sequence->n_table; i++) {
        const int block = sequence->table[i];
        if (naive->composing && naive->refs[block] > 1) {
            naive->deferred[naive->n_deferred++] = block;
            if (naive->n_deferred == NAIVE_BLOCKS) abort();
        } else if (--naive->refs[block] == 0) {
            replica->free_blocks++;
        }
    }
    sequence->n_table = 0;
    sequence->blocks = 0;
    sequence->copies = false;
}

static bool is_copied(const struct naive *naive, const struct sequence *sequence)
{
    const int cached = sequence->processed - 1;
    return cached % naive->s->block_tokens != 0 && naive->refs[sequence->table[cached / naive->s->block_tokens]] > 1;
}

/* --- Forking --- */

static void share_table(struct naive *naive, const struct sequence *from, struct sequence *to)
{
    for (int i = 0; i < from->n_table; i++) naive->refs[to->table[i] = from->table[i]]++;
    to->n_table = from->n_table;
    to->blocks = from->n_table;
}

static int output_of(const struct naive *naive, int id, int slot)
{
    const struct naive_sampling *sampling = naive->s->sampling;
    const struct naive_request *request = &naive->s->requests[root_of(naive, id)];
    int64_t most = naive->s->blocks * naive->s->block_tokens + 1;
    if (most > naive->s->max_context) most = naive->s->max_context;
    return sampling->length(sampling, root_of(naive, id), slot, request->output, (int)(most - request->prompt));
}

static void fork(struct naive *naive, struct replica *replica, int id)
{
    struct sequence *parent = &naive->sequences[id];
    const int width = parent->forks;
    parent->forks = 1;
    for (int slot = 0; slot < width; slot++) {
        const int new = sibling(naive, id, slot), output = output_of(naive, id, slot);
        struct sequence *sequence = &naive->sequences[new];
        if (new == id) continue;
        *sequence = *parent;
        sequence->n_table = 0;
        sequence->blocks = 0;
        sequence->number = naive->admissions++;
        sequence->output = output > parent->generated ? output : parent->generated;
        naive->outcomes[new] = naive->outcomes[id];
        naive->outcomes[new].preemptions = 0;
        naive->outcomes[new].end_ns = sequence->output > parent->generated ? -1 : naive->now_ns;
        if (naive->outcomes[new].end_ns >= 0) continue;
        share_table(naive, parent, sequence);
        naive_rejoin(naive, replica, new);
    }
}

void samples_fork_ready(struct naive *naive, struct replica *replica)
{
    for (int i = 0; i < replica->idle.n; i++) {
        struct sequence *sequence = &naive->sequences[replica->idle.id[i]];
        if (!is_prompt(sequence) && sequence->forks > 1) fork(naive, replica, replica->idle.id[i]);
    }
}

/* --- Decisions --- */

void samples_begin(struct naive *naive, const struct replica *replica)
{
    naive->composing = true;
    for (int i = 0; i < replica->idle.n; i++) {
        struct sequence *sequence = &naive->sequences[replica->idle.id[i]];
        sequence->copies = !is_prompt(sequence) && is_copied(naive, sequence);
    }
}

/* Beams go together: the first stays, as the request. Returns whether this one has gone with another one before. */
bool samples_drop_beams(struct naive *naive, int id)
{
    const struct naive_sampling *sampling = naive->s->sampling;
    if (!sampling->beams || is_prompt(&naive->sequences[id]) || naive->sequences[id].forks > 1) return false;
    if (naive->sequences[id].dropped) return true;
    for (int slot = 0; slot < sampling->width; slot++)
        if (sibling(naive, id, slot) != id) naive->sequences[sibling(naive, id, slot)].dropped = true;
    naive->sequences[id].forks = sampling->width;
    return false;
}

static void remove_dropped(struct naive *naive, struct replica *replica, struct batch *batch)
{
    for (int i = 0; i < replica->idle.n; i++)
        if (naive->sequences[replica->idle.id[i]].dropped) list_take(&replica->idle, i--);
    for (int i = 0; i < batch->n; i++) {
        if (!naive->sequences[batch->id[i]].dropped) continue;
        replica->free_blocks += naive->sequences[batch->id[i]].copies; /* reserved for it */
        batch->n--;
        memmove(batch->id + i, batch->id + i + 1, (size_t)(batch->n - i) * sizeof *batch->id);
        memmove(batch->tokens + i, batch->tokens + i + 1, (size_t)(batch->n - i) * sizeof *batch->tokens);
        i--;
    }
    for (int id = 0; id < naive_ids(naive); id++) {
        struct sequence *sequence = &naive->sequences[id];
        if (!sequence->dropped) continue;
        naive->dropped_preemptions[root_of(naive, id)] += naive->outcomes[id].preemptions;
        samples_give(naive, replica, id);
        *sequence = (struct sequence){0};
    }
}

void samples_settle(struct naive *naive, struct replica *replica, struct batch *batch)
{
    naive->composing = false;
    while (naive->n_deferred > 0) replica->free_blocks += --naive->refs[naive->deferred[--naive->n_deferred]] == 0;
    remove_dropped(naive, replica, batch);
    for (int i = 0; i < batch->n; i++) {
        struct sequence *sequence = &naive->sequences[batch->id[i]];
        if (is_prompt(sequence) || !sequence->copies) continue;
        int *last = &sequence->table[(sequence->processed - 1) / naive->s->block_tokens];
        sequence->copies = false;
        if (naive->refs[*last] == 1) {
            replica->free_blocks++;
        } else {
            naive->refs[*last]--;
            *last = new_block(naive);
        }
    }
    if (replica->free_blocks < 0) abort();
}

static bool waits(const struct replica *replica, int id)
{
    for (int i = 0; i < replica->waiting.n; i++)
        if (replica->waiting.id[i] == id) return true;
    return false;
}

/* The batch is given up: what it reserved is free, and its sequences are idle as before, but for those preempted. */
void samples_abandon(struct naive *naive, struct replica *replica, struct batch *batch, const struct list *before)
{
    for (int i = 0; i < batch->n; i++) {
        struct sequence *sequence = &naive->sequences[batch->id[i]];
        const int64_t held = blocks_of(naive, sequence->processed - !is_prompt(sequence));
        if (sequence->copies) replica->free_blocks++;
        while (sequence->n_table > held && !is_prompt(sequence)) {
            naive->refs[sequence->table[--sequence->n_table]]--;
            sequence->blocks--;
            replica->free_blocks++;
        }
    }
    batch->n = replica->idle.n = 0;
    for (int i = 0; i < before->n; i++)
        if (!waits(replica, before->id[i])) list_insert(&replica->idle, replica->idle.n, before->id[i]);
}

/* --- Beams --- */

static bool is_in(const struct batch *batch, int id)
{
    for (int i = 0; i < batch->n; i++)
        if (batch->id[i] == id) return true;
    return false;
}

static bool is_in_step(const struct naive *naive, const struct batch *batch, int root)
{
    for (int slot = 0; slot < naive->s->sampling->width; slot++) {
        const int id = sibling(naive, root, slot);
        const struct sequence *sequence = &naive->sequences[id];
        if (!is_in(batch, id) || sequence->generated != naive->sequences[root].generated || sequence->forks > 1 ||
            sequence->generated >= sequence->output)
            return false;
    }
    return true;
}

void samples_resample(struct naive *naive, struct replica *replica, const struct batch *batch)
{
    const struct naive_sampling *sampling = naive->s->sampling;
    static struct sequence before[NAIVE_WIDTH];
    if (!sampling->beams) return;
    for (int root = 0; root < naive->s->n; root++) {
        int parents[NAIVE_WIDTH];
        if (!is_in_step(naive, batch, root)) continue;
        sampling->parents(sampling, root, naive->sequences[root].generated, parents);
        for (int slot = 0; slot < sampling->width; slot++) before[slot] = naive->sequences[sibling(naive, root, slot)];
        for (int slot = 0; slot < sampling->width; slot++)
            share_table(naive, &before[parents[slot]], &naive->sequences[sibling(naive, root, slot)]);
        for (int slot = 0; slot < sampling->width; slot++)
            for (int i = 0; i < before[slot].n_table; i++)
                replica->free_blocks += --naive->refs[before[slot].table[i]] == 0;
    }
}

/* --- Outcomes --- */

/* The outcome of a request is that of the sequence that went last, with sums over all. */
void samples_join(const struct naive *naive, int root)
{
    const struct naive_scenario *s = naive->s;
    struct naive_outcome all = naive->outcomes[root];
    bool any = false, all_gone = true;
    int64_t gap_ns = -1;
    all.preemptions = naive->dropped_preemptions[root];
    all.end_ns = -1;
    for (int slot = 0; slot < s->sampling->width; slot++) {
        const int id = sibling(naive, root, slot);
        const struct naive_outcome *one = &naive->outcomes[id];
        const int64_t gone_ns = one->rejected ? one->rejected_ns : one->end_ns;
        if (naive->sequences[id].output == 0) continue; /* there is none */
        all.preemptions += one->preemptions;
        all_gone &= one->rejected || one->end_ns >= 0;
        any |= one->end_ns >= 0;
        if (gone_ns > all.end_ns) all.end_ns = gone_ns;
        if (one->end_number > all.end_number) all.end_number = one->end_number;
        if (one->max_gap_ns > gap_ns) gap_ns = one->max_gap_ns;
    }
    if (!all_gone) abort();
    all.rejected = !any;
    all.max_gap_ns = gap_ns;
    if (!any) all.end_ns = -1;
    naive->outcomes[root] = all;
}

TEST(a_slot_and_a_root_make_a_number)
{
    static struct naive_scenario s = {.n = 7};
    static struct naive naive = {.s = &s};
    CHECK_EQ_INT(sibling(&naive, 3, 2), 17);
    CHECK_EQ_INT(root_of(&naive, 17), 3);
    CHECK_EQ_INT(slot_of(&naive, 17), 2);
    CHECK_EQ_INT(sibling(&naive, 17, 0), 3);
}
