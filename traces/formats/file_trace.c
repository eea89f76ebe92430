#include "traces/formats/file_trace.h"

#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "traces/stream.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct config_field file_trace_request_params[] = {
    TRACE_TIME_PARAMS, TRACE_LENGTH_PARAMS, TRACE_FILE_PARAMS("false"), {0}};

const struct config_field file_trace_unsorted_request_params[] = {
    TRACE_TIME_PARAMS, TRACE_LENGTH_PARAMS, TRACE_FILE_PARAMS("true"), {0}};

const struct config_field file_trace_job_params[] = {
    TRACE_TIME_PARAMS, TRACE_FILE_PARAMS("false"), TRACE_JOB_PARAMS, {0}};

const struct config_field file_trace_unsorted_job_params[] = {
    TRACE_TIME_PARAMS, TRACE_FILE_PARAMS("true"), TRACE_JOB_PARAMS, {0}};

/* --- Sorting, and the origin of time --- */

struct order {
    struct stream stream;
    struct stream *inner;
    bool sort;
    const bool *from_first; /* of the reader, which may learn it from the first row */
    bool tells_origin;      /* the place has the time of the first record */
    const volatile sig_atomic_t *interrupt;
    bool loaded, started;
    sim_ns origin_ns;
    struct record_buffer buffer;
    size_t given;
};

static int load(struct order *order, struct diag *diag)
{
    union trace_record record;
    int code;
    while ((code = stream_next(order->inner, &record, diag)) == 1) {
        if (source_is_interrupted(order->interrupt)) return SIM_E_INTERRUPTED;
        code = record_buffer_add(&order->buffer, &record);
        if (code != 0) return diag_nomem(diag);
    }
    if (code < 0) return code;
    code = record_buffer_sort(&order->buffer);
    if (code != 0) return diag_nomem(diag);
    order->loaded = true;
    return 0;
}

static int next_sorted(struct order *order, union trace_record *record, struct diag *diag)
{
    if (!order->loaded) {
        int code = load(order, diag);
        if (code != 0) return code;
    }
    if (order->given == order->buffer.n) return 0;
    *record = record_buffer_get(&order->buffer, order->given++);
    return 1;
}

static int order_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct order *order = (struct order *)stream;
    int code = order->sort ? next_sorted(order, record, diag) : stream_next(order->inner, record, diag);
    if (code != 1) return code;
    if (!order->started && *order->from_first) order->origin_ns = record->any.time_ns;
    order->started = true;
    record->any.time_ns -= order->origin_ns;
    return 1;
}

static struct source_place order_place(const struct stream *stream)
{
    const struct order *order = (const struct order *)stream;
    struct source_place place = order->inner->ops->place(order->inner);
    if (order->tells_origin && *order->from_first) place.origin_ns = order->origin_ns;
    if (order->loaded && order->buffer.n > 0) place.done_frac = (double)order->given / (double)order->buffer.n;
    return place;
}

static bool order_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct order *order = (const struct order *)stream;
    return order->inner->ops->note(order->inner, index, note);
}

static void order_close(struct stream *stream)
{
    struct order *order = (struct order *)stream;
    stream_close(order->inner);
    record_buffer_fini(&order->buffer);
    mem_free(order);
}

static const struct stream_ops order_ops = {
    .next = order_next, .place = order_place, .note = order_note, .close = order_close};

/* With `sort`, all records are read on the first call of next (64 bytes each, and 8 per prefix block); records of one
 * time keep their order. Otherwise records pass through. With `from_first`, which is looked at behind the first record
 * and must live as long as `inner`, the time of the first record becomes 0. Takes ownership of `inner`, also on
 * failure. Returns 0 or SIM_E_NOMEM. */
