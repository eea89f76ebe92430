#include "policies/eviction/prediction.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <stddef.h>

void prediction_fini(struct prediction *prediction)
{
    mem_free(prediction->bits);
}

/* --- Discard bits: Belady's policy on all accesses --- */

/* An item that is cached: the access that used it last, and its next. */
struct resident {
    int64_t next_use, access;
};

/* A heap, the latest next use first. An entry whose next use has passed stays in it, below all others. */
struct residents {
    struct resident *entries; /* [n_accesses] */
    int64_t n;
};

static bool later(const struct resident *a, const struct resident *b)
{
    return a->next_use != b->next_use ? a->next_use > b->next_use : a->access < b->access;
}

static void push(struct residents *heap, struct resident entry)
{
    int64_t at = heap->n++;
    for (; at > 0 && later(&entry, &heap->entries[(at - 1) / 2]); at = (at - 1) / 2)
        heap->entries[at] = heap->entries[(at - 1) / 2];
    heap->entries[at] = entry;
}

static struct resident pop(struct residents *heap)
{
    struct resident first = heap->entries[0], last = heap->entries[--heap->n];
    int64_t at = 0;
    for (int64_t child = 1; child < heap->n; child = 2 * at + 1) {
        if (child + 1 < heap->n && later(&heap->entries[child + 1], &heap->entries[child])) child++;
        if (!later(&heap->entries[child], &last)) break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = last;
    return first;
}

/* Sets `found[i]` to whether access i finds its item. */
static void run_belady(const struct cache_future *future, int64_t capacity, struct residents *heap,
                       unsigned char *found, unsigned char *evicted)
{
    int64_t size = 0;
    for (int64_t i = 0; i < future->n; i++) {
        if (!found[i] && size == capacity) {
            struct resident victim = pop(heap);
            evicted[victim.access] = 1;
            if (victim.next_use < future->n) found[victim.next_use] = 0;
            size--;
        }
        size += !found[i];
        if (future->next_uses[i] < future->n) found[future->next_uses[i]] = 1;
        push(heap, (struct resident){future->next_uses[i], i});
    }
}

static int find_discards(const struct cache_future *future, int64_t capacity, unsigned char *bits)
{
    struct residents heap = {.entries = mem_zalloc((size_t)future->n + 1, sizeof *heap.entries)};
    unsigned char *found = mem_zalloc((size_t)future->n + 1, 1);
    bool ok = heap.entries != NULL && found != NULL;
    if (ok) run_belady(future, capacity, &heap, found, bits);
    mem_free(heap.entries);
    mem_free(found);
    return ok ? 0 : SIM_E_NOMEM;
}

/* --- Phase bits --- */

/* The first access after the phase that begins at `start`: the one with the (capacity + 1)th different key. `seen[i]`:
 * the key of access i occurred earlier in the phase. */
static int64_t end_phase(const struct cache_future *future, int64_t capacity, int64_t start, unsigned char *seen)
{
    int64_t i = start;
    for (int64_t n_keys = 0; i < future->n; i++) {
        if (!seen[i] && n_keys == capacity) break;
        n_keys += !seen[i];
        if (future->next_uses[i] < future->n) seen[future->next_uses[i]] = 1;
    }
    for (int64_t k = start; k < i; k++) /* later accesses belong to another phase */
        if (future->next_uses[k] >= i && future->next_uses[k] < future->n) seen[future->next_uses[k]] = 0;
    return i;
}

/* Sets the bits of the phase [start, end), whose next phase is [end, next_end). `after[i]` is the first use of access
 * i's key after the phase. */
static void find_absent(const struct cache_future *future, int64_t start, int64_t end, int64_t next_end, int64_t *after,
                        unsigned char *bits)
{
    for (int64_t i = end - 1; i >= start; i--) {
        int64_t next = future->next_uses[i];
        after[i] = next < end ? after[next] : next;
        bits[i] = after[i] >= next_end;
    }
}

static int find_phases(const struct cache_future *future, int64_t capacity, unsigned char *bits)
{
    unsigned char *seen = mem_zalloc((size_t)future->n + 1, 1);
    int64_t *after = mem_alloc(((size_t)future->n + 1) * sizeof *after);
    bool ok = seen != NULL && after != NULL;
    int64_t start = 0, end = ok ? end_phase(future, capacity, 0, seen) : future->n;
    while (ok && start < future->n) {
        int64_t next_end = end_phase(future, capacity, end, seen);
        find_absent(future, start, end, next_end, after, bits);
        start = end;
        end = next_end;
    }
    mem_free(seen);
    mem_free(after);
    return ok ? 0 : SIM_E_NOMEM;
}

/* --- Errors --- */

static void add_errors(struct prediction *prediction, const struct cache_view *view, int64_t n, double error_frac)
{
    struct rng rng;
    cache_view_stream(view, "prediction", &rng);
    for (int64_t i = 0; i < n; i++) {
        if (rng_uniform(&rng) >= error_frac) continue;
        prediction->bits[i] = !prediction->bits[i];
        prediction->wrong_zeros += prediction->bits[i] == 0;
        prediction->wrong_ones += prediction->bits[i] == 1;
    }
}

int prediction_make(struct prediction *prediction, const struct cache_view *view, enum prediction_kind kind,
                    double error_frac)
{
    const struct cache_future *future = cache_view_future(view);
    if (future == NULL) return SIM_E_POLICY;
    prediction->bits = mem_zalloc((size_t)future->n + 1, 1);
    if (prediction->bits == NULL) return SIM_E_NOMEM;
    int code = kind == PREDICT_DISCARD ? find_discards(future, view->capacity, prediction->bits)
                                       : find_phases(future, view->capacity, prediction->bits);
    if (code == 0) add_errors(prediction, view, future->n, error_frac);
    return code;
}
