#include "traces/resample.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/vec.h"
#include "traces/reader.h"
#include "traces/stream.h"

#include <float.h>
#include <stdio.h>

#define ROW_OF struct resample_config
const struct config_field resample_config_fields[] = {
    ROW_INT("gpus", gpus, DEFAULT("0"), WITHIN(0, 1e9),
            "GPUs of the cluster to fill; 0: do not resample"),
    ROW_REAL("load", load, DEFAULT("1.3"), WITHIN(DBL_MIN, 100), "total GPUs requested, as a multiple of `gpus`"),
    ROW_TIME("full_after", full_after_ns, DEFAULT("100s"), WITHIN(1e-3, 1e9),
             "time at which the requested GPUs reach `gpus`"),
    {0}};
#undef ROW_OF

struct resample {
    struct stream stream;
    struct stream *inner;
    const struct resample_config *config;
    struct rng rng; /* stream "NAME.resample" */
    struct record_buffer trace;
    size_t *order; /* [n]: of the trace's records */
    size_t n, capacity, given;
    int64_t asked_milli;
    bool loaded;
};

static int64_t demand_milli(const struct resample *resample, size_t index)
{
    const struct job_record *job = &resample->trace.records[index].record.job;
    return (int64_t)job->gpus * job->gpu_milli;
}

static int add(struct resample *resample, size_t index)
{
    return vec_push(&resample->order, &resample->n, &resample->capacity, index);
}

static int shuffle(struct resample *resample)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < resample->trace.n; i++) {
        const size_t j = (size_t)rng_below(&resample->rng, i + 1);
        code = add(resample, i);
        if (code < 0) break;
        resample->order[i] = resample->order[j];
        resample->order[j] = i;
        resample->asked_milli += demand_milli(resample, i);
    }
    return code;
}

/* Draws jobs until the next one would exceed `most_milli`. */
static int draw_more(struct resample *resample, int64_t most_milli)
{
    for (;;) {
        const size_t index = (size_t)rng_below(&resample->rng, resample->trace.n);
        if (resample->asked_milli + demand_milli(resample, index) > most_milli) return 0;
        resample->asked_milli += demand_milli(resample, index);
        const int code = add(resample, index);
        if (code < 0) return code;
    }
}

static void take_out(struct resample *resample, int64_t most_milli)
{
    while (resample->asked_milli > most_milli) {
        const size_t at = (size_t)rng_below(&resample->rng, resample->n);
        resample->asked_milli -= demand_milli(resample, resample->order[at]);
        resample->n--;
        for (size_t i = at; i < resample->n; i++) resample->order[i] = resample->order[i + 1];
    }
}

static int load(struct resample *resample, struct diag *diag)
{
    union trace_record record;
    int code;
    while ((code = stream_next(resample->inner, &record, diag)) == 1) {
        code = record_buffer_add(&resample->trace, &record);
        if (code != 0) return code;
    }
    if (code == 0) code = shuffle(resample);
    const int64_t most_milli = (int64_t)(resample->config->load * 1000 * (double)resample->config->gpus);
    if (code == 0 && resample->asked_milli > 0) {
        take_out(resample, most_milli);
        code = draw_more(resample, most_milli);
    }
    resample->asked_milli = 0;
    resample->loaded = true;
    return code;
}

static int resample_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct resample *resample = (struct resample *)stream;
    if (!resample->loaded) {
        const int code = load(resample, diag);
        if (code == SIM_E_NOMEM) return diag_nomem(diag);
        if (code < 0) return code;
    }
    if (resample->given == resample->n) return 0;
    const size_t index = resample->order[resample->given];
    *record = record_buffer_get(&resample->trace, index);
    resample->asked_milli += demand_milli(resample, index);
    const double full = (double)resample->asked_milli / (1000.0 * (double)resample->config->gpus);
    record->job.id = (int64_t)resample->given++;
    record->job.needs = NULL;
    record->job.n_needs = record->job.n_enough = 0;
    record->job.submit_ns = (sim_ns)(full * (double)resample->config->full_after_ns);
    record->job.duration_ns = record->job.estimate_ns = READER_MAX_NS;
    return 1;
}

static struct source_place resample_place(const struct stream *stream)
{
    const struct resample *resample = (const struct resample *)stream;
    const double done_frac = resample->n > 0 ? (double)resample->given / (double)resample->n : 0;
    return (struct source_place){.row = (int64_t)resample->given, .done_frac = done_frac};
}

static bool resample_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct resample *resample = (const struct resample *)stream;
    return resample->inner->ops->note(resample->inner, index, note);
}

static void resample_close(struct stream *stream)
{
    struct resample *resample = (struct resample *)stream;
    stream_close(resample->inner);
    record_buffer_fini(&resample->trace);
    mem_free(resample->order);
    mem_free(resample);
}

static const struct stream_ops resample_ops = {
    .next = resample_next, .place = resample_place, .note = resample_note, .close = resample_close};

int resample_open(const struct resample_config *config, const struct source_options *options, struct stream *inner,
                  struct stream **stream, struct diag *diag)
{
    *stream = inner;
    if (config->gpus == 0) return 0;
    struct resample *resample = mem_zalloc(1, sizeof *resample);
    if (resample == NULL) {
        stream_close(inner);
        return diag_nomem(diag);
    }
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.resample", options->stream);
    resample->stream.ops = &resample_ops;
    resample->inner = inner;
    resample->config = config;
    rng_init(&resample->rng, options->seed, options->run, name, 0);
    record_buffer_init(&resample->trace, false);
    *stream = &resample->stream;
    return 0;
}
