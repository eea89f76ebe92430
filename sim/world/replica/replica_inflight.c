/* Batches in flight: iterations that own their sequences. With pipeline stages, up to one batch per stage is in
 * flight. Each stage takes the iteration's stage time and serves batches in the order in which they were composed. So
 * the completion time of a batch is known when it starts (as in Vidur; Agrawal et al., MLSys 2024). A batch may have
 * to wait for a copy of KV before its first stage; the batches behind it then wait too. Drafts occupy the last stage
 * (speculation.h). Each batch keeps its own, which replica->speculating shows while the batch is looked at. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/replica/inside.h"
#include "sim/world/rows/priority.h"

#include <math.h>

int replica_inflight_init(struct replica *replica)
{
    int64_t stages = replica->view.stages;
    replica->inflight = mem_zalloc((size_t)stages, sizeof *replica->inflight);
    replica->stage_free_ns = mem_zalloc((size_t)stages, sizeof *replica->stage_free_ns);
    replica->spares = mem_zalloc(2 * (size_t)stages + 1, sizeof(struct running_batch *));
    return replica->inflight != NULL && replica->stage_free_ns != NULL && replica->spares != NULL ? 0 : SIM_E_NOMEM;
}

void running_free(struct running_batch *running)
{
    if (running == NULL) return;
    running_fini(running);
    mem_free(running);
}

void inflight_fini(struct inflight_batch *inflight)
{
    mem_free(inflight->drafting);
    mem_free(inflight->chunks);
    running_free(inflight->decoding);
}

void replica_inflight_fini(struct replica *replica)
{
    for (int64_t i = 0; replica->inflight != NULL && i < replica->view.stages; i++)
        inflight_fini(&replica->inflight[i]);
    for (int32_t i = 0; i < replica->n_spares; i++) running_free(replica->spares[i]);
    running_free(replica->ready);
    mem_free(replica->inflight);
    mem_free(replica->stage_free_ns);
    mem_free((void *)replica->spares);
}

static struct inflight_batch *inflight_at(const struct replica *replica, int32_t i)
{
    return &replica->inflight[(replica->first_inflight + i) % replica->view.stages];
}

int replica_init_batch(const struct replica *replica, struct running_batch *running)
{
    const struct replica_env *env = replica->env;
    return running_init(running, replica->kv.block_tokens, env->model.reads_longest, env->batcher->ends_as_scheduled);
}

struct running_batch *replica_take_spare_batch(struct replica *replica)
{
    if (replica->n_spares > 0) return replica->spares[--replica->n_spares];
    struct running_batch *running = mem_zalloc(1, sizeof *running);
    if (running != NULL && replica_init_batch(replica, running) == 0) return running;
    running_free(running);
    return NULL;
}

void replica_give_spare_batch(struct replica *replica, struct running_batch *running)
{
    replica->spares[replica->n_spares++] = running;
}

static void keep_drafting(const struct replica *replica, struct inflight_batch *inflight)
{
    if (inflight->drafting != NULL) *inflight->drafting = replica->speculating->now;
}

static void recall_drafting(struct replica *replica, const struct inflight_batch *inflight)
{
    if (inflight->drafting != NULL) replica->speculating->now = *inflight->drafting;
}

/* --- Starting --- */

int inflight_fill_decoding(struct replica *replica, struct inflight_batch *inflight, struct running_batch **from,
                           int64_t n)
{
    struct running_batch *ready = *from, *empty = replica_take_spare_batch(replica);
    int code = 0;
    if (empty == NULL) return SIM_E_NOMEM;
    inflight->decoding = empty;
    if (n >= ready->members.n) {
        inflight->decoding = ready;
        *from = empty;
    }
    while (code == 0 && inflight->decoding->members.n < n && inflight->decoding == empty) {
        struct request *member = ready->members.head;
        running_leave(ready, member);
        code = running_join(empty, member, BATCH_BY_RETURN);
    }
    return code;
}

static int fill_prefills(struct replica *replica, struct inflight_batch *inflight)
{
    const struct batch_plan *plan = &replica->plan;
    if (vec_reserve(&inflight->chunks, &inflight->capacity, plan->n_prefills) != 0) return SIM_E_NOMEM;
    for (inflight->n_chunks = 0; inflight->n_chunks < plan->n_prefills; inflight->n_chunks++) {
        struct request *request = request_of(plan->prefills[inflight->n_chunks].request);
        inflight->chunks[inflight->n_chunks] = plan->prefills[inflight->n_chunks];
        request_list_remove(&replica->prefilling, request);
        request_list_push_back(&inflight->prefilling, request);
        request->in_flight = true;
    }
    return 0;
}

