/* What a job met while it waited for GPUs, and which commands of the power policy slowed it down. */
#include "sim/cli/explain/story_parts.h"

#include "sim/core/err.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* "2 GPUs free, at most 1 of them on one node", or that the number of GPUs is not limited. */
static void free_text(char *text, size_t bytes, const struct queue_row *row)
{
    if (isinf(row->free_gpus)) {
        snprintf(text, bytes, "GPUs are not limited");
        return;
    }
    const int n = snprintf(text, bytes, "%.10g GPU%s free", row->free_gpus, story_plural(row->free_gpus));
    if (row->most_on_node_gpus > 0)
        snprintf(text + n, bytes - (size_t)n, ", at most %" PRId64 " of them on one node", row->most_on_node_gpus);
}

static bool asks_whole_gpus(const struct story_queue *queue)
{
    return queue->gpus > 0 && queue->gpu_milli == 1000;
}

/* "2 GPUs", "0.5 of a GPU", or what a job without GPUs is placed for. */
static void asked_text(char *text, size_t bytes, const struct story_queue *queue)
{
    if (queue->gpus == 0)
        snprintf(text, bytes, "CPU cores and memory");
    else if (queue->gpu_milli < 1000)
        snprintf(text, bytes, "%.10g of a GPU", queue->gpu_milli / 1000.0);
    else
        snprintf(text, bytes, "%" PRId64 " GPU%s", queue->gpus, story_plural((double)queue->gpus));
}

/* Whether the free GPUs are scattered: the job does not fit on one node, or on whole nodes and a part of one more, as
 * most placers put it. */
static bool is_scattered(const struct queue_row *row, int64_t gpus)
{
    if (row->most_on_node_gpus < 0 || row->gpus_per_node == 0) return false;
    const int64_t nodes = gpus / row->gpus_per_node, rest = gpus % row->gpus_per_node;
    if (nodes == 0) return row->most_on_node_gpus < gpus;
    return row->whole_nodes < nodes || (row->whole_nodes == nodes && row->most_beside_gpus < rest);
}

/* Counts a decision that left the job waiting: were GPUs free for it, in total and together, and who got them? */
static void count_decision(struct story_queue *queue)
{
    const struct queue_row *row = &queue->latest;
    if (!queue->has_latest) return;
    const bool is_enough = row->free_gpus >= (double)queue->gpus;
    const bool is_divided = is_enough && is_scattered(row, queue->gpus);
    queue->node_parts = row->gpus_per_node > 0 ? (queue->gpus + row->gpus_per_node - 1) / row->gpus_per_node : 0;
    queue->has_latest = false;
    queue->n_decisions++;
    queue->n_enough += is_enough;
    queue->n_divided += is_divided;
    queue->most_free_gpus = fmax(queue->most_free_gpus, row->free_gpus);
    if (!is_enough || is_divided || queue->started < 0) return;
    queue->n_others++;
    queue->other = queue->started;
}

int story_see_other(struct story *story, const struct decision_row *row)
{
    const bool is_job = row->service[0] == '\0';
    if (!is_job && strcmp(row->action, "start") == 0 && row->t_s == story->yields_at_s) {
        story->yields_at_s = (double)NAN;
        return story_tell(story, row->t_s, "yielded", "to %s, %s: %s", row->service, row->policy, row->reason);
    }
    if (!is_job || row->subject == story->subject.id) return 0;
    if (story_is_any(row->action, (const char *const[]){"start", "resume", NULL})) story->queue.started = row->subject;
    if (strcmp(row->action, "preempt") != 0) return 0;
    if (row->t_s != story->displaced_at_s) story->n_displaced = 0;
    story->displaced_at_s = row->t_s;
    return vec_push(&story->displaced, &story->n_displaced, &story->displaced_capacity, row->subject);
}

enum { DISPLACED_NAMED = 4 };

