/* The answer: the cheapest fleet in a few lines, and the ten cheapest as a table. */
#include "sim/cli/answer.h"
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

/* "ttft p99 0.44 s of 1 s, tpot p99 31 ms of 50 ms" */
static void add_values(const struct size_question *question, const struct size_outcome *outcome, struct text *text)
{
    for (size_t i = 0; i < question->n_objectives; i++) {
        text_printf(text, "%s%s ", i > 0 ? ", " : "", question->objectives[i].name);
        size_add_time(outcome->values[i], text);
        text_add(text, " of ");
        size_add_time(question->objectives[i].limit_s, text);
    }
}

static bool has_first_tokens(const struct size_question *question)
{
    bool has = false;
    for (size_t i = 0; i < question->n_objectives; i++) has |= question->objectives[i].time != SIZE_TPOT;
    return has;
}

/* "; missed at the slow end: ttft p99", for each end where a limit is missed */
static void add_missed(const struct size_question *question, const struct size_result *result, struct text *text)
{
    static const char *const names[] = {"slow", "fast"};
    const struct size_outcome *const ends[] = {&result->slow, &result->fast};
    for (size_t end = 0; end < 2; end++) {
        size_t n = 0;
        for (size_t i = 0; i < question->n_objectives; i++) {
            if (ends[end]->values[i] <= question->objectives[i].limit_s) continue;
            if (n++ == 0) text_printf(text, "; missed at the %s end: ", names[end]);
            text_printf(text, "%s%s", n > 1 ? ", " : "", question->objectives[i].name);
        }
    }
}

/* "ttft p99 0.31 to 0.62 s, tpot p99 22 to 41 ms; missed at the slow end: ttft p99" */
static void add_interval(const struct size_question *question, const struct size_result *result, struct text *text)
{
    text_printf(text, "interval by the error of the times, %g %% of measured TPOT: ", 100 * TIME_ERROR_SHARE);
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double values[] = {result->fast.values[i], result->slow.values[i]};
        text_printf(text, "%s%s ", i > 0 ? ", " : "", question->objectives[i].name);
        size_add_time(fmin(values[0], values[1]), text);
        text_add(text, " to ");
        size_add_time(fmax(values[0], values[1]), text);
    }
    if (result->slow.meets && result->fast.meets) text_add(text, "; kept at both ends");
    add_missed(question, result, text);
    if (has_first_tokens(question)) text_add(text, "; errors of TTFT are not measured");
}

/* Why there is no interval: no measured run is like the fleet, or a run at an end failed, which a warning tells. */
static void add_no_interval(const struct size_result *result, const struct size_state *best, struct text *text)
{
    text_add(text, "interval: none, as ");
    if (!result->fast.has_run || !result->slow.has_run)
        text_add(text, "a run at one of its ends failed");
    else if (result->engine == NULL)
        text_printf(text, "the error of the cost model %s is not known", result->cost_model);
    else if (best->option.groups > 1)
        text_add(text, "no measured run has attention in groups (DP)");
    else
        text_add(text, "no measured run tells the error of such times");
}

/* Behind the fleet that is best as predicted: ", as predicted; missed at the slow end: ttft p99". */
static void add_bold(const struct size_question *question, const struct size_result *result, struct text *text)
{
    if (!result->has_sure) return;
    text_add(text, ", as predicted");
    add_missed(question, result, text);
}

/* How much more than the best an option costs. */
static void add_excess(const struct size_state *state, const struct size_state *best, struct text *text)
{
    const double more = size_usd_per_h(state) / size_usd_per_h(best) - 1;
    text_printf(text, "$%.2f/h (%+.0f %%)", size_usd_per_h(state), 100 * more);
}

