/* The work of a replica (work.h), and what it draws. KV that moves during a run counts as if it had moved at the run's
 * start. */
#include "sim/world/replica/inside.h"

static int64_t held_tokens(const struct request_list *list)
{
    int64_t tokens = 0;
    for (const struct request *r = list->head; r != NULL; r = request_of(r->view.next))
        if (r->context_tokens > 0) tokens += r->context_tokens - 1;
    return tokens;
}

/* Cached tokens of sequences that do not decode now: prompts that are partially processed or load, paused and resuming
 * sequences. Shared tokens count once. Blocks of windows count as full: they are few for each sequence. */
int64_t replica_idle_tokens(const struct replica *replica)
{
    int64_t tokens = replica->parked_tokens + held_tokens(&replica->paused) + held_tokens(&replica->moving) +
                     held_tokens(&replica->arrived);
    for (const struct request *r = replica->prefilling.head; r != NULL; r = request_of(r->view.next))
        tokens += r->view.prefilled_tokens;
    return tokens + replica->window_blocks * replica->kv.block_tokens - replica_duplicate_tokens(replica);
}

static void count_shared(struct replica *replica, sim_ns lasted_ns)
{
    if (replica->overlap_blocks > 0)
        replica->work.shared_slot_s += (double)(replica->overlap_blocks * replica->kv.block_tokens) *
                                       sim_s_from_ns(lasted_ns);
}

void replica_count_decode_work(struct replica *replica, int64_t n, sim_ns lasted_ns)
{
    const struct running_batch *ready = replica->ready;
    const struct work_run run = {
        .clock = &replica->clock,
        .from_boundary = replica->run_counted,
        .iterations = n,
        .step = ready->step,
        .sequences = ready->members.n,
        .context_tokens = replica->run_work.decode_context_tokens + replica->run_counted * ready->members.n,
        .idle_tokens = replica_idle_tokens(replica)};
    const struct work_of of = replica_work_of(replica, &replica->run_clock_state);
    if (replica->env->llm != NULL) work_add_decode(&replica->work, &of, &ready->growth, &run);
    count_shared(replica, lasted_ns);
}

void replica_count_work(struct replica *replica, const struct iteration_work *work,
                        const struct clock_state *clock_state, int64_t in_flight_tokens, sim_ns lasted_ns)
{
    const int64_t decoding = replica->ready->context_tokens - replica->ready->members.n;
    struct work_of of = replica_work_of(replica, clock_state);
    if (replica->env->llm == NULL) return;
    of.draft_j = replica_draft_j(replica, work);
    work_add_iteration(&replica->work, &of, work, decoding + replica_idle_tokens(replica) + in_flight_tokens,
                       lasted_ns);
    count_shared(replica, lasted_ns);
}

sim_ns replica_busy_ns(const struct replica *replica, sim_ns at)
{
    const sim_ns counted_ns = replica->counts.busy_ns;
    if (replica->pipeline != NULL) return counted_ns + replica_stages_busy_ns(replica, at);
    if (replica->state == REPLICA_IN_FLIGHT) return counted_ns + replica_inflight_busy_ns(replica, at);
    if (replica->state == REPLICA_IDLE) return counted_ns;
    return counted_ns + at - run_clock_boundary_ns(&replica->clock, replica->run_counted);
}

/* --- Power ---
 *
 * Energy drawn up to any time, in closed form from the start of the current run: reading it ends no run of iterations.
 * It counts from the latest accounting, so it is the same however a run is stepped through. */

/* n iterations of the current decode run, from a boundary on. */
static double decode_j(const struct replica *replica, int64_t from, int64_t n)
{
    const int64_t sequences = replica->run_work.decode_sequences;
    const struct work_of of = replica_work_of(replica, &replica->run_clock_state);
    const struct work_run run = {
        .clock = &replica->clock, .from_boundary = from, .iterations = n, .sequences = sequences,
        .context_tokens = replica->run_work.decode_context_tokens + from * sequences};
    const sim_ns lasted_ns =
        run_clock_boundary_ns(&replica->clock, from + n) - run_clock_boundary_ns(&replica->clock, from);
    return work_run_j(&of, &run, sim_s_from_ns(lasted_ns));
}

/* The iteration of the current run at a time, which may be beyond the last one. */
static int64_t iteration_at(const struct replica *replica, sim_ns at)
{
    const int64_t boundary = run_clock_first_boundary(&replica->clock, at);
    return run_clock_boundary_ns(&replica->clock, boundary) > at ? boundary - 1 : boundary;
}

