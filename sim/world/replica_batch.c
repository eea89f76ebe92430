#include "sim/world/replica_batch.h"

#include "sim/core/check.h"

#include <math.h>
#include <stddef.h>

int replica_cost(const struct replica *replica, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct iteration_model *model = &replica->env->model;
    model->cost(model->model, work, cost);
    if (isfinite(cost->first_s) && isfinite(cost->slope_s) && cost->first_s >= 1e-9 && cost->until >= 1) return 0;
    return diag_error(replica->env->diag, SIM_E_CONFIG, NULL, "check its parameters",
                      "the %s cost of service '%s' gives %g s, then %g s more each time, for %lld iterations of %lld "
                      "prefill tokens and %lld decoding sequences",
                      model->kind, replica->env->service, cost->first_s, cost->slope_s, (long long)cost->until,
                      (long long)work->prefill_tokens, (long long)work->decode_sequences);
}

/* Tokens that a decoding request has processed. */
static int64_t context_tokens(const struct replica *replica, const struct request *request)
{
    return request->joined_context_tokens + (replica->step - request->joined_step);
}

/* --- Time between tokens --- */

/* Those who joined since the token before get their first gap, each from its own prefill. Returns how many they are. */
static int64_t count_first_gaps(struct replica *replica, int64_t first_step, sim_ns first_ns, int *code)
{
    int64_t n = 0;
    for (struct request *request = replica->decoding.tail; request != NULL && request->joined_step == first_step - 1;
         request = request_of(request->view.prev), n++) {
        request->first_gap_ns = first_ns - request->joined_ns;
        if (*code == 0) *code = histogram_add(replica->env->token_gap_s, sim_s_from_ns(request->first_gap_ns), 1);
    }
    return n;
}

/* The gaps within the run after its first boundary: an arithmetic series. The longest is its first or last, within the
 * nanosecond of rounding. */
static int count_later_gaps(struct replica *replica, int64_t counted, int64_t n)
{
    const struct run_clock *clock = &replica->clock;
    double first_s = (clock->first_ns + clock->slope_ns * (double)(counted + 1)) / 1e9;
    int code = histogram_add_series(replica->env->token_gap_s, first_s, clock->slope_ns / 1e9, (uint64_t)(n - 1),
                                    (uint64_t)replica->decoding.n);
    sim_ns early = run_clock_boundary_ns(clock, counted + 2) - run_clock_boundary_ns(clock, counted + 1);
    sim_ns late = run_clock_boundary_ns(clock, counted + n) - run_clock_boundary_ns(clock, counted + n - 1);
    return code != 0 ? code : token_gaps_add(&replica->gaps, replica->step, early > late ? early : late);
}

int replica_count_gaps(struct replica *replica, int64_t counted, int64_t n)
{
    int code = 0;
    int64_t first_step = replica->step - n + 1;
    sim_ns first_ns = run_clock_boundary_ns(&replica->clock, counted + 1);
    int64_t fresh = count_first_gaps(replica, first_step, first_ns, &code);
    int64_t others = replica->decoding.n - fresh;
    if (code == 0 && others > 0) {
        sim_ns gap_ns = first_ns - replica->last_token_ns;
        code = histogram_add(replica->env->token_gap_s, sim_s_from_ns(gap_ns), (uint64_t)others);
        if (code == 0) code = token_gaps_add(&replica->gaps, first_step, gap_ns);
    }
    if (code == 0 && n > 1) code = count_later_gaps(replica, counted, n);
    replica->last_token_ns = run_clock_boundary_ns(&replica->clock, counted + n);
    if (replica->decoding.n > 0 && replica->gaps.n > 64)
        token_gaps_forget_before(&replica->gaps, replica->decoding.head->joined_step + 2);
    return code;
}

sim_ns replica_max_gap_ns(const struct replica *replica, const struct request *request)
{
    sim_ns max_ns = request->max_gap_ns;
    if (request->view.state != REQUEST_DECODING) return max_ns;
    if (request->first_gap_ns > max_ns) max_ns = request->first_gap_ns;
    sim_ns later_ns = token_gaps_max_from(&replica->gaps, request->joined_step + 2);
    return later_ns > max_ns ? later_ns : max_ns;
}

/* --- Leaving the batch --- */

static void leave_decoding(struct replica *replica, struct request *request)
{
    int64_t context = context_tokens(replica, request);
    request->max_gap_ns = replica_max_gap_ns(replica, request);
    request->generated_tokens += (int32_t)(replica->step - request->joined_step);
    finish_order_remove(&replica->finishing, request);
    if (request->grows) {
        kvcache_leave(&replica->kv, replica->step, context);
        request->held_blocks = kvcache_blocks(&replica->kv, context - 1);
        request->grows = false;
    }
    replica->context_tokens -= context;
    request_list_remove(&replica->decoding, request);
}

