/* The search for the fastest plan that fits. */
#include "sim/cli/plan/rlhf.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <math.h>

struct searching {
    const struct rlhf_space *space;
    const struct rlhf_search_config *config;
    struct rlhf_search *search;
    struct rlhf_choice *choices[RLHF_CALLS]; /* all of a call; of those with the same way's time the first mesh first */
    int32_t n_choices[RLHF_CALLS];
    double least_s[RLHF_CALLS], least_area_s[RLHF_CALLS]; /* of all choices; area: GPU-seconds over all GPUs */
};

/* --- Scores --- */

/* Plans that do not fit lose to those that do by at least this factor for each part of the memory that they lack. */
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

/* --- The Markov chain --- */

/* Metropolis: a change of one call that takes longer stays with the chance exp(-more / (temperature * step)). The
 * temperature falls to 0. */
static void walk(struct searching *searching, struct rlhf_found at, uint64_t chain)
{
    const int64_t proposals = searching->config->proposals / 2;
    struct rng rng;
    rng_init(&rng, (uint64_t)searching->config->seed, 0, "rlhf-plan", chain);
    evaluate(searching, &at);
    for (int64_t i = 0; i < proposals; i++) {
        const uint64_t call = rng_below(&rng, RLHF_CALLS);
        const double left = 1.0 - (double)i / (double)proposals;
        struct rlhf_found next = at;
        next.calls[call] = searching->choices[call][rng_below(&rng, (uint64_t)searching->n_choices[call])];
        const double chance = rng_uniform(&rng);
        evaluate(searching, &next);
        const double more = score_of(&next) / score_of(&at) - 1.0;
        if (more <= 0.0 || chance < exp(-more / (searching->config->temperature * left))) at = next;
    }
}

/* Each call by itself where it is fastest. */
static struct rlhf_found greedy(const struct searching *searching)
{
    struct rlhf_found found = {.step_s = 0.0};
    for (int call = 0; call < RLHF_CALLS; call++) found.calls[call] = searching->choices[call][0];
    return found;
}

/* Changes one call at a time until no change is better. */
static void descend(struct searching *searching, struct rlhf_found at)
{
    evaluate(searching, &at);
    for (bool is_better = true; is_better;) {
        is_better = false;
        for (int call = 0; call < RLHF_CALLS; call++)
            for (int32_t i = 0; i < searching->n_choices[call]; i++) {
                struct rlhf_found next = at;
                next.calls[call] = searching->choices[call][i];
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

static bool is_hopeless(const struct searching *searching, const struct branch *branch)
{
    return searching->search->has_best && bound_of(searching, branch) * (1.0 + 1e-12) >= searching->search->best.step_s;
}

/* False: the visits are used up. */
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
        if (++searching->search->n_visited > searching->config->visits) is_complete = false;
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

/* Puts the choices of a call in the order of their fastest ways. A choice whose states alone do not fit is left out. */
static void sort_choices(struct searching *searching, enum rlhf_call call)
{
    struct rlhf_choice *choices = searching->choices[call];
    for (int32_t i = 1; i < searching->n_choices[call]; i++) {
        const struct rlhf_choice moved = choices[i];
        const double seconds = rlhf_option_of(searching->space, call, moved)->ways[0].seconds;
        int32_t at = i;
        for (; at > 0; at--) {
            if (rlhf_option_of(searching->space, call, choices[at - 1])->ways[0].seconds <= seconds) break;
            choices[at] = choices[at - 1];
        }
        choices[at] = moved;
    }
}

static int list_choices(struct searching *searching, enum rlhf_call call, struct arena *arena)
{
    const struct rlhf_space *space = searching->space;
    size_t n = 0;
    for (int32_t mesh = 0; mesh < space->n_meshes; mesh++)
        n += (size_t)space->options[call][space->meshes[mesh].size].n;
    searching->choices[call] = arena_alloc(arena, (n + 1) * sizeof *searching->choices[call]);
    if (searching->choices[call] == NULL) return SIM_E_NOMEM;
    searching->least_s[call] = searching->least_area_s[call] = INFINITY;
    for (int32_t mesh = 0; mesh < space->n_meshes; mesh++) {
        const struct rlhf_options *options = &space->options[call][space->meshes[mesh].size];
        for (int32_t i = 0; i < options->n; i++) {
            const double seconds = options->items[i].ways[0].seconds;
            const double share = (double)space->meshes[mesh].gpus / (double)space->gpus;
            if (options->items[i].home_bytes > space->usable_bytes) continue;
            searching->choices[call][searching->n_choices[call]++] = (struct rlhf_choice){mesh, i};
            searching->least_s[call] = fmin(searching->least_s[call], seconds);
            searching->least_area_s[call] = fmin(searching->least_area_s[call], seconds * share);
        }
    }
    sort_choices(searching, call);
    return 0;
}

int rlhf_search(const struct rlhf_space *space, const struct rlhf_search_config *config, struct rlhf_search *search,
                struct diag *diag)
{
    struct searching searching = {.space = space, .config = config, .search = search};
    struct arena arena;
    bool is_possible = true;
    int code = 0;
    *search = (struct rlhf_search){.is_exact = false};
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
        descend(&searching, search->has_best ? search->best : greedy(&searching));
        search->is_exact = config->visits > 0 && prove(&searching);
    }
    arena_fini(&arena);
    return code == 0 ? 0 : diag_nomem(diag);
}
