/* Whether two runs that read different files had the same requests and jobs to do: runs on two kinds of GPUs have, and
 * runs of two traces have not. Told from the rows, by sums that depend on each of them. */
#include "analysis/compare/work.h"

enum { SUM_REQUESTS, SUM_JOBS, N_SUMS = 6 };

/* Sums of integers, which the order of the rows does not change. */
static int read_sums(const struct compare_run *run, int64_t sums[N_SUMS], struct diag *diag)
{
    static const char sql[] =
        "SELECT requests, jobs, tokens, arrivals, gpus, submissions FROM "
        "(SELECT count(*) AS requests, total(prompt_tokens * (id % 1009 + 1)) AS tokens, "
        "total(CAST(arrival_s * 1e6 AS INTEGER) % 65521 * (id % 1009 + 1)) AS arrivals FROM request WHERE run_id = ?1), "
        "(SELECT count(*) AS jobs, total(gpus * (id % 1009 + 1)) AS gpus, "
        "total(CAST(submit_s * 1e6 AS INTEGER) % 65521 * (id % 1009 + 1)) AS submissions FROM job WHERE run_id = ?1)";
    sqlite3_stmt *statement;
    int code = database_prepare(run->database, sql, &statement, "read rows", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(statement, 1, run->id);
    if (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < N_SUMS; i++) sums[i] = sqlite3_column_int64(statement, i);
    else
        code = database_error(run->database, "read rows", diag);
    sqlite3_finalize(statement);
    return code;
}

int runs_have_one_load(const struct compare_run *base, const struct compare_run *changed, bool *is_one,
                       struct diag *diag)
{
    int64_t of_base[N_SUMS], of_changed[N_SUMS];
    *is_one = false;
    int code = read_sums(base, of_base, diag);
    if (code == 0) code = read_sums(changed, of_changed, diag);
    if (code != 0) return code;
    *is_one = of_base[SUM_REQUESTS] + of_base[SUM_JOBS] > 0;
    for (int i = 0; i < N_SUMS; i++) *is_one &= of_base[i] == of_changed[i];
    return 0;
}
