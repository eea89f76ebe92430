#include "traces/transform.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "traces/stream.h"

#include <math.h>
#include <stdio.h>

#define MAX_NS (INT64_MAX / 2) /* of stretched times */

const struct config_field trace_window_item[] = {{.kind = CONFIG_TIME, .min = 0, .max = 9e9}, {0}};

/* --- Jitter: spreads arrivals that a coarse clock stamped alike --- */

struct jitter {
    struct stream stream;
    struct stream *inner;
    sim_ns width_ns;
    uint64_t seed;
    uint32_t run;
    char name[STREAM_NAME_CHARS];
    struct record_buffer group, times; /* the records of one stamp; their new times, sorted */
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

/* The records of one time stamp get independent uniform times, sorted, within `width_ns` after the stamp and before the
 * next one: all records keep their order. The numbers are drawn by record id from the stream "NAME.jitter". Memory: the
 * records of one stamp. Takes ownership of `inner`, also on failure. Returns 0 or SIM_E_NOMEM. */
static int jitter_open(sim_ns width_ns, const struct source_options *options, bool requests, struct stream *inner,
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

/* --- The other transforms --- */

struct transform {
    struct stream stream;
    struct stream *inner;
    struct trace_transform params;
    sim_ns from_ns, to_ns;
    bool requests, ended;
    int64_t n_read, n_given;
    uint64_t seed;
    uint32_t run;
    char name[STREAM_NAME_CHARS];
    const char *where;
    const volatile sig_atomic_t *interrupt;
    struct notes notes;
};

/* Scaled time; SIM_NS_MAX beyond the range of traces. */
static sim_ns scaled(const struct transform *transform, sim_ns ns)
{
    if (transform->params.rate_scale == 1) return ns;
    double scaled_ns = rint((double)ns / transform->params.rate_scale);
    return scaled_ns < (double)MAX_NS ? (sim_ns)scaled_ns : SIM_NS_MAX;
}

/* Whether thinning keeps the record: decided by its id alone, or by that of the session that a log names. */
static bool is_kept(const struct transform *transform, const union trace_record *record)
{
    if (transform->params.thin_frac >= 1) return true;
    const bool by_session = transform->requests && record->request.session_is_logged;
    const int64_t id = by_session ? record->request.session_id : record->any.id;
    struct rng rng;
    rng_init(&rng, transform->seed, transform->run, transform->name, (uint64_t)id);
    return rng_uniform(&rng) < transform->params.thin_frac;
}

static int32_t at_most(int32_t tokens, int64_t limit)
{
    return limit > 0 && tokens > limit ? (int32_t)limit : tokens;
}

/* The leading chunks that a clipped prompt still has whole. */
static int32_t whole_chunks(const struct request_record *request)
{
    int64_t tokens = 0;
    for (int32_t i = 0; i < request->n_chunks; i++) {
        tokens += request->chunks[i].tokens;
        if (tokens > request->prompt_tokens) return i;
    }
    return request->n_chunks;
}

static void clip(struct transform *transform, struct request_record *request)
{
    const struct trace_transform *params = &transform->params;
    request->output_tokens += (int32_t)params->extra_output_tokens;
    int32_t prompt = at_most(request->prompt_tokens, params->max_prompt_tokens);
    int32_t output = at_most(request->output_tokens, params->max_output_tokens);
    int64_t over = params->max_total_tokens > 0 ? (int64_t)prompt + output - params->max_total_tokens : 0;
    if (over > 0) {
        prompt = over < prompt ? (int32_t)(prompt - over) : 1;
        output = at_most(output, params->max_total_tokens - prompt);
    }
    if (prompt == request->prompt_tokens && output == request->output_tokens) return;
    notes_count(&transform->notes, "clipped", "requests clipped to the longest prompt, output or total");
    request->prompt_tokens = prompt;
    request->output_tokens = output;
    if (request->n_prefix_blocks > 0) {
        int64_t n_blocks = ((int64_t)prompt + request->prefix_block_tokens - 1) / request->prefix_block_tokens;
        request->n_prefix_blocks = at_most(request->n_prefix_blocks, n_blocks);
    }
    request->n_chunks = whole_chunks(request);
}

static int end_of_trace(struct transform *transform, struct diag *diag)
{
    bool first_time = !transform->ended;
    transform->ended = true;
    if (!first_time || transform->n_given > 0 || transform->n_read == 0) return 0;
    return diag_error(diag, SIM_E_CONFIG, transform->where, "widen \"window\", or raise \"thin\"",
                      "nothing is left of the trace after \"window\" and \"thin\"");
}

static int fail_scaled(const struct transform *transform, struct diag *diag)
{
    return diag_error(diag, SIM_E_CONFIG, transform->where, "raise \"rate_scale\", or set a \"window\" or a \"limit\"",
                      "\"rate_scale\" stretches the trace over more than the 146 years that it may have");
}

/* Leaves a record out. A session without its first request has ended. */
static int leave_out(struct transform *transform, const union trace_record *record, struct diag *diag)
{
    struct stream *inner = transform->inner;
    union trace_record none;
    if (inner->ops->session == NULL) return 0;
    const struct request_end end = {.id = record->any.id, .session_id = record->request.session_id};
    return inner->ops->follow(inner, &end, &none, diag);
}

static int transform_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct transform *transform = (struct transform *)stream;
    const struct trace_transform *params = &transform->params;
    while (!transform->ended && (params->limit == 0 || transform->n_given < params->limit)) {
        if (source_is_interrupted(transform->interrupt)) return SIM_E_INTERRUPTED;
        int code = stream_next(transform->inner, record, diag);
        if (code < 0) return code;
        if (code == 0) break;
        transform->n_read++;
        sim_ns time_ns = record->any.time_ns;
        if (time_ns >= transform->to_ns) break;
        if (time_ns < transform->from_ns || !is_kept(transform, record)) {
            code = leave_out(transform, record, diag);
            if (code < 0) return code;
            continue;
        }
        record->any.time_ns = scaled(transform, time_ns - transform->from_ns);
        if (record->any.time_ns == SIM_NS_MAX) return fail_scaled(transform, diag);
        if (transform->requests && record->request.session_id > 0)
            record->request.session_start_ns = record->any.time_ns;
        if (transform->requests) clip(transform, &record->request);
        transform->n_given++;
        return 1;
    }
    return end_of_trace(transform, diag);
}

static int transform_follow(struct stream *stream, const struct request_end *end, union trace_record *record,
                            struct diag *diag)
{
    struct transform *transform = (struct transform *)stream;
    int code = transform->inner->ops->follow(transform->inner, end, record, diag);
    if (code > 0) clip(transform, &record->request);
    if (code > 0 && record->request.session_id > 0)
        record->request.session_start_ns = scaled(transform, record->request.session_start_ns - transform->from_ns);
    return code;
}

static const struct session_plan *transform_session(const struct stream *stream, int64_t session_id)
{
    const struct stream *inner = ((const struct transform *)stream)->inner;
    return inner->ops->session(inner, session_id);
}

static struct source_place transform_place(const struct stream *stream)
{
    const struct transform *transform = (const struct transform *)stream;
    struct source_place place = transform->inner->ops->place(transform->inner);
    if (place.origin_ns > 0) place.origin_ns += transform->from_ns;
    return place;
}

static bool transform_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct transform *transform = (const struct transform *)stream;
    size_t n = transform->notes.n;
    if (index < n) return notes_get(&transform->notes, index, note);
    return transform->inner->ops->note(transform->inner, index - n, note);
}

