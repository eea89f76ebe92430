/* A file of plans, and its table of measured rows. */
#include "analysis/calibrate/plans/plans.h"

#include "sim/core/path.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* --- The file --- */

#define ROW_OF struct plans_quantity
static const struct config_field quantity_fields[] = {
    ROW_TEXT("quantity", quantity, REQUIRED, WITHIN(1, 64), "what was measured: step_s, tflops_per_gpu, memory_gib ..."),
    ROW_TEXT("column", column, REQUIRED, WITHIN(1, 200), "of the table"),
    ROW_REAL("unit", unit, DEFAULT("1"), POSITIVE, "unit of the column, in that of the quantity"),
    {0}};
#undef ROW_OF

#define ROW_OF struct plans_word
static const struct config_field word_fields[] = {
    ROW_TEXT("key", key, REQUIRED, WITHIN(1, 200), "of the plan"),
    ROW_TEXT("is", is, REQUIRED, WITHIN(1, 200), "what stands there"),
    ROW_TEXT("means", means, REQUIRED, WITHIN(1, 4096), "value of the plan; what ends in .json lies beside this file"),
    {0}};
#undef ROW_OF

static const struct config_field column_item[] = {
    {.kind = CONFIG_TEXT, .offset = offsetof(struct plans_column, column), .help = "column of the table"}, {0}};
static const struct config_field value_item[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct plans_value, value), .help = "measured"}, {0}};
static const struct config_field text_item[] = {{.kind = CONFIG_TEXT, .help = "key=value of the plan"}, {0}};
static const char *const constant_names[] = {"sustained_compute", "step",         "expert_layer",
                                             "link_share",        "bridge_share", "overlap",
                                             "cpu_update",        "flush_rate",   NULL};
static const struct config_field constant_item[] = {
    {.kind = CONFIG_CHOICE, .choices = constant_names, .help = "of the training program, or the server"}, {0}};
static const struct config_field real_item[] = {{.kind = CONFIG_REAL, .help = "x of a row"}, {0}};

#define ROW_OF struct plans_table
static const struct config_field table_fields[] = {
    ROW_PATH("path", path, REQUIRED, "CSV file of measured rows"),
    ROW_TEXT("series", series, REQUIRED, WITHIN(1, 200), "column that names the series"),
    ROW_TEXT("name", name, REQUIRED, WITHIN(1, 200), "column that names the row"),
    ROW_MAP("set", set, REQUIRED, WITHIN(1, 100), struct plans_column, column_item, "columns of keys of the plan"),
    ROW_LIST("words", words, OPTIONAL, ANY, struct plans_word, word_fields, "words of the table, as the plan has them"),
    ROW_LIST("measured", measured, REQUIRED, WITHIN(1, 20), struct plans_quantity, quantity_fields, "measured columns"),
    {0}};
#undef ROW_OF

#define ROW_OF struct plans_given
static const struct config_field row_fields[] = {
    ROW_TEXT("series", series, REQUIRED, WITHIN(1, 200), "series of the row"),
    ROW_TEXT("name", name, OPTIONAL, WITHIN(1, 200), "of the row"),
    ROW_REAL("x", x, DEFAULT("0"), ANY, "place in the series"),
    ROW_LIST("set", set, OPTIONAL, ANY, const char *, text_item, "changes of the plan"),
    ROW_MAP("measured", measured, OPTIONAL, ANY, struct plans_value, value_item, "published numbers, by quantity"),
    {0}};
#undef ROW_OF

#define ROW_OF struct plans_fit
static const struct config_field fit_fields[] = {
    ROW_TEXT("gpu", gpu, REQUIRED, WITHIN(1, 64), "rows of this GPU"),
    ROW_LIST("constants", constants, REQUIRED, WITHIN(1, PLANS_CONSTANTS), int, constant_item, "that are fitted"),
    ROW_TEXT("series", series, OPTIONAL, WITHIN(1, 200), "rows of this series alone"),
    ROW_LIST("x", x, OPTIONAL, ANY, double, real_item, "of them those at these places"),
    ROW_TEXT("leave_out", leave_out, OPTIONAL, WITHIN(1, 64), "llm: also fit without the rows of each LLM"),
    {0}};
#undef ROW_OF