/* "to be sure: 4 x h100-sxm: 2 replicas, TP 2, $18.76/h (+100 %); at the slow end ttft p99 0.8 s of 1 s" */
static void add_sure(const struct size_question *question, const struct size_result *result,
                     const struct size_state *best, struct text *text)
{
    const struct size_state *sure = &result->sure;
    text_add(text, "to be sure: ");
    if (sure->replicas == 0) {
        text_printf(text, "no fleet of at most %" PRId64 " %s keeps the limits at both ends of the interval",
                    question->most_gpus, size_gpus_word(question->most_gpus));
        return;
    }
    size_describe(&sure->option, sure->replicas, text);
    text_add(text, ", ");
    add_excess(sure, best, text);
    if (!sure->slow.has_run) return;
    text_add(text, "; at the slow end ");
    add_values(question, &sure->slow, text);
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

/* The fleet of the other kind: "with pools: 2 x h100-sxm: ..., $9.38/h (+100 %)". */
static void add_pools(const struct size_result *result, const struct size_state *best, struct text *text)
{
    const bool has_pools = best->option.prefill_replicas > 0;
    const struct size_state *other = result->other;
    text_add(text, has_pools ? "without pools: " : "with pools: ");
    if (other == NULL && !has_pools && !best->option.batching->resumes_remote) {
        text_printf(text, "not tried with %s", best->option.batching->policy);
        return;
    }
    if (other == NULL) {
        text_add(text, "nothing as cheap was found");
        return;
    }
    size_describe(&other->option, other->replicas, text);
    text_add(text, ", ");
    add_excess(other, best, text);
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

/* The latencies of that fleet, then those of the best one, which the line names: "with pools ttft p99 137 ms (120 ms to
 * 180 ms) instead of 140 ms (...); compared with the best, without pools: 1 x h100-sxm: ...". */
static void add_pool_values(const struct size_question *question, const struct size_result *result,
                            const struct size_state *best, struct text *text)
{
    const bool has_pools = best->option.prefill_replicas > 0;
    const struct size_state *other = result->other;
    text_printf(text, "%s pools ", has_pools ? "without" : "with");
    for (size_t i = 0; i < question->n_objectives; i++) {
        text_printf(text, "%s%s ", i > 0 ? ", " : "", question->objectives[i].name);
        add_range(i, &other->good, &result->other_fast, &result->other_slow, text);
        text_add(text, " instead of ");
        add_range(i, &best->good, &result->fast, &result->slow, text);
    }
    if (size_usd_per_h(other) == size_usd_per_h(best) && result->has_ends)
        text_add(text, "; at equal price the nearer to its limits at the slow end comes first");
    text_printf(text, "; compared with the best, %s pools: ", has_pools ? "with" : "without");
    size_describe(&best->option, best->replicas, text);
}

const struct size_state *size_find_next(const struct size_result *result)
{
    const struct size_state *best = &result->states[result->best[0]];
    const struct size_option *a = &best->option;
    for (size_t i = 1; i < result->n_best; i++) {
        const struct size_state *state = &result->states[result->best[i]];
        const struct size_option *b = &state->option;
        if (a->gpu != b->gpu || a->tensor_parallel != b->tensor_parallel || a->groups != b->groups ||
            a->pipeline_parallel != b->pipeline_parallel || a->prefill_replicas != b->prefill_replicas ||
            best->replicas != state->replicas)
            return state;
    }
    return NULL;
}

/* "next best: 8 x h100-sxm: ..., $37.52/h (+25 %)" */
static void add_next(const struct size_result *result, struct text *text)
{
    const struct size_state *best = &result->states[result->best[0]], *next = size_find_next(result);
    text_add(text, "next best: ");
    if (next == NULL) {
        text_printf(text, "the %zu cheapest differ in their batching alone", result->n_best);
        return;
    }
    size_describe(&next->option, next->replicas, text);
    text_add(text, ", ");
    add_excess(next, best, text);
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
static void end_line(struct text *text, struct arena *arena, struct size_lines *lines)
{
    char *line = text->failed ? NULL : arena_strdup(arena, text->chars);
    lines->failed |= line == NULL || lines->n == SIZE_MAX_LINES;
    if (!lines->failed) lines->lines[lines->n++] = line;
    text_fini(text);
    text_init(text);
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

int size_say(const struct size_question *question, const struct size_result *result, struct arena *arena,
             struct size_lines *lines)
{
    struct text text;
    text_init(&text);
    *lines = (struct size_lines){0};
    add_question(question, &text);
    end_line(&text, arena, lines);
    if (result->n_best == 0) {
        text_printf(&text, "no configuration of at most %" PRId64 " %s meets this", question->most_gpus,
                    size_gpus_word(question->most_gpus));
        end_line(&text, arena, lines);
        return lines->failed ? SIM_E_NOMEM : 0;
    }
    const struct size_state *best = &result->states[result->best[0]];
    size_describe(&best->option, best->replicas, &text);
    text_printf(&text, ", %s %s, $%.2f/h", result->engine != NULL ? "engine" : "cost model",
                result->engine != NULL ? result->engine : result->cost_model, size_usd_per_h(best));
    add_bold(question, result, &text);
    end_line(&text, arena, lines);
    if (result->has_sure) {
        add_sure(question, result, best, &text);
        end_line(&text, arena, lines);
    }
    add_values(question, &best->good, &text);
    end_line(&text, arena, lines);
    if (result->has_ends)
        add_interval(question, result, &text);
    else
        add_no_interval(result, best, &text);
    end_line(&text, arena, lines);
    add_prices(result, &text);
    end_line(&text, arena, lines);
    if (result->n_best > 1) {
        add_next(result, &text);
        end_line(&text, arena, lines);
    }
    if (question->disaggregated) {
        add_pools(result, best, &text);
        end_line(&text, arena, lines);
        if (result->other != NULL) {
            add_pool_values(question, result, best, &text);
            end_line(&text, arena, lines);
        }
    }
    size_add_limit(question, result, &text);
    end_line(&text, arena, lines);
    if (result->poisson_per_s > 0) {
        text_printf(&text,
                    "arrivals: Poisson, at %.4g/s; bursts may need more GPUs: "
                    "--set services.llm.trace.arrival.process=gamma --set services.llm.trace.arrival.cv=3",
                    result->poisson_per_s);
        end_line(&text, arena, lines);
    }
    add_trust(result, &text);
    end_line(&text, arena, lines);
    return lines->failed ? SIM_E_NOMEM : 0;
}

/* The lines for people: the question, the best, and more about it. */
static int say_best(const struct size_question *question, const struct size_result *result, struct arena *arena,
                    struct answer *answer)
{
    struct size_lines lines;
    const int code = size_say(question, result, arena, &lines);
    for (size_t i = 0; code == 0 && i < lines.n; i++) answer_say(answer, "%s%s\n", i < 2 ? "" : "  ", lines.lines[i]);
    return code;
}

/* A line for every other GPU, for people below the best fleet, for programs the list "others". */
static int add_others(const struct size_question *question, const struct size_result *result, struct answer *answer)
{
    bool failed = false;
    answer_open(answer, "others", '[');
    for (size_t i = 0; i < question->n_gpus; i++) {
        struct text line;
        text_init(&line);
        if (size_add_other(question, result, &question->gpus[i], &line) && !line.failed) {
            answer_say(answer, "  %s\n", line.chars);
            double open_usd_per_h;
            const struct size_state *found = size_find_other(question, result, &question->gpus[i], &open_usd_per_h);
            if (found != NULL) {
                size_open_fleet(NULL, question, found, answer);
            } else {
                answer_open_row(answer, NULL, '{');
                answer_text(answer, "gpu", question->gpus[i].name);
                answer_number(answer, "at_least_usd_per_h", open_usd_per_h);
            }
            answer_text(answer, "text", line.chars);
            answer_close(answer, '}');
        }
        failed |= line.failed;
        text_fini(&line);
    }
    answer_close(answer, ']');
    return failed ? SIM_E_NOMEM : 0;
}

static void write_prices(const struct size_question *question, struct answer *answer)
{
    answer_open(answer, "prices", '[');
    for (size_t i = 0; i < question->n_gpus; i++) {
        answer_open_row(answer, NULL, '{');
        answer_text(answer, "gpu", question->gpus[i].name);
        answer_number(answer, "usd_per_h", question->gpus[i].usd_per_h);
        if (question->gpus[i].origin != NULL) answer_text(answer, "origin", question->gpus[i].origin);
        answer_close(answer, '}');
    }
    answer_close(answer, ']');
}

#define FIRST_COLUMNS RIGHT("usd_per_h"), RIGHT("gpus"), LEFT("gpu"), RIGHT("tp"), RIGHT("pp")
#define LAST_COLUMNS                                                                                                   \
    RIGHT("replicas"), RIGHT("prefill"), LEFT("batching"), RIGHT("token_budget"), LEFT("tightest"),                    \
        RIGHT("of_limit_frac"), LEFT("slow_end"), RIGHT("outside_frac")

static const struct table_column columns[] = {FIRST_COLUMNS, LAST_COLUMNS};
static const struct table_column columns_of_groups[] = {FIRST_COLUMNS, RIGHT("dp"), LAST_COLUMNS};

const char *size_end_word(enum size_end end)
{
    return end == SIZE_END_KEPT ? "kept" : end == SIZE_END_MISSED ? "missed" : NULL;
}

static void add_row(const struct size_question *question, const struct size_state *state, struct answer_table *table)
{
    const struct size_option *option = &state->option;
    size_t tightest;
    const double most = size_tightest(question, state, &tightest);
    table_number(table, round(size_usd_per_h(state) * 1e4) / 1e4);
    table_number(table, (double)(state->replicas * size_replica_gpus(option)));
    table_text(table, option->gpu->name);
    table_number(table, (double)option->tensor_parallel);
    table_number(table, (double)option->pipeline_parallel);
    if (question->has_experts) table_number(table, (double)option->groups);
    table_number(table, (double)state->replicas);
    if (option->prefill_replicas > 0)
        table_number(table, (double)option->prefill_replicas);
    else
        table_undefined(table);
    table_text(table, option->batching->policy);
    if (option->batching->token_budget > 0)
        table_number(table, (double)size_token_budget(option));
    else
        table_undefined(table);
    table_text(table, question->objectives[tightest].name);
    table_number(table, round(most * 1000) / 1000);
    table_text(table, size_end_word(state->slow_end));
    table_number(table, state->good.extrapolated_frac);
}

double size_tightest(const struct size_question *question, const struct size_state *state, size_t *at)
{
    double most = -1;
    *at = 0;
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double part = state->good.values[i] / question->objectives[i].limit_s;
        if (part > most) *at = i, most = part;
    }
    return most;
}

int size_answer(const struct size_question *question, const struct size_result *result, int form, struct arena *arena,
                FILE *out, struct diag *diag)
{
    struct answer answer;
    struct answer_table table;
    answer_init(&answer, (enum answer_form)form, "best");
    int code = say_best(question, result, arena, &answer);
    answer_text(&answer, "llm", question->llm);
    answer_text(&answer, "load", question->load_text);
    answer_text(&answer, "cost_model", result->cost_model);
    if (result->engine != NULL) answer_text(&answer, "engine", result->engine);
    answer_number(&answer, "requests", (double)result->requests.n);
    answer_number(&answer, "span_s", result->requests.span_s);
    answer_open(&answer, "objectives", '[');
    for (size_t i = 0; i < question->n_objectives; i++) {
        answer_open_row(&answer, NULL, '{');
        answer_text(&answer, "name", question->objectives[i].name);
        answer_number(&answer, "limit_s", question->objectives[i].limit_s);
        if (result->has_ends) {
            answer_number(&answer, "low_s", fmin(result->fast.values[i], result->slow.values[i]));
            answer_number(&answer, "high_s", fmax(result->fast.values[i], result->slow.values[i]));
        }
        answer_close(&answer, '}');
    }
    answer_close(&answer, ']');
    write_prices(question, &answer);
    if (code == 0) code = size_write_fields(question, result, arena, &answer);
    if (code == 0) code = add_others(question, result, &answer);
    if (question->has_experts)
        TABLE_INIT(&table, columns_of_groups);
    else
        TABLE_INIT(&table, columns);
    for (size_t i = 0; i < result->n_best; i++) add_row(question, &result->states[result->best[i]], &table);
    answer_add(&answer, "best", NULL, &table);
    answer_say(&answer, "\n%" PRId64 " of the %" PRId64 " runs of a sweep", result->n_runs, result->n_sweep);
    if (result->n_simulations != result->n_runs)
        answer_say(&answer, " (%" PRId64 " simulations with those at the ends of the interval%s)",
                   result->n_simulations, result->has_sure ? " and for the fleet to be sure" : "");
    answer_say(&answer, "; of %zu configurations %zu cannot hold %s, and closed forms rule out %zu\n", result->n,
               result->n_unfit, question->llm, result->n_ruled_out);
    answer_number(&answer, "runs", (double)result->n_runs);
    answer_number(&answer, "simulations", (double)result->n_simulations);
    answer_number(&answer, "sweep_runs", (double)result->n_sweep);
    answer_number(&answer, "configurations", (double)result->n);
    answer_number(&answer, "unfit", (double)result->n_unfit);
    answer_number(&answer, "ruled_out", (double)result->n_ruled_out);
    return answer_end(&answer, code, out, diag);
}
