#include "analysis/calibrate/exchanges/exchanges.h"

#include "analysis/calibrate/sheet.h"
#include "sim/catalog/calibration.h"
#include "sim/core/database.h"

#include <math.h>

/* --- The file --- */

#define RATE(key, member, what) ROW_QUANTITY(key, member, UNIT_BYTES_PER_S, REQUIRED, WITHIN(1e6, 1e15), what)

#define ROW_OF struct exchanges_row
static const struct config_field row_fields[] = {
    ROW_INT("version", version, REQUIRED, WITHIN(1, 2), "of DeepEP"),
    ROW_TEXT("gpu", gpu, REQUIRED, WITHIN(1, 200), "of the catalog"),
    ROW_REAL("nodes", nodes, REQUIRED, WITHIN(1, 1024), "that the experts lie on"),
    ROW_REAL("tokens", tokens, REQUIRED, WITHIN(1, 1e6), "of each GPU"),
    ROW_REAL("token_nodes", token_nodes, DEFAULT("0"), WITHIN(0, 1024), "most nodes with experts of a token; 0: all"),
    ROW_REAL("sms", sms, DEFAULT("0"), WITHIN(0, 1024), "that the kernels take; 0: low-latency kernels"),
    RATE("network", network_bytes_per_s, "adapter of each GPU, per direction"),
    RATE("dispatch", dispatch_bytes_per_s, "published bandwidth"),
    RATE("combine", combine_bytes_per_s, "published bandwidth"),
    {0}};
#undef ROW_OF

#define ROW_OF struct exchanges_file
static const struct config_field file_fields[] = {
    ROW_TEXT("source", source, REQUIRED, WITHIN(1, 1000), "who published the rows"),
    ROW_REAL("hidden", hidden, REQUIRED, WITHIN(128, 1e6), "numbers of a hidden state"),
    ROW_REAL("chosen", chosen, REQUIRED, WITHIN(1, 1024), "experts of a token"),
    ROW_REAL("experts", experts, REQUIRED, WITHIN(1, 1e5), "of the layer"),
    ROW_REAL("gpus_per_node", gpus_per_node, REQUIRED, WITHIN(1, 1024), "of all rows"),
    ROW_LIST("rows", rows, REQUIRED, WITHIN(1, 10000), struct exchanges_row, row_fields, "published bandwidths"),
    {0}};
#undef ROW_OF

int exchanges_load(const char *path, struct arena *arena, struct exchanges_file *file, struct diag *diag)
{
    static const struct config_families families = {0};
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code == 0) code = config_bind(config, file_fields, &families, arena, file, sizeof *file, diag);
    config_destroy(config);
    if (code != 0) return code;
    file->path = path;
    return file_hash(path, file->hash, diag);
}

/* --- Predictions --- */

int exchanges_predict(const struct exchanges_file *file, const struct exchanges_row *row, bool combines,
                      enum exchanges_law law, const struct catalog *catalog, struct arena *arena, double *bytes_per_s,
                      struct diag *diag)
{
    static const enum kernel_class classes[2][2] = {{KERNEL_DISPATCH, KERNEL_COMBINE},
                                                    {KERNEL_LOW_DISPATCH, KERNEL_LOW_COMBINE}};
    const struct calibration_request request = {.gpu = row->gpu, .kernels = "isolated", .collectives = "isolated",
                                                .where = file->path, .sets_where = file->path};
    struct gpu_spec gpu;
    struct calibration calibration;
    int code = catalog_gpu(catalog, row->gpu, file->path, arena, &gpu, diag);
    if (code == 0) code = calibration_read(catalog, &request, arena, &calibration, diag);
    if (code != 0) return code;
    const bool is_low = row->sms == 0.0;
    const struct exchange_shape shape = {
        .tokens = row->tokens, .hidden = file->hidden, .chosen = file->chosen, .experts = file->experts,
        .groups = row->token_nodes, .gpus = file->gpus_per_node * row->nodes, .nodes = row->nodes, .sms = row->sms,
        .low_latency = is_low, .combines = combines, .sent = combines ? FORMAT_BF16 : FORMAT_FP8,
        .link_bytes_per_s = gpu_link_bytes_per_s(&gpu, (int64_t)file->gpus_per_node),
        .network_bytes_per_s = row->network_bytes_per_s};
    const struct exchange_params *params = &calibration.kernels.params[classes[is_low][combines]].exchange;
    const struct exchange_traffic traffic = exchange_traffic_of(&shape);
    const double copies = row->nodes > 1.0 ? traffic.node_copies : traffic.copies;
    const struct kernel_time time = law == EXCHANGES_STATED ? exchange_stated_time(params, &shape)
                                                            : exchange_time(params, &gpu, &shape);
    *bytes_per_s = copies * exchange_token_bytes(&shape) / time.seconds;
    return 0;
}

