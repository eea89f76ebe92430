#include "sim/world/finish_order.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>

void finish_order_init(struct finish_order *order)
{
    *order = (struct finish_order){0};
}

void finish_order_fini(struct finish_order *order)
{
    mem_free(order->entries);
    finish_order_init(order);
}

static bool finishes_before(const struct finish_entry *a, const struct finish_entry *b)
{
    return a->step != b->step ? a->step < b->step : a->id < b->id;
}

static void finish_order_put(struct finish_order *order, int32_t at, struct finish_entry entry)
{
    order->entries[at] = entry;
    entry.request->finish_rank = at;
}

static void sift_up(struct finish_order *order, int32_t at, struct finish_entry entry)
{
    while (at > 0) {
        int32_t parent = (at - 1) / 2;
        if (!finishes_before(&entry, &order->entries[parent])) break;
        finish_order_put(order, at, order->entries[parent]);
        at = parent;
    }
    finish_order_put(order, at, entry);
}

static void sift_down(struct finish_order *order, int32_t at, struct finish_entry entry)
{
    for (int32_t child; (child = 2 * at + 1) < order->n; at = child) {
        if (child + 1 < order->n && finishes_before(&order->entries[child + 1], &order->entries[child])) child++;
        if (!finishes_before(&order->entries[child], &entry)) break;
        finish_order_put(order, at, order->entries[child]);
    }
    finish_order_put(order, at, entry);
}

int finish_order_add(struct finish_order *order, struct request *request)
{
    if (order->n == order->capacity) {
        int32_t capacity = order->capacity ? 2 * order->capacity : 64;
        struct finish_entry *grown = mem_realloc(order->entries, (size_t)capacity * sizeof *grown);
        if (grown == NULL) return SIM_E_NOMEM;
        order->entries = grown;
        order->capacity = capacity;
    }
    sift_up(order, order->n++, (struct finish_entry){request->finish_step, request->view.id, request});
    return 0;
}

void finish_order_remove(struct finish_order *order, struct request *request)
{
    int32_t at = request->finish_rank;
    SIM_REQUIRE(at < order->n && order->entries[at].request == request);
    struct finish_entry last = order->entries[--order->n];
    if (at == order->n) return;
    if (at > 0 && finishes_before(&last, &order->entries[(at - 1) / 2]))
        sift_up(order, at, last);
    else
        sift_down(order, at, last);
}
