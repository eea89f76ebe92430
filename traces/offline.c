#include "traces/offline.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "traces/prefix_groups.h"

#include <stdio.h>

const char *const offline_orders[] = {"no", "as-it-is", "shuffled", "prefix-groups", NULL};

struct offline {
    struct stream stream;
    struct stream *inner;
    enum offline_order kind;
    struct rng rng;
    struct record_buffer batch;
    size_t *order; /* [batch.n]: of its records; NULL until it is read */
    size_t given;
};

static void shuffle(struct offline *offline)
{
    for (size_t i = 0; i < offline->batch.n; i++) {
        const size_t j = (size_t)rng_below(&offline->rng, i + 1);
        offline->order[i] = offline->order[j];
        offline->order[j] = i;
    }
}

static int load(struct offline *offline, struct diag *diag)
{
    union trace_record record;
    int code;
    while ((code = stream_next(offline->inner, &record, diag)) == 1)
        if (record_buffer_add(&offline->batch, &record) != 0) return diag_nomem(diag);
    if (code != 0) return code;
    offline->order = mem_zalloc(offline->batch.n + 1, sizeof *offline->order);
    if (offline->order == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < offline->batch.n; i++) offline->order[i] = i;
    if (offline->kind == OFFLINE_SHUFFLED) shuffle(offline);
    int64_t saved_tokens;
    if (offline->kind == OFFLINE_PREFIX_GROUPS &&
        prefix_groups_order(&offline->batch, offline->order, &saved_tokens) != 0)
        code = diag_nomem(diag);
    return code;
}

static int offline_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct offline *offline = (struct offline *)stream;
    if (offline->order == NULL) {
        const int code = load(offline, diag);
        if (code != 0) return code;
    }
    if (offline->given == offline->batch.n) return 0;
    *record = record_buffer_get(&offline->batch, offline->order[offline->given++]);
    record->any.time_ns = 0;
    return 1;
}

static struct source_place offline_place(const struct stream *stream)
{
    const struct offline *offline = (const struct offline *)stream;
    struct source_place place = offline->inner->ops->place(offline->inner);
    place.origin_ns = 0; /* all come at once */
    return place;
}

static bool offline_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct offline *offline = (const struct offline *)stream;
    return offline->inner->ops->note(offline->inner, index, note);
}

static void offline_close(struct stream *stream)
{
    struct offline *offline = (struct offline *)stream;
    stream_close(offline->inner);
    record_buffer_fini(&offline->batch);
    mem_free(offline->order);
    mem_free(offline);
}

static const struct stream_ops offline_ops = {
    .next = offline_next, .place = offline_place, .note = offline_note, .close = offline_close};

int offline_open(enum offline_order order, const struct source_options *options, struct stream *inner,
                 struct stream **stream, struct diag *diag)
{
    struct offline *offline = mem_zalloc(1, sizeof *offline);
    if (offline == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    *offline = (struct offline){.stream = {&offline_ops}, .inner = inner, .kind = order};
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.offline", options->stream);
    rng_init(&offline->rng, options->seed, options->run, name, 0);
    record_buffer_init(&offline->batch, true);
    *stream = &offline->stream;
    return 0;
}
