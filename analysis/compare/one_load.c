/* Whether two runs that read different files had requests of equal sizes at equal times: runs on two kinds of GPUs
 * have them if arrivals do not follow the answers. Told from the rows, by sums that depend on each of them. Prefixes
 * and classes are not compared. Rows of jobs do not have their work, so of runs with jobs nothing is known. */
#include "analysis/compare/work.h"

#include <string.h>

static const char sums_sql[] = "SELECT service, count(*), total(prompt_tokens * (id % 1009 + 1)), "
                               "total(CAST(arrival_s * 1e6 AS INTEGER) % 65521 * (id % 1009 + 1)), "
                               "total(CASE status WHEN 'finished' THEN output_tokens * (id % 1009 + 1) ELSE 0 END) "
                               "FROM request WHERE run_id = ?1 GROUP BY service ORDER BY service";
static const char jobs_sql[] = "SELECT 1 FROM job WHERE run_id = ?1 LIMIT 1";

enum { N_COLUMNS = 5 };

static int prepare(const struct compare_run *run, const char *sql, sqlite3_stmt **statement, struct diag *diag)
{
    const int code = database_prepare(run->database, sql, statement, "read rows", diag);
    if (code == 0) sqlite3_bind_int64(*statement, 1, run->id);
    return code;
}

/* Sums of integers, which the order of the rows does not change. */
static bool are_equal(sqlite3_stmt *base, sqlite3_stmt *changed)
{
    const char *service = (const char *)sqlite3_column_text(base, 0);
    const char *other = (const char *)sqlite3_column_text(changed, 0);
    bool is_same = service != NULL && other != NULL && strcmp(service, other) == 0;
    for (int i = 1; i < N_COLUMNS; i++) is_same &= sqlite3_column_int64(base, i) == sqlite3_column_int64(changed, i);
    return is_same;
}

static int has_jobs(const struct compare_run *run, bool *has, struct diag *diag)
{
    sqlite3_stmt *statement;
    const int code = prepare(run, jobs_sql, &statement, diag);
    if (code != 0) return code;
    const int result = sqlite3_step(statement);
    *has = result == SQLITE_ROW;
    sqlite3_finalize(statement);
    return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : database_error(run->database, "read rows", diag);
}

static int compare_services(sqlite3_stmt *base, sqlite3_stmt *changed, const struct compare_run *base_run,
                            const struct compare_run *changed_run, bool *is_one, struct diag *diag)
{
    int of_base, of_changed;
    size_t n = 0;
    *is_one = true;
    for (;; n++) {
        of_base = sqlite3_step(base);
        of_changed = sqlite3_step(changed);
        if (of_base != SQLITE_ROW || of_changed != SQLITE_ROW) break;
        *is_one &= are_equal(base, changed);
    }
    *is_one &= n > 0 && of_base == of_changed;
    if (of_base != SQLITE_ROW && of_base != SQLITE_DONE) return database_error(base_run->database, "read rows", diag);
    if (of_changed != SQLITE_ROW && of_changed != SQLITE_DONE)
        return database_error(changed_run->database, "read rows", diag);
    return 0;
}

int runs_have_one_load(const struct compare_run *base, const struct compare_run *changed, bool *is_one,
                       struct diag *diag)
{
    sqlite3_stmt *of_base = NULL, *of_changed = NULL;
    bool base_has_jobs = false, changed_has_jobs = false;
    *is_one = false;
    int code = has_jobs(base, &base_has_jobs, diag);
    if (code == 0) code = has_jobs(changed, &changed_has_jobs, diag);
    if (code != 0 || base_has_jobs || changed_has_jobs) return code;
    code = prepare(base, sums_sql, &of_base, diag);
    if (code == 0) code = prepare(changed, sums_sql, &of_changed, diag);
    if (code == 0) code = compare_services(of_base, of_changed, base, changed, is_one, diag);
    sqlite3_finalize(of_base);
    sqlite3_finalize(of_changed);
    return code;
}