/* --- Results --- */

static const char *const tables[] = {
    "CREATE TABLE exchange_source (hash TEXT NOT NULL, says TEXT NOT NULL)",
    "CREATE TABLE exchange (\n"
    "  version INTEGER NOT NULL, -- of DeepEP\n"
    "  kernels TEXT NOT NULL,    -- 'normal' or 'low-latency'\n"
    "  op TEXT NOT NULL,         -- 'dispatch' or 'combine'\n"
    "  gpu TEXT NOT NULL,        -- name in the catalog\n"
    "  nodes INTEGER NOT NULL, gpus INTEGER NOT NULL,\n"
    "  tokens INTEGER NOT NULL,  -- of each GPU\n"
    "  sms INTEGER NOT NULL,     -- that the kernels take; 0: low-latency kernels\n"
    "  law TEXT NOT NULL,        -- 'scenarios': as runs have it; 'stated': by the rates of version 2's authors\n"
    "  published_gb_per_s REAL NOT NULL, predicted_gb_per_s REAL NOT NULL,\n"
    "  error REAL NOT NULL       -- predicted / published - 1\n"
    ")",
    NULL};

static const char task[] = "store the exchanges";

static int end(const struct database *database, sqlite3_stmt *statement, struct diag *diag)
{
    const int code = sqlite3_step(statement) == SQLITE_DONE ? 0 : database_error(database, task, diag);
    sqlite3_finalize(statement);
    return code;
}

static int insert_source(const struct database *database, const struct exchanges_file *file, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    const int code = database_prepare(database, "INSERT INTO exchange_source VALUES (?, ?)", &statement, task, diag);
    if (code != 0) return code;
    sqlite3_bind_text(statement, 1, file->hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, file->source, -1, SQLITE_STATIC);
    return end(database, statement, diag);
}

static int insert_row(const struct database *database, const struct exchanges_file *file,
                      const struct exchanges_row *row, bool combines, enum exchanges_law law, double bytes_per_s,
                      struct diag *diag)
{
    static const char *const laws[N_EXCHANGES_LAWS] = {"scenarios", "stated"};
    const double published = combines ? row->combine_bytes_per_s : row->dispatch_bytes_per_s;
    const double sizes[] = {row->nodes, file->gpus_per_node * row->nodes, row->tokens, row->sms};
    const char *texts[] = {row->sms > 0.0 ? "normal" : "low-latency", combines ? "combine" : "dispatch", row->gpu};
    sqlite3_stmt *statement = NULL;
    const int code = database_prepare(database, "INSERT INTO exchange VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", &statement,
                                      task, diag);
    if (code != 0) return code;
    sqlite3_bind_int64(statement, 1, row->version);
    for (int i = 0; i < 3; i++) sqlite3_bind_text(statement, 2 + i, texts[i], -1, SQLITE_STATIC);
    for (int i = 0; i < 4; i++) sqlite3_bind_int64(statement, 5 + i, (int64_t)sizes[i]);
    sqlite3_bind_text(statement, 9, laws[law], -1, SQLITE_STATIC);
    sqlite3_bind_double(statement, 10, 1e-9 * published);
    sqlite3_bind_double(statement, 11, 1e-9 * bytes_per_s);
    sqlite3_bind_double(statement, 12, bytes_per_s / published - 1.0);
    return end(database, statement, diag);
}

static int insert_rows(const struct database *database, const struct exchanges_file *file,
                       const struct catalog *catalog, struct arena *arena, struct diag *diag)
{
    const struct exchanges_row *rows = file->rows.items;
    int code = 0;
    for (size_t i = 0; i < file->rows.n; i++)
        for (int law = 0; law < (rows[i].version == 2 ? N_EXCHANGES_LAWS : 1); law++)
            for (int combines = 0; code == 0 && combines < 2; combines++) {
                double bytes_per_s;
                code = exchanges_predict(file, &rows[i], combines, (enum exchanges_law)law, catalog, arena,
                                         &bytes_per_s, diag);
                if (code == 0)
                    code = insert_row(database, file, &rows[i], combines, (enum exchanges_law)law, bytes_per_s, diag);
            }
    return code;
}

int exchanges_write(const struct exchanges_file *file, const struct catalog *catalog, struct arena *arena,
                    const char *path, struct diag *diag)
{
    struct database database;
    int code = database_open_anew(&database, path, tables, diag);
    if (code != 0) return code;
    code = insert_source(&database, file, diag);
    if (code == 0) code = insert_rows(&database, file, catalog, arena, diag);
    if (code == 0) code = database_run(&database, "COMMIT", task, diag);
    database_close(&database, code != 0);
    return code;
}
