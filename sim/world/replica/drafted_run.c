/* A run of iterations with drafts: computed ahead, and applied when somebody looks or the run ends.
 *
 * While the batch stays the same, neither the batcher nor the speculation policy is asked (batch_plan.iterations,
 * speculation_plan.iterations). The draws depend on nothing but requests and positions. So the iterations up to the
 * next change follow from the present state. They are drawn one after the other on a copy of what that takes, and then
 * priced together. The replica has one event for all of them. The replica itself stands in iteration `at` of the run,
 * as if it had been stepped there. Whatever reads or changes it calls replica_follow_drafts first.
 *
 * A run of decode iterations without drafts has a closed form instead (replica.c): its sequences grow alike. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/replica/inside.h"
#include "sim/world/rows/priority.h"

enum { ITERATIONS_AHEAD = 16 }; /* computed at a time: an arrival discards those behind it */

void replica_drafted_run_fini(struct drafted_run *run)
{
    mem_free(run->iterations);
    mem_free(run->works);
    mem_free(run->members);
    mem_free(run->right);
}

/* --- Computing ahead --- */

/* Nobody waits for a change of the batch, nobody is told of iterations one by one, and the batch is the one that the
 * speculation policy has planned for: the batcher has moved no sequence since. */
static bool may_look_ahead(const struct replica *replica)
{
    const struct replica_env *env = replica->env;
    const struct batch_plan *plan = &replica->plan;
    const int64_t named = plan->n_prefills + plan->n_evictions + plan->n_pauses + plan->n_resumptions;
    const int64_t others = replica->waiting.n + replica->prefilling.n + replica->paused.n + replica->nonresident.n +
                           replica->moving.n + replica->arrived.n;
    return others == 0 && named == 0 && !env->single_step && env->on_batch == NULL && env->on_compose == NULL &&
           env->on_queue == NULL && replica->store == NULL && replica->stream == NULL && replica->traffic == NULL &&
           replica->unattached == NULL && env->sampling == NULL && !replica->speculating->now.is_cut &&
           !replica_is_ordered(replica) && replica->plan_end_step > replica->ready->step + 1;
}

static void add_member(const struct replica *replica, const struct request *request, struct drafted_member *member)
{
    const struct running_batch *running = replica->ready;
    const int64_t block_tokens = running->growth.block_tokens, context = running_context(running, request);
    const int64_t position = running_generated(running, request);
    *member = (struct drafted_member){
        .acceptance = acceptance_of(&replica->env->speculation->acceptance, request->view.id),
        .position = position,
        .end = position + request->finish_step - running->step,
        .before_tokens = context - position,
        .slack_tokens = request->grows ? kvcache_blocks(&replica->kv, context - 1) * block_tokens - (context - 1)
                                       : INT64_MAX / 2};
}

static int add_members(struct replica *replica, struct drafted_run *run)
{
    const struct request_list *members = &replica->ready->members;
    if (vec_reserve(&run->members, &run->members_capacity, (int32_t)members->n) != 0) return SIM_E_NOMEM;
    run->n_members = 0;
    for (const struct request *r = members->head; r != NULL; r = request_of(r->view.next))
        add_member(replica, r, &run->members[run->n_members++]);
    return 0;
}

/* KV blocks that a sequence takes for so many further tokens. */
static inline int64_t blocks_for(const struct drafted_member *member, int64_t tokens, int64_t block_tokens)
{
    const int64_t beyond = tokens - member->slack_tokens;
    if (beyond <= 0) return 0;
    return beyond <= block_tokens ? 1 : (beyond + block_tokens - 1) / block_tokens;
}

/* What an iteration leaves to the next one. */
struct left_over {
    int64_t used_blocks, accepted; /* in the iteration itself */
    int64_t growing, slots;        /* blocks of the next step: without drafts, with them */
    int64_t least;                 /* tokens still to come, of any member */
};

/* The members get the tokens of the last iteration, and the blocks that these fill. is_plain: no step takes more than
 * a block, and drafts are few. The compiler makes a loop of its own for that. */
