/* What disaggregation changes: the best fleet with pools for prompts and decoding beside the best without. */
#include "sim/cli/size/size.h"

#include <inttypes.h>
#include <math.h>

bool size_has_pools(const struct size_state *state)
{
    return state->option.prefill_replicas > 0;
}

/* "6 x h100-sxm at $28.14/h" */
static void add_price(const struct size_state *state, struct text *text)
{
    text_printf(text, "%" PRId64 " x %s at $%.2f/h", state->replicas * size_replica_gpus(&state->option),
                state->option.gpu->name, size_usd_per_h(state));
}

/* "with pools 6 x h100-sxm at $28.14/h instead of 8 x h100-sxm at $37.52/h: cheaper by 25 %" of the better fleet and
 * that of the other kind, of which fleets from `open_usd_per_h` on may not have been tried. */
static void add_change(const struct size_state *best, const struct size_state *other, double open_usd_per_h,
                       struct text *text)
{
    const struct size_state *with = size_has_pools(best) ? best : other, *without = with == best ? other : best;
    const double change = size_usd_per_h(with) / size_usd_per_h(without) - 1;
    text_add(text, "with pools ");
    add_price(with, text);
    text_add(text, change == 0 ? ", without " : " instead of ");
    add_price(without, text);
    if (change == 0)
        text_add(text, ": equal price");
    else
        text_printf(text, ": %s by %.3g %%", change < 0 ? "cheaper" : "dearer", 100 * fabs(change));
    if (open_usd_per_h < size_usd_per_h(other))
        text_printf(text, "; not all fleets %s pools from $%.2f/h on were tried",
                    size_has_pools(other) ? "with" : "without", open_usd_per_h);
}

/* Where the fleet of the other kind has another GPU, the price mixes two changes: adds the best of that kind with the
 * GPU of the better fleet (NULL: none was found), or from which price on none was tried. */
static void add_alike(const struct size_state *best, const struct size_state *other, const struct size_state *alike,
                      double open_usd_per_h, struct text *text)
{
    if (other->option.gpu == best->option.gpu) return;
    text_printf(text, ", GPU and pools changed together; %s pools on the same GPU ",
                size_has_pools(other) ? "with" : "without");
    if (alike != NULL) {
        add_price(alike, text);
        text_printf(text, " (%+.3g %%)", 100 * (size_usd_per_h(alike) / size_usd_per_h(best) - 1));
    }
    if (alike != NULL && open_usd_per_h >= size_usd_per_h(alike)) return;
    if (alike != NULL)
        text_printf(text, "; not all of these from $%.2f/h on were tried", open_usd_per_h);
    else if (isfinite(open_usd_per_h))
        text_printf(text, "at least $%.2f/h, not tried further", open_usd_per_h);
    else
        text_add(text, "no fleet keeps the limits");
}

/* Of the options with pools that have a fleet of at most this price, the run that missed a limit last; of a fleet of
 * that price if there is one. More replicas are taken to be no worse, so one that is dearer speaks for cheaper
 * ones. */
static const struct size_state *find_missed(const struct size_result *result, double usd_per_h)
{
    const struct size_state *found = NULL;
    double most = -1;
    for (size_t i = 0; i < result->n; i++) {
        const struct size_state *state = &result->states[i];
        if (!size_has_pools(state) || !state->bad.has_run || state->bad.missed < 0) continue;
        if (size_fleet_usd_per_h(&state->option, size_first_replicas(&state->option)) > usd_per_h) continue;
        const double ended = (double)state->bad.n_ended / (double)result->requests.counted[state->bad.missed];
        const double rank = ended + (size_fleet_usd_per_h(&state->option, state->bad_replicas) <= usd_per_h ? 2 : 0);
        if (rank > most) found = state, most = rank;
    }
    return found;
}

/* Why no fleet with pools is as cheap as the best, which has none: ", because ..., $28.14/h, has ttft p99 of ...". */
static void add_reason(const struct size_question *question, const struct size_result *result,
                       const struct size_state *best, struct text *text)
{
    const struct size_state *missed = find_missed(result, size_usd_per_h(best));
    if (missed == NULL) {
        text_printf(text, ", because pools take at least two replicas, and closed forms rule out those for $%.2f/h",
                    size_usd_per_h(best));
        return;
    }
    const struct size_objective *objective = &question->objectives[missed->bad.missed];
    const double usd_per_h = size_fleet_usd_per_h(&missed->option, missed->bad_replicas);
    text_add(text, usd_per_h > size_usd_per_h(best) ? ", because even " : ", because ");
    size_describe(&missed->option, missed->bad_replicas, text);
    text_printf(text, ", $%.2f/h, ", usd_per_h);
    if (!isfinite(missed->bad.reached_s)) {
        text_add(text, "rejects requests or does not end them");
        return;
    }
    text_printf(text, "has %s of at least ", objective->name);
    size_add_time(missed->bad.reached_s, text);
    text_add(text, ", limit ");
    size_add_time(objective->limit_s, text);
}

/* No fleet of the other kind was found. */
static void add_none(const struct size_question *question, const struct size_result *result,
                     const struct size_state *best, struct text *text)
{
    const bool has_pools = size_has_pools(best);
    text_printf(text,
                has_pools ? "they pay here: without them no fleet " : "they do not pay here: with them no fleet ");
    if (result->n_best < SIZE_WANTED)
        text_printf(text, "of at most %" PRId64 " %s keeps the limits", question->most_gpus,
                    size_gpus_word(question->most_gpus));
    else
        text_add(text, "is as cheap as those listed");
    if (!has_pools) add_reason(question, result, best, text);
}

