/* orrery runs: a table of the runs in a results file. */
#include "sim/cli/answer.h"
#include "sim/cli/results/stored.h"
#include "sim/core/check.h"

#include <math.h>

enum { MAX_SHOWN_AXES = 8, N_FIXED_COLUMNS = 5 };

_Static_assert(N_FIXED_COLUMNS + 2 + STUDY_MAX_METRICS < ANSWER_MAX_COLUMNS, "all columns but the axes have room");

struct runs_options {
    struct option_texts metrics;
    int form; /* enum answer_form */
};

#define AT(name) offsetof(struct runs_options, name)
static const struct option runs_options[] = {
    {"Options", "metric", 'm', OPTION_TEXTS, AT(metrics), "NAME", NULL,
     "show this metric; may be given several times; default: those that a report shows"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print JSON, with all axes"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print CSV, with all axes"},
    {NULL, "markdown", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print a table in Markdown"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print a table of LaTeX"},
    {0}};
#undef AT

/* What the study does not hold of its runs, row by row. */
struct sizes {
    const double *requests, *jobs; /* NAN: none */
    const char *const *starts;     /* may be NULL, as a whole or where unknown */
};

static int read_sizes(struct stored *stored, struct sizes *sizes)
{
    static const char sql[] = "SELECT (SELECT value FROM metric WHERE run_id = id AND name = 'request.arrived'),\n"
                              " (SELECT value FROM metric WHERE run_id = id AND name = 'job.submitted'),\n"
                              " (SELECT started_utc FROM run_cost WHERE run_id = id) FROM run ORDER BY id";
    struct page_query query = {.sql = sql};
    struct query_answer answer;
    const int code = source_query(&stored->source, &query, "read the runs", &answer);
    if (code != 0) return code;
    *sizes = (struct sizes){answer.columns[0].numbers, answer.columns[1].numbers, answer.columns[2].texts};
    return 0;
}

static const char *level_of(const struct study *study, const struct study_run *run, size_t axis)
{
    const char *value = study->axes[axis].values[study->points[run->point].levels[axis]];
    return value[0] != 0 ? value : NULL;
}

static const char *start_of(const struct sizes *sizes, size_t i)
{
    return sizes->starts != NULL ? sizes->starts[i] : NULL;
}

/* --- For programs --- */

static void write_run(const struct study *study, const struct sizes *sizes, size_t i, struct answer *answer)
{
    const struct study_run *run = &study->runs[i];
    answer_open_row(answer, NULL, '{');
    answer_number(answer, "run", (double)run->id);
    answer_text(answer, "name", run->name);
    answer_number(answer, "seed", run->seed);
    answer_text(answer, "status", run->status);
    answer_open_row(answer, "params", '{');
    for (size_t a = 0; a < study->n_axes; a++) answer_text(answer, study->axes[a].key, level_of(study, run, a));
    answer_close(answer, '}');
    answer_number(answer, "requests", sizes->requests[i]);
    answer_number(answer, "jobs", sizes->jobs[i]);
    answer_open_row(answer, "metrics", '{');
    for (size_t k = 0; k < study->n_metrics; k++) answer_number(answer, study->metrics[k].name, run->values[k]);
    answer_close(answer, '}');
    answer_text(answer, "started_utc", start_of(sizes, i));
    answer_close(answer, '}');
}

static void write_runs(const struct study *study, const struct sizes *sizes, struct answer *answer)
{
    answer_open(answer, NULL, '[');
    for (size_t i = 0; i < study->n_runs; i++) write_run(study, sizes, i, answer);
    answer_close(answer, ']');
}

/* --- For people --- */

static bool has_any(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) return true;
    return false;
}

struct columns {
    size_t n, n_axes;
    bool has_requests, has_jobs;
    struct table_column items[ANSWER_MAX_COLUMNS];
};

static void add_column(struct columns *columns, const char *title, enum column_align align)
{
    SIM_REQUIRE(columns->n < ANSWER_MAX_COLUMNS);
    columns->items[columns->n++] = (struct table_column){.title = title, .align = align};
}

/* As many axes as the other columns, which are all shown, leave room for. */
static size_t count_axes(const struct study *study, const struct columns *columns)
{
    const size_t n_sizes = (columns->has_requests ? 1U : 0U) + (columns->has_jobs ? 1U : 0U);
    const size_t n_others = N_FIXED_COLUMNS + n_sizes + study->n_metrics;
    const size_t n_left = ANSWER_MAX_COLUMNS - n_others;
    const size_t n_most = n_left < MAX_SHOWN_AXES ? n_left : MAX_SHOWN_AXES;
    return study->n_axes < n_most ? study->n_axes : n_most;
}

