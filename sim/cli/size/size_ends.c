/* Runs of the fleets that were found, each to its end: the best at the ends of the interval, the fleet of the other
 * kind (with pools or without) beside it, and fleets that are one replica smaller than the best. */
#include "sim/cli/size/size.h"
#include "sim/study/map.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct ending_run {
    const struct size_option *option;
    int64_t replicas;
    enum time_case time_case;
};

struct ending {
    const struct size_question *question;
    const struct size_requests *requests;
    const volatile sig_atomic_t *interrupt;
    const struct ending_run *runs;
};

/* What a process of a run sends back. */
struct ended {
    struct size_outcome outcome;
    struct size_warnings warnings;
};

static void end_one(void *context, size_t item, void *result)
{
    const struct ending *ending = context;
    const struct ending_run *run = &ending->runs[item];
    struct ended *ended = result;
    ended->warnings.n = 0;
    size_try(ending->question, ending->requests, run->option, run->replicas,
             (struct size_case){run->time_case, true, &ended->warnings}, ending->interrupt, &ended->outcome);
}

/* `ended`: [n], of the runs. */
static int end_all(const struct size_question *question, struct map *map, const struct ending_run *runs, size_t n,
                   struct ended *ended, struct size_result *result, struct diag *diag)
{
    struct ending ending = {question, &result->requests, map->interrupt, runs};
    map->context = &ending;
    map->act = end_one;
    map->result_bytes = sizeof *ended;
    map->n = n;
    const int code = map_run(map, ended, diag);
    map->context = NULL;
    if (code == 0) result->n_simulations += (int64_t)n;
    return code;
}

bool size_has_error(const struct size_question *question, const struct size_outcome *predicted,
                    const struct size_outcome *end)
{
    for (size_t i = 0; end->has_run && i < question->n_objectives; i++)
        if (end->values[i] != predicted->values[i]) return true;
    return false;
}

static enum size_end judge_end(const struct size_question *question, const struct size_state *state)
{
    if (!size_has_error(question, &state->good, &state->slow)) return SIZE_END_UNKNOWN;
    return state->slow.meets ? SIZE_END_KEPT : SIZE_END_MISSED;
}

/* The model errs by a factor of its times, so the way to the slow value is measured in logarithms. The predictions of
 * a fleet that was found keep their limits. */
double size_withstood(const struct size_question *question, const struct size_state *state, size_t *at)
{
    double least = 1;
    *at = 0;
    if (!state->slow.has_run) return least;
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double limit_s = question->objectives[i].limit_s;
        if (!(state->slow.values[i] > limit_s)) continue;
        const double frac = log(limit_s / state->good.values[i]) / log(state->slow.values[i] / state->good.values[i]);
        if (frac < least) *at = i, least = frac;
    }
    return least;
}

bool size_is_saturated(const struct size_question *question, const struct size_state *state)
{
    bool is_saturated = false;
    for (size_t i = 0; state->slow.has_run && i < question->n_objectives; i++)
        is_saturated |= state->slow.values[i] > SIZE_SATURATED_TIMES * question->objectives[i].limit_s;
    return is_saturated;
}

void size_add_saturation(const struct size_state *state, struct text *text)
{
    static const char *const names[SIZE_POOLS] = {"for prompts", "for decoding"};
    const double *kv_frac = state->slow.pool_kv_frac, *waiting = state->slow.pool_waiting;
    const bool has_pools = state->option.prefill_replicas > 0;
    for (int pool = has_pools ? SIZE_PREFILL : SIZE_DECODE; pool < SIZE_POOLS; pool++) {
        text_printf(text, "%s%s%s%.3g %% of a KV cache in use and %.0f request%s waiting at one replica",
                    pool == SIZE_DECODE && has_pools ? "; " : "", has_pools ? names[pool] : "", has_pools ? " " : "",
                    100 * kv_frac[pool], waiting[pool], waiting[pool] == 1 ? "" : "s");
    }
    text_printf(text, "; %" PRId64 " preemption%s; up to ", state->slow.n_preemptions,
                state->slow.n_preemptions == 1 ? "" : "s");
    size_add_time(state->slow.queue_max_s, text);
    text_add(text, " until a request is first scheduled");
}

