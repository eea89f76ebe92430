#include "sim/core/database.h"
#include "sim/store/readback.h"
#include "sim/store/record.h"
#include "sim/store/schema.h"
#include "tests/support/harness.h"
#include "tests/support/store_fixture.h"

#include <sqlite3.h>
#include <unistd.h>

static const struct results_options inline_writer = {0};
static const struct results_options writer_thread = {.writer_thread = true};

/* A path in a fresh directory, good until the next call. */
static const char *fresh_path(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/results.db", test_tmpdir());
    return path;
}

static void check_no_errors(const struct diag *diag)
{
    CHECK_EQ_STR(diag->n_errors > 0 ? diag->items[0].text : "", "");
}

/* What comes back for a double: a NaN is NULL, a zero has no sign, every other bit is kept. */
static bool same_real(sqlite3_stmt *query, int column, double expected)
{
    if (isnan(expected)) return sqlite3_column_type(query, column) == SQLITE_NULL;
    double actual = sqlite3_column_double(query, column), canonical = expected + 0.0;
    return sqlite3_column_type(query, column) == SQLITE_FLOAT && memcmp(&actual, &canonical, sizeof actual) == 0;
}

static bool same_text(sqlite3_stmt *query, int column, const char *expected)
{
    return strcmp((const char *)sqlite3_column_text(query, column), expected) == 0;
}

static bool same_request(sqlite3_stmt *query, const struct request_row *row)
{
    return sqlite3_column_int64(query, 1) == row->id && same_text(query, 2, row->service) &&
           same_real(query, 3, row->arrival_s) && sqlite3_column_int64(query, 4) == row->prompt_tokens &&
           sqlite3_column_int64(query, 5) == row->output_tokens && sqlite3_column_int64(query, 6) == row->replica &&
           same_real(query, 7, row->queue_s) && same_real(query, 8, row->ttft_s) && same_real(query, 9, row->tpot_s) &&
           same_real(query, 10, row->e2e_s) && same_real(query, 11, row->max_gap_s) &&
           sqlite3_column_int64(query, 12) == row->preemptions &&
           sqlite3_column_int64(query, 13) == row->cached_tokens && same_text(query, 14, row->status);
}

static const char *hash_of_metrics(const struct metric_row *metrics, size_t n)
{
    static char hex[2][HASH_HEX_CHARS];
    static int turn;
    struct hash_sink hashing;
    CHECK_EQ_INT(hash_sink_init(&hashing, KEEP_METRICS), 0);
    const struct sink sink = hash_sink(&hashing);
    for (size_t i = 0; i < n; i++) CHECK_EQ_INT(sink.metric(sink.context, &metrics[i]), 0);
    turn = !turn;
    CHECK_EQ_INT(hash_sink_hex(&hashing, hex[turn]), 0);
    hash_sink_fini(&hashing);
    return hex[turn];
}

/* Each metric counts, by its name, value and unit. */
TEST(the_hash_covers_every_metric)
{
    const struct metric_row rows[] = {{"request.ttft_s.p99[chat]", 2, "s"}, {"job.ended", 7, "1"},
                                      {"request.ttft_s.p95[chat]", 1, "s"}, {"job.finished", 5, "1"}};
    enum { N = sizeof rows / sizeof *rows };
    char whole[HASH_HEX_CHARS];
    snprintf(whole, sizeof whole, "%s", hash_of_metrics(rows, N));
    CHECK(strcmp(hash_of_metrics(rows, N - 1), whole) != 0);
    for (size_t i = 0; i < N; i++) {
        struct metric_row changed[N];
        memcpy(changed, rows, sizeof rows);
        changed[i].value += 1e-9;
        CHECK(strcmp(hash_of_metrics(changed, N), whole) != 0);
        changed[i] = rows[i];
        changed[i].name = "job.failed";
        CHECK(strcmp(hash_of_metrics(changed, N), whole) != 0);
    }
}

