/* Bounds all options, then simulates them in rounds, the cheapest first (sim/study/sizing.h). */
#include "sim/catalog/cost.h"
#include "sim/catalog/engine.h"
#include "sim/cli/size/size.h"
#include "sim/study/map.h"
#include "sim/study/sizing.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND = 8 };

struct searching {
    const struct size_question *question;
    struct size_result *result;
    const volatile sig_atomic_t *interrupt;
    const struct sizing_try *tries;
    const size_t *shapes; /* the first option of each GPU and parallelism */
};

static void bound_one(void *context, size_t item, void *result)
{
    const struct searching *searching = context;
    struct size_bound *bound = result;
    if (size_bound_find(searching->question, &searching->result->states[searching->shapes[item]].option,
                        &searching->result->requests, bound) == 0)
        return;
    *bound = (struct size_bound){.limit = -1, .cannot_run = true};
    snprintf(bound->why, sizeof bound->why, "%s", sim_err_text(SIM_E_NOMEM));
}

static void try_one(void *context, size_t item, void *result)
{
    const struct searching *searching = context;
    const struct sizing_try *made = &searching->tries[item];
    static const enum time_case cases[] = {TIMES_SLOW, TIMES_FAST, TIMES_PREDICTED}; /* the likeliest miss first */
    struct size_outcome *outcome = result, slow = {0};
    int n = 0;
    for (size_t i = searching->question->sure ? 0 : 2; i < 3; i++) {
        size_try(searching->question, &searching->result->requests, &searching->result->states[made->option].option,
                 made->replicas, (struct size_case){cases[i], false, NULL}, searching->interrupt, outcome);
        outcome->n_simulations = ++n;
        if (!outcome->has_run || !outcome->meets) return;
        if (cases[i] == TIMES_SLOW) slow = *outcome;
    }
    outcome->has_no_error = slow.has_run && !size_has_error(searching->question, outcome, &slow);
}

static bool is_same_shape(const struct size_option *a, const struct size_option *b)
{
    return a->gpu == b->gpu && a->tensor_parallel == b->tensor_parallel &&
           a->pipeline_parallel == b->pipeline_parallel && a->groups == b->groups;
}

/* The first of the options before this one that differ from it in their batching alone. */
static size_t group_of(const struct size_result *result, size_t at)
{
    const struct size_option *option = &result->states[at].option;
    size_t first = at;
    while (first > 0 && is_same_shape(&result->states[first - 1].option, option) &&
           result->states[first - 1].option.prefill_replicas == option->prefill_replicas)
        first--;
    return first;
}

static void take_bounds(const struct size_question *question, struct size_result *result,
                        const struct size_bound *bounds, struct sizing_option *options)
{
    size_t shape = 0;
    for (size_t i = 0; i < result->n; i++) {
        struct size_state *state = &result->states[i];
        const int64_t gpus = size_replica_gpus(&state->option);
        shape += i > 0 && !is_same_shape(&state->option, &result->states[i - 1].option);
        state->bound = bounds[shape];
        options[i] = (struct sizing_option){.replica_usd_per_h = (double)gpus * state->option.gpu->usd_per_h,
                                            .least = size_bound_replicas(&state->bound, &state->option),
                                            .most = question->most_gpus / gpus, .group = group_of(result, i)};
        result->n_sweep += options[i].most - size_first_replicas(&state->option) + 1;
        const bool is_uncertain = state->bound.has_no_error && state->bound.limit < 0;
        result->n_unfit += state->bound.cannot_run;
        result->n_uncertain += is_uncertain;
        result->n_ruled_out += !state->bound.cannot_run && !is_uncertain && options[i].least > options[i].most;
    }
}

