/* Requests that decode as several sequences (sequence_group.h): when they fork, copy blocks and end.
 *
 * A request is one sequence until its prompt is processed, and its first token is that of all its sequences. It forks
 * before the next plan in which it is ready to decode. From then on each sequence is a request for the batcher: it
 * joins the batch, takes blocks and is preempted by itself. A preempted sample gives its shares back and processes the
 * prompt and its own tokens again, alone.
 *
 * Beams decode in lockstep. Behind each token every beam continues the history of a parent (sampling_parents), whose
 * blocks it then shares; blocks of histories that nobody continues are free. A batcher that preempts one beam preempts
 * all: the one that it named stays as the request, with its own history, and forks again when it is ready to decode.
 * So do beams whose replica fails. Beams that stand at different positions, because a batch left some out, keep their
 * histories.
 *
 * Leaves out: the time of copying a block, which sequences a model would prefer, beams that end early, the recomputing
 * of more than one history of beams. vLLM 0.2 to 0.6 preempts samples of a request together; vLLM v1 serves each by
 * itself. */
#include "sim/core/check.h"
#include "sim/world/replica/inside.h"

#include <stddef.h>

/* --- Blocks --- */

/* Counts the change of the blocks that the group's members have in common. Returns by how many they are fewer. */
static int64_t count_change(struct replica *replica, const struct sequence_group *group, int64_t before)
{
    const int64_t fewer = before - sequence_group_overlap(group);
    replica->overlap_blocks -= fewer;
    SIM_REQUIRE(replica->overlap_blocks >= 0);
    return fewer;
}

static void unwatch(struct request *request)
{
    if (request->is_watched && request->running != NULL) request->running->n_watched--;
    request->is_watched = false;
}

int64_t replica_leave_group(struct replica *replica, struct request *request)
{
    struct sequence_group *group = request->group;
    if (group == NULL || group->members[request->slot] != request) return 0;
    const int64_t before = sequence_group_overlap(group);
    sequence_group_leave(group, request->slot);
    unwatch(request);
    return count_change(replica, group, before);
}

int64_t replica_group_blocks(const struct request *request)
{
    const struct sequence_group *group = request->group;
    if (group == NULL || group->members[request->slot] != request) return 0;
    return sequence_group_shared_blocks(group, request->slot);
}

bool replica_copies(const struct request *request, int64_t context_tokens, int64_t block_tokens)
{
    return request->is_watched && (context_tokens - 1) % block_tokens != 0 &&
           sequence_group_copies(request->group, request->slot, (context_tokens - 1) / block_tokens);
}

int64_t replica_copies_of(const struct running_batch *running)
{
    int64_t copies = 0;
    if (running->n_watched == 0) return 0;
    for (const struct request *r = running->members.head; r != NULL; r = request_of(r->view.next))
        copies += replica_copies(r, running_context(running, r), running->growth.block_tokens);
    return copies;
}

int64_t replica_repeated_tokens(const struct replica *replica)
{
    const struct running_batch *ready = replica->ready;
    const int64_t block_tokens = replica->kv.block_tokens;
    int64_t tokens = replica->overlap_blocks * block_tokens;
    if (ready->n_watched == 0) return tokens;
    for (const struct request *r = ready->members.head; r != NULL; r = request_of(r->view.next)) {
        const int64_t cached = running_context(ready, r) - 1, last_tokens = cached % block_tokens;
        if (r->is_watched && last_tokens > 0 && sequence_group_repeats(r->group, r->slot, cached / block_tokens))
            tokens -= block_tokens - last_tokens;
    }
    return tokens;
}

/* The sequence writes its newest token. */
static int write_token(struct replica *replica, const struct running_batch *running, struct request *request)
{
    struct sequence_group *group = request->group;
    const int64_t cached = running_context(running, request) - 1, block = cached / running->growth.block_tokens;
    const bool is_beam = replica->env->sampling->is_beam;
    if (is_beam && block > group->last_block) return sequence_group_grow(group);
    if (sequence_group_write(group, request->slot, block)) {
        replica->overlap_blocks--;
        replica->counts.copied_blocks++;
        replica_take_blocks(replica, 1);
    }
    if (is_beam) return 0;
    unwatch(request);
    sequence_group_end_row(group);
    return 0;
}