/* When the job starts: those that the scheduler preempts at this moment, whose GPUs it may take. */
static int tell_displaced(struct story *story, double t_s)
{
    char text[160];
    int n = 0;
    if (t_s != story->displaced_at_s) return 0;
    for (size_t i = 0; i < story->n_displaced && i < DISPLACED_NAMED; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s job %" PRId64, i > 0 ? "," : "", story->displaced[i]);
    if (story->n_displaced > DISPLACED_NAMED)
        snprintf(text + n, sizeof text - (size_t)n, " and %zu more", story->n_displaced - DISPLACED_NAMED);
    return story_tell(story, t_s, "preempts", "the scheduler preempts at this moment:%s", text);
}

int story_on_queue(void *context, const struct queue_row *row)
{
    struct story *story = context;
    struct story_queue *queue = &story->queue;
    char asked[64], free[96], others[64] = "", type[96] = "";
    if (!story->subject.is_job) return 0;
    if (row->job < 0 && queue->waits && asks_whole_gpus(queue)) {
        count_decision(queue);
        queue->latest = *row;
        queue->has_latest = true;
        queue->started = -1;
    }
    if (row->job != story->subject.id) return 0;
    story->queued_s = row->t_s;
    *queue = (struct story_queue){.waits = true, .from_s = row->t_s, .gpus = row->gpus, .gpu_milli = row->gpu_milli,
                                  .started = -1};
    asked_text(asked, sizeof asked, queue);
    free_text(free, sizeof free, row);
    if (row->other_gpus > 0) snprintf(others, sizeof others, "; in use by services: %.10g", row->other_gpus);
    if (row->type != NULL && strcmp(row->type, "default") != 0)
        snprintf(type, sizeof type, ", of type %.64s", row->type);
    return story_tell(story, row->t_s, "submit", "asks for %s%s: %s%s; jobs waiting: %" PRId64 ", running: %" PRId64,
                      asked, type, free, others, row->pending, row->running);
}

/* "; with room for it, 2 started another job (last: job 5), 1 none": what the scheduler did with the room. */
static void room_text(char *text, size_t bytes, const struct story_queue *queue)
{
    const int64_t n_room = queue->n_enough - queue->n_divided, n_none = n_room - queue->n_others;
    char none[32] = "";
    text[0] = '\0';
    if (queue->n_others > 0 && n_none > 0) snprintf(none, sizeof none, ", %" PRId64 " none", n_none);
    if (queue->n_others > 0)
        snprintf(text, bytes, "; with room for it, %" PRId64 " started another job (last: job %" PRId64 ")%s",
                 queue->n_others, queue->other, none);
    else if (n_room > 0)
        snprintf(text, bytes, "; with room for it, %" PRId64 " started none", n_none);
}

/* "12 s for 0.5 of a GPU": free GPUs do not tell whether there is room. */
static int tell_queue_of_parts(struct story *story, double t_s, const char *what)
{
    char asked[64];
    asked_text(asked, sizeof asked, &story->queue);
    return story_tell(story, t_s, what, "%.6g s for %s%s", t_s - story->queue.from_s, asked,
                      strcmp(what, "waited") == 0 ? "" : " so far");
}

/* "12 s; of 17 decisions of the scheduler, 3 found 8 GPUs or more free, 2 of them on no single node; ..." */
static int tell_queue(struct story *story, double t_s, const char *what)
{
    const struct story_queue *queue = &story->queue;
    const bool is_over = strcmp(what, "waited") == 0;
    char divided[80] = "", room[160];
    if (!asks_whole_gpus(queue)) return tell_queue_of_parts(story, t_s, what);
    if (queue->n_decisions == 0)
        return story_tell(story, t_s, what, "%.6g s for GPUs%s", t_s - queue->from_s,
                          is_over ? ", until the next decision" : " so far, without a decision");
    if (queue->n_divided > 0 && queue->node_parts <= 1)
        snprintf(divided, sizeof divided, ", %" PRId64 " of them not on one node", queue->n_divided);
    else if (queue->n_divided > 0)
        snprintf(divided, sizeof divided, ", %" PRId64 " of them not on %" PRId64 " nodes", queue->n_divided,
                 queue->node_parts);
    room_text(room, sizeof room, queue);
    return story_tell(story, t_s, what,
                      "%.6g s for GPUs%s; of %" PRId64 " decision%s meanwhile, %" PRId64 " found %" PRId64
                      " GPU%s free or more%s; at most %.10g were free%s",
                      t_s - queue->from_s, is_over ? "" : " so far", queue->n_decisions,
                      story_plural((double)queue->n_decisions), queue->n_enough, queue->gpus,
                      story_plural((double)queue->gpus), divided, queue->most_free_gpus, room);
}

/* Ends the current wait, and counts and tells it if it has a length. */
static int end_wait(struct story *story, double t_s, const char *what)
{
    const struct story_queue *queue = &story->queue;
    struct story_waits *waits = &story->waits;
    const double wait_s = t_s - queue->from_s;
    if (!(wait_s > 0)) return 0;
    waits->n++;
    waits->total_s += wait_s;
    if (waits->n_stops == 0) waits->before_start_s = wait_s;
    if (wait_s > waits->longest_s) {
        waits->longest_s = wait_s;
        waits->longest_from_s = queue->from_s;
    }
    return tell_queue(story, t_s, what);
}

int story_follow_job(struct story *story, const struct decision_row *row)
{
    struct story_queue *queue = &story->queue;
    const bool stops = story_is_any(row->action, (const char *const[]){"preempt", "interrupt", NULL});
    const bool starts = story_is_any(row->action, (const char *const[]){"start", "resume", NULL});
    if (strcmp(row->action, "interrupt") == 0 && strncmp(row->reason, "yields", strlen("yields")) == 0)
        story->yields_at_s = row->t_s;
    if (starts) {
        const int code = tell_displaced(story, row->t_s);
        if (code != 0) return code;
    }
    if (stops) {
        *queue = (struct story_queue){.waits = true, .from_s = row->t_s, .gpus = queue->gpus,
                                      .gpu_milli = queue->gpu_milli, .started = -1};
        story->waits.n_stops++;
        story->clock_event = 0;
        story_set_speed(story, row->t_s, 1);
    }
    if (!queue->waits || stops) return 0;
    queue->waits = false;
    queue->has_latest = false; /* this decision ends the wait */
    return end_wait(story, row->t_s, "waited");
}

int story_end_job(struct story *story)
{
    count_decision(&story->queue);
    return story->queue.waits ? end_wait(story, story->end_s, "waits") : 0;
}

void story_set_speed(struct story *story, double t_s, double speed_frac)
{
    struct story_slowed *slowed = &story->slowed;
    if (!isnan(slowed->from_s)) slowed->total_s += t_s - slowed->from_s;
    slowed->from_s = speed_frac < 1 ? t_s : (double)NAN;
    if (!(speed_frac < 1)) return;
    slowed->least_frac = fmin(slowed->least_frac, speed_frac);
    slowed->most_frac = fmax(slowed->most_frac, speed_frac);
}

int story_on_job_idle(void *context, const struct job_idle_row *row)
{
    struct story *story = context;
    struct story_idle *idle = &story->idle;
    if (!story->subject.is_job || row->job != story->subject.id) return 0;
    idle->work_s = row->work_s;
    idle->has_interval = row->has_interval;
    idle->has_saved = row->has_saved;
    idle->save_interval_s = row->save_interval_s;
    idle->loaded_s += row->loaded_s;
    idle->saved_s += row->saved_s;
    idle->moved_s += row->moved_s;
    idle->halted_s += row->halted_s;
    idle->kept_s += row->kept_s;
    return 0;
}

/* Whether the latest event on its clock, since it last got GPUs, says the same. */
static bool is_known_clock(const struct story *story, const struct story_command *command, const char *effect)
{
    if (story->clock_event == 0) return false;
    const struct story_event *event = &story->events[story->clock_event - 1];
    return event->command == command - story->commands && strcmp(event->text, effect) == 0;
}

int story_on_job_clock(void *context, const struct job_clock_row *row)
{
    struct story *story = context;
    if (!story->subject.is_job || row->job != story->subject.id) return 0;
    story_set_speed(story, row->t_s, row->speed_frac);
    if (row->power_domain == NULL) {
        story->clock_event = 0;
        const int code = story_tell(story, row->t_s, "power",
                                    "the highest clock again: runs at %.3g %% of its full speed",
                                    100 * row->speed_frac);
        if (code == 0) story->events[story->n_events - 1].speed_frac = row->speed_frac;
        return code;
    }
    const struct story_command *command = story_find_command(story, row->power_domain, row->power_target,
                                                             row->power_given_s);
    char effect[64];
    snprintf(effect, sizeof effect, "runs at %.3g %% of its full speed", 100 * row->speed_frac);
    if (command == NULL || is_known_clock(story, command, effect)) return 0;
    const int code = story_tell_command(story, row->t_s, command, effect);
    story->clock_event = story->n_events;
    if (code == 0) story->events[story->n_events - 1].speed_frac = row->speed_frac;
    return code;
}
