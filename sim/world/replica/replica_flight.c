/* Batches in flight: iterations that own their sequences. With pipeline stages, up to one batch per stage is in flight.
 * Each stage takes the iteration's stage time and serves batches in the order in which they were composed, so the
 * completion time of a batch is known when it starts (as in Vidur; Agrawal et al., MLSys 2024). A batch may have to
 * wait for a copy of KV before its first stage; the batches behind it then wait too. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/replica/inside.h"
#include "sim/world/replica/replica_stream.h"
#include "sim/world/rows/priority.h"

#include <math.h>

int replica_flights_init(struct replica *replica)
{
    int64_t stages = replica->view.stages;
    replica->flights = mem_zalloc((size_t)stages, sizeof *replica->flights);
    replica->stage_free_ns = mem_zalloc((size_t)stages, sizeof *replica->stage_free_ns);
    replica->spares = mem_zalloc(2 * (size_t)stages + 1, sizeof(struct running_batch *));
    return replica->flights != NULL && replica->stage_free_ns != NULL && replica->spares != NULL ? 0 : SIM_E_NOMEM;
}

void flight_free_running(struct running_batch *running)
{
    if (running == NULL) return;
    running_fini(running);
    mem_free(running);
}

void flight_fini(struct flight *flight)
{
    mem_free(flight->chunks);
    flight_free_running(flight->decoding);
}

void replica_flights_fini(struct replica *replica)
{
    for (int64_t i = 0; replica->flights != NULL && i < replica->view.stages; i++) flight_fini(&replica->flights[i]);
    for (int32_t i = 0; i < replica->n_spares; i++) flight_free_running(replica->spares[i]);
    flight_free_running(replica->ready);
    mem_free(replica->flights);
    mem_free(replica->stage_free_ns);
    mem_free((void *)replica->spares);
}

static struct flight *flight_at(const struct replica *replica, int32_t i)
{
    return &replica->flights[(replica->first_flight + i) % replica->view.stages];
}

struct running_batch *flight_take_running(struct replica *replica)
{
    if (replica->n_spares > 0) return replica->spares[--replica->n_spares];
    struct running_batch *running = mem_zalloc(1, sizeof *running);
    if (running != NULL && running_init(running, replica->kv.block_tokens, replica->env->model.reads_longest) == 0)
        return running;
    flight_free_running(running);
    return NULL;
}

void flight_give_running(struct replica *replica, struct running_batch *running)
{
    replica->spares[replica->n_spares++] = running;
}

/* --- Starting --- */

int flight_board_decoding(struct replica *replica, struct flight *flight, struct running_batch **from, int64_t n)
{
    struct running_batch *ready = *from, *empty = flight_take_running(replica);
    int code = 0;
    if (empty == NULL) return SIM_E_NOMEM;
    flight->decoding = empty;
    if (n >= ready->members.n) {
        flight->decoding = ready;
        *from = empty;
    }
    while (code == 0 && flight->decoding->members.n < n && flight->decoding == empty) {
        struct request *member = ready->members.head;
        running_leave(ready, member);
        code = running_join(empty, member, BATCH_AS_THEY_COME);
    }
    return code;
}

static int board_prefills(struct replica *replica, struct flight *flight)
{
    const struct batch_plan *plan = &replica->plan;
    if (vec_reserve(&flight->chunks, &flight->capacity, plan->n_prefills) != 0) return SIM_E_NOMEM;
    for (flight->n_chunks = 0; flight->n_chunks < plan->n_prefills; flight->n_chunks++) {
        struct request *request = request_of(plan->prefills[flight->n_chunks].request);
        flight->chunks[flight->n_chunks] = plan->prefills[flight->n_chunks];
        request_list_remove(&replica->prefilling, request);
        request_list_push_back(&flight->prefilling, request);
        request->in_flight = true;
    }
    return 0;
}

static sim_ns rounded_ns(double seconds)
{
    double ns = seconds * 1e9;
    return ns < 0x1p62 ? llrint(ns) : SIM_NS_MAX;
}

