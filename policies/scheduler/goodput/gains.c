#include "policies/scheduler/goodput/gains.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

void gains_fini(struct gains *gains)
{
    mem_free(gains->heap);
}

int gains_begin(struct gains *gains, size_t n)
{
    gains->n = 0;
    return vec_reserve(&gains->heap, &gains->capacity, n);
}

static bool goes_before(const struct gain *a, const struct gain *b)
{
    return a->value != b->value ? a->value > b->value : a->job->view->sequence < b->job->view->sequence;
}

void gains_add(struct gains *gains, const struct gain *gain)
{
    size_t at = gains->n++;
    for (size_t parent; at > 0 && goes_before(gain, &gains->heap[parent = (at - 1) / 2]); at = parent)
        gains->heap[at] = gains->heap[parent];
    gains->heap[at] = *gain;
}

void gains_sift(struct gains *gains)
{
    const struct gain moved = gains->heap[0];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < gains->n; at = child) {
        if (child + 1 < gains->n && goes_before(&gains->heap[child + 1], &gains->heap[child])) child++;
        if (!goes_before(&gains->heap[child], &moved)) break;
        gains->heap[at] = gains->heap[child];
    }
    gains->heap[at] = moved;
}
