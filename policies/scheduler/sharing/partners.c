#include "policies/scheduler/sharing/partners.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

/* Jobs of a class that are tried behind the first one, which may find partners where it finds none. */
enum { MOST_TRIED = 64 };

void partners_fini(struct partners *partners)
{
    mem_free(partners->running);
}

int partners_run(struct partners *partners, struct partner_job *job)
{
    job->at = partners->n;
    return vec_push(&partners->running, &partners->n, &partners->capacity, job);
}

void partners_stop(struct partners *partners, struct partner_job *job)
{
    if (job->mate != NULL) job->mate->mate = NULL;
    job->mate = NULL;
    if (job->at >= partners->n || partners->running[job->at] != job) return; /* there was no memory for it */
    partners->running[job->at] = partners->running[--partners->n];
    partners->running[job->at]->at = job->at;
}

bool partners_match(const struct partner_job *waiting, const struct partner_job *running)
{
    const struct job_view *other = running->ranked.job;
    return running->mate == NULL && other->gpus == waiting->ranked.job->gpus && other->held_gpus == other->gpus;
}

bool partners_join(struct job_plan *plan, struct partner_job *waiting, struct partner_job *running, const char *reason)
{
    waiting->mate = running;
    running->mate = waiting;
    if (job_plan_join(plan, waiting->ranked.job, running->ranked.job, reason)) return true;
    waiting->mate = running->mate = NULL;
    return false;
}

static bool start_any(const struct pending_class *class, struct ranked *first, partners_start *start, void *scheduler,
                      const struct cluster_view *view, struct job_plan *plan)
{
    struct ranked *next = first;
    for (int i = 0; i < MOST_TRIED && next != NULL; i++) {
        const struct rank after = {next->rank.first, next->rank.second, 1};
        if (start(scheduler, view, (struct partner_job *)(void *)next, plan)) return true;
        next = ranking_first_from(&class->jobs, after);
    }
    return false;
}

void partners_serve(struct pending *pending, partners_start *start, void *scheduler, const struct cluster_view *view,
                    struct job_plan *plan, const int *code)
{
    struct ranked *first;
    pending->round++;
    while (*code == 0 && (first = pending_first(pending, INT64_MAX)) != NULL) {
        struct pending_class *class = pending_class_of(pending, first->job);
        if (!start_any(class, first, start, scheduler, view, plan)) class->refused_in = pending->round;
    }
}
