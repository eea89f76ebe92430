#include "analysis/report/report.h"

#include "analysis/report/source.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>

static const char *text_of(const struct query_column *column, size_t row)
{
    return column->texts != NULL && column->texts[row] != NULL ? column->texts[row] : "";
}

int source_query(const struct report_source *source, struct page_query *query, const char *what,
                 struct query_answer *answer)
{
    if (query->sql == NULL) return SIM_E_NOMEM;
    const int code = query_run(source->database, query->sql, NULL, 0, what, source->arena, answer, source->diag);
    query->n_rows = code == 0 ? answer->n_rows : 0;
    return code;
}

int source_each(const struct report_source *source, struct page_query *query, const char *what,
                int (*row)(void *context, sqlite3_stmt *statement), void *context)
{
    if (query->sql == NULL) return SIM_E_NOMEM;
    return query_each(source->database, query->sql, NULL, 0, what, row, context, source->diag);
}

/* Reads one run; run_id 0: the last one. Returns 0, SIM_E_STORE (no such run, too) or SIM_E_NOMEM. */
static int read_run(const struct database *database, int64_t run_id, struct arena *arena, struct report_run *run,
                    struct diag *diag)
{
    static const char sql[] =
        "SELECT id, seed, extrapolated_frac, name, version, git_commit, scenario, scenario_hash, trace_hash, policies,"
        " oracle, platform, status, result_hash FROM run WHERE id = coalesce(nullif(?, 0), (SELECT max(id) FROM run))";
    const char **const texts[] = {&run->name,          &run->version,    &run->git_commit, &run->scenario,
                                  &run->scenario_hash, &run->trace_hash, &run->policies,   &run->oracle,
                                  &run->platform,      &run->status,     &run->result_hash};
    struct query_answer answer;
    int code = query_run(database, sql, &run_id, 1, "read results", arena, &answer, diag);
    if (code != 0) return code;
    if (answer.n_rows == 0 && run_id == 0)
        return diag_error(diag, SIM_E_STORE, database->path, NULL, "it contains no run");
    if (answer.n_rows == 0)
        return diag_error(diag, SIM_E_STORE, database->path, "'orrery runs' lists the runs of a file",
                          "no run %" PRId64, run_id);
    run->id = (int64_t)answer.columns[0].numbers[0];
    run->seed = (int64_t)answer.columns[1].numbers[0];
    run->extrapolated_frac = answer.columns[2].numbers[0];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = text_of(&answer.columns[3 + i], 0);
    return 0;
}

/* Reads the metrics of a run, into the arena. */
static int read_values(const struct database *database, int64_t run_id, struct arena *arena,
                       struct report_values *values, struct diag *diag)
{
    static const char sql[] = "SELECT name, unit, value FROM metric WHERE run_id = ? ORDER BY name";
    struct query_answer answer;
    int code = query_run(database, sql, &run_id, 1, "read results", arena, &answer, diag);
    if (code != 0) return code;
    values->n = answer.n_rows;
    values->rows = arena_alloc(arena, (answer.n_rows + 1) * sizeof *values->rows);
    if (values->rows == NULL) return diag_nomem_at(diag, database->path);
    for (size_t i = 0; i < answer.n_rows; i++)
        values->rows[i] = (struct report_value){.name = text_of(&answer.columns[0], i),
                                                .unit = text_of(&answer.columns[1], i),
                                                .value = answer.columns[2].numbers[i]};
    return 0;
}

/* The first number of a query, NAN when there is none. */
static int read_number(const struct report_source *source, const char *sql, double *value)
{
    struct query_answer answer;
    int code = source_query(source, &(struct page_query){.sql = sql}, "read results", &answer);
    *value = code == 0 && answer.n_rows > 0 ? answer.columns[0].numbers[0] : (double)NAN;
    return code;
}

/* The scenario's "warmup", a text with its unit. */
static int read_warmup(struct report_source *source)
{
    struct query_answer answer;
    const char *why;
    struct page_query query = {.sql = arena_printf(source->arena,
                                                   "SELECT json_extract(scenario, '$.warmup') FROM run\n"
                                                   "WHERE id = %" PRId64 " AND json_valid(scenario)",
                                                   source->run.id)};
    int code = source_query(source, &query, "read results", &answer);
    if (code != 0 || answer.n_rows == 0 || answer.columns[0].texts == NULL || answer.columns[0].texts[0] == NULL)
        return code;
    if (unit_parse(answer.columns[0].texts[0], UNIT_TIME, &source->warmup_s, &why) != 0) source->warmup_s = 0.0;
    return 0;
}

static int add_run(struct report_source *source, size_t n_runs, struct text *html)
{
    const struct report_options *options = source->options;
    int code = read_run(source->database, options->run_id, source->arena, &source->run, source->diag);
    if (code == 0) code = read_values(source->database, source->run.id, source->arena, &source->metrics, source->diag);
    if (code == 0)
        code = intervals_read(source->database, source->run.id, source->arena, &source->intervals, source->diag);
    if (code == 0) code = read_warmup(source);
    source->end_s = source_metric(source, "sim.end_s");
    if (code == 0) code = subject_read(source, source->run.id, NULL, 0, &source->subject);
    return code == 0 ? run_page(source, n_runs, html) : code;
}

static int add_page(struct report_source *source, struct text *html)
{
    double n_runs, n_params;
    int code = read_number(source, "SELECT count(*) FROM run", &n_runs);
    if (code == 0)
        code = read_number(source, "SELECT (SELECT count(*) FROM study) + (SELECT count(*) FROM param)", &n_params);
    if (code != 0) return code;
    if (source->options->base != NULL || (source->options->run_id == 0 && n_params > 0.0))
        return study_page(source, html);
    return add_run(source, (size_t)n_runs, html);
}

int report_html(const struct report_options *options, struct text *html, struct diag *diag)
{
    struct database database;
    struct arena arena;
    int code = database_open_read(&database, options->path, diag);
    if (code != 0) return code;
    arena_init(&arena);
    struct report_source source = {.database = &database, .arena = &arena, .diag = diag, .options = options};
    code = add_page(&source, html);
    if (code == 0) page_close(html);
    if (code == 0 && html->failed) code = SIM_E_NOMEM;
    if (code == SIM_E_NOMEM && diag != NULL && diag->n_errors == 0) diag_nomem_at(diag, options->path);
    arena_fini(&arena);
    database_close(&database, false);
    return code;
}
