#include "traces/jitter.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "traces/record_buffer.h"

#include <stdio.h>

struct jitter {
    struct stream stream;
    struct stream *inner;
    sim_ns width_ns;
    uint64_t seed;
    uint32_t run;
    char name[STREAM_NAME_CHARS];
    struct record_buffer group, times; /* the records of one stamp; as many new times, sorted */
    size_t given;
    bool ahead, ended; /* `next` holds the first record of the group to come */
    union trace_record next;
};

/* Reads the records of the next stamp, and one more. */
static int read_group(struct jitter *jitter, struct diag *diag)
{
    while (!jitter->ended) {
        if (!jitter->ahead) {
            int code = stream_next(jitter->inner, &jitter->next, diag);
            if (code < 0) return code;
            jitter->ahead = code == 1;
            jitter->ended = code == 0;
            if (jitter->ended) return 0;
        }
        if (jitter->group.n > 0 && jitter->next.any.time_ns != jitter->group.records[0].record.any.time_ns) return 0;
        if (record_buffer_add(&jitter->group, &jitter->next) != 0) {
            return diag_nomem(diag);
        }
        jitter->ahead = false;
    }
    return 0;
}

static int draw_times(struct jitter *jitter)
{
    for (size_t i = 0; i < jitter->group.n; i++) {
        union trace_record moved = {.any = jitter->group.records[i].record.any};
        sim_ns width_ns = jitter->width_ns;
        if (jitter->ahead && jitter->next.any.time_ns - moved.any.time_ns < width_ns) {
            width_ns = jitter->next.any.time_ns - moved.any.time_ns;
        }
        struct rng rng;
        rng_init(&rng, jitter->seed, jitter->run, jitter->name, (uint64_t)moved.any.id);
        moved.any.time_ns = sim_ns_add(moved.any.time_ns, (sim_ns)(rng_uniform(&rng) * (double)width_ns));
        int code = record_buffer_add(&jitter->times, &moved);
        if (code != 0) return code;
    }
    return record_buffer_sort(&jitter->times);
}

static int next_group(struct jitter *jitter, struct diag *diag)
{
    int code = read_group(jitter, diag);
    if (code != 0) return code;
    code = draw_times(jitter);
    return code == 0 ? 0 : diag_nomem(diag);
}

static int jitter_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct jitter *jitter = (struct jitter *)stream;
    if (jitter->given > 0 && jitter->given == jitter->group.n) {
        record_buffer_clear(&jitter->group);
        record_buffer_clear(&jitter->times);
        jitter->given = 0;
    }
    if (jitter->given == 0) {
        int code = next_group(jitter, diag);
        if (code != 0) return code;
    }
    if (jitter->given == jitter->group.n) return 0;
    *record = record_buffer_get(&jitter->group, jitter->given);
    record->any.time_ns = jitter->times.records[jitter->given].record.any.time_ns;
    jitter->given++;
    return 1;
}

static struct source_place jitter_place(const struct stream *stream)
{
    const struct jitter *jitter = (const struct jitter *)stream;
    return jitter->inner->ops->place(jitter->inner);
}

static bool jitter_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct jitter *jitter = (const struct jitter *)stream;
    return jitter->inner->ops->note(jitter->inner, index, note);
}

static void jitter_close(struct stream *stream)
{
    struct jitter *jitter = (struct jitter *)stream;
    stream_close(jitter->inner);
    record_buffer_fini(&jitter->group);
    record_buffer_fini(&jitter->times);
    mem_free(jitter);
}

static const struct stream_ops jitter_ops = {
    .next = jitter_next, .place = jitter_place, .note = jitter_note, .close = jitter_close};

int jitter_open(sim_ns width_ns, const struct source_options *options, bool requests, struct stream *inner,
                struct stream **stream, struct diag *diag)
{
    struct jitter *jitter = mem_zalloc(1, sizeof *jitter);
    if (jitter == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    *jitter = (struct jitter){
        .stream = {&jitter_ops}, .inner = inner, .width_ns = width_ns, .seed = options->seed, .run = options->run};
    snprintf(jitter->name, sizeof jitter->name, "%s.jitter", options->stream);
    record_buffer_init(&jitter->group, requests);
    record_buffer_init(&jitter->times, false);
    *stream = &jitter->stream;
    return 0;
}
