#include "sim/world/replica/replica.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/policy/instance.h"
#include "sim/world/replica/inside.h"
#include "sim/world/replica/replica_chunks.h"
#include "sim/world/replica/replica_stream.h"
#include "sim/world/replica/replica_traffic.h"
#include "sim/world/rows/priority.h"

static void replica_boundary(struct engine *engine, struct owner *owner, sim_ns now);

/* --- A run of identical decode iterations --- */

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The boundary at which the run ends unless a new decision is requested before. */
static int64_t decode_run_end(const struct replica *replica)
{
    const struct running_batch *ready = replica->ready;
    int64_t slack = replica->kv.free_blocks - replica->plan.keep_free_blocks;
    int64_t finish = request_order_least(&ready->finishing) - ready->step;
    int64_t left = min_i64(finish, replica->plan_end_step - ready->step);
    if (!kv_growth_lasts(&ready->growth, left, slack))
        left = min_i64(left, kv_growth_steps_until_short(&ready->growth, ready->step, slack));
    return min_i64(left + replica->run_steps, replica->run_until);
}

void replica_arm(struct replica *replica, sim_ns at_ns)
{
    const struct replica_env *env = replica->env;
    if (at_ns < SIM_NS_MAX)
        engine_arm(env->engine, at_ns, PRIORITY_REPLICA, replica_boundary, &replica->owner);
    else
        engine_fail(env->engine,
                    diag_error(env->diag, SIM_E_CONFIG, NULL, "look at the cost model and the times of the trace",
                               "replica %d of service '%s' computes for longer than 292 years", replica->index,
                               env->service));
}

/* The boundary at which the run is visited next: its end, or where a block leaves for the prefix store. */
static void decode_run_arm(struct replica *replica)
{
    replica->run_visit = replica->env->single_step ? replica->run_steps + 1 : replica->run_end;
    if (replica->store != NULL) replica->run_visit = replica_first_eviction(replica, replica->run_visit);
    replica_arm(replica, run_clock_boundary_ns(&replica->clock, replica->run_visit));
}

static void decode_run_go_on(struct replica *replica)
{
    replica->state = REPLICA_DECODE;
    replica->recheck_at = INT64_MAX;
    replica->run_end = decode_run_end(replica);
    decode_run_arm(replica);
}

static int decode_run_start(struct replica *replica, sim_ns now)
{
    struct iteration_work work = {.decode_sequences = replica->ready->members.n,
                                  .decode_context_tokens = replica->ready->context_tokens,
                                  .decode_longest_tokens = running_longest_tokens(replica->ready)};
    struct iteration_cost cost;
    int code = replica_cost(replica, &work, &cost, &replica->run_clock_state);
    if (code != 0) return code;
    replica->clock = (struct run_clock){now, cost.first_s * 1e9, cost.slope_s * 1e9};
    replica->run_steps = replica->run_counted = 0;
    replica->run_until = cost.until;
    replica->run_work = work;
    replica->run_extrapolated_frac = cost.extrapolated_frac;
    decode_run_go_on(replica);
    return 0;
}

static void decode_run_advance(struct replica *replica, int64_t boundary)
{
    int64_t n = boundary - replica->run_steps;
    replica_take_blocks(replica, kv_growth_over(&replica->ready->growth, replica->ready->step, n));
    running_advance(replica->ready, n);
    replica->run_steps = boundary;
}

static bool any_finishes(const struct replica *replica)
{
    return request_order_least(&replica->ready->finishing) <= replica->ready->step;
}

/* Whether the batcher's choice has ended, evaluated on the present state; run_end predicts it. */
static bool choice_is_over(const struct replica *replica)
{
    const struct running_batch *ready = replica->ready;
    return replica->run_steps >= replica->recheck_at || any_finishes(replica) ||
           ready->step == replica->plan_end_step ||
           replica->kv.free_blocks - kv_growth_at(&ready->growth, ready->step) < replica->plan.keep_free_blocks;
}

