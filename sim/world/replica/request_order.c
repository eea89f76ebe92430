#include "sim/world/replica/request_order.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>

void request_order_init(struct request_order *order, enum request_rank rank)
{
    *order = (struct request_order){.rank = rank};
}

void request_order_fini(struct request_order *order)
{
    mem_free(order->entries);
    request_order_init(order, order->rank);
}

static bool is_before(const struct request_entry *a, const struct request_entry *b)
{
    return a->number != b->number ? a->number < b->number : a->id < b->id;
}

static void request_order_put(struct request_order *order, int32_t at, struct request_entry entry)
{
    order->entries[at] = entry;
    entry.request->ranks[order->rank] = at;
}

static void sift_up(struct request_order *order, int32_t at, struct request_entry entry)
{
    while (at > 0) {
        int32_t parent = (at - 1) / 2;
        if (!is_before(&entry, &order->entries[parent])) break;
        request_order_put(order, at, order->entries[parent]);
        at = parent;
    }
    request_order_put(order, at, entry);
}

static void sift_down(struct request_order *order, int32_t at, struct request_entry entry)
{
    for (int32_t child; (child = 2 * at + 1) < order->n; at = child) {
        if (child + 1 < order->n && is_before(&order->entries[child + 1], &order->entries[child])) child++;
        if (!is_before(&order->entries[child], &entry)) break;
        request_order_put(order, at, order->entries[child]);
    }
    request_order_put(order, at, entry);
}

int request_order_add(struct request_order *order, struct request *request, int64_t number)
{
    if (order->n == order->capacity) {
        int32_t capacity = order->capacity ? 2 * order->capacity : 64;
        struct request_entry *grown = mem_realloc(order->entries, (size_t)capacity * sizeof *grown);
        if (grown == NULL) return SIM_E_NOMEM;
        order->entries = grown;
        order->capacity = capacity;
    }
    sift_up(order, order->n++, (struct request_entry){number, request->view.id, request});
    return 0;
}

void request_order_remove(struct request_order *order, struct request *request)
{
    int32_t at = request->ranks[order->rank];
    SIM_REQUIRE(at < order->n && order->entries[at].request == request);
    struct request_entry last = order->entries[--order->n];
    if (at == order->n) return;
    if (at > 0 && is_before(&last, &order->entries[(at - 1) / 2]))
        sift_up(order, at, last);
    else
        sift_down(order, at, last);
}
