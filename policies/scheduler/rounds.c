#include "policies/scheduler/rounds.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdlib.h>
#include <string.h>

void rounds_fini(struct rounds *rounds)
{
    mem_free(rounds->all);
    mem_free(rounds->jobs);
    cpu_jobs_fini(&rounds->cpu_jobs);
}

/* Takes a job out of the list, in which it is missing if there was no memory. */
static void forget(struct rounds *rounds, const struct round_job *job)
{
    size_t low = 0, high = rounds->n_all;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (rounds->all[middle]->view->sequence < job->view->sequence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == rounds->n_all || rounds->all[low] != job) return;
    rounds->n_all--;
    memmove(&rounds->all[low], &rounds->all[low + 1], (rounds->n_all - low) * sizeof(void *));
}

int rounds_notify(struct rounds *rounds, const struct job_note *note)
{
    struct round_job *job = job_view_slot(note->job);
    cpu_jobs_notify(&rounds->cpu_jobs, note, &job->waiting);
    if (note->job->gpus > 0 && note->event == JOB_EVENT_FINISH) forget(rounds, job);
    if (note->job->gpus == 0 || note->event != JOB_EVENT_SUBMIT) return 0;
    job->view = note->job;
    return vec_push(&rounds->all, &rounds->n_all, &rounds->all_capacity, job);
}

int rounds_begin(struct rounds *rounds, const struct cluster_view *view, sim_ns round_ns, int64_t depth)
{
    if (view->now_ns % round_ns != 0 || view->now_ns + 1 == rounds->decided_ns || rounds->n_all == 0) return 0;
    rounds->decided_ns = view->now_ns + 1;
    rounds->n = (int64_t)rounds->n_all < depth ? rounds->n_all : (size_t)depth;
    if (vec_reserve(&rounds->jobs, &rounds->capacity, rounds->n) != 0) return SIM_E_NOMEM;
    memcpy(rounds->jobs, rounds->all, rounds->n * sizeof(void *));
    for (size_t i = 0; i < rounds->n; i++) rounds->jobs[i]->is_chosen = false;
    return 1;
}

void rounds_sort(struct rounds *rounds, int (*before)(const void *, const void *))
{
    if (rounds->n > 1) qsort(rounds->jobs, rounds->n, sizeof(void *), before);
}

void rounds_choose(struct round_job *job, int64_t *gpus)
{
    if (job->is_chosen || job->view->gpus > *gpus) return;
    job->is_chosen = true;
    if (*gpus < INT64_MAX) *gpus -= job->view->gpus;
}

void rounds_apply(const struct rounds *rounds, struct job_plan *plan, const char *lost, const char *won)
{
    for (size_t i = 0; i < rounds->n; i++)
        if (!rounds->jobs[i]->is_chosen && rounds->jobs[i]->view->state == JOB_RUNNING)
            job_plan_preempt(plan, rounds->jobs[i]->view, lost);
    for (size_t i = 0; i < rounds->n; i++)
        if (rounds->jobs[i]->is_chosen && rounds->jobs[i]->view->state == JOB_PENDING)
            job_plan_start(plan, rounds->jobs[i]->view, won);
}

int rounds_end(struct rounds *rounds, const struct cluster_view *view, sim_ns round_ns, struct job_plan *plan)
{
    const int code = cpu_jobs_start(&rounds->cpu_jobs, view, false, plan);
    if (code == 0 && rounds->n_all > 0)
        job_plan_wake_at(plan, sim_ns_add(view->now_ns - view->now_ns % round_ns, round_ns));
    return code;
}