void replica_count_busy(struct replica *replica, sim_ns begin, sim_ns end)
{
    double frac = replica->run_extrapolated_frac;
    sim_ns anchor = replica->clock.anchor_ns;
    replica->counts.busy_ns += end - begin;
    if (frac > 0)
        replica->counts.extrapolated_ns += replica_extrapolated_ns(frac, end - anchor) -
                                           replica_extrapolated_ns(frac, begin - anchor);
}

/* Reports the part of the run from the boundary `counted` on. */
static int report_decode(const struct replica *replica, int64_t counted, int64_t n, sim_ns end_ns)
{
    if (replica->env->on_batch == NULL) return 0;
    struct replica_batch batch = {.start_ns = run_clock_boundary_ns(&replica->clock, counted),
                                  .end_ns = end_ns,
                                  .iterations = n,
                                  .decoding = replica->ready->members.n,
                                  .work = replica->run_work,
                                  .clock_state = &replica->run_clock_state};
    batch.work.decode_context_tokens += counted * batch.decoding;
    batch.work.decode_longest_tokens += counted;
    return batch.start_ns < end_ns ? replica->env->on_batch(replica, &batch) : 0;
}

static int report_prefill(const struct replica *replica, int64_t n, sim_ns end_ns)
{
    const struct batch_plan *plan = &replica->plan;
    if (replica->env->on_batch == NULL) return 0;
    struct replica_batch batch = {.start_ns = replica->clock.anchor_ns,
                                  .end_ns = end_ns,
                                  .iterations = n,
                                  .prefill_sequences = plan->n_prefills,
                                  .decoding = plan->decode ? replica->ready->members.n : 0,
                                  .work = replica->run_work,
                                  .clock_state = &replica->run_clock_state};
    for (int32_t i = 0; i < plan->n_prefills; i++) batch.prefill_tokens += plan->prefills[i].tokens;
    return replica->env->on_batch(replica, &batch);
}

static int decode_run_account(struct replica *replica)
{
    int64_t n = replica->run_steps - replica->run_counted;
    if (n == 0) return 0;
    sim_ns begin = run_clock_boundary_ns(&replica->clock, replica->run_counted);
    sim_ns end = run_clock_boundary_ns(&replica->clock, replica->run_steps);
    replica->counts.decode_iterations += n;
    replica->counts.decode_steps += n;
    replica->counts.decode_tokens += n * replica->ready->members.n;
    replica_count_busy(replica, begin, end);
    replica_count_decode_work(replica, n, end - begin);
    int code = running_count_gaps(replica->ready, &replica->clock, replica->run_counted, n, end,
                                  replica->env->token_gap_s);
    replica->run_counted = replica->run_steps;
    return code;
}

/* --- An iteration with prefill, drafts, or sequences that may copy blocks --- */

static int prefill_start(struct replica *replica, sim_ns now)
{
    struct iteration_work work = {0};
    struct iteration_cost cost;
    int code = replica_admit_prefills(replica, &work, now);
    if (replica->plan.decode && replica->ready->members.n > 0) replica_begin_step(replica, replica->ready, &work);
    if (code == 0) code = replica_cost(replica, &work, &cost, &replica->run_clock_state);
    if (code != 0) return code;
    replica->clock = (struct run_clock){now, cost.first_s * 1e9, 0};
    replica->run_steps = replica->run_counted = 0;
    replica->run_extrapolated_frac = cost.extrapolated_frac;
    replica->run_work = work;
    replica->state = REPLICA_PREFILL;
    if (replica->ready->drafts > 0) return replica_start_drafts(replica);
    replica_arm(replica, run_clock_boundary_ns(&replica->clock, 1));
    return 0;
}

