#include "sim/cli/explain/story_parts.h"

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
    *story = (struct story){.arena = arena, .subject = *subject, .replica = -1, .last_token_s = (double)NAN,
                            .prompt_from_s = (double)NAN, .end_s = (double)NAN};
}

void story_fini(struct story *story)
{
    mem_free(story->events);
    mem_free(story->commands);
    story->events = NULL;
    story->commands = NULL;
}

int story_tell(struct story *story, double t_s, const char *what, const char *format, ...)
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

/* Below it a difference to the time at the highest clock is a rounding error. */
static const double LEAST_SLOWED_S = 1e-9;

/* ", 1.2 s longer than at the highest clock", or nothing if lower clocks added no time. */
static const char *slowed_text(char text[static 64], double slowed_s)
{
    text[0] = '\0';
    if (slowed_s > LEAST_SLOWED_S) snprintf(text, 64, ", %.4g ms longer than at the highest clock", 1e3 * slowed_s);
    return text;
}

/* When the request enters the batch: what its replica did while it waited. */
static int tell_wait(struct story *story, double t_s)
{
    char slowed[64];
    struct story_work work = story->meanwhile;
    story->meanwhile = (struct story_work){0};
    if (work.prefill_iterations + work.decode_iterations == 0) return 0;
    return story_tell(story, t_s, "waited",
                      "meanwhile %s/%" PRId64 " did %" PRId64 " iterations with prompts (%" PRId64
                      " tokens) and %" PRId64 " of decoding alone%s",
                      story->subject.service, story->replica, work.prefill_iterations, work.prefill_tokens,
                      work.decode_iterations, slowed_text(slowed, work.slowed_s));
}

/* The number of decode iterations since the request entered the batch, and their mean time. */
static int tell_decoding(struct story *story, double t_s)
{
    char slowed[64];
    int64_t n = story->decode_iterations;
    double mean_s = n > 0 ? story->decode_s / (double)n : 0;
    slowed_text(slowed, story->decode_slowed_s);
    story->decode_iterations = 0;
    story->decode_s = story->decode_slowed_s = 0;
    if (n == 0) return 0;
    return story_tell(story, t_s, "decoded", "%" PRId64 " %s%s, one every %.4g ms%s", n,
                      story->subject.drafts ? "iteration" : "token", n == 1 ? "" : "s", 1e3 * mean_s, slowed);
}

/* --- Commands of the power policy --- */

/* Commands take seconds to arrive, so a later one may be on its way. */
struct story_command *story_find_command(const struct story *story, const char *domain, const char *target,
                                         double given_s)
{
    for (size_t i = story->n_commands; i-- > 0;) {
        struct story_command *command = &story->commands[i];
        if (command->t_s == given_s && strcmp(command->domain, domain) == 0 && strcmp(command->target, target) == 0)
            return command;
    }
    return NULL;
}

/* What a command is to: "lock low" is to "low", "brake" to the brake; NULL: the row is no such command. */
static const char *target_of(const struct decision_row *row)
{
    static const char *const verbs[] = {"lock ", "cap "};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strncmp(row->action, verbs[i], strlen(verbs[i])) == 0) return row->action + strlen(verbs[i]);
    return strcmp(row->action, "brake") == 0 ? "brake" : NULL;
}

static int note_command(struct story *story, const struct decision_row *row)
{
    const char *target = target_of(row);
    if (target == NULL) return 0;
    struct story_command command = {.domain = arena_strdup(story->arena, row->service),
                                    .target = arena_strdup(story->arena, target),
                                    .policy = arena_strdup(story->arena, row->policy),
                                    .reason = arena_strdup(story->arena, row->reason),
                                    .t_s = row->t_s};
    if (command.domain == NULL || command.target == NULL || command.policy == NULL || command.reason == NULL)
        return SIM_E_NOMEM;
    return vec_push(&story->commands, &story->n_commands, &story->commands_capacity, command);
}

int story_tell_command(struct story *story, double t_s, const struct story_command *command, double since_s,
                       const char *effect)
{
    const bool is_brake = strcmp(command->target, "brake") == 0;
    return story_tell(story, t_s, "power", "%s: %s%s in %s, ordered at %.6f s: %s; in force since %.6f s; %s",
                      command->policy, is_brake ? "brake" : "lower clock for priority ",
                      is_brake ? "" : command->target, command->domain, command->t_s, command->reason, since_s, effect);
}