static int order_open(bool sort, const bool *from_first, const struct source_options *options, bool requests,
                      struct stream *inner, struct stream **stream, struct diag *diag)
{
    struct order *order = mem_zalloc(1, sizeof *order);
    if (order == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    *order = (struct order){.stream = {&order_ops}, .inner = inner, .sort = sort, .from_first = from_first,
                            .interrupt = options->interrupt};
    record_buffer_init(&order->buffer, requests);
    *stream = &order->stream;
    return 0;
}

/* --- Sessions that a log names --- */

/* Finds the first request of each session: behind the order and the transforms, which may leave out those before. */
struct begin {
    struct stream stream;
    struct stream *inner;
    struct key_map starts_ns; /* of the sessions so far, by number */
};

static int begin_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct begin *begin = (struct begin *)stream;
    const int code = stream_next(begin->inner, record, diag);
    struct request_record *request = &record->request;
    if (code != 1 || request->session_id == 0) return code;
    const int64_t start_ns = key_map_find(&begin->starts_ns, (uint64_t)request->session_id);
    request->starts_session = start_ns < 0;
    request->session_start_ns = start_ns < 0 ? request->arrival_ns : start_ns;
    if (start_ns >= 0) return 1;
    return key_map_set(&begin->starts_ns, (uint64_t)request->session_id, request->arrival_ns) == 0 ? 1
                                                                                                   : diag_nomem(diag);
}

static struct source_place begin_place(const struct stream *stream)
{
    const struct begin *begin = (const struct begin *)stream;
    return begin->inner->ops->place(begin->inner);
}

static bool begin_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct begin *begin = (const struct begin *)stream;
    return begin->inner->ops->note(begin->inner, index, note);
}

static void begin_close(struct stream *stream)
{
    struct begin *begin = (struct begin *)stream;
    stream_close(begin->inner);
    key_map_fini(&begin->starts_ns);
    mem_free(begin);
}

static const struct stream_ops begin_ops = {
    .next = begin_next, .place = begin_place, .note = begin_note, .close = begin_close};

