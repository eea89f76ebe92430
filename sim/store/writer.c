#include "sim/store/writer.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* --- Ring --- */

/* Returns 0 or SIM_E_NOMEM; in both cases ring_fini is due. */
static int ring_init(struct ring *ring, unsigned n_blocks)
{
    SIM_REQUIRE(n_blocks >= 1 && n_blocks <= RING_MAX_BLOCKS);
    *ring = (struct ring){.n_blocks = n_blocks};
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->filled, NULL);
    pthread_cond_init(&ring->drained, NULL);
    int code = 0;
    for (unsigned i = 0; i < n_blocks && code == 0; i++) code = block_init(&ring->blocks[i]);
    return code;
}

static void ring_fini(struct ring *ring)
{
    for (unsigned i = 0; i < ring->n_blocks; i++) block_fini(&ring->blocks[i]);
    pthread_cond_destroy(&ring->drained);
    pthread_cond_destroy(&ring->filled);
    pthread_mutex_destroy(&ring->lock);
}

/* Makes it empty and open again; no other thread may be using it. */
static void ring_reset(struct ring *ring)
{
    for (unsigned i = 0; i < ring->n_blocks; i++) ring->blocks[i].used = 0;
    ring->n_filled = ring->n_drained = 0;
    ring->closed = false;
}

/* For the thread that fills: its block, with room in it or full. */
static struct block *ring_filling(struct ring *ring)
{
    return &ring->blocks[ring->n_filled % ring->n_blocks];
}

/* Hands the block over and waits for another one. */
static void ring_push(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->n_filled++;
    pthread_cond_signal(&ring->filled);
    while (ring->n_filled - ring->n_drained == ring->n_blocks) pthread_cond_wait(&ring->drained, &ring->lock);
    pthread_mutex_unlock(&ring->lock);
}

/* Nothing more will be pushed. */
static void ring_close(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->closed = true;
    pthread_cond_signal(&ring->filled);
    pthread_mutex_unlock(&ring->lock);
}

/* For the thread that drains: the oldest full block, waiting for one; NULL when the ring is closed and empty. The
 * block goes back, empty, with ring_release. */
static struct block *ring_take(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->n_filled == ring->n_drained && !ring->closed) pthread_cond_wait(&ring->filled, &ring->lock);
    struct block *oldest = ring->n_filled == ring->n_drained ? NULL : &ring->blocks[ring->n_drained % ring->n_blocks];
    pthread_mutex_unlock(&ring->lock);
    return oldest;
}

static void ring_release(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->blocks[ring->n_drained % ring->n_blocks].used = 0;
    ring->n_drained++;
    pthread_cond_signal(&ring->drained);
    pthread_mutex_unlock(&ring->lock);
}

/* --- Feed --- */

struct feed_table {
    sqlite3_vtab base;
    const struct feed *feed;
};

struct feed_cursor {
    sqlite3_vtab_cursor base;
    const struct feed *feed;
    size_t position;
    const struct record *record; /* NULL past the last one */
};

static int feed_connect(sqlite3 *db, void *feed, int n_args, const char *const *args, sqlite3_vtab **table,
                        char **message)
{
    (void)n_args, (void)args, (void)message;
    const struct table *layout = &schema_tables[((const struct feed *)feed)->table];
    char sql[256];
    int n = snprintf(sql, sizeof sql, "CREATE TABLE feed(run_id");
    for (int i = 0; i < layout->n_columns; i++)
        n += snprintf(sql + n, sizeof sql - (size_t)n, ",%s", layout->columns[i].name);
    snprintf(sql + n, sizeof sql - (size_t)n, ")");
    int code = sqlite3_declare_vtab(db, sql);
    if (code != SQLITE_OK) return code;
    struct feed_table *created = mem_zalloc(1, sizeof *created);
    if (created == NULL) return SQLITE_NOMEM;
    created->feed = feed;
    *table = &created->base;
    return SQLITE_OK;
}

static int feed_disconnect(sqlite3_vtab *table)
{
    mem_free(table);
    return SQLITE_OK;
}

static int feed_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
    struct feed_cursor *opened = mem_zalloc(1, sizeof *opened);
    if (opened == NULL) return SQLITE_NOMEM;
    opened->feed = ((struct feed_table *)table)->feed;
    *cursor = &opened->base;
    return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *cursor)
{
    mem_free(cursor);
    return SQLITE_OK;
}

