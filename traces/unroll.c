#include "traces/unroll.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

/* A request with its own copy of its blocks and chunks. */
struct kept {
    struct request_record record;
    uint64_t *blocks;
    struct prompt_chunk *chunks;
};

struct unrolled {
    struct request_source source;
    struct request_source *inner;
    struct kept *heap; /* to come, by arrival and id */
    size_t n, capacity;
    struct kept given; /* the latest one */
    sim_ns read_ns;    /* arrival of the latest request of the inner source */
    bool ended;
};

static bool is_before(const struct kept *a, const struct kept *b)
{
    if (a->record.arrival_ns != b->record.arrival_ns) return a->record.arrival_ns < b->record.arrival_ns;
    return a->record.id < b->record.id;
}

static void swap(struct kept *a, struct kept *b)
{
    const struct kept copy = *a;
    *a = *b;
    *b = copy;
}

static void *copy_of(const void *items, size_t bytes)
{
    void *copy = mem_alloc(bytes);
    if (copy != NULL) memcpy(copy, items, bytes);
    return copy;
}

static void free_kept(const struct kept *kept)
{
    mem_free(kept->blocks);
    mem_free(kept->chunks);
}

static int copy_arrays(struct kept *kept, const struct request_record *record)
{
    const size_t n_blocks = (size_t)record->n_prefix_blocks, n_chunks = (size_t)record->n_chunks;
    if (n_blocks > 0) kept->blocks = copy_of(record->prefix_blocks, n_blocks * sizeof *kept->blocks);
    if (n_chunks > 0) kept->chunks = copy_of(record->chunks, n_chunks * sizeof *kept->chunks);
    kept->record.prefix_blocks = kept->blocks;
    kept->record.chunks = kept->chunks;
    return (n_blocks > 0 && kept->blocks == NULL) || (n_chunks > 0 && kept->chunks == NULL) ? SIM_E_NOMEM : 0;
}

static int push(struct unrolled *unrolled, const struct request_record *record)
{
    struct kept kept = {.record = *record};
    int code = copy_arrays(&kept, record);
    if (code == 0) code = vec_push(&unrolled->heap, &unrolled->n, &unrolled->capacity, kept);
    if (code != 0) {
        free_kept(&kept);
        return code;
    }
    for (size_t i = unrolled->n - 1; i > 0 && is_before(&unrolled->heap[i], &unrolled->heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap(&unrolled->heap[i], &unrolled->heap[(i - 1) / 2]);
    return 0;
}

static struct kept pop(struct unrolled *unrolled)
{
    struct kept *heap = unrolled->heap;
    const struct kept first = heap[0];
    heap[0] = heap[--unrolled->n];
    for (size_t i = 0, least = 2 * i + 1; least < unrolled->n; i = least, least = 2 * i + 1) {
        if (least + 1 < unrolled->n && is_before(&heap[least + 1], &heap[least])) least++;
        if (!is_before(&heap[least], &heap[i])) break;
        swap(&heap[least], &heap[i]);
    }
    return first;
}

/* What follows from the answer to the latest request. */
static int follow(struct unrolled *unrolled, struct diag *diag)
{
    const struct request_record *given = &unrolled->given.record;
    const struct request_end end = {given->id, given->session_id, given->arrival_ns, true};
    struct request_record record;
    int got = FOLLOW_MORE;
    while (got == FOLLOW_MORE) {
        got = unrolled->inner->follow(unrolled->inner, &end, &record, diag);
        if (got > 0 && push(unrolled, &record) != 0) return diag_nomem(diag);
    }
    return got;
}

/* Reads until the next request of all is known. */
static int read_ahead(struct unrolled *unrolled, struct diag *diag)
{
    struct request_record record;
    while (!unrolled->ended && (unrolled->n == 0 || unrolled->heap[0].record.arrival_ns >= unrolled->read_ns)) {
        const int code = unrolled->inner->next(unrolled->inner, &record, diag);
        if (code < 0) return code;
        unrolled->ended = code == 0;
        if (code == 0) break;
        unrolled->read_ns = record.arrival_ns;
        if (push(unrolled, &record) != 0) return diag_nomem(diag);
    }
    return 0;
}

static int unrolled_next(struct request_source *source, struct request_record *record, struct diag *diag)
{
    struct unrolled *unrolled = (struct unrolled *)source;
    int code = read_ahead(unrolled, diag);
    if (code != 0 || unrolled->n == 0) return code;
    free_kept(&unrolled->given);
    unrolled->given = pop(unrolled);
    *record = unrolled->given.record;
    code = follow(unrolled, diag);
    return code < 0 ? code : 1;
}

static struct source_place unrolled_place(const struct request_source *source)
{
    const struct request_source *inner = ((const struct unrolled *)source)->inner;
    return inner->place(inner);
}

static bool unrolled_note(const struct request_source *source, size_t index, struct source_note *note)
{
    const struct request_source *inner = ((const struct unrolled *)source)->inner;
    return inner->note(inner, index, note);
}

static void unrolled_close(struct request_source *source)
{
    struct unrolled *unrolled = (struct unrolled *)source;
    unrolled->inner->close(unrolled->inner);
    for (size_t i = 0; i < unrolled->n; i++) free_kept(&unrolled->heap[i]);
    free_kept(&unrolled->given);
    mem_free(unrolled->heap);
    mem_free(unrolled);
}

int unroll_open(struct request_source *inner, struct request_source **source, struct diag *diag)
{
    struct unrolled *unrolled = mem_zalloc(1, sizeof *unrolled);
    if (unrolled == NULL) {
        inner->close(inner);
        return diag_nomem(diag);
    }
    *unrolled = (struct unrolled){.source = {.next = unrolled_next, .place = unrolled_place, .note = unrolled_note,
                                             .close = unrolled_close},
                                  .inner = inner,
                                  .read_ns = -1};
    *source = &unrolled->source;
    return 0;
}
