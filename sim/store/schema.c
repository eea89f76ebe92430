#include "sim/store/schema.h"

#include "sim/world/rows/sink.h"

/* Row tables are filled in the order in which rows come, so the large ones are plain rowid tables without a key: a row
 * costs one append. The small ones that are looked up by name have their key as the table's order. Foreign keys are
 * declared for the reader; SQLite does not enforce them unless asked to. */
#define LEASE_SQL                                                                                                      \
    "CREATE TABLE IF NOT EXISTS lease (  -- rented GPUs; job -1: for all there were; node -1: on several\n" \
    "  run_id INTEGER NOT NULL REFERENCES run, id INTEGER NOT NULL, offer TEXT NOT NULL, kind TEXT NOT NULL,\n"              \
    "  gpu TEXT NOT NULL, use TEXT NOT NULL, job INTEGER NOT NULL, node INTEGER NOT NULL, gpus REAL NOT NULL,\n"             \
    "  start_s REAL, end_s REAL, quanta INTEGER NOT NULL, usd_per_h REAL NOT NULL, cost_uusd INTEGER NOT NULL,\n"            \
    "  fate TEXT NOT NULL\n"                                                                                             \
    ") STRICT;\n"

const char schema_create_sql[] =
    "CREATE TABLE run (\n"
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, git_commit TEXT NOT NULL,\n"
    "  scenario TEXT NOT NULL,       -- resolved JSON: `orrery run --from` repeats the run from it\n"
    "  scenario_hash TEXT NOT NULL, trace_hash TEXT, seed INTEGER NOT NULL, policies TEXT NOT NULL,\n"
    "  oracle TEXT NOT NULL,         -- knowledge no real system has, as far as the policies used it\n"
    "  extrapolated_frac REAL,       -- share of the kernels' time outside the range that the cost was fitted on\n"
    "  platform TEXT NOT NULL,\n"
    "  status TEXT NOT NULL,         -- 'open' until the last row is in; then 'done', 'interrupted', 'stalled'\n"
    "  result_hash TEXT              -- of all row tables of the run, the same on every repetition\n"
    ") STRICT;\n"
    "CREATE TABLE run_cost (\n"
    "  run_id INTEGER PRIMARY KEY REFERENCES run, started_utc TEXT NOT NULL, wall_s REAL, cpu_s REAL,\n"
    "  events INTEGER NOT NULL, peak_rss_bytes INTEGER -- NULL: unknown\n"
    ") STRICT;\n"
    "CREATE TABLE metric (\n"
    "  run_id INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, value REAL, unit TEXT NOT NULL,\n"
    "  PRIMARY KEY (run_id, name)\n"
    ") STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE request (\n"
    "  run_id INTEGER NOT NULL REFERENCES run, id INTEGER NOT NULL, service TEXT NOT NULL, arrival_s REAL,\n"
    "  prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, replica INTEGER NOT NULL,\n"
    "  queue_s REAL, ttft_s REAL, tpot_s REAL, e2e_s REAL, max_gap_s REAL,\n"
    "  preemptions INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, status TEXT NOT NULL\n"
    ") STRICT;\n"
    "CREATE TABLE job (\n"
    "  run_id INTEGER NOT NULL REFERENCES run, id INTEGER NOT NULL, submit_s REAL, start_s REAL, end_s REAL,\n"
    "  gpus INTEGER NOT NULL, gpu_s REAL, jct_s REAL, preemptions INTEGER NOT NULL, restarts INTEGER NOT NULL,\n"
    "  lost_gpu_s REAL, status TEXT NOT NULL\n"
    ") STRICT;\n"
    "CREATE TABLE sample (\n"
    "  run_id INTEGER NOT NULL REFERENCES run, series TEXT NOT NULL, entity TEXT NOT NULL, t_s REAL, value REAL\n"
    ") STRICT;\n"
    "CREATE TABLE histogram (            -- count of values with lower <= value < upper\n"
    "  run_id INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, lower REAL NOT NULL, upper REAL,\n"
    "  count INTEGER NOT NULL, PRIMARY KEY (run_id, name, lower)\n"
    ") STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE decision (             -- subject: id of a request of that service, or of a job where service is empty\n"
    "  run_id INTEGER NOT NULL REFERENCES run, t_s REAL, service TEXT NOT NULL, policy TEXT NOT NULL, action TEXT NOT NULL,\n"
    "  subject INTEGER NOT NULL, reason TEXT NOT NULL\n"
    ") STRICT;\n"
    "CREATE TABLE warning (\n"
    "  run_id INTEGER NOT NULL REFERENCES run, t_s REAL, code TEXT NOT NULL, text TEXT NOT NULL,\n"
    "  count INTEGER NOT NULL\n"
    ") STRICT;\n"
    "CREATE TABLE placement (            -- a stretch of time that a job holds GPUs of a node; node -1: of none in particular\n"
    "  run_id INTEGER NOT NULL REFERENCES run, job INTEGER NOT NULL, node INTEGER NOT NULL, gpus INTEGER NOT NULL,\n"
    "  start_s REAL, end_s REAL\n"
    ") STRICT;\n" LEASE_SQL
    "CREATE TABLE study (                -- what the runs are for, when they belong to a study\n"
    "  name TEXT NOT NULL, question TEXT NOT NULL, definition TEXT NOT NULL, hash TEXT NOT NULL\n"
    ") STRICT;\n"
    "CREATE TABLE param (                -- what the study varies: key and value as in --set\n"
    "  run_id INTEGER NOT NULL REFERENCES run, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run_id, key)\n"
    ") STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE outcome (              -- what a search found: the value of its key at a point of the other axes\n"
    "  point TEXT NOT NULL,              -- JSON object of the other axes\n"
    "  key TEXT NOT NULL, value TEXT, run_id INTEGER REFERENCES run, note TEXT NOT NULL\n"
    ") STRICT;\n";

