#include "traces/jitter.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "traces/record_buffer.h"

#include <stdio.h>

struct jitter {
    struct stream stream;
    struct stream *inner;
    sim_ns bin_ns;
    uint64_t seed;
    uint32_t run;
    char name[STREAM_NAME_CHARS];
    struct record_buffer bin, times; /* the bin's records in order; the same with their new times, sorted */
    size_t given;
    bool ahead, ended; /* `next` holds the first record of the bin to come */
    union trace_record next;
};

static sim_ns bin_of(const struct jitter *jitter, const union trace_record *record)
{
    return record->any.time_ns / jitter->bin_ns; /* times are >= 0 */
}

/* Adds a record to the bin, and a new time for one of the bin's records. */
static int add(struct jitter *jitter, const union trace_record *record)
{
    struct rng rng;
    rng_init(&rng, jitter->seed, jitter->run, jitter->name, (uint64_t)record->any.id);
    sim_ns offset_ns = (sim_ns)(rng_uniform(&rng) * (double)jitter->bin_ns);
    union trace_record moved = {.any = {record->any.id, bin_of(jitter, record) * jitter->bin_ns + offset_ns}};
    int code = record_buffer_add(&jitter->bin, record);
    return code != 0 ? code : record_buffer_add(&jitter->times, &moved);
}

/* Collects the records of the next bin. One record is read too far and kept in `next`. */
static int fill(struct jitter *jitter, struct diag *diag)
{
    int code = 0;
    while (!jitter->ended) {
        if (!jitter->ahead) {
            code = stream_next(jitter->inner, &jitter->next, diag);
            if (code < 0) return code;
            jitter->ended = code == 0;
            jitter->ahead = code == 1;
            if (jitter->ended) break;
        }
        if (jitter->bin.n > 0 && bin_of(jitter, &jitter->bin.records[0].record) != bin_of(jitter, &jitter->next)) break;
        code = add(jitter, &jitter->next);
        if (code != 0) return diag_error(diag, code, NULL, NULL, "out of memory");
        jitter->ahead = false;
    }
    code = record_buffer_sort(&jitter->times);
    return code == 0 ? 0 : diag_error(diag, code, NULL, NULL, "out of memory");
}

static int jitter_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct jitter *jitter = (struct jitter *)stream;
    if (jitter->given > 0 && jitter->given == jitter->bin.n) {
        record_buffer_clear(&jitter->bin);
        record_buffer_clear(&jitter->times);
        jitter->given = 0;
    }
    if (jitter->given == 0) {
        int code = fill(jitter, diag);
        if (code != 0) return code;
    }
    if (jitter->given == jitter->bin.n) return 0;
    *record = record_buffer_get(&jitter->bin, jitter->given);
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
    record_buffer_fini(&jitter->bin);
    record_buffer_fini(&jitter->times);
    mem_free(jitter);
}

static const struct stream_ops jitter_ops = {
    .next = jitter_next, .place = jitter_place, .note = jitter_note, .close = jitter_close};

int jitter_open(sim_ns bin_ns, const struct source_options *options, bool requests, struct stream *inner,
                struct stream **stream, struct diag *diag)
{
    struct jitter *jitter = mem_zalloc(1, sizeof *jitter);
    if (jitter == NULL) {
        stream_close(inner);
        return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    }
    *jitter = (struct jitter){
        .stream = {&jitter_ops}, .inner = inner, .bin_ns = bin_ns, .seed = options->seed, .run = options->run};
    snprintf(jitter->name, sizeof jitter->name, "%s.jitter", options->stream);
    record_buffer_init(&jitter->bin, requests);
    record_buffer_init(&jitter->times, false);
    *stream = &jitter->stream;
    return 0;
}