/* The rank of a fleet among those of equal price, as below. An unknown slow end is not a kept one. */
static double rank_by_slow_end(const struct size_question *question, const struct size_state *state)
{
    size_t at_limit;
    return size_withstood(question, state, &at_limit) + (state->slow_end == SIZE_END_KEPT ? 1 : 0);
}

/* Of equal price, fleets that keep their limits at the slow end come first, then those without a known error, then
 * those that withstand more of the error. The order of the others stays.
 *
 * Among fleets that miss a limit, the largest multiple of a limit at the slow end would be the wrong order. How far a
 * limit is missed there says little of how likely it is missed. Near its capacity the times of a fleet grow without
 * bound, and the room that the prediction has would count for nothing. The share of the error that a fleet withstands
 * uses both values. Where errors have one distribution over the intervals of all fleets, it is the order of their
 * chances to keep all limits. It takes the logarithm of a time to grow evenly from the prediction to the slow value.
 * Where a time grows only near that end, the share is too small. No error of TTFT is measured: the error of TPOT, on
 * all iterations, stands for it. */
static void sort_by_slow_end(const struct size_question *question, struct size_result *result)
{
    for (size_t i = 1; i < result->n_best; i++) {
        const size_t moved = result->best[i];
        const struct size_state *state = &result->states[moved];
        size_t at = i;
        for (; at > 0; at--) {
            const struct size_state *before = &result->states[result->best[at - 1]];
            if (size_usd_per_h(before) != size_usd_per_h(state)) break;
            if (rank_by_slow_end(question, before) >= rank_by_slow_end(question, state)) break;
            result->best[at] = result->best[at - 1];
        }
        result->best[at] = moved;
    }
}

const struct size_state *size_other_kind(const struct size_question *question, const struct size_result *result,
                                         const struct size_gpu *gpu)
{
    const struct size_state *found = NULL;
    const bool has_pools = result->states[result->best[0]].option.prefill_replicas == 0;
    for (size_t i = 0; i < result->n_best; i++) {
        const struct size_state *state = &result->states[result->best[i]];
        if ((state->option.prefill_replicas > 0) == has_pools && (gpu == NULL || state->option.gpu == gpu))
            return state;
    }
    for (size_t i = 0; i < result->n; i++) {
        const struct size_state *state = &result->states[i];
        if (state->replicas == 0 || (state->option.prefill_replicas > 0) != has_pools) continue;
        if (gpu != NULL && state->option.gpu != gpu) continue;
        if (found == NULL || size_is_before(question, state, found)) found = state;
    }
    return found;
}

/* The runs after the order is known, and where their outcomes go. */
struct plan {
    size_t n;
    struct ending_run runs[16];
    struct size_outcome *to[16];
};

static void plan_run(struct plan *plan, const struct size_option *option, int64_t replicas, enum time_case time_case,
                     struct size_outcome *to)
{
    plan->runs[plan->n] = (struct ending_run){option, replicas, time_case};
    plan->to[plan->n++] = to;
}

/* A fleet with a replica less, under the times of each case that the question asks for, the likeliest miss first. */
static void plan_fewer(const struct size_question *question, const struct size_option *option, int64_t replicas,
                       struct size_fewer *fewer, struct plan *plan)
{
    static const enum time_case cases[] = {TIMES_SLOW, TIMES_FAST, TIMES_PREDICTED};
    if (option->prefill_replicas < 0 || replicas < size_first_replicas(option)) return;
    fewer->is_tried = true;
    fewer->option = *option;
    fewer->replicas = replicas;
    for (size_t i = question->sure ? 0 : 2; i < 3; i++)
        plan_run(plan, &fewer->option, replicas, cases[i], &fewer->outcomes[cases[i]]);
}