static sim_ns rounded_ns(double seconds)
{
    double ns = seconds * 1e9;
    return ns < 0x1p62 ? llrint(ns) : SIM_NS_MAX;
}

int inflight_set_times(struct replica *replica, struct inflight_batch *inflight)
{
    struct iteration_cost cost;
    recall_drafting(replica, inflight);
    int code = replica_cost(replica, &inflight->work, &cost, &inflight->clock_state);
    if (code != 0) return code;
    const double draft_s = replica->view.stages > 1 && inflight->work.decode_drafts > 0
                               ? replica_drafting_s(replica, &inflight->work, &inflight->clock_state)
                               : 0.0;
    inflight->stage_ns = rounded_ns(cost.first_s - draft_s);
    inflight->entry_ns = rounded_ns(cost.first_s - draft_s + cost.entry_s);
    inflight->last_ns = rounded_ns(cost.first_s);
    const sim_ns beyond_ns = inflight->entry_ns - inflight->stage_ns + inflight->last_ns - inflight->stage_ns;
    inflight->busy_ns = inflight->stage_ns + beyond_ns / replica->view.stages;
    inflight->draft_j = replica_draft_j(replica, &inflight->work);
    inflight->extrapolated_frac = cost.extrapolated_frac;
    return 0;
}

/* Time on a stage; a single one is the first one. */
static sim_ns time_on(const struct replica *replica, const struct inflight_batch *inflight, int64_t stage)
{
    if (stage == 0) return inflight->entry_ns;
    return stage == replica->view.stages - 1 ? inflight->last_ns : inflight->stage_ns;
}

/* Computes when batches without pending moves pass the stages, in order. */
static int schedule_inflight(struct replica *replica, sim_ns now)
{
    for (int32_t i = 0; i < replica->n_inflight; i++) {
        struct inflight_batch *inflight = inflight_at(replica, i);
        if (inflight->is_timed) continue;
        if (inflight->n_moves > 0) return 0;
        int code = inflight_set_times(replica, inflight);
        if (code != 0) return code;
        sim_ns at = now;
        for (int64_t stage = 0; stage < replica->view.stages; stage++) {
            if (at < replica->stage_free_ns[stage]) at = replica->stage_free_ns[stage];
            if (stage == 0) inflight->start_ns = at;
            at = sim_ns_add(at, time_on(replica, inflight, stage));
            replica->stage_free_ns[stage] = at;
        }
        inflight->end_ns = at;
        inflight->is_timed = true;
    }
    return 0;
}

static void wait_for_moves(struct replica *replica, struct inflight_batch *inflight)
{
    for (struct kv_move *move = replica->unattached; move != NULL; move = move->next) {
        move->inflight = inflight;
        inflight->n_moves++;
    }
    replica->unattached = NULL;
}

int inflight_fill(struct replica *replica, struct inflight_batch *inflight, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    struct iteration_work work = {0};
    inflight->prefilling = (struct request_list){0};
    inflight->n_chunks = inflight->n_moves = 0;
    inflight->is_timed = false;
    int code = replica_admit_prefills(replica, &work, now);
    if (code == 0) code = fill_prefills(replica, inflight);
    if (code == 0 && plan->decode && replica->ready->members.n > 0) {
        code = inflight_fill_decoding(replica, inflight, &replica->ready, plan->decode_sequences);
        if (code == 0) replica_begin_step(replica, inflight->decoding, &work);
    }
    replica->in_flight += inflight->prefilling.n + work.decode_sequences;
    inflight->work = work;
    keep_drafting(replica, inflight);
    return code;
}

int replica_start_inflight(struct replica *replica, sim_ns now)
{
    struct inflight_batch *inflight = inflight_at(replica, replica->n_inflight++);
    int code = inflight_fill(replica, inflight, now);
    if (code != 0) return code;
    wait_for_moves(replica, inflight);
    if (inflight->n_moves > 0) replica_end_claims(replica);
    return schedule_inflight(replica, now);
}

/* Joules above idle. */
static double inflight_j(const struct replica *replica, const struct inflight_batch *inflight)
{
    struct work_of of = replica_work_of(replica, &inflight->clock_state);
    of.draft_j = inflight->draft_j;
    return work_iteration_j(&of, &inflight->work, sim_s_from_ns(inflight->busy_ns));
}

void replica_reprice_inflight(struct replica *replica, sim_ns now)
{
    struct inflight_batch *inflight = inflight_at(replica, 0);
    if (replica->n_inflight == 0 || !inflight->is_timed) return;
    if (replica->env->energy != NULL)
        replica_keep_drawn(replica, inflight->start_ns, inflight->end_ns, inflight_j(replica, inflight), now);
    inflight->end_ns = replica_end_at_share(replica, &inflight->work, now, inflight->end_ns);
    inflight->entry_ns = inflight->stage_ns = inflight->last_ns = inflight->busy_ns = inflight->end_ns -
                                                                                      inflight->start_ns;
    replica->stage_free_ns[0] = inflight->end_ns;
    replica_arm_completion(replica);
}