TEST(request_rows_come_back_bit_by_bit)
{
    enum { N = 3000 };
    const char *path = fresh_path();
    struct diag diag = {0};
    struct results *results;
    struct rng rng;
    int64_t run_id;
    char hash[HASH_HEX_CHARS];
    sqlite3 *db;
    sqlite3_stmt *query;
    MUST(results_open(path, &inline_writer, &results, &diag) == 0);
    MUST(results_begin_run(results, &store_run_info, &run_id, &diag) == 0);
    struct sink sink = results_sink(results);
    rng_init(&rng, 1, 0, "rows", 0);
    for (int i = 0; i < N; i++) {
        struct request_row row = store_random_request(&rng, i);
        CHECK_EQ_INT(sink.request(sink.context, &row), 0);
    }
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), 0);
    results_close(results);
    MUST(sqlite3_open(path, &db) == SQLITE_OK);
    MUST(sqlite3_prepare_v2(db, "SELECT * FROM request", -1, &query, NULL) == SQLITE_OK);
    rng_init(&rng, 1, 0, "rows", 0);
    int n_same = 0;
    for (int i = 0; sqlite3_step(query) == SQLITE_ROW; i++) {
        struct request_row row = store_random_request(&rng, i);
        n_same += same_request(query, &row);
    }
    CHECK_EQ_INT(n_same, N);
    sqlite3_finalize(query);
    sqlite3_close(db);
    check_no_errors(&diag);
}

static bool same_file(const char *path, const char *other_path)
{
    FILE *file = fopen(path, "rb"), *other = fopen(other_path, "rb");
    int byte = 0, other_byte = 0;
    if (file == NULL || other == NULL) return false;
    while (byte == other_byte && byte != EOF) {
        byte = getc(file);
        other_byte = getc(other);
    }
    fclose(file);
    fclose(other);
    return byte == other_byte;
}

TEST(writer_thread_writes_the_same_file)
{
    static const int sizes[] = {0, 1, 50, 401, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char path[256], thread_path[256], hash[HASH_HEX_CHARS] = "", thread_hash[HASH_HEX_CHARS] = "";
        struct diag diag = {0};
        snprintf(path, sizeof path, "%s", fresh_path());
        snprintf(thread_path, sizeof thread_path, "%s", fresh_path());
        CHECK_EQ_INT(store_write_run(path, &inline_writer, sizes[i], 5, hash, &diag), 0);
        CHECK_EQ_INT(store_write_run(thread_path, &writer_thread, sizes[i], 5, thread_hash, &diag), 0);
        CHECK(same_file(path, thread_path));
        CHECK_EQ_STR(thread_hash, hash);
        check_no_errors(&diag);
    }
}

/* The rows of a sink, kept to be put in another order. */
struct kept_rows {
    struct request_row rows[500];
    int n;
};

static int keep_request(void *context, const struct request_row *row)
{
    struct kept_rows *kept = context;
    kept->rows[kept->n++] = *row;
    return 0;
}

static int drop_histogram(void *context, const struct histogram_row *row)
{
    (void)context, (void)row;
    return 0;
}

static int drop_warning(void *context, const struct warning_row *row)
{
    (void)context, (void)row;
    return 0;
}

static int drop_metric(void *context, const struct metric_row *row)
{
    (void)context, (void)row;
    return 0;
}

static void hash_of(const struct kept_rows *kept, int first, int step, char hash[HASH_HEX_CHARS])
{
    struct diag diag = {0};
    struct results *results;
    int64_t run_id;
    MUST(results_open(fresh_path(), &inline_writer, &results, &diag) == 0);
    MUST(results_begin_run(results, &store_run_info, &run_id, &diag) == 0);
    struct sink sink = results_sink(results);
    for (int i = 0; i < kept->n; i++) sink.request(sink.context, &kept->rows[(first + i * step) % kept->n]);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), 0);
    results_close(results);
}

