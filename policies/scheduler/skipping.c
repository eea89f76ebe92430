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

int skipping_decide(struct skipping *skipping, const struct cluster_view *view, struct job_plan *plan,
                    const char *reason)
{
    struct pending *pending = &skipping->pending;
    if (pending->round == 0 || skipping->capacity_epoch != view->capacity_epoch) pending->round++;
    skipping->capacity_epoch = view->capacity_epoch;
    struct ranked *first;
    while ((first = pending_first(pending, skipping->params.strict ? INT64_MAX : view->free_gpus)) != NULL) {
        if (job_plan_start(plan, first->job, reason)) continue;
        if (skipping->params.strict) break;
        pending_class_of(pending, first->job)->refused_in = pending->round;
    }
    return skipping->code;
}
