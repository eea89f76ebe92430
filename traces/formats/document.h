/* Traces that are JSON documents and not rows: a format pulls records out of a json_stream. Times come from the
 * document or from an arrival process. A wrong value ends the trace: what follows it cannot be told apart. */
#ifndef ORRERY_TRACES_FORMATS_DOCUMENT_H
#define ORRERY_TRACES_FORMATS_DOCUMENT_H

#include "traces/formats/json_stream.h"
#include "traces/generate/arrival.h"
#include "traces/reader.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of the parameters of every such format. */
struct document_file {
    struct trace_transform transform;
    const char *path;
    struct config_variant arrival; /* struct arrival_process, or none */
};

/* The parameters "path" and, with `absence` REQUIRED or OPTIONAL, "arrival" of a struct ROW_OF with a member `file`. */
#define DOCUMENT_PARAMS(absence, what)                                                                                 \
    ROW_PATH("path", file.path, REQUIRED, "the file, plain or gzip-compressed"),                                       \
        ROW_VARIANT("arrival", file.arrival, absence, "arrival", "process", what)

struct document {
    struct stream stream;
    const struct document_format *format;
    const struct document_file *file; /* first member of the format's parameters */
    const struct source_options *options;
    struct json_stream json;
    struct arrivals *arrivals; /* NULL: the document has the times */
    bool from_first;           /* time starts at the first record */
    void *state;
    int64_t row, n_kept;
    struct notes notes;
};

struct document_format {
    const char *hint; /* for errors of syntax */
    bool by_columns;  /* the document is read as a whole before the first request, so requests have no place in it */

    /* Sets the next request, all but its arrival if that comes from a process, and *result. Returns 1, 0 at the end or
     * a negative code after a report. */
    int (*next)(struct document *document, union trace_record *record, enum row_result *result, struct diag *diag);
    size_t state_bytes; /* zeroed at the start */
    void (*fini)(void *state);
};

/* Opens file->path. `options` gives the random stream of the arrivals. Returns 0 or a negative code. */
int document_open(const struct document_format *format, const struct document_file *file,
                  const struct source_options *options, struct request_source **source, struct diag *diag);

/* Fills the record of a request; its id is the row. Returns ROW_LEFT_OUT, counted, without prompt or output tokens. */
enum row_result document_request(struct document *document, union trace_record *record, sim_ns arrival_ns,
                                 int64_t prompt_tokens, int64_t output_tokens);

/* Reads a whole number from 0 to `max`; `name` is what messages call it. */
bool document_count(struct json_stream *json, const char *name, int64_t max, int64_t *value);

#endif