/* Goes to the first record of our table at or after the position. */
static int feed_seek(struct feed_cursor *cursor)
{
    const struct feed *feed = cursor->feed;
    cursor->record = block_at(feed->block, cursor->position);
    while (cursor->record != NULL && cursor->record->table != feed->table) {
        cursor->position += cursor->record->bytes;
        cursor->record = block_at(feed->block, cursor->position);
    }
    return SQLITE_OK;
}

static int feed_rewind(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int n_values, sqlite3_value **values)
{
    (void)plan, (void)plan_text, (void)n_values, (void)values;
    struct feed_cursor *cursor = (struct feed_cursor *)base;
    cursor->position = 0;
    return feed_seek(cursor);
}

static int feed_next(sqlite3_vtab_cursor *base)
{
    struct feed_cursor *cursor = (struct feed_cursor *)base;
    cursor->position += cursor->record->bytes;
    return feed_seek(cursor);
}

static int feed_at_end(sqlite3_vtab_cursor *base)
{
    return ((struct feed_cursor *)base)->record == NULL;
}

static int feed_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    const struct feed_cursor *cursor = (struct feed_cursor *)base;
    if (column == 0) {
        sqlite3_result_int64(result, cursor->feed->run_id);
        return SQLITE_OK;
    }
    if (column > cursor->record->n_cells) return SQLITE_OK; /* NULL */
    const union cell *cell = &cursor->record->cells[column - 1];
    const struct column *of = &schema_tables[cursor->feed->table].columns[column - 1];
    switch (of->kind) {
    case COLUMN_INTEGER: sqlite3_result_int64(result, cell->integer); break;
    case COLUMN_REAL: sqlite3_result_double(result, cell->real); break; /* NaN becomes NULL */
    case COLUMN_TEXT:
        if (of->optional && cell->text.bytes == 0) break; /* NULL */
        sqlite3_result_text(result, (const char *)cursor->record + cell->text.offset, (int)cell->text.bytes,
                            SQLITE_STATIC);
        break;
    }
    return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = (sqlite3_int64)((struct feed_cursor *)base)->position;
    return SQLITE_OK;
}

static const sqlite3_module feed_module = {
    .xConnect = feed_connect,
    .xBestIndex = feed_plan,
    .xDisconnect = feed_disconnect,
    .xOpen = feed_open,
    .xClose = feed_close,
    .xFilter = feed_rewind,
    .xNext = feed_next,
    .xEof = feed_at_end,
    .xColumn = feed_column,
    .xRowid = feed_rowid,
};

/* Makes the feed known to the connection as new_TABLE. It must outlive the connection. Returns an SQLite code. */
static int feed_register(sqlite3 *db, struct feed *feed)
{
    char name[32];
    snprintf(name, sizeof name, "new_%s", schema_tables[feed->table].name);
    return sqlite3_create_module(db, name, &feed_module, feed);
}

/* --- Writer --- */

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
    if (ring_init(&writer->ring, wants_thread ? RING_MAX_BLOCKS : 1) != 0) return diag_nomem_at(diag, database->path);
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

/* Ends the thread, also after a failed run. */
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

/* Fails once the file has more pages than it may. SQLite itself would take that for a full disk. */
static void check_size(struct writer *writer)
{
    const struct database *database = writer->database;
    int64_t n_pages = 0;
    if (database->most_pages == 0) return;
    int code = database_integer(database, "PRAGMA page_count", &n_pages, storing, &writer->diag);
    if (code == 0 && n_pages > database->most_pages)
        code = diag_error(
            &writer->diag, SIM_E_STORE, database->path, "keep less (--keep metrics), or allow more (--results-limit)",
            "the results of this run are larger than --results-limit, %.3g GB", 1e-9 * database->limit_bytes);
    if (code != 0) atomic_store(&writer->code, code);
}

/* Hashes the rows of a block and inserts them, table by table. After a failure blocks are discarded. */
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
    check_size(writer);
}

static void *drain_blocks(void *context)
{
    struct writer *writer = context;
    for (struct block *block; (block = ring_take(&writer->ring)) != NULL; ring_release(&writer->ring))
        drain_block(writer, block);
    return NULL;
}

/* Signals go to the simulating thread: this one starts with all of them blocked. */
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