TEST(result_hash_is_of_the_set_of_rows)
{
    static struct kept_rows kept;
    char hash[HASH_HEX_CHARS], other[HASH_HEX_CHARS];
    struct sink keep = {.context = &kept,
                        .request = keep_request,
                        .histogram = drop_histogram,
                        .warning = drop_warning,
                        .metric = drop_metric};
    kept.n = 0;
    store_put_rows(&keep, 500, 9);
    MUST(kept.n == 500);
    hash_of(&kept, 0, 1, hash);
    CHECK_EQ_INT(strlen(hash), 32);
    hash_of(&kept, 17, 7, other); /* another order: 7 and 500 have no common divisor */
    CHECK_EQ_STR(other, hash);
    struct request_row row = kept.rows[3];
    kept.rows[3].cached_tokens++;
    hash_of(&kept, 0, 1, other);
    CHECK(strcmp(other, hash) != 0);
    kept.rows[3] = row;
    kept.rows[3].service = "chat2";
    hash_of(&kept, 0, 1, other);
    CHECK(strcmp(other, hash) != 0);
    kept.rows[3] = kept.rows[4]; /* a row twice, and one missing */
    hash_of(&kept, 0, 1, other);
    CHECK(strcmp(other, hash) != 0);
}

/* Rows of every table, put back into the file in the opposite order, have the hash that they were written with. */
TEST(the_order_in_the_file_does_not_matter)
{
    const char *path = fresh_path();
    struct diag diag = {0};
    char hash[HASH_HEX_CHARS], again[HASH_HEX_CHARS], sql[256];
    sqlite3 *db;
    MUST(store_write_run(path, &inline_writer, 300, 4, hash, &diag) == 0);
    MUST(sqlite3_open(path, &db) == SQLITE_OK);
    for (int i = 0; i < TABLE_COUNT; i++) {
        const char *name = schema_tables[i].name;
        bool has_rowid = i != TABLE_METRIC && i != TABLE_HISTOGRAM;
        snprintf(sql, sizeof sql,
                 "CREATE TEMP TABLE kept AS SELECT * FROM %s ORDER BY %s DESC; DELETE FROM %s;"
                 "INSERT INTO %s SELECT * FROM kept; DROP TABLE kept",
                 name, has_rowid ? "rowid" : "name", name, name);
        CHECK_EQ_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        CHECK(sqlite3_total_changes(db) > 20 * (i + 1));
    }
    sqlite3_close(db);
    CHECK_EQ_INT(results_rehash(path, 1, again, &diag), 0);
    CHECK_EQ_STR(again, hash);
    check_no_errors(&diag);
}

TEST(runs_are_appended_and_repeat_their_hash)
{
    const char *path = fresh_path();
    char first[HASH_HEX_CHARS], second[HASH_HEX_CHARS], third[HASH_HEX_CHARS], again[HASH_HEX_CHARS];
    struct diag diag = {0};
    CHECK_EQ_INT(store_write_run(path, &inline_writer, 700, 1, first, &diag), 0);
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"), "0");
    CHECK_EQ_INT(store_write_run(path, &writer_thread, 700, 1, second, &diag), 0);
    CHECK_EQ_INT(store_write_run(path, &inline_writer, 700, 2, third, &diag), 0);
    CHECK_EQ_STR(second, first);
    CHECK(strcmp(third, first) != 0);
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(id || status, ' ') FROM run"), "1done 2done 3done");
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(n, ' ') FROM (SELECT count(*) n FROM request GROUP BY run_id)"),
                 "700 700 700");
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"), "5");
    CHECK_EQ_STR(store_query(path, "PRAGMA integrity_check"), "ok");
    CHECK_EQ_STR(store_query(path, "PRAGMA page_size"), "16384");
    CHECK_EQ_INT(results_rehash(path, 2, again, &diag), 0);
    CHECK_EQ_STR(again, second);
    CHECK_EQ_INT(results_rehash(path, 3, again, &diag), 0);
    CHECK_EQ_STR(again, third);
    check_no_errors(&diag);
}

