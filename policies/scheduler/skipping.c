#include "policies/scheduler/skipping.h"

void skipping_fini(void *state)
{
    pending_fini(&((struct skipping *)state)->pending);
}

void skipping_notify(struct skipping *skipping, const struct job_note *note, struct rank rank)
{
    struct ranked *ranked = job_view_slot(note->job);
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) {
        *ranked = (struct ranked){.job = note->job, .rank = rank, .gpus = note->job->gpus};
        int code = pending_add(&skipping->pending, ranked);
        if (code < 0) skipping->code = code;
    } else if (note->event == JOB_EVENT_START) {
        pending_remove(&skipping->pending, ranked);
    }
    if (note->event == JOB_EVENT_FINISH || note->event == JOB_EVENT_PREEMPT) skipping->pending.round++;
}

static struct pending_class *first_in_turn(const struct skipping *skipping, const struct cluster_view *view)
{
    const struct pending *pending = &skipping->pending;
    struct pending_class *best = NULL;
    for (size_t i = 0; i < pending->n && (skipping->strict || pending->classes[i]->gpus <= view->free_gpus); i++) {
        struct pending_class *class = pending->classes[i];
        if (!pending_class_is_open(pending, class)) continue;
        if (best == NULL || rank_before(&class->jobs.first->rank, &best->jobs.first->rank)) best = class;
    }
    return best;
}

int skipping_decide(struct skipping *skipping, const struct cluster_view *view, struct job_plan *plan,
                    const char *reason)
{
    struct pending *pending = &skipping->pending;
    if (pending->round == 0 || skipping->capacity_epoch != view->capacity_epoch) pending->round++;
    skipping->capacity_epoch = view->capacity_epoch;
    struct pending_class *class;
    while ((class = first_in_turn(skipping, view)) != NULL) {
        if (job_plan_start(plan, class->jobs.first->job, reason)) continue;
        if (skipping->strict) break;
        class->refused_in = pending->round;
    }
    return skipping->code;
}