void replica_arm_completion(struct replica *replica)
{
    if (replica->is_woken) return; /* the wake-up calls this again */
    if (replica->n_inflight > 0 && inflight_at(replica, 0)->is_timed)
        replica_arm(replica, inflight_at(replica, 0)->end_ns);
}

int replica_inflight_loaded(struct replica *replica, struct inflight_batch *inflight, sim_ns now)
{
    if (--inflight->n_moves > 0) return 0;
    int code = schedule_inflight(replica, now);
    if (code == 0) replica_arm_completion(replica);
    return code;
}

/* --- Completing --- */

int inflight_report(const struct replica *replica, const struct inflight_batch *inflight, int64_t n, sim_ns end_ns)
{
    if (replica->env->on_batch == NULL) return 0;
    struct replica_batch batch = {.start_ns = inflight->start_ns, .end_ns = end_ns, .iterations = n,
                                  .work = inflight->work, .prefill_sequences = inflight->n_chunks,
                                  .clock_state = &inflight->clock_state,
                                  .decoding = inflight->decoding != NULL ? inflight->decoding->members.n : 0};
    for (int32_t i = 0; i < inflight->n_chunks; i++) batch.prefill_tokens += inflight->chunks[i].tokens;
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

/* Decoding sequences have their token and are ready again, finished ones too: they leave after the prompts. */
static int complete_decoding(struct replica *replica, struct inflight_batch *inflight, sim_ns now)
{
    struct running_batch *running = inflight->decoding;
    running_advance(running, 1);
    replica->counts.decode_steps++;
    replica->counts.decode_tokens += running->members.n;
    int code = running_count_gap(running, now, replica->env->token_gap_s);
    if (code == 0 && running->drafts > 0) code = replica_end_drafts(replica, running);
    if (running->n_watched > 0) replica_resample_beams(replica, running);
    if (code != 0) return code;
    inflight->decoding = NULL;
    if (replica->ready->members.n == 0) {
        struct running_batch *empty = replica->ready;
        replica->ready = running;
        running = empty;
    } else {
        code = running_merge(replica->ready, running, replica->env->batcher->order);
    }
    replica_give_spare_batch(replica, running);
    return code;
}

int64_t inflight_held_tokens(const struct inflight_batch *inflight)
{
    const struct iteration_work *work = &inflight->work;
    return work->decode_context_tokens - work->decode_sequences + work->prefill_context_tokens;
}

static void count_work(struct replica *replica, const struct inflight_batch *completed)
{
    int64_t tokens = inflight_held_tokens(completed);
    for (int32_t i = 0; i < replica->n_inflight; i++)
        if (inflight_at(replica, i) != completed) tokens += inflight_held_tokens(inflight_at(replica, i));
    if (replica->pipeline != NULL) tokens += replica_stages_held_tokens(replica);
    replica_count_work(replica, &completed->work, &completed->clock_state, tokens, completed->busy_ns);
}

int inflight_complete(struct replica *replica, struct inflight_batch *inflight, sim_ns now)
{
    bool decodes = inflight->decoding != NULL;
    recall_drafting(replica, inflight);
    replica->counts.prefill_iterations += inflight->n_chunks > 0;
    replica->counts.decode_iterations += inflight->n_chunks == 0;
    replica->counts.busy_ns += inflight->busy_ns;
    replica->counts.extrapolated_ns += replica_extrapolated_ns(inflight->extrapolated_frac, inflight->busy_ns);
    count_work(replica, inflight);
    replica->in_flight -= inflight->prefilling.n + (decodes ? inflight->decoding->members.n : 0);
    if (replica->env->batcher->order == BATCH_SKIPPED_BY_ARRIVAL) {
        sort_by_arrival(&replica->ready->members);
        sort_by_arrival(&replica->prefilling);
    }
    int code = inflight_report(replica, inflight, 1, now);
    if (code == 0 && decodes) code = complete_decoding(replica, inflight, now);
    if (code == 0)
        code = replica_complete_prefills(replica, inflight->chunks, inflight->n_chunks, &inflight->prefilling, now);
    return code == 0 && (decodes || replica->env->batcher->ends_as_scheduled)
               ? replica_finish_due(replica, replica->ready, now)
               : code;
}

int replica_complete_inflight(struct replica *replica, sim_ns now)
{
    int code = 0;
    while (code == 0 && replica->n_inflight > 0) {
        struct inflight_batch *inflight = inflight_at(replica, 0);
        if (!inflight->is_timed || inflight->end_ns > now) return 0;
        code = inflight_complete(replica, inflight, now);
        replica->first_inflight = (int32_t)((replica->first_inflight + 1) % replica->view.stages);
        replica->n_inflight--;
    }
    return code;
}

void inflight_drop(struct replica *replica, struct inflight_batch *inflight)
{
    if (inflight->decoding != NULL) {
        inflight->decoding->drafts = 0;
        replica_give_spare_batch(replica, inflight->decoding);
    }
    inflight->decoding = NULL;
    inflight->prefilling = (struct request_list){0};
    inflight->n_chunks = inflight->n_moves = 0;
}

void replica_drop_inflight(struct replica *replica)
{
    for (int32_t i = 0; i < replica->n_inflight; i++) inflight_drop(replica, inflight_at(replica, i));
    for (int64_t stage = 0; stage < replica->view.stages; stage++) replica->stage_free_ns[stage] = 0;
    if (replica->pipeline != NULL) replica_stages_drop(replica);
    replica->first_inflight = replica->n_inflight = 0;
    replica->in_flight = 0;
}

/* --- Observing --- */

/* Time that the batch has spent on the stages by `at`, divided by their number. */
static sim_ns busy_by(const struct replica *replica, int32_t index, sim_ns now)
{
    const struct inflight_batch *inflight = inflight_at(replica, index);
    sim_ns busy_ns = 0, end_ns = inflight->end_ns;
    for (int64_t stage = replica->view.stages - 1; stage >= 0; stage--) {
        sim_ns begin_ns = end_ns - time_on(replica, inflight, stage);
        if (now > begin_ns) busy_ns += (now < end_ns ? now : end_ns) - begin_ns;
        end_ns = begin_ns; /* an upper bound: it may have waited between the stages */
    }
    return busy_ns / replica->view.stages;
}

sim_ns replica_inflight_busy_ns(const struct replica *replica, sim_ns at)
{
    sim_ns busy_ns = 0;
    for (int32_t i = 0; i < replica->n_inflight; i++) {
        const struct inflight_batch *inflight = inflight_at(replica, i);
        if (inflight->is_timed && inflight->start_ns < at) busy_ns += busy_by(replica, i, at);
    }
    return busy_ns;
}

int replica_settle_inflight(struct replica *replica, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; i < replica->n_inflight && code == 0; i++) {
        const struct inflight_batch *inflight = inflight_at(replica, i);
        if (!inflight->is_timed || inflight->start_ns >= now) continue;
        sim_ns busy_ns = busy_by(replica, i, now);
        replica->counts.busy_ns += busy_ns;
        replica->counts.extrapolated_ns += replica_extrapolated_ns(inflight->extrapolated_frac, busy_ns);
        code = inflight_report(replica, inflight, 0, now);
    }
    return code;
}

