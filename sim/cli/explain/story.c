#include "sim/cli/explain/story_parts.h"

#include "sim/core/err.h"
#include "sim/core/text.h"
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
                            .token_before_s = (double)NAN,
                            .prompt_from_s = (double)NAN, .end_s = (double)NAN, .displaced_at_s = (double)NAN,
                            .unrouted_s = (double)NAN, .first_routed_s = (double)NAN,
                            .yields_at_s = (double)NAN, .queued_s = (double)NAN, .joins_at_s = (double)NAN,
                            .gap_s = (double)NAN, .gap_from_s = (double)NAN,
                            .slowed = {.from_s = (double)NAN, .least_frac = (double)INFINITY},
                            .sequences = {.forked_at_s = (double)NAN}};
}

void story_fini(struct story *story)
{
    mem_free(story->events);
    mem_free(story->commands);
    mem_free(story->replicas);
    mem_free(story->displaced);
    story->replicas = NULL;
    story->displaced = NULL;
    story->events = NULL;
    story->commands = NULL;
}

const char *story_time(char text[static 32], double s)
{
    if (s < 1e-6)
        snprintf(text, 32, "%.0f ns", 1e9 * s);
    else if (s < 1)
        snprintf(text, 32, "%.4g ms", 1e3 * s);
    else
        snprintf(text, 32, s < 1000 ? "%.3g s" : "%.0f s", s);
    return text;
}

int story_tell(struct story *story, double t_s, const char *what, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct story_event event = {
        t_s, story->n_events, arena_strdup(story->arena, what), arena_strdup(story->arena, text), -1, (double)NAN, 0,
        0};
    if (event.what == NULL || event.text == NULL) return SIM_E_NOMEM;
    return vec_push(&story->events, &story->n_events, &story->capacity, event);
}

/* --- Decisions --- */

static bool is_own(const struct story *story, const struct decision_row *row)
{
    return row->subject == story->subject.id && strcmp(row->service, story->subject.service) == 0;
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

int story_note_command(struct story *story, const struct decision_row *row)
{
    const char *target = target_of(row);
    if (target == NULL) return 0;
    struct story_command command = {.domain = arena_strdup(story->arena, row->service),
                                    .target = arena_strdup(story->arena, target),
                                    .policy = arena_strdup(story->arena, row->policy),
                                    .reason = arena_strdup(story->arena, row->reason),
                                    .t_s = row->t_s,
                                    .since_s = (double)NAN,
                                    .until_s = (double)NAN,
                                    .reading_w = (double)NAN};
    if (command.domain == NULL || command.target == NULL || command.policy == NULL || command.reason == NULL)
        return SIM_E_NOMEM;
    return vec_push(&story->commands, &story->n_commands, &story->commands_capacity, command);
}

/* A command takes effect: the one before it to the same GPUs ends. */
int story_on_power_command(void *context, const struct power_command_row *row)
{
    struct story *story = context;
    for (size_t i = 0; i < story->n_commands; i++) {
        struct story_command *command = &story->commands[i];
        const bool is_same = strcmp(command->domain, row->domain) == 0 && strcmp(command->target, row->target) == 0;
        if (is_same && !isnan(command->since_s) && isnan(command->until_s)) command->until_s = row->t_s;
    }
    struct story_command *command = story_find_command(story, row->domain, row->target, row->given_s);
    if (!row->holds || command == NULL) return 0;
    command->since_s = row->t_s;
    command->reading_w = row->reading_w;
    command->budget_w = row->budget_w;
    return 0;
}

int story_tell_command(struct story *story, double t_s, const struct story_command *command, const char *effect)
{
    const int code = story_tell(story, t_s, "power", "%s", effect);
    if (code == 0) story->events[story->n_events - 1].command = command - story->commands;
    return code;
}

static void add_watts(struct text *text, double watts)
{
    text_printf(text, watts < 1000 ? "%.3g W" : "%.4g kW", watts < 1000 ? watts : watts / 1000);
}

/* "polca: brake in row0, ordered at 10 s: 288 MHz: power is above the budget (49.1 kW of 48 kW); in force from ..." */
static int word_command(struct story *story, struct story_event *event)
{
    const struct story_command *command = &story->commands[event->command];
    const bool is_brake = strcmp(command->target, "brake") == 0;
    struct text text;
    text_init(&text);
    text_printf(&text, "%s: %s%s in %s, ordered at %.6f s: %s", command->policy,
                is_brake ? "brake" : "lower clock for priority ", is_brake ? "" : command->target, command->domain,
                command->t_s, command->reason);
    if (!isnan(command->reading_w)) {
        text_add(&text, " (");
        add_watts(&text, command->reading_w);
        text_add(&text, " of ");
        add_watts(&text, command->budget_w);
        text_add(&text, ")");
    }
    text_printf(&text, "; in force from %.6f s ", command->since_s);
    if (isnan(command->until_s))
        text_add(&text, "on");
    else
        text_printf(&text, "to %.6f s", command->until_s);
    if (event->text[0] != '\0') text_printf(&text, "; %s", event->text);
    event->text = text.failed ? NULL : arena_strdup(story->arena, text.chars);
    text_fini(&text);
    return event->text != NULL ? 0 : SIM_E_NOMEM;
}

int story_end(struct story *story)
{
    story_set_speed(story, isnan(story->job.end_s) ? story->end_s : story->job.end_s, 1);
    int code = story->subject.is_job ? story_end_job(story) : story_end_request(story);
    for (size_t i = 0; i < story->n_events && code == 0; i++)
        if (story->events[i].command >= 0) code = word_command(story, &story->events[i]);
    return code;
}

bool story_is_any(const char *action, const char *const *actions)
{
    while (*actions != NULL && strcmp(*actions, action) != 0) actions++;
    return *actions != NULL;
}

static int on_decision(void *context, const struct decision_row *row)
{
    struct story *story = context;
    int code = story_note_command(story, row);
    if (code == 0) code = story->subject.is_job ? story_see_other(story, row) : story_see_service(story, row);
    if (code != 0 || !is_own(story, row)) return code;
    code = story->subject.is_job ? story_follow_job(story, row) : story_follow_request(story, row);
    if (code != 0) return code;
    const char *cause = strcmp(row->action, "requeue") == 0 ? story_failure_of_replica(story) : NULL;
    return story_tell(story, row->t_s, row->action, "%s: %s%s%s", row->policy, row->reason,
                      cause != NULL ? "; cause: " : "", cause != NULL ? cause : "");
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
    const double held_s = row->end_s - row->start_s;
    const int code = story_tell(story, row->start_s, "held", "%" PRId64 " GPU%s of node %" PRId64 " for %.6g s",
                                row->gpus, row->gpus == 1 ? "" : "s", row->node, held_s);
    if (code != 0) return code;
    story->events[story->n_events - 1].held_gpus = row->gpus;
    story->events[story->n_events - 1].held_s = held_s;
    return 0;
}

struct sink story_sink(struct story *story)
{
    return (struct sink){.context = story,
                         .request = on_request,
                         .job = on_job,
                         .placement = on_placement,
                         .batch = story_on_batch,
                         .queue = story_on_queue,
                         .job_clock = story_on_job_clock,
                         .job_idle = story_on_job_idle,
                         .power_command = story_on_power_command,
                         .handover = story_on_handover,
                         .sequence = story_on_sequence,
                         .token_wait = story_on_token_wait,
                         .admission = story_on_admission,
                         .decision = on_decision,
                         .detail = on_decision,
                         .metric = on_metric};
}
