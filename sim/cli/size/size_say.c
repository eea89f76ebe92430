/* The answer in lines: the cheapest fleets, the load, latencies and limits, prices, pools, and how sure it is. */
#include "sim/cli/size/size.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void size_add_time(double seconds, struct text *text)
{
    char number[48];
    if (!isfinite(seconds)) {
        text_add(text, "never");
    } else if (seconds > 0 && seconds < 1e-4) {
        text_printf(text, "%s us", text_show_number(round(seconds * 1e8) / 100, number, sizeof number));
    } else if (seconds < 1) {
        text_printf(text, "%s ms", text_show_number(round(seconds * 1e5) / 100, number, sizeof number));
    } else {
        text_printf(text, "%s s", text_show_number(round(seconds * 1000) / 1000, number, sizeof number));
    }
}

double size_tightest(const struct size_question *question, const struct size_outcome *outcome, size_t *at)
{
    double most = -1;
    *at = 0;
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double part = outcome->values[i] / question->objectives[i].limit_s;
        if (part > most) *at = i, most = part;
    }
    return most;
}

void size_add_value(const struct size_question *question, const struct size_outcome *outcome, size_t at,
                    struct text *text)
{
    text_printf(text, "%s ", question->objectives[at].name);
    size_add_time(outcome->values[at], text);
    text_add(text, " of ");
    size_add_time(question->objectives[at].limit_s, text);
}

/* "ttft p99 0.44 s of 1 s, tpot p99 31 ms of 50 ms" */
static void add_values(const struct size_question *question, const struct size_outcome *outcome, struct text *text)
{
    for (size_t i = 0; i < question->n_objectives; i++) {
        if (i > 0) text_add(text, ", ");
        size_add_value(question, outcome, i, text);
    }
}

/* "tpot p99: 47.74 ms predicted, 70.51 ms if the model errs to its slow side, limit 50 ms". `slow`: words for that
 * side; NULL: its value is not known. */
static void add_both_values(const struct size_question *question, const struct size_state *best, const char *slow,
                            size_t at, struct text *text)
{
    text_printf(text, "%s: ", question->objectives[at].name);
    size_add_time(best->good.values[at], text);
    text_add(text, " predicted, ");
    if (slow != NULL) {
        size_add_time(best->slow.values[at], text);
        text_printf(text, " %s, ", slow);
    }
    text_add(text, "limit ");
    size_add_time(question->objectives[at].limit_s, text);
}

/* The limit of which the best takes the largest part: as predicted, and at the slow end if that is another one. */
static void add_binding(const struct size_question *question, const struct size_result *result,
                        const struct size_state *best, struct text *text)
{
    size_t at, slow_at;
    size_tightest(question, &best->good, &at);
    text_add(text, "nearest its limit is ");
    add_both_values(question, best, result->has_ends ? SIZE_SLOW_SIDE : NULL, at, text);
    if (!result->has_ends) return;
    size_tightest(question, &best->slow, &slow_at);
    if (slow_at == at) return;
    text_add(text, "; on that side it is ");
    add_both_values(question, best, "there", slow_at, text);
}

static bool has_first_tokens(const struct size_question *question)
{
    bool has = false;
    for (size_t i = 0; i < question->n_objectives; i++) has |= question->objectives[i].time != SIZE_TPOT;
    return has;
}

/* "; if the model errs to its slow side, it misses ttft p99", for each end where a limit is missed */
static void add_missed(const struct size_question *question, const struct size_result *result, struct text *text)
{
    static const char *const names[] = {"slow", "fast"};
    const struct size_outcome *const ends[] = {&result->slow, &result->fast};
    for (size_t end = 0; end < 2; end++) {
        size_t n = 0;
        for (size_t i = 0; i < question->n_objectives; i++) {
            if (ends[end]->values[i] <= question->objectives[i].limit_s) continue;
            if (n++ == 0) text_printf(text, "; if the model errs to its %s side, it misses ", names[end]);
            text_printf(text, "%s%s", n > 1 ? ", " : "", question->objectives[i].name);
        }
    }
}

/* "interval: ttft p99 0.31 s to 0.62 s, tpot p99 22 ms to 41 ms, kept at both ends; by two more runs ..." */
static void add_interval(const struct size_question *question, const struct size_result *result, struct text *text)
{
    text_add(text, "interval: ");
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double values[] = {result->fast.values[i], result->slow.values[i]};
        text_printf(text, "%s%s ", i > 0 ? ", " : "", question->objectives[i].name);
        size_add_time(fmin(values[0], values[1]), text);
        text_add(text, " to ");
        size_add_time(fmax(values[0], values[1]), text);
    }
    if (result->slow.meets && result->fast.meets) text_add(text, "; kept at both ends");
    text_printf(text,
                "; by two more runs with faster and slower iterations: within their TPOT are %g %% of measured ones",
                100 * TIME_ERROR_SHARE);
    if (has_first_tokens(question)) text_add(text, "; errors of TTFT are not measured: it is what these runs have");
}

