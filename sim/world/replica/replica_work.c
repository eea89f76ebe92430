/* Counting the work of a replica (work.h). KV that comes or goes while a run is under way counts as if it had from the run's
 * start. */
#include "sim/world/replica/replica_batch.h"

static int64_t held_tokens(const struct request_list *list)
{
    int64_t tokens = 0;
    for (const struct request *r = list->head; r != NULL; r = request_of(r->view.next))
        if (r->context_tokens > 0) tokens += r->context_tokens - 1;
    return tokens;
}

/* Tokens in the cache of sequences that do not decode now: prompts processed in part, sequences that are paused or resume. What
 * several share counts once. */
static int64_t resting_tokens(const struct replica *replica)
{
    int64_t tokens = held_tokens(&replica->paused) + held_tokens(&replica->moving) + held_tokens(&replica->arrived);
    for (const struct request *r = replica->prefilling.head; r != NULL; r = request_of(r->view.next))
        tokens += r->view.prefilled_tokens;
    return tokens - replica_duplicate_tokens(replica);
}

void replica_count_decode_work(struct replica *replica, int64_t n)
{
    const struct cohort *ready = replica->ready;
    const struct work_run run = {
        .clock = &replica->clock,
        .from_boundary = replica->run_counted,
        .iterations = n,
        .step = ready->step,
        .sequences = ready->members.n,
        .context_tokens = replica->run_work.decode_context_tokens + replica->run_counted * ready->members.n,
        .resting_tokens = resting_tokens(replica)};
    const struct work_of of = replica_work_of(replica, &replica->run_pace);
    if (replica->env->llm != NULL) work_add_decode(&replica->work, &of, &ready->growth, &run);
}

void replica_count_work(struct replica *replica, const struct iteration_work *work, const struct pace *pace,
                        int64_t in_flight_tokens, sim_ns lasted_ns)
{
    const int64_t decoding = replica->ready->context_tokens - replica->ready->members.n;
    const struct work_of of = replica_work_of(replica, pace);
    if (replica->env->llm == NULL) return;
    work_add_iteration(&replica->work, &of, work, decoding + resting_tokens(replica) + in_flight_tokens, lasted_ns);
}

sim_ns replica_busy_ns(const struct replica *replica, sim_ns at)
{
    const sim_ns counted_ns = replica->counts.busy_ns;
    if (replica->line != NULL) return counted_ns + replica_stages_busy_ns(replica, at);
    if (replica->state == REPLICA_FLYING) return counted_ns + replica_flights_busy_ns(replica, at);
    if (replica->state == REPLICA_IDLE) return counted_ns;
    return counted_ns + at - run_clock_boundary_ns(&replica->clock, replica->run_counted);
}