static bool has_started(const struct inflight_batch *inflight, sim_ns at)
{
    return inflight->is_timed && inflight->start_ns < at;
}

double replica_inflight_j(const struct replica *replica, sim_ns at)
{
    double joules = 0.0;
    for (int32_t i = 0; i < replica->n_inflight; i++) {
        const struct inflight_batch *inflight = inflight_at(replica, i);
        if (!has_started(inflight, at)) continue;
        joules += replica_spread_j(replica, inflight->start_ns, inflight->end_ns, inflight_j(replica, inflight), at);
    }
    return joules;
}

double replica_inflight_w(const struct replica *replica, sim_ns at)
{
    double watts = 0.0;
    for (int32_t i = 0; i < replica->n_inflight; i++) {
        const struct inflight_batch *inflight = inflight_at(replica, i);
        if (has_started(inflight, at + 1) && at < inflight->end_ns)
            watts += replica_spread_w(replica, inflight->start_ns, inflight->end_ns, inflight_j(replica, inflight));
    }
    return watts;
}

int64_t replica_prompts_in_flight(const struct replica *replica)
{
    int64_t n = 0;
    for (int32_t i = 0; i < replica->n_inflight; i++) n += inflight_at(replica, i)->n_chunks;
    return n;
}

void replica_each_in_flight(const struct replica *replica, void (*visit)(void *context, struct request *request),
                            void *context)
{
    if (replica->pipeline != NULL) replica_stages_each(replica, visit, context);
    for (int32_t i = 0; i < replica->n_inflight; i++) {
        const struct inflight_batch *inflight = inflight_at(replica, i);
        request_list_each(&inflight->prefilling, visit, context);
        if (inflight->decoding != NULL) request_list_each(&inflight->decoding->members, visit, context);
    }
}
