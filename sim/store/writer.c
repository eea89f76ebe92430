#include "sim/store/writer.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char storing[] = "store rows";

static int prepare_insert(const struct database *database, enum table_id table, sqlite3_stmt **insert,
                          struct diag *diag)
{
    char sql[80];
    const char *name = schema_tables[table].name;
    snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM new_%s", name, name);
    return database_prepare(database, sql, insert, storing, diag);
}

int writer_init(struct writer *writer, const struct database *database, bool wants_thread, struct diag *diag)
{
    *writer = (struct writer){.database = database, .wants_thread = wants_thread};
    if (ring_init(&writer->ring, wants_thread ? RING_MAX_BLOCKS : 1) != 0)
        return diag_error(diag, SIM_E_NOMEM, database->path, NULL, "cannot store rows: out of memory");
    int code = 0;
    for (int i = 0; i < TABLE_COUNT && code == 0; i++) {
        writer->feeds[i].table = (enum table_id)i;
        if (feed_register(database->handle, &writer->feeds[i]) != SQLITE_OK)
            code = database_error(database, storing, diag);
        else
            code = prepare_insert(database, (enum table_id)i, &writer->inserts[i], diag);
    }
    return code;
}

/* Everything a failed run may have left behind, too. */
static void writer_stop(struct writer *writer)
{
    if (writer->has_thread) {
        ring_close(&writer->ring);
        pthread_join(writer->thread, NULL);
        writer->has_thread = false;
    }
}

void writer_fini(struct writer *writer)
{
    writer_stop(writer);
    for (int i = 0; i < TABLE_COUNT; i++) sqlite3_finalize(writer->inserts[i]);
    ring_fini(&writer->ring);
}

static int insert_rows(struct writer *writer, enum table_id table, const struct block *block)
{
    sqlite3_stmt *insert = writer->inserts[table];
    writer->feeds[table].block = block;
    int step = sqlite3_step(insert);
    if (step != SQLITE_DONE) {
        char what[48];
        snprintf(what, sizeof what, "store %s rows", schema_tables[table].name);
        atomic_store(&writer->code, database_error(writer->database, what, &writer->diag));
    }
    sqlite3_reset(insert);
    return step == SQLITE_DONE;
}

/* Hashes the rows of a block and puts them in, table by table. After a failure blocks are only passed on. */
static void drain_block(struct writer *writer, const struct block *block)
{
    bool present[TABLE_COUNT] = {false};
    size_t position = 0;
    if (atomic_load(&writer->code) != 0) return;
    for (const struct record *record; (record = block_at(block, position)) != NULL; position += record->bytes) {
        digest_add(&writer->digest, record);
        present[record->table] = true;
    }
    for (int i = 0; i < TABLE_COUNT; i++)
        if (present[i] && !insert_rows(writer, (enum table_id)i, block)) return;
}

static void *drain_blocks(void *context)
{
    struct writer *writer = context;
    for (struct block *block; (block = ring_take(&writer->ring)) != NULL; ring_release(&writer->ring))
        drain_block(writer, block);
    return NULL;
}

/* Signals are for the thread that simulates, so ours starts with all of them blocked. */
static bool start_thread(struct writer *writer)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&writer->thread, NULL, drain_blocks, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

void writer_start(struct writer *writer, int64_t run_id)
{
    ring_reset(&writer->ring);
    writer->digest = (struct digest){0};
    for (int i = 0; i < TABLE_COUNT; i++) writer->feeds[i].run_id = run_id;
    atomic_store(&writer->code, 0);
    writer->refused = 0;
    diag_init(&writer->diag);
    writer->has_thread = writer->wants_thread && start_thread(writer);
}

static void flush_block(struct writer *writer)
{
    if (writer->has_thread) {
        ring_push(&writer->ring);
    } else {
        struct block *block = ring_filling(&writer->ring);
        drain_block(writer, block);
        block->used = 0;
    }
}

int writer_put(struct writer *writer, enum table_id table, const void *row)
{
    for (;;) {
        int code = atomic_load_explicit(&writer->code, memory_order_relaxed);
        if (code != 0 || writer->refused != 0) return code != 0 ? code : writer->refused;
        int added = block_add(ring_filling(&writer->ring), table, row);
        if (added > 0) return 0;
        if (added < 0) return writer->refused = added;
        flush_block(writer);
    }
}

int writer_finish(struct writer *writer, struct diag *diag)
{
    flush_block(writer);
    writer_stop(writer);
    int code = atomic_load(&writer->code);
    if (code == 0 && writer->refused != 0)
        return diag_error(diag, writer->refused, writer->database->path, NULL, "cannot store rows: out of memory");
    if (code == 0) return 0;
    const struct diag_item *item = &writer->diag.items[0];
    return diag_error(diag, code, item->where, item->hint[0] ? item->hint : NULL, "%s", item->text);
}
