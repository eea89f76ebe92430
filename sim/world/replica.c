#include "sim/world/replica.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/policy_state.h"
#include "sim/world/priority.h"
#include "sim/world/replica_batch.h"

#include <math.h>
#include <string.h>

enum { MIN_PLAN_ENTRIES = 64 };

static void replica_boundary(struct engine *engine, struct owner *owner, sim_ns now);

/* --- A run of identical decode iterations --- */

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The boundary at which the run ends, were it not for an arrival. */
static int64_t decode_run_end(const struct replica *replica)
{
    int64_t finish = finish_order_next_step(&replica->finishing) - replica->step;
    int64_t kv = kvcache_steps_until_short(&replica->kv, replica->step, replica->plan.keep_free_blocks);
    int64_t left = min_i64(min_i64(finish, kv), replica->plan_end_step - replica->step);
    return min_i64(left + replica->run_steps, replica->run_until);
}

static void arm_boundary(struct replica *replica, int64_t boundary)
{
    const struct replica_env *env = replica->env;
    sim_ns at_ns = run_clock_boundary_ns(&replica->clock, boundary);
    if (at_ns < SIM_NS_MAX)
        engine_arm(env->engine, at_ns, PRIORITY_REPLICA, replica_boundary, &replica->owner);
    else
        engine_fail(env->engine,
                    diag_error(env->diag, SIM_E_CONFIG, NULL, "look at the cost model and the times of the trace",
                               "replica %d of service '%s' computes for longer than 292 years", replica->index,
                               env->service));
}

static void decode_run_arm(struct replica *replica)
{
    arm_boundary(replica, replica->env->single_step ? replica->run_steps + 1 : replica->run_end);
}

static void decode_run_go_on(struct replica *replica)
{
    replica->state = REPLICA_DECODE;
    replica->recheck = false;
    replica->run_end = decode_run_end(replica);
    decode_run_arm(replica);
}

static int decode_run_start(struct replica *replica, sim_ns now)
{
    struct iteration_work work = {.decode_sequences = replica->decoding.n,
                                  .decode_context_tokens = replica->context_tokens};
    struct iteration_cost cost;
    int code = replica_cost(replica, &work, &cost);
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
    kvcache_take(&replica->kv, kvcache_growth_over(&replica->kv, replica->step, n));
    replica->step += n;
    replica->context_tokens += n * replica->decoding.n;
    replica->run_steps = boundary;
}

static bool someone_finishes(const struct replica *replica)
{
    return finish_order_next_step(&replica->finishing) <= replica->step;
}

/* Whether the batcher's choice has ended, evaluated on the state as it is; run_end foretells it. */
static bool choice_is_over(const struct replica *replica)
{
    const struct kvcache *kv = &replica->kv;
    return replica->recheck || someone_finishes(replica) || replica->step == replica->plan_end_step ||
           kv->free_blocks - kvcache_growth(kv, replica->step) < replica->plan.keep_free_blocks;
}

/* How much of the run up to `at` was extrapolated. */
static sim_ns extrapolated_ns(const struct replica *replica, sim_ns at)
{
    sim_ns lasted = at - replica->clock.anchor_ns;
    return replica->run_extrapolated_frac < 1 ? llrint(replica->run_extrapolated_frac * (double)lasted) : lasted;
}

/* A part of the run under way; parts add up to the same, however the run is cut. */
static void count_busy(struct replica *replica, sim_ns begin, sim_ns end)
{
    replica->counts.busy_ns += end - begin;
    replica->counts.extrapolated_ns += extrapolated_ns(replica, end) - extrapolated_ns(replica, begin);
}

/* Tells of the part of the run from the boundary `counted` on. */
static int tell_decode(const struct replica *replica, int64_t counted, int64_t n, sim_ns end_ns)
{
    if (replica->env->on_batch == NULL) return 0;
    struct replica_batch batch = {.start_ns = run_clock_boundary_ns(&replica->clock, counted),
                                  .end_ns = end_ns,
                                  .iterations = n,
                                  .decoding = replica->decoding.n,
                                  .work = replica->run_work};
    batch.work.decode_context_tokens += counted * batch.decoding;
    return batch.start_ns < end_ns ? replica->env->on_batch(replica, &batch) : 0;
}

