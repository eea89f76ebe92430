#include "traces/stream.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

void stream_close(struct stream *stream)
{
    if (stream != NULL) stream->ops->close(stream);
}

/* --- as a source of requests --- */

struct requests {
    struct request_source source;
    struct stream *stream;
};

static struct stream *requests_stream(const struct request_source *source)
{
    return ((const struct requests *)source)->stream;
}

static int requests_next(struct request_source *source, struct request_record *record, struct diag *diag)
{
    union trace_record next;
    int code = stream_next(requests_stream(source), &next, diag);
    if (code == 1) *record = next.request;
    return code;
}

static int requests_follow(struct request_source *source, const struct request_end *end, struct request_record *record,
                           struct diag *diag)
{
    struct stream *stream = requests_stream(source);
    union trace_record next;
    int code = stream->ops->follow(stream, end, &next, diag);
    if (code > 0) *record = next.request;
    return code;
}

static const struct session_plan *requests_session(const struct request_source *source, int64_t session_id)
{
    const struct stream *stream = requests_stream(source);
    return stream->ops->session(stream, session_id);
}

static struct source_place requests_place(const struct request_source *source)
{
    const struct stream *stream = requests_stream(source);
    return stream->ops->place(stream);
}

static bool requests_note(const struct request_source *source, size_t index, struct source_note *note)
{
    const struct stream *stream = requests_stream(source);
    return stream->ops->note(stream, index, note);
}

static void requests_close(struct request_source *source)
{
    stream_close(requests_stream(source));
    mem_free(source);
}

int stream_to_requests(struct stream *stream, struct request_source **source, struct diag *diag)
{
    struct requests *requests = mem_zalloc(1, sizeof *requests);
    if (requests == NULL) {
        stream_close(stream);
        return diag_nomem(diag);
    }
    requests->source = (struct request_source){.next = requests_next,
                                               .follow = stream->ops->follow != NULL ? requests_follow : NULL,
                                               .session = stream->ops->session != NULL ? requests_session : NULL,
                                               .place = requests_place,
                                               .note = requests_note,
                                               .close = requests_close};
    requests->stream = stream;
    *source = &requests->source;
    return 0;
}

/* --- as a source of jobs --- */

struct jobs {
    struct job_source source;
    struct stream *stream;
};

static struct stream *jobs_stream(const struct job_source *source)
{
    return ((const struct jobs *)source)->stream;
}

static int jobs_next(struct job_source *source, struct job_record *record, struct diag *diag)
{
    union trace_record next;
    int code = stream_next(jobs_stream(source), &next, diag);
    if (code == 1) *record = next.job;
    return code;
}

static struct source_place jobs_place(const struct job_source *source)
{
    const struct stream *stream = jobs_stream(source);
    return stream->ops->place(stream);
}

static bool jobs_note(const struct job_source *source, size_t index, struct source_note *note)
{
    const struct stream *stream = jobs_stream(source);
    return stream->ops->note(stream, index, note);
}

static void jobs_close(struct job_source *source)
{
    stream_close(jobs_stream(source));
    mem_free(source);
}

int stream_to_jobs(struct stream *stream, struct job_source **source, struct diag *diag)
{
    struct jobs *jobs = mem_zalloc(1, sizeof *jobs);
    if (jobs == NULL) {
        stream_close(stream);
        return diag_nomem(diag);
    }
    jobs->source = (struct job_source){.next = jobs_next, .place = jobs_place, .note = jobs_note, .close = jobs_close};
    jobs->stream = stream;
    *source = &jobs->source;
    return 0;
}

/* --- Notes --- */

char *notes_count(struct notes *notes, const char *code, const char *text)
{
    for (size_t i = 0; i < notes->n; i++) {
        if (strcmp(notes->items[i].code, code) != 0) continue;
        notes->items[i].count++;
        return NULL;
    }
    SIM_REQUIRE(notes->n < NOTES_MAX);
    struct notes_item *item = &notes->items[notes->n++];
    *item = (struct notes_item){.code = code, .text = text, .count = 1};
    return item->where;
}

