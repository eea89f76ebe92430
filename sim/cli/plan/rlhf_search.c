/* The search for the fastest plan that fits. */
#include "sim/cli/plan/rlhf.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <math.h>
#include <stdlib.h>

struct searching {
    const struct rlhf_space *space;
    const struct rlhf_search_config *config;
    const volatile sig_atomic_t *interrupt; /* NULL: nothing does */
    struct rlhf_search *search;
    struct rlhf_choice *choices[RLHF_CALLS]; /* all of a call that can be, in the order of their fastest ways */
    int32_t n_choices[RLHF_CALLS];
    double least_s[RLHF_CALLS], least_area_s[RLHF_CALLS]; /* of all choices; area: GPU-seconds over all GPUs */
};

/* Whether the search is to end with what it has. */
static bool is_interrupted(const struct searching *searching)
{
    return searching->interrupt != NULL && *searching->interrupt != 0;
}

/* --- Scores --- */

/* A plan that does not fit counts as at least twice as long, and as ten times longer for each GPU's memory that its
 * fullest GPU lacks. So one that fits may still lose to a much shorter one that does not; only those that fit are kept
 * as the best. */
static double score_of(const struct rlhf_found *found)
{
    return found->over_frac > 0.0 ? found->step_s * (2.0 + 10.0 * found->over_frac) : found->step_s;
}

static void evaluate(struct searching *searching, struct rlhf_found *found)
{
    rlhf_evaluate(searching->space, found);
    searching->search->n_evaluated++;
    struct rlhf_search *search = searching->search;
    if (found->over_frac > 0.0 || (search->has_best && found->step_s >= search->best.step_s)) return;
    search->best = *found;
    search->has_best = true;
}

/* --- One split for all calls --- */

static int32_t find_option(const struct rlhf_space *space, enum rlhf_call call, int32_t size, int64_t tensor,
                           int64_t pipeline)
{
    const struct rlhf_options *options = &space->options[call][size];
    for (int32_t i = 0; i < options->n; i++)
        if (options->items[i].tensor == tensor && options->items[i].pipeline == pipeline) return i;
    return -1;
}

/* All calls on all GPUs, split so. False: a call cannot be split so, or it does not fit. */
static bool try_symmetric(struct searching *searching, int64_t tensor, int64_t pipeline, struct rlhf_found *found)
{
    const struct rlhf_space *space = searching->space;
    const int32_t mesh = space->n_meshes - 1;
    for (int call = 0; call < RLHF_CALLS; call++) {
        const int32_t option = find_option(space, (enum rlhf_call)call, space->n_sizes - 1, tensor, pipeline);
        if (option < 0) return false;
        found->calls[call] = (struct rlhf_choice){mesh, option};
    }
    evaluate(searching, found);
    return !(found->over_frac > 0.0);
}

/* The rule of Megatron-LM: as many tensor ranks as a node has GPUs, or as divide the model; then as few stages as fit;
 * data ranks are the rest. Narayanan et al. 2021, takeaways 1 and 2. */
static void search_symmetric(struct searching *searching)
{
    struct rlhf_search *search = searching->search;
    const int64_t gpus = searching->space->gpus, per_node = searching->space->links.gpus_per_node;
    if (searching->space->meshes[searching->space->n_meshes - 1].gpus < gpus) return; /* no mesh has all GPUs */
    for (int64_t tensor = per_node; tensor >= 1; tensor--) {
        const bool is_open = !search->has_megatron;
        for (int64_t pipeline = 1; pipeline <= gpus / tensor; pipeline++) {
            struct rlhf_found found;
            if (!try_symmetric(searching, tensor, pipeline, &found)) continue;
            if (is_open && !search->has_megatron) {
                search->megatron = found;
                search->has_megatron = true;
            }
            if (search->has_symmetric && found.step_s >= search->symmetric.step_s) continue;
            search->symmetric = found;
            search->has_symmetric = true;
        }
    }
}

