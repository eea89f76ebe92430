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

/* "ttft p99 0.31 to 0.62 s, tpot p99 22 to 41 ms; kept at both ends" */
static void add_interval(const struct size_question *question, const struct size_result *result, struct text *text)
{
    text_printf(text, "interval by the model's error, %g %% of measured TPOT: ", 100 * TIME_ERROR_SHARE);
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double values[] = {result->fast.values[i], result->slow.values[i]};
        text_printf(text, "%s%s ", i > 0 ? ", " : "", question->objectives[i].name);
        size_add_time(fmin(values[0], values[1]), text);
        text_add(text, " to ");
        size_add_time(fmax(values[0], values[1]), text);
    }
    if (result->slow.meets && result->fast.meets) text_add(text, "; kept at both ends");
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

/* Behind the fleet that is best as predicted: ", as predicted; if the model errs to its slow side, it misses ...". */
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

/* "to be sure: 4 x h100-sxm: 2 replicas, TP 2, $18.76/h (+100 %); if the model errs to its slow side, ttft p99 0.8 s
 * of 1 s; with pools 4 x h100-sxm at $18.76/h instead of ..." */
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
    add_binding(question, result, best, &text);
    end_line(&text, arena, lines);
    if (result->has_ends)
        add_interval(question, result, &text);
    else
        add_no_interval(result, best, &text);
    end_line(&text, arena, lines);
    add_prices(result, &text);
    end_line(&text, arena, lines);
    if (question->disaggregated) {
        size_add_pools(question, result, &text);
        end_line(&text, arena, lines);
        if (result->other != NULL) {
            size_add_pool_values(question, result, &text);
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
    const struct size_gpu *gpus[SIZE_MAX_GPUS];
    const size_t n = size_order_others(question, result, gpus);
    bool failed = false;
    answer_open(answer, "others", '[');
    for (size_t i = 0; i < n; i++) {
        struct text line;
        text_init(&line);
        size_add_other(question, result, gpus[i], &line);
        if (!line.failed) {
            answer_say(answer, "  %s\n", line.chars);
            double open_usd_per_h;
            const struct size_state *found = size_find_other(question, result, gpus[i], &open_usd_per_h);
            if (found != NULL) {
                size_open_fleet(NULL, question, found, answer);
            } else {
                answer_open_row(answer, NULL, '{');
                answer_text(answer, "gpu", gpus[i]->name);
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

static const struct table_column first_columns[] = {RIGHT("usd_per_h"), RIGHT("gpus"), LEFT("gpu"), RIGHT("tp"),
                                                    RIGHT("pp")};
static const struct table_column dp_column = RIGHT("dp");
static const struct table_column middle_columns[] = {RIGHT("replicas"),     RIGHT("prefill"), LEFT("batching"),
                                                     RIGHT("token_budget"), LEFT("tightest"), RIGHT("of_limit_frac"),
                                                     LEFT("slow_end")};
static const struct table_column last_column = RIGHT("outside_frac");

/* The columns of the table, with one for each objective: "ttft p99 slow", or the key "ttft_p99_slow_s". */
struct size_columns {
    size_t n;
    struct table_column items[ANSWER_MAX_COLUMNS];
};
_Static_assert(5 + 1 + 7 + SIZE_MAX_OBJECTIVES + 1 <= ANSWER_MAX_COLUMNS, "every objective has a column");

static void add_columns(struct size_columns *columns, const struct table_column *items, size_t n)
{
    memcpy(&columns->items[columns->n], items, n * sizeof *items);
    columns->n += n;
}

static int choose_columns(const struct size_question *question, struct arena *arena, struct size_columns *columns)
{
    columns->n = 0;
    add_columns(columns, first_columns, sizeof first_columns / sizeof *first_columns);
    if (question->has_experts) add_columns(columns, &dp_column, 1);
    add_columns(columns, middle_columns, sizeof middle_columns / sizeof *middle_columns);
    for (size_t i = 0; i < question->n_objectives; i++) {
        const char *name = question->objectives[i].name;
        char *key = arena_printf(arena, "%s_slow_s", name);
        const char *title = arena_printf(arena, "%s slow", name);
        if (key == NULL || title == NULL) return SIM_E_NOMEM;
        for (char *at = key; (at = strpbrk(at, ": ")) != NULL;) *at = '_';
        add_columns(columns, &(struct table_column){title, key, COLUMN_RIGHT}, 1);
    }
    add_columns(columns, &last_column, 1);
    return 0;
}

/* The values at the slow end, if the error of the times is known. */
static void add_slow_values(const struct size_question *question, const struct size_state *state,
                            struct answer_table *table)
{
    for (size_t i = 0; i < question->n_objectives; i++) {
        struct text text;
        if (state->slow_end == SIZE_END_UNKNOWN) {
            table_undefined(table);
            continue;
        }
        text_init(&text);
        size_add_time(state->slow.values[i], &text);
        if (text.failed)
            table->failed = true;
        else
            table_shown(table, state->slow.values[i], text.chars);
        text_fini(&text);
    }
}

const char *size_end_word(enum size_end end)
{
    return end == SIZE_END_KEPT ? "kept" : end == SIZE_END_MISSED ? "missed" : NULL;
}

static void add_row(const struct size_question *question, const struct size_state *state, struct answer_table *table)
{
    const struct size_option *option = &state->option;
    size_t tightest;
    const double most = size_tightest(question, &state->good, &tightest);
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
    add_slow_values(question, state, table);
    table_number(table, state->good.extrapolated_frac);
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

int size_answer(const struct size_question *question, const struct size_result *result, int form, struct arena *arena,
                FILE *out, struct diag *diag)
{
    struct answer answer;
    struct answer_table table;
    struct size_columns columns = {0};
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
    if (code == 0) code = choose_columns(question, arena, &columns);
    table_init(&table, columns.items, columns.n);
    for (size_t i = 0; code == 0 && i < result->n_best; i++)
        add_row(question, &result->states[result->best[i]], &table);
    answer_add(&answer, "best", NULL, &table);
    if (result->has_ends)
        answer_say(&answer,
                   "\nslow: the value " SIZE_SLOW_SIDE ", within which %g %% of measured TPOT are; slow_end: "
                   "whether all limits are kept then\n",
                   100 * TIME_ERROR_SHARE);
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