static int prefill_end(struct replica *replica, sim_ns now)
{
    const bool has_prompts = replica->plan.n_prefills > 0;
    replica->counts.prefill_iterations += has_prompts;
    replica->counts.decode_iterations += !has_prompts;
    replica_count_busy(replica, replica->clock.anchor_ns, now);
    replica_count_work(replica, &replica->run_work, &replica->run_clock_state, 0, now - replica->clock.anchor_ns);
    int code = report_prefill(replica, 1, now);
    if (code == 0 && replica->plan.decode && replica->ready->members.n > 0) {
        running_advance(replica->ready, 1);
        replica->counts.decode_steps++;
        replica->counts.decode_tokens += replica->ready->members.n;
        replica->run_steps = 1;
        code = running_count_gap(replica->ready, now, replica->env->token_gap_s);
        if (code == 0 && replica->ready->drafts > 0) code = replica_end_drafts(replica, replica->ready);
        if (replica->ready->n_watched > 0) replica_resample_beams(replica, replica->ready);
    }
    const struct batch_plan *plan = &replica->plan;
    if (code == 0)
        code = replica_complete_prefills(replica, plan->prefills, plan->n_prefills, &replica->prefilling, now);
    return code != 0 ? code : replica_finish_due(replica, replica->ready, now);
}

/* --- Decisions --- */

/* Starts batches until there is one per stage, or nothing left to do. */
static int decide_inflight(struct replica *replica, sim_ns now)
{
    bool more = true;
    int code = 0;
    while (code == 0 && more && replica->n_inflight < replica->view.stages && replica_has_work(replica)) {
        code = replica_plan(replica, now);
        if (code != 0) return code;
        more = replica_plan_starts(replica) || replica_plan_departs(replica);
        if (replica_plan_starts(replica)) code = replica_start_inflight(replica, now);
    }
    replica->state = replica->n_inflight > 0 ? REPLICA_IN_FLIGHT : REPLICA_IDLE;
    if (code == 0) replica_arm_completion(replica);
    return code;
}

/* A held replica has no iteration in progress. */
static int halted(struct replica *replica, sim_ns now)
{
    if (!replica->is_halting) return 0;
    replica->is_halting = false;
    const int code = replica_report_queue(replica, NULL, now, ADMISSION_HELD);
    return code == 0 ? replica->env->on_halted(replica, now) : code;
}

/* Asks the batcher, repeatedly after plans that only remove requests or load them, and starts what it plans. same_run:
 * batch and cost are those of the current run. */
static int replica_decide(struct replica *replica, sim_ns now, bool same_run)
{
    const struct batch_plan *plan = &replica->plan;
    same_run = same_run && replica->arrived.n == 0;
    int code = replica_join_arrived(replica);
    if (code != 0 || replica->view.stages > 1) return code != 0 ? code : decide_inflight(replica, now);
    replica->state = REPLICA_IDLE;
    if (replica->is_held) return halted(replica, now);
    do {
        if (!replica_has_work(replica)) return 0;
        const int64_t members = replica->ready->members.n; /* requests may fork */
        if ((code = replica_plan(replica, now)) != 0) return code;
        same_run = same_run && replica->ready->members.n == members &&
                   plan->n_evictions + plan->n_pauses + plan->n_resumptions == 0;
    } while (replica_plan_departs(replica) && !replica_plan_starts(replica));
    if (!replica_plan_starts(replica)) return 0;
    if (replica_plan_is_inflight(replica)) {
        replica->state = REPLICA_IN_FLIGHT;
        code = replica_start_inflight(replica, now);
        if (code == 0) replica_arm_completion(replica);
        return code;
    }
    if (plan->n_prefills > 0 || replica_drafts(replica) || replica->ready->n_watched > 0)
        return prefill_start(replica, now);
    if (!same_run) return decode_run_start(replica, now);
    decode_run_go_on(replica);
    return 0;
}