void replica_write_groups(struct replica *replica, struct running_batch *running)
{
    int code = 0;
    struct request *next;
    for (struct request *r = running->members.head; r != NULL && code == 0; r = next) {
        next = request_of(r->view.next);
        if (r->is_watched) code = write_token(replica, running, r);
    }
    if (code != 0) engine_fail(replica->env->engine, code);
}

/* Whether the beams of the group are complete in the batch, at one position, and go on. */
static bool is_in_step(const struct sequence_group *group, const struct running_batch *running)
{
    if (group->n_sharing < group->width || group->live < group->width) return false;
    const struct request *first = group->members[0];
    for (int32_t slot = 0; slot < group->width; slot++) {
        const struct request *beam = group->members[slot];
        if (beam->running != running || beam->finish_step <= running->step) return false;
        if (running_context(running, beam) != running_context(running, first)) return false;
    }
    return true;
}

void replica_resample_beams(struct replica *replica, struct running_batch *running)
{
    const struct sampling_model *model = replica->env->sampling;
    if (model == NULL || !model->is_beam || running->n_watched == 0) return;
    for (struct request *r = running->members.head; r != NULL; r = request_of(r->view.next)) {
        struct sequence_group *group = r->group;
        int32_t parents[SEQUENCES_MAX];
        if (!r->is_watched || group->members[0] != r || !is_in_step(group, running)) continue;
        const int64_t before = sequence_group_overlap(group);
        sampling_parents(model, r->view.id, running_generated(running, r), parents);
        sequence_group_resample(group, parents);
        kvcache_give(&replica->kv, -count_change(replica, group, before));
    }
}

/* --- Forking --- */

/* Most tokens of a sequence behind the prompt. */
static int64_t most_output(const struct replica *replica, const struct request *request)
{
    const int64_t slots = replica->env->sequence_blocks * replica->kv.block_tokens + 1; /* the last needs none */
    const int64_t context = replica->env->max_context_tokens;
    return (slots < context ? slots : context) - request->prompt_tokens;
}

/* A sequence like the one that forks, which is ready to decode. It holds nothing yet. */
static int make_sibling(struct replica *replica, const struct request *request, int32_t slot, struct request **made)
{
    const struct running_batch *ready = replica->ready;
    const int32_t output = sampling_length(replica->env->sampling, request->view.id, slot, request->output_tokens,
                                           most_output(replica, request));
    const int32_t generated = (int32_t)running_generated(ready, request);
    struct request *sibling = *made = replica->env->fork(replica, request, slot,
                                                         output > generated ? output : generated);
    if (sibling == NULL) return SIM_E_NOMEM;
    sibling->context_tokens = (int32_t)running_context(ready, request);
    sibling->generated_tokens = generated;
    sibling->joined_ns = ready->step > request->joined_step ? ready->last_token_ns : request->joined_ns;
    sibling->max_gap = running_max_gap(ready, request);
    sibling->view.preemptions = 0;
    sibling->view.admission = ++replica->admissions;
    sibling->grows = sibling->is_watched = false;
    sibling->held_blocks = 0;
    sibling->running = NULL;
    sibling->prefix = NULL;
    sibling->chunks = NULL;
    sibling->planned = 0;
    replica_add_load(replica, 1, 0, 0);
    return 0;
}

/* The sibling decodes, with the blocks of the sequence that forks. */
static int join_sibling(struct replica *replica, const struct request *request, struct request *sibling)
{
    const int code = replica_fork_prefix(replica, request, sibling);
    if (code != 0) return code;
    sibling->held_blocks = running_blocks(replica->ready, request);
    request->group->members[sibling->slot] = sibling;
    return running_join(replica->ready, sibling, replica->env->batcher->order);
}