/* Takes `inner` over, also on failure. Returns 0 or SIM_E_NOMEM. */
static int begin_open(struct stream *inner, struct stream **stream, struct diag *diag)
{
    struct begin *begin = mem_zalloc(1, sizeof *begin);
    if (begin == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    *begin = (struct begin){.stream = {&begin_ops}, .inner = inner};
    *stream = &begin->stream;
    return 0;
}

/* Copies of a trace are other conversations, and those of a batch would all be at once. */
static int check_sessions(const struct row_format *format, const struct trace_transform *transform,
                          const struct source_options *options, struct diag *diag)
{
    if (transform->replicate.length_ns == 0 && transform->upscale.factor == 0 && transform->offline == OFFLINE_NOT)
        return 0;
    if (format->destroy_state != NULL) format->destroy_state(format->state);
    return diag_error(diag, SIM_E_CONFIG, options->where, "leave them out, or do not name \"columns.session\"",
                      "sessions of a log do not support replicate, upscale and offline");
}

/* --- Opening --- */

static int open_stream(const struct row_format *format, const struct trace_file *file,
                       const struct source_options *options, struct stream **stream, struct diag *diag)
{
    int code = reader_open(format, file, options->interrupt, stream, diag);
    if (code != 0) return code;
    const bool *from_first = &((const struct reader *)*stream)->format.from_first;
    code = order_open(file->sort, from_first, options, format->requests, *stream, stream, diag);
    if (code == 0) ((struct order *)*stream)->tells_origin = format->tells_origin;
    if (code == 0) code = transform_open(&file->transform, options, format->requests, *stream, stream, diag);
    return code;
}

int file_trace_stages(struct stream *stream, bool sort, const bool *from_first, const struct trace_transform *transform,
                      const struct source_options *options, struct request_source **source, struct diag *diag)
{
    int code = order_open(sort, from_first, options, true, stream, &stream, diag);
    if (code == 0) code = transform_open(transform, options, true, stream, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}

int file_trace_arrivals(const struct config_variant *variant, const struct source_options *options,
                        struct arrivals **arrivals, struct diag *diag)
{
    const struct arrival_process *process = variant->entry;
    *arrivals = NULL;
    if (process == NULL) return 0;
    if (process->think == NULL) return arrivals_create(process, variant->params, options, arrivals, diag);
    return diag_error(diag, SIM_E_CONFIG, options->where, "use \"format\": \"generate\" for a closed loop",
                      "lengths of a file cannot follow a closed loop");
}

void file_trace_arrival_hint(const struct source_options *options, const char *process, const char *rate, char *hint,
                             size_t hint_bytes)
{
    const bool is_alone = strcmp(options->where, "--set") == 0; /* of 'orrery trace' */
    if (is_alone)
        snprintf(hint, hint_bytes, "--set 'arrival={\"process\": \"%s\", \"rate\": \"%s\"}'", process, rate);
    else
        snprintf(hint, hint_bytes,
                 "set \"arrival\": {\"process\": \"%s\", \"rate\": \"%s\"} in its \"trace\", or --set "
                 "'services.%s.trace.arrival={\"process\": \"%s\", \"rate\": \"%s\"}'",
                 process, rate, options->stream, process, rate);
}

int file_trace_requests(const struct row_format *format, const struct trace_file *file,
                        const struct source_options *options, struct request_source **source, struct diag *diag)
{
    struct stream *stream;
    int code = format->names_sessions ? check_sessions(format, &file->transform, options, diag) : 0;
    if (code == 0) code = open_stream(format, file, options, &stream, diag);
    if (code == 0 && format->names_sessions) code = begin_open(stream, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}

int file_trace_jobs(const struct row_format *format, const struct job_file *file, const struct source_options *options,
                    struct job_source **source, struct diag *diag)
{
    struct stream *stream;
    int code = open_stream(format, &file->file, options, &stream, diag);
    if (code == 0) code = resample_open(&file->resample, options, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

enum row_result file_trace_job(struct reader *reader, struct job_record *job)
{
    const struct job_file *params = (const struct job_file *)reader->file;
    if (job->gpus == 0 && !params->cpu_jobs) return reader_leave_out(reader, "cpu-job", "jobs without GPUs left out");
    if (job->gpus != 1 || job->gpu_milli == 0) job->gpu_milli = 1000;
    if (job->estimate_ns == 0) job->estimate_ns = job->duration_ns;
    if (job->group == NULL) job->group = "";
    if (job->user == NULL) job->user = "";
    if (job->type == NULL) job->type = "";
    return ROW_KEPT;
}

bool file_trace_names(struct reader *reader, int id, int group, int user, int type, struct job_record *job)
{
    int64_t number;
    if (reader_number(reader, id, &number)) job->id = number;
    job->group = reader_intern(reader, group);
    job->user = reader_intern(reader, user);
    job->type = reader_intern(reader, type);
    return job->group != NULL && job->user != NULL && job->type != NULL;
}

const char *file_trace_type(struct reader *reader, int column, int64_t number)
{
    const struct csv_field field = reader_text(reader, column);
    char name[REQUEST_CLASS_CHARS + 1];
    const int n = snprintf(name, sizeof name, "%.*s-%lld", (int)field.n_chars, field.chars, (long long)number);
    const bool fits = field.n_chars > 0 && n > 0 && (size_t)n < sizeof name;
    const char *type = fits ? reader_intern_name(reader, name, (size_t)n) : NULL;
    if (type == NULL)
        reader_bad(reader, column, NULL, "'%s' must be the beginning of a name of at most %d characters, got '%.*s'",
                   reader->columns[column].name, REQUEST_CLASS_CHARS, (int)(field.n_chars < 60 ? field.n_chars : 60),
                   field.chars);
    return type;
}

enum job_status file_trace_status(struct reader *reader, int column, const struct status_word *words)
{
    if (!reader_has(reader, column)) return JOB_COMPLETES;
    const struct csv_field text = reader_text(reader, column);
    for (; words->beginning != NULL; words++) {
        const size_t length = strlen(words->beginning);
        if (text.n_chars >= length && strncasecmp(text.chars, words->beginning, length) == 0) return words->status;
    }
    reader_note_field(reader, column, "unknown-state",
                      "jobs in a state that is not known taken for completed, such as");
    return JOB_COMPLETES;
}

/* --- Prefix blocks --- */

void *prefix_blocks_create(void)
{
    return mem_zalloc(1, sizeof(struct prefix_blocks));
}

void prefix_blocks_destroy(void *state)
{
    struct prefix_blocks *blocks = state;
    if (blocks != NULL) mem_free(blocks->ids);
    mem_free(blocks);
}

bool prefix_blocks_add(struct prefix_blocks *blocks, uint64_t id)
{
    return vec_push(&blocks->ids, &blocks->n, &blocks->capacity, id) == 0;
}

void prefix_blocks_give(const struct prefix_blocks *blocks, int64_t block_tokens, struct request_record *request)
{
    request->n_prefix_blocks = (int32_t)blocks->n;
    request->prefix_block_tokens = (int32_t)block_tokens;
    request->prefix_blocks = blocks->n > 0 ? blocks->ids : NULL;
}
