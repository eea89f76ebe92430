/* What a job met while it waited for GPUs, and which commands of the power policy slowed it down. */
#include "sim/cli/explain/story_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *plural(double n)
{
    return n == 1 ? "" : "s";
}

/* "2 GPUs free, at most 1 of them on one node", or that the number of GPUs is not limited. */
static void free_text(char *text, size_t bytes, const struct queue_row *row)
{
    if (isinf(row->free_gpus)) {
        snprintf(text, bytes, "GPUs are not limited");
        return;
    }
    const int n = snprintf(text, bytes, "%.10g GPU%s free", row->free_gpus, plural(row->free_gpus));
    if (row->most_on_node_gpus > 0)
        snprintf(text + n, bytes - (size_t)n, ", at most %" PRId64 " of them on one node", row->most_on_node_gpus);
}

/* Counts a decision that left the job waiting: were GPUs free for it, in total and on one node? */
static void count_decision(struct story_queue *queue)
{
    const struct queue_row *row = &queue->latest;
    if (!queue->has_latest) return;
    const bool is_enough = row->free_gpus >= (double)queue->gpus;
    queue->has_latest = false;
    queue->n_decisions++;
    queue->n_enough += is_enough;
    queue->n_divided += is_enough && row->most_on_node_gpus >= 0 && queue->gpus <= row->gpus_per_node &&
                        row->most_on_node_gpus < queue->gpus;
    queue->most_free_gpus = fmax(queue->most_free_gpus, row->free_gpus);
}

int story_on_queue(void *context, const struct queue_row *row)
{
    struct story *story = context;
    struct story_queue *queue = &story->queue;
    char free[96];
    if (!story->subject.is_job) return 0;
    if (row->job < 0 && queue->waits) {
        count_decision(queue);
        queue->latest = *row;
        queue->has_latest = true;
    }
    if (row->job != story->subject.id) return 0;
    *queue = (struct story_queue){.waits = true, .from_s = row->t_s, .gpus = row->gpus};
    free_text(free, sizeof free, row);
    return story_tell(story, row->t_s, "submit",
                      "asks for %" PRId64 " GPU%s: %s; jobs waiting: %" PRId64 ", running: %" PRId64, row->gpus,
                      plural((double)row->gpus), free, row->pending, row->running);
}

/* "12 s; of 17 decisions of the scheduler, 3 found 8 GPUs or more free, 2 of them on no single node; ..." */
static int tell_queue(struct story *story, double t_s, const char *what)
{
    const struct story_queue *queue = &story->queue;
    char divided[64] = "";
    if (queue->n_decisions == 0)
        return story_tell(story, t_s, what, "%.6g s for GPUs, until the next decision", t_s - queue->from_s);
    if (queue->n_divided > 0)
        snprintf(divided, sizeof divided, ", %" PRId64 " of them not on one node", queue->n_divided);
    return story_tell(story, t_s, what,
                      "%.6g s for GPUs%s; of %" PRId64 " decision%s meanwhile, %" PRId64 " found %" PRId64
                      " GPU%s free or more%s; at most %.10g were free",
                      t_s - queue->from_s, strcmp(what, "waits") == 0 ? " so far" : "", queue->n_decisions,
                      plural((double)queue->n_decisions), queue->n_enough, queue->gpus, plural((double)queue->gpus),
                      divided, queue->most_free_gpus);
}

int story_follow_job(struct story *story, const struct decision_row *row)
{
    struct story_queue *queue = &story->queue;
    const bool stops = story_is_any(row->action, (const char *const[]){"preempt", "interrupt", NULL});
    if (stops) *queue = (struct story_queue){.waits = true, .from_s = row->t_s, .gpus = queue->gpus};
    if (!queue->waits || stops) return 0;
    queue->waits = false;
    queue->has_latest = false; /* this decision ends the wait */
    return row->t_s > queue->from_s ? tell_queue(story, row->t_s, "waited") : 0;
}

int story_end_job(struct story *story)
{
    const double t_s = story->queue.latest.t_s;
    count_decision(&story->queue);
    if (!story->queue.waits || story->queue.n_decisions == 0) return 0;
    return tell_queue(story, t_s, "waits");
}

int story_on_job_clock(void *context, const struct job_clock_row *row)
{
    struct story *story = context;
    if (!story->subject.is_job || row->job != story->subject.id) return 0;
    if (row->power_domain == NULL)
        return story_tell(story, row->t_s, "power", "the highest clock again: runs at %.3g %% of its full speed",
                          100 * row->speed_frac);
    const struct story_command *command = story_find_command(story, row->power_domain, row->power_target,
                                                             row->power_given_s);
    if (command == NULL) return 0;
    char effect[64];
    snprintf(effect, sizeof effect, "runs at %.3g %% of its full speed", 100 * row->speed_frac);
    return story_tell_command(story, row->t_s, command, row->power_since_s, effect);
}
