#include "sim/cli/explain/story_blocked.h"

#include "sim/world/policy/batching.h"

#include <math.h>

_Static_assert(N_BATCH_LIMITS == (int)BLOCKED_LIMITS, "a part for each limit of a batcher");

/* Rows give seconds that were whole nanoseconds. */
static sim_ns ns_of(double s)
{
    return (sim_ns)llround(1e9 * s);
}

/* The time since the last change belongs to what was waited for. */
static void count(struct story_blocked *blocked, double t_s)
{
    blocked->part_ns[blocked->kind][blocked->is_behind] += ns_of(t_s) - blocked->since_ns;
    blocked->since_ns = ns_of(t_s);
}

static void set(struct story_blocked *blocked, double t_s, int kind, bool is_behind)
{
    if (blocked->is_over) return;
    count(blocked, t_s);
    blocked->kind = kind;
    blocked->is_behind = is_behind;
}

struct queue_state queue_state_of(const struct admission_row *row)
{
    const bool is_held = row->step == ADMISSION_HELD;
    return (struct queue_state){is_held ? BLOCKED_HELD : row->limit, row->request, is_held || row->stands};
}

/* Until the batcher is asked again. */
static void join_queue(struct story_blocked *blocked, double t_s, const struct queue_state *queue)
{
    const bool stands = queue != NULL && queue->stands;
    set(blocked, t_s, stands ? queue->kind : BLOCKED_ITERATION, stands && queue->request >= 0);
}

void blocked_routed(struct story_blocked *blocked, double t_s, const struct queue_state *queue)
{
    if (!blocked->has_route) blocked->since_ns = ns_of(t_s);
    blocked->has_route = true;
    if (!blocked->loads) join_queue(blocked, t_s, queue);
}

void blocked_see(struct story_blocked *blocked, int64_t id, const struct admission_row *row,
                 const struct queue_state *queue)
{
    if (row->step == ADMISSION_LOADS && row->request == id) {
        blocked->loads = true;
        set(blocked, row->t_s, BLOCKED_LOADS, false);
    } else if (row->step == ADMISSION_LOADED && row->request == id) {
        blocked->loads = false;
        join_queue(blocked, row->t_s, queue);
    } else if ((row->step == ADMISSION_PLANNED || row->step == ADMISSION_HELD) && !blocked->loads) {
        set(blocked, row->t_s, queue->kind, queue->request >= 0 && queue->request != id);
    }
}

void blocked_requeued(struct story_blocked *blocked, double t_s)
{
    blocked->loads = false;
    set(blocked, t_s, BLOCKED_NO_REPLICA, false);
}

void blocked_over(struct story_blocked *blocked, double t_s)
{
    if (blocked->has_route) set(blocked, t_s, blocked->kind, blocked->is_behind);
    blocked->is_over = true;
}

void blocked_arrived(struct story_blocked *blocked, double arrival_s, double first_routed_s, double end_s)
{
    const double until_s = isnan(first_routed_s) ? end_s : first_routed_s;
    blocked->part_ns[BLOCKED_NO_REPLICA][0] += ns_of(until_s) - ns_of(arrival_s);
}

const char *blocked_text(int kind)
{
    static const char *const texts[N_BLOCKED] = {
        [BATCH_LIMIT_UNSTATED] = "the batcher, which does not say why",
        [BATCH_LIMIT_SEQUENCES] = "no free slot for another sequence",
        [BATCH_LIMIT_KV_BLOCKS] = "too few free KV blocks",
        [BATCH_LIMIT_TOKENS] = "the token budget of the iteration",
        [BATCH_LIMIT_CLOSED] = "the running batch takes nobody in",
        [BATCH_LIMIT_HOST] = "swapped-out sequences resume first",
        [BATCH_LIMIT_LATE] = "the engine learns one iteration later what has come or ended",
        [BATCH_LIMIT_DEADLINE] = "with another prompt, one of the batch would miss its deadline",
        [BLOCKED_NO_REPLICA] = "no replica is up to take it",
        [BLOCKED_ITERATION] = "the iteration in progress",
        [BLOCKED_LOADS] = "KV of its prompt comes from a prefix store",
        [BLOCKED_HELD] = "its replica waits for new weights",
    };
    return texts[kind];
}