static void give_blocks(struct replica *replica, struct request *request)
{
    kvcache_give(&replica->kv, request->held_blocks);
    request->held_blocks = 0;
}

static int finish(struct replica *replica, struct request *request, sim_ns now)
{
    request->view.state = REQUEST_FINISHED;
    replica->load->outstanding--;
    engine_progress(replica->env->engine);
    return replica->env->on_finish(replica, request, now);
}

static int reject(struct replica *replica, struct request *request, const char *reason, sim_ns now)
{
    request_list_remove(&replica->waiting, request);
    request->view.state = REQUEST_REJECTED;
    replica->load->waiting--;
    replica->load->outstanding--;
    replica->load->queued_tokens -= request_unprocessed_tokens(request);
    engine_progress(replica->env->engine);
    return replica->env->on_reject(replica, request, now, reason);
}

int replica_finish_due(struct replica *replica, sim_ns now)
{
    int code = 0;
    while (code == 0 && finish_order_next_step(&replica->finishing) <= replica->step) {
        struct request *request = finish_order_first(&replica->finishing);
        leave_decoding(replica, request);
        give_blocks(replica, request);
        SIM_ASSERT(request->generated_tokens == request->output_tokens);
        code = finish(replica, request, now);
    }
    return code;
}

/* What it has generated becomes part of its prompt. */
static void stop_decoding(struct replica *replica, struct request *request)
{
    int64_t context = context_tokens(replica, request);
    bool has_decoded = request->joined_step < replica->step;
    leave_decoding(replica, request);
    if (has_decoded) request->joined_ns = replica->last_token_ns; /* its latest token */
    request->view.prompt_tokens = (int32_t)context;
    request->first_gap_ns = 0;
}

/* The sequence loses its blocks and comes back to the head of the queue, to prefill all that it had processed. */
static int preempt(struct replica *replica, struct request *request, const char *reason, sim_ns now)
{
    int32_t unprocessed_tokens = request_unprocessed_tokens(request);
    if (request->view.state == REQUEST_DECODING)
        stop_decoding(replica, request);
    else
        request_list_remove(&replica->prefilling, request);
    give_blocks(replica, request);
    request->view.prefilled_tokens = 0;
    request->view.preemptions++;
    request->view.state = REQUEST_WAITING;
    request_list_push_front(&replica->waiting, request);
    replica->load->waiting++;
    replica->load->queued_tokens += request_unprocessed_tokens(request) - unprocessed_tokens;
    replica->counts.preemptions++;
    return replica->env->on_preempt(replica, request, now, reason);
}

int replica_apply_departures(struct replica *replica, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < plan->n_rejections; i++)
        code = reject(replica, request_of(plan->rejections[i].request), plan->rejections[i].reason, now);
    for (int32_t i = 0; code == 0 && i < plan->n_evictions; i++)
        code = preempt(replica, request_of(plan->evictions[i].request), plan->evictions[i].reason, now);
    return code;
}

/* --- Joining the batch --- */

static void hold(struct replica *replica, struct request *request, int64_t tokens)
{
    int64_t needed = replica_view_needed_blocks(&replica->view, &request->view, tokens);
    kvcache_take(&replica->kv, needed);
    request->held_blocks += needed;
}

static void admit(struct replica *replica, struct request *request, sim_ns now)
{
    request_list_remove(&replica->waiting, request);
    request_list_push_back(&replica->prefilling, request);
    replica->load->waiting--;
    request->view.state = REQUEST_PREFILLING;
    if (request->scheduled_ns == TIME_UNSET) request->scheduled_ns = now;
}

int replica_tell_prefills(const struct replica *replica, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    int64_t free_blocks = replica->kv.free_blocks;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < plan->n_prefills; i++) {
        const struct request_view *request = plan->prefills[i].request;
        code = replica->env->on_prefill(replica, &plan->prefills[i], free_blocks, now);
        free_blocks -= replica_view_needed_blocks(&replica->view, request, plan->prefills[i].hold_tokens);
    }
    return code;
}

struct iteration_work replica_admit_prefills(struct replica *replica, sim_ns now)
{
    struct batch_plan *plan = &replica->plan;
    struct iteration_work work = {.prefill_sequences = plan->n_prefills};
    for (int32_t i = 0; i < plan->n_prefills; i++) {
        struct request *request = request_of(plan->prefills[i].request);
        if (request->view.state == REQUEST_WAITING) admit(replica, request, now);
        hold(replica, request, plan->prefills[i].hold_tokens);
        double n = plan->prefills[i].tokens, before = request->view.prefilled_tokens;
        work.prefill_tokens += plan->prefills[i].tokens;
        work.prefill_context_tokens += request->view.prefilled_tokens;
        work.prefill_pairs += n * n + 2 * n * before;
    }
    if (plan->decode && replica->decoding.n > 0) {
        work.decode_sequences = replica->decoding.n;
        work.decode_context_tokens = replica->context_tokens;
        kvcache_take(&replica->kv, kvcache_growth(&replica->kv, replica->step));
    }
    return work;
}

