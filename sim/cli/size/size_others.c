/* One line for each GPU that the best fleet does not have: its cheapest fleet, or why there is none.
 *
 * The search simulates only what may be among the cheapest, and stops a run once an objective is missed for good. So a
 * price may be a bound, and so may the value that a run had reached. The lines say which it is. */
#include "sim/cli/size/size.h"

#include <inttypes.h>
#include <math.h>

/* What the search knows of a GPU. */
struct other {
    const struct size_state *found; /* the cheapest fleet; NULL: none */
    const struct size_state *last;  /* of those simulated that missed: the one that was stopped last */
    const struct size_state *ruled; /* of those a closed form rules out by an objective, the nearest */
    const struct size_state *unfit; /* one that cannot run */
    const struct size_state *uncertain; /* one without a known error, where both ends must be kept */
    const struct size_state *busy;  /* of those whose work is too much for the GPUs, the one that needs the fewest */
    double open_usd_per_h;          /* the least price of a fleet that was not tried; INFINITY: none is left */
};

/* Share of the requests that had ended when it was clear that the objective is missed. */
static double ended_frac(const struct size_result *result, const struct size_state *state)
{
    return (double)state->bad.n_ended / (double)result->requests.counted[state->bad.missed];
}

static double ruled_ratio(const struct size_question *question, const struct size_state *state)
{
    return state->bound.alone_s / question->objectives[state->bound.limit].limit_s;
}

static int64_t needed_gpus(const struct size_state *state)
{
    return size_bound_replicas(&state->bound, &state->option) * size_replica_gpus(&state->option);
}

/* A fleet of another number of replicas that may meet the objectives, as far as the search knows. */
static double open_usd_per_h(const struct size_state *state)
{
    const bool is_out = state->bound.cannot_run || state->bound.has_no_error;
    const bool is_open = !is_out && !state->is_exact && state->failed < state->most;
    if (!is_open) return (double)INFINITY;
    return (double)((state->failed + 1) * size_replica_gpus(&state->option)) * state->option.gpu->usd_per_h;
}

double size_open_of_kind(const struct size_result *result, const struct size_gpu *gpu, bool has_pools)
{
    double least = (double)INFINITY;
    for (size_t i = 0; i < result->n; i++)
        if (size_has_pools(&result->states[i]) == has_pools && (gpu == NULL || result->states[i].option.gpu == gpu))
            least = fmin(least, open_usd_per_h(&result->states[i]));
    return least;
}

static void look_at(const struct size_question *question, const struct size_result *result,
                    const struct size_state *state, struct other *other)
{
    const struct size_bound *bound = &state->bound;
    other->open_usd_per_h = fmin(other->open_usd_per_h, open_usd_per_h(state));
    if (state->replicas > 0) {
        if (other->found == NULL || size_is_before(question, state, other->found)) other->found = state;
    } else if (bound->cannot_run) {
        other->unfit = state;
    } else if (bound->limit >= 0) {
        if (other->ruled == NULL || ruled_ratio(question, state) < ruled_ratio(question, other->ruled))
            other->ruled = state;
    } else if (bound->has_no_error) {
        other->uncertain = state;
    } else if (state->bad.has_run && state->bad.missed >= 0) {
        if (other->last == NULL || ended_frac(result, state) > ended_frac(result, other->last)) other->last = state;
    } else if (state->failed >= state->most && size_bound_replicas(bound, &state->option) < INT64_MAX) {
        if (other->busy == NULL || needed_gpus(state) < needed_gpus(other->busy)) other->busy = state;
    }
}

static void add_ratio(double value_s, const struct size_objective *objective, struct text *text)
{
    if (!isfinite(value_s)) {
        text_printf(text, "%s cannot be told: requests are rejected or do not end", objective->name);
        return;
    }
    text_printf(text, "%s at least ", objective->name);
    size_add_time(value_s, text);
    text_add(text, " of ");
    size_add_time(objective->limit_s, text);
    const double times = value_s / objective->limit_s;
    if (times < 1.001)
        text_add(text, " (less than 1.001 times)");
    else
        text_printf(text, times < 1.1 ? " (%.3f times)" : times < 1000 ? " (%.3g times)" : " (%.0f times)", times);
}

/* "; stopped after 210 of 2000 requests" */
static void add_stop(const struct size_result *result, const struct size_outcome *bad, struct text *text)
{
    const size_t n = result->requests.counted[bad->missed];
    if (bad->is_cut && bad->n_ended < n) text_printf(text, "; stopped after %zu of %zu requests", bad->n_ended, n);
}

/* Why no number of GPUs is enough. What was simulated says more than a closed form. */
static void add_reason(const struct size_question *question, const struct size_result *result,
                       const struct other *other, struct text *text)
{
    if (other->last != NULL) {
        const struct size_state *state = other->last;
        text_add(text, "misses the limits; longest within them: ");
        size_describe(&state->option, state->bad_replicas, text);
        text_add(text, ", ");
        add_ratio(state->bad.reached_s, &question->objectives[state->bad.missed], text);
        add_stop(result, &state->bad, text);
        text_printf(text, "; no closed form says that more GPUs than --max-gpus %" PRId64 " do not help",
                    question->most_gpus);
    } else if (other->ruled != NULL) {
        const struct size_option *option = &other->ruled->option;
        text_add(text, "misses the limits; nearest: ");
        size_describe_shape(option, text);
        text_add(text, ", where requests alone have ");
        add_ratio(other->ruled->bound.alone_s, &question->objectives[other->ruled->bound.limit], text);
        text_add(text, " (closed form): more GPUs do not help");
    } else if (other->busy != NULL) {
        text_printf(text, "the work needs at least %" PRId64 " GPUs (closed form), more than --max-gpus %" PRId64,
                    needed_gpus(other->busy), question->most_gpus);
    } else if (other->uncertain != NULL) {
        text_add(text, "cannot be sure: the error of its times is not known");
    } else {
        text_printf(text, "cannot run %s", question->llm);
        if (other->unfit != NULL) text_printf(text, ": %s", other->unfit->bound.why);
    }
}

