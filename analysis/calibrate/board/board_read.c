/* A board's file, and its tables of measured rows. */
#include "analysis/calibrate/board/board_names.h"

#include "sim/core/path.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* --- The board's file --- */

static const struct config_field table_item[] = {{.kind = CONFIG_PATH, .offset = offsetof(struct board_table, path)},
                                                 {0}};

#define ROW_OF struct board_lengths
static const struct config_field lengths_fields[] = {
    ROW_TEXT("origin", origin, REQUIRED, WITHIN(1, 200), "start of the origin of these rows"),
    ROW_REAL("mean", mean_frac, REQUIRED, WITHIN(0.01, 1), "mean length as a share of the nominal one"),
    {0}};
#undef ROW_OF

/* The rows that an entry is about. */
#define WHICH_FIELDS                                                                                                   \
    ROW_TEXT("gpu", which.gpu, OPTIONAL, WITHIN(1, 200), "of the catalog"),                                            \
    ROW_TEXT("llm", which.llm, OPTIONAL, WITHIN(1, 200), "of the catalog"),                                            \
    ROW_TEXT("engine", which.engine, OPTIONAL, WITHIN(1, 200), "as in the table"),                                     \
    ROW_TEXT("version", which.version, OPTIONAL, WITHIN(1, 200), "of the engine"),                                     \
    ROW_TEXT("format", which.format, OPTIONAL, WITHIN(1, 200), "of matrix products, as in the table"),                 \
    ROW_REAL("tensor", which.tensor, DEFAULT("0"), WITHIN(0, 1024), "GPUs that share a layer; 0: any"),                \
    ROW_TEXT("mode", which.mode, OPTIONAL, WITHIN(1, 200), "agg or disagg"),                                           \
    ROW_TEXT("origin", which.origin, OPTIONAL, WITHIN(1, 200), "start of the row's origin"),                           \
    ROW_TEXT("measured", which.measured, OPTIONAL, WITHIN(4, 10), "start of the date of the measurement")

#define ROW_OF struct board_suspect
static const struct config_field suspect_fields[] = {
    WHICH_FIELDS,
    ROW_TEXT("because", because, REQUIRED, WITHIN(1, 1000), "why these rows are not trusted"),
    {0}};
#undef ROW_OF

#define ROW_OF struct board_run
static const struct config_field run_fields[] = {
    WHICH_FIELDS,
    ROW_TEXT("kv", kv, OPTIONAL, WITHIN(1, 200), "number format of keys and values"),
    ROW_TEXT("experts", experts, OPTIONAL, WITHIN(1, 64), "set of the calibration with its kernels of experts"),
    ROW_REAL("memory", memory_frac, DEFAULT("0"), WITHIN(0, 1),
             "share of the GPU's memory for weights, keys and values; 0: the default of services"),
    ROW_BOOL("all_to_all", all_to_all, DEFAULT("false"),
             "whether tokens travel to experts on GPUs of their own, instead of being gathered by all GPUs"),
    ROW_TEXT("source", source, REQUIRED, WITHIN(1, 1000), "who says so"),
    {0}};
#undef ROW_OF

#define ROW_OF struct board_lack
static const struct config_field lack_fields[] = {
    ROW_TEXT("llm", llm, REQUIRED, WITHIN(1, 200), "its name in the tables"),
    ROW_TEXT("because", because, REQUIRED, WITHIN(1, 1000), "which operator no law describes"),
    {0}};
#undef ROW_OF

#define ROW_OF struct board_file
static const struct config_field board_fields[] = {
    ROW_TEXT("source", source, REQUIRED, WITHIN(1, 1000), "what was measured, and by whom"),
    ROW_TEXT("obtain", obtain, REQUIRED, WITHIN(1, 1000), "where to get the tables, for whoever lacks them"),
    ROW_MAP("tables", tables, REQUIRED, WITHIN(1, 100), struct board_table, table_item,
            "files of measured rows, by GPU of the catalog"),
    ROW_LIST("drawn_lengths", lengths, OPTIONAL, ANY, struct board_lengths, lengths_fields,
             "rows whose lengths are drawn, and not the nominal ones"),
    ROW_LIST("suspects", suspects, OPTIONAL, ANY, struct board_suspect, suspect_fields,
             "rows that are shown and not judged"),
    ROW_LIST("runs", runs, OPTIONAL, ANY, struct board_run, run_fields,
             "how rows ran, where their source says what the table does not"),
    ROW_LIST("lacks", lacks, OPTIONAL, ANY, struct board_lack, lack_fields, "LLMs that no law describes"),
    {0}};