static int share_blocks(struct replica *replica, struct request *request)
{
    struct sequence_group *group = request->group;
    const int64_t cached = running_context(replica->ready, request) - 1, block_tokens = replica->kv.block_tokens;
    const bool has_partial = cached % block_tokens != 0;
    SIM_REQUIRE(running_blocks(replica->ready, request) == kvcache_blocks(&replica->kv, cached));
    const int code = sequence_group_share(group, cached / block_tokens, replica_prefix_blocks(replica, request),
                                          has_partial);
    replica->overlap_blocks += sequence_group_overlap(group);
    for (int32_t slot = 0; slot < group->width; slot++) {
        struct request *member = group->members[slot];
        if (member == NULL || (!has_partial && !replica->env->sampling->is_beam)) continue;
        member->is_watched = true;
        replica->ready->n_watched++;
    }
    return code;
}

static int fork_request(struct replica *replica, struct request *request, sim_ns now)
{
    struct request *siblings[SEQUENCES_MAX];
    const int32_t n = 1 + request->view.further_sequences;
    int32_t n_siblings = 0;
    int code = request->group != NULL ? 0 : replica->env->begin_group(replica, request);
    if (code != 0) return code;
    struct sequence_group *group = request->group;
    group->live = n;
    request->view.further_sequences = 0;
    group->members[request->slot] = request;
    for (int32_t slot = 0; slot < n && code == 0; slot++) {
        if (slot == request->slot) continue;
        code = make_sibling(replica, request, slot, &siblings[n_siblings]);
        n_siblings += code == 0;
    }
    for (int32_t i = 0; i < n_siblings && code == 0; i++)
        if (siblings[i]->output_tokens > siblings[i]->generated_tokens)
            code = join_sibling(replica, request, siblings[i]);
    if (code == 0) code = share_blocks(replica, request);
    for (int32_t i = 0; i < n_siblings && code == 0; i++)
        if (siblings[i]->running == NULL) code = replica_finish(replica, siblings[i], now);
    return code;
}

int replica_fork_ready(struct replica *replica, sim_ns now)
{
    int code = 0;
    for (struct request *r = replica->ready->members.head; r != NULL && code == 0; r = request_of(r->view.next))
        if (r->view.further_sequences > 0) code = fork_request(replica, r, now);
    return code;
}

static void add_unforked(void *context, struct request *request)
{
    *(int64_t *)context += request->view.further_sequences;
}

int64_t replica_unforked_sequences(const struct replica *replica)
{
    const struct request_list *const lists[] = {&replica->prefilling, &replica->moving, &replica->arrived,
                                                &replica->ready->members};
    int64_t n = 0;
    if (replica->env->sampling == NULL) return 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) request_list_each(lists[i], add_unforked, &n);
    replica_each_in_flight(replica, add_unforked, &n);
    return n;
}

/* --- Beams that lose their KV --- */

bool replica_keep_beam(struct replica *replica, struct request *beam)
{
    struct sequence_group *group = beam->group;
    if (group == NULL || !replica->env->sampling->is_beam) return true;
    if (group->survivor == NULL && group->live > 1) {
        group->survivor = beam;
        beam->view.further_sequences = group->live - 1;
        group->live = 1;
        return true;
    }
    return group->live == 1 && (group->survivor == NULL || group->survivor == beam);
}

/* The beam leaves the batch for good. It is freed when the plan has been applied. */
static void drop_beam(struct replica *replica, struct request *beam)
{
    SIM_REQUIRE(beam->running == replica->ready);
    running_leave(replica->ready, beam);
    replica_give_blocks(replica, beam);
    beam->view.state = REQUEST_FINISHED;
    replica_add_load(replica, -1, 0, 0);
    request_list_push_back(&replica->dropped, beam);
    struct batch_plan *plan = &replica->plan;
    if (plan->decode_sequences < INT64_MAX && --plan->decode_sequences == 0) plan->decode = false;
}

void replica_drop_beams(struct replica *replica, struct request *survivor)
{
    const struct sequence_group *group = survivor->group;
    if (group == NULL || !replica->env->sampling->is_beam || group->live < 2) return;
    replica_keep_beam(replica, survivor);
    for (int32_t slot = 0; slot < group->width; slot++)
        if (group->members[slot] != NULL && group->members[slot] != survivor) drop_beam(replica, group->members[slot]);
}

void replica_free_dropped(struct replica *replica)
{
    while (replica->dropped.n > 0) {
        struct request *beam = replica->dropped.head;
        request_list_remove(&replica->dropped, beam);
        replica->env->drop(replica, beam);
    }
}
