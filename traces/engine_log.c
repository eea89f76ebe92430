#include "traces/engine_log.h"

#include "traces/formats/log_rows.h"

#include <string.h>

static const struct {
    const char *name;
    const struct row_format *rows;
} logs[] = {{"vllm-log", &vllm_log_rows}, {"request-log", &request_log_rows}};

enum { N_LOGS = sizeof logs / sizeof *logs };

static const struct row_format *find_rows(const char *format)
{
    for (int i = 0; i < N_LOGS; i++)
        if (strcmp(logs[i].name, format) == 0) return logs[i].rows;
    return NULL;
}

bool engine_log_is(const char *format)
{
    return find_rows(format) != NULL;
}

int engine_log_guess(const char *path, const char **format, struct diag *diag)
{
    struct input *input;
    char first = ' ';
    size_t n = 1;
    int code = input_open(path, &input, diag);
    if (code != 0) return code;
    while (code == 0 && n == 1 && strchr(" \t\r\n", first) != NULL) code = input_read(input, &first, 1, &n, diag);
    input_close(input);
    if (code == 0 && n == 0) return diag_error(diag, SIM_E_DATA, path, NULL, "the log is empty");
    *format = logs[first == '{' ? 0 : 1].name;
    return code;
}

/* Reads all rows of an open stream, which may be sorted or not. */
static int read_all(struct stream *stream, struct diag *diag)
{
    union trace_record record;
    int code;
    while ((code = stream_next(stream, &record, diag)) == 1) continue;
    return code;
}

int engine_log_read(const char *path, const char *format, int64_t allow_bad_rows, struct arena *arena,
                    struct engine_log *log, struct diag *diag)
{
    const struct trace_file file = {.path = path, .sort = true, .allow_bad_rows = allow_bad_rows};
    struct row_format rows = *find_rows(format);
    struct log_rows *state = log_rows_create(true);
    struct stream *stream;
    if (state == NULL) return diag_nomem(diag);
    rows.state = state;
    rows.destroy_state = log_rows_destroy;
    int code = reader_open(&rows, &file, &stream, diag);
    if (code != 0) return code;
    *log = (struct engine_log){.format = format};
    code = read_all(stream, diag);
    if (code == 0 && log_rows_entries(state, arena, log) != 0) code = diag_nomem(diag);
    stream_close(stream);
    return code;
}
