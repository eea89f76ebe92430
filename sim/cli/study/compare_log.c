#include "sim/cli/study/compare_log.h"

#include "analysis/query.h"
#include "sim/cli/trace/replay_times.h"
#include "sim/store/readback.h"
#include "sim/store/record.h"
#include "traces/guess.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool compare_log_is(const char *path)
{
    const struct trace_format *format;
    return trace_guess(path, TRACE_REQUESTS, NULL, &format, NULL) == 0 && engine_log_is(format->name);
}

int compare_log_refuse(const char *path, struct diag *diag)
{
    const struct trace_format *format;
    if (trace_guess(path, TRACE_BOTH, NULL, &format, NULL) != 0 || engine_log_is(format->name)) return 0;
    return diag_error(diag, SIM_E_USAGE, path,
                      "logs and results of benchmarks have them ('orrery trace replay --help')",
                      "this looks like a trace of format %s, which has no measured times", format->name);
}

/* The two sides, and the simulated times of the log's requests. */
struct comparing {
    struct cli *cli;
    const char *run, *path, *log_path;
    struct arena arena;
    struct run_record record;
    struct engine_log log;
    struct query_answer rows;
    double *measured[REPLAY_TIMES], *simulated[REPLAY_TIMES]; /* [log.n] */
    double *finish_s;
    struct replay_arrivals arrivals;
    size_t n_finished, n_absent, n_paired; /* of the log's requests */
};

enum { ID, ARRIVAL, PROMPT, OUTPUT, STATUS, QUEUE, TTFT, TPOT, E2E };

/* --- Reading --- */

static int fail(struct comparing *comparing, const char *hint, const char *problem)
{
    return diag_error(&comparing->cli->diag, SIM_E_DATA, comparing->run, hint, "%s", problem);
}

static int read_rows(struct comparing *comparing)
{
    static const char services[] = "SELECT count(DISTINCT service) AS n FROM request WHERE run_id = ?1";
    static const char sql[] =
        "SELECT id, arrival_s, prompt_tokens, output_tokens, status = 'finished', queue_s, ttft_s, "
        "tpot_s, e2e_s FROM request WHERE run_id = ?1 ORDER BY id";
    struct diag *diag = &comparing->cli->diag;
    struct query_answer found;
    struct database database;
    int code = database_open_read(&database, comparing->path, diag);
    if (code != 0) return code;
    code = query_run(&database, services, &comparing->record.id, 1, "read results", &comparing->arena, &found, diag);
    if (code == 0)
        code = query_run(&database, sql, &comparing->record.id, 1, "read results", &comparing->arena, &comparing->rows,
                         diag);
    database_close(&database, false);
    if (code == 0 && found.columns[0].numbers[0] == 0)
        code = fail(comparing, "repeat the run with --keep rows", "the run has no rows of requests");
    if (code == 0 && found.columns[0].numbers[0] > 1)
        code = fail(comparing, "'orrery trace replay LOG --scenario SCENARIO --service NAME' names one",
                    "the run has several services, but the log belongs to one");
    return code;
}

static int read_log(struct comparing *comparing)
{
    struct diag *diag = &comparing->cli->diag;
    struct arena *arena = &comparing->arena;
    const char *format;
    int code = engine_log_guess(comparing->log_path, &format, diag);
    if (code == 0) code = engine_log_read(comparing->log_path, format, 0, arena, &comparing->log, diag);
    if (code == 0) code = replay_times_take(&comparing->log, arena, comparing->measured);
    for (int time = 0; code == 0 && time < REPLAY_TIMES; time++) {
        comparing->simulated[time] = replay_times_none(arena, comparing->log.n);
        if (comparing->simulated[time] == NULL) code = SIM_E_NOMEM;
    }
    comparing->finish_s = code == 0 ? replay_times_none(arena, comparing->log.n) : NULL;
    return code == 0 && comparing->finish_s == NULL ? diag_nomem(diag) : code;
}

/* --- Pairing --- */

static double number_of(const struct comparing *comparing, int column, size_t row)
{
    return comparing->rows.columns[column].numbers[row];
}

/* A finished request has the prompt and the output of its row of the log. */
static int check_same(struct comparing *comparing, const struct log_entry *entry, size_t row)
{
    const double prompt = number_of(comparing, PROMPT, row), output = number_of(comparing, OUTPUT, row);
    if ((double)entry->prompt_tokens == prompt && (double)entry->output_tokens == output) return 0;
    return diag_error(&comparing->cli->diag, SIM_E_DATA, comparing->run, "compare a run whose trace is that file",
                      "the run did not replay %s: request %" PRId64
                      " has %.0f prompt and %.0f output tokens, there %" PRId64 " and %" PRId64,
                      comparing->log_path, entry->id, prompt, output, entry->prompt_tokens, entry->output_tokens);
}