static int join_decoding(struct replica *replica, struct request *request)
{
    int32_t context = request->view.prompt_tokens + 1;
    int64_t last_context = request->view.prompt_tokens + (request->output_tokens - request->generated_tokens);
    request->view.state = REQUEST_DECODING;
    request->grows = request->held_blocks < kvcache_blocks(&replica->kv, last_context);
    request->joined_context_tokens = context;
    request->joined_step = replica->step;
    request->finish_step = replica->step + (request->output_tokens - request->generated_tokens);
    request_list_push_back(&replica->decoding, request);
    if (request->grows) kvcache_join(&replica->kv, replica->step, context);
    replica->context_tokens += context;
    return finish_order_add(&replica->finishing, request);
}

/* From the last token before a preemption to the first one after it. */
static int count_gap_of_preemption(struct replica *replica, struct request *request, sim_ns now)
{
    sim_ns gap_ns = now - request->joined_ns;
    if (gap_ns > request->max_gap_ns) request->max_gap_ns = gap_ns;
    return histogram_add(replica->env->token_gap_s, sim_s_from_ns(gap_ns), 1);
}

/* The prompt is processed and has given a token: the first one, or the next one after a preemption. */
static int end_prefill(struct replica *replica, struct request *request, sim_ns now)
{
    int code = 0;
    request_list_remove(&replica->prefilling, request);
    request->generated_tokens++;
    if (request->first_token_ns == TIME_UNSET)
        request->first_token_ns = now;
    else
        code = count_gap_of_preemption(replica, request, now);
    if (code != 0) return code;
    request->joined_ns = now;
    engine_progress(replica->env->engine);
    if (request->generated_tokens < request->output_tokens) return join_decoding(replica, request);
    give_blocks(replica, request);
    return finish(replica, request, now);
}

int replica_complete_prefills(struct replica *replica, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < plan->n_prefills; i++) {
        struct request *request = request_of(plan->prefills[i].request);
        request->view.prefilled_tokens += plan->prefills[i].tokens;
        replica->load->queued_tokens -= plan->prefills[i].tokens;
        if (request->view.prefilled_tokens == request->view.prompt_tokens) code = end_prefill(replica, request, now);
    }
    return code;
}

/* --- The border to the batcher --- */

bool replica_view_grows(const struct replica_view *view, const struct request_view *request)
{
    const struct request *member = request_of(request);
    if (!member->grows) return false;
    return (member->joined_context_tokens + view->decode_step - member->joined_step) % view->block_tokens ==
           1 % view->block_tokens;
}

int64_t replica_view_blocks(const struct replica_view *view, const struct request_view *request)
{
    const struct request *member = request_of(request);
    if (!member->grows) return member->held_blocks;
    return blocks_for_tokens(view, member->joined_context_tokens + view->decode_step - member->joined_step - 1);
}

int64_t replica_view_output_tokens(const struct replica_view *view, const struct request_view *request)
{
    struct replica *replica = (struct replica *)((uintptr_t)view - offsetof(struct replica, view));
    const struct request *member = request_of(request);
    int64_t came = member->generated_tokens;
    if (!(replica->env->batcher->policy.oracle & ORACLE_OUTPUT)) replica->asked_oracle = request;
    if (request->state == REQUEST_DECODING) came += replica->step - member->joined_step;
    return member->output_tokens - came;
}

int64_t replica_view_needed_blocks(const struct replica_view *view, const struct request_view *request,
                                   int64_t hold_tokens)
{
    int64_t needed = blocks_for_tokens(view, hold_tokens) - replica_view_blocks(view, request);
    return needed > 0 ? needed : 0;
}

static int plan_fault(const struct replica *replica, sim_ns now, const char *action, int64_t id, const char *why)
{
    return diag_error(replica->env->diag, SIM_E_POLICY, NULL, NULL,
                      "batching policy '%s' asked to %s request %lld on replica %d at %.9f s, but %s",
                      replica->env->batcher->policy.name, action, (long long)id, replica->index, sim_s_from_ns(now),
                      why);
}

/* A plan names requests of its own replica, and each of them once. */
static int check_named(const struct replica *replica, sim_ns now, const char *action,
                       const struct request_view *request)
{
    if (request == NULL || request_of(request)->replica != replica->index)
        return plan_fault(replica, now, action, request == NULL ? -1 : request->id,
                          "it is not a request of this replica");
    if (request_of(request)->planned == replica->plan_number)
        return plan_fault(replica, now, action, request->id, "it has named it already");
    request_of(request)->planned = replica->plan_number;
    return 0;
}