static int tell_prefill(const struct replica *replica, int64_t n, sim_ns end_ns)
{
    const struct batch_plan *plan = &replica->plan;
    if (replica->env->on_batch == NULL) return 0;
    struct replica_batch batch = {.start_ns = replica->clock.anchor_ns,
                                  .end_ns = end_ns,
                                  .iterations = n,
                                  .prefill_sequences = plan->n_prefills,
                                  .decoding = plan->decode ? replica->decoding.n : 0,
                                  .work = replica->run_work};
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
    replica->counts.decode_tokens += n * replica->decoding.n;
    count_busy(replica, begin, end);
    int code = replica_count_gaps(replica, replica->run_counted, n);
    replica->run_counted = replica->run_steps;
    return code;
}

/* --- An iteration with prefill --- */

static int prefill_start(struct replica *replica, sim_ns now)
{
    int code = replica->env->on_prefill != NULL ? replica_tell_prefills(replica, now) : 0;
    if (code != 0) return code;
    struct iteration_work work = replica_admit_prefills(replica, now);
    struct iteration_cost cost;
    if ((code = replica_cost(replica, &work, &cost)) != 0) return code;
    replica->clock = (struct run_clock){now, cost.first_s * 1e9, 0};
    replica->run_steps = replica->run_counted = 0;
    replica->run_extrapolated_frac = cost.extrapolated_frac;
    replica->run_work = work;
    replica->state = REPLICA_PREFILL;
    arm_boundary(replica, 1);
    return 0;
}

static int prefill_end(struct replica *replica, sim_ns now)
{
    replica->counts.prefill_iterations++;
    count_busy(replica, replica->clock.anchor_ns, now);
    int code = tell_prefill(replica, 1, now);
    if (code != 0) return code;
    if (replica->plan.decode && replica->decoding.n > 0) {
        replica->step++;
        replica->counts.decode_steps++;
        replica->context_tokens += replica->decoding.n;
        replica->counts.decode_tokens += replica->decoding.n;
        replica->run_steps = 1;
        code = replica_count_gaps(replica, 0, 1);
    }
    return code != 0 ? code : replica_complete_prefills(replica, now);
}

/* --- Decisions --- */

static void replica_refresh_view(struct replica *replica, sim_ns now)
{
    struct replica_view *view = &replica->view;
    view->now_ns = now;
    view->free_blocks = replica->kv.free_blocks;
    view->n_waiting = replica->waiting.n;
    view->n_prefilling = replica->prefilling.n;
    view->n_decoding = replica->decoding.n;
    view->decode_context_tokens = replica->context_tokens;
    view->growing = kvcache_growth(&replica->kv, replica->step);
    view->waiting = replica->waiting.n ? &replica->waiting.head->view : NULL;
    view->prefilling = replica->prefilling.n ? &replica->prefilling.head->view : NULL;
    view->last_prefilling = replica->prefilling.n ? &replica->prefilling.tail->view : NULL;
    view->oldest_decoding = replica->decoding.n ? &replica->decoding.head->view : NULL;
    view->youngest_decoding = replica->decoding.n ? &replica->decoding.tail->view : NULL;
    view->decode_step = replica->step;
}

static int array_reserve(void *array, size_t n, size_t bytes_each)
{
    void *grown, *old;
    memcpy(&old, array, sizeof old);
    if ((grown = mem_realloc(old, n * bytes_each)) == NULL) return SIM_E_NOMEM;
    memcpy(array, &grown, sizeof grown);
    return 0;
}

