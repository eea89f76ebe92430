/* The border between a replica and its speculation policy, and the end of an iteration with drafts. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/policy/instance.h"
#include "sim/world/replica/inside.h"

#include <math.h>
#include <stddef.h>

/* What a policy is shown. The view comes first: a view is the one it belongs to. */
struct shown {
    struct speculation_view view;
    const struct replica *replica;
};

/* A state of the policy: the shared one, made for its first replica, or a new one. */
static int take_state(const struct speculation_model *model, void **state, struct diag *diag)
{
    struct shared_policy *shared = model->shared;
    int code = 0;
    if (shared == NULL || shared->n_replicas == 0)
        code = policy_state_create(&model->policy->policy, POLICY_SPECULATION, sizeof *model->policy, model->params,
                                   state, diag);
    if (shared == NULL) return code;
    if (shared->n_replicas++ == 0) shared->state = *state;
    *state = shared->state;
    return code;
}

static void give_state(const struct speculation_model *model, void *state)
{
    if (model->shared == NULL || --model->shared->n_replicas == 0) policy_state_destroy(&model->policy->policy, state);
}

int replica_speculation_init(struct replica *replica)
{
    const struct speculation_model *model = replica->env->speculation;
    if (model == NULL) return 0;
    replica->speculating = mem_zalloc(1, sizeof *replica->speculating);
    if (replica->speculating == NULL) return SIM_E_NOMEM;
    for (int64_t i = 0; replica->view.stages > 1 && i < replica->view.stages; i++) {
        struct inflight_batch *inflight = &replica->inflight[i];
        if ((inflight->drafting = mem_zalloc(1, sizeof *inflight->drafting)) == NULL) return SIM_E_NOMEM;
    }
    return take_state(model, &replica->speculating->state, replica->env->diag);
}

void replica_speculation_fini(struct replica *replica)
{
    if (replica->speculating == NULL) return;
    give_state(replica->env->speculation, replica->speculating->state);
    replica_drafted_run_fini(&replica->speculating->run);
    mem_free(replica->speculating);
    replica->speculating = NULL;
}

/* --- Asking --- */

static struct iteration_work decode_work(const struct replica *replica, const struct speculation_plan *plan)
{
    return (struct iteration_work){.decode_sequences = replica->ready->members.n,
                                   .decode_context_tokens = replica->ready->context_tokens,
                                   .decode_longest_tokens = running_longest_tokens(replica->ready),
                                   .decode_drafts = plan->depth > 0 ? plan->tokens : 0};
}

/* Missing members follow from the depth. */
static void complete(struct speculation_plan *plan)
{
    if (plan->depth > 0 && plan->tokens == 0) plan->tokens = plan->depth;
    if (plan->width == 0) plan->width = 1;
}

double speculation_view_step_s(const struct speculation_view *view, const struct speculation_plan *plan)
{
    const struct replica *replica = ((const struct shown *)(const void *)view)->replica;
    const struct iteration_model *model = &replica->env->model;
    struct speculation_plan whole = *plan;
    complete(&whole);
    const struct iteration_work work = decode_work(replica, &whole);
    struct iteration_cost cost;
    model->cost(model->model, &work, &cost);
    static const struct iteration_work none = {0};
    return cost.first_s + speculation_draft_s(replica->env->speculation, &whole, &none, &work);
}

static int check_plan(const struct replica *replica, const struct speculation_plan *plan, sim_ns now)
{
    const bool is_possible = plan->depth >= 0 && plan->depth <= SPECULATION_MAX_DEPTH && plan->tokens >= plan->depth &&
                             plan->tokens <= SPECULATION_MAX_TOKENS && plan->passes >= 0 &&
                             plan->passes <= SPECULATION_MAX_TOKENS && plan->width >= 1 &&
                             plan->width <= SPECULATION_MAX_TOKENS && plan->host_s >= 0.0 && isfinite(plan->host_s) &&
                             plan->iterations >= 1;
    if (is_possible) return 0;
    return diag_error(
        replica->env->diag, SIM_E_POLICY, NULL, NULL,
        "speculation policy '%s' planned at %.9f s a depth of %lld, %lld tokens to verify, %lld passes of "
        "%lld tokens, %g s of the CPU, for %lld iterations; at most %d, %d, %d and %d are possible",
        replica->env->speculation->policy->policy.name, sim_s_from_ns(now), (long long)plan->depth,
        (long long)plan->tokens, (long long)plan->passes, (long long)plan->width, plan->host_s,
        (long long)plan->iterations, SPECULATION_MAX_DEPTH, SPECULATION_MAX_TOKENS, SPECULATION_MAX_TOKENS,
        SPECULATION_MAX_TOKENS);
}