const char schema_late_sql[] = LEASE_SQL;

const char schema_index_sql[] = "CREATE INDEX IF NOT EXISTS request_run ON request(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS job_run ON job(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS sample_run ON sample(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS decision_run ON decision(run_id);\n"
                                "CREATE INDEX IF NOT EXISTS placement_run ON placement(run_id);\n";

#define COLUMN(row, name, kind) {#name, COLUMN_##kind, offsetof(struct row, name)}

const struct table schema_tables[TABLE_COUNT] = {
    [TABLE_METRIC] = {.name = "metric",
                      .n_columns = 3,
                      .columns = {COLUMN(metric_row, name, TEXT), COLUMN(metric_row, value, REAL),
                                  COLUMN(metric_row, unit, TEXT)}},
    [TABLE_REQUEST] = {.name = "request",
                       .n_columns = 14,
                       .columns = {COLUMN(request_row, id, INTEGER), COLUMN(request_row, service, TEXT),
                                   COLUMN(request_row, arrival_s, REAL), COLUMN(request_row, prompt_tokens, INTEGER),
                                   COLUMN(request_row, output_tokens, INTEGER), COLUMN(request_row, replica, INTEGER),
                                   COLUMN(request_row, queue_s, REAL), COLUMN(request_row, ttft_s, REAL),
                                   COLUMN(request_row, tpot_s, REAL), COLUMN(request_row, e2e_s, REAL),
                                   COLUMN(request_row, max_gap_s, REAL), COLUMN(request_row, preemptions, INTEGER),
                                   COLUMN(request_row, cached_tokens, INTEGER), COLUMN(request_row, status, TEXT),
                                   {"class", COLUMN_TEXT, offsetof(struct request_row, class_name)}},
                       .has_optional = true},
    [TABLE_JOB] = {.name = "job",
                   .n_columns = 11,
                   .columns = {COLUMN(job_row, id, INTEGER), COLUMN(job_row, submit_s, REAL), COLUMN(job_row, start_s, REAL),
                               COLUMN(job_row, end_s, REAL), COLUMN(job_row, gpus, INTEGER), COLUMN(job_row, gpu_s, REAL),
                               COLUMN(job_row, jct_s, REAL), COLUMN(job_row, preemptions, INTEGER),
                               COLUMN(job_row, restarts, INTEGER), COLUMN(job_row, lost_gpu_s, REAL),
                               COLUMN(job_row, status, TEXT), COLUMN(job_row, energy_j, REAL)},
                   .has_optional = true},
    [TABLE_SAMPLE] = {.name = "sample",
                      .n_columns = 4,
                      .columns = {COLUMN(sample_row, series, TEXT), COLUMN(sample_row, entity, TEXT),
                                  COLUMN(sample_row, t_s, REAL), COLUMN(sample_row, value, REAL)}},
    [TABLE_HISTOGRAM] = {.name = "histogram",
                         .n_columns = 4,
                         .columns = {COLUMN(histogram_row, name, TEXT), COLUMN(histogram_row, lower, REAL),
                                     COLUMN(histogram_row, upper, REAL), COLUMN(histogram_row, count, INTEGER)}},
    [TABLE_DECISION] = {.name = "decision",
                        .n_columns = 6,
                        .columns = {COLUMN(decision_row, t_s, REAL), COLUMN(decision_row, service, TEXT),
                                    COLUMN(decision_row, policy, TEXT), COLUMN(decision_row, action, TEXT),
                                    COLUMN(decision_row, subject, INTEGER), COLUMN(decision_row, reason, TEXT)}},
    [TABLE_WARNING] = {.name = "warning",
                       .n_columns = 4,
                       .columns = {COLUMN(warning_row, t_s, REAL), COLUMN(warning_row, code, TEXT),
                                   COLUMN(warning_row, text, TEXT), COLUMN(warning_row, count, INTEGER)}},
    [TABLE_LEASE] = {.name = "lease",
                     .n_columns = 14,
                     .columns = {COLUMN(lease_row, id, INTEGER), COLUMN(lease_row, offer, TEXT),
                                 COLUMN(lease_row, kind, TEXT), COLUMN(lease_row, gpu, TEXT),
                                 COLUMN(lease_row, use, TEXT), COLUMN(lease_row, job, INTEGER),
                                 COLUMN(lease_row, node, INTEGER), COLUMN(lease_row, gpus, REAL),
                                 COLUMN(lease_row, start_s, REAL), COLUMN(lease_row, end_s, REAL),
                                 COLUMN(lease_row, quanta, INTEGER), COLUMN(lease_row, usd_per_h, REAL),
                                 COLUMN(lease_row, cost_uusd, INTEGER), COLUMN(lease_row, fate, TEXT)},
                     .is_late = true},
    [TABLE_PLACEMENT] = {.name = "placement",
                         .n_columns = 5,
                         .columns = {COLUMN(placement_row, job, INTEGER), COLUMN(placement_row, node, INTEGER),
                                     COLUMN(placement_row, gpus, INTEGER), COLUMN(placement_row, start_s, REAL),
                                     COLUMN(placement_row, end_s, REAL)}},
};
