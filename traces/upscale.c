#include "traces/upscale.h"

#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/vec.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_RECORDS = 10000000 /* in memory: up to 2 GB, without blocks */ };

#define ROW_OF struct upscale_config
const struct config_field upscale_config_fields[] = {
    ROW_REAL("factor", factor, REQUIRED, WITHIN(1, 100), "mean number of requests for each of the trace"),
    ROW_TIME("shift", shift_ns, DEFAULT("1min"), WITHIN(0, 1e9),
             "a copy of the trace is later by a random time up to this"),
    {0}};
#undef ROW_OF

/* A request of the trace or of a copy. */
struct place {
    int64_t packed; /* number of the copy, 0 for the trace itself, and index in the trace */
    sim_ns time_ns;
};

struct upscale {
    struct stream stream;
    struct stream *inner;
    struct upscale_config config;
    sim_ns from_ns, to_ns;
    struct source_options options;
    char name[STREAM_NAME_CHARS];
    bool is_loaded;
    struct record_buffer trace;
    struct place *all; /* with the copies */
    size_t n_all, all_capacity, n_given;
    uint64_t *blocks; /* of the latest record */
    size_t blocks_capacity;
};

static int add(struct upscale *upscale, int64_t copy, size_t index, sim_ns time_ns, struct diag *diag)
{
    if (upscale->n_all == MAX_RECORDS)
        return diag_error(diag, SIM_E_CONFIG, upscale->options.where, "take a part of the trace by \"window\"",
                          "\"upscale\" holds the requests in memory, which would be more than %d", MAX_RECORDS);
    const struct place place = {copy * MAX_RECORDS + (int64_t)index, time_ns};
    return vec_push(&upscale->all, &upscale->n_all, &upscale->all_capacity, place) == 0 ? 0 : diag_nomem(diag);
}

/* By time; those of one time in the order of copies, and within a copy as in the trace. */
static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return (x->packed > y->packed) - (x->packed < y->packed);
}

static int read_trace(struct upscale *upscale, struct diag *diag)
{
    union trace_record record;
    bool is_empty = true;
    int code;
    while ((code = stream_next(upscale->inner, &record, diag)) == 1) {
        is_empty = false;
        if (record.any.time_ns >= upscale->to_ns) break;
        if (source_is_interrupted(upscale->options.interrupt)) return SIM_E_INTERRUPTED;
        if (record.any.time_ns < upscale->from_ns) continue;
        record.any.time_ns -= upscale->from_ns;
        if (record_buffer_add(&upscale->trace, &record) != 0) return diag_nomem(diag);
        if ((code = add(upscale, 0, upscale->trace.n - 1, record.any.time_ns, diag)) != 0) return code;
    }
    if (code < 0) return code;
    if (upscale->trace.n > 0 || is_empty) return 0;
    return diag_error(diag, SIM_E_CONFIG, upscale->options.where, "widen \"window\"",
                      "nothing is left of the trace after \"window\"");
}

/* Length of the circle. */
static sim_ns length_ns(const struct upscale *upscale)
{
    const size_t n = upscale->trace.n;
    if (upscale->to_ns < SIM_NS_MAX) return upscale->to_ns - upscale->from_ns;
    const sim_ns last_ns = upscale->trace.records[n - 1].record.any.time_ns;
    const sim_ns gap_ns = n > 1 ? last_ns / (sim_ns)(n - 1) : 0;
    return sim_ns_add(last_ns, gap_ns > 0 ? gap_ns : 1);
}