int flight_price(struct replica *replica, struct flight *flight)
{
    struct iteration_cost cost;
    int code = replica_cost(replica, &flight->work, &cost, &flight->pace);
    if (code != 0) return code;
    flight->stage_ns = rounded_ns(cost.first_s);
    flight->entry_ns = rounded_ns(cost.first_s + cost.entry_s);
    flight->busy_ns = flight->stage_ns + (flight->entry_ns - flight->stage_ns) / replica->view.stages;
    flight->extrapolated_frac = cost.extrapolated_frac;
    return 0;
}

/* Computes when batches without pending moves pass the stages, in order. */
static int time_flights(struct replica *replica, sim_ns now)
{
    for (int32_t i = 0; i < replica->n_flights; i++) {
        struct flight *flight = flight_at(replica, i);
        if (flight->is_timed) continue;
        if (flight->n_moves > 0) return 0;
        int code = flight_price(replica, flight);
        if (code != 0) return code;
        sim_ns at = now;
        for (int64_t stage = 0; stage < replica->view.stages; stage++) {
            if (at < replica->stage_free_ns[stage]) at = replica->stage_free_ns[stage];
            if (stage == 0) flight->start_ns = at;
            at = sim_ns_add(at, stage == 0 ? flight->entry_ns : flight->stage_ns);
            replica->stage_free_ns[stage] = at;
        }
        flight->end_ns = at;
        flight->is_timed = true;
    }
    return 0;
}

static void wait_for_moves(struct replica *replica, struct flight *flight)
{
    for (struct kv_move *move = replica->unattached; move != NULL; move = move->next) {
        move->flight = flight;
        flight->n_moves++;
    }
    replica->unattached = NULL;
}

int flight_board(struct replica *replica, struct flight *flight, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    struct iteration_work work = {0};
    flight->prefilling = (struct request_list){0};
    flight->n_chunks = flight->n_moves = 0;
    flight->is_timed = false;
    int code = replica_admit_prefills(replica, &work, now);
    if (code == 0) code = board_prefills(replica, flight);
    if (code == 0 && plan->decode && replica->ready->members.n > 0) {
        code = flight_board_decoding(replica, flight, &replica->ready, plan->decode_sequences);
        if (code == 0) replica_begin_step(replica, flight->decoding, &work);
    }
    replica->in_flight += flight->prefilling.n + work.decode_sequences;
    flight->work = work;
    return code;
}

int replica_take_off(struct replica *replica, sim_ns now)
{
    struct flight *flight = flight_at(replica, replica->n_flights++);
    int code = flight_board(replica, flight, now);
    if (code != 0) return code;
    wait_for_moves(replica, flight);
    if (replica->stream != NULL && flight->n_moves > 0) replica_stream_rest(replica->stream);
    return time_flights(replica, now);
}

void replica_reprice_flight(struct replica *replica, sim_ns now)
{
    struct flight *flight = flight_at(replica, 0);
    if (replica->n_flights == 0 || !flight->is_timed) return;
    flight->end_ns = replica_stream_end_ns(replica->stream, &flight->work, now, flight->end_ns);
    flight->entry_ns = flight->stage_ns = flight->busy_ns = flight->end_ns - flight->start_ns;
    replica->stage_free_ns[0] = flight->end_ns;
    replica_arm_landing(replica);
}

void replica_arm_landing(struct replica *replica)
{
    if (replica->is_woken) return; /* the wake-up calls this again */
    if (replica->n_flights > 0 && flight_at(replica, 0)->is_timed) replica_arm(replica, flight_at(replica, 0)->end_ns);
}

int replica_flight_loaded(struct replica *replica, struct flight *flight, sim_ns now)
{
    if (--flight->n_moves > 0) return 0;
    int code = time_flights(replica, now);
    if (code == 0) replica_arm_landing(replica);
    return code;
}

/* --- Completing --- */