static inline __attribute__((always_inline)) struct left_over end_members(const struct acceptance *acceptance,
                                                                          int64_t depth, struct drafted_run *run,
                                                                          int64_t drafts, int64_t block_tokens,
                                                                          bool is_plain)
{
    struct drafted_member *member = run->members, *const end = member + run->n_members;
    uint8_t *rights = run->right + (size_t)(run->n - 1) * (size_t)run->n_members;
    struct left_over left = {.least = INT64_MAX};
    for (; member < end; member++) {
        const int64_t before = member->end - member->position, most = before - 1 < depth ? before - 1 : depth;
        const int64_t right = is_plain ? acceptance_few(acceptance,
                                                        acceptance_number(&member->acceptance, member->position), most)
                                       : acceptance_draw_of(acceptance, &member->acceptance, member->position, most);
        const int64_t gained = 1 + right, after = before - gained;
        const int64_t blocks = is_plain ? gained > member->slack_tokens : blocks_for(member, gained, block_tokens);
        const int64_t next = after < 1 + drafts ? after : 1 + drafts;
        member->position += gained;
        member->slack_tokens += blocks * block_tokens - gained;
        left.used_blocks += blocks;
        left.accepted += right;
        left.growing += member->slack_tokens == 0;
        left.slots += is_plain ? next > member->slack_tokens : blocks_for(member, next, block_tokens);
        left.least = after < left.least ? after : left.least;
        *rights++ = (uint8_t)right;
    }
    return left;
}

/* The end of the last iteration. */
static struct left_over end_iteration(const struct replica *replica, struct drafted_run *run)
{
    const struct drafting *drafting = &replica->speculating->now;
    const struct acceptance *acceptance = drafting_acceptance(drafting, replica->env->speculation);
    const int64_t drafts = replica->ready->drafts, block_tokens = replica->kv.block_tokens,
                  depth = drafting->plan.depth;
    const bool is_plain = drafts < block_tokens && acceptance->rates == NULL && depth <= ACCEPTANCE_FEW;
    struct drafted_iteration *last = &run->iterations[run->n - 1];
    const struct left_over left = is_plain ? end_members(acceptance, depth, run, drafts, block_tokens, true)
                                           : end_members(acceptance, depth, run, drafts, block_tokens, false);
    last->used_blocks = left.used_blocks;
    last->accepted = left.accepted;
    run->free_blocks -= left.used_blocks;
    return left;
}

/* Processed tokens of the member with the longest context. */
static int64_t longest_tokens(const struct drafted_run *run)
{
    int64_t longest = 0;
    for (int32_t i = 0; i < run->n_members; i++) {
        const int64_t tokens = run->members[i].before_tokens + run->members[i].position;
        longest = tokens > longest ? tokens : longest;
    }
    return longest;
}

/* Adds the next iteration, which has no cost yet. */
static void begin_iteration(const struct replica *replica, struct drafted_run *run, const struct left_over *left)
{
    const struct iteration_work *last = &run->works[run->n - 1];
    const int64_t n = last->decode_sequences, accepted = run->iterations[run->n - 1].accepted;
    run->works[run->n] = (struct iteration_work){
        .decode_sequences = n,
        .decode_context_tokens = last->decode_context_tokens + n + accepted,
        .decode_longest_tokens = replica->ready->orders_contexts ? longest_tokens(run) : 0,
        .decode_drafts = last->decode_drafts};
    run->iterations[run->n++].drafted_blocks = left->slots;
}

static sim_ns end_of(const struct drafted_iteration *iteration)
{
    return run_clock_boundary_ns(&(struct run_clock){iteration->start_ns, iteration->first_ns, 0}, 1);
}

/* Begins iterations up to the one that ends the run, or to so many: what they process follows from the draws alone. */
static void draw_ahead(const struct replica *replica, struct drafted_run *run)
{
    while (!run->is_over && run->n < ITERATIONS_AHEAD) {
        const int64_t steps = run->n - run->at;
        const struct left_over left = end_iteration(replica, run);
        run->is_over = left.least == 0 || replica->ready->step + steps >= replica->plan_end_step ||
                       run->free_blocks - left.growing < replica->plan.keep_free_blocks ||
                       left.slots > run->free_blocks;
        if (!run->is_over) begin_iteration(replica, run, &left);
    }
}

/* Prices the iterations behind the first `n_priced`: each begins where the one before it ends. Those behind the end of
 * time begin there, and arm() refuses the run. */
