/* In traces, requests and jobs share one pipeline: every stage from the file to the world is a stream of records that
 * begin with an id and a time. The last stage turns the stream into a source of the world.
 *
 *     reader (a format's rows)  ->  order  ->  jitter  ->  transform  ->  source
 *     generator                 ->             jitter  ->  transform  ->  source */
#ifndef ORRERY_TRACES_STREAM_H
#define ORRERY_TRACES_STREAM_H

#include "sim/core/err.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STREAM_NAME_CHARS = 128 }; /* of the names of random streams, "chat.jitter" */

union trace_record {
    struct {
        int64_t id;
        sim_ns time_ns;
    } any; /* common first members */
    struct request_record request;
    struct job_record job;
};

_Static_assert(offsetof(struct request_record, id) == 0 && offsetof(struct job_record, id) == 0, "any.id");
_Static_assert(offsetof(struct request_record, arrival_ns) == sizeof(int64_t), "any.time_ns");
_Static_assert(offsetof(struct job_record, submit_ns) == sizeof(int64_t), "any.time_ns");

struct stream;

/* As in the world's sources (sim/world/rows/source.h). `follow` and `session` may be NULL. */
struct stream_ops {
    int (*next)(struct stream *stream, union trace_record *record, struct diag *diag);
    int (*follow)(struct stream *stream, const struct request_end *end, union trace_record *record, struct diag *diag);
    const struct session_plan *(*session)(const struct stream *stream, int64_t session_id);
    struct source_place (*place)(const struct stream *stream);
    bool (*note)(const struct stream *stream, size_t index, struct source_note *note);
    void (*close)(struct stream *stream);
};

/* The first member of every stage. A stage owns the stage it reads from and closes it. */
struct stream {
    const struct stream_ops *ops;
};

static inline int stream_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    return stream->ops->next(stream, record, diag);
}

void stream_close(struct stream *stream); /* NULL is allowed */

/* The last stage. Both take ownership of the stream, also on failure. Return 0 or SIM_E_NOMEM. */
int stream_to_requests(struct stream *stream, struct request_source **source, struct diag *diag);
int stream_to_jobs(struct stream *stream, struct job_source **source, struct diag *diag);

/* --- What a stage left out or changed, counted by reason --- */

enum { NOTES_MAX = 8 }; /* reasons that one stage may have */

struct notes {
    size_t n;
    struct notes_item {
        const char *code, *text;
        int64_t count;
        char where[DIAG_WHERE_CHARS];
    } items[NOTES_MAX];
};

/* Counts one more of `code`. Both texts must outlive the notes. Returns the buffer for the place of the first one, NULL
 * for later ones. */
char *notes_count(struct notes *notes, const char *code, const char *text);

/* The index-th reason, by first occurrence; false past the last one. */
bool notes_get(const struct notes *notes, size_t index, struct source_note *note);

/* --- Records kept in memory, with their prefix blocks and chunks --- */

struct record_buffer {
    bool requests; /* the kind: jobs have neither prefix blocks nor chunks */
    size_t n, capacity;
    struct kept_record {
        union trace_record record; /* its prefix_blocks and chunks are set by record_buffer_get */
        size_t first_block, first_chunk;
    } * records;
    size_t n_blocks, block_capacity;
    uint64_t *blocks;
    size_t n_chunks, chunk_capacity;
    struct prompt_chunk *chunks;
};

void record_buffer_init(struct record_buffer *buffer, bool requests);
void record_buffer_fini(struct record_buffer *buffer);
void record_buffer_clear(struct record_buffer *buffer);

/* Copies a record. Returns 0 or SIM_E_NOMEM. */
int record_buffer_add(struct record_buffer *buffer, const union trace_record *record);

/* The i-th record; its prefix blocks and chunks are valid until the buffer changes. */
union trace_record record_buffer_get(const struct record_buffer *buffer, size_t i);

/* Sorts by time; records of one time stay in the order in which they were added. Returns 0 or SIM_E_NOMEM. */
int record_buffer_sort(struct record_buffer *buffer);

#endif