/* Why there is no interval: no measured run is like the fleet, or a run at an end failed, which a warning tells. */
static void add_no_interval(const struct size_result *result, const struct size_state *best, struct text *text)
{
    text_add(text, "interval: none, as ");
    if (!result->fast.has_run || !result->slow.has_run)
        text_add(text, "a run at one of its ends failed");
    else if (result->engine == NULL)
        text_printf(text, "the error of the cost model %s is not known", result->cost_model);
    else if (best->bound.no_error[0] != 0)
        text_add(text, best->bound.no_error);
    else
        text_add(text, "no measured run tells the error of such times");
}

/* Behind the fleet that is best as predicted: ", as predicted; if the model errs to its slow side, it misses ...", or
 * that its error is not known. */
static void add_bold(const struct size_question *question, const struct size_result *result, struct text *text)
{
    if (!result->has_sure) return;
    text_add(text, ", as predicted");
    if (result->has_ends)
        add_missed(question, result, text);
    else
        text_add(text, "; the error of its times is not known");
}

/* How much more than the best an option costs. */
static void add_excess(const struct size_state *state, const struct size_state *best, struct text *text)
{
    const double more = size_usd_per_h(state) / size_usd_per_h(best) - 1;
    text_printf(text, "$%.2f/h (%+.0f %%)", size_usd_per_h(state), 100 * more);
}

/* "to be sure: 4 x h100-sxm: 2 replicas, TP 2, $18.76/h (+100 %); if the model errs to its slow side, ttft p99 0.8 s
 * of 1 s; with pools 4 x h100-sxm at $18.76/h instead of ..." */
static void add_sure(const struct size_question *question, const struct size_result *result,
                     const struct size_state *best, struct text *text)
{
    const struct size_state *sure = &result->sure;
    text_add(text, "to be sure: ");
    if (sure->replicas == 0) {
        text_printf(text, "no fleet of at most %" PRId64 " %s is known to keep the limits at both ends of the interval",
                    question->most_gpus, size_gpus_word(question->most_gpus));
        return;
    }
    size_describe(&sure->option, sure->replicas, text);
    text_add(text, ", ");
    add_excess(sure, best, text);
    if (sure->slow.has_run) {
        text_add(text, "; " SIZE_SLOW_SIDE ", ");
        add_values(question, &sure->slow, text);
    }
    if (!question->disaggregated) return;
    text_add(text, "; ");
    size_add_sure_pools(result, text);
}

static void add_question(const struct size_question *question, struct text *text)
{
    text_printf(text, "%s, %s: ", question->llm, question->load_text);
    for (size_t i = 0; i < question->n_objectives; i++) {
        text_printf(text, "%s%s at most ", i > 0 ? ", " : "", question->objectives[i].name);
        size_add_time(question->objectives[i].limit_s, text);
    }
    if (question->sure) text_add(text, ", at both ends of the interval, too");
}

/* "price of a GPU: b200-sxm $10.01/h, derived: ...; h100-sxm $4.69/h, RunPod, ...": of all GPUs among the best. */
static void add_prices(const struct size_result *result, struct text *text)
{
    text_add(text, "price of a GPU: ");
    for (size_t i = 0; i < result->n_best; i++) {
        const struct size_gpu *gpu = result->states[result->best[i]].option.gpu;
        bool is_said = false;
        for (size_t k = 0; k < i; k++) is_said |= result->states[result->best[k]].option.gpu == gpu;
        if (!is_said)
            text_printf(text, "%s $%.2f/h, %s; ", gpu->name, gpu->usd_per_h,
                        gpu->origin != NULL ? gpu->origin : "of unknown origin");
    }
    text_add(text, "other prices (--prices) may give another answer");
}

/* Ends a line: it moves to the arena. */
static void end_line(struct text *text, enum size_topic topic, struct arena *arena, struct size_lines *lines)
{
    char *line = text->failed ? NULL : arena_strdup(arena, text->chars);
    lines->failed |= line == NULL || lines->n == SIZE_MAX_LINES;
    if (!lines->failed) {
        lines->topics[lines->n] = topic;
        lines->lines[lines->n++] = line;
    }
    text_fini(text);
    text_init(text);
}

/* "58.4 min" */
static void add_span(double seconds, struct text *text)
{
    const bool is_days = seconds >= 2 * 86400, is_hours = seconds >= 2 * 3600, is_minutes = seconds >= 120;
    text_printf(text, "%.3g %s", seconds / (is_days ? 86400 : is_hours ? 3600 : is_minutes ? 60 : 1),
                is_days ? "d" : is_hours ? "h" : is_minutes ? "min" : "s");
}

/* "load: 19366 requests in 58.4 min, 5.53/s; prompts of 1155 tokens in the mean, outputs of 211" */
static void add_load(const struct size_requests *requests, struct text *text)
{
    const double n = (double)requests->n;
    text_printf(text, "load: %zu request%s", requests->n, requests->n == 1 ? "" : "s");
    if (requests->span_s > 0) {
        text_add(text, " in ");
        add_span(requests->span_s, text);
        text_printf(text, ", %.3g/s", n / requests->span_s);
    }
    text_printf(text, "; prompts of %.0f token%s in the mean, outputs of %.0f", requests->prompt_tokens / n,
                requests->prompt_tokens == n ? "" : "s", requests->output_tokens / n);
}

