/* orrery show: the summary of a stored run, as 'orrery run' printed it. */
#include "analysis/intervals.h"
#include "analysis/query.h"
#include "analysis/report/subject.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/run/summary.h"
#include "sim/core/units.h"
#include "sim/store/readback.h"

#include <stddef.h>

struct show_options {
    bool verbose;
    int form; /* enum answer_form */
};

#define AT(name) offsetof(struct show_options, name)
static const struct option show_options[] = {
    {"Options", "verbose", 'v', OPTION_FLAG, AT(verbose), NULL, NULL, "all metrics, not the most important"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the metrics as CSV, warnings on standard error"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print tables of LaTeX"},
    {0}};
#undef AT

static int read_metrics(const struct database *database, int64_t run_id, struct arena *arena, const struct sink *sink,
                        struct diag *diag)
{
    struct query_answer answer;
    int code = query_run(database, "SELECT name, unit, value FROM metric WHERE run_id = ? ORDER BY name", &run_id, 1,
                         "read the metrics", arena, &answer, diag);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        const struct metric_row row = {.name = query_text(&answer, 0, i), .unit = query_text(&answer, 1, i),
                                       .value = answer.columns[2].numbers[i]};
        code = sink->metric(sink->context, &row);
    }
    return code;
}

static int read_warnings(const struct database *database, int64_t run_id, struct arena *arena, const struct sink *sink,
                         struct diag *diag)
{
    struct query_answer answer;
    int code = query_run(database, "SELECT code, text, count, t_s FROM warning WHERE run_id = ? ORDER BY rowid",
                         &run_id, 1, "read the warnings", arena, &answer, diag);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        const struct warning_row row = {.t_s = answer.columns[3].numbers[i], .code = query_text(&answer, 0, i),
                                        .text = query_text(&answer, 1, i),
                                        .count = (int64_t)answer.columns[2].numbers[i]};
        code = sink->warning(sink->context, &row);
    }
    return code;
}

/* The waits of requests, from which the summary tells a load that is too high. A run without rows has none. */
static int read_requests(const struct database *database, int64_t run_id, struct arena *arena, const struct sink *sink,
                         struct diag *diag)
{
    struct query_answer answer;
    int code = query_run(database,
                         "SELECT service, status, arrival_s, queue_s FROM request WHERE run_id = ? ORDER BY rowid",
                         &run_id, 1, "read the requests", arena, &answer, diag);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        const struct request_row row = {.service = query_text(&answer, 0, i), .status = query_text(&answer, 1, i),
                                        .arrival_s = answer.columns[2].numbers[i],
                                        .queue_s = answer.columns[3].numbers[i]};
        code = sink->request(sink->context, &row);
    }
    return code;
}

static int read_jobs(const struct database *database, int64_t run_id, struct arena *arena, const struct sink *sink,
                     struct diag *diag)
{
    struct query_answer answer;
    int code = query_run(database, "SELECT status, submit_s, start_s FROM job WHERE run_id = ? ORDER BY rowid", &run_id,
                         1, "read the jobs", arena, &answer, diag);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        const struct job_row row = {.status = query_text(&answer, 0, i), .submit_s = answer.columns[1].numbers[i],
                                    .start_s = answer.columns[2].numbers[i]};
        code = sink->job(sink->context, &row);
    }
    return code;
}

static int read_warmup(const struct database *database, int64_t run_id, struct arena *arena, double *warmup_s,
                       struct diag *diag)
{
    struct query_answer answer;
    const char *why;
    *warmup_s = 0;
    int code = query_run(database, "SELECT json_extract(scenario, '$.warmup') AS warmup FROM run WHERE id = ?", &run_id,
                         1, "read the scenario", arena, &answer, diag);
    if (code == 0 && answer.n_rows == 1 && answer.columns[0].texts != NULL && answer.columns[0].texts[0] != NULL &&
        unit_parse(answer.columns[0].texts[0], UNIT_TIME, warmup_s, &why) != 0)
        *warmup_s = 0;
    return code;
}

/* Fills the summary with the stored rows of a run. */
static int read_summary(struct cli *cli, const char *path, int64_t run_id, struct arena *arena, struct summary *summary,
                        double *warmup_s)
{
    struct database database;
    struct diag *diag = &cli->diag;
    const struct sink sink = summary_sink(summary, true);
    int code = database_open_read(&database, path, diag);
    if (code != 0) return code;
    code = read_metrics(&database, run_id, arena, &sink, diag);
    if (code == 0) code = read_warnings(&database, run_id, arena, &sink, diag);
    if (code == 0) code = read_requests(&database, run_id, arena, &sink, diag);
    if (code == 0) code = read_jobs(&database, run_id, arena, &sink, diag);
    if (code == 0) code = intervals_read(&database, run_id, &summary->arena, &summary->intervals, diag);
    if (code == 0) code = read_warmup(&database, run_id, arena, warmup_s, diag);
    database_close(&database, false);
    return code;
}

static int print_run(struct cli *cli, const char *path, const struct run_record *run, struct arena *arena,
                     const struct show_options *options)
{
    struct subject subject;
    struct summary summary;
    struct summary_run head = {.subject = &subject, .version = run->version, .scenario = run->name, .seed = run->seed,
                               .status = run->status, .oracle = run->oracle, .result_hash = run->result_hash,
                               .is_verbose = options->verbose};
    summary_init(&summary);
    int code = subject_of(run->scenario, NULL, 0, arena, &subject, &cli->diag);
    if (code == 0) code = read_summary(cli, path, run->id, arena, &summary, &head.warmup_s);
    if (code == 0)
        code = summary_print(&summary, &head, (enum answer_form)options->form, cli->out, cli->err, &cli->diag);
    summary_fini(&summary);
    return code;
}

static int show(struct cli *cli, const struct cli_call *call)
{
    const struct show_options *options = call->options;
    struct arena arena;
    struct run_record run;
    const char *path;
    int64_t run_id;
    arena_init(&arena);
    int code = results_split_name(call->arguments[0], &arena, &path, &run_id);
    if (code == 0) code = results_read_run(path, run_id, &arena, &run, &cli->diag);
    if (code == 0) code = results_check_run(path, &run, &cli->diag);
    if (code == 0) code = print_run(cli, path, &run, &arena, options);
    arena_fini(&arena);
    return code;
}

const struct verb verb_show = {
    .name = "show",
    .summary = "print the summary of a stored run again",
    .usage = "RESULTS[:RUN]",
    .notes = "Without ':RUN' it is the last run. 'orrery runs RESULTS' lists the runs.\n",
    .options = show_options,
    .options_bytes = sizeof(struct show_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .results_arguments = 1,
    .run = show,
};