int flight_tell(const struct replica *replica, const struct flight *flight, int64_t n, sim_ns end_ns)
{
    if (replica->env->on_batch == NULL) return 0;
    struct replica_batch batch = {.start_ns = flight->start_ns, .end_ns = end_ns, .iterations = n, .work = flight->work,
                                  .prefill_sequences = flight->n_chunks,
                                  .decoding = flight->decoding != NULL ? flight->decoding->members.n : 0};
    for (int32_t i = 0; i < flight->n_chunks; i++) batch.prefill_tokens += flight->chunks[i].tokens;
    return replica->env->on_batch(replica, &batch);
}

/* Stable. */
static void sort_by_arrival(struct request_list *list)
{
    struct request_list sorted = {0};
    while (list->n > 0) {
        struct request *request = list->head;
        request_list_remove(list, request);
        request_list_insert(&sorted, request, BATCH_BY_ARRIVAL);
    }
    *list = sorted;
}

/* Decoding sequences have their token: finished ones leave, the others are ready again. */
static int land_decoding(struct replica *replica, struct flight *flight, sim_ns now)
{
    struct running_batch *running = flight->decoding;
    struct run_clock clock = {flight->start_ns, (double)(now - flight->start_ns), 0};
    running_advance(running, 1);
    replica->counts.decode_steps++;
    replica->counts.decode_tokens += running->members.n;
    int code = running_count_gaps(running, &clock, 0, 1, replica->env->token_gap_s);
    if (code == 0) code = replica_finish_due(replica, running, now);
    if (code != 0) return code;
    flight->decoding = NULL;
    if (replica->ready->members.n == 0) {
        struct running_batch *empty = replica->ready;
        replica->ready = running;
        running = empty;
    } else {
        code = running_merge(replica->ready, running, replica->env->batcher->order);
    }
    flight_give_running(replica, running);
    return code;
}

/* Tokens in the cache of the sequences in a batch. */
static int64_t held_tokens(const struct flight *flight)
{
    const struct iteration_work *work = &flight->work;
    return work->decode_context_tokens - work->decode_sequences + work->prefill_context_tokens;
}

static void count_work(struct replica *replica, const struct flight *landing)
{
    int64_t tokens = held_tokens(landing);
    for (int32_t i = 0; i < replica->n_flights; i++)
        if (flight_at(replica, i) != landing) tokens += held_tokens(flight_at(replica, i));
    replica_count_work(replica, &landing->work, &landing->pace, tokens, landing->busy_ns);
}

int flight_land(struct replica *replica, struct flight *flight, sim_ns now)
{
    bool decodes = flight->decoding != NULL;
    replica->counts.prefill_iterations += flight->n_chunks > 0;
    replica->counts.decode_iterations += flight->n_chunks == 0;
    replica->counts.busy_ns += flight->busy_ns;
    replica->counts.extrapolated_ns += replica_extrapolated_ns(flight->extrapolated_frac, flight->busy_ns);
    count_work(replica, flight);
    replica->in_flight -= flight->prefilling.n + (decodes ? flight->decoding->members.n : 0);
    if (replica->env->batcher->order == BATCH_LEFT_BY_ARRIVAL) {
        sort_by_arrival(&replica->ready->members);
        sort_by_arrival(&replica->prefilling);
    }
    int code = flight_tell(replica, flight, 1, now);
    if (code == 0 && decodes) code = land_decoding(replica, flight, now);
    return code != 0 ? code
                     : replica_complete_prefills(replica, flight->chunks, flight->n_chunks, &flight->prefilling, now);
}

int replica_land(struct replica *replica, sim_ns now)
{
    int code = 0;
    while (code == 0 && replica->n_flights > 0) {
        struct flight *flight = flight_at(replica, 0);
        if (!flight->is_timed || flight->end_ns > now) return 0;
        code = flight_land(replica, flight, now);
        replica->first_flight = (int32_t)((replica->first_flight + 1) % replica->view.stages);
        replica->n_flights--;
    }
    return code;
}

void flight_drop(struct replica *replica, struct flight *flight)
{
    if (flight->decoding != NULL) flight_give_running(replica, flight->decoding);
    flight->decoding = NULL;
    flight->prefilling = (struct request_list){0};
    flight->n_chunks = flight->n_moves = 0;
}