bool notes_get(const struct notes *notes, size_t index, struct source_note *note)
{
    if (index >= notes->n) return false;
    const struct notes_item *item = &notes->items[index];
    *note = (struct source_note){
        .code = item->code, .text = item->text, .where = item->where[0] ? item->where : NULL, .count = item->count};
    return true;
}

/* --- Records kept in memory --- */

void record_buffer_init(struct record_buffer *buffer, bool requests)
{
    *buffer = (struct record_buffer){.requests = requests};
}

void record_buffer_fini(struct record_buffer *buffer)
{
    mem_free(buffer->records);
    mem_free(buffer->blocks);
    mem_free(buffer->chunks);
    record_buffer_init(buffer, buffer->requests);
}

void record_buffer_clear(struct record_buffer *buffer)
{
    buffer->n = buffer->n_blocks = buffer->n_chunks = 0;
}

/* Appends n items of item_bytes each to the n_kept that an array holds; `kept` is the address of its pointer. */
static int keep_items(void *kept, size_t *n_kept, size_t *capacity, const void *items, size_t n, size_t item_bytes)
{
    char *array;
    if (*n_kept + n > *capacity && vec_grow(kept, capacity, *n_kept + n, item_bytes) != 0) return SIM_E_NOMEM;
    memcpy(&array, kept, sizeof array); /* whatever it points to */
    if (n > 0) memcpy(array + *n_kept * item_bytes, items, n * item_bytes);
    *n_kept += n;
    return 0;
}

int record_buffer_add(struct record_buffer *buffer, const union trace_record *record)
{
    const struct kept_record kept = {*record, buffer->n_blocks, buffer->n_chunks};
    const struct request_record *request = &record->request;
    if (buffer->requests) {
        const size_t n_blocks = (size_t)request->n_prefix_blocks, n_chunks = (size_t)request->n_chunks;
        int code = keep_items(&buffer->blocks, &buffer->n_blocks, &buffer->block_capacity, request->prefix_blocks,
                              n_blocks, sizeof *buffer->blocks);
        if (code == 0)
            code = keep_items(&buffer->chunks, &buffer->n_chunks, &buffer->chunk_capacity, request->chunks, n_chunks,
                              sizeof *buffer->chunks);
        if (code != 0) return code;
    }
    return vec_push(&buffer->records, &buffer->n, &buffer->capacity, kept);
}

union trace_record record_buffer_get(const struct record_buffer *buffer, size_t i)
{
    const struct kept_record *kept = &buffer->records[i];
    union trace_record record = kept->record;
    if (!buffer->requests) return record;
    if (record.request.n_prefix_blocks > 0) record.request.prefix_blocks = buffer->blocks + kept->first_block;
    if (record.request.n_chunks > 0) record.request.chunks = buffer->chunks + kept->first_chunk;
    return record;
}

/* Merges two sorted neighbours, [0, n_left) and [n_left, n), into `out`. */
static void merge(const struct kept_record *in, size_t n_left, size_t n, struct kept_record *out)
{
    size_t left = 0, right = n_left;
    for (size_t i = 0; i < n; i++) {
        bool take_left = right == n || (left < n_left && in[left].record.any.time_ns <= in[right].record.any.time_ns);
        out[i] = take_left ? in[left++] : in[right++];
    }
}

/* Bottom-up merge sort: stable, and not slower for nearly sorted input such as job logs. */
int record_buffer_sort(struct record_buffer *buffer)
{
    size_t n = buffer->n;
    if (n < 2) return 0;
    struct kept_record *from = buffer->records, *to = mem_alloc(n * sizeof *to);
    if (to == NULL) return SIM_E_NOMEM;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t n_pair = n - start < 2 * width ? n - start : 2 * width;
            merge(from + start, n_pair < width ? n_pair : width, n_pair, to + start);
        }
        struct kept_record *swap = from;
        from = to;
        to = swap;
    }
    if (from != buffer->records) buffer->capacity = n;
    buffer->records = from;
    mem_free(to);
    return 0;
}