/* Files of one schema version have the same tables: whoever changes a column raises DATABASE_VERSION. */
TEST(the_version_changes_with_the_schema)
{
    enum { VERSION = 7 };
    static const char schema[] = "c9b099d421a1f82a6450088785a64953";
    static const char columns[] =
        "SELECT t.name || ' ' || group_concat(c.name || ' ' || c.type || c.\"notnull\" || c.pk) FROM sqlite_schema AS t, "
        "pragma_table_info(t.name) AS c WHERE t.type = 'table' GROUP BY t.name ORDER BY 1";
    sqlite3 *db;
    sqlite3_stmt *query;
    char hex[HASH_HEX_CHARS];
    struct hash *hash = hash_create();
    MUST(hash != NULL && sqlite3_open(":memory:", &db) == SQLITE_OK);
    for (const char *const *sql = schema_create_sql; *sql != NULL; sql++)
        CHECK_EQ_INT(sqlite3_exec(db, *sql, NULL, NULL, NULL), SQLITE_OK);
    MUST(sqlite3_prepare_v2(db, columns, -1, &query, NULL) == SQLITE_OK);
    while (sqlite3_step(query) == SQLITE_ROW) hash_text(hash, (const char *)sqlite3_column_text(query, 0));
    sqlite3_finalize(query);
    sqlite3_close(db);
    hash_hex(hash, hex);
    hash_destroy(hash);
    if (strcmp(hex, schema) != 0) puts("the schema has changed: raise DATABASE_VERSION, then correct both lines here");
    CHECK_EQ_STR(hex, schema);
    CHECK_EQ_INT(DATABASE_VERSION, VERSION);
}

TEST(several_runs_go_through_one_opening)
{
    const char *path = fresh_path();
    struct diag diag = {0};
    struct results *results;
    char hash[HASH_HEX_CHARS];
    MUST(results_open(path, &writer_thread, &results, &diag) == 0);
    for (int i = 1; i <= 5; i++) {
        int64_t run_id = 0;
        MUST(results_begin_run(results, &store_run_info, &run_id, &diag) == 0);
        CHECK_EQ_INT(run_id, i);
        struct sink sink = results_sink(results);
        CHECK_EQ_INT(store_put_rows(&sink, 100 * i, 3), 0);
        CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), 0);
    }
    results_close(results);
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(n, ' ') FROM (SELECT count(*) n FROM request GROUP BY run_id)"),
                 "100 200 300 400 500");
    check_no_errors(&diag);
}

TEST(tampering_changes_the_rehash)
{
    static const char *const changes[] = {
        "UPDATE request SET ttft_s = 7.5 WHERE id = 100",
        "DELETE FROM request WHERE id = 399",
        "INSERT INTO request SELECT * FROM request WHERE id = 7",
        "UPDATE job SET status = status || ' ' WHERE id = 3",
        "UPDATE metric SET value = 17 WHERE name = 'metric.7'",
        "UPDATE metric SET unit = unit || 's' WHERE name = 'metric.7'",
        "UPDATE histogram SET count = count + 1 WHERE name = 'metric.14'",
        "UPDATE decision SET subject = 6 WHERE subject = 5",
        "UPDATE decision SET service = service || 'x' WHERE rowid = 1",
        "UPDATE sample SET entity = entity || 'x' WHERE rowid = 2",
        "DELETE FROM warning WHERE rowid = 1",
        "UPDATE placement SET job = job + 1 WHERE rowid = 2",
        "DELETE FROM placement WHERE rowid = 3",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *path = fresh_path();
        char hash[HASH_HEX_CHARS], again[HASH_HEX_CHARS];
        struct diag diag = {0};
        MUST(store_write_run(path, &inline_writer, 400, 1, hash, &diag) == 0);
        CHECK_EQ_INT(results_rehash(path, 1, again, &diag), 0);
        CHECK_EQ_STR(again, hash);
        CHECK_EQ_STR(store_query(path, changes[i]), "none");
        CHECK_EQ_INT(results_rehash(path, 1, again, &diag), 0);
        if (strcmp(again, hash) == 0) CHECK_EQ_STR(changes[i], "seen");
        check_no_errors(&diag);
    }
}