/* --- Bounds --- */

struct branch {
    struct rlhf_found found;
    bool decided[RLHF_CALLS];
    double seconds[RLHF_CALLS], area_s[RLHF_CALLS]; /* at least */
};

static bool meet(const struct searching *searching, const struct branch *branch, int a, int b)
{
    const struct rlhf_mesh *meshes = searching->space->meshes;
    if (!branch->decided[a] || !branch->decided[b]) return false;
    const struct rlhf_mesh x = meshes[branch->found.calls[a].mesh], y = meshes[branch->found.calls[b].mesh];
    return dataflow_spans_meet((struct dataflow_span){x.first, x.gpus}, (struct dataflow_span){y.first, y.gpus});
}

/* At least the time from the start of the first to the end of the last of these calls, which nothing parts. */
static double stage_bound(const struct searching *searching, const struct branch *branch, int first, int n)
{
    double bound = 0.0, area_s = 0.0, all_s = 0.0;
    bool all_meet = true;
    for (int i = first; i < first + n; i++) {
        bound = fmax(bound, branch->seconds[i]);
        area_s += branch->area_s[i];
        all_s += branch->seconds[i];
        for (int k = i + 1; k < first + n; k++) {
            const bool they_meet = meet(searching, branch, i, k);
            all_meet = all_meet && they_meet;
            if (they_meet) bound = fmax(bound, branch->seconds[i] + branch->seconds[k]);
        }
    }
    bound = fmax(bound, area_s);
    return all_meet ? fmax(bound, all_s) : bound;
}

/* A step is at least generating, then scoring, then training. */
static double bound_of(const struct searching *searching, const struct branch *branch)
{
    return branch->seconds[RLHF_GENERATE] + stage_bound(searching, branch, RLHF_REWARD, 3) +
           stage_bound(searching, branch, RLHF_TRAIN_ACTOR, 2);
}

/* At least the step of a plan, without its moves and before any way is given up for memory; rounding is on the safe
 * side. */
static double least_step_s(const struct searching *searching, const struct rlhf_found *found)
{
    struct branch branch = {.found.step_s = 0.0};
    for (int call = 0; call < RLHF_CALLS; call++) {
        const struct rlhf_choice choice = found->calls[call];
        const struct rlhf_option *option = rlhf_option_of(searching->space, (enum rlhf_call)call, choice);
        const double gpus = (double)searching->space->meshes[choice.mesh].gpus;
        branch.found.calls[call] = choice;
        branch.decided[call] = true;
        branch.seconds[call] = option->ways[0].seconds;
        branch.area_s[call] = option->ways[0].seconds * gpus / (double)searching->space->gpus;
    }
    return bound_of(searching, &branch) * (1.0 - 1e-12);
}

/* Whether a plan cannot become the best. */
static bool is_no_best(const struct searching *searching, double least_s)
{
    return searching->search->has_best && least_s >= searching->search->best.step_s;
}

/* --- The Markov chain --- */

/* Metropolis: a change that takes longer stays with the chance exp(-more / (temperature * step)). */
static bool stays(double next_s, double at_s, double chance, double temperature)
{
    const double more = next_s / at_s - 1.0;
    return more <= 0.0 || chance < exp(-more / temperature);
}

/* Changes of one call. The temperature falls to 0. A plan whose bound alone is refused is not looked at further. */
static void walk(struct searching *searching, struct rlhf_found at, uint64_t chain)
{
    const int64_t proposals = searching->config->proposals / 2;
    struct rng rng;
    rng_init(&rng, (uint64_t)searching->config->seed, 0, "rlhf-plan", chain);
    evaluate(searching, &at);
    for (int64_t i = 0; i < proposals && !is_interrupted(searching); i++) {
        const uint64_t call = rng_below(&rng, RLHF_CALLS);
        const double left = 1.0 - (double)i / (double)proposals;
        struct rlhf_found next = at;
        next.calls[call] = searching->choices[call][rng_below(&rng, (uint64_t)searching->n_choices[call])];
        const double chance = rng_uniform(&rng), temperature = searching->config->temperature * left;
        const double least_s = least_step_s(searching, &next);
        if (is_no_best(searching, least_s) && !stays(least_s, score_of(&at), chance, temperature)) {
            searching->search->n_evaluated++;
            continue;
        }
        evaluate(searching, &next);
        if (stays(score_of(&next), score_of(&at), chance, temperature)) at = next;
    }
}

