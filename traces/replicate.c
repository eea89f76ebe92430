#include "traces/replicate.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_RECORDS = 10000000 /* in memory: 1 to 2 GB */, ENOUGH_BLOCKS = 10, MOST_BLOCKS = 10000000 };

static const char *const methods[] = {"block-bootstrap", "windows", NULL};

#define ROW_OF struct replicate_config
const struct config_field replicate_config_fields[] = {
    ROW_CHOICE("method", method, REQUIRED, methods, "blocks drawn by the seed, or the window of the seed's number"),
    ROW_TIME("length", length_ns, REQUIRED, WITHIN(1e-3, 1e9), "length of a block or window"),
    {0}};
#undef ROW_OF

struct replicate {
    struct stream stream;
    struct stream *inner;
    sim_ns from_ns, to_ns, length_ns; /* the part of the trace; of a block or window */
    const char *where;
    const volatile sig_atomic_t *interrupt;
    uint64_t seed;
    int64_t n_given;
    bool has_end; /* the part is that of "window"; else it begins at the first record */
    bool has_begun, ended;
    struct notes notes;

    /* Windows. */
    bool is_whole; /* a record behind the window, or the end of the part, is known */
    sim_ns last_ns;

    /* Blocks. */
    bool is_loaded;
    struct rng rng;
    struct record_buffer trace;         /* times from 0 */
    sim_ns trace_ns;                    /* length of the circle */
    sim_ns block_ns, start_ns, size_ns; /* the current block: its place in the result, begin in the trace, length */
    size_t first, given;                /* index of its first record; records given of it */
};

/* Without "window" the part begins at the first record. */
static void begin(struct replicate *replicate, sim_ns first_ns)
{
    if (!replicate->has_begun && !replicate->has_end) {
        replicate->from_ns = sim_ns_add(replicate->from_ns, first_ns);
        replicate->to_ns = sim_ns_add(replicate->to_ns, first_ns);
    }
    replicate->has_begun = true;
}

/* Blocks do not keep the order in which jobs come after one another. */
static void forget_needs(struct replicate *replicate, struct job_record *job)
{
    if (job->n_needs == 0) return;
    notes_count(&replicate->notes, "needs-dropped", "jobs that come after others no longer do: blocks are mixed");
    job->needs = NULL;
    job->n_needs = job->n_enough = 0;
}

/* The next record of the part, its time from the part's begin. Returns 1, 0 at the end, or a negative code. */
static int next_inside(struct replicate *replicate, union trace_record *record, struct diag *diag)
{
    while (!replicate->ended) {
        if (source_is_interrupted(replicate->interrupt)) return SIM_E_INTERRUPTED;
        const int code = stream_next(replicate->inner, record, diag);
        if (code < 0) return code;
        if (code == 0) break;
        begin(replicate, record->any.time_ns);
        if (record->any.time_ns >= replicate->to_ns) {
            replicate->is_whole = true;
            break;
        }
        replicate->last_ns = record->any.time_ns;
        if (record->any.time_ns < replicate->from_ns) continue;
        record->any.time_ns -= replicate->from_ns;
        return 1;
    }
    replicate->ended = true;
    return 0;
}

/* --- Windows --- */

static int fail_seed(const struct replicate *replicate, uint64_t n, struct diag *diag)
{
    static const char hint[] = "seeds 1, 2, ... choose the windows, one each";
    if (replicate->seed < 1 || !replicate->has_end)
        return diag_error(diag, SIM_E_CONFIG, replicate->where, hint, "\"replicate\" has no window for seed %" PRIu64,
                          replicate->seed);
    return diag_error(diag, SIM_E_CONFIG, replicate->where, hint,
                      "\"replicate\" has no window for seed %" PRIu64 ": the trace has %" PRIu64, replicate->seed, n);
}

/* Narrows the part to the window of the seed. */
static int choose_window(struct replicate *replicate, struct diag *diag)
{
    const sim_ns length_ns = replicate->length_ns;
    const sim_ns part_ns = replicate->has_end ? replicate->to_ns - replicate->from_ns : SIM_NS_MAX / 2;
    const uint64_t n = (uint64_t)(part_ns / length_ns);
    if (replicate->seed < 1 || replicate->seed > n) return fail_seed(replicate, n, diag);
    replicate->from_ns += (sim_ns)(replicate->seed - 1) * length_ns;
    replicate->is_whole = replicate->has_end && replicate->from_ns + length_ns == replicate->to_ns;
    replicate->to_ns = replicate->from_ns + length_ns;
    return 0;
}