#undef ROW_OF

/* Where the i-th entry of a list stands. NULL when out of memory. */
static const char *entry_where(const struct config *config, struct arena *arena, const char *list, size_t i)
{
    const char *dotted = arena_printf(arena, "%s.%zu", list, i);
    return dotted != NULL ? arena_strdup(arena, config_where(config, dotted)) : NULL;
}

/* Sets the places of all entries. */
static int set_places(const struct config *config, struct arena *arena, struct board_file *file, struct diag *diag)
{
    const struct {
        const char *name;
        const struct config_list *list;
        size_t offset;
    } lists[] = {{"drawn_lengths", &file->lengths, offsetof(struct board_lengths, where)},
                 {"suspects", &file->suspects, offsetof(struct board_suspect, which.where)},
                 {"runs", &file->runs, offsetof(struct board_run, which.where)},
                 {"lacks", &file->lacks, offsetof(struct board_lack, where)}};
    static const size_t bytes[] = {sizeof(struct board_lengths), sizeof(struct board_suspect), sizeof(struct board_run),
                                   sizeof(struct board_lack)};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k].list->n; i++) {
            const char *where = entry_where(config, arena, lists[k].name, i);
            if (where == NULL) return diag_nomem(diag);
            memcpy((char *)lists[k].list->items + i * bytes[k] + lists[k].offset, &where, sizeof where);
        }
    return 0;
}

static int check_formats(const struct board_file *file, struct diag *diag)
{
    const struct board_run *runs = file->runs.items;
    enum number_format format;
    for (size_t i = 0; i < file->runs.n; i++)
        if (runs[i].kv != NULL && !board_format(runs[i].kv, &format))
            return diag_error(diag, SIM_E_CONFIG, runs[i].which.where, "such as \"fp8\" or \"bf16\"",
                              "there is no number format '%s'", runs[i].kv);
    return 0;
}

int board_load(const char *path, const char *data, struct arena *arena, struct board_file *file, struct diag *diag)
{
    const struct config_families families = {.data = data};
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code == 0) code = config_bind(config, board_fields, &families, arena, file, sizeof *file, diag);
    if (code == 0) code = set_places(config, arena, file, diag);
    if (code == 0) code = check_formats(file, diag);
    config_destroy(config);
    if (code != 0) return code;
    file->path = path;
    return file_hash(path, file->hash, diag);
}

const char *board_missing_file(const struct board_file *file)
{
    const struct board_table *tables = file->tables.items;
    for (size_t i = 0; i < file->tables.n; i++)
        if (access(tables[i].path, F_OK) != 0) return tables[i].path;
    return NULL;
}

/* --- Tables --- */

/* Texts first, then numbers, and a text that a table may lack. */
enum {
    MODEL, ENGINE, VERSION, GEMM, MOE, MODE, ORIGIN, SIZES_NOTE, FIRST_COPY, WIP, PROMPT, N_TEXTS = PROMPT, OUTPUT,
    USERS, BATCH, GPUS, TENSOR, DATA, EXPERT, PIPELINE, TTFT, TPOT, N_REQUIRED,
    WORKERS = N_REQUIRED, DECODE_TENSOR, DECODE_DATA, DECODE_EXPERT, DECODE_PIPELINE, N_NUMBERS,
    MEASURED = N_NUMBERS, N_COLUMNS
};

static const struct sheet_column columns[N_COLUMNS] = {
    [MODEL] = {"model_path", 0.0}, [ENGINE] = {"backend", 0.0}, [VERSION] = {"backend_version", 0.0},
    [GEMM] = {"gemm_quant_mode", 0.0}, [MOE] = {"moe_quant_mode", 0.0}, [MODE] = {"mode", 0.0},
    [ORIGIN] = {"origin", 0.0}, [SIZES_NOTE] = {"sizes_note", 0.0}, [FIRST_COPY] = {"first_copy", 0.0},
    [WIP] = {"wip", 0.0}, [PROMPT] = {"isl", 1.0}, [OUTPUT] = {"osl", 2.0}, [USERS] = {"concurrency", 1.0},
    [BATCH] = {"batch_size", 0.0},
    [GPUS] = {"gpus_read", 1.0}, [TENSOR] = {"tp_read", 1.0}, [DATA] = {"dp_read", 1.0}, [EXPERT] = {"ep_read", 1.0},
    [PIPELINE] = {"pp_size", 0.0}, [TTFT] = {"silicon_ttft_ms", 0.0}, [TPOT] = {"silicon_tpot_ms", 0.0},
    [WORKERS] = {"decode_num_workers", 1.0}, [DECODE_TENSOR] = {"decode_tp_size", 1.0},
    [DECODE_DATA] = {"decode_attention_dp_size", 1.0}, [DECODE_EXPERT] = {"decode_moe_ep_size", 0.0},
    [DECODE_PIPELINE] = {"decode_pp_size", 0.0}, [MEASURED] = {"measured", 0.0}};