void replica_drop_flights(struct replica *replica)
{
    for (int32_t i = 0; i < replica->n_flights; i++) flight_drop(replica, flight_at(replica, i));
    for (int64_t stage = 0; stage < replica->view.stages; stage++) replica->stage_free_ns[stage] = 0;
    if (replica->line != NULL) replica_stages_drop(replica);
    replica->first_flight = replica->n_flights = 0;
    replica->in_flight = 0;
}

/* --- Observing --- */

/* Time that the batch has spent on the stages by `at`, divided by their number. */
static sim_ns busy_by(const struct replica *replica, int32_t index, sim_ns now)
{
    const struct flight *flight = flight_at(replica, index);
    sim_ns busy_ns = 0, end_ns = flight->end_ns;
    for (int64_t stage = replica->view.stages - 1; stage >= 0; stage--) {
        sim_ns begin_ns = end_ns - (stage == 0 ? flight->entry_ns : flight->stage_ns);
        if (now > begin_ns) busy_ns += (now < end_ns ? now : end_ns) - begin_ns;
        end_ns = begin_ns; /* an upper bound: it may have waited between the stages */
    }
    return busy_ns / replica->view.stages;
}

sim_ns replica_flights_busy_ns(const struct replica *replica, sim_ns at)
{
    sim_ns busy_ns = 0;
    for (int32_t i = 0; i < replica->n_flights; i++) {
        const struct flight *flight = flight_at(replica, i);
        if (flight->is_timed && flight->start_ns < at) busy_ns += busy_by(replica, i, at);
    }
    return busy_ns;
}

int replica_settle_flights(struct replica *replica, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; i < replica->n_flights && code == 0; i++) {
        const struct flight *flight = flight_at(replica, i);
        if (!flight->is_timed || flight->start_ns >= now) continue;
        sim_ns busy_ns = busy_by(replica, i, now);
        replica->counts.busy_ns += busy_ns;
        replica->counts.extrapolated_ns += replica_extrapolated_ns(flight->extrapolated_frac, busy_ns);
        code = flight_tell(replica, flight, 0, now);
    }
    return code;
}

/* Power above idle, averaged over its time in flight. */
static double flight_j(const struct replica *replica, const struct flight *flight)
{
    const struct work_of of = replica_work_of(replica, &flight->pace);
    return work_iteration_j(&of, &flight->work, sim_s_from_ns(flight->busy_ns));
}

static bool has_started(const struct flight *flight, sim_ns at)
{
    return flight->is_timed && flight->start_ns < at;
}

double replica_flights_j(const struct replica *replica, sim_ns at)
{
    double joules = 0.0;
    for (int32_t i = 0; i < replica->n_flights; i++) {
        const struct flight *flight = flight_at(replica, i);
        if (!has_started(flight, at)) continue;
        const double frac = (double)(at - flight->start_ns) / (double)(flight->end_ns - flight->start_ns);
        joules += flight_j(replica, flight) * fmin(frac, 1.0);
    }
    return joules;
}

double replica_flights_w(const struct replica *replica, sim_ns at)
{
    double watts = 0.0;
    for (int32_t i = 0; i < replica->n_flights; i++) {
        const struct flight *flight = flight_at(replica, i);
        if (has_started(flight, at + 1) && at < flight->end_ns)
            watts += flight_j(replica, flight) / sim_s_from_ns(flight->end_ns - flight->start_ns);
    }
    return watts;
}

int64_t replica_prompts_in_flight(const struct replica *replica)
{
    int64_t n = 0;
    for (int32_t i = 0; i < replica->n_flights; i++) n += flight_at(replica, i)->n_chunks;
    return n;
}

void replica_each_in_flight(const struct replica *replica, void (*visit)(void *context, struct request *request),
                            void *context)
{
    if (replica->line != NULL) replica_stages_each(replica, visit, context);
    for (int32_t i = 0; i < replica->n_flights; i++) {
        const struct flight *flight = flight_at(replica, i);
        request_list_each(&flight->prefilling, visit, context);
        if (flight->decoding != NULL) request_list_each(&flight->decoding->members, visit, context);
    }
}
