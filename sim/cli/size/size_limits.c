/* What limits the best fleet: what fleets with a replica less lack, by a run of each to its end.
 *
 * All of it is what that run says: the limit that is missed, the use of KV caches, the time that replicas compute, in
 * iterations with prompts and in iterations that decode alone, and the requests that wait. Only a full KV cache is
 * named as what is short: a fleet may miss a limit with time left, or by the order of its iterations. */
#include "sim/cli/size/size.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>

static const double full_frac = 0.95;

/* The pool that lost a replica. */
static enum size_pool pool_of(size_t at)
{
    return at == 1 ? SIZE_PREFILL : SIZE_DECODE;
}

/* The time that the pool's replicas compute, over the time of the run, and its two parts. The run knows it of all
 * replicas together; the pool has the part of it that its iterations have. */
static void split_time(const struct size_fewer *fewer, enum size_pool pool, struct size_lack *lack)
{
    const struct size_outcome *outcome = lack->outcome;
    const int64_t prefill = fewer->option.prefill_replicas;
    const double replicas = (double)(pool == SIZE_PREFILL ? prefill : fewer->replicas - prefill);
    double all_s = 0;
    for (int of = 0; of < SIZE_POOLS; of++)
        for (int phase = 0; phase < SIZE_PHASES; phase++) all_s += outcome->compute_s[of][phase];
    const double frac_per_s = all_s > 0 ? outcome->busy_frac * (double)fewer->replicas / replicas / all_s : 0;
    lack->prompts_frac = frac_per_s * outcome->compute_s[pool][SIZE_WITH_PROMPTS];
    lack->decoding_frac = frac_per_s * outcome->compute_s[pool][SIZE_DECODING_ALONE];
    lack->busy_frac = lack->prompts_frac + lack->decoding_frac;
}

bool size_lack_of(const struct size_result *result, size_t at, struct size_lack *lack)
{
    const struct size_fewer *fewer = &result->fewer[at];
    const enum size_pool pool = pool_of(at);
    *lack = (struct size_lack){.objective = -1};
    lack->outcome = size_fewer_miss(fewer, &lack->time_case);
    if (!fewer->is_tried || lack->outcome == NULL) return false;
    const int64_t prefill = fewer->option.prefill_replicas;
    lack->objective = lack->outcome->missed;
    lack->kv_frac = prefill > 0 ? lack->outcome->pool_kv_frac[pool]
                                : fmax(lack->outcome->kv_peak_frac, lack->outcome->pool_kv_frac[pool]);
    lack->is_short_of_kv = lack->kv_frac >= full_frac;
    lack->waiting = lack->outcome->pool_waiting[pool];
    split_time(fewer, pool, lack);
    return true;
}

/* "ttft p99 is 53 s of 1 s" */
static void add_value(const struct size_objective *objective, double value_s, const char *verb, struct text *text)
{
    if (!isfinite(value_s)) {
        text_printf(text, "%s cannot be told: requests are rejected or do not end", objective->name);
        return;
    }
    text_printf(text, "%s %s ", objective->name, verb);
    size_add_time(value_s, text);
    text_add(text, " of ");
    size_add_time(objective->limit_s, text);
}

/* "ttft p99 is 3 s of 1 s, short of KV cache: 99.9 % of it in use at most, replicas compute 96.1 % of the time, ..." */
static void add_lack(const struct size_question *question, const struct size_lack *lack, struct text *text)
{
    static const char *const cases[] = {[TIMES_PREDICTED] = "",
                                        [TIMES_FAST] = " if the model errs to its fast side",
                                        [TIMES_SLOW] = (" " SIZE_SLOW_SIDE)};
    const struct size_outcome *outcome = lack->outcome;
    add_value(&question->objectives[lack->objective], outcome->values[lack->objective], "is", text);
    text_printf(text, "%s%s: %.3g %% of a KV cache in use at most", cases[lack->time_case],
                lack->is_short_of_kv ? ", short of KV cache" : "", 100 * lack->kv_frac);
    text_printf(text, ", replicas compute %.3g %% of the time", 100 * lack->busy_frac);
    text_printf(text, " (%.3g %% in iterations with prompts, %.3g %% in decoding alone)", 100 * lack->prompts_frac,
                100 * lack->decoding_frac);
    text_printf(text, ", up to %.0f request%s wait%s at one", lack->waiting, lack->waiting == 1 ? "" : "s",
                lack->waiting == 1 ? "s" : "");
}

/* What the search knows of it, if a run to the end is not known: the value that it had reached. */
static void add_bad(const struct size_question *question, const struct size_state *state, struct text *text)
{
    if (!state->bad.has_run || state->bad.missed < 0) {
        text_add(text, "the work cannot be done (closed form)");
        return;
    }
    add_value(&question->objectives[state->bad.missed], state->bad.reached_s, "is at least", text);
    if (question->sure) text_add(text, " as predicted or at an end of the interval");
}

static void add_fewer(const struct size_question *question, const struct size_result *result, size_t at,
                      struct text *text)
{
    struct size_lack lack;
    enum time_case time_case;
    const struct size_fewer *fewer = &result->fewer[at];
    if (size_lack_of(result, at, &lack))
        add_lack(question, &lack, text);
    else if (size_fewer_miss(fewer, &time_case) == NULL && fewer->outcomes[TIMES_PREDICTED].has_run)
        text_add(text, "the limits are kept, too");
    else if (at == 0)
        add_bad(question, &result->states[result->best[0]], text);
    else
        text_add(text, "it cannot run");
}

void size_add_limit(const struct size_question *question, const struct size_result *result, struct text *text)
{
    const struct size_state *best = &result->states[result->best[0]];
    const int64_t prefill = best->option.prefill_replicas, decode = best->replicas - 1 - prefill;
    text_add(text, "limit: ");
    if (decode < 1) {
        text_add(text, prefill > 0 ? "one replica that decodes is enough" : "one replica of this kind is enough");
        const double kv_frac = prefill > 0 ? result->whole.pool_kv_frac[SIZE_DECODE] : result->whole.kv_peak_frac;
        if (kv_frac >= 0.9) text_printf(text, ", with %.3g %% of its KV cache in use at most", 100 * kv_frac);
    } else {
        text_printf(text, "with %" PRId64 " replica%s%s ", decode, decode == 1 ? "" : "s",
                    prefill > 0 ? " that decode instead" : "");
        add_fewer(question, result, 0, text);
    }
    if (prefill == 1) text_add(text, "; one for prompts is enough");
    if (prefill < 2) return;
    text_printf(text, "; with %" PRId64 " for prompts instead ", prefill - 1);
    add_fewer(question, result, 1, text);
}