static void transform_close(struct stream *stream)
{
    struct transform *transform = (struct transform *)stream;
    stream_close(transform->inner);
    mem_free(transform);
}

static const struct stream_ops open_ops = {
    .next = transform_next, .place = transform_place, .note = transform_note, .close = transform_close};
static const struct stream_ops closed_ops = {.next = transform_next,
                                             .follow = transform_follow,
                                             .place = transform_place,
                                             .note = transform_note,
                                             .close = transform_close};
static const struct stream_ops session_ops = {.next = transform_next,
                                              .follow = transform_follow,
                                              .session = transform_session,
                                              .place = transform_place,
                                              .note = transform_note,
                                              .close = transform_close};

/* The window's two ends; [0, forever) by default. */
static int read_window(struct transform *transform, struct diag *diag)
{
    const struct config_list *window = &transform->params.window;
    const sim_ns *ends = window->items;
    transform->to_ns = SIM_NS_MAX;
    if (window->n == 0) return 0;
    if (ends[0] >= ends[1]) {
        return diag_error(diag, SIM_E_CONFIG, transform->where, "write \"window\": [\"0s\", \"1h\"]",
                          "\"window\" must end after it begins");
    }
    transform->from_ns = ends[0];
    transform->to_ns = ends[1];
    return 0;
}

