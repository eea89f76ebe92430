#include "traces/formats/document.h"

#include "sim/core/mem.h"
#include "sim/core/number.h"
#include "traces/formats/file_trace.h"

#include <stdio.h>
#include <string.h>

bool document_count(struct json_stream *json, const char *name, int64_t max, int64_t *value)
{
    if (!json_stream_scalar(json)) return false;
    if (number_i64(json->text, strlen(json->text), value) == NUMBER_OK && *value >= 0 && *value <= max) return true;
    return json_stream_bad(json, NULL, "'%s' must be a whole number from 0 to %lld, got '%.40s'", name, (long long)max,
                           json->text);
}

static enum row_result leave_out(struct document *document, const char *code, const char *text)
{
    char *where = notes_count(&document->notes, code, text);
    if (where != NULL && document->format->by_columns) snprintf(where, DIAG_WHERE_CHARS, "%s", document->file->path);
    if (where != NULL && !document->format->by_columns) json_stream_where(&document->json, where);
    return ROW_LEFT_OUT;
}

enum row_result document_request(struct document *document, union trace_record *record, sim_ns arrival_ns,
                                 int64_t prompt_tokens, int64_t output_tokens)
{
    if (prompt_tokens == 0) return leave_out(document, "no-prompt", "requests without prompt tokens left out");
    if (output_tokens == 0) return leave_out(document, "no-output", "requests without output tokens left out");
    record->request = (struct request_record){.id = document->row,
                                              .arrival_ns = arrival_ns,
                                              .prompt_tokens = (int32_t)prompt_tokens,
                                              .output_tokens = (int32_t)output_tokens};
    return ROW_KEPT;
}

/* Takes the arrival from the process, if there is one. */
static int set_arrival(struct document *document, union trace_record *record, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    if (document->arrivals == NULL) return 1;
    record->request.arrival_ns = arrivals_next(document->arrivals);
    if (record->request.arrival_ns < SIM_NS_MAX) return 1;
    return arrivals_out_of_time(json_stream_where(&document->json, where), diag);
}

static int end_of_document(struct document *document, struct diag *diag)
{
    const char *hint = document->notes.n > 0 ? document->notes.items[0].text : NULL;
    if (document->n_kept > 0) return 0;
    return diag_error(diag, SIM_E_DATA, document->file->path, hint, "no request can be used");
}

static int document_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct document *document = (struct document *)stream;
    enum row_result result = ROW_LEFT_OUT;
    int code = document->json.code != 0 ? 0 : 1;
    document->json.diag = diag;
    if (code == 0) return 0;
    while ((code = document->format->next(document, record, &result, diag)) == 1) {
        document->row++;
        if (result != ROW_KEPT) continue;
        document->n_kept++;
        return set_arrival(document, record, diag);
    }
    if (code == 0) code = end_of_document(document, diag);
    if (code != 0) document->json.code = code;
    return code;
}

static struct source_place document_place(const struct stream *stream)
{
    const struct document *document = (const struct document *)stream;
    return (struct source_place){.row = document->row, .done_frac = input_done_frac(document->json.input)};
}

static bool document_note(const struct stream *stream, size_t index, struct source_note *note)
{
    return notes_get(&((const struct document *)stream)->notes, index, note);
}

static void document_close(struct stream *stream)
{
    struct document *document = (struct document *)stream;
    if (document->format->fini != NULL && document->state != NULL) document->format->fini(document->state);
    mem_free(document->state);
    arrivals_destroy(document->arrivals);
    json_stream_close(&document->json);
    mem_free(document);
}

static const struct stream_ops document_ops = {
    .next = document_next, .place = document_place, .note = document_note, .close = document_close};

static int open_file(struct document *document, struct diag *diag)
{
    struct input *input;
    int code = input_open(document->file->path, &input, diag);
    if (code == 0) code = json_stream_open(input, document->format->hint, &document->json, diag);
    if (code != 0) return code;
    document->state = mem_zalloc(1, document->format->state_bytes);
    return document->state != NULL ? 0 : diag_nomem(diag);
}

int document_open(const struct document_format *format, const struct document_file *file,
                  const struct source_options *options, struct request_source **source, struct diag *diag)
{
    struct document *document = mem_zalloc(1, sizeof *document);
    if (document == NULL) return diag_nomem(diag);
    *document = (struct document){.stream = {&document_ops}, .format = format, .file = file,
                                   .options = options};
    document->from_first = file->arrival.entry == NULL;
    int code = file_trace_arrivals(&file->arrival, options, &document->arrivals, diag);
    if (code == 0) code = open_file(document, diag);
    if (code != 0) {
        document_close(&document->stream);
        return code;
    }
    return file_trace_stages(&document->stream, document->from_first, &document->from_first, &file->transform, options,
                             source, diag);
}