static int price_ahead(const struct replica *replica, struct drafted_run *run, int32_t n_priced)
{
    struct iteration_cost costs[ITERATIONS_AHEAD];
    replica_drafted_costs(replica, &run->works[n_priced], run->n - n_priced, costs);
    for (int32_t i = n_priced; i < run->n; i++) {
        const struct iteration_cost *cost = &costs[i - n_priced];
        if (!replica_cost_is_sound(cost)) return replica_refuse_cost(replica, &run->works[i], cost);
        run->iterations[i].start_ns = end_of(&run->iterations[i - 1]);
        run->iterations[i].first_ns = cost->first_s * 1e9;
        run->iterations[i].extrapolated_frac = cost->extrapolated_frac;
    }
    return 0;
}

/* Adds iterations up to the one that ends the run, or to so many. */
static int look_ahead(struct replica *replica, struct drafted_run *run)
{
    const struct iteration_work lacking = replica->speculating->now.lacking; /* of the first iteration alone */
    const int32_t n_priced = run->n;
    replica->speculating->now.lacking = (struct iteration_work){0};
    draw_ahead(replica, run);
    const int code = run->n > n_priced ? price_ahead(replica, run, n_priced) : 0;
    replica->speculating->now.lacking = lacking;
    return code;
}

static void arm(struct replica *replica, const struct drafted_run *run)
{
    replica_arm(replica, end_of(&run->iterations[run->n - 1]));
}

int replica_start_drafts(struct replica *replica)
{
    struct drafted_run *run = &replica->speculating->run;
    run->n = run->at = 0;
    run->is_over = true;
    if (!may_look_ahead(replica)) {
        replica_arm(replica, run_clock_boundary_ns(&replica->clock, 1));
        return 0;
    }
    const int32_t entries = (int32_t)replica->ready->members.n * ITERATIONS_AHEAD;
    int code = add_members(replica, run);
    if (code == 0 && (vec_reserve(&run->iterations, &run->capacity, ITERATIONS_AHEAD) != 0 ||
                      vec_reserve(&run->works, &run->works_capacity, ITERATIONS_AHEAD) != 0 ||
                      vec_reserve(&run->right, &run->right_capacity, entries) != 0))
        code = SIM_E_NOMEM;
    if (code != 0) return code;
    run->iterations[0] = (struct drafted_iteration){.start_ns = replica->clock.anchor_ns,
                                                    .first_ns = replica->clock.first_ns,
                                                    .extrapolated_frac = replica->run_extrapolated_frac,
                                                    .drafted_blocks = replica->ready->drafted_blocks};
    run->works[0] = replica->run_work;
    run->n = 1;
    run->free_blocks = replica->kv.free_blocks + replica->ready->drafted_blocks;
    run->is_over = false;
    if ((code = look_ahead(replica, run)) == 0) arm(replica, run);
    return code;
}

/* --- Applying --- */

/* Iterations that end, for what is counted of them together. */
struct steps {
    struct work_step works[ITERATIONS_AHEAD];
    sim_ns ends_ns[ITERATIONS_AHEAD];
    int32_t n;
};

/* The replica steps from iteration `at` into the next one; its members follow later. */
static void step(struct replica *replica, struct drafted_run *run, struct steps *steps)
{
    const struct drafted_iteration *last = &run->iterations[run->at], *next = last + 1;
    const struct iteration_work *work = &run->works[run->at];
    replica_count_busy(replica, last->start_ns, next->start_ns);
    steps->works[steps->n] = (struct work_step){.context_tokens = work->decode_context_tokens,
                                                .used_blocks = replica->kv.total_blocks - replica->kv.free_blocks,
                                                .lasted_ns = next->start_ns - last->start_ns,
                                                .draft_j = replica_draft_j(replica, work)};
    steps->ends_ns[steps->n++] = next->start_ns;
    kvcache_give(&replica->kv, last->drafted_blocks - last->used_blocks);
    replica_take_blocks(replica, next->drafted_blocks);
    replica->clock = (struct run_clock){next->start_ns, next->first_ns, 0};
    replica->run_extrapolated_frac = next->extrapolated_frac;
    replica->speculating->now.lacking = (struct iteration_work){0};
    run->at++;
}