/* "cost: $0.42 per million output tokens of this load, with 5.5 million prompt tokens for each". */
static void add_cost(const struct size_requests *requests, double usd_per_million, struct text *text)
{
    char number[48];
    text_printf(
        text, "cost: $%.3g per million output tokens of this load, with %s million prompt tokens for each",
        usd_per_million,
        text_show_number(round(100 * requests->prompt_tokens / requests->output_tokens) / 100, number, sizeof number));
}

static void add_trust(const struct size_result *result, struct text *text)
{
    const struct size_state *best = &result->states[result->best[0]];
    const struct size_outcome *whole = &result->whole;
    text_add(text, "how sure: ");
    if (best->good.extrapolated_frac >= 0)
        text_printf(text, "%.2g %% of the kernels' time is outside the measured range; ",
                    100 * best->good.extrapolated_frac);
    if (whole->kv_peak_frac >= 0.9)
        text_printf(text, "%.3g %% of a KV cache%s in use at most; ", 100 * whole->kv_peak_frac,
                    best->option.prefill_replicas == 0                                     ? ""
                    : whole->pool_kv_frac[SIZE_PREFILL] > whole->pool_kv_frac[SIZE_DECODE] ? " for prompts"
                                                                                           : " for decoding");
    if (whole->engine[0] != 0) text_printf(text, "%s; ", whole->engine);
    text_printf(text, "%s: ", best->option.gpu->name);
    text_add(text, result->trust);
}

/* The question, and the fleets that answer it. */
static void say_fleets(const struct size_question *question, const struct size_result *result, struct text *text,
                       struct arena *arena, struct size_lines *lines)
{
    add_question(question, text);
    end_line(text, SIZE_FLEET, arena, lines);
    if (result->n_best == 0) {
        text_printf(text, "no configuration of at most %" PRId64 " %s meets this", question->most_gpus,
                    size_gpus_word(question->most_gpus));
        if (result->n_uncertain > 0)
            text_printf(text, "; %zu cannot be sure, as the error of their times is not known", result->n_uncertain);
        end_line(text, SIZE_FLEET, arena, lines);
        return;
    }
    const struct size_state *best = &result->states[result->best[0]];
    size_describe(&best->option, best->replicas, text);
    text_printf(text, ", %s %s, $%.2f/h", result->engine != NULL ? "engine" : "cost model",
                result->engine != NULL ? result->engine : result->cost_model, size_usd_per_h(best));
    add_bold(question, result, text);
    end_line(text, SIZE_FLEET, arena, lines);
    if (result->has_sure) {
        add_sure(question, result, best, text);
        end_line(text, SIZE_FLEET, arena, lines);
    }
    add_load(&result->requests, text);
    end_line(text, SIZE_FLEET, arena, lines);
    const double usd_per_million = size_usd_per_million(&result->requests, size_usd_per_h(best));
    if (!isfinite(usd_per_million)) return;
    add_cost(&result->requests, usd_per_million, text);
    end_line(text, SIZE_FLEET, arena, lines);
}

static void say_pools(const struct size_question *question, const struct size_result *result, struct text *text,
                      struct arena *arena, struct size_lines *lines)
{
    if (!question->disaggregated) return;
    size_add_pools(question, result, text);
    end_line(text, SIZE_POOL_LINES, arena, lines);
    if (result->other == NULL) return;
    size_add_pool_values(question, result, text);
    end_line(text, SIZE_POOL_LINES, arena, lines);
}

int size_say(const struct size_question *question, const struct size_result *result, struct arena *arena,
             struct size_lines *lines)
{
    struct text text;
    text_init(&text);
    *lines = (struct size_lines){0};
    say_fleets(question, result, &text, arena, lines);
    if (result->n_best == 0) return lines->failed ? SIM_E_NOMEM : 0;
    const struct size_state *best = &result->states[result->best[0]];
    add_values(question, &best->good, &text);
    end_line(&text, SIZE_LATENCY, arena, lines);
    add_binding(question, result, best, &text);
    end_line(&text, SIZE_LATENCY, arena, lines);
    if (result->has_ends)
        add_interval(question, result, &text);
    else
        add_no_interval(result, best, &text);
    end_line(&text, SIZE_LATENCY, arena, lines);
    add_prices(result, &text);
    end_line(&text, SIZE_PRICES, arena, lines);
    say_pools(question, result, &text, arena, lines);
    size_add_limit(question, result, &text);
    end_line(&text, SIZE_LATENCY, arena, lines);
    if (result->poisson_per_s > 0) {
        text_printf(&text,
                    "arrivals: Poisson, at %.4g/s; bursts may need more GPUs: "
                    "--set services.llm.trace.arrival.process=gamma --set services.llm.trace.arrival.cv=3",
                    result->poisson_per_s);
        end_line(&text, SIZE_LATENCY, arena, lines);
    }
    add_trust(result, &text);
    end_line(&text, SIZE_TRUST, arena, lines);
    text_fini(&text);
    return lines->failed ? SIM_E_NOMEM : 0;
}
