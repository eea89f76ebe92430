/* The rows of a board as a table of SQLite. Times are in milliseconds, as in the source; errors are shares. */
#include "analysis/calibrate/board/board.h"

#include "sim/core/database.h"

#include <math.h>
#include <string.h>

static const char create_board[] =
    "CREATE TABLE board (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  source TEXT NOT NULL,       -- file of measured rows\n"
    "  line INTEGER NOT NULL,      -- in it\n"
    "  gpu TEXT NOT NULL,          -- name in the catalog\n"
    "  model TEXT NOT NULL,        -- LLM as in the source\n"
    "  llm TEXT,                   -- of the catalog; NULL: it has none\n"
    "  engine TEXT NOT NULL,\n"
    "  version TEXT NOT NULL,      -- of the engine; empty: not stated\n"
    "  preset TEXT,                -- that predicts the row\n"
    "  format TEXT NOT NULL,       -- of products and experts, as in the source\n"
    "  mode TEXT NOT NULL,         -- agg: prompts and decoding on the same GPUs; disagg\n"
    "  origin TEXT NOT NULL,\n"
    "  prompt_tokens INTEGER,      -- nominal\n"
    "  output_tokens INTEGER,      -- nominal\n"
    "  users INTEGER,              -- concurrency\n"
    "  gpus INTEGER, tensor INTEGER, data INTEGER, expert INTEGER, -- but for gpus, of the replica that decodes\n"
    "  workers INTEGER,            -- replicas that decode, where others process the prompts\n"
    "  group_name TEXT NOT NULL,   -- GPU, LLM and engine\n"
    "  in_fit TEXT NOT NULL,       -- 'row': a fit has used the row; 'group': others of its group; 'none': neither\n"
    "  first_copy INTEGER NOT NULL, -- 0: another row is the same measurement\n"
    "  judged INTEGER NOT NULL,    -- counts in the claims\n"
    "  suspect TEXT,               -- why the measurement is not trusted\n"
    "  reason TEXT,                -- why nothing is predicted\n"
    "  note TEXT,                  -- what the prediction assumes\n"
    "  ttft_ms REAL, tpot_ms REAL, -- measured\n"
    "  predicted_ttft_ms REAL, predicted_tpot_ms REAL,\n"
    "  left_out_tpot_ms REAL,      -- predicted by constants fitted without the group\n"
    "  roofline_tpot_ms REAL,      -- by the cost kind roofline, with its defaults\n"
    "  bound_tpot_ms REAL,         -- reading weights and keys at full bandwidth\n"
    "  fast_tpot_ms REAL, slow_tpot_ms REAL, -- 90 % interval of the prediction, by errors of other groups\n"
    "  ttft_error REAL, tpot_error REAL, left_out_error REAL, roofline_error REAL -- predicted / measured - 1\n"
    ");\n";

static const char create_source[] = "CREATE TABLE board_source (hash TEXT NOT NULL, says TEXT NOT NULL);\n";

static const char insert[] =
    "INSERT INTO board VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/* Binds values one after the other. */
struct binder {
    sqlite3_stmt *statement;
    int next; /* number of the last parameter that was bound */
};

static void bind_text(struct binder *binder, const char *text)
{
    binder->next++;
    if (text != NULL) sqlite3_bind_text(binder->statement, binder->next, text, -1, SQLITE_STATIC);
}

static void bind_number(struct binder *binder, double value)
{
    binder->next++;
    if (!isfinite(value)) return;
    if (value == rint(value) && fabs(value) < 1e15)
        sqlite3_bind_int64(binder->statement, binder->next, (int64_t)value);
    else
        sqlite3_bind_double(binder->statement, binder->next, value);
}

static void bind_names(struct binder *binder, const struct board_row *row, const char *format)
{
    bind_text(binder, row->table);
    bind_number(binder, (double)row->line);
    bind_text(binder, row->gpu);
    bind_text(binder, row->model);
    bind_text(binder, row->llm);
    bind_text(binder, row->engine);
    bind_text(binder, row->version);
    bind_text(binder, row->preset);
    bind_text(binder, format);
    bind_text(binder, row->mode);
    bind_text(binder, row->origin);
}

static void bind_sizes(struct binder *binder, const struct board_row *row)
{
    const double sizes[] = {row->prompt_tokens, row->output_tokens, row->users,  row->gpus,
                            row->tensor,        row->data,          row->expert, row->workers};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) bind_number(binder, sizes[i]);
    bind_text(binder, row->group);
    bind_text(binder, board_fit_name(row->in_fit));
    bind_number(binder, row->first_copy);
    bind_number(binder, board_row_is_judged(row));
    bind_text(binder, row->suspect);
    bind_text(binder, row->reason);
    bind_text(binder, row->note);
}

static void bind_times(struct binder *binder, const struct board_row *row)
{
    const double seconds[] = {row->ttft_s,           row->tpot_s,          row->predicted_ttft_s,
                              row->predicted_tpot_s, row->left_out_tpot_s, row->roofline_tpot_s,
                              row->bound_tpot_s,     row->fast_tpot_s,     row->slow_tpot_s};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) bind_number(binder, 1e3 * seconds[i]);
    bind_number(binder, row->predicted_ttft_s / row->ttft_s - 1.0);
    bind_number(binder, row->predicted_tpot_s / row->tpot_s - 1.0);
    bind_number(binder, row->left_out_tpot_s / row->tpot_s - 1.0);
    bind_number(binder, row->roofline_tpot_s / row->tpot_s - 1.0);
}

static int insert_row(const struct board *board, size_t index, const struct database *database, sqlite3_stmt *statement,
                      struct diag *diag)
{
    const struct board_row *row = &board->rows[index];
    struct binder binder = {.statement = statement};
    const char *format = strcmp(row->gemm, row->moe) == 0 || *row->moe == 0
                             ? row->gemm
                             : arena_printf(board->arena, "%s, experts %s", row->gemm, row->moe);
    if (format == NULL) return diag_nomem(diag);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    bind_number(&binder, (double)index + 1.0);
    bind_names(&binder, row, format);
    bind_sizes(&binder, row);
    bind_times(&binder, row);
    return sqlite3_step(statement) == SQLITE_DONE ? 0 : database_error(database, "store the board", diag);
}

static int insert_rows(const struct board *board, const struct database *database, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int code = database_prepare(database, insert, &statement, "store the board", diag);
    for (size_t i = 0; code == 0 && i < board->n; i++) code = insert_row(board, i, database, statement, diag);
    sqlite3_finalize(statement);
    return code;
}

static int insert_source(const struct board *board, const struct database *database, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int code = database_prepare(database, "INSERT INTO board_source VALUES (?, ?)", &statement, "store the board",
                                diag);
    if (code != 0) return code;
    struct binder binder = {.statement = statement};
    bind_text(&binder, board->file->hash);
    bind_text(&binder, board->file->source);
    if (sqlite3_step(statement) != SQLITE_DONE) code = database_error(database, "store the board", diag);
    sqlite3_finalize(statement);
    return code;
}

int board_write(const struct board *board, const char *path, struct diag *diag)
{
    static const char *const tables[] = {create_board, create_source, NULL};
    struct database database;
    int code = database_open_anew(&database, path, tables, diag);
    if (code != 0) return code;
    code = insert_source(board, &database, diag);
    if (code == 0) code = insert_rows(board, &database, diag);
    if (code == 0) code = database_run(&database, "COMMIT", "store the board", diag);
    database_close(&database, code != 0);
    return code;
}