/* Joules above idle of an iteration of the current run, from a boundary on. */
static double iteration_j(const struct replica *replica, int64_t boundary)
{
    if (replica->state == REPLICA_DECODE) return decode_j(replica, boundary, 1);
    struct work_of of = replica_work_of(replica, &replica->run_clock_state);
    of.draft_j = replica_draft_j(replica, &replica->run_work);
    return work_iteration_j(&of, &replica->run_work,
                            sim_s_from_ns(run_clock_boundary_ns(&replica->clock, 1) - replica->clock.anchor_ns));
}

/* The part of an iteration that its energy is spread over now, and what it drew before. */
static struct repriced_iteration spread_from(const struct replica *replica, sim_ns start_ns)
{
    if (replica->repriced.start_ns == start_ns && replica->repriced.at_ns > start_ns) return replica->repriced;
    return (struct repriced_iteration){start_ns, start_ns, 0.0};
}

double replica_spread_w(const struct replica *replica, sim_ns start_ns, sim_ns end_ns, double whole_j)
{
    const struct repriced_iteration from = spread_from(replica, start_ns);
    return (whole_j - from.drawn_j) / sim_s_from_ns(end_ns - from.at_ns);
}

double replica_spread_j(const struct replica *replica, sim_ns start_ns, sim_ns end_ns, double whole_j, sim_ns at)
{
    const struct repriced_iteration from = spread_from(replica, start_ns);
    if (at >= end_ns) return whole_j;
    return from.drawn_j + sim_s_from_ns(at - from.at_ns) * replica_spread_w(replica, start_ns, end_ns, whole_j);
}

void replica_keep_drawn(struct replica *replica, sim_ns start_ns, sim_ns end_ns, double whole_j, sim_ns now)
{
    replica->repriced =
        (struct repriced_iteration){start_ns, now, replica_spread_j(replica, start_ns, end_ns, whole_j, now)};
}

void replica_keep_run_drawn(struct replica *replica, int64_t boundary, sim_ns now)
{
    if (replica->env->energy == NULL) return;
    replica_keep_drawn(replica, run_clock_boundary_ns(&replica->clock, boundary),
                       run_clock_boundary_ns(&replica->clock, boundary + 1), iteration_j(replica, boundary), now);
}

/* Of the current run, up to a time in the iteration from a boundary on, and at it. */
static double run_j(const struct replica *replica, int64_t boundary, sim_ns at)
{
    return replica_spread_j(replica, run_clock_boundary_ns(&replica->clock, boundary),
                            run_clock_boundary_ns(&replica->clock, boundary + 1), iteration_j(replica, boundary), at);
}

static double run_w(const struct replica *replica, int64_t boundary)
{
    return replica_spread_w(replica, run_clock_boundary_ns(&replica->clock, boundary),
                            run_clock_boundary_ns(&replica->clock, boundary + 1), iteration_j(replica, boundary));
}

static double decode_run_j(const struct replica *replica, sim_ns at)
{
    const int64_t counted = replica->run_counted, now = iteration_at(replica, at);
    const double whole_j = now > counted ? decode_j(replica, counted, now - counted) : 0.0;
    return at > run_clock_boundary_ns(&replica->clock, now) ? whole_j + run_j(replica, now, at) : whole_j;
}

double replica_drawn_j(const struct replica *replica, sim_ns at)
{
    if (replica_is_ahead(replica)) replica_follow_drafts(replica, at);
    const struct energy_model *model = replica->env->energy;
    const double counted_j = model->idle_w * sim_s_from_ns(at) +
                             work_energy_j(&replica->work, model, sim_s_from_ns(replica->counts.busy_ns), 0.0) -
                             model->idle_w * sim_s_from_ns(replica->counts.busy_ns);
    switch (replica->state) {
    case REPLICA_DECODE: return counted_j + decode_run_j(replica, at);
    case REPLICA_PREFILL: return counted_j + run_j(replica, 0, at);
    case REPLICA_IN_FLIGHT: return counted_j + replica_inflight_j(replica, at);
    case REPLICA_IDLE: break;
    }
    return counted_j;
}

double replica_draws_w(const struct replica *replica, sim_ns at)
{
    if (replica_is_ahead(replica)) replica_follow_drafts(replica, at);
    const double idle_w = replica->env->energy->idle_w;
    switch (replica->state) {
    case REPLICA_DECODE: return idle_w + run_w(replica, iteration_at(replica, at));
    case REPLICA_PREFILL: return idle_w + run_w(replica, 0);
    case REPLICA_IN_FLIGHT: return idle_w + replica_inflight_w(replica, at);
    case REPLICA_IDLE: break;
    }
    return idle_w;
}