static void plan_all(const struct size_question *question, struct size_result *result, struct plan *plan)
{
    const struct size_state *best = &result->states[result->best[0]];
    plan->n = 0;
    plan_run(plan, &best->option, best->replicas, TIMES_FAST, &result->fast);
    plan_run(plan, &best->option, best->replicas, TIMES_PREDICTED, &result->whole);
    plan_fewer(question, &best->option, best->replicas - 1, &result->fewer[0], plan);
    struct size_option fewer = best->option;
    fewer.prefill_replicas--;
    if (fewer.prefill_replicas > 0) plan_fewer(question, &fewer, best->replicas - 1, &result->fewer[1], plan);
    result->other = question->disaggregated ? size_other_kind(question, result, NULL) : NULL;
    if (result->other == NULL) return;
    plan_run(plan, &result->other->option, result->other->replicas, TIMES_FAST, &result->other_fast);
    plan_run(plan, &result->other->option, result->other->replicas, TIMES_SLOW, &result->other_slow);
}

const struct size_outcome *size_fewer_miss(const struct size_fewer *fewer, enum time_case *at)
{
    static const enum time_case cases[] = {TIMES_PREDICTED, TIMES_SLOW, TIMES_FAST};
    for (size_t i = 0; i < 3; i++) {
        *at = cases[i];
        if (fewer->outcomes[*at].has_run && fewer->outcomes[*at].missed >= 0) return &fewer->outcomes[*at];
    }
    return NULL;
}

int size_ends(const struct size_question *question, struct map *map, struct arena *arena, struct size_result *result,
              struct diag *diag)
{
    struct plan plan = {0};
    const size_t n = result->n_best;
    if (n == 0) return 0;
    const size_t most = n > COUNT(plan.runs) ? n : COUNT(plan.runs);
    struct ending_run *runs = arena_alloc(arena, n * sizeof *runs);
    struct ended *ended = arena_alloc(arena, most * sizeof *ended);
    if (runs == NULL || ended == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < n; i++) {
        const struct size_state *state = &result->states[result->best[i]];
        runs[i] = (struct ending_run){&state->option, state->replicas, TIMES_SLOW};
    }
    int code = end_all(question, map, runs, n, ended, result, diag);
    for (size_t i = 0; code == 0 && i < n; i++) {
        struct size_state *state = &result->states[result->best[i]];
        state->slow = ended[i].outcome;
        state->slow_end = judge_end(question, state);
    }
    if (code != 0) return code;
    sort_by_slow_end(question, result);
    result->slow = result->states[result->best[0]].slow;
    plan_all(question, result, &plan);
    code = end_all(question, map, plan.runs, plan.n, ended, result, diag);
    for (size_t i = 0; code == 0 && i < plan.n; i++) {
        *plan.to[i] = ended[i].outcome;
        if (plan.to[i] == &result->whole) result->warnings = ended[i].warnings;
    }
    if (code != 0) return code;
    const struct size_outcome *const ends[] = {&result->fast, &result->whole, &result->slow};
    for (size_t i = 0; i < COUNT(ends); i++)
        if (!ends[i]->has_run)
            diag_warning(diag, NULL, NULL, "no interval, as a run at one of its ends failed: %s", ends[i]->why);
    for (size_t i = 0; i < question->n_objectives && result->fast.has_run && result->slow.has_run; i++)
        result->has_ends |= result->fast.values[i] != result->slow.values[i];
    return 0;
}

int size_end_sure(const struct size_question *question, struct map *map, struct size_result *result, struct diag *diag)
{
    const struct ending_run run = {&result->sure.option, result->sure.replicas, TIMES_SLOW};
    struct ended ended;
    if (!result->has_sure || result->sure.replicas == 0) return 0;
    const int code = end_all(question, map, &run, 1, &ended, result, diag);
    if (code == 0) result->sure.slow = ended.outcome;
    return code;
}