/* `keep` gives so many metrics and warnings, histogram buckets and samples, and none of the large tables. */
static void check_kept(enum results_keep keep, const char *small, const char *large)
{
    const char *path = fresh_path();
    struct diag diag = {0};
    struct results *results;
    struct run_info info = store_run_info;
    int64_t run_id;
    char hash[HASH_HEX_CHARS], again[HASH_HEX_CHARS];
    info.keep = keep;
    MUST(results_open(path, &inline_writer, &results, &diag) == 0);
    MUST(results_begin_run(results, &info, &run_id, &diag) == 0);
    struct sink sink = results_sink(results);
    CHECK(sink.detail == NULL && sink.batch == NULL && (keep == KEEP_METRICS) == (sink.sample == NULL));
    CHECK_EQ_INT(store_put_rows(&sink, 70, 1), 0);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), 0);
    results_close(results);
    CHECK_EQ_STR(store_query(path, "SELECT (SELECT count(*) FROM request) + (SELECT count(*) FROM job) + "
                                   "(SELECT count(*) FROM placement) + (SELECT count(*) FROM decision)"),
                 large);
    CHECK_EQ_STR(store_query(path,
                             "SELECT (SELECT count(*) FROM metric) || ' ' || (SELECT count(*) FROM warning) || ' ' || "
                             "(SELECT count(*) FROM histogram) || ' ' || (SELECT count(*) FROM sample)"),
                 small);
    CHECK_EQ_INT(results_rehash(path, 1, again, &diag), 0);
    CHECK_EQ_STR(again, hash);
    check_no_errors(&diag);
}

TEST(what_is_kept_follows_the_level)
{
    check_kept(KEEP_METRICS, "10 10 0 0", "0");
    check_kept(KEEP_CURVES, "10 10 10 10", "0");
    check_kept(KEEP_ROWS, "10 10 10 10", "118");
}

/* Of 70 rows, every fifth comes with a decision and every seventh with details. */
TEST(details_are_decisions_for_those_who_keep_them)
{
    static const struct {
        enum results_keep keep;
        const char *n_decisions;
    } cases[] = {{KEEP_ROWS, "14"}, {KEEP_DECISIONS, "24"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = fresh_path();
        struct diag diag = {0};
        struct results *results;
        struct run_info info = store_run_info;
        int64_t run_id;
        char hash[HASH_HEX_CHARS];
        info.keep = cases[i].keep;
        MUST(results_open(path, &inline_writer, &results, &diag) == 0);
        MUST(results_begin_run(results, &info, &run_id, &diag) == 0);
        struct sink sink = results_sink(results);
        CHECK_EQ_INT(store_put_rows(&sink, 70, 1), 0);
        CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), 0);
        results_close(results);
        CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM decision"), cases[i].n_decisions);
        check_no_errors(&diag);
    }
}

TEST(texts_longer_than_a_block_are_stored)
{
    enum { LONG_CHARS = 300000 };
    const char *path = fresh_path();
    struct diag diag = {0};
    struct results *results;
    int64_t run_id;
    char hash[HASH_HEX_CHARS];
    char *reason = malloc(LONG_CHARS + 1);
    MUST(reason != NULL);
    memset(reason, 'x', LONG_CHARS);
    reason[LONG_CHARS] = 0;
    MUST(results_open(path, &inline_writer, &results, &diag) == 0);
    MUST(results_begin_run(results, &store_run_info, &run_id, &diag) == 0);
    struct sink sink = results_sink(results);
    struct decision_row row = {.policy = "p", .action = "a", .reason = "short"};
    CHECK_EQ_INT(sink.decision(sink.context, &row), 0);
    row.reason = reason;
    CHECK_EQ_INT(sink.decision(sink.context, &row), 0);
    row.reason = NULL;
    CHECK_EQ_INT(sink.decision(sink.context, &row), 0);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), 0);
    results_close(results);
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(length(reason), ' ') FROM decision"), "5 300000 0");
    free(reason);
    check_no_errors(&diag);
}

