#include "tests/support/worlds/batch.h"

#include "sim/cli/run/setup.h"
#include "sim/cli/run/simulate.h"
#include "sim/study/sweep.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CHARS = 256, TEXT_CHARS = 200 };

void batch_add(struct batch *batch, uint64_t world, const char *json, const char *hash)
{
    struct batch_item *item = &batch->items[batch->n++];
    *item = (struct batch_item){.world = world, .json = strdup(json)};
    if (item->json == NULL) abort();
    snprintf(item->hash, sizeof item->hash, "%s", hash);
}

static int run(void *context, const struct study *study, const struct study_run *run, struct results *results,
               struct diag *diag)
{
    const struct batch *batch = context;
    const struct recording_place place = {.results = results, .run_id = run->run_id};
    struct setup setup;
    (void)study;
    int code = setup_load_json(&setup, "world", batch->items[run->run_id - 1].json, &(struct setup_options){0}, diag);
    setup.catalog.memory = batch->memory;
    if (code == 0) code = simulate_into(&setup, &place, NULL, NULL, diag);
    setup_fini(&setup);
    return code;
}

/* A study whose n-th seed stands for the n-th world. */
static int sweep_all(struct batch *batch, const char *output)
{
    const struct sweep_runner runner = {.context = batch, .version = "", .git_commit = "", .platform = "",
                                        .program = "worlds", .run = run};
    const struct sweep_options options = {.output = output, .workers = 1};
    char text[TEXT_CHARS + 5 * BATCH_MOST] = "{\"scenario\": \"world.json\", \"seeds\": [";
    struct study study;
    struct arena arena;
    struct diag diag;
    diag_init(&diag);
    arena_init(&arena);
    for (size_t i = 0; i < batch->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%zu", i > 0 ? ", " : "", i + 1);
    snprintf(text + strlen(text), sizeof text - strlen(text), "]}");
    int code = study_parse("batch", ".", text, &arena, &study, &diag);
    if (code == 0) code = sweep(&study, &options, &runner, NULL, &diag);
    arena_fini(&arena);
    return code;
}

/* The result hash of a run, and why it failed. */
static void read_run(sqlite3 *database, int64_t run_id, char hash[HASH_HEX_CHARS], char why[TEXT_CHARS])
{
    static const char sql[] = "SELECT coalesce(CASE status WHEN 'done' THEN result_hash END, ''), coalesce(text, '') "
                              "FROM run LEFT JOIN warning ON run_id = id WHERE id = ?";
    sqlite3_stmt *statement = NULL;
    hash[0] = why[0] = 0;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 1, run_id) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        snprintf(hash, HASH_HEX_CHARS, "%s", (const char *)sqlite3_column_text(statement, 0));
        snprintf(why, TEXT_CHARS, "%s", (const char *)sqlite3_column_text(statement, 1));
    }
    sqlite3_finalize(statement);
}

static void compare(const struct batch *batch, const char *path, int code,
                    void (*found)(void *context, uint64_t world, const char *text), void *context)
{
    sqlite3 *database = NULL;
    char hash[HASH_HEX_CHARS], why[TEXT_CHARS], text[2 * TEXT_CHARS];
    const bool is_open = sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK;
    for (size_t i = 0; i < batch->n; i++) {
        hash[0] = why[0] = 0;
        if (is_open) read_run(database, (int64_t)i + 1, hash, why);
        if (strcmp(hash, batch->items[i].hash) == 0) continue;
        snprintf(text, sizeof text, "sweep of many: %s",
                 hash[0] != 0  ? "another result hash"
                 : why[0] != 0 ? why
                               : sim_err_text(code));
        found(context, batch->items[i].world, text);
    }
    sqlite3_close(database);
}

void batch_run(struct batch *batch, void (*found)(void *context, uint64_t world, const char *text), void *context)
{
    const char *temporary = getenv("TMPDIR");
    char directory[PATH_CHARS / 2], database[PATH_CHARS];
    if (batch->n == 0) return;
    snprintf(directory, sizeof directory, "%s/worlds-XXXXXX", temporary != NULL ? temporary : P_tmpdir);
    if (mkdtemp(directory) == NULL) abort();
    snprintf(database, sizeof database, "%s/all.db", directory);
    const int code = sweep_all(batch, database);
    compare(batch, database, code, found, context);
    unlink(database);
    rmdir(directory);
    for (size_t i = 0; i < batch->n; i++) free(batch->items[i].json);
    batch->n = 0;
}