/* Only the cost regime has changed. A decision requested at this very moment is due at the next boundary. */
static int decode_run_renew(struct replica *replica, sim_ns now)
{
    bool is_wanted = replica->recheck_at < INT64_MAX;
    int code = decode_run_start(replica, now);
    if (code != 0 || !is_wanted) return code;
    replica->recheck_at = replica->run_end = 1;
    decode_run_arm(replica);
    return 0;
}

/* The run is over: members that got their last token leave, and the batcher decides, unless its choice stands and only
 * the cost regime changed. */
static int decode_run_close(struct replica *replica, sim_ns now, bool choice_stands)
{
    int code = report_decode(replica, replica->run_counted, replica->run_steps - replica->run_counted, now);
    if (code == 0) code = decode_run_account(replica);
    if (code != 0) return code;
    if (choice_stands) return decode_run_renew(replica, now);
    bool same_run = !any_finishes(replica) && replica->run_steps < replica->run_until;
    code = replica_finish_due(replica, replica->ready, now);
    return code != 0 ? code : replica_decide(replica, now, same_run);
}

static int replica_step(struct replica *replica, sim_ns now)
{
    int code = 0;
    replica->is_woken = false;
    if (replica->pipeline != NULL) return replica_stages_step(replica, now);
    if (replica->state == REPLICA_DECODE) {
        decode_run_advance(replica, replica->env->single_step ? replica->run_steps + 1 : replica->run_visit);
        const bool choice_stands = !choice_is_over(replica);
        const bool over = !choice_stands || replica->run_steps == replica->run_until;
        SIM_REQUIRE(over == (replica->run_steps == replica->run_end));
        if (over) return decode_run_close(replica, now, choice_stands);
        decode_run_arm(replica);
        return 0;
    }
    if (replica->state == REPLICA_PREFILL && replica_is_ahead(replica)) {
        bool goes_on;
        code = replica_end_drafts_ahead(replica, &goes_on);
        if (code != 0 || goes_on) return code;
    }
    if (replica->state == REPLICA_PREFILL) code = prefill_end(replica, now);
    if (replica->state == REPLICA_IN_FLIGHT) code = replica_complete_inflight(replica, now);
    return code != 0 ? code : replica_decide(replica, now, false);
}

static void replica_boundary(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct replica *replica = OWNER_ENTITY(owner, struct replica, owner);
    int code = replica_step(replica, now);
    if (code != 0) engine_fail(engine, code);
    if (replica->state == REPLICA_IDLE) replica_end_claims(replica);
}

/* --- Arrivals and wake-ups --- */

/* Ends the current run at its first boundary at or after from_ns. */
static void decode_run_recheck(struct replica *replica, sim_ns from_ns)
{
    int64_t boundary = run_clock_first_boundary(&replica->clock, from_ns);
    if (boundary >= replica->recheck_at) return;
    SIM_REQUIRE(boundary > replica->run_steps);
    replica->recheck_at = boundary;
    if (boundary >= replica->run_end) return;
    replica->run_end = boundary;
    decode_run_arm(replica);
}

void replica_wake(struct replica *replica, sim_ns now, bool strictly)
{
    bool has_room = replica->pipeline != NULL ? replica_first_stage_is_free(replica)
                                              : replica->n_inflight < replica->view.stages;
    bool can_start = replica->state == REPLICA_IN_FLIGHT && has_room;
    if (replica->state == REPLICA_DECODE) decode_run_recheck(replica, now + strictly);
    if (replica_is_ahead(replica)) replica_cut_drafts(replica, now);
    if (replica->is_woken || (replica->state != REPLICA_IDLE && !can_start)) return;
    replica->is_woken = true;
    replica_arm(replica, now);
}