static bool is_seen(const struct trees_seen *now, const struct trees_seen *before)
{
    return now->trees == before->trees && now->n_trees == before->n_trees && now->depth == before->depth &&
           now->tokens == before->tokens;
}

/* A plan's trees are looked at when they are new: a policy hands the same ones over again and again. */
static int follow_trees(struct replica *replica, sim_ns now)
{
    struct speculating *speculating = replica->speculating;
    const struct speculation_model *model = replica->env->speculation;
    const struct speculation_plan *plan = &speculating->now.plan;
    speculating->now.of_trees = false;
    if (plan->trees == NULL || plan->depth == 0) return 0;
    speculating->now.of_trees = true;
    const struct trees_seen seen = {plan->trees, plan->n_trees, plan->depth, plan->tokens};
    if (is_seen(&seen, &speculating->now.seen)) return 0;
    bool are_sound = model->acceptance.ranks != NULL && plan->n_trees >= 1 && plan->n_trees <= plan->depth + 1;
    for (int32_t i = 0; are_sound && i < plan->n_trees; i++)
        are_sound = draft_tree_is_sound(&plan->trees[i], plan->n_trees, plan->depth, plan->tokens);
    if (!are_sound)
        return diag_error(
            replica->env->diag, SIM_E_POLICY, NULL, NULL,
            "speculation policy '%s' planned at %.9f s trees that are none of %lld levels and %lld tokens, "
            "or without rates of candidates",
            model->policy->policy.name, sim_s_from_ns(now), (long long)plan->depth, (long long)plan->tokens);
    acceptance_of_trees(&model->acceptance, plan->trees, plan->n_trees, &speculating->now.trees);
    speculating->now.seen = seen;
    return 0;
}

int replica_speculate(struct replica *replica, sim_ns now)
{
    struct speculating *speculating = replica->speculating;
    const struct speculator *policy = replica->env->speculation->policy;
    struct shown shown = {.replica = replica,
                          .view = {.now_ns = now,
                                   .sequences = replica->ready->members.n,
                                   .context_tokens = replica->ready->context_tokens,
                                   .free_blocks = replica->kv.free_blocks,
                                   .block_tokens = replica->kv.block_tokens,
                                   .n_waiting = replica->waiting.n,
                                   .n_prefilling = replica->prefilling.n,
                                   .history = &speculating->history,
                                   .rates = replica->env->speculation->acceptance.ranks}};
    /* sequences that only join now have no drafts yet */
    speculating->now.plan = (struct speculation_plan){.iterations = shown.view.sequences > 0 ? INT64_MAX : 1};
    if (shown.view.sequences > 0) {
        const int code = policy->plan(speculating->state, &shown.view, &speculating->now.plan);
        if (code != 0) return policy_failed(&policy->policy, "plan", code, now, replica->env->diag);
    }
    complete(&speculating->now.plan);
    const int code = check_plan(replica, &speculating->now.plan, now);
    return code != 0 ? code : follow_trees(replica, now);
}

/* --- Drafts of an iteration --- */

/* Of a tree, a chain of its best candidates is left. Of trees with prompt tokens nothing is left: a step without
 * prompt tokens makes no guesses for the next one. */
static int64_t cut_tree(struct speculating *speculating, int64_t slots)
{
    if (speculating->now.plan.trees == NULL) return slots;
    const bool has_prompts = speculating->now.plan.n_trees > 1;
    speculating->now.plan.trees = NULL;
    speculating->now.plan.width = 1;
    speculating->now.of_trees = false;
    if (has_prompts) return 0;
    return slots < speculating->now.plan.depth ? slots : speculating->now.plan.depth;
}

/* Prompts that the draft model processes before the drafts: what it lacks of the members' tokens before the newest. */
static struct iteration_work lacking_of(const struct running_batch *running)
{
    struct iteration_work lacking = {0};
    for (struct request *member = running->members.head; member != NULL; member = request_of(member->view.next)) {
        const int64_t before = member->draft_tokens, tokens = running_context(running, member) - 1 - before;
        if (tokens > 0) iteration_add_prompt(&lacking, tokens, before);
    }
    return lacking;
}

static void look_for_lacking(struct replica *replica, const struct running_batch *running)
{
    struct speculating *speculating = replica->speculating;
    speculating->now.lacking = lacking_of(running);
    if (speculating->now.lacking.prefill_tokens == 0) return;
    speculating->history.prompts += speculating->now.lacking.prefill_sequences;
    speculating->history.prompts_s += speculation_prompts_s(replica->env->speculation, &speculating->now.lacking);
}

