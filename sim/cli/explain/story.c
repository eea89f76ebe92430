#include "sim/cli/explain/story.h"

#include "sim/core/err.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void story_init(struct story *story, const struct story_subject *subject, struct arena *arena)
{
    *story = (struct story){.arena = arena, .subject = *subject, .replica = -1, .last_token_s = (double)NAN};
}

void story_fini(struct story *story)
{
    mem_free(story->events);
    story->events = NULL;
}

__attribute__((format(printf, 4, 5))) static int tell(struct story *story, double t_s, const char *what,
                                                      const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct story_event event = {t_s, story->n_events, arena_strdup(story->arena, what),
                                arena_strdup(story->arena, text)};
    if (event.what == NULL || event.text == NULL) return SIM_E_NOMEM;
    return vec_push(&story->events, &story->n_events, &story->capacity, event);
}

/* --- Decisions --- */

static bool is_own(const struct story *story, const struct decision_row *row)
{
    return row->subject == story->subject.id && strcmp(row->service, story->subject.service) == 0;
}

/* When the request enters the batch: what its replica did while it waited. */
static int tell_wait(struct story *story, double t_s)
{
    struct story_work work = story->meanwhile;
    story->meanwhile = (struct story_work){0};
    if (work.prefill_iterations + work.decode_iterations == 0) return 0;
    return tell(story, t_s, "waited",
                "meanwhile %s/%" PRId64 " did %" PRId64 " iterations with prompts (%" PRId64 " tokens) and %" PRId64
                " of decoding alone",
                story->subject.service, story->replica, work.prefill_iterations, work.prefill_tokens,
                work.decode_iterations);
}

/* The number of decode iterations since the request entered the batch, and their mean time. */
static int tell_decoding(struct story *story, double t_s)
{
    int64_t n = story->decode_iterations;
    double mean_s = n > 0 ? story->decode_s / (double)n : 0;
    story->decode_iterations = 0;
    story->decode_s = 0;
    if (n == 0) return 0;
    return tell(story, t_s, "decoded", "%" PRId64 " token%s, one every %.4g ms", n, n == 1 ? "" : "s", 1e3 * mean_s);
}

static bool is_any(const char *action, const char *const *actions)
{
    while (*actions != NULL && strcmp(*actions, action) != 0) actions++;
    return *actions != NULL;
}

static int on_decision(void *context, const struct decision_row *row)
{
    static const char routed[] = "to replica ";
    struct story *story = context;
    int code = 0;
    if (!is_own(story, row)) return 0;
    if (!story->subject.is_job) {
        bool enters = is_any(row->action, (const char *const[]){"admit", "resume", "continue", "swap-in", NULL});
        bool leaves = is_any(row->action, (const char *const[]){"preempt", "pause", "requeue", "finish", NULL});
        if (strcmp(row->action, "route") == 0 && strncmp(row->reason, routed, strlen(routed)) == 0)
            story->replica = strtoll(row->reason + strlen(routed), NULL, 10);
        if (enters) code = tell_wait(story, row->t_s);
        if (leaves) code = tell_decoding(story, row->t_s);
        if (enters) story->in_batch = true;
        if (leaves) story->in_batch = false;
    }
    return code != 0 ? code : tell(story, row->t_s, row->action, "%s: %s", row->policy, row->reason);
}

/* --- Batches of its replica --- */

static int on_prefill(struct story *story, const struct batch_row *row)
{
    if (story->n_events == 0) return 0;
    const struct story_event *latest = &story->events[story->n_events - 1];
    if (latest->t_s != row->start_s || !is_any(latest->what, (const char *const[]){"admit", "resume", "chunk", NULL}))
        return 0;
    return tell(story, row->end_s, "prefill",
                "an iteration of %.4g ms: %" PRId64 " tokens of %" PRId64 " prompt%s, %" PRId64 " decoding beside",
                1e3 * (row->end_s - row->start_s), row->prefill_tokens, row->prefill_sequences,
                row->prefill_sequences == 1 ? "" : "s", row->decoding);
}

static void count_gap(struct story *story, double token_s)
{
    double gap_s = token_s - story->last_token_s;
    if (gap_s > story->gap_s) {
        story->gap_s = gap_s;
        story->gap_from_s = story->last_token_s;
    }
}

static int on_batch(void *context, const struct batch_row *row)
{
    struct story *story = context;
    if (story->subject.is_job || row->replica != story->replica || strcmp(row->service, story->subject.service) != 0)
        return 0;
    bool has_prefill = row->prefill_sequences > 0;
    if (!story->in_batch) {
        story->meanwhile.prefill_tokens += row->prefill_tokens;
        story->meanwhile.prefill_iterations += has_prefill ? row->iterations : 0;
        story->meanwhile.decode_iterations += has_prefill ? 0 : row->iterations;
        return 0;
    }
    size_t before = story->n_events;
    int code = has_prefill ? on_prefill(story, row) : 0;
    bool own_prompt = story->n_events > before;
    bool gives_token = own_prompt || (row->decoding > 0 && !isnan(story->last_token_s));
    if (!gives_token || row->iterations == 0) return code;
    double each_s = (row->end_s - row->start_s) / (double)row->iterations;
    if (!isnan(story->last_token_s)) count_gap(story, row->start_s + each_s);
    if (!own_prompt) {
        story->decode_iterations += row->iterations;
        story->decode_s += row->end_s - story->last_token_s;
    }
    story->last_token_s = row->end_s;
    return code;
}

/* --- The rows of its own --- */

static int on_request(void *context, const struct request_row *row)
{
    struct story *story = context;
    const struct story_subject *subject = &story->subject;
    if (subject->is_job || row->id != subject->id || strcmp(row->service, subject->service) != 0) return 0;
    story->request = *row;
    story->request.service = subject->service;
    story->request.status = arena_strdup(story->arena, row->status);
    story->request.class = arena_strdup(story->arena, row->class);
    return story->request.status != NULL && story->request.class != NULL ? 0 : SIM_E_NOMEM;
}

static int on_job(void *context, const struct job_row *row)
{
    struct story *story = context;
    if (!story->subject.is_job || row->id != story->subject.id) return 0;
    story->job = *row;
    story->job.status = arena_strdup(story->arena, row->status);
    return story->job.status != NULL ? 0 : SIM_E_NOMEM;
}

static int on_placement(void *context, const struct placement_row *row)
{
    struct story *story = context;
    if (!story->subject.is_job || row->job != story->subject.id) return 0;
    if (row->node < 0)
        return tell(story, row->start_s, "held", "%" PRId64 " GPUs for %.6g s", row->gpus, row->end_s - row->start_s);
    return tell(story, row->start_s, "held", "%" PRId64 " GPU%s of node %" PRId64 " for %.6g s", row->gpus,
                row->gpus == 1 ? "" : "s", row->node, row->end_s - row->start_s);
}

struct sink story_sink(struct story *story)
{
    return (struct sink){.context = story,
                         .request = on_request,
                         .job = on_job,
                         .placement = on_placement,
                         .batch = on_batch,
                         .decision = on_decision,
                         .detail = on_decision};
}