/* Sessions begin at times of the trace; the rest of their times are pauses, which stay. */
static int check_sessions(const struct transform *transform, struct diag *diag)
{
    const struct trace_transform *params = &transform->params;
    if (params->jitter_ns == 0 && params->replicate.length_ns == 0 && params->offline == OFFLINE_NOT &&
        params->upscale.factor == 0)
        return 0;
    return diag_error(diag, SIM_E_CONFIG, transform->where, "leave them out",
                      "sessions do not support jitter, replicate, upscale and offline");
}

/* A closed loop makes its own times: transforms can change only lengths. */
static int check_closed(const struct transform *transform, struct diag *diag)
{
    const struct trace_transform *params = &transform->params;
    if (transform->inner->ops->session != NULL) return check_sessions(transform, diag);
    bool plain = params->window.n == 0 && params->rate_scale == 1 && params->thin_frac >= 1 && params->jitter_ns == 0 &&
                 params->limit == 0 && params->replicate.length_ns == 0 && params->offline == OFFLINE_NOT &&
                 params->upscale.factor == 0;
    if (transform->inner->ops->follow == NULL || plain) return 0;
    return diag_error(
        diag, SIM_E_CONFIG, transform->where, "set the number of users, their think time or \"count\"",
        "a closed loop does not support window, rate_scale, thin, jitter, replicate, upscale, limit or offline");
}

/* Puts the replication before the other transforms, with the window that comes before it. */
static int replicate(struct transform *transform, const struct source_options *options, struct diag *diag)
{
    const int code = replicate_open(&transform->params.replicate, transform->from_ns, transform->to_ns, options,
                                    transform->requests, transform->inner, &transform->inner, diag);
    transform->from_ns = 0;
    transform->to_ns = SIM_NS_MAX;
    return code;
}

/* The same of the copies, which then have the window behind them. */
static int upscale(struct transform *transform, const struct source_options *options, struct diag *diag)
{
    const int code = upscale_open(&transform->params.upscale, transform->from_ns, transform->to_ns, options,
                                  transform->inner, &transform->inner, diag);
    transform->from_ns = 0;
    transform->to_ns = SIM_NS_MAX;
    return code;
}

int transform_open(const struct trace_transform *params, const struct source_options *options, bool requests,
                   struct stream *inner, struct stream **stream, struct diag *diag)
{
    if (params->jitter_ns > 0 && inner->ops->follow == NULL) {
        int code = jitter_open(params->jitter_ns, options, requests, inner, &inner, diag);
        if (code != 0) return code;
    }
    struct transform *transform = mem_zalloc(1, sizeof *transform);
    if (transform == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    const struct stream_ops *ops = inner->ops->follow != NULL ? &closed_ops : &open_ops;
    *transform = (struct transform){.stream = {inner->ops->session != NULL ? &session_ops : ops},
                                    .inner = inner,
                                    .params = *params,
                                    .requests = requests,
                                    .seed = options->seed,
                                    .run = options->run,
                                    .where = options->where,
                                    .interrupt = options->interrupt};
    snprintf(transform->name, sizeof transform->name, "%s.thin", options->stream);
    int code = read_window(transform, diag);
    if (code == 0) code = check_closed(transform, diag);
    if (code == 0 && params->replicate.length_ns > 0) code = replicate(transform, options, diag);
    if (code == 0 && params->upscale.factor > 0) code = upscale(transform, options, diag);
    if (code != 0) {
        transform_close(&transform->stream);
        return code;
    }
    *stream = &transform->stream;
    if (!requests || params->offline == OFFLINE_NOT) return 0;
    return offline_open((enum offline_order)params->offline, options, &transform->stream, stream, diag);
}
