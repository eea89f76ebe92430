#include "traces/session.h"

#include "sim/core/check.h"
#include "sim/core/hash.h"
#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdio.h>
#include <string.h>

/* --- Plans --- */

int session_plan_add(struct session_plan *plan, const struct session_turn *turn)
{
    return vec_push(&plan->turns, &plan->n_turns, &plan->capacity, *turn) == 0 ? 0 : SIM_E_NOMEM;
}

void session_plan_fini(struct session_plan *plan)
{
    mem_free(plan->turns);
}

static bool links_are_right(const struct session_plan *plan, int32_t i)
{
    const struct session_turn *turn = &plan->turns[i];
    const bool parent = i == 0 ? turn->parent == -1 : turn->parent >= 0 && turn->parent < i;
    return parent && (turn->joined_by == -1 || (turn->joined_by > i && turn->joined_by < (int32_t)plan->n_turns));
}

static const char *link_turn(struct session_plan *plan, int32_t i)
{
    struct session_turn *turn = &plan->turns[i];
    if (turn->input_tokens < 1 || turn->output_tokens < 1) return "needs at least one input and one output token";
    if (turn->wait_ns < 0) return "has a negative wait";
    if (!links_are_right(plan, i)) return "must continue an earlier turn, and be joined by a later one";
    struct session_turn *parent = i > 0 ? &plan->turns[turn->parent] : NULL;
    const int64_t end = (int64_t)(parent != NULL ? parent->end_tokens : plan->system_tokens) + turn->input_tokens +
                        turn->output_tokens;
    if (end > INT32_MAX) return "has a context of more than 2147483647 tokens";
    turn->end_tokens = (int32_t)end;
    if (parent == NULL) return NULL;
    turn->n_needed++;
    turn->next_child = parent->child;
    parent->child = i;
    return NULL;
}

/* Whether the turn is needed for a later one, or is the last. */
static bool leads_on(const struct session_plan *plan, size_t i)
{
    return i + 1 == plan->n_turns || plan->turns[i].child >= 0 || plan->turns[i].joined_by >= 0;
}

bool session_plan_link(struct session_plan *plan, char problem[SESSION_PROBLEM_CHARS])
{
    const char *text = plan->n_turns > 0 ? NULL : "is missing";
    size_t i = 0;
    for (; i < plan->n_turns; i++) {
        plan->turns[i].child = plan->turns[i].next_child = -1;
        plan->turns[i].n_needed = 0;
    }
    for (i = 0; text == NULL && i < plan->n_turns; i++) {
        text = link_turn(plan, (int32_t)i);
        if (text != NULL) break;
        if (plan->turns[i].joined_by >= 0) plan->turns[plan->turns[i].joined_by].n_needed++;
    }
    for (i = text == NULL ? 0 : i; text == NULL && i < plan->n_turns; i++) {
        if (!leads_on(plan, i)) text = "is neither continued nor joined, and not the last one";
        if (text != NULL) break;
    }
    if (text != NULL) snprintf(problem, SESSION_PROBLEM_CHARS, "turn %zu %s", i, text);
    return text == NULL;
}

/* --- Keys of blocks --- */

