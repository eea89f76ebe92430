#include "analysis/calibrate/power/power_data.h"

#include "analysis/calibrate/file_hash.h"
#include "analysis/calibrate/power/power_format.h"
#include "sim/core/number.h"

#include <string.h>

enum { FIRST_ROWS = 256, MAX_QUOTE_CHARS = 60 };

static const double max_number = 1e18;

static struct csv_field field_at(const struct power_reader *reader, size_t column)
{
    const size_t at = (size_t)reader->positions[column];
    return at < csv_n_fields(reader->csv) ? csv_fields(reader->csv)[at] : (struct csv_field){"", 0};
}

const char *power_text(const struct power_reader *reader, size_t column)
{
    const struct csv_field field = field_at(reader, column);
    return arena_printf(reader->arena, "%.*s", (int)field.n_chars, field.chars);
}

int power_number(struct power_reader *reader, size_t column, double min, double *value)
{
    const struct csv_field field = field_at(reader, column);
    *value = 0.0;
    if (field.n_chars == 0) return 0;
    if (number_f64(field.chars, field.n_chars, value) == NUMBER_OK && *value >= min && *value <= max_number) return 0;
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->csv, (size_t)reader->positions[column], 0, where);
    return diag_error(reader->diag, SIM_E_DATA, where, NULL, "'%s' must be a number from %g to %g, got '%.*s'",
                      reader->format->columns[column], min, max_number,
                      field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS, field.chars);
}

/* Room for one more of n items. */
static int grow(struct power_reader *reader, void **items, size_t n, size_t *capacity, size_t item_bytes)
{
    if (n < *capacity) return 0;
    const size_t wider = *capacity > 0 ? 2 * *capacity : FIRST_ROWS;
    void *grown = arena_alloc(reader->arena, wider * item_bytes);
    if (grown == NULL) return diag_error(reader->diag, SIM_E_NOMEM, reader->data->path, NULL, "out of memory");
    if (n > 0) memcpy(grown, *items, n * item_bytes);
    *items = grown;
    *capacity = wider;
    return 0;
}

int power_add(struct power_reader *reader, const struct power_row *row)
{
    struct power_data *data = reader->data;
    void *rows = data->rows;
    const int code = grow(reader, &rows, data->n_rows, &reader->row_capacity, sizeof *row);
    data->rows = rows;
    if (code == 0) data->rows[data->n_rows++] = *row;
    return code;
}

int power_add_cap(struct power_reader *reader, const struct power_cap_row *row)
{
    struct power_data *data = reader->data;
    void *caps = data->caps;
    const int code = grow(reader, &caps, data->n_caps, &reader->cap_capacity, sizeof *row);
    data->caps = caps;
    if (code == 0) data->caps[data->n_caps++] = *row;
    return code;
}

int power_drop(struct power_reader *reader, const char *reason)
{
    struct power_data *data = reader->data;
    size_t i = 0;
    while (i < data->n_dropped && strcmp(data->dropped[i].reason, reason) != 0) i++;
    if (i == POWER_MAX_REASONS) i--;
    if (i == data->n_dropped) data->dropped[data->n_dropped++] = (struct power_dropped){.reason = reason};
    data->dropped[i].rows++;
    return 0;
}

int power_llm(struct power_reader *reader, const char *name, struct llm_spec *llm)
{
    return catalog_llm(reader->catalog, name, reader->data->path, reader->arena, llm, reader->diag);
}

struct power_load power_load_of(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t gpus,
                                const struct iteration_work *work, double seconds)
{
    const double head = llm_head_flop(llm), matrices = llm_flop_per_token(llm, 0) - head;
    const double pair = llm_flop_per_token(llm, 1) - llm_flop_per_token(llm, 0);
    const double tokens = (double)(work->prefill_tokens + work->decode_sequences);
    const double rows = (double)(work->prefill_sequences + work->decode_sequences);
    const double pairs = 0.5 * (work->prefill_pairs + (double)work->prefill_tokens) +
                         (double)work->decode_context_tokens;
    const double context = (double)(work->prefill_context_tokens + work->prefill_tokens + work->decode_context_tokens);
    const double flop = tokens * matrices + rows * head + pairs * pair;
    const double bytes = llm_read_bytes(llm, work->prefill_tokens + work->decode_sequences) +
                         context * llm_kv_bytes_per_token(llm);
    const double gpu_s = (double)gpus * seconds;
    return (struct power_load){1.0, flop / (gpu_s * gpu_peak_flop_per_s(gpu, llm->compute)),
                               bytes / (gpu_s * gpu->memory_bytes_per_s)};
}

/* --- The file --- */

static int find_column(const struct csv *header, const char *name)
{
    for (size_t i = 0; i < csv_n_fields(header); i++) {
        const struct csv_field *field = &csv_fields(header)[i];
        if (field->n_chars == strlen(name) && memcmp(field->chars, name, field->n_chars) == 0) return (int)i;
    }
    return -1;
}

static bool recognise(struct power_reader *reader, const struct power_format *format)
{
    reader->format = format;
    for (size_t i = 0; i < format->n_columns; i++)
        if ((reader->positions[i] = find_column(reader->csv, format->columns[i])) < 0) return false;
    reader->data->format = format->name;
    return true;
}

static int choose_format(struct power_reader *reader)
{
#define FORMAT_ADDRESS(name) &power_##name,
    static const struct power_format *const formats[] = {POWER_FORMATS(FORMAT_ADDRESS)};
#undef FORMAT_ADDRESS
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (recognise(reader, formats[i])) return 0;
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->csv, 0, 0, where);
    return diag_error(reader->diag, SIM_E_DATA, where, "`orrery calibrate --help` lists the formats",
                      "no known table of measured power has these columns");
}

static int read_table(struct power_reader *reader)
{
    int status = csv_next(reader->csv, reader->diag);
    if (status < 0) return status;
    if (status == 0) return diag_error(reader->diag, SIM_E_DATA, reader->data->path, NULL, "the file is empty");
    status = choose_format(reader);
    while (status == 0 && (status = csv_next(reader->csv, reader->diag)) > 0) status = reader->format->read_row(reader);
    return status == 0 && reader->format->finish != NULL ? reader->format->finish(reader) : status;
}

int power_data_read(const char *path, const struct catalog *catalog, const struct gpu_spec *gpu, struct arena *arena,
                    struct power_data *data, struct diag *diag)
{
    *data = (struct power_data){.path = path};
    struct power_reader reader = {.catalog = catalog, .gpu = gpu, .arena = arena, .diag = diag, .data = data};
    struct input *input = NULL;
    int status = file_hash(path, data->hash, diag);
    if (status == 0) status = input_open(path, &input, diag);
    if (status == 0) status = csv_create(input, &(struct csv_options){0}, &reader.csv, diag);
    if (status == 0) status = read_table(&reader);
    csv_destroy(reader.csv);
    return status;
}
