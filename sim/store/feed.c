#include "sim/store/feed.h"

#include "sim/core/mem.h"

#include <stdio.h>

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
    switch (schema_tables[cursor->feed->table].columns[column - 1].kind) {
    case COLUMN_INTEGER: sqlite3_result_int64(result, cell->integer); break;
    case COLUMN_REAL: sqlite3_result_double(result, cell->real); break; /* NaN becomes NULL */
    case COLUMN_TEXT:
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

int feed_register(sqlite3 *db, struct feed *feed)
{
    char name[32];
    snprintf(name, sizeof name, "new_%s", schema_tables[feed->table].name);
    return sqlite3_create_module(db, name, &feed_module, feed);
}