static const double max_number = 1e9, ms = 1e-3;

/* Copies the texts of the current row. Returns false when out of memory. */
static bool read_texts(const struct sheet *sheet, const char *texts[N_TEXTS])
{
    for (int i = 0; i < N_TEXTS; i++) {
        texts[i] = sheet_text_copy(sheet, i);
        if (texts[i] == NULL) return false;
    }
    return true;
}

static int add_row(struct board *board, struct sheet *sheet, const struct board_table *table)
{
    const char *texts[N_TEXTS];
    double values[N_NUMBERS];
    const int code = sheet_numbers(sheet, N_TEXTS, sheet_has(sheet, WORKERS) ? N_NUMBERS : N_REQUIRED, values);
    if (code != 0) return code;
    if (!sheet_has(sheet, WORKERS)) values[WORKERS] = (double)NAN;
    board->rows = rows_grown(board->arena, board->rows, board->n, &board->capacity, sizeof *board->rows, sheet->diag);
    if (board->rows == NULL) return SIM_E_NOMEM;
    const char *measured = sheet_text_copy(sheet, MEASURED);
    if (measured == NULL || !read_texts(sheet, texts)) return diag_nomem_at(sheet->diag, sheet->path);
    board->rows[board->n++] = (struct board_row){
        .table = path_name(table->path), .line = (uint32_t)csv_line(sheet->csv), .gpu = table->gpu,
        .model = texts[MODEL], .engine = texts[ENGINE], .version = texts[VERSION], .gemm = texts[GEMM],
        .moe = texts[MOE], .mode = texts[MODE], .origin = texts[ORIGIN], .sizes_note = texts[SIZES_NOTE],
        .measured = measured,
        .first_copy = strcmp(texts[FIRST_COPY], "1") == 0, .in_progress = strcmp(texts[WIP], "True") == 0,
        .prompt_tokens = values[PROMPT], .output_tokens = values[OUTPUT], .users = values[USERS],
        .batch = values[BATCH],
        .gpus = values[GPUS], .tensor = values[TENSOR], .data = values[DATA], .expert = values[EXPERT],
        .pipeline = values[PIPELINE], .workers = values[WORKERS], .ttft_s = ms * values[TTFT],
        .tpot_s = ms * values[TPOT]};
    struct board_row *row = &board->rows[board->n - 1];
    if (isnan(row->workers) || strcmp(row->mode, "agg") == 0) return 0;
    row->tensor = values[DECODE_TENSOR];
    row->data = values[DECODE_DATA];
    row->expert = fmax(values[DECODE_EXPERT], 1.0);
    row->pipeline = values[DECODE_PIPELINE];
    return 0;
}

static int read_rows(struct board *board, struct sheet *sheet, const struct board_table *table)
{
    int status = sheet_choose(sheet, columns, N_COLUMNS, N_REQUIRED);
    if (status == 0)
        return diag_error(sheet->diag, SIM_E_DATA, sheet->path, "see the columns in configs/figures/board/README.md",
                          "this is no table of a board: a column is missing");
    if (status > 0) status = 0;
    while (status == 0 && (status = sheet_next(sheet)) > 0) status = add_row(board, sheet, table);
    return status;
}

static int read_table(struct board *board, const struct board_table *table, struct diag *diag)
{
    struct sheet sheet = {.path = table->path, .arena = board->arena, .diag = diag, .max = max_number,
                          .empty = (double)NAN};
    if (access(table->path, F_OK) != 0)
        return diag_error(diag, SIM_E_IO, table->path, board->file->obtain, "the board's table of %s is not there",
                          table->gpu);
    int code = sheet_open(&sheet, table->path);
    if (code == 0) code = read_rows(board, &sheet, table);
    sheet_close(&sheet);
    return code;
}

int board_read(struct board *board, const struct board_file *file, const struct catalog *catalog, struct arena *arena,
               struct diag *diag)
{
    *board = (struct board){.file = file, .catalog = catalog, .arena = arena};
    const struct board_table *tables = file->tables.items;
    int code = 0;
    for (size_t i = 0; code == 0 && i < file->tables.n; i++) code = read_table(board, &tables[i], diag);
    return code;
}
