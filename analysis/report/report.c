#include "analysis/report/report.h"

#include "analysis/query.h"
#include "analysis/report/page.h"
#include "analysis/report/run_page.h"
#include "analysis/report/source.h"
#include "analysis/report/study_page.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>

/* The first number of a query, NAN when there is none. */
static int read_number(const struct report_source *source, const char *sql, double *value)
{
    struct query_answer answer;
    int code = sql != NULL
                   ? query_run(source->database, sql, NULL, 0, "read results", source->arena, &answer, source->diag)
                   : SIM_E_NOMEM;
    *value = code == 0 && answer.n_rows > 0 ? answer.columns[0].numbers[0] : (double)NAN;
    return code;
}

/* The scenario's "warmup", which stands there as a text with its unit. */
static int read_warmup(struct report_source *source)
{
    struct query_answer answer;
    const char *why;
    const char *sql = arena_printf(source->arena,
                                   "SELECT json_extract(scenario, '$.warmup') FROM run\n"
                                   "WHERE id = %" PRId64 " AND json_valid(scenario)",
                                   source->run.id);
    if (sql == NULL) return SIM_E_NOMEM;
    int code = query_run(source->database, sql, NULL, 0, "read results", source->arena, &answer, source->diag);
    if (code != 0 || answer.n_rows == 0 || answer.columns[0].texts == NULL || answer.columns[0].texts[0] == NULL)
        return code;
    if (unit_parse(answer.columns[0].texts[0], UNIT_TIME, &source->warmup_s, &why) != 0) source->warmup_s = 0.0;
    return 0;
}

static int add_run(struct report_source *source, size_t n_runs, struct text *html)
{
    const struct report_options *options = source->options;
    int code = report_read_run(source->database, options->run_id, source->arena, &source->run, source->diag);
    if (code == 0)
        code = report_read_values(source->database, source->run.id, source->arena, &source->metrics, source->diag);
    if (code == 0) code = read_warmup(source);
    source->end_s = source_metric(source, "sim.end_s");
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
    if (code == SIM_E_NOMEM && diag != NULL && diag->n_errors == 0)
        diag_error(diag, code, options->path, NULL, "cannot make the report: out of memory");
    arena_fini(&arena);
    database_close(&database, false);
    return code;
}
