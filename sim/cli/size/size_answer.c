/* The answer: its lines, other GPUs, and the ten cheapest fleets as a table. */
#include "sim/cli/answer.h"
#include "sim/cli/size/size.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

/* A line for every GPU that the list of --prices lacks, for programs the list "unpriced". */
static int add_unpriced(const struct size_question *question, struct answer *answer)
{
    bool failed = false;
    if (question->prices == NULL) return 0;
    answer_open(answer, "unpriced", '[');
    for (size_t i = 0; i < question->n_unpriced; i++) {
        const struct size_gpu *gpu = &question->unpriced[i];
        struct text line;
        text_init(&line);
        size_add_unpriced(question, gpu, &line);
        failed |= line.failed;
        if (!line.failed) {
            answer_say(answer, "  %s\n", line.chars);
            answer_open_row(answer, NULL, '{');
            answer_text(answer, "gpu", gpu->name);
            answer_number(answer, "usd_per_h_without_list", gpu->usd_per_h);
            answer_text(answer, "text", line.chars);
            answer_close(answer, '}');
        }
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
static const struct table_column cost_column = RIGHT("usd_per_million_output"); /* of data alone: lines are long */

/* The columns of the table, with one for each objective: "ttft p99 slow", or the key "ttft_p99_slow_s". */
struct size_columns {
    size_t n;
    struct table_column items[ANSWER_MAX_COLUMNS];
};
_Static_assert(5 + 1 + 7 + SIZE_MAX_OBJECTIVES + 2 <= ANSWER_MAX_COLUMNS, "every objective has a column");

static void add_columns(struct size_columns *columns, const struct table_column *items, size_t n)
{
    memcpy(&columns->items[columns->n], items, n * sizeof *items);
    columns->n += n;
}

static int choose_columns(const struct size_question *question, bool is_data, struct arena *arena,
                          struct size_columns *columns)
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
    if (is_data) add_columns(columns, &cost_column, 1);
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
        if (size_is_saturated(question, state)) text_add(&text, "*");
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

/* A line below the table for each row with an asterisk, for programs the list "saturated". */
static int add_saturated(const struct size_question *question, const struct size_result *result, struct answer *answer)
{
    bool failed = false;
    answer_open(answer, "saturated", '[');
    for (size_t i = 0; i < result->n_best; i++) {
        const struct size_state *state = &result->states[result->best[i]];
        struct text line;
        if (!size_is_saturated(question, state)) continue;
        text_init(&line);
        size_add_saturation(state, &line);
        failed |= line.failed;
        if (!line.failed) {
            answer_say(answer, "* row %zu is saturated " SIZE_SLOW_SIDE ", over %d times a limit: %s\n", i + 1,
                       SIZE_SATURATED_TIMES, line.chars);
            answer_open_row(answer, NULL, '{');
            answer_number(answer, "row", (double)(i + 1));
            answer_text(answer, "text", line.chars);
            answer_close(answer, '}');
        }
        text_fini(&line);
    }
    answer_close(answer, ']');
    return failed ? SIM_E_NOMEM : 0;
}

static void write_cost(const struct size_result *result, struct answer *answer)
{
    if (result->n_best > 0)
        answer_number(answer, "usd_per_million_output",
                      size_usd_per_million(&result->requests, size_usd_per_h(&result->states[result->best[0]])));
}

static void write_objectives(const struct size_question *question, const struct size_result *result,
                             struct answer *answer)
{
    answer_open(answer, "objectives", '[');
    for (size_t i = 0; i < question->n_objectives; i++) {
        answer_open_row(answer, NULL, '{');
        answer_text(answer, "name", question->objectives[i].name);
        answer_number(answer, "limit_s", question->objectives[i].limit_s);
        if (result->has_ends) {
            answer_number(answer, "low_s", fmin(result->fast.values[i], result->slow.values[i]));
            answer_number(answer, "high_s", fmax(result->fast.values[i], result->slow.values[i]));
        }
        answer_close(answer, '}');
    }
    answer_close(answer, ']');
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
    answer_number(&answer, "prompt_tokens_mean", result->requests.prompt_tokens / (double)result->requests.n);
    answer_number(&answer, "output_tokens_mean", result->requests.output_tokens / (double)result->requests.n);
    write_cost(result, &answer);
    write_objectives(question, result, &answer);
    write_prices(question, &answer);
    if (code == 0) code = size_write_fields(question, result, arena, &answer);
    if (code == 0) code = add_others(question, result, &answer);
    if (code == 0) code = add_unpriced(question, &answer);
    if (code == 0) code = choose_columns(question, answer_is_data((enum answer_form)form), arena, &columns);
    table_init(&table, columns.items, columns.n);
    for (size_t i = 0; code == 0 && i < result->n_best; i++) {
        const struct size_state *state = &result->states[result->best[i]];
        add_row(question, state, &table);
        if (answer_is_data(answer.form))
            table_number(&table, size_usd_per_million(&result->requests, size_usd_per_h(state)));
    }
    answer_add(&answer, "best", NULL, &table);
    if (result->has_ends)
        answer_say(&answer,
                   "\nslow: the value " SIZE_SLOW_SIDE ", within which %g %% of measured TPOT are; slow_end: "
                   "whether all limits are kept then\n",
                   100 * TIME_ERROR_SHARE);
    if (code == 0) code = add_saturated(question, result, &answer);
    answer_say(&answer, "\n%" PRId64 " of the %" PRId64 " runs of a sweep", result->n_runs, result->n_sweep);
    if (result->n_simulations != result->n_runs)
        answer_say(&answer, " (%" PRId64 " simulations with those at the ends of the interval%s)",
                   result->n_simulations, result->has_sure ? " and for the fleet to be sure" : "");
    answer_say(&answer, "; of %zu configurations %zu cannot hold %s, and closed forms rule out %zu", result->n,
               result->n_unfit, question->llm, result->n_ruled_out);
    if (result->n_uncertain > 0) answer_say(&answer, "; %zu have no known error", result->n_uncertain);
    answer_say(&answer, "\n");
    if (code == 0) code = size_warnings_add(&result->warnings, &answer);
    answer_number(&answer, "runs", (double)result->n_runs);
    answer_number(&answer, "simulations", (double)result->n_simulations);
    answer_number(&answer, "sweep_runs", (double)result->n_sweep);
    answer_number(&answer, "configurations", (double)result->n);
    answer_number(&answer, "unfit", (double)result->n_unfit);
    answer_number(&answer, "ruled_out", (double)result->n_ruled_out);
    if (question->sure) answer_number(&answer, "uncertain", (double)result->n_uncertain);
    return answer_end(&answer, code, out, diag);
}
