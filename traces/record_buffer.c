#include "traces/record_buffer.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

void record_buffer_init(struct record_buffer *buffer, bool requests)
{
    *buffer = (struct record_buffer){.requests = requests};
}

void record_buffer_fini(struct record_buffer *buffer)
{
    mem_free(buffer->records);
    mem_free(buffer->blocks);
    record_buffer_init(buffer, buffer->requests);
}

void record_buffer_clear(struct record_buffer *buffer)
{
    buffer->n = buffer->n_blocks = 0;
}

int record_buffer_add(struct record_buffer *buffer, const union trace_record *record)
{
    size_t n_blocks = buffer->requests ? (size_t)record->request.n_prefix_blocks : 0;
    if (vec_reserve(&buffer->blocks, &buffer->block_capacity, buffer->n_blocks + n_blocks) != 0) return SIM_E_NOMEM;
    const struct kept_record kept = {*record, buffer->n_blocks};
    if (vec_push(&buffer->records, &buffer->n, &buffer->capacity, kept) != 0) return SIM_E_NOMEM;
    if (n_blocks > 0) {
        memcpy(buffer->blocks + buffer->n_blocks, record->request.prefix_blocks, n_blocks * sizeof *buffer->blocks);
    }
    buffer->n_blocks += n_blocks;
    return 0;
}

union trace_record record_buffer_get(const struct record_buffer *buffer, size_t i)
{
    union trace_record record = buffer->records[i].record;
    if (buffer->requests && record.request.n_prefix_blocks > 0) {
        record.request.prefix_blocks = buffer->blocks + buffer->records[i].first_block;
    }
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

/* Bottom-up merge sort: stable, and no slower for being nearly sorted, as job logs are. */
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