static void take_outcome(struct sizing *sizing, const struct sizing_try *made, const struct size_outcome *outcome,
                         struct size_result *result)
{
    struct size_state *state = &result->states[made->option];
    enum sizing_verdict verdict = SIZING_CANNOT_RUN;
    if (outcome->has_no_error) {
        result->n_uncertain += !state->bound.has_no_error;
        state->bound.has_no_error = true;
    } else if (outcome->has_run) {
        verdict = outcome->meets ? SIZING_MEETS : SIZING_FAILS;
    }
    if (verdict == SIZING_MEETS && (state->replicas == 0 || made->replicas < state->replicas)) {
        state->replicas = made->replicas;
        state->good = *outcome;
    }
    if (verdict == SIZING_FAILS && made->replicas > sizing->options[made->option].bad) {
        state->bad = *outcome;
        state->bad_replicas = made->replicas;
    }
    if (!outcome->has_run) {
        state->bound.cannot_run = true;
        state->bound.is_wrong = outcome->is_wrong;
        snprintf(state->bound.why, sizeof state->bound.why, "%s", outcome->why);
    }
    sizing_tell(sizing, made, verdict);
}

static int simulate_all(const struct searching *searching, struct sizing *sizing, struct map *map,
                        void (*report)(void *context, int64_t n_runs), void *report_context, struct diag *diag)
{
    struct sizing_try tries[ROUND];
    struct size_outcome outcomes[ROUND];
    struct searching round = *searching;
    int code = 0;
    round.tries = tries;
    map->context = &round;
    map->act = try_one;
    map->result_bytes = sizeof *outcomes;
    while (code == 0 && (map->n = sizing_next(sizing, tries, ROUND)) > 0) {
        code = map_run(map, outcomes, diag);
        for (size_t i = 0; code == 0 && i < map->n; i++) {
            take_outcome(sizing, &tries[i], &outcomes[i], searching->result);
            searching->result->n_simulations += outcomes[i].n_simulations;
        }
        if (code == 0 && report != NULL) report(report_context, (int64_t)sizing->n_tries);
    }
    map->context = NULL;
    return code;
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

bool size_is_before(const struct size_question *question, const struct size_state *a, const struct size_state *b)
{
    const struct size_option *of = &a->option, *to = &b->option;
    size_t at;
    const double more_usd_per_h = size_usd_per_h(a) - size_usd_per_h(b);
    if (more_usd_per_h != 0) return more_usd_per_h < 0;
    const double more_frac = size_tightest(question, &a->good, &at) - size_tightest(question, &b->good, &at);
    if (more_frac != 0) return more_frac < 0;
    int by = order(a->replicas * size_replica_gpus(of), b->replicas * size_replica_gpus(to));
    if (by == 0) by = strcmp(of->gpu->name, to->gpu->name);
    if (by == 0) by = order(of->tensor_parallel, to->tensor_parallel);
    if (by == 0) by = order(of->pipeline_parallel, to->pipeline_parallel);
    if (by == 0) by = order(of->groups, to->groups);
    if (by == 0) by = order(of->prefill_replicas, to->prefill_replicas);
    if (by == 0) by = strcmp(of->batching->policy, to->batching->policy);
    if (by == 0) by = order(of->batching->token_budget, to->batching->token_budget);
    return by < 0;
}

/* All fleets that were found, in their order. Of those as dear as the last one wanted, the order decides. */
static int take_best(const struct size_question *question, const struct sizing *sizing, struct arena *arena,
                     struct size_result *result)
{
    result->n_runs = (int64_t)sizing->n_tries;
    result->best = arena_alloc(arena, (result->n + 1) * sizeof *result->best);
    if (result->best == NULL) return SIM_E_NOMEM;
    result->n_best = sizing_best(sizing, result->best, result->n);
    for (size_t i = 1; i < result->n_best; i++) {
        const size_t moved = result->best[i];
        size_t at = i;
        for (; at > 0 && size_is_before(question, &result->states[moved], &result->states[result->best[at - 1]]); at--)
            result->best[at] = result->best[at - 1];
        result->best[at] = moved;
    }
    if (result->n_best > SIZE_WANTED) result->n_best = SIZE_WANTED;
    for (size_t i = 0; i < result->n; i++) {
        result->states[i].is_exact = sizing_is_exact(&sizing->options[i]);
        result->states[i].failed = sizing->options[i].bad;
        result->states[i].most = sizing->options[i].most;
    }
    return 0;
}

/* Those of result->scheduler. */
static int list_options(const struct size_question *question, struct arena *arena, struct size_result *result)
{
    struct size_option *options;
    int code = size_options(question, result->scheduler, result->names_engine, arena, &options, &result->n);
    if (code != 0) return code;
    result->states = arena_alloc(arena, (result->n + 1) * sizeof *result->states);
    if (result->states == NULL) return SIM_E_NOMEM;
    memset(result->states, 0, result->n * sizeof *result->states);
    for (size_t i = 0; i < result->n; i++) result->states[i].option = options[i];
    return 0;
}

/* Names the cost model, the engine and its scheduler of a loaded fleet. Returns 0 or a negative code. */
static int name_engine(const struct setup *setup, struct arena *arena, struct size_result *result, struct diag *diag)
{
    struct engine_preset preset = {0};

    const struct pool_config pool = service_pool(scenario_service(&setup->scenario, 0), 0);
    const char *engine = cost_engine(&pool.cost);
    result->cost_model = arena_strdup(arena, pool.cost.name);
    result->engine = engine != NULL ? arena_strdup(arena, engine) : NULL;
    if (result->cost_model == NULL || (engine != NULL && result->engine == NULL)) return diag_nomem(diag);
    const int code = engine != NULL
                         ? catalog_engine(&setup->catalog, engine, "services.llm.cost.engine", arena, &preset, diag)
                         : 0;
    result->scheduler = preset.batching.name != NULL ? arena_strdup(arena, preset.batching.name) : NULL;
    result->names_engine = config_is_given(setup->config, "services.llm.cost.engine");
    return code;
}

/* The trace and the engine are those of any option. */
static int read_common(const struct size_question *question, const volatile sig_atomic_t *interrupt,
                       struct arena *arena, struct size_result *result, struct diag *diag)
{
    struct setup setup;
    const struct size_option *option = &result->states[0].option;
    int code = size_load(question, option, size_first_replicas(option), &setup, diag);
    if (code == 0) code = size_requests_read(question, &setup, interrupt, &result->requests, diag);
    if (code == 0) code = size_resolved_find(&setup, &result->poisson_per_s, &result->names_kernels, diag);
    if (code == 0) code = name_engine(&setup, arena, result, diag);
    setup_fini(&setup);
    if (code != 0 || !result->requests.is_closed) return code;
    return diag_error(diag, SIM_E_USAGE, "--trace",
                      "a study with a search for the smallest services.NAME.replicas sizes a fleet for them",
                      "the arrivals of sessions and other closed loops depend on the fleet: 'size' takes only a trace "
                      "with times of arrival, or a rate");
}

/* Where no fleet ran, and some cannot by a setting of the question, that setting is an error. */
static int check_wrong(const struct searching *searching, struct diag *diag)
{
    const struct size_result *result = searching->result;
    const struct size_state *wrong = NULL;
    struct size_outcome outcome;
    for (size_t i = 0; i < result->n; i++) {
        const struct size_state *state = &result->states[i];
        const bool is_known = state->bound.limit >= 0 || state->bound.has_no_error; /* ruled out without a run */
        if (state->good.has_run || state->bad.has_run || is_known) return 0;
        if (wrong == NULL && state->bound.is_wrong) wrong = state;
    }
    if (wrong == NULL) return 0;
    return size_try_told(searching->question, &result->requests, &wrong->option, size_first_replicas(&wrong->option),
                         (struct size_case){TIMES_PREDICTED, false, NULL}, searching->interrupt, &outcome, diag);
}

/* Searches, without the ends of the best. */
static int search(struct searching *searching, struct map *map, void (*report)(void *context, int64_t n_runs),
                  void *report_context, struct arena *arena, struct diag *diag)
{
    const struct size_question *question = searching->question;
    struct size_result *result = searching->result;
    *result = (struct size_result){0};
    if (list_options(question, arena, result) != 0) return diag_nomem(diag);
    if (result->n == 0) return diag_error(diag, SIM_E_USAGE, "--max-gpus", NULL, "no configuration has so few GPUs");
    int code = read_common(question, searching->interrupt, arena, result, diag);
    if (code != 0) return code;
    if (list_options(question, arena, result) != 0) return diag_nomem(diag); /* now that the engine is known */
    struct size_bound *bounds = arena_alloc(arena, result->n * sizeof *bounds);
    struct sizing_option *options = arena_alloc(arena, result->n * sizeof *options);
    size_t *shapes = arena_alloc(arena, result->n * sizeof *shapes), n_shapes = 0;
    if (bounds == NULL || options == NULL || shapes == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < result->n; i++)
        if (i == 0 || !is_same_shape(&result->states[i].option, &result->states[i - 1].option)) shapes[n_shapes++] = i;
    searching->shapes = shapes;
    map->n = n_shapes;
    map->result_bytes = sizeof *bounds;
    map->act = bound_one;
    map->context = searching;
    code = map_run(map, bounds, diag);
    if (code != 0) return code;
    take_bounds(question, result, bounds, options);
    struct sizing sizing;
    sizing_start(&sizing, options, result->n, SIZE_WANTED);
    code = simulate_all(searching, &sizing, map, report, report_context, diag);
    if (code == 0 && take_best(question, &sizing, arena, result) != 0) code = diag_nomem(diag);
    return code == 0 && !question->sure ? check_wrong(searching, diag) : code;
}

/* The cheapest fleet that is known to keep the limits at both ends, where the best one is not. Where no option has a
 * known error, there is nothing to search. */
static int find_sure(const struct searching *searching, struct map *map, struct arena *arena,
                     struct size_result *result, struct diag *diag)
{
    struct size_result found;
    struct size_question *question = arena_alloc(arena, sizeof *question); /* fleets point at its GPUs */
    if (question == NULL) return diag_nomem(diag);
    struct searching sure = {.question = question, .result = &found, .interrupt = searching->interrupt};
    *question = *searching->question;
    question->sure = true;
    const int code = search(&sure, map, NULL, NULL, arena, diag);
    result->has_sure = code == 0 &&
                       (result->has_ends || found.n_uncertain + found.n_unfit + found.n_ruled_out < found.n);
    if (code == 0 && found.n_best > 0) {
        result->sure = found.states[found.best[0]];
        const struct size_gpu *gpu = result->sure.option.gpu;
        const bool has_pools = size_has_pools(&result->sure);
        const struct size_state *other = size_other_kind(question, &found, NULL);
        const struct size_state *alike = size_other_kind(question, &found, gpu);
        if (other != NULL) result->sure_other = *other;
        if (alike != NULL) result->sure_alike = *alike;
        result->sure_open_usd_per_h = size_open_of_kind(&found, NULL, !has_pools);
        result->sure_alike_open_usd_per_h = size_open_of_kind(&found, gpu, !has_pools);
    }
    result->n_simulations += found.n_simulations;
    size_result_fini(&found);
    return code;
}

int size_search(const struct size_question *question, int workers, const volatile sig_atomic_t *interrupt,
                void (*report)(void *context, int64_t n_runs), void *report_context, struct arena *arena,
                struct size_result *result, struct diag *diag)
{
    struct searching searching = {.question = question, .result = result, .interrupt = interrupt};
    struct map map = {.workers = workers, .interrupt = interrupt};
    int code = search(&searching, &map, report, report_context, arena, diag);
    if (code == 0) result->warnings = result->requests.notes;
    if (code == 0) code = size_ends(question, &map, arena, result, diag);
    const bool has_run = result->fast.has_run && result->slow.has_run;
    const bool is_sure = result->has_ends && result->fast.meets && result->slow.meets;
    if (code == 0 && result->n_best > 0 && has_run && !is_sure && !question->sure)
        code = find_sure(&searching, &map, arena, result, diag);
    return code == 0 ? size_end_sure(question, &map, result, diag) : code;
}

void size_result_fini(struct size_result *result)
{
    size_requests_fini(&result->requests);
}