void replica_enqueue(struct replica *replica, struct request *request, sim_ns now)
{
    replica_add_load(replica, 1, 1, request_unprocessed_tokens(request));
    if (replica->store != NULL) replica_open_store(replica, now);
    if (replica->chunks != NULL) replica_open_chunks(replica, now);
    if (replica->store != NULL && replica_fetch_prefix(replica, request, now)) return;
    request_list_push_back(&replica->waiting, request);
    if (replica->state != REPLICA_DECODE || replica->plan.recheck_on_arrival) replica_wake(replica, now, false);
}

bool replica_hold(struct replica *replica, sim_ns now)
{
    SIM_REQUIRE(replica->view.stages == 1 && !replica->is_held);
    replica->is_held = true;
    if (replica->state == REPLICA_IDLE) {
        const int code = replica_report_queue(replica, NULL, now, ADMISSION_HELD);
        if (code != 0) engine_fail(replica->env->engine, code);
        return true;
    }
    replica->is_halting = true;
    if (replica->state == REPLICA_DECODE) decode_run_recheck(replica, now);
    if (replica_is_ahead(replica)) replica_cut_drafts(replica, now);
    return false;
}

void replica_resume(struct replica *replica, sim_ns now)
{
    SIM_REQUIRE(replica->is_held && !replica->is_halting);
    replica->is_held = false;
    replica_wake(replica, now, false);
}

/* Ends the current run at its first boundary at or after now, where its iterations are priced anew. The batcher is not
 * asked. */
static void decode_run_end_for_clock(struct replica *replica, sim_ns now)
{
    const int64_t boundary = run_clock_first_boundary(&replica->clock, now);
    SIM_REQUIRE(boundary > replica->run_steps);
    if (boundary >= replica->run_until) return;
    replica->run_until = boundary;
    if (boundary >= replica->run_end) return;
    replica->run_end = boundary;
    decode_run_arm(replica);
}

void replica_set_clock(struct replica *replica, struct clock_order order, sim_ns now)
{
    const struct clock_order before = replica->order;
    replica->order = order;
    if (before.clock_frac == order.clock_frac && before.cap_w == order.cap_w) return;
    if (replica->state == REPLICA_DECODE) decode_run_end_for_clock(replica, now);
    if (replica_is_ahead(replica)) replica_cut_drafts(replica, now);
}

/* --- Observing --- */

/* Boundaries of the current run passed by `at`. */
static int64_t boundaries_by(const struct replica *replica, sim_ns at)
{
    int64_t boundary = run_clock_first_boundary(&replica->clock, at);
    if (run_clock_boundary_ns(&replica->clock, boundary) > at) boundary--;
    return boundary > replica->run_steps ? boundary : replica->run_steps;
}

void replica_catch_up(struct replica *replica, sim_ns now)
{
    if (replica_is_ahead(replica)) replica_follow_drafts(replica, now);
    if (replica->state != REPLICA_DECODE) return;
    int64_t boundary = boundaries_by(replica, now - 1);
    if (boundary > replica->run_steps) decode_run_advance(replica, boundary);
}

int64_t replica_used_blocks(const struct replica *replica, sim_ns at)
{
    if (replica_is_ahead(replica)) replica_follow_drafts(replica, at);
    int64_t used = replica->kv.total_blocks - replica->kv.free_blocks;
    if (replica->state != REPLICA_DECODE) return used;
    int64_t n = boundaries_by(replica, at) - replica->run_steps;
    return used + kv_growth_over(&replica->ready->growth, replica->ready->step, n);
}

static void add_context(void *context, struct request *request)
{
    if (request->running != NULL) *(int64_t *)context += running_context(request->running, request);
}

int64_t replica_decode_context_tokens(const struct replica *replica, sim_ns at)
{
    if (replica_is_ahead(replica)) replica_follow_drafts(replica, at);
    int64_t tokens = replica->ready->context_tokens;
    replica_each_in_flight(replica, add_context, &tokens);
    if (replica->state != REPLICA_DECODE) return tokens;
    return tokens + (boundaries_by(replica, at) - replica->run_steps) * replica->ready->members.n;
}

