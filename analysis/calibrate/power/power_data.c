#include "analysis/calibrate/power/power_data.h"

#include "analysis/calibrate/power/power_format.h"

static const double max_number = 1e18;

int power_add(struct power_reader *reader, const struct power_row *row)
{
    struct power_data *data = reader->data;
    data->rows = rows_grown(reader->sheet.arena, data->rows, data->n_rows, &reader->row_capacity, sizeof *row,
                            reader->sheet.diag);
    if (data->rows == NULL) return SIM_E_NOMEM;
    data->rows[data->n_rows++] = *row;
    return 0;
}

int power_add_cap(struct power_reader *reader, const struct power_cap_row *row)
{
    struct power_data *data = reader->data;
    data->caps = rows_grown(reader->sheet.arena, data->caps, data->n_caps, &reader->cap_capacity, sizeof *row,
                            reader->sheet.diag);
    if (data->caps == NULL) return SIM_E_NOMEM;
    data->caps[data->n_caps++] = *row;
    return 0;
}

int power_drop(struct power_reader *reader, const char *reason)
{
    dropped_add(reader->data->dropped, &reader->data->n_dropped, reason, 1);
    return 0;
}

int power_llm(struct power_reader *reader, const char *name, struct llm_spec *llm)
{
    return catalog_llm(reader->catalog, name, reader->data->path, reader->sheet.arena, llm, reader->sheet.diag);
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

static int read_rows(struct power_reader *reader, const struct power_format *format)
{
    int status = 0;
    reader->data->format = format->name;
    while (status == 0 && (status = sheet_next(&reader->sheet)) > 0) status = format->read_row(reader);
    return status == 0 && format->finish != NULL ? format->finish(reader) : status;
}

static int read_table(struct power_reader *reader)
{
#define FORMAT_ADDRESS(name) &power_##name,
    static const struct power_format *const formats[] = {POWER_FORMATS(FORMAT_ADDRESS)};
#undef FORMAT_ADDRESS
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct power_format *format = formats[i];
        const int status = sheet_choose(&reader->sheet, format->columns, format->n_columns, format->n_columns);
        if (status != 0) return status < 0 ? status : read_rows(reader, format);
    }
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->sheet.csv, 0, 0, where);
    return diag_error(reader->sheet.diag, SIM_E_DATA, where, "`orrery calibrate --help` lists the formats",
                      "no known table of measured power has these columns");
}

int power_data_read(const char *path, const struct catalog *catalog, const struct gpu_spec *gpu, struct arena *arena,
                    struct power_data *data, struct diag *diag)
{
    *data = (struct power_data){.path = path};
    struct power_reader reader = {.sheet = {.arena = arena, .diag = diag, .max = max_number, .empty = 0.0},
                                  .catalog = catalog,
                                  .gpu = gpu,
                                  .data = data};
    int status = file_hash(path, data->hash, diag);
    if (status == 0) status = sheet_open(&reader.sheet, path);
    if (status == 0) status = read_table(&reader);
    sheet_close(&reader.sheet);
    return status;
}