/* Old files stay verifiable: the hash of given rows is part of the file format. */
TEST(hash_of_given_rows_stays)
{
    struct results *results;
    int64_t run_id;
    char empty[HASH_HEX_CHARS], hash[HASH_HEX_CHARS];
    const struct request_row request = {7, "chat", 0.5, 100, 20, 3, 0, 0.25, 0.125, 2.625, 0.125, 0, 16, "finished", ""};
    const struct metric_row metric = {.name = "request.count", .unit = "1", .value = 1};
    MUST(results_open(fresh_path(), &inline_writer, &results, NULL) == 0);
    MUST(results_begin_run(results, &store_run_info, &run_id, NULL) == 0);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, empty, NULL), 0);
    MUST(results_begin_run(results, &store_run_info, &run_id, NULL) == 0);
    struct sink sink = results_sink(results);
    CHECK_EQ_INT(sink.request(sink.context, &request), 0);
    CHECK_EQ_INT(sink.metric(sink.context, &metric), 0);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, NULL), 0);
    results_close(results);
    CHECK_EQ_STR(empty, "437150cd997352064376534c1458ded2");
    CHECK_EQ_STR(hash, "3ec68f583a1dae790b447eff61b3bcba");
}

/* Writes a run of 300 requests, of which those from `first_named` on have a class. */
static void write_classes(const char *path, int first_named, char hash[HASH_HEX_CHARS])
{
    struct results *results;
    int64_t run_id;
    struct rng rng;
    MUST(results_open(path, &inline_writer, &results, NULL) == 0);
    MUST(results_begin_run(results, &store_run_info, &run_id, NULL) == 0);
    struct sink sink = results_sink(results);
    rng_init(&rng, 1, 0, "classes", 0);
    for (int i = 0; i < 300; i++) {
        struct request_row row = store_random_request(&rng, i);
        if (i >= first_named) row.class = i % 3 == 0 ? "batch" : "interactive";
        CHECK_EQ_INT(sink.request(sink.context, &row), 0);
    }
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, NULL), 0);
    results_close(results);
}

/* A row without a class hashes as if there were no such column. */
TEST(requests_may_have_a_class)
{
    const char *path = fresh_path();
    char without[HASH_HEX_CHARS], with[HASH_HEX_CHARS], again[HASH_HEX_CHARS], read[HASH_HEX_CHARS];
    write_classes(path, 300, without);
    write_classes(path, 0, with);
    write_classes(path, 300, again);
    CHECK_EQ_STR(again, without);
    CHECK(strcmp(with, without) != 0);
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM request WHERE class IS NULL AND run_id <> 2"), "600");
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM request WHERE class = 'batch' AND run_id = 2"), "100");
    for (int64_t run_id = 1; run_id <= 3; run_id++) {
        CHECK_EQ_INT(results_rehash(path, run_id, read, NULL), 0);
        CHECK_EQ_STR(read, run_id == 2 ? with : without);
    }
    write_classes(path, 200, with);
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM request WHERE class NOT NULL AND run_id = 4"), "100");
    CHECK_EQ_INT(results_rehash(path, 4, read, NULL), 0);
    CHECK_EQ_STR(read, with);
}

TEST(names_of_runs_are_taken_apart)
{
    static const struct {
        const char *name, *path;
        int64_t run_id;
    } cases[] = {{"results.db:3", "results.db", 3}, {"results.db", "results.db", 0}, {"a:b/c.db", "a:b/c.db", 0},
                 {"c:7/x.db:12", "c:7/x.db", 12},   {"x.db:", "x.db:", 0},           {"x.db:1a", "x.db:1a", 0},
                 {"x.db:0", "x.db:0", 0},           {"x.db:00", "x.db:00", 0},
                 {"x:99999999999999999999", "x:99999999999999999999", 0}};
    SCOPED(arena) arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path;
        int64_t run_id;
        MUST(results_split_name(cases[i].name, &arena, &path, &run_id) == 0);
        CHECK_EQ_STR(path, cases[i].path);
        CHECK_EQ_INT(run_id, cases[i].run_id);
    }
}