#define ROW_OF struct plans_file
static const struct config_field file_fields[] = {
    ROW_TEXT("source", source, REQUIRED, WITHIN(1, 1000), "what was measured, and by whom"),
    ROW_TEXT("obtain", obtain, DEFAULT("it stands in the figure's files"), WITHIN(1, 1000), "where to get the table"),
    ROW_PATH("plan", plan, REQUIRED, "the plan that rows change"),
    ROW_LIST("fits", fits, OPTIONAL, ANY, struct plans_fit, fit_fields, "constants, and rows that they are fitted to"),
    ROW_SECTION("table", table, OPTIONAL, table_fields, "rows in a table"),
    ROW_LIST("rows", rows, OPTIONAL, ANY, struct plans_given, row_fields, "rows in this file"),
    {0}};
#undef ROW_OF

int plans_load(const char *path, const char *data, struct arena *arena, struct plans_file *file, struct diag *diag)
{
    const struct config_families families = {.data = data};
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code == 0) code = config_bind(config, file_fields, &families, arena, file, sizeof *file, diag);
    config_destroy(config);
    if (code != 0) return code;
    file->path = arena_strdup(arena, path);
    if (file->path == NULL) return diag_nomem(diag);
    return file_hash(path, file->hash, diag);
}

const char *plans_constant_name(enum plans_constant constant)
{
    return constant_names[constant];
}

const char *plans_missing_file(const struct plans_file *file)
{
    return file->table.path != NULL && access(file->table.path, F_OK) != 0 ? file->table.path : NULL;
}

/* --- Pricing a row --- */

/* Binds the plan with its changes, and prices it. What cannot be is the row's problem, not an error. */
static int price(struct plans *plans, const struct catalog *catalog, struct plans_row *row, const char *const *sets,
                 size_t n_sets, struct diag *diag)
{
    struct config *config;
    const char *directory = path_directory(plans->arena, plans->file->path);
    if (directory == NULL) return diag_nomem(diag);
    int code = config_load(plans->file->plan, &config, diag);
    for (size_t i = 0; code == 0 && i < n_sets; i++) code = config_set_in(config, sets[i], directory, row->name, diag);
    if (code == 0)
        code = config_bind(config, training_request_fields, NULL, plans->arena, &row->request, sizeof row->request,
                           diag);
    config_destroy(config);
    if (code == 0) code = training_setup_make(catalog, &row->request, row->name, plans->arena, &row->setup, diag);
    if (code != 0) return code;
    row->llm = row->request.training.llm;
    row->problem = training_setup_price(&row->setup, row->request.gpus, false, &row->step);
    return 0;
}

static struct plans_row *new_row(struct plans *plans, struct diag *diag)
{
    plans->rows = rows_grown(plans->arena, plans->rows, plans->n, &plans->capacity, sizeof *plans->rows, diag);
    if (plans->rows == NULL) return NULL;
    struct plans_row *row = &plans->rows[plans->n++];
    *row = (struct plans_row){.x = 0.0};
    return row;
}

static int read_given(struct plans *plans, const struct catalog *catalog, struct diag *diag)
{
    const struct plans_given *given = plans->file->rows.items;
    int code = 0;
    for (size_t i = 0; code == 0 && i < plans->file->rows.n; i++) {
        struct plans_row *row = new_row(plans, diag);
        if (row == NULL) return SIM_E_NOMEM;
        row->series = given[i].series;
        row->name = given[i].name != NULL ? given[i].name
                                          : arena_printf(plans->arena, "%s, %g", given[i].series, given[i].x);
        row->x = given[i].x;
        row->measured = given[i].measured.items;
        row->n_measured = given[i].measured.n;
        if (row->name == NULL) return diag_nomem(diag);
        code = price(plans, catalog, row, given[i].set.items, given[i].set.n, diag);
    }
    return code;
}

/* --- The table --- */

enum { MOST_COLUMNS = 64 };

struct table_columns {
    struct sheet_column columns[MOST_COLUMNS];
    size_t n;
};

static int column_of(struct table_columns *columns, const char *name)
{
    if (columns->n < MOST_COLUMNS) columns->columns[columns->n] = (struct sheet_column){name, 0.0};
    return (int)columns->n++;
}