void replica_begin_drafts(struct replica *replica, struct running_batch *running, struct iteration_work *work)
{
    struct speculation_plan *plan = &replica->speculating->now.plan;
    int64_t slots = plan->depth > 0 ? plan->tokens : 0;
    while (slots > 0 && running_growth(running, slots) > replica->kv.free_blocks) slots--;
    replica->speculating->now.is_cut = slots < plan->tokens;
    if (slots < plan->tokens) slots = cut_tree(replica->speculating, slots);
    if (slots < plan->tokens) plan->tokens = slots; /* as many as there are blocks for, in a row */
    if (slots < plan->depth) plan->depth = slots;
    if (plan->depth < plan->passes) plan->passes = plan->depth;
    replica->speculating->now.lacking = (struct iteration_work){0};
    if (slots > 0 && replica->env->speculation->draft.cost != NULL) look_for_lacking(replica, running);
    work->decode_drafts = slots;
    running->drafts = slots;
    running->drafted_blocks = running_growth(running, slots);
    replica_take_blocks(replica, running->drafted_blocks);
}

/* The blocks that a growing member has filled with 1 + right tokens. Its growth moves to the phase of its new length;
 * step: of the batch, modulo the block size. */
static int64_t grow(struct kv_growth *growth, int64_t step, int64_t context_tokens, int64_t right)
{
    const int64_t block_tokens = growth->block_tokens, before = context_tokens - 2; /* cached before the iteration */
    const int64_t rest = (int64_t)((uint32_t)before % (uint32_t)block_tokens), phase = step - rest - 1;
    if (right > 0) kv_growth_hasten(growth, phase < 0 ? phase + block_tokens : phase, right);
    if (right < block_tokens) return rest == 0 || rest + right + 1 > block_tokens ? 1 : 0;
    return (rest + right + block_tokens) / block_tokens - (rest > 0);
}

static void accept(const struct acceptance *acceptance, struct running_batch *running, struct request *member,
                   int64_t depth, int64_t step, struct drafted_gains *gains)
{
    const int64_t position = running_generated(running, member) - 1, left = member->finish_step - running->step;
    const int64_t place = position + ((int64_t)member->slot << 32); /* sequences of a request have lucks of their own */
    const int64_t right = acceptance_draw(acceptance, member->view.id, place, depth < left ? depth : left);
    if (member->grows) gains->used_blocks += grow(&running->growth, step, running_context(running, member), right);
    if (right > 0) running_extend(running, member, right);
    member->draft_tokens = (int32_t)running_context(running, member);
    gains->with_right[right]++;
    gains->accepted += right;
}

/* Drafts beyond the last token of a request count as offered to it. */
static void note(struct speculation_history *history, int64_t depth, const struct drafted_gains *gains, int64_t steps)
{
    int64_t tried = steps; /* steps of a member whose first i - 1 drafts were right */
    history->steps += steps;
    history->emitted += steps + gains->accepted;
    for (int64_t i = 1; i <= depth && tried > 0; i++) {
        history->offered[i] += tried;
        tried -= gains->with_right[i - 1];
        history->accepted[i] += tried;
    }
}

int replica_count_drafts(struct replica *replica, const struct running_batch *running, int64_t iterations,
                         int64_t steps, const struct drafted_gains *gains)
{
    struct speculating *speculating = replica->speculating;
    note(&speculating->history, speculating->now.plan.depth, gains, steps);
    replica->counts.drafted_iterations += iterations;
    replica->counts.drafted_steps += steps;
    replica->counts.drafted_tokens += running->drafts * steps;
    replica->counts.accepted_tokens += gains->accepted;
    return gains->accepted > 0 ? histogram_add(replica->env->token_gap_s, 0.0, (uint64_t)gains->accepted) : 0;
}

int replica_end_drafts(struct replica *replica, struct running_batch *running)
{
    const struct drafting *drafting = &replica->speculating->now;
    const struct acceptance *acceptance = drafting_acceptance(drafting, replica->env->speculation);
    const int64_t depth = drafting->plan.depth;
    const int64_t step = running->step % running->growth.block_tokens;
    struct drafted_gains gains = {0};
    for (struct request *member = running->members.head; member != NULL; member = request_of(member->view.next))
        accept(acceptance, running, member, depth, step, &gains);
    kvcache_give(&replica->kv, running->drafted_blocks - gains.used_blocks);
    const int code = replica_count_drafts(replica, running, 1, running->members.n, &gains);
    running->drafts = running->drafted_blocks = 0;
    return code;
}