/* Room for n entries of each kind: every member of the batch may have to be evicted in one plan. */
static int plan_reserve(struct batch_plan *plan, int64_t n)
{
    if (n <= plan->capacity) return 0;
    n += n / 2;
    if (array_reserve(&plan->prefills, (size_t)n, sizeof *plan->prefills) != 0 ||
        array_reserve(&plan->evictions, (size_t)n, sizeof *plan->evictions) != 0 ||
        array_reserve(&plan->rejections, (size_t)n, sizeof *plan->rejections) != 0)
        return SIM_E_NOMEM;
    plan->capacity = (int32_t)n;
    return 0;
}

/* A plan of the batcher's for the state as it is, with its departures applied. */
static int replica_plan(struct replica *replica, sim_ns now)
{
    struct batch_plan *plan = &replica->plan;
    if (plan_reserve(plan, replica->decoding.n + replica->prefilling.n + 1) != 0) return SIM_E_NOMEM;
    replica_refresh_view(replica, now);
    plan->n_prefills = plan->n_evictions = plan->n_rejections = 0;
    plan->decode = plan->recheck_on_arrival = false;
    plan->keep_free_blocks = 0;
    plan->iterations = INT64_MAX;
    replica->plan_number++;
    int code = replica->env->batcher->compose(replica->batcher_state, &replica->view, plan);
    if (code != 0) return policy_failed(&replica->env->batcher->policy, code, now, replica->env->diag);
    code = replica_check_plan(replica, now);
    if (code == 0) code = replica_apply_departures(replica, now);
    replica->plan_end_step = plan->iterations < INT64_MAX - replica->step ? replica->step + plan->iterations
                                                                          : INT64_MAX;
    return code;
}

/* Asks the batcher, again after a plan that only sends requests away, and starts what it wants. `same_run`: batch and cost
 * are those of the run under way. */
static int replica_decide(struct replica *replica, sim_ns now, bool same_run)
{
    const struct batch_plan *plan = &replica->plan;
    bool starts, departs;
    replica->state = REPLICA_IDLE;
    do {
        if (replica->waiting.n + replica->prefilling.n + replica->decoding.n == 0) return 0;
        int code = replica_plan(replica, now);
        if (code != 0) return code;
        starts = plan->n_prefills > 0 || (plan->decode && replica->decoding.n > 0);
        departs = plan->n_evictions + plan->n_rejections > 0;
        same_run = same_run && plan->n_evictions == 0;
    } while (departs && !starts);
    if (plan->n_prefills > 0) return prefill_start(replica, now);
    if (!starts) return 0;
    if (!same_run) return decode_run_start(replica, now);
    decode_run_go_on(replica);
    return 0;
}

/* The run is over: members whose last token came leave, and the batcher decides, unless only the cost regime changed. */
static int decode_run_close(struct replica *replica, sim_ns now)
{
    int code = tell_decode(replica, replica->run_counted, replica->run_steps - replica->run_counted, now);
    if (code == 0) code = decode_run_account(replica);
    if (code != 0) return code;
    if (!choice_is_over(replica)) return decode_run_start(replica, now);
    bool same_run = !someone_finishes(replica) && replica->run_steps < replica->run_until;
    code = replica_finish_due(replica, now);
    return code != 0 ? code : replica_decide(replica, now, same_run);
}

static int replica_step(struct replica *replica, sim_ns now)
{
    if (replica->state == REPLICA_DECODE) {
        decode_run_advance(replica, replica->env->single_step ? replica->run_steps + 1 : replica->run_end);
        bool over = choice_is_over(replica) || replica->run_steps == replica->run_until;
        SIM_REQUIRE(over == (replica->run_steps == replica->run_end));
        if (over) return decode_run_close(replica, now);
        decode_run_arm(replica);
        return 0;
    }
    if (replica->state == REPLICA_PREFILL) {
        int code = prefill_end(replica, now);
        if (code == 0) code = replica_finish_due(replica, now);
        if (code != 0) return code;
    }
    return replica_decide(replica, now, false);
}

static void replica_boundary(struct engine *engine, struct owner *owner, sim_ns now)
{
    int code = replica_step(OWNER_ENTITY(owner, struct replica, owner), now);
    if (code != 0) engine_fail(engine, code);
}

