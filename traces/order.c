#include "traces/order.h"

#include "sim/core/mem.h"
#include "traces/record_buffer.h"

struct order {
    struct stream stream;
    struct stream *inner;
    bool sort, from_first;
    bool loaded, started;
    sim_ns origin_ns;
    struct record_buffer buffer;
    size_t given;
};

static int load(struct order *order, struct diag *diag)
{
    union trace_record record;
    int code;
    while ((code = stream_next(order->inner, &record, diag)) == 1) {
        code = record_buffer_add(&order->buffer, &record);
        if (code != 0) return diag_nomem(diag);
    }
    if (code < 0) return code;
    code = record_buffer_sort(&order->buffer);
    if (code != 0) return diag_nomem(diag);
    order->loaded = true;
    return 0;
}

static int next_sorted(struct order *order, union trace_record *record, struct diag *diag)
{
    if (!order->loaded) {
        int code = load(order, diag);
        if (code != 0) return code;
    }
    if (order->given == order->buffer.n) return 0;
    *record = record_buffer_get(&order->buffer, order->given++);
    return 1;
}

static int order_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct order *order = (struct order *)stream;
    int code = order->sort ? next_sorted(order, record, diag) : stream_next(order->inner, record, diag);
    if (code != 1) return code;
    if (!order->started && order->from_first) order->origin_ns = record->any.time_ns;
    order->started = true;
    record->any.time_ns -= order->origin_ns;
    return 1;
}

static struct source_place order_place(const struct stream *stream)
{
    const struct order *order = (const struct order *)stream;
    struct source_place place = order->inner->ops->place(order->inner);
    if (order->loaded && order->buffer.n > 0) place.done_frac = (double)order->given / (double)order->buffer.n;
    return place;
}

static bool order_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct order *order = (const struct order *)stream;
    return order->inner->ops->note(order->inner, index, note);
}

static void order_close(struct stream *stream)
{
    struct order *order = (struct order *)stream;
    stream_close(order->inner);
    record_buffer_fini(&order->buffer);
    mem_free(order);
}

static const struct stream_ops order_ops = {
    .next = order_next, .place = order_place, .note = order_note, .close = order_close};

int order_open(bool sort, bool from_first, bool requests, struct stream *inner, struct stream **stream,
               struct diag *diag)
{
    struct order *order = mem_zalloc(1, sizeof *order);
    if (order == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    *order = (struct order){.stream = {&order_ops}, .inner = inner, .sort = sort, .from_first = from_first};
    record_buffer_init(&order->buffer, requests);
    *stream = &order->stream;
    return 0;
}
