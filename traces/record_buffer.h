/* Records kept in memory, with their prefix blocks. */
#ifndef ORRERY_TRACES_RECORD_BUFFER_H
#define ORRERY_TRACES_RECORD_BUFFER_H

#include "traces/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_buffer {
    bool requests; /* the kind: jobs have no prefix blocks */
    size_t n, capacity;
    struct kept_record {
        union trace_record record; /* its prefix_blocks are set by record_buffer_get */
        size_t first_block;
    } * records;
    size_t n_blocks, block_capacity;
    uint64_t *blocks;
};

void record_buffer_init(struct record_buffer *buffer, bool requests);
void record_buffer_fini(struct record_buffer *buffer);
void record_buffer_clear(struct record_buffer *buffer);

/* Copies a record. Returns 0 or SIM_E_NOMEM. */
int record_buffer_add(struct record_buffer *buffer, const union trace_record *record);

/* The i-th record; its prefix blocks are valid until the buffer changes. */
union trace_record record_buffer_get(const struct record_buffer *buffer, size_t i);

/* Sorts by time; records of one time stay in the order in which they were added. Returns 0 or SIM_E_NOMEM. */
int record_buffer_sort(struct record_buffer *buffer);

#endif
