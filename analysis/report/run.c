#include "analysis/report/run.h"

#include "analysis/query.h"

#include <inttypes.h>

static const char *text_of(const struct query_column *column, size_t row)
{
    return column->texts != NULL && column->texts[row] != NULL ? column->texts[row] : "";
}

static int fail_missing(const struct database *database, int64_t run_id, struct diag *diag)
{
    if (run_id == 0) return diag_error(diag, SIM_E_STORE, database->path, NULL, "no runs in it");
    return diag_error(diag, SIM_E_STORE, database->path, "`select id, name, status from run` lists the runs",
                      "no run %" PRId64, run_id);
}

int report_read_run(const struct database *database, int64_t run_id, struct arena *arena, struct report_run *run,
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
    if (answer.n_rows == 0) return fail_missing(database, run_id, diag);
    run->id = (int64_t)answer.columns[0].numbers[0];
    run->seed = (int64_t)answer.columns[1].numbers[0];
    run->extrapolated_frac = answer.columns[2].numbers[0];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = text_of(&answer.columns[3 + i], 0);
    return 0;
}

int report_read_values(const struct database *database, int64_t run_id, struct arena *arena,
                       struct report_values *values, struct diag *diag)
{
    static const char sql[] = "SELECT name, unit, value FROM metric WHERE run_id = ? ORDER BY name";
    struct query_answer answer;
    int code = query_run(database, sql, &run_id, 1, "read results", arena, &answer, diag);
    if (code != 0) return code;
    values->n = answer.n_rows;
    values->rows = arena_alloc(arena, (answer.n_rows + 1) * sizeof *values->rows);
    if (values->rows == NULL) return diag_error(diag, SIM_E_NOMEM, database->path, NULL, "out of memory");
    for (size_t i = 0; i < answer.n_rows; i++)
        values->rows[i] = (struct report_value){.name = text_of(&answer.columns[0], i),
                                                .unit = text_of(&answer.columns[1], i),
                                                .value = answer.columns[2].numbers[i]};
    return 0;
}