/* Whether the window, which is at its end, is whole and has records. */
static int check_window(const struct replicate *replicate, struct diag *diag)
{
    const double from_s = sim_s_from_ns(replicate->from_ns), to_s = sim_s_from_ns(replicate->to_ns);
    if (!replicate->is_whole)
        return diag_error(diag, SIM_E_CONFIG, replicate->where, "take fewer seeds, or shorter windows",
                          "the window of seed %" PRIu64 " is not whole: it ends at %.6g s, and the trace at %.6g s",
                          replicate->seed, to_s, sim_s_from_ns(replicate->last_ns));
    if (replicate->n_given > 0) return 0;
    return diag_error(diag, SIM_E_CONFIG, replicate->where, "take longer windows, or a busier part by \"window\"",
                      "the window of seed %" PRIu64 " is empty: no record from %.6g s to %.6g s", replicate->seed,
                      from_s, to_s);
}

static int next_of_window(struct replicate *replicate, union trace_record *record, struct diag *diag)
{
    const bool first_time = !replicate->ended;
    const int code = next_inside(replicate, record, diag);
    if (code == 1) replicate->n_given++;
    return code != 0 || !first_time ? code : check_window(replicate, diag);
}

/* --- Blocks --- */

/* Begins a block at a random time, as long as what is left of the result. */
static void draw_block(struct replicate *replicate)
{
    const sim_ns left_ns = replicate->trace_ns - replicate->block_ns;
    size_t low = 0, high = replicate->trace.n;
    replicate->size_ns = left_ns < replicate->length_ns ? left_ns : replicate->length_ns;
    replicate->start_ns = (sim_ns)rng_below(&replicate->rng, (uint64_t)replicate->trace_ns);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (replicate->trace.records[middle].record.any.time_ns < replicate->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    replicate->first = low;
    replicate->given = 0;
}

/* Finds the circle's length, of which a block must be a part, and draws the first block. */
static int measure(struct replicate *replicate, struct diag *diag)
{
    const size_t n = replicate->trace.n;
    if (n == 0)
        return diag_error(diag, SIM_E_CONFIG, replicate->where, "choose another part by \"window\"",
                          "\"replicate\" has no record to draw blocks of");
    const sim_ns last_ns = replicate->trace.records[n - 1].record.any.time_ns;
    const sim_ns gap_ns = n > 1 ? last_ns / (sim_ns)(n - 1) : 0;
    replicate->trace_ns = replicate->has_end ? replicate->to_ns - replicate->from_ns
                                             : sim_ns_add(last_ns, gap_ns > 0 ? gap_ns : 1);
    if (replicate->length_ns >= replicate->trace_ns)
        return diag_error(diag, SIM_E_CONFIG, replicate->where, "ten blocks or more make traces that differ",
                          "a block of %.6g s is as long as the trace, which has %.6g s",
                          sim_s_from_ns(replicate->length_ns), sim_s_from_ns(replicate->trace_ns));
    if (replicate->trace_ns / replicate->length_ns > MOST_BLOCKS)
        return diag_error(diag, SIM_E_CONFIG, replicate->where, "longer blocks keep more of the trace's bursts",
                          "a block of %.6g s is less than a ten-millionth of the trace, which has %.6g s",
                          sim_s_from_ns(replicate->length_ns), sim_s_from_ns(replicate->trace_ns));
    if (replicate->trace_ns / replicate->length_ns < ENOUGH_BLOCKS)
        notes_count(&replicate->notes, "few-blocks",
                    "trace replicated from fewer than ten blocks: intervals over seeds may be too narrow");
    draw_block(replicate);
    return 0;
}

static int load(struct replicate *replicate, struct diag *diag)
{
    union trace_record record;
    int code;
    replicate->is_loaded = true;
    while ((code = next_inside(replicate, &record, diag)) == 1) {
        if (replicate->trace.n == MAX_RECORDS)
            return diag_error(diag, SIM_E_CONFIG, replicate->where, "choose a part of it by \"window\"",
                              "a block bootstrap holds the trace in memory, which has more than %d records",
                              MAX_RECORDS);
        if (record_buffer_add(&replicate->trace, &record) != 0) return diag_nomem(diag);
    }
    return code < 0 ? code : measure(replicate, diag);
}

/* The time of the block's next record since the block's begin; size_ns or more if the block has no more. */
static sim_ns next_offset(const struct replicate *replicate)
{
    const size_t n = replicate->trace.n;
    if (replicate->given == n) return SIM_NS_MAX;
    const size_t index = replicate->first + replicate->given;
    const sim_ns time_ns = replicate->trace.records[index % n].record.any.time_ns;
    return time_ns - replicate->start_ns + (index >= n ? replicate->trace_ns : 0);
}

static int next_of_blocks(struct replicate *replicate, union trace_record *record, struct diag *diag)
{
    const int code = replicate->is_loaded ? 0 : load(replicate, diag);
    if (code < 0) return code;
    while (replicate->block_ns < replicate->trace_ns) {
        const sim_ns offset_ns = next_offset(replicate);
        if (offset_ns < replicate->size_ns) {
            const size_t index = (replicate->first + replicate->given++) % replicate->trace.n;
            *record = record_buffer_get(&replicate->trace, index);
            record->any.time_ns = replicate->block_ns + offset_ns;
            record->any.id = replicate->n_given++;
            if (!replicate->trace.requests) forget_needs(replicate, &record->job);
            return 1;
        }
        replicate->block_ns += replicate->size_ns;
        if (replicate->block_ns < replicate->trace_ns) draw_block(replicate);
    }
    return 0;
}

/* --- The stages --- */

static int windows_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    return next_of_window((struct replicate *)stream, record, diag);
}