/* Once for each command that slows the request down: who gave it, when and why. */
static int tell_power(struct story *story, const struct batch_row *row)
{
    if (row->power_domain == NULL) return 0;
    struct story_command *command = story_find_command(story, row->power_domain, row->power_target, row->power_given_s);
    if (command == NULL || command->is_told) return 0;
    command->is_told = true;
    char effect[64];
    snprintf(effect, sizeof effect, "clock at %.3g %% of the highest", 100 * row->clock_frac);
    return story_tell_command(story, row->start_s, command, row->power_since_s, effect);
}

bool story_is_any(const char *action, const char *const *actions)
{
    while (*actions != NULL && strcmp(*actions, action) != 0) actions++;
    return *actions != NULL;
}

static int on_decision(void *context, const struct decision_row *row)
{
    static const char routed[] = "to replica ";
    struct story *story = context;
    int code = note_command(story, row);
    if (code == 0 && story->subject.is_job) story_see_other(story, row);
    if (code != 0 || !is_own(story, row)) return code;
    if (!story->subject.is_job) {
        bool enters = story_is_any(row->action, (const char *const[]){"admit", "resume", "continue", "swap-in", NULL});
        bool leaves = story_is_any(row->action, (const char *const[]){"preempt", "pause", "requeue", "finish", NULL});
        if (strcmp(row->action, "route") == 0 && strncmp(row->reason, routed, strlen(routed)) == 0)
            story->replica = strtoll(row->reason + strlen(routed), NULL, 10);
        if (enters) code = tell_wait(story, row->t_s);
        if (leaves) code = tell_decoding(story, row->t_s);
        if (enters) story->in_batch = true;
        if (story_is_any(row->action, (const char *const[]){"admit", "resume", "chunk", NULL}))
            story->prompt_from_s = row->t_s;
        if (leaves) story->in_batch = false;
    } else {
        code = story_follow_job(story, row);
    }
    return code != 0 ? code : story_tell(story, row->t_s, row->action, "%s: %s", row->policy, row->reason);
}

/* --- Batches of its replica --- */

static int on_prefill(struct story *story, const struct batch_row *row)
{
    char slowed[64], loads[64] = "";
    if (!(row->start_s >= story->prompt_from_s)) return 0;
    if (row->start_s > story->prompt_from_s)
        snprintf(loads, sizeof loads, "after %.4g ms for loads, ", 1e3 * (row->start_s - story->prompt_from_s));
    story->prompt_from_s = (double)NAN;
    const double lasted_s = row->end_s - row->start_s;
    const int code = tell_power(story, row);
    if (code != 0) return code;
    return story_tell(
        story, row->end_s, "prefill",
        "%san iteration of %.4g ms: %" PRId64 " tokens of %" PRId64 " prompt%s, %" PRId64 " decoding beside%s", loads,
        1e3 * lasted_s, row->prefill_tokens, row->prefill_sequences, row->prefill_sequences == 1 ? "" : "s",
        row->decoding, slowed_text(slowed, lasted_s - row->full_clock_s));
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
        story->meanwhile.slowed_s += row->end_s - row->start_s - row->full_clock_s;
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
        story->decode_slowed_s += row->end_s - row->start_s - row->full_clock_s;
        if (code == 0) code = tell_power(story, row);
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

static int on_metric(void *context, const struct metric_row *row)
{
    struct story *story = context;
    if (strcmp(row->name, "sim.end_s") == 0) story->end_s = row->value;
    return 0;
}

static int on_placement(void *context, const struct placement_row *row)
{
    struct story *story = context;
    if (!story->subject.is_job || row->job != story->subject.id) return 0;
    if (row->node < 0)
        return story_tell(story, row->start_s, "held", "%" PRId64 " GPUs for %.6g s", row->gpus,
                          row->end_s - row->start_s);
    return story_tell(story, row->start_s, "held", "%" PRId64 " GPU%s of node %" PRId64 " for %.6g s", row->gpus,
                      row->gpus == 1 ? "" : "s", row->node, row->end_s - row->start_s);
}

struct sink story_sink(struct story *story)
{
    return (struct sink){.context = story,
                         .request = on_request,
                         .job = on_job,
                         .placement = on_placement,
                         .batch = on_batch,
                         .queue = story_on_queue,
                         .job_clock = story_on_job_clock,
                         .decision = on_decision,
                         .detail = on_decision,
                         .metric = on_metric};
}