/* The largest part of a limit: "ttft p99 0.61 s of 1 s". */
static void add_largest(const struct size_question *question, const struct size_outcome *outcome, struct text *text)
{
    size_t at;
    size_tightest(question, outcome, &at);
    size_add_value(question, outcome, at, text);
}

/* "28.8 % of the way from its prediction to its slow value, then ttft p99 (825 ms to 1.61 s, limit 1 s)" */
static void add_withstood(const struct size_question *question, const struct size_state *state, const char *way,
                          struct text *text)
{
    size_t at;
    const double frac = size_withstood(question, state, &at);
    text_printf(text, "%.3g %% %s, then %s (", 100 * frac, way, question->objectives[at].name);
    size_add_time(state->good.values[at], text);
    text_add(text, " to ");
    size_add_time(state->slow.values[at], text);
    text_add(text, ", limit ");
    size_add_time(question->objectives[at].limit_s, text);
    text_add(text, ")");
}

/* Whether the share of a fleet is decided by a time whose error is not measured. */
static bool is_unmeasured(const struct size_question *question, const struct size_state *state)
{
    size_t at;
    return size_withstood(question, state, &at) < 1 && question->objectives[at].time != SIZE_TPOT;
}

/* Both miss a limit at the slow end: which limit decides, and how far the model may err before. */
static void add_order_of_missed(const struct size_question *question, const struct size_state *best,
                                const struct size_state *other, struct text *text)
{
    text_add(text, "the model may err further to its slow side before it misses a limit: ");
    add_withstood(question, best, "of the way from prediction to slow value", text);
    text_printf(text, ", %s pools ", size_has_pools(other) ? "with" : "without");
    add_withstood(question, other, "of it", text);
    if (is_unmeasured(question, best) || is_unmeasured(question, other))
        text_add(text, "; the error of TTFT is not measured: that of TPOT, on all iterations, stands for it");
}

/* Which of two fleets of equal price comes first, and why. */
static void add_order(const struct size_question *question, const struct size_state *best,
                      const struct size_state *other, struct text *text)
{
    size_t at;
    const bool by_slow_side = size_withstood(question, best, &at) > size_withstood(question, other, &at);
    if (!by_slow_side && size_tightest(question, &best->good, &at) == size_tightest(question, &other->good, &at))
        return;
    text_printf(text, "; the one %s pools comes first, as ", size_has_pools(best) ? "with" : "without");
    if (by_slow_side && !best->slow.meets) {
        add_order_of_missed(question, best, other, text);
        return;
    }
    text_add(text, by_slow_side ? "it keeps its limits " SIZE_SLOW_SIDE : "it has more room to its limits");
    text_add(text, ": ");
    add_largest(question, by_slow_side ? &best->slow : &best->good, text);
    text_printf(text, ", %s pools ", size_has_pools(other) ? "with" : "without");
    add_largest(question, by_slow_side ? &other->slow : &other->good, text);
}

void size_add_pools(const struct size_question *question, const struct size_result *result, struct text *text)
{
    const struct size_state *best = &result->states[result->best[0]], *other = result->other;
    const bool has_pools = size_has_pools(best);
    text_add(text, "pools: ");
    if (other == NULL) {
        add_none(question, result, best, text);
        return;
    }
    const bool is_dearer = !has_pools && size_usd_per_h(other) > size_usd_per_h(best);
    if (is_dearer) text_add(text, "they do not pay here: ");
    add_change(best, other, size_open_of_kind(result, NULL, !has_pools), text);
    add_alike(best, other, size_other_kind(question, result, best->option.gpu),
              size_open_of_kind(result, best->option.gpu, !has_pools), text);
    if (is_dearer) add_reason(question, result, best, text);
    if (size_usd_per_h(other) == size_usd_per_h(best)) add_order(question, best, other, text);
}

void size_add_sure_pools(const struct size_result *result, struct text *text)
{
    const struct size_state *sure = &result->sure, *other = &result->sure_other, *alike = &result->sure_alike;
    const bool has_pools = size_has_pools(sure);
    if (other->replicas == 0) {
        text_printf(text, "%s pools; none of those as cheap was found %s", has_pools ? "with" : "without",
                    has_pools ? "without" : "with");
        return;
    }
    add_change(sure, other, result->sure_open_usd_per_h, text);
    add_alike(sure, other, alike->replicas > 0 ? alike : NULL, result->sure_alike_open_usd_per_h, text);
}

/* "137 ms (120 to 180 ms)": as predicted, and at both ends of the interval where they are known. */
static void add_range(size_t at, const struct size_outcome *predicted, const struct size_outcome *fast,
                      const struct size_outcome *slow, struct text *text)
{
    size_add_time(predicted->values[at], text);
    if (!fast->has_run || !slow->has_run || fast->values[at] == slow->values[at]) return;
    text_add(text, " (");
    size_add_time(fmin(fast->values[at], slow->values[at]), text);
    text_add(text, " to ");
    size_add_time(fmax(fast->values[at], slow->values[at]), text);
    text_add(text, ")");
}

void size_add_pool_values(const struct size_question *question, const struct size_result *result, struct text *text)
{
    const struct size_state *best = &result->states[result->best[0]], *other = result->other;
    text_printf(text, "%s pools: ", size_has_pools(best) ? "without" : "with");
    size_describe(&other->option, other->replicas, text);
    for (size_t i = 0; i < question->n_objectives; i++) {
        text_printf(text, ", %s ", question->objectives[i].name);
        add_range(i, &other->good, &result->other_fast, &result->other_slow, text);
        text_add(text, " instead of ");
        add_range(i, &best->good, &result->fast, &result->slow, text);
    }
}