int64_t replica_entering_prompts(const struct replica *replica)
{
    if (replica->pipeline != NULL) return replica_first_stage_prompts(replica);
    return replica->state == REPLICA_PREFILL ? replica->plan.n_prefills : replica_prompts_in_flight(replica);
}

int64_t replica_idle_sequences(const struct replica *replica)
{
    int64_t coming = replica->nonresident.n + replica->moving.n + replica->arrived.n;
    bool all_decode = replica->state == REPLICA_DECODE || (replica->state == REPLICA_PREFILL && replica->plan.decode);
    return coming + replica->paused.n + (all_decode ? 0 : replica->ready->members.n);
}

/* --- Shares of links --- */

void replica_end_claims(struct replica *replica)
{
    if (replica->stream != NULL) replica_stream_end_claims(replica->stream);
    if (replica->traffic != NULL) replica_traffic_end_claims(replica->traffic);
}

/* The current iteration of a run began at this time. */
static void begin_at_share(struct replica *replica, sim_ns start_ns)
{
    if (replica->stream != NULL) replica_stream_begin(replica->stream, start_ns);
    if (replica->traffic != NULL) replica_traffic_begin(replica->traffic, start_ns);
}

sim_ns replica_end_at_share(struct replica *replica, const struct iteration_work *work, sim_ns now, sim_ns end_ns)
{
    SIM_REQUIRE((replica->traffic != NULL) != (replica->stream != NULL));
    if (replica->traffic != NULL) return replica_traffic_end_ns(replica->traffic, now, end_ns);
    return replica_stream_end_ns(replica->stream, work, now, end_ns);
}

/* Reports and counts the completed iterations of the run. The current iteration continues at another speed, as a run
 * of its own; if it begins right now, it is the first of a run. */
static int decode_run_cut(struct replica *replica, sim_ns now)
{
    const bool is_wanted = replica->recheck_at < INT64_MAX;
    const int64_t boundary = boundaries_by(replica, now);
    if (boundary > replica->run_steps) decode_run_advance(replica, boundary);
    const sim_ns start_ns = run_clock_boundary_ns(&replica->clock, boundary);
    sim_ns end_ns = run_clock_boundary_ns(&replica->clock, boundary + 1);
    int code = report_decode(replica, replica->run_counted, boundary - replica->run_counted, start_ns);
    if (code == 0) code = decode_run_account(replica);
    if (code != 0) return code;
    if (start_ns == now) return decode_run_renew(replica, now);
    replica_keep_run_drawn(replica, boundary, now);
    if (boundary > 0) begin_at_share(replica, start_ns);
    replica->run_work.decode_context_tokens = replica->ready->context_tokens;
    replica->run_work.decode_longest_tokens = running_longest_tokens(replica->ready);
    end_ns = replica_end_at_share(replica, &replica->run_work, now, end_ns);
    replica->clock = (struct run_clock){start_ns, (double)(end_ns - start_ns), 0};
    replica->run_steps = replica->run_counted = 0;
    replica->run_until = 1;
    decode_run_go_on(replica);
    if (is_wanted) replica->recheck_at = 1;
    return 0;
}

static void prefill_reprice(struct replica *replica, sim_ns now)
{
    const sim_ns end_ns = run_clock_boundary_ns(&replica->clock, 1);
    replica_keep_run_drawn(replica, 0, now);
    const sim_ns later_ns = replica_end_at_share(replica, &replica->run_work, now, end_ns);
    replica->clock.first_ns = (double)(later_ns - replica->clock.anchor_ns);
    replica_arm(replica, later_ns);
}

int replica_reprice(struct replica *replica, sim_ns now)
{
    if (replica->state == REPLICA_DECODE) return decode_run_cut(replica, now);
    if (replica->state == REPLICA_PREFILL) prefill_reprice(replica, now);
    if (replica->state == REPLICA_IN_FLIGHT) replica_reprice_inflight(replica, now);
    return 0;
}