static void count_work(struct replica *replica, const struct iteration_work *first, const struct steps *steps,
                       int64_t idle_tokens)
{
    const struct work_of of = replica_work_of(replica, &replica->run_clock_state);
    const struct work_steps row = {.parts = work_parts_of(&replica->env->reads, first),
                                 .queries = 1 + first->decode_drafts,
                                 .beyond_tokens = idle_tokens - first->decode_sequences};
    work_add_steps(&replica->work, &of, &row, steps->works, steps->n);
}

static void hasten(struct running_batch *running, const struct request *member, int64_t gained)
{
    const int64_t context = running_context(running, member);
    kv_growth_leave(&running->growth, running->step, context);
    kv_growth_join(&running->growth, running->step, context + gained);
}

/* The members get the tokens of iterations from .. at - 1. */
static void extend_members(struct replica *replica, const struct drafted_run *run, int32_t from,
                           struct drafted_gains *gains)
{
    struct running_batch *running = replica->ready;
    const int32_t n = run->n_members;
    int32_t i = 0;
    for (struct request *member = running->members.head; member != NULL; member = request_of(member->view.next), i++) {
        int64_t gained = 0;
        for (int32_t k = from; k < run->at; k++) {
            const uint8_t right = run->right[(size_t)k * (size_t)n + (size_t)i];
            gains->with_right[right]++;
            gained += right;
        }
        gains->accepted += gained;
        if (gained > 0 && member->grows) hasten(running, member, gained);
        if (gained > 0) running_extend(running, member, gained);
        member->draft_tokens = (int32_t)running_context(running, member);
    }
}

static int follow_to(struct replica *replica, struct drafted_run *run, int32_t to)
{
    struct running_batch *running = replica->ready;
    const int32_t from = run->at;
    struct drafted_gains gains = {0};
    struct steps steps;
    steps.n = 0;
    const int64_t idle_tokens = replica_idle_tokens(replica);
    while (run->at < to) step(replica, run, &steps);
    if (replica->env->llm != NULL) count_work(replica, &run->works[from], &steps, idle_tokens);
    running_advance(running, steps.n);
    const int code = running_count_gap_row(running, steps.ends_ns, steps.n, replica->env->token_gap_s);
    const int64_t sequences = (int64_t)steps.n * run->n_members;
    replica->run_work = run->works[run->at];
    running->drafted_blocks = run->iterations[run->at].drafted_blocks;
    extend_members(replica, run, from, &gains);
    replica->counts.decode_iterations += steps.n;
    replica->counts.decode_steps += steps.n;
    replica->counts.decode_tokens += sequences;
    const int counted = replica_count_drafts(replica, replica->ready, steps.n, sequences, &gains);
    return code != 0 ? code : counted;
}

/* Whether an event of the replica at this time would have fired before a look at `at`. */
static bool is_passed(const struct replica *replica, sim_ns boundary_ns, sim_ns at)
{
    if (at != engine_now(replica->env->engine)) return boundary_ns <= at;
    return engine_is_past(replica->env->engine, boundary_ns, PRIORITY_REPLICA, &replica->owner);
}

void replica_follow_drafts(const struct replica *seen, sim_ns at)
{
    struct replica *replica = (struct replica *)(uintptr_t)seen;
    struct drafted_run *run = &replica->speculating->run;
    int32_t to = run->at;
    while (to + 1 < run->n && is_passed(replica, run->iterations[to + 1].start_ns, at)) to++;
    if (to == run->at) return;
    const int code = follow_to(replica, run, to);
    if (code != 0) engine_fail(replica->env->engine, code);
}

void replica_cut_drafts(struct replica *replica, sim_ns now)
{
    struct drafted_run *run = &replica->speculating->run;
    replica_follow_drafts(replica, now);
    run->is_over = true;
    if (run->n == run->at + 1) return;
    run->n = run->at + 1;
    arm(replica, run);
}

int replica_end_drafts_ahead(struct replica *replica, bool *goes_on)
{
    struct drafted_run *run = &replica->speculating->run;
    int code = run->at < run->n - 1 ? follow_to(replica, run, run->n - 1) : 0;
    *goes_on = false;
    if (code == 0 && !run->is_over) {
        run->iterations[0] = run->iterations[run->at];
        run->works[0] = run->works[run->at];
        run->at = 0;
        run->n = 1;
        code = look_ahead(replica, run);
        *goes_on = code == 0 && run->n > 1;
    }
    if (*goes_on)
        arm(replica, run);
    else
        run->n = run->at = 0;
    return code;
}