static int blocks_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    return next_of_blocks((struct replicate *)stream, record, diag);
}

static struct source_place windows_place(const struct stream *stream)
{
    const struct replicate *replicate = (const struct replicate *)stream;
    struct source_place place = replicate->inner->ops->place(replicate->inner);
    place.origin_ns = 0; /* a window begins anywhere */
    return place;
}

static struct source_place blocks_place(const struct stream *stream)
{
    const struct replicate *replicate = (const struct replicate *)stream;
    const double length_ns = (double)replicate->trace_ns;
    return (struct source_place){.row = replicate->n_given,
                                 .done_frac = length_ns > 0 ? (double)replicate->block_ns / length_ns : 0};
}

static bool replicate_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct replicate *replicate = (const struct replicate *)stream;
    if (index < replicate->notes.n) return notes_get(&replicate->notes, index, note);
    return replicate->inner->ops->note(replicate->inner, index - replicate->notes.n, note);
}

static void replicate_close(struct stream *stream)
{
    struct replicate *replicate = (struct replicate *)stream;
    stream_close(replicate->inner);
    record_buffer_fini(&replicate->trace);
    mem_free(replicate);
}

static const struct stream_ops windows_ops = {
    .next = windows_next, .place = windows_place, .note = replicate_note, .close = replicate_close};
static const struct stream_ops blocks_ops = {
    .next = blocks_next, .place = blocks_place, .note = replicate_note, .close = replicate_close};

int replicate_open(const struct replicate_config *config, sim_ns from_ns, sim_ns to_ns,
                   const struct source_options *options, bool requests, struct stream *inner, struct stream **stream,
                   struct diag *diag)
{
    struct replicate *replicate = mem_zalloc(1, sizeof *replicate);
    char name[STREAM_NAME_CHARS];
    *stream = NULL;
    if (replicate == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    const bool is_window = config->method == REPLICATE_WINDOWS;
    *replicate = (struct replicate){.stream = {is_window ? &windows_ops : &blocks_ops}, .inner = inner,
                                    .from_ns = from_ns, .to_ns = to_ns, .length_ns = config->length_ns,
                                    .where = options->where, .interrupt = options->interrupt, .seed = options->seed,
                                    .has_end = to_ns < SIM_NS_MAX};
    snprintf(name, sizeof name, "%s.replicate", options->stream);
    rng_init(&replicate->rng, options->seed, options->run, name, 0);
    record_buffer_init(&replicate->trace, requests);
    const int code = is_window ? choose_window(replicate, diag) : 0;
    if (code != 0)
        replicate_close(&replicate->stream);
    else
        *stream = &replicate->stream;
    return code;
}
