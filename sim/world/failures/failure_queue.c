#include "sim/world/failures/failure_queue.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>

static bool is_before(const struct failure_entry *a, const struct failure_entry *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static int grow(struct failure_queue *queue)
{
    if (queue->n < queue->capacity) return 0;
    const size_t capacity = queue->capacity * 2 + 16;
    struct failure_entry *entries = mem_realloc(queue->entries, capacity * sizeof *entries);
    if (entries == NULL) return SIM_E_NOMEM;
    queue->entries = entries;
    queue->capacity = capacity;
    return 0;
}

int failure_queue_add(struct failure_queue *queue, const struct failure_entry *entry)
{
    const int code = grow(queue);
    if (code != 0) return code;
    size_t place = queue->n++;
    for (; place > 0 && is_before(entry, &queue->entries[(place - 1) / 2]); place = (place - 1) / 2)
        queue->entries[place] = queue->entries[(place - 1) / 2];
    queue->entries[place] = *entry;
    return 0;
}

struct failure_entry failure_queue_take(struct failure_queue *queue)
{
    struct failure_entry *entries = queue->entries;
    const struct failure_entry first = entries[0], last = entries[--queue->n];
    size_t place = 0;
    for (size_t child = 1; child < queue->n; child = 2 * place + 1) {
        if (child + 1 < queue->n && is_before(&entries[child + 1], &entries[child])) child++;
        if (!is_before(&entries[child], &last)) break;
        entries[place] = entries[child];
        place = child;
    }
    entries[place] = last;
    return first;
}

sim_ns failure_queue_next_ns(const struct failure_queue *queue)
{
    return queue->n > 0 ? queue->entries[0].time_ns : SIM_NS_MAX;
}

void failure_queue_fini(struct failure_queue *queue)
{
    mem_free(queue->entries);
}