int replica_count_so_far(struct replica *replica, sim_ns now)
{
    int code = 0;
    if (replica->pipeline != NULL) return replica_stages_settle(replica, now);
    if (replica->state == REPLICA_IN_FLIGHT) return replica_settle_inflight(replica, now);
    if (replica->state != REPLICA_DECODE && replica->state != REPLICA_PREFILL) return 0;
    if (replica->state == REPLICA_DECODE) {
        code = report_decode(replica, replica->run_counted, replica->run_steps - replica->run_counted, now);
        if (code == 0) code = decode_run_account(replica);
    } else {
        code = report_prefill(replica, 0, now);
    }
    replica_count_busy(replica, run_clock_boundary_ns(&replica->clock, replica->run_steps), now);
    return code;
}

int replica_settle(struct replica *replica, sim_ns now)
{
    if (replica_is_ahead(replica)) replica_follow_drafts(replica, now);
    if (replica->state == REPLICA_DECODE) {
        int64_t boundary = boundaries_by(replica, now);
        if (boundary > replica->run_steps) decode_run_advance(replica, boundary);
    }
    return replica_count_so_far(replica, now);
}

void replica_each_request(const struct replica *replica, void (*visit)(void *context, struct request *request),
                          void *context)
{
    const struct request_list *const lists[] = {&replica->waiting,        &replica->prefilling, &replica->paused,
                                                &replica->nonresident,    &replica->moving,     &replica->arrived,
                                                &replica->ready->members, &replica->fetching};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) request_list_each(lists[i], visit, context);
    replica_each_in_flight(replica, visit, context);
}

int32_t replica_generated_tokens(const struct request *request)
{
    return request->running != NULL ? (int32_t)running_generated(request->running, request) : request->generated_tokens;
}

struct token_wait replica_max_gap(const struct request *request)
{
    return request->running != NULL ? running_max_gap(request->running, request) : request->max_gap;
}

int64_t replica_running(const struct replica *replica)
{
    return replica->prefilling.n + replica->paused.n + replica->moving.n + replica->arrived.n +
           replica->ready->members.n + replica->in_flight;
}

/* --- Coming and going --- */

int replica_init(struct replica *replica, const struct replica_env *env, int32_t index, uint32_t owner_id,
                 int64_t block_tokens, int64_t total_blocks, const void *params, struct replica_load *load)
{
    *replica = (struct replica){.env = env, .index = index, .load = load, .order = clock_order_none()};
    owner_init(&replica->owner, owner_id);
    kvcache_init(&replica->kv, block_tokens, total_blocks);
    replica->view.block_tokens = block_tokens;
    replica->view.total_blocks = total_blocks;
    replica->view.max_context_tokens = env->max_context_tokens;
    replica->view.stages = env->stages > 0 ? env->stages : 1;
    replica->ready = mem_zalloc(1, sizeof *replica->ready);
    if (replica->ready == NULL || replica_init_batch(replica, replica->ready) != 0 ||
        replica_inflight_init(replica) != 0 || replica_stages_init(replica) != 0)
        return SIM_E_NOMEM;
    const int code = replica_speculation_init(replica);
    if (code != 0) return code;
    return policy_state_create(&env->batcher->policy, POLICY_BATCHING, sizeof *env->batcher, params,
                               &replica->batcher_state, env->diag);
}

void replica_fini(struct replica *replica)
{
    if (replica->env == NULL) return;
    policy_state_destroy(&replica->env->batcher->policy, replica->batcher_state);
    replica_plan_fini(&replica->plan);
    planned_blocks_fini(&replica->planned);
    replica_speculation_fini(replica);
    replica_stages_fini(replica);
    replica_inflight_fini(replica);
    replica_prefixes_fini(replica);
    replica_chunks_fini(replica);
    replica_stream_close(replica);
    replica_traffic_close(replica);
}