/* ", at 97.1 % if the model errs to its slow side; on that side tpot p99 is nearest its limit, at 103 %". Another one
 * than the tightest limit may bind there. */
static void add_slow_side(const struct size_question *question, const struct size_state *found, size_t tightest,
                          struct text *text)
{
    size_t slow_at;
    const double most = size_tightest(question, &found->slow, &slow_at);
    const double share = found->slow.values[tightest] / question->objectives[tightest].limit_s;
    if (!isfinite(most)) {
        text_add(text, "; " SIZE_SLOW_SIDE ", requests are rejected or do not end");
        return;
    }
    text_printf(text, ", at %.3g %% " SIZE_SLOW_SIDE, 100 * share);
    if (slow_at == tightest) return;
    text_printf(text, "; on that side %s is nearest its limit, at ", question->objectives[slow_at].name);
    text_printf(text, most > 1 && most < 1.005 ? "%.5g %%" : "%.3g %%", 100 * most);
}

static void add_found(const struct size_question *question, const struct size_result *result, const struct other *other,
                      struct text *text)
{
    const struct size_state *best = &result->states[result->best[0]], *found = other->found;
    size_t tightest;
    const double most = size_tightest(question, &found->good, &tightest);
    size_describe(&found->option, found->replicas, text);
    text_printf(text, ", $%.2f/h (%+.0f %%), %s at %.3g %% of its limit", size_usd_per_h(found),
                100 * (size_usd_per_h(found) / size_usd_per_h(best) - 1), question->objectives[tightest].name,
                100 * most);
    if (found->slow_end != SIZE_END_UNKNOWN) add_slow_side(question, found, tightest, text);
    if (other->open_usd_per_h < size_usd_per_h(found))
        text_printf(text, "; not all fleets from $%.2f/h on were tried", other->open_usd_per_h);
}

/* The fleet is the one that the table lists first, if it lists any of the GPU. */
static struct other find_other(const struct size_question *question, const struct size_result *result,
                               const struct size_gpu *gpu)
{
    struct other other = {.open_usd_per_h = (double)INFINITY};
    for (size_t i = 0; i < result->n; i++)
        if (result->states[i].option.gpu == gpu) look_at(question, result, &result->states[i], &other);
    for (size_t i = result->n_best; i-- > 0;)
        if (result->states[result->best[i]].option.gpu == gpu) other.found = &result->states[result->best[i]];
    return other;
}

/* By the price of the fleet, then by the bound of a price, then GPUs that have neither. */
static double order_of(const struct other *other)
{
    const double dearest = 1e15;
    return other->found != NULL ? size_usd_per_h(other->found) : fmin(dearest, other->open_usd_per_h) + dearest;
}

size_t size_order_others(const struct size_question *question, const struct size_result *result,
                         const struct size_gpu *ordered[SIZE_MAX_GPUS])
{
    double orders[SIZE_MAX_GPUS];
    size_t n = 0;
    for (size_t i = 0; i < question->n_gpus; i++) {
        const struct size_gpu *gpu = &question->gpus[i];
        if (result->n_best > 0 && result->states[result->best[0]].option.gpu == gpu) continue;
        const struct other other = find_other(question, result, gpu);
        const double order = order_of(&other);
        size_t at = n++;
        for (; at > 0 && orders[at - 1] > order; at--) {
            orders[at] = orders[at - 1];
            ordered[at] = ordered[at - 1];
        }
        orders[at] = order;
        ordered[at] = gpu;
    }
    return n;
}

const struct size_state *size_find_other(const struct size_question *question, const struct size_result *result,
                                         const struct size_gpu *gpu, double *open_usd_per_h)
{
    const struct other other = find_other(question, result, gpu);
    *open_usd_per_h = other.open_usd_per_h;
    return other.found;
}

void size_add_other(const struct size_question *question, const struct size_result *result, const struct size_gpu *gpu,
                    struct text *text)
{
    const struct other other = find_other(question, result, gpu);
    text_printf(text, "%s: ", gpu->name);
    if (other.found != NULL)
        add_found(question, result, &other, text);
    else if (isfinite(other.open_usd_per_h))
        text_printf(text, "at least $%.2f/h, more than the fleets listed; not searched further", other.open_usd_per_h);
    else
        add_reason(question, result, &other, text);
}

void size_add_unpriced(const struct size_question *question, const struct size_gpu *gpu, struct text *text)
{
    text_printf(text, "%s: no price in list %s; not tried; without --prices $%.2f/h: %s", gpu->name, question->prices,
                gpu->usd_per_h, gpu->origin != NULL ? gpu->origin : "of unknown origin");
}