static void choose_columns(const struct study *study, const struct sizes *sizes, struct columns *columns)
{
    *columns = (struct columns){.has_requests = has_any(sizes->requests, study->n_runs),
                                .has_jobs = has_any(sizes->jobs, study->n_runs)};
    columns->n_axes = count_axes(study, columns);
    add_column(columns, "run", COLUMN_RIGHT);
    add_column(columns, "name", COLUMN_LEFT);
    add_column(columns, "seed", COLUMN_RIGHT);
    add_column(columns, "status", COLUMN_LEFT);
    for (size_t a = 0; a < columns->n_axes; a++) add_column(columns, study->axes[a].name, COLUMN_LEFT);
    if (columns->has_requests) add_column(columns, "requests", COLUMN_RIGHT);
    if (columns->has_jobs) add_column(columns, "jobs", COLUMN_RIGHT);
    for (size_t k = 0; k < study->n_metrics; k++) add_column(columns, study->metrics[k].name, COLUMN_RIGHT);
    add_column(columns, "started (UTC)", COLUMN_LEFT);
}

static void show_run(const struct study *study, const struct sizes *sizes, const struct columns *columns, size_t i,
                     struct answer_table *table)
{
    const struct study_run *run = &study->runs[i];
    table_number(table, (double)run->id);
    table_text(table, run->name);
    table_number(table, run->seed);
    table_text(table, run->status);
    for (size_t a = 0; a < columns->n_axes; a++) table_text(table, level_of(study, run, a));
    if (columns->has_requests) table_number(table, sizes->requests[i]);
    if (columns->has_jobs) table_number(table, sizes->jobs[i]);
    for (size_t k = 0; k < study->n_metrics; k++) table_number(table, run->values[k]);
    table_text(table, start_of(sizes, i));
}

static void show_runs(const struct study *study, const struct sizes *sizes, struct answer *answer)
{
    struct columns columns;
    struct answer_table table;
    choose_columns(study, sizes, &columns);
    table_init(&table, columns.items, columns.n);
    for (size_t i = 0; i < study->n_runs; i++) show_run(study, sizes, &columns, i, &table);
    SIM_REQUIRE(table.failed || table.n_cells == columns.n * study->n_runs);
    answer_add(answer, NULL, NULL, &table);
    if (columns.n_axes < study->n_axes)
        answer_say(answer, "... and %zu more axes: --json has all\n", study->n_axes - columns.n_axes);
}

/* --- The verb --- */

static int read_metrics(struct cli *cli, struct stored *stored, const struct option_texts *asked, const char **names)
{
    if (asked->n > STUDY_MAX_METRICS)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "'orrery export FILE metrics_by_run' has all",
                          "more than %d metrics", STUDY_MAX_METRICS);
    for (size_t i = 0; i < asked->n; i++)
        if ((names[i] = stored_metric(cli, stored, asked->items[i])) == NULL) return SIM_E_USAGE;
    return stored_read(stored, names, asked->n);
}

static int runs(struct cli *cli, const struct cli_call *call)
{
    const struct runs_options *options = call->options;
    const char *names[STUDY_MAX_METRICS];
    struct stored stored;
    struct sizes sizes;
    struct answer answer;
    int code = stored_open(cli, call->arguments[0], &stored);
    if (code != 0) return code;
    code = read_metrics(cli, &stored, &options->metrics, names);
    if (code == 0) code = read_sizes(&stored, &sizes);
    answer_init(&answer, (enum answer_form)options->form, NULL);
    if (code == 0) (answer_is_data(answer.form) ? write_runs : show_runs)(&stored.study, &sizes, &answer);
    code = answer_end(&answer, code, cli->out, &cli->diag);
    stored_close(&stored);
    return code;
}

const struct verb verb_runs = {
    .name = "runs",
    .summary = "list the runs of a results database",
    .usage = "RESULTS [--metric NAME]...",
    .notes = "A column has the value of a run on an axis of its study. 'orrery show RESULTS:RUN' prints one run.\n",
    .options = runs_options,
    .options_bytes = sizeof(struct runs_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .results_arguments = 1,
    .run = runs,
};