TEST(provenance_reads_back)
{
    const char *path = fresh_path();
    struct diag diag = {0};
    SCOPED(arena) arena = {0};
    struct run_record run;
    char hash[HASH_HEX_CHARS];
    MUST(store_write_run(path, &inline_writer, 70, 1, hash, &diag) == 0);
    MUST(results_read_run(path, 0, &arena, &run, &diag) == 0);
    CHECK_EQ_INT(run.id, 1);
    CHECK_EQ_STR(run.name, store_run_info.name);
    CHECK_EQ_STR(run.version, store_run_info.version);
    CHECK_EQ_STR(run.git_commit, store_run_info.git_commit);
    CHECK_EQ_STR(run.scenario, store_run_info.scenario);
    CHECK_EQ_STR(run.scenario_hash, store_run_info.scenario_hash);
    CHECK_EQ_STR(run.trace_hash, store_run_end.trace_hash);
    CHECK_EQ_INT(run.seed, 42);
    CHECK_EQ_STR(run.policies, store_run_info.policies);
    CHECK_EQ_STR(run.oracle, "");
    CHECK_EQ_STR(run.platform, store_run_info.platform);
    CHECK(run.extrapolated_frac == 0.25);
    CHECK_EQ_STR(run.status, "done");
    CHECK_EQ_STR(run.result_hash, hash);
    CHECK_EQ_STR(store_query(path, "SELECT run_id || started_utc || wall_s || cpu_s || events || peak_rss_bytes "
                                   "FROM run_cost"),
                 "12024-05-01T12:00:00Z1.51.2574096");
    CHECK_EQ_STR(store_query(path, "SELECT count(*) || min(name) || max(name) FROM metric"), "10metric.0metric.7");
    check_no_errors(&diag);
    CHECK_EQ_INT(results_read_run(path, 7, &arena, &run, &diag), SIM_E_STORE);
    CHECK_EQ_STR(diag.items[0].text, "no run 7");
}

TEST(what_a_run_does_not_know_of_itself_is_null)
{
    char path[256], hash[HASH_HEX_CHARS];
    struct diag diag = {0};
    struct results *results;
    int64_t run_id;
    struct run_end end = store_run_end;
    end.cost.peak_rss_bytes = 0;
    snprintf(path, sizeof path, "%s/results.db", test_tmpdir());
    MUST(results_open(path, &(struct results_options){0}, &results, &diag) == 0);
    CHECK_EQ_INT(results_begin_run(results, &store_run_info, &run_id, &diag), 0);
    CHECK_EQ_INT(results_end_run(results, &end, hash, &diag), 0);
    results_close(results);
    CHECK_EQ_STR(store_query(path, "SELECT peak_rss_bytes IS NULL FROM run_cost"), "1");
}

/* Nobody writes the schema of an open file, so a statement of it cannot damage the file. */
TEST(the_schema_of_a_file_cannot_be_written)
{
    static const char sql[] = "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'x' WHERE name = 'run'";
    char path[256];
    struct diag diag = {0};
    struct database database;
    snprintf(path, sizeof path, "%s/results.db", test_tmpdir());
    MUST(store_write_run(path, &(struct results_options){0}, 5, 1, NULL, &diag) == 0);
    MUST(database_open_read(&database, path, &diag) == 0);
    CHECK(sqlite3_exec(database.handle, sql, NULL, NULL, NULL) != SQLITE_OK);
    database_close(&database, false);
    CHECK_EQ_STR(store_query(path, "select count(*) from run"), "1");
}

/* A database of a stranger brings a trigger that would change results. */
TEST(triggers_of_a_file_do_not_run)
{
    char path[256];
    struct diag diag = {0};
    snprintf(path, sizeof path, "%s/results.db", test_tmpdir());
    MUST(store_write_run(path, &(struct results_options){0}, 5, 1, NULL, &diag) == 0);
    CHECK_EQ_STR(store_query(path, "create trigger t after insert on request begin delete from run where id = 1; end"),
                 "none");
    CHECK_EQ_INT(store_write_run(path, &(struct results_options){0}, 5, 2, NULL, &diag), 0);
    CHECK_EQ_STR(store_query(path, "select count(*) from run"), "2");
}
