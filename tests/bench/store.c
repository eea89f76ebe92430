/* Measures rows per second of CPU time into a results database, against a bare loop of prepared INSERTs.
 * The bare loop binds and steps one statement per row, in one transaction, into the table of requests in a file with
 * the store's settings. Both write a million rows in turns; one JSON line for each kind of writer, medians of five,
 * hashing and the final commit included. */
#include "sim/core/rng.h"
#include "sim/store/results.h"
#include "sim/store/schema.h"
#include "tests/bench/bench.h"

#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

static int n_rows;

static void stop(const char *what)
{
    fprintf(stderr, "store: %s\n", what);
    exit(1);
}

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct request_row *make_rows(void)
{
    struct rng rng;
    double arrival_s = 0;
    struct request_row *rows = malloc((size_t)n_rows * sizeof *rows);
    if (rows == NULL) stop("out of memory");
    rng_init(&rng, 1, 0, "rows", 0);
    for (int i = 0; i < n_rows; i++) {
        double queue_s = rng_exponential(&rng, 0.1), ttft_s = queue_s + rng_exponential(&rng, 0.2);
        double tpot_s = rng_exponential(&rng, 0.05);
        int64_t output_tokens = 1 + (int64_t)rng_exponential(&rng, 200);
        arrival_s += rng_exponential(&rng, 0.01);
        rows[i] = (struct request_row){.id = i,
                                       .service = "chat",
                                       .arrival_s = arrival_s,
                                       .prompt_tokens = 1 + (int64_t)rng_exponential(&rng, 1000),
                                       .output_tokens = output_tokens,
                                       .replica = (int64_t)rng_below(&rng, 64),
                                       .queue_s = queue_s,
                                       .ttft_s = ttft_s,
                                       .tpot_s = tpot_s,
                                       .e2e_s = ttft_s + tpot_s * (double)(output_tokens - 1),
                                       .max_gap_s = 2 * tpot_s,
                                       .status = "finished"};
    }
    return rows;
}

static void write_with_store(const char *path, const struct request_row *rows, bool writer_thread)
{
    struct results *results;
    struct diag diag;
    int64_t run_id;
    char hash[HASH_HEX_CHARS];
    const struct results_options options = {.writer_thread = writer_thread};
    const struct run_info info = {.keep = KEEP_ROWS, .name = "bench", .version = "", .git_commit = "", .scenario = "{}",
                                  .scenario_hash = "", .policies = "", .oracle = "", .platform = ""};
    const struct run_end end = {.status = "done", .cost = {.started_utc = ""}};
    diag_init(&diag);
    int code = results_open(path, &options, &results, &diag);
    if (code == 0) code = results_begin_run(results, &info, &run_id, &diag);
    if (code != 0) stop(diag.items[0].text);
    const struct sink sink = results_sink(results);
    for (int i = 0; i < n_rows && code == 0; i++) code = sink.request(sink.context, &rows[i]);
    if (results_end_run(results, &end, hash, &diag) != 0) stop(diag.items[0].text);
    results_close(results);
}

static void bind_row(sqlite3_stmt *insert, const struct request_row *row)
{
    sqlite3_bind_int64(insert, 2, row->id);
    sqlite3_bind_text(insert, 3, row->service, -1, SQLITE_STATIC);
    sqlite3_bind_double(insert, 4, row->arrival_s);
    sqlite3_bind_int64(insert, 5, row->prompt_tokens);
    sqlite3_bind_int64(insert, 6, row->output_tokens);
    sqlite3_bind_int64(insert, 7, row->replica);
    sqlite3_bind_double(insert, 8, row->queue_s);
    sqlite3_bind_double(insert, 9, row->ttft_s);
    sqlite3_bind_double(insert, 10, row->tpot_s);
    sqlite3_bind_double(insert, 11, row->e2e_s);
    sqlite3_bind_double(insert, 12, row->max_gap_s);
    sqlite3_bind_int64(insert, 13, row->preemptions);
    sqlite3_bind_int64(insert, 14, row->cached_tokens);
    sqlite3_bind_text(insert, 15, row->status, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 16, row->class, -1, SQLITE_STATIC);
}

static int create_tables(sqlite3 *db)
{
    int code = SQLITE_OK;
    for (int i = 0; code == SQLITE_OK && schema_create_sql[i] != NULL; i++)
        code = sqlite3_exec(db, schema_create_sql[i], NULL, NULL, NULL);
    return code;
}

static void write_bare(const char *path, const struct request_row *rows)
{
    static const char sql[] = "INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    sqlite3 *db;
    sqlite3_stmt *insert = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA page_size = 16384; PRAGMA synchronous = OFF", NULL, NULL, NULL) != SQLITE_OK ||
        create_tables(db) != SQLITE_OK || sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &insert, NULL) != SQLITE_OK)
        stop(sqlite3_errmsg(db));
    sqlite3_bind_int64(insert, 1, 1);
    for (int i = 0; i < n_rows; i++) {
        bind_row(insert, &rows[i]);
        if (sqlite3_step(insert) != SQLITE_DONE) stop(sqlite3_errmsg(db));
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) stop(sqlite3_errmsg(db));
    sqlite3_close(db);
}

enum writer_kind { WRITER_BARE, WRITER_INLINE, WRITER_THREAD, WRITER_COUNT };

struct cost {
    double cpu_s[BENCH_REPEATS], wall_s[BENCH_REPEATS];
};

static void measure(const char *path, enum writer_kind kind, const struct request_row *rows, struct cost *cost,
                    int repeat)
{
    const double cpu_began_s = bench_cpu_s(), began_s = wall_s();
    if (kind == WRITER_BARE)
        write_bare(path, rows);
    else
        write_with_store(path, rows, kind == WRITER_THREAD);
    cost->cpu_s[repeat] = bench_cpu_s() - cpu_began_s;
    cost->wall_s[repeat] = wall_s() - began_s;
    unlink(path);
}

int main(void)
{
    static const char *const names[] = {[WRITER_INLINE] = "inline", [WRITER_THREAD] = "thread"};
    char folder[] = P_tmpdir "/orrery-bench-XXXXXX", path[64];
    struct cost costs[WRITER_COUNT];
    n_rows = bench_load(1000000);
    struct request_row *rows = make_rows();
    if (mkdtemp(folder) == NULL) stop("no directory for the database");
    snprintf(path, sizeof path, "%s/results.db", folder);
    for (int i = 0; i < BENCH_REPEATS; i++)
        for (int kind = 0; kind < WRITER_COUNT; kind++) measure(path, (enum writer_kind)kind, rows, &costs[kind], i);
    rmdir(folder);
    free(rows);
    double bare_s = bench_median(costs[WRITER_BARE].cpu_s);
    for (int kind = WRITER_INLINE; kind < WRITER_COUNT; kind++) {
        double cpu_s = bench_median(costs[kind].cpu_s);
        printf("{\"bench\":\"store\",\"writer\":\"%s\",\"rows_per_s\":%.0f,\"ratio_to_bare_loop\":%.2f,"
               "\"wall_s\":%.3f}\n",
               names[kind], n_rows / cpu_s, bare_s / cpu_s, bench_median(costs[kind].wall_s));
    }
    return 0;
}