/* A word of the table as the plan has it. */
static const char *meaning(const struct plans_table *table, const char *key, const char *text)
{
    const struct plans_word *words = table->words.items;
    for (size_t i = 0; i < table->words.n; i++)
        if (strcmp(words[i].key, key) == 0 && strcmp(words[i].is, text) == 0) return words[i].means;
    return text;
}

static int read_measured(const struct plans_table *table, struct sheet *sheet, int first, struct plans_row *row)
{
    const struct plans_quantity *quantities = table->measured.items;
    struct plans_value *values = arena_alloc(sheet->arena, table->measured.n * sizeof *values);
    if (values == NULL) return diag_nomem(sheet->diag);
    row->measured = values;
    for (size_t i = 0; i < table->measured.n; i++) {
        double value;
        const int code = sheet_number(sheet, first + (int)i, 0.0, &value);
        if (code != 0) return code;
        if (isnan(value)) continue;
        values[row->n_measured++] = (struct plans_value){quantities[i].quantity, value * quantities[i].unit};
    }
    return 0;
}

/* Columns in the order: series, name, keys of the plan, measured ones. */
static int read_row(struct plans *plans, const struct catalog *catalog, struct sheet *sheet, struct diag *diag)
{
    const struct plans_table *table = &plans->file->table;
    const struct plans_column *set = table->set.items;
    const char *sets[MOST_COLUMNS];
    size_t n_sets = 0;
    struct plans_row *row = new_row(plans, diag);
    if (row == NULL) return SIM_E_NOMEM;
    row->series = sheet_text_copy(sheet, 0);
    row->name = sheet_text_copy(sheet, 1);
    if (row->series == NULL || row->name == NULL) return diag_nomem(diag);
    row->x = (double)plans->n;
    for (size_t i = 0; i < table->set.n; i++) {
        const char *text = sheet_text_copy(sheet, 2 + (int)i);
        if (text == NULL) return diag_nomem(diag);
        if (*text == 0) continue;
        sets[n_sets] = arena_printf(plans->arena, "%s=%s", set[i].key, meaning(table, set[i].key, text));
        if (sets[n_sets++] == NULL) return diag_nomem(diag);
    }
    const int code = read_measured(table, sheet, 2 + (int)table->set.n, row);
    return code == 0 ? price(plans, catalog, row, sets, n_sets, diag) : code;
}

static int read_table(struct plans *plans, const struct catalog *catalog, struct diag *diag)
{
    const struct plans_table *table = &plans->file->table;
    const struct plans_column *set = table->set.items;
    const struct plans_quantity *measured = table->measured.items;
    struct sheet sheet = {.path = table->path, .arena = plans->arena, .diag = diag, .max = 1e15, .empty = (double)NAN};
    struct table_columns columns = {.n = 0};
    column_of(&columns, table->series);
    column_of(&columns, table->name);
    for (size_t i = 0; i < table->set.n; i++) column_of(&columns, set[i].column);
    for (size_t i = 0; i < table->measured.n; i++) column_of(&columns, measured[i].column);
    if (columns.n > MOST_COLUMNS)
        return diag_error(diag, SIM_E_CONFIG, plans->file->path, NULL, "a table has at most %d columns", MOST_COLUMNS);
    int status = sheet_open(&sheet, table->path);
    if (status == 0) status = sheet_choose(&sheet, columns.columns, columns.n, columns.n);
    if (status == 0)
        status = diag_error(diag, SIM_E_DATA, table->path, "see 'table' of the file of plans", "a column is missing");
    if (status > 0) status = 0;
    while (status == 0 && (status = sheet_next(&sheet)) > 0) status = read_row(plans, catalog, &sheet, diag);
    sheet_close(&sheet);
    return status;
}

int plans_read(struct plans *plans, const struct plans_file *file, const struct catalog *catalog, struct arena *arena,
               struct diag *diag)
{
    *plans = (struct plans){.file = file, .arena = arena};
    int code = read_given(plans, catalog, diag);
    if (code == 0 && file->table.path != NULL) code = read_table(plans, catalog, diag);
    /* Rows move while the array grows. */
    for (size_t i = 0; i < plans->n; i++) {
        struct training_setup *setup = &plans->rows[i].setup;
        setup->config = &plans->rows[i].request.training;
        setup->parts = (struct training_parts){&setup->gpu, &setup->llm, &setup->calibration.kernels, &setup->plan,
                                               &setup->trainer};
    }
    return code;
}