/* Each call by itself where it is fastest. */
static struct rlhf_found greedy(const struct searching *searching)
{
    struct rlhf_found found = {.step_s = 0.0};
    for (int call = 0; call < RLHF_CALLS; call++) found.calls[call] = searching->choices[call][0];
    return found;
}

/* The fastest way of a choice. */
static double shortest_s(const struct searching *searching, enum rlhf_call call, int32_t choice)
{
    return rlhf_option_of(searching->space, call, searching->choices[call][choice])->ways[0].seconds;
}

/* Changes one call at a time until no change is better. Choices are in the order of their fastest ways, of which one
 * that takes as long as the plan betters nothing. Large clusters end it early, after a number of plans. */
static void descend(struct searching *searching, struct rlhf_found at)
{
    const int64_t plans_per_proposal = 5;
    const int64_t most = searching->search->n_evaluated + plans_per_proposal * searching->config->proposals;
    evaluate(searching, &at);
    for (bool is_better = true; is_better && searching->search->n_evaluated < most;) {
        is_better = false;
        for (int call = 0; call < RLHF_CALLS; call++)
            for (int32_t i = 0; i < searching->n_choices[call]; i++) {
                struct rlhf_found next = at;
                next.calls[call] = searching->choices[call][i];
                if (shortest_s(searching, (enum rlhf_call)call, i) >= score_of(&at)) break;
                if (searching->search->n_evaluated >= most || is_interrupted(searching)) return;
                const double least_s = least_step_s(searching, &next);
                if (least_s >= score_of(&at) && is_no_best(searching, least_s)) {
                    searching->search->n_evaluated++;
                    continue;
                }
                evaluate(searching, &next);
                if (score_of(&next) >= score_of(&at)) continue;
                at = next;
                is_better = true;
            }
    }
}

/* --- Branch and bound --- */

/* The order in which calls are decided: those with large states first. */
static const enum rlhf_call order[RLHF_CALLS] = {RLHF_TRAIN_ACTOR, RLHF_TRAIN_CRITIC, RLHF_GENERATE,
                                                 RLHF_VALUES,      RLHF_REFERENCE,    RLHF_REWARD};

static bool is_hopeless(const struct searching *searching, const struct branch *branch)
{
    return searching->search->has_best && bound_of(searching, branch) * (1.0 + 1e-12) >= searching->search->best.step_s;
}

/* False: the visits are used up, or the search is interrupted. */
static bool decide(struct searching *searching, struct branch *branch, int depth)
{
    const enum rlhf_call call = order[depth];
    const double least_s = branch->seconds[call], least_area_s = branch->area_s[call];
    bool is_complete = true;
    branch->decided[call] = true;
    for (int32_t i = 0; is_complete && i < searching->n_choices[call]; i++) {
        const struct rlhf_choice choice = searching->choices[call][i];
        const struct rlhf_option *option = rlhf_option_of(searching->space, call, choice);
        const double share = (double)searching->space->meshes[choice.mesh].gpus / (double)searching->space->gpus;
        if (++searching->search->n_visited > searching->config->visits || is_interrupted(searching))
            is_complete = false;
        branch->found.calls[call] = choice;
        branch->seconds[call] = option->ways[0].seconds;
        branch->area_s[call] = option->ways[0].seconds * share;
        if (is_hopeless(searching, branch)) continue;
        if (depth + 1 == RLHF_CALLS)
            evaluate(searching, &branch->found);
        else
            is_complete = is_complete && decide(searching, branch, depth + 1);
    }
    branch->decided[call] = false;
    branch->seconds[call] = least_s;
    branch->area_s[call] = least_area_s;
    return is_complete;
}