static int check_rejections(const struct replica *replica, sim_ns now)
{
    for (int32_t i = 0; i < replica->plan.n_rejections; i++) {
        const struct request_view *request = replica->plan.rejections[i].request;
        int code = check_named(replica, now, "reject", request);
        if (code != 0) return code;
        if (request->state != REQUEST_WAITING)
            return plan_fault(replica, now, "reject", request->id, "it is not waiting");
    }
    return 0;
}

static int check_evictions(const struct replica *replica, sim_ns now, int64_t *free_blocks, int64_t *growth)
{
    for (int32_t i = 0; i < replica->plan.n_evictions; i++) {
        const struct request_view *request = replica->plan.evictions[i].request;
        int code = check_named(replica, now, "evict", request);
        if (code != 0) return code;
        if (request->state != REQUEST_DECODING && request->state != REQUEST_PREFILLING)
            return plan_fault(replica, now, "evict", request->id, "it is neither decoding nor prefilling");
        *free_blocks += replica_view_blocks(&replica->view, request);
        *growth -= replica_view_grows(&replica->view, request);
    }
    return 0;
}

/* A reservation beyond the prompt must last to the end. */
static int check_reservation(const struct replica *replica, sim_ns now, const struct batch_prefill *prefill)
{
    const struct request *request = request_of(prefill->request);
    int64_t prompt = request->view.prompt_tokens, left = request->output_tokens - request->generated_tokens;
    int64_t held = request->held_blocks +
                   replica_view_needed_blocks(&replica->view, &request->view, prefill->hold_tokens);
    if (held <= kvcache_blocks(&replica->kv, prompt) || held >= kvcache_blocks(&replica->kv, prompt + left - 1))
        return 0;
    return plan_fault(replica, now, "prefill", request->view.id, "its reservation would not last to its end");
}

static int check_prefill(const struct replica *replica, sim_ns now, const struct batch_prefill *prefill,
                         int64_t *free_blocks)
{
    const struct request_view *request = prefill->request;
    int code = check_named(replica, now, "prefill", request);
    if (code != 0) return code;
    if (request->state != REQUEST_WAITING && request->state != REQUEST_PREFILLING)
        return plan_fault(replica, now, "prefill", request->id, "it is neither waiting nor prefilling");
    if (prefill->tokens < 1 || prefill->tokens > request->prompt_tokens - request->prefilled_tokens)
        return plan_fault(replica, now, "prefill", request->id, "its prompt has no such number of tokens left");
    if (prefill->hold_tokens < request->prefilled_tokens + prefill->tokens)
        return plan_fault(replica, now, "prefill", request->id, "it would not hold the KV blocks of these tokens");
    *free_blocks -= replica_view_needed_blocks(&replica->view, request, prefill->hold_tokens);
    if (*free_blocks < 0) return plan_fault(replica, now, "prefill", request->id, "there are too few free KV blocks");
    return check_reservation(replica, now, prefill);
}

/* What does not depend on any request: sizes, and how long the choice stands. */
static int check_terms(const struct replica *replica, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    const char *policy = replica->env->batcher->policy.name;
    if (plan->n_prefills > plan->capacity || plan->n_evictions > plan->capacity || plan->n_rejections > plan->capacity)
        return diag_error(replica->env->diag, SIM_E_POLICY, NULL, "ask batch_plan_full before adding",
                          "batching policy '%s' made a plan of more than %d entries of a kind at %.9f s", policy,
                          plan->capacity, sim_s_from_ns(now));
    if (plan->iterations < 1 || plan->keep_free_blocks < 0)
        return diag_error(replica->env->diag, SIM_E_POLICY, NULL, NULL,
                          "batching policy '%s' says at %.9f s that its choice stands for %lld iterations, while %lld "
                          "blocks stay free; these must be at least 1 and 0",
                          policy, sim_s_from_ns(now), (long long)plan->iterations, (long long)plan->keep_free_blocks);
    return 0;
}

int replica_check_plan(struct replica *replica, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    int64_t free_blocks = replica->kv.free_blocks, growth = replica->view.growing;
    int code = check_terms(replica, now);
    if (replica->asked_oracle != NULL)
        return plan_fault(replica, now, "see the output length of", replica->asked_oracle->id,
                          "it has not declared ORACLE_OUTPUT");
    if (code == 0) code = check_rejections(replica, now);
    if (code == 0) code = check_evictions(replica, now, &free_blocks, &growth);
    if (code == 0 && plan->decode) {
        free_blocks -= growth;
        if (free_blocks < 0)
            return plan_fault(replica, now, "decode", replica->view.oldest_decoding->id,
                              "there are too few free KV blocks");
    }
    for (int32_t i = 0; code == 0 && i < plan->n_prefills; i++)
        code = check_prefill(replica, now, &plan->prefills[i], &free_blocks);
    return code;
}
