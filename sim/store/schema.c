#include "sim/store/schema.h"

#include "sim/world/rows/sink.h"

#include <stddef.h>

/* Row tables are filled in the order of the rows. Large ones are plain rowid tables without a key: a row costs one
 * append. Small ones that are looked up by name are ordered by their key. Foreign keys are declared for the reader;
 * SQLite does not enforce them unless asked to. */
#define APPENDED "\n) STRICT"
#define KEYED_BY(columns) ",\n  PRIMARY KEY (run_id, " columns ")\n) STRICT, WITHOUT ROWID"
#define DEFINE(column, type, text) ",\n  " #column " " type " /* " text " */"

const char *const schema_create_sql[] = {
    "CREATE TABLE run (\n"
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, git_commit TEXT NOT NULL,\n"
    "  scenario TEXT NOT NULL,       -- resolved JSON: `orrery run --from` repeats the run from it\n"
    "  scenario_hash TEXT NOT NULL, trace_hash TEXT, seed INTEGER NOT NULL, policies TEXT NOT NULL,\n"
    "  oracle TEXT NOT NULL,         -- knowledge no real system has, as far as the policies used it\n"
    "  extrapolated_frac REAL,       -- share of the kernels' time outside the range that the cost was fitted on\n"
    "  platform TEXT NOT NULL,\n"
    "  status TEXT NOT NULL,         -- 'open' until the last row is in; then 'done', 'interrupted', 'stalled'\n"
    "  result_hash TEXT              -- of all row tables of the run, the same on every repetition\n"
    ") STRICT",
    "CREATE TABLE run_cost (\n"
    "  run_id INTEGER PRIMARY KEY REFERENCES run, started_utc TEXT NOT NULL, wall_s REAL, cpu_s REAL,\n"
    "  events INTEGER NOT NULL, peak_rss_bytes INTEGER -- NULL: unknown\n"
    ") STRICT",
#define TABLE(name, NAME, keep, text)                                                                                  \
    "CREATE TABLE " #name " ( /* " text " */\n  run_id INTEGER NOT NULL REFERENCES run"
#define INTEGER(column, text) DEFINE(column, "INTEGER NOT NULL", text)
#define REAL(column, text) DEFINE(column, "REAL", text)
#define TEXT(column, text) DEFINE(column, "TEXT NOT NULL", text)
#define OPTIONAL(kind, column, text) DEFINE(column, #kind, text)
#define END(storage) storage,
#include "sim/world/rows/tables.inc"
    "CREATE TABLE run_interval (         -- what the intervals of a run's metrics rest on; no row: it has none\n"
    "  run_id INTEGER PRIMARY KEY REFERENCES run,\n"
    "  share REAL NOT NULL,              -- of measured runs whose TPOT lies inside\n"
    "  basis TEXT NOT NULL,              -- measured runs behind the error of the cost models\n"
    "  systems TEXT NOT NULL             -- LLM, GPU and engine whose error it is\n"
    ") STRICT",
    "CREATE TABLE metric_interval (      -- ends of a metric by the error of the cost models, where they differ\n"
    "  run_id INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, low REAL NOT NULL, high REAL NOT NULL,\n"
    "  fast REAL NOT NULL, slow REAL NOT NULL, -- with fast and with slow times\n"
    "  PRIMARY KEY (run_id, name)\n"
    ") STRICT, WITHOUT ROWID",
    "CREATE TABLE metric_recorded (      -- at a point's first seed: of its trace without replicate\n"
    "  run_id INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, value REAL NOT NULL,\n"
    "  PRIMARY KEY (run_id, name)\n"
    ") STRICT, WITHOUT ROWID",
    "CREATE TABLE study (                -- what the runs are for, when they belong to a study\n"
    "  name TEXT NOT NULL, question TEXT NOT NULL, definition TEXT NOT NULL, hash TEXT NOT NULL\n"
    ") STRICT",
    "CREATE TABLE param (                -- what the study varies: key and value as in --set\n"
    "  run_id INTEGER NOT NULL REFERENCES run, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run_id, key)\n"
    ") STRICT, WITHOUT ROWID",
    "CREATE TABLE outcome (              -- what a search found: the value of its key at a point of the other axes\n"
    "  point TEXT NOT NULL,              -- JSON object of the other axes\n"
    "  key TEXT NOT NULL, value TEXT, run_id INTEGER REFERENCES run, note TEXT NOT NULL\n"
    ") STRICT",
    NULL};

const char schema_index_sql[] = "CREATE INDEX IF NOT EXISTS request_run ON request(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS job_run ON job(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS sample_run ON sample(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS decision_run ON decision(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS placement_run ON placement(run_id);\n";

/* The columns of each table; their number is checked against the struct. */
#define TABLE(name, NAME, keep, text) static const struct column name##_columns[] = {
#define INTEGER(column, text) {#column, COLUMN_INTEGER, false},
#define REAL(column, text) {#column, COLUMN_REAL, false},
#define TEXT(column, text) {#column, COLUMN_TEXT, false},
#define OPTIONAL(kind, column, text) {#column, COLUMN_##kind, true},
#define END(storage) };
#include "sim/world/rows/tables.inc"

#define N_COLUMNS(name) (sizeof name##_columns / sizeof *name##_columns)
#define TABLE(name, NAME, keep, text)                                                                                  \
    _Static_assert(sizeof(struct name##_row) == N_COLUMNS(name) * COLUMN_BYTES, "a member has another size");
#include "sim/world/rows/tables.inc"

const struct table schema_tables[TABLE_COUNT] = {
#define TABLE(name, NAME, keep, text) [TABLE_##NAME] = {#name, (int)N_COLUMNS(name), name##_columns},
#include "sim/world/rows/tables.inc"
};