static bool prove(struct searching *searching)
{
    struct branch branch = {.found.step_s = 0.0};
    for (int call = 0; call < RLHF_CALLS; call++) {
        branch.seconds[call] = searching->least_s[call];
        branch.area_s[call] = searching->least_area_s[call];
    }
    return decide(searching, &branch, 0);
}

/* --- All --- */

/* A choice, and what it is sorted by: the time of its fastest way, then its place among meshes and options. */
struct listed {
    double seconds;
    int64_t place;
    struct rlhf_choice choice;
};

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* All choices of a call whose model alone fits. Returns their number; listed NULL: at most so many. */
static int32_t fill_choices(struct searching *searching, enum rlhf_call call, struct listed *listed)
{
    const struct rlhf_space *space = searching->space;
    int32_t n = 0;
    for (int32_t mesh = 0; mesh < space->n_meshes; mesh++) {
        const struct rlhf_options *options = &space->options[call][space->meshes[mesh].size];
        const double share = (double)space->meshes[mesh].gpus / (double)space->gpus;
        for (int32_t i = 0; i < options->n; i++) {
            const double seconds = options->items[i].ways[0].seconds;
            if (options->items[i].home_bytes > space->usable_bytes) continue;
            if (listed != NULL) listed[n] = (struct listed){seconds, n, {mesh, i}};
            searching->least_s[call] = fmin(searching->least_s[call], seconds);
            searching->least_area_s[call] = fmin(searching->least_area_s[call], seconds * share);
            n++;
        }
    }
    return n;
}

static int list_choices(struct searching *searching, enum rlhf_call call, struct arena *arena)
{
    searching->least_s[call] = searching->least_area_s[call] = (double)INFINITY;
    const int32_t n = fill_choices(searching, call, NULL);
    struct listed *listed = mem_alloc(((size_t)n + 1) * sizeof *listed);
    struct rlhf_choice *choices = arena_alloc(arena, ((size_t)n + 1) * sizeof *choices);
    if (listed == NULL || choices == NULL) {
        mem_free(listed);
        return SIM_E_NOMEM;
    }
    fill_choices(searching, call, listed);
    qsort(listed, (size_t)n, sizeof *listed, compare_listed);
    for (int32_t i = 0; i < n; i++) choices[i] = listed[i].choice;
    searching->choices[call] = choices;
    searching->n_choices[call] = n;
    mem_free(listed);
    return 0;
}

int rlhf_search(const struct rlhf_space *space, const struct rlhf_search_config *config,
                const volatile sig_atomic_t *interrupt, struct rlhf_search *search, struct diag *diag)
{
    struct searching searching = {.space = space, .config = config, .interrupt = interrupt, .search = search};
    struct arena arena;
    bool is_possible = true;
    int code = 0;
    *search = (struct rlhf_search){.walked_s = (double)NAN};
    arena_init(&arena);
    for (int call = 0; code == 0 && call < RLHF_CALLS; call++) {
        code = list_choices(&searching, (enum rlhf_call)call, &arena);
        is_possible = is_possible && searching.n_choices[call] > 0;
    }
    search->is_exact = !is_possible;
    if (code == 0 && is_possible) {
        search_symmetric(&searching);
        walk(&searching, search->has_symmetric ? search->symmetric : greedy(&searching), 0);
        walk(&searching, greedy(&searching), 1);
        search->walked_s = search->has_best ? search->best.step_s : (double)NAN;
        descend(&searching, search->has_best ? search->best : greedy(&searching));
        search->is_exact = config->visits > 0 && prove(&searching);
        search->is_interrupted = !search->is_exact && is_interrupted(&searching);
    }
    arena_fini(&arena);
    return code == 0 ? 0 : diag_nomem(diag);
}