void replica_enqueue(struct replica *replica, struct request *request, sim_ns now)
{
    request_list_push_back(&replica->waiting, request);
    replica->load->outstanding++;
    replica->load->waiting++;
    replica->load->queued_tokens += request_unprocessed_tokens(request);
    if (replica->state == REPLICA_IDLE) {
        replica->state = REPLICA_WOKEN;
        engine_arm(replica->env->engine, now, PRIORITY_REPLICA, replica_boundary, &replica->owner);
    } else if (replica->state == REPLICA_DECODE && replica->plan.recheck_on_arrival && !replica->recheck) {
        int64_t boundary = run_clock_first_boundary(&replica->clock, now);
        SIM_REQUIRE(boundary > replica->run_steps && boundary <= replica->run_end);
        replica->recheck = true;
        replica->run_end = boundary;
        decode_run_arm(replica);
    }
}

/* The boundaries of the run under way that have passed by `at`. */
static int64_t boundaries_by(const struct replica *replica, sim_ns at)
{
    int64_t boundary = run_clock_first_boundary(&replica->clock, at);
    if (run_clock_boundary_ns(&replica->clock, boundary) > at) boundary--;
    return boundary > replica->run_steps ? boundary : replica->run_steps;
}

int64_t replica_used_blocks(const struct replica *replica, sim_ns at)
{
    int64_t used = replica->kv.total_blocks - replica->kv.free_blocks;
    if (replica->state != REPLICA_DECODE) return used;
    return used + kvcache_growth_over(&replica->kv, replica->step, boundaries_by(replica, at) - replica->run_steps);
}

int64_t replica_decode_context_tokens(const struct replica *replica, sim_ns at)
{
    if (replica->state != REPLICA_DECODE) return replica->context_tokens;
    return replica->context_tokens + (boundaries_by(replica, at) - replica->run_steps) * replica->decoding.n;
}

int replica_settle(struct replica *replica, sim_ns now)
{
    if (replica->state != REPLICA_DECODE && replica->state != REPLICA_PREFILL) return 0;
    int code = 0;
    if (replica->state == REPLICA_DECODE) {
        int64_t boundary = boundaries_by(replica, now);
        if (boundary > replica->run_steps) decode_run_advance(replica, boundary);
        code = tell_decode(replica, replica->run_counted, boundary - replica->run_counted, now);
        if (code == 0) code = decode_run_account(replica);
    } else {
        code = tell_prefill(replica, 0, now);
    }
    count_busy(replica, run_clock_boundary_ns(&replica->clock, replica->run_steps), now);
    return code;
}

int replica_init(struct replica *replica, const struct replica_env *env, int32_t index, uint32_t owner_id,
                 int64_t block_tokens, int64_t total_blocks, const void *params, struct replica_load *load)
{
    *replica = (struct replica){.env = env, .index = index, .load = load, .last_token_ns = TIME_UNSET};
    owner_init(&replica->owner, owner_id);
    finish_order_init(&replica->finishing);
    token_gaps_init(&replica->gaps);
    replica->view.block_tokens = block_tokens;
    replica->view.total_blocks = total_blocks;
    replica->view.max_context_tokens = env->max_context_tokens;

    if (kvcache_init(&replica->kv, block_tokens, total_blocks) != 0 ||
        plan_reserve(&replica->plan, MIN_PLAN_ENTRIES) != 0)
        return SIM_E_NOMEM;
    return policy_state_create(&env->batcher->policy, POLICY_BATCHING, sizeof *env->batcher, params,
                               &replica->batcher_state, env->diag);
}

void replica_fini(struct replica *replica)
{
    if (replica->env == NULL) return;
    policy_state_destroy(&replica->env->batcher->policy, replica->batcher_state);
    mem_free(replica->plan.prefills);
    mem_free(replica->plan.evictions);
    mem_free(replica->plan.rejections);
    kvcache_fini(&replica->kv);
    finish_order_fini(&replica->finishing);
    token_gaps_fini(&replica->gaps);
}