/* The requests of a copy; of the last one, this share. */
static int add_copy(struct upscale *upscale, int64_t copy, double share, struct diag *diag)
{
    const sim_ns circle_ns = length_ns(upscale);
    struct rng rng;
    int code = 0;
    rng_init(&rng, upscale->options.seed, upscale->options.run, upscale->name, (uint64_t)copy);
    const sim_ns shift_ns = (sim_ns)(rng_uniform(&rng) * (double)upscale->config.shift_ns) % circle_ns;
    for (size_t i = 0; i < upscale->trace.n && code == 0; i++) {
        if (!(rng_uniform(&rng) < share)) continue;
        const sim_ns time_ns = upscale->trace.records[i].record.any.time_ns + shift_ns;
        code = add(upscale, copy, i, time_ns < circle_ns ? time_ns : time_ns - circle_ns, diag);
    }
    return code;
}

static int load(struct upscale *upscale, struct diag *diag)
{
    int code = read_trace(upscale, diag);
    upscale->is_loaded = true;
    double left = upscale->config.factor - 1;
    for (int64_t copy = 1; code == 0 && left > 0 && upscale->trace.n > 0; copy++, left--)
        code = add_copy(upscale, copy, left, diag);
    if (code == 0 && upscale->n_all > 1) qsort(upscale->all, upscale->n_all, sizeof *upscale->all, compare_places);
    return code;
}

/* A copy has blocks of its own; the buffer has those of the trace. Files of traces hold ids below 2^63. */
static int set_blocks(struct upscale *upscale, struct request_record *request, int64_t copy)
{
    const size_t n = (size_t)request->n_prefix_blocks;
    if (n == 0) return 0;
    if (vec_reserve(&upscale->blocks, &upscale->blocks_capacity, n) != 0) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        upscale->blocks[i] = hash_mix(request->prefix_blocks[i] ^ hash_mix((uint64_t)copy)) & INT64_MAX;
    request->prefix_blocks = upscale->blocks;
    return 0;
}

static int upscale_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct upscale *upscale = (struct upscale *)stream;
    const int code = upscale->is_loaded ? 0 : load(upscale, diag);
    if (code < 0) return code;
    if (upscale->n_given == upscale->n_all) return 0;
    const struct place place = upscale->all[upscale->n_given];
    const int64_t copy = place.packed / MAX_RECORDS;
    *record = record_buffer_get(&upscale->trace, (size_t)(place.packed % MAX_RECORDS));
    if (copy > 0 && set_blocks(upscale, &record->request, copy) != 0) return diag_nomem(diag);
    record->any.time_ns = place.time_ns;
    record->any.id = (int64_t)upscale->n_given++;
    return 1;
}

static struct source_place upscale_place(const struct stream *stream)
{
    const struct upscale *upscale = (const struct upscale *)stream;
    const size_t n = upscale->n_all;
    return (struct source_place){.row = (int64_t)upscale->n_given,
                                 .done_frac = n > 0 ? (double)upscale->n_given / (double)n : 0};
}

static bool upscale_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct upscale *upscale = (const struct upscale *)stream;
    return upscale->inner->ops->note(upscale->inner, index, note);
}

static void upscale_close(struct stream *stream)
{
    struct upscale *upscale = (struct upscale *)stream;
    stream_close(upscale->inner);
    record_buffer_fini(&upscale->trace);
    mem_free(upscale->all);
    mem_free(upscale->blocks);
    mem_free(upscale);
}

static const struct stream_ops upscale_ops = {
    .next = upscale_next, .place = upscale_place, .note = upscale_note, .close = upscale_close};

int upscale_open(const struct upscale_config *config, sim_ns from_ns, sim_ns to_ns,
                 const struct source_options *options, struct stream *inner, struct stream **stream, struct diag *diag)
{
    struct upscale *upscale = mem_zalloc(1, sizeof *upscale);
    *stream = NULL;
    if (upscale == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    *upscale = (struct upscale){.stream = {&upscale_ops}, .inner = inner, .config = *config, .from_ns = from_ns,
                                .to_ns = to_ns, .options = *options};
    snprintf(upscale->name, sizeof upscale->name, "%s.upscale", options->stream);
    record_buffer_init(&upscale->trace, true);
    *stream = &upscale->stream;
    return 0;
}
