#include "analysis/compare/paired.h"

#include "sim/core/units.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct paired_kind paired_requests = {
    .what = "requests",
    .sql = "SELECT service, id, prompt_tokens, arrival_s, status = 'finished', ttft_s, tpot_s, e2e_s, max_gap_s, queue_s "
           "FROM request WHERE run_id = ?1 ORDER BY service, id",
    .n_values = 5,
    .metrics = {"request.ttft_s", "request.tpot_s", "request.e2e_s", "request.max_gap_s", "request.queue_s"}};

const struct paired_kind paired_jobs = {
    .what = "jobs",
    .sql = "WITH stay AS (SELECT DISTINCT job, start_s, end_s FROM placement WHERE run_id = ?1), "
           "ran AS (SELECT job, sum(end_s - start_s) AS ran_s FROM stay GROUP BY job) "
           "SELECT '', id, gpus, submit_s, end_s NOT NULL, jct_s, start_s - submit_s, "
           "coalesce(max(0.0, round(jct_s - ran_s, 6)), start_s - submit_s) "
           "FROM job LEFT JOIN ran ON job.id = ran.job WHERE run_id = ?1 ORDER BY id",
    .n_values = 3,
    .metrics = {"job.jct_s", "job.queue_s", "job.wait_s"}};

enum { COLUMN_SERVICE, COLUMN_ID, COLUMN_SIZE, COLUMN_ARRIVAL, COLUMN_FINISHED, COLUMN_VALUES };

/* The rows of one run, in order of service and id. */
struct side {
    const struct compare_run *run;
    sqlite3_stmt *statement;
    double warmup_s;
    bool has_row;
};

/* A merge of two such sequences. */
struct merge {
    struct side base, changed;
    struct paired *paired;
    struct arena *arena;
    const char *service; /* the last one, in the arena */
};

static int step(struct side *side, struct diag *diag)
{
    const int result = sqlite3_step(side->statement);
    side->has_row = result == SQLITE_ROW;
    if (result == SQLITE_ROW || result == SQLITE_DONE) return 0;
    return database_error(side->run->database, "read rows", diag);
}

static int start(struct side *side, const struct paired_kind *kind, const struct compare_run *run, struct diag *diag)
{
    const char *why;
    side->run = run;
    if (unit_parse(run->warmup, UNIT_TIME, &side->warmup_s, &why) != 0) side->warmup_s = 0;
    int code = database_prepare(run->database, kind->sql, &side->statement, "read rows", diag);
    if (code == 0) sqlite3_bind_int64(side->statement, 1, run->id);
    return code == 0 ? step(side, diag) : code;
}

static double real_at(const struct side *side, int column)
{
    if (sqlite3_column_type(side->statement, column) == SQLITE_NULL) return (double)NAN;
    return sqlite3_column_double(side->statement, column);
}

static const char *service_at(const struct side *side)
{
    const unsigned char *text = sqlite3_column_text(side->statement, COLUMN_SERVICE);
    return text != NULL ? (const char *)text : "";
}

static bool has_ended(const struct side *side)
{
    return sqlite3_column_int(side->statement, COLUMN_FINISHED) != 0;
}

/* Below zero: the base's row comes first, and the changed run has no such row. */
static int compare_sides(const struct merge *merge)
{
    if (!merge->base.has_row || !merge->changed.has_row) return merge->base.has_row ? -1 : 1;
    const int order = strcmp(service_at(&merge->base), service_at(&merge->changed));
    if (order != 0) return order;
    const int64_t base = sqlite3_column_int64(merge->base.statement, COLUMN_ID);
    const int64_t changed = sqlite3_column_int64(merge->changed.statement, COLUMN_ID);
    return (base > changed) - (base < changed);
}

static int keep_service(struct merge *merge)
{
    const char *service = service_at(&merge->base);
    if (merge->service != NULL && strcmp(merge->service, service) == 0) return 0;
    merge->service = arena_strdup(merge->arena, service);
    return merge->service != NULL ? 0 : SIM_E_NOMEM;
}

static int add_pair(struct merge *merge)
{
    struct paired *paired = merge->paired;
    const struct side *base = &merge->base, *changed = &merge->changed;
    const double arrival_s = real_at(base, COLUMN_ARRIVAL), later_s = real_at(changed, COLUMN_ARRIVAL);
    if (sqlite3_column_int64(base->statement, COLUMN_SIZE) != sqlite3_column_int64(changed->statement, COLUMN_SIZE)) {
        paired->n_others++;
        return 0;
    }
    if (arrival_s < base->warmup_s || later_s < changed->warmup_s) return 0;
    if (has_ended(base) != has_ended(changed))
        (*(has_ended(base) ? &paired->n_ended_base : &paired->n_ended_changed))++;
    if (!has_ended(base) || !has_ended(changed)) return 0;
    if (keep_service(merge) != 0) return SIM_E_NOMEM;
    struct paired_row row = {merge->service, sqlite3_column_int64(base->statement, COLUMN_ID), .arrival_s = arrival_s};
    for (size_t i = 0; i < paired->kind->n_values; i++) {
        row.base[i] = real_at(base, COLUMN_VALUES + (int)i);
        row.changed[i] = real_at(changed, COLUMN_VALUES + (int)i);
    }
    paired->n_moved += arrival_s < later_s || arrival_s > later_s;
    return vec_push(&paired->rows, &paired->n, &paired->capacity, row);
}

static int compare_arrivals(const void *left, const void *right)
{
    const struct paired_row *a = left, *b = right;
    if (a->arrival_s < b->arrival_s) return -1;
    if (a->arrival_s > b->arrival_s) return 1;
    const int order = strcmp(a->service, b->service);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

static int merge_sides(struct merge *merge, struct diag *diag)
{
    int code = 0;
    while (code == 0 && (merge->base.has_row || merge->changed.has_row)) {
        const int order = compare_sides(merge);
        if (order == 0) code = add_pair(merge);
        merge->paired->n_only_base += order < 0;
        merge->paired->n_only_changed += order > 0;
        if (code == 0 && order <= 0) code = step(&merge->base, diag);
        if (code == 0 && order >= 0) code = step(&merge->changed, diag);
    }
    return code;
}

int paired_read(const struct paired_kind *kind, const struct compare_run *base, const struct compare_run *changed,
                struct arena *arena, struct paired *paired, struct diag *diag)
{
    *paired = (struct paired){.kind = kind};
    struct merge merge = {.paired = paired, .arena = arena};
    int code = start(&merge.base, kind, base, diag);
    if (code == 0) code = start(&merge.changed, kind, changed, diag);
    if (code == 0) code = merge_sides(&merge, diag);
    sqlite3_finalize(merge.base.statement);
    sqlite3_finalize(merge.changed.statement);
    if (code == 0 && paired->n > 0) qsort(paired->rows, paired->n, sizeof *paired->rows, compare_arrivals);
    return code;
}

void paired_fini(struct paired *paired)
{
    mem_free(paired->rows);
    *paired = (struct paired){0};
}