static uint64_t key_of(uint64_t owner, uint64_t place)
{
    return hash_mix(owner + (place + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t key_of_system(const char *name)
{
    struct hash_sum sum = {0};
    hash_sum_add(&sum, name, strlen(name));
    return sum.low;
}

/* --- The requests of sessions --- */

/* What the keys of a context need of a turn. They are read for all turns before one, so they lie side by side. */
struct turn_reach {
    int32_t parent, end_tokens; /* as in session_turn */
};

/* A session rests for minutes between two requests, among thousands of others. It therefore takes as little memory as
 * it needs, and its search leads straight to it. */
struct live_session {
    int64_t id, first_request;
    struct turn_reach *reaches; /* of each turn, in one block of memory with the turns, before them */
    struct session_plan plan; /* NULL turns: a spare one */
    uint64_t system_key;
    int32_t n_open;     /* requests that are with the service */
    bool is_rejected;   /* nothing follows */
    int64_t next_spare; /* of a spare one: the next one's place; -1: none */
};

struct session_requests {
    struct stream stream;
    struct session_maker *maker;
    int64_t block_tokens;
    int64_t n_sessions, n_requests;
    struct session_plan made; /* the latest plan, in memory for the longest one */
    struct live_session *lives; /* all, the spare ones too */
    size_t n_lives, live_capacity;
    struct key_map places; /* of those in progress, by id */
    int64_t first_spare;   /* place; -1: none */
    bool is_following;     /* an end has made turns ready that have not all been sent */
    int32_t *ready;        /* turns that this end made ready, the first one last */
    size_t n_ready, ready_capacity;
    uint64_t *keys; /* of the latest record */
    size_t key_capacity;
};

static int32_t start_tokens(const struct live_session *live, int32_t turn)
{
    if (turn < 0) return 0;
    const int32_t parent = live->reaches[turn].parent;
    return parent >= 0 ? live->reaches[parent].end_tokens : live->plan.system_tokens;
}

/* Writes the keys of the `n` first blocks of a turn's context, from the last one on. */
static void write_keys(const struct session_requests *requests, const struct live_session *live, int32_t turn,
                       int32_t n)
{
    int32_t from = start_tokens(live, turn);
    uint64_t owner = key_of((uint64_t)live->id, (uint64_t)turn);
    for (int64_t i = n - 1; i >= 0; i--) {
        const int64_t last = (i + 1) * requests->block_tokens - 1;
        while (last < from) {
            turn = turn >= 0 ? live->reaches[turn].parent : -1;
            from = start_tokens(live, turn);
            owner = turn >= 0 ? key_of((uint64_t)live->id, (uint64_t)turn) : live->system_key;
        }
        requests->keys[i] = key_of(owner, (uint64_t)i) >> 1; /* trace files hold ids of 63 bits */
    }
}

static int fill(struct session_requests *requests, struct live_session *live, int32_t turn, sim_ns arrival_ns,
                struct request_record *record, struct diag *diag)
{
    const struct session_plan *plan = &live->plan;
    const struct session_turn *of = &plan->turns[turn];
    const int64_t n = (of->end_tokens - 1) / requests->block_tokens;
    if (vec_reserve(&requests->keys, &requests->key_capacity, (size_t)n) != 0) return diag_nomem(diag);
    write_keys(requests, live, turn, (int32_t)n);
    *record = (struct request_record){.id = live->first_request + turn,
                                      .arrival_ns = arrival_ns,
                                      .prompt_tokens = of->end_tokens - of->output_tokens,
                                      .output_tokens = of->output_tokens,
                                      .n_prefix_blocks = (int32_t)n,
                                      .prefix_block_tokens = (int32_t)requests->block_tokens,
                                      .prefix_blocks = requests->keys,
                                      .class_name = plan->class_name,
                                      .prefix_covers_output = true,
                                      .session_id = live->id,
                                      .repeated_tokens = start_tokens(live, turn),
                                      .session_start_ns = plan->arrival_ns,
                                      .starts_session = turn == 0,
                                      .ends_session = (size_t)turn + 1 == plan->n_turns};
    live->n_open++;
    return 1;
}

static struct live_session *find_live(const struct session_requests *requests, int64_t session_id)
{
    const int64_t place = key_map_find(&requests->places, (uint64_t)session_id);
    return place >= 0 ? &requests->lives[place] : NULL;
}

/* The place of a session with a copy of the plan just made. Returns it, or SIM_E_NOMEM. */
static int64_t take_live(struct session_requests *requests)
{
    const struct session_plan *made = &requests->made;
    int64_t place = requests->first_spare;
    if (place < 0) {
        place = (int64_t)requests->n_lives;
        if (vec_push(&requests->lives, &requests->n_lives, &requests->live_capacity,
                     (struct live_session){.next_spare = -1}) != 0)
            return SIM_E_NOMEM;
    }
    struct live_session *live = &requests->lives[place];
    struct turn_reach *reaches = mem_alloc(made->n_turns * (sizeof *reaches + sizeof(struct session_turn)));
    const int64_t next = live->next_spare;
    *live = (struct live_session){.plan = *made, .reaches = reaches};
    requests->first_spare = next;
    live->plan.turns = reaches != NULL ? (struct session_turn *)(void *)(reaches + made->n_turns) : NULL;
    live->plan.capacity = made->n_turns;
    if (reaches == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < made->n_turns; i++)
        reaches[i] = (struct turn_reach){made->turns[i].parent, made->turns[i].end_tokens};
    memcpy(live->plan.turns, made->turns, made->n_turns * sizeof *made->turns);
    return place;
}

static void give_live(struct session_requests *requests, struct live_session *live)
{
    mem_free(live->reaches);
    *live = (struct live_session){.next_spare = requests->first_spare};
    requests->first_spare = live - requests->lives;
}

static int requests_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct session_requests *requests = (struct session_requests *)stream;
    requests->made = (struct session_plan){.turns = requests->made.turns, .capacity = requests->made.capacity};
    const int code = requests->maker->ops->make(requests->maker, &requests->made, diag);
    if (code != 1) return code;
    const int64_t place = take_live(requests);
    if (place < 0) return diag_nomem(diag);
    struct live_session *live = &requests->lives[place];
    live->id = ++requests->n_sessions;
    live->first_request = requests->n_requests;
    requests->n_requests += (int64_t)live->plan.n_turns;
    const char *system = live->plan.system;
    live->system_key = system != NULL ? key_of_system(system) : 0;
    if (key_map_set(&requests->places, (uint64_t)live->id, place) != 0) return diag_nomem(diag);
    return fill(requests, live, 0, live->plan.arrival_ns, &record->request, diag);
}

/* One answer fewer that the turn waits for. */
static int answer(struct session_requests *requests, struct session_plan *plan, int32_t turn)
{
    if (--plan->turns[turn].n_needed > 0) return 0;
    return vec_push(&requests->ready, &requests->n_ready, &requests->ready_capacity, turn) == 0 ? 0 : SIM_E_NOMEM;
}

/* The turns that wait for nothing more, in descending order: children are linked from the last one on. */
static int find_ready(struct session_requests *requests, struct live_session *live, int32_t ended)
{
    struct session_plan *plan = &live->plan;
    int code = 0;
    if (plan->turns[ended].joined_by >= 0) code = answer(requests, plan, plan->turns[ended].joined_by);
    for (int32_t i = plan->turns[ended].child; code == 0 && i >= 0; i = plan->turns[i].next_child)
        code = answer(requests, plan, i);
    return code;
}

static int begin_following(struct session_requests *requests, struct live_session *live, const struct request_end *end)
{
    requests->is_following = true;
    live->n_open--;
    if (!end->is_answered) live->is_rejected = true;
    return live->is_rejected ? 0 : find_ready(requests, live, (int32_t)(end->id - live->first_request));
}

static int requests_follow(struct stream *stream, const struct request_end *end, union trace_record *record,
                           struct diag *diag)
{
    struct session_requests *requests = (struct session_requests *)stream;
    struct live_session *live = find_live(requests, end->session_id);
    SIM_REQUIRE(live != NULL);
    if (!requests->is_following && begin_following(requests, live, end) != 0) return diag_nomem(diag);
    if (requests->n_ready == 0) {
        requests->is_following = false;
        if (live->n_open > 0) return 0;
        key_map_remove(&requests->places, (uint64_t)live->id);
        give_live(requests, live);
        return 0;
    }
    const int32_t turn = requests->ready[--requests->n_ready];
    const sim_ns at_ns = sim_ns_add(end->now_ns, live->plan.turns[turn].wait_ns);
    const int code = fill(requests, live, turn, at_ns, &record->request, diag);
    if (code < 0) return code;
    requests->is_following = requests->n_ready > 0;
    return requests->is_following ? FOLLOW_MORE : 1;
}

static const struct session_plan *requests_session(const struct stream *stream, int64_t session_id)
{
    const struct session_requests *requests = (const struct session_requests *)stream;
    const struct live_session *live = find_live(requests, session_id);
    return live != NULL ? &live->plan : NULL;
}

static struct source_place requests_place(const struct stream *stream)
{
    const struct session_requests *requests = (const struct session_requests *)stream;
    return requests->maker->ops->place(requests->maker);
}

static bool requests_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct session_requests *requests = (const struct session_requests *)stream;
    return requests->maker->ops->note(requests->maker, index, note);
}

static void requests_close(struct stream *stream)
{
    struct session_requests *requests = (struct session_requests *)stream;
    for (size_t i = 0; i < requests->n_lives; i++) mem_free(requests->lives[i].reaches);
    mem_free(requests->lives);
    session_plan_fini(&requests->made);
    key_map_fini(&requests->places);
    requests->maker->ops->close(requests->maker);
    mem_free(requests->ready);
    mem_free(requests->keys);
    mem_free(requests);
}

static const struct stream_ops requests_ops = {.next = requests_next,
                                               .follow = requests_follow,
                                               .session = requests_session,
                                               .place = requests_place,
                                               .note = requests_note,
                                               .close = requests_close};

int session_requests_open(struct session_maker *maker, int64_t block_tokens, const struct trace_transform *transform,
                          const struct source_options *options, struct request_source **source, struct diag *diag)
{
    struct session_requests *requests = mem_zalloc(1, sizeof *requests);
    if (requests == NULL) {
        maker->ops->close(maker);
        return diag_nomem(diag);
    }
    *requests = (struct session_requests){
        .stream = {&requests_ops}, .maker = maker, .block_tokens = block_tokens, .first_spare = -1};
    struct stream *stream = &requests->stream;
    const int code = transform_open(transform, options, true, stream, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}