static int take_row(struct comparing *comparing, size_t at, size_t row)
{
    const struct log_entry *entry = &comparing->log.entries[at];
    const int code = check_same(comparing, entry, row);
    comparing->n_finished++;
    comparing->simulated[REPLAY_QUEUE][at] = number_of(comparing, QUEUE, row);
    comparing->simulated[REPLAY_TTFT][at] = number_of(comparing, TTFT, row);
    comparing->simulated[REPLAY_TPOT][at] = number_of(comparing, TPOT, row);
    comparing->simulated[REPLAY_E2E][at] = number_of(comparing, E2E, row);
    comparing->finish_s[at] = number_of(comparing, ARRIVAL, row) + number_of(comparing, E2E, row);
    replay_times_note_arrival(&comparing->arrivals, number_of(comparing, ARRIVAL, row), entry);
    return code;
}

/* Both sides are in the order of their ids. Of requests that have not finished the lengths are not known. */
static int pair(struct comparing *comparing)
{
    size_t row = 0;
    int code = 0;
    replay_times_begin_arrivals(&comparing->arrivals, &comparing->log);
    for (size_t at = 0; code == 0 && at < comparing->log.n; at++) {
        const double id = (double)comparing->log.entries[at].id;
        while (row < comparing->rows.n_rows && number_of(comparing, ID, row) < id) row++;
        if (row < comparing->rows.n_rows && number_of(comparing, ID, row) == id) {
            comparing->n_paired++;
            if (number_of(comparing, STATUS, row) > 0) code = take_row(comparing, at, row);
        } else {
            comparing->n_absent++;
        }
    }
    if (code == 0 && comparing->n_finished == 0)
        code = fail(comparing, "compare a run whose trace is that file",
                    "no request of the log has finished in the run");
    return code;
}

/* --- Printing --- */

static int print(struct comparing *comparing, enum answer_form form)
{
    struct replay_times times = {.log = &comparing->log, .measured = comparing->measured,
                                 .simulated = comparing->simulated, .finish_s = comparing->finish_s,
                                 .same_arrivals = comparing->arrivals.same,
                                 .shift_s = comparing->arrivals.shift_s};
    struct answer answer;
    if (replay_times_compare(&times) != 0) return diag_nomem(&comparing->cli->diag);
    answer_init(&answer, form, "distributions");
    answer_say(&answer,
               "measured   %s: %zu requests\nsimulated  %s:%" PRId64 " (%s, seed %" PRId64 "): %zu of them finished",
               comparing->log_path, comparing->log.n, comparing->path, comparing->record.id, comparing->record.name,
               (int64_t)comparing->record.seed, comparing->n_finished);
    if (comparing->n_absent > 0) answer_say(&answer, ", %zu left out", comparing->n_absent);
    if (comparing->rows.n_rows > comparing->n_paired)
        answer_say(&answer, "; the run has %zu more", comparing->rows.n_rows - comparing->n_paired);
    answer_say(&answer, "\n");
    answer_text(&answer, "log", comparing->log_path);
    answer_text(&answer, "format", comparing->log.format);
    answer_number(&answer, "run", (double)comparing->record.id);
    answer_number(&answer, "requests", (double)comparing->log.n);
    answer_number(&answer, "finished", (double)comparing->n_finished);
    answer_number(&answer, "left_out", (double)comparing->n_absent);
    replay_times_add(&times, &answer);
    return answer_end(&answer, 0, comparing->cli->out, &comparing->cli->diag);
}

int compare_log(struct cli *cli, const char *run, const char *log, enum answer_form form)
{
    struct comparing comparing = {.cli = cli, .run = run, .log_path = log};
    int64_t run_id;
    arena_init(&comparing.arena);
    int code = results_split_name(run, &comparing.arena, &comparing.path, &run_id);
    if (code == 0) code = results_read_run(comparing.path, run_id, &comparing.arena, &comparing.record, &cli->diag);
    if (code == 0) code = read_rows(&comparing);
    if (code == 0) code = read_log(&comparing);
    if (code == 0) code = pair(&comparing);
    if (code == 0) code = print(&comparing, form);
    arena_fini(&comparing.arena);
    return code;
}
